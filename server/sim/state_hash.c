#include "sim/state_hash.h"

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define LANES SRV_HASH_LANES
#define STRIPE_BYTES (8 * LANES)
#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_32 UINT64_C(0x9e3779b1)
#define STRIDE UINT64_C(0x9fb21c651e98df25) /* difference between the keys of two successive stripes */

static const _Alignas(64) uint64_t keys[LANES] = {
    UINT64_C(0xbe4ba423396cfeb8), UINT64_C(0x1cad21f72c81017c), UINT64_C(0xdb979083e96dd4de), UINT64_C(0x1f67b3b7a4a44072),
    UINT64_C(0x78e5c0cc4ee679cb), UINT64_C(0x2172ffcc7dd05a82), UINT64_C(0x8e2443f7744608b8), UINT64_C(0x4c263a81e69035e0)};

static inline uint64_t rotate(uint64_t value, unsigned by)
{
    return (value << by) | (value >> (64 - by));
}

static inline uint64_t avalanche(uint64_t value)
{
    value = (value ^ (value >> 33)) * PRIME_2;
    value = (value ^ (value >> 29)) * PRIME_3;
    return value ^ (value >> 32);
}

/* The last part of a stripe is padded with zeros to a multiple of QUAD words. */
enum { QUAD = 4 };

static inline uint64_t word_at(const unsigned char *data)
{
    uint64_t word;
    memcpy(&word, data, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void absorb_word(uint64_t *lane, uint32_t i, uint64_t word, uint64_t key)
{
    const uint64_t mixed = word ^ key;
    lane[i] += (mixed & UINT32_MAX) * (mixed >> 32);
    lane[i ^ 1] += word;
}

void srv_state_hash_rest(const void *data, size_t read, size_t bytes, uint64_t rest[SRV_HASH_LANES])
{
    memset(rest, 0, LANES * sizeof *rest);
    for (size_t i = read / 8; i < bytes / 8; i++) {
        absorb_word(rest, (uint32_t)(i % LANES), word_at((const unsigned char *)data + 8 * i), keys[i % LANES] + i / LANES * STRIDE);
    }
}

#if defined(__SSE2__)

enum { PAIRS = LANES / 2, QUADS = LANES / QUAD };

static inline __m128i load(const void *from)
{
    return _mm_loadu_si128((const __m128i *)from);
}

static inline __m128i absorb_pair(__m128i lanes, __m128i words, __m128i key)
{
    const __m128i mixed = _mm_xor_si128(words, key);
    const __m128i product = _mm_mul_epu32(mixed, _mm_srli_epi64(mixed, 32));
    return _mm_add_epi64(_mm_add_epi64(lanes, product), _mm_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2)));
}

/* Ends a block of bytes: each lane is multiplied, so that the order of blocks matters. A bijection of each lane. */
static inline __m128i close_pair(__m128i lanes, __m128i key)
{
    const __m128i prime = _mm_set1_epi64x((int64_t)PRIME_32);
    const __m128i mixed = _mm_xor_si128(_mm_xor_si128(lanes, _mm_srli_epi64(lanes, 47)), key);
    const __m128i high = _mm_mul_epu32(_mm_srli_epi64(mixed, 32), prime);
    return _mm_add_epi64(_mm_mul_epu32(mixed, prime), _mm_slli_epi64(high, 32));
}

static inline __m128i load_rest(const unsigned char *at, size_t words)
{
    return words > 1 ? load(at) : words == 1 ? _mm_loadl_epi64((const __m128i *)(const void *)at) : _mm_setzero_si128();
}

static void absorb_by_pairs(uint64_t *lane, const unsigned char *at, size_t read, size_t bytes, const uint64_t *more)
{
    const __m128i stride = _mm_set1_epi64x((int64_t)STRIDE), length = _mm_set1_epi64x((int64_t)bytes);
    const size_t rest = read % STRIPE_BYTES / 8;
    __m128i pair[PAIRS], key[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        pair[i] = load(lane + 2 * i);
        key[i] = load(keys + 2 * i);
    }
    for (size_t stripe = read / STRIPE_BYTES; stripe > 0; stripe--, at += STRIPE_BYTES) {
        for (int i = 0; i < PAIRS; i++) {
            pair[i] = absorb_pair(pair[i], load(at + 16 * i), key[i]);
            key[i] = _mm_add_epi64(key[i], stride);
        }
    }
    for (size_t i = 0; i < PAIRS; i++) {
        if (2 * i / QUAD * QUAD < rest) {
            pair[i] = absorb_pair(pair[i], load_rest(at + 16 * i, 2 * i < rest ? rest - 2 * i : 0), key[i]);
        }
    }
    for (int i = 0; i < PAIRS && more != NULL; i++) {
        pair[i] = _mm_add_epi64(pair[i], load(more + 2 * i));
    }
    for (int i = 0; i < PAIRS; i++) {
        const __m128i closed = close_pair(pair[i], _mm_add_epi64(load(keys + 2 * i), length));
        _mm_store_si128((__m128i *)(void *)(lane + 2 * i), closed);
    }
}

#define FOR_AVX2 __attribute__((target("avx2")))

