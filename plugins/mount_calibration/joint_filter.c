/* One step of the joint filter over one block: propagation of the state, then the measurements. Equations: README.md. */
#include <string.h>

#include "joint_parts.h"

#define HEAVE_LENGTH_M 150.0
#define HEAVE_FIRST_RAD (0.3 * OTO_DEG)
#define LEVEL_CROWN_RAD OTO_DEG /* additional sigma of the crown on a level path, where the data show it */
#define LEVEL_RAD_S2_M (0.3 * OTO_DEG)
#define JOLT_FIRST 0.05
#define LAG_S 0.1
#define LAG_SIGMA_S 0.12
#define PITCH_CENTRE_M 0.7
#define PITCH_CENTRE_SIGMA_M 0.7
#define SLIP_RAD_S2_M 0.003
#define KEPT_CROWN_SIGMA 0.4 /* the spread is 0.3; 0.4 also covers corners that keep the whole crown */
#define SUPERELEVATION_RAD_S2_M (-0.5 * OTO_DEG)
#define SUPERELEVATION_SIGMA_RAD_S2_M (0.8 * OTO_DEG)
#define WHEEL_SLIP_S2_M 0.002
#define WHEEL_SLIP_SIGMA_S2_M 0.003
#define GRADE_SHARE 0.5 /* of the compliance for accelerations. In a car it is 1; simulators have 0 as well */
#define GRADE_SIGMA_RAD_S2_M (0.2 * OTO_DEG)
#define SPRING_LAG_S 0.03
#define SPRING_LAG_SIGMA_S 0.04
#define SPRING_CENTRE_SIGMA_M 0.6
#define BANK_SLIP_RAD_S2_M 0.003
#define CRAWLS_M_S 1.5 /* the direction of a slower velocity is not well known */
#define BEGIN_M_S2 0.3
#define SPEEDS_UP_M_S2 0.4
#define BEGUN_GRAVITY_SIGMA_M_S2 0.15 /* sigma of the magnitude of gravity at the start, when its direction is known to 0.1 rad */
#define EARTH_RAD_S 7.3e-5 /* the earth's rotation is a part of the bias that changes when the vehicle turns by a radian */
#define ACCEL_WANDER_FIRST 1.4e-4 /* m/s² per s^½: random walk of the accelerometer bias */
#define TURN_MEMORY_S 15.0 /* time over which turns add up: after it the road has shown the errors that they caused */
#define GAIN_AT_ONCE_M_S 5.0
#define STEADY_S 1.0 /* smoothing time; longer than the oscillation of a body on its springs */

