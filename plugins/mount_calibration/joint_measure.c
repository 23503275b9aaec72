/* The measurements of a block, and how their noise is learned. Equations: README.md. */
#include "joint_parts.h"

#define JOLT_MOST 0.3
#define ACCEL_WANDER_LEAST 5e-5 /* m/s² per s^½ */
#define ACCEL_WANDER_MOST 1e-3
#define HEAVE_MOST_RAD (2.0 * OTO_DEG)
#define GATE_SQ 25.0
#define REFUSED_AT_MOST 20 /* blocks: two seconds */
#define SCALE_MEMORY 0.01
#define RISE_MEMORY 0.03
#define USUAL_MEMORY 0.1 /* times SCALE_MEMORY or RISE_MEMORY */
#define SCALE_LEAST 0.02
#define SIDEWAYS_SCALE_LEAST 0.1
#define LEARN_FROM 4.0
#define SCALE_MOST 100.0
#define LEARN 0.3 /* gain of one evaluation (every five seconds) on the logarithm of a learned power */
#define RATIO 0.75
#define RATIO_MOST 9.0
#define SPEED_FLOOR_M_S 0.015
/* Half the time over which acceleration and force of an earlier instant are averaged: about its age, so that it is in the middle. */
#define AROUND_LEAST_S 0.15
#define AROUND_MOST_S 0.4
#define SLOPE_M_S2 0.3 /* of gravity along the road; on less steep ones the swinging body looks like a slope */
#define PITCH_KNOWN_RAD (1.5 * OTO_DEG) /* with a larger sigma, the filter mistakes gravity for acceleration */
#define AHEAD_M_S2 2.0 /* a typical acceleration */
#define SWING_HEIGHT_M 0.3 /* height above the ground of the axes about which the body swings on its springs */
/* Effects of a turn that the lever arm does not explain: steering, tyres. They are constant within a turn. */
#define TURNING_AHEAD_M 0.1
#define TURNING_ASIDE_M 0.25
#define DRIFT_RAD_S2_M 0.002
#define SUMMED 10 /* innovations per evaluation: one second */
#define RISES_SUMMED 5
#define SPANS_ASSUMED 3.0 /* number of spans that are assumed to be as predicted */
#define SPAN_RATIO_MOST 25.0
#define SIDEWAYS_SUMMED 30
#define RISE_S 0.95
#define RISE_M 0.015
#define RISE_FLOOR_M 0.01 /* of a second: axles that follow the road do not meet it at the same points */
#define SWING_LEFT 0.4 /* share of the oscillation that remains in the mean over a second */
#define REST_M_S 0.01
#define REST_SWING_M 0.5 /* distance from the no-slip point about which the body swings at rest */
#define REVERSES_M_S 8.0 /* no car reverses as fast */

/*
 * Adapts a power so that the squared sum of innovations is on average RATIO of its predicted variance. RATIO is less than
 * one, so that the learned noise is rather too large.
 */
static double learned(double power, double ratio, double least, double most)
{
    power *= oto_exp(LEARN * ((ratio < RATIO_MOST ? ratio : RATIO_MOST) - RATIO));
    return power < least * least ? least * least : power > most * most ? most * most : power;
}

/*
 * Adapts three powers until the innovations are independent: upward jolts, which accumulate in the velocity like noise
 * (aliased vibration), slow pitch of the body relative to a path that follows the road, and the wander of the accelerometer.
 */
static void learn_jolts(const struct joint_plan *plan, struct joint_filter *filter, double ratio)
{
    filter->jolt_power = learned(filter->jolt_power, ratio, JOLT_LEAST, JOLT_MOST);
    filter->accel_wander = learned(filter->accel_wander, ratio, ACCEL_WANDER_LEAST, ACCEL_WANDER_MOST);
    if (plan->path == JOINT_FOLLOWS) {
        filter->heave_power = learned(filter->heave_power, ratio, HEAVE_LEAST_RAD, HEAVE_MOST_RAD);
    }
}

