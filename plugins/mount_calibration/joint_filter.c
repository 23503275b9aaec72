/* One step of the joint filter over one block: what moves, and what is measured. Equations: README.md. */
#include <string.h>

#include "joint_parts.h"

#define HEAVE_LENGTH_M 150.0
#define HEAVE_FIRST_RAD (0.3 * OTO_DEG)
#define LEVEL_CROWN_RAD OTO_DEG /* a level path shows the crown itself */
#define JOLT_FIRST 0.05

double joint_sigma(const struct joint_filter *filter, int state)
{
    double variance = filter->covariance[state][state];
    return variance > 0.0 ? oto_sqrt(variance) : 0.0;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

void joint_filter_init(const struct joint_plan *plan, uint32_t path, oto_quat q_body_from_sensor,
                       const double sigma_rad[3], struct joint_filter *filter)
{
    const double lag_s = 0.1, lever_m = 1.5, slip_rad_s2_m = 0.003;
    const double extras[JOINT_EXTRAS] = {plan->compliance_sigma_rad_s2_m[0],
                                         plan->compliance_sigma_rad_s2_m[1],
                                         plan->speed_scale_sigma,
                                         lag_s,
                                         lever_m,
                                         slip_rad_s2_m,
                                         HEAVE_LEAST_RAD,
                                         plan->bank_rad,
                                         plan->crown_sigma_rad,
                                         0.0};
    const double level_rad_s2_m = 0.3 * OTO_DEG;
    memset(filter, 0, sizeof *filter);
    filter->q_body_from_sensor = q_body_from_sensor;
    for (int i = 0; i < 3; i++) {
        filter->covariance[JOINT_ACCEL_BIAS + i][JOINT_ACCEL_BIAS + i] = joint_squared(plan->accel_bias_sigma_m_s2);
        filter->covariance[JOINT_GYRO_BIAS + i][JOINT_GYRO_BIAS + i] = joint_squared(0.5 * plan->gyro_bias_range_rad_s);
        filter->covariance[JOINT_MOUNT + i][JOINT_MOUNT + i] = joint_squared(sigma_rad[i]);
    }
    for (int i = 0; i < JOINT_EXTRAS; i++) {
        filter->covariance[JOINT_PITCH_COMPLIANCE + i][JOINT_PITCH_COMPLIANCE + i] = joint_squared(extras[i]);
    }
    filter->extra[0] = plan->compliance_rad_s2_m[0];
    filter->extra[1] = plan->compliance_rad_s2_m[1];
    for (int i = 0; i < JOINT_CHANNELS; i++) {
        filter->channels[i].scale = 1.0;
    }
    *joint_extra(filter, JOINT_CROWN) = plan->crown_rad;
    if (path == JOINT_STAYS_LEVEL) { /* compliances act in another way there, and it is not known how */
        filter->covariance[JOINT_PITCH_COMPLIANCE][JOINT_PITCH_COMPLIANCE] = joint_squared(level_rad_s2_m);
        filter->covariance[JOINT_LEVEL_ROLL][JOINT_LEVEL_ROLL] = joint_squared(level_rad_s2_m);
        filter->covariance[JOINT_CROWN][JOINT_CROWN] += joint_squared(LEVEL_CROWN_RAD);
        filter->extra[0] *= 0.5;
    }
    filter->path = path;
    filter->heave_power = joint_squared(path == JOINT_STAYS_LEVEL ? HEAVE_LEAST_RAD : HEAVE_FIRST_RAD);
    filter->jolt_power = joint_squared(JOLT_FIRST);
    filter->bank_power = joint_squared(plan->bank_rad);
}

/* Gravity is what is felt, turned round, but for acceleration and bias; its size is known. */
static void begin(struct joint_filter *filter, const struct joint_block *block)
{
    oto_vec3 felt_m_s2 = oto_vec3_scale(block->velocity_gain_m_s, 1.0 / block->duration_s);
    oto_vec3 ahead = oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(1.0, 0.0, 0.0));
    double unsure_m_s2 = block->still ? 0.02 : 1.5, unsure_m_s = 0.05 + 0.2 * oto_fabs(block->speed_m_s);
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
    joint_measure_gravity(filter, GRAVITY_SIGMA_M_S2);
    filter->begun = 1;
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

/* Accelerometer and gyroscope noise over the block, and how slowly biases and mount may wander. */
static void add_noise(const struct joint_plan *plan, struct joint_filter *filter, double dt)
{
    static const double wander[12] = {0, 0, 0, 0, 0, 0, 2e-8, 2e-8, 2e-8, 1e-11, 1e-11, 1e-11};
    const double turn = joint_squared(plan->gyro_noise) * dt, size_sq = oto_vec3_norm_sq(filter->gravity_m_s2);
    const double push =
        (joint_squared(plan->accel_noise) + oto_vec3_norm_sq(filter->velocity_m_s) * joint_squared(plan->gyro_noise)) *
        dt;
    const double jolt = filter->jolt_power * dt;
    double g[3], up[3];
    oto_vec3_to_array(filter->gravity_m_s2, g);
    oto_vec3_to_array(oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(0.0, 0.0, 1.0)), up);
    for (int i = 0; i < 12; i++) {
        filter->covariance[i][i] += wander[i] * dt;
    }
    for (int i = 0; i < 3; i++) {
        filter->covariance[JOINT_VELOCITY + i][JOINT_VELOCITY + i] += push;
        for (int j = 0; j < 3; j++) {
            filter->covariance[JOINT_VELOCITY + i][JOINT_VELOCITY + j] += jolt * up[i] * up[j];
            filter->covariance[JOINT_GRAVITY + i][JOINT_GRAVITY + j] += turn * ((i == j ? size_sq : 0.0) - g[i] * g[j]);
        }
    }
}

