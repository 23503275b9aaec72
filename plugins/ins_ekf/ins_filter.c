/* Propagation, correction and comparison with the truth. */
#include "ins_filter.h"

#include <string.h>

#include "num_cholesky.h"

#define MOST_SUBSTEPS 64

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

void ins_filter_init(const struct ins_plan *plan, struct ins_state *state)
{
    memset(state, 0, sizeof *state);
    const struct ins_params *p = &plan->params;
    const oto_quat q = oto_quat_from_rpy(p->rpy_deg[0] * OTO_DEG, p->rpy_deg[1] * OTO_DEG, p->rpy_deg[2] * OTO_DEG);
    num_strapdown_start(&state->nav, q, oto_vec3_from_array(p->velocity_enu_m_s),
                        oto_vec3_add(oto_vec3_from_array(p->position_enu_m), oto_quat_rotate(q, plan->imu_body_m)));
    state->gyro_bias = plan->gyroscope.bias_u;
    state->accel_bias = plan->accelerometer.bias_u;
    state->aids[INS_SCALE - INS_AID] = 1.0;
    state->odometer_ns = state->still_since_ns = state->nonholonomic_ns = state->still_ns = INT64_MIN;
    state->truths.nees = -1.0;
    for (uint32_t i = 0; i < INS_PARTS; i++) {
        state->part_nees[i] = -1.0;
    }
    for (uint32_t i = 0; i < 3; i++) {
        const double sigmas[5] = {p->position_sigma_m[i], p->velocity_sigma_m_s, p->rpy_sigma_deg[i] * OTO_DEG,
                                  plan->gyroscope.bias_sigma_u, plan->accelerometer.bias_sigma_u};
        for (uint32_t block = 0; block < 5; block++) {
            state->p[(3 * block + i) * (INS_STATES + 1)] = sigmas[block] * sigmas[block];
        }
    }
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        state->p[(INS_AID + i) * (INS_STATES + 1)] = plan->aids[i].sigma * plan->aids[i].sigma;
    }
}

/* ---- propagation ---- */

/* Adds white noise n of this variance to the attitude, which changes the velocity in body axes as well: δθ = n, δu = [u]× n. */
static void add_turn(oto_vec3 velocity_body_m_s, double variance, double *p)
{
    const oto_mat3 by_turn = oto_mat3_skew(velocity_body_m_s);
    const oto_mat3 square = oto_mat3_mul(by_turn, oto_mat3_transpose(by_turn));
    for (uint32_t i = 0; i < 3; i++) {
        p[(INS_THETA + i) * (INS_STATES + 1)] += variance;
        for (uint32_t k = 0; k < 3; k++) {
            p[(INS_U + i) * INS_STATES + INS_U + k] += variance * square.m[i][k];
            p[(INS_U + i) * INS_STATES + INS_THETA + k] += variance * by_turn.m[i][k];
            p[(INS_THETA + k) * INS_STATES + INS_U + i] += variance * by_turn.m[i][k];
        }
    }
}

static void add_noise(const struct ins_plan *plan, const struct ins_state *state, double dt_s, double *p)
{
    const struct {
        uint32_t place;
        double psd;
    } blocks[] = {{INS_U, plan->accelerometer.noise_psd},
                  {INS_BG, plan->gyroscope.bias_psd},
                  {INS_BA, plan->accelerometer.bias_psd}};
    for (uint32_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        for (uint32_t i = 0; i < 3; i++) {
            p[(blocks[b].place + i) * (INS_STATES + 1)] += blocks[b].psd * dt_s;
        }
    }
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        p[(INS_AID + i) * (INS_STATES + 1)] += plan->aids[i].psd * dt_s;
    }
    add_turn(ins_velocity_body(state), plan->gyroscope.noise_psd * dt_s, p);
}

/* Adds the uncertainty of a gap: a constant unknown acceleration and rate, with the sigmas of the parameters. */
static void add_gap(const struct ins_plan *plan, const struct ins_state *state, double dt_s, double *p)
{
    const double v = plan->params.gap_accel_m_s2 * dt_s, theta = plan->params.gap_rate_rad_s * dt_s;
    for (uint32_t i = 0; i < 3; i++) {
        p[(INS_P + i) * (INS_STATES + 1)] += 0.25 * v * v * dt_s * dt_s;
        p[(INS_U + i) * (INS_STATES + 1)] += v * v;
    }
    add_turn(ins_velocity_body(state), theta * theta, p);
}

