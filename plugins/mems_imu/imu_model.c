#include "imu_model.h"

#include <string.h>

#include "num_sample.h"

enum { SLOT_ACCELEROMETER, SLOT_GYROSCOPE, SLOT_MAGNETOMETER, SLOTS };

#define TESLA_PER_UT 1e-6

static void diagonal(const double variance[3], double unit, double covariance[9])
{
    for (int i = 0; i < 3; i++) {
        covariance[4 * i] = variance[i] * unit;
    }
}

enum oto_status imu_prepare(const struct imu_params *params, double rate_hz, struct oto_rng_key noise_key,
                            struct oto_rng_key unit_key, struct imu_plan *plan, struct oto_error *error)
{
    const struct num_suite_setup setup = {
        .law = &params->law,
        .rate_hz = rate_hz,
        .noise_key = noise_key,
        .unit_key = unit_key,
        .count = SLOTS,
        .enabled = 1u << SLOT_ACCELEROMETER | 1u << SLOT_GYROSCOPE |
                   (params->magnetometer_enable != 0 ? 1u << SLOT_MAGNETOMETER : 0),
        .ids = {NUM_ACCELEROMETER, NUM_GYROSCOPE, NUM_MAGNETOMETER},
        .params = {&params->accelerometer, &params->gyroscope, &params->magnetometer},
    };
    memset(plan, 0, sizeof *plan);
    const enum oto_status status = num_suite_prepare(&setup, &plan->suite, error);
    const struct num_triad_plan *triads = plan->suite.triads;
    diagonal(triads[SLOT_ACCELEROMETER].white_variance_u2, 1.0, plan->force_covariance);
    diagonal(triads[SLOT_GYROSCOPE].white_variance_u2, 1.0, plan->rate_covariance);
    diagonal(triads[SLOT_MAGNETOMETER].white_variance_u2, TESLA_PER_UT * TESLA_PER_UT, plan->field_covariance_t2);
    return status;
}

void imu_init(const struct imu_plan *plan, struct imu_state *state)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        num_suite_init(&plan->suite, slot, &state->triads[slot]);
    }
}

void imu_adapt(const struct imu_plan *plan, const struct imu_params *old_params, const struct imu_params *new_params,
               struct imu_state *state)
{
    const struct num_triad_params *before[SLOTS] = {&old_params->accelerometer, &old_params->gyroscope,
                                                    &old_params->magnetometer};
    const struct num_triad_params *after[SLOTS] = {&new_params->accelerometer, &new_params->gyroscope,
                                                   &new_params->magnetometer};
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        num_suite_adapt(&plan->suite, slot, before[slot], after[slot], &state->triads[slot]);
    }
}

static inline double sum_of(oto_vec3 v)
{
    return v.x + v.y + v.z;
}

static inline bool is_finite(const struct imu_truth *truth)
{
    const double sum = sum_of(truth->specific_force_m_s2) + sum_of(truth->angular_rate_rad_s) +
                       sum_of(truth->mag_field_ut) + truth->temperature_degc;
    return sum - sum == 0.0;
}

bool imu_measure(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth,
                 struct oto_imu_record *imu, uint32_t *imu_saturated, struct oto_mag_record *mag,
                 uint32_t *mag_saturated)
{
    if (!is_finite(truth)) {
        return false;
    }
    struct num_suite_sample sample;
    sample.n = truth->n;
    sample.temperature_degc = truth->temperature_degc;
    sample.specific_force_m_s2 = &truth->specific_force_m_s2.x;
    sample.truth_u[SLOT_ACCELEROMETER] = &truth->specific_force_m_s2.x;
    sample.truth_u[SLOT_GYROSCOPE] = &truth->angular_rate_rad_s.x;
    sample.truth_u[SLOT_MAGNETOMETER] = &truth->mag_field_ut.x;
    num_suite_measure(&plan->suite, SLOTS, state->triads, &sample);
    memset(imu, 0, offsetof(struct oto_imu_record, angular_velocity_rad_s));
    imu->orientation_w = 1.0;
    imu->orientation_covariance[0] = -1.0;
    imu->angular_velocity_rad_s = oto_vec3_from_array(sample.measured_u[SLOT_GYROSCOPE]);
    memcpy(imu->angular_velocity_covariance, plan->rate_covariance, sizeof plan->rate_covariance);
    imu->linear_acceleration_m_s2 = oto_vec3_from_array(sample.measured_u[SLOT_ACCELEROMETER]);
    memcpy(imu->linear_acceleration_covariance, plan->force_covariance, sizeof plan->force_covariance);
    *imu_saturated = sample.saturated[SLOT_ACCELEROMETER] | sample.saturated[SLOT_GYROSCOPE] << 3;
    if (mag != NULL && (plan->suite.enabled >> SLOT_MAGNETOMETER & 1u) != 0) {
        const oto_vec3 field_ut = oto_vec3_from_array(sample.measured_u[SLOT_MAGNETOMETER]);
        mag->magnetic_field_t = oto_vec3_scale(field_ut, TESLA_PER_UT);
        memcpy(mag->magnetic_field_covariance, plan->field_covariance_t2, sizeof plan->field_covariance_t2);
        *mag_saturated = sample.saturated[SLOT_MAGNETOMETER];
    }
    return true;
}
