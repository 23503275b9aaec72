/* A listening TCP socket of otolith-gate. One thread. */
#ifndef SRV_GATE_LISTENER_H
#define SRV_GATE_LISTENER_H

#include <stdbool.h>
#include <stddef.h>

#include "otolith/status.h"
#include "publish/places.h"

struct srv_gate_listener {
    const char *url; /* tls+tcp://HOST:PORT, with the prefix "control+" for remote control; borrowed */
    bool control;
    int fd; /* -1: closed */
};

/* OTO_IO with a sentence if the address cannot be used now, OTO_INVALID if it never can. */
enum oto_status srv_gate_listener_open(struct srv_gate_listener *listener, struct oto_error *error);
/* The URL with the actual port. */
void srv_gate_listener_url(const struct srv_gate_listener *listener, char *url, size_t bytes);
/* Returns a new connection, or -1 with the errno of accept4; `from` is the peer's address as text. */
int srv_gate_listener_accept(const struct srv_gate_listener *listener, struct srv_peer *peer, char *from, size_t bytes);
void srv_gate_listener_close(struct srv_gate_listener *listener);

#endif
