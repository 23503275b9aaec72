/*
 * Strapdown mechanisation: attitude, velocity and position in a local ENU frame from increments of rotation and of
 * integrated specific force, as an IMU with delta outputs gives them; and such increments from plain samples. Pure
 * functions on the caller's memory, callable from any thread. Source: P. G. Savage, "Strapdown inertial navigation
 * integration algorithm design", J. Guidance 21 (1998), parts 1 and 2; own derivation of the position term.
 */
#ifndef NUM_STRAPDOWN_H
#define NUM_STRAPDOWN_H

#include "otolith/vecmath.h"

struct num_strapdown {
    oto_quat q_enu_from_body;
    oto_vec3 velocity_enu_m_s, position_enu_m;
    oto_vec3 last_accel_enu_m_s2; /* mean specific force of the step before, for the position's third order */
    double last_dt_s;             /* 0: there was none */
};

/* What an IMU integrates from one sample to the next. */
struct num_strapdown_delta {
    oto_vec3 angle_rad;      /* rotation vector from the body before to the body now (coning included) */
    oto_vec3 velocity_m_s;   /* ∫ specific force dt, in the axes of the body before (rotation and sculling included) */
};

/* One plain sample of an IMU, its errors already taken out. */
struct num_strapdown_sample {
    oto_vec3 angular_rate_rad_s, specific_force_m_s2;
};

void num_strapdown_start(struct num_strapdown *s, oto_quat q_enu_from_body, oto_vec3 velocity_enu_m_s,
                         oto_vec3 position_enu_m);

/*
 * Moves the state over dt_s > 0. Gravity is what a plumb line feels, (0, 0, -9.81) or so; the rate is that of the Earth
 * in ENU, zero on a world that does not turn. With exact increments the attitude is exact, the velocity too where the
 * Earth does not turn, and the position's error is of third order in dt_s.
 */
void num_strapdown_advance(struct num_strapdown *s, const struct num_strapdown_delta *delta, double dt_s,
                           oto_vec3 gravity_enu_m_s2, oto_vec3 earth_rate_enu_rad_s);

/* The increments between two samples, taken to change linearly from one to the other. */
struct num_strapdown_delta num_strapdown_between(const struct num_strapdown_sample *before,
                                                 const struct num_strapdown_sample *now, double dt_s);

#endif
