/* asin, acos, atan, atan2. Private to detmath.h. Polynomials: tools/detmath_coefficients.sollya. */
#ifndef OTOLITH_DETAIL_ARC_H
#define OTOLITH_DETAIL_ARC_H

#include "otolith/detail/dd.h"
#include "otolith/detail/tables.h"

/* atan(num/den) as a pair for 0 <= num <= den, num/den > 2^-64, both within 2^±600: atan(k/16) from the table plus the
 * atan of the small rest (num - k/16 den) / (den + k/16 num). */
static inline struct oto_impl_dd oto_impl_atan_ratio(double num, double den)
{
    double k = oto_impl_rint(num / den * 16.0), c = k * 0.0625;
    const double *table = oto_impl_atan_table[(int)k];
    struct oto_impl_dd p = oto_impl_two_prod(c, den), top, bottom, q;
    double u, u_lo, z, tail;
    top = oto_impl_two_sum(num, -p.hi);
    top.lo -= p.lo;
    p = oto_impl_two_prod(c, num);
    bottom = oto_impl_fast_two_sum(den, p.hi);
    bottom.lo += p.lo;
    u = top.hi / bottom.hi;
    q = oto_impl_two_prod(u, bottom.hi);
    u_lo = (((top.hi - q.hi) - q.lo) + (top.lo - u * bottom.lo)) / bottom.hi;
    z = u * u;
    tail = 0x1.c71b3485977abp-4 + z * -0x1.71d19eaadccefp-4;
    tail = -0x1.2492490712feep-3 + z * tail;
    tail = 0x1.99999999977c2p-3 + z * tail;
    tail = (u * z) * (-0x1.5555555555555p-2 + z * tail);
    q = oto_impl_fast_two_sum(table[0], u);
    q.lo += table[1] + (u_lo + tail);
    return q;
}

/* atan2 of finite, nonzero magnitudes: angle in (0, pi) from the positive or negative x axis. */
static inline double oto_impl_atan2_magnitude(double y, double x, int x_negative)
{
    double num = y < x ? y : x, den = y < x ? x : y;
    struct oto_impl_dd a = {0.0, 0.0}, r;
    if (den > 0x1p500 || den < 0x1p-500) {
        double scale = den > 1.0 ? 0x1p-600 : 0x1p600;
        num *= scale;
        den *= scale;
    }
    if (num > den * 0x1p-64)
        a = oto_impl_atan_ratio(num, den);
    else if (y < x && !x_negative)
        return y / x;
    if (y < x) {
        if (!x_negative)
            return a.hi + a.lo;
        r = oto_impl_fast_two_sum(OTO_IMPL_PI_HI, -a.hi);
        return r.hi + (r.lo + (OTO_IMPL_PI_LO - a.lo));
    }
    if (x_negative) {
        r = oto_impl_fast_two_sum(OTO_IMPL_PIO2_HI, a.hi);
        return r.hi + (r.lo + (OTO_IMPL_PIO2_LO + a.lo));
    }
    r = oto_impl_fast_two_sum(OTO_IMPL_PIO2_HI, -a.hi);
    return r.hi + (r.lo + (OTO_IMPL_PIO2_LO - a.lo));
}

/* Zeros, infinities and NaN give the results of C99 annex F. */
static inline double oto_atan2(double y, double x)
{
    double ay = __builtin_fabs(y), ax = __builtin_fabs(x), angle;
    int x_negative = (int)(oto_impl_bits(x) >> 63);
    if (x != x || y != y)
        return x + y;
    if (ay == 0.0)
        angle = x_negative ? OTO_IMPL_PI_HI : 0.0;
    else if (ax == 0.0 || ay - ay != 0.0 || ax - ax != 0.0) {
        angle = OTO_IMPL_PIO2_HI;
        if (ax - ax != 0.0)
            angle = ay - ay != 0.0 ? (x_negative ? 3.0 * 0x1.921fb54442d18p-1 : 0x1.921fb54442d18p-1)
                                   : (x_negative ? OTO_IMPL_PI_HI : 0.0);
    } else
        angle = oto_impl_atan2_magnitude(ay, ax, x_negative);
    return oto_impl_copysign(angle, y);
}

