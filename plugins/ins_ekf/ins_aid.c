/* The aids of the inertial navigation: innovation, Jacobian and noise of each kind of measurement. */
#include <string.h>

#include "ins_filter.h"

#define FRESH_NS 500000000 /* an odometer's speed shows standstill for this long */
#define LONGEST_GAP_S 0.2  /* between two edges of an encoder */
/* Half of the time over which the change of the rate is the angular acceleration: short for a body on springs (1 to 5 Hz). */
#define HALF_SPAN_NS 20000000
#define LINE_NS 80000000 /* of the force along which the slip is read: short for the ramps of traffic, of about a second */
#define TURN_TIMES 1.6 /* the body turns if the mean square of α is so many times that of its noise */
#define SHOWN_SIGMAS 25.0 /* a force shows the slip if it is so many times its noise */

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* The estimate at the earlier time of a measurement that arrives late. */
struct past {
    double age_s;
    oto_mat3 r, past_from_body; /* ENU from body at that time; body at that time from body now */
    oto_vec3 position_enu_m, velocity_enu_m_s, rate_body_rad_s;
    oto_vec3 force_body_m_s2;
};

/* Reverses the last dt_s of the propagation from sample `before` to sample `now`. */
static void go_back(oto_vec3 gravity_enu_m_s2, const struct num_strapdown_sample *before,
                    const struct num_strapdown_sample *now, double dt_s, oto_quat *q, struct past *past)
{
    const struct num_strapdown_delta delta = num_strapdown_between(before, now, dt_s);
    *q = oto_quat_mul(*q, oto_quat_from_rotvec(oto_vec3_neg(delta.angle_rad)));
    const oto_vec3 gained = oto_vec3_add_scaled(oto_quat_rotate(*q, delta.velocity_m_s), gravity_enu_m_s2, dt_s);
    past->position_enu_m = oto_vec3_add_scaled(past->position_enu_m, past->velocity_enu_m_s, -dt_s);
    past->position_enu_m = oto_vec3_add_scaled(past->position_enu_m, gained, 0.5 * dt_s);
    past->velocity_enu_m_s = oto_vec3_sub(past->velocity_enu_m_s, gained);
    past->rate_body_rad_s = before->angular_rate_rad_s;
    past->force_body_m_s2 = before->specific_force_m_s2;
}

static struct num_strapdown_sample between(const struct num_strapdown_sample *a, const struct num_strapdown_sample *b, double s)
{
    return (struct num_strapdown_sample){oto_vec3_lerp(a->angular_rate_rad_s, b->angular_rate_rad_s, s),
                                         oto_vec3_lerp(a->specific_force_m_s2, b->specific_force_m_s2, s)};
}

/* Goes back along the history of samples; before its oldest sample, rate and specific force are taken as constant. */
static void go_back_to(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns, oto_quat *q, struct past *past)
{
    const struct ins_history *history = &state->history;
    const oto_vec3 gravity_enu_m_s2 = ins_gravity(plan, state);
    struct num_strapdown_sample now = ins_unbiased(plan, state, &state->sample);
    int64_t now_ns = state->time_ns;
    for (uint64_t k = 2; now_ns > t_ns; k++) {
        const bool kept = k <= INS_HISTORY && k <= history->count;
        const uint64_t place = kept ? (history->count - k) % INS_HISTORY : 0;
        const int64_t before_ns = kept ? history->time_ns[place] : t_ns;
        const int64_t to_ns = before_ns > t_ns ? before_ns : t_ns;
        struct num_strapdown_sample before = kept ? ins_unbiased(plan, state, &history->sample[place]) : now;
        if (to_ns > before_ns) {
            before = between(&before, &now, seconds(to_ns - before_ns) / seconds(now_ns - before_ns));
        }
        go_back(gravity_enu_m_s2, &before, &now, seconds(now_ns - to_ns), q, past);
        now = before;
        now_ns = to_ns;
    }
}

