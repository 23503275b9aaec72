/*
 * Starts otolith-publisher, listens to what it says, and starts it again with a growing pause when it dies. Spawned
 * without fork, so that no page of the tick thread is copied. [loop]
 */
#ifndef SRV_SUPERVISOR_H
#define SRV_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "world/world_config.h"
#include "otolith/status.h"

struct srv_supervisor;

struct srv_supervisor_hooks {
    void *context;
    /* Something for the event ring: died, restarted, a listener opened again. */
    void (*event)(void *context, uint32_t severity, int64_t value, const char *sentence);
    void (*restarted)(void *context); /* to be counted */
    /* An endpoint's real address became known (a port chosen by the kernel). */
    void (*endpoints_changed)(void *context);
};

/* `config` is borrowed. `directory` is the runtime directory, where `ipc` and the control socket are. */
enum oto_status srv_supervisor_start(uv_loop_t *loop, const struct srv_publish_config *config, const char *directory,
                                     const struct srv_supervisor_hooks *hooks, struct srv_supervisor **supervisor,
                                     struct oto_error *error);
/* Ends the publisher (SIGTERM; SIGKILL after a second) and all handles; the loop runs until both are done. */
void srv_supervisor_stop(struct srv_supervisor *supervisor);
void srv_supervisor_destroy(struct srv_supervisor *supervisor); /* after the loop has run out; NULL is allowed */

bool srv_supervisor_is_running(const struct srv_supervisor *supervisor);
pid_t srv_supervisor_pid(const struct srv_supervisor *supervisor); /* 0: just not running */
uint64_t srv_supervisor_restarts(const struct srv_supervisor *supervisor);
const char *srv_supervisor_endpoint(const struct srv_supervisor *supervisor, uint32_t index);

#endif
