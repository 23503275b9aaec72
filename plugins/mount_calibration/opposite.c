#include "opposite.h"

#include <string.h>

#include "joint_parts.h"

#define REST_S 4.5
#define TURNED_RAD (120.0 * OTO_DEG)
#define FLOOR_RAD (0.05 * OTO_DEG) /* deviations of the floor from a plane, and of the springs from their previous position */

void opposite_init(struct opposite *opposite)
{
    memset(opposite, 0, sizeof *opposite);
    opposite->q_rest_from_now = oto_quat_identity();
}

/* Puts the axis of the turn from the last rest to this one into the block, if the turn was large enough. */
static void put_axis(const struct joint_plan *plan, const struct opposite *opposite, struct joint_block *block)
{
    const oto_vec3 turn_rad = oto_quat_to_rotvec(opposite->q_rest_from_now);
    const double angle_rad = oto_vec3_norm(turn_rad), noise = plan->gyro_noise, t_s = opposite->since_s;
    const double bias_rad = noise * t_s / oto_sqrt(opposite->rest_s + opposite->last_rest_s);
    const double drift_sq = joint_squared(noise) * t_s + joint_squared(bias_rad);
    double side;
    if (angle_rad < TURNED_RAD) {
        return;
    }
    side = oto_vec3_dot(turn_rad, opposite->up_m_s2) > 0.0 ? 1.0 : -1.0;
    block->up = oto_vec3_scale(turn_rad, side / angle_rad);
    block->up_sigma_rad = oto_sqrt(joint_squared(FLOOR_RAD) + joint_squared(plan->axes_sigma) + 0.25 * drift_sq);
}

/* The current rest becomes the start of the next turn. */
static void begin_from(struct opposite *opposite)
{
    opposite->up_m_s2 = oto_vec3_scale(opposite->felt_m_s, 1.0 / opposite->rest_s);
    opposite->gyro_bias_rad_s = oto_vec3_scale(opposite->turned_rad, 1.0 / opposite->rest_s);
    opposite->q_rest_from_now = oto_quat_identity();
    opposite->last_rest_s = opposite->rest_s;
    opposite->since_s = 0.0;
    opposite->has_rest = 1;
    opposite->has_moved = 0;
}

static void rest(const struct joint_plan *plan, struct opposite *opposite, struct joint_block *block)
{
    const double dt = block->duration_s;
    opposite->felt_m_s = oto_vec3_add(opposite->felt_m_s, block->velocity_gain_m_s);
    opposite->turned_rad = oto_vec3_add(opposite->turned_rad, oto_vec3_add_scaled(block->turn_rad, block->gyro_bias_rad_s, dt));
    opposite->rest_s += dt;
    if (opposite->rest_s < REST_S) {
        return;
    }
    if (opposite->has_rest && opposite->has_moved) {
        put_axis(plan, opposite, block);
    }
    begin_from(opposite);
}

static void move(struct opposite *opposite, const struct joint_block *block)
{
    const oto_vec3 newer = oto_vec3_sub(opposite->gyro_bias_rad_s, block->gyro_bias_rad_s);
    const oto_vec3 turn_rad = oto_vec3_add_scaled(block->turn_rad, newer, -block->duration_s);
    opposite->q_rest_from_now =
        oto_quat_normalize(oto_quat_mul(opposite->q_rest_from_now, oto_quat_from_rotvec(turn_rad)));
    opposite->since_s += block->duration_s;
    opposite->rest_s = 0.0;
    opposite->felt_m_s = opposite->turned_rad = oto_vec3_zero();
    opposite->has_moved = 1;
}

void opposite_push_block(const struct joint_plan *plan, struct opposite *opposite, struct joint_block *block)
{
    if (block->breaks) {
        opposite_init(opposite);
    }
    if (block->still) {
        rest(plan, opposite, block);
    } else {
        move(opposite, block);
    }
}
