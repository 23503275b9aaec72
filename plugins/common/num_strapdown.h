/*
 * Strapdown mechanisation: attitude, velocity and position in a local ENU frame from increments of rotation and of
 * integrated specific force, as an IMU with delta outputs publishes them; and such increments from plain samples. Pure
 * functions on the caller's memory, callable from any thread. Source: P. G. Savage, "Strapdown inertial navigation
 * integration algorithm design", J. Guidance 21 (1998), parts 1 and 2; own derivation of the position term.
 */
#ifndef NUM_STRAPDOWN_H
#define NUM_STRAPDOWN_H

#include "otolith/vecmath.h"

struct num_strapdown {
    oto_quat q_enu_from_body;
    oto_vec3 velocity_enu_m_s, position_enu_m;
    oto_vec3 last_accel_enu_m_s2; /* mean specific force of the previous step, for the third order of the position */
    double last_dt_s;             /* 0: there was no previous step */
};

/* The increments that an IMU integrates from one sample to the next. */
struct num_strapdown_delta {
    oto_vec3 angle_rad;      /* rotation vector from the previous body axes to the current ones (coning included) */
    oto_vec3 velocity_m_s;   /* ∫ specific force dt, in the previous body axes (rotation and sculling included) */
};

/* One plain sample of an IMU with its errors removed. */
struct num_strapdown_sample {
    oto_vec3 angular_rate_rad_s, specific_force_m_s2;
};

void num_strapdown_start(struct num_strapdown *s, oto_quat q_enu_from_body, oto_vec3 velocity_enu_m_s,
                         oto_vec3 position_enu_m);

/*
 * Advances the state by dt_s > 0. Gravity is that of a plumb line, about (0, 0, -9.81); the rate is that of the Earth
 * in ENU, zero on a world that does not turn. With exact increments the attitude is exact, the velocity is exact on a
 * world that does not turn, and the position's error is of third order in dt_s.
 */
void num_strapdown_advance(struct num_strapdown *s, const struct num_strapdown_delta *delta, double dt_s,
                           oto_vec3 gravity_enu_m_s2, oto_vec3 earth_rate_enu_rad_s);

/* The increments between two samples, which are assumed to change linearly. */
struct num_strapdown_delta num_strapdown_between(const struct num_strapdown_sample *before,
                                                 const struct num_strapdown_sample *now, double dt_s);

#endif
