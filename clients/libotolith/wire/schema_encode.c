#include "otolith/version.h"
#include "wire/frame_buffer.h"
#include "base/record_check.h"
#include "wire/schema_topic.h"

static void pack_field(msgpack_packer *packer, const struct oto_field *field)
{
    (void)msgpack_pack_map(packer, 7);
    OTO_FRAME_KEY(packer, "name");
    oto_pack_text(packer, field->name);
    OTO_FRAME_KEY(packer, "type");
    oto_pack_text(packer, oto_field_type_text(field->type));
    OTO_FRAME_KEY(packer, "count");
    (void)msgpack_pack_uint32(packer, field->count);
    OTO_FRAME_KEY(packer, "offset");
    (void)msgpack_pack_uint32(packer, field->offset);
    OTO_FRAME_KEY(packer, "unit");
    oto_pack_text(packer, field->unit);
    OTO_FRAME_KEY(packer, "frame");
    oto_pack_text(packer, field->frame);
    OTO_FRAME_KEY(packer, "text");
    oto_pack_text(packer, field->text);
}

enum { WHOLE_CHANNELS = 256 };

/* In a schema of more than 256 channels, a channel has no fields if one of the channels before it in the frame has the same type. */
static bool has_fields_before(const struct oto_channel *channels, uint32_t index, uint32_t total)
{
    bool found = false;
    for (uint32_t i = index > OTO_SCHEMA_REACH ? index - OTO_SCHEMA_REACH : 0; i < index && total > WHOLE_CHANNELS && !found; i++) {
        found = channels[i].type_hash == channels[index].type_hash;
    }
    return found;
}

static void pack_channel(msgpack_packer *packer, const struct oto_channel *channel, bool with_fields)
{
    (void)msgpack_pack_map(packer, with_fields ? 8 : 7);
    OTO_FRAME_KEY(packer, "topic");
    oto_pack_text(packer, channel->topic);
    OTO_FRAME_KEY(packer, "node");
    oto_pack_text(packer, channel->node);
    OTO_FRAME_KEY(packer, "type");
    oto_pack_text(packer, channel->type.name);
    OTO_FRAME_KEY(packer, "schema");
    (void)msgpack_pack_uint64(packer, channel->type_hash);
    OTO_FRAME_KEY(packer, "rate");
    (void)msgpack_pack_array(packer, 2);
    (void)msgpack_pack_uint64(packer, channel->rate_num);
    (void)msgpack_pack_uint64(packer, channel->rate_den);
    OTO_FRAME_KEY(packer, "frame_id");
    oto_pack_text(packer, channel->frame_id);
    OTO_FRAME_KEY(packer, "bytes");
    (void)msgpack_pack_uint32(packer, channel->type.bytes);
    if (!with_fields) {
        return;
    }
    OTO_FRAME_KEY(packer, "fields");
    (void)msgpack_pack_array(packer, channel->type.field_count);
    for (uint32_t i = 0; i < channel->type.field_count; i++) {
        pack_field(packer, &channel->type.fields[i]);
    }
}

enum oto_status oto_frame_encode_schema(struct oto_buffer *buffer, const char *world, uint64_t epoch,
                                        const struct oto_channel *channels, uint32_t count)
{
    return oto_frame_encode_schema_part(buffer, world, epoch, channels, count, count);
}

enum oto_status oto_frame_encode_schema_part(struct oto_buffer *buffer, const char *world, uint64_t epoch,
                                             const struct oto_channel *channels, uint32_t count, uint32_t total)
{
    struct oto_frame_writer writer = {buffer, OTO_OK};
    msgpack_packer packer = oto_frame_packer(&writer);
    buffer->bytes = 0;
    (void)oto_frame_append(&writer, world, strlen(world));
    (void)oto_frame_append(&writer, OTO_SCHEMA_TOPIC, sizeof OTO_SCHEMA_TOPIC);
    (void)msgpack_pack_map(&packer, 5);
    OTO_FRAME_KEY(&packer, "epoch");
    (void)msgpack_pack_uint64(&packer, epoch);
    OTO_FRAME_KEY(&packer, "v");
    (void)msgpack_pack_uint32(&packer, OTO_WIRE_VERSION);
    OTO_FRAME_KEY(&packer, "world");
    oto_pack_text(&packer, world);
    OTO_FRAME_KEY(&packer, "total");
    (void)msgpack_pack_uint32(&packer, total);
    OTO_FRAME_KEY(&packer, "channels");
    (void)msgpack_pack_array(&packer, count);
    for (uint32_t i = 0; i < count && writer.status == OTO_OK; i++) {
        pack_channel(&packer, &channels[i], !has_fields_before(channels, i, total));
    }
    return writer.status;
}
