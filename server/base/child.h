/* Child processes: their start, the pause before a restart, and their end. [any] */
#ifndef SRV_BASE_CHILD_H
#define SRV_BASE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct srv_child_options {
    const char *program; /* its path */
    char *const *arguments; /* the first is the name of the program; NULL after the last */
    bool inherits;  /* keeps standard input and output; otherwise they are /dev/null and `out_fd` */
    int out_fd;     /* -1: /dev/null */
    int passed_fd;  /* a descriptor that the child gets as `passed_as`; -1: none */
    int passed_as;
    bool own_group; /* a process group of its own: its children can be killed with it, and Ctrl-C does not reach it */
};

/* Starts a program with no signal blocked and all at their default action. Returns 0 or an errno. */
int srv_child_start(const struct srv_child_options *options, pid_t *pid);

/* Limits of the pause before a child that has ended is started again. */
struct srv_back_off {
    int64_t first_ns, most_ns;
};
/* The next pause, twice the previous one; the first one if the child has lived for 5 s. `pause_ns` of the first end: 0. */
int64_t srv_back_off_next(struct srv_back_off limits, int64_t pause_ns, int64_t lived_ns);

/*
 * True if the child `pid` has ended; it is then reaped. Never blocks. If the kernel discarded the exit status (SIGCHLD
 * ignored), facts->si_code is 0.
 */
bool srv_child_has_ended(pid_t pid, siginfo_t *facts);
/* Ends the child with SIGKILL and reaps it. */
void srv_child_kill(pid_t pid);

#endif
