/* What shakes a vehicle, as a function of time alone: no state, the same at every instant however often asked. [tick] */
#ifndef SRV_WORLD_VIBRATION_H
#define SRV_WORLD_VIBRATION_H

#include "world/world_config.h"

/* Of the body, in its axes. */
struct srv_shake {
    oto_vec3 accel_m_s2;
    oto_vec3 rate_rad_s;
    oto_vec3 angular_accel_rad_s2; /* the rate's derivative */
};

struct srv_shake srv_vibration_at(const struct srv_vibration *vibration, double t_s);

#endif
