/* What aids the inertial navigation: each kind of measurement as rows of innovation, Jacobian and noise. */
#include <string.h>

#include "ins_filter.h"

#define FRESH_NS 500000000 /* an odometer's speed tells of standstill so long */

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* The estimate at the time of a measurement that is a little older: run backwards with the last sample. */
struct past {
    double age_s;
    oto_mat3 r, past_from_body; /* enu from body then; body then from body now */
    oto_vec3 position_enu_m, velocity_enu_m_s, rate_body_rad_s;
};

static struct past past_of(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns)
{
    const struct num_strapdown *nav = &state->nav;
    struct past past = {.age_s = t_ns < state->time_ns ? seconds(state->time_ns - t_ns) : 0.0,
                        .rate_body_rad_s = ins_rate_body(plan, state)};
    const oto_vec3 force = oto_mat3_mul_vec(plan->body_from_sensor,
                                            oto_vec3_sub(state->sample.specific_force_m_s2, state->accel_bias));
    const oto_vec3 accel = oto_vec3_add(oto_quat_rotate(nav->q_enu_from_body, force), plan->gravity_enu_m_s2);
    const double age_s = past.age_s;
    past.r = oto_mat3_from_quat(oto_quat_mul(nav->q_enu_from_body,
                                             oto_quat_from_rotvec(oto_vec3_scale(past.rate_body_rad_s, -age_s))));
    past.past_from_body = oto_mat3_mul(oto_mat3_transpose(past.r), oto_mat3_from_quat(nav->q_enu_from_body));
    past.velocity_enu_m_s = oto_vec3_add_scaled(nav->velocity_enu_m_s, accel, -age_s);
    past.position_enu_m = oto_vec3_add_scaled(oto_vec3_add_scaled(nav->position_enu_m, nav->velocity_enu_m_s, -age_s),
                                              accel, 0.5 * age_s * age_s);
    return past;
}

/* Whether an aid can be taken now: refused before the start, late behind the limit. */
static enum num_outcome admit(const struct ins_plan *plan, struct ins_state *state, enum ins_row row, int64_t t_ns,
                              bool finite)
{
    enum num_outcome outcome = NUM_USED;
    if (!finite) {
        outcome = NUM_REFUSED;
    } else if (state->has_sample != 0 && seconds(state->time_ns - t_ns) > plan->params.late_limit_s) {
        outcome = NUM_LATE;
    }
    if (outcome != NUM_USED) {
        num_filter_count(&state->rows[row], outcome, t_ns);
    }
    return outcome;
}

/* Velocity of a point of the body in body axes, and its derivatives: u + ω × l. */
static oto_vec3 velocity_of_point(const struct ins_plan *plan, const struct past *past, oto_vec3 lever_m, double *j)
{
    const oto_vec3 imu = oto_mat3_mul_vec(oto_mat3_transpose(past->r), past->velocity_enu_m_s);
    memset(j, 0, 3 * INS_STATES * sizeof *j);
    ins_put(j, 0, INS_U, past->past_from_body);
    ins_put(j, 0, INS_BG, oto_mat3_mul(oto_mat3_skew(lever_m), plan->body_from_sensor));
    return oto_vec3_add(imu, oto_vec3_cross(past->rate_body_rad_s, lever_m));
}

/* ---- odometer ---- */

static void hear_standstill(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, double speed_m_s)
{
    const bool still = oto_fabs(speed_m_s) <= plan->params.still_threshold_m_s;
    if (!still) {
        state->still_since_ns = INT64_MIN;
    } else if (state->still_since_ns == INT64_MIN) {
        state->still_since_ns = t_ns;
    }
    state->odometer_m_s = speed_m_s;
    state->odometer_ns = t_ns;
}

