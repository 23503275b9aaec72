#include "sim/store.h"

#include <stdlib.h>
#include <string.h>

#include "otolith/ring.h"

#define SLOT_ALIGN 64u
#define MIN_CAPACITY 16u
#define MAX_CAPACITY (1u << 24)

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static uint32_t round_up_power(uint32_t wanted)
{
    uint32_t power = MIN_CAPACITY;
    while (power < wanted && power < MAX_CAPACITY) {
        power *= 2;
    }
    return power;
}

/* Copies a text, cut to `bytes` and NUL-terminated. Texts that must not be cut are checked before. */
static void copy_text(char *to, size_t bytes, const char *from)
{
    const size_t length = from != NULL ? strnlen(from, bytes - 1) : 0;
    memcpy(to, from != NULL ? from : "", length);
    memset(to + length, 0, bytes - length);
}

static void describe_field(const struct oto_field *from, struct oto_segment_field *to)
{
    memset(to, 0, sizeof *to);
    copy_text(to->name, sizeof to->name, from->name);
    copy_text(to->unit, sizeof to->unit, from->unit);
    copy_text(to->frame, sizeof to->frame, from->frame);
    copy_text(to->text, sizeof to->text, from->text);
    to->type = from->type;
    to->count = from->count;
    to->offset = from->offset;
}

static enum oto_status check_type(const struct srv_channel_spec *spec, struct oto_error *error)
{
    const struct oto_record_type *type = spec->type;
    if (type->bytes == 0 || type->bytes % 8 != 0 || type->bytes > OTO_RECORD_MAX_BYTES) {
        return oto_fail(error, OTO_INVALID,
                        "record '%s' of channel '%s' has %u bytes; a multiple of 8 up to %u is accepted", type->name,
                        spec->topic, type->bytes, OTO_RECORD_MAX_BYTES);
    }
    if (type->field_count == 0 || type->field_count > OTO_RECORD_MAX_FIELDS) {
        return oto_fail(error, OTO_INVALID, "record '%s' of channel '%s' has %u fields; 1 to %u are accepted",
                        type->name, spec->topic, type->field_count, OTO_RECORD_MAX_FIELDS);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        const uint64_t bytes = (uint64_t)oto_field_type_bytes(field->type) * field->count;
        if (bytes == 0 || field->offset + bytes > type->bytes || strlen(field->name) >= OTO_FIELD_NAME_BYTES) {
            return oto_fail(error, OTO_INVALID, "field '%s' of record '%s' does not lie within its %u bytes",
                            field->name, type->name, type->bytes);
        }
    }
    return OTO_OK;
}

/* Finds or adds the fields of a type, which all channels of the type share. Returns the index of the first field. */
static uint32_t place_fields(struct srv_layout *layout, uint32_t made, uint64_t type_hash,
                             const struct oto_record_type *type)
{
    for (uint32_t i = 0; i < made; i++) {
        if (layout->directory[i].type_hash == type_hash) {
            return layout->directory[i].first_field;
        }
    }
    const uint32_t first = layout->field_count;
    for (uint32_t i = 0; i < type->field_count; i++) {
        describe_field(&type->fields[i], &layout->fields[first + i]);
    }
    layout->field_count += type->field_count;
    return first;
}

static void place_channel(const struct srv_channel_spec *spec, struct srv_layout *layout, uint32_t index)
{
    struct oto_segment_channel *channel = &layout->directory[index];
    const uint64_t type_hash = oto_record_type_hash(spec->type);
    const uint32_t first_field = place_fields(layout, index, type_hash, spec->type);
    copy_text(channel->topic, sizeof channel->topic, spec->topic);
    copy_text(channel->node, sizeof channel->node, spec->node);
    copy_text(channel->plugin, sizeof channel->plugin, spec->plugin);
    copy_text(channel->plugin_version, sizeof channel->plugin_version, spec->plugin_version);
    copy_text(channel->type_name, sizeof channel->type_name, spec->type->name);
    copy_text(channel->frame_id, sizeof channel->frame_id, spec->frame_id);
    channel->type_hash = type_hash;
    channel->rate_num = spec->rate_num;
    channel->rate_den = spec->rate_den;
    channel->capacity = round_up_power(spec->capacity);
    channel->payload_bytes = spec->type->bytes;
    channel->slot_stride = (uint32_t)round_up(sizeof(struct oto_ring_slot) + spec->type->bytes, SLOT_ALIGN);
    channel->first_field = first_field;
    channel->field_count = spec->type->field_count;
    channel->node_index = spec->node_index;
    channel->flags = spec->flags;
}

