/*
 * TLS over a connected, non-blocking socket, for both ends: the client's connections and otolith-gate. tls.c is the only
 * file that includes OpenSSL. TLS 1.2 and 1.3; sessions are not resumed, so that every connection has its certificates
 * checked. One thread at a time for each context and its connections.
 */
#ifndef OTO_TLS_H
#define OTO_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/client.h"

#define OTO_TLS_NAME_BYTES 96

struct oto_tls_context;
struct oto_tls;

/* Makes the context of a client, which always checks the certificate of the peer. NULL files: the authorities of the system. */
enum oto_status oto_tls_context_client(const struct oto_tls_files *files, struct oto_tls_context **context,
                                       struct oto_error *error);
/* Makes the context of a server. `cert` and `key` are necessary. With `ca` every client needs a certificate. */
enum oto_status oto_tls_context_server(const struct oto_tls_files *files, struct oto_tls_context **context,
                                       struct oto_error *error);
void oto_tls_context_free(struct oto_tls_context *context); /* NULL is allowed; connections keep what they need */
/* The instants, in s since 1970, at which the context's own certificate begins and ceases to be valid. */
void oto_tls_context_validity(const struct oto_tls_context *context, int64_t *from_s, int64_t *until_s);

/* `host`: the name or address that the server's certificate must have; NULL for a server. Returns NULL if memory is short. */
struct oto_tls *oto_tls_open(struct oto_tls_context *context, int fd, const char *host);
void oto_tls_close(struct oto_tls *tls); /* NULL is allowed; the socket stays open */

/* OTO_OK, OTO_AGAIN, OTO_CLOSED, or OTO_DENIED with a reason. After the last two the caller may only call oto_tls_close. */
enum oto_status oto_tls_handshake(struct oto_tls *tls);
enum oto_status oto_tls_read(struct oto_tls *tls, void *data, size_t room, size_t *got);
enum oto_status oto_tls_write(struct oto_tls *tls, const void *data, size_t bytes, size_t *sent);

/* After OTO_AGAIN: true if the socket must become writable, false if readable. */
bool oto_tls_wants_write(const struct oto_tls *tls);
/* Why the last operation failed. */
const char *oto_tls_reason(const struct oto_tls *tls);
/* The common name of the peer's certificate, if it has exactly one and it is printable ASCII without blanks; else "". */
void oto_tls_peer_name(const struct oto_tls *tls, char name[OTO_TLS_NAME_BYTES]);

#endif