double joint_sigma(const struct joint_filter *filter, int state)
{
    double variance = filter->covariance[state][state];
    return variance > 0.0 ? oto_sqrt(variance) : 0.0;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

/* Initial values and sigmas of the states that describe how a car moves other than rolling along its x axis. */
static void begin_extras(const struct joint_plan *plan, struct joint_filter *filter)
{
    const struct {
        int state;
        double value, sigma;
    } extras[] = {
        {JOINT_PITCH_COMPLIANCE, plan->compliance_rad_s2_m[0], plan->compliance_sigma_rad_s2_m[0]},
        {JOINT_ROLL_COMPLIANCE, plan->compliance_rad_s2_m[1], plan->compliance_sigma_rad_s2_m[1]},
        {JOINT_SPEED_SCALE, 0.0, plan->speed_scale_sigma},
        {JOINT_SPEED_LAG, LAG_S, LAG_SIGMA_S},
        {JOINT_LEVER, plan->position_m.x, plan->position_sigma_m.x},
        {JOINT_LEVER + 1, plan->position_m.y, plan->position_sigma_m.y},
        {JOINT_LEVER + 2, plan->position_m.z, plan->position_sigma_m.z},
        {JOINT_PITCH_CENTRE, PITCH_CENTRE_M, PITCH_CENTRE_SIGMA_M},
        {JOINT_SLIP, SLIP_RAD_S2_M, SLIP_RAD_S2_M},
        {JOINT_HEAVE, 0.0, HEAVE_LEAST_RAD},
        {JOINT_BANK, 0.0, plan->bank_rad},
        {JOINT_CROWN, plan->crown_rad, plan->crown_sigma_rad},
        {JOINT_KEPT_CROWN, 0.0, KEPT_CROWN_SIGMA},
        {JOINT_WHEEL_SLIP, WHEEL_SLIP_S2_M, WHEEL_SLIP_SIGMA_S2_M},
        {JOINT_GRADE_COMPLIANCE, GRADE_SHARE * plan->compliance_rad_s2_m[0], GRADE_SIGMA_RAD_S2_M},
        {JOINT_SPRING_LAG, SPRING_LAG_S, SPRING_LAG_SIGMA_S},
        {JOINT_SPRING_CENTRE, 0.0, SPRING_CENTRE_SIGMA_M},
        {JOINT_SPEED_PITCH, plan->speed_pitch_rad_s2_m2, plan->speed_pitch_sigma_rad_s2_m2},
        {JOINT_BANK_SLIP, BANK_SLIP_RAD_S2_M, BANK_SLIP_RAD_S2_M},
        {JOINT_SUPERELEVATION, SUPERELEVATION_RAD_S2_M, SUPERELEVATION_SIGMA_RAD_S2_M},
    };
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        *joint_extra(filter, extras[i].state) = extras[i].value;
        filter->covariance[extras[i].state][extras[i].state] = joint_squared(extras[i].sigma);
    }
    if (plan->path == JOINT_STAYS_LEVEL) { /* on a level path compliance acts differently, by an unknown amount */
        filter->covariance[JOINT_PITCH_COMPLIANCE][JOINT_PITCH_COMPLIANCE] = joint_squared(LEVEL_RAD_S2_M);
        filter->covariance[JOINT_LEVEL_ROLL][JOINT_LEVEL_ROLL] = joint_squared(LEVEL_RAD_S2_M);
        filter->covariance[JOINT_CROWN][JOINT_CROWN] += joint_squared(LEVEL_CROWN_RAD);
        *joint_extra(filter, JOINT_PITCH_COMPLIANCE) *= 0.5;
        for (int state = JOINT_GRADE_COMPLIANCE; state <= JOINT_BANK_SLIP; state++) {
            filter->covariance[state][state] = *joint_extra(filter, state) = 0.0;
        }
    }
}

void joint_filter_init(const struct joint_plan *plan, oto_quat q_body_from_sensor, const double sigma_rad[3],
                       struct joint_filter *filter)
{
    memset(filter, 0, sizeof *filter);
    filter->q_body_from_sensor = q_body_from_sensor;
    for (int i = 0; i < 3; i++) {
        filter->covariance[JOINT_ACCEL_BIAS + i][JOINT_ACCEL_BIAS + i] = joint_squared(plan->accel_bias_sigma_m_s2);
        filter->covariance[JOINT_GYRO_BIAS + i][JOINT_GYRO_BIAS + i] = joint_squared(0.5 * plan->gyro_bias_range_rad_s);
        filter->covariance[JOINT_MOUNT + i][JOINT_MOUNT + i] = joint_squared(sigma_rad[i]);
    }
    begin_extras(plan, filter);
    for (int i = 0; i < JOINT_CHANNELS; i++) {
        filter->channels[i].scale = filter->channels[i].usual = 1.0;
    }
    filter->heave_power = joint_squared(plan->path == JOINT_STAYS_LEVEL ? HEAVE_LEAST_RAD : HEAVE_FIRST_RAD);
    filter->jolt_power = joint_squared(JOLT_FIRST);
    filter->accel_wander = joint_squared(ACCEL_WANDER_FIRST);
    joint_gyro_init(&filter->gyro);
    filter->bank_power = joint_squared(plan->bank_rad);
}

/*
 * Starts velocity and gravity from a block: gravity = accelerometer bias − specific force, with a sigma for the unknown
 * acceleration; its magnitude is known.
 */
