/*
 * CDR (XCDR1, little-endian, as ROS 2 has it): four bytes of encapsulation, then values aligned to their own size, counted
 * from the end of these four bytes. A text is a u32 length with its NUL, then the bytes. Pure.
 */
#ifndef OTO_CDR_H
#define OTO_CDR_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "otolith/frame.h"

#define OTO_CDR_START 4u
#define OTO_NS_PER_S INT64_C(1000000000)

/* ---- writing into room that the caller has reserved ---- */

struct oto_cdr_writer {
    unsigned char *data;
    size_t at;
};

/* Makes room for a message of at most `bytes` bytes. */
static inline enum oto_status oto_cdr_begin(struct oto_cdr_writer *writer, struct oto_buffer *to, size_t bytes)
{
    static const unsigned char encapsulation[OTO_CDR_START] = {0, 1, 0, 0};
    if (bytes > to->capacity) {
        unsigned char *data = realloc(to->data, bytes);
        if (data == NULL) {
            return OTO_NO_MEMORY;
        }
        to->data = data;
        to->capacity = bytes;
    }
    memcpy(to->data, encapsulation, sizeof encapsulation);
    *writer = (struct oto_cdr_writer){.data = to->data, .at = OTO_CDR_START};
    return OTO_OK;
}

static inline void oto_cdr_align(struct oto_cdr_writer *writer, uint32_t width)
{
    while ((writer->at - OTO_CDR_START) % width != 0) {
        writer->data[writer->at++] = 0;
    }
}

static inline void oto_cdr_put(struct oto_cdr_writer *writer, uint32_t width, const void *data, size_t bytes)
{
    oto_cdr_align(writer, width);
    memcpy(writer->data + writer->at, data, bytes);
    writer->at += bytes;
}

static inline void oto_cdr_put_u8(struct oto_cdr_writer *writer, uint8_t number)
{
    oto_cdr_put(writer, 1, &number, sizeof number);
}

static inline void oto_cdr_put_u32(struct oto_cdr_writer *writer, uint32_t number)
{
    oto_cdr_put(writer, 4, &number, sizeof number);
}

static inline void oto_cdr_put_text(struct oto_cdr_writer *writer, const char *text, size_t bytes)
{
    oto_cdr_put_u32(writer, (uint32_t)bytes + 1);
    memcpy(writer->data + writer->at, text, bytes);
    writer->data[writer->at + bytes] = 0;
    writer->at += bytes + 1;
}

/* Writes a time stamp. False: the seconds do not fit into 32 bits. */
static inline bool oto_cdr_put_stamp(struct oto_cdr_writer *writer, int64_t t_ns)
{
    const int64_t nanosec = (t_ns % OTO_NS_PER_S + OTO_NS_PER_S) % OTO_NS_PER_S, sec = (t_ns - nanosec) / OTO_NS_PER_S;
    oto_cdr_put_u32(writer, (uint32_t)(int32_t)sec);
    oto_cdr_put_u32(writer, (uint32_t)nanosec);
    return sec >= INT32_MIN && sec <= INT32_MAX;
}

/* ---- reading foreign bytes ---- */

struct oto_cdr_reader {
    const unsigned char *data;
    size_t at, bytes;
};

static inline bool oto_cdr_open(struct oto_cdr_reader *reader, const void *data, size_t bytes)
{
    *reader = (struct oto_cdr_reader){.data = data, .at = OTO_CDR_START, .bytes = bytes};
    return bytes >= OTO_CDR_START && reader->data[0] == 0 && reader->data[1] == 1;
}

static inline bool oto_cdr_get(struct oto_cdr_reader *reader, uint32_t width, void *to, size_t bytes)
{
    const size_t start = OTO_CDR_START + (reader->at - OTO_CDR_START + width - 1) / width * width;
    if (start > reader->bytes || bytes > reader->bytes - start) {
        return false;
    }
    memcpy(to, reader->data + start, bytes);
    reader->at = start + bytes;
    return true;
}

/* Gets a text without copying it. */
static inline bool oto_cdr_get_text(struct oto_cdr_reader *reader, const char **text, uint32_t *length)
{
    uint32_t bytes = 0;
    if (!oto_cdr_get(reader, 4, &bytes, sizeof bytes) || bytes == 0 || bytes > reader->bytes - reader->at ||
        reader->data[reader->at + bytes - 1] != 0) {
        return false;
    }
    *text = (const char *)reader->data + reader->at;
    *length = bytes - 1;
    reader->at += bytes;
    return true;
}

#endif