/* Sums the innovations of an evaluation: slow errors remain in the sum, vibration averages out. */
static void sum_up(const struct joint_plan *plan, struct joint_filter *filter, int kind, double innovation, double variance)
{
    struct joint_channel *channel = &filter->channels[kind];
    double ratio;
    channel->sum += innovation;
    channel->sum_variance += variance;
    if (++channel->summed < (kind == JOINT_UPWARD ? RISES_SUMMED : kind == JOINT_SIDEWAYS ? SIDEWAYS_SUMMED : SUMMED)) {
        return;
    }
    ratio = channel->sum * channel->sum / channel->sum_variance;
    ratio = ratio < GATE_SQ ? ratio : GATE_SQ;
    if (kind == JOINT_UPWARD) {
        learn_jolts(plan, filter, ratio);
    } else if (kind == JOINT_SIDEWAYS) {
        joint_gyro_learn_moving(&filter->gyro, ratio);
    }
    channel->sum = 0.0;
    channel->sum_variance = 0.0;
    channel->summed = 0;
}

static void add_to_spans(struct joint_channel *channel, double innovation, double variance)
{
    static const uint32_t lengths[JOINT_SPANS] = {10, 30, 100};
    for (int i = 0; i < JOINT_SPANS; i++) {
        struct joint_span *span = &channel->spans[i];
        span->sum += innovation;
        span->variance += variance;
        if (++span->summed == lengths[i]) {
            const double ratio = span->sum * span->sum / span->variance;
            span->ratios += ratio < SPAN_RATIO_MOST ? ratio : SPAN_RATIO_MOST;
            span->count++;
            span->sum = span->variance = 0.0;
            span->summed = 0;
        }
    }
}

double joint_excess(const struct joint_filter *filter, int kind)
{
    double most = 1.0;
    for (int i = 0; i < JOINT_SPANS; i++) {
        const struct joint_span *span = &filter->channels[kind].spans[i];
        const double mean = (SPANS_ASSUMED + span->ratios) / (SPANS_ASSUMED + (double)span->count);
        most = mean > most ? mean : most;
    }
    return most;
}

/*
 * Updates the filter with a measurement unless its gate refuses it, and adapts the scale of the noise. The scale multiplies
 * `variance` but not `fixed`. Returns whether the measurement was used.
 */
bool joint_measure_row(const struct joint_plan *plan, struct joint_filter *filter, int kind, const struct joint_row *row,
                    double innovation, double variance, double fixed)
{
    struct joint_channel *channel = &filter->channels[kind];
    const double known = joint_row_variance(filter, row) + fixed, noise = variance * channel->scale;
    const double ratio = innovation * innovation / (known + noise);
    const double excess = innovation * innovation - known;
    const double memory = kind == JOINT_UPWARD ? RISE_MEMORY : SCALE_MEMORY;
    const double least = kind == JOINT_SIDEWAYS ? SIDEWAYS_SCALE_LEAST : SCALE_LEAST;
    double seen;
    sum_up(plan, filter, kind, innovation, known + noise);
    if (!(ratio < GATE_SQ)) {
        filter->gated++;
        channel->scale += channel->scale < SCALE_MOST ? memory * channel->scale : 0.0;
        return false;
    }
    if (known < LEARN_FROM * noise) { /* otherwise the innovation contains little information about the noise */
        seen = (excess > 0.0 ? excess : 0.0) / variance;
        channel->scale += memory * (seen - channel->scale);
        channel->scale = channel->scale < least  ? least
                         : channel->scale > SCALE_MOST ? SCALE_MOST
                                                       : channel->scale;
        channel->usual += USUAL_MEMORY * memory * (channel->scale - channel->usual);
    }
    add_to_spans(channel, innovation, known + noise);
    joint_update(filter, row, innovation, noise + fixed);
    return true;
}

/*
 * The motion `age_s` ago: the speed gained since then and the measured rate; acceleration and force are means over the time
 * around it. A body that swings on its springs has an acceleration that its wheels do not have. As a regressor of lag and slip
 * it would be a noise that makes the filter sure that both are small.
 */
struct then {
    double gain_m_s, ahead_m_s2, force_m_s2;
    double unknown_s; /* part of the age that is older than the history */
    oto_vec3 rate_rad_s;
};

static void add_mean(const struct joint_filter *filter, double age_s, struct then *then)
{
    const double around_s = age_s < AROUND_LEAST_S ? AROUND_LEAST_S : age_s < AROUND_MOST_S ? age_s : AROUND_MOST_S;
    double gain_m_s = 0.0, push_m_s = 0.0, duration_s = 0.0;
    for (int i = 0; i < JOINT_PAST_BLOCKS && filter->past[i].duration_s > 0.0 && duration_s < age_s + around_s; i++) {
        gain_m_s += filter->past[i].gain_m_s;
        push_m_s += filter->past[i].force_m_s2 * filter->past[i].duration_s;
        duration_s += filter->past[i].duration_s;
    }
    if (duration_s > 0.0) {
        then->ahead_m_s2 = gain_m_s / duration_s;
        then->force_m_s2 = push_m_s / duration_s;
    }
}