static void begin(struct joint_filter *filter, const struct joint_block *block)
{
    oto_vec3 felt_m_s2 = oto_vec3_scale(block->velocity_gain_m_s, 1.0 / block->duration_s);
    oto_vec3 ahead = oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(1.0, 0.0, 0.0));
    double unsure_m_s2 = block->still ? 0.02 : 1.5, unsure_m_s = 0.05 + 0.2 * oto_fabs(block->speed_m_s);
    struct joint_body body;
    filter->gravity_m_s2 = oto_vec3_sub(filter->accel_bias_m_s2, felt_m_s2);
    filter->velocity_m_s = oto_vec3_scale(ahead, block->speed_m_s);
    if (block->still && filter->covariance[JOINT_GYRO_BIAS][JOINT_GYRO_BIAS] > joint_squared(0.02)) {
        joint_forget(filter, JOINT_GYRO_BIAS, JOINT_MOUNT);
        filter->gyro_bias_rad_s = oto_vec3_add_scaled(block->gyro_bias_rad_s, block->turn_rad, 1.0 / block->duration_s);
    }
    joint_forget(filter, JOINT_VELOCITY, JOINT_ACCEL_BIAS);
    for (int i = 0; i < 3; i++) {
        const int v = JOINT_VELOCITY + i, g = JOINT_GRAVITY + i, b = JOINT_ACCEL_BIAS + i;
        const int w = JOINT_GYRO_BIAS + i;
        double bias = filter->covariance[b][b];
        filter->covariance[v][v] = joint_squared(unsure_m_s);
        filter->covariance[g][g] = bias + joint_squared(unsure_m_s2);
        filter->covariance[g][b] = filter->covariance[b][g] = bias;
        if (filter->covariance[w][w] == 0.0) {
            filter->covariance[w][w] = joint_squared(0.02);
        }
    }
    joint_measure_gravity(filter, block->still ? GRAVITY_SIGMA_M_S2 : BEGUN_GRAVITY_SIGMA_M_S2);
    memset(filter->past, 0, sizeof filter->past);
    filter->steady_rate_rad_s = filter->steady_accel_m_s2 = filter->turned_rad = oto_vec3_zero();
    filter->turn = (struct joint_turn){0};
    joint_forget(filter, JOINT_RISE, JOINT_RISE + 1);
    *joint_extra(filter, JOINT_RISE) = 0.0;
    filter->rise_s = filter->rise_square_m2_s = 0.0;
    filter->accel_ahead_m_s2 = 0.0;
    body = joint_look(filter, block, block->speed_m_s);
    filter->gravity_ahead_m_s2 = joint_downhill(filter, &body);
    filter->begun = 1;
}

/*
 * True if the filter can start with this block. While the vehicle accelerates, brakes or turns hard it cannot, because the
 * specific force does not show the direction of gravity.
 */
static bool may_begin(const struct joint_block *block)
{
    const double felt_m_s2 = oto_vec3_norm(block->velocity_gain_m_s) / block->duration_s;
    return block->speeds > 0 && (block->still || oto_fabs(felt_m_s2 - GRAVITY_M_S2) < BEGIN_M_S2);
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

static void put3x3(double transition[JOINT_MOVED][JOINT_MOVERS], int row, int column, oto_mat3 m)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            transition[row + i][column + j] = m.m[i][j];
        }
    }
}

static void add_outer(struct joint_filter *filter, int state, oto_vec3 along, double power)
{
    double x[3];
    oto_vec3_to_array(along, x);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            filter->covariance[state + i][state + j] += power * x[i] * x[j];
        }
    }
}

static void add_across(struct joint_filter *filter, int state, oto_vec3 along, double power)
{
    const double size_sq = oto_vec3_norm_sq(along);
    for (int i = 0; i < 3; i++) {
        filter->covariance[state + i][state + i] += power * size_sq;
    }
    add_outer(filter, state, along, -power);
}

/* Adds to the turns of the last seconds. Returns by how much the square of their angle has grown. */
static double turn_further(struct joint_filter *filter, oto_vec3 turn_rad, double dt)
{
    const double before = oto_vec3_norm_sq(filter->turned_rad);
    filter->turned_rad = oto_vec3_add_scaled(turn_rad, filter->turned_rad, TURN_MEMORY_S / (TURN_MEMORY_S + dt));
    return oto_vec3_norm_sq(filter->turned_rad) - before;
}

/*
 * Adds the errors that scale errors and cross terms of the sensors cause while the vehicle turns and accelerates: a
 * scale error acts along the measured vector, a cross term across it. They are constants, so the error of a turn grows
 * with its angle, and its variance with the square; a turn back takes the error away again, and oscillations add
 * nothing.
 */