static double left_after(double rate_1_s, double dt_s)
{
    return rate_1_s > 0.0 ? oto_exp(-rate_1_s * dt_s) : 1.0;
}

/* Transition matrix d error(t + dt) / d error(t), for the increments between two samples. */
static void transition(const struct ins_plan *plan, const struct ins_state *state,
                       const struct num_strapdown_delta *delta, double dt_s, double *f)
{
    const oto_mat3 identity = oto_mat3_identity(), r = oto_mat3_from_quat(state->nav.q_enu_from_body);
    const oto_mat3 back = oto_mat3_transpose(oto_mat3_from_quat(oto_quat_from_rotvec(delta->angle_rad)));
    const oto_vec3 u = ins_velocity_body(state), dv = delta->velocity_m_s;
    const oto_vec3 gravity = oto_quat_rotate_inv(state->nav.q_enu_from_body, ins_gravity(plan, state));
    const oto_vec3 u_after = oto_mat3_mul_vec(back, oto_vec3_add_scaled(oto_vec3_add(u, dv), gravity, dt_s));
    const oto_mat3 half_turned = oto_mat3_add(identity, oto_mat3_scale(oto_mat3_skew(delta->angle_rad), 0.5));
    const oto_mat3 half_back = oto_mat3_add(identity, oto_mat3_scale(oto_mat3_skew(delta->angle_rad), -0.5));
    const oto_mat3 theta_bg = oto_mat3_scale(oto_mat3_mul(half_back, plan->body_from_sensor), -dt_s);
    const oto_mat3 force = oto_mat3_mul(oto_mat3_mul(back, half_turned), plan->body_from_sensor);
    const oto_mat3 sculling = oto_mat3_mul(oto_mat3_mul(back, oto_mat3_skew(dv)), plan->body_from_sensor);
    const oto_vec3 path = oto_vec3_scale(oto_vec3_add_scaled(u, dv, 0.5), -dt_s);
    memset(f, 0, INS_STATES * INS_STATES * sizeof *f);
    ins_put(f, INS_P, INS_P, identity);
    ins_put(f, INS_P, INS_U, oto_mat3_scale(r, dt_s));
    ins_put(f, INS_P, INS_THETA, oto_mat3_mul(r, oto_mat3_skew(path)));
    ins_put(f, INS_P, INS_BA, oto_mat3_scale(oto_mat3_mul(r, plan->body_from_sensor), -0.5 * dt_s * dt_s));
    ins_put(f, INS_U, INS_U, back);
    ins_put(f, INS_U, INS_THETA, oto_mat3_scale(oto_mat3_mul(back, oto_mat3_skew(gravity)), dt_s));
    ins_put(f, INS_U, INS_BG, oto_mat3_add(oto_mat3_scale(sculling, 0.5 * dt_s),
                                           oto_mat3_mul(oto_mat3_skew(u_after), theta_bg)));
    ins_put(f, INS_U, INS_BA, oto_mat3_scale(force, -dt_s));
    ins_put(f, INS_THETA, INS_THETA, back);
    ins_put(f, INS_THETA, INS_BG, theta_bg);
    ins_put(f, INS_BG, INS_BG, oto_mat3_scale(identity, oto_exp(-plan->gyroscope.bias_rate_1_s * dt_s)));
    ins_put(f, INS_BA, INS_BA, oto_mat3_scale(identity, oto_exp(-plan->accelerometer.bias_rate_1_s * dt_s)));
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        f[(INS_AID + i) * (INS_STATES + 1)] = left_after(plan->aids[i].rate_1_s, dt_s);
    }
}

/* A bias with a correlation time decays towards its known value. */
static oto_vec3 relaxed(oto_vec3 bias, const struct ins_triad *triad, double dt_s)
{
    const double left = oto_exp(-triad->bias_rate_1_s * dt_s);
    return oto_vec3_add_scaled(triad->bias_u, oto_vec3_sub(bias, triad->bias_u), left);
}

struct num_strapdown_sample ins_unbiased(const struct ins_plan *plan, const struct ins_state *state,
                                         const struct num_strapdown_sample *raw)
{
    return (struct num_strapdown_sample){
        oto_mat3_mul_vec(plan->body_from_sensor, oto_vec3_sub(raw->angular_rate_rad_s, state->gyro_bias)),
        oto_mat3_mul_vec(plan->body_from_sensor, oto_vec3_sub(raw->specific_force_m_s2, state->accel_bias))};
}