/*
 * Upper limit of the number of fields: each type is counted at most once for each channel. The caller bounds the channels.
 */
static uint64_t count_fields(const struct srv_segment_plan *plan)
{
    uint64_t fields = 0;
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        uint32_t before = i;
        while (before > 0 && plan->channels[before - 1].type != plan->channels[i].type) {
            before--;
        }
        fields += before == 0 ? plan->channels[i].type->field_count : 0;
    }
    return fields;
}

uint64_t srv_ring_bytes(uint32_t slots, uint32_t payload_bytes)
{
    const uint64_t stride = round_up(sizeof(struct oto_ring_slot) + payload_bytes, SLOT_ALIGN);
    return sizeof(struct oto_ring) + round_up_power(slots) * stride;
}

static uint64_t place_rings_from(const struct srv_segment_plan *plan, bool asleep, uint64_t align, uint64_t offset,
                                 struct srv_layout *layout)
{
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        struct oto_segment_channel *channel = &layout->directory[i];
        if (plan->channels[i].asleep == asleep) {
            channel->ring_offset = round_up(offset, align);
            offset = channel->ring_offset + sizeof(struct oto_ring) + (uint64_t)channel->capacity * channel->slot_stride;
        }
    }
    return round_up(offset, OTO_SEGMENT_PAGE);
}

/* Places the rings: first those with memory, one after the other, then those without, each on pages of its own. */
static void place_rings(const struct srv_segment_plan *plan, struct srv_layout *layout)
{
    const uint64_t offset = layout->directory_offset + plan->channel_count * sizeof *layout->directory;
    layout->awake_bytes = place_rings_from(plan, false, SLOT_ALIGN, round_up(offset, OTO_SEGMENT_PAGE), layout);
    layout->bytes = place_rings_from(plan, true, OTO_SEGMENT_PAGE, layout->awake_bytes, layout);
}

static enum oto_status fill_layout(const struct srv_segment_plan *plan, struct srv_layout *layout,
                                   struct oto_error *error)
{
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        const enum oto_status status = check_type(&plan->channels[i], error);
        if (status != OTO_OK) {
            return status;
        }
        place_channel(&plan->channels[i], layout, i);
    }
    layout->field_offset = OTO_SEGMENT_HEADER_BYTES;
    layout->directory_offset =
        round_up(layout->field_offset + layout->field_count * sizeof *layout->fields, OTO_SEGMENT_PAGE);
    place_rings(plan, layout);
    if (layout->bytes > OTO_SEGMENT_MAX_BYTES) {
        return oto_fail(error, OTO_LIMIT,
                        "the world's %u channels need a segment of %.1f GiB; at most %.0f GiB are accepted: make rings "
                        "shorter or the world smaller",
                        plan->channel_count, (double)layout->bytes / 0x1p30, (double)OTO_SEGMENT_MAX_BYTES / 0x1p30);
    }
    layout->hash =
        oto_segment_layout_hash(layout->fields, layout->field_count, layout->directory, plan->channel_count);
    return OTO_OK;
}

enum oto_status srv_layout_make(const struct srv_segment_plan *plan, struct srv_layout *layout,
                                struct oto_error *error)
{
    memset(layout, 0, sizeof *layout);
    if (plan->channel_count == 0 || plan->channel_count > OTO_SEGMENT_MAX_CHANNELS) {
        return oto_fail(error, OTO_LIMIT, "the world has %u channels; 1 to %u are accepted", plan->channel_count,
                        OTO_SEGMENT_MAX_CHANNELS);
    }
    layout->channel_count = plan->channel_count;
    const uint64_t fields = count_fields(plan);
    if (fields > OTO_SEGMENT_MAX_FIELDS) {
        return oto_fail(error, OTO_LIMIT, "the world's records have %llu fields; at most %u are accepted",
                        (unsigned long long)fields, OTO_SEGMENT_MAX_FIELDS);
    }
    layout->fields = calloc(fields + 1, sizeof *layout->fields);
    layout->directory = calloc(plan->channel_count, sizeof *layout->directory);
    enum oto_status status = OTO_OK;
    if (layout->fields == NULL || layout->directory == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for a directory of %u channels", plan->channel_count);
    } else {
        status = fill_layout(plan, layout, error);
    }
    if (status != OTO_OK) {
        srv_layout_finish(layout);
    }
    return status;
}

void srv_layout_finish(struct srv_layout *layout)
{
    if (layout != NULL) {
        free(layout->fields);
        free(layout->directory);
        memset(layout, 0, sizeof *layout);
    }
}
