/*
 * The body on its suspension on the road: converts the path in the plane to the truth in space. The distance determines
 * the road's grade and bank, the specific force along the road's axes pitches and rolls the body through the compliance of
 * the suspension, drag and lift pitch it, and time and speed excite vibration. All derivatives are exact. Pure functions, callable from any thread.
 *
 * Axes. Yaw, grade and bank turn the road's axes: x along the velocity, y on the road across it. Springs and vibration
 * turn the body about these, roll first, so the pitch of the body does not move it sideways.
 *
 * Signs. Grade: uphill is positive. Bank: positive if the left side is higher. Pitch and roll of the body are rotations
 * about its y and x axes, so nose-up pitch is negative and left-up roll positive: a usual car has a negative pitch
 * compliance and a positive roll compliance.
 */
#ifndef CHASSIS_H
#define CHASSIS_H

#include "road.h"
#include "script.h"

#define CHASSIS_TONES 8

struct chassis_params {
    double grade_deg, grade_rms_deg;
    double bank_deg, bank_rms_deg;
    double correlation_length_m;
    double crown_deg;
    int64_t traffic_side; /* 1: right; -1: left */
    double corner_crown_loss; /* share of the crown that is missing in a corner */
    int64_t level_path;   /* 0: the path follows the road; 1: grade and bank tilt the body on a level path */
    double pitch_compliance_deg_s2_m, roll_compliance_deg_s2_m;
    double speed_pitch_deg; /* by drag and lift, at 30 m/s */
    double pitch_vibration_deg, roll_vibration_deg; /* rms */
    double vertical_vibration_m_s2;                 /* rms */
    double angle_band_hz[2], vertical_band_hz[2];
    double half_speed_m_s;
};

/* A vibration: sines of random phase, each with a random frequency in its part of the band. */
struct chassis_tones {
    double rate_rad_s[CHASSIS_TONES], phase_rad[CHASSIS_TONES], amplitude[CHASSIS_TONES];
};

struct chassis {
    bool plain; /* true: level road, rigid body, no vibration; the motion is in the plane */
    bool shakes;
    bool pitches; /* on its springs, about the road's axis */
    bool leans;   /* on its springs, by the specific force along the road's axes */
    bool level_path;
    double slope, bank_rad;
    double corner_bank_rad; /* additional bank in a corner */
    struct road_wander slope_wander, bank_wander_rad;
    double pitch_compliance_rad_s2_m, roll_compliance_rad_s2_m;
    double speed_pitch_rad_s2_m2; /* pitch by the square of the speed */
    double half_speed_sq_m2_s2;
    struct chassis_tones pitch, roll, vertical; /* rad, rad, m */
};

/*
 * The road windows of the current place, kept in the state so that following instants are cheap; filled by
 * chassis_begin.
 */
struct chassis_cache {
    struct road_window slope, bank;
};

enum oto_status chassis_make(const struct chassis_params *params, struct oto_rng_key key, struct chassis *chassis,
                             struct oto_error *error);

/* chassis_begin fills the cache for distance 0, chassis_follow for another distance. */
void chassis_begin(const struct chassis *chassis, struct chassis_cache *cache);
void chassis_follow(const struct chassis *chassis, double distance_m, struct chassis_cache *cache);

/*
 * Computes the truth at an instant. `t_s` is the time for the vibration, `height_m` the height of the road at distance 0.
 * Writes every member.
 */
void chassis_truth(const struct chassis *chassis, const struct chassis_cache *cache, const struct script_instant *now,
                   double t_s, double height_m, struct oto_truth_record *truth);

#endif
