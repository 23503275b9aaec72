/* Counter-based random numbers: noise is a function of (key, sample, draw, term, domain), not a stream (A18), so there is
 * no generator state to save, share or order. Pure functions, callable from any thread, no allocation.
 *
 * Philox4x64-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11. NumPy's Philox
 * with counter c gives oto_philox4x64 of counter c + 1. */
#ifndef OTOLITH_RNG_H
#define OTOLITH_RNG_H

#include "otolith/detmath.h"

#include <stddef.h>
#include <string.h>

/* Fourth counter word: what the numbers are for. Numbers of different domains are independent. */
#define OTO_RNG_DOMAIN_SAMPLE 1u  /* n = sample number: white noise, drives of random walks */
#define OTO_RNG_DOMAIN_TURN_ON 2u /* n = start number: run-to-run biases */
#define OTO_RNG_DOMAIN_UNIT 3u    /* key (0, hash of "part/unit"): what a serial number has in every world */
#define OTO_RNG_DOMAIN_WORLD 4u   /* n = tick: environment of a world */
#define OTO_RNG_DOMAIN_FAULT 5u   /* n = sample number: fault injection */

typedef struct {
    uint64_t v[4];
} oto_philox_block;

struct oto_rng_key {
    uint64_t seed, stream; /* world seed (0 for unit terms), oto_fnv1a64 of the name */
};

/* Low half of a*b in *lo, high half returned. */
static inline uint64_t oto_mul64_wide(uint64_t a, uint64_t b, uint64_t *lo)
{
#ifdef __SIZEOF_INT128__
    __extension__ unsigned __int128 p = (__extension__(unsigned __int128) a) * b;
    *lo = (uint64_t)p;
    return (uint64_t)(p >> 64);
#else
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0;
    uint64_t mid = (p00 >> 32) + (p01 & 0xffffffffu) + (p10 & 0xffffffffu);
    *lo = (mid << 32) | (p00 & 0xffffffffu);
    return a1 * b1 + (p01 >> 32) + (p10 >> 32) + (mid >> 32);
#endif
}

static inline oto_philox_block oto_philox4x64(uint64_t key0, uint64_t key1, uint64_t c0, uint64_t c1, uint64_t c2,
                                              uint64_t c3)
{
    oto_philox_block b;
    for (int round = 0; round < 10; round++) {
        uint64_t lo0, lo1;
        uint64_t hi0 = oto_mul64_wide(0xD2E7470EE14C6C93u, c0, &lo0);
        uint64_t hi1 = oto_mul64_wide(0xCA5A826395121157u, c2, &lo1);
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

/* FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv). */
static inline uint64_t oto_fnv1a64(const void *bytes, size_t size)
{
    const unsigned char *p = (const unsigned char *)bytes;
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

static inline uint64_t oto_fnv1a64_str(const char *text)
{
    return oto_fnv1a64(text, strlen(text));
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

/* Uniform in (0, 1), both ends open: the odd multiples of 2^-53, so the mean is exactly 1/2 and 1 - u is possible too. */
static inline double oto_u01(uint64_t bits)
{
    return ((double)(int64_t)(bits >> 12) + 0.5) * 0x1p-52;
}

/* Uniform in (-1, 1), both ends open, symmetric. */
static inline double oto_u11(uint64_t bits)
{
    return 2.0 * oto_u01(bits) - 1.0;
}

/* Inverse normal CDF, Wichura's PPND16 (AS 241, Applied Statistics 37(3), 1988): centre. */
static inline double oto__normal_centre(double q)
{
    double r = 0.180625 - q * q;
    double num = (((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r +
                      45921.953931549871457) * r + 13731.693765509461125) * r + 1971.5909503065514427) * r +
                   133.14166789178437745) * r + 3.387132872796366608);
    double den = (((((((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r +
                      21213.794301586595867) * r + 5394.1960214247511077) * r + 687.1870074920579083) * r +
                   42.313330701600911252) * r + 1.0);
    return q * num / den;
}

static inline double oto__normal_tail(double p)
{
    double r = oto_sqrt(-oto_log(p));
    if (r <= 5.0) {
        r -= 1.6;
        return (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r +
                    1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r +
                 4.6303378461565452959) * r + 1.42343711074968357734) /
               (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r +
                    0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r +
                 2.05319162663775882187) * r + 1.0);
    }
    r -= 5.0;
    return (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r +
                0.026532189526576123093) * r + 0.29656057182850489123) * r + 1.7848265399172913358) * r +
             5.4637849111641143699) * r + 6.6579046435011037772) /
           (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r +
                7.868691311456132591e-4) * r + 0.0148753612908506148525) * r + 0.13692988092273580531) * r +
             0.59983220655588793769) * r + 1.0);
}

/* Standard normal deviate of one word by the inverse CDF; |result| < 9.2. */
static inline double oto_normal_from_bits(uint64_t bits)
{
    int64_t s = (int64_t)(bits ^ 0x8000000000000000u);
    uint64_t a = (uint64_t)(s < 0 ? ~s : s);
    double q = ((double)(int64_t)a + 0.5) * 0x1p-64;
    double z;
    if (q <= 0.425)
        z = oto__normal_centre(q);
    else
        z = oto__normal_tail(((double)(int64_t)(0x7fffffffffffffffu - a) + 0.5) * 0x1p-64);
    return s < 0 ? -z : z;
}

static inline void oto_normal4(oto_philox_block block, double out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = oto_normal_from_bits(block.v[i]);
}

/* count standard normal deviates of one (n, term, domain): deviate i is word i % 4 of block (n, draw = i / 4). Asking for
 * more of them never changes the first ones. */
static inline void oto_normals(struct oto_rng_key key, uint64_t n, uint64_t term, uint64_t domain, double *out,
                               size_t count)
{
    for (size_t i = 0; i < count; i += 4) {
        double four[4];
        oto_normal4(oto_rng_block(key, n, i / 4, term, domain), four);
        for (size_t j = 0; j < 4 && i + j < count; j++)
            out[i + j] = four[j];
    }
}

/* Deviate i of the same family alone. */
static inline double oto_normal_at(struct oto_rng_key key, uint64_t n, uint64_t term, uint64_t domain, uint64_t i)
{
    return oto_normal_from_bits(oto_rng_block(key, n, i / 4, term, domain).v[i % 4]);
}

#endif
