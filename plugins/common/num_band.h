/*
 * The band limit before sampling: a low-pass of first or second order on the exposure, so that vibration aliases only
 * as far as the part allows. It is the exact response of the continuous filter to an input that is linear between
 * `substeps` inputs a period. README.md has the equations. Prepare belongs to the loop, the rest to the tick.
 */
#ifndef NUM_BAND_H
#define NUM_BAND_H

#include <stdint.h>

#include "otolith/status.h"

#define NUM_BAND_CHANNELS 9 /* specific force, angular rate, magnetic field */

/* A member of a parameter block. All zero (with any order, damping, substeps) means no filter. */
struct num_band_params {
    double limit_hz; /* order 1: frequency of half power; order 2: natural frequency */
    int64_t order;
    double damping; /* order 2 only */
    int64_t substeps;
};

/* z is the output, and for order 2 its derivative over the natural frequency. */
struct num_band {
    int64_t substeps; /* 0: no filter */
    int order;
    double transition[2][2]; /* of z over a substep */
    double from[2], to[2];   /* contributions of the input at the start and at the end of the substep */
};

struct num_band_state {
    uint64_t n; /* number of the last sample; 0: not started */
    double z[NUM_BAND_CHANNELS][2];
    double input[NUM_BAND_CHANNELS]; /* input at the last sample */
};

/* `period_s` between samples. Errors: RANGE. */
enum oto_status num_band_prepare(const struct num_band_params *params, double period_s, struct num_band *band,
                                 struct oto_error *error);

/* Sets the state that is settled at this input. */
void num_band_start(struct num_band_state *state, const double input[NUM_BAND_CHANNELS]);
/* Advances by one substep. */
void num_band_advance(const struct num_band *band, struct num_band_state *state, const double input[NUM_BAND_CHANNELS]);

#endif
