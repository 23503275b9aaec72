/* Sends frames as UDP datagrams to given addresses; a frame that cannot be sent is lost. */
#ifndef SRV_DATAGRAM_H
#define SRV_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

#define SRV_DATAGRAM_SCHEME "udp://"
enum { SRV_DATAGRAM_MAX_TARGETS = 8 };

struct srv_datagram {
    int fds[SRV_DATAGRAM_MAX_TARGETS];
    uint32_t count;
};

/* Adds a target, "udp://HOST:PORT". */
enum oto_status srv_datagram_open(struct srv_datagram *datagram, const char *url, struct oto_error *error);
void srv_datagram_send(const struct srv_datagram *datagram, const void *data, size_t bytes);
void srv_datagram_close(struct srv_datagram *datagram);

#endif