static void propagate(const struct ins_plan *plan, struct ins_state *state, const struct num_strapdown_sample *before,
                      const struct num_strapdown_sample *now, double dt_s)
{
    double f[INS_STATES * INS_STATES];
    const struct num_strapdown_delta delta = num_strapdown_between(before, now, dt_s);
    transition(plan, state, &delta, dt_s, f);
    add_noise(plan, state, 0.5 * dt_s, state->p);
    num_matrix_propagate(INS_STATES, f, state->p);
    num_strapdown_advance(&state->nav, &delta, dt_s, ins_gravity(plan, state), plan->earth_rate_enu_rad_s);
    add_noise(plan, state, 0.5 * dt_s, state->p);
    state->gyro_bias = relaxed(state->gyro_bias, &plan->gyroscope, dt_s);
    state->accel_bias = relaxed(state->accel_bias, &plan->accelerometer, dt_s);
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        state->aids[i] *= left_after(plan->aids[i].rate_1_s, dt_s);
    }
}

static struct num_strapdown_sample mix(const struct num_strapdown_sample *a, const struct num_strapdown_sample *b, double s)
{
    return (struct num_strapdown_sample){oto_vec3_lerp(a->angular_rate_rad_s, b->angular_rate_rad_s, s),
                                         oto_vec3_lerp(a->specific_force_m_s2, b->specific_force_m_s2, s)};
}

/* Propagates from the last sample to this one; a gap is divided into steps with linearly interpolated samples. */
static void advance(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                    const struct num_strapdown_sample *sample)
{
    const double gap_s = seconds(t_ns - state->time_ns), longest_s = plan->params.max_imu_gap_s;
    const struct num_strapdown_sample from = ins_unbiased(plan, state, &state->sample), to = ins_unbiased(plan, state, sample);
    uint32_t steps = 1;
    if (gap_s > longest_s) {
        steps = gap_s / longest_s < MOST_SUBSTEPS ? (uint32_t)(gap_s / longest_s) + 1u : MOST_SUBSTEPS;
        add_gap(plan, state, gap_s, state->p);
    }
    for (uint32_t k = 0; k < steps; k++) {
        const struct num_strapdown_sample a = mix(&from, &to, (double)k / steps), b = mix(&from, &to, (k + 1.0) / steps);
        propagate(plan, state, &a, &b, gap_s / steps);
    }
    state->time_ns = t_ns;
}

static bool is_sane(const struct ins_state *state)
{
    return oto_vec3_is_finite(state->nav.position_enu_m) && oto_vec3_is_finite(state->nav.velocity_enu_m_s) &&
           oto_quat_is_finite(state->nav.q_enu_from_body) && num_all_finite(state->p, INS_STATES * INS_STATES);
}

static enum num_outcome take_imu(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                 const struct num_strapdown_sample *sample)
{
    if (!oto_vec3_is_finite(sample->angular_rate_rad_s) || !oto_vec3_is_finite(sample->specific_force_m_s2)) {
        return NUM_REFUSED;
    }
    if (state->has_sample != 0 && t_ns <= state->time_ns) {
        return NUM_LATE;
    }
    if (state->running != 0) {
        const struct ins_state before = *state;
        advance(plan, state, t_ns, sample);
        if (!is_sane(state)) {
            *state = before;
            return NUM_REFUSED;
        }
    }
    state->sample = *sample;
    state->has_sample = 1;
    state->time_ns = t_ns;
    state->history.time_ns[state->history.count % INS_HISTORY] = t_ns;
    state->history.sample[state->history.count++ % INS_HISTORY] = *sample;
    if (state->running == 0) {
        ins_align(plan, state, t_ns);
    } else {
        ins_say_what_holds(plan, state);
    }
    return NUM_USED;
}

enum num_outcome ins_filter_imu(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                const struct num_strapdown_sample *sample)
{
    const enum num_outcome outcome = take_imu(plan, state, t_ns, sample);
    if (outcome != NUM_USED) {
        num_filter_count(&state->rows[INS_ROW_IMU], outcome, t_ns);
    }
    return outcome;
}

/* ---- correction ---- */

