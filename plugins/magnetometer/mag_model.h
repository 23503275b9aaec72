/*
 * A three-axis magnetometer. Input: the true field in sensor axes; output: a record. Pure numbers: no host. Prepare and
 * init belong to the loop, measure to the tick.
 */
#ifndef MAG_MODEL_H
#define MAG_MODEL_H

#include <stdbool.h>

#include "num_iron.h"
#include "num_measure.h"
#include "otolith/records.h"

struct mag_params {
    struct num_law_params law;
    double sample_rate_hz;
    double magnetic_field_enu_ut[3];
    struct num_triad_params magnetometer;
    struct num_iron_params iron;
    int64_t taps;
};

struct mag_plan {
    struct num_suite_plan suite;
    double covariance_t2[9];
    bool has_iron;
    bool extended; /* only mag_measure_extended computes all of its terms */
    struct num_iron_params iron;
};

struct mag_taps {
    double magnetometer[NUM_TAPS_DOUBLES];
};

struct mag_state {
    double walk_u[4];                             /* x, y, z, unused */
    double instability[3][NUM_INSTABILITY_POLES]; /* of the bias instability, for a floor of one */
};

/* Errors: INVALID, RANGE. The adapter handles the node's own field and the warnings. */
enum oto_status mag_prepare(const struct mag_params *params, double rate_hz, struct oto_rng_key noise_key,
                            struct oto_rng_key unit_key, struct mag_plan *plan, struct oto_error *error);
void mag_init(const struct mag_plan *plan, struct mag_state *state);
void mag_adapt(const struct mag_plan *plan, const struct mag_params *old_params, const struct mag_params *new_params,
               struct mag_state *state);
/* Scales the covariance of the record by `part`, the part of the white variance that the band limit leaves. */
void mag_limit_band(struct mag_plan *plan, double part);
bool mag_state_is_finite(const struct mag_state *state);

/*
 * Makes one sample in a zeroed record. Bit i of `saturated`: axis i is saturated. If a truth is not finite: false, and
 * there is no sample.
 */
bool mag_measure(const struct mag_plan *plan, struct mag_state *state, uint64_t n, oto_vec3 field_ut,
                 double temperature_degc, struct oto_mag_record *mag, uint32_t *saturated);

/*
 * The two halves of mag_measure, for several units at once. mag_begin makes the job of a sample and returns true; its field
 * and measured_u[NUM_LANES] must stay valid until mag_finish. mag_finish makes the record after the plan's kernel has done
 * the job.
 */
bool mag_begin(const struct mag_plan *plan, struct mag_state *state, uint64_t n, const oto_vec3 *field_ut,
               double temperature_degc, double *measured_u, struct num_suite_job *job);
void mag_finish(const struct mag_plan *plan, const struct num_suite_job *job, struct oto_mag_record *mag,
                uint32_t *saturated);

/*
 * Like mag_measure, with every term; if the extended terms are zero, the bits are the same. `felt_ut` is the exposure after
 * boxcar and delay, or the true field; `coloured` is the band limit of the white noise, or NULL; taps are zeroed, or NULL.
 */
bool mag_measure_extended(const struct mag_plan *plan, struct mag_state *state, uint64_t n, oto_vec3 field_ut,
                          oto_vec3 felt_ut, double temperature_degc, const struct num_coloured *coloured,
                          struct oto_mag_record *mag, uint32_t *saturated, struct mag_taps *taps);

#endif
