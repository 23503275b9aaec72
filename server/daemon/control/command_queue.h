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

/* Called once for each accepted command, with its reply; `reply` is valid until the function returns. */
typedef void (*srv_reply_function)(void *context, const struct srv_reply *reply);

/* An observer: `sent` is called with each command that is sent, after its id is set; `polled` after replies were taken. */
struct srv_command_queue_observer {
    void *context;
    void (*sent)(void *context, const struct srv_command *command);
    void (*polled)(void *context);
};

enum oto_status srv_command_queue_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_command_queue **queue,
                                         struct oto_error *error);
/* Ends the queue. Each command without a reply gets the reply CLOSED, with its change if the engine never received it. */
void srv_command_queue_stop(struct srv_command_queue *queue);
/* Sets the observer. Call it at most once, before the first command. */
void srv_command_queue_observe(struct srv_command_queue *queue, const struct srv_command_queue_observer *observer);
/* Call it after the loop has run the close callbacks of the queue; NULL is allowed. */
void srv_command_queue_destroy(struct srv_command_queue *queue);

/*
 * Sends a command. False: the command is not accepted, because the queue is stopped, memory is short, or 4096 commands wait;
 * that limit does not apply to commands that end something (stop, leave, settle). `done` NULL: the reply is dropped.
 */
bool srv_command_queue_send(struct srv_command_queue *queue, const struct srv_command *command, srv_reply_function done,
                            void *context);
/* Makes the reply to a command that srv_command_queue_send did not accept. */
struct srv_reply srv_command_queue_refusal(const struct srv_command_queue *queue, struct srv_node_change *change);
/* Writes an event to the event ring. It is dropped only when 4096 commands wait already. */
void srv_command_queue_event(struct srv_command_queue *queue, enum oto_event_kind kind, uint32_t severity,
                             int64_t value, const char *source, const char *text);
/* Takes replies now, as the loop does when the engine's notify descriptor is readable. */
void srv_command_queue_poll(struct srv_command_queue *queue);

#endif
