/*
 * The joint method: one Kalman filter of the sensor's velocity and gravity in sensor axes, both biases, the mount, and the
 * motions of a vehicle other than rolling along its x axis. It steps over blocks of a tenth of a second. As soon as the
 * mount is roughly known, the filter restarts with that mount and processes the first blocks again, so that the initial
 * guess does not influence the result. Pure numbers, plain state, no allocation.
 *
 * The no-slip point is the point of the unsteered axle on the ground, which neither drifts nor skids.
 */
#ifndef MOUNT_CALIBRATION_JOINT_H
#define MOUNT_CALIBRATION_JOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/vecmath.h"

#define JOINT_BLOCK_S 0.1
#define JOINT_KEPT_BLOCKS 900 /* blocks of the first 90 s */

/* Indices of the filter's states; the error of the mount is a rotation about the vehicle's axes. */
enum {
    JOINT_VELOCITY = 0, /* of the sensor, sensor axes */
    JOINT_GRAVITY = 3,  /* sensor axes */
    JOINT_ACCEL_BIAS = 6,
    JOINT_GYRO_BIAS = 9,
    JOINT_MOUNT = 12,
    JOINT_PITCH_COMPLIANCE = 15, /* rad per m/s² */
    JOINT_ROLL_COMPLIANCE,
    JOINT_SPEED_SCALE, /* reported over true speed, minus one */
    JOINT_SPEED_LAG,   /* s */
    JOINT_LEVER,       /* m: position of the sensor relative to the no-slip point, body axes; three states */
    JOINT_PITCH_CENTRE = JOINT_LEVER + 3, /* m: distance ahead of the no-slip point at which a pitching body does not rise */
    JOINT_SLIP,                           /* rad per m/s²: side slip angle per lateral acceleration */
    JOINT_HEAVE,                          /* rad: slow pitch of the body relative to its path */
    JOINT_BANK,                           /* rad: bank of the road minus its mean */
    JOINT_CROWN,                          /* rad: mean bank of the road */
    JOINT_KEPT_CROWN,     /* share of the crown that a corner keeps, minus the nominal share */
    JOINT_SUPERELEVATION, /* rad per m/s²: roll per leftward acceleration in a bend, by superelevation and springs */
    JOINT_RISE, /* m: height gained above the road in the current one-second window */
    JOINT_LEVEL_ROLL, /* rad per m/s²: upward velocity per ∫ a_y² dt on a level path; JOINT_PITCH_COMPLIANCE: per ∫ a_x² dt */
    JOINT_WHEEL_SLIP, /* s²/m: share of the speed by which the wheels slip, per forward specific force */
    JOINT_GRADE_COMPLIANCE, /* rad per m/s²: as JOINT_PITCH_COMPLIANCE, per component of gravity along the road */
    JOINT_SPRING_LAG,       /* s: delay of the pitch on the springs */
    JOINT_SPRING_CENTRE,    /* m: distance ahead of JOINT_PITCH_CENTRE about which the springs pitch the body */
    JOINT_SPEED_PITCH,      /* rad per (m/s)²: pitch by drag and lift */
    JOINT_BANK_SLIP,        /* rad per m/s²: as JOINT_SLIP, per component of gravity across the road */
    JOINT_STATES
};
#define JOINT_EXTRAS (JOINT_STATES - JOINT_PITCH_COMPLIANCE)

/*
 * The path of the vehicle on a road with grade and bank. JOINT_FOLLOWS: the path follows the road, as for every real car.
 * JOINT_STAYS_LEVEL: the path stays level while the body tilts, as in simulations that add grade and bank to the attitude
 * only; turns then show the roll of the mount. A parameter selects one, because the data do not show which one holds.
 */
enum { JOINT_FOLLOWS, JOINT_STAYS_LEVEL };
#define JOINT_PAST_BLOCKS 12 /* history for speed reports that are late */

/* The parameters that the filter uses, in SI units. */
struct joint_plan {
    oto_quat q_nominal; /* body from sensor */
    double box_rad[3];
    double compliance_rad_s2_m[2], compliance_sigma_rad_s2_m[2];
    double bank_rad, road_length_m, crown_rad, crown_sigma_rad, vibration_rad;
    double speed_pitch_rad_s2_m2, speed_pitch_sigma_rad_s2_m2;
    double gyro_bias_range_rad_s, accel_bias_sigma_m_s2, gyro_noise, accel_noise;
    bool level;         /* the floor is level, so bank is measured at rest as well */
    uint32_t path;      /* JOINT_FOLLOWS or JOINT_STAYS_LEVEL */
    oto_vec3 position_m, position_sigma_m; /* of the sensor relative to the no-slip point */
    double axes_sigma, scale_sigma;        /* of a cross term and of a scale factor of accelerometer and gyroscope */
    double speed_noise_m_s, speed_scale_sigma;
    double prior_sigma_rad[3]; /* of the mount */
    oto_quat q_prior;
};

