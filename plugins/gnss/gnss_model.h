/*
 * A satellite navigation receiver: acquisition of modes, errors of position and velocity in each mode, disturbances, and the
 * record. Pure numbers: no host. Prepare and init belong to the loop, the rest to the tick.
 */
#ifndef GNSS_MODEL_H
#define GNSS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/geodesy.h"
#include "otolith/records.h"
#include "otolith/rng.h"
#include "otolith/status.h"

enum { GNSS_FIX_MODES = OTO_NAVSAT_MODES - 1 }; /* single, dgps, float, fixed */
enum { GNSS_PROCESSES = 6 };                    /* position east, north, up, then velocity */

/* The errors of a mode; index 0: each horizontal axis, index 1: vertical. */
struct gnss_mode_params {
    double position_sigma_m[2]; /* Gauss-Markov part */
    double position_tau_s;
    double position_white_m[2];
    double velocity_sigma_m_s[2];
    double velocity_tau_s;
    double velocity_white_m_s[2];
    double time_to_fix_s; /* time from the first fix of the receiver to this mode */
};

struct gnss_params {
    double sample_rate_hz;
    int64_t mode; /* highest mode */
    struct gnss_mode_params modes[GNSS_FIX_MODES];
    int64_t acquired_at_start;
    double first_fix_s, reacquisition_s;
    double latency_ms, jitter_ms;
    double geoid_separation_m;
    double course_min_speed_m_s;
    double accuracy_scale;
    double hdop, vdop;
    int64_t satellites, service;
    double jam_tracking_db, jam_carrier_db;
    double utc_start_s;
    int64_t clean;
};

/* Constants of a mode, for each process. */
struct gnss_mode {
    double sigma[GNSS_PROCESSES], white[GNSS_PROCESSES];
    double decay[GNSS_PROCESSES], drive[GNSS_PROCESSES]; /* for processes of unit variance */
    double variance[GNSS_PROCESSES];                     /* sigma² + white² */
    int64_t time_to_fix_ns;
};

struct gnss_plan {
    struct gnss_mode modes[GNSS_FIX_MODES];
    uint8_t highest;
    bool acquired_at_start;
    int64_t first_fix_ns, reacquisition_ns;
    double latency_ns, jitter_ns;
    struct gnss_params params;
    oto_geodetic origin;
    oto_quat q_enu_from_ecef; /* at the origin */
    int64_t utc_start_ns;
    struct oto_rng_key noise_key;
};

struct gnss_state {
    double process[GNSS_FIX_MODES][GNSS_PROCESSES]; /* of unit variance; they advance in all modes, also in those not in use */
    int64_t signal_since_ns;  /* start of the current reception; INT64_MIN: before time zero */
    int64_t carrier_since_ns; /* end of the last jamming of the carrier; INT64_MIN: there was none */
    uint64_t was_lost;       /* 1: the current reception is a reacquisition */
    double last_deg_m[3];    /* latitude, longitude, altitude of the last fix */
    double last_clean_deg_m[3];
};

/* The sum of the disturbances of the receiver. */
struct gnss_disturbance {
    bool outage;
    double jam_db;
    oto_vec3 displacement_enu_m, rate_enu_m_s;
};

/* True motion of the antenna at the instant of the measurement, and the deviates of the sample. */
struct gnss_truth {
    int64_t t_ns; /* instant of the sample, for acquisition */
    int64_t age_ns;
    oto_vec3 position_enu_m, velocity_enu_m_s; /* in the world's ENU axes */
};

enum oto_status gnss_prepare(const struct gnss_params *params, double rate_hz, struct oto_rng_key noise_key,
                             struct gnss_plan *plan, struct oto_error *error);
void gnss_init(const struct gnss_plan *plan, struct gnss_state *state);

/* Age of the measurement of sample n: latency plus jitter, at least 0, at most 1 s and the age of the world. */
int64_t gnss_age_ns(const struct gnss_plan *plan, uint64_t n, int64_t t_ns);

/* Unit vector of the displacement that the fault with this id causes. */
oto_vec3 gnss_fault_direction(const struct gnss_plan *plan, uint32_t id);

/* Advances the errors to sample n. */
void gnss_advance(const struct gnss_plan *plan, struct gnss_state *state, uint64_t n);

/* The mode at t_ns; updates the times of reception in the state. */
uint8_t gnss_track(const struct gnss_plan *plan, struct gnss_state *state, int64_t t_ns,
                   const struct gnss_disturbance *disturbance);
/* The mode at t_ns without disturbances. */
uint8_t gnss_track_clean(const struct gnss_plan *plan, int64_t t_ns);

/*
 * Fills a zeroed record for a mode; updates `last`, the position of the last fix. Call after gnss_advance with the same n.
 * False if the motion is not finite.
 */
bool gnss_report(const struct gnss_plan *plan, const struct gnss_state *state, uint64_t n, const struct gnss_truth *truth,
                 uint8_t mode, const struct gnss_disturbance *disturbance, double last[3],
                 struct oto_navsat_record *record);

#endif
