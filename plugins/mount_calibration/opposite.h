/*
 * Two rests on the same spot with different headings: between them the vehicle has turned about the normal of the floor, on
 * which it stands upright. That axis, as the gyroscope has it, is the vehicle's up in the sensor's axes: neither the slope
 * of the floor nor a bias of the accelerometer is in it. Pure numbers, plain state.
 */
#ifndef MOUNT_CALIBRATION_OPPOSITE_H
#define MOUNT_CALIBRATION_OPPOSITE_H

#include "joint.h"

struct opposite {
    oto_quat q_rest_from_now;            /* since the last long rest */
    oto_vec3 felt_m_s, turned_rad;       /* ∫ f dt, ∫ ω dt of the rest under way, as measured */
    oto_vec3 up_m_s2, gyro_bias_rad_s;   /* of the last long rest */
    double rest_s, last_rest_s, since_s; /* since: how long ago that rest was */
    uint32_t has_rest, has_moved;
};

void opposite_init(struct opposite *opposite);
/* Puts the measured axis into the block that ends a rest which is long enough. */
void opposite_push_block(const struct joint_plan *plan, struct opposite *opposite, struct joint_block *block);

#endif
