/*
 * From rings to frames: reads new records of every channel, makes frames for each topic, and keeps the schema frames.
 * The sink is a function, so that this is tested without a socket. One thread.
 */
#ifndef SRV_FEED_H
#define SRV_FEED_H

#include <stdbool.h>

#include "otolith/client.h"
#include "otolith/frame.h"

struct srv_feed;

typedef void (*srv_feed_sink)(void *context, const void *data, size_t bytes);

/* The formats of the wire, and that of PlotJuggler, whose frames fit a datagram. */
enum srv_feed_format { SRV_FEED_MAP = OTO_FRAME_MAP, SRV_FEED_PACKED = OTO_FRAME_PACKED, SRV_FEED_PLOTJUGGLER };

/*
 * Makes a feed that starts after the newest record of each channel: a restarted publisher continues with the ring's seq. The
 * client is borrowed. `only`: patterns of topics (base/pattern.h); "": all.
 */
enum oto_status srv_feed_create(const struct oto_client *client, enum srv_feed_format format, const char *only,
                                srv_feed_sink sink, void *context, struct srv_feed **feed, struct oto_error *error);
uint32_t srv_feed_topic_count(const struct srv_feed *feed);
void srv_feed_destroy(struct srv_feed *feed); /* NULL is allowed */

/* Sends all new records. True if a ring was more than half full: the next pass should follow without a pause. */
bool srv_feed_pass(struct srv_feed *feed);
/*
 * A pass that also sends the schema: to subscribers that have `connected` since the previous call, and again after a second,
 * or after a millisecond for each topic if that is longer. While there are no subscribers, nothing is read or encoded.
 */
bool srv_feed_serve(struct srv_feed *feed, int64_t now_ns, bool has_subscribers, bool connected);
/* Number of records of all channels that were overwritten before they were read. */
uint64_t srv_feed_lost(const struct srv_feed *feed);
/* Sends the schema of all channels. */
void srv_feed_schema(struct srv_feed *feed);

#endif
