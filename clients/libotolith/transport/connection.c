#include "transport/connection.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/monotonic.h"
#include "transport/tls.h"

#define HOST_BYTES 256
#define PORT_BYTES 8

enum scheme { SCHEME_UNIX, SCHEME_ABSTRACT, SCHEME_TCP, SCHEME_TLS };

static const struct {
    const char *prefix;
    enum scheme scheme;
    int family;
} schemes[] = {{"ipc://", SCHEME_UNIX, AF_UNIX},   {"unix://", SCHEME_UNIX, AF_UNIX}, {"abstract://", SCHEME_ABSTRACT, AF_UNIX},
               {"tcp://", SCHEME_TCP, AF_UNSPEC},  {"tcp4://", SCHEME_TCP, AF_INET},  {"tcp6://", SCHEME_TCP, AF_INET6},
               {"tls+tcp://", SCHEME_TLS, AF_UNSPEC}};

struct oto_connection {
    enum scheme scheme;
    int family;
    struct sockaddr_un path; /* of a unix socket */
    socklen_t path_bytes;
    char host[HOST_BYTES], port[PORT_BYTES];
    struct addrinfo *found, *candidate; /* addresses of the host; the next address to try */
    int fd;                             /* -1: stopped */
    bool connected;
    struct oto_tls_context *context; /* of tls+tcp */
    struct oto_tls *tls;
    short events; /* poll events for which the last operation waits */
    char reason[160];
};

static enum oto_status fail_with(struct oto_connection *connection, enum oto_status status, const char *reason)
{
    (void)snprintf(connection->reason, sizeof connection->reason, "%s", reason);
    return status;
}

/* ---- addresses ---- */

static bool take_path(struct oto_connection *connection, const char *path, bool abstract)
{
    struct sockaddr_un *address = &connection->path;
    const size_t bytes = strlen(path), first = abstract ? 1 : 0;
    if (bytes == 0 || first + bytes >= sizeof address->sun_path) {
        return false;
    }
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + first, path, bytes);
    connection->path_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + first + bytes + (abstract ? 0 : 1));
    return true;
}

static bool take_url(struct oto_connection *connection, const char *url)
{
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        const size_t prefix = strlen(schemes[i].prefix);
        if (strncmp(url, schemes[i].prefix, prefix) != 0) {
            continue;
        }
        connection->scheme = schemes[i].scheme;
        connection->family = schemes[i].family;
        return connection->family == AF_UNIX
                   ? take_path(connection, url + prefix, connection->scheme == SCHEME_ABSTRACT)
                   : srv_address_split(url + prefix, connection->host, sizeof connection->host, connection->port,
                                       sizeof connection->port) && connection->host[0] != '\0';
    }
    return false;
}

enum oto_status oto_connection_make(const char *url, const struct oto_tls_files *tls, struct oto_connection **connection,
                                    struct oto_error *error)
{
    struct oto_connection *made = calloc(1, sizeof *made);
    *connection = NULL;
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a connection");
    }
    made->fd = -1;
    enum oto_status status = OTO_OK;
    if (!take_url(made, url)) {
        status = oto_fail(error, OTO_INVALID,
                          "cannot connect to '%.250s': tcp://host:port, tls+tcp://host:port or ipc:///path is accepted", url);
    } else if (made->scheme == SCHEME_TLS) {
        status = oto_tls_context_client(tls, &made->context, error);
    }
    if (status != OTO_OK) {
        oto_connection_free(made);
        return status;
    }
    *connection = made;
    return OTO_OK;
}

void oto_connection_free(struct oto_connection *connection)
{
    if (connection != NULL) {
        oto_connection_stop(connection);
        oto_tls_context_free(connection->context);
        free(connection);
    }
}

bool oto_connection_is_local(const struct oto_connection *connection)
{
    return connection->family == AF_UNIX;
}

/* ---- connecting ---- */

static void close_socket(struct oto_connection *connection)
{
    oto_tls_close(connection->tls);
    connection->tls = NULL;
    if (connection->fd >= 0) {
        (void)close(connection->fd);
    }
    connection->fd = -1;
    connection->connected = false;
}

