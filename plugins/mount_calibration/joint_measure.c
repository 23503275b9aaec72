/* What is measured of a block, and what is learned of noise from it. Equations: README.md. */
#include "joint_parts.h"

#define JOLT_MOST 0.3
#define HEAVE_MOST_RAD (2.0 * OTO_DEG)
#define GATE_SQ 25.0
#define REFUSED_AT_MOST 20 /* two seconds */
#define SCALE_MEMORY 0.01
#define SCALE_LEAST 0.1
#define LEARN_FROM 4.0
#define SCALE_MOST 100.0
#define LEARN 0.1 /* of a second, to powers' logarithms */
#define RATIO 0.75
#define RATIO_MOST 9.0
#define FIT_RATIO 0.65 /* below RATIO: noise that is allowed for safety must not excuse what a path's filter misses */
#define SUMMED 10 /* innovations of a second */
#define BANK_EACH_M 3.0

static oto_vec3 row_of(const oto_mat3 *m, int row)
{
    return oto_vec3_from_array(m->m[row]);
}

/* Towards where a second's innovations, squared, are on average RATIO of what was foretold: less than one, to be safe. */
static double learned(double power, double ratio, double least, double most)
{
    power *= oto_exp(LEARN * ((ratio < RATIO_MOST ? ratio : RATIO_MOST) - RATIO));
    return power < least * least ? least * least : power > most * most ? most * most : power;
}

/*
 * Upward jolts that add up in the velocity, as noise does whose vibration the sampling has folded down, and slow pitch of
 * the body against a path that follows it: both are allowed as much as makes the innovations independent.
 */
static void learn_jolts(struct joint_filter *filter, double ratio)
{
    filter->jolt_power = learned(filter->jolt_power, ratio, JOLT_LEAST, JOLT_MOST);
    if (filter->path == JOINT_FOLLOWS) {
        filter->heave_power = learned(filter->heave_power, ratio, HEAVE_LEAST_RAD, HEAVE_MOST_RAD);
    }
}

/*
 * Innovations of a second, together: what is slow shows in them, what shakes does not. Of the upward ones, how well
 * they were foretold.
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
    if (kind == JOINT_UPWARD) {
        filter->fit -= 0.5 * (ratio / FIT_RATIO + oto_log(channel->sum_variance));
        learn_jolts(filter, ratio);
    }
    channel->sum = 0.0;
    channel->sum_variance = 0.0;
    channel->summed = 0;
}

/*
 * Takes the measurement unless it is too far off, and learns how large the noise really is. Returns whether it was
 * taken.
 */
static bool measure(struct joint_filter *filter, int kind, const struct joint_row *row, double innovation,
                    double variance)
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
    if (known < LEARN_FROM * noise) { /* else the innovation says little of the noise */
        seen = (excess > 0.0 ? excess : 0.0) / variance;
        channel->scale += SCALE_MEMORY * (seen - channel->scale);
        channel->scale = channel->scale < SCALE_LEAST  ? SCALE_LEAST
                         : channel->scale > SCALE_MOST ? SCALE_MOST
                                                       : channel->scale;
    }
    joint_update(filter, row, innovation, noise);
    return true;
}

static bool measure_forward(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                            const struct joint_body *body, double speed_m_s)
{
    const double scale = 1.0 + *joint_extra(filter, JOINT_SPEED_SCALE);
    const double age_s = block->speed_age_s + *joint_extra(filter, JOINT_SPEED_LAG);
    const double noise = joint_squared(plan->speed_noise_m_s) / block->speeds + joint_squared(0.01) +
                         joint_squared(0.02 * body->ahead_m_s2);
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_VELOCITY, oto_vec3_scale(row_of(&body->from_sensor, 0), scale));
    joint_row_put(&row, JOINT_SPEED_SCALE, body->velocity_m_s.x);
    joint_row_put(&row, JOINT_SPEED_LAG, -body->ahead_m_s2);
    return measure(filter, JOINT_FORWARD, &row, speed_m_s - scale * (body->velocity_m_s.x - body->ahead_m_s2 * age_s),
                   noise);
}

