/*
 * Wheel encoders of a car: the rotation of each wheel with slip, the counters of its encoder, the speeds that a controller
 * computes from them, and the odometry that it integrates. Pure numbers: no host. Prepare belongs to the loop, measure to
 * the tick.
 */
#ifndef ENCODER_MODEL_H
#define ENCODER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/records.h"
#include "otolith/rng.h"

enum { ENCODER_FRONT_LEFT, ENCODER_FRONT_RIGHT, ENCODER_REAR_LEFT, ENCODER_REAR_RIGHT, ENCODER_WHEELS };
enum encoder_direction { ENCODER_QUADRATURE, ENCODER_SENSED, ENCODER_UNSIGNED };
enum encoder_timing { ENCODER_PULSES, ENCODER_WINDOW };
enum encoder_drive { ENCODER_DRIVEN_FRONT, ENCODER_DRIVEN_REAR, ENCODER_DRIVEN_ALL };
enum encoder_fitted { ENCODER_FITTED_REAR, ENCODER_FITTED_ALL };

struct encoder_params {
    double sample_rate_hz;
    int64_t fitted; /* enum encoder_fitted */
    double track_width_m, wheelbase_m, radius_m;
    int64_t ticks_per_turn, counter_bits;
    int64_t direction; /* enum encoder_direction */
    double direction_threshold_m_s;
    double radius_error_percent[ENCODER_WHEELS];
    double unit_radius_percent;
    double track_error_percent, unit_track_percent;
    int64_t driven; /* enum encoder_drive */
    double slip_percent_m_s2;
    double side_slip_deg_m_s2;
    double missed_tick_probability;
    int64_t timing; /* enum encoder_timing */
    double timer_resolution_ns;
    double standstill_s;
    double delay_ms;
    double distance_sigma_m_rtm; /* sigma of the distance of each wheel, for the covariance */
};

struct encoder_plan {
    struct encoder_params params;
    double period_s;
    double true_half_track_m;
    double true_ticks_per_m[ENCODER_WHEELS];
    double metres_per_tick; /* distance per tick that the controller assumes */
    bool is_driven[ENCODER_WHEELS], is_fitted[ENCODER_WHEELS];
    double slip_s2_m, side_slip_rad_s2_m;
    double log_kept; /* log(1 - probability of a missed edge); 0: no edge is missed */
    uint32_t counter_mask;
    int64_t delay_ns;
    struct oto_rng_key noise_key;
};

struct encoder_wheel {
    double rotation;         /* rotation since the last counted edge, in ticks, in [0, 1) */
    double speed_ticks_s;    /* speed at the last sample, signed */
    int64_t counted;         /* ticks that were counted: signed with quadrature */
    uint64_t until_miss;     /* edges that are still detected before the next miss */
    uint64_t misses;
    double since_edge_s;     /* time from the last edge of the last reported speed to the last sample */
    double silent_s;         /* time without a detected edge */
    double reported_m_s;     /* magnitude */
    int64_t heading;         /* last known direction: 1 or -1 */
};

struct encoder_state {
    struct encoder_wheel wheels[ENCODER_WHEELS];
    uint64_t started;
    double position_m[2], yaw_rad, distance_m;
    double covariance[9];
};

/* True motion of the middle of the rear axle (the mount), in body axes. */
struct encoder_truth {
    oto_vec3 velocity_body_m_s;
    double yaw_rate_rad_s;
    double longitudinal_m_s2, lateral_m_s2; /* horizontal part of the specific force */
};

/* The edges of a wheel that were detected in one sample period. */
struct encoder_edges {
    int64_t seen;  /* detected edges, signed by the true direction */
    double last_s; /* time from the last detected edge to the sample; valid if `seen` is not 0 */
};

void encoder_prepare(const struct encoder_params *params, double rate_hz, struct oto_rng_key noise_key,
                     struct oto_rng_key unit_key, struct encoder_plan *plan);
void encoder_init(const struct encoder_plan *plan, struct encoder_state *state);

/* Makes one sample in a zeroed record, except its age. If a truth is not finite: false, and there is no sample. */
bool encoder_measure(const struct encoder_plan *plan, struct encoder_state *state, const struct encoder_truth *truth,
                     struct oto_wheels_record *record);

/* ---- encoder_count.c ---- */

/* Speeds of the four wheels' treads along their own headings, slip included. */
void encoder_tread_speeds(const struct encoder_plan *plan, const struct encoder_truth *truth,
                          double speed_m_s[ENCODER_WHEELS]);
/* Turns a wheel for one period up to this speed and counts its edges. */
struct encoder_edges encoder_turn(const struct encoder_plan *plan, struct encoder_wheel *wheel, uint32_t index,
                                  double tread_m_s);
/* The magnitude of the speed that the controller computes from the edges. */
double encoder_speed(const struct encoder_plan *plan, struct encoder_wheel *wheel, const struct encoder_edges *edges);

#endif