static struct past past_of(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns)
{
    const struct num_strapdown *nav = &state->nav;
    const struct num_strapdown_sample now = ins_unbiased(plan, state, &state->sample);
    struct past past = {.age_s = t_ns < state->time_ns ? seconds(state->time_ns - t_ns) : 0.0,
                        .position_enu_m = nav->position_enu_m,
                        .velocity_enu_m_s = nav->velocity_enu_m_s,
                        .rate_body_rad_s = now.angular_rate_rad_s,
                        .force_body_m_s2 = now.specific_force_m_s2};
    oto_quat q = nav->q_enu_from_body;
    go_back_to(plan, state, t_ns, &q, &past);
    past.r = oto_mat3_from_quat(q);
    past.past_from_body = oto_mat3_mul(oto_mat3_transpose(past.r), oto_mat3_from_quat(nav->q_enu_from_body));
    return past;
}

/* ---- the force at another place than the IMU's ---- */

/* The rate at t_ns: linear between the kept samples, constant before and after them. */
static oto_vec3 rate_at(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns)
{
    const struct ins_history *history = &state->history;
    const uint64_t kept = history->count < INS_HISTORY ? history->count : INS_HISTORY;
    struct num_strapdown_sample after = state->sample;
    int64_t after_ns = state->time_ns;
    for (uint64_t k = 2; k <= kept && after_ns > t_ns; k++) {
        const uint64_t place = (history->count - k) % INS_HISTORY;
        const int64_t before_ns = history->time_ns[place];
        if (before_ns <= t_ns) {
            const double part = seconds(t_ns - before_ns) / seconds(after_ns - before_ns);
            const struct num_strapdown_sample sample = between(&history->sample[place], &after, part);
            return ins_unbiased(plan, state, &sample).angular_rate_rad_s;
        }
        after = history->sample[place];
        after_ns = before_ns;
    }
    return ins_unbiased(plan, state, &after).angular_rate_rad_s;
}

/*
 * The specific force at a place `lever_m` from the IMU: f + α × l + ω × (ω × l). On a car that pitches on its springs the
 * IMU above the axle feels some tenths of a m/s² that the wheels do not transmit.
 */
static oto_vec3 force_at(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns,
                         const struct past *past, oto_vec3 lever_m)
{
    const int64_t from_ns = t_ns - HALF_SPAN_NS;
    const int64_t to_ns = t_ns + HALF_SPAN_NS < state->time_ns ? t_ns + HALF_SPAN_NS : state->time_ns;
    const oto_vec3 rate = past->rate_body_rad_s;
    const oto_vec3 change = oto_vec3_sub(rate_at(plan, state, to_ns), rate_at(plan, state, from_ns));
    const oto_vec3 accel = oto_vec3_scale(change, to_ns > from_ns ? 1.0 / seconds(to_ns - from_ns) : 0.0);
    const oto_vec3 centripetal = oto_vec3_cross(rate, oto_vec3_cross(rate, lever_m));
    return oto_vec3_add(past->force_body_m_s2, oto_vec3_add(oto_vec3_cross(accel, lever_m), centripetal));
}

/* Variance of the noise of force_at along an axis: that of the specific force, and that of the rates whose change is α. */
static double force_variance(const struct ins_plan *plan, oto_vec3 lever_m)
{
    const double lever_s = oto_vec3_norm(lever_m) / seconds(2 * HALF_SPAN_NS);
    return plan->imu_rate_hz * (plan->accelerometer.noise_psd + 2.0 * lever_s * lever_s * plan->gyroscope.noise_psd);
}

/* Angular acceleration in the k-th newest sample, which has a neighbour on each side, by the rates of these two. */
static oto_vec3 angular_accel(const struct ins_plan *plan, const struct ins_history *history, uint64_t k, double *span_s)
{
    const uint64_t before = (history->count - k - 1) % INS_HISTORY, after = (history->count - k + 1) % INS_HISTORY;
    const oto_vec3 change =
        oto_vec3_sub(history->sample[after].angular_rate_rad_s, history->sample[before].angular_rate_rad_s);
    *span_s = seconds(history->time_ns[after] - history->time_ns[before]);
    return oto_vec3_scale(oto_mat3_mul_vec(plan->body_from_sensor, change), 1.0 / *span_s);
}