static struct then look_back(const struct joint_filter *filter, const struct joint_block *block, double age_s)
{
    struct then then = {.rate_rad_s = block->end_rate_rad_s};
    add_mean(filter, age_s, &then);
    for (int i = 0; i < JOINT_PAST_BLOCKS && filter->past[i].duration_s > 0.0; i++) {
        const struct joint_past *past = &filter->past[i];
        const double part = age_s < past->duration_s ? age_s / past->duration_s : 1.0;
        then.gain_m_s += part * past->gain_m_s;
        then.rate_rad_s = oto_vec3_lerp(then.rate_rad_s, past->first_rate_rad_s, part);
        age_s -= past->duration_s;
        if (age_s <= 0.0) {
            return then;
        }
    }
    then.unknown_s = age_s;
    return then;
}

/* Adds the derivatives by the lever arm: when the body turns, the sensor moves relative to the no-slip point. */
static void put_lever(struct joint_row *row, double by_x, double by_y, double by_z)
{
    joint_row_put3(row, JOINT_LEVER, oto_vec3_make(by_x, by_y, by_z));
}

/*
 * Wheels slip in proportion to the force that drives or brakes the vehicle, uphill as well. In waves of the road this looks
 * like a pitch of the mount: 0.002 s²/m like 1.1°.
 */
static bool measure_forward(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                            const struct joint_body *body, double speed_m_s)
{
    const double age_s = block->speed_age_s + *joint_extra(filter, JOINT_SPEED_LAG);
    const struct then then = look_back(filter, block, age_s > 0.0 ? age_s : 0.0);
    const oto_vec3 rate = oto_mat3_mul_vec(body->from_sensor, oto_vec3_sub(then.rate_rad_s, filter->gyro_bias_rad_s));
    const double then_m_s = body->velocity_m_s.x - then.gain_m_s;
    const double scale = 1.0 + *joint_extra(filter, JOINT_SPEED_SCALE) + then.force_m_s2 * *joint_extra(filter, JOINT_WHEEL_SLIP);
    const double noise = joint_squared(plan->speed_noise_m_s) + joint_squared(0.03 * then.ahead_m_s2);
    const bool is_pitch_known = joint_sigma(filter, JOINT_MOUNT + 1) < PITCH_KNOWN_RAD;
    const double unknown_m_s = is_pitch_known ? 0.0 : oto_hypot((1.0 + oto_fabs(then.ahead_m_s2)) * joint_sigma(filter, JOINT_SPEED_LAG),
                                                          (1.0 + oto_fabs(then.force_m_s2)) * then_m_s * joint_sigma(filter, JOINT_WHEEL_SLIP));
    const double fixed = joint_squared(unknown_m_s) + joint_squared(TURNING_AHEAD_M * rate.z) + joint_squared(SWING_HEIGHT_M * rate.y) + joint_squared(AHEAD_M_S2 * then.unknown_s) +
                         joint_squared(0.5 * block->speed_step_m_s) + joint_squared(SPEED_FLOOR_M_S);
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_VELOCITY, oto_vec3_scale(joint_row_of(&body->from_sensor, 0), scale));
    joint_row_put(&row, JOINT_SPEED_SCALE, then_m_s);
    if (is_pitch_known) {
        joint_row_put(&row, JOINT_SPEED_LAG, -then.ahead_m_s2);
        joint_row_put(&row, JOINT_WHEEL_SLIP, then.force_m_s2 * then_m_s);
    }
    put_lever(&row, 0.0, scale * rate.z, -scale * rate.y);
    return joint_measure_row(plan, filter, JOINT_FORWARD, &row, speed_m_s - scale * then_m_s, noise, fixed);
}

/*
 * The unsteered axle moves sideways only by its side slip, in proportion to the force across that its tyres carry: by
 * acceleration, and by gravity on a bank. The derivative of V_y by the mount's roll, which is proportional to the small upward
 * velocity of the body on its springs, is omitted because it depends too much on the springs.
 */