/*
 * The axle that does not steer does not slip, but for its drift; the sensor is ahead of it. What a roll of the mount
 * would do to the little upward velocity that springs make is left out: too much hangs on how they work.
 */
static bool measure_sideways(struct joint_filter *filter, const struct joint_body *body)
{
    const oto_vec3 v = body->velocity_m_s;
    const double noise = joint_squared(0.015) + joint_squared(0.002 * v.x);
    const double drift_m_s = v.x * body->left_m_s2;
    struct joint_row row = {0};
    double predicted =
        v.y - body->rate_rad_s.z * *joint_extra(filter, JOINT_LEVER) + drift_m_s * *joint_extra(filter, JOINT_SLIP);
    joint_row_put3(&row, JOINT_VELOCITY, row_of(&body->from_sensor, 1));
    joint_row_put(&row, JOINT_MOUNT + 2, v.x);
    joint_row_put(&row, JOINT_LEVER, -body->rate_rad_s.z);
    joint_row_put(&row, JOINT_SLIP, drift_m_s);
    return measure(filter, JOINT_SIDEWAYS, &row, -predicted, noise);
}

/* The body moves along the road, to which the springs pitch it. */
static bool measure_upward(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_body *body)
{
    const oto_vec3 v = body->velocity_m_s;
    const double noise = joint_squared(0.02) + joint_squared(plan->vibration_rad * v.x);
    const bool level = filter->path == JOINT_STAYS_LEVEL;
    const double by_pitch = level ? filter->ahead_sq_m2_s3 : v.x * body->ahead_m_s2;
    const double by_roll = level ? filter->aside_sq_m2_s3 : 0.0;
    struct joint_row row = {0};
    double predicted =
        v.z + body->rate_rad_s.y * *joint_extra(filter, JOINT_LEVER) - v.x * *joint_extra(filter, JOINT_HEAVE) -
        by_pitch * *joint_extra(filter, JOINT_PITCH_COMPLIANCE) - by_roll * *joint_extra(filter, JOINT_LEVEL_ROLL);
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
    filter->bank_power = (5.0 * joint_squared(plan->bank_rad) + places * seen) / (5.0 + places);
}

/* The road is level across, but for its wander and its mean, the crown. */
static void measure_bank(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_body *body,
                         double way_m)
{
    const oto_vec3 g = oto_mat3_mul_vec(body->from_sensor, filter->gravity_m_s2);
    const double size = oto_vec3_norm(g), left = body->left_m_s2;
    const double noise = joint_squared(size * (plan->vibration_rad + 0.05 * OTO_DEG));
    const double springs_rad = left * *joint_extra(filter, JOINT_ROLL_COMPLIANCE);
    const double roll_rad = *joint_extra(filter, JOINT_BANK) + *joint_extra(filter, JOINT_CROWN) + springs_rad;
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_GRAVITY, row_of(&body->from_sensor, 1));
    joint_row_put(&row, JOINT_MOUNT, -g.z);
    joint_row_put(&row, JOINT_MOUNT + 2, g.x);
    joint_row_put(&row, JOINT_BANK, size);
    joint_row_put(&row, JOINT_CROWN, size);
    joint_row_put(&row, JOINT_ROLL_COMPLIANCE, size * left);
    if (measure(filter, JOINT_ROAD_BANK, &row, -(g.y + size * roll_rad), noise) &&
        joint_sigma(filter, JOINT_MOUNT) < OTO_DEG) {
        learn_bank(plan, filter, *joint_extra(filter, JOINT_BANK), way_m);
    }
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

