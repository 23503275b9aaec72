#include "gate/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "gate/options.h"

#define BACKLOG 128

static const char scheme[] = "tls+tcp://";

static const char *address_of(const struct srv_gate_listener *listener)
{
    return listener->url + (listener->control ? strlen(SRV_GATE_CONTROL_PREFIX) : 0) + strlen(scheme);
}

static enum oto_status bind_first(struct srv_gate_listener *listener, const struct addrinfo *found, struct oto_error *error)
{
    int reason = EADDRNOTAVAIL;
    for (const struct addrinfo *to = found; to != NULL && listener->fd < 0; to = to->ai_next) {
        const int on = 1, fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
            bind(fd, to->ai_addr, to->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
            listener->fd = fd;
            return OTO_OK;
        }
        reason = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    return oto_fail(error, OTO_IO, "otolith-gate cannot listen on %s: %s; it retries every second", listener->url, strerror(reason));
}

enum oto_status srv_gate_listener_open(struct srv_gate_listener *listener, struct oto_error *error)
{
    char host[256], port[8];
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const size_t prefix = listener->control ? strlen(SRV_GATE_CONTROL_PREFIX) : 0;
    listener->fd = -1;
    if (strncmp(listener->url + prefix, scheme, strlen(scheme)) != 0 ||
        !srv_address_split(address_of(listener), host, sizeof host, port, sizeof port)) {
        return oto_fail(error, OTO_INVALID, "cannot listen on '%.200s': tls+tcp://HOST:PORT is accepted", listener->url);
    }
    const int failed = getaddrinfo(host[0] != '\0' ? host : NULL, port, &wanted, &found);
    if (failed != 0) {
        return oto_fail(error, OTO_IO, "otolith-gate cannot listen on %s: %s; it retries every second", listener->url,
                        gai_strerror(failed));
    }
    const enum oto_status status = bind_first(listener, found, error);
    freeaddrinfo(found);
    return status;
}

/* Writes an address as text: "127.0.0.1:7450" or "[::1]:7450". */
static void write_address(const struct sockaddr *address, socklen_t length, char *text, size_t bytes)
{
    char host[64] = "?", port[8] = "?";
    (void)getnameinfo(address, length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    (void)snprintf(text, bytes, address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

void srv_gate_listener_url(const struct srv_gate_listener *listener, char *url, size_t bytes)
{
    union address address = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t length = sizeof address;
    char text[96];
    (void)getsockname(listener->fd, &address.any, &length);
    write_address(&address.any, length, text, sizeof text);
    (void)snprintf(url, bytes, "%s%s%s", listener->control ? SRV_GATE_CONTROL_PREFIX : "", scheme, text);
}

int srv_gate_listener_accept(const struct srv_gate_listener *listener, struct srv_peer *peer, char *from, size_t bytes)
{
    union address address = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t length = sizeof address;
    const int on = 1, fd = accept4(listener->fd, &address.any, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return -1;
    }
    *peer = address.any.sa_family == AF_INET6 ? srv_peer_v6(address.in6.sin6_addr.s6_addr) : srv_peer_v4(address.in.sin_addr.s_addr);
    write_address(&address.any, length, from, bytes);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void srv_gate_listener_close(struct srv_gate_listener *listener)
{
    if (listener->fd >= 0) {
        (void)close(listener->fd);
        listener->fd = -1;
    }
}
