/* On a thread with this trap a call that would end the process raises SIGSYS instead, so that a handler can name the plugin. */
#ifndef SRV_EXIT_TRAP_H
#define SRV_EXIT_TRAP_H

#include <signal.h>
#include <stdbool.h>

/* Sets the trap for the calling thread, permanently. Without support in the kernel nothing changes. */
void srv_exit_trap_set(void);
/* Whether a SIGSYS comes from the trap. */
bool srv_exit_trap_caught(const siginfo_t *facts);
/* Ends the process with the exit code of the trapped call. `context` is the third argument of the signal handler. */
void srv_exit_trap_let_go(const void *context) __attribute__((noreturn));

#endif