static void add_sensor_errors(const struct joint_plan *plan, struct joint_filter *filter, double dt)
{
    const oto_vec3 turn_rad = oto_vec3_scale(filter->steady_rate_rad_s, dt), gain_m_s = oto_vec3_scale(filter->steady_accel_m_s2, dt);
    const double turn = oto_vec3_norm(turn_rad), gain = oto_vec3_norm(gain_m_s);
    const double axes = joint_squared(plan->axes_sigma), scale = joint_squared(plan->scale_sigma) - axes;
    const double grown = turn_further(filter, turn_rad, dt);
    if (grown > 0.0) {
        const double together = grown / (turn * turn); /* add_outer squares turn_rad */
        add_across(filter, JOINT_VELOCITY, filter->velocity_m_s, axes * grown);
        add_across(filter, JOINT_GRAVITY, filter->gravity_m_s2, axes * grown);
        add_outer(filter, JOINT_VELOCITY, oto_vec3_cross(turn_rad, filter->velocity_m_s), scale * together);
        add_outer(filter, JOINT_GRAVITY, oto_vec3_cross(turn_rad, filter->gravity_m_s2), scale * together);
    }
    if (gain > 0.0) {
        add_across(filter, JOINT_VELOCITY, gain_m_s, axes * GAIN_AT_ONCE_M_S / gain);
        add_outer(filter, JOINT_VELOCITY, gain_m_s, (scale + axes) * GAIN_AT_ONCE_M_S / gain);
    }
}

static void follow_steady(struct joint_filter *filter, oto_vec3 turn_rad, oto_vec3 gain_m_s, double dt)
{
    const double by = 1.0 / (STEADY_S + dt);
    filter->steady_rate_rad_s = oto_vec3_add_scaled(oto_vec3_scale(filter->steady_rate_rad_s, STEADY_S * by), turn_rad, by);
    filter->steady_accel_m_s2 = oto_vec3_add_scaled(oto_vec3_scale(filter->steady_accel_m_s2, STEADY_S * by), gain_m_s, by);
}

/* Adds the noise of a block: accelerometer, gyroscope, vertical jolts, and the random walk of the biases. */
static void add_noise(const struct joint_plan *plan, struct joint_filter *filter, double dt)
{
    const double turn = joint_gyro_noise(plan, &filter->gyro) * dt, push = joint_squared(plan->accel_noise) * dt;
    const double earth = joint_squared(EARTH_RAD_S) * oto_vec3_norm(filter->steady_rate_rad_s) * dt;
    const double wander = joint_gyro_wander(&filter->gyro) * dt + earth;
    const oto_vec3 up = oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(0.0, 0.0, 1.0));
    for (int i = 0; i < 3; i++) {
        filter->covariance[JOINT_VELOCITY + i][JOINT_VELOCITY + i] += push;
        filter->covariance[JOINT_ACCEL_BIAS + i][JOINT_ACCEL_BIAS + i] += filter->accel_wander * dt;
        filter->covariance[JOINT_GYRO_BIAS + i][JOINT_GYRO_BIAS + i] += wander;
    }
    add_across(filter, JOINT_VELOCITY, filter->velocity_m_s, turn);
    add_across(filter, JOINT_GRAVITY, filter->gravity_m_s2, turn);
    add_outer(filter, JOINT_VELOCITY, up, filter->jolt_power * dt);
}

/*
 * On a level path the velocity does not rotate with the body's pitch: ω × v is taken without ω_y. The direction of the
 * body's y axis depends on the mount, whose error ε adds δv' = v(ω_z ε_x - ω_x ε_z) upwards.
 */
static oto_mat3 stay_level(const struct joint_filter *filter, oto_vec3 turn_rad,
                           double transition[JOINT_MOVED][JOINT_MOVERS])
{
    const oto_quat q = filter->q_body_from_sensor;
    oto_vec3 turn = oto_quat_rotate(q, turn_rad), up = oto_quat_rotate_inv(q, oto_vec3_make(0.0, 0.0, 1.0));
    oto_vec3 left = oto_quat_rotate_inv(q, oto_vec3_make(0.0, 1.0, 0.0));
    const double way = oto_quat_rotate(q, filter->velocity_m_s).x;
    double by_roll[3], by_yaw[3];
    oto_vec3_to_array(oto_vec3_scale(up, way * turn.z), by_roll);
    oto_vec3_to_array(oto_vec3_scale(up, -way * turn.x), by_yaw);
    for (int i = 0; i < 3; i++) {
        transition[JOINT_VELOCITY + i][JOINT_MOUNT] = by_roll[i];
        transition[JOINT_VELOCITY + i][JOINT_MOUNT + 2] = by_yaw[i];
    }
    turn_rad = oto_vec3_add_scaled(turn_rad, left, -turn.y);
    return oto_mat3_transpose(oto_mat3_from_quat(oto_quat_from_rotvec(turn_rad)));
}

