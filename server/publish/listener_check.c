#include "publish/listener_check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HANDSHAKE_BYTES 8

static const unsigned char sub_handshake[HANDSHAKE_BYTES] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};

union address {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* Parses the address in tcp://A.B.C.D:PORT or tcp://[V6]:PORT. */
static bool parse_tcp(const char *text, union address *address, socklen_t *bytes)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    const bool v6 = text[0] == '[' && colon != NULL && colon[-1] == ']';
    const char *first = v6 ? text + 1 : text;
    const ptrdiff_t length = colon != NULL ? (v6 ? colon - 1 : colon) - first : -1;
    if (length <= 0 || (size_t)length >= sizeof host) {
        return false;
    }
    memcpy(host, first, (size_t)length);
    host[length] = 0;
    const in_port_t port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (v6) {
        address->in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
        *bytes = sizeof address->in6;
        return inet_pton(AF_INET6, host, &address->in6.sin6_addr) == 1;
    }
    address->in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
    *bytes = sizeof address->in;
    return inet_pton(AF_INET, host, &address->in.sin_addr) == 1;
}

static bool parse(const char *url, union address *address, socklen_t *bytes)
{
    if (strncmp(url, "tcp://", 6) == 0) {
        return parse_tcp(url + 6, address, bytes);
    }
    address->un = (struct sockaddr_un){.sun_family = AF_UNIX};
    *bytes = sizeof address->un;
    const int length = snprintf(address->un.sun_path, sizeof address->un.sun_path, "%s", url + strlen("ipc://"));
    return length > 0 && (size_t)length < sizeof address->un.sun_path;
}

bool srv_listener_check_start(struct srv_listener_check *check, const char *url)
{
    union address address;
    socklen_t bytes;
    *check = (struct srv_listener_check){.fd = -1};
    if (!parse(url, &address, &bytes)) {
        return false;
    }
    check->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (check->fd < 0) {
        return false;
    }
    /*
     * The result is not needed: after a refusal, or with a full backlog of a unix socket, sending the handshake fails.
     */
    (void)connect(check->fd, &address.any, bytes);
    return true;
}

static bool is_early(void)
{
    return errno == EAGAIN || errno == EINPROGRESS || errno == EINTR;
}

enum srv_listener_check_state srv_listener_check_poll(struct srv_listener_check *check)
{
    if (!check->greeted) {
        const ssize_t sent = send(check->fd, sub_handshake, sizeof sub_handshake, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent != (ssize_t)sizeof sub_handshake) {
            return sent < 0 && is_early() ? SRV_LISTENER_CHECK_WAITING : SRV_LISTENER_CHECK_REFUSED;
        }
        check->greeted = true;
    }
    unsigned char bytes[256];
    const ssize_t got = recv(check->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0) {
        return got < 0 && is_early() ? SRV_LISTENER_CHECK_WAITING : SRV_LISTENER_CHECK_REFUSED;
    }
    check->got += (size_t)got;
    return check->got > HANDSHAKE_BYTES ? SRV_LISTENER_CHECK_SERVED : SRV_LISTENER_CHECK_WAITING;
}

void srv_listener_check_end(struct srv_listener_check *check)
{
    if (check->fd >= 0) {
        (void)close(check->fd);
        check->fd = -1;
    }
}
