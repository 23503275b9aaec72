/* sin, cos, tan. Private to detmath.h. Up to 1.6e6 the argument is reduced with pi/2 in three or four parts (Cody & Waite
 * 1980, remainder kept as a pair), beyond it exactly with 192 bits of 2/pi (Payne & Hanek 1983). Polynomials:
 * tools/detmath_coefficients.sollya. */
#ifndef OTOLITH_DETAIL_TRIG_H
#define OTOLITH_DETAIL_TRIG_H

#include "otolith/detail/dd.h"
#include "otolith/detail/tables.h"

/* x = quadrant pi/2 + hi + lo, |hi| <= pi/4 (and a last bit), quadrant modulo 4 */
struct oto_impl_angle {
    double hi, lo;
    unsigned quadrant;
};

/* Bits [first, first + 64) of 2/pi, counted from the leading word of zeros. */
static inline uint64_t oto_impl_two_over_pi_word(int first)
{
    int word = first / 64, shift = first % 64;
    uint64_t bits = oto_impl_two_over_pi[word] << shift;
    return shift ? bits | (oto_impl_two_over_pi[word + 1] >> (64 - shift)) : bits;
}

/* Fraction word2.word1 (two's complement, of a turn of pi/2) to radians. */
static inline struct oto_impl_angle oto_impl_angle_from_fraction(uint64_t word2, uint64_t word1, uint64_t word0,
                                                                 unsigned quadrant)
{
    struct oto_impl_angle r;
    double sign = 1.0, hi, lo;
    struct oto_impl_dd p;
    int exponent = 0;
    if (word2 >> 63) {
        sign = -1.0;
        quadrant++;
        word0 = ~word0 + 1u;
        word1 = ~word1 + (word0 == 0);
        word2 = ~word2 + (word0 == 0 && word1 == 0);
    }
    while (!(word2 >> 63) && exponent > -128) {
        word2 = (word2 << 1) | (word1 >> 63);
        word1 = (word1 << 1) | (word0 >> 63);
        word0 <<= 1;
        exponent--;
    }
    hi = (double)(int64_t)(word2 >> 11) * 0x1p-53;
    lo = (double)(int64_t)(((word2 & 0x7ffu) << 52) | (word1 >> 12)) * 0x1p-116;
    p = oto_impl_two_prod(hi, OTO_IMPL_PIO2_HI);
    p = oto_impl_fast_two_sum(p.hi, p.lo + (hi * OTO_IMPL_PIO2_LO + lo * OTO_IMPL_PIO2_HI));
    sign *= oto_impl_exp2_int(exponent);
    r.hi = p.hi * sign;
    r.lo = p.lo * sign;
    r.quadrant = quadrant & 3u;
    return r;
}

static inline struct oto_impl_angle oto_impl_reduce_large(double x)
{
    uint64_t bits = oto_impl_bits(x);
    uint64_t m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    int e = (int)((bits >> 52) & 0x7ffu) - 1075; /* |x| = m 2^e */
    int first = 62 + e;                          /* bits of weight >= 4 in m 2^e 2/pi are whole turns */
    uint64_t p2 = m * oto_impl_two_over_pi_word(first), p1, p0, q1, low, carry;
    struct oto_impl_angle r;
    q1 = oto_impl_mul64(m, oto_impl_two_over_pi_word(first + 64), &p1);
    carry = oto_impl_mul64(m, oto_impl_two_over_pi_word(first + 128), &low);
    p0 = low;
    p1 += carry;
    p2 += q1 + (p1 < carry);
    r = oto_impl_angle_from_fraction((p2 << 2) | (p1 >> 62), (p1 << 2) | (p0 >> 62), p0 << 2, (unsigned)(p2 >> 62));
    if (x < 0.0) {
        r.hi = -r.hi;
        r.lo = -r.lo;
        r.quadrant = (0u - r.quadrant) & 3u;
    }
    return r;
}

