#include "mag_model.h"

#include <string.h>

#define TESLA_PER_UT 1e-6

enum oto_status mag_prepare(const struct mag_params *params, double rate_hz, struct oto_rng_key noise_key,
                            struct oto_rng_key unit_key, struct mag_plan *plan, struct oto_error *error)
{
    const struct num_suite_setup setup = {
        .law = &params->law,
        .rate_hz = rate_hz,
        .noise_key = noise_key,
        .unit_key = unit_key,
        .slots = 1,
        .active = 1,
        .ids = {NUM_MAGNETOMETER},
        .params = {&params->magnetometer},
    };
    memset(plan, 0, sizeof *plan);
    const enum oto_status status = num_suite_prepare(&setup, &plan->suite, error);
    plan->iron = params->iron;
    plan->has_iron = num_iron_is_there(&params->iron);
    plan->extended = plan->has_iron || params->taps != 0 || (plan->suite.common->terms & NUM_HAS_EXTENDED) != 0;
    for (int i = 0; i < 3; i++) {
        plan->covariance_t2[4 * i] = plan->suite.triads[0].white_variance_u2[i] * (TESLA_PER_UT * TESLA_PER_UT);
    }
    return status;
}

void mag_init(const struct mag_plan *plan, struct mag_state *state)
{
    memset(state, 0, sizeof *state);
    num_suite_start(&plan->suite, 0, state->instability);
}

void mag_adapt(const struct mag_plan *plan, const struct mag_params *old_params, const struct mag_params *new_params,
               struct mag_state *state)
{
    num_suite_adapt(&plan->suite, 0, &old_params->magnetometer, &new_params->magnetometer, state->instability);
}

void mag_limit_band(struct mag_plan *plan, double part)
{
    for (int i = 0; i < 9; i++) {
        plan->covariance_t2[i] *= part;
    }
}

bool mag_state_is_finite(const struct mag_state *state)
{
    return num_suite_is_finite(state->walk_u, state->instability, 3);
}

static const double no_force_m_s2[3] = {0.0, 0.0, 0.0};

/* Assigned member by member: copying a struct that was just built would wait for its own stores. */
static inline void fill_job(const struct mag_plan *plan, struct mag_state *state, uint64_t n, const double *field_ut,
                            double temperature_degc, double *measured_u, struct num_suite_job *job)
{
    job->plan = &plan->suite;
    job->n = n;
    job->temperature_degc = temperature_degc;
    job->truth_u[0] = field_ut;
    job->specific_force_m_s2 = no_force_m_s2;
    job->walk_u = state->walk_u;
    job->instability = state->instability;
    job->measured_u = measured_u;
    job->taps = NULL;
}

bool mag_begin(const struct mag_plan *plan, struct mag_state *state, uint64_t n, const oto_vec3 *field_ut,
               double temperature_degc, double *measured_u, struct num_suite_job *job)
{
    const double sum = field_ut->x + field_ut->y + field_ut->z + temperature_degc;
    if (!(sum - sum == 0.0)) {
        return false;
    }
    fill_job(plan, state, n, &field_ut->x, temperature_degc, measured_u, job);
    return true;
}

void mag_finish(const struct mag_plan *plan, const struct num_suite_job *job, struct oto_mag_record *mag,
                uint32_t *saturated)
{
    *saturated = job->saturated;
    mag->magnetic_field_t = oto_vec3_scale(num_measured(job->measured_u), TESLA_PER_UT);
    memcpy(mag->magnetic_field_covariance, plan->covariance_t2, sizeof plan->covariance_t2);
}

bool mag_measure(const struct mag_plan *plan, struct mag_state *state, uint64_t n, oto_vec3 field_ut,
                 double temperature_degc, struct oto_mag_record *mag, uint32_t *saturated)
{
    double measured_u[NUM_LANES];
    struct num_suite_job job;
    if (!mag_begin(plan, state, n, &field_ut, temperature_degc, measured_u, &job)) {
        return false;
    }
    plan->suite.kernel->measure(&job, 1);
    mag_finish(plan, &job, mag, saturated);
    return true;
}

bool mag_measure_extended(const struct mag_plan *plan, struct mag_state *state, uint64_t n, oto_vec3 field_ut,
                          oto_vec3 felt_ut, double temperature_degc, const struct num_coloured *coloured,
                          struct oto_mag_record *mag, uint32_t *saturated, struct mag_taps *taps)
{
    const double sum = field_ut.x + field_ut.y + field_ut.z + felt_ut.x + felt_ut.y + felt_ut.z + temperature_degc;
    if (!(sum - sum == 0.0)) {
        return false;
    }
    double measured_u[NUM_LANES], felt[3];
    num_tap_row memory[NUM_TAPS];
    num_tap_row *rows = taps != NULL ? memset(memory, 0, sizeof memory) : NULL;
    struct num_suite_job job;
    oto_vec3_to_array(felt_ut, felt);
    fill_job(plan, state, n, felt, temperature_degc, measured_u, &job);
    job.taps = rows;
    num_job_colour(&job, coloured);
    if (taps != NULL) {
        oto_vec3_to_array(field_ut, rows[NUM_TAP_TRUTH]);
        oto_vec3_to_array(oto_vec3_sub(felt_ut, field_ut), rows[NUM_TAP_SAMPLING]);
    }
    if (plan->has_iron) {
        num_iron_apply(&plan->iron, felt, rows, 0);
    }
    plan->suite.kernel->measure_extended(&job);
    mag_finish(plan, &job, mag, saturated);
    if (taps != NULL) {
        num_taps_close(rows, 0, TESLA_PER_UT, mag->magnetic_field_t, taps->magnetometer);
    }
    return true;
}