/*
 * On a level path the velocity does not turn with the body's pitch: ω × v without ω's y. Which axis that is hangs on
 * the mount: δv' = v(ω_z ε_x - ω_x ε_z) upwards.
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

/* The block's rotation and velocity gain with the biases as now known; `u` is the velocity before it is turned. */
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
    if (filter->path == JOINT_STAYS_LEVEL) {
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
    filter->velocity_m_s = oto_mat3_mul_vec(velocity_to_end, u);
    filter->gravity_m_s2 = oto_mat3_mul_vec(to_end, filter->gravity_m_s2);
}

struct joint_body joint_look(const struct joint_filter *filter, const struct joint_block *block,
                             double speed_before_m_s)
{
    struct joint_body body = {.from_sensor = oto_mat3_from_quat(filter->q_body_from_sensor)};
    oto_vec3 newer = oto_vec3_sub(filter->gyro_bias_rad_s, block->gyro_bias_rad_s);
    oto_vec3 rate = oto_vec3_sub(oto_vec3_scale(block->turn_rad, 1.0 / block->duration_s), newer);
    body.velocity_m_s = oto_mat3_mul_vec(body.from_sensor, filter->velocity_m_s);
    body.rate_rad_s = oto_mat3_mul_vec(body.from_sensor, rate);
    body.ahead_m_s2 = (body.velocity_m_s.x - speed_before_m_s) / block->duration_s;
    body.left_m_s2 = body.velocity_m_s.x * body.rate_rad_s.z;
    return body;
}

static void roll_on(const struct joint_plan *plan, struct joint_filter *filter, double way_m)
{
    joint_fade(filter, JOINT_HEAVE, 1.0 / (1.0 + way_m / HEAVE_LENGTH_M), filter->heave_power);
    joint_fade(filter, JOINT_BANK, 1.0 / (1.0 + way_m / plan->road_length_m), filter->bank_power);
}

void joint_filter_step(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block)
{
    struct joint_body body;
    double speed_before_m_s;
    if (block->breaks) {
        filter->begun = 0;
    }
    if (!filter->begun) {
        if (block->speeds > 0) {
            begin(filter, block);
        }
        return;
    }
    speed_before_m_s = oto_quat_rotate(filter->q_body_from_sensor, filter->velocity_m_s).x;
    move(plan, filter, block);
    body = joint_look(filter, block, speed_before_m_s);
    filter->ahead_sq_m2_s3 += joint_squared(body.ahead_m_s2) * block->duration_s;
    filter->aside_sq_m2_s3 += joint_squared(body.left_m_s2) * block->duration_s;
    roll_on(plan, filter, oto_fabs(body.velocity_m_s.x) * block->duration_s);
    if (block->still) {
        joint_measure_rest(plan, filter, block, &body);
    } else if (block->speeds > 0) {
        joint_measure_moving(plan, filter, block, &body, speed_before_m_s);
    }
    filter->accel_ahead_m_s2 = body.ahead_m_s2;
    filter->accel_left_m_s2 = body.left_m_s2;
    filter->yaw_rate_rad_s = body.rate_rad_s.z;
    filter->speed_m_s = body.velocity_m_s.x;
    filter->blocks++;
}
