#include "wire/frame_buffer.h"
#include "wire/frame_plotjuggler.h"

#define NS_PER_S 1000000000

void oto_buffer_free(struct oto_buffer *buffer)
{
    if (buffer != NULL) {
        free(buffer->data);
        *buffer = (struct oto_buffer){0};
    }
}

/*
 * The functions below make the packer locally from the writer. The compiler then knows the packer's callback, and
 * inlines it with the constant sizes that msgpack-c passes. This halves the cost of a sample.
 */

#define PACK_AS(type_name, member_pack)                                                                                \
    for (uint32_t i = 0; i < field->count; i++) {                                                                      \
        type_name value;                                                                                               \
        memcpy(&value, at + i * sizeof value, sizeof value);                                                           \
        (void)member_pack(&packer, value);                                                                             \
    }

static void pack_field(struct oto_frame_writer *writer, const struct oto_field *field, const unsigned char *payload)
{
    msgpack_packer packer = oto_frame_packer(writer);
    const unsigned char *at = payload + field->offset;
    if (field->type == OTO_FIELD_TEXT) {
        oto_pack_text_bytes(&packer, (const char *)at, strnlen((const char *)at, field->count));
        return;
    }
    if (field->count > 1) {
        (void)msgpack_pack_array(&packer, field->count);
    }
    switch (field->type) {
    case OTO_FIELD_U8:
        PACK_AS(uint8_t, msgpack_pack_uint8)
        break;
    case OTO_FIELD_I8:
        PACK_AS(int8_t, msgpack_pack_int8)
        break;
    case OTO_FIELD_U16:
        PACK_AS(uint16_t, msgpack_pack_uint16)
        break;
    case OTO_FIELD_I16:
        PACK_AS(int16_t, msgpack_pack_int16)
        break;
    case OTO_FIELD_U32:
        PACK_AS(uint32_t, msgpack_pack_uint32)
        break;
    case OTO_FIELD_I32:
        PACK_AS(int32_t, msgpack_pack_int32)
        break;
    case OTO_FIELD_U64:
        PACK_AS(uint64_t, msgpack_pack_uint64)
        break;
    case OTO_FIELD_I64:
        PACK_AS(int64_t, msgpack_pack_int64)
        break;
    case OTO_FIELD_F32:
        PACK_AS(float, msgpack_pack_float)
        break;
    default:
        PACK_AS(double, msgpack_pack_double)
        break;
    }
}

/* Fields [first, end) whose names have the same first `skip` bytes; they are one map on the wire. */
struct group {
    uint32_t first, end;
    size_t skip;
};

/* The member of the group that begins at field `first`: its key, and whether it is itself a map of several fields. */
static struct group member_at(const struct oto_field *fields, const struct group *group, uint32_t first,
                              size_t *key_bytes)
{
    const char *key = fields[first].name + group->skip;
    const char *dot = strchr(key, '.');
    struct group member = {first, first + 1, 0};
    if (dot == NULL) {
        *key_bytes = strlen(key);
        return member;
    }
    *key_bytes = (size_t)(dot - key);
    member.skip = group->skip + *key_bytes + 1;
    while (member.end < group->end && strncmp(fields[member.end].name, fields[first].name, member.skip) == 0) {
        member.end++;
    }
    return member;
}

static uint32_t member_count(const struct oto_field *fields, const struct group *group)
{
    uint32_t count = 0;
    size_t key_bytes;
    for (uint32_t i = group->first; i < group->end; count++) {
        i = member_at(fields, group, i, &key_bytes).end;
    }
    return count;
}

/* Packs the members of a group. Recursion is as deep as a name has dots. */
static void pack_members(struct oto_frame_writer *writer, const struct oto_field *fields, const struct group *group,
                         const unsigned char *payload)
{
    msgpack_packer packer = oto_frame_packer(writer);
    for (uint32_t i = group->first; i < group->end;) {
        size_t key_bytes;
        const struct group member = member_at(fields, group, i, &key_bytes);
        oto_frame_key(&packer, fields[i].name + group->skip, key_bytes);
        if (member.skip == 0) {
            pack_field(writer, &fields[i], payload);
        } else {
            (void)msgpack_pack_map(&packer, member_count(fields, &member));
            pack_members(writer, fields, &member, payload);
        }
        i = member.end;
    }
}

static void pack_header(struct oto_frame_writer *writer, const struct oto_sample_head *head, const char *frame_id)
{
    msgpack_packer packer = oto_frame_packer(writer);
    const int64_t nanosec = (head->t_ns % NS_PER_S + NS_PER_S) % NS_PER_S;
    (void)msgpack_pack_map(&packer, 3);
    OTO_FRAME_KEY(&packer, "seq");
    (void)msgpack_pack_uint64(&packer, head->seq);
    OTO_FRAME_KEY(&packer, "stamp");
    (void)msgpack_pack_map(&packer, 2);
    OTO_FRAME_KEY(&packer, "sec");
    (void)msgpack_pack_int64(&packer, (head->t_ns - nanosec) / NS_PER_S);
    OTO_FRAME_KEY(&packer, "nanosec");
    (void)msgpack_pack_int64(&packer, nanosec);
    OTO_FRAME_KEY(&packer, "frame_id");
    oto_pack_text(&packer, frame_id);
}