/*
 * Whether the body turns so that α × l is above its noise: in the mean square over the history, since α goes through 0 on a body
 * that pitches to and fro. Of N samples the mean square of noise is off by a few 1/√N.
 */
static bool turns(const struct ins_plan *plan, const struct ins_history *history, uint64_t kept)
{
    double square = 0.0, noise = 0.0, span_s;
    for (uint64_t k = 2; k < kept; k++) {
        const oto_vec3 accel = angular_accel(plan, history, k, &span_s);
        square += oto_vec3_dot(accel, accel);
        noise += 6.0 * plan->gyroscope.noise_psd * plan->imu_rate_hz / (span_s * span_s);
    }
    return square > TURN_TIMES * noise;
}

struct line_force {
    oto_vec3 force_body_m_s2;
    double noise_share; /* variance of its noise over that of a sample */
};

/*
 * The specific force at a place and time, by a straight line through the samples of LINE_NS about the time, or of the last
 * LINE_NS; `otherwise` for too few samples. The newest sample has no neighbour after it, and a rate's change from one side is
 * late: on a body that pitches, the error follows the pitch, and the slip that it seems to be is a velocity upwards. α × l counts
 * only if the body turns, as the noise of the rate also turns the velocity: on a level road both together are such a velocity.
 */
static struct line_force line_force_at(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns,
                                       oto_vec3 lever_m, oto_vec3 otherwise)
{
    const struct ins_history *history = &state->history;
    const uint64_t kept = history->count < INS_HISTORY ? history->count : INS_HISTORY;
    const int64_t last_ns = kept < 2 ? INT64_MIN : history->time_ns[(history->count - 2) % INS_HISTORY];
    const int64_t end_ns = t_ns + LINE_NS / 2 < last_ns ? t_ns + LINE_NS / 2 : last_ns;
    const bool is_turning = turns(plan, history, kept);
    oto_vec3 sum = oto_vec3_zero(), moment = oto_vec3_zero();
    double count = 0.0, time_s = 0.0, square_s2 = 0.0, span_s;
    for (uint64_t k = 2; k < kept; k++) {
        const uint64_t place = (history->count - k) % INS_HISTORY;
        const double at_s = seconds(history->time_ns[place] - t_ns);
        if (history->time_ns[place] < end_ns - LINE_NS && count >= 2.0) {
            break;
        }
        if (history->time_ns[place] <= end_ns) {
            const struct num_strapdown_sample sample = ins_unbiased(plan, state, &history->sample[place]);
            const oto_vec3 rate = sample.angular_rate_rad_s;
            oto_vec3 force =
                oto_vec3_add(sample.specific_force_m_s2, oto_vec3_cross(rate, oto_vec3_cross(rate, lever_m)));
            if (is_turning) {
                force = oto_vec3_add(force, oto_vec3_cross(angular_accel(plan, history, k, &span_s), lever_m));
            }
            sum = oto_vec3_add(sum, force);
            moment = oto_vec3_add_scaled(moment, force, at_s);
            count += 1.0;
            time_s += at_s;
            square_s2 += at_s * at_s;
        }
    }
    const double spread = count * square_s2 - time_s * time_s;
    if (!(count >= 2.0 && spread > 0.0)) {
        return (struct line_force){otherwise, 1.0};
    }
    const oto_vec3 force = oto_vec3_add_scaled(oto_vec3_scale(sum, square_s2 / spread), moment, -time_s / spread);
    return (struct line_force){force, square_s2 / spread};
}

/* Decides whether a measurement can be used: refused if it is not finite, late if it is older than the limit. */
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

/* Velocity u + ω × l of a point of the body in body axes, at the time of `past`, and its derivatives. */
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

/*
 * A wheel encoder divides edges by the time between two of them: the last one before its previous sample, and the last one
 * before this sample. Each is up to a gap between edges old, evenly distributed, so the speed is that of (window + gap) / 2
 * ago, with a standard deviation of gap / √24. Where the gap is longer than the window, samples without an edge repeat the
 * speed between the last two: that of a gap ago, with a deviation of gap / √12.
 */