/* IMU data of a tenth of a second, integrated in the sensor axes at the start of the block. */
struct joint_block {
    oto_vec3 velocity_gain_m_s; /* ∫ f dt */
    oto_vec3 turn_rad;          /* rotation vector, with gyro_bias_rad_s subtracted from the rate */
    oto_vec3 gyro_bias_rad_s;   /* the bias that was subtracted for turn_rad */
    oto_vec3 end_rate_rad_s;    /* measured rate at the end of the block */
    oto_vec3 up;                /* the vehicle's up axis in sensor axes, if it was measured */
    double up_sigma_rad;        /* 0: `up` was not measured */
    double duration_s;
    double speed_m_s;   /* mean of the speed reports in the block */
    double speed_age_s; /* age of that mean at the end of the block */
    double speed_step_m_s; /* resolution of the speed; at constant speed its rounding error is constant */
    uint32_t speeds;    /* number of speed reports; 0: none */
    uint32_t still;     /* 1: the vehicle is at rest */
    uint32_t breaks;    /* 1: there are no data immediately before the block */
    uint32_t speed_is_signed;
};

/*
 * Innovations summed over a number of successive measurements. If the filter's noise is right, the square of a sum is on
 * average its predicted variance, whatever the number. Errors that the filter does not know of are slow: they add up.
 */
#define JOINT_SPANS 3
struct joint_span {
    double sum, variance; /* of the innovations of the current span, and as predicted */
    double ratios;        /* sum over the complete spans of sum² over variance */
    uint32_t summed, count; /* innovations in the current span; complete spans */
};

/* Statistics of the measurements of one kind. */
struct joint_channel {
    double scale;             /* adapted factor on the variance of the noise */
    double usual;             /* the same factor, averaged over minutes */
    double sum, sum_variance; /* of the innovations since the last evaluation */
    uint64_t summed;
    struct joint_span spans[JOINT_SPANS];
};

/* A candidate for the power of the random walk of the bias, and a filter of the rates at rest that takes it for true. */
struct joint_power {
    double likelihood;       /* logarithm; the powers' relative probabilities */
    double apart_likelihood; /* the same with more weight on predictions from rest to rest */
    oto_vec3 rate_rad_s;     /* the bias at the last window at rest */
    double variance;         /* of one axis */
};
#define JOINT_POWERS 9

/*
 * What is learned of the gyroscope. The noise follows from successive blocks of one rest; the wander of the bias follows from
 * windows of a second at rest, of the same or of different rests, and from the sideways velocity on the road.
 */
struct joint_gyro {
    double noise_sum, blocks;    /* (rad/s)²/Hz: sum of the density of the noise over the blocks, and their number */
    oto_vec3 block_rate_rad_s;   /* measured rate of the last block, if the vehicle was at rest */
    oto_vec3 window_turn_rad;    /* angle measured in the current window */
    double window_s;             /* duration of the current window so far */
    oto_vec3 window_rate_rad_s;  /* mean measured rate of the last complete window */
    double since_window_s;       /* time since the end of that window; negative: there is none */
    struct joint_power powers[JOINT_POWERS];
    double rest_wander, road_wander; /* (rad/s)²/s: power of the random walk, as rests and as innovations on the road show it */
    double rest_s;                   /* duration of the current rest */
};

/* An earlier block, kept for late speed reports. */
struct joint_past {
    double gain_m_s, duration_s; /* gain of the forward speed in the block */
    double force_m_s2;           /* forward specific force in the block */
    oto_vec3 first_rate_rad_s;   /* measured rate at the start of the block */
};

/* The current turn: its angles about the body's yaw and pitch axes. */
struct joint_turn {
    double yaw_rad, pitch_rad;
    double left_m_s; /* leftward acceleration integrated over the yaw angle */
    double way_m;
};

enum { JOINT_FORWARD, JOINT_SIDEWAYS, JOINT_UPWARD, JOINT_ROAD_BANK, JOINT_CHANNELS };

