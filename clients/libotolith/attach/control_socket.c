#include "attach/control_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/monotonic.h"

#define MAX_PASSED 8

struct oto_message_writer oto_control_request(struct oto_control_socket *socket, enum oto_verb_id verb)
{
    struct oto_message_writer writer;
    oto_message_begin(&writer, socket->request, sizeof socket->request, ++socket->next_id, oto_verbs[verb].op);
    return writer;
}

/* Waits until the socket is ready for `events` or the peer hangs up. */
static enum oto_status wait_ready(const struct oto_control_socket *socket, short events, int64_t deadline_ms)
{
    if (socket->remote != NULL) {
        oto_control_remote_wait(socket->remote, deadline_ms);
        return srv_now_ms() >= deadline_ms ? OTO_TIMEOUT : OTO_OK;
    }
    for (;;) {
        const int64_t left = deadline_ms - srv_now_ms();
        struct pollfd poll_fd = {.fd = socket->fd, .events = events};
        const int ready = poll(&poll_fd, 1, left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left);
        if (ready > 0) {
            return OTO_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return OTO_IO;
        }
        if (srv_now_ms() >= deadline_ms) {
            return OTO_TIMEOUT;
        }
    }
}

static enum oto_status send_once(const struct oto_control_socket *socket, size_t bytes)
{
    for (;;) {
        if (send(socket->fd, socket->request, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
            return OTO_OK;
        }
        if (errno != EINTR) {
            return errno == EAGAIN || errno == ENOBUFS ? OTO_AGAIN
                   : errno == EPIPE || errno == ECONNRESET ? OTO_CLOSED
                                                           : OTO_IO;
        }
    }
}

/* Keeps the first received descriptor if it is the only one and wanted; closes all others. */
static void take_descriptors(struct msghdr *message, int *passed_fd)
{
    int kept = -1;
    bool too_many = (message->msg_flags & MSG_CTRUNC) != 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (kept < 0 && passed_fd != NULL && *passed_fd < 0) {
                kept = fd;
            } else {
                (void)close(fd);
                too_many = true;
            }
        }
    }
    if (kept >= 0 && too_many) {
        (void)close(kept);
        kept = -1;
    }
    if (kept >= 0) {
        *passed_fd = kept;
    }
}

/* Receives one datagram into socket->received. */
static enum oto_status receive_once(struct oto_control_socket *socket, int *passed_fd, size_t *bytes)
{
    if (socket->remote != NULL) {
        return oto_control_remote_receive(socket->remote, socket->received, sizeof socket->received, bytes);
    }
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MAX_PASSED * sizeof(int))];
    } control;
    struct iovec data = {socket->received, sizeof socket->received};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t length;
    bool reset = false; /* a peer that closed with a request unread: the error comes first, then the replies that it sent before */
    for (bool again = true; again;) {
        length = recvmsg(socket->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        again = length < 0 && (errno == EINTR || (errno == ECONNRESET && !reset));
        reset = reset || (length < 0 && errno == ECONNRESET);
    }
    if (length < 0) {
        return errno == EAGAIN ? OTO_AGAIN : errno == ECONNRESET ? OTO_CLOSED : OTO_IO;
    }
    take_descriptors(&message, passed_fd);
    if (length == 0) {
        return OTO_CLOSED;
    }
    *bytes = (size_t)length;
    return (message.msg_flags & MSG_TRUNC) != 0 ? OTO_LIMIT : OTO_OK;
}

/* Returns the status and the sentence of a reply; a reply that is OK gives OTO_OK. */
static enum oto_status status_of_reply(const struct oto_message *reply, struct oto_error *error)
{
    uint64_t number = 0;
    const char *text = "";
    const enum oto_status found = oto_message_u64(reply, "status", &number, error);
    if (found != OTO_OK) {
        return OTO_CORRUPT;
    }
    if (number == OTO_OK) {
        return OTO_OK;
    }
    const enum oto_status status = number <= OTO_PLUGIN ? (enum oto_status)number : OTO_IO;
    (void)oto_message_text(reply, "text", &text, NULL);
    return oto_fail(error, status, "%s", text[0] != '\0' ? text : oto_status_text(status));
}

static enum oto_status fail_link(struct oto_error *error, enum oto_status status, int64_t timeout_ms)
{
    switch (status) {
    case OTO_TIMEOUT:
        return oto_fail(error, status, "the server did not answer within %lld ms", (long long)timeout_ms);
    case OTO_CLOSED:
        return oto_fail(error, status, "the server has closed the connection");
    case OTO_LIMIT:
        return oto_fail(error, status, "the server's reply is longer than %u bytes", OTO_MESSAGE_MAX_BYTES);
    default:
        return oto_fail(error, status, "the control socket failed: %s", strerror(errno));
    }
}

