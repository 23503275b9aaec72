/*
 * One connection of the control socket: datagrams in, datagrams out, and its limits. A connection lives until it is
 * closed and no request of it is under way. Private to server/daemon/control. [loop]
 */
#ifndef SRV_CONNECTION_H
#define SRV_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <uv.h>

#include "daemon/control/rights.h"
#include "otolith/status.h"

#define SRV_MAX_CONNECTIONS 64
#define SRV_MAX_STRANGERS 48 /* connections of all users other than the server's own user and root */
#define SRV_MAX_OF_USER 16   /* connections of one such user */
#define SRV_MAX_IN_FLIGHT 16
#define SRV_MAX_BACKLOG_BYTES (1u << 20)
#define SRV_MESSAGES_PER_TURN 8      /* most messages read from one connection before other connections are served */
#define SRV_MESSAGE_COST_US 1000     /* credit for a message: allows 1000 messages a second */
#define SRV_ACKNOWLEDGE_COST_US 50   /* credit for an acknowledgement: allows 20 000 a second */
#define SRV_CREDIT_MAX_US 200000     /* allows a burst of 200 messages */
#define SRV_GREETING_MS 5000         /* timeout for the first valid message */
#define SRV_CLIENT_NAME_BYTES 40

struct srv_control;
struct srv_mailbox;
struct srv_packet;

/* Channels and acknowledged records of a lossless reader. */
struct srv_lossless {
    int slot; /* the reader's slot in the engine; -1: none */
    uint32_t count;
    uint32_t *channels;
    uint64_t *next;
};

struct srv_connection {
    struct srv_control *control;
    struct srv_connection *next, **link; /* in the control's list of connections; link NULL: not in the list */
    uv_poll_t poll;
    int fd;
    pid_t pid;
    uid_t uid;
    struct srv_rights rights; /* the request `attach` may lower them */
    char name[SRV_CLIENT_NAME_BYTES];
    uint64_t opened_ms;
    int64_t credit_us; /* messages cost credit and time restores it (1 us each us); below zero the client's messages wait */
    uint64_t credit_at_us;
    uint32_t in_flight;
    uint32_t steps; /* requests `step` without a reply yet */
    bool spoken;   /* has sent a valid message */
    bool attached; /* the request `attach` succeeded */
    bool remote;   /* on another machine, behind the gate: it gets no shared memory, and no tick waits for it */
    bool wake;
    bool throttled;
    bool closed;        /* no more reading or writing */
    bool handle_closed; /* libuv has closed the handle */
    struct srv_lossless lossless;
    bool joining;                /* the connection is a participant, or its join is under way */
    struct srv_mailbox *mailbox; /* mailbox of the participant, in use by the engine */
    struct srv_packet *out_first, *out_last;
    size_t out_bytes;
};

/* Takes ownership of the descriptor. NULL: out of memory, and the caller keeps the descriptor. */
struct srv_connection *srv_connection_open(struct srv_control *control, uv_loop_t *loop, int fd,
                                           const struct ucred *peer, const struct srv_rights *rights);
/* Closes the connection and releases what it holds in the engine. Its memory is freed when none of its requests is left. */
void srv_connection_close(struct srv_connection *connection);
/* `hold` counts a request under way, `release` counts its end. */
void srv_connection_hold(struct srv_connection *connection);
void srv_connection_release(struct srv_connection *connection);

/* Sends one datagram, with a descriptor if passed_fd >= 0; queues it while the peer does not read. */
void srv_connection_send(struct srv_connection *connection, const void *data, size_t bytes, int passed_fd);
/* Subtracts the cost of a message from the credit, and stops reading messages when the credit is below zero. */
void srv_connection_charge(struct srv_connection *connection, int64_t cost_us);
/* Adds the time since the last call to the credit, and resumes reading messages when the credit is positive. */
void srv_connection_refill(struct srv_connection *connection);

/* Defined in control.c: handles one datagram. If `bytes` exceeds the buffer, the datagram was truncated. */
void srv_control_receive(struct srv_connection *connection, const void *data, size_t bytes);
/* Defined in control.c: releases what the connection holds in the engine. */
void srv_control_forget(struct srv_connection *connection);
unsigned char *srv_control_receive_buffer(struct srv_control *control, size_t *bytes);
void srv_control_throttled(struct srv_control *control);

#endif
