/* A growing buffer of little-endian numbers and texts, for writing, and a cursor over foreign bytes, for reading. */
#ifndef OTO_MCAP_BYTES_H
#define OTO_MCAP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "mcap/format.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "numbers are copied as they are in memory"
#endif

/* The CRC-32 of more bytes after those of `crc`; 0 begins. Without bytes `data` may be NULL. */
static inline uint32_t oto_mcap_crc32(uint32_t crc, const void *data, size_t bytes)
{
    return bytes > 0 ? (uint32_t)crc32_z(crc, data, bytes) : crc;
}

/* ---- writing ---- */

struct oto_mcap_bytes {
    unsigned char *data;
    size_t bytes, capacity;
    bool failed; /* there was no memory: nothing is added after that */
};

bool oto_mcap_bytes_grow(struct oto_mcap_bytes *to, size_t more);
void oto_mcap_bytes_free(struct oto_mcap_bytes *to);

/* Room for `bytes` more, which the caller fills; NULL without memory. */
static inline unsigned char *oto_mcap_bytes_room(struct oto_mcap_bytes *to, size_t bytes)
{
    if (bytes > to->capacity - to->bytes && !oto_mcap_bytes_grow(to, bytes)) {
        return NULL;
    }
    unsigned char *room = to->data + to->bytes;
    to->bytes += bytes;
    return room;
}

static inline void oto_mcap_put(struct oto_mcap_bytes *to, const void *data, size_t bytes)
{
    unsigned char *room = oto_mcap_bytes_room(to, bytes);
    if (room != NULL && bytes > 0) {
        memcpy(room, data, bytes);
    }
}

static inline void oto_mcap_put_u8(struct oto_mcap_bytes *to, uint8_t number)
{
    oto_mcap_put(to, &number, sizeof number);
}

static inline void oto_mcap_put_u16(struct oto_mcap_bytes *to, uint16_t number)
{
    oto_mcap_put(to, &number, sizeof number);
}

static inline void oto_mcap_put_u32(struct oto_mcap_bytes *to, uint32_t number)
{
    oto_mcap_put(to, &number, sizeof number);
}

static inline void oto_mcap_put_u64(struct oto_mcap_bytes *to, uint64_t number)
{
    oto_mcap_put(to, &number, sizeof number);
}

void oto_mcap_put_text(struct oto_mcap_bytes *to, const char *text);
void oto_mcap_put_pairs(struct oto_mcap_bytes *to, const struct oto_mcap_pair *pairs, uint32_t count);
/* Begins a record; the result is the argument of oto_mcap_end_record. */
size_t oto_mcap_begin_record(struct oto_mcap_bytes *to, enum oto_mcap_opcode opcode);
void oto_mcap_end_record(struct oto_mcap_bytes *to, size_t begin);

/* ---- reading ---- */

/* After the first number or text that is not whole, `failed` is set and every further one is zero or empty. */
struct oto_mcap_cursor {
    const unsigned char *at;
    size_t left;
    bool failed;
};

static inline const unsigned char *oto_mcap_take(struct oto_mcap_cursor *cursor, uint64_t bytes)
{
    if (cursor->failed || bytes > cursor->left) {
        cursor->failed = true;
        return NULL;
    }
    const unsigned char *at = cursor->at;
    cursor->at += bytes;
    cursor->left -= (size_t)bytes;
    return at;
}

static inline uint16_t oto_mcap_take_u16(struct oto_mcap_cursor *cursor)
{
    uint16_t number = 0;
    const unsigned char *at = oto_mcap_take(cursor, sizeof number);
    if (at != NULL) {
        memcpy(&number, at, sizeof number);
    }
    return number;
}

static inline uint32_t oto_mcap_take_u32(struct oto_mcap_cursor *cursor)
{
    uint32_t number = 0;
    const unsigned char *at = oto_mcap_take(cursor, sizeof number);
    if (at != NULL) {
        memcpy(&number, at, sizeof number);
    }
    return number;
}

static inline uint64_t oto_mcap_take_u64(struct oto_mcap_cursor *cursor)
{
    uint64_t number = 0;
    const unsigned char *at = oto_mcap_take(cursor, sizeof number);
    if (at != NULL) {
        memcpy(&number, at, sizeof number);
    }
    return number;
}

/* A text as a copy that ends in NUL; NULL: not whole, longer than 1 MiB, with a NUL inside, or no memory. */
char *oto_mcap_take_text(struct oto_mcap_cursor *cursor);
/* A part of the cursor with its own length, as maps and records have. */
struct oto_mcap_cursor oto_mcap_take_part(struct oto_mcap_cursor *cursor, uint64_t bytes);

#endif
