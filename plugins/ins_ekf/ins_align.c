/* Alignment at standstill: initial attitude, gyroscope bias, heading. */
#include <string.h>

#include "ins_filter.h"

#define TILT_PRIOR_RAD 0.3 /* sigma of the tilt before levelling: so large that it has no influence */
#define HEADING_PRIOR_RAD 1.0

void ins_align_restart(struct ins_state *state)
{
    const struct ins_alignment before = state->alignment;
    memset(&state->alignment, 0, sizeof state->alignment);
    state->alignment.fix_enu_m = before.fix_enu_m;
    state->alignment.fix_sigma_m = before.fix_sigma_m;
    state->alignment.fix_body_m = before.fix_body_m;
    state->alignment.fix_correlated_m = before.fix_correlated_m;
    state->alignment.fixes = before.fixes;
}

static bool is_still(const struct ins_plan *plan, const struct ins_state *state)
{
    const struct ins_params *p = &plan->params;
    const oto_vec3 rate = oto_vec3_sub(state->sample.angular_rate_rad_s, state->gyro_bias);
    const double force = oto_vec3_norm(oto_vec3_sub(state->sample.specific_force_m_s2, state->accel_bias));
    const bool rolls = state->odometer_ns != INT64_MIN && state->still_since_ns == INT64_MIN;
    return !rolls && oto_fabs(rate.x) <= p->align_rate_rad_s && oto_fabs(rate.y) <= p->align_rate_rad_s &&
           oto_fabs(rate.z) <= p->align_rate_rad_s &&
           oto_fabs(force - oto_vec3_norm(plan->gravity_enu_m_s2)) <= p->align_force_m_s2;
}

/* The attitude, ENU from body, that follows from the mean specific force and the heading. */
static oto_quat levelled(const struct ins_plan *plan, const struct ins_state *state, oto_vec3 force_sensor_m_s2)
{
    const oto_vec3 f = oto_mat3_mul_vec(plan->body_from_sensor, oto_vec3_sub(force_sensor_m_s2, state->accel_bias));
    const double roll = oto_atan2(f.y, f.z), pitch = oto_atan2(-f.x, oto_hypot(f.y, f.z));
    double yaw = plan->params.rpy_deg[2] * OTO_DEG;
    if (plan->params.heading == INS_HEADING_MAGNETOMETER) {
        const oto_vec3 m = oto_quat_rotate(oto_quat_from_rpy(roll, pitch, 0.0), state->alignment.field_sum);
        yaw = oto_atan2(plan->mag_field_enu.y, plan->mag_field_enu.x) - oto_atan2(m.y, m.x);
    }
    return oto_quat_from_rpy(roll, pitch, yaw);
}

static void three_rows(struct num_kalman_row *row, oto_vec3 innovation, double variance)
{
    row->m = 3;
    row->considered = 0;
    row->gate = 0.0;
    oto_vec3_to_array(innovation, row->innovation);
    memset(row->jacobian, 0, 3 * INS_STATES * sizeof *row->jacobian);
    for (uint32_t i = 0; i < 9; i++) {
        row->noise[i] = i % 4 == 0 ? variance : 0.0;
    }
}

/*
 * Uses the means as measurements, so that the covariance contains the correlation between tilt and accelerometer bias: f̄ =
 * R_sb Rᵀ g + b_a, ω̄ = R_sb Rᵀ Ω + b_g.
 */
static void use_means(const struct ins_plan *plan, struct ins_state *state, oto_vec3 rate, oto_vec3 force, double span_s)
{
    struct num_kalman_row row;
    const oto_mat3 sensor_from_body = oto_mat3_transpose(plan->body_from_sensor);
    const oto_vec3 up_body = oto_quat_rotate_inv(state->nav.q_enu_from_body, oto_vec3_neg(plan->gravity_enu_m_s2));
    const oto_vec3 earth_body = oto_quat_rotate_inv(state->nav.q_enu_from_body, plan->earth_rate_enu_rad_s);
    oto_vec3 expected = oto_vec3_add(oto_mat3_mul_vec(sensor_from_body, up_body), state->accel_bias);
    three_rows(&row, oto_vec3_sub(force, expected), plan->accelerometer.noise_psd / span_s + 1e-8);
    ins_put(row.jacobian, 0, INS_THETA, oto_mat3_mul(sensor_from_body, oto_mat3_skew(up_body)));
    ins_put(row.jacobian, 0, INS_BA, oto_mat3_identity());
    (void)ins_correct(state, INS_ROW_IMU, state->time_ns, &row);

    expected = oto_vec3_add(oto_mat3_mul_vec(sensor_from_body, earth_body), state->gyro_bias);
    three_rows(&row, oto_vec3_sub(rate, expected), plan->gyroscope.noise_psd / span_s + 1e-12);
    ins_put(row.jacobian, 0, INS_BG, oto_mat3_identity());
    (void)ins_correct(state, INS_ROW_IMU, state->time_ns, &row);
}

static void set_variance(struct ins_state *state, uint32_t place, double sigma)
{
    state->p[place * (INS_STATES + 1)] = sigma * sigma;
}

/*
 * The initial position is the fix minus the lever arm. Its error is δp = −D e − w + R [l]× δθ, with the correlated and
 * white errors e, w of the fix. Without the last term the next fix would seem to measure the tilt.
 */
