#include "imu_model.h"

#include <string.h>

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
        .slots = SLOTS,
        .active = params->magnetometer_enable != 0 ? SLOTS : SLOT_MAGNETOMETER,
        .ids = {NUM_ACCELEROMETER, NUM_GYROSCOPE, NUM_MAGNETOMETER},
        .params = {&params->accelerometer, &params->gyroscope, &params->magnetometer},
    };
    memset(plan, 0, sizeof *plan);
    plan->has_magnetometer = params->magnetometer_enable != 0;
    const enum oto_status status = num_suite_prepare(&setup, &plan->suite, error);
    plan->iron = params->iron;
    plan->has_iron = plan->has_magnetometer && num_iron_is_there(&params->iron);
    plan->extended = plan->has_iron || params->taps != 0 || (plan->suite.common->terms & NUM_HAS_EXTENDED) != 0;
    plan->covariances = &plan->own_covariances;
    const struct num_triad_plan *triads = plan->suite.triads;
    diagonal(triads[SLOT_ACCELEROMETER].white_variance_u2, 1.0, plan->own_covariances.force);
    diagonal(triads[SLOT_GYROSCOPE].white_variance_u2, 1.0, plan->own_covariances.rate);
    diagonal(triads[SLOT_MAGNETOMETER].white_variance_u2, TESLA_PER_UT * TESLA_PER_UT, plan->own_covariances.field_t2);
    return status;
}

void imu_init(const struct imu_plan *plan, struct imu_state *state)
{
    memset(state, 0, sizeof *state);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        num_suite_start(&plan->suite, slot, &state->instability[3 * slot]);
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
        num_suite_adapt(&plan->suite, slot, before[slot], after[slot], &state->instability[3 * slot]);
    }
}

void imu_limit_band(struct imu_plan *plan, double part)
{
    for (int i = 0; i < 9; i++) {
        plan->own_covariances.force[i] *= part;
        plan->own_covariances.rate[i] *= part;
        plan->own_covariances.field_t2[i] *= part;
    }
}

bool imu_state_is_finite(const struct imu_state *state)
{
    return num_suite_is_finite(state->walk_u, state->instability, 3 * SLOTS);
}

static inline double sum_of(const oto_vec3 *v)
{
    return v->x + v->y + v->z;
}

static inline bool is_finite(const struct imu_truth *truth)
{
    const double sum = sum_of(truth->specific_force_m_s2) + sum_of(truth->angular_rate_rad_s) +
                       sum_of(truth->mag_field_ut) + truth->temperature_degc;
    return sum - sum == 0.0;
}

static void fill_imu(const struct imu_plan *plan, const double *measured_u, struct oto_imu_record *imu)
{
    imu->orientation_w = 1.0;
    imu->orientation_covariance[0] = -1.0;
    imu->angular_velocity_rad_s = num_measured(&measured_u[3 * SLOT_GYROSCOPE]);
    memcpy(imu->angular_velocity_covariance, plan->covariances->rate, sizeof plan->covariances->rate);
    imu->linear_acceleration_m_s2 = num_measured(&measured_u[3 * SLOT_ACCELEROMETER]);
    memcpy(imu->linear_acceleration_covariance, plan->covariances->force, sizeof plan->covariances->force);
}

static void fill_mag(const struct imu_plan *plan, const double *measured_u, struct oto_mag_record *mag)
{
    mag->magnetic_field_t = oto_vec3_scale(num_measured(&measured_u[3 * SLOT_MAGNETOMETER]), TESLA_PER_UT);
    memcpy(mag->magnetic_field_covariance, plan->covariances->field_t2, sizeof plan->covariances->field_t2);
}

/* Assigned member by member: copying a struct that was just built would wait for its own stores. */
static inline void fill_job(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth,
                            double *measured_u, struct num_suite_job *job)
{
    job->plan = &plan->suite;
    job->n = truth->n;
    job->temperature_degc = truth->temperature_degc;
    job->truth_u[SLOT_ACCELEROMETER] = &truth->specific_force_m_s2->x;
    job->truth_u[SLOT_GYROSCOPE] = &truth->angular_rate_rad_s->x;
    job->truth_u[SLOT_MAGNETOMETER] = &truth->mag_field_ut->x;
    job->specific_force_m_s2 = &truth->specific_force_m_s2->x;
    job->walk_u = state->walk_u;
    job->instability = state->instability;
    job->measured_u = measured_u;
    job->taps = NULL;
}

