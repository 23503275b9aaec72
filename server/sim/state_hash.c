#include "sim/state_hash.h"

#include <string.h>

#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)

static inline uint64_t rotate(uint64_t value, unsigned by)
{
    return (value << by) | (value >> (64 - by));
}

static inline uint64_t word_at(const unsigned char *data)
{
    uint64_t word;
    memcpy(&word, data, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t round_of(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t avalanche(uint64_t value)
{
    value = (value ^ (value >> 33)) * PRIME_2;
    value = (value ^ (value >> 29)) * PRIME_3;
    return value ^ (value >> 32);
}

void srv_state_hash_begin(struct srv_state_hash *hash, uint64_t chain)
{
    hash->lane[0] = chain + PRIME_1 + PRIME_2;
    hash->lane[1] = chain + PRIME_2;
    hash->lane[2] = chain ^ PRIME_3;
    hash->lane[3] = chain - PRIME_1;
    hash->bytes = 0;
}

void srv_state_hash_absorb(struct srv_state_hash *hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    if (hash->off) {
        return;
    }
    uint64_t a = hash->lane[0], b = hash->lane[1], c = hash->lane[2], d = hash->lane[3];
    size_t left = bytes;
    for (; left >= 32; left -= 32, at += 32) {
        a = round_of(a, word_at(at));
        b = round_of(b, word_at(at + 8));
        c = round_of(c, word_at(at + 16));
        d = round_of(d, word_at(at + 24));
    }
    a = left >= 8 ? round_of(a, word_at(at)) : a;
    b = left >= 16 ? round_of(b, word_at(at + 8)) : b;
    c = left >= 24 ? round_of(c, word_at(at + 16)) : c;
    hash->lane[0] = a;
    hash->lane[1] = b;
    hash->lane[2] = c;
    hash->lane[3] = round_of(d, bytes); /* so that where one piece ends and the next begins matters */
    hash->bytes += bytes;
}

uint64_t srv_state_hash_end(const struct srv_state_hash *hash)
{
    uint64_t value = rotate(hash->lane[0], 1) + rotate(hash->lane[1], 7) + rotate(hash->lane[2], 12) +
                     rotate(hash->lane[3], 18) + hash->bytes;
    for (int i = 0; i < 4; i++) {
        value = avalanche(value ^ hash->lane[i]) * PRIME_1 + PRIME_3;
    }
    return avalanche(value);
}
