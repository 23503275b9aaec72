/*
 * The joint fit: variance = 3q²/τ² + n²/τ + b²·2ln2/π + k²τ/3 + r²τ²/2, linear in the five squares. Weights are the
 * estimator's own (variance of a variance is 2σ⁴/edf); a square that would be negative is left out. With five
 * candidates all thirty-one subsets are tried: exact non-negative least squares without an iteration that may stall.
 */
#include "allan_terms.h"

#include <math.h>
#include <string.h>

void allan_basis(double tau_s, double row[TERMS])
{
    row[0] = 3.0 / (tau_s * tau_s);
    row[1] = 1.0 / tau_s;
    row[2] = 2.0 * 0.6931471805599453 / 3.141592653589793;
    row[3] = tau_s / 3.0;
    row[4] = tau_s * tau_s / 2.0;
}

/* Cholesky of the chosen rows and columns, scaled to a unit diagonal. False where they are not independent. */
bool allan_solve(double matrix[TERMS][TERMS], const double right[TERMS], unsigned subset, double solution[TERMS])
{
    int index[TERMS], size = 0;
    double scale[TERMS], lower[TERMS][TERMS], y[TERMS];
    for (int i = 0; i < TERMS; i++) {
        solution[i] = 0.0;
        if ((subset >> i) & 1u) {
            scale[size] = 1.0 / sqrt(matrix[i][i]);
            index[size++] = i;
        }
    }
    for (int i = 0; i < size; i++) {
        y[i] = right[index[i]] * scale[i];
        for (int k = 0; k <= i; k++) {
            double sum = matrix[index[i]][index[k]] * scale[i] * scale[k];
            for (int j = 0; j < k; j++) {
                sum -= lower[i][j] * lower[k][j];
            }
            if (i == k && sum <= 1e-13) {
                return false;
            }
            lower[i][k] = i == k ? sqrt(sum) : sum / lower[k][k];
        }
        for (int k = 0; k < i; k++) {
            y[i] -= lower[i][k] * y[k];
        }
        y[i] /= lower[i][i];
    }
    for (int i = size - 1; i >= 0; i--) {
        for (int k = i + 1; k < size; k++) {
            y[i] -= lower[k][i] * y[k];
        }
        y[i] /= lower[i][i];
        solution[index[i]] = y[i] * scale[i];
    }
    return true;
}

double allan_variance_of(const double squares[TERMS], double tau_s)
{
    double row[TERMS], sum = 0.0;
    allan_basis(tau_s, row);
    for (int i = 0; i < TERMS; i++) {
        sum += squares[i] * row[i];
    }
    return sum;
}

static void fit_once(const struct allan_point *points, const double *weights, size_t count, unsigned terms,
                     double best[TERMS], double *best_chi2)
{
    double matrix[TERMS][TERMS], right[TERMS], squares[TERMS];
    memset(matrix, 0, sizeof matrix);
    memset(right, 0, sizeof right);
    for (size_t p = 0; p < count; p++) {
        double row[TERMS];
        allan_basis(points[p].tau_s, row);
        for (int i = 0; i < TERMS; i++) {
            right[i] += weights[p] * row[i] * points[p].adev * points[p].adev;
            for (int k = 0; k < TERMS; k++) {
                matrix[i][k] += weights[p] * row[i] * row[k];
            }
        }
    }
    *best_chi2 = INFINITY;
    for (unsigned subset = 1; subset < 1u << TERMS; subset++) {
        bool feasible = (subset & ~terms) == 0 && allan_solve(matrix, right, subset, squares);
        for (int i = 0; i < TERMS; i++) {
            feasible = feasible && squares[i] >= 0.0;
        }
        double chi2 = 0.0;
        for (size_t p = 0; feasible && p < count; p++) {
            const double miss = points[p].adev * points[p].adev - allan_variance_of(squares, points[p].tau_s);
            chi2 += weights[p] * miss * miss;
        }
        if (feasible && chi2 < *best_chi2) {
            *best_chi2 = chi2;
            memcpy(best, squares, sizeof squares);
        }
    }
}

/*
 * Equivalent degrees of freedom of the overlapping estimator from n phase points, by the exponent of the noise:
 * Riley, NIST SP 1065 (2008), table 5 (after Howe, Allan and Barnes 1981).
 */