struct encoder_lag {
    double mean_s, sigma_s;
};

static struct encoder_lag encoder_lag(const struct ins_params *params, double speed_m_s)
{
    const double tick_m = params->odometer_tick_m, window_s = params->odometer_window_s, v_m_s = oto_fabs(speed_m_s);
    const double gap_s = tick_m < v_m_s * LONGEST_GAP_S ? tick_m / v_m_s : tick_m > 0.0 ? LONGEST_GAP_S : 0.0;
    return gap_s > window_s ? (struct encoder_lag){gap_s, gap_s * oto_sqrt(1.0 / 12.0)}
                            : (struct encoder_lag){0.5 * (window_s + gap_s), gap_s * oto_sqrt(1.0 / 24.0)};
}

/*
 * The slip of the wheels: the odometer reads (1 + κ f) times the speed, f the force in the direction of travel, κ that of drive
 * or of braking. Noise of f is in the Jacobian of κ as well: by many readings at forces that are not far above it, κ would be
 * drawn to 0. Such readings correct neither κ: which of the two is in the row follows from the noise of f.
 * The bias of the accelerometer is in f, and where f is near 0 it decides which κ applies. A slip of 1 mm/s would then seem to
 * show a bias and a pitch, so the slip is not in the Jacobian of the bias. What the bias makes of it is noise of the correlated
 * error of the odometer.
 */
struct slip {
    uint32_t place; /* of κ */
    bool is_shown;
    double force_m_s2, factor, kappa;
    double white, correlated; /* variances of the factor by noise and by bias of the force; which κ applies is not known there */
};

static struct slip slip_at(const struct ins_plan *plan, const struct ins_state *state, double force_m_s2, double noise_share)
{
    const double variance = force_variance(plan, plan->odometer_body_m);
    double bias_variance = 0.0, square = 0.0;
    for (uint32_t i = 0; i < 3; i++) {
        const double part = plan->body_from_sensor.m[0][i];
        bias_variance += part * part * state->p[(INS_BA + i) * (INS_STATES + 1)];
    }
    for (uint32_t place = INS_SLIP; place < INS_SLIP + 2; place++) {
        square += ins_aid(state, place) * ins_aid(state, place) + state->p[place * (INS_STATES + 1)];
    }
    struct slip slip = {.place = force_m_s2 < 0.0 ? INS_SLIP + 1 : INS_SLIP, .force_m_s2 = force_m_s2,
                        .is_shown = force_m_s2 * force_m_s2 > SHOWN_SIGMAS * SHOWN_SIGMAS * variance};
    slip.kappa = ins_aid(state, slip.place);
    slip.factor = 1.0 + slip.kappa * force_m_s2;
    slip.white = slip.kappa * slip.kappa * noise_share * variance;
    slip.correlated = 0.5 * square * bias_variance;
    return slip;
}

