/* The published method: votes for the up axis from turns and for the forward axis from starts, in four histograms. */
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
    double votes[HISTOGRAM_BINS];  /* long, decayed */
    double recent[HISTOGRAM_BINS]; /* short */
    double total, recent_total;
    double outliers; /* beyond the range, decayed as the votes */
    double peak_rad, recent_peak_rad;
    double max_votes;
    double spread_rad; /* of all votes about the peak */
    uint32_t accepted, has_peak;
};

struct histogram {
    struct histogram_votes of[HISTOGRAM_COUNT];
    oto_vec3 rate_rad_s, accel_m_s2; /* smoothed */
    oto_vec3 rest_m_s2, rest_rate_rad_s;
    double rest_s, start_s;
    double speed_m_s;
    uint64_t votes;
    uint32_t has_rest, refresh; /* which histogram is looked at next */
};

/* One vote; public for tests of the voting alone. */
void histogram_vote(const struct histogram_plan *plan, struct histogram *histogram, int which, double angle_rad);
/* Looks for the peak, and whether it is accepted. */
void histogram_find_peak(const struct histogram_plan *plan, struct histogram *histogram, int which);
void histogram_init(struct histogram *histogram);
void histogram_push_block(const struct histogram_plan *plan, struct histogram *histogram,
                          const struct joint_block *block);
/* Angles of the mount in the nominal vehicle's axes; false while none is accepted. */
bool histogram_result(const struct histogram_plan *plan, const struct histogram *histogram,
                      oto_quat *q_body_from_sensor, double bound_rad[3], double *progress);

#endif