static void pack_record(struct oto_frame_writer *writer, const struct oto_channel *channel, uint32_t members,
                        const struct oto_sample_head *head, const unsigned char *payload)
{
    msgpack_packer packer = oto_frame_packer(writer);
    const struct group all = {0, channel->type.field_count, 0};
    (void)msgpack_pack_map(&packer, 2 + (size_t)members);
    OTO_FRAME_KEY(&packer, "header");
    pack_header(writer, head, channel->frame_id);
    pack_members(writer, channel->type.fields, &all, payload);
    OTO_FRAME_KEY(&packer, "otolith");
    (void)msgpack_pack_map(&packer, 2);
    OTO_FRAME_KEY(&packer, "sensor_time_ns");
    (void)msgpack_pack_int64(&packer, head->sensor_time_ns);
    OTO_FRAME_KEY(&packer, "flags");
    (void)msgpack_pack_uint32(&packer, head->flags);
}

static void pack_bin(struct oto_frame_writer *writer, const struct oto_channel *channel, const struct oto_sample_head *heads,
                     const unsigned char *payloads, uint32_t count)
{
    msgpack_packer packer = oto_frame_packer(writer);
    const size_t bytes = channel->type.bytes;
    OTO_FRAME_KEY(&packer, "packed");
    (void)msgpack_pack_bin(&packer, count * (sizeof *heads + bytes));
    for (uint32_t i = 0; i < count; i++) {
        struct oto_sample_head head = heads[i];
        head.bytes = channel->type.bytes;
        (void)msgpack_pack_bin_body(&packer, &head, sizeof head);
        (void)msgpack_pack_bin_body(&packer, payloads + i * bytes, bytes);
    }
}

enum oto_status oto_frame_encode(struct oto_buffer *buffer, const struct oto_channel *channel, uint64_t epoch,
                                 enum oto_frame_format format, const struct oto_sample_head *heads,
                                 const void *payloads, uint32_t count)
{
    if (count == 0 || count > OTO_FRAME_MAX_SAMPLES) {
        return count == 0 ? OTO_INVALID : OTO_LIMIT;
    }
    struct oto_frame_writer writer = {buffer, OTO_OK};
    msgpack_packer packer = oto_frame_packer(&writer);
    buffer->bytes = 0;
    (void)oto_frame_append(&writer, channel->topic, strnlen(channel->topic, sizeof channel->topic - 1));
    (void)oto_frame_append(&writer, "", 1);
    (void)msgpack_pack_map(&packer, 4);
    OTO_FRAME_KEY(&packer, "epoch");
    (void)msgpack_pack_uint64(&packer, epoch);
    OTO_FRAME_KEY(&packer, "seq");
    (void)msgpack_pack_uint64(&packer, heads[0].seq);
    OTO_FRAME_KEY(&packer, "schema");
    (void)msgpack_pack_uint64(&packer, channel->type_hash);
    if (format == OTO_FRAME_PACKED) {
        pack_bin(&writer, channel, heads, payloads, count);
        return writer.status;
    }
    const struct group all = {0, channel->type.field_count, 0};
    const uint32_t members = member_count(channel->type.fields, &all);
    OTO_FRAME_KEY(&packer, "samples");
    (void)msgpack_pack_array(&packer, count);
    for (uint32_t i = 0; i < count && writer.status == OTO_OK; i++) {
        pack_record(&writer, channel, members, &heads[i],
                    (const unsigned char *)payloads + (size_t)i * channel->type.bytes);
    }
    return writer.status;
}

enum oto_status oto_frame_encode_plotjuggler(struct oto_buffer *buffer, const struct oto_channel *channel,
                                             const struct oto_sample_head *heads, const void *payloads, uint32_t count)
{
    struct oto_frame_writer writer = {buffer, OTO_OK};
    msgpack_packer packer = oto_frame_packer(&writer);
    const struct group all = {0, channel->type.field_count, 0};
    const uint32_t members = member_count(channel->type.fields, &all);
    buffer->bytes = 0;
    (void)msgpack_pack_array(&packer, count);
    for (uint32_t i = 0; i < count && writer.status == OTO_OK; i++) {
        (void)msgpack_pack_map(&packer, 2);
        OTO_FRAME_KEY(&packer, "stamp");
        (void)msgpack_pack_double(&packer, (double)heads[i].t_ns * 1e-9);
        oto_pack_text(&packer, channel->topic);
        (void)msgpack_pack_map(&packer, members);
        pack_members(&writer, channel->type.fields, &all, (const unsigned char *)payloads + (size_t)i * channel->type.bytes);
    }
    return writer.status;
}