bool imu_begin(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth, double *measured_u,
               struct num_suite_job *job)
{
    if (!is_finite(truth)) {
        return false;
    }
    fill_job(plan, state, truth, measured_u, job);
    return true;
}

void imu_finish(const struct imu_plan *plan, const struct num_suite_job *job, struct oto_imu_record *imu,
                uint32_t *imu_saturated, struct oto_mag_record *mag, uint32_t *mag_saturated)
{
    *imu_saturated = job->saturated & 0x3f;
    fill_imu(plan, job->measured_u, imu);
    if (plan->has_magnetometer) {
        *mag_saturated = job->saturated >> 3 * SLOT_MAGNETOMETER & 7;
        fill_mag(plan, job->measured_u, mag);
    }
}

bool imu_measure(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth,
                 struct oto_imu_record *imu, uint32_t *imu_saturated, struct oto_mag_record *mag,
                 uint32_t *mag_saturated)
{
    double measured_u[NUM_LANES];
    struct num_suite_job job;
    if (!imu_begin(plan, state, truth, measured_u, &job)) {
        return false;
    }
    plan->suite.kernel->measure(&job, 1);
    imu_finish(plan, &job, imu, imu_saturated, mag, mag_saturated);
    return true;
}

/* Writes the taps of the input, before the suite: the truth, and the effect of band limit, boxcar and delay. */
static void tap_input(const struct num_suite_job *truth, const struct num_suite_job *felt, uint32_t lanes,
                      num_tap_row *rows)
{
    for (uint32_t lane = 0; lane < lanes; lane++) {
        rows[NUM_TAP_TRUTH][lane] = truth->truth_u[lane / 3][lane % 3];
        rows[NUM_TAP_SAMPLING][lane] = felt->truth_u[lane / 3][lane % 3] - rows[NUM_TAP_TRUTH][lane];
    }
}

static void close_taps(const num_tap_row *rows, const struct oto_imu_record *imu, const struct oto_mag_record *mag,
                       bool has_magnetometer, struct imu_taps *taps)
{
    num_taps_close(rows, SLOT_ACCELEROMETER, 1.0, imu->linear_acceleration_m_s2, taps->triads[SLOT_ACCELEROMETER]);
    num_taps_close(rows, SLOT_GYROSCOPE, 1.0, imu->angular_velocity_rad_s, taps->triads[SLOT_GYROSCOPE]);
    if (has_magnetometer) {
        num_taps_close(rows, SLOT_MAGNETOMETER, TESLA_PER_UT, mag->magnetic_field_t, taps->triads[SLOT_MAGNETOMETER]);
    }
}

bool imu_measure_extended(const struct imu_plan *plan, struct imu_state *state, const struct imu_truth *truth,
                          const struct imu_truth *felt, const struct num_coloured *coloured, struct oto_imu_record *imu,
                          uint32_t *imu_saturated, struct oto_mag_record *mag, uint32_t *mag_saturated,
                          struct imu_taps *taps)
{
    if (!is_finite(truth) || !is_finite(felt)) {
        return false;
    }
    double measured_u[NUM_LANES], field_ut[3];
    num_tap_row memory[NUM_TAPS];
    num_tap_row *rows = taps != NULL ? memset(memory, 0, sizeof memory) : NULL;
    struct num_suite_job there, job;
    fill_job(plan, state, truth, measured_u, &there);
    fill_job(plan, state, felt, measured_u, &job);
    job.taps = rows;
    num_job_colour(&job, coloured);
    if (taps != NULL) {
        tap_input(&there, &job, plan->has_magnetometer ? 3 * SLOTS : 3 * SLOT_MAGNETOMETER, rows);
    }
    if (plan->has_iron) {
        oto_vec3_to_array(*felt->mag_field_ut, field_ut);
        num_iron_apply(&plan->iron, field_ut, rows, 3 * SLOT_MAGNETOMETER);
        job.truth_u[SLOT_MAGNETOMETER] = field_ut;
    }
    plan->suite.kernel->measure_extended(&job);
    imu_finish(plan, &job, imu, imu_saturated, mag, mag_saturated);
    if (taps != NULL) {
        close_taps(rows, imu, mag, plan->has_magnetometer, taps);
    }
    return true;
}
