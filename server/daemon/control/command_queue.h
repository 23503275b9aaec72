/*
 * Requests and replies between the main loop and the tick thread. Commands are sent in order, also while the engine's
 * queue is full, and each reply is passed to the function that waits for it. [loop]
 */
#ifndef SRV_COMMAND_QUEUE_H
#define SRV_COMMAND_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/thread/engine.h"

struct srv_command_queue;

/* Called once for each command that was taken; `reply` lives until it returns. */
typedef void (*srv_reply_function)(void *context, const struct srv_reply *reply);

/* An observer: called with each command that is sent, after its number is set, and after replies were taken. */
struct srv_command_queue_observer {
    void *context;
    void (*sent)(void *context, const struct srv_command *command);
    void (*polled)(void *context);
};

enum oto_status srv_command_queue_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_command_queue **queue,
                                         struct oto_error *error);
/* Stops listening for replies; every command still waiting is answered CLOSED, with its change if it was never posted. */
void srv_command_queue_stop(struct srv_command_queue *queue);
/* At most one; before the first command. */
void srv_command_queue_observe(struct srv_command_queue *queue, const struct srv_command_queue_observer *observer);
/* After its loop has run its close callbacks; NULL is allowed. */
void srv_command_queue_destroy(struct srv_command_queue *queue);

/*
 * False, and nothing taken, when too much waits already; what ends something (stop, leave, settle) is always taken. `done`
 * NULL: the reply is dropped.
 */
bool srv_command_queue_send(struct srv_command_queue *queue, const struct srv_command *command, srv_reply_function done,
                            void *context);
/* The reply for a sender whose command was not accepted. */
struct srv_reply srv_command_queue_refusal(const struct srv_command_queue *queue, struct srv_node_change *change);
/* Writes an event to the event ring. It is dropped only when 4096 commands wait already. */
void srv_command_queue_event(struct srv_command_queue *queue, enum oto_event_kind kind, uint32_t severity,
                             int64_t value, const char *source, const char *text);
/* Takes replies now, as the loop does when the engine's notify descriptor is readable. */
void srv_command_queue_poll(struct srv_command_queue *queue);

#endif
