/*
 * Wheel odometry: the reports of a car's wheel-speed sensors, and the distance that a receiver integrates from them.
 * Pure numbers: no host. Prepare belongs to the loop, measure to the tick.
 */
#ifndef ODOMETER_MODEL_H
#define ODOMETER_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/records.h"
#include "otolith/rng.h"

/* Sources of speed: the vehicle at the mount, then the wheels in the order of the record. */
enum {
    ODOMETER_SPEED,
    ODOMETER_FRONT_LEFT,
    ODOMETER_FRONT_RIGHT,
    ODOMETER_REAR_LEFT,
    ODOMETER_REAR_RIGHT,
    ODOMETER_SOURCES
};

struct odometer_params {
    double sample_rate_hz;
    double track_width_m;
    double wheelbase_m;
    double scale_error_percent;
    double noise_m_s;
    double ticks_per_metre; /* 0: no pulses */
    double resolution_m_s;  /* 0: no rounding */
    double standstill_threshold_m_s;
    double delay_ms;
    int64_t reports_reverse;
};

struct odometer_plan {
    double rate_hz;
    double period_s;
    double half_track_m;
    double wheelbase_m;
    double scale;
    double noise_m_s;
    double ticks_per_metre;
    double resolution_m_s;
    double standstill_threshold_m_s;
    int64_t delay_ns;
    bool reports_reverse;
    struct oto_rng_key noise_key;
};

struct odometer_state {
    double pulse[ODOMETER_SOURCES]; /* fraction of a tick that each wheel has turned since its last tick, in [0, 1) */
    double distance_m;
};

/* True motion of the middle of the rear axle (the mount), in body axes. */
struct odometer_truth {
    uint64_t n;
    double speed_m_s; /* along body x */
    double yaw_rate_rad_s;
};

void odometer_prepare(const struct odometer_params *params, double rate_hz, struct oto_rng_key noise_key,
                      struct odometer_plan *plan);

/* Makes one sample except its age. If a truth is not finite: false, and there is no sample. */
bool odometer_measure(const struct odometer_plan *plan, struct odometer_state *state,
                      const struct odometer_truth *truth, struct oto_odometry_record *record);

#endif