static bool measure_sideways(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_body *body)
{
    const oto_vec3 v = body->velocity_m_s, rate = body->rate_rad_s, g = oto_mat3_mul_vec(body->from_sensor, filter->gravity_m_s2);
    const double noise = joint_squared(0.015) + joint_squared(0.002 * v.x);
    const double drift_m_s = v.x * body->left_m_s2, bank_drift_m_s = -v.x * g.y;
    const double slip_m_s = drift_m_s * *joint_extra(filter, JOINT_SLIP) + bank_drift_m_s * *joint_extra(filter, JOINT_BANK_SLIP);
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_VELOCITY, joint_row_of(&body->from_sensor, 1));
    joint_row_put(&row, JOINT_MOUNT + 2, v.x);
    put_lever(&row, -rate.z, 0.0, rate.x);
    joint_row_put(&row, JOINT_SLIP, drift_m_s);
    joint_row_put(&row, JOINT_BANK_SLIP, bank_drift_m_s);
    return joint_measure_row(plan, filter, JOINT_SIDEWAYS, &row, -(v.y + slip_m_s), noise,
                   joint_squared(TURNING_ASIDE_M * rate.z) + joint_squared(SWING_HEIGHT_M * rate.x) + joint_squared(DRIFT_RAD_S2_M * drift_m_s));
}

/* A part of the upward velocity of the no-slip point: so much for each unit of a state, and its derivative by the state. */
struct lift {
    int state;
    double each, derivative;
};
enum { LIFTS = 7 };

/*
 * The springs pitch the body in proportion to the force that drives or brakes it, a little later: by acceleration, and by
 * gravity along the road. On a road that is hardly inclined, a swing of the body looks like a slope, so that such slopes do not
 * correct the compliance for them.
 */
static int lifts_on_road(struct joint_filter *filter, const struct joint_body *body, double dt, struct lift lifts[LIFTS])
{
    const double v = body->velocity_m_s.x, lag_s = *joint_extra(filter, JOINT_SPRING_LAG);
    const double uphill_m_s2 = -joint_downhill(filter, body), steeper_m_s3 = (uphill_m_s2 + filter->gravity_ahead_m_s2) / dt;
    const double jerk_m_s3 = (body->ahead_m_s2 - filter->accel_ahead_m_s2) / dt;
    const double by_accel = v * (body->ahead_m_s2 + (0.5 * dt - lag_s) * jerk_m_s3); /* ahead_m_s2 is that of the block's middle */
    const double by_slope = v * (uphill_m_s2 - lag_s * steeper_m_s3);
    const double spring_rad_s = *joint_extra(filter, JOINT_PITCH_COMPLIANCE) * jerk_m_s3 +
                                *joint_extra(filter, JOINT_GRADE_COMPLIANCE) * steeper_m_s3;
    lifts[0] = (struct lift){JOINT_PITCH_COMPLIANCE, by_accel, by_accel};
    lifts[1] = (struct lift){JOINT_GRADE_COMPLIANCE, by_slope, oto_fabs(uphill_m_s2) > SLOPE_M_S2 ? by_slope : 0.0};
    lifts[2] = (struct lift){JOINT_SPRING_LAG, 0.0, -v * spring_rad_s};
    lifts[3] = (struct lift){JOINT_SPEED_PITCH, v * v * v, v * v * v};
    lifts[4] = (struct lift){JOINT_SPRING_CENTRE, spring_rad_s, spring_rad_s};
    return 5;
}

static int lifts_on_level_path(const struct joint_filter *filter, struct lift lifts[LIFTS])
{
    lifts[0] = (struct lift){JOINT_PITCH_COMPLIANCE, filter->ahead_sq_m2_s3, filter->ahead_sq_m2_s3};
    lifts[1] = (struct lift){JOINT_LEVEL_ROLL, filter->aside_sq_m2_s3, filter->aside_sq_m2_s3};
    return 2;
}

/*
 * Accumulates the rise of the body above its road. The body moves along the road; the springs pitch it about a point ahead
 * of the axle and oscillate at one to three hertz. Over a second this oscillation nearly averages out, so the rise is
 * measured once a second.
 */
static void rise(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_body *body, double dt)
{
    const oto_vec3 v = body->velocity_m_s, rate = body->rate_rad_s;
    struct lift lifts[LIFTS];
    struct joint_row row = {0};
    double upward_m_s = v.z;
    int count = plan->path == JOINT_STAYS_LEVEL ? lifts_on_level_path(filter, lifts) : lifts_on_road(filter, body, dt, lifts);
    lifts[count++] = (struct lift){JOINT_HEAVE, v.x, v.x};
    lifts[count++] = (struct lift){JOINT_PITCH_CENTRE, rate.y, rate.y};
    for (int i = 0; i < count; i++) {
        upward_m_s -= lifts[i].each * *joint_extra(filter, lifts[i].state);
        joint_row_put(&row, lifts[i].state, -lifts[i].derivative * dt);
    }
    joint_row_put3(&row, JOINT_VELOCITY, oto_vec3_scale(joint_row_of(&body->from_sensor, 2), dt));
    joint_row_put(&row, JOINT_MOUNT + 1, -v.x * dt);
    put_lever(&row, rate.y * dt, -rate.x * dt, 0.0);
    joint_sum_up(filter, JOINT_RISE, &row, upward_m_s * dt);
    filter->rise_s += dt;
    filter->rise_square_m2_s += v.x * v.x * dt;
}

