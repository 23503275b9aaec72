/* The packer of frames: msgpack-c with a buffer that grows up to OTO_FRAME_MAX_BYTES. Pure: any thread. */
#ifndef OTO_FRAME_BUFFER_H
#define OTO_FRAME_BUFFER_H

#include <stdlib.h>

#include "otolith/frame.h"
#include "wire/pack_write.h"

struct oto_frame_writer {
    struct oto_buffer *buffer;
    enum oto_status status; /* status of the first failure; nothing is written after it */
};

/* Makes room for `bytes` more bytes. */
__attribute__((cold)) static inline int oto_frame_grow(struct oto_frame_writer *writer, size_t bytes)
{
    struct oto_buffer *buffer = writer->buffer;
    if (bytes > OTO_FRAME_MAX_BYTES - buffer->bytes) {
        writer->status = OTO_LIMIT;
        return -1;
    }
    size_t capacity = buffer->capacity < 1024 ? 1024 : buffer->capacity;
    while (capacity - buffer->bytes < bytes) {
        capacity *= 2;
    }
    unsigned char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        writer->status = OTO_NO_MEMORY;
        return -1;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

static inline int oto_frame_append(void *context, const char *data, size_t bytes)
{
    struct oto_frame_writer *writer = (struct oto_frame_writer *)context;
    struct oto_buffer *buffer = writer->buffer;
    if (bytes == 0 || writer->status != OTO_OK) {
        return 0;
    }
    if (bytes > buffer->capacity - buffer->bytes && oto_frame_grow(writer, bytes) != 0) {
        return -1;
    }
    memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
    return 0;
}

static inline msgpack_packer oto_frame_packer(struct oto_frame_writer *writer)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, writer, oto_frame_append);
    return packer;
}

/* Packs a key or another text that is known to be valid UTF-8. */
static inline void oto_frame_key(msgpack_packer *packer, const char *key, size_t bytes)
{
    (void)msgpack_pack_str(packer, bytes);
    (void)msgpack_pack_str_body(packer, key, bytes);
}
#define OTO_FRAME_KEY(packer, literal) oto_frame_key((packer), "" literal, sizeof(literal) - 1)

#endif
