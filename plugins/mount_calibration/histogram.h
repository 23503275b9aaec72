/* The published method: turns give votes for the up axis, starts for the forward axis, in four histograms. */
#ifndef MOUNT_CALIBRATION_HISTOGRAM_H
#define MOUNT_CALIBRATION_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "calibration.h"
#include "otolith/vecmath.h"
#include "joint.h"

enum {
    HISTOGRAM_UP_INCLINATION,
    HISTOGRAM_UP_AZIMUTH,
    HISTOGRAM_FORWARD_INCLINATION,
    HISTOGRAM_FORWARD_AZIMUTH,
    HISTOGRAM_COUNT
};
#define HISTOGRAM_BINS OTO_CALIBRATION_HISTOGRAM_BINS

struct histogram_plan {
    oto_quat q_nominal;
    double range_rad[HISTOGRAM_COUNT];
    double min_votes, noise_votes, sigma_rad, decay, short_decay;
    double pitch_compliance_rad_s2_m, roll_compliance_rad_s2_m;
};

struct histogram_votes {
    double votes[HISTOGRAM_BINS];  /* long histogram, decayed */
    double recent[HISTOGRAM_BINS]; /* short histogram */
    double total, recent_total;
    double outliers; /* votes beyond the range, decayed like the others */
    double peak_rad, recent_peak_rad;
    double max_votes;
    double spread_rad; /* rms distance of the votes from the peak */
    uint32_t accepted, has_peak;
};

struct histogram {
    struct histogram_votes of[HISTOGRAM_COUNT];
    oto_vec3 rate_rad_s, accel_m_s2; /* smoothed */
    oto_vec3 rest_m_s2, rest_rate_rad_s;
    double rest_s, start_s;
    double speed_m_s;
    uint64_t votes;
    uint32_t has_rest, refresh; /* `refresh`: the histogram whose peak is searched next */
};

/* Adds one vote; public so that tests can check the voting alone. */
void histogram_vote(const struct histogram_plan *plan, struct histogram *histogram, int which, double angle_rad);
/* Finds the peak of a histogram and decides whether it is accepted. */
void histogram_find_peak(const struct histogram_plan *plan, struct histogram *histogram, int which);
void histogram_init(struct histogram *histogram);
void histogram_push_block(const struct histogram_plan *plan, struct histogram *histogram,
                          const struct joint_block *block);
/* The mount from the peaks, with bounds and progress; false until the histograms of roll, pitch and yaw are accepted. */
bool histogram_result(const struct histogram_plan *plan, const struct histogram *histogram,
                      oto_quat *q_body_from_sensor, double bound_rad[3], double *progress);

#endif
