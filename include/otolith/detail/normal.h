/*
 * The inverse of the normal distribution on 64-bit words. Private to rng.h. A word and its complement give opposite
 * deviates. The smaller of the two, with its last bit set, is the tail probability p 2^-64: each pair of words
 * represents the middle of its interval, and the distribution is exact out to the last tail, 9.1 sigma. For p >= 2^-16
 * a polynomial for each eighth of an octave is used (tools/gen_normal_table.py, error below 1e-13), beyond it Wichura's
 * tail.
 */
#ifndef OTOLITH_DETAIL_NORMAL_H
#define OTOLITH_DETAIL_NORMAL_H

#include "otolith/detmath.h"
#include "otolith/detail/normal_table.h"

/* -Phi^-1(p) for p < 0.075: Wichura, "The percentage points of the normal distribution", Applied Statistics 37(3),
 * 1988, AS 241 PPND16, relative error 1e-16. */
static inline double oto_impl_normal_tail(double p)
{
    static const double near[8][2] = {
        {1.42343711074968357734, 1.0},
        {4.63033784615654529590, 2.05319162663775882187},
        {5.76949722146069140550, 1.67638483018380384940},
        {3.64784832476320460504, 6.89767334985100004550e-1},
        {1.27045825245236838258, 1.48103976427480074590e-1},
        {2.41780725177450611770e-1, 1.51986665636164571966e-2},
        {2.27238449892691845833e-2, 5.47593808499534494600e-4},
        {7.74545014278341407640e-4, 1.05075007164441684324e-9},
    };
    static const double far[8][2] = {
        {6.65790464350110377720, 1.0},
        {5.46378491116411436990, 5.99832206555887937690e-1},
        {1.78482653991729133580, 1.36929880922735805310e-1},
        {2.96560571828504891230e-1, 1.48753612908506148525e-2},
        {2.65321895265761230930e-2, 7.86869131145613259100e-4},
        {1.24266094738807843860e-3, 1.84631831751005468180e-5},
        {2.71155556874348757815e-5, 1.42151175831644588870e-7},
        {2.01033439929228813265e-7, 2.04426310338993978564e-15},
    };
    double r = oto_sqrt(-oto_log(p)), num, den;
    const double(*c)[2] = r <= 5.0 ? near : far;
    r -= r <= 5.0 ? 1.6 : 5.0;
    num = c[7][0];
    den = c[7][1];
    for (int i = 6; i >= 0; i--) {
        num = num * r + c[i][0];
        den = den * r + c[i][1];
    }
    return num / den;
}

struct oto_impl_normal {
    double z;
    uint64_t row; /* row of the table; above 127: a far tail, z is invalid */
};

static inline uint64_t oto_impl_normal_tail_bits(uint64_t bits)
{
    return (bits ^ (0u - (bits >> 63))) | 1u;
}

static inline double oto_impl_normal_sign(double z, uint64_t bits)
{
    return oto_impl_from_bits(oto_impl_bits(z) ^ (~bits & ((uint64_t)1 << 63)));
}

static inline struct oto_impl_normal oto_impl_normal_centre(uint64_t bits)
{
    uint64_t p = oto_impl_bits((double)(int64_t)oto_impl_normal_tail_bits(bits));
    double t = oto_impl_from_bits((p & 0x1ffffffffffffu) | 0x3ff0000000000000u) - 1.0625, t2 = t * t, t4 = t2 * t2;
    struct oto_impl_normal normal;
    const double *c;
    normal.row = (p >> 49) - ((1023u + 48u) << 3); /* exponent and three bits, from 2^(64 - 16) */
    c = oto_impl_normal_table[normal.row & 127u];
    normal.z = ((c[0] + c[1] * t) + t2 * (c[2] + c[3] * t)) + t4 * ((c[4] + c[5] * t) + t2 * (c[6] + c[7] * t));
    normal.z = oto_impl_normal_sign(normal.z, bits);
    return normal;
}

__attribute__((noinline, cold, unused)) static double oto_impl_normal_far(uint64_t bits)
{
    double p = (double)(int64_t)oto_impl_normal_tail_bits(bits) * 0x1p-64;
    return oto_impl_normal_sign(oto_impl_normal_tail(p), bits);
}

#endif
