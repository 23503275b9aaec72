#include "sim/state_hash.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LANES SRV_HASH_LANES
#define STRIPE_BYTES (8 * LANES)
#define PRIME_1 UINT64_C(0x9e3779b185ebca87)
#define PRIME_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_32 UINT64_C(0x9e3779b1)
#define STRIDE UINT64_C(0x9fb21c651e98df25) /* from the key of a stripe to that of the next */

static const _Alignas(64) uint64_t keys[LANES] = {
    UINT64_C(0xbe4ba423396cfeb8), UINT64_C(0x1cad21f72c81017c), UINT64_C(0xdb979083e96dd4de), UINT64_C(0x1f67b3b7a4a44072),
    UINT64_C(0x78e5c0cc4ee679cb), UINT64_C(0x2172ffcc7dd05a82), UINT64_C(0x8e2443f7744608b8), UINT64_C(0x4c263a81e69035e0)};

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

static inline uint64_t avalanche(uint64_t value)
{
    value = (value ^ (value >> 33)) * PRIME_2;
    value = (value ^ (value >> 29)) * PRIME_3;
    return value ^ (value >> 32);
}

static inline void absorb_word(uint64_t *lane, uint32_t i, uint64_t word, uint64_t key)
{
    const uint64_t mixed = word ^ key;
    lane[i] += (mixed & UINT32_MAX) * (mixed >> 32);
    lane[i ^ 1] += word;
}

/* Ends a piece: each lane is multiplied, so that the order of pieces matters. A bijection of each lane. */
static inline uint64_t close_lane(uint64_t lane, uint64_t key)
{
    return (lane ^ (lane >> 47) ^ key) * PRIME_32;
}

#if defined(__SSE2__)

enum { PAIRS = LANES / 2 };

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

static inline __m128i close_pair(__m128i lanes, __m128i key)
{
    const __m128i prime = _mm_set1_epi64x((int64_t)PRIME_32);
    const __m128i mixed = _mm_xor_si128(_mm_xor_si128(lanes, _mm_srli_epi64(lanes, 47)), key);
    const __m128i high = _mm_mul_epu32(_mm_srli_epi64(mixed, 32), prime);
    return _mm_add_epi64(_mm_mul_epu32(mixed, prime), _mm_slli_epi64(high, 32));
}

/* Whole stripes; returns how many. */
static size_t absorb_stripes(uint64_t *lane, const unsigned char *at, size_t count)
{
    __m128i pair[PAIRS], key[PAIRS];
    const __m128i stride = _mm_set1_epi64x((int64_t)STRIDE);
    for (int i = 0; i < PAIRS; i++) {
        pair[i] = load(lane + 2 * i);
        key[i] = load(keys + 2 * i);
    }
    for (size_t stripe = 0; stripe < count; stripe++, at += STRIPE_BYTES) {
        for (int i = 0; i < PAIRS; i++) {
            pair[i] = absorb_pair(pair[i], load(at + 16 * i), key[i]);
            key[i] = _mm_add_epi64(key[i], stride);
        }
    }
    for (int i = 0; i < PAIRS; i++) {
        _mm_store_si128((__m128i *)(void *)(lane + 2 * i), pair[i]);
    }
    return count;
}

static void close_piece(uint64_t *lane)
{
    for (int i = 0; i < PAIRS; i++) {
        __m128i *pair = (__m128i *)(void *)(lane + 2 * i);
        _mm_store_si128(pair, close_pair(_mm_load_si128(pair), load(keys + 2 * i)));
    }
}

#else

static size_t absorb_stripes(uint64_t *lane, const unsigned char *at, size_t count)
{
    for (size_t stripe = 0; stripe < count; stripe++, at += STRIPE_BYTES) {
        for (uint32_t i = 0; i < LANES; i++) {
            absorb_word(lane, i, word_at(at + 8 * i), keys[i] + stripe * STRIDE);
        }
    }
    return count;
}

static void close_piece(uint64_t *lane)
{
    for (uint32_t i = 0; i < LANES; i++) {
        lane[i] = close_lane(lane[i], keys[i]);
    }
}

#endif

void srv_state_hash_begin(struct srv_state_hash *hash, uint64_t chain)
{
    for (uint32_t i = 0; i < LANES; i++) {
        hash->lane[i] = chain * PRIME_1 + keys[LANES - 1 - i];
    }
}

void srv_state_hash_absorb(struct srv_state_hash *hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    const size_t stripes = absorb_stripes(hash->lane, at, bytes / STRIPE_BYTES);
    at += stripes * STRIPE_BYTES;
    const uint32_t rest = (uint32_t)(bytes % STRIPE_BYTES / 8);
    for (uint32_t i = 0; i < rest; i++) {
        absorb_word(hash->lane, i, word_at(at + 8 * i), keys[i] + stripes * STRIDE);
    }
    hash->lane[0] += bytes * PRIME_1;
    close_piece(hash->lane);
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
