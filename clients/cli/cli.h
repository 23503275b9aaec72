/* What the commands of `otolith` share. Each command is a file `command_<name>.c` and one row of the table in main.c. */
#ifndef CLI_H
#define CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "otolith/client.h"
#include "otolith/status.h"
#include "tls_options.h"

/* Exit codes: success, failure with a sentence on stderr, error in the command line. See also cli_signal_exit_code(). */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_NO_FIT = 3 };

enum { CLI_WORLDS_MAX = 64 }; /* greatest number of running worlds that a command lists */

struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is "otolith NAME" for the messages of argp */
    const char *summary;
};

int cli_run(int argc, char **argv);
int cli_ls(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_echo(int argc, char **argv);
int cli_hz(int argc, char **argv);
int cli_top(int argc, char **argv);
int cli_web(int argc, char **argv);
int cli_get(int argc, char **argv);
int cli_set(int argc, char **argv);
int cli_clock(int argc, char **argv); /* pause, resume, step, scale */
int cli_swap(int argc, char **argv);
int cli_checkpoint(int argc, char **argv);
int cli_restore(int argc, char **argv);
int cli_branch(int argc, char **argv);
int cli_verify(int argc, char **argv);
int cli_record(int argc, char **argv);
int cli_play(int argc, char **argv);
int cli_seek(int argc, char **argv);

int cli_fault(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_sense(int argc, char **argv);
int cli_estimate(int argc, char **argv);
int cli_environment(int argc, char **argv);
int cli_allan(int argc, char **argv);
int cli_calibrate(int argc, char **argv);
int cli_grade(int argc, char **argv);
int cli_sweep(int argc, char **argv);
int cli_fit(int argc, char **argv);
int cli_plot(int argc, char **argv);
int cli_model(int argc, char **argv);
int cli_sdf(int argc, char **argv);
int cli_export(int argc, char **argv);
int cli_gnss_out(int argc, char **argv);
int cli_new(int argc, char **argv);
int cli_plugins(int argc, char **argv);
int cli_plugin_params(int argc, char **argv);
int cli_parts(int argc, char **argv);

/* Prints one line and escapes its control characters and line breaks (base/plain_text.h). For all text from outside. */
__attribute__((format(printf, 2, 3))) void cli_print_line(FILE *to, const char *format, ...);
/* True if cli_print_line lost a line because memory was short; main() then fails. */
bool cli_print_failed(void);
/* Prints `error` on stderr as "otolith: …" and returns CLI_FAILED. */
int cli_say(const struct oto_error *error);
int cli_no_memory(void);

/* Reads a duration that is not negative: "10s", "500ms", "250us", "2min", "1h", or a number of seconds. */
enum oto_status cli_duration(const char *text, int64_t *ns, struct oto_error *error);
/* A positive finite number. */
enum oto_status cli_positive(const char *text, double *number, struct oto_error *error);
enum oto_status cli_count(const char *text, uint64_t *number, struct oto_error *error);
/* Values of options; `option` is as the user writes it. A wrong value ends the process with a sentence. */
int64_t cli_option_duration(const struct argp_state *state, const char *option, const char *text, int64_t least_ns);
double cli_option_positive(const struct argp_state *state, const char *option, const char *text, double most);
uint64_t cli_option_count(const struct argp_state *state, const char *option, const char *text, uint64_t least, uint64_t most);
/* Reads `least` to `most` finite numbers with commas between them. Returns their number; 0 if the text is something else. */
int cli_numbers(const char *text, double *numbers, int least, int most);

/* Reads a regular file that is not empty, and adds a NUL. The caller frees the text. */
enum oto_status cli_read_file(const char *path, char **text, size_t *length, struct oto_error *error);

/*
 * Waits for ticks after `tick`. In real time it sleeps for `pause_ms`: each client that waits on the tick itself costs the tick thread
 * a system call in every tick. Otherwise it returns at the next tick, or after 50 ms.
 */
void cli_wait_for_records(struct oto_client *client, uint64_t tick, int32_t pause_ms);

/* SIGINT and SIGTERM set a flag, which every loop reads. */
void cli_catch_signals(void);
bool cli_interrupted(void);
int cli_signal_exit_code(void); /* after cli_interrupted(): 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP, as shells have it */

/* False for a channel without samples that a parameter disables: lists do not show it. */
bool cli_is_shown(const struct oto_channel *channel);

/* The unit as it is printed: "" for "1", the unit of numbers without a dimension. */
const char *cli_shown_unit(const char *unit);

/* The number of processors, which is the number of jobs if none is given; 1 if it is unknown or above `most`. */
uint32_t cli_processors(uint32_t most);

/* The path of a program that was built or installed beside this one. */
enum oto_status cli_sibling(const char *program, char *path, size_t bytes, struct oto_error *error);

/* argp_parse() with the exit codes above; "-0.5" is a number. Ends the program after an error in the command line. */
void cli_parse(const struct argp *argp, int argc, char **argv, void *input);
/* An argument or the value of an option as the user typed it: without the space that cli_parse puts before a negative number. */
char *cli_argument(char *argument);

/* --json for commands that open no world: a child of the command's argp; the input is a bool. A `-j` of the command itself comes first. */
extern const struct argp cli_json_argp;
/* Ends with a usage error if --json and another option (`path` "-") both mean standard output. */
void cli_json_check(const struct argp_state *state, bool json, const char *option, const char *path);

/* Options that most commands share: cli_common_argp is a child of the command's argp; its input is a struct cli_common. */
struct cli_common {
    const char *world;
    const char *role; /* observe, operate or admin; NULL: the default of the command */
    bool json;
    struct cli_remote remote; /* for commands that control a world */
};
extern const struct argp cli_common_argp;
/* Takes the only argument of a command, or ends with a usage error. */
void cli_take_argument(const struct argp_state *state, const char **place, const char *argument);
/* --set KEY=VALUE, which may be repeated: adds to `sets`, or ends with a usage error. */
void cli_add_set(const struct argp_state *state, char **sets, uint32_t *count, uint32_t most, char *argument);

/*
 * Opens the world of --world (without it: OTOLITH_WORLD, or the only running world) with the role of --role, else the
 * role that the user has. `name`: a topic or node, whose first part may be the name of the world; or NULL. NULL on
 * failure, after the error is printed.
 */
struct oto_client *cli_open(const struct cli_common *common, const char *name);
/* cli_open for commands that only read: without --role the role is observe. */
struct oto_client *cli_observe(const struct cli_common *common, const char *name);

/*
 * Ends a command that controlled a world: closes the client, and prints the error, or the reply: with --json as {"tick": …,
 * "text": …}, else the line. Returns the exit code.
 */
int cli_finish(struct oto_client *client, const struct cli_common *common, enum oto_status status, const struct oto_reply *reply,
               const struct oto_error *error, const char *format, ...) __attribute__((format(printf, 6, 7)));

/*
 * Subscribes to the samples of a world on another machine (attach/mirror.h): `topic` as there. NULL on failure, after the error is
 * printed.
 */
struct oto_client *cli_subscribe(const struct cli_remote *remote, const char *topic);
/* Waits until a sample has arrived, at most wait_ns, or until a signal. */
void cli_await_sample(struct oto_client *client, int64_t wait_ns);

/* For a command without options of its own: parses, and checks the number of arguments. */
struct cli_simple {
    struct cli_common common;
    bool controls; /* may control a world on another machine */
    const char *arguments[4];
    int count;
};
void cli_parse_simple(int argc, char **argv, const char *synopsis, const char *doc, int least, int most,
                      struct cli_simple *simple);
/* cli_parse_simple for a command that controls a world, which may be on another machine. */
void cli_parse_control(int argc, char **argv, const char *synopsis, const char *doc, int least, int most,
                       struct cli_simple *simple);

#endif
