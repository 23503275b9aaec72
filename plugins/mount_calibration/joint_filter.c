/* One step of the joint filter over one block: what moves, and what is measured. Equations: README.md. */
#include <string.h>

#include "joint.h"

#define GRAVITY_M_S2 9.80665
#define GRAVITY_SIGMA_M_S2 0.03  /* from place to place, and of the accelerometer's scale */
#define HEAVE_LENGTH_M 150.0
#define HEAVE_LEAST_RAD (0.03 * OTO_DEG)
#define HEAVE_FIRST_RAD (0.3 * OTO_DEG)
#define LEVEL_CROWN_RAD OTO_DEG /* a level path shows the crown itself */
#define JOLT_LEAST 0.003 /* m/s² for 1 Hz^½ */
#define JOLT_FIRST 0.02
#define JOLT_MOST 0.3
#define HEAVE_MOST_RAD (2.0 * OTO_DEG)
#define GATE_SQ 25.0
#define REFUSED_AT_MOST 20 /* two seconds */
#define SCALE_MEMORY 0.01
#define SUMMED 10 /* innovations of a second */
#define SUM_MEMORY 0.05
#define SCALE_LEAST 0.1
#define SCALE_MOST 100.0

static double *extra_of(struct joint_filter *filter, int state)
{
    return &filter->extra[state - JOINT_PITCH_COMPLIANCE];
}

double joint_sigma(const struct joint_filter *filter, int state)
{
    double variance = filter->covariance[state][state];
    return variance > 0.0 ? oto_sqrt(variance) : 0.0;
}

static double squared(double x)
{
    return x * x;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

void joint_filter_init(const struct joint_plan *plan, uint32_t path, oto_quat q_body_from_sensor,
                       const double sigma_rad[3], struct joint_filter *filter)
{
    const double lag_s = 0.1, lever_m = 1.5, slip_rad_s2_m = 0.003;
    const double extras[JOINT_EXTRAS] = {
        plan->compliance_sigma_rad_s2_m[0], plan->compliance_sigma_rad_s2_m[1], plan->speed_scale_sigma, lag_s, lever_m,
        slip_rad_s2_m, HEAVE_LEAST_RAD, plan->bank_rad, plan->crown_sigma_rad, 0.0};
    const double level_rad_s2_m = 0.3 * OTO_DEG;
    memset(filter, 0, sizeof *filter);
    filter->q_body_from_sensor = q_body_from_sensor;
    for (int i = 0; i < 3; i++) {
        filter->covariance[JOINT_ACCEL_BIAS + i][JOINT_ACCEL_BIAS + i] = squared(plan->accel_bias_sigma_m_s2);
        filter->covariance[JOINT_GYRO_BIAS + i][JOINT_GYRO_BIAS + i] = squared(0.5 * plan->gyro_bias_range_rad_s);
        filter->covariance[JOINT_MOUNT + i][JOINT_MOUNT + i] = squared(sigma_rad[i]);
    }
    for (int i = 0; i < JOINT_EXTRAS; i++) {
        filter->covariance[JOINT_PITCH_COMPLIANCE + i][JOINT_PITCH_COMPLIANCE + i] = squared(extras[i]);
    }
    filter->extra[0] = plan->compliance_rad_s2_m[0];
    filter->extra[1] = plan->compliance_rad_s2_m[1];
    for (int i = 0; i < JOINT_CHANNELS; i++) {
        filter->channels[i].scale = 1.0;
    }
    *extra_of(filter, JOINT_CROWN) = plan->crown_rad;
    if (path == JOINT_STAYS_LEVEL) { /* compliances act in another way there, and it is not known how */
        filter->covariance[JOINT_PITCH_COMPLIANCE][JOINT_PITCH_COMPLIANCE] = squared(level_rad_s2_m);
        filter->covariance[JOINT_LEVEL_ROLL][JOINT_LEVEL_ROLL] = squared(level_rad_s2_m);
        filter->covariance[JOINT_CROWN][JOINT_CROWN] += squared(LEVEL_CROWN_RAD);
        filter->extra[0] *= 0.5;
    }
    filter->path = path;
    filter->heave_power = squared(path == JOINT_STAYS_LEVEL ? HEAVE_LEAST_RAD : HEAVE_FIRST_RAD);
    filter->jolt_power = squared(JOLT_FIRST);
    filter->bank_power = squared(plan->bank_rad);
}

/* States from `first` up to `end` become independent of all else, and certain until said otherwise. */
static void forget_rows(struct joint_filter *filter, int first, int end)
{
    for (int i = first; i < end; i++) {
        for (int j = 0; j < JOINT_STATES; j++) {
            filter->covariance[i][j] = filter->covariance[j][i] = 0.0;
        }
    }
}

/* Its size is known. */
static void measure_gravity(struct joint_filter *filter, double sigma_m_s2)
{
    const double size = oto_vec3_norm(filter->gravity_m_s2);
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_GRAVITY, oto_vec3_scale(filter->gravity_m_s2, 1.0 / size));
    joint_update(filter, &row, GRAVITY_M_S2 - size, squared(sigma_m_s2));
}

