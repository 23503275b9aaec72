#include "wire/control_message.h"

#include "otolith/version.h"
#include "wire/pack_write.h"

static int append(void *context, const char *data, size_t bytes)
{
    struct oto_message_writer *writer = context;
    if (writer->overflow || bytes > writer->capacity - writer->bytes) {
        writer->overflow = true;
        return -1;
    }
    if (bytes > 0) {
        memcpy(writer->data + writer->bytes, data, bytes);
        writer->bytes += bytes;
    }
    return 0;
}

static msgpack_packer packer_of(struct oto_message_writer *writer)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, writer, append);
    return packer;
}

void oto_message_begin(struct oto_message_writer *writer, void *data, size_t capacity, uint64_t id, const char *op)
{
    *writer = (struct oto_message_writer){
        .data = data, .capacity = capacity < OTO_MESSAGE_MAX_BYTES ? capacity : OTO_MESSAGE_MAX_BYTES};
    msgpack_packer packer = packer_of(writer);
    /* The head of a map16; oto_message_finish writes the count. */
    (void)msgpack_pack_map(&packer, UINT16_MAX);
    oto_pack_text(&packer, "v");
    (void)msgpack_pack_uint32(&packer, OTO_CONTROL_VERSION);
    oto_pack_text(&packer, "id");
    (void)msgpack_pack_uint64(&packer, id);
    oto_pack_text(&packer, "op");
    oto_pack_text(&packer, op);
}

/* Writes the key of an argument; the caller then writes the value. */
static msgpack_packer begin_argument(struct oto_message_writer *writer, const char *key)
{
    msgpack_packer packer = packer_of(writer);
    if (writer->arguments == OTO_MESSAGE_MAX_ARGUMENTS || strlen(key) >= OTO_MESSAGE_KEY_BYTES) {
        writer->overflow = true;
    }
    writer->arguments++;
    oto_pack_text(&packer, key);
    return packer;
}

void oto_message_add_text(struct oto_message_writer *writer, const char *key, const char *text)
{
    msgpack_packer packer = begin_argument(writer, key);
    oto_pack_text(&packer, text);
}

void oto_message_add_u64(struct oto_message_writer *writer, const char *key, uint64_t number)
{
    msgpack_packer packer = begin_argument(writer, key);
    (void)msgpack_pack_uint64(&packer, number);
}

void oto_message_add_f64(struct oto_message_writer *writer, const char *key, double number)
{
    msgpack_packer packer = begin_argument(writer, key);
    (void)msgpack_pack_double(&packer, number);
}

void oto_message_add_bool(struct oto_message_writer *writer, const char *key, bool flag)
{
    msgpack_packer packer = begin_argument(writer, key);
    (void)(flag ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer));
}

void oto_message_add_u64_list(struct oto_message_writer *writer, const char *key, const uint64_t *list, uint32_t count)
{
    msgpack_packer packer = begin_argument(writer, key);
    (void)msgpack_pack_array(&packer, count);
    for (uint32_t i = 0; i < count && !writer->overflow; i++) {
        (void)msgpack_pack_uint64(&packer, list[i]);
    }
}

void oto_message_add_text_list(struct oto_message_writer *writer, const char *key, const char *const *list,
                               uint32_t count)
{
    msgpack_packer packer = begin_argument(writer, key);
    (void)msgpack_pack_array(&packer, count);
    for (uint32_t i = 0; i < count && !writer->overflow; i++) {
        oto_pack_text(&packer, list[i]);
    }
}

size_t oto_message_finish(struct oto_message_writer *writer)
{
    if (writer->overflow) {
        return 0;
    }
    const uint32_t pairs = 3 + writer->arguments;
    writer->data[1] = (unsigned char)(pairs >> 8);
    writer->data[2] = (unsigned char)pairs;
    return writer->bytes;
}
