/*
 * Makes checkpoints on request, periodically in simulated time, and at the end of a run. The tick thread copies the state
 * at a boundary, the main loop adds the description of the world, and the worker writes the file. One at a time; other
 * requests wait. [loop]
 */
#ifndef SRV_CHECKPOINTER_H
#define SRV_CHECKPOINTER_H

#include <uv.h>

#include "daemon/checkpoint/checkpoint_file.h"
#include "daemon/control/command_queue.h"
#include "daemon/control/worker.h"

struct srv_checkpointer;

/* Of the snapshots so far. */
struct srv_checkpoint_costs {
    uint64_t count, bytes;          /* bytes: of the newest */
    int64_t stall_ns, stall_max_ns; /* time of the tick thread for the newest, and the maximum */
};

/* Result of a request: `text` is the reason of a failure, or the path. */
typedef void (*srv_checkpoint_function)(void *context, enum oto_status status, uint64_t tick, const char *text);

/* A periodic checkpoint is complete. */
typedef void (*srv_saved_function)(void *context, const char *path);

/* Everything is borrowed; `saved` may be NULL. NULL when out of memory. */
struct srv_checkpointer *srv_checkpointer_create(struct srv_worker *worker, struct srv_engine *engine,
                                                 const struct srv_world_config *config,
                                                 struct srv_command_queue *command_queue, srv_saved_function saved,
                                                 void *saved_context);
/*
 * Call it several times a second: takes the snapshot again that waits for the answers of plugin hosts of mode async. After two
 * seconds the request is refused.
 */
void srv_checkpointer_retry(struct srv_checkpointer *checkpointer);
/*
 * The worker does not return: refuses the request whose file it has not started to write, and replies to the one whose file
 * is being written.
 */
void srv_checkpointer_refuse_waiting(struct srv_checkpointer *checkpointer);
/* Requests that wait are answered CLOSED; a file that is being written is finished before the loop runs out. */
void srv_checkpointer_stop(struct srv_checkpointer *checkpointer);
void srv_checkpointer_destroy(struct srv_checkpointer *checkpointer); /* after the loop has run out; NULL is allowed */

/* `done` is called once. The path is absolute, or starts at the server's folder. */
void srv_checkpointer_request(struct srv_checkpointer *checkpointer, const char *path, srv_checkpoint_function done,
                              void *context);
const struct srv_checkpoint_costs *srv_checkpointer_costs(const struct srv_checkpointer *checkpointer);
bool srv_checkpointer_is_busy(const struct srv_checkpointer *checkpointer);

/*
 * Call it several times a second. It starts a periodic checkpoint at its simulated time, as the world's file
 * asks (`checkpoint: {every_s, keep, directory}`), at most once a real second. Failures go to `warn`, once for each reason.
 */
void srv_checkpointer_look(struct srv_checkpointer *checkpointer, oto_warn_function warn, void *warn_context);

/* The newest checkpoint of the world in a directory that can be read, or NULL; malloc'ed. */
char *srv_checkpoint_newest(const char *directory, const char *world);

#endif
