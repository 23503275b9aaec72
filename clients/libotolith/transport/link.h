/*
 * The line to a publisher, over nng's byte streams: dials, shakes hands, cuts what comes into messages, and dials again
 * when it breaks. The scalability protocol below pub/sub is 8 bytes of greeting each way and a length before each
 * message, so a whole nng socket is not needed for it; and in Debian's nng 1.5.2 closing one hangs for ever, about once
 * in twenty times, when a message is on its way: a receive that was stopped between a message's header and its body is
 * never answered, and the thread that waits for it is the one that cleans up for the whole process. One thread at a time.
 */
#ifndef OTO_LINK_H
#define OTO_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

struct oto_link;

/* `url`: tcp://host:port or ipc:///path. Does not wait for anybody to answer there. */
enum oto_status oto_link_open(const char *url, struct oto_link **link, struct oto_error *error);
void oto_link_close(struct oto_link *link); /* NULL is allowed */

/*
 * The next message, which stays until the next call. OTO_OK, OTO_AGAIN when `deadline_ms` of oto_link_now_ms has passed,
 * OTO_NO_MEMORY.
 */
enum oto_status oto_link_receive(struct oto_link *link, int64_t deadline_ms, const unsigned char **data, size_t *bytes);
/* Whether a publisher has answered; if not, why, as nng says it. */
bool oto_link_is_up(const struct oto_link *link);
const char *oto_link_reason(const struct oto_link *link);

int64_t oto_link_now_ms(void); /* CLOCK_MONOTONIC */

#endif
