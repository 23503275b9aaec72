/*
 * The supervisor of the publisher: starts otolith-publisher, reads its reports, and restarts it with a back-off. It is
 * spawned without fork, so that no page of the tick thread is copied. [loop]
 */
#ifndef SRV_SUPERVISOR_H
#define SRV_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "otolith/status.h"

struct srv_supervisor;

#define SRV_PUBLISHER_MAX_LISTEN 8

struct srv_publisher_options {
    uint32_t listen_count;
    const char *listen[SRV_PUBLISHER_MAX_LISTEN]; /* URLs; "ipc" is pub.ipc in the runtime directory. Used during the start alone */
    int64_t coalesce_ns; /* see the command line of otolith-publisher */
    bool packed;
};

struct srv_supervisor_hooks {
    void *context;
    /* Reports an event: exited, restarted, a listener reopened. */
    void (*event)(void *context, uint32_t severity, int64_t value, const char *sentence);
    void (*restarted)(void *context); /* called for each restart */
    /* The actual address of an endpoint became known (the kernel chose the port). */
    void (*endpoints_changed)(void *context);
};

/* `directory` is the runtime directory, which contains the ipc and control sockets. */
enum oto_status srv_supervisor_start(uv_loop_t *loop, const struct srv_publisher_options *options, const char *directory,
                                     const struct srv_supervisor_hooks *hooks, struct srv_supervisor **supervisor,
                                     struct oto_error *error);
/* Ends the publisher (SIGTERM, after a second SIGKILL) and closes all handles. The loop runs until both are done. */
void srv_supervisor_stop(struct srv_supervisor *supervisor);
void srv_supervisor_destroy(struct srv_supervisor *supervisor); /* call it after the loop has ended; NULL is allowed */

bool srv_supervisor_is_running(const struct srv_supervisor *supervisor);
pid_t srv_supervisor_pid(const struct srv_supervisor *supervisor); /* 0: not running now */
uint64_t srv_supervisor_restarts(const struct srv_supervisor *supervisor);
const char *srv_supervisor_endpoint(const struct srv_supervisor *supervisor, uint32_t index);

#endif
