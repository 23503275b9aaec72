/* The command line of otolithd. */
#ifndef SRV_OPTIONS_H
#define SRV_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "world/world_config.h"

#define SRV_MAX_OVERRIDES 256
#define SRV_MAX_QUARANTINE 32

struct srv_options {
    const char *world_path;
    struct srv_override overrides[SRV_MAX_OVERRIDES]; /* from --set, and from options that set one key */
    uint32_t override_count;
    int64_t for_ns; /* simulated duration; 0: the value of the world file */
    const char *keep_plugins;
    const char *restore_path, *checkpoint_path; /* NULL: not given */
    const char *log_path, *replay_path; /* NULL: not given */
    uint64_t log_hashes; /* ticks between the hashes of the log; 0: not given */
    bool replay_anyway;
    bool mode_given;
    const char *fixed; /* a given option that cannot be combined with a replay; NULL: none */
    const char *checkpoint_directory;
    const char *again; /* how the previous server died; NULL: this is the first server */
    const char *quarantine[SRV_MAX_QUARANTINE];
    uint32_t quarantine_count;
    int crash_page_fd; /* 0: not supervised */
    bool follow_parent;
    const char *parent; /* id of the process to follow; NULL: the parent of this one */
    bool start_paused, check, json, schema, no_publish, supervise;
};

/* Ends the process with code 2 and a sentence when the command line is wrong. The texts of argv are borrowed. */
void srv_options_parse(int argc, char **argv, struct srv_options *options);
#endif
