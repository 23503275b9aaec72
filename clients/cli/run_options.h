/* The command line of `otolith run`: its own options, and the arguments that it passes to the server. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/run_recording.h"
#include "recorder.h"

enum { RUN_MOST_ARGUMENTS = 256, RUN_NAME_BYTES = 32 };

struct run_options {
    char *world_path;
    const char *replay; /* a log, in place of the world file */
    const char *name;   /* --name, or NULL */
    const char *summary, *log, *checkpoint;
    int64_t for_ns; /* 0: until interrupted */
    bool quiet, json, allow_loss;
    bool step_mode;
    char *arguments[RUN_MOST_ARGUMENTS];            /* of the server */
    char names[RUN_MOST_ARGUMENTS][RUN_NAME_BYTES]; /* storage of the names of options among `arguments` */
    int argument_count;
    const char *sets[RUN_MOST_ARGUMENTS]; /* PATH=VALUE */
    int set_count;
    struct recorder recorder;
    struct run_recording mcap;
};

extern const struct argp run_options_argp; /* its input is a zeroed struct run_options */

/* Adds an option, and its value if that is not NULL, to the arguments of the server. */
void run_options_pass(struct run_options *options, const char *name, char *value);
/* The name that the server will give to the world. The server reports errors of the world file. */
enum oto_status run_options_world_name(const struct run_options *options, char *name, size_t bytes,
                                       struct oto_error *error);

#endif
