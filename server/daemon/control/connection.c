#include "daemon/control/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/pass_fd.h"

struct srv_packet {
    struct srv_packet *next;
    size_t bytes;
    int passed_fd;
    unsigned char data[];
};

static void on_ready(uv_poll_t *poll, int status, int events);

static void watch(struct srv_connection *connection)
{
    const int wanted = UV_DISCONNECT | (connection->throttled ? 0 : UV_READABLE) |
                       (connection->out_first != NULL ? UV_WRITABLE : 0);
    (void)uv_poll_start(&connection->poll, wanted, on_ready);
}

static void free_if_done(struct srv_connection *connection)
{
    if (!connection->handle_closed || connection->in_flight > 0) {
        return;
    }
    free(connection->lossless.channels);
    free(connection->lossless.next);
    free(connection);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct srv_connection *connection = handle->data;
    (void)close(connection->fd);
    connection->handle_closed = true;
    free_if_done(connection);
}

struct srv_connection *srv_connection_open(struct srv_control *control, uv_loop_t *loop, int fd,
                                           const struct ucred *peer, const struct srv_rights *rights)
{
    struct srv_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL || uv_poll_init(loop, &connection->poll, fd) != 0) {
        free(connection);
        return NULL;
    }
    connection->control = control;
    connection->fd = fd;
    connection->pid = peer->pid;
    connection->uid = peer->uid;
    connection->rights = *rights;
    connection->poll.data = connection;
    connection->lossless.slot = -1;
    connection->opened_ms = uv_now(loop);
    connection->credit_us = SRV_CREDIT_MAX_US;
    connection->credit_at_us = (uint64_t)srv_now_ns() / 1000;
    (void)snprintf(connection->name, sizeof connection->name, "client");
    watch(connection);
    return connection;
}

void srv_connection_close(struct srv_connection *connection)
{
    if (connection->closed) {
        return;
    }
    connection->closed = true;
    srv_control_forget(connection);
    while (connection->out_first != NULL) {
        struct srv_packet *packet = connection->out_first;
        connection->out_first = packet->next;
        free(packet);
    }
    connection->out_bytes = 0;
    uv_close((uv_handle_t *)&connection->poll, on_handle_closed);
}

void srv_connection_hold(struct srv_connection *connection)
{
    connection->in_flight++;
}

void srv_connection_release(struct srv_connection *connection)
{
    connection->in_flight--;
    free_if_done(connection);
}

/* Returns 1: sent, 0: the peer does not read at the moment, -1: the connection is dead. */
static int send_now(int fd, const void *data, size_t bytes, int passed_fd)
{
    for (;;) {
        if (srv_send_with_fds(fd, data, bytes, &passed_fd, passed_fd >= 0 ? 1 : 0, MSG_DONTWAIT) >= 0) {
            return 1;
        }
        if (errno != EINTR) {
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM ? 0 : -1;
        }
    }
}

static void enqueue(struct srv_connection *connection, const void *data, size_t bytes, int passed_fd)
{
    struct srv_packet *packet = NULL;
    if (connection->out_bytes + bytes <= SRV_MAX_BACKLOG_BYTES) {
        packet = malloc(sizeof *packet + bytes);
    }
    if (packet == NULL) {
        srv_connection_close(connection);
        return;
    }
    packet->next = NULL;
    packet->bytes = bytes;
    packet->passed_fd = passed_fd;
    memcpy(packet->data, data, bytes);
    if (connection->out_last != NULL && connection->out_first != NULL) {
        connection->out_last->next = packet;
    } else {
        connection->out_first = packet;
    }
    connection->out_last = packet;
    connection->out_bytes += bytes;
    watch(connection);
}

void srv_connection_send(struct srv_connection *connection, const void *data, size_t bytes, int passed_fd)
{
    if (connection->closed) {
        return;
    }
    const int sent = connection->out_first != NULL ? 0 : send_now(connection->fd, data, bytes, passed_fd);
    if (sent == 0) {
        enqueue(connection, data, bytes, passed_fd);
    } else if (sent < 0) {
        srv_connection_close(connection);
    }
}

static void flush(struct srv_connection *connection)
{
    while (connection->out_first != NULL) {
        struct srv_packet *packet = connection->out_first;
        const int sent = send_now(connection->fd, packet->data, packet->bytes, packet->passed_fd);
        if (sent < 0) {
            srv_connection_close(connection);
            return;
        }
        if (sent == 0) {
            return;
        }
        connection->out_first = packet->next;
        connection->out_bytes -= packet->bytes;
        free(packet);
    }
    watch(connection);
}

void srv_connection_refill(struct srv_connection *connection)
{
    const uint64_t now_us = (uint64_t)srv_now_ns() / 1000;
    connection->credit_us += (int64_t)(now_us - connection->credit_at_us);
    connection->credit_at_us = now_us;
    if (connection->credit_us > SRV_CREDIT_MAX_US) {
        connection->credit_us = SRV_CREDIT_MAX_US;
    }
    if (connection->throttled && connection->credit_us > 0 && !connection->closed) {
        connection->throttled = false;
        watch(connection);
    }
}

void srv_connection_charge(struct srv_connection *connection, int64_t cost_us)
{
    srv_connection_refill(connection);
    connection->credit_us -= cost_us;
    if (connection->credit_us < 0 && !connection->closed) {
        connection->throttled = true;
        watch(connection);
        srv_control_throttled(connection->control);
    }
}

/* The buffer has no room for ancillary data: the kernel closes every descriptor that a peer passes. */
static void receive(struct srv_connection *connection)
{
    for (int turn = 0; turn < SRV_MESSAGES_PER_TURN && !connection->closed && !connection->throttled; turn++) {
        size_t room;
        unsigned char *buffer = srv_control_receive_buffer(connection->control, &room);
        const ssize_t got = recv(connection->fd, buffer, room, MSG_DONTWAIT | MSG_TRUNC);
        if (got > 0) {
            srv_control_receive(connection, buffer, (size_t)got);
        } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
            srv_connection_close(connection); /* an empty datagram looks like the end of the connection */
        } else if (errno != EINTR) {
            return;
        }
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct srv_connection *connection = poll->data;
    if (status < 0) {
        srv_connection_close(connection);
        return;
    }
    if ((events & UV_WRITABLE) != 0) {
        flush(connection);
    }
    if (!connection->closed && (events & UV_READABLE) != 0) {
        receive(connection);
    }
    if (!connection->closed && (events & UV_DISCONNECT) != 0 && (events & UV_READABLE) == 0) {
        srv_connection_close(connection);
    }
}