static enum oto_status dial(struct oto_connection *connection, int family, const struct sockaddr *address, socklen_t bytes)
{
    const int on = 1;
    connection->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (connection->fd < 0) {
        return fail_with(connection, OTO_IO, strerror(errno));
    }
    if (family != AF_UNIX) {
        /* Keepalive detects a host that has vanished. */
        (void)setsockopt(connection->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        (void)setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    connection->events = POLLOUT;
    if (connect(connection->fd, address, bytes) != 0 && errno != EINPROGRESS) {
        (void)fail_with(connection, OTO_IO, strerror(errno));
        close_socket(connection);
        return OTO_IO;
    }
    return OTO_OK;
}

/* Connects to the first of the remaining addresses that does not refuse at once. */
static enum oto_status dial_next(struct oto_connection *connection)
{
    enum oto_status status = OTO_IO;
    while (status != OTO_OK && connection->candidate != NULL) {
        const struct addrinfo *to = connection->candidate;
        connection->candidate = to->ai_next;
        status = dial(connection, to->ai_family, to->ai_addr, to->ai_addrlen);
    }
    return status;
}

enum oto_status oto_connection_start(struct oto_connection *connection)
{
    oto_connection_stop(connection);
    if (connection->family == AF_UNIX) {
        return dial(connection, AF_UNIX, (const struct sockaddr *)&connection->path, connection->path_bytes);
    }
    const struct addrinfo wanted = {.ai_family = connection->family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    const int failed = getaddrinfo(connection->host, connection->port, &wanted, &connection->found);
    if (failed != 0) {
        connection->found = NULL;
        return fail_with(connection, OTO_IO, failed == EAI_SYSTEM ? strerror(errno) : gai_strerror(failed));
    }
    connection->candidate = connection->found;
    return dial_next(connection);
}

static enum oto_status check_connected(struct oto_connection *connection)
{
    struct pollfd poll_fd = {.fd = connection->fd, .events = POLLOUT};
    int reason = 0;
    socklen_t bytes = sizeof reason;
    if (connection->connected) {
        return OTO_OK;
    }
    if (poll(&poll_fd, 1, 0) == 0) {
        connection->events = POLLOUT;
        return OTO_AGAIN;
    }
    (void)getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &reason, &bytes);
    if (reason != 0) {
        (void)fail_with(connection, OTO_IO, strerror(reason));
        close_socket(connection);
        return dial_next(connection) == OTO_OK ? OTO_AGAIN : OTO_IO;
    }
    connection->connected = true;
    return OTO_OK;
}

static enum oto_status take_tls(struct oto_connection *connection, enum oto_status status)
{
    if (status == OTO_AGAIN) {
        connection->events = oto_tls_wants_write(connection->tls) ? POLLOUT : POLLIN;
    } else if (status != OTO_OK) {
        (void)fail_with(connection, status, oto_tls_reason(connection->tls));
    }
    return status;
}

enum oto_status oto_connection_advance(struct oto_connection *connection)
{
    const enum oto_status status = check_connected(connection);
    if (status != OTO_OK || connection->context == NULL) {
        return status;
    }
    if (connection->tls == NULL) {
        connection->tls = oto_tls_open(connection->context, connection->fd, connection->host);
        if (connection->tls == NULL) {
            return fail_with(connection, OTO_IO, "no memory for TLS");
        }
    }
    return take_tls(connection, oto_tls_handshake(connection->tls));
}

void oto_connection_stop(struct oto_connection *connection)
{
    close_socket(connection);
    if (connection->found != NULL) {
        freeaddrinfo(connection->found);
    }
    connection->found = connection->candidate = NULL;
}

/* ---- bytes ---- */

static enum oto_status take_count(struct oto_connection *connection, ssize_t count, short events, size_t *moved)
{
    if (count > 0) {
        *moved = (size_t)count;
        return OTO_OK;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        connection->events = events;
        return OTO_AGAIN;
    }
    return count == 0 ? fail_with(connection, OTO_CLOSED, "the peer has closed the connection")
                      : fail_with(connection, OTO_IO, strerror(errno));
}

enum oto_status oto_connection_send(struct oto_connection *connection, const void *data, size_t bytes, size_t *sent)
{
    return connection->tls != NULL ? take_tls(connection, oto_tls_write(connection->tls, data, bytes, sent))
                                   : take_count(connection, send(connection->fd, data, bytes, MSG_NOSIGNAL), POLLOUT, sent);
}

enum oto_status oto_connection_receive(struct oto_connection *connection, void *data, size_t room, size_t *got)
{
    return connection->tls != NULL ? take_tls(connection, oto_tls_read(connection->tls, data, room, got))
                                   : take_count(connection, recv(connection->fd, data, room, 0), POLLIN, got);
}

void oto_connection_wait(const struct oto_connection *connection, int64_t deadline_ms)
{
    const int64_t left_ms = deadline_ms - srv_now_ms();
    struct pollfd poll_fd = {.fd = connection->fd, .events = connection->events};
    (void)poll(&poll_fd, 1, left_ms < 0 ? 0 : left_ms > 1000000 ? 1000000 : (int)left_ms);
}

bool oto_connection_is_alive(const struct oto_connection *connection)
{
    struct pollfd poll_fd = {.fd = connection->fd, .events = POLLRDHUP};
    return connection->fd >= 0 && poll(&poll_fd, 1, 0) >= 0 &&
           (poll_fd.revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) == 0;
}

const char *oto_connection_reason(const struct oto_connection *connection)
{
    return connection->reason;
}