/* Reduces a finite x to a quadrant and a rest. */
static inline struct oto_impl_angle oto_impl_reduce(double x)
{
    struct oto_impl_angle r;
    struct oto_impl_dd a, b;
    double shifted, n, near;
    if (!(x <= 0x1p20 && x >= -0x1p20))
        return oto_impl_reduce_large(x);
    shifted = x * OTO_IMPL_2_PI + 0x1.8p52;
    n = shifted - 0x1.8p52;
    /* A few turns, not near a multiple of pi/2: there is no cancellation, so half the precision suffices. |n| <= 21. */
    near = x - n * OTO_IMPL_PIO2_NEAR_1; /* both operations exact, and the next product */
    if (x <= 0x1p5 && x >= -0x1p5 && (near > 0x1p-20 || near < -0x1p-20)) {
        a = oto_impl_fast_two_sum(near, -(n * OTO_IMPL_PIO2_NEAR_2));
        r.hi = a.hi;
        r.lo = a.lo - n * OTO_IMPL_PIO2_NEAR_3;
        r.quadrant = (unsigned)oto_impl_bits(shifted) & 3u;
        return r;
    }
    a = oto_impl_two_sum(x - n * OTO_IMPL_PIO2_1, -(n * OTO_IMPL_PIO2_2)); /* both products exact */
    b = oto_impl_two_sum(a.hi, -(n * OTO_IMPL_PIO2_3));
    a = oto_impl_fast_two_sum(b.hi, (b.lo + a.lo) - n * OTO_IMPL_PIO2_4);
    r.hi = a.hi;
    r.lo = a.lo;
    r.quadrant = (unsigned)oto_impl_bits(shifted) & 3u;
    return r;
}

static inline double oto_impl_sin_tail(double x, double z) /* sin(x) - x for z = x² */
{
    double p = -0x1.ae60067edc15dp-26 + z * 0x1.5e07f52ca26a6p-33;
    p = 0x1.71de3798c1aa5p-19 + z * p;
    p = -0x1.a01a019e8ebc8p-13 + z * p;
    p = 0x1.1111111110c4p-7 + z * p;
    return (x * z) * (-0x1.5555555555555p-3 + z * p);
}

static inline double oto_impl_cos_tail(double z) /* cos(x) - 1 + z/2 */
{
    double p = 0x1.1eeb4cfbc5b21p-29 + z * -0x1.906b95f4cf6ddp-37;
    p = -0x1.27e4f9f8c9f96p-22 + z * p;
    p = 0x1.a01a019f30e6ap-16 + z * p;
    p = -0x1.6c16c16c168bp-10 + z * p;
    return (z * z) * (0x1.5555555555555p-5 + z * p);
}

static inline double oto_impl_sin_kernel(double x, double lo)
{
    double z = x * x;
    return x + (oto_impl_sin_tail(x, z) + (lo - 0.5 * (z * lo)));
}

static inline double oto_impl_cos_kernel(double x, double lo)
{
    double z = x * x, half = 0.5 * z, w = 1.0 - half;
    return w + (((1.0 - w) - half) + (oto_impl_cos_tail(z) - x * lo));
}

/*
 * sin of quadrant pi/2 + (hi, lo). Evaluates both kernels and masks, because a branch on the quadrant is unpredictable.
 */
static inline double oto_impl_quadrant_sin(struct oto_impl_angle a, unsigned quadrant)
{
    uint64_t s = oto_impl_bits(oto_impl_sin_kernel(a.hi, a.lo)), c = oto_impl_bits(oto_impl_cos_kernel(a.hi, a.lo));
    uint64_t odd = (uint64_t)0 - (quadrant & 1u), sign = (uint64_t)(quadrant & 2u) << 62;
    return oto_impl_from_bits(((c & odd) | (s & ~odd)) ^ sign);
}

static inline double oto_sin(double x)
{
    struct oto_impl_angle a;
    if (x - x != 0.0 || x == 0.0)
        return x == 0.0 ? x : x - x;
    a = oto_impl_reduce(x);
    return oto_impl_quadrant_sin(a, a.quadrant);
}

static inline double oto_cos(double x)
{
    struct oto_impl_angle a;
    if (x - x != 0.0)
        return x - x;
    a = oto_impl_reduce(x);
    return oto_impl_quadrant_sin(a, a.quadrant + 1u);
}

/*
 * Both kernels with their polynomials in parallel: each lane does the arithmetic of the kernels above, so the bits are
 * the same.
 */
