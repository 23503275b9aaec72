#include "sdf_imu_model.h"

#include <string.h>

#include "sdf_reference.h"

/* Terms: the fourth argument of the random draws; draws of the turn-on domain have n = 0. */
enum { TERM_NOISE = 0, TERM_LOAD = 1, TERM_OFFSET = 2 };

static void fill_noise(const struct sdf_triad_params *triad, struct sdf_noise noise[3])
{
    for (int i = 0; i < 3; i++) {
        noise[i] = (struct sdf_noise){
            .type = (int)triad->noise_type[i],
            .mean_u = triad->mean_u[i],
            .stddev_u = triad->stddev_u[i],
            .bias_mean_u = triad->bias_mean_u[i],
            .bias_stddev_u = triad->bias_stddev_u[i],
            .dynamic_bias_stddev_u_rts = triad->dynamic_bias_stddev_u_rts[i],
            .dynamic_bias_correlation_time_s = triad->dynamic_bias_correlation_time_s[i],
            .precision_u = triad->precision_u[i],
        };
    }
}

static bool is_dynamic(const struct sdf_noise *noise)
{
    return noise->type != SDF_NOISE_NONE && noise->dynamic_bias_stddev_u_rts > 0.0 &&
           noise->dynamic_bias_correlation_time_s > 0.0;
}

static void load_biases(struct sdf_imu_plan *plan)
{
    for (uint64_t axis = 0; axis < SDF_AXES; axis++) {
        const oto_philox_block block = oto_rng_block(plan->place.noise_key, 0, axis, TERM_LOAD, OTO_RNG_DOMAIN_TURN_ON);
        plan->load_bias_u[axis] =
            sdf_noise_load(&plan->noise[axis], oto_normal_from_bits(block.v[0]), oto_u01(block.v[1]));
    }
}

static void plan_draws(struct sdf_imu_plan *plan)
{
    const struct sdf_imu_place *place = &plan->place;
    if (place->base_rate_num > 0) {
        plan->period_s = (double)place->ticks_per_sample * (double)place->base_rate_den / (double)place->base_rate_num;
    }
    for (int axis = 0; axis < SDF_AXES; axis++) {
        const struct sdf_noise *noise = &plan->noise[axis];
        const bool is_white = noise->type != SDF_NOISE_NONE && noise->stddev_u > 0.0;
        const size_t needed = is_dynamic(noise) ? 2 * SDF_AXES : is_white ? SDF_AXES : 0;
        plan->normals = needed > plan->normals ? needed : plan->normals;
        plan->drive[axis] = sdf_noise_drive(noise, plan->period_s);
    }
}

static uint64_t draw_offset(const struct sdf_imu_params *params, struct oto_rng_key key)
{
    const oto_philox_block block = oto_rng_block(key, 0, 0, TERM_OFFSET, OTO_RNG_DOMAIN_TURN_ON);
    const double samples = oto_u01(block.v[0]) * (double)params->offset_start_max_samples;
    return params->offset_start_time != 0 ? (uint64_t)samples : 0;
}

static void fill_covariance(const double given[9], const struct sdf_noise noise[3], double covariance[9])
{
    for (int i = 0; i < 9; i++) {
        covariance[i] = given[i];
        if (given[i] == SDF_COVARIANCE_WHITE) {
            const struct sdf_noise *axis = noise != NULL && i % 4 == 0 ? &noise[i / 4] : NULL;
            covariance[i] = axis != NULL && axis->type != SDF_NOISE_NONE ? axis->stddev_u * axis->stddev_u : 0.0;
        }
    }
}

static void fill_covariances(const struct sdf_imu_params *params, struct sdf_imu_plan *plan)
{
    fill_covariance(params->orientation_covariance_rad2, NULL, plan->covariance[0]);
    fill_covariance(params->angular_velocity.covariance_u2, &plan->noise[3], plan->covariance[1]);
    fill_covariance(params->linear_acceleration.covariance_u2, &plan->noise[0], plan->covariance[2]);
}

