/*
 * Estimates the mount of an IMU on its vehicle during a drive, from IMU samples and the wheel speed only. Pure numbers: no
 * host, no file, no clock. The state is plain data: a copy of its bytes continues identically. mountcal_prepare belongs to
 * the loop, all other functions to the tick; no function allocates.
 *
 *   mountcal_prepare(&params, &plan, &error);
 *   mountcal_init(&plan, state);
 *   in order of time:  mountcal_push_imu(…), mountcal_push_speed(…)
 *   mountcal_result(&plan, state, &record);
 */
#ifndef MOUNT_CALIBRATION_CALIBRATOR_H
#define MOUNT_CALIBRATION_CALIBRATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibration.h"
#include "otolith/status.h"
#include "otolith/vecmath.h"

/* The parameters of a calibration. Angles are in degrees, as in the plugin's parameters. */
struct mountcal_params {
    int64_t method;            /* enum oto_calibration_method */
    int64_t running;           /* 0: stop */
    int64_t reset;             /* a change of this number restarts the calibration */
    int64_t garage;            /* static mode: level floor, rest, then starts and stops */
    int64_t opposite;          /* with garage: two rests on one spot with opposite headings; the floor need not be level */
    int64_t path;              /* JOINT_FOLLOWS or JOINT_STAYS_LEVEL */
    int64_t roll;              /* the roll that is published and must be accepted: OTO_CALIBRATION_ROLL_… */
    double nominal_rpy_deg[3]; /* nominal mount, as in mount.rpy_deg */
    double position_body_m[3]; /* nominal position of the sensor */
    double position_sigma_m[3];
    double box_deg[3];         /* largest deviation of the mount from the nominal one: roll, pitch, yaw */
    /* A previous result; a bound of 0: there is no previous result. */
    double previous_rpy_deg[3];
    double previous_bound_deg[3];
    /* Assumptions about the vehicle and its roads before any measurement. */
    double compliance_deg_s2_m[2]; /* pitch per forward acceleration, roll per leftward acceleration */
    double compliance_sigma_deg_s2_m[2];
    int64_t traffic_side; /* 1: right; -1: left; 0: unknown */
    double crown_deg;     /* mean inclination of the lane towards the side of the traffic */
    double crown_sigma_deg;
    double bank_deg, road_length_m; /* of the road: rms of its bank, correlation length */
    double vibration_deg;           /* rms pitch and roll of the chassis on its springs */
    double speed_pitch_deg, speed_pitch_sigma_deg; /* pitch by drag and lift at 30 m/s, relative to rest; it grows with the square of the speed */
    /* Properties of the IMU and of the speed sensor. */
    double gyro_bias_range_rad_s;
    double accel_bias_sigma_m_s2;
    double gyro_noise_rad_s_rthz, accel_noise_m_s2_rthz;
    double axes_sigma, scale_sigma; /* cross terms and scales of accelerometer and gyroscope */
    double speed_noise_m_s, speed_scale_sigma;
    /* Limits for acceptance. */
    double accept_bound_deg[3]; /* of the repeatable roll, pitch, yaw */
    double accept_sigmas;
    double accept_absolute_roll_deg, accept_absolute_roll_sigmas;
    double histogram_range_deg[4];
    double histogram_min_votes;   /* least number of votes in the peak */
    double histogram_noise_votes; /* a bin with fewer votes is noise */
    double histogram_sigma_deg;   /* sigma of the envelope of a single mode */
    double histogram_decay;       /* factor per vote: a histogram remembers about 1/(1 - decay) votes */
    double histogram_short_scale; /* memory of the short histogram over that of the long one */
};

struct mountcal_plan;
struct mountcal_state;

#include "calibrator_state.h"

enum oto_status mountcal_prepare(const struct mountcal_params *params, struct mountcal_plan *plan,
                                 struct oto_error *error);
void mountcal_init(const struct mountcal_plan *plan, struct mountcal_state *state);
/* Applies parameters that changed while running: continues, stops or restarts. */
void mountcal_adapt(const struct mountcal_plan *plan, const struct mountcal_params *old, struct mountcal_state *state);

/*
 * Adds a sample; samples of both kinds must come in the order of their measurement times. Specific force (+g up at rest,
 * level) and angular rate are in sensor axes; a NaN stands for a missing axis. Samples that cannot be used are counted and
 * monitored.
 */
void mountcal_push_imu(const struct mountcal_plan *plan, struct mountcal_state *state, int64_t t_ns,
                       const double specific_force_m_s2[3], const double angular_rate_rad_s[3]);
void mountcal_push_speed(struct mountcal_state *state, int64_t t_ns, double speed_m_s);

void mountcal_result(const struct mountcal_plan *plan, const struct mountcal_state *state,
                     struct oto_mount_calibration_record *record);
void mountcal_diagnostics(const struct mountcal_plan *plan, const struct mountcal_state *state,
                          struct oto_mount_calibration_diagnostics_record *record);
void mountcal_histogram(const struct mountcal_plan *plan, const struct mountcal_state *state,
                        struct oto_mount_calibration_histogram_record *record);

/* True if the calibration can continue from this state. */
bool mountcal_state_is_valid(const struct mountcal_state *state);

#endif
