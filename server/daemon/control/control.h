/*
 * The control socket (A22): clients of the same user ask, the engine's thread applies at a tick boundary, a reply says
 * the tick. Bounded everywhere: connections, requests, bytes and messages a second, so that no client can disturb
 * another one or the server. [loop]
 */
#ifndef SRV_CONTROL_H
#define SRV_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "daemon/control/courier.h"
#include "daemon/control/worker.h"
#include "daemon/thread/engine.h"

struct srv_control;

typedef void (*srv_hook_done_function)(void *context, enum oto_status status, uint64_t tick, const char *text);

/* A reply that is sent after the run that was asked has ended. */
struct srv_late_reply {
    int fd; /* the client's socket; -1: nobody waits */
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

/* What the control socket asks of the program. */
struct srv_control_hooks {
    void *context;
    /* The server's facts as one line of JSON; false when it does not fit. */
    bool (*info)(void *context, char *text, size_t bytes);
    /* An orderly end was asked for by `who`. */
    void (*shutdown)(void *context, const char *who);
    /* The world's state is to go to a file; `done` is called once, maybe later. */
    void (*save)(void *context, const char *path, srv_hook_done_function done, void *done_context);
    void (*restore)(void *context, const struct srv_restore_request *request);
    /* Who may ask for what; NULL: the server's own user and root alone. */
    const struct srv_control_config *access;
    /* The run follows a log: nobody else may change its state. */
    bool is_replay;
    struct srv_worker *worker;
    /* [worker] Tries a swap's candidate in another process; NULL: swaps go without. */
    srv_probe_function *probe;
};

/* Takes `listen_fd` over (also on failure). The courier is borrowed and stopped after the control. */
enum oto_status srv_control_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_courier *courier,
                                   const struct srv_control_hooks *hooks, int listen_fd, struct srv_control **control,
                                   struct oto_error *error);
/* Closes the listener and every connection; loader work that runs already is waited for by the loop. */
void srv_control_stop(struct srv_control *control);
void srv_control_destroy(struct srv_control *control); /* after the loop has run out; NULL is allowed */

/* What waits for the worker is refused with this sentence; what it runs goes on. */
void srv_control_refuse_waiting(struct srv_control *control, const char *why);
uint32_t srv_control_connection_count(const struct srv_control *control);
/* Whether a lossless reader has records before it that it has not acknowledged. */
bool srv_control_lossless_pending(const struct srv_control *control);

#endif