/* Propagates velocity and gravity over a block with the current biases; `u` is the velocity at the end in the axes at the start. */
static void move(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block)
{
    const double dt = block->duration_s;
    oto_vec3 newer = oto_vec3_sub(filter->gyro_bias_rad_s, block->gyro_bias_rad_s);
    oto_vec3 turn_rad = oto_vec3_add_scaled(block->turn_rad, newer, -dt);
    oto_mat3 to_end = oto_mat3_transpose(oto_mat3_from_quat(oto_quat_from_rotvec(turn_rad)));
    oto_vec3 gain =
        oto_vec3_add_scaled(block->velocity_gain_m_s, oto_vec3_cross(newer, block->velocity_gain_m_s), -0.5 * dt);
    oto_vec3 bias =
        oto_vec3_add_scaled(filter->accel_bias_m_s2, oto_vec3_cross(turn_rad, filter->accel_bias_m_s2), 0.5);
    oto_vec3 u = oto_vec3_add(filter->velocity_m_s, oto_vec3_add_scaled(gain, bias, -dt));
    oto_mat3 by_dt, turned, velocity_to_end = to_end;
    double transition[JOINT_MOVED][JOINT_MOVERS];
    u = oto_vec3_add_scaled(u, filter->gravity_m_s2, dt);
    turned = oto_mat3_skew(oto_vec3_add_scaled(oto_vec3_neg(u), gain, 0.5));
    memset(transition, 0, sizeof transition);
    if (plan->path == JOINT_STAYS_LEVEL) {
        velocity_to_end = stay_level(filter, turn_rad, transition);
    }
    by_dt = oto_mat3_scale(velocity_to_end, dt);
    put3x3(transition, 0, JOINT_VELOCITY, velocity_to_end);
    put3x3(transition, 0, JOINT_GRAVITY, by_dt);
    put3x3(transition, 0, JOINT_ACCEL_BIAS, oto_mat3_scale(by_dt, -1.0));
    put3x3(transition, 0, JOINT_GYRO_BIAS, oto_mat3_mul(by_dt, turned));
    put3x3(transition, 3, JOINT_GRAVITY, to_end);
    put3x3(transition, 3, JOINT_GYRO_BIAS,
           oto_mat3_mul(oto_mat3_scale(to_end, dt), oto_mat3_skew(oto_vec3_neg(filter->gravity_m_s2))));
    joint_transit(filter, transition);
    add_noise(plan, filter, dt);
    follow_steady(filter, turn_rad, oto_vec3_sub(u, filter->velocity_m_s), dt);
    add_sensor_errors(plan, filter, dt);
    filter->velocity_m_s = oto_mat3_mul_vec(velocity_to_end, u);
    filter->gravity_m_s2 = oto_mat3_mul_vec(to_end, filter->gravity_m_s2);
}

/* The motion of the body; velocity and rate are those at the end of the block. */
struct joint_body joint_look(const struct joint_filter *filter, const struct joint_block *block,
                             double speed_before_m_s)
{
    struct joint_body body = {.from_sensor = oto_mat3_from_quat(filter->q_body_from_sensor)};
    const oto_vec3 lever_m = oto_vec3_from_array(&filter->extra[JOINT_LEVER - JOINT_PITCH_COMPLIANCE]);
    oto_vec3 newer = oto_vec3_sub(filter->gyro_bias_rad_s, block->gyro_bias_rad_s);
    oto_vec3 mean = oto_vec3_sub(oto_vec3_scale(block->turn_rad, 1.0 / block->duration_s), newer);
    oto_vec3 at_end = oto_vec3_sub(block->end_rate_rad_s, filter->gyro_bias_rad_s);
    body.mean_rate_rad_s = oto_mat3_mul_vec(body.from_sensor, mean);
    body.rate_rad_s = oto_mat3_mul_vec(body.from_sensor, at_end);
    body.velocity_m_s = oto_vec3_sub(oto_mat3_mul_vec(body.from_sensor, filter->velocity_m_s),
                                     oto_vec3_cross(body.rate_rad_s, lever_m));
    body.ahead_m_s2 = (body.velocity_m_s.x - speed_before_m_s) / block->duration_s;
    body.left_m_s2 = body.velocity_m_s.x * body.mean_rate_rad_s.z;
    return body;
}

