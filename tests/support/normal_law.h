/* Whether many numbers are standard normal deviates. Q = 5.7e-7 is the chance that five sigmas allow, both sides. */
#ifndef NORMAL_LAW_H
#define NORMAL_LAW_H

#include "oto_test.h"

#define NORMAL_SIGMAS 5.0

static inline int normal_compare_(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: P(D √n > x) = 2 exp(-2 x²) is Q at x = 2.745. */
static inline void assert_normal_distribution(const double *z, int count)
{
    double *sorted = malloc((size_t)count * sizeof *sorted), worst = 0.0;
    assert_non_null(sorted);
    memcpy(sorted, z, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, normal_compare_);
    for (int i = 0; i < count; i++) {
        const double p = 0.5 * erfc(-sorted[i] * sqrt(0.5));
        worst = fmax(worst, fmax(p - (double)i / count, (double)(i + 1) / count - p));
    }
    free(sorted);
    assert_near(worst * sqrt(count), 0.0, 2.745);
}

/* Most counts allowed of a Poisson law of this mean: the smallest k with P(more than k) < Q/2. */
static inline double normal_poisson_bound_(double mean)
{
    double term = exp(-mean), below = term, k = 0.0;
    while (1.0 - below > 2.85e-7) {
        k += 1.0;
        term *= mean / k;
        below += term;
    }
    return k;
}

/* The shares beyond one to five sigmas are binomial: σ² = n p (1 - p), or Poisson's where few are expected. */
static inline void assert_normal_tails(const double *z, int count)
{
    for (int s = 1; s <= 5; s++) {
        const double p = 0.5 * erfc(s * sqrt(0.5)), expected = p * count;
        double above = 0.0, below = 0.0;
        for (int i = 0; i < count; i++) {
            above += z[i] > s;
            below += z[i] < -s;
        }
        if (expected > 30.0) {
            assert_near(above, expected, NORMAL_SIGMAS * sqrt(expected * (1.0 - p)));
            assert_near(below, expected, NORMAL_SIGMAS * sqrt(expected * (1.0 - p)));
        } else {
            assert_true(above <= normal_poisson_bound_(expected) && below <= normal_poisson_bound_(expected));
        }
    }
}

#endif