static inline void oto_impl_kernels(double x, double lo, double *sine, double *cosine)
{
    typedef double pair __attribute__((vector_size(16)));
    const double z = x * x, half = 0.5 * z, w = 1.0 - half;
    const pair zz = {z, z}, xz = {x, z};
    const pair c13_14 = {0x1.5e07f52ca26a6p-33, -0x1.906b95f4cf6ddp-37}, c11_12 = {-0x1.ae60067edc15dp-26, 0x1.1eeb4cfbc5b21p-29};
    const pair c9_10 = {0x1.71de3798c1aa5p-19, -0x1.27e4f9f8c9f96p-22}, c7_8 = {-0x1.a01a019e8ebc8p-13, 0x1.a01a019f30e6ap-16};
    const pair c5_6 = {0x1.1111111110c4p-7, -0x1.6c16c16c168bp-10}, c3_4 = {-0x1.5555555555555p-3, 0x1.5555555555555p-5};
    pair p = c11_12 + zz * c13_14;
    p = c9_10 + zz * p;
    p = c7_8 + zz * p;
    p = c5_6 + zz * p;
    p = c3_4 + zz * p;
    p = (xz * zz) * p;
    *sine = x + (p[0] + (lo - 0.5 * (z * lo)));
    *cosine = w + (((1.0 - w) - half) + (p[1] - x * lo));
}

/* Sine and cosine in one call, with the bits of oto_sin and oto_cos. */
static inline void oto_sincos(double x, double *sine, double *cosine)
{
    struct oto_impl_angle a;
    double s, c;
    uint64_t odd, swap;
    if (x - x != 0.0 || x == 0.0) {
        *sine = x == 0.0 ? x : x - x;
        *cosine = x == 0.0 ? 1.0 : x - x;
        return;
    }
    a = oto_impl_reduce(x);
    oto_impl_kernels(a.hi, a.lo, &s, &c);
    odd = (uint64_t)0 - (a.quadrant & 1u);
    swap = (oto_impl_bits(s) ^ oto_impl_bits(c)) & odd;
    *sine = oto_impl_from_bits((oto_impl_bits(s) ^ swap) ^ ((uint64_t)(a.quadrant & 2u) << 62));
    *cosine = oto_impl_from_bits((oto_impl_bits(c) ^ swap) ^ ((uint64_t)((a.quadrant + 1u) & 2u) << 62));
}

/* Quotient of the two kernels kept as pairs. */
static inline double oto_tan(double x)
{
    struct oto_impl_angle a;
    struct oto_impl_dd s, c, z, t;
    double q;
    if (x - x != 0.0 || (x < 0x1p-27 && x > -0x1p-27))
        return x - x != 0.0 ? x - x : x;
    a = oto_impl_reduce(x);
    z = oto_impl_two_prod(a.hi, a.hi);
    s = oto_impl_fast_two_sum(a.hi,
                              oto_impl_sin_tail(a.hi, z.hi) + (a.lo - (0.5 * (z.hi * a.lo) + 0.16 * (z.lo * a.hi))));
    c = oto_impl_fast_two_sum(1.0, -0.5 * z.hi);
    c = oto_impl_fast_two_sum(c.hi, c.lo + (oto_impl_cos_tail(z.hi) - (a.hi * a.lo + 0.5 * z.lo)));
    if (a.quadrant & 1u) {
        t = s;
        s = c;
        c.hi = -t.hi;
        c.lo = -t.lo;
    }
    q = s.hi / c.hi;
    t = oto_impl_two_prod(q, c.hi);
    return q + (((s.hi - t.hi) - t.lo) + (s.lo - q * c.lo)) / c.hi;
}

/* x modulo 2 pi, in [-pi, pi]; an x in that range is returned unchanged. */
static inline double oto_wrap_pi(double x)
{
    struct oto_impl_angle a;
    double turns;
    if (x - x != 0.0)
        return x - x;
    if (x <= OTO_IMPL_PI_HI && x >= -OTO_IMPL_PI_HI)
        return x;
    a = oto_impl_reduce(x);
    turns = a.quadrant == 3u ? -1.0 : (double)a.quadrant;
    if (a.quadrant == 2u && a.hi > 0.0)
        turns = -2.0;
    return turns * OTO_IMPL_PIO2_HI + (a.hi + (turns * OTO_IMPL_PIO2_LO + a.lo));
}

#endif
