/*
 * A vehicle that follows commanded velocities on a plane: speeds and the yaw rate ramp to the command with bounded accelerations, so that
 * sensors on it measure what a vehicle can do. Pure.
 */
#ifndef ROS2_TWIST_H
#define ROS2_TWIST_H

#include "otolith/records.h"

#define ROS2_MOST_ACCEL_M_S2 3.0
#define ROS2_MOST_YAW_ACCEL_RAD_S2 3.0

/* The speeds of a geometry_msgs/Twist, in body axes. */
struct ros2_twist {
    double forward_m_s, left_m_s, yaw_rate_rad_s;
};

struct ros2_motion {
    oto_vec3 position_enu_m;
    double heading_rad;
    struct ros2_twist twist;
};

/* Continues from a truth; roll and pitch are dropped. */
struct ros2_motion ros2_motion_from(const struct oto_truth_record *truth);
/* Moves for dt_s towards the command, and writes the truth at the end of this time. */
void ros2_motion_step(struct ros2_motion *motion, const struct ros2_twist *command, double dt_s, struct oto_truth_record *truth);

#endif
