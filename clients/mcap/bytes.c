#include "mcap/bytes.h"

#include <stdlib.h>

#define FIRST_CAPACITY 4096u
#define MOST_TEXT_BYTES (1u << 20)

bool oto_mcap_bytes_grow(struct oto_mcap_bytes *to, size_t more)
{
    size_t capacity = to->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : to->capacity;
    if (to->failed || more > SIZE_MAX / 4 || to->bytes > SIZE_MAX / 4) {
        to->failed = true;
        return false;
    }
    while (capacity - to->bytes < more) {
        capacity *= 2;
    }
    unsigned char *data = realloc(to->data, capacity);
    if (data == NULL) {
        to->failed = true;
        return false;
    }
    to->data = data;
    to->capacity = capacity;
    return true;
}

void oto_mcap_bytes_free(struct oto_mcap_bytes *to)
{
    free(to->data);
    *to = (struct oto_mcap_bytes){0};
}

void oto_mcap_put_text(struct oto_mcap_bytes *to, const char *text)
{
    const size_t bytes = strlen(text);
    oto_mcap_put_u32(to, (uint32_t)bytes);
    oto_mcap_put(to, text, bytes);
}

void oto_mcap_put_pairs(struct oto_mcap_bytes *to, const struct oto_mcap_pair *pairs, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += 8 + strlen(pairs[i].key) + strlen(pairs[i].value);
    }
    oto_mcap_put_u32(to, (uint32_t)bytes);
    for (uint32_t i = 0; i < count; i++) {
        oto_mcap_put_text(to, pairs[i].key);
        oto_mcap_put_text(to, pairs[i].value);
    }
}

size_t oto_mcap_begin_record(struct oto_mcap_bytes *to, enum oto_mcap_opcode opcode)
{
    oto_mcap_put_u8(to, (uint8_t)opcode);
    oto_mcap_put_u64(to, 0);
    return to->bytes;
}

void oto_mcap_end_record(struct oto_mcap_bytes *to, size_t begin)
{
    const uint64_t length = to->bytes - begin;
    if (!to->failed) {
        memcpy(to->data + begin - sizeof length, &length, sizeof length);
    }
}

char *oto_mcap_take_text(struct oto_mcap_cursor *cursor)
{
    const uint32_t bytes = oto_mcap_take_u32(cursor);
    const unsigned char *at = bytes <= MOST_TEXT_BYTES ? oto_mcap_take(cursor, bytes) : NULL;
    char *text = at != NULL && memchr(at, '\0', bytes) == NULL ? malloc((size_t)bytes + 1) : NULL;
    if (text == NULL) {
        cursor->failed = true;
        return NULL;
    }
    memcpy(text, at, bytes);
    text[bytes] = '\0';
    return text;
}

struct oto_mcap_cursor oto_mcap_take_part(struct oto_mcap_cursor *cursor, uint64_t bytes)
{
    const unsigned char *at = oto_mcap_take(cursor, bytes);
    return (struct oto_mcap_cursor){.at = at, .left = at != NULL ? (size_t)bytes : 0, .failed = at == NULL};
}
