#include "publish/datagram.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Splits "udp://HOST:PORT" into HOST and PORT; an IPv6 HOST is in brackets. */
static bool split(const char *url, char host[128], char port[16])
{
    const char *address = url + strlen(SRV_DATAGRAM_SCHEME), *colon = strrchr(address, ':');
    const bool six = *address == '[' && colon != NULL && colon > address + 1 && colon[-1] == ']';
    const size_t length = colon == NULL ? 0 : (size_t)(colon - address) - (six ? 2 : 0);
    if (strncmp(url, SRV_DATAGRAM_SCHEME, strlen(SRV_DATAGRAM_SCHEME)) != 0 || length == 0 || length >= 128) {
        return false;
    }
    memcpy(host, address + six, length);
    host[length] = '\0';
    return snprintf(port, 16, "%s", colon + 1) < 16;
}

enum oto_status srv_datagram_open(struct srv_datagram *datagram, const char *url, struct oto_error *error)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    char host[128], port[16];
    if (datagram->count == SRV_DATAGRAM_MAX_TARGETS || !split(url, host, port)) {
        return oto_fail(error, OTO_INVALID, "'%.200s': at most %d addresses udp://HOST:PORT are accepted", url,
                        (int)SRV_DATAGRAM_MAX_TARGETS);
    }
    const int failure = getaddrinfo(host, port, &wanted, &found);
    if (failure != 0) {
        return oto_fail(error, OTO_NOT_FOUND, "'%.200s': %s", url, gai_strerror(failure));
    }
    const int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool connected = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0;
    const int reason = errno;
    freeaddrinfo(found);
    if (!connected) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return oto_fail(error, OTO_IO, "'%.200s': %s", url, strerror(reason));
    }
    datagram->fds[datagram->count++] = fd;
    return OTO_OK;
}

/* After a refusal by the receiver's machine the next send() only reports the refusal: the frame is sent again. */
void srv_datagram_send(const struct srv_datagram *datagram, const void *data, size_t bytes)
{
    for (uint32_t i = 0; i < datagram->count; i++) {
        if (send(datagram->fds[i], data, bytes, MSG_NOSIGNAL) < 0 && errno == ECONNREFUSED) {
            (void)send(datagram->fds[i], data, bytes, MSG_NOSIGNAL);
        }
    }
}

void srv_datagram_close(struct srv_datagram *datagram)
{
    while (datagram->count > 0) {
        (void)close(datagram->fds[--datagram->count]);
    }
}