/* Gravity is what is felt, turned round, but for acceleration and bias; its size is known. */
static void begin(struct joint_filter *filter, const struct joint_block *block)
{
    oto_vec3 felt_m_s2 = oto_vec3_scale(block->velocity_gain_m_s, 1.0 / block->duration_s);
    oto_vec3 ahead = oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(1.0, 0.0, 0.0));
    double unsure_m_s2 = block->still ? 0.02 : 1.5, unsure_m_s = 0.05 + 0.2 * oto_fabs(block->speed_m_s);
    filter->gravity_m_s2 = oto_vec3_sub(filter->accel_bias_m_s2, felt_m_s2);
    filter->velocity_m_s = oto_vec3_scale(ahead, block->speed_m_s);
    if (block->still && filter->covariance[JOINT_GYRO_BIAS][JOINT_GYRO_BIAS] > squared(0.02)) {
        forget_rows(filter, JOINT_GYRO_BIAS, JOINT_MOUNT);
        filter->gyro_bias_rad_s = oto_vec3_add_scaled(block->gyro_bias_rad_s, block->turn_rad, 1.0 / block->duration_s);
    }
    forget_rows(filter, JOINT_VELOCITY, JOINT_ACCEL_BIAS);
    for (int i = 0; i < 3; i++) {
        const int v = JOINT_VELOCITY + i, g = JOINT_GRAVITY + i, b = JOINT_ACCEL_BIAS + i;
        const int w = JOINT_GYRO_BIAS + i;
        double bias = filter->covariance[b][b];
        filter->covariance[v][v] = squared(unsure_m_s);
        filter->covariance[g][g] = bias + squared(unsure_m_s2);
        filter->covariance[g][b] = filter->covariance[b][g] = bias;
        if (filter->covariance[w][w] == 0.0) {
            filter->covariance[w][w] = squared(0.02);
        }
    }
    measure_gravity(filter, GRAVITY_SIGMA_M_S2);
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
    const double turn = squared(plan->gyro_noise) * dt, size_sq = oto_vec3_norm_sq(filter->gravity_m_s2);
    const double push = (squared(plan->accel_noise) + oto_vec3_norm_sq(filter->velocity_m_s) * squared(plan->gyro_noise)) * dt;
    const double jolt = filter->path == JOINT_STAYS_LEVEL ? filter->jolt_power * dt : 0.0;
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
 * On a level path the velocity does not turn with the body's pitch: ω × v without ω's y. Which axis that is hangs on the
 * mount: δv' = v(ω_z ε_x - ω_x ε_z) upwards.
 */
