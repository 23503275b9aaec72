/*
 * Replays a log: the world is made from the log's files, each action is applied at its tick, the inputs of participants
 * are injected, and the hashes are compared with those of the log. The tick thread never runs beyond the last tick that was
 * read from the log. [loop]
 */
#ifndef SRV_REPLAY_H
#define SRV_REPLAY_H

#include "world/world_config.h"
#include "daemon/control/command_queue.h"
#include "daemon/options.h"
#include "sim/run_log.h"

struct srv_hashes;
struct srv_replay;

/* The entries of a log before its first tick. */
struct srv_replay_source {
    char *world_path;
    char *restore_path; /* checkpoint from which the run was restored; NULL: it began at tick 0 */
    uint64_t every;
    struct srv_override *overrides; /* on the heap, like their texts */
    uint32_t override_count;
    char *quarantine[SRV_MAX_QUARANTINE]; /* nodes that are not stepped */
    uint32_t quarantine_count;
};

/*
 * Opens a log and reads its entries before the first tick. `anyway`: a file that differs from the one that the log names
 * causes a warning, not a refusal.
 */
enum oto_status srv_replay_open(const char *path, bool anyway, oto_warn_function warn, void *warn_context,
                                struct srv_replay **replay, struct oto_error *error);
const struct srv_replay_source *srv_replay_source(const struct srv_replay *replay);
/* Compares the plugins of the log with those of the configuration. */
enum oto_status srv_replay_check(const struct srv_replay *replay, const struct srv_world_config *config,
                                 struct oto_error *error);
void srv_replay_destroy(struct srv_replay *replay); /* NULL is allowed */

/* Starts the replay in an engine. The engine and the command queue are borrowed. */
void srv_replay_attach(struct srv_replay *replay, struct srv_engine *engine, struct srv_command_queue *command_queue);
/* Reads the log as far as the engine can follow. Call it whenever the engine may have reached a later tick. */
void srv_replay_go_on(struct srv_replay *replay);
/* Call `sent` when command `id` was sent, and `taken` when the tick thread has applied it. */
void srv_replay_sent(struct srv_replay *replay, uint64_t id);
void srv_replay_taken(struct srv_replay *replay, uint64_t id, enum oto_status status);
void srv_replay_compare(struct srv_replay *replay, const struct srv_hashes *hashes);
/* Reports the result; false: the run differs from the log. */
bool srv_replay_end(struct srv_replay *replay);

#endif
