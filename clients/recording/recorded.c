#include "recording/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "recording/names.h"

/* The meaning of the messages of an MCAP channel: samples or sample heads of a channel of the world. */
struct recorded_message {
    enum { OTHER = 0, SAMPLE, HEAD } kind;
    uint32_t index; /* of the channel */
};

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory to read a recording");
}

enum oto_status recorded_attachments(const struct recorded *recorded, const char *name, char **text, size_t *bytes,
                                     struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    *text = NULL;
    *bytes = 0;
    for (uint32_t i = 0; i < oto_mcap_reader_attachment_count(recorded->reader) && status == OTO_OK; i++) {
        unsigned char *part = NULL;
        size_t part_bytes = 0;
        if (strcmp(oto_mcap_reader_attachment_name(recorded->reader, i), name) != 0) {
            continue;
        }
        status = oto_mcap_reader_attachment(recorded->reader, i, &part, &part_bytes, error);
        char *more = status == OTO_OK ? realloc(*text, *bytes + part_bytes + 1) : NULL;
        if (more != NULL) {
            memcpy(more + *bytes, part, part_bytes + 1);
            *text = more;
            *bytes += part_bytes;
        } else if (status == OTO_OK) {
            status = no_memory(error);
        }
        free(part);
    }
    return status;
}

/* ---- channels ---- */

static enum oto_status add_schema(struct recorded *recorded, uint32_t attachment, struct oto_error *error)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    struct oto_schema *schema = NULL;
    struct oto_schema **more = realloc(recorded->schemas, (recorded->schema_count + 1) * sizeof *more);
    if (more == NULL) {
        return no_memory(error);
    }
    recorded->schemas = more;
    enum oto_status status = oto_mcap_reader_attachment(recorded->reader, attachment, &data, &bytes, error);
    if (status == OTO_OK && (status = oto_schema_decode(data, bytes, &schema)) != OTO_OK) {
        status = oto_fail(error, status, "the attachment '" RECORDING_SCHEMA "' is damaged: %s", oto_status_text(status));
    }
    free(data);
    if (status == OTO_OK) {
        more[recorded->schema_count++] = schema;
    }
    return status;
}

static enum oto_status add_schemas(struct recorded *recorded, const char *path, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    uint32_t total = 0;
    for (uint32_t i = 0; i < oto_mcap_reader_attachment_count(recorded->reader) && status == OTO_OK; i++) {
        if (strcmp(oto_mcap_reader_attachment_name(recorded->reader, i), RECORDING_SCHEMA) == 0) {
            status = add_schema(recorded, i, error);
        }
    }
    for (uint32_t i = 0; i < recorded->schema_count; i++) {
        total += oto_schema_channel_count(recorded->schemas[i]);
    }
    if (status == OTO_OK && total == 0) {
        return oto_fail(error, OTO_UNSUPPORTED, "'%.256s' is an MCAP file, but no recording of `otolith record` or "
                        "`otolith run --mcap`: the attachment '" RECORDING_SCHEMA "' is missing", path);
    }
    recorded->channels = calloc((size_t)total + 1, sizeof *recorded->channels);
    return status == OTO_OK && recorded->channels == NULL ? no_memory(error) : status;
}

/* Gets the world's name: the part of a node's name before the first '/'. Aliases change topics, but not names of nodes. */
static void name_world(struct recorded *recorded)
{
    const char *topic = recorded->channels[recorded->count - 1].channel->node;
    const size_t length = strcspn(topic, "/");
    if (length < sizeof recorded->world) {
        memcpy(recorded->world, topic, length);
    }
}

static enum oto_status add_channels(struct recorded *recorded, struct oto_error *error)
{
    enum oto_status status = oto_ros_type_make(&oto_ros_head_type, &recorded->head_type, error);
    for (uint32_t part = 0; part < recorded->schema_count && status == OTO_OK; part++) {
        for (uint32_t i = 0; i < oto_schema_channel_count(recorded->schemas[part]) && status == OTO_OK; i++) {
            struct recorded_channel *to = &recorded->channels[recorded->count++];
            to->channel = oto_schema_channel(recorded->schemas[part], i);
            status = oto_ros_type_make(&to->channel->type, &to->ros, error);
        }
    }
    if (status == OTO_OK) {
        name_world(recorded);
    }
    for (uint32_t i = 0; i < recorded->count; i++) {
        oto_ros_topic(recorded->world, recorded->channels[i].channel->topic, recorded->channels[i].topic);
    }
    return status;
}

