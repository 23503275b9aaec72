/*
 * The vehicle's up axis from two rests on the same spot with different headings. Between them the vehicle turns about the
 * normal of the floor, which is parallel to its z axis. The gyroscope measures the axis of this turn: it is the up axis in
 * sensor axes, and neither the slope of the floor nor a bias of the accelerometer affects it. Pure numbers, plain state.
 */
#ifndef MOUNT_CALIBRATION_OPPOSITE_H
#define MOUNT_CALIBRATION_OPPOSITE_H

#include "joint.h"

struct opposite {
    oto_quat q_rest_from_now;            /* rotation since the last long rest */
    oto_vec3 felt_m_s, turned_rad;       /* ∫ f dt and ∫ ω dt of the current rest, biases included */
    oto_vec3 up_m_s2, gyro_bias_rad_s;   /* means over the last long rest */
    double rest_s, last_rest_s, since_s; /* since_s: time since the last long rest */
    uint32_t has_rest, has_moved;
};

void opposite_init(struct opposite *opposite);
/* Puts the measured up axis into the block at which a rest becomes long enough. */
void opposite_push_block(const struct joint_plan *plan, struct opposite *opposite, struct joint_block *block);

#endif
