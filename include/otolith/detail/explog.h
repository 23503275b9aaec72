/* exp, expm1, log, log1p, pow. Private to detmath.h. Table-driven (Tang 1989, 1990). Polynomials:
 * tools/detmath_coefficients.sollya. */
#ifndef OTOLITH_DETAIL_EXPLOG_H
#define OTOLITH_DETAIL_EXPLOG_H

#include "otolith/detail/dd.h"
#include "otolith/detail/tables.h"

/* exp(x + lo) = 2^exponent (table + rest), |x| < 746, |lo| tiny */
struct oto_impl_exp {
    double table, rest;
    int exponent;
};

static inline struct oto_impl_exp oto_impl_exp_parts(double x, double lo)
{
    double shifted = x * OTO_IMPL_32_LN2 + 0x1.8p52, k = shifted - 0x1.8p52, r, p;
    int index = (int)k;
    const double *row = oto_impl_exp2_table[index & 31];
    struct oto_impl_exp e;
    r = ((x - k * OTO_IMPL_LN2_32_HI) - k * OTO_IMPL_LN2_32_LO) + lo;
    p = 0x1.111150588c2dep-7 + r * 0x1.6c16e7633a0bbp-10;
    p = 0x1.55555555569dfp-5 + r * p;
    p = 0x1.555555554da28p-3 + r * p;
    p = r + (r * r) * (0.5 + r * p);
    e.table = row[0];
    e.rest = row[1] + row[0] * p;
    e.exponent = (index - (index & 31)) / 32;
    return e;
}

static inline double oto_exp(double x)
{
    struct oto_impl_exp e;
    if (!(x <= 709.8 && x >= -745.2))
        return x != x ? x : x > 0.0 ? 0x1p1023 * 2.0 : 0.0;
    e = oto_impl_exp_parts(x, 0.0);
    return oto_impl_scale(e.table + e.rest, e.exponent);
}

static inline double oto_impl_expm1_small(double x) /* |x| <= 0.171 */
{
    struct oto_impl_dd square = oto_impl_two_prod(x, x), sum = oto_impl_fast_two_sum(x, 0.5 * square.hi);
    double p = 0x1.280a94d9f0c46p-22 + x * 0x1.a85115252d1aep-26;
    p = 0x1.71df0ab5466dap-19 + x * p;
    p = 0x1.a019fe597b138p-16 + x * p;
    p = 0x1.a01a018dc02d3p-13 + x * p;
    p = 0x1.6c16c16c31aa3p-10 + x * p;
    p = 0x1.1111111111a9ap-7 + x * p;
    p = 0x1.555555555554ep-5 + x * p;
    p = 0x1.5555555555555p-3 + x * p;
    return sum.hi + (sum.lo + (0.5 * square.lo + (x * square.hi) * p));
}

static inline double oto_expm1(double x)
{
    struct oto_impl_exp e;
    struct oto_impl_dd sum;
    double scale;
    if (!(x < 40.0))
        return x != x ? x : oto_exp(x); /* 1 is less than half of the last bit of exp(x) */
    if (x < -40.0)
        return -1.0;
    if (x <= 0.171 && x >= -0.171)
        return (x < 0x1p-54 && x > -0x1p-54) ? x : oto_impl_expm1_small(x);
    e = oto_impl_exp_parts(x, 0.0);
    scale = oto_impl_exp2_int(e.exponent);
    sum = oto_impl_two_sum(scale * e.table, -1.0);
    return sum.hi + (sum.lo + scale * e.rest);
}

/* log(x + x_lo) = base + r - r²/2 + cubic; base = 0 or |base| > |r| */
struct oto_impl_log {
    double base, base_lo; /* exponent ln2 + log(c) */
    double r, r_lo;       /* z/c - 1 exactly */
    double cubic;         /* log(1 + r) - r + r²/2 */
};

/* The parts of log(x + x_lo) for a positive, normal x. */
static inline struct oto_impl_log oto_impl_log_parts(double x, double x_lo)
{
    uint64_t bits = oto_impl_bits(x), offset = bits - 0x3fe6800000000000u;
    int exponent = (int)((int64_t)offset >> 52);
    const double *row = oto_impl_log_table[(offset >> 46) & 63u];
    double k = (double)exponent, z = oto_impl_from_bits(bits - ((uint64_t)(int64_t)exponent << 52)), z_hi, p;
    struct oto_impl_log l;
    struct oto_impl_dd r;
    z_hi = oto_impl_from_bits(oto_impl_bits(z) & ~(uint64_t)0x7ffffff);
    r = oto_impl_two_sum(z_hi * row[0] - 1.0, (z - z_hi) * row[0]); /* products exact: 26 or 27 bits times 9 */
    if (x_lo != 0.0)
        r = oto_impl_two_sum(r.hi, r.lo + oto_impl_scale(x_lo, -exponent) * row[0]);
    l.base = k * OTO_IMPL_LN2_HI + row[1]; /* exact: 42 fraction bits */
    l.base_lo = k * OTO_IMPL_LN2_LO + row[2];
    l.r = r.hi;
    l.r_lo = r.lo;
    p = -0x1.aec2d93331cdep-4 + r.hi * 0x1.0926cd8467a7bp-3;
    p = 0x1.c77489dd2bb36p-4 + r.hi * p;
    p = -0x1.ffff1c1284a9cp-4 + r.hi * p;
    p = 0x1.2492469f820c9p-3 + r.hi * p;
    p = -0x1.555555568914p-3 + r.hi * p;
    p = 0x1.99999999a3eb2p-3 + r.hi * p;
    p = -0x1.ffffffffffff7p-3 + r.hi * p;
    l.cubic = (r.hi * r.hi * r.hi) * (0x1.5555555555555p-2 + r.hi * p);
    return l;
}