/*
 * The component of gravity along the road, forward. The road is where the velocity points to: the body's x axis swings on the
 * springs, which lifts the no-slip point as well, so that along the body's axis a compliance would seem to be what swinging is.
 */
double joint_downhill(const struct joint_filter *filter, const struct joint_body *body)
{
    const oto_vec3 v = body->velocity_m_s;
    const double along = oto_vec3_dot(oto_mat3_mul_vec(body->from_sensor, filter->gravity_m_s2), v);
    return along * v.x / (oto_vec3_norm_sq(v) + joint_squared(CRAWLS_M_S));
}

/* Forward speed of the no-slip point at the end of the previous block. */
static double speed_before(const struct joint_filter *filter)
{
    const oto_quat q = filter->q_body_from_sensor;
    const oto_vec3 lever_m = oto_vec3_from_array(&filter->extra[JOINT_LEVER - JOINT_PITCH_COMPLIANCE]);
    oto_vec3 rate = oto_quat_rotate(q, oto_vec3_sub(filter->last_rate_rad_s, filter->gyro_bias_rad_s));
    return oto_quat_rotate(q, filter->velocity_m_s).x - oto_vec3_cross(rate, lever_m).x;
}

static void roll_on(const struct joint_plan *plan, struct joint_filter *filter, double way_m)
{
    joint_fade(filter, JOINT_HEAVE, 1.0 / (1.0 + way_m / HEAVE_LENGTH_M), filter->heave_power);
    joint_fade(filter, JOINT_BANK, 1.0 / (1.0 + way_m / plan->road_length_m), filter->bank_power);
}

static void remember(struct joint_filter *filter, const struct joint_body *body, double duration_s)
{
    const oto_vec3 g = oto_mat3_mul_vec(body->from_sensor, filter->gravity_m_s2);
    memmove(filter->past + 1, filter->past, sizeof filter->past - sizeof *filter->past);
    filter->past[0] = (struct joint_past){.gain_m_s = body->ahead_m_s2 * duration_s,
                                          .duration_s = duration_s,
                                          .force_m_s2 = body->ahead_m_s2 - g.x,
                                          .first_rate_rad_s = filter->last_rate_rad_s};
}

void joint_filter_step(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block)
{
    struct joint_body body;
    double speed_before_m_s;
    if (block->breaks) {
        filter->begun = 0;
        joint_gyro_break(&filter->gyro);
    }
    if (!filter->begun) {
        if (may_begin(block)) {
            begin(filter, block);
            filter->last_rate_rad_s = block->end_rate_rad_s;
        }
        return;
    }
    joint_gyro_pass(&filter->gyro, block->still != 0, block->duration_s);
    speed_before_m_s = speed_before(filter);
    move(plan, filter, block);
    body = joint_look(filter, block, speed_before_m_s);
    remember(filter, &body, block->duration_s);
    filter->ahead_sq_m2_s3 += joint_squared(body.ahead_m_s2) * block->duration_s;
    filter->aside_sq_m2_s3 += joint_squared(body.left_m_s2) * block->duration_s;
    roll_on(plan, filter, oto_fabs(body.velocity_m_s.x) * block->duration_s);
    if (block->still) {
        joint_measure_rest(plan, filter, block, &body);
        if (block->up_sigma_rad > 0.0) {
            joint_measure_up(filter, block);
        }
    } else {
        joint_measure_moving(plan, filter, block, &body, speed_before_m_s);
    }
    if (oto_fabs(body.ahead_m_s2) > SPEEDS_UP_M_S2) {
        filter->gained_m_s += oto_fabs(body.ahead_m_s2) * block->duration_s;
        filter->starts_m2_s3 += joint_squared(body.ahead_m_s2) * block->duration_s;
    }
    filter->last_rate_rad_s = block->end_rate_rad_s;
    filter->gravity_ahead_m_s2 = joint_downhill(filter, &body);
    filter->accel_ahead_m_s2 = body.ahead_m_s2;
    filter->accel_left_m_s2 = body.left_m_s2;
    filter->yaw_rate_rad_s = body.mean_rate_rad_s.z;
    filter->speed_m_s = body.velocity_m_s.x;
    filter->blocks++;
}