static oto_mat3 stay_level(const struct joint_filter *filter, oto_vec3 turn_rad, double transition[JOINT_MOVED][JOINT_MOVERS])
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
    oto_vec3 gain = oto_vec3_add_scaled(block->velocity_gain_m_s, oto_vec3_cross(newer, block->velocity_gain_m_s), -0.5 * dt);
    oto_vec3 bias = oto_vec3_add_scaled(filter->accel_bias_m_s2, oto_vec3_cross(turn_rad, filter->accel_bias_m_s2), 0.5);
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
    put3x3(transition, 3, JOINT_GYRO_BIAS, oto_mat3_mul(oto_mat3_scale(to_end, dt), oto_mat3_skew(oto_vec3_neg(filter->gravity_m_s2))));
    joint_transit(filter, transition);
    add_noise(plan, filter, dt);
    filter->velocity_m_s = oto_mat3_mul_vec(velocity_to_end, u);
    filter->gravity_m_s2 = oto_mat3_mul_vec(to_end, filter->gravity_m_s2);
}

/* What the body does in the block, in its own axes. */
struct body {
    oto_mat3 from_sensor;
    oto_vec3 velocity_m_s, rate_rad_s;
    double ahead_m_s2, left_m_s2;
};

static struct body look(const struct joint_filter *filter, const struct joint_block *block, double speed_before_m_s)
{
    struct body body = {.from_sensor = oto_mat3_from_quat(filter->q_body_from_sensor)};
    oto_vec3 newer = oto_vec3_sub(filter->gyro_bias_rad_s, block->gyro_bias_rad_s);
    oto_vec3 rate = oto_vec3_sub(oto_vec3_scale(block->turn_rad, 1.0 / block->duration_s), newer);
    body.velocity_m_s = oto_mat3_mul_vec(body.from_sensor, filter->velocity_m_s);
    body.rate_rad_s = oto_mat3_mul_vec(body.from_sensor, rate);
    body.ahead_m_s2 = (body.velocity_m_s.x - speed_before_m_s) / block->duration_s;
    body.left_m_s2 = body.velocity_m_s.x * body.rate_rad_s.z;
    return body;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static oto_vec3 row_of(const oto_mat3 *m, int row)
{
    return oto_vec3_from_array(m->m[row]);
}

/*
 * Innovations of a second, together: what is slow shows in them, what shakes does not. Of the upward ones, how well they
 * were foretold.
 */
static void sum_up(struct joint_filter *filter, int kind, double innovation, double variance)
{
    struct joint_channel *channel = &filter->channels[kind];
    double ratio;
    channel->sum += innovation;
    channel->sum_variance += variance;
    if (++channel->summed < SUMMED) {
        return;
    }
    ratio = channel->sum * channel->sum / channel->sum_variance;
    ratio = ratio < GATE_SQ ? ratio : GATE_SQ;
    channel->together += SUM_MEMORY * (ratio - channel->together);
    if (kind == JOINT_UPWARD) {
        filter->fit -= 0.5 * (ratio + oto_log(channel->sum_variance));
    }
    channel->sum = 0.0;
    channel->sum_variance = 0.0;
    channel->summed = 0;
}

/*
 * Takes the measurement unless it is too far off, and learns how large the noise really is. Returns whether it was taken.
 */
static bool measure(struct joint_filter *filter, int kind, const struct joint_row *row, double innovation, double variance)
{
    struct joint_channel *channel = &filter->channels[kind];
    const double known = joint_row_variance(filter, row), noise = variance * channel->scale;
    const double ratio = innovation * innovation / (known + noise);
    const double excess = innovation * innovation - known;
    double seen;
    sum_up(filter, kind, innovation, known + noise);
    if (!(ratio < GATE_SQ)) {
        filter->gated++;
        channel->scale += channel->scale < SCALE_MOST ? SCALE_MEMORY * channel->scale : 0.0;
        return false;
    }
    seen = (excess > 0.0 ? excess : 0.0) / variance;
    channel->scale += SCALE_MEMORY * (seen - channel->scale);
    channel->scale = channel->scale < SCALE_LEAST ? SCALE_LEAST : channel->scale;
    joint_update(filter, row, innovation, noise);
    return true;
}

static bool measure_forward(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                            const struct body *body, double speed_m_s)
{
    const double scale = 1.0 + *extra_of(filter, JOINT_SPEED_SCALE);
    const double age_s = block->speed_age_s + *extra_of(filter, JOINT_SPEED_LAG);
    const double noise = squared(plan->speed_noise_m_s) / block->speeds + squared(0.01) + squared(0.02 * body->ahead_m_s2);
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_VELOCITY, oto_vec3_scale(row_of(&body->from_sensor, 0), scale));
    joint_row_put(&row, JOINT_SPEED_SCALE, body->velocity_m_s.x);
    joint_row_put(&row, JOINT_SPEED_LAG, -body->ahead_m_s2);
    return measure(filter, JOINT_FORWARD, &row, speed_m_s - scale * (body->velocity_m_s.x - body->ahead_m_s2 * age_s), noise);
}

