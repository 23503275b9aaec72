/*
 * The link to a publisher: connects, exchanges greetings, splits the bytes into messages, and reconnects after a failure.
 * nng's pub/sub protocol is a greeting of 8 bytes in each direction and a length before each message, so nng is not
 * needed. It is avoided because in Debian's nng 1.5.2 closing a socket hangs about once in twenty times while a message
 * arrives. One thread at a time.
 */
#ifndef OTO_LINK_H
#define OTO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/client.h"

struct oto_link;

/* `url` as in connection.h; `tls` is for tls+tcp, or NULL. Does not wait for a publisher to answer. */
enum oto_status oto_link_open(const char *url, const struct oto_tls_files *tls, struct oto_link **link, struct oto_error *error);
void oto_link_close(struct oto_link *link); /* NULL is allowed */

/*
 * Receives the next message, which is valid until the next call. Returns OTO_OK, OTO_AGAIN at `deadline_ms` of
 * srv_now_ms, or OTO_NO_MEMORY.
 */
enum oto_status oto_link_receive(struct oto_link *link, int64_t deadline_ms, const unsigned char **data, size_t *bytes);
/* True if a publisher has answered; otherwise oto_link_reason has the reason. */
bool oto_link_is_up(const struct oto_link *link);
const char *oto_link_reason(const struct oto_link *link);

#endif
