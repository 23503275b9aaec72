/*
 * Remote control: relays messages between a TLS connection and the world's control socket. On TLS each message follows its
 * length, four bytes, big-endian. The relay sends the first request, `attach`, with the common name of the certificate, whose role the server knows; the client
 * gets the reply (id 1) and then sends its own requests. The server applies the limits of a local client. Never blocks.
 */
#ifndef SRV_GATE_RELAY_H
#define SRV_GATE_RELAY_H

#include <poll.h>

#include "gate/options.h"
#include "transport/tls.h"

struct srv_relay;

/* `name`: common name of the client's certificate, `from`: address of the client. NULL without memory. */
struct srv_relay *srv_relay_open(const struct srv_gate_options *options, const char *name, const char *from);
/* False if the certificate has no role: the client gets a refusal, and the relay ends. */
bool srv_relay_is_granted(const struct srv_relay *relay);
/* Moves messages both ways. Sets *events to the events for which it waits on the TLS socket. False: the relay has ended. */
bool srv_relay_run(struct srv_relay *relay, struct oto_tls *tls, short *events);
/* The events for which the relay waits on the control socket. */
struct pollfd srv_relay_poll(const struct srv_relay *relay);
void srv_relay_close(struct srv_relay *relay); /* NULL is allowed */

#endif
