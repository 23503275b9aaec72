#include "publish/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#define SCHEMA_HEAD_BYTES 512u    /* limits of what a schema frame, a channel and a field take beside their texts */
#define SCHEMA_CHANNEL_BYTES 160u
#define SCHEMA_FIELD_BYTES 96u

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
    char world[OTO_TOPIC_BYTES];
    struct oto_channel *channels; /* of the schema, in the order of the segment */
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

/* An upper limit of the bytes that a channel takes in a schema frame. */
static size_t schema_bytes(const struct oto_channel *channel)
{
    const struct oto_record_type *type = &channel->type;
    size_t bytes = SCHEMA_CHANNEL_BYTES + strlen(channel->topic) + strlen(channel->node) + strlen(channel->frame_id) + strlen(type->name);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        bytes += SCHEMA_FIELD_BYTES + strlen(field->name) + strlen(field->unit) + strlen(field->frame) + strlen(field->text);
    }
    return bytes;
}

/* Keeps the channels of the schema. Its frames are made when they are sent: those of 10 000 vehicles would take 100 MB. */
static enum oto_status keep_channels(struct srv_feed *feed, const struct oto_client *client, const char *only, struct oto_error *error)
{
    (void)snprintf(feed->world, sizeof feed->world, "%s", oto_client_header(client)->world);
    feed->channels = calloc((size_t)feed->count + 1, sizeof *feed->channels);
    for (uint32_t i = 0, kept = 0; kept < feed->count && feed->channels != NULL; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (!is_published(client, channel, only)) {
            continue;
        }
        if (SCHEMA_HEAD_BYTES + schema_bytes(channel) > OTO_FRAME_MAX_BYTES) {
            return oto_fail(error, OTO_LIMIT, "the schema frame cannot be made: the texts of '%s' take more than %u bytes", channel->topic,
                            OTO_FRAME_MAX_BYTES);
        }
        feed->channels[kept++] = *channel;
    }
    return feed->channels != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory for the feed");
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
        status = keep_channels(made, client, only, error);
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
    oto_buffer_free(&feed->frame);
    free(feed->channels);
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

/* The number of channels from `first` on that fit a schema frame; at least 1. */
static uint32_t schema_part(const struct srv_feed *feed, uint32_t first)
{
    size_t bytes = SCHEMA_HEAD_BYTES + schema_bytes(&feed->channels[first]);
    uint32_t part = 1;
    while (first + part < feed->count && (bytes += schema_bytes(&feed->channels[first + part])) <= OTO_FRAME_MAX_BYTES) {
        part++;
    }
    return part;
}

void srv_feed_schema(struct srv_feed *feed)
{
    for (uint32_t first = 0, part; first < feed->count && feed->format != SRV_FEED_PLOTJUGGLER; first += part) {
        part = schema_part(feed, first);
        if (oto_frame_encode_schema_part(&feed->frame, feed->world, feed->epoch, feed->channels + first, part, feed->count) == OTO_OK) {
            feed->sink(feed->context, feed->frame.data, feed->frame.bytes);
        }
    }
}
