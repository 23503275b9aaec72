/*
 * The story of a run: hears of every command that goes out and takes what the tick thread tells (world/journal.h), gives
 * it to the log that is written, and to the replay that is followed. [loop]
 */
#ifndef SRV_CHRONICLE_H
#define SRV_CHRONICLE_H

#include <uv.h>

#include "daemon/control/courier.h"
#include "daemon/log/replay.h"
#include "daemon/log/writer.h"

struct srv_chronicle;

/* The hashes of a boundary, whole. */
struct srv_hashes {
    uint64_t tick, chain;
    uint32_t count;
    const uint64_t *nodes;
};

/* `log` and `replay`: taken over, also on failure; NULL: there is none. The others are borrowed. */
enum oto_status srv_chronicle_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_courier *courier,
                                     struct srv_log_writer *log, struct srv_replay *replay,
                                     struct srv_chronicle **chronicle, struct oto_error *error);
/* Ends the log and the replay. False: the log is incomplete, or the replay differs from its log. */
bool srv_chronicle_stop(struct srv_chronicle *chronicle);
void srv_chronicle_destroy(struct srv_chronicle *chronicle); /* after the loop has run out; NULL is allowed */

#endif
