/*
 * For the verbs of the control socket: a request, its replies, and the table of verbs. Private to server/daemon/control.
 * [loop]
 */
#ifndef SRV_REQUEST_H
#define SRV_REQUEST_H

#include <stdint.h>

#include "daemon/control/connection.h"
#include "daemon/control/control.h"
#include "daemon/control/command_queue.h"
#include "wire/control_verbs.h"

struct srv_loader;
struct srv_node_list;

/* A request that is being dispatched. `message` is in the control's only buffer: valid until the verb returns. */
struct srv_request {
    struct srv_control *control;
    struct srv_connection *connection;
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    const struct oto_message *message;
    const struct oto_verb *verb; /* NULL: the message names none */
};

/* A request with a later reply. `what` is its text in the event ring. */
struct srv_pending_request {
    struct srv_connection *connection;
    struct srv_command_queue *command_queue;
    struct srv_node_list *list; /* set for a node of a pattern, which has no `connection`: the list replies (node_list.h) */
    uint32_t node;              /* node of the list */
    uint64_t id; /* number of the request, chosen by the client */
    uint64_t value; /* for use by the verb */
    char what[152];
};

/* The verbs. The arguments of a request were checked before (oto_verb_check). Each replies to its request at once, or later through a pending request. */
void srv_verb_attach(struct srv_request *request);
void srv_verb_wake(struct srv_request *request);
void srv_verb_info(struct srv_request *request);
void srv_verb_shutdown(struct srv_request *request);
void srv_verb_pause(struct srv_request *request);
void srv_verb_resume(struct srv_request *request);
void srv_verb_step(struct srv_request *request);
void srv_verb_scale(struct srv_request *request);
void srv_verb_mode(struct srv_request *request);
void srv_verb_get(struct srv_request *request);
void srv_verb_set(struct srv_request *request);
void srv_verb_swap(struct srv_request *request);
void srv_verb_checkpoint(struct srv_request *request);
void srv_verb_restore(struct srv_request *request);
void srv_verb_fault(struct srv_request *request);
void srv_verb_clear_faults(struct srv_request *request);
void srv_verb_lossless(struct srv_request *request);
void srv_verb_acknowledge(struct srv_request *request);
void srv_verb_join(struct srv_request *request);

/* Whether the client has the role for this node that the verb needs. False: the request was refused. */
bool srv_request_permits(struct srv_request *request, uint32_t node);
/* The node that the argument `node` names. UINT32_MAX: there is none or it is not permitted, and the request was refused. */
uint32_t srv_request_node(struct srv_request *request);

/* `begin` starts a reply in the control's buffer, `send` sends it. */
void srv_reply_begin(struct srv_request *request, struct oto_message_writer *writer, enum oto_status status,
                     const char *text);
void srv_reply_send(struct srv_request *request, struct oto_message_writer *writer, int passed_fd);
/* Sends a reply that has only a status and a text. */
void srv_reply_text(struct srv_request *request, enum oto_status status, const char *text);
void srv_reply_error(struct srv_request *request, const struct oto_error *error);

/* NULL: the request was refused, because this client has too many requests under way or memory is short. */
struct srv_pending_request *srv_pending_request_open(struct srv_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* An additional number of a reply. */
struct srv_pending_request_number {
    const char *key;
    uint64_t value;
};
void srv_pending_request_finish_with(struct srv_pending_request *pending, enum oto_status status, uint64_t tick,
                                     const char *text, const struct srv_pending_request_number *numbers,
                                     uint32_t count);
/* Sends the reply, writes the request to the event ring, and frees the pending request. */
void srv_pending_request_finish(struct srv_pending_request *pending, enum oto_status status, uint64_t tick,
                                const char *text);
/* A srv_reply_function: finishes the pending request with the tick thread's reply. */
void srv_pending_request_take(void *pending, const struct srv_reply *reply);
/* Sends a command whose reply goes to `done` with the pending request. False: none is sent, and the request was refused. */
bool srv_pending_request_send(struct srv_pending_request *pending, struct srv_command_queue *command_queue,
                              const struct srv_command *command, srv_reply_function done);
/* Makes the reply that the next run will send, writes the request to the event ring, and frees the pending request. */
struct srv_late_reply srv_pending_request_postpone(struct srv_pending_request *pending);
/* Replies with a descriptor of shared memory that has `bytes` bytes. */
void srv_pending_request_finish_with_fd(struct srv_pending_request *pending, uint64_t tick, uint64_t bytes,
                                        int passed_fd);

/* Objects of the control that verbs use. */
void srv_control_set_wake(struct srv_connection *connection, bool on);
struct srv_loader *srv_control_loader(struct srv_control *control);
const struct srv_control_hooks *srv_control_get_hooks(const struct srv_control *control);
/* If the connection is a participant, it leaves the world. */
void srv_connection_leave(struct srv_connection *connection, struct srv_command_queue *command_queue);
/* "name (pid 12)" */
void srv_connection_who(const struct srv_connection *connection, char *who, size_t bytes);

#endif