/*
 * The axle that does not steer does not slip, but for its drift; the sensor is ahead of it. What a roll of the mount would
 * do to the little upward velocity that springs make is left out: too much hangs on how they work.
 */
static bool measure_sideways(struct joint_filter *filter, const struct body *body)
{
    const oto_vec3 v = body->velocity_m_s;
    const double noise = squared(0.015) + squared(0.002 * v.x);
    const double drift_m_s = v.x * body->left_m_s2;
    struct joint_row row = {0};
    double predicted = v.y - body->rate_rad_s.z * *extra_of(filter, JOINT_LEVER) + drift_m_s * *extra_of(filter, JOINT_SLIP);
    joint_row_put3(&row, JOINT_VELOCITY, row_of(&body->from_sensor, 1));
    joint_row_put(&row, JOINT_MOUNT + 2, v.x);
    joint_row_put(&row, JOINT_LEVER, -body->rate_rad_s.z);
    joint_row_put(&row, JOINT_SLIP, drift_m_s);
    return measure(filter, JOINT_SIDEWAYS, &row, -predicted, noise);
}

/* The body moves along the road, to which the springs pitch it. */
static bool measure_upward(const struct joint_plan *plan, struct joint_filter *filter, const struct body *body)
{
    const oto_vec3 v = body->velocity_m_s;
    const double noise = squared(0.02) + squared(plan->vibration_rad * v.x);
    const bool level = filter->path == JOINT_STAYS_LEVEL;
    const double by_pitch = level ? filter->ahead_sq_m2_s3 : v.x * body->ahead_m_s2;
    const double by_roll = level ? filter->aside_sq_m2_s3 : 0.0;
    struct joint_row row = {0};
    double predicted = v.z + body->rate_rad_s.y * *extra_of(filter, JOINT_LEVER) - v.x * *extra_of(filter, JOINT_HEAVE) -
                       by_pitch * *extra_of(filter, JOINT_PITCH_COMPLIANCE) - by_roll * *extra_of(filter, JOINT_LEVEL_ROLL);
    joint_row_put3(&row, JOINT_VELOCITY, row_of(&body->from_sensor, 2));
    joint_row_put(&row, JOINT_MOUNT + 1, -v.x);
    joint_row_put(&row, JOINT_LEVER, body->rate_rad_s.y);
    joint_row_put(&row, JOINT_PITCH_COMPLIANCE, -by_pitch);
    joint_row_put(&row, JOINT_LEVEL_ROLL, -by_roll);
    joint_row_put(&row, JOINT_HEAVE, -v.x);
    return measure(filter, JOINT_UPWARD, &row, -predicted, noise);
}

/* The road's rms bank, as it is seen about its mean; the assumed one counts as five independent places. */
static void learn_bank(const struct joint_plan *plan, struct joint_filter *filter, double roll_rad, double way_m)
{
    double mean, apart, places, seen;
    filter->bank_sum += roll_rad * way_m;
    filter->bank_square_sum += roll_rad * roll_rad * way_m;
    filter->bank_weight += way_m;
    places = filter->bank_weight / (2.0 * plan->road_length_m);
    if (places < 2.0) {
        return;
    }
    mean = filter->bank_sum / filter->bank_weight;
    apart = filter->bank_square_sum / filter->bank_weight - mean * mean;
    seen = apart * places / (places - 1.0);
    filter->bank_power = (5.0 * squared(plan->bank_rad) + places * seen) / (5.0 + places);
}

