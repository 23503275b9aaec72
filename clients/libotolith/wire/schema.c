#include <stdlib.h>
#include <string.h>

#include "otolith/frame.h"
#include "otolith/version.h"
#include "wire/pack_read.h"
#include "base/record_check.h"
#include "wire/schema_topic.h"

/* Its memory grows with the decoded channels and fields, never with a count that the frame claims. */
struct oto_schema {
    uint64_t epoch;
    uint32_t total;
    struct oto_channel *channels;
    uint32_t channel_count, channel_capacity;
    struct oto_field *fields;
    uint32_t *first_field; /* first field of each channel */
    uint32_t field_count, field_capacity;
    char *texts; /* as large as the frame: in the frame each text has a header of at least one byte, which its NUL
                  * replaces */
    size_t texts_used;
};

struct decoder {
    struct oto_schema *schema;
    struct oto_pack_reader reader;
};

static const char *keep_text(struct oto_schema *schema, const struct oto_pack_item *item)
{
    char *to = schema->texts + schema->texts_used;
    if (item->count > 0) {
        memcpy(to, item->data, item->count);
    }
    to[item->count] = '\0';
    schema->texts_used += (size_t)item->count + 1;
    return to;
}

static bool is_number_below(const struct oto_pack_item *item, uint64_t limit)
{
    return item->kind == OTO_PACK_UNSIGNED && item->number < limit;
}

static bool take_name(struct decoder *decoder, const struct oto_pack_item *item, const char **text)
{
    if (item->kind != OTO_PACK_TEXT || (item->count > 0 && memchr(item->data, '\0', item->count) != NULL)) {
        return false;
    }
    *text = keep_text(decoder->schema, item);
    return true;
}

/* ---- a field ---- */

enum field_key { FIELD_NAME, FIELD_TYPE, FIELD_COUNT, FIELD_OFFSET, FIELD_UNIT, FIELD_FRAME, FIELD_TEXT, FIELD_KEYS };
static const char *const field_keys[FIELD_KEYS] = {"name", "type", "count", "offset", "unit", "frame", "text"};

/* The index of a key in a table of keys; `count` if it is not there. */
static uint32_t key_index(const struct oto_pack_item *key, const char *const *keys, uint32_t count)
{
    uint32_t index = 0;
    while (index < count && !oto_pack_is_text(key, keys[index])) {
        index++;
    }
    return index;
}

static bool set_field(struct decoder *decoder, struct oto_field *field, uint32_t key, const struct oto_pack_item *item)
{
    switch (key) {
    case FIELD_NAME:
        return take_name(decoder, item, &field->name);
    case FIELD_TYPE:
        field->type = item->kind == OTO_PACK_TEXT ? oto_field_type_by_text(item->data, item->count) : 0;
        return field->type != 0;
    case FIELD_COUNT:
        field->count = (uint32_t)item->number;
        return is_number_below(item, OTO_RECORD_MAX_BYTES + 1);
    case FIELD_OFFSET:
        field->offset = (uint32_t)item->number;
        return is_number_below(item, OTO_RECORD_MAX_BYTES);
    case FIELD_UNIT:
        return take_name(decoder, item, &field->unit);
    case FIELD_FRAME:
        return take_name(decoder, item, &field->frame);
    default:
        return take_name(decoder, item, &field->text);
    }
}

static bool take_field(struct decoder *decoder, struct oto_field *field)
{
    struct oto_pack_item map, key, item;
    uint32_t seen = 0;
    *field = (struct oto_field){0};
    if (!oto_pack_expect(&decoder->reader, OTO_PACK_MAP, &map)) {
        return false;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        if (!oto_pack_expect(&decoder->reader, OTO_PACK_TEXT, &key)) {
            return false;
        }
        const uint32_t index = key_index(&key, field_keys, FIELD_KEYS);
        if (index == FIELD_KEYS) {
            if (!oto_pack_skip(&decoder->reader)) {
                return false;
            }
            continue;
        }
        if ((seen >> index & 1) != 0 || !oto_pack_next(&decoder->reader, &item) ||
            !set_field(decoder, field, index, &item)) {
            return false;
        }
        seen |= 1u << index;
    }
    return seen == (1u << FIELD_KEYS) - 1;
}