/*
 * Adds the estimated error to the estimate, and transforms P to the new estimate. A rotation of the whole trajectory about
 * the vertical, which measurements in body axes do not show, is δθ = R̂ᵀ e_z and δp = e_z × p̂. This direction changes with
 * R̂ and p̂; unless P is transformed exactly, each correction makes the heading seem a little better known than it is.
 */
static void inject(struct ins_state *state, const double *dx)
{
    const oto_mat3 r = oto_mat3_from_quat(state->nav.q_enu_from_body);
    const oto_vec3 moved = oto_vec3_from_array(dx + INS_P), turn = oto_vec3_from_array(dx + INS_THETA);
    const oto_vec3 u = oto_vec3_add(ins_velocity_body(state), oto_vec3_from_array(dx + INS_U));
    const oto_quat by = oto_quat_from_rotvec(turn);
    double g[INS_STATES * INS_STATES] = {0};
    state->nav.position_enu_m = oto_vec3_add(state->nav.position_enu_m, moved);
    state->nav.q_enu_from_body = oto_quat_normalize(oto_quat_mul(state->nav.q_enu_from_body, by));
    state->nav.velocity_enu_m_s = oto_quat_rotate(state->nav.q_enu_from_body, u);
    state->gyro_bias = oto_vec3_add(state->gyro_bias, oto_vec3_from_array(dx + INS_BG));
    state->accel_bias = oto_vec3_add(state->accel_bias, oto_vec3_from_array(dx + INS_BA));
    for (uint32_t i = 0; i < INS_AIDS; i++) {
        state->aids[i] += dx[INS_AID + i];
    }
    for (uint32_t i = 0; i < INS_STATES; i++) {
        g[i * (INS_STATES + 1)] = 1.0;
    }
    ins_put(g, INS_THETA, INS_THETA, oto_mat3_transpose(oto_mat3_from_quat(by)));
    ins_put(g, INS_P, INS_THETA, oto_mat3_scale(oto_mat3_mul(oto_mat3_skew(moved), r), -1.0));
    num_matrix_propagate(INS_STATES, g, state->p);
}

enum num_outcome ins_correct(struct ins_state *state, enum ins_row row, int64_t t_ns, struct num_kalman_row *measured)
{
    double dx[NUM_MATRIX_MOST];
    const enum num_outcome outcome = num_filter_update(INS_STATES, measured, state->p, dx, &state->rows[row]);
    if (outcome == NUM_USED) {
        inject(state, dx);
        state->nis = measured->nis;
        state->nis_rows = measured->m;
        state->used_ns = t_ns > state->used_ns ? t_ns : state->used_ns;
    }
    num_filter_count(&state->rows[row], outcome, t_ns);
    return outcome;
}

/* ---- truth ---- */

void ins_body_error_jacobian(const struct ins_plan *plan, const struct ins_state *state, double *j)
{
    const oto_mat3 r = oto_mat3_from_quat(state->nav.q_enu_from_body);
    const oto_mat3 lever = oto_mat3_skew(plan->imu_body_m);
    memset(j, 0, 9 * INS_STATES * sizeof *j);
    ins_put(j, 0, INS_P, oto_mat3_identity());
    ins_put(j, 0, INS_THETA, oto_mat3_mul(r, lever));
    ins_put(j, 3, INS_U, oto_mat3_identity());
    ins_put(j, 3, INS_BG, oto_mat3_scale(oto_mat3_mul(lever, plan->body_from_sensor), -1.0));
    ins_put(j, 6, INS_THETA, oto_mat3_identity());
}

oto_mat3 ins_turn_noise(const struct ins_plan *plan, oto_vec3 lever_m)
{
    const oto_mat3 by_rate = oto_mat3_skew(lever_m);
    const double variance = plan->gyroscope.noise_psd * plan->imu_rate_hz;
    return oto_mat3_scale(oto_mat3_mul(by_rate, oto_mat3_transpose(by_rate)), variance);
}

/* Normalised squared error of three of the nine errors; -1: their covariance has no inverse. */
static double nees_of_block(const double *covariance, const double *error, uint32_t first)
{
    double p[9], e[3];
    for (uint32_t i = 0; i < 3; i++) {
        e[i] = error[first + i];
        for (uint32_t k = 0; k < 3; k++) {
            p[3 * i + k] = covariance[9 * (first + i) + first + k];
        }
    }
    return num_cholesky(3, p) ? num_cholesky_distance(3, p, e) : -1.0;
}

