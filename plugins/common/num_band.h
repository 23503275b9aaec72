/*
 * The band limit ahead of sampling: a low-pass of first or second order on what the sensor is exposed to, so that
 * vibration aliases only as far as the part lets it. The continuous filter's exact response to an input that is linear
 * between `substeps` inputs a period. README.md has the equations. Prepare belongs to the loop, the rest to the tick.
 */
#ifndef NUM_BAND_H
#define NUM_BAND_H

#include <stdint.h>

#include "otolith/status.h"

#define NUM_BAND_CHANNELS 9 /* specific force, angular rate, magnetic field */

/* As it stands in a parameter block: all zero (and any order, damping, substeps) is no filter. */
struct num_band_params {
    double limit_hz; /* order 1: half the power is left there; order 2: the natural frequency */
    int64_t order;
    double damping; /* of order 2 */
    int64_t substeps;
};

/* z is the output, and for order 2 its derivative over the natural frequency. */
struct num_band {
    int64_t substeps; /* 0: no filter */
    int order;
    double transition[2][2]; /* of z over a substep */
    double from[2], to[2];   /* what the input at its start and at its end add */
};

struct num_band_state {
    uint64_t n; /* of the last sample; 0: not begun */
    double z[NUM_BAND_CHANNELS][2];
    double input[NUM_BAND_CHANNELS]; /* at the last sample */
};

/* `period_s` between samples. Errors: RANGE. */
enum oto_status num_band_prepare(const struct num_band_params *params, double period_s, struct num_band *band,
                                 struct oto_error *error);

/* Where it has settled at this input. */
void num_band_start(struct num_band_state *state, const double input[NUM_BAND_CHANNELS]);
/* One substep on. */
void num_band_advance(const struct num_band *band, struct num_band_state *state, const double input[NUM_BAND_CHANNELS]);

#endif