static inline double oto_impl_log_value(struct oto_impl_log l)
{
    struct oto_impl_dd sum = oto_impl_fast_two_sum(l.base, l.r);
    return sum.hi + (sum.lo + (l.base_lo + (l.r_lo + (l.cubic - 0.5 * (l.r * l.r)))));
}

static inline double oto_log(double x)
{
    double scale_exponent = 0.0;
    struct oto_impl_log l;
    if (!(x >= 0x1p-1022 && x - x == 0.0)) {
        if (x != x || x > 1.0)
            return x;
        if (x <= 0.0)
            return x == 0.0 ? -0x1p1023 * 2.0 : (x - x) / (x - x);
        x *= 0x1p54;
        scale_exponent = -54.0;
    }
    l = oto_impl_log_parts(x, 0.0);
    l.base += scale_exponent * OTO_IMPL_LN2_HI;
    l.base_lo += scale_exponent * OTO_IMPL_LN2_LO;
    return oto_impl_log_value(l);
}

static inline double oto_log1p(double x)
{
    struct oto_impl_dd sum;
    if (!(x > -1.0 && x - x == 0.0))
        return x == -1.0 ? -0x1p1023 * 2.0 : x < -1.0 ? (x - x) / (x - x) : x;
    if (x < 0x1p-54 && x > -0x1p-54)
        return x;
    sum = oto_impl_two_sum(1.0, x);
    return oto_impl_log_value(oto_impl_log_parts(sum.hi, x > 0x1p100 ? 0.0 : sum.lo));
}

/* log(x) as a pair with relative error below 2^-66 */
static inline struct oto_impl_dd oto_impl_log_pair(double x, double scale_exponent)
{
    struct oto_impl_log l = oto_impl_log_parts(x, 0.0);
    struct oto_impl_dd square = oto_impl_two_prod(l.r, l.r), a, b;
    l.base += scale_exponent * OTO_IMPL_LN2_HI;
    l.base_lo += scale_exponent * OTO_IMPL_LN2_LO;
    a = oto_impl_fast_two_sum(l.base, l.r);
    b = oto_impl_fast_two_sum(a.hi, -0.5 * square.hi);
    return oto_impl_fast_two_sum(b.hi,
                                 b.lo + (a.lo + (l.base_lo + (l.r_lo + (l.cubic - (0.5 * square.lo + l.r * l.r_lo))))));
}

/* Every |y| >= 2^53 is an even integer. */
static inline int oto_impl_is_integer(double y)
{
    return __builtin_fabs(y) >= 0x1p52 || (double)(int64_t)y == y;
}

static inline int oto_impl_is_odd(double y)
{
    return __builtin_fabs(y) < 0x1p53 && (double)(int64_t)y == y && ((int64_t)y & 1);
}

/* x^y for finite x > 0 and finite y. */
static inline double oto_impl_pow_positive(double x, double y)
{
    double scale_exponent = 0.0, y_hi;
    struct oto_impl_dd l, p;
    struct oto_impl_exp e;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        scale_exponent = -54.0;
    }
    l = oto_impl_log_pair(x, scale_exponent);
    y_hi = y * l.hi;
    if (!(y_hi < 710.0 && y_hi > -746.0))
        return y_hi > 0.0 ? 0x1p1023 * 2.0 : 0.0;
    if (y_hi < 0x1p-60 && y_hi > -0x1p-60)
        return 1.0 + y_hi; /* the exact product below is not valid for very small or large y */
    p = oto_impl_two_prod(y, l.hi);
    e = oto_impl_exp_parts(p.hi, p.lo + y * l.lo);
    return oto_impl_scale(e.table + e.rest, e.exponent);
}

/* Special values as in C99 annex F, including negative x with integer y. */
static inline double oto_pow(double x, double y)
{
    double ax = __builtin_fabs(x), magnitude;
    int odd = oto_impl_is_odd(y);
    if (y == 0.0 || x == 1.0)
        return 1.0;
    if (x != x || y != y)
        return x + y;
    if (y - y != 0.0)
        return ax == 1.0 ? 1.0 : (ax > 1.0) == (y > 0.0) ? 0x1p1023 * 2.0 : 0.0;
    if (ax == 0.0 || ax - ax != 0.0)
        magnitude = (ax > 1.0) == (y > 0.0) ? 0x1p1023 * 2.0 : 0.0;
    else if (x < 0.0 && !oto_impl_is_integer(y))
        return (x - x) / (x - x);
    else
        magnitude = oto_impl_pow_positive(ax, y);
    return odd ? oto_impl_copysign(magnitude, x) : magnitude;
}

#endif