struct joint_filter {
    oto_vec3 velocity_m_s, gravity_m_s2, accel_bias_m_s2, gyro_bias_rad_s; /* sensor axes */
    oto_vec3 last_rate_rad_s; /* measured rate at the end of the last block */
    oto_vec3 steady_rate_rad_s, steady_accel_m_s2; /* smoothed over the oscillation on the springs; sensor axes */
    oto_vec3 turned_rad;                           /* angle of the turns of the last seconds; sensor axes */
    oto_quat q_body_from_sensor;
    double extra[JOINT_EXTRAS];
    double covariance[JOINT_STATES][JOINT_STATES];
    struct joint_channel channels[JOINT_CHANNELS];
    struct joint_past past[JOINT_PAST_BLOCKS]; /* newest block first */
    struct joint_turn turn;
    double rise_s, rise_square_m2_s; /* duration of the current one-second window, and ∫ speed² dt over it */
    double grade_square_sum, grade_weight;         /* sums over distance, from which the rms follows */
    double heave_power;                            /* rad² */
    struct joint_gyro gyro;
    double accel_wander;                           /* (m/s²)²/s: power of the random walk of the accelerometer bias */
    double jolt_power;                             /* (m/s²)²/Hz: density of vertical jolts, which accumulate in the velocity */
    double bank_sum, bank_square_sum, bank_weight; /* sums over distance, from which the rms follows */
    double bank_power;                             /* rad² */
    double distance_m, since_bank_m;
    double speed_square_m2_s;              /* ∫ speed² dt */
    double starts_m2_s3;                   /* ∫ a_x² dt over all starts and stops */
    double ahead_sq_m2_s3, aside_sq_m2_s3; /* ∫ a_x² dt and ∫ a_y² dt since the last rest */
    double gravity_ahead_m_s2;             /* forward component of gravity along the road, at the end of the last block */
    double accel_ahead_m_s2, accel_left_m_s2, speed_m_s, yaw_rate_rad_s; /* of the last block */
    double gained_m_s;                     /* total speed gained and lost; pitch is observable only through it */
    double forward_s;                      /* time driven forward, faster than a car can reverse */
    double signed_s;                       /* time driven by a speed with a sign, since the filter last contradicted it */
    uint64_t gated, blocks, turns;
    uint32_t begun;
    uint32_t refused; /* consecutive blocks with a refused measurement */
    uint32_t lost;    /* number of resets of the velocity */
    uint32_t rise_refused; /* 1: the last measurement of rise was refused */
};

struct joint {
    struct joint_filter filter;
    struct joint_filter shown; /* copy from which results are published during a replay */
    struct joint_block kept[JOINT_KEPT_BLOCKS];
    uint32_t kept_count;
    uint32_t replayed; /* kept blocks processed so far; equal to kept_count: no replay is under way */
    uint32_t replays;  /* number of replays that were started */
    uint32_t spare;
};

void joint_init(const struct joint_plan *plan, struct joint *joint);
/* Accepts a block and steps the filter over one block. */
void joint_push_block(const struct joint_plan *plan, struct joint *joint, const struct joint_block *block);
/* Steps a replay that is under way over up to two kept blocks. Called once a sample. */
void joint_work(const struct joint_plan *plan, struct joint *joint);
const struct joint_filter *joint_shown(const struct joint *joint);
bool joint_is_replaying(const struct joint *joint);
/* True if the innovations of speed or rise are suddenly much larger than usual. */
bool joint_is_surprised(const struct joint *joint);

/* joint_filter.c */
void joint_filter_init(const struct joint_plan *plan, oto_quat q_body_from_sensor, const double sigma_rad[3],
                       struct joint_filter *filter);
void joint_filter_step(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block);
double joint_sigma(const struct joint_filter *filter, int state);

/* joint_measure.c */
/* Factor, 1 or more, by which the innovations of a kind show that variances are too small. */
double joint_excess(const struct joint_filter *filter, int kind);

/* joint_gyro.c */
void joint_gyro_init(struct joint_gyro *gyro);
/* Restarts `gyro` with what `from` has learned. */
void joint_gyro_carry(const struct joint_gyro *from, struct joint_gyro *gyro);
/* Notes that `dt` passed, at rest or not, or that data are missing. */
void joint_gyro_pass(struct joint_gyro *gyro, bool still, double dt);
void joint_gyro_break(struct joint_gyro *gyro);
void joint_gyro_learn(struct joint_gyro *gyro, oto_vec3 rate_rad_s, double dt);
/* `ratio`: square of the sum of the sideways innovations of three seconds, over its predicted variance. */
void joint_gyro_learn_moving(struct joint_gyro *gyro, double ratio);
/* Whether the body no longer swings on its springs. */
bool joint_gyro_has_settled(const struct joint_gyro *gyro);
double joint_gyro_rest_variance(const struct joint_plan *plan, const struct joint_gyro *gyro, double dt);
double joint_gyro_noise(const struct joint_plan *plan, const struct joint_gyro *gyro);
double joint_gyro_wander(const struct joint_gyro *gyro);
/* From 0, wander as assumed or less, to 1, ten times as much or more. */
double joint_gyro_unusual(const struct joint_gyro *gyro);

/* joint_linear.c */
struct joint_row {
    int count;
    int at[16];
    double by[16];
};
void joint_row_put(struct joint_row *row, int state, double by);
void joint_row_put3(struct joint_row *row, int state, oto_vec3 by);
/* Variance of the prediction: h P hᵀ. */
double joint_row_variance(const struct joint_filter *filter, const struct joint_row *row);
/* Updates state and covariance with a measurement; innovation = measured − predicted. */
void joint_update(struct joint_filter *filter, const struct joint_row *row, double innovation, double variance);
/* Adds `more` to state number `state`, an integral over the drive, and updates the covariance; `row`: derivatives of `more` by the states. */
void joint_sum_up(struct joint_filter *filter, int state, const struct joint_row *row, double more);
#define JOINT_MOVED 6   /* states that a block changes: velocity and gravity */
#define JOINT_MOVERS 15 /* states on which that change depends */
void joint_transit(struct joint_filter *filter, const double transition[JOINT_MOVED][JOINT_MOVERS]);
void joint_fade(struct joint_filter *filter, int state, double by, double power);

#endif