enum num_outcome ins_filter_odometer(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, double speed_m_s)
{
    struct num_kalman_row row;
    double j[3 * INS_STATES];
    const enum num_outcome admitted = admit(plan, state, INS_ROW_ODOMETER, t_ns, num_is_finite(speed_m_s));
    if (admitted != NUM_USED) {
        return admitted;
    }
    hear_standstill(plan, state, t_ns, speed_m_s);
    if (state->running == 0) {
        return NUM_USED;
    }
    const struct past past = past_of(plan, state, t_ns);
    const oto_vec3 velocity = velocity_of_point(plan, &past, plan->odometer_body_m, j);
    const double sign = plan->params.odometer_signed == 0 && velocity.x < 0.0 ? -1.0 : 1.0;
    row.m = 1;
    row.gate = plan->odometer_gate;
    row.innovation[0] = sign * speed_m_s - state->scale * velocity.x;
    row.noise[0] = plan->params.odometer_sigma_m_s * plan->params.odometer_sigma_m_s;
    for (uint32_t s = 0; s < INS_STATES; s++) {
        row.jacobian[s] = state->scale * j[s];
    }
    row.jacobian[INS_SCALE] = velocity.x;
    return ins_correct(state, INS_ROW_ODOMETER, t_ns, &row);
}

/* ---- what holds of a car ---- */

static bool is_due(int64_t last_ns, int64_t now_ns, double rate_hz)
{
    return rate_hz > 0.0 && (last_ns == INT64_MIN || seconds(now_ns - last_ns) * rate_hz >= 1.0 - 1e-6);
}

/* Sideways and upwards the point does not move. */
static void say_nonholonomic(const struct ins_plan *plan, struct ins_state *state)
{
    struct num_kalman_row row;
    double j[3 * INS_STATES];
    const double *sigma = plan->params.nonholonomic_sigma_m_s;
    const struct past past = past_of(plan, state, state->time_ns);
    const oto_vec3 velocity = velocity_of_point(plan, &past, plan->nonholonomic_body_m, j);
    row.m = 2;
    row.gate = plan->nonholonomic_gate;
    row.innovation[0] = -velocity.y;
    row.innovation[1] = -velocity.z;
    row.noise[0] = sigma[0] * sigma[0];
    row.noise[1] = row.noise[2] = 0.0;
    row.noise[3] = sigma[1] * sigma[1];
    memcpy(row.jacobian, j + INS_STATES, 2 * INS_STATES * sizeof *j);
    (void)ins_correct(state, INS_ROW_NONHOLONOMIC, state->time_ns, &row);
}

static void diagonal(struct num_kalman_row *row, double variance)
{
    row->m = 3;
    row->gate = 0.0;
    memset(row->jacobian, 0, 3 * INS_STATES * sizeof *row->jacobian);
    for (uint32_t i = 0; i < 9; i++) {
        row->noise[i] = i % 4 == 0 ? variance : 0.0;
    }
}

/* v = 0, and the gyroscope reads its bias and the Earth's rate. */
static void say_still(const struct ins_plan *plan, struct ins_state *state)
{
    struct num_kalman_row row;
    const struct ins_params *p = &plan->params;
    diagonal(&row, p->still_sigma_m_s * p->still_sigma_m_s);
    oto_vec3_to_array(oto_vec3_neg(ins_velocity_body(state)), row.innovation);
    ins_put(row.jacobian, 0, INS_U, oto_mat3_identity());
    (void)ins_correct(state, INS_ROW_ZERO_VELOCITY, state->time_ns, &row);

    diagonal(&row, p->still_sigma_rad_s * p->still_sigma_rad_s + plan->gyroscope.noise_psd * plan->imu_rate_hz);
    const oto_vec3 earth = oto_quat_rotate_inv(plan->q_body_from_sensor,
                                               oto_quat_rotate_inv(state->nav.q_enu_from_body, plan->earth_rate_enu_rad_s));
    oto_vec3_to_array(oto_vec3_sub(oto_vec3_sub(state->sample.angular_rate_rad_s, state->gyro_bias), earth),
                      row.innovation);
    ins_put(row.jacobian, 0, INS_BG, oto_mat3_identity());
    (void)ins_correct(state, INS_ROW_ZERO_RATE, state->time_ns, &row);
}

void ins_say_what_holds(const struct ins_plan *plan, struct ins_state *state)
{
    const struct ins_params *p = &plan->params;
    const bool still = state->still_since_ns != INT64_MIN && state->time_ns - state->odometer_ns < FRESH_NS &&
                       seconds(state->time_ns - state->still_since_ns) >= p->still_s;
    if (is_due(state->nonholonomic_ns, state->time_ns, p->nonholonomic_rate_hz)) {
        state->nonholonomic_ns = state->time_ns;
        say_nonholonomic(plan, state);
    }
    if (still && is_due(state->still_ns, state->time_ns, p->still_rate_hz)) {
        state->still_ns = state->time_ns;
        say_still(plan, state);
    }
}

