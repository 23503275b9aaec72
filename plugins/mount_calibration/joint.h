/*
 * The joint method: one Kalman filter over the sensor's velocity and gravity in the sensor's own axes, both biases, the
 * mount, and what a vehicle does besides rolling along its x axis. It steps over blocks of a tenth of a second. Where
 * the mount has become roughly known, the first blocks are run through it again from there, so that no first guess
 * stays in the result. Pure numbers, plain state, no allocation.
 */
#ifndef MOUNT_CALIBRATION_JOINT_H
#define MOUNT_CALIBRATION_JOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/vecmath.h"

#define JOINT_BLOCK_S 0.1
#define JOINT_KEPT_BLOCKS 900 /* a minute and a half */

/* Of the filter's state; the mount's error is a rotation of the vehicle's axes. */
enum {
    JOINT_VELOCITY = 0, /* of the sensor, sensor axes */
    JOINT_GRAVITY = 3,  /* sensor axes */
    JOINT_ACCEL_BIAS = 6,
    JOINT_GYRO_BIAS = 9,
    JOINT_MOUNT = 12,
    JOINT_PITCH_COMPLIANCE = 15, /* rad per m/s² */
    JOINT_ROLL_COMPLIANCE,
    JOINT_SPEED_SCALE, /* less one */
    JOINT_SPEED_LAG,   /* s */
    JOINT_LEVER,       /* m: sensor from the point that neither drifts nor skids, body axes; three states */
    JOINT_PITCH_CENTRE = JOINT_LEVER + 3, /* m: how far ahead of that point the body neither rises nor falls */
    JOINT_SLIP,                           /* rad of drift per m/s² sideways */
    JOINT_HEAVE,                          /* rad: slow pitch of the body against its path */
    JOINT_BANK,                           /* rad: of the road, less its mean */
    JOINT_CROWN,                          /* rad: that mean */
    JOINT_KEPT_CROWN,     /* share of the crown that is there in a turn, less the usual one */
    JOINT_SUPERELEVATION, /* rad per m/s²: roll in a bend of the road, springs included */
    JOINT_RISE, /* m: of the body above its road, since a second began */
    JOINT_LEVEL_ROLL, /* rad per m/s²: what roll compliance does on a level path; JOINT_PITCH_COMPLIANCE is the other */
    JOINT_STATES
};
#define JOINT_EXTRAS (JOINT_STATES - JOINT_PITCH_COMPLIANCE)

/*
 * What the path does where the road tilts the body. It follows, as every road has it. Or it stays level while the body
 * tilts: no car drives like that, but simulations do that add grade and bank to the attitude alone. Then a mount's roll
 * shows in turns. Which of the two it is, is declared: the data do not say it.
 */
enum { JOINT_FOLLOWS, JOINT_STAYS_LEVEL };
#define JOINT_PAST_BLOCKS 8 /* for speeds that are late */

/* What of the parameters the filter uses, in SI units. */
struct joint_plan {
    oto_quat q_nominal; /* body from sensor */
    double box_rad[3];
    double compliance_rad_s2_m[2], compliance_sigma_rad_s2_m[2];
    double bank_rad, road_length_m, crown_rad, crown_sigma_rad, vibration_rad;
    double gyro_bias_range_rad_s, accel_bias_sigma_m_s2, gyro_noise, accel_noise;
    bool level;         /* the floor is: bank is measured at rest, too */
    uint32_t path;      /* JOINT_FOLLOWS or JOINT_STAYS_LEVEL */
    oto_vec3 position_m, position_sigma_m; /* of the sensor, from the point that does not skid */
    double axes_sigma, scale_sigma;        /* of accelerometer and gyroscope: cross terms, scale */
    double speed_noise_m_s, speed_scale_sigma;
    double prior_sigma_rad[3]; /* of the mount */
    oto_quat q_prior;
};

/* A tenth of a second, integrated in the axes of its beginning. */
struct joint_block {
    oto_vec3 velocity_gain_m_s; /* ∫ f dt */
    oto_vec3 turn_rad;          /* rotation vector, gyro_bias taken off */
    oto_vec3 gyro_bias_rad_s;   /* what was taken off */
    oto_vec3 end_rate_rad_s;    /* at its end, as measured */
    oto_vec3 up;                /* the vehicle's, in sensor axes, where it was measured */
    double up_sigma_rad;        /* 0: it was not */
    double duration_s;
    double speed_m_s;   /* mean of the reports in it */
    double speed_age_s; /* of that mean, at its end */
    double speed_step_m_s; /* to which it is rounded: at a steady speed it is off by the same for long */
    uint32_t speeds;    /* reports; 0: none */
    uint32_t still;     /* at rest since a while */
    uint32_t breaks;    /* nothing is known of what was just before it */
    uint32_t speed_is_signed;
};

/* Of measurements of one kind. */
struct joint_channel {
    double scale;             /* of the noise's variance, adapted */
    double usual;             /* the same, over minutes */
    double sum, sum_variance; /* of innovations, this second */
    uint64_t summed;
};