static void begin_rise(struct joint_filter *filter)
{
    joint_forget(filter, JOINT_RISE, JOINT_RISE + 1);
    *joint_extra(filter, JOINT_RISE) = 0.0;
    filter->rise_s = 0.0;
    filter->rise_square_m2_s = 0.0;
}

/* Returns whether the filter used the last complete one-second window. */
static bool measure_upward(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_body *body,
                           double dt)
{
    struct joint_row row = {1, {JOINT_RISE}, {1.0}};
    rise(plan, filter, body, dt);
    if (filter->rise_s > RISE_S) {
        const double noise = joint_squared(RISE_M) + joint_squared(SWING_LEFT * plan->vibration_rad) * filter->rise_square_m2_s;
        filter->rise_refused =
            !joint_measure_row(plan, filter, JOINT_UPWARD, &row, -*joint_extra(filter, JOINT_RISE), noise, joint_squared(RISE_FLOOR_M));
        begin_rise(filter);
    }
    return !filter->rise_refused;
}

void joint_measure_gravity(struct joint_filter *filter, double sigma_m_s2)
{
    const double size = oto_vec3_norm(filter->gravity_m_s2);
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_GRAVITY, oto_vec3_scale(filter->gravity_m_s2, 1.0 / size));
    joint_update(filter, &row, GRAVITY_M_S2 - size, joint_squared(sigma_m_s2));
}

static void forget_path(struct joint_filter *filter)
{
    filter->ahead_sq_m2_s3 = 0.0;
    filter->aside_sq_m2_s3 = 0.0;
}

/* On a level path the effects of the springs accumulate in the velocity without being motion: at rest the velocity is reset. */
static void come_to_rest(const struct joint_plan *plan, struct joint_filter *filter)
{
    if (plan->path == JOINT_STAYS_LEVEL && filter->ahead_sq_m2_s3 + filter->aside_sq_m2_s3 > 0.05) {
        joint_forget(filter, JOINT_VELOCITY, JOINT_GRAVITY);
        for (int i = JOINT_VELOCITY; i < JOINT_GRAVITY; i++) {
            filter->covariance[i][i] = joint_squared(0.05);
        }
        filter->velocity_m_s = oto_vec3_zero();
    }
    forget_path(filter);
}

/*
 * At rest the no-slip point does not move, but the body may still swing, or already pitch in a start that the speed does not
 * show yet; where the sensor sits ahead of the axle, it then moves by millimetres a second.
 */
static void measure_no_motion(struct joint_filter *filter, const struct joint_body *body)
{
    const oto_vec3 w = body->rate_rad_s;
    const double variance = joint_squared(REST_M_S) + joint_squared(REST_SWING_M) * oto_vec3_norm_sq(w);
    const oto_vec3 by_lever[3] = {oto_vec3_make(0.0, w.z, -w.y), oto_vec3_make(-w.z, 0.0, w.x), oto_vec3_make(w.y, -w.x, 0.0)};
    for (int i = 0; i < 3; i++) {
        const oto_vec3 lever_m = oto_vec3_from_array(&filter->extra[JOINT_LEVER - JOINT_PITCH_COMPLIANCE]);
        const oto_vec3 across = joint_row_of(&body->from_sensor, i);
        struct joint_row row = {0};
        joint_row_put3(&row, JOINT_VELOCITY, across);
        joint_row_put3(&row, JOINT_LEVER, by_lever[i]);
        joint_update(filter, &row, -(oto_vec3_dot(across, filter->velocity_m_s) + oto_vec3_dot(by_lever[i], lever_m)), variance);
    }
}

