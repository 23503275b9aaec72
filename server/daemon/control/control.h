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

/* A reply that is sent after the run that was asked has ended. */
struct srv_late_reply {
    int fd; /* the client's socket; -1: no client waits */
    uint64_t id;
};
/* Sends it once and closes the socket. */
void srv_late_reply_send(struct srv_late_reply *reply, enum oto_status status, uint64_t tick, const char *text);

/* A request `restore`. One of the two functions is called once, maybe later. */
struct srv_restore_request {
    const char *path; /* borrowed during the call */
    void *context;
    srv_hook_done_function refuse;
    /* This run ends, and the next one answers. */
    struct srv_late_reply (*accept)(void *context);
};

/* Functions of the program that the control socket calls. */
struct srv_control_hooks {
    void *context;
    /* The server's facts as one line of JSON; false when it does not fit. */
    bool (*info)(void *context, char *text, size_t bytes);
    /* A client asked for an orderly end. */
    void (*shutdown)(void *context, const char *who);
    /* The world's state is to go to a file; `done` is called once, maybe later. */
    void (*save)(void *context, const char *path, srv_hook_done_function done, void *done_context);
    void (*restore)(void *context, const struct srv_restore_request *request);
    /* Roles of users; NULL: only the server's own user and root may connect. */
    const struct srv_control_config *access;
    /* The run replays a log: clients may not change its state. */
    bool is_replay;
    struct srv_worker *worker;
    /* [worker] Tries a swap's candidate in another process; NULL: swaps go without. */
    srv_probe_function *probe;
};

/* Owns `listen_fd` from now on, also on failure. The command queue is borrowed; stop it after the control. */
enum oto_status srv_control_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_command_queue *command_queue,
                                   const struct srv_control_hooks *hooks, int listen_fd, struct srv_control **control,
                                   struct oto_error *error);
/* Closes the listener and every connection. The loop waits for loader work that runs already. */
void srv_control_stop(struct srv_control *control);
void srv_control_destroy(struct srv_control *control); /* after the loop has run out; NULL is allowed */

/* Refuses requests that wait for the worker, and the one that the worker does not return from; `why` is of the former. */
void srv_control_refuse_waiting(struct srv_control *control, const char *why);
uint32_t srv_control_connection_count(const struct srv_control *control);
/* Whether a lossless reader has records that it has not acknowledged. */
bool srv_control_lossless_pending(const struct srv_control *control);

#endif
