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

/* Continues the CRC-32 `crc` (at the start 0) with more bytes. If `bytes` is 0, `data` may be NULL. */
static inline uint32_t oto_mcap_crc32(uint32_t crc, const void *data, size_t bytes)
{
    return bytes > 0 ? (uint32_t)crc32_z(crc, data, bytes) : crc;
}

/* ---- writing ---- */

struct oto_mcap_bytes {
    unsigned char *data;
    size_t bytes, capacity;
    bool failed; /* memory was short: nothing is added any more */
};

bool oto_mcap_bytes_grow(struct oto_mcap_bytes *to, size_t more);
void oto_mcap_bytes_free(struct oto_mcap_bytes *to);

/* Adds `bytes` bytes, which the caller fills; NULL: out of memory. */
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

/* A read beyond the end sets `failed`; from then on every number is zero and every text is empty. */
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

/* Copies a text and adds a NUL. NULL: the text is incomplete, longer than 1 MiB or has a NUL inside, or memory is short. */
char *oto_mcap_take_text(struct oto_mcap_cursor *cursor);
/* Takes `bytes` bytes as a cursor of their own: the contents of a map or record. */
struct oto_mcap_cursor oto_mcap_take_part(struct oto_mcap_cursor *cursor, uint64_t bytes);

#endif
