#include "otolith/frame.h"
#include "wire/frame_record.h"
#include "wire/schema_topic.h"

enum frame_key { KEY_EPOCH = 1, KEY_SEQ = 2, KEY_SCHEMA = 4, KEY_SAMPLES = 8 };

static enum oto_status take_samples(struct oto_frame *frame, struct oto_pack_reader *reader)
{
    const unsigned char *at = reader->at;
    struct oto_pack_item item;
    if (!oto_pack_expect(reader, OTO_PACK_ARRAY, &item) || item.count == 0) {
        return OTO_CORRUPT;
    }
    if (item.count > OTO_FRAME_MAX_SAMPLES) {
        return OTO_LIMIT;
    }
    frame->format = OTO_FRAME_MAP;
    frame->count = item.count;
    frame->samples = reader->at;
    reader->at = at;
    if (!oto_pack_skip(reader)) {
        return OTO_CORRUPT;
    }
    frame->samples_bytes = (size_t)(reader->at - frame->samples);
    return OTO_OK;
}

/* The head of the first record gives the size of all records. */
static enum oto_status take_packed(struct oto_frame *frame, struct oto_pack_reader *reader)
{
    struct oto_pack_item item;
    struct oto_sample_head head;
    if (!oto_pack_expect(reader, OTO_PACK_BINARY, &item) || item.count < sizeof head) {
        return OTO_CORRUPT;
    }
    memcpy(&head, item.data, sizeof head);
    const size_t stride = sizeof head + (size_t)head.bytes;
    if (head.bytes > OTO_RECORD_MAX_BYTES || item.count % stride != 0) {
        return OTO_CORRUPT;
    }
    if (item.count / stride > OTO_FRAME_MAX_SAMPLES) {
        return OTO_LIMIT;
    }
    frame->format = OTO_FRAME_PACKED;
    frame->count = (uint32_t)(item.count / stride);
    frame->samples = (const unsigned char *)item.data;
    frame->samples_bytes = item.count;
    return OTO_OK;
}

static enum oto_status take_number(struct oto_pack_reader *reader, uint64_t *number)
{
    struct oto_pack_item item;
    if (!oto_pack_expect(reader, OTO_PACK_UNSIGNED, &item)) {
        return OTO_CORRUPT;
    }
    *number = item.number;
    return OTO_OK;
}

/* Decodes one pair of the envelope. Keys that this version does not know are skipped. */
static enum oto_status take_envelope_pair(struct oto_frame *frame, struct oto_pack_reader *reader, unsigned *seen)
{
    struct oto_pack_item key;
    if (!oto_pack_expect(reader, OTO_PACK_TEXT, &key)) {
        return OTO_CORRUPT;
    }
    const bool packed = oto_pack_is_text(&key, "packed");
    const unsigned which = oto_pack_is_text(&key, "epoch")                ? KEY_EPOCH
                           : oto_pack_is_text(&key, "seq")                ? KEY_SEQ
                           : oto_pack_is_text(&key, "schema")             ? KEY_SCHEMA
                           : packed || oto_pack_is_text(&key, "samples") ? KEY_SAMPLES
                                                                          : 0;
    if ((*seen & which) != 0) {
        return OTO_CORRUPT;
    }
    *seen |= which;
    switch (which) {
    case KEY_EPOCH:
        return take_number(reader, &frame->epoch);
    case KEY_SEQ:
        return take_number(reader, &frame->seq);
    case KEY_SCHEMA:
        return take_number(reader, &frame->schema);
    case KEY_SAMPLES:
        return packed ? take_packed(frame, reader) : take_samples(frame, reader);
    default:
        return oto_pack_skip(reader) ? OTO_OK : OTO_CORRUPT;
    }
}

enum oto_status oto_frame_decode(const void *data, size_t bytes, struct oto_frame *frame)
{
    *frame = (struct oto_frame){0};
    if (bytes > OTO_FRAME_MAX_BYTES) {
        return OTO_LIMIT;
    }
    const unsigned char *end = bytes == 0 ? NULL : memchr(data, '\0', bytes < OTO_TOPIC_BYTES ? bytes : OTO_TOPIC_BYTES);
    if (end == NULL || end == data) {
        return OTO_CORRUPT;
    }
    frame->topic = data;
    if (oto_is_schema_topic(frame->topic)) {
        return OTO_UNSUPPORTED;
    }
    const size_t topic_bytes = (size_t)(end - (const unsigned char *)data) + 1;
    struct oto_pack_reader reader = oto_pack_reader_make(end + 1, bytes - topic_bytes);
    struct oto_pack_item map;
    unsigned seen = 0;
    if (!oto_pack_expect(&reader, OTO_PACK_MAP, &map)) {
        return OTO_CORRUPT;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        const enum oto_status status = take_envelope_pair(frame, &reader, &seen);
        if (status != OTO_OK) {
            return status;
        }
    }
    frame->next = frame->samples;
    const bool whole = reader.at == reader.end && seen == (KEY_EPOCH | KEY_SEQ | KEY_SCHEMA | KEY_SAMPLES);
    return whole && frame->seq <= OTO_SEQ_MAX + 1 - frame->count ? OTO_OK : OTO_CORRUPT;
}

/* Moves the frame's read position to sample `index`, forward from the current position if possible. */
static bool seek(struct oto_frame *frame, uint32_t index)
{
    if (index < frame->next_index) {
        frame->next_index = 0;
        frame->next = frame->samples;
    }
    struct oto_pack_reader reader = {frame->next, frame->samples + frame->samples_bytes};
    for (; frame->next_index < index; frame->next_index++) {
        if (!oto_pack_skip(&reader)) {
            return false;
        }
        frame->next = reader.at;
    }
    return true;
}

static enum oto_status packed_sample(const struct oto_frame *frame, const struct oto_record_type *type, uint32_t index,
                                     struct oto_sample_head *head, void *payload)
{
    const size_t stride = sizeof *head + type->bytes;
    if (stride * frame->count != frame->samples_bytes) {
        return OTO_CORRUPT;
    }
    memcpy(head, frame->samples + index * stride, sizeof *head);
    memcpy(payload, frame->samples + index * stride + sizeof *head, type->bytes);
    return head->bytes == type->bytes && head->seq == frame->seq + index ? OTO_OK : OTO_CORRUPT;
}

enum oto_status oto_frame_sample(struct oto_frame *frame, const struct oto_record_type *type, uint32_t index,
                                 struct oto_sample_head *head, void *payload, char *frame_id, size_t frame_id_bytes)
{
    if (index >= frame->count) {
        return OTO_NOT_FOUND;
    }
    if (frame_id != NULL && frame_id_bytes > 0) {
        frame_id[0] = '\0';
    }
    if (frame->format == OTO_FRAME_PACKED) {
        return packed_sample(frame, type, index, head, payload);
    }
    if (!seek(frame, index)) {
        return OTO_CORRUPT;
    }
    struct oto_pack_reader reader = {frame->next, frame->samples + frame->samples_bytes};
    if (!oto_frame_record(&reader, type, head, payload, frame_id, frame_id_bytes) || head->seq != frame->seq + index) {
        return OTO_CORRUPT;
    }
    frame->next = reader.at;
    frame->next_index = index + 1;
    return OTO_OK;
}