static enum oto_status take_fields(struct decoder *decoder, struct oto_channel *channel)
{
    struct oto_schema *schema = decoder->schema;
    struct oto_pack_item list;
    if (!oto_pack_expect(&decoder->reader, OTO_PACK_ARRAY, &list)) {
        return OTO_CORRUPT;
    }
    if (list.count > OTO_RECORD_MAX_FIELDS || list.count > OTO_SEGMENT_MAX_FIELDS - schema->field_count) {
        return OTO_LIMIT;
    }
    channel->type.field_count = list.count;
    for (uint32_t i = 0; i < list.count; i++) {
        if (schema->field_count == schema->field_capacity) {
            const uint32_t capacity = schema->field_capacity < 64 ? 64 : 2 * schema->field_capacity;
            struct oto_field *fields = reallocarray(schema->fields, capacity, sizeof *fields);
            if (fields == NULL) {
                return OTO_NO_MEMORY;
            }
            schema->fields = fields;
            schema->field_capacity = capacity;
        }
        if (!take_field(decoder, &schema->fields[schema->field_count])) {
            return OTO_CORRUPT;
        }
        schema->field_count++;
    }
    return OTO_OK;
}

/* ---- a channel ---- */

enum channel_key {
    CHANNEL_TOPIC,
    CHANNEL_NODE,
    CHANNEL_TYPE,
    CHANNEL_SCHEMA,
    CHANNEL_RATE,
    CHANNEL_FRAME_ID,
    CHANNEL_BYTES,
    CHANNEL_FIELDS,
    CHANNEL_KEYS
};
static const char *const channel_keys[CHANNEL_KEYS] = {"topic", "node",     "type",  "schema",
                                                       "rate",  "frame_id", "bytes", "fields"};

static bool take_rate(struct decoder *decoder, struct oto_channel *channel)
{
    struct oto_pack_item list, num, den;
    const bool whole = oto_pack_expect(&decoder->reader, OTO_PACK_ARRAY, &list) && list.count == 2 &&
                       oto_pack_expect(&decoder->reader, OTO_PACK_UNSIGNED, &num) &&
                       oto_pack_expect(&decoder->reader, OTO_PACK_UNSIGNED, &den) && den.number > 0;
    if (whole) {
        channel->rate_num = num.number;
        channel->rate_den = den.number;
    }
    return whole;
}

static bool set_channel(struct decoder *decoder, struct oto_channel *channel, uint32_t key,
                        const struct oto_pack_item *item)
{
    switch (key) {
    case CHANNEL_TOPIC:
        return item->count > 0 && oto_pack_copy_text(item, channel->topic, sizeof channel->topic);
    case CHANNEL_NODE:
        return oto_pack_copy_text(item, channel->node, sizeof channel->node);
    case CHANNEL_TYPE:
        return take_name(decoder, item, &channel->type.name);
    case CHANNEL_SCHEMA:
        channel->type_hash = item->number;
        return item->kind == OTO_PACK_UNSIGNED;
    case CHANNEL_FRAME_ID:
        return oto_pack_copy_text(item, channel->frame_id, sizeof channel->frame_id);
    default:
        channel->type.bytes = (uint32_t)item->number;
        return is_number_below(item, OTO_RECORD_MAX_BYTES + 1);
    }
}

static enum oto_status take_channel_pair(struct decoder *decoder, struct oto_channel *channel, uint32_t *seen)
{
    struct oto_pack_item key, item;
    if (!oto_pack_expect(&decoder->reader, OTO_PACK_TEXT, &key)) {
        return OTO_CORRUPT;
    }
    const uint32_t index = key_index(&key, channel_keys, CHANNEL_KEYS);
    if (index == CHANNEL_KEYS) {
        return oto_pack_skip(&decoder->reader) ? OTO_OK : OTO_CORRUPT;
    }
    if ((*seen >> index & 1) != 0) {
        return OTO_CORRUPT;
    }
    *seen |= 1u << index;
    if (index == CHANNEL_FIELDS) {
        return take_fields(decoder, channel);
    }
    if (index == CHANNEL_RATE) {
        return take_rate(decoder, channel) ? OTO_OK : OTO_CORRUPT;
    }
    const bool good = oto_pack_next(&decoder->reader, &item) && set_channel(decoder, channel, index, &item);
    return good ? OTO_OK : OTO_CORRUPT;
}

