/* Detects the end of a child process. [any] */
#ifndef SRV_BASE_CHILD_H
#define SRV_BASE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * True if the child `pid` has ended; it is then reaped. Never blocks. If the kernel discarded the exit status (SIGCHLD
 * ignored), facts->si_code is 0.
 */
bool srv_child_has_ended(pid_t pid, siginfo_t *facts);

#endif