/* ---- magnetometer ---- */

/* With u = R̂ m: a turn φ changes its azimuth by φz − uz (ux φx + uy φy) / (ux² + uy²). */
bool ins_heading_row(const struct ins_plan *plan, oto_quat q_enu_from_body, oto_vec3 field_body,
                     struct num_kalman_row *measured)
{
    const oto_vec3 u = oto_quat_rotate(q_enu_from_body, field_body), known = plan->mag_field_enu;
    const double square = u.x * u.x + u.y * u.y, sigma = plan->params.magnetometer_sigma_deg * OTO_DEG;
    if (!(square > 1e-4 * u.z * u.z) || !(square > 0.0)) {
        return false;
    }
    const oto_vec3 by_turn = oto_vec3_make(-u.z * u.x / square, -u.z * u.y / square, 1.0);
    measured->m = 1;
    measured->gate = plan->magnetometer_gate;
    measured->noise[0] = sigma * sigma;
    measured->innovation[0] = oto_wrap_pi(oto_atan2(known.y, known.x) - oto_atan2(u.y, u.x));
    memset(measured->jacobian, 0, INS_STATES * sizeof *measured->jacobian);
    oto_vec3_to_array(oto_quat_rotate_inv(q_enu_from_body, by_turn), measured->jacobian + INS_THETA);
    return true;
}

static bool is_disturbed(const struct ins_plan *plan, oto_vec3 field_t)
{
    const double most = plan->params.magnetometer_magnitude_percent * 0.01, known = plan->mag_magnitude_t;
    return known > 0.0 && most > 0.0 && oto_fabs(oto_vec3_norm(field_t) - known) > most * known;
}

enum num_outcome ins_filter_magnetometer(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                         oto_vec3 field_body_t)
{
    struct num_kalman_row row;
    const enum num_outcome admitted =
        admit(plan, state, INS_ROW_MAGNETOMETER, t_ns, oto_vec3_is_finite(field_body_t));
    if (admitted != NUM_USED) {
        return admitted;
    }
    if (is_disturbed(plan, field_body_t)) {
        num_filter_count(&state->rows[INS_ROW_MAGNETOMETER], NUM_GATED, t_ns);
        return NUM_GATED;
    }
    if (state->running == 0) {
        state->alignment.field_sum = oto_vec3_add(state->alignment.field_sum, field_body_t);
        state->alignment.fields++;
        return NUM_USED;
    }
    const struct past past = past_of(plan, state, t_ns);
    if (!ins_heading_row(plan, oto_quat_from_mat3(past.r), field_body_t, &row)) {
        num_filter_count(&state->rows[INS_ROW_MAGNETOMETER], NUM_REFUSED, t_ns);
        return NUM_REFUSED;
    }
    return ins_correct(state, INS_ROW_MAGNETOMETER, t_ns, &row);
}

/* ---- position ---- */

/* While aligning: where a point of the body is. */
static void keep_fix(struct ins_alignment *alignment, oto_vec3 position_enu_m, oto_vec3 sigma_m, oto_vec3 body_m,
                     oto_vec3 correlated_m)
{
    alignment->fix_enu_m = position_enu_m;
    alignment->fix_sigma_m = sigma_m;
    alignment->fix_body_m = body_m;
    alignment->fix_correlated_m = correlated_m;
    alignment->fixes++;
}

/* The rows p + R l of a point of the body; an older fix tells of p − v Δ. */
static void position_rows(const struct ins_state *state, const struct past *past, oto_vec3 position_enu_m, oto_vec3 body_m, struct num_kalman_row *row)
{
    const oto_vec3 expected = oto_vec3_add(past->position_enu_m, oto_mat3_mul_vec(past->r, body_m));
    diagonal(row, 0.0);
    oto_vec3_to_array(oto_vec3_sub(position_enu_m, expected), row->innovation);
    ins_put(row->jacobian, 0, INS_P, oto_mat3_identity());
    const oto_mat3 r = oto_mat3_from_quat(state->nav.q_enu_from_body);
    const oto_vec3 arm_m = oto_vec3_add_scaled(oto_mat3_mul_vec(oto_mat3_transpose(past->past_from_body), body_m),
                                               ins_velocity_body(state), -past->age_s);
    ins_put(row->jacobian, 0, INS_U, oto_mat3_scale(r, -past->age_s));
    ins_put(row->jacobian, 0, INS_THETA, oto_mat3_scale(oto_mat3_mul(r, oto_mat3_skew(arm_m)), -1.0));
}

