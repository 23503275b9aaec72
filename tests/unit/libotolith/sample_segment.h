/* A small sound segment in ordinary memory: events, an IMU, a magnetometer, and a few records in their rings. */
#ifndef SAMPLE_SEGMENT_H
#define SAMPLE_SEGMENT_H

#include <stdlib.h>

#include "otolith/segment.h"
#include "sample_records.h"

#define SAMPLE_SEGMENT_BYTES 65536u
#define SAMPLE_CHANNELS 3u
#define SAMPLE_FIELDS_AT OTO_SEGMENT_HEADER_BYTES
#define SAMPLE_DIRECTORY_AT (OTO_SEGMENT_HEADER_BYTES + 8192u)
#define SAMPLE_RINGS_AT (OTO_SEGMENT_HEADER_BYTES + 12288u)
#define SAMPLE_RING_BYTES 8192u
#define SAMPLE_SLOTS 16u

static const struct oto_record_type *const sample_segment_types[SAMPLE_CHANNELS] = {&oto_event_type, &oto_imu_type,
                                                                                    &oto_mag_type};
static const char *const sample_segment_topics[SAMPLE_CHANNELS] = {"demo/@events", "demo/car/imu", "/unity/mag"};
static const char *const sample_segment_nodes[SAMPLE_CHANNELS] = {"demo/@events", "demo/car/imu", "demo/car/mag"};

static inline void sample_segment_push(unsigned char *base, uint32_t index, uint64_t seq)
{
    struct oto_segment_channel *channel =
        (struct oto_segment_channel *)(void *)(base + SAMPLE_DIRECTORY_AT) + index;
    struct oto_ring *ring = (struct oto_ring *)(void *)(base + channel->ring_offset);
    unsigned char *slot = (unsigned char *)(ring + 1) + ((seq - 1) % channel->capacity) * channel->slot_stride;
    const struct oto_sample_head head = sample_head(seq, channel->payload_bytes);
    const uint64_t lock = 2 * seq + 2;
    uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
    fill_payload(sample_segment_types[index], payload, (double)seq);
    memcpy(slot + 8, &head, sizeof head);
    memcpy(slot + sizeof(struct oto_ring_slot), payload, channel->payload_bytes);
    memcpy(slot, &lock, sizeof lock);
    ring->head = seq;
}

static inline void sample_segment_hash(unsigned char *base)
{
    struct oto_segment_header *header = (struct oto_segment_header *)(void *)base;
    header->layout_hash =
        oto_segment_layout_hash((const struct oto_segment_field *)(void *)(base + SAMPLE_FIELDS_AT), header->field_count,
                                (const struct oto_segment_channel *)(void *)(base + SAMPLE_DIRECTORY_AT),
                                SAMPLE_CHANNELS);
}

static inline unsigned char *sample_segment_make(void)
{
    unsigned char *base = aligned_alloc(4096, SAMPLE_SEGMENT_BYTES);
    memset(base, 0, SAMPLE_SEGMENT_BYTES);
    struct oto_segment_header *header = (struct oto_segment_header *)(void *)base;
    struct oto_segment_field *fields = (struct oto_segment_field *)(void *)(base + SAMPLE_FIELDS_AT);
    struct oto_segment_channel *channels = (struct oto_segment_channel *)(void *)(base + SAMPLE_DIRECTORY_AT);
    uint32_t used = 0;
    for (uint32_t i = 0; i < SAMPLE_CHANNELS; i++) {
        const struct oto_record_type *type = sample_segment_types[i];
        struct oto_segment_channel *channel = &channels[i];
        (void)snprintf(channel->topic, sizeof channel->topic, "%s", sample_segment_topics[i]);
        (void)snprintf(channel->node, sizeof channel->node, "%s", sample_segment_nodes[i]);
        (void)snprintf(channel->plugin, sizeof channel->plugin, "mems_imu");
        (void)snprintf(channel->type_name, sizeof channel->type_name, "%s", type->name);
        (void)snprintf(channel->frame_id, sizeof channel->frame_id, "link");
        channel->type_hash = oto_record_type_hash(type);
        channel->rate_num = i == 0 ? 0 : 200;
        channel->rate_den = 1;
        channel->ring_offset = SAMPLE_RINGS_AT + i * SAMPLE_RING_BYTES;
        channel->capacity = SAMPLE_SLOTS;
        channel->slot_stride = (type->bytes + 40 + 63) / 64 * 64;
        channel->payload_bytes = type->bytes;
        channel->first_field = used;
        channel->field_count = type->field_count;
        channel->node_index = i == 0 ? UINT32_MAX : i;
        for (uint32_t k = 0; k < type->field_count; k++, used++) {
            (void)snprintf(fields[used].name, sizeof fields->name, "%s", type->fields[k].name);
            (void)snprintf(fields[used].unit, sizeof fields->unit, "%s", type->fields[k].unit);
            (void)snprintf(fields[used].frame, sizeof fields->frame, "%s", type->fields[k].frame);
            (void)snprintf(fields[used].text, sizeof fields->text, "%s", type->fields[k].text);
            fields[used].type = type->fields[k].type;
            fields[used].count = type->fields[k].count;
            fields[used].offset = type->fields[k].offset;
        }
    }
    *header = (struct oto_segment_header){.magic = OTO_SEGMENT_MAGIC,
                                          .major = OTO_SEGMENT_MAJOR,
                                          .minor = OTO_SEGMENT_MINOR,
                                          .header_bytes = OTO_SEGMENT_HEADER_BYTES,
                                          .endian = OTO_SEGMENT_ENDIAN,
                                          .page_bytes = OTO_SEGMENT_PAGE,
                                          .segment_bytes = SAMPLE_SEGMENT_BYTES,
                                          .epoch = 7,
                                          .field_offset = SAMPLE_FIELDS_AT,
                                          .field_count = used,
                                          .field_stride = sizeof(struct oto_segment_field),
                                          .directory_offset = SAMPLE_DIRECTORY_AT,
                                          .channel_count = SAMPLE_CHANNELS,
                                          .channel_stride = sizeof(struct oto_segment_channel),
                                          .rate_num = 1000,
                                          .rate_den = 1,
                                          .world = "demo"};
    sample_segment_hash(base);
    return base;
}

#endif