/* The road is level across, but for its wander and its mean, the crown. */
static void measure_bank(const struct joint_plan *plan, struct joint_filter *filter, const struct body *body, double way_m)
{
    const oto_vec3 g = oto_mat3_mul_vec(body->from_sensor, filter->gravity_m_s2);
    const double size = oto_vec3_norm(g), left = body->left_m_s2;
    const double noise = squared(size * (plan->vibration_rad + 0.05 * OTO_DEG));
    const double springs_rad = left * *extra_of(filter, JOINT_ROLL_COMPLIANCE);
    const double roll_rad = *extra_of(filter, JOINT_BANK) + *extra_of(filter, JOINT_CROWN) + springs_rad;
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_GRAVITY, row_of(&body->from_sensor, 1));
    joint_row_put(&row, JOINT_MOUNT, -g.z);
    joint_row_put(&row, JOINT_MOUNT + 2, g.x);
    joint_row_put(&row, JOINT_BANK, size);
    joint_row_put(&row, JOINT_CROWN, size);
    joint_row_put(&row, JOINT_ROLL_COMPLIANCE, size * left);
    if (measure(filter, JOINT_ROAD_BANK, &row, -(g.y + size * roll_rad), noise) &&
        joint_sigma(filter, JOINT_MOUNT) < OTO_DEG) {
        learn_bank(plan, filter, *extra_of(filter, JOINT_BANK), way_m);
    }
}

static void forget_path(struct joint_filter *filter)
{
    filter->ahead_sq_m2_s3 = 0.0;
    filter->aside_sq_m2_s3 = 0.0;
}

/* What a level path has added up of the springs' doings was no motion: it is dropped. */
static void come_to_rest(struct joint_filter *filter)
{
    if (filter->path == JOINT_STAYS_LEVEL && filter->ahead_sq_m2_s3 + filter->aside_sq_m2_s3 > 0.05) {
        forget_rows(filter, JOINT_VELOCITY, JOINT_GRAVITY);
        for (int i = JOINT_VELOCITY; i < JOINT_GRAVITY; i++) {
            filter->covariance[i][i] = squared(0.05);
        }
        filter->velocity_m_s = oto_vec3_zero();
    }
    forget_path(filter);
}

/* At rest nothing moves: the velocity is zero and the gyroscope shows its bias. */
static void measure_rest(struct joint_filter *filter, const struct joint_block *block)
{
    oto_vec3 shown = oto_vec3_add_scaled(block->gyro_bias_rad_s, block->turn_rad, 1.0 / block->duration_s);
    double velocity[3], innovation[3];
    come_to_rest(filter);
    oto_vec3_to_array(filter->velocity_m_s, velocity);
    oto_vec3_to_array(oto_vec3_sub(shown, filter->gyro_bias_rad_s), innovation);
    for (int i = 0; i < 3; i++) {
        struct joint_row still = {1, {JOINT_VELOCITY + i}, {1.0}}, turn = {1, {JOINT_GYRO_BIAS + i}, {1.0}};
        const double known = joint_row_variance(filter, &turn) + squared(2e-3);
        joint_update(filter, &still, -velocity[i], squared(0.01));
        if (innovation[i] * innovation[i] < GATE_SQ * known) {
            joint_update(filter, &turn, innovation[i], squared(2e-3));
        }
        oto_vec3_to_array(filter->velocity_m_s, velocity);
        oto_vec3_to_array(oto_vec3_sub(shown, filter->gyro_bias_rad_s), innovation);
    }
    measure_gravity(filter, 10.0 * GRAVITY_SIGMA_M_S2);
    forget_rows(filter, JOINT_HEAVE, JOINT_BANK);
    filter->covariance[JOINT_HEAVE][JOINT_HEAVE] = squared(HEAVE_LEAST_RAD);
    *extra_of(filter, JOINT_HEAVE) = 0.0;
}

