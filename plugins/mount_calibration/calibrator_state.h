/* Plan and state of calibrator.h, public so that a host can store them and tests can read them. */
#ifndef MOUNT_CALIBRATION_CALIBRATOR_STATE_H
#define MOUNT_CALIBRATION_CALIBRATOR_STATE_H

#include "histogram.h"
#include "joint.h"
#include "monitors.h"
#include "opposite.h"

struct mountcal_plan {
    struct mountcal_params params;
    struct joint_plan joint;
    struct histogram_plan histogram;
    struct monitors_plan monitors;
    double accept_rad[OTO_CALIBRATION_AXES], accept_sigmas[OTO_CALIBRATION_AXES];
    double least_s; /* least duration of the data before an axis is accepted */
    bool has_previous;
    oto_quat q_previous;
    double previous_variance[OTO_CALIBRATION_AXES];
};

/* The block that samples are being added to. */
struct mountcal_gather {
    int64_t start_ns, last_ns;
    oto_vec3 specific_force_m_s2, angular_rate_rad_s; /* of the last sample */
    oto_vec3 velocity_gain_m_s;
    oto_quat q_start_from_now;
    oto_vec3 gyro_bias_rad_s;
    double speed_sum_m_s, speed_time_sum_s; /* over the speed reports in the block; times from its start */
    uint32_t speeds;
    uint32_t has_sample;
    uint32_t breaks;
    double last_speed_m_s, speed_step_m_s; /* speed_step_m_s: smallest change between two reports so far */
    uint32_t slow_blocks;     /* consecutive blocks with a speed of about zero */
    uint32_t speed_is_signed; /* 1: a negative speed was received */
    oto_vec3 calm_m_s2;       /* mean specific force of the last half second */
    double calm_sq_m2_s4;     /* mean square of the distance of a block from that mean */
};

/* An earlier result. The distance of the current result from it shows whether the bounds hold. */
#define MOUNTCAL_MARKS 32
struct mountcal_mark {
    oto_quat q_body_from_sensor;
    double crown_rad;
    double variance[OTO_CALIBRATION_AXES];
    double seconds;
};
struct mountcal_marks {
    struct mountcal_mark marks[MOUNTCAL_MARKS];
    double widening[OTO_CALIBRATION_AXES]; /* factor on the bound */
    uint64_t count;
};

struct mountcal_verdict {
    uint32_t state, reason;
    uint32_t changes, resets;
    uint32_t running, has_been_accepted;
    uint32_t previous[OTO_CALIBRATION_AXES]; /* OTO_CALIBRATION_PREVIOUS_… */
    uint32_t accepted[OTO_CALIBRATION_AXES];
    double percent;
    double seconds, distance_m;
    double unreported_s;  /* time since the last block with a speed */
    double since_moved_s; /* time since the mount moved; negative: it has not moved */
    double doubt_s;       /* time in which IMU, speed and result contradicted each other, minus the time in which they agreed */
    double rest_s;        /* duration of the longest rest */
    double losses;        /* resets of the filter's velocity, decaying over minutes */
    uint64_t lost;        /* value of joint_filter.lost at the previous block */
    oto_vec3 gravity_residual_m_s2;
    struct mountcal_marks marks;
};

/* The manoeuvres that were driven. */
struct mountcal_driven {
    uint64_t turns_left, turns_right, starts, stops, reverses, brakes;
    double turn_rad; /* angle of the current turn */
    double rest_s;
    double rests_s; /* total time at rest */
    uint32_t was_still, starting, braking;
    uint32_t begins_forward; /* 1: the first start of the drive was forward */
};

struct mountcal_state {
    struct monitors monitors;
    struct mountcal_gather gather;
    struct mountcal_driven driven;
    struct mountcal_verdict verdict;
    struct histogram histogram;
    struct opposite opposite;
    struct joint joint;
};

#endif
