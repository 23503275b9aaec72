#include "mag_model.h"

#include <string.h>

#include "num_sample.h"

#define TESLA_PER_UT 1e-6

enum oto_status mag_prepare(const struct mag_params *params, double rate_hz, struct oto_rng_key noise_key,
                            struct oto_rng_key unit_key, struct mag_plan *plan, struct oto_error *error)
{
    const struct num_suite_setup setup = {
        .law = &params->law,
        .rate_hz = rate_hz,
        .noise_key = noise_key,
        .unit_key = unit_key,
        .count = 1,
        .enabled = 1,
        .ids = {NUM_MAGNETOMETER},
        .params = {&params->magnetometer},
    };
    memset(plan, 0, sizeof *plan);
    const enum oto_status status = num_suite_prepare(&setup, &plan->suite, error);
    for (int i = 0; i < 3; i++) {
        plan->covariance_t2[4 * i] = plan->suite.triads[0].white_variance_u2[i] * (TESLA_PER_UT * TESLA_PER_UT);
    }
    return status;
}

void mag_init(const struct mag_plan *plan, struct mag_state *state)
{
    num_suite_init(&plan->suite, 0, &state->triad);
}

void mag_adapt(const struct mag_plan *plan, const struct mag_params *old_params, const struct mag_params *new_params,
               struct mag_state *state)
{
    num_suite_adapt(&plan->suite, 0, &old_params->magnetometer, &new_params->magnetometer, &state->triad);
}

bool mag_measure(const struct mag_plan *plan, struct mag_state *state, uint64_t n, oto_vec3 field_ut,
                 double temperature_degc, struct oto_mag_record *mag, uint32_t *saturated)
{
    static const double no_force_m_s2[3] = {0.0, 0.0, 0.0};
    const double sum = field_ut.x + field_ut.y + field_ut.z + temperature_degc;
    if (!(sum - sum == 0.0)) {
        return false;
    }
    struct num_suite_sample sample;
    sample.n = n;
    sample.temperature_degc = temperature_degc;
    sample.specific_force_m_s2 = no_force_m_s2;
    sample.truth_u[0] = &field_ut.x;
    num_suite_measure(&plan->suite, 1, &state->triad, &sample);
    mag->magnetic_field_t = oto_vec3_scale(oto_vec3_from_array(sample.measured_u[0]), TESLA_PER_UT);
    memcpy(mag->magnetic_field_covariance, plan->covariance_t2, sizeof plan->covariance_t2);
    *saturated = sample.saturated[0];
    return true;
}