enum oto_status sdf_imu_prepare(const struct sdf_imu_params *params, const struct sdf_imu_place *place,
                                struct sdf_imu_plan *plan, struct oto_error *error)
{
    memset(plan, 0, sizeof *plan);
    plan->place = *place;
    plan->up_enu_m_s2 = params->gravity_m_s2 == SDF_GRAVITY_WORLD ? oto_vec3_neg(place->gravity_enu_m_s2)
                                                                  : oto_vec3_make(0, 0, params->gravity_m_s2);
    fill_noise(&params->linear_acceleration, &plan->noise[0]);
    fill_noise(&params->angular_velocity, &plan->noise[3]);
    load_biases(plan);
    plan_draws(plan);
    plan->skipped = draw_offset(params, place->noise_key);
    fill_covariances(params, plan);
    return sdf_reference_check(params, plan->up_enu_m_s2, error);
}

void sdf_imu_init(const struct sdf_imu_plan *plan, struct sdf_imu_state *state)
{
    memset(state, 0, sizeof *state);
    memcpy(state->bias_u, plan->load_bias_u, sizeof state->bias_u);
}

static bool loads_alike(const struct sdf_triad_params *a, const struct sdf_triad_params *b, int axis)
{
    return (a->noise_type[axis] == SDF_NOISE_NONE) == (b->noise_type[axis] == SDF_NOISE_NONE) &&
           a->bias_mean_u[axis] == b->bias_mean_u[axis] && a->bias_stddev_u[axis] == b->bias_stddev_u[axis];
}

void sdf_imu_adapt(const struct sdf_imu_plan *plan, const struct sdf_imu_params *old_params,
                   const struct sdf_imu_params *new_params, struct sdf_imu_state *state)
{
    const struct sdf_triad_params *before[2] = {&old_params->linear_acceleration, &old_params->angular_velocity};
    const struct sdf_triad_params *after[2] = {&new_params->linear_acceleration, &new_params->angular_velocity};
    for (int axis = 0; axis < SDF_AXES; axis++) {
        if (!loads_alike(before[axis / 3], after[axis / 3], axis % 3)) {
            state->bias_u[axis] = plan->load_bias_u[axis];
        }
    }
    if (!sdf_reference_is_same(old_params, new_params)) {
        state->reference = SDF_REFERENCE_OPEN;
    }
}

bool sdf_imu_state_is_finite(const struct sdf_imu_state *state)
{
    double sum = 0.0;
    for (int axis = 0; axis < SDF_AXES; axis++) {
        sum += state->bias_u[axis];
    }
    return sum - sum == 0.0 && oto_vec3_is_finite(state->velocity_enu_m_s) &&
           oto_quat_is_finite(state->q_enu_from_reference);
}

bool sdf_imu_is_waiting(const struct sdf_imu_plan *plan, uint64_t n)
{
    return n <= plan->skipped;
}

bool sdf_imu_is_redundant(const struct sdf_imu_state *state, uint64_t tick)
{
    return state->is_started != 0 && state->tick == tick;
}

static void fill_covariances_of(const struct sdf_imu_params *params, const struct sdf_imu_plan *plan,
                                const struct sdf_imu_state *state, struct oto_imu_record *record)
{
    memcpy(record->orientation_covariance, plan->covariance[0], sizeof plan->covariance[0]);
    memcpy(record->angular_velocity_covariance, plan->covariance[1], sizeof plan->covariance[1]);
    memcpy(record->linear_acceleration_covariance, plan->covariance[2], sizeof plan->covariance[2]);
    if (params->orientation_enable == 0 || state->reference == SDF_REFERENCE_NONE) {
        memset(record->orientation_covariance, 0, sizeof record->orientation_covariance);
        record->orientation_covariance[0] = -1.0;
    }
}

static enum sdf_imu_result result_of(const struct sdf_imu_params *params, const struct sdf_imu_state *state)
{
    return params->orientation_enable != 0 && state->reference == SDF_REFERENCE_NONE ? SDF_SAMPLE_NO_REFERENCE
                                                                                     : SDF_SAMPLE;
}

enum sdf_imu_result sdf_imu_repeat(const struct sdf_imu_params *params, const struct sdf_imu_plan *plan,
                                   struct sdf_imu_state *state, struct oto_imu_record *record)
{
    *record = state->last;
    fill_covariances_of(params, plan, state, record);
    if (params->discard_redundant_data != 0 && memcmp(record, &state->last, sizeof *record) == 0) {
        return SDF_NOTHING;
    }
    state->last = *record;
    return result_of(params, state);
}

