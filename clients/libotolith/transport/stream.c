#include "transport/stream.h"

#include <stdlib.h>

#include "otolith/document.h"
#include "wire/schema_topic.h"

#define MAX_CANDIDATES 256

enum oto_status oto_stream_init(struct oto_stream *stream, const char *topic, struct oto_error *error)
{
    memset(stream, 0, sizeof *stream);
    if (strlen(topic) >= sizeof stream->asked) {
        return oto_fail(error, OTO_INVALID, "the topic '%.100s…' is longer than %d bytes", topic, OTO_TOPIC_BYTES - 1);
    }
    memcpy(stream->asked, topic, strlen(topic) + 1);
    return OTO_OK;
}

void oto_stream_finish(struct oto_stream *stream)
{
    oto_schema_close(stream->schema);
    free(stream->schema_frame);
    free(stream->topics);
    memset(stream, 0, sizeof *stream);
}

/* `asked` is the topic, or a prefix of it that ends in '/', or nothing at all. */
static bool matches(const char *topic, const char *asked)
{
    const size_t bytes = strlen(asked);
    if (bytes == 0) {
        return true;
    }
    return asked[bytes - 1] == '/' ? strncmp(topic, asked, bytes) == 0 : strcmp(topic, asked) == 0;
}

static bool is_wanted(const struct oto_stream *stream, const char *topic)
{
    const size_t world = strlen(stream->world);
    return matches(topic, stream->asked) || (strncmp(topic, stream->world, world) == 0 && topic[world] == '/' &&
                                             matches(topic + world + 1, stream->asked));
}

/* What was known of a topic before the schema changed. */
static struct oto_stream_topic topic_state(const struct oto_stream *stream, const char *topic)
{
    struct oto_stream_topic state = {.started = false};
    const uint32_t count = stream->schema == NULL ? 0 : oto_schema_channel_count(stream->schema);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(stream->topics[i].topic, topic) == 0) {
            return stream->topics[i];
        }
    }
    memcpy(state.topic, topic, strlen(topic) + 1);
    return state;
}

static enum oto_status set_schema(struct oto_stream *stream, const char *schema_topic, struct oto_schema *schema)
{
    const uint32_t count = oto_schema_channel_count(schema);
    struct oto_stream_topic *topics = calloc((size_t)count + 1, sizeof *topics);
    if (topics == NULL) {
        return OTO_NO_MEMORY;
    }
    const size_t world = (size_t)(strrchr(schema_topic, '/') - schema_topic);
    memcpy(stream->world, schema_topic, world);
    stream->world[world] = '\0';
    stream->wanted_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        topics[i] = topic_state(stream, oto_schema_channel(schema, i)->topic);
        topics[i].wanted = is_wanted(stream, topics[i].topic);
        stream->wanted_count += topics[i].wanted;
    }
    oto_schema_close(stream->schema);
    free(stream->topics);
    stream->schema = schema;
    stream->topics = topics;
    return OTO_OK;
}

static enum oto_status take_schema(struct oto_stream *stream, const void *data, size_t bytes)
{
    if (bytes == stream->schema_bytes && memcmp(data, stream->schema_frame, bytes) == 0) {
        return OTO_AGAIN;
    }
    struct oto_schema *schema;
    enum oto_status status = oto_schema_decode(data, bytes, &schema);
    if (status != OTO_OK) {
        return status;
    }
    unsigned char *copy = malloc(bytes);
    status = copy == NULL ? OTO_NO_MEMORY : set_schema(stream, data, schema);
    if (status != OTO_OK) {
        free(copy);
        oto_schema_close(schema);
        return status;
    }
    memcpy(copy, data, bytes);
    free(stream->schema_frame);
    stream->schema_frame = copy;
    stream->schema_bytes = bytes;
    return OTO_AGAIN;
}

/* The channel that a frame is of, if it is wanted: most frames of a busy publisher are not, and are not looked into. */
static uint32_t wanted_channel(const struct oto_stream *stream, const char *topic)
{
    const uint32_t count = stream->schema == NULL ? 0 : oto_schema_channel_count(stream->schema);
    for (uint32_t i = 0; i < count; i++) {
        if (stream->topics[i].wanted && strcmp(stream->topics[i].topic, topic) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

enum oto_status oto_stream_give(struct oto_stream *stream, const void *data, size_t bytes)
{
    stream->next_sample = 0;
    stream->frame.count = 0;
    if (bytes == 0 || memchr(data, '\0', bytes < OTO_TOPIC_BYTES ? bytes : OTO_TOPIC_BYTES) == NULL) {
        return OTO_CORRUPT;
    }
    if (oto_is_schema_topic(data)) {
        return take_schema(stream, data, bytes);
    }
    const uint32_t index = wanted_channel(stream, data);
    if (index == UINT32_MAX) {
        return OTO_AGAIN;
    }
    const enum oto_status status = oto_frame_decode(data, bytes, &stream->frame);
    if (status != OTO_OK || oto_schema_channel(stream->schema, index)->type_hash != stream->frame.schema) {
        stream->frame.count = 0;
        return status == OTO_OK ? OTO_AGAIN : status;
    }
    stream->channel = index;
    return OTO_OK;
}

/* False: this sample has come before. */
static bool account(struct oto_stream_topic *topic, uint64_t epoch, uint64_t seq, uint64_t *lost)
{
    const bool goes_on = topic->started && topic->epoch == epoch;
    if (goes_on && seq < topic->next_seq) {
        return false;
    }
    *lost = goes_on ? seq - topic->next_seq : 0;
    topic->started = true;
    topic->epoch = epoch;
    topic->next_seq = seq + 1;
    return true;
}

enum oto_status oto_stream_take(struct oto_stream *stream, struct oto_wire_sample *sample)
{
    while (stream->next_sample < stream->frame.count) {
        struct oto_stream_topic *topic = &stream->topics[stream->channel];
        const struct oto_channel *channel = oto_schema_channel(stream->schema, stream->channel);
        const enum oto_status status =
            oto_frame_sample(&stream->frame, &channel->type, stream->next_sample, &sample->head, stream->payload,
                             stream->frame_id, sizeof stream->frame_id);
        if (status != OTO_OK) {
            stream->frame.count = 0;
            return status;
        }
        stream->next_sample++;
        if (!account(topic, stream->frame.epoch, sample->head.seq, &sample->lost)) {
            continue;
        }
        sample->topic = topic->topic;
        sample->epoch = stream->frame.epoch;
        sample->type = &channel->type;
        sample->payload = stream->payload;
        sample->frame_id = stream->frame.format == OTO_FRAME_PACKED ? channel->frame_id : stream->frame_id;
        return OTO_OK;
    }
    return OTO_AGAIN;
}

const char *oto_stream_nearest(const struct oto_stream *stream)
{
    const char *candidates[MAX_CANDIDATES] = {NULL};
    size_t count = 0;
    const size_t world = strlen(stream->world);
    for (uint32_t i = 0; stream->schema != NULL && i < oto_schema_channel_count(stream->schema); i++) {
        const char *topic = stream->topics[i].topic;
        const bool within = strncmp(topic, stream->world, world) == 0 && topic[world] == '/';
        if (count + 2 <= MAX_CANDIDATES) {
            candidates[count++] = topic;
            candidates[count++] = within ? topic + world + 1 : topic;
        }
    }
    return count == 0 ? NULL : oto_nearest_word(stream->asked, candidates, count);
}
