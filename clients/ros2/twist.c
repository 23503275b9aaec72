#include "twist.h"

#include <math.h>

#include "otolith/vecmath.h"

struct ros2_motion ros2_motion_from(const struct oto_truth_record *truth)
{
    const oto_quat q = truth->q_enu_from_body;
    const oto_vec3 velocity = oto_quat_rotate_inv(q, truth->velocity_enu_m_s);
    return (struct ros2_motion){.position_enu_m = truth->position_enu_m,
                                .heading_rad = atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z)),
                                .twist = {velocity.x, velocity.y, truth->angular_rate_body_rad_s.z}};
}

/* Moves a speed towards the target for dt_s; returns the acceleration, which is at most `most`. */
static double ramp(double *value, double target, double most, double dt_s)
{
    const double wanted = (target - *value) / dt_s;
    const double accel = fmin(fmax(wanted, -most), most);
    *value += accel * dt_s;
    return accel;
}

void ros2_motion_step(struct ros2_motion *motion, const struct ros2_twist *command, double dt_s, struct oto_truth_record *truth)
{
    struct ros2_twist *now = &motion->twist;
    const struct ros2_twist before = *now;
    const double forward_m_s2 = ramp(&now->forward_m_s, command->forward_m_s, ROS2_MOST_ACCEL_M_S2, dt_s);
    const double left_m_s2 = ramp(&now->left_m_s, command->left_m_s, ROS2_MOST_ACCEL_M_S2, dt_s);
    const double yaw_rad_s2 = ramp(&now->yaw_rate_rad_s, command->yaw_rate_rad_s, ROS2_MOST_YAW_ACCEL_RAD_S2, dt_s);
    const double middle_rad = motion->heading_rad + 0.5 * dt_s * (before.yaw_rate_rad_s + 0.25 * dt_s * yaw_rad_s2);
    const double forward_m = 0.5 * dt_s * (before.forward_m_s + now->forward_m_s), left_m = 0.5 * dt_s * (before.left_m_s + now->left_m_s);
    motion->position_enu_m.x += forward_m * cos(middle_rad) - left_m * sin(middle_rad);
    motion->position_enu_m.y += forward_m * sin(middle_rad) + left_m * cos(middle_rad);
    motion->heading_rad += 0.5 * dt_s * (before.yaw_rate_rad_s + now->yaw_rate_rad_s);
    const oto_quat q = oto_quat_make(cos(0.5 * motion->heading_rad), 0, 0, sin(0.5 * motion->heading_rad));
    const double w = now->yaw_rate_rad_s;
    *truth = (struct oto_truth_record){
        .position_enu_m = motion->position_enu_m,
        .velocity_enu_m_s = oto_quat_rotate(q, oto_vec3_make(now->forward_m_s, now->left_m_s, 0)),
        .accel_enu_m_s2 = oto_quat_rotate(q, oto_vec3_make(forward_m_s2 - w * now->left_m_s, left_m_s2 + w * now->forward_m_s, 0)),
        .q_enu_from_body = q,
        .angular_rate_body_rad_s = oto_vec3_make(0, 0, w),
        .angular_accel_body_rad_s2 = oto_vec3_make(0, 0, yaw_rad_s2),
        .longitudinal_speed_m_s = now->forward_m_s,
    };
}
