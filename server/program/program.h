/*
 * What programs with a loop of their own share: the command line, signals as a descriptor, the end of the parent, sentences on
 * standard error and lines to the server on standard output. One thread.
 */
#ifndef SRV_PROGRAM_H
#define SRV_PROGRAM_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SRV_EXIT_USAGE 2 /* a restart with the same command line would not help */

struct srv_program {
    const char *name; /* stands before each sentence */
    pid_t parent;     /* the server that started this program and reads its lines; 0: none */
    int signal_fd;
    bool is_ending; /* a signal to end was received */
};

/* Reads the command line. Ends the process with a sentence if it is wrong. `version`: printed by --version; NULL: no such option. */
void srv_program_options(const struct argp *argp, const char *version, int argc, char **argv, void *input);
int64_t srv_program_number(const struct argp_state *state, const char *option, const char *text, int64_t least, int64_t most);
/* Adds a value of an option that may be repeated. */
void srv_program_add(const struct argp_state *state, const char *option, const char **list, uint32_t *count, uint32_t most, const char *value);

/* Makes this process end with its parent. False: the parent has already ended. */
bool srv_program_follow_parent(pid_t parent);
/*
 * From now on signals to end are read from the descriptor; under a parent it is the parent that decides about Ctrl-C. Threads
 * inherit the mask of signals, so they are started after this call. False: the parent has already ended, or no descriptor is free.
 */
bool srv_program_begin(struct srv_program *program);
/* Reads signals. True: the program must end. */
bool srv_program_must_end(struct srv_program *program);
/* Waits until `fd` (negative: none) can be read, a signal comes or `wait_ns` is over. True: it can be read. */
bool srv_program_wait(struct srv_program *program, int fd, int64_t wait_ns);

/* Prints a sentence on standard error. */
void srv_program_print(const struct srv_program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a line to the server. A line without a reader is lost. */
void srv_program_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Reports of an address that is served, and of one that cannot be. The context is not used. */
void srv_program_report_endpoint(void *context, uint32_t index, const char *url);
void srv_program_report_closed(void *context, uint32_t index);
/* The server forwards the sentence as an event; without a server it is printed. */
void srv_program_event(const struct srv_program *program, const char *sentence);

#endif
