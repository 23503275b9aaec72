/*
 * Makes checkpoints on request, periodically in simulated time, and at the end of a run. The tick thread copies the state
 * at a boundary, the main loop adds the description of the world, and the worker writes the file. It makes one checkpoint
 * at a time; other requests wait. [loop]
 */
#ifndef SRV_CHECKPOINTER_H
#define SRV_CHECKPOINTER_H

#include <uv.h>

#include "daemon/checkpoint/checkpoint_file.h"
#include "daemon/control/command_queue.h"
#include "daemon/control/worker.h"

struct srv_checkpointer;

/* Number, size and time of the snapshots of this run. */
struct srv_checkpoint_costs {
    uint64_t count, bytes;          /* bytes: size of the newest snapshot */
    int64_t stall_ns, stall_max_ns; /* time that the tick thread took for the newest snapshot, and the maximum */
};

/* Result of a request. `text` is the path of the checkpoint, or the reason of a failure. */
typedef void (*srv_checkpoint_function)(void *context, enum oto_status status, uint64_t tick, const char *text);

/* Called when a periodic checkpoint is complete. */
typedef void (*srv_saved_function)(void *context, const char *path);

/* All arguments are borrowed; `saved` may be NULL. Returns NULL when out of memory. */
struct srv_checkpointer *srv_checkpointer_create(struct srv_worker *worker, struct srv_engine *engine,
                                                 const struct srv_world_config *config,
                                                 struct srv_command_queue *command_queue, srv_saved_function saved,
                                                 void *saved_context);
/*
 * Call it several times a second. If a snapshot failed because a plugin host of mode async had not answered, this takes the
 * snapshot again. Two seconds after the request the request is refused.
 */
void srv_checkpointer_retry(struct srv_checkpointer *checkpointer);
/*
 * The worker does not return: refuses the request whose file it has not started to write, and replies to the one whose file
 * is being written.
 */
void srv_checkpointer_refuse_waiting(struct srv_checkpointer *checkpointer);
/* Waiting requests get the reply CLOSED; a file that is being written is completed before the loop ends. */
void srv_checkpointer_stop(struct srv_checkpointer *checkpointer);
void srv_checkpointer_destroy(struct srv_checkpointer *checkpointer); /* call it after the loop has ended; NULL is allowed */

/* `done` is called once. `path` is absolute, or relative to the server's working directory. */
void srv_checkpointer_request(struct srv_checkpointer *checkpointer, const char *path, srv_checkpoint_function done,
                              void *context);
const struct srv_checkpoint_costs *srv_checkpointer_costs(const struct srv_checkpointer *checkpointer);
bool srv_checkpointer_is_busy(const struct srv_checkpointer *checkpointer);

/*
 * Call it several times a second. It starts a periodic checkpoint at its simulated time, as the world's file
 * asks (`checkpoint: {every_s, keep, directory}`), at most once a real second. Failures go to `warn`, once for each reason.
 */
void srv_checkpointer_look(struct srv_checkpointer *checkpointer, oto_warn_function warn, void *warn_context);

#endif