enum num_outcome ins_filter_odometer(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, double speed_m_s)
{
    struct num_kalman_row row;
    double j[3 * INS_STATES];
    const enum num_outcome admitted = admit(plan, state, INS_ROW_ODOMETER, t_ns, num_is_finite(speed_m_s));
    if (admitted != NUM_USED) {
        return admitted;
    }
    const double tau_s = plan->params.odometer_coloured_tau_s;
    const double since_s = state->odometer_ns < t_ns - (int64_t)(tau_s * 1e9) ? tau_s : seconds(t_ns - state->odometer_ns);
    hear_standstill(plan, state, t_ns, speed_m_s);
    if (state->running == 0) {
        return NUM_USED;
    }
    const struct encoder_lag lag = encoder_lag(&plan->params, speed_m_s);
    const int64_t read_ns = t_ns - (int64_t)(lag.mean_s * 1e9);
    const struct past past = past_of(plan, state, read_ns);
    const oto_vec3 velocity = velocity_of_point(plan, &past, plan->odometer_body_m, j);
    const oto_vec3 at_once = force_at(plan, state, read_ns, &past, plan->odometer_body_m);
    const struct line_force line = line_force_at(plan, state, read_ns, plan->odometer_body_m, at_once);
    const oto_vec3 force = line.force_body_m_s2;
    const double sign = plan->params.odometer_signed == 0 && velocity.x < 0.0 ? -1.0 : 1.0;
    const double direction = velocity.x < 0.0 ? -1.0 : 1.0;
    const struct slip slip = slip_at(plan, state, direction * force.x, line.noise_share);
    const double accel_m_s2 =
        force.x + oto_quat_rotate_inv(state->nav.q_enu_from_body, ins_gravity(plan, state)).x;
    const double by_lag_m_s = accel_m_s2 * lag.sigma_s, scale = ins_aid(state, INS_SCALE);
    row.m = 1;
    row.considered = slip.is_shown ? 0u : 3u << INS_SLIP;
    row.gate = plan->odometer_gate;
    row.innovation[0] = sign * speed_m_s - scale * slip.factor * velocity.x - ins_aid(state, INS_COLOURED);
    row.noise[0] = plan->params.odometer_sigma_m_s * plan->params.odometer_sigma_m_s + by_lag_m_s * by_lag_m_s +
                   scale * scale * (slip.white * velocity.x * velocity.x +
                                    ins_turn_noise(plan, plan->odometer_body_m).m[0][0]);
    for (uint32_t s = 0; s < INS_STATES; s++) {
        row.jacobian[s] = scale * slip.factor * j[s];
    }
    row.jacobian[INS_SCALE] = slip.factor * velocity.x;
    row.jacobian[slip.place] = scale * slip.force_m_s2 * velocity.x;
    row.jacobian[INS_COLOURED] = 1.0;
    if (since_s > 0.0) {
        state->p[INS_COLOURED * (INS_STATES + 1)] += 2.0 * since_s / tau_s * slip.correlated * velocity.x * velocity.x;
    }
    return ins_correct(state, INS_ROW_ODOMETER, t_ns, &row);
}

/* ---- what holds of a car ---- */

static bool is_due(int64_t last_ns, int64_t now_ns, double rate_hz)
{
    return rate_hz > 0.0 && (last_ns == INT64_MIN || seconds(now_ns - last_ns) * rate_hz >= 1.0 - 1e-6);
}

/*
 * The nonholonomic point moves along the road, and the angle between body and path depends on the specific force: v_y = a_y
 * v_x and v_z = a_z v_x with a = angle + compliance · force. For a_y this is the force to the left (side slip of the tyres),
 * for a_z the force ahead (pitch on the springs). The force is as measured, with the unknown bias b of the accelerometer, and
 * the angle is that at which it reads 0: compliance · b is a part of it. With the estimated bias taken off, the product of the
 * errors of compliance and bias, several mm/s at first, would be missing in the row, and an estimated compliance that is only
 * noise would seem to show the bias, and by it the roll.
 */
static void say_nonholonomic(const struct ins_plan *plan, struct ins_state *state)
{
    struct num_kalman_row row;
    double j[3 * INS_STATES];
    const double *sigma = plan->params.nonholonomic_sigma_m_s;
    const struct past past = past_of(plan, state, state->time_ns);
    const oto_vec3 velocity = velocity_of_point(plan, &past, plan->nonholonomic_body_m, j);
    const oto_vec3 unbiased = force_at(plan, state, state->time_ns, &past, plan->nonholonomic_body_m);
    const oto_vec3 found = oto_vec3_sub(state->accel_bias, plan->accelerometer.bias_u);
    const oto_vec3 force = oto_vec3_add(unbiased, oto_mat3_mul_vec(plan->body_from_sensor, found));
    const oto_mat3 turn_noise = ins_turn_noise(plan, plan->nonholonomic_body_m);
    const double across[2] = {velocity.y, velocity.z}, along[2] = {force.y, force.x};
    memset(row.jacobian, 0, 2 * INS_STATES * sizeof *row.jacobian);
    row.m = 2;
    row.considered = 0;
    row.gate = plan->nonholonomic_gate;
    for (uint32_t i = 0; i < 2; i++) {
        const double angle = ins_aid(state, INS_ANGLE + i) + ins_aid(state, INS_COMPLIANCE + i) * along[i];
        double *h = row.jacobian + i * INS_STATES;
        for (uint32_t s = 0; s < INS_STATES; s++) {
            h[s] = j[(1 + i) * INS_STATES + s] - angle * j[s];
        }
        h[INS_ANGLE + i] = -velocity.x;
        h[INS_COMPLIANCE + i] = -velocity.x * along[i];
        row.innovation[i] = angle * velocity.x - across[i];
        row.noise[3 * i] = sigma[i] * sigma[i] + turn_noise.m[1 + i][1 + i];
    }
    row.noise[1] = row.noise[2] = turn_noise.m[1][2];
    (void)ins_correct(state, INS_ROW_NONHOLONOMIC, state->time_ns, &row);
}

