/* What shakes a vehicle, as a function of time alone: no state, the same at every instant however often asked. [tick] */
#ifndef SRV_WORLD_VIBRATION_H
#define SRV_WORLD_VIBRATION_H

#include "world/world_config.h"

/*
 * Of the body, in its axes. The angle is a rotation vector from the axes of the motion to those of the shaken body: the
 * lines' rates, integrated, with mean zero. Its derivatives are exact, so attitude and rates agree.
 */
struct srv_shake {
    oto_vec3 accel_m_s2;
    bool turns; /* false: the angle and its derivatives are zero */
    oto_vec3 angle_rad, angle_rate_rad_s, angle_accel_rad_s2;
};

struct srv_shake srv_vibration_at(const struct srv_vibration *vibration, double t_s);

/* Turns the body of a truth: its attitude, angular rate and angular acceleration. */
void srv_shake_turn(const struct srv_shake *shake, struct oto_truth_record *truth);

#endif
