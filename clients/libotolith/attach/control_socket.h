/*
 * A connection to a world's control socket: one request, one reply with the same id. Replies that arrive after their
 * request's timeout are dropped. Signals do not disturb it; a dead server is an error, not SIGPIPE. One thread at a
 * time.
 */
#ifndef OTO_CONTROL_SOCKET_H
#define OTO_CONTROL_SOCKET_H

#include <stdint.h>

#include "attach/control_remote.h"
#include "wire/control_verbs.h"

struct oto_control_socket {
    int fd; /* -1: closed, or the server is on another machine */
    struct oto_control_remote *remote; /* NULL: the server is on this machine */
    int32_t timeout_ms;
    uint64_t next_id;
    struct oto_message reply;
    unsigned char request[OTO_MESSAGE_MAX_BYTES];
    unsigned char received[OTO_MESSAGE_MAX_BYTES];
};

/* Starts a request. Add arguments to the writer, then call exchange or post. */
struct oto_message_writer oto_control_request(struct oto_control_socket *socket, enum oto_verb_id verb);

/*
 * Sends the request and waits for its reply, which is then in socket->reply. A descriptor that arrives with
 * the reply is stored in *passed_fd, or closed if passed_fd is NULL. Returns TIMEOUT, CLOSED, CORRUPT, LIMIT, or the
 * status and sentence of a server that refuses.
 */
enum oto_status oto_control_exchange(struct oto_control_socket *socket, struct oto_message_writer *writer,
                                     int64_t timeout_ms, int *passed_fd, struct oto_error *error);
/* Waits for the reply to request `id`, which another process has sent on this connection. */
enum oto_status oto_control_await(struct oto_control_socket *socket, uint64_t id, int64_t timeout_ms, struct oto_error *error);
/* Sends a request that has no reply. Does not wait: AGAIN if the server does not read. */
enum oto_status oto_control_post(struct oto_control_socket *socket, struct oto_message_writer *writer);

/* True if the server has not closed its end. */
bool oto_control_alive(const struct oto_control_socket *socket);

#endif
