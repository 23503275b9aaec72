/*
 * Cholesky factor L of a symmetric positive matrix, A = L Lᵀ, and solving with it. Row-major; the lower triangle is
 * used. A pivot at or below 1e-13 of its own diagonal counts as zero, because it consists of rounding errors. Pure
 * functions.
 */
#ifndef NUM_CHOLESKY_H
#define NUM_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/detmath.h"

#define NUM_CHOLESKY_ROUNDING 1e-13

/* Replaces the matrix by its factor. False if the matrix is not positive definite or not finite; `a` is then destroyed. */
static inline bool num_cholesky(uint32_t n, double *a)
{
    for (uint32_t j = 0; j < n; j++) {
        const double diagonal = a[j * n + j];
        double pivot = diagonal;
        for (uint32_t k = 0; k < j; k++)
            pivot -= a[j * n + k] * a[j * n + k];
        if (!(diagonal > 0.0) || !(pivot > NUM_CHOLESKY_ROUNDING * diagonal) || pivot - pivot != 0.0)
            return false;
        const double root = oto_sqrt(pivot), inverse = 1.0 / root;
        a[j * n + j] = root;
        for (uint32_t i = j + 1; i < n; i++) {
            double sum = a[i * n + j];
            for (uint32_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = sum * inverse;
        }
    }
    return true;
}

/* x = L⁻¹ x */
static inline void num_cholesky_forward(uint32_t n, const double *l, double *x)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++)
            x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
}

/* x = L⁻ᵀ x */
static inline void num_cholesky_backward(uint32_t n, const double *l, double *x)
{
    for (uint32_t i = n; i-- > 0;) {
        for (uint32_t k = i + 1; k < n; k++)
            x[i] -= l[k * n + i] * x[k];
        x[i] /= l[i * n + i];
    }
}

/* Returns xᵀ A⁻¹ x; replaces x by L⁻¹ x. */
static inline double num_cholesky_distance(uint32_t n, const double *l, double *x)
{
    double sum = 0.0;
    num_cholesky_forward(n, l, x);
    for (uint32_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

#endif