/* Finds the channel of the world whose samples or sample heads an MCAP channel has. */
static struct recorded_message target_of(struct recorded *recorded, const struct oto_mcap_read_channel *channel)
{
    const struct oto_mcap_read_schema *schema = oto_mcap_reader_schema(recorded->reader, channel->schema);
    for (uint32_t i = 0; schema != NULL && i < recorded->count; i++) {
        struct recorded_channel *to = &recorded->channels[i];
        const size_t length = strlen(to->topic);
        const bool begins = strncmp(channel->topic, to->topic, length) == 0;
        if (begins && channel->topic[length] == '\0' && strcmp(schema->name, oto_ros_type_name(to->ros)) == 0) {
            to->in_file = true;
            return (struct recorded_message){SAMPLE, i};
        }
        if (begins && strcmp(channel->topic + length, RECORDING_HEAD) == 0 &&
            strcmp(schema->name, oto_ros_type_name(recorded->head_type)) == 0) {
            return (struct recorded_message){HEAD, i};
        }
    }
    return (struct recorded_message){OTHER, 0};
}

static enum oto_status add_targets(struct recorded *recorded, struct oto_error *error)
{
    recorded->targets = calloc((size_t)UINT16_MAX + 1, sizeof *recorded->targets);
    if (recorded->targets == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; i < oto_mcap_reader_channel_count(recorded->reader); i++) {
        const struct oto_mcap_read_channel *channel = oto_mcap_reader_channel_at(recorded->reader, i);
        recorded->targets[channel->id] = target_of(recorded, channel);
    }
    return OTO_OK;
}

enum oto_status recorded_open(const char *path, struct recorded **out, struct oto_error *error)
{
    struct recorded *recorded = calloc(1, sizeof *recorded);
    *out = NULL;
    if (recorded == NULL) {
        return no_memory(error);
    }
    enum oto_status status = oto_mcap_reader_open(path, &recorded->reader, error);
    if (status == OTO_OK) {
        status = add_schemas(recorded, path, error);
    }
    if (status == OTO_OK) {
        status = add_channels(recorded, error);
    }
    if (status == OTO_OK) {
        status = add_targets(recorded, error);
    }
    if (status != OTO_OK) {
        recorded_close(recorded);
        return status;
    }
    *out = recorded;
    return OTO_OK;
}

void recorded_close(struct recorded *recorded)
{
    if (recorded == NULL) {
        return;
    }
    for (uint32_t i = 0; i < recorded->count; i++) {
        oto_ros_type_free(recorded->channels[i].ros);
    }
    for (uint32_t i = 0; i < recorded->schema_count; i++) {
        oto_schema_close(recorded->schemas[i]);
    }
    oto_ros_type_free(recorded->head_type);
    oto_mcap_reader_close(recorded->reader);
    free(recorded->schemas);
    free(recorded->channels);
    free(recorded->targets);
    free(recorded);
}

/* ---- samples ---- */

/* Completes a seq, of which a message has the lower 32 bits: the number with these bits that is nearest to the last seq. */
static uint64_t whole_seq(uint64_t last, uint32_t low)
{
    const int32_t step = (int32_t)(low - (uint32_t)last);
    return last + (uint64_t)(int64_t)step;
}

static bool take_head(struct recorded *recorded, const struct oto_mcap_read_message *message, uint32_t index)
{
    struct recorded_channel *channel = &recorded->channels[index];
    channel->has_head = oto_ros_decode(recorded->head_type, message->data, message->bytes, &channel->head, NULL) == OTO_OK;
    return channel->has_head;
}

static bool take_sample(struct recorded *recorded, const struct oto_mcap_read_message *message, uint32_t index,
                        struct recorded_sample *sample)
{
    struct recorded_channel *channel = &recorded->channels[index];
    *sample = (struct recorded_sample){.index = index, .payload = recorded->payload, .message = message->data,
                                       .bytes = message->bytes, .log_time_ns = message->log_time_ns};
    if (oto_ros_decode(channel->ros, message->data, message->bytes, &sample->head, recorded->payload) != OTO_OK) {
        return false;
    }
    if (!oto_ros_type_has_sample_head(channel->ros)) {
        sample->head.seq = whole_seq(channel->last_seq, message->sequence);
        sample->head.sensor_time_ns = sample->head.t_ns;
        if (channel->has_head && (uint32_t)channel->head.seq == message->sequence) {
            sample->head.seq = channel->head.seq;
            sample->head.sensor_time_ns = channel->head.sensor_time_ns;
            sample->head.flags = channel->head.flags;
        }
    }
    channel->has_head = false;
    channel->last_seq = sample->head.seq;
    return true;
}

enum oto_status recorded_next(struct recorded *recorded, struct recorded_sample *sample, struct oto_error *error)
{
    struct oto_mcap_read_message message;
    for (;;) {
        const enum oto_status status = oto_mcap_reader_next(recorded->reader, &message, error);
        if (status != OTO_OK) {
            return status;
        }
        const struct recorded_message *target = &recorded->targets[message.channel];
        if (target->kind == HEAD) {
            (void)take_head(recorded, &message, target->index);
        } else if (target->kind == SAMPLE && take_sample(recorded, &message, target->index, sample)) {
            return OTO_OK;
        }
    }
}

void recorded_seek(struct recorded *recorded, uint64_t t_ns)
{
    oto_mcap_reader_seek(recorded->reader, t_ns);
    for (uint32_t i = 0; i < recorded->count; i++) {
        recorded->channels[i].has_head = false;
    }
}