static void start_at_fix(struct ins_state *state)
{
    double sigma_m[3], correlated_m[3], by_turn[9], lever[9];
    const oto_mat3 r_lever = oto_mat3_mul(oto_mat3_from_quat(state->nav.q_enu_from_body),
                                          oto_mat3_skew(state->alignment.fix_body_m));
    oto_vec3_to_array(state->alignment.fix_sigma_m, sigma_m);
    oto_vec3_to_array(state->alignment.fix_correlated_m, correlated_m);
    for (uint32_t i = 0; i < 3; i++) {
        set_variance(state, INS_P + i, sigma_m[i]);
        if (correlated_m[i] > 0.0) {
            state->p[(INS_P + i) * INS_STATES + INS_FIX + i] = state->p[(INS_FIX + i) * INS_STATES + INS_P + i] =
                -correlated_m[i];
        }
    }
    for (uint32_t i = 0; i < 9; i++) { /* P(p, θ) = R [l]× P(θ), where P(θ) is diagonal */
        lever[i] = r_lever.m[i / 3][i % 3];
        by_turn[i] = lever[i] * state->p[(INS_THETA + i % 3) * (INS_STATES + 1)];
        state->p[(INS_P + i / 3) * INS_STATES + INS_THETA + i % 3] = by_turn[i];
        state->p[(INS_THETA + i % 3) * INS_STATES + INS_P + i / 3] = by_turn[i];
    }
    for (uint32_t i = 0; i < 9; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            state->p[(INS_P + i / 3) * INS_STATES + INS_P + i % 3] += by_turn[3 * (i / 3) + k] * lever[3 * (i % 3) + k];
        }
    }
}

static void finish(const struct ins_plan *plan, struct ins_state *state)
{
    const struct ins_params *p = &plan->params;
    const struct ins_alignment *a = &state->alignment;
    const double count = (double)a->count, span_s = (double)(state->time_ns - a->start_ns) / 1e9;
    const oto_vec3 rate = oto_vec3_scale(a->rate_sum, 1.0 / count), force = oto_vec3_scale(a->force_sum, 1.0 / count);
    const bool by_field = p->heading == INS_HEADING_MAGNETOMETER;
    const oto_quat q = levelled(plan, state, force);
    const bool fixed = p->position_from_fix != 0 && a->fixes > 0;
    const oto_vec3 lever = fixed ? oto_vec3_neg(a->fix_body_m) : plan->imu_body_m;
    const oto_vec3 place = fixed ? a->fix_enu_m : oto_vec3_from_array(p->position_enu_m);
    struct num_kalman_row heading;
    num_strapdown_start(&state->nav, q, oto_vec3_zero(), oto_vec3_add(place, oto_quat_rotate(q, lever)));
    set_variance(state, INS_THETA, TILT_PRIOR_RAD);
    set_variance(state, INS_THETA + 1, TILT_PRIOR_RAD);
    set_variance(state, INS_THETA + 2, by_field ? HEADING_PRIOR_RAD : p->rpy_sigma_deg[2] * OTO_DEG);
    if (fixed) {
        start_at_fix(state);
    }
    state->running = 1;
    state->used_ns = state->time_ns;
    use_means(plan, state, rate, force, span_s);
    if (by_field && ins_heading_row(plan, state->nav.q_enu_from_body, a->field_sum, ins_aid(state, INS_HEADING), &heading)) {
        (void)ins_correct(state, INS_ROW_MAGNETOMETER, state->time_ns, &heading);
    }
}

/* The initial velocity is known in ENU axes, independently of the attitude. In body axes its error is δu = R̂ᵀ δv + [û]× δθ. */
static void turn_velocity_prior(struct ins_state *state)
{
    double g[INS_STATES * INS_STATES] = {0};
    for (uint32_t i = 0; i < INS_STATES; i++) {
        g[i * (INS_STATES + 1)] = 1.0;
    }
    ins_put(g, INS_U, INS_THETA, oto_mat3_skew(ins_velocity_body(state)));
    num_matrix_propagate(INS_STATES, g, state->p);
}

void ins_align(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns)
{
    struct ins_alignment *a = &state->alignment;
    const struct ins_params *p = &plan->params;
    if (p->align == INS_ALIGN_GIVEN) {
        const oto_vec3 swing = oto_vec3_cross(ins_rate_body(plan, state), plan->imu_body_m);
        turn_velocity_prior(state);
        state->nav.velocity_enu_m_s =
            oto_vec3_add(state->nav.velocity_enu_m_s, oto_quat_rotate(state->nav.q_enu_from_body, swing));
        state->running = 1;
        state->used_ns = t_ns;
        return;
    }
    if (!is_still(plan, state)) {
        ins_align_restart(state);
        return;
    }
    a->start_ns = a->count == 0 ? t_ns : a->start_ns;
    a->count++;
    a->rate_sum = oto_vec3_add(a->rate_sum, state->sample.angular_rate_rad_s);
    a->force_sum = oto_vec3_add(a->force_sum, state->sample.specific_force_m_s2);
    const bool headed = p->heading != INS_HEADING_MAGNETOMETER || a->fields > 0;
    const bool placed = p->position_from_fix == 0 || a->fixes > 0;
    if (headed && placed && (double)(t_ns - a->start_ns) >= p->align_s * 1e9) {
        finish(plan, state);
    }
}
