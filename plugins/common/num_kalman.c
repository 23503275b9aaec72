#include "num_kalman.h"

#include <string.h>

#include "num_cholesky.h"

enum { MOST_CELLS = NUM_MATRIX_MOST * NUM_MATRIX_MOST, MOST_GAIN = NUM_MATRIX_MOST * NUM_KALMAN_ROWS };

/* out (n × m) = p Hᵀ, of a square p that need not be symmetric */
static void times_transposed(uint32_t n, uint32_t m, const double *p, const double *h, double *out)
{
    for (uint32_t i = 0; i < n * m; i++) {
        out[i] = 0.0;
    }
    for (uint32_t k = 0; k < m; k++) {
        for (uint32_t j = 0; j < n; j++) {
            const double factor = h[k * n + j];
            for (uint32_t i = 0; factor != 0.0 && i < n; i++) {
                out[i * m + k] += p[i * n + j] * factor;
            }
        }
    }
}

static void innovation_covariance(uint32_t n, const struct num_kalman_row *row, const double *pht, double *s)
{
    const uint32_t m = row->m;
    num_matrix_mul(m, n, m, row->jacobian, pht, s);
    for (uint32_t i = 0; i < m; i++) {
        for (uint32_t j = i; j < m; j++) {
            s[i * m + j] = 0.5 * (s[i * m + j] + s[j * m + i]) + row->noise[i * m + j];
        }
    }
    num_matrix_mirror(m, s);
}

/* gain (n × m) = P Hᵀ S⁻¹ with S = L Lᵀ, but for the rows of considered states */
static void gain_of(uint32_t n, const struct num_kalman_row *row, const double *pht, const double *l, double *gain)
{
    const uint32_t m = row->m;
    memcpy(gain, pht, (size_t)n * m * sizeof *gain);
    for (uint32_t i = 0; i < n; i++) {
        if ((row->considered >> i & 1u) != 0) {
            memset(gain + i * m, 0, m * sizeof *gain);
        }
        num_cholesky_forward(m, l, gain + i * m);
        num_cholesky_backward(m, l, gain + i * m);
    }
}

/* a = p − u vᵀ; `upper`: only its upper triangle */
static void minus_outer(uint32_t n, uint32_t m, const double *p, const double *u, const double *v, bool upper, double *a)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = upper ? i : 0; j < n; j++) {
            double sum = p[i * n + j];
            for (uint32_t k = 0; k < m; k++) {
                sum -= u[i * m + k] * v[j * m + k];
            }
            a[i * n + j] = sum;
        }
    }
}

static void joseph(uint32_t n, const struct num_kalman_row *row, const double *p, const double *pht, const double *gain,
                   double *next)
{
    const uint32_t m = row->m;
    double a[MOST_CELLS], b[MOST_GAIN], noise[MOST_GAIN];
    minus_outer(n, m, p, gain, pht, false, a);
    times_transposed(n, m, a, row->jacobian, b);
    num_matrix_mul(n, m, m, gain, row->noise, noise);
    for (uint32_t i = 0; i < n * m; i++) {
        b[i] -= noise[i];
    }
    minus_outer(n, m, a, b, gain, true, next);
    num_matrix_mirror(n, next);
}

/* Limit of the size of a correction: its sum with a state, and the square of that sum, must stay finite. */
#define MOST_CORRECTION 1e150

static bool is_correction(uint32_t n, const double *dx)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(dx[i] <= MOST_CORRECTION && dx[i] >= -MOST_CORRECTION)) {
            return false;
        }
    }
    return true;
}

static bool is_covariance(uint32_t n, const double *p)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!(p[i * n + i] >= 0.0)) {
            return false;
        }
    }
    return num_all_finite(p, n * n);
}

enum num_kalman_result num_kalman_update(uint32_t n, struct num_kalman_row *row, double *p, double *dx)
{
    const uint32_t m = row->m;
    double pht[MOST_GAIN], gain[MOST_GAIN], s[NUM_KALMAN_ROWS * NUM_KALMAN_ROWS], next[MOST_CELLS];
    double distance[NUM_KALMAN_ROWS];
    row->nis = 0.0;
    if (n == 0 || n > NUM_MATRIX_MOST || m == 0 || m > NUM_KALMAN_ROWS) {
        return NUM_KALMAN_SINGULAR;
    }
    times_transposed(n, m, p, row->jacobian, pht);
    innovation_covariance(n, row, pht, s);
    for (uint32_t i = 0; i < m; i++) {
        row->sigma[i] = s[i * m + i] > 0.0 ? oto_sqrt(s[i * m + i]) : 0.0;
        distance[i] = row->innovation[i];
    }
    if (!num_cholesky(m, s)) {
        return NUM_KALMAN_SINGULAR;
    }
    const double nis = num_cholesky_distance(m, s, distance);
    if (!num_is_finite(nis)) {
        return NUM_KALMAN_NON_FINITE;
    }
    row->nis = nis;
    if (row->gate > 0.0 && nis > row->gate) {
        return NUM_KALMAN_GATED;
    }
    gain_of(n, row, pht, s, gain);
    joseph(n, row, p, pht, gain, next);
    num_matrix_mul(n, m, 1, gain, row->innovation, dx);
    if (!is_covariance(n, next) || !is_correction(n, dx)) {
        return NUM_KALMAN_NON_FINITE;
    }
    memcpy(p, next, (size_t)n * n * sizeof *p);
    return NUM_KALMAN_USED;
}

/* The regularised lower gamma function P(degrees/2, x/2), by its power series (Abramowitz & Stegun 6.5.29). */
static double chi2_probability(double x, uint32_t degrees)
{
    const double a = 0.5 * degrees, half = 0.5 * x;
    double log_gamma = degrees % 2 == 0 ? 0.0 : 0.5 * oto_log(OTO_PI); /* log of Gamma(a + 1), by recurrence from 1
                                                                        * or 1/2 */
    for (double k = degrees % 2 == 0 ? 1.0 : 0.5; k < a + 0.75; k += 1.0) {
        log_gamma += oto_log(k);
    }
    double term = 1.0, sum = 1.0;
    for (double k = a + 1.0; term > 1e-17 * sum; k += 1.0) {
        term *= half / k;
        sum += term;
    }
    return half > 0.0 ? oto_exp(a * oto_log(half) - half - log_gamma) * sum : 0.0;
}

double num_chi2_quantile(double probability, uint32_t degrees)
{
    double low = 0.0, high = degrees + 10.0;
    while (chi2_probability(high, degrees) < probability && high < 1e6) {
        high *= 2.0;
    }
    for (int i = 0; i < 200 && high - low > 1e-13 * high; i++) {
        const double middle = 0.5 * (low + high);
        *(chi2_probability(middle, degrees) < probability ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}