/*
 * After dead reckoning with a heading error ψ the position lies on an arc about the point where that error began, but P
 * describes the tangent of the arc. With r from that point, Cov(δp, ψ) / Var(ψ) = e_z × r. Subtracting the difference of
 * arc and tangent gives the error that P describes (Long et al., "The banana distribution is Gaussian", RSS 2012). What the
 * position is off besides was estimated in axes that were off by the heading error, and is turned back by it.
 */
static void take_off_arc(const double *covariance, oto_quat q_enu_from_body, double *error)
{
    const oto_vec3 up = oto_quat_rotate_inv(q_enu_from_body, oto_vec3_make(0, 0, 1));
    const double vertical[3] = {up.x, up.y, up.z};
    double sine, cosine, heading = 0.0, variance = 0.0, with_heading[2] = {0.0, 0.0};
    for (uint32_t i = 0; i < 3; i++) {
        heading += vertical[i] * error[6 + i];
        for (uint32_t k = 0; k < 3; k++) {
            variance += vertical[i] * vertical[k] * covariance[9 * (6 + i) + 6 + k];
        }
        with_heading[0] += covariance[6 + i] * vertical[i];
        with_heading[1] += covariance[9 + 6 + i] * vertical[i];
    }
    if (!(variance > 0.0)) {
        return;
    }
    const double rx = with_heading[1] / variance, ry = -with_heading[0] / variance;
    oto_sincos(heading, &sine, &cosine);
    const double x = error[0] + rx, y = error[1] + ry;
    error[0] = cosine * x + sine * y - rx - heading * ry;
    error[1] = cosine * y - sine * x - ry + heading * rx;
}

void ins_filter_truth(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, oto_vec3 position_enu_m,
                      oto_vec3 velocity_enu_m_s, oto_quat q_enu_from_body)
{
    double j[9 * INS_STATES], jp[9 * INS_STATES], part[81], e[9];
    oto_vec3 position, velocity;
    if (state->running == 0 || t_ns != state->time_ns || !oto_vec3_is_finite(position_enu_m) ||
        !oto_vec3_is_finite(velocity_enu_m_s) || !oto_quat_is_unit(q_enu_from_body, 1e-6)) {
        return;
    }
    const oto_quat q = state->nav.q_enu_from_body;
    position = oto_vec3_sub(state->nav.position_enu_m, oto_quat_rotate(q, plan->imu_body_m));
    velocity = oto_vec3_sub(state->nav.velocity_enu_m_s,
                            oto_quat_rotate(q, oto_vec3_cross(ins_rate_body(plan, state), plan->imu_body_m)));
    oto_vec3_to_array(oto_vec3_sub(position_enu_m, position), e);
    oto_vec3_to_array(oto_vec3_sub(velocity_enu_m_s, velocity), e + 3);
    oto_vec3_to_array(oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(q), q_enu_from_body)), e + 6);
    for (uint32_t i = 0; i < 9; i++) {
        state->truths.error[i] = e[i];
        state->truths.square_sum[i] += e[i] * e[i];
    }
    oto_vec3_to_array(oto_vec3_sub(oto_quat_rotate_inv(q_enu_from_body, velocity_enu_m_s), oto_quat_rotate_inv(q, velocity)),
                      e + 3);
    ins_body_error_jacobian(plan, state, j);
    num_matrix_mul(9, INS_STATES, INS_STATES, j, state->p, jp);
    for (uint32_t a = 0; a < 9; a++) {
        for (uint32_t b = 0; b < 9; b++) {
            part[a * 9 + b] = 0.0;
            for (uint32_t k = 0; k < INS_STATES; k++) {
                part[a * 9 + b] += jp[a * INS_STATES + k] * j[b * INS_STATES + k];
            }
        }
    }
    const oto_mat3 turn_noise = ins_turn_noise(plan, plan->imu_body_m);
    for (uint32_t i = 0; i < 9; i++) {
        part[(3 + i / 3) * 9 + 3 + i % 3] += turn_noise.m[i / 3][i % 3];
    }
    take_off_arc(part, q, e);
    for (uint32_t block = 0; block < INS_PARTS; block++) {
        state->part_nees[block] = nees_of_block(part, e, 3 * block);
    }
    num_filter_add_nees(&state->truths, 9, part, e);
}
