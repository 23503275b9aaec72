/*
 * Overlapping Allan deviation of a stream of rate samples (IEEE Std 952-1997 annex C; NIST SP 1065 §5.2.4), in memory
 * that does not grow with the stream. Pure: one estimator belongs to one thread.
 *
 * Averaging times are spaced evenly in the logarithm. Up to ALLAN_DENSE samples every shift is used; beyond, the phase
 * is decimated by powers of two so that at least ALLAN_DENSE/2 shifts an averaging time remain, which costs no
 * efficiency (neighbouring shifts are almost fully correlated) and keeps memory and time bounded.
 */
#ifndef CLI_ALLAN_H
#define CLI_ALLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

enum { ALLAN_DENSE = 4096, ALLAN_LEVELS = 40, ALLAN_MAX_POINTS = 512 };

struct allan_point {
    uint64_t m;          /* averaging factor, in samples */
    uint64_t terms;      /* second differences summed */
    double tau_s;        /* m / rate */
    double adev;         /* in the unit of the samples */
    double edf;          /* equivalent degrees of freedom, for the fitted noise at tau; set by allan_fit */
    double lo, hi;       /* 95 % interval of the deviation (chi-squared); set by allan_fit */
};

struct allan;

/* points_per_decade 1…30 (10 where 0). NULL: out of memory. */
struct allan *allan_create(uint32_t points_per_decade);
void allan_destroy(struct allan *allan);
enum oto_status allan_add(struct allan *allan, const double *samples, size_t count);
uint64_t allan_count(const struct allan *allan);

/* Whether all samples so far are equal: a constant has no deviation. */
bool allan_is_constant(const struct allan *allan);

/* The deviation of the samples so far, for every averaging time with at least one term. Returns the number of points. */
size_t allan_points(const struct allan *allan, double rate_hz, struct allan_point *points, size_t capacity);

/* Coefficients in the units of IEEE 952: the deviation's parts at its slopes. Each is 0 where the data show none. */
struct allan_fit {
    double n; /* random walk (white noise), unit·√s: slope −1/2, value at 1 s */
    double b; /* bias instability: the floor is 0.664·b */
    double k; /* rate random walk, unit/√s: slope +1/2, value at 3 s */
    double q; /* quantisation, unit·s: slope −1 */
    double r; /* ramp, unit/s: slope +1 */
    double n_se, b_se, k_se; /* standard errors; NaN where the coefficient is 0 */
    double chi2; /* per point, of the weighted fit: near 1 where the model holds */
};

enum { ALLAN_Q = 1, ALLAN_N = 2, ALLAN_B = 4, ALLAN_K = 8, ALLAN_R = 16, ALLAN_ALL = 31 };

/* Range and terms of the fit. The floor of a real sensor is flat over a limited range of averaging times; B holds there. */
struct allan_fit_options {
    double tau_min_s, tau_max_s; /* points within; 0: no bound */
    unsigned terms;              /* ALLAN_…; 0: all */
};

/*
 * Joint, weighted, non-negative least squares on the variance over the points within the bounds. Sets the standard errors,
 * and the degrees of freedom and the interval of every point by the fitted slopes. `samples` is allan_count;
 * options NULL: all points, all terms.
 */
void allan_fit(struct allan_point *points, size_t count, uint64_t samples, const struct allan_fit_options *options,
               struct allan_fit *fit);
/*
 * The standard errors of allan_fit if the coefficients of `fit` are the true ones, for the terms that are not zero: sets
 * n_se, b_se, k_se and the points' degrees of freedom. False: out of memory, or too few points.
 */
bool allan_standard_errors(struct allan_point *points, size_t count, uint64_t samples,
                           const struct allan_fit_options *options, struct allan_fit *fit);
/*
 * The lowest point, which data sheets call in-run bias stability, among the averaging times of which the record has nine at
 * least: the standard error 1/√(2 (n − 1)) of IEEE Std 952 is then 25 % at most. Of a shorter record, the first point.
 */
const struct allan_point *allan_lowest(const struct allan_point *points, size_t count, uint64_t samples);
/* The fitted deviation at tau. */
double allan_model(const struct allan_fit *fit, double tau_s);

#endif
