/* Confines the plugin host: from its start, and more strictly once its plugins are prepared. */
#ifndef SRV_PLUGIN_HOST_SANDBOX_H
#define SRV_PLUGIN_HOST_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "otolith/status.h"

/*
 * The process ends with its server, gains no privileges, has limits on files and memory, writes no core file, and is
 * restricted by Landlock, whose ABI is stored in *landlock (0: the kernel has none, and the host runs without). It may write in
 * `own_directory` ("": nowhere), which becomes TMPDIR.
 */
enum oto_status host_sandbox_begin(pid_t server, const char *own_directory, uint32_t *landlock, struct oto_error *error);
/* Sets SCHED_FIFO one step below the server's tick thread, if permitted. */
void host_sandbox_take_priority(int fifo_priority);
/* Closes the filter: a system call that steps do not need raises SIGSYS from now on. */
enum oto_status host_sandbox_close(struct oto_error *error);
/* False in builds whose sanitizers need more system calls. */
bool host_sandbox_is_closable(void);

#endif