enum num_outcome ins_filter_position(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                     oto_vec3 position_enu_m)
{
    struct num_kalman_row row;
    const enum num_outcome admitted = admit(plan, state, INS_ROW_POSITION, t_ns, oto_vec3_is_finite(position_enu_m));
    if (admitted != NUM_USED) {
        return admitted;
    }
    if (state->running == 0) {
        const oto_vec3 sigma_m = oto_vec3_from_array(plan->params.position_fix_sigma_m);
        keep_fix(&state->alignment, position_enu_m, sigma_m, plan->fix_body_m, oto_vec3_zero());
        return NUM_USED;
    }
    const struct past past = past_of(plan, state, t_ns);
    position_rows(state, &past, position_enu_m, plan->fix_body_m, &row);
    row.gate = plan->position_gate;
    for (uint32_t i = 0; i < 3; i++) {
        row.noise[i * 4] = plan->params.position_fix_sigma_m[i] * plan->params.position_fix_sigma_m[i];
    }
    return ins_correct(state, INS_ROW_POSITION, t_ns, &row);
}

/* ---- satellite fixes ---- */

/* The correlated error of another mode is another one: unit variance, no correlation with the other states. */
static void forget_fix_error(struct ins_state *state)
{
    state->fix_error = oto_vec3_zero();
    for (uint32_t i = INS_FIX; i < INS_FIX + 3; i++) {
        for (uint32_t k = 0; k < INS_STATES; k++) {
            state->p[i * INS_STATES + k] = state->p[k * INS_STATES + i] = i == k ? 1.0 : 0.0;
        }
    }
}

/* Standard deviations of the correlated part of a fix. */
static oto_vec3 correlated_sigma(const struct ins_plan *plan, const struct ins_fix *fix)
{
    const double share = plan->params.gnss_correlated_share;
    const oto_vec3 v = fix->variance_enu_m2;
    return oto_vec3_make(oto_sqrt(share * v.x), oto_sqrt(share * v.y), oto_sqrt(share * v.z));
}

/* p + R l + D u, D the correlated deviations; the rest of the variance is white. */
enum num_outcome ins_filter_fix(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                const struct ins_fix *fix)
{
    struct num_kalman_row row;
    const oto_vec3 position_enu_m = oto_enu_from_geodetic(plan->origin, fix->place), v = fix->variance_enu_m2;
    const bool good = oto_vec3_is_finite(position_enu_m) && v.x > 0.0 && v.y > 0.0 && v.z > 0.0 && oto_vec3_is_finite(v);
    const enum num_outcome admitted = admit(plan, state, INS_ROW_GNSS, t_ns, good);
    if (admitted != NUM_USED) {
        return admitted;
    }
    const oto_vec3 correlated_m = correlated_sigma(plan, fix);
    if (fix->mode != state->fix_mode) {
        forget_fix_error(state);
        state->fix_mode = fix->mode;
    }
    if (state->running == 0) {
        const oto_vec3 sigma_m = oto_vec3_make(oto_sqrt(v.x), oto_sqrt(v.y), oto_sqrt(v.z));
        keep_fix(&state->alignment, position_enu_m, sigma_m, plan->antenna_body_m, correlated_m);
        return NUM_USED;
    }
    const struct past past = past_of(plan, state, t_ns);
    const double white = 1.0 - plan->params.gnss_correlated_share, variance[3] = {v.x, v.y, v.z};
    double deviation[3], error[3];
    oto_vec3_to_array(correlated_m, deviation);
    oto_vec3_to_array(state->fix_error, error);
    position_rows(state, &past, position_enu_m, plan->antenna_body_m, &row);
    row.gate = plan->gnss_gate;
    for (uint32_t i = 0; i < 3; i++) {
        row.innovation[i] -= deviation[i] * error[i];
        row.jacobian[i * INS_STATES + INS_FIX + i] = deviation[i];
        row.noise[i * 4] = white * variance[i];
    }
    return ins_correct(state, INS_ROW_GNSS, t_ns, &row);
}
