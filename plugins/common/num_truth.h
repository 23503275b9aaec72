/*
 * Converts the angles of models to the truth record of a vehicle, and back. Angles are roll, pitch and yaw about fixed
 * axes (R = Rz Ry Rx). Pure functions, callable from any thread.
 */
#ifndef NUM_TRUTH_H
#define NUM_TRUTH_H

#include "otolith/records.h"

/* Position and angles with their first and second rates. */
struct num_pose {
    oto_vec3 position_enu_m, velocity_enu_m_s, accel_enu_m_s2;
    oto_vec3 rpy_rad, rpy_rate_rad_s, rpy_accel_rad_s2; /* derivatives of the angles, not body rates */
};

/* Writes every member. */
void num_truth_from_pose(const struct num_pose *pose, struct oto_truth_record *truth);
/* Within 1e-7 rad of pitch +-90 deg the rates of roll and yaw are not defined; then roll and its rates are 0. */
void num_pose_from_truth(const struct oto_truth_record *truth, struct num_pose *pose);

/*
 * Attitude, angular rate and angular acceleration from a quaternion of any length but 0 (proportional to
 * q_enu_from_body) and its derivatives by time. No attitude is singular. The other members do not change.
 */
void num_truth_set_attitude(oto_quat s, oto_quat rate, oto_quat accel, struct oto_truth_record *truth);

/*
 * Sets the yaw to the course of the velocity and its rates to those of the course under this constant acceleration; the
 * body is level. If the velocity is zero: the direction of the acceleration (0 if that is zero as well), with zero rate.
 */
void num_pose_along_course(struct num_pose *pose);

#endif
