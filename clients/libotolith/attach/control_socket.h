/*
 * A connection to a world's control socket: one request, one reply with the same id; replies that came too late for
 * their request are dropped. Survives signals; a dead server is an error, never SIGPIPE. One thread at a time.
 */
#ifndef OTO_CONTROL_SOCKET_H
#define OTO_CONTROL_SOCKET_H

#include <stdint.h>

#include "wire/control_message.h"

struct oto_control_socket {
    int fd; /* -1: closed */
    int32_t timeout_ms;
    uint64_t next_id;
    struct oto_message reply;
    unsigned char request[OTO_MESSAGE_MAX_BYTES];
    unsigned char received[OTO_MESSAGE_MAX_BYTES];
};

/* Starts the request `op`; add arguments to the writer, then exchange or post it. */
struct oto_message_writer oto_control_request(struct oto_control_socket *socket, const char *op);

/*
 * Sends the request and waits for its reply, which then stands in socket->reply. A descriptor that comes with it goes
 * to *passed_fd, if asked for, and is closed otherwise. TIMEOUT, CLOSED, CORRUPT, LIMIT, or the status and sentence of
 * a server that refused.
 */
enum oto_status oto_control_exchange(struct oto_control_socket *socket, struct oto_message_writer *writer,
                                     int64_t timeout_ms, int *passed_fd, struct oto_error *error);
/* Sends a request that is not answered; does not wait: AGAIN where the server does not read. */
enum oto_status oto_control_post(struct oto_control_socket *socket, struct oto_message_writer *writer);

/* Whether the server still holds its end. */
bool oto_control_alive(const struct oto_control_socket *socket);

#endif
