#include "transport/stream.h"

#include "base/pattern.h"
#include "document/document.h"
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
    oto_topics_finish(&stream->topics);
    memset(stream, 0, sizeof *stream);
}

/* `asked` is a topic, a prefix that ends in '/', or empty for all topics. */
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
    const size_t world = strlen(stream->topics.world);
    if (srv_is_pattern(stream->asked)) {
        return srv_pattern_matches_in(stream->asked, stream->topics.world, topic);
    }
    return matches(topic, stream->asked) || (strncmp(topic, stream->topics.world, world) == 0 && topic[world] == '/' &&
                                             matches(topic + world + 1, stream->asked));
}

static enum oto_status take_schema(struct oto_stream *stream, const void *data, size_t bytes)
{
    const enum oto_status status = oto_topics_take_schema(&stream->topics, data, bytes);
    if (status != OTO_OK) {
        return status;
    }
    stream->wanted_count = 0;
    for (uint32_t i = 0; i < stream->topics.count; i++) {
        struct oto_topic *topic = &stream->topics.list[i];
        topic->wanted = is_wanted(stream, topic->channel->topic);
        stream->wanted_count += topic->wanted;
    }
    return OTO_AGAIN;
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
    struct oto_topic *topic = oto_topics_find(&stream->topics, data);
    if (topic == NULL || !topic->wanted) {
        return OTO_AGAIN; /* a topic that is not requested, as most are: the frame is not decoded */
    }
    const enum oto_status status = oto_frame_decode(data, bytes, &stream->frame);
    if (status != OTO_OK || topic->channel->type_hash != stream->frame.schema) {
        stream->frame.count = 0;
        return status == OTO_OK ? OTO_AGAIN : status;
    }
    stream->topic = topic;
    return OTO_OK;
}

/* Counts lost samples. False: this sample was received before. */
static bool account(struct oto_topic *topic, uint64_t epoch, uint64_t seq, uint64_t *lost)
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
        const struct oto_channel *channel = stream->topic->channel;
        const enum oto_status status =
            oto_frame_sample(&stream->frame, &channel->type, stream->next_sample, &sample->head, stream->payload,
                             stream->frame_id, sizeof stream->frame_id);
        if (status != OTO_OK) {
            stream->frame.count = 0;
            return status;
        }
        stream->next_sample++;
        if (!account(stream->topic, stream->frame.epoch, sample->head.seq, &sample->lost)) {
            continue;
        }
        sample->topic = channel->topic;
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
    const size_t world = strlen(stream->topics.world);
    for (uint32_t i = 0; i < stream->topics.count; i++) {
        const char *topic = stream->topics.list[i].channel->topic;
        const bool within = strncmp(topic, stream->topics.world, world) == 0 && topic[world] == '/';
        if (count + 2 <= MAX_CANDIDATES) {
            candidates[count++] = topic;
            candidates[count++] = within ? topic + world + 1 : topic;
        }
    }
    return count == 0 ? NULL : oto_nearest_word(stream->asked, candidates, count);
}