/* The velocity is set anew where it has been contradicted for long. */
static void lose_velocity(struct joint_filter *filter, double speed_m_s)
{
    oto_vec3 ahead = oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(1.0, 0.0, 0.0));
    filter->velocity_m_s = oto_vec3_scale(ahead, speed_m_s);
    forget_rows(filter, JOINT_VELOCITY, JOINT_GRAVITY);
    for (int i = JOINT_VELOCITY; i < JOINT_GRAVITY; i++) {
        filter->covariance[i][i] = squared(0.5 + 0.1 * speed_m_s);
    }
    forget_path(filter);
    filter->lost++;
    filter->refused = 0;
}

/* A speed without a sign has that of the velocity. */
static double with_sign(struct joint_filter *filter, double speed_m_s, double velocity_m_s)
{
    if (speed_m_s < -0.2) {
        filter->is_signed = 1;
    }
    return !filter->is_signed && velocity_m_s < -0.3 ? -oto_fabs(speed_m_s) : speed_m_s;
}

/* Up by a little while seconds of upward innovations add up to more than they should, down while they do not. */
static double learned(double power, double together, double least, double most)
{
    power *= together > 1.5 ? 1.03 : together < 1.0 ? 0.99 : 1.0;
    return power < least * least ? least * least : power > most * most ? most * most : power;
}

/*
 * Slow pitch of the body against a path that follows it, or jolts upwards of a level path that the body never takes back:
 * allowed as much as makes the innovations independent.
 */
static void learn_heave(struct joint_filter *filter)
{
    const double together = filter->channels[JOINT_UPWARD].together;
    if (filter->path == JOINT_STAYS_LEVEL) {
        filter->jolt_power = learned(filter->jolt_power, together, JOLT_LEAST, JOLT_MOST);
    } else {
        filter->heave_power = learned(filter->heave_power, together, HEAVE_LEAST_RAD, HEAVE_MOST_RAD);
    }
}

static void measure_moving(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                           struct body *body, double speed_before_m_s)
{
    const double speed_m_s = with_sign(filter, block->speed_m_s, body->velocity_m_s.x);
    const double way_m = oto_fabs(speed_m_s) * block->duration_s;
    bool taken = measure_forward(plan, filter, block, body, speed_m_s);
    *body = look(filter, block, speed_before_m_s);
    taken = measure_sideways(filter, body) && taken;
    taken = measure_upward(plan, filter, body) && taken;
    filter->refused = taken ? 0 : filter->refused + 1;
    if (filter->refused > REFUSED_AT_MOST) {
        lose_velocity(filter, speed_m_s);
    }
    learn_heave(filter);
    filter->distance_m += way_m;
    filter->since_bank_m += way_m;
    if (filter->since_bank_m > 3.0) {
        measure_bank(plan, filter, body, filter->since_bank_m);
        filter->since_bank_m = 0.0;
    }
}

static void roll_on(const struct joint_plan *plan, struct joint_filter *filter, double way_m)
{
    joint_fade(filter, JOINT_HEAVE, 1.0 / (1.0 + way_m / HEAVE_LENGTH_M), filter->heave_power);
    joint_fade(filter, JOINT_BANK, 1.0 / (1.0 + way_m / plan->road_length_m), filter->bank_power);
}

void joint_filter_step(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block)
{
    struct body body;
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
    body = look(filter, block, speed_before_m_s);
    filter->ahead_sq_m2_s3 += squared(body.ahead_m_s2) * block->duration_s;
    filter->aside_sq_m2_s3 += squared(body.left_m_s2) * block->duration_s;
    roll_on(plan, filter, oto_fabs(body.velocity_m_s.x) * block->duration_s);
    if (block->still) {
        measure_rest(filter, block);
        if (plan->level) {
            measure_bank(plan, filter, &body, 0.0);
        }
    } else if (block->speeds > 0) {
        measure_moving(plan, filter, block, &body, speed_before_m_s);
    }
    filter->accel_ahead_m_s2 = body.ahead_m_s2;
    filter->accel_left_m_s2 = body.left_m_s2;
    filter->yaw_rate_rad_s = body.rate_rad_s.z;
    filter->speed_m_s = body.velocity_m_s.x;
    filter->blocks++;
}