/* Checks that a channel's type can be used to read records, and that it has the announced hash. */
static bool is_sound(const struct oto_schema *schema, const struct oto_channel *channel, uint32_t first_field)
{
    struct oto_record_type type = channel->type;
    if (type.field_count == 0) {
        return false;
    }
    type.fields = schema->fields + first_field;
    return oto_wire_type_check(&type, NULL) == OTO_OK &&
           oto_record_type_hash(&type) == channel->type_hash;
}

/*
 * A channel without fields has those of one of the OTO_SCHEMA_REACH channels before it in the frame, with the same type. That
 * channel is sound, so its fields are not hashed again: a frame could make that cost minutes.
 */
static bool share_fields(struct oto_schema *schema, struct oto_channel *channel)
{
    const uint32_t last = channel->index > OTO_SCHEMA_REACH ? channel->index - OTO_SCHEMA_REACH : 0;
    for (uint32_t i = channel->index; i-- > last;) {
        const struct oto_channel *other = &schema->channels[i];
        if (other->type_hash == channel->type_hash) {
            channel->type.field_count = other->type.field_count;
            schema->first_field[channel->index] = schema->first_field[i];
            return other->type.bytes == channel->type.bytes && strcmp(other->type.name, channel->type.name) == 0;
        }
    }
    return false;
}

static enum oto_status take_channel(struct decoder *decoder, struct oto_channel *channel)
{
    struct oto_schema *schema = decoder->schema;
    struct oto_pack_item map;
    uint32_t seen = 0;
    if (!oto_pack_expect(&decoder->reader, OTO_PACK_MAP, &map)) {
        return OTO_CORRUPT;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        const enum oto_status status = take_channel_pair(decoder, channel, &seen);
        if (status != OTO_OK) {
            return status;
        }
    }
    const bool whole = seen == (1u << CHANNEL_KEYS) - 1   ? is_sound(schema, channel, schema->first_field[channel->index])
                       : seen == (1u << CHANNEL_FIELDS) - 1 ? share_fields(schema, channel)
                                                            : false;
    return whole ? OTO_OK : OTO_CORRUPT;
}

static enum oto_status grow_channels(struct oto_schema *schema)
{
    if (schema->channel_count < schema->channel_capacity) {
        return OTO_OK;
    }
    const uint32_t capacity = schema->channel_capacity < 16 ? 16 : 2 * schema->channel_capacity;
    struct oto_channel *channels = reallocarray(schema->channels, capacity, sizeof *channels);
    if (channels == NULL) {
        return OTO_NO_MEMORY;
    }
    schema->channels = channels;
    uint32_t *first_field = reallocarray(schema->first_field, capacity, sizeof *first_field);
    if (first_field == NULL) {
        return OTO_NO_MEMORY;
    }
    schema->first_field = first_field;
    schema->channel_capacity = capacity;
    return OTO_OK;
}

static enum oto_status take_channels(struct decoder *decoder)
{
    struct oto_schema *schema = decoder->schema;
    struct oto_pack_item list;
    if (!oto_pack_expect(&decoder->reader, OTO_PACK_ARRAY, &list)) {
        return OTO_CORRUPT;
    }
    if (list.count > OTO_SEGMENT_MAX_CHANNELS) {
        return OTO_LIMIT;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        enum oto_status status = grow_channels(schema);
        if (status != OTO_OK) {
            return status;
        }
        struct oto_channel *channel = &schema->channels[i];
        *channel = (struct oto_channel){.index = i, .node_index = UINT32_MAX};
        schema->first_field[i] = schema->field_count;
        status = take_channel(decoder, channel);
        if (status != OTO_OK) {
            return status;
        }
        schema->channel_count++;
    }
    return OTO_OK;
}

/* ---- the frame ---- */

enum frame_key { FRAME_VERSION, FRAME_EPOCH, FRAME_TOTAL, FRAME_CHANNELS, FRAME_KEYS };
static const char *const frame_keys[FRAME_KEYS] = {"v", "epoch", "total", "channels"};