/* A block some time ago. */
struct joint_past {
    double gain_m_s, duration_s; /* of the speed ahead */
    oto_vec3 first_rate_rad_s;   /* at its beginning, as measured */
};

/* A turn under way: how much of it is about which axis of the body. */
struct joint_turn {
    double yaw_rad, pitch_rad;
    double left_m_s; /* acceleration to the left, over yaw */
    double way_m;
};

enum { JOINT_FORWARD, JOINT_SIDEWAYS, JOINT_UPWARD, JOINT_ROAD_BANK, JOINT_CHANNELS };

struct joint_filter {
    oto_vec3 velocity_m_s, gravity_m_s2, accel_bias_m_s2, gyro_bias_rad_s; /* sensor axes */
    oto_vec3 last_rate_rad_s; /* as measured, at the end of the last block */
    oto_vec3 steady_rate_rad_s, steady_accel_m_s2; /* without the swinging of the springs; sensor axes */
    oto_quat q_body_from_sensor;
    double extra[JOINT_EXTRAS];
    double covariance[JOINT_STATES][JOINT_STATES];
    struct joint_channel channels[JOINT_CHANNELS];
    struct joint_past past[JOINT_PAST_BLOCKS]; /* the last block first */
    struct joint_turn turn;
    double rise_s, rise_square_m2_s; /* of the second under way: how long, ∫ speed² dt */
    double grade_sum, grade_square_sum, grade_weight; /* over distance, for the road's rms */
    double heave_power;                            /* rad² */
    double gyro_power;                             /* (rad/s)²/Hz: of the gyroscope's noise, as it is at rest */
    double jolt_power;                             /* (m/s²)²/Hz: shaking up and down that adds up in the velocity */
    double bank_sum, bank_square_sum, bank_weight; /* over distance, for the road's rms */
    double bank_power;                             /* rad² */
    double distance_m, since_bank_m;
    double ahead_sq_m2_s3, aside_sq_m2_s3; /* ∫ a² dt since the last rest */
    double accel_ahead_m_s2, accel_left_m_s2, speed_m_s, yaw_rate_rad_s; /* of the last block */
    double gained_m_s;                     /* speed gained and lost, in all: it is what shows the pitch */
    double forward_s;                      /* driven faster than a car reverses, forward */
    uint64_t gated, blocks, turns;
    oto_vec3 rest_rate_rad_s; /* of the last block, where that was at rest */
    double rest_blocks;       /* that gyro_power rests on */
    uint32_t was_at_rest;
    uint32_t begun;
    uint32_t refused; /* in a row */
    uint32_t lost;    /* how often the velocity had to be set anew */
    uint32_t rise_refused; /* the last one was */
};

struct joint {
    struct joint_filter filter;
    struct joint_filter shown; /* what is published while blocks are run through again */
    struct joint_block kept[JOINT_KEPT_BLOCKS];
    uint32_t kept_count;
    uint32_t replayed; /* blocks of the replay; = kept_count: it is live */
    uint32_t replays;  /* done or under way */
    uint32_t spare;
};

void joint_init(const struct joint_plan *plan, struct joint *joint);
/* Takes a block, and works at most one. */
void joint_push_block(const struct joint_plan *plan, struct joint *joint, const struct joint_block *block);
/* Work left over from a replay, a little of it. Called once a sample. */
void joint_work(const struct joint_plan *plan, struct joint *joint);
const struct joint_filter *joint_shown(const struct joint *joint);
bool joint_is_replaying(const struct joint *joint);
/* Speed or rise are suddenly much worse foretold than they have been. */
bool joint_is_surprised(const struct joint *joint);

/* joint_filter.c */
void joint_filter_init(const struct joint_plan *plan, oto_quat q_body_from_sensor, const double sigma_rad[3],
                       struct joint_filter *filter);
void joint_filter_step(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block);
double joint_sigma(const struct joint_filter *filter, int state);

/* joint_linear.c */
struct joint_row {
    int count;
    int at[16];
    double by[16];
};
void joint_row_put(struct joint_row *row, int state, double by);
void joint_row_put3(struct joint_row *row, int state, oto_vec3 by);
/* Variance of what the row measures. */
double joint_row_variance(const struct joint_filter *filter, const struct joint_row *row);
/* Measured less predicted is `innovation`. */
void joint_update(struct joint_filter *filter, const struct joint_row *row, double innovation, double variance);
/* Adds the value of the row and `more` to a state that is a sum. */
void joint_sum_up(struct joint_filter *filter, int state, const struct joint_row *row, double more);
#define JOINT_MOVED 6   /* states that a block moves: velocity and gravity */
#define JOINT_MOVERS 15 /* states that move them */
void joint_transit(struct joint_filter *filter, const double transition[JOINT_MOVED][JOINT_MOVERS]);
void joint_fade(struct joint_filter *filter, int state, double by, double power);

#endif
