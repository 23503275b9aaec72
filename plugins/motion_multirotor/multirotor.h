/*
 * A multirotor: one rigid body, up to eight rotors with a first-order lag, drag, and contact with level ground at points of the
 * body. Body axes are x forward, y left, z up; the origin is the centre of gravity. Pure functions, callable from any thread.
 */
#ifndef MULTIROTOR_H
#define MULTIROTOR_H

#include <stdint.h>

#include "otolith/records.h"

enum { MULTIROTOR_MOST_ROTORS = 8, MULTIROTOR_MOST_FEET = 8, MULTIROTOR_MOST_CONTACTS = 16 };

struct multirotor_rotor {
    oto_vec3 position_body_m;
    double spin; /* +1: counter-clockwise seen from above; -1: clockwise */
};

struct multirotor_ground {
    double height_m; /* z of the plane */
    double stiffness_n_m, damping_n_s_m; /* of each contact, along the normal and along the plane */
    double friction;                     /* coefficient of Coulomb friction */
    uint32_t contact_count;
    oto_vec3 contacts_body_m[MULTIROTOR_MOST_CONTACTS]; /* feet first, then rotor hubs */
};

/* The vehicle. */
struct multirotor {
    double mass_kg;
    oto_vec3 inertia_kg_m2; /* principal moments about body x, y, z */
    uint32_t rotor_count;
    struct multirotor_rotor rotors[MULTIROTOR_MOST_ROTORS];
    double thrust_n_s2;         /* thrust = thrust_n_s2 * speed^2 */
    double max_speed_rad_s;     /* rotor speed at the command 1 */
    double torque_per_thrust_m; /* reaction torque about the rotor's axis divided by its thrust */
    double rotor_lag_s;
    double rotor_inertia_kg_m2; /* of one rotor about its axis */
    oto_vec3 drag_area_m2;      /* area times drag coefficient for flow along body x, y, z */
    double rotor_drag_kg_s;     /* drag force per m/s of air speed across the rotors' axes, all rotors at full speed */
    double angular_damping_nm_s;
    double air_density_kg_m3;
    oto_vec3 gravity_enu_m_s2, wind_enu_m_s;
    struct multirotor_ground ground;
    double longest_step_s; /* of the integrator */
};

/* The point of the ground at which a contact point sticks. */
struct multirotor_anchor {
    double x_m, y_m;
    double holds; /* 1: the point touches the ground and sticks at (x, y) or slides with it; 0: it does not touch */
};

struct multirotor_state {
    oto_vec3 position_enu_m, velocity_enu_m_s;
    oto_quat q_enu_from_body;
    oto_vec3 angular_rate_body_rad_s;
    double rotor_speed_rad_s[MULTIROTOR_MOST_ROTORS];
    struct multirotor_anchor anchors[MULTIROTOR_MOST_CONTACTS];
};

/* The derivative of a state. */
struct multirotor_rates {
    oto_vec3 velocity_enu_m_s, accel_enu_m_s2;
    oto_quat q_rate;
    oto_vec3 angular_accel_body_rad_s2;
    double rotor_accel_rad_s2[MULTIROTOR_MOST_ROTORS];
};

/* Longest step with which the integrator is stable and accurate for this vehicle; also names the fastest part. */
double multirotor_longest_step_s(const struct multirotor *vehicle, const char **fastest);
/* Computes the derivative of the state. `commands`: one for each rotor, 0 to 1, the target speed as a part of max_speed_rad_s. */
void multirotor_rates_at(const struct multirotor *vehicle, const struct multirotor_state *state, const double *commands,
                         struct multirotor_rates *rates);
/* Advances by dt_s >= 0 in equal steps of the classical Runge-Kutta method. */
void multirotor_advance(const struct multirotor *vehicle, const double *commands, double dt_s, struct multirotor_state *state);
/* Command at which the rotors carry the weight; above 1: the rotors are too weak. */
double multirotor_hover_command(const struct multirotor *vehicle);

/* ---- ground.c ---- */

/* Force and moment of the contacts, in ENU and in body axes. */
void multirotor_ground_force(const struct multirotor *vehicle, const struct multirotor_state *state, oto_vec3 *force_enu_n,
                             oto_vec3 *moment_body_nm);
/*
 * Updates the anchors after a step: a point sticks where it first touches, slides beyond the friction limit, or leaves the
 * ground.
 */
void multirotor_ground_settle(const struct multirotor *vehicle, struct multirotor_state *state);
/* Height of the origin at which the feet carry the weight of the level vehicle at rest. */
double multirotor_rest_height_m(const struct multirotor *vehicle, uint32_t foot_count);

#endif
