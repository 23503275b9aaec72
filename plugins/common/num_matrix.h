/*
 * Small dense matrices for the estimators: row-major arrays of the caller, sizes as arguments, no allocation. Products
 * skip factors that are exactly zero, because Jacobians consist mostly of zeros and ones. Pure functions, callable from
 * any thread.
 */
#ifndef NUM_MATRIX_H
#define NUM_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#define NUM_MATRIX_MOST 32 /* limit of rows and columns of a covariance */

static inline bool num_is_finite(double x)
{
    return x - x == 0.0;
}

static inline bool num_all_finite(const double *x, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++)
        sum += x[i] - x[i];
    return sum == 0.0;
}

/* out (r × c) = a (r × k) b (k × c) */
static inline void num_matrix_mul(uint32_t r, uint32_t k, uint32_t c, const double *a, const double *b, double *out)
{
    for (uint32_t i = 0; i < r; i++) {
        for (uint32_t j = 0; j < c; j++)
            out[i * c + j] = 0.0;
        for (uint32_t l = 0; l < k; l++) {
            const double factor = a[i * k + l];
            if (factor == 0.0)
                continue;
            for (uint32_t j = 0; j < c; j++)
                out[i * c + j] += factor * b[l * c + j];
        }
    }
}

/* Copies the upper triangle into the lower one. */
static inline void num_matrix_mirror(uint32_t n, double *p)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            p[i * n + j] = p[j * n + i];
}

/* Sets a variance that became negative by rounding, and its covariances, to zero. */
static inline void num_matrix_mend(uint32_t n, double *p)
{
    for (uint32_t i = 0; i < n; i++) {
        if (p[i * n + i] >= 0.0 || !num_is_finite(p[i * n + i]))
            continue;
        for (uint32_t k = 0; k < n; k++)
            p[i * n + k] = p[k * n + i] = 0.0;
    }
}

/* p = f p fᵀ of a covariance p (n × n), symmetric to the last bit. */
static inline void num_matrix_propagate(uint32_t n, const double *f, double *p)
{
    double fp[NUM_MATRIX_MOST * NUM_MATRIX_MOST];
    num_matrix_mul(n, n, n, f, p, fp);
    for (uint32_t j = 0; j < n; j++) {
        for (uint32_t i = 0; i <= j; i++)
            p[i * n + j] = 0.0;
        for (uint32_t l = 0; l < n; l++) {
            const double factor = f[j * n + l];
            if (factor == 0.0)
                continue;
            for (uint32_t i = 0; i <= j; i++)
                p[i * n + j] += factor * fp[i * n + l];
        }
    }
    num_matrix_mirror(n, p);
    num_matrix_mend(n, p);
}

/* rowᵀ p row of a symmetric p. */
static inline double num_matrix_quadratic(uint32_t n, const double *row, const double *p)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        if (row[i] == 0.0)
            continue;
        double part = 0.0;
        for (uint32_t j = 0; j < n; j++)
            part += p[i * n + j] * row[j];
        sum += row[i] * part;
    }
    return sum;
}

#endif
