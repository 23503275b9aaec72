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

#include "daemon/control/role.h"
#include "otolith/status.h"

#define SRV_MAX_CONNECTIONS 64
#define SRV_MAX_STRANGERS 48 /* connections of users other than the server's own and root, in all … */
#define SRV_MAX_OF_USER 16   /* … and of one of them */
#define SRV_MAX_IN_FLIGHT 16
#define SRV_MAX_BACKLOG_BYTES (1u << 20)
#define SRV_MESSAGES_PER_TURN 8      /* read from one connection before the others have their turn */
#define SRV_MESSAGE_COST_US 1000     /* 1000 messages a second … */
#define SRV_ACKNOWLEDGE_COST_US 50   /* … or 20 000 acknowledgements */
#define SRV_CREDIT_MAX_US 200000     /* a burst of 200 */
#define SRV_GREETING_MS 5000         /* to say the first valid message */
#define SRV_CLIENT_NAME_BYTES 40

struct srv_control;
struct srv_mailbox;
struct srv_packet;

/* Channels and acknowledged records of a lossless reader. */
struct srv_lossless {
    int slot; /* of the engine; -1: none */
    uint32_t count;
    uint32_t *channels;
    uint64_t *next;
};

struct srv_connection {
    struct srv_control *control;
    struct srv_connection *next, **link; /* in the control's list; link NULL: out of it */
    uv_poll_t poll;
    int fd;
    pid_t pid;
    uid_t uid;
    enum srv_role role; /* attach may lower it */
    char name[SRV_CLIENT_NAME_BYTES];
    uint64_t opened_ms;
    int64_t credit_us; /* processor time that the client may still use; below zero its messages wait */
    uint64_t credit_at_us;
    uint32_t in_flight;
    uint32_t steps; /* requests `step` without a reply yet */
    bool spoken;   /* has sent a valid message */
    bool attached; /* has been given the segment */
    bool remote;   /* on another machine, behind the gate: it gets no shared memory, and no tick waits for it */
    bool wake;
    bool throttled;
    bool closed;        /* no more reading or writing */
    bool handle_closed; /* libuv has let go */
    struct srv_lossless lossless;
    bool joining;                /* a participant, or about to be one */
    struct srv_mailbox *mailbox; /* of the participant; the engine's */
    struct srv_packet *out_first, *out_last;
    size_t out_bytes;
};

/* Takes the descriptor over; NULL when out of memory: then it stays the caller's. */
struct srv_connection *srv_connection_open(struct srv_control *control, uv_loop_t *loop, int fd,
                                           const struct ucred *peer, enum srv_role role);
/* Ends it and releases all it held in the engine; the memory goes when nothing refers to it any more. */
void srv_connection_close(struct srv_connection *connection);
/* Counts a request under way, or its end. */
void srv_connection_hold(struct srv_connection *connection);
void srv_connection_release(struct srv_connection *connection);

/* Sends one datagram, with a descriptor if passed_fd >= 0; queues it while the peer does not read. */
void srv_connection_send(struct srv_connection *connection, const void *data, size_t bytes, int passed_fd);
/* Takes the price of a message from the credit, and stops reading when it is used up. */
void srv_connection_charge(struct srv_connection *connection, int64_t cost_us);
/* Adds the credit of the time that has passed, and resumes reading once it is positive. */
void srv_connection_refill(struct srv_connection *connection);

/* Defined in control.c: handles one datagram. It was truncated if `bytes` exceeds the buffer. */
void srv_control_receive(struct srv_connection *connection, const void *data, size_t bytes);
/* Given by control.c: the connection's own things in the engine are to be let go. */
void srv_control_forget(struct srv_connection *connection);
unsigned char *srv_control_receive_buffer(struct srv_control *control, size_t *bytes);
void srv_control_throttled(struct srv_control *control);

#endif