/* Seconds since the last sample. 0 for the first sample, and if time went back, which restarts the sensor. */
static double elapsed_s(const struct sdf_imu_plan *plan, const struct sdf_imu_state *state, uint64_t tick)
{
    if (state->is_started == 0 || tick <= state->tick || plan->place.base_rate_num == 0) {
        return 0.0;
    }
    return (double)(tick - state->tick) * (double)plan->place.base_rate_den / (double)plan->place.base_rate_num;
}

static void add_noise(const struct sdf_imu_plan *plan, struct sdf_imu_state *state, uint64_t n, double dt_s,
                      double values[SDF_AXES])
{
    double normals[2 * SDF_AXES] = {0}; /* deviates of the white noise, then those that drive the biases */
    if (plan->normals > 0) {
        oto_normals(plan->place.noise_key, n, TERM_NOISE, OTO_RNG_DOMAIN_SAMPLE, normals, plan->normals);
    }
    for (int axis = 0; axis < SDF_AXES; axis++) {
        const struct sdf_noise *noise = &plan->noise[axis];
        const struct sdf_noise_drive drive = dt_s == plan->period_s ? plan->drive[axis] : sdf_noise_drive(noise, dt_s);
        values[axis] =
            sdf_noise_apply(noise, drive, &state->bias_u[axis], values[axis], normals[SDF_AXES + axis], normals[axis]);
    }
}

static void fill_orientation(const struct sdf_imu_params *params, const struct sdf_imu_plan *plan,
                             struct sdf_imu_state *state, oto_quat q_enu_from_sensor, struct oto_imu_record *record)
{
    record->orientation_w = 1.0;
    if (params->orientation_enable == 0) {
        return;
    }
    if (state->reference == SDF_REFERENCE_OPEN) {
        const bool made =
            sdf_reference_make(params, plan->up_enu_m_s2, q_enu_from_sensor, &state->q_enu_from_reference);
        state->reference = made ? SDF_REFERENCE_SET : SDF_REFERENCE_NONE;
    }
    if (state->reference == SDF_REFERENCE_SET) {
        const oto_quat q_reference_from_sensor =
            oto_quat_mul(oto_quat_conj(state->q_enu_from_reference), q_enu_from_sensor);
        record->orientation_x = q_reference_from_sensor.x;
        record->orientation_y = q_reference_from_sensor.y;
        record->orientation_z = q_reference_from_sensor.z;
        record->orientation_w = q_reference_from_sensor.w;
    }
}

enum sdf_imu_result sdf_imu_measure(const struct sdf_imu_params *params, const struct sdf_imu_plan *plan,
                                    struct sdf_imu_state *state, const struct sdf_imu_physics *physics,
                                    struct oto_imu_record *record)
{
    const oto_quat q_enu_from_sensor = physics->q_enu_from_sensor;
    if (!oto_vec3_is_finite(physics->velocity_enu_m_s) || !oto_vec3_is_finite(physics->angular_rate_sensor_rad_s) ||
        !oto_quat_is_finite(q_enu_from_sensor)) {
        return SDF_NOTHING;
    }
    const double dt_s = elapsed_s(plan, state, physics->tick);
    oto_vec3 up_enu_m_s2 = plan->up_enu_m_s2;
    if (dt_s > 0.0) {
        const oto_vec3 change_enu_m_s = oto_vec3_sub(physics->velocity_enu_m_s, state->velocity_enu_m_s);
        up_enu_m_s2 = oto_vec3_add(oto_vec3_scale(change_enu_m_s, 1.0 / dt_s), up_enu_m_s2);
    }
    const oto_vec3 force =
        oto_vec3_scale(oto_quat_rotate_inv(q_enu_from_sensor, up_enu_m_s2), params->scene_units_per_m);
    double values[SDF_AXES];
    oto_vec3_to_array(force, values);
    oto_vec3_to_array(physics->angular_rate_sensor_rad_s, values + 3);
    add_noise(plan, state, physics->n, dt_s, values);
    fill_orientation(params, plan, state, q_enu_from_sensor, record);
    record->linear_acceleration_m_s2 = oto_vec3_from_array(values);
    record->angular_velocity_rad_s = oto_vec3_from_array(values + 3);
    fill_covariances_of(params, plan, state, record);
    state->is_started = 1;
    state->tick = physics->tick;
    state->velocity_enu_m_s = physics->velocity_enu_m_s;
    state->last = *record;
    return result_of(params, state);
}
