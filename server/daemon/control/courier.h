/*
 * Requests and replies between the main loop and the tick thread. Commands are sent in order, also while the engine's
 * queue is full, and each reply is passed to the function that waits for it. [loop]
 */
#ifndef SRV_COURIER_H
#define SRV_COURIER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/thread/engine.h"

struct srv_courier;

/* Called once for each command that was taken; `reply` lives until it returns. */
typedef void (*srv_reply_function)(void *context, const struct srv_reply *reply);

/* An observer: called with each command that is sent, after its number is set, and after replies were taken. */
struct srv_courier_observer {
    void *context;
    void (*sent)(void *context, const struct srv_command *command);
    void (*polled)(void *context);
};

enum oto_status srv_courier_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_courier **courier,
                                   struct oto_error *error);
/* Stops listening for replies; every command still waiting is answered CLOSED, with its change if it was never posted. */
void srv_courier_stop(struct srv_courier *courier);
/* At most one; before the first command. */
void srv_courier_observe(struct srv_courier *courier, const struct srv_courier_observer *observer);
void srv_courier_destroy(struct srv_courier *courier); /* after its loop has run its close callbacks; NULL is allowed */

/*
 * False, and nothing taken, when too much waits already; what ends something (stop, leave, settle) is always taken. `done`
 * NULL: the reply is dropped.
 */
bool srv_courier_send(struct srv_courier *courier, const struct srv_command *command, srv_reply_function done,
                      void *context);
/* The reply for a sender whose command was not accepted. */
struct srv_reply srv_courier_refusal(const struct srv_courier *courier, struct srv_node_change *change);
/* Writes an event to the event ring. It is dropped only when 4096 commands wait already. */
void srv_courier_event(struct srv_courier *courier, enum oto_event_kind kind, uint32_t severity, int64_t value,
                       const char *source, const char *text);
/* Takes replies now, as the loop does when the engine's notify descriptor is readable. */
void srv_courier_poll(struct srv_courier *courier);

#endif
