/*
 * CRC-32 of zlib and PNG (polynomial 0xedb88320), eight bytes at a time. The tables belong to the caller, so that this has no
 * state. Pure: any thread.
 */
#ifndef OTO_MCAP_CRC32_H
#define OTO_MCAP_CRC32_H

#include <stddef.h>
#include <stdint.h>

#define OTO_CRC32_SLICES 16u

struct oto_crc32 {
    uint32_t table[OTO_CRC32_SLICES][256];
};

void oto_crc32_init(struct oto_crc32 *tables);
/* `crc` is the value of the bytes before these, 0 at first. */
uint32_t oto_crc32_more(const struct oto_crc32 *tables, uint32_t crc, const void *data, size_t bytes);
/* The value of A followed by B, from the values of both and the length of B. */
uint32_t oto_crc32_join(uint32_t crc_a, uint32_t crc_b, uint64_t bytes_b);

#endif