static enum oto_status send_until(const struct oto_control_socket *socket, size_t bytes, int64_t deadline_ms)
{
    if (socket->remote != NULL) {
        return oto_control_remote_send(socket->remote, socket->request, bytes, deadline_ms);
    }
    enum oto_status status = send_once(socket, bytes);
    while (status == OTO_AGAIN) {
        status = wait_ready(socket, POLLOUT, deadline_ms);
        if (status == OTO_OK) {
            status = send_once(socket, bytes);
        }
    }
    return status;
}

/*
 * Skips messages until the reply to `id`. `rejection`: the message of a server that refuses a connection before any
 * request.
 */
static enum oto_status receive_until(struct oto_control_socket *socket, uint64_t id, int64_t deadline_ms, int *passed_fd,
                                     struct oto_error *rejection, struct oto_error *error)
{
    for (;;) {
        size_t bytes = 0;
        enum oto_status status = receive_once(socket, passed_fd, &bytes);
        if (status == OTO_AGAIN) {
            status = wait_ready(socket, POLLIN, deadline_ms);
            if (status == OTO_OK) {
                continue;
            }
        }
        if (status != OTO_OK) {
            return status;
        }
        status = oto_message_decode(socket->received, bytes, &socket->reply, error);
        if (status != OTO_OK) {
            return OTO_CORRUPT;
        }
        if (socket->reply.id == 0) {
            (void)status_of_reply(&socket->reply, rejection);
        }
        if (socket->reply.id == id && strcmp(socket->reply.op, "reply") == 0) {
            return OTO_OK;
        }
        if (srv_now_ms() >= deadline_ms) { /* checked here too, because other messages may arrive without end */
            return OTO_TIMEOUT;
        }
    }
}

static bool is_closed(const struct oto_control_socket *socket)
{
    return socket->fd < 0 && socket->remote == NULL;
}

/* Waits for a reply. `sent`: the status of sending the request. Even a closed connection may have a refusal to read. */
static enum oto_status finish_exchange(struct oto_control_socket *socket, uint64_t id, enum oto_status sent, int64_t timeout_ms,
                                       int64_t deadline_ms, int *passed_fd, struct oto_error *error)
{
    struct oto_error rejection = {.status = OTO_OK};
    enum oto_status status = sent;
    if (status == OTO_OK || status == OTO_CLOSED) {
        status = receive_until(socket, id, deadline_ms, passed_fd, &rejection, error);
    }
    if (status == OTO_OK) {
        return status_of_reply(&socket->reply, error);
    }
    if (status == OTO_CLOSED && rejection.status != OTO_OK) {
        return oto_fail(error, rejection.status, "%s", rejection.text);
    }
    if (status == OTO_CLOSED && socket->remote != NULL) {
        return oto_fail(error, status, "the gate has ended the connection: %s", oto_control_remote_reason(socket->remote));
    }
    return status != OTO_CORRUPT ? fail_link(error, status, timeout_ms) : status;
}

enum oto_status oto_control_exchange(struct oto_control_socket *socket, struct oto_message_writer *writer,
                                     int64_t timeout_ms, int *passed_fd, struct oto_error *error)
{
    const int64_t deadline_ms = srv_now_ms() + timeout_ms;
    const size_t bytes = oto_message_finish(writer);
    if (bytes == 0) {
        return oto_fail(error, OTO_LIMIT, "the request is longer than the %u bytes that a control message may have",
                        OTO_MESSAGE_MAX_BYTES);
    }
    if (is_closed(socket)) {
        return fail_link(error, OTO_CLOSED, timeout_ms);
    }
    if (passed_fd != NULL) {
        *passed_fd = -1;
    }
    const enum oto_status sent = send_until(socket, bytes, deadline_ms);
    const enum oto_status status = finish_exchange(socket, socket->next_id, sent, timeout_ms, deadline_ms, passed_fd, error);
    if (status != OTO_OK && passed_fd != NULL && *passed_fd >= 0) {
        (void)close(*passed_fd);
        *passed_fd = -1;
    }
    return status;
}

enum oto_status oto_control_await(struct oto_control_socket *socket, uint64_t id, int64_t timeout_ms, struct oto_error *error)
{
    return finish_exchange(socket, id, OTO_OK, timeout_ms, srv_now_ms() + timeout_ms, NULL, error);
}

enum oto_status oto_control_post(struct oto_control_socket *socket, struct oto_message_writer *writer)
{
    const size_t bytes = oto_message_finish(writer);
    return bytes == 0 ? OTO_LIMIT : socket->fd < 0 ? OTO_CLOSED : send_once(socket, bytes);
}

bool oto_control_alive(const struct oto_control_socket *socket)
{
    if (socket->remote != NULL) {
        return oto_control_remote_alive(socket->remote);
    }
    struct pollfd poll_fd = {.fd = socket->fd, .events = POLLRDHUP};
    int ready;
    do {
        ready = poll(&poll_fd, 1, 0);
    } while (ready < 0 && errno == EINTR);
    return ready >= 0 && (poll_fd.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) == 0;
}