/* At rest nothing moves: the velocity is zero and the gyroscope shows its bias. */
void joint_measure_rest(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                        const struct joint_body *body)
{
    oto_vec3 shown = oto_vec3_add_scaled(block->gyro_bias_rad_s, block->turn_rad, 1.0 / block->duration_s);
    double innovation[3];
    const double turning = joint_gyro_rest_variance(plan, &filter->gyro, block->duration_s);
    joint_gyro_learn(&filter->gyro, shown, block->duration_s);
    come_to_rest(plan, filter);
    measure_no_motion(filter, body);
    for (int i = 0; i < 3; i++) {
        struct joint_row turn = {1, {JOINT_GYRO_BIAS + i}, {1.0}};
        const double known = joint_row_variance(filter, &turn) + turning;
        oto_vec3_to_array(oto_vec3_sub(shown, filter->gyro_bias_rad_s), innovation);
        if (innovation[i] * innovation[i] < GATE_SQ * known) {
            joint_update(filter, &turn, innovation[i], turning);
        }
    }
    joint_measure_gravity(filter, 10.0 * GRAVITY_SIGMA_M_S2);
    begin_rise(filter);
    joint_forget(filter, JOINT_HEAVE, JOINT_BANK);
    filter->covariance[JOINT_HEAVE][JOINT_HEAVE] = joint_squared(HEAVE_LEAST_RAD);
    *joint_extra(filter, JOINT_HEAVE) = 0.0;
    if (plan->level) {
        joint_measure_bank(plan, filter, body, 0.0);
    }
}

/* The rotation from the measured up axis to the vehicle's up axis is the error of the mount in roll and pitch. */
void joint_measure_up(struct joint_filter *filter, const struct joint_block *block)
{
    const oto_vec3 up = oto_quat_rotate(filter->q_body_from_sensor, block->up);
    const double across = oto_hypot(up.x, up.y), by = across > 0.0 ? oto_atan2(across, up.z) / across : 1.0;
    const double roll_rad = by * up.y, pitch_rad = -by * up.x;
    struct joint_row roll = {1, {JOINT_MOUNT}, {1.0}}, pitch = {1, {JOINT_MOUNT + 1}, {1.0}};
    joint_update(filter, &roll, roll_rad, joint_squared(block->up_sigma_rad));
    joint_update(filter, &pitch, pitch_rad, joint_squared(block->up_sigma_rad));
}

/* Resets the velocity to the reported speed after measurements have contradicted it for two seconds. */
static void lose_velocity(struct joint_filter *filter, double speed_m_s)
{
    oto_vec3 ahead = oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(1.0, 0.0, 0.0));
    filter->velocity_m_s = oto_vec3_scale(ahead, speed_m_s);
    joint_forget(filter, JOINT_VELOCITY, JOINT_GRAVITY);
    for (int i = JOINT_VELOCITY; i < JOINT_GRAVITY; i++) {
        filter->covariance[i][i] = joint_squared(0.5 + 0.1 * speed_m_s);
    }
    forget_path(filter);
    begin_rise(filter);
    filter->lost++;
    filter->signed_s = 0.0;
    filter->refused = 0;
    filter->rise_refused = 0;
}

/* Gives an unsigned speed the sign of the estimated velocity, unless the speed is higher than that of a reversing car. */
static double with_sign(const struct joint_block *block, double velocity_m_s)
{
    const bool turns_round = !block->speed_is_signed && velocity_m_s < -0.3 && block->speed_m_s < REVERSES_M_S;
    return turns_round ? -oto_fabs(block->speed_m_s) : block->speed_m_s;
}

void joint_measure_moving(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                          struct joint_body *body, double speed_before_m_s)
{
    const double speed_m_s = with_sign(block, body->velocity_m_s.x);
    const double way_m = oto_fabs(body->velocity_m_s.x) * block->duration_s;
    bool taken = true;
    if (block->speeds > 0) {
        taken = measure_forward(plan, filter, block, body, speed_m_s);
        *body = joint_look(filter, block, speed_before_m_s);
    }
    taken = measure_sideways(plan, filter, body) && taken;
    taken = measure_upward(plan, filter, body, block->duration_s) && taken;
    filter->refused = taken ? 0 : filter->refused + 1;
    if (filter->refused > REFUSED_AT_MOST && block->speeds > 0) {
        lose_velocity(filter, speed_m_s);
    }
    filter->signed_s += taken && block->speed_is_signed && block->speeds > 0 ? block->duration_s : 0.0;
    filter->forward_s += taken && body->velocity_m_s.x > REVERSES_M_S ? block->duration_s : 0.0;
    filter->distance_m += way_m;
    filter->speed_square_m2_s += way_m * oto_fabs(body->velocity_m_s.x);
    joint_measure_road(plan, filter, block, body, way_m);
}
