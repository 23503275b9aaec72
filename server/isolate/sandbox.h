/* What the plugin host may do: little from its start, and next to nothing once its plugins are ready. */
#ifndef SRV_PLUGIN_HOST_SANDBOX_H
#define SRV_PLUGIN_HOST_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "otolith/status.h"

/*
 * Ends with its server, gains no privileges, opens few files, leaves no core, takes bounded memory; and what Landlock
 * denies, whose ABI goes to *landlock (0: the kernel offers none, and it goes on without).
 */
enum oto_status host_sandbox_begin(pid_t server, uint32_t *landlock, struct oto_error *error);
/* Runs as its server's tick thread does, a little below it; where that is not granted, as any process. */
void host_sandbox_take_priority(int fifo_priority);
/* From here on a system call beyond the few that stepping needs is SIGSYS. */
enum oto_status host_sandbox_close(struct oto_error *error);
/* False in builds whose sanitizers need more system calls. */
bool host_sandbox_is_closable(void);

#endif
