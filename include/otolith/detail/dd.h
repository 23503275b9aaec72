/*
 * Error-free transformations without fused operations, and access to the bits of a double. Private to detmath.h. A pair
 * (hi, lo) is the unevaluated sum hi + lo. Sources: Dekker 1971 (product), Knuth TAOCP 2, 4.2.2 (sum).
 */
#ifndef OTOLITH_DETAIL_DD_H
#define OTOLITH_DETAIL_DD_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "otolith's numerics need IEEE arithmetic: build without -ffast-math"
#endif
#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "otolith's numerics need double arithmetic in double precision (x87: -msse2 -mfpmath=sse)"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif /* gcc does not have this pragma: -ffp-contract=off is required where FMA is enabled; a test checks it */

struct oto_impl_dd {
    double hi, lo;
};

/* The exact sum a + b as a pair; requires |a| >= |b| or a = 0. */
static inline struct oto_impl_dd oto_impl_fast_two_sum(double a, double b)
{
    struct oto_impl_dd r;
    r.hi = a + b;
    r.lo = b - (r.hi - a);
    return r;
}

static inline struct oto_impl_dd oto_impl_two_sum(double a, double b)
{
    struct oto_impl_dd r;
    double b_part;
    r.hi = a + b;
    b_part = r.hi - a;
    r.lo = (a - (r.hi - b_part)) + (b - b_part);
    return r;
}

/* Exact while nothing overflows (|a|, |b| < 2^996) and the low part does not underflow. */
static inline struct oto_impl_dd oto_impl_two_prod(double a, double b)
{
    double ta = a * 134217729.0, tb = b * 134217729.0; /* 2^27 + 1 (Veltkamp) */
    double ah = ta - (ta - a), bh = tb - (tb - b);
    double al = a - ah, bl = b - bh;
    struct oto_impl_dd r;
    r.hi = a * b;
    r.lo = ((ah * bh - r.hi) + ah * bl + al * bh) + al * bl;
    return r;
}

static inline uint64_t oto_impl_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double oto_impl_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double oto_impl_copysign(double magnitude, double sign)
{
    uint64_t top = (uint64_t)1 << 63;
    return oto_impl_from_bits((oto_impl_bits(magnitude) & ~top) | (oto_impl_bits(sign) & top));
}

/* 2^e for -1022 <= e <= 1023 */
static inline double oto_impl_exp2_int(int e)
{
    return oto_impl_from_bits((uint64_t)(e + 1023) << 52);
}

/* x 2^e, -2044 <= e <= 2046; rounds at most once when |x| is in [1/2, 2) */
static inline double oto_impl_scale(double x, int e)
{
    if (e > 1023)
        return x * oto_impl_exp2_int(e - 1023) * 0x1p1023;
    if (e < -1021)
        return x * oto_impl_exp2_int(e + 1022) * 0x1p-1022;
    return x * oto_impl_exp2_int(e);
}

/* Nearest integer to x, |x| < 2^51, halves to even. */
static inline double oto_impl_rint(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* The 128-bit product a*b: *lo gets the low half, the high half is returned. */
static inline uint64_t oto_impl_mul64(uint64_t a, uint64_t b, uint64_t *lo)
{
#ifdef __SIZEOF_INT128__
    __extension__ unsigned __int128 p = (unsigned __int128)a * b;
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

#endif
