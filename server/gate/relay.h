/*
 * Remote control: messages of a TLS connection go to the world's control socket and back, with a length of four bytes,
 * big-endian, before each. The first request is `attach`, made here with the role of the certificate; the client gets its
 * reply (id 1) and continues with requests of its own. The server applies the limits of a local client. Never blocks.
 */
#ifndef SRV_GATE_RELAY_H
#define SRV_GATE_RELAY_H

#include <poll.h>

#include "gate/options.h"
#include "transport/tls.h"

struct srv_relay;

/* `name`: of the client's certificate, `from`: its address. NULL without memory. */
struct srv_relay *srv_relay_open(const struct srv_gate_options *options, const char *name, const char *from);
/* False if the certificate has no role: the client gets a refusal, and the relay ends. */
bool srv_relay_is_granted(const struct srv_relay *relay);
/* Moves messages both ways. Adds to *events what it waits for on the TLS socket. False: it is over. */
bool srv_relay_run(struct srv_relay *relay, struct oto_tls *tls, short *events);
/* What it waits for on the control socket. */
struct pollfd srv_relay_poll(const struct srv_relay *relay);
void srv_relay_close(struct srv_relay *relay); /* NULL is allowed */

#endif