static void diagonal(struct num_kalman_row *row, double variance)
{
    row->m = 3;
    row->considered = 0;
    row->gate = 0.0;
    memset(row->jacobian, 0, 3 * INS_STATES * sizeof *row->jacobian);
    for (uint32_t i = 0; i < 9; i++) {
        row->noise[i] = i % 4 == 0 ? variance : 0.0;
    }
}

/* Measurements at standstill: v = 0, and the gyroscope reads its bias plus the Earth's rate. */
static void say_still(const struct ins_plan *plan, struct ins_state *state)
{
    struct num_kalman_row row;
    const struct ins_params *p = &plan->params;
    diagonal(&row, p->still_sigma_m_s * p->still_sigma_m_s);
    row.gate = plan->still_gate;
    oto_vec3_to_array(oto_vec3_neg(ins_velocity_body(state)), row.innovation);
    ins_put(row.jacobian, 0, INS_U, oto_mat3_identity());
    if (ins_correct(state, INS_ROW_ZERO_VELOCITY, state->time_ns, &row) != NUM_USED) {
        return;
    }

    diagonal(&row, p->still_sigma_rad_s * p->still_sigma_rad_s + plan->gyroscope.noise_psd * plan->imu_rate_hz);
    row.gate = plan->still_gate;
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

/*
 * With u = R̂ m, the field in ENU axes: a rotation φ changes the azimuth of u by φz − uz (ux φx + uy φy) / (ux² + uy²). Here
 * the azimuth of the known field stands for that of u: the noise of the measured one is also in the innovation, and a Jacobian
 * that is correlated with it would move roll and pitch to one side.
 */
bool ins_heading_row(const struct ins_plan *plan, oto_quat q_enu_from_body, oto_vec3 field_body, double heading_error_rad,
                     struct num_kalman_row *measured)
{
    const oto_vec3 u = oto_quat_rotate(q_enu_from_body, field_body), known = plan->mag_field_enu;
    const double level = oto_hypot(u.x, u.y), sigma = plan->params.magnetometer_sigma_deg * OTO_DEG;
    if (!(level > 0.01 * oto_fabs(u.z)) || !(level > 0.0)) {
        return false;
    }
    const double by_tilt = -u.z / (level * oto_hypot(known.x, known.y));
    const oto_vec3 by_turn = oto_vec3_make(by_tilt * known.x, by_tilt * known.y, 1.0);
    measured->m = 1;
    measured->considered = 0;
    measured->gate = plan->magnetometer_gate;
    measured->noise[0] = sigma * sigma;
    measured->innovation[0] = oto_wrap_pi(oto_atan2(known.y, known.x) - oto_atan2(u.y, u.x) - heading_error_rad);
    memset(measured->jacobian, 0, INS_STATES * sizeof *measured->jacobian);
    oto_vec3_to_array(oto_quat_rotate_inv(q_enu_from_body, by_turn), measured->jacobian + INS_THETA);
    measured->jacobian[INS_HEADING] = 1.0;
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
    if (!ins_heading_row(plan, oto_quat_from_mat3(past.r), field_body_t, ins_aid(state, INS_HEADING), &row)) {
        num_filter_count(&state->rows[INS_ROW_MAGNETOMETER], NUM_REFUSED, t_ns);
        return NUM_REFUSED;
    }
    return ins_correct(state, INS_ROW_MAGNETOMETER, t_ns, &row);
}

/* ---- position ---- */

/* Keeps a fix for the alignment: the position of a point of the body. */
static void keep_fix(struct ins_alignment *alignment, oto_vec3 position_enu_m, oto_vec3 sigma_m, oto_vec3 body_m,
                     oto_vec3 correlated_m)
{
    alignment->fix_enu_m = position_enu_m;
    alignment->fix_sigma_m = sigma_m;
    alignment->fix_body_m = body_m;
    alignment->fix_correlated_m = correlated_m;
    alignment->fixes++;
}

/* The rows of the position p + R l of a point of the body; for a fix of age Δ, p − v Δ replaces p. */
static void position_rows(const struct ins_state *state, const struct past *past, oto_vec3 position_enu_m,
                          oto_vec3 body_m, struct num_kalman_row *row)
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

/*
 * Resets the correlated errors when the mode of the fixes changes, because the errors of different modes are independent:
 * unit variance, no correlation with the other states.
 */
static void forget_fix_error(struct ins_state *state)
{
    for (uint32_t i = INS_FIX; i < INS_FIX_SPEED + 3; i++) {
        state->aids[i - INS_AID] = 0.0;
        for (uint32_t k = 0; k < INS_STATES; k++) {
            state->p[i * INS_STATES + k] = state->p[k * INS_STATES + i] = i == k ? 1.0 : 0.0;
        }
    }
}

static oto_vec3 root(oto_vec3 v, double share)
{
    return oto_vec3_make(oto_sqrt(share * v.x), oto_sqrt(share * v.y), oto_sqrt(share * v.z));
}

/*
 * Adds D e to the expected values of a row: e are the correlated errors from state `place` on, D their standard deviations.
 * The rest of the variance is white.
 */
static void add_correlated(const struct ins_state *state, uint32_t place, oto_vec3 variance, double share,
                           struct num_kalman_row *row)
{
    double deviation[3], v[3];
    oto_vec3_to_array(root(variance, share), deviation);
    oto_vec3_to_array(variance, v);
    for (uint32_t i = 0; i < 3; i++) {
        row->innovation[i] -= deviation[i] * ins_aid(state, place + i);
        row->jacobian[i * INS_STATES + place + i] = deviation[i];
        row->noise[i * 4] = (1.0 - share) * v[i];
    }
}

static bool is_variance(oto_vec3 v)
{
    return v.x > 0.0 && v.y > 0.0 && v.z > 0.0 && oto_vec3_is_finite(v);
}

/* The velocity of the antenna at the time of the fix: R (u + ω × l) + D e, with the correlated errors e. */
static void use_fix_velocity(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, const struct ins_fix *fix)
{
    struct num_kalman_row row;
    double j[3 * INS_STATES];
    if (!is_variance(fix->velocity_variance_enu_m2_s2)) { /* the receiver does not know its velocity */
        return;
    }
    if (!oto_vec3_is_finite(fix->velocity_enu_m_s)) {
        num_filter_count(&state->rows[INS_ROW_GNSS_VELOCITY], NUM_REFUSED, t_ns);
        return;
    }
    const struct past past = past_of(plan, state, t_ns);
    const oto_vec3 body = velocity_of_point(plan, &past, plan->antenna_body_m, j);
    const oto_mat3 r = past.r, by_turn = oto_mat3_mul(r, oto_mat3_mul(oto_mat3_skew(body), past.past_from_body));
    diagonal(&row, 0.0);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t s = 0; s < INS_STATES; s++) {
            row.jacobian[i * INS_STATES + s] =
                r.m[i][0] * j[s] + r.m[i][1] * j[INS_STATES + s] + r.m[i][2] * j[2 * INS_STATES + s];
        }
    }
    ins_put(row.jacobian, 0, INS_THETA, oto_mat3_scale(by_turn, -1.0));
    oto_vec3_to_array(oto_vec3_sub(fix->velocity_enu_m_s, oto_mat3_mul_vec(r, body)), row.innovation);
    add_correlated(state, INS_FIX_SPEED, fix->velocity_variance_enu_m2_s2, plan->params.gnss_velocity_correlated_share, &row);
    row.gate = plan->gnss_gate;
    (void)ins_correct(state, INS_ROW_GNSS_VELOCITY, t_ns, &row);
}

