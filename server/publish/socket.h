/*
 * The publisher's nng socket: listeners with a supervisor, a limit of subscribers, and bounded buffers. The only file
 * of the server that includes nng (A5). One thread; nng's own threads touch only the table of places.
 *
 * The supervisor of listeners: in nng 1.5.2 one `connect(); close()` on an ipc listener stops it from accepting,
 * without notice, because connected subscribers keep working. Once a second the publisher therefore dials each of its
 * listeners with a test subscriber and expects a frame (the owner sends one soon after srv_pub_take_connected). If no
 * frame arrives within a second, the listener is closed and opened again.
 */
#ifndef SRV_PUBLISH_SOCKET_H
#define SRV_PUBLISH_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

struct srv_pub;

struct srv_pub_options {
    uint32_t queue_depth;      /* messages that wait for one slow subscriber, fewer if they are large; the oldest are dropped */
    void *context;
    /* Reports the actual address of a listener that opens; a listener that cannot be opened; an event. */
    void (*endpoint)(void *context, uint32_t index, const char *url);
    void (*closed)(void *context, uint32_t index);
    void (*event)(void *context, const char *sentence);
};

enum oto_status srv_pub_open(const struct srv_pub_options *options, struct srv_pub **pub, struct oto_error *error);
/* Adds a listener (ipc:// or tcp://; others are refused). If it cannot be opened now, it retries every second. */
enum oto_status srv_pub_listen(struct srv_pub *pub, const char *url, struct oto_error *error);
/* Sends to all subscribers; never blocks. A slow subscriber sees its losses by `seq`. */
void srv_pub_send(struct srv_pub *pub, const void *data, size_t bytes);
uint32_t srv_pub_subscribers(struct srv_pub *pub);
/* True if a subscriber has connected since the last call. */
bool srv_pub_take_connected(struct srv_pub *pub);
/* Advances the test subscribers and the retries. Call it often; it never blocks. */
void srv_pub_supervise(struct srv_pub *pub, int64_t now_ns);
void srv_pub_close(struct srv_pub *pub); /* NULL is allowed */

#endif
