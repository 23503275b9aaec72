/*
 * The control socket (A22): clients send requests, the tick thread applies them at a tick boundary, and the reply carries
 * the tick. Connections, requests, bytes and messages per second are limited, so that no client can disturb another
 * client or the server. [loop]
 */
#ifndef SRV_CONTROL_H
#define SRV_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "daemon/control/command_queue.h"
#include "daemon/control/worker.h"
#include "daemon/thread/engine.h"

struct srv_control;

typedef void (*srv_hook_done_function)(void *context, enum oto_status status, uint64_t tick, const char *text);

/* A reply that is sent after the run that received the request has ended. */
struct srv_late_reply {
    int fd; /* the client's socket; -1: no client waits */
    uint64_t id;
    bool by_gate; /* the gate relays it, and ends with this run: the reply is sent before */
};
/* Sends the reply once and closes the socket. */
void srv_late_reply_send(struct srv_late_reply *reply, enum oto_status status, uint64_t tick, const char *text);

/* A request `restore`. Either `refuse` or `accept` is called, once, at once or later. */
struct srv_restore_request {
    const char *path; /* borrowed during the call */
    void *context;
    srv_hook_done_function refuse;
    /* Accepts the request: this run ends, and the next run sends the reply. */
    struct srv_late_reply (*accept)(void *context);
};

/* Functions of the program that the control socket calls. */
struct srv_control_hooks {
    void *context;
    /* The server's facts as one line of JSON; false when it does not fit. */
    bool (*info)(void *context, char *text, size_t bytes);
    /* A client requested an orderly end. */
    void (*shutdown)(void *context, const char *who);
    /* Saves the world's state to a file; `done` is called once, at once or later. */
    void (*save)(void *context, const char *path, srv_hook_done_function done, void *done_context);
    void (*restore)(void *context, const struct srv_restore_request *request);
    /* Roles of users; NULL: only the server's own user and root may connect. */
    const struct srv_control_config *access;
    /* The run replays a log: clients may not change its state. */
    bool is_replay;
    struct srv_worker *worker;
    /* [worker] Probes a swap's candidate in a child process; NULL: swaps have no probe. */
    srv_probe_function *probe;
};

/* Takes ownership of `listen_fd`, also on failure. The command queue is borrowed; stop it after the control. */
enum oto_status srv_control_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_command_queue *command_queue,
                                   const struct srv_control_hooks *hooks, int listen_fd, struct srv_control **control,
                                   struct oto_error *error);
/* Closes the listener and every connection. The loop ends only after the loader's work in the worker has returned. */
void srv_control_stop(struct srv_control *control);
void srv_control_destroy(struct srv_control *control); /* call it after the loop has ended; NULL is allowed */

/* The worker is stuck: refuses the requests that wait for it, with the reason `why`, and the request whose job is stuck. */
void srv_control_refuse_waiting(struct srv_control *control, const char *why);
uint32_t srv_control_connection_count(const struct srv_control *control);
/* Whether a lossless reader has records that it has not acknowledged. */
bool srv_control_lossless_pending(const struct srv_control *control);

#endif