/* The position of the antenna, p + R l + D e with the correlated errors e; and its velocity. */
enum num_outcome ins_filter_fix(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns,
                                const struct ins_fix *fix)
{
    struct num_kalman_row row;
    const double share = plan->params.gnss_correlated_share;
    const oto_vec3 position_enu_m = oto_enu_from_geodetic(plan->origin, fix->place), v = fix->variance_enu_m2;
    const bool good = oto_vec3_is_finite(position_enu_m) && is_variance(v);
    const enum num_outcome admitted = admit(plan, state, INS_ROW_GNSS, t_ns, good);
    if (admitted != NUM_USED) {
        return admitted;
    }
    if (fix->mode != state->fix_mode) {
        forget_fix_error(state);
        state->fix_mode = fix->mode;
    }
    if (state->running == 0) {
        keep_fix(&state->alignment, position_enu_m, root(v, 1.0), plan->antenna_body_m, root(v, share));
        return NUM_USED;
    }
    const struct past past = past_of(plan, state, t_ns);
    position_rows(state, &past, position_enu_m, plan->antenna_body_m, &row);
    add_correlated(state, INS_FIX, v, share, &row);
    row.gate = plan->gnss_gate;
    const enum num_outcome outcome = ins_correct(state, INS_ROW_GNSS, t_ns, &row);
    if (fix->has_velocity && plan->params.gnss_velocity != 0) {
        use_fix_velocity(plan, state, t_ns, fix);
    }
    return outcome;
}

