/* Elementary functions that give the same bits on every machine, compiler and optimisation level (A19): only + - * /
 * and sqrt of IEEE doubles, round to nearest, built with -ffp-contract=off. Pure functions, callable from any thread;
 * errno and floating-point flags mean nothing. Errors are below 1 ulp: largest seen against MPFR tan 0.91, sin and cos
 * 0.79, results below 2^-1022 0.75, all others 0.64 (asin) or less. NaN, infinities and zeros as in C99 annex F. sin,
 * cos and tan hold for every finite argument; beyond 2^20 they take about twice as long.
 *
 *   oto_sin(x)  oto_cos(x)  oto_sincos(x, &sine, &cosine)  oto_tan(x)      detail/trig.h
 *   oto_wrap_pi(x)               x modulo 2 pi in [-pi, pi]
 *   oto_asin(x)  oto_acos(x)  oto_atan(x)  oto_atan2(y, x)                 detail/arc.h
 *   oto_exp(x)  oto_expm1(x)  oto_log(x)  oto_log1p(x)  oto_pow(x, y)      detail/explog.h
 *   oto_hypot(x, y)  oto_round_half_away(x)  oto_sqrt(x)  oto_fabs(x)      here */
#ifndef OTOLITH_DETMATH_H
#define OTOLITH_DETMATH_H

#include "otolith/detail/arc.h"
#include "otolith/detail/dd.h"
#include "otolith/detail/explog.h"
#include "otolith/detail/trig.h"

#define OTO_PI 0x1.921fb54442d18p+1
#define OTO_TWO_PI 0x1.921fb54442d18p+2
#define OTO_HALF_PI 0x1.921fb54442d18p+0
#define OTO_DEG 0x1.1df46a2529d39p-6 /* radians in a degree */

static inline double oto_sqrt(double x)
{
    return __builtin_sqrt(x);
}

static inline double oto_fabs(double x)
{
    return __builtin_fabs(x);
}

/* Square root of the sum of squares as a pair, and one Newton step on the root. */
static inline double oto_hypot(double x, double y)
{
    double ax = oto_fabs(x), ay = oto_fabs(y), scale = 1.0, h;
    double a = ax > ay ? ax : ay, b = ax > ay ? ay : ax;
    struct oto_impl_dd aa, bb, sum, hh;
    if (ax - ax != 0.0 || ay - ay != 0.0)
        return ax > DBL_MAX || ay > DBL_MAX ? 0x1p1023 * 2.0 : x + y;
    if (b <= a * 0x1p-28)
        return a;
    if (a > 0x1p500 || b < 0x1p-450) {
        scale = a > 0x1p500 ? 0x1p600 : 0x1p-600;
        a *= 1.0 / scale;
        b *= 1.0 / scale;
    }
    aa = oto_impl_two_prod(a, a);
    bb = oto_impl_two_prod(b, b);
    sum = oto_impl_fast_two_sum(aa.hi, bb.hi);
    sum.lo += aa.lo + bb.lo;
    h = oto_sqrt(sum.hi);
    hh = oto_impl_two_prod(h, h);
    return scale * (h + (((sum.hi - hh.hi) - hh.lo) + sum.lo) / (h + h));
}

/* Nearest integer, halves away from zero, as C's round. */
static inline double oto_round_half_away(double x)
{
    double ax = oto_fabs(x), whole;
    if (!(ax < 0x1p52))
        return x;
    whole = (double)(int64_t)ax;
    if (ax - whole >= 0.5)
        whole += 1.0;
    return oto_impl_copysign(whole, x);
}

#endif
