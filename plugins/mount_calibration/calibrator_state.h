/* What calibrator.h keeps: laid open so that a host can hold it, and for tests. */
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
    double least_s; /* of driving before anything is accepted */
    bool has_previous;
    oto_quat q_previous;
    double previous_variance[OTO_CALIBRATION_AXES];
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
    double last_speed_m_s, speed_step_m_s; /* the smallest change that there has been */
    uint32_t slow_blocks;     /* in a row, at about zero speed */
    uint32_t speed_is_signed; /* a negative one has come in */
    oto_vec3 calm_m_s2;       /* what is felt, of late */
    double calm_sq_m2_s4;     /* mean square of how far a block is from it, at rest */
};

/* The result some time ago: how far it has moved since says whether the bound holds. */
#define MOUNTCAL_MARKS 32
struct mountcal_mark {
    oto_quat q_body_from_sensor;
    double crown_rad;
    double variance[OTO_CALIBRATION_AXES];
    double seconds;
};
struct mountcal_marks {
    struct mountcal_mark marks[MOUNTCAL_MARKS];
    double widening[OTO_CALIBRATION_AXES]; /* of the bound */
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
    double since_moved_s; /* negative: it has not moved */
    double doubt_s;       /* how long IMU, speed and result have contradicted each other, less how long they have not */
    double rest_s;        /* the longest rest */
    double losses;        /* of the velocity, of late */
    uint64_t lost;        /* of the filter, when last looked */
    oto_vec3 gravity_residual_m_s2;
    struct mountcal_marks marks;
};

/* What was driven. */
struct mountcal_driven {
    uint64_t turns_left, turns_right, starts, stops, reverses, brakes;
    double turn_rad; /* of the turn under way */
    double rest_s;
    double rests_s; /* in all */
    uint32_t was_still, starting, braking;
    uint32_t begins_forward; /* the first start of all was one */
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
