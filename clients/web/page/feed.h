/*
 * The subscriptions of one page, and their samples as binary frames of columns. A subscription has a reader of the ring and no
 * buffer, so a slow page costs no memory: samples that it does not take in time are overwritten and counted as lost. [loop]
 *
 * A frame, little-endian, every part a multiple of 8 bytes:
 *   header  u32 magic "OTW1" · u32 batches · f64 simulated time in s · u32 bytes sent so far, with this frame · u32 run
 *   batch   u16 subscription · u16 columns · u32 samples · u32 lost before the first · u32 flags, OR of all · f64 first seq
 *           f64 time in s of each sample, then f64 values of each column
 */
#ifndef WEB_FEED_H
#define WEB_FEED_H

#include "otolith/client.h"

#define WEB_FEED_MAGIC 0x3157544fu
#define WEB_FEED_SUBSCRIPTIONS 64u /* of a page */
#define WEB_FEED_COLUMNS 64u       /* of a subscription */
#define WEB_FEED_FRAME_BYTES (256u << 10)
#define WEB_FEED_BATCH_SAMPLES 256u

struct web_column {
    const struct oto_field *field;
    uint32_t element;
};

struct web_subscription {
    bool used;
    uint16_t id;
    struct oto_reader reader;
    uint32_t column_count;
    struct web_column columns[WEB_FEED_COLUMNS];
    uint64_t lost; /* lost samples that were reported to the page */
};

/* A batch while it is filled. The number of its samples is known only at the end. */
struct web_feed_batch {
    uint32_t samples, lost, flags;
    uint64_t first_seq;
    double times_s[WEB_FEED_BATCH_SAMPLES];
    double values[WEB_FEED_COLUMNS][WEB_FEED_BATCH_SAMPLES];
};

/* Working memory for making frames; one for all pages of a thread. */
struct web_feed_room {
    unsigned char frame[WEB_FEED_FRAME_BYTES];
    _Alignas(8) unsigned char payload[OTO_RECORD_MAX_BYTES];
    struct web_feed_batch batch;
};

struct web_feed {
    struct web_subscription subscriptions[WEB_FEED_SUBSCRIPTIONS];
};

/* Finds a column by its name, as "linear_acceleration.x". */
bool web_column_find(const struct oto_record_type *type, const char *name, struct web_column *column);
/* Adds a subscription that starts at the oldest record of the ring. It replaces a subscription with the same id. */
enum oto_status web_feed_subscribe(struct web_feed *feed, const struct oto_client *client, uint16_t id, const char *topic,
                                   const char *const *columns, uint32_t column_count, struct oto_error *error);
void web_feed_unsubscribe(struct web_feed *feed, uint16_t id);
void web_feed_clear(struct web_feed *feed);

/* Writes the new samples to room->frame, behind the room for the header. Returns the bytes of the frame. */
size_t web_feed_frame(struct web_feed *feed, struct web_feed_room *room, uint32_t *batches);
void web_feed_header(unsigned char *frame, uint32_t batches, double sim_time_s, uint32_t sent_bytes, uint32_t run);

#endif