static enum oto_status take_frame_value(struct decoder *decoder, uint32_t key)
{
    struct oto_schema *schema = decoder->schema;
    struct oto_pack_item item;
    if (key == FRAME_KEYS) {
        return oto_pack_skip(&decoder->reader) ? OTO_OK : OTO_CORRUPT;
    }
    if (key == FRAME_CHANNELS) {
        return take_channels(decoder);
    }
    if (!oto_pack_expect(&decoder->reader, OTO_PACK_UNSIGNED, &item)) {
        return OTO_CORRUPT;
    }
    if (key == FRAME_VERSION) {
        return item.number == OTO_WIRE_VERSION ? OTO_OK : OTO_VERSION;
    }
    if (key == FRAME_EPOCH) {
        schema->epoch = item.number;
        return OTO_OK;
    }
    schema->total = (uint32_t)item.number;
    return is_number_below(&item, OTO_SEGMENT_MAX_CHANNELS + 1) ? OTO_OK : OTO_LIMIT;
}

/* `total` was added later than the other keys: a frame without it is the complete schema. */
static enum oto_status take_frame(struct decoder *decoder)
{
    const uint32_t needed = 1u << FRAME_VERSION | 1u << FRAME_EPOCH | 1u << FRAME_CHANNELS;
    struct oto_pack_item map, key;
    uint32_t seen = 0;
    if (!oto_pack_expect(&decoder->reader, OTO_PACK_MAP, &map)) {
        return OTO_CORRUPT;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        if (!oto_pack_expect(&decoder->reader, OTO_PACK_TEXT, &key)) {
            return OTO_CORRUPT;
        }
        const uint32_t index = key_index(&key, frame_keys, FRAME_KEYS);
        const enum oto_status status =
            index < FRAME_KEYS && (seen >> index & 1) != 0 ? OTO_CORRUPT : take_frame_value(decoder, index);
        if (status != OTO_OK) {
            return status;
        }
        seen |= index < FRAME_KEYS ? 1u << index : 0;
    }
    if ((seen >> FRAME_TOTAL & 1) == 0) {
        decoder->schema->total = decoder->schema->channel_count;
    }
    return (seen & needed) == needed && decoder->reader.at == decoder->reader.end ? OTO_OK : OTO_CORRUPT;
}

static void point_at_fields(struct oto_schema *schema)
{
    for (uint32_t i = 0; i < schema->channel_count; i++) {
        schema->channels[i].type.fields = schema->fields + schema->first_field[i];
    }
}

enum oto_status oto_schema_decode(const void *data, size_t bytes, struct oto_schema **schema)
{
    *schema = NULL;
    if (bytes > OTO_FRAME_MAX_BYTES) {
        return OTO_LIMIT;
    }
    const unsigned char *end = bytes == 0 ? NULL : memchr(data, '\0', bytes < OTO_TOPIC_BYTES ? bytes : OTO_TOPIC_BYTES);
    if (end == NULL) {
        return OTO_CORRUPT;
    }
    const size_t body = bytes - (size_t)(end - (const unsigned char *)data) - 1;
    struct oto_schema *made = calloc(1, sizeof *made);
    if (made == NULL || (made->texts = malloc(body + 1)) == NULL) {
        oto_schema_close(made);
        return OTO_NO_MEMORY;
    }
    struct decoder decoder = {made, oto_pack_reader_make(end + 1, body)};
    const enum oto_status status = take_frame(&decoder);
    if (status != OTO_OK) {
        oto_schema_close(made);
        return status;
    }
    point_at_fields(made);
    *schema = made;
    return OTO_OK;
}

void oto_schema_close(struct oto_schema *schema)
{
    if (schema != NULL) {
        free(schema->channels);
        free(schema->first_field);
        free(schema->fields);
        free(schema->texts);
        free(schema);
    }
}

uint64_t oto_schema_epoch(const struct oto_schema *schema)
{
    return schema->epoch;
}

uint32_t oto_schema_total(const struct oto_schema *schema)
{
    return schema->total;
}

uint32_t oto_schema_channel_count(const struct oto_schema *schema)
{
    return schema->channel_count;
}

const struct oto_channel *oto_schema_channel(const struct oto_schema *schema, uint32_t index)
{
    return index < schema->channel_count ? &schema->channels[index] : NULL;
}
