/*
 * Bias instability as a process in time: a sum of first-order Gauss-Markov processes whose Allan deviation is flat at
 * 0.664 over a range of averaging times, or one process whose Allan deviation has its peak there. One deviate for each
 * sample drives the whole sum (README.md). Pure numbers.
 */
#ifndef NUM_INSTABILITY_H
#define NUM_INSTABILITY_H

#include <stdint.h>

#include "num_pack.h"

#define NUM_INSTABILITY_POLES 8

/* sqrt(2 ln 2 / pi): Allan deviation of flicker noise of coefficient 1 (IEEE Std 952-1997, C.1.3). */
#define NUM_FLICKER_FLOOR 0.66428247026796006
/* Highest Allan deviation of a Gauss-Markov process of unit variance, at tau = 1.893 times its correlation time. */
#define NUM_GAUSS_MARKOV_PEAK 0.61736428175016118

struct num_instability {
    uint32_t count; /* processes in use; the others are zero */
    uint32_t reserved;
    double correlation_s[NUM_INSTABILITY_POLES];
    double variance[NUM_INSTABILITY_POLES]; /* contribution of each process to the autocovariance of the sum */
    double decay[NUM_INSTABILITY_POLES];    /* exp(-dt/T) */
    double drive[NUM_INSTABILITY_POLES];
    double start[NUM_INSTABILITY_POLES][NUM_INSTABILITY_POLES]; /* Cholesky factor of the stationary covariance */
};

/* Allan variance at averaging time tau of a Gauss-Markov process of unit variance and correlation time T. */
double num_gauss_markov_avar(double correlation_s, double tau_s);

/* Fits a floor over [tau_min_s, tau_max_s] for the sample period dt_s. tau_min_s is raised to at least ten periods. */
void num_instability_fit_floor(struct num_instability *fit, double tau_min_s, double tau_max_s, double dt_s);

/* Fits one process of correlation time T whose Allan deviation has its peak at the floor. */
void num_instability_fit_single(struct num_instability *fit, double correlation_s, double dt_s);

/*
 * Makes a fit of `count` independent processes with the given correlation times and standard deviations, at most
 * NUM_INSTABILITY_POLES. Processes with a standard deviation of zero are omitted.
 */
void num_instability_fit_given(struct num_instability *fit, const double *correlation_s, const double *deviation,
                               uint32_t count, double dt_s);

/* Draws from the stationary distribution with `count` deviates. */
void num_instability_start(const struct num_instability *fit, const double *deviates, double *state);

NUM_INLINE num_pack num_instability_pack(const double *decay, const double *drive, double *state, double deviate, int i)
{
    const num_pack next =
        num_pack_load(&decay[i]) * num_pack_load(&state[i]) + num_pack_load(&drive[i]) * deviate;
    num_pack_store(&state[i], next);
    return next;
}

/*
 * Advances the processes of one axis by a period and returns their sum. The order of additions is the same at any
 * width.
 */
NUM_INLINE double num_instability_step(const double *decay, const double *drive, double *state, double deviate)
{
#if NUM_WIDTH == 4
    const num_pack low = num_instability_pack(decay, drive, state, deviate, 0);
    const num_pack high = num_instability_pack(decay, drive, state, deviate, 4);
    const num_pair sum = (__builtin_shufflevector(low, low, 0, 1) + __builtin_shufflevector(low, low, 2, 3)) +
                         (__builtin_shufflevector(high, high, 0, 1) + __builtin_shufflevector(high, high, 2, 3));
#else
    const num_pair sum = (num_instability_pack(decay, drive, state, deviate, 0) +
                          num_instability_pack(decay, drive, state, deviate, 2)) +
                         (num_instability_pack(decay, drive, state, deviate, 4) +
                          num_instability_pack(decay, drive, state, deviate, 6));
#endif
    return sum[0] + sum[1];
}

#endif
