/*
 * The supervisor of a child that reads the world, as the publisher and the page do: starts its program, reads its reports,
 * and restarts it with a back-off. It is spawned without fork, so that no page of the tick thread is copied. [loop]
 *
 * A program takes --socket=PATH and --parent=PID, ends with code 2 where a restart would not help, and writes lines to its
 * standard output: "endpoint INDEX URL", "closed INDEX" (it cannot listen there now), "event SENTENCE", and "alive" at
 * least every second.
 */
#ifndef SRV_SUPERVISOR_H
#define SRV_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "otolith/status.h"

struct srv_supervisor;

#define SRV_SUPERVISOR_ENDPOINTS 9
#define SRV_SUPERVISOR_ARGUMENTS 48

/* Options of the start; the supervisor copies them. */
struct srv_supervisor_options {
    const char *program; /* file name in the directory of otolithd, for example "otolith-publisher" */
    const char *arguments[SRV_SUPERVISOR_ARGUMENTS]; /* in addition to --socket and --parent; the last is NULL */
    uint32_t endpoint_count;
    const char *endpoints[SRV_SUPERVISOR_ENDPOINTS]; /* URLs; "ipc" is pub.ipc in the runtime directory; "": not known yet */
    const char *endpoint_option; /* precedes each endpoint on the command line: "--listen"; NULL: endpoints are only reported */
};

struct srv_supervisor_hooks {
    void *context;
    /* Reports an event: exited, restarted, a listener reopened. */
    void (*event)(void *context, const char *program, uint32_t severity, int64_t value, const char *sentence);
    void (*restarted)(void *context); /* called for each restart */
    /* The program listens at an endpoint, or no longer. `is_new`: it was not known before (the kernel chose the port). */
    void (*endpoints_changed)(void *context, bool is_new);
};

/* `directory` is the runtime directory, which contains the ipc and control sockets. OTO_NOT_FOUND: no such program. */
enum oto_status srv_supervisor_start(uv_loop_t *loop, const struct srv_supervisor_options *options, const char *directory,
                                     const struct srv_supervisor_hooks *hooks, struct srv_supervisor **supervisor,
                                     struct oto_error *error);
/* Ends the program (SIGTERM, after 3 s SIGKILL) and closes all handles. The loop runs until both are done. */
void srv_supervisor_stop(struct srv_supervisor *supervisor);
void srv_supervisor_destroy(struct srv_supervisor *supervisor); /* call it after the loop has ended; NULL is allowed */

pid_t srv_supervisor_pid(const struct srv_supervisor *supervisor); /* 0: not running now */
uint64_t srv_supervisor_restarts(const struct srv_supervisor *supervisor);
/* False if an endpoint is closed, or the program cannot start: then not all addresses of the world file are served. */
bool srv_supervisor_serves(const struct srv_supervisor *supervisor);
uint32_t srv_supervisor_endpoint_count(const struct srv_supervisor *supervisor);
const char *srv_supervisor_endpoint(const struct srv_supervisor *supervisor, uint32_t index);
/* Whether the program listens at the endpoint now. */
bool srv_supervisor_listens(const struct srv_supervisor *supervisor, uint32_t index);

#endif
