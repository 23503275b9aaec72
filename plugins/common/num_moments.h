/*
 * I_k = ∫₀¹ sᵏ cos(αs) ds and J_k = ∫₀¹ sᵏ sin(αs) ds for k = 0, 1, 2, at every α, zero included. They describe paths
 * of constant turn rate. Below |α| = 1 they are computed by Taylor series with as many terms for each range of α as
 * reach the last bit (the first omitted term is below 3e-17 of the sum), above by partial integration. Pure and inline,
 * callable from any thread.
 */
#ifndef NUM_MOMENTS_H
#define NUM_MOMENTS_H

#include "otolith/detmath.h"

struct num_moments {
    double cosine[3], sine[3];
};

/* Coefficients of x = -α²: 1/((2n)!(2n+k+1)) for the cosine and, with a factor α, 1/((2n+1)!(2n+k+2)) for the sine. */
#define NUM_MOMENTS_TERMS 10
#define NUM_MOMENTS_ROW_(even, odd, n) \
    {1.0 / ((even) * (2.0 * (n) + 1.0)), 1.0 / ((odd) * (2.0 * (n) + 2.0)), 1.0 / ((even) * (2.0 * (n) + 2.0)), \
     1.0 / ((odd) * (2.0 * (n) + 3.0)),  1.0 / ((even) * (2.0 * (n) + 3.0)), 1.0 / ((odd) * (2.0 * (n) + 4.0))}
static const double num_moments_series[NUM_MOMENTS_TERMS][6] = {
    NUM_MOMENTS_ROW_(1.0, 1.0, 0.0),
    NUM_MOMENTS_ROW_(2.0, 6.0, 1.0),
    NUM_MOMENTS_ROW_(24.0, 120.0, 2.0),
    NUM_MOMENTS_ROW_(720.0, 5040.0, 3.0),
    NUM_MOMENTS_ROW_(40320.0, 362880.0, 4.0),
    NUM_MOMENTS_ROW_(3628800.0, 39916800.0, 5.0),
    NUM_MOMENTS_ROW_(479001600.0, 6227020800.0, 6.0),
    NUM_MOMENTS_ROW_(87178291200.0, 1307674368000.0, 7.0),
    NUM_MOMENTS_ROW_(20922789888000.0, 355687428096000.0, 8.0),
    NUM_MOMENTS_ROW_(6402373705728000.0, 121645100408832000.0, 9.0),
};

/* Two terms of column c from row n on. */
static inline double num_moments_pair(int n, int c, double x)
{
    return num_moments_series[n][c] + num_moments_series[n + 1][c] * x;
}

/* Sums in a fixed and shallow order; all columns share the powers of x. */
static inline double num_moments_sum4(int c, double x, double x2)
{
    return num_moments_pair(0, c, x) + x2 * num_moments_pair(2, c, x);
}

static inline double num_moments_sum6(int c, double x, double x2)
{
    return num_moments_pair(0, c, x) + x2 * (num_moments_pair(2, c, x) + x2 * num_moments_pair(4, c, x));
}

static inline double num_moments_sum10(int c, double x, double x2)
{
    return num_moments_sum4(c, x, x2) + (x2 * x2) * ((num_moments_pair(4, c, x) + x2 * num_moments_pair(6, c, x)) +
                                                     (x2 * x2) * num_moments_pair(8, c, x));
}

/* Partial integration. 1 - cos α is computed as 2 sin²(α/2), which does not cancel. */
static inline void num_moments_by_parts(double alpha, struct num_moments *m)
{
    double s, c, half_s, half_c;
    oto_sincos(0.5 * alpha, &half_s, &half_c);
    s = 2.0 * half_s * half_c;
    c = 1.0 - 2.0 * half_s * half_s;
    m->cosine[0] = s / alpha;
    m->sine[0] = 2.0 * half_s * half_s / alpha;
    m->cosine[1] = (s - m->sine[0]) / alpha;
    m->sine[1] = (m->cosine[0] - c) / alpha;
    m->cosine[2] = (s - 2.0 * m->sine[1]) / alpha;
    m->sine[2] = (2.0 * m->cosine[1] - c) / alpha;
}

/* The moments k < count; `count` must be a compile-time constant, so that the loops are unrolled. */
static inline __attribute__((always_inline)) void num_moments_at(double alpha, int count, struct num_moments *m)
{
    const double magnitude = oto_fabs(alpha), x = -alpha * alpha, x2 = x * x;
    if (magnitude < 0x1p-5) {
        for (int k = 0; k < count; k++) {
            m->cosine[k] = num_moments_sum4(2 * k, x, x2);
            m->sine[k] = alpha * num_moments_sum4(2 * k + 1, x, x2);
        }
    } else if (magnitude < 0x1p-2) {
        for (int k = 0; k < count; k++) {
            m->cosine[k] = num_moments_sum6(2 * k, x, x2);
            m->sine[k] = alpha * num_moments_sum6(2 * k + 1, x, x2);
        }
    } else if (magnitude < 1.0) {
        for (int k = 0; k < count; k++) {
            m->cosine[k] = num_moments_sum10(2 * k, x, x2);
            m->sine[k] = alpha * num_moments_sum10(2 * k + 1, x, x2);
        }
    } else {
        num_moments_by_parts(alpha, m);
    }
}

#endif
