#include "mcap/crc32.h"

#include <string.h>

#define POLYNOMIAL 0xedb88320u

void oto_crc32_init(struct oto_crc32 *tables)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        }
        tables->table[0][i] = crc;
    }
    for (uint32_t slice = 1; slice < OTO_CRC32_SLICES; slice++) {
        for (uint32_t i = 0; i < 256; i++) {
            const uint32_t before = tables->table[slice - 1][i];
            tables->table[slice][i] = before >> 8 ^ tables->table[0][before & 0xff];
        }
    }
}

/* Of four bytes that stand `slice` bytes before the end of the sixteen. */
static inline uint32_t slices(const struct oto_crc32 *tables, uint32_t word, uint32_t slice)
{
    return tables->table[slice + 3][word & 0xff] ^ tables->table[slice + 2][word >> 8 & 0xff] ^
           tables->table[slice + 1][word >> 16 & 0xff] ^ tables->table[slice][word >> 24];
}

uint32_t oto_crc32_more(const struct oto_crc32 *tables, uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    crc = ~crc;
    for (; bytes >= OTO_CRC32_SLICES; bytes -= OTO_CRC32_SLICES, at += OTO_CRC32_SLICES) {
        uint32_t words[4];
        memcpy(words, at, sizeof words);
        crc = slices(tables, words[0] ^ crc, 12) ^ slices(tables, words[1], 8) ^ slices(tables, words[2], 4) ^
              slices(tables, words[3], 0);
    }
    for (; bytes > 0; bytes--, at++) {
        crc = crc >> 8 ^ tables->table[0][(crc ^ *at) & 0xff];
    }
    return ~crc;
}

/* a·b modulo the polynomial; bit 31 is x⁰. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = UINT32_C(1) << 31; bit != 0; bit >>= 1) {
        product ^= (a & bit) != 0 ? b : 0;
        b = (b & 1) != 0 ? b >> 1 ^ POLYNOMIAL : b >> 1;
    }
    return product;
}

uint32_t oto_crc32_join(uint32_t crc_a, uint32_t crc_b, uint64_t bytes_b)
{
    uint32_t power = UINT32_C(1) << 23; /* x⁸: one byte */
    uint32_t shift = UINT32_C(1) << 31; /* x⁰ */
    for (; bytes_b != 0; bytes_b >>= 1) {
        shift = (bytes_b & 1) != 0 ? multiply(shift, power) : shift;
        power = multiply(power, power);
    }
    return multiply(shift, crc_a) ^ crc_b;
}
