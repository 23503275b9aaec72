/* What calibrator.h keeps: laid open so that a host can hold it, and for tests. */
#ifndef MOUNT_CALIBRATION_CALIBRATOR_STATE_H
#define MOUNT_CALIBRATION_CALIBRATOR_STATE_H

#include "histogram.h"
#include "joint.h"
#include "monitors.h"

struct mountcal_plan {
    struct mountcal_params params;
    struct joint_plan joint;
    struct histogram_plan histogram;
    struct monitors_plan monitors;
    double accept_rad[3];
    double least_s; /* of driving before anything is accepted */
    bool has_previous;
    oto_quat q_previous;
    double previous_variance[3];
};

/* A block in the making. */
struct mountcal_gather {
    int64_t start_ns, last_ns;
    oto_vec3 specific_force_m_s2, angular_rate_rad_s; /* of the last sample */
    oto_vec3 velocity_gain_m_s;
    oto_quat q_start_from_now;
    oto_vec3 gyro_bias_rad_s;
    double speed_sum_m_s, speed_time_sum_s; /* of the reports since the start, times from there */
    uint32_t speeds;
    uint32_t has_sample;
    uint32_t breaks;
    uint32_t slow_blocks; /* in a row, at about zero speed */
};

/* The result some time ago: how far it has moved since says whether the bound holds. */
#define MOUNTCAL_MARKS 32
struct mountcal_mark {
    double rpy_rad[3];
    double variance[3];
    double seconds;
};
struct mountcal_marks {
    struct mountcal_mark marks[MOUNTCAL_MARKS];
    double widening[3]; /* of the bound */
    uint64_t count;
};

/* What became of a result from before. */
enum { MOUNTCAL_NO_PREVIOUS, MOUNTCAL_PREVIOUS_OPEN, MOUNTCAL_PREVIOUS_TAKEN, MOUNTCAL_PREVIOUS_WRONG };

struct mountcal_verdict {
    uint32_t state, reason;
    uint32_t changes, resets;
    uint32_t running, previous; /* MOUNTCAL_…PREVIOUS… */
    double percent;
    double seconds, distance_m;
    double since_moved_s; /* negative: it has not moved */
    double doubt_s;       /* how long IMU, speed and result have contradicted each other, less how long they have not */
    double rest_s;        /* the longest rest */
    double losses;        /* of the velocity, of late */
    uint64_t lost;        /* of the filter, when last looked */
    oto_vec3 gravity_residual_m_s2;
    struct mountcal_marks marks[JOINT_PATHS]; /* of the filters; of the histogram method the first */
    uint32_t has_been_accepted, accepted_path;
};

/* What was driven. */
struct mountcal_driven {
    uint64_t turns_left, turns_right, starts, stops, reverses, brakes;
    double turn_rad; /* of the turn under way */
    double rest_s;
    double rests_s; /* in all */
    uint32_t was_still, starting, braking, spare;
};

struct mountcal_state {
    struct monitors monitors;
    struct mountcal_gather gather;
    struct mountcal_driven driven;
    struct mountcal_verdict verdict;
    struct histogram histogram;
    struct joint joint;
};

#endif
