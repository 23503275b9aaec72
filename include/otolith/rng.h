/*
 * Counter-based random numbers: noise is a function of (key, sample, draw, term, domain), not a stream (A18). There is
 * no generator state to save, share or order. Pure functions, callable from any thread, no allocation.
 *
 * Philox4x64-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11. NumPy's Philox with
 * counter c gives oto_philox4x64 of counter c + 1.
 */
#ifndef OTOLITH_RNG_H
#define OTOLITH_RNG_H

#include "otolith/detail/normal.h"
#include "otolith/detmath.h"
#include "otolith/hash.h"

#include <stddef.h>
#include <string.h>

/* Fourth counter word: the purpose of the numbers. Numbers of different domains are independent. */
#define OTO_RNG_DOMAIN_SAMPLE 1u  /* n = sample number: white noise, drives of random walks */
#define OTO_RNG_DOMAIN_TURN_ON 2u /* n = start number: run-to-run biases */
#define OTO_RNG_DOMAIN_UNIT 3u    /* key (0, hash of "part/unit"): constant errors of a unit, the same in every world */
#define OTO_RNG_DOMAIN_WORLD 4u   /* n = tick: environment of a world */
#define OTO_RNG_DOMAIN_FAULT 5u   /* n = sample number: fault injection */

typedef struct {
    uint64_t v[4];
} oto_philox_block;

struct oto_rng_key {
    uint64_t seed, stream; /* world seed (0 for unit terms), oto_fnv1a64 of the name */
};

static inline oto_philox_block oto_philox4x64(uint64_t key0, uint64_t key1, uint64_t c0, uint64_t c1, uint64_t c2,
                                              uint64_t c3)
{
    oto_philox_block b;
#pragma GCC unroll 10
    for (int round = 0; round < 10; round++) {
        uint64_t lo0, lo1;
        uint64_t hi0 = oto_impl_mul64(0xD2E7470EE14C6C93u, c0, &lo0);
        uint64_t hi1 = oto_impl_mul64(0xCA5A826395121157u, c2, &lo1);
        c0 = hi1 ^ c1 ^ key0;
        c1 = lo1;
        c2 = hi0 ^ c3 ^ key1;
        c3 = lo0;
        key0 += 0x9E3779B97F4A7C15u; /* golden ratio */
        key1 += 0xBB67AE8584CAA73Bu; /* sqrt(3) - 1 */
    }
    b.v[0] = c0;
    b.v[1] = c1;
    b.v[2] = c2;
    b.v[3] = c3;
    return b;
}

static inline uint64_t oto_fnv1a64(const void *data, size_t bytes)
{
    return oto_fnv1a64_more(OTO_FNV1A64_START, data, bytes);
}

static inline uint64_t oto_fnv1a64_str(const char *text)
{
    return oto_fnv1a64_text(OTO_FNV1A64_START, text);
}

static inline struct oto_rng_key oto_rng_key_make(uint64_t seed, const char *name)
{
    struct oto_rng_key key;
    key.seed = seed;
    key.stream = oto_fnv1a64_str(name);
    return key;
}

/* Four independent uniform 64-bit words. */
static inline oto_philox_block oto_rng_block(struct oto_rng_key key, uint64_t n, uint64_t draw, uint64_t term,
                                             uint64_t domain)
{
    return oto_philox4x64(key.seed, key.stream, n, draw, term, domain);
}

/*
 * Uniform in (0, 1), both ends excluded: the odd multiples of 2^-53. The mean is exactly 1/2, and 1 - u is also a
 * possible value.
 */
static inline double oto_u01(uint64_t bits)
{
    return ((double)(int64_t)(bits >> 12) + 0.5) * 0x1p-52;
}

/* Uniform in (-1, 1), both ends open, symmetric. */
static inline double oto_u11(uint64_t bits)
{
    return 2.0 * oto_u01(bits) - 1.0;
}

/* Standard normal deviate of one word by the inverse of the distribution: increasing in bits, |result| < 9.1, and
 * oto_normal_from_bits(~bits) = -oto_normal_from_bits(bits). */
static inline double oto_normal_from_bits(uint64_t bits)
{
    struct oto_impl_normal normal = oto_impl_normal_centre(bits);
    return __builtin_expect(normal.row > 127u, 0) ? oto_impl_normal_far(bits) : normal.z;
}

/* oto_normal_from_bits for the four words of a block, with one branch. */
static inline void oto_normal4(oto_philox_block block, double out[4])
{
    struct oto_impl_normal a = oto_impl_normal_centre(block.v[0]), b = oto_impl_normal_centre(block.v[1]);
    struct oto_impl_normal c = oto_impl_normal_centre(block.v[2]), d = oto_impl_normal_centre(block.v[3]);
    out[0] = a.z;
    out[1] = b.z;
    out[2] = c.z;
    out[3] = d.z;
    if (__builtin_expect((a.row | b.row | c.row | d.row) > 127u, 0)) {
        out[0] = oto_normal_from_bits(block.v[0]);
        out[1] = oto_normal_from_bits(block.v[1]);
        out[2] = oto_normal_from_bits(block.v[2]);
        out[3] = oto_normal_from_bits(block.v[3]);
    }
}

/*
 * count standard normal deviates of one (n, term, domain): deviate i is word i % 4 of block (n, draw = i / 4). A larger
 * count does not change the first deviates. Each block is generated while the previous one is transformed.
 */
static inline void oto_normals(struct oto_rng_key key, uint64_t n, uint64_t term, uint64_t domain, double *out,
                               size_t count)
{
    oto_philox_block block = oto_rng_block(key, n, 0, term, domain);
    size_t i = 0;
    double rest[4];
    for (; i + 4 < count; i += 4) {
        oto_philox_block next = oto_rng_block(key, n, i / 4 + 1, term, domain);
        oto_normal4(block, out + i);
        block = next;
    }
    oto_normal4(block, rest);
    if (i < count)
        memcpy(out + i, rest, (count - i) * sizeof rest[0]);
}

/* Deviate i of the numbers that oto_normals gives for the same arguments. */
static inline double oto_normal_at(struct oto_rng_key key, uint64_t n, uint64_t term, uint64_t domain, uint64_t i)
{
    return oto_normal_from_bits(oto_rng_block(key, n, i / 4, term, domain).v[i % 4]);
}

#endif
