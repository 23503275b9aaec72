/*
 * The positions of all vehicles of a run, for the top view: one message for all of them, because a page has fewer subscriptions
 * than a fleet has vehicles. [loop]
 *
 * A message, little-endian: u32 magic "OTWP" · u32 vehicles · f64 simulated time in s · then f32 east and f32 north in m of each
 * vehicle, in the order of the channels; NaN without a record.
 */
#ifndef WEB_PLACES_H
#define WEB_PLACES_H

#include "page/feed.h"

#define WEB_PLACES_MAGIC 0x5057544fu
#define WEB_PLACES_MAX 16384u /* vehicles in a message; further ones are left out */

/* A vehicle: the channel of its truth. */
struct web_place {
    const struct oto_channel *channel;
    struct web_column east, north;
};

struct web_places {
    struct web_place *vehicles;
    uint32_t count;
    unsigned char message[16 + 8 * WEB_PLACES_MAX];
};

/* Lists the vehicles of the run that the client is attached to. Without memory there are none. */
void web_places_take(struct web_places *places, const struct oto_client *client);
/* Writes places->message from the newest records; `payload` has OTO_RECORD_MAX_BYTES. Returns the bytes of the message. */
size_t web_places_make(struct web_places *places, double sim_time_s, void *payload);

#endif
