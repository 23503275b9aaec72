#include "wire/pack_read.h"

#include <string.h>

static uint64_t big_endian(const unsigned char *at, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        number = number << 8 | at[i];
    }
    return number;
}

static double real_of(uint64_t bits, uint32_t bytes)
{
    if (bytes == 4) {
        const uint32_t narrow = (uint32_t)bits;
        float real;
        memcpy(&real, &narrow, sizeof real);
        return (double)real;
    }
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* The lead bytes 0xc0 … 0xdf: the kind, and the number of bytes of number or length that follow. */
struct lead {
    uint8_t kind;
    uint8_t bytes;
    uint8_t is_signed;
    uint8_t fixed; /* payload bytes of a fixext */
};
#define NEVER_USED 0xff
static const struct lead leads[32] = {
    {OTO_PACK_NIL, 0, 0, 0},       {NEVER_USED, 0, 0, 0},          {OTO_PACK_BOOL, 0, 0, 0},
    {OTO_PACK_BOOL, 0, 0, 0},      {OTO_PACK_BINARY, 1, 0, 0},     {OTO_PACK_BINARY, 2, 0, 0},
    {OTO_PACK_BINARY, 4, 0, 0},    {OTO_PACK_EXTENSION, 1, 0, 0},  {OTO_PACK_EXTENSION, 2, 0, 0},
    {OTO_PACK_EXTENSION, 4, 0, 0}, {OTO_PACK_FLOAT, 4, 0, 0},      {OTO_PACK_FLOAT, 8, 0, 0},
    {OTO_PACK_UNSIGNED, 1, 0, 0},  {OTO_PACK_UNSIGNED, 2, 0, 0},   {OTO_PACK_UNSIGNED, 4, 0, 0},
    {OTO_PACK_UNSIGNED, 8, 0, 0},  {OTO_PACK_UNSIGNED, 1, 1, 0},   {OTO_PACK_UNSIGNED, 2, 1, 0},
    {OTO_PACK_UNSIGNED, 4, 1, 0},  {OTO_PACK_UNSIGNED, 8, 1, 0},   {OTO_PACK_EXTENSION, 0, 0, 1},
    {OTO_PACK_EXTENSION, 0, 0, 2}, {OTO_PACK_EXTENSION, 0, 0, 4},  {OTO_PACK_EXTENSION, 0, 0, 8},
    {OTO_PACK_EXTENSION, 0, 0, 16}, {OTO_PACK_TEXT, 1, 0, 0},      {OTO_PACK_TEXT, 2, 0, 0},
    {OTO_PACK_TEXT, 4, 0, 0},      {OTO_PACK_ARRAY, 2, 0, 0},      {OTO_PACK_ARRAY, 4, 0, 0},
    {OTO_PACK_MAP, 2, 0, 0},       {OTO_PACK_MAP, 4, 0, 0}};

static void take_integer(struct oto_pack_item *item, const struct lead *lead, uint64_t number)
{
    const uint32_t unused_bits = 64u - 8u * lead->bytes;
    item->number = number;
    if (lead->is_signed && (number << unused_bits) >> 63 != 0) {
        item->kind = OTO_PACK_NEGATIVE;
        const uint64_t extended = unused_bits == 0 ? number : number | ~UINT64_C(0) << (64u - unused_bits);
        memcpy(&item->negative, &extended, sizeof extended);
    }
}

/* After the header of `item`: checks that its bytes, or at least one byte for each member, are left. */
static bool take_body(struct oto_pack_reader *reader, struct oto_pack_item *item, uint32_t count)
{
    const size_t left = (size_t)(reader->end - reader->at);
    item->count = count;
    switch (item->kind) {
    case OTO_PACK_EXTENSION:
        if (left < 1 || left - 1 < count) {
            return false;
        }
        item->data = (const char *)reader->at + 1;
        reader->at += (size_t)count + 1;
        return true;
    case OTO_PACK_TEXT:
    case OTO_PACK_BINARY:
        if (left < count) {
            return false;
        }
        item->data = (const char *)reader->at;
        reader->at += count;
        return true;
    case OTO_PACK_ARRAY:
        return count <= left;
    case OTO_PACK_MAP:
        return count <= left / 2;
    default:
        return true;
    }
}

static bool next_long(struct oto_pack_reader *reader, unsigned char first, struct oto_pack_item *item)
{
    const struct lead *lead = &leads[first - 0xc0];
    if (lead->kind == NEVER_USED || (size_t)(reader->end - reader->at) < lead->bytes) {
        return false;
    }
    const uint64_t number = big_endian(reader->at, lead->bytes);
    reader->at += lead->bytes;
    item->kind = (enum oto_pack_kind)lead->kind;
    switch (item->kind) {
    case OTO_PACK_BOOL:
        item->number = first == 0xc3;
        return true;
    case OTO_PACK_UNSIGNED:
        take_integer(item, lead, number);
        return true;
    case OTO_PACK_FLOAT:
        item->real = real_of(number, lead->bytes);
        return true;
    default:
        return take_body(reader, item, lead->fixed != 0 ? lead->fixed : (uint32_t)number);
    }
}

bool oto_pack_next(struct oto_pack_reader *reader, struct oto_pack_item *item)
{
    *item = (struct oto_pack_item){.kind = OTO_PACK_NIL};
    if (reader->at == reader->end) {
        return false;
    }
    const unsigned char first = *reader->at++;
    if (first < 0x80) {
        item->kind = OTO_PACK_UNSIGNED;
        item->number = first;
        return true;
    }
    if (first >= 0xe0) {
        item->kind = OTO_PACK_NEGATIVE;
        item->negative = (int64_t)first - 256;
        return true;
    }
    if (first >= 0xc0) {
        return next_long(reader, first, item);
    }
    item->kind = first < 0x90 ? OTO_PACK_MAP : first < 0xa0 ? OTO_PACK_ARRAY : OTO_PACK_TEXT;
    return take_body(reader, item, first < 0xa0 ? first & 15u : first & 31u);
}

bool oto_pack_skip(struct oto_pack_reader *reader)
{
    /*
     * Number of values still to skip. Each needs at least one byte, so the sum cannot exceed the bytes that are left.
     */
    uint64_t open = 1;
    while (open > 0) {
        struct oto_pack_item item;
        if (open > (uint64_t)(reader->end - reader->at) || !oto_pack_next(reader, &item)) {
            return false;
        }
        open--;
        if (item.kind == OTO_PACK_ARRAY) {
            open += item.count;
        } else if (item.kind == OTO_PACK_MAP) {
            open += 2 * (uint64_t)item.count;
        }
    }
    return true;
}

bool oto_pack_expect(struct oto_pack_reader *reader, enum oto_pack_kind kind, struct oto_pack_item *item)
{
    return oto_pack_next(reader, item) && item->kind == kind;
}

bool oto_pack_is_text(const struct oto_pack_item *item, const char *text)
{
    return item->kind == OTO_PACK_TEXT && strlen(text) == item->count && memcmp(item->data, text, item->count) == 0;
}

bool oto_pack_real(const struct oto_pack_item *item, double *real)
{
    switch (item->kind) {
    case OTO_PACK_UNSIGNED:
        *real = (double)item->number;
        return true;
    case OTO_PACK_NEGATIVE:
        *real = (double)item->negative;
        return true;
    case OTO_PACK_FLOAT:
        *real = item->real;
        return true;
    default:
        return false;
    }
}

bool oto_pack_copy_text(const struct oto_pack_item *item, char *text, size_t bytes)
{
    if (item->kind != OTO_PACK_TEXT || item->count >= bytes || memchr(item->data, '\0', item->count) != NULL) {
        return false;
    }
    memcpy(text, item->data, item->count);
    text[item->count] = '\0';
    return true;
}
