#include "publish/feed.h"

#include <stdlib.h>

#include "base/pattern.h"
#include "wire/frame_plotjuggler.h"

#define BATCH_BYTES (32u << 10) /* limit of the payload bytes in one frame; each of 128 slow subscribers may hold another one */
#define BATCH_SAMPLES 1024u
#define DATAGRAM_BYTES 60000u /* limit of a frame for PlotJuggler; a datagram has at most 65507 bytes */
#define MAP_GROWTH 4u /* a record with names takes at most 4 times its payload plus FIELD_NAME_BYTES for each field */
#define FIELD_NAME_BYTES 64u
#define SCHEMA_PERIOD_NS 1000000000
#define SCHEMA_TOPIC_NS 1000000 /* 20 000 topics: every 20 s, because their schema has 35 MB */
#define CONNECTED_PERIOD_NS 20000000 /* subscribers that connect within this time share the schema */
#define IDLE_PERIOD_NS 100000000

struct srv_feed {
    srv_feed_sink sink;
    void *context;
    enum srv_feed_format format;
    uint64_t epoch;
    uint32_t count;
    struct oto_reader *readers;
    struct oto_sample_head *heads;
    unsigned char *payloads;
    struct oto_buffer frame;
    struct oto_buffer *schema; /* one frame, or several if one would be too large */
    uint32_t schema_count;
    bool schema_wanted;
    int64_t next_schema_ns, last_schema_ns, next_idle_ns;
};

static uint32_t batch_of(const struct srv_feed *feed, const struct oto_channel *channel)
{
    const uint32_t named = OTO_TOPIC_BYTES + MAP_GROWTH * channel->type.bytes + FIELD_NAME_BYTES * channel->type.field_count;
    const uint32_t fits = feed->format == SRV_FEED_PLOTJUGGLER ? DATAGRAM_BYTES / named : BATCH_BYTES / channel->type.bytes;
    return fits == 0 ? 1 : fits < BATCH_SAMPLES ? fits : BATCH_SAMPLES;
}

static bool is_published(const struct oto_client *client, const struct oto_channel *channel, const char *only)
{
    return only[0] == '\0' || srv_pattern_matches_in(only, oto_client_header(client)->world, channel->topic);
}

/* Makes the schema frames: halves the number of channels in a frame until every frame fits. */
static enum oto_status make_schema(struct srv_feed *feed, const struct oto_client *client, const char *only,
                                   struct oto_error *error)
{
    const char *world = oto_client_header(client)->world;
    struct oto_channel *channels = calloc((size_t)feed->count + 1, sizeof *channels);
    feed->schema = calloc((size_t)feed->count + 1, sizeof *feed->schema);
    enum oto_status status = channels == NULL || feed->schema == NULL ? OTO_NO_MEMORY : OTO_OK;
    for (uint32_t i = 0, taken = 0; taken < feed->count && status == OTO_OK; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (is_published(client, channel, only)) {
            channels[taken++] = *channel;
        }
    }
    uint32_t share = feed->count;
    for (uint32_t done = 0; done < feed->count && status == OTO_OK;) {
        const uint32_t part = feed->count - done < share ? feed->count - done : share;
        status = oto_frame_encode_schema_part(&feed->schema[feed->schema_count], world, feed->epoch, channels + done,
                                              part, feed->count);
        if (status == OTO_LIMIT && share > 1) {
            share = (share + 1) / 2;
            status = OTO_OK;
        } else {
            done += part;
            feed->schema_count++;
        }
    }
    free(channels);
    return status == OTO_OK ? OTO_OK
                            : oto_fail(error, status, "the schema frame cannot be made: %s", oto_status_text(status));
}

/* Sensors are sent before the truth. The truth has a record each tick and would delay every sensor. */
static uint32_t make_readers(struct oto_reader *readers, const struct oto_client *client, const char *only, bool truth)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (((channel->flags & OTO_CHANNEL_TRUTH) != 0) == truth && is_published(client, channel, only)) {
            readers[count++] = oto_reader_make(channel, OTO_READ_FROM_NOW);
        }
    }
    return count;
}

