/* The end of a child process. [any] */
#ifndef SRV_BASE_CHILD_H
#define SRV_BASE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether the child `pid` has ended; it is reaped. Never blocks. A child whose exit status the kernel discarded (SIGCHLD
 * ignored) has ended too: then facts->si_code is 0.
 */
bool srv_child_has_ended(pid_t pid, siginfo_t *facts);

#endif