FOR_AVX2 static inline __m256i load_quad(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

FOR_AVX2 static inline __m256i absorb_quad(__m256i lanes, __m256i words, __m256i key)
{
    const __m256i mixed = _mm256_xor_si256(words, key);
    const __m256i product = _mm256_mul_epu32(mixed, _mm256_srli_epi64(mixed, 32));
    return _mm256_add_epi64(_mm256_add_epi64(lanes, product), _mm256_shuffle_epi32(words, _MM_SHUFFLE(1, 0, 3, 2)));
}

FOR_AVX2 static inline __m256i close_quad(__m256i lanes, __m256i key)
{
    const __m256i prime = _mm256_set1_epi64x((int64_t)PRIME_32);
    const __m256i mixed = _mm256_xor_si256(_mm256_xor_si256(lanes, _mm256_srli_epi64(lanes, 47)), key);
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(mixed, 32), prime);
    return _mm256_add_epi64(_mm256_mul_epu32(mixed, prime), _mm256_slli_epi64(high, 32));
}

/* As absorb_by_pairs, with half the instructions. */
FOR_AVX2 static void absorb_by_quads(uint64_t *lane, const unsigned char *at, size_t read, size_t bytes, const uint64_t *more)
{
    const __m256i stride = _mm256_set1_epi64x((int64_t)STRIDE), length = _mm256_set1_epi64x((int64_t)bytes);
    const int64_t rest = (int64_t)(read % STRIPE_BYTES / 8);
    __m256i quad[QUADS], key[QUADS];
    for (int i = 0; i < QUADS; i++) {
        quad[i] = load_quad(lane + QUAD * i);
        key[i] = load_quad(keys + QUAD * i);
    }
    for (size_t stripe = read / STRIPE_BYTES; stripe > 0; stripe--, at += STRIPE_BYTES) {
        for (int i = 0; i < QUADS; i++) {
            quad[i] = absorb_quad(quad[i], load_quad(at + 32 * i), key[i]);
            key[i] = _mm256_add_epi64(key[i], stride);
        }
    }
    for (int i = 0; i < QUADS; i++) {
        const __m256i there = _mm256_cmpgt_epi64(_mm256_set1_epi64x(rest - QUAD * i), _mm256_set_epi64x(3, 2, 1, 0));
        if (QUAD * i < rest) {
            quad[i] = absorb_quad(quad[i], _mm256_maskload_epi64((const long long *)(const void *)(at + 32 * i), there), key[i]);
        }
    }
    for (int i = 0; i < QUADS && more != NULL; i++) {
        quad[i] = _mm256_add_epi64(quad[i], load_quad(more + QUAD * i));
    }
    for (int i = 0; i < QUADS; i++) {
        const __m256i closed = close_quad(quad[i], _mm256_add_epi64(load_quad(keys + QUAD * i), length));
        _mm256_store_si256((__m256i *)(void *)(lane + QUAD * i), closed);
    }
}

static void absorb(uint64_t *lane, const void *data, size_t read, size_t bytes, const uint64_t *more)
{
    if (__builtin_cpu_supports("avx2")) {
        absorb_by_quads(lane, data, read, bytes, more);
    } else {
        absorb_by_pairs(lane, data, read, bytes, more);
    }
}

#else

static inline uint64_t close_lane(uint64_t lane, uint64_t key)
{
    return (lane ^ (lane >> 47) ^ key) * PRIME_32;
}

static void absorb(uint64_t *lane, const void *data, size_t read, size_t bytes, const uint64_t *more)
{
    const unsigned char *at = data;
    const size_t words = read / 8;
    for (size_t i = 0; i < (words + QUAD - 1) / QUAD * QUAD; i++) {
        const uint64_t stripe = i / LANES;
        absorb_word(lane, (uint32_t)(i % LANES), i < words ? word_at(at + 8 * i) : 0, keys[i % LANES] + stripe * STRIDE);
    }
    for (uint32_t i = 0; i < LANES; i++) {
        lane[i] = close_lane(lane[i] + (more != NULL ? more[i] : 0), keys[i] + bytes);
    }
}

#endif

void srv_state_hash_absorb(struct srv_state_hash *hash, const void *data, size_t bytes)
{
    absorb(hash->lane, data, bytes, bytes, NULL);
}

void srv_state_hash_absorb_with(struct srv_state_hash *hash, const void *data, size_t read, size_t bytes,
                                const uint64_t rest[SRV_HASH_LANES])
{
    absorb(hash->lane, data, read, bytes, rest);
}

void srv_state_hash_begin(struct srv_state_hash *hash, uint64_t chain)
{
    for (uint32_t i = 0; i < LANES; i++) {
        hash->lane[i] = chain * PRIME_1 + keys[LANES - 1 - i];
    }
}

uint64_t srv_state_hash_end(const struct srv_state_hash *hash)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < LANES; i++) {
        sum += rotate(hash->lane[i] * PRIME_2, 7 * i + 1) * PRIME_1;
    }
    return avalanche(sum);
}

uint64_t srv_state_hash_fold(uint64_t fold, uint64_t digest)
{
    return rotate(fold ^ digest, 31) * PRIME_1 + PRIME_3;
}