enum oto_status srv_feed_create(const struct oto_client *client, enum srv_feed_format format, const char *only,
                                srv_feed_sink sink, void *context, struct srv_feed **feed, struct oto_error *error)
{
    struct srv_feed *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the feed");
    }
    *made = (struct srv_feed){.sink = sink, .context = context, .format = format};
    made->epoch = oto_client_header(client)->epoch;
    const uint32_t channels = oto_client_channel_count(client);
    size_t payload_bytes = BATCH_BYTES;
    made->readers = calloc((size_t)channels + 1, sizeof *made->readers);
    for (uint32_t i = 0; i < channels && made->readers != NULL; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        payload_bytes = channel->type.bytes > payload_bytes ? channel->type.bytes : payload_bytes;
    }
    if (made->readers != NULL) {
        const uint32_t sensors = make_readers(made->readers, client, only, false);
        made->count = sensors + make_readers(made->readers + sensors, client, only, true);
    }
    made->heads = calloc(BATCH_SAMPLES, sizeof *made->heads);
    made->payloads = malloc(payload_bytes);
    enum oto_status status = OTO_OK;
    if (made->readers == NULL || made->heads == NULL || made->payloads == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "out of memory for the feed");
    } else {
        status = make_schema(made, client, only, error);
    }
    if (status != OTO_OK) {
        srv_feed_destroy(made);
        return status;
    }
    *feed = made;
    return OTO_OK;
}

void srv_feed_destroy(struct srv_feed *feed)
{
    if (feed == NULL) {
        return;
    }
    for (uint32_t i = 0; i < feed->schema_count; i++) {
        oto_buffer_free(&feed->schema[i]);
    }
    oto_buffer_free(&feed->frame);
    free(feed->schema);
    free(feed->readers);
    free(feed->heads);
    free(feed->payloads);
    free(feed);
}

/*
 * Puts consecutive samples into one frame. After a loss a new frame begins, because `seq` is that of the frame's first
 * sample.
 */
static void send_batch(struct srv_feed *feed, const struct oto_channel *channel, uint32_t count)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i <= count; i++) {
        if (i < count && feed->heads[i].seq == feed->heads[i - 1].seq + 1) {
            continue;
        }
        const unsigned char *payloads = feed->payloads + (size_t)first * channel->type.bytes;
        const enum oto_status status =
            feed->format == SRV_FEED_PLOTJUGGLER
                ? oto_frame_encode_plotjuggler(&feed->frame, channel, feed->heads + first, payloads, i - first)
                : oto_frame_encode(&feed->frame, channel, feed->epoch, (enum oto_frame_format)feed->format, feed->heads + first,
                                   payloads, i - first);
        if (status == OTO_OK) {
            feed->sink(feed->context, feed->frame.data, feed->frame.bytes);
        }
        first = i;
    }
}

bool srv_feed_pass(struct srv_feed *feed)
{
    bool hurry = false;
    for (uint32_t i = 0; i < feed->count; i++) {
        struct oto_reader *reader = &feed->readers[i];
        const uint32_t batch = batch_of(feed, reader->channel);
        size_t total = 0, got;
        do {
            got = oto_reader_read(reader, feed->heads, feed->payloads, batch);
            if (got > 0) {
                send_batch(feed, reader->channel, (uint32_t)got);
            }
            total += got;
        } while (got == batch && total < reader->channel->capacity);
        hurry = hurry || total > reader->channel->capacity / 2;
    }
    return hurry;
}

/* Moves after the newest records. The next pass sends what was written since, also what is older than its subscribers. */
static void skip(struct srv_feed *feed)
{
    for (uint32_t i = 0; i < feed->count; i++) {
        const uint64_t lost = feed->readers[i].cursor.lost;
        feed->readers[i] = oto_reader_make(feed->readers[i].channel, OTO_READ_FROM_NOW);
        feed->readers[i].cursor.lost = lost;
    }
}

bool srv_feed_serve(struct srv_feed *feed, int64_t now_ns, bool has_subscribers, bool connected)
{
    if (!has_subscribers) {
        if (now_ns >= feed->next_idle_ns) {
            feed->next_idle_ns = now_ns + IDLE_PERIOD_NS;
            skip(feed);
        }
        return false;
    }
    const bool hurry = srv_feed_pass(feed);
    feed->schema_wanted = feed->schema_wanted || connected;
    if ((feed->schema_wanted && now_ns - feed->last_schema_ns >= CONNECTED_PERIOD_NS) || now_ns >= feed->next_schema_ns) {
        const int64_t topics_ns = (int64_t)feed->count * SCHEMA_TOPIC_NS;
        srv_feed_schema(feed);
        feed->schema_wanted = false;
        feed->last_schema_ns = now_ns;
        feed->next_schema_ns = now_ns + (topics_ns > SCHEMA_PERIOD_NS ? topics_ns : SCHEMA_PERIOD_NS);
    }
    return hurry;
}

uint32_t srv_feed_topic_count(const struct srv_feed *feed)
{
    return feed->count;
}

uint64_t srv_feed_lost(const struct srv_feed *feed)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < feed->count; i++) {
        lost += feed->readers[i].cursor.lost;
    }
    return lost;
}

void srv_feed_schema(struct srv_feed *feed)
{
    for (uint32_t i = 0; i < feed->schema_count && feed->format != SRV_FEED_PLOTJUGGLER; i++) {
        feed->sink(feed->context, feed->schema[i].data, feed->schema[i].bytes);
    }
}
