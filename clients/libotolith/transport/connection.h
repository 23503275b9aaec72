/*
 * A byte stream to a publisher or to otolith-gate: a unix or TCP socket, for tls+tcp with TLS. No call waits, except
 * oto_connection_wait, and oto_connection_start for the resolver if the URL has a host name. One thread at a time.
 */
#ifndef OTO_CONNECTION_H
#define OTO_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/client.h"

struct oto_connection;

/* `url`: tcp://host:port, tls+tcp://host:port, ipc:///path or abstract://name. Does not connect. */
enum oto_status oto_connection_make(const char *url, const struct oto_tls_files *tls, struct oto_connection **connection,
                                    struct oto_error *error);
void oto_connection_free(struct oto_connection *connection); /* NULL is allowed */
/* True for a unix socket. */
bool oto_connection_is_local(const struct oto_connection *connection);

/* Begins to connect: OTO_OK or OTO_IO. */
enum oto_status oto_connection_start(struct oto_connection *connection);
/* Continues to connect. OTO_OK: bytes can be exchanged; OTO_AGAIN; OTO_IO or OTO_DENIED with a reason. */
enum oto_status oto_connection_advance(struct oto_connection *connection);
/* Send or receive at least one byte: OTO_OK; otherwise OTO_AGAIN, OTO_CLOSED, OTO_IO or OTO_DENIED. */
enum oto_status oto_connection_send(struct oto_connection *connection, const void *data, size_t bytes, size_t *sent);
enum oto_status oto_connection_receive(struct oto_connection *connection, void *data, size_t room, size_t *got);
/* After OTO_AGAIN: waits until the operation can continue, at most until `deadline_ms` of CLOCK_MONOTONIC. */
void oto_connection_wait(const struct oto_connection *connection, int64_t deadline_ms);
/* True if the peer has not closed its end. */
bool oto_connection_is_alive(const struct oto_connection *connection);
void oto_connection_stop(struct oto_connection *connection); /* a stopped connection can be started again */

const char *oto_connection_reason(const struct oto_connection *connection); /* the reason of the last failure */


#endif
