/* What the commands of `otolith` share. Each command is a file `command_<name>.c` and one row of the table in main.c. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/client.h"
#include "otolith/status.h"

/* Exit codes: 0 done, 1 it failed (said on stderr), 2 the command line was wrong. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is "otolith NAME" for messages of argp */
    const char *summary;
};

int cli_run(int argc, char **argv);
int cli_ls(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_echo(int argc, char **argv);
int cli_hz(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_get(int argc, char **argv);
int cli_set(int argc, char **argv);
int cli_pause(int argc, char **argv);
int cli_resume(int argc, char **argv);
int cli_step(int argc, char **argv);
int cli_scale(int argc, char **argv);
int cli_swap(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_sense(int argc, char **argv);

/* Says `error` on stderr as "otolith: …" and returns CLI_FAILED. */
int cli_say(const struct oto_error *error);

#endif
