/*
 * An inertial measurement unit of MEMS triads: accelerometer, gyroscope and optionally magnetometer. Inputs: true
 * specific force, angular rate and field in sensor axes; outputs: records. Pure numbers: no host. Prepare and init
 * belong to the loop, measure to the tick.
 */
#ifndef IMU_MODEL_H
#define IMU_MODEL_H

#include <stdbool.h>

#include "num_iron.h"
#include "num_measure.h"
#include "otolith/records.h"

struct imu_params {
    struct num_law_params law;
    double sample_rate_hz;
    double magnetic_field_enu_ut[3];
    int64_t magnetometer_enable;
    struct num_triad_params accelerometer, gyroscope, magnetometer;
    struct num_iron_params iron;
    int64_t taps;
};

/* Of the records; equal for all units with equal parameters. */
struct imu_covariances {
    double rate[9], force[9], field_t2[9];
};

struct imu_plan {
    bool has_magnetometer;
    bool has_iron;
    bool extended; /* only imu_measure_extended computes all of its terms */
    const struct imu_covariances *covariances; /* `own_covariances`, or the copy that several units share */
    struct num_suite_plan suite;
    struct num_iron_params iron;
    struct imu_covariances own_covariances;
};

/* Accelerometer, gyroscope, magnetometer; each NUM_TAPS_DOUBLES of num_taps.h. */
struct imu_taps {
    double triads[NUM_TRIAD_IDS][NUM_TAPS_DOUBLES];
};

/* Lanes as in num_suite.h: accelerometer, gyroscope, magnetometer. */
struct imu_state {
    double walk_u[NUM_WALK_LANES];
    double instability[3 * NUM_TRIAD_IDS][NUM_INSTABILITY_POLES]; /* of the bias instability, for a floor of one */
};

/* In sensor axes. */
struct imu_truth {
    uint64_t n;
    const oto_vec3 *specific_force_m_s2;
    const oto_vec3 *angular_rate_rad_s;
    const oto_vec3 *mag_field_ut;
    double temperature_degc;
};

/* Errors: INVALID, RANGE. The plan refers to itself, so it must not be copied. The adapter handles the node's own field and the warnings. */
enum oto_status imu_prepare(const struct imu_params *params, double rate_hz, struct oto_rng_key noise_key,
                            struct oto_rng_key unit_key, struct imu_plan *plan, struct oto_error *error);
void imu_init(const struct imu_plan *plan, struct imu_state *state);
void imu_adapt(const struct imu_plan *plan, const struct imu_params *old_params, const struct imu_params *new_params,
               struct imu_state *state);
/* Scales the covariances of the records by `part`, the part of the white variance that the band limit leaves. */
void imu_limit_band(struct imu_plan *plan, double part);
bool imu_state_is_finite(const struct imu_state *state);

/*
 * Makes one sample in zeroed records; `mag` is filled if there is a magnetometer. `imu_saturated` and `mag_saturated` are
 * OTO_SAMPLE_SATURATED bits: x y z of the accelerometer, then of the gyroscope; x y z of the magnetometer. If a truth is
 * not finite: false, and there is no sample.
 */
bool imu_measure(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth,
                 struct oto_imu_record *imu, uint32_t *imu_saturated, struct oto_mag_record *mag,
                 uint32_t *mag_saturated);

/*
 * The two halves of imu_measure, for several units at once. imu_begin makes the job of a sample and returns true; its
 * inputs and measured_u[NUM_LANES] must stay valid until imu_finish. imu_finish makes the records after the plan's kernel
 * has done the job.
 */
bool imu_begin(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth, double *measured_u,
               struct num_suite_job *job);
void imu_finish(const struct imu_plan *plan, const struct num_suite_job *job, struct oto_imu_record *imu,
                uint32_t *imu_saturated, struct oto_mag_record *mag, uint32_t *mag_saturated);

/*
 * Like imu_measure, with every term; if the extended terms are zero, the bits are the same. `felt` is the exposure after
 * boxcar and delay, or the truth; `coloured` is the band limit of the white noise, or NULL; taps are zeroed, or NULL.
 */
bool imu_measure_extended(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth,
                          const struct imu_truth *felt, const struct num_coloured *coloured, struct oto_imu_record *imu,
                          uint32_t *imu_saturated, struct oto_mag_record *mag, uint32_t *mag_saturated,
                          struct imu_taps *taps);

#endif
