/* The vibration of a vehicle, a function of time alone. It has no state: an instant always gives the same result. [tick] */
#ifndef SRV_WORLD_VIBRATION_H
#define SRV_WORLD_VIBRATION_H

#include "world/world_config.h"

/*
 * The vibration at an instant, in body axes. The angle is a rotation vector from the motion's body axes to those of the
 * vibrating body: the integral of the lines' rates, with mean zero. Its derivatives are exact, so attitude and rates agree.
 */
struct srv_shake {
    oto_vec3 accel_m_s2;
    bool turns; /* false: the angle and its derivatives are zero */
    oto_vec3 angle_rad, angle_rate_rad_s, angle_accel_rad_s2;
};

struct srv_shake srv_vibration_at(const struct srv_vibration *vibration, double t_s);

/* Adds the rotation of the body to a truth: to its attitude, angular rate and angular acceleration. */
void srv_shake_turn(const struct srv_shake *shake, struct oto_truth_record *truth);

#endif