/* ---- barometer ---- */

/* Height above the origin, in m, at which standard air has this pressure. */
static double height_of(const struct ins_plan *plan, double pressure_pa)
{
    const double lapse_k_m = 0.0065, exponent = 287.05287 * lapse_k_m / OTO_STANDARD_GRAVITY_M_S2;
    return plan->air_temperature_k / lapse_k_m * (1.0 - oto_exp(exponent * oto_log(pressure_pa / plan->air_pressure_pa)));
}

/*
 * Measured height = height of the port + offset − c |v|² / 2g: a port that receives the share c of the dynamic pressure
 * reads too low.
 */
enum num_outcome ins_filter_barometer(const struct ins_plan *plan, struct ins_state *state, int64_t t_ns, double pressure_pa)
{
    struct num_kalman_row row;
    const bool good = num_is_finite(pressure_pa) && pressure_pa > 0.0;
    const enum num_outcome admitted = admit(plan, state, INS_ROW_BAROMETER, t_ns, good);
    if (admitted != NUM_USED || state->running == 0) {
        return admitted;
    }
    const struct past past = past_of(plan, state, t_ns);
    const double head_m = 0.5 * oto_vec3_dot(past.velocity_enu_m_s, past.velocity_enu_m_s) / OTO_STANDARD_GRAVITY_M_S2;
    struct num_kalman_row three;
    position_rows(state, &past, oto_vec3_make(0, 0, height_of(plan, pressure_pa)), plan->barometer_body_m, &three);
    memcpy(row.jacobian, three.jacobian + 2 * INS_STATES, INS_STATES * sizeof *row.jacobian);
    row.m = 1;
    row.considered = 0;
    row.gate = plan->barometer_gate;
    row.innovation[0] = three.innovation[2] - ins_aid(state, INS_OFFSET) + ins_aid(state, INS_FLOW) * head_m;
    row.noise[0] = plan->params.barometer_sigma_m * plan->params.barometer_sigma_m;
    double u[3];
    oto_vec3_to_array(ins_velocity_body(state), u);
    for (uint32_t i = 0; i < 3; i++) {
        row.jacobian[INS_U + i] -= ins_aid(state, INS_FLOW) * u[i] / OTO_STANDARD_GRAVITY_M_S2;
    }
    row.jacobian[INS_OFFSET] = 1.0;
    row.jacobian[INS_FLOW] = -head_m;
    return ins_correct(state, INS_ROW_BAROMETER, t_ns, &row);
}
