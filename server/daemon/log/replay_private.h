/* Shared by the files of a replay. [loop] */
#ifndef SRV_REPLAY_PRIVATE_H
#define SRV_REPLAY_PRIVATE_H

#include "daemon/log/replay.h"

/* The plugin of a node at the start of the log. */
struct srv_replay_node {
    char *node, *plugin;
    uint64_t hash; /* hash of the plugin's file; 0: the plugin is part of the server */
};

/* Hashes of the log whose tick the engine has not reached. */
struct srv_expected {
    struct srv_expected *next;
    uint64_t tick, chain;
    uint32_t count;
    uint64_t nodes[];
};

struct srv_replay {
    struct oto_run_log_reader *reader;
    char *path;
    bool anyway;
    oto_warn_function warn;
    void *warn_context;
    struct srv_replay_source source;
    struct srv_replay_node *nodes;
    uint32_t node_count;
    /* while the replay runs */
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    struct oto_run_log_line line;
    bool has_line;  /* `line` has been read and not processed */
    bool read_all, stopped, failed;
    bool awaits;    /* command `sent_id` was sent and is not applied yet */
    uint64_t sent_id;
    bool has_first; /* first_tick is known: the tick of the first hashes, at which the logged run began */
    uint64_t first_tick, last_tick, actions, compared, compared_tick;
    bool differs;
    struct srv_expected *first, **last;
    uint32_t expected_count;
};

/*
 * Sends the command of the current line. Returns OTO_OK also for a line without a command. After an error the replay cannot
 * follow the log any further.
 */
enum oto_status srv_replay_act(struct srv_replay *replay, struct oto_error *error);
/* Whether the line is of a kind that changes the state. */
bool srv_replay_is_action(const struct oto_run_log_line *line);

#endif
