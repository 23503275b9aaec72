/*
 * The band limit before sampling: a low-pass of first or second order on the exposure, so that vibration aliases only
 * as far as the part allows. It is the exact response of the continuous filter to an input that is linear between
 * `substeps` inputs a period. README.md has the equations. Prepare belongs to the loop, the rest to the tick.
 */
#ifndef NUM_BAND_H
#define NUM_BAND_H

#include <stdint.h>

#include "num_suite.h"
#include "otolith/status.h"

#define NUM_BAND_CHANNELS 9 /* specific force, angular rate, magnetic field */

/* A member of a parameter block. All zero (with any order, damping, substeps) means no filter. */
struct num_band_params {
    double limit_hz; /* order 1: frequency of half power; order 2: natural frequency */
    int64_t order;
    double damping; /* order 2 only */
    int64_t substeps;
};

/*
 * The same filter applied to white noise, whose input is one value per sample, held over the period. The states are for
 * deviates of unit variance; the first state is the output. The gain at low frequencies is 1, so that the density of the
 * noise there does not change.
 */
struct num_colour {
    double transition[2][2], gain[2];
    double variance;    /* variance of the output */
    double start[2][2]; /* Cholesky factor of the stationary covariance */
};

/* The state z: the output, and for order 2 also the derivative of the output divided by the natural frequency. */
struct num_band {
    int64_t substeps; /* 0: no filter */
    int order;
    double transition[2][2]; /* transition of z over a substep */
    double from[2], to[2];   /* contributions of the input at the start and at the end of the substep */
    struct num_colour colour;
};

struct num_band_state {
    uint64_t n; /* number of the last sample; 0: not started */
    double z[NUM_BAND_CHANNELS][2];
    double input[NUM_BAND_CHANNELS]; /* input at the last sample */
    double colour[2][NUM_LANES];     /* filter states of the white noise of each lane; since state version 3 */
};

/* Prepares the filter for samples with the period `period_s`. Errors: RANGE. */
enum oto_status num_band_prepare(const struct num_band_params *params, double period_s, struct num_band *band,
                                 struct oto_error *error);

/* Sets the steady state for this constant input. */
void num_band_start(struct num_band_state *state, const double input[NUM_BAND_CHANNELS]);
/* Draws the stationary state of the white noise at sample n. */
void num_band_start_colour(const struct num_band *band, struct oto_rng_key key, uint64_t n,
                           struct num_band_state *state);
/* Advances by one substep. */
void num_band_advance(const struct num_band *band, struct num_band_state *state, const double input[NUM_BAND_CHANNELS]);

#endif