static inline double oto_atan(double x)
{
    double ax = __builtin_fabs(x);
    if (!(ax >= 0x1p-27))
        return x; /* and NaN */
    if (ax > 0x1p64)
        return oto_impl_copysign(OTO_IMPL_PIO2_HI, x);
    return oto_impl_copysign(oto_impl_atan2_magnitude(ax, 1.0, 0), x);
}

static inline double oto_impl_asin_tail(double x, double z) /* asin(x) - x for z = x² <= 1/4 */
{
    double p = -0x1.682c38b7fd397p-6 + z * 0x1.ffecf9904381fp-6;
    p = 0x1.61df087965fd7p-6 + z * p;
    p = 0x1.1a2b910677d52p-9 + z * p;
    p = 0x1.39aa722a7d8b9p-7 + z * p;
    p = 0x1.39b103068a4cbp-7 + z * p;
    p = 0x1.7b393169982eep-7 + z * p;
    p = 0x1.c98b98ca3fe93p-7 + z * p;
    p = 0x1.1c4f262822dcp-6 + z * p;
    p = 0x1.6e8b9f68bf907p-6 + z * p;
    p = 0x1.f1c71c85e5cadp-6 + z * p;
    p = 0x1.6db6db6d965b7p-5 + z * p;
    p = 0x1.33333333334b8p-4 + z * p;
    return (x * z) * (0x1.5555555555555p-3 + z * p);
}

/* asin(sqrt((1 - x)/2)) as a pair, 1/2 <= x < 1: half of acos(x). */
static inline struct oto_impl_dd oto_impl_half_acos(double x)
{
    double w = 0.5 * (1.0 - x), s = __builtin_sqrt(w);
    struct oto_impl_dd square = oto_impl_two_prod(s, s), r;
    r.hi = s;
    r.lo = ((w - square.hi) - square.lo) / (s + s) + oto_impl_asin_tail(s, w);
    return r;
}

static inline double oto_asin(double x)
{
    double ax = __builtin_fabs(x);
    struct oto_impl_dd h, r;
    if (!(ax < 1.0))
        return ax == 1.0 ? oto_impl_copysign(OTO_IMPL_PIO2_HI, x) : (x - x) / (x - x);
    if (ax < 0.5)
        return ax < 0x1p-27 ? x : x + oto_impl_asin_tail(x, x * x);
    h = oto_impl_half_acos(ax);
    r = oto_impl_fast_two_sum(OTO_IMPL_PIO2_HI, -2.0 * h.hi);
    return oto_impl_copysign(r.hi + (r.lo + (OTO_IMPL_PIO2_LO - 2.0 * h.lo)), x);
}

static inline double oto_acos(double x)
{
    double ax = __builtin_fabs(x);
    struct oto_impl_dd h, r;
    if (!(ax < 1.0))
        return ax == 1.0 ? (x < 0.0 ? OTO_IMPL_PI_HI : 0.0) : (x - x) / (x - x);
    if (ax < 0.5) {
        r = oto_impl_fast_two_sum(OTO_IMPL_PIO2_HI, -x);
        return r.hi + (r.lo + (OTO_IMPL_PIO2_LO - oto_impl_asin_tail(x, x * x)));
    }
    h = oto_impl_half_acos(ax);
    if (x > 0.0)
        return 2.0 * (h.hi + h.lo);
    r = oto_impl_fast_two_sum(OTO_IMPL_PI_HI, -2.0 * h.hi);
    return r.hi + (r.lo + (OTO_IMPL_PI_LO - 2.0 * h.lo));
}

#endif
