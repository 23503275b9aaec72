/*
 * From the rings to frames: reads what is new in every channel, a frame for each topic, and keeps the schema frames.
 * The sink is a function, so that it is tested without a socket. One thread.
 */
#ifndef SRV_FEED_H
#define SRV_FEED_H

#include <stdbool.h>

#include "otolith/client.h"
#include "otolith/frame.h"

struct srv_feed;

typedef void (*srv_feed_sink)(void *context, const void *data, size_t bytes);

/* Begins after what is newest now: a restarted publisher goes on with the ring's seq. The client is borrowed. */
enum oto_status srv_feed_create(const struct oto_client *client, enum oto_frame_format format, srv_feed_sink sink,
                                void *context, struct srv_feed **feed, struct oto_error *error);
void srv_feed_destroy(struct srv_feed *feed); /* NULL is allowed */

/* Sends all that is new. True when a ring was more than half full: the next pass should not wait. */
bool srv_feed_pass(struct srv_feed *feed);
/* Sends the schema of all channels. */
void srv_feed_schema(struct srv_feed *feed);

#endif
