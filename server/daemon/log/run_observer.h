/*
 * The observer of a run. It passes each command that is sent and each record of the tick thread (daemon/thread/journal.h)
 * to the log writer and to the replay. [loop]
 */
#ifndef SRV_RUN_OBSERVER_H
#define SRV_RUN_OBSERVER_H

#include <uv.h>

#include "daemon/control/command_queue.h"
#include "daemon/log/replay.h"
#include "daemon/log/writer.h"

struct srv_run_observer;

/* The hash chain and the hashes of all nodes at one boundary. */
struct srv_hashes {
    uint64_t tick, chain;
    uint32_t count;
    const uint64_t *nodes;
};

/* The observer owns `log` and `replay`, also on failure; NULL: there is none. The other arguments are borrowed. */
enum oto_status srv_run_observer_create(uv_loop_t *loop, struct srv_engine *engine,
                                        struct srv_command_queue *command_queue, struct srv_log_writer *log,
                                        struct srv_replay *replay, struct srv_run_observer **run_observer,
                                        struct oto_error *error);
/* Writes the inputs of all published samples to the file of the log. NULL is allowed. */
void srv_run_observer_flush(struct srv_run_observer *run_observer);
/* Ends the log and the replay. False: the log is incomplete, or the replay differs from its log. */
bool srv_run_observer_stop(struct srv_run_observer *run_observer);
void srv_run_observer_destroy(struct srv_run_observer *run_observer); /* call it after the loop has ended; NULL is allowed */

#endif