/* What a level path has added up of the springs' doings was no motion: it is dropped. */
static void come_to_rest(struct joint_filter *filter)
{
    if (filter->path == JOINT_STAYS_LEVEL && filter->ahead_sq_m2_s3 + filter->aside_sq_m2_s3 > 0.05) {
        joint_forget(filter, JOINT_VELOCITY, JOINT_GRAVITY);
        for (int i = JOINT_VELOCITY; i < JOINT_GRAVITY; i++) {
            filter->covariance[i][i] = joint_squared(0.05);
        }
        filter->velocity_m_s = oto_vec3_zero();
    }
    forget_path(filter);
}

/* At rest nothing moves: the velocity is zero and the gyroscope shows its bias. */
void joint_measure_rest(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                        const struct joint_body *body)
{
    oto_vec3 shown = oto_vec3_add_scaled(block->gyro_bias_rad_s, block->turn_rad, 1.0 / block->duration_s);
    double velocity[3], innovation[3];
    come_to_rest(filter);
    oto_vec3_to_array(filter->velocity_m_s, velocity);
    oto_vec3_to_array(oto_vec3_sub(shown, filter->gyro_bias_rad_s), innovation);
    for (int i = 0; i < 3; i++) {
        struct joint_row still = {1, {JOINT_VELOCITY + i}, {1.0}}, turn = {1, {JOINT_GYRO_BIAS + i}, {1.0}};
        const double known = joint_row_variance(filter, &turn) + joint_squared(2e-3);
        joint_update(filter, &still, -velocity[i], joint_squared(0.01));
        if (innovation[i] * innovation[i] < GATE_SQ * known) {
            joint_update(filter, &turn, innovation[i], joint_squared(2e-3));
        }
        oto_vec3_to_array(filter->velocity_m_s, velocity);
        oto_vec3_to_array(oto_vec3_sub(shown, filter->gyro_bias_rad_s), innovation);
    }
    joint_measure_gravity(filter, 10.0 * GRAVITY_SIGMA_M_S2);
    joint_forget(filter, JOINT_HEAVE, JOINT_BANK);
    filter->covariance[JOINT_HEAVE][JOINT_HEAVE] = joint_squared(HEAVE_LEAST_RAD);
    *joint_extra(filter, JOINT_HEAVE) = 0.0;
    if (plan->level) {
        measure_bank(plan, filter, body, 0.0);
    }
}

/* The velocity is set anew where it has been contradicted for long. */
static void lose_velocity(struct joint_filter *filter, double speed_m_s)
{
    oto_vec3 ahead = oto_quat_rotate_inv(filter->q_body_from_sensor, oto_vec3_make(1.0, 0.0, 0.0));
    filter->velocity_m_s = oto_vec3_scale(ahead, speed_m_s);
    joint_forget(filter, JOINT_VELOCITY, JOINT_GRAVITY);
    for (int i = JOINT_VELOCITY; i < JOINT_GRAVITY; i++) {
        filter->covariance[i][i] = joint_squared(0.5 + 0.1 * speed_m_s);
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

void joint_measure_moving(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                          struct joint_body *body, double speed_before_m_s)
{
    const double speed_m_s = with_sign(filter, block->speed_m_s, body->velocity_m_s.x);
    const double way_m = oto_fabs(speed_m_s) * block->duration_s;
    bool taken = measure_forward(plan, filter, block, body, speed_m_s);
    *body = joint_look(filter, block, speed_before_m_s);
    taken = measure_sideways(filter, body) && taken;
    taken = measure_upward(plan, filter, body) && taken;
    filter->refused = taken ? 0 : filter->refused + 1;
    if (filter->refused > REFUSED_AT_MOST) {
        lose_velocity(filter, speed_m_s);
    }
    filter->distance_m += way_m;
    filter->since_bank_m += way_m;
    if (filter->since_bank_m > BANK_EACH_M) {
        measure_bank(plan, filter, body, filter->since_bank_m);
        filter->since_bank_m = 0.0;
    }
}
