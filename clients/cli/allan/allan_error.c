/*
 * Standard errors of the fitted coefficients. The points of one curve come from the same samples and are correlated, so
 * the inverse of the weighted normal matrix alone would be too small; the covariance of the points is derived instead.
 *
 * The estimate at tau is the time average of the square of the samples' response to the filter H_tau. For Gaussian noise
 * of density S(f), by Isserlis and Parseval, two such averages over a record much longer than tau have the covariance
 * (2/T) ∫ S² |H_i|² |H_j|² df, |H_m|² = 2 sin⁴(π f m dt) / (m sin(π f dt))². The correlation of two points is taken from
 * that integral, their variances 2 σ⁴/edf from the degrees of freedom, which hold up to half the record. With weights W
 * and the points' covariance C the squares have the covariance (A'WA)⁻¹ A'WCWA (A'WA)⁻¹; d(x²) = 2x dx gives the errors.
 *
 * Measured: over 150 records of five hours at 20 Hz of simulated MEMS rest, fit over derived error spread by 0.90 to
 * 1.06 for N and B; over 117 days of rest 0.93 to 0.96 for K (1/√300 and 1/√234 are 0.06).
 */
#include "allan_terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.141592653589793

/* Frequencies per octave. Where their distance exceeds PHASE_STEP radians, sin⁴ is replaced by its mean, 3/8. */
enum { PER_OCTAVE = 48 };
#define PHASE_STEP 0.5
#define LEAST_CLUSTERS 9 /* averages in the record, for a point to be the lowest */

/* Density of the model (IEEE Std 952-1997, annex C); the ramp is no noise. */
static double density(const double squares[TERMS], double f_hz, double dt_s)
{
    const double w = 2.0 * PI * f_hz, s = sin(PI * f_hz * dt_s);
    return 4.0 * squares[0] * s * s / dt_s + squares[1] + squares[2] / w + squares[3] / (w * w);
}

static double sin4(double f_hz, double step_hz, double tau_s)
{
    if (PI * step_hz * tau_s > PHASE_STEP) {
        return 0.375;
    }
    const double s = sin(PI * f_hz * tau_s);
    return s * s * s * s;
}

/* gram[i][j] = ∫ S² |H_i|² |H_j|² df, up to a constant factor; `row` has room for `count`. */
static void integrate(const struct allan_point *points, size_t count, const double squares[TERMS], double *gram, double *row)
{
    const double dt_s = points[0].tau_s / (double)points[0].m;
    const double ratio = exp2(1.0 / PER_OCTAVE);
    for (double f_hz = 0.01 / points[count - 1].tau_s; f_hz < 0.5 / dt_s; f_hz *= ratio) {
        const double step_hz = f_hz * (ratio - 1.0);
        const double level = density(squares, f_hz, dt_s) * sqrt(step_hz);
        for (size_t i = 0; i < count; i++) {
            const double gain = (double)points[i].m * sin(PI * f_hz * dt_s);
            row[i] = level * sin4(f_hz, step_hz, points[i].tau_s) / (gain * gain);
            for (size_t j = 0; j <= i; j++) {
                gram[i * count + j] += row[i] * row[j];
            }
        }
    }
}

/* A'WA and A'WCWA of the points: W C W = ρ √(w w') because w is one over the variance. */
static void add_up(const struct allan_point *points, size_t count, const double *weights, const double *gram,
                   double normal[TERMS][TERMS], double middle[TERMS][TERMS])
{
    for (size_t p = 0; p < count; p++) {
        double left[TERMS];
        allan_basis(points[p].tau_s, left);
        for (size_t q = 0; weights[p] > 0.0 && q <= p; q++) {
            double right[TERMS];
            const double rho = gram[p * count + q] / sqrt(gram[p * count + p] * gram[q * count + q]);
            const double weight = rho * sqrt(weights[p] * weights[q]);
            allan_basis(points[q].tau_s, right);
            for (int i = 0; weights[q] > 0.0 && i < TERMS; i++) {
                for (int k = 0; k < TERMS; k++) {
                    normal[i][k] += p == q ? weights[p] * left[i] * left[k] : 0.0;
                    middle[i][k] += weight * (p == q ? left[i] * left[k] : left[i] * right[k] + right[i] * left[k]);
                }
            }
        }
    }
}

/* Variance of square number `term`: inverse · middle · inverse, element (term, term). */
static double variance_of_square(double normal[TERMS][TERMS], double middle[TERMS][TERMS], unsigned subset, int term)
{
    double unit[TERMS] = {0}, row[TERMS], sum = 0.0;
    unit[term] = 1.0;
    if (!allan_solve(normal, unit, subset, row)) {
        return NAN;
    }
    for (int i = 0; i < TERMS; i++) {
        for (int k = 0; k < TERMS; k++) {
            sum += row[i] * middle[i][k] * row[k];
        }
    }
    return sum;
}

static double error_of(double normal[TERMS][TERMS], double middle[TERMS][TERMS], unsigned subset, int term, double value)
{
    return (subset >> term & 1u) != 0 ? sqrt(variance_of_square(normal, middle, subset, term)) / (2.0 * value) : NAN;
}

bool allan_standard_errors(struct allan_point *points, size_t count, uint64_t samples,
                           const struct allan_fit_options *options, struct allan_fit *fit)
{
    const double squares[TERMS] = {fit->q * fit->q, fit->n * fit->n, fit->b * fit->b, fit->k * fit->k, fit->r * fit->r};
    double weights[ALLAN_MAX_POINTS], normal[TERMS][TERMS], middle[TERMS][TERMS];
    unsigned subset = 0;
    memset(normal, 0, sizeof normal);
    memset(middle, 0, sizeof middle);
    fit->n_se = fit->b_se = fit->k_se = NAN;
    for (int i = 0; i < TERMS; i++) {
        subset |= squares[i] > 0.0 ? 1u << i : 0u;
    }
    allan_set_freedom(points, count, samples, squares);
    double *gram = calloc(count * count + count + 1, sizeof *gram);
    if (gram == NULL || allan_weights(points, count, options, squares, weights) < 3) {
        free(gram);
        return false;
    }
    integrate(points, count, squares, gram, gram + count * count);
    add_up(points, count, weights, gram, normal, middle);
    free(gram);
    fit->n_se = error_of(normal, middle, subset, 1, fit->n);
    fit->b_se = error_of(normal, middle, subset, 2, fit->b);
    fit->k_se = error_of(normal, middle, subset, 3, fit->k);
    return true;
}

const struct allan_point *allan_lowest(const struct allan_point *points, size_t count, uint64_t samples)
{
    const struct allan_point *lowest = &points[0];
    for (size_t p = 1; p < count && points[p].m <= samples / LEAST_CLUSTERS; p++) {
        lowest = points[p].adev < lowest->adev ? &points[p] : lowest;
    }
    return lowest;
}
