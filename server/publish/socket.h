/*
 * The publisher's nng socket: listeners that are watched by a canary, a cap on subscribers, and bounded buffers. The
 * only file of the server that knows nng (A5). One thread; nng's own threads touch nothing but the table of places.
 *
 * The canary. In nng 1.5.2 one `connect(); close()` on an ipc listener stops it accepting for ever, and nobody notices:
 * subscribers that are connected keep working. So each second the publisher dials each of its listeners itself and
 * expects a frame (the owner sends one soon after srv_pub_take_newcomer); without one within a second the listener is
 * closed and opened again.
 */
#ifndef SRV_PUBLISH_SOCKET_H
#define SRV_PUBLISH_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

struct srv_pub;

struct srv_pub_options {
    uint32_t queue_depth;      /* messages that wait for one slow subscriber; the oldest are dropped */
    void *context;
    /* A listener's real address; a sentence that belongs into the event ring. */
    void (*endpoint)(void *context, uint32_t index, const char *url);
    void (*event)(void *context, const char *sentence);
};

enum oto_status srv_pub_open(const struct srv_pub_options *options, struct srv_pub **pub, struct oto_error *error);
/* Adds a listener (ipc:// or tcp://, others are refused). One that cannot be opened now is tried again each second. */
enum oto_status srv_pub_listen(struct srv_pub *pub, const char *url, struct oto_error *error);
/* Sends to all subscribers; never blocks. What a slow one loses is seen by `seq`. */
void srv_pub_send(struct srv_pub *pub, const void *data, size_t bytes);
uint32_t srv_pub_subscribers(struct srv_pub *pub);
/* Whether a subscriber has come since the last call. */
bool srv_pub_take_newcomer(struct srv_pub *pub);
/* Steps the canaries and the retries; to be called often, never blocks. */
void srv_pub_care(struct srv_pub *pub, int64_t now_ns);
void srv_pub_close(struct srv_pub *pub); /* NULL is allowed */

#endif