static double degrees_of_freedom(double slope, double n, double m)
{
    double edf;
    if (slope < -0.75) { /* white and flicker phase: quantisation */
        edf = (n + 1.0) * (n - 2.0 * m) / (2.0 * (n - m));
    } else if (slope < -0.25) { /* white frequency: N */
        edf = (3.0 * (n - 1.0) / (2.0 * m) - 2.0 * (n - 2.0) / n) * 4.0 * m * m / (4.0 * m * m + 5.0);
    } else if (slope < 0.25) { /* flicker frequency: B */
        edf = m < 2.0 ? 2.0 * (n - 2.0) * (n - 2.0) / (2.3 * n - 4.9) : 5.0 * n * n / (4.0 * m * (n + 3.0 * m));
    } else { /* random walk of frequency: K, and slower */
        edf = (n - 2.0) / m * ((n - 1.0) * (n - 1.0) - 3.0 * m * (n - 1.0) + 4.0 * m * m) / ((n - 3.0) * (n - 3.0));
    }
    return edf > 1.0 ? edf : 1.0;
}

/* Wilson and Hilferty (1931): within 1 % of the chi-squared quantile from three degrees of freedom on. */
static double chi_squared_quantile(double edf, double z)
{
    const double part = 2.0 / (9.0 * edf);
    const double root = 1.0 - part + z * sqrt(part);
    return root > 0.0 ? edf * root * root * root : 1e-6 * edf;
}

/* The slope of the fitted deviation at tau, in decades per decade. */
static double slope_at(const double squares[TERMS], double tau_s)
{
    static const double slopes[TERMS] = {-1.0, -0.5, 0.0, 0.5, 1.0};
    double row[TERMS], sum = 0.0, weighted = 0.0;
    allan_basis(tau_s, row);
    for (int i = 0; i < TERMS; i++) {
        sum += squares[i] * row[i];
        weighted += slopes[i] * squares[i] * row[i];
    }
    return sum > 0.0 ? weighted / sum : -0.5;
}

void allan_set_freedom(struct allan_point *points, size_t count, uint64_t samples, const double squares[TERMS])
{
    for (size_t i = 0; i < count; i++) {
        points[i].edf =
            degrees_of_freedom(slope_at(squares, points[i].tau_s), (double)samples + 1.0, (double)points[i].m);
    }
}

size_t allan_weights(const struct allan_point *points, size_t count, const struct allan_fit_options *options,
                     const double *squares, double *weights)
{
    size_t used = 0;
    for (size_t p = 0; p < count; p++) {
        const double tau_s = points[p].tau_s;
        const double variance =
            squares == NULL ? points[p].adev * points[p].adev : allan_variance_of(squares, tau_s);
        const bool within = tau_s >= options->tau_min_s * (1.0 - 1e-9) &&
                            (!(options->tau_max_s > 0.0) || tau_s <= options->tau_max_s * (1.0 + 1e-9));
        weights[p] = within && variance > 0.0 ? points[p].edf / (2.0 * variance * variance) : 0.0;
        used += weights[p] > 0.0;
    }
    return used;
}

static void set_intervals(struct allan_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double edf = points[i].edf;
        points[i].lo = points[i].adev * sqrt(edf / chi_squared_quantile(edf, 1.959963984540054));
        points[i].hi = points[i].adev * sqrt(edf / chi_squared_quantile(edf, -1.959963984540054));
    }
}

void allan_fit(struct allan_point *points, size_t count, uint64_t samples, const struct allan_fit_options *options,
               struct allan_fit *fit)
{
    static const struct allan_fit_options everything = {0.0, 0.0, ALLAN_ALL};
    double squares[TERMS] = {0}, weights[ALLAN_MAX_POINTS], chi2 = 0.0;
    size_t used = 3;
    memset(fit, 0, sizeof *fit);
    options = options != NULL ? options : &everything;
    count = count < ALLAN_MAX_POINTS ? count : ALLAN_MAX_POINTS;
    allan_set_freedom(points, count, samples, squares);
    /* The first weights are from the data, the next from the model, because points that are low by chance get too much weight. */
    for (int round = 0; round < 5 && used >= 3; round++) {
        used = allan_weights(points, count, options, round == 0 ? NULL : squares, weights);
        if (used >= 3) {
            fit_once(points, weights, count, options->terms != 0 ? options->terms : ALLAN_ALL, squares, &chi2);
            allan_set_freedom(points, count, samples, squares);
        }
    }
    set_intervals(points, count);
    fit->q = sqrt(squares[0]);
    fit->n = sqrt(squares[1]);
    fit->b = sqrt(squares[2]);
    fit->k = sqrt(squares[3]);
    fit->r = sqrt(squares[4]);
    fit->chi2 = used >= 3 ? chi2 / (double)used : 0.0;
    (void)allan_standard_errors(points, count, samples, options, fit);
}

double allan_model(const struct allan_fit *fit, double tau_s)
{
    const double squares[TERMS] = {fit->q * fit->q, fit->n * fit->n, fit->b * fit->b, fit->k * fit->k, fit->r * fit->r};
    return sqrt(allan_variance_of(squares, tau_s));
}
