/*
 * Motion models: the flow of a state in time, and its Jacobian. Shared by `plugins/motion_models` and the estimators.
 * Pure functions, callable from any thread. `constants` is the model's struct below (NULL if it has none). A state is
 * an array of doubles in the order of its quantities; `next` may be the array of `state`. Equations, sources and
 * domains: `plugins/motion_models/README.md`.
 *
 * Each list of quantities is X(index, name, suffix of its key, unit, axes, initial value, text).
 */
#ifndef NUM_MODEL_H
#define NUM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/motion_model.h"

struct num_model {
    const char *name;
    bool exact; /* the flow has a closed form */
    uint32_t state_count, derived_count;
    const struct oto_model_quantity *states, *derived;
    uint32_t (*size_of)(const void *constants); /* NULL: state_count */
    /* Checks a state whose numbers are finite, and may normalise it. NULL: no further check. */
    enum oto_status (*check)(double *state, struct oto_error *error);
    enum oto_status (*predict)(const void *constants, const double *state, double dt_s, double *next);
    enum oto_status (*jacobian)(const void *constants, const double *state, double dt_s, double *jacobian);
    enum oto_status (*both)(const void *constants, const double *state, double dt_s, double *jacobian, double *next);
    void (*derive)(const void *constants, const double *state, double *derived); /* NULL: none */
    void (*to_truth)(const void *constants, const double *state, struct oto_truth_record *truth);
    void (*from_truth)(const void *constants, const struct oto_truth_record *truth, double *state);
};

extern const struct num_model num_model_stationary, num_model_constant_velocity, num_model_constant_acceleration,
    num_model_ctrv, num_model_catr, num_model_catr_box, num_model_parameter_estimator, num_model_linear_xy,
    num_model_linear_xyz, num_model_linear_xyyaw, num_model_linear_xyzyaw, num_model_linear_xyzrpy,
    num_model_kinematic_bicycle, num_model_linear_tyre, num_model_rigid_body_6dof;

/* All models in the order above; NULL at the end. */
extern const struct num_model *const num_models[];

static inline uint32_t num_model_size(const struct num_model *model, const void *constants)
{
    return model->size_of != NULL ? model->size_of(constants) : model->state_count;
}

/* Copies a state if its numbers are finite and the model's check accepts it. */
enum oto_status num_model_reset(const struct num_model *model, const void *constants, const double *values,
                                double *state, struct oto_error *error);

/* Row-major n × n. */
void num_model_identity(uint32_t n, double *jacobian);

/* ---- constants of the models ---- */

#define NUM_ESTIMATOR_MOST 16
struct num_estimator_constants {
    int64_t count; /* 1 … NUM_ESTIMATOR_MOST */
};

struct num_bicycle_constants {
    double front_m, rear_m; /* distances of the axles from the centre of gravity */
    double steering_rad;    /* of the front wheel, positive to the left */
    double accel_m_s2;      /* derivative of the speed along the path */
};

/* `conventional`: F = C (delta - slip), C > 0, delta positive to the left. `snippet`: F = C (slip + delta), C < 0. */
enum num_tyre_sign { NUM_TYRE_CONVENTIONAL = 1, NUM_TYRE_SNIPPET = 2 };
struct num_tyre_constants {
    double front_m, rear_m;
    double front_stiffness_n_rad, rear_stiffness_n_rad; /* of an axle */
    double mass_kg, yaw_inertia_kg_m2;
    double jerk_m_s3, steering_rate_rad_s;
    double least_speed_m_s; /* smaller speeds are replaced by this one when the slip is computed */
    int64_t sign;           /* enum num_tyre_sign */
};

struct num_body_constants {
    double mass_kg;
    double inertia_kg_m2[3]; /* principal, about body x, y, z */
    oto_vec3 force_body_n, force_enu_n, moment_body_nm;
    oto_vec3 gravity_enu_m_s2;
    double step_s; /* longest step of the integrator */
};

/* ---- quantities ---- */

/* clang-format off */
#define NUM_POSE_QUANTITIES(X) \
    X(0, "x", "_m", "m", "enu", 0, "east of the origin") \
    X(1, "y", "_m", "m", "enu", 0, "north of the origin")

#define NUM_STATIONARY_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "z", "_m", "m", "enu", 0, "above the origin") \
    X(3, "roll", "_rad", "rad", "enu", 0, "about body x") \
    X(4, "pitch", "_rad", "rad", "enu", 0, "about y, positive nose down") \
    X(5, "yaw", "_rad", "rad", "enu", 0, "heading from east, counter-clockwise")

#define NUM_CV_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "vx", "_m_s", "m/s", "enu", 0, "velocity east") \
    X(3, "vy", "_m_s", "m/s", "enu", 0, "velocity north")

#define NUM_CA_QUANTITIES(X) \
    NUM_CV_QUANTITIES(X) \
    X(4, "ax", "_m_s2", "m/s^2", "enu", 0, "acceleration east") \
    X(5, "ay", "_m_s2", "m/s^2", "enu", 0, "acceleration north")

#define NUM_CTRV_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "yaw", "_rad", "rad", "enu", 0, "heading from east, counter-clockwise; not wrapped") \
    X(3, "v", "_m_s", "m/s", "body", 0, "speed along the heading, signed") \
    X(4, "w", "_rad_s", "rad/s", "body", 0, "turn rate, positive to the left")

#define NUM_CATR_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "v", "_m_s", "m/s", "body", 0, "speed along the heading, signed") \
    X(3, "a", "_m_s2", "m/s^2", "body", 0, "rate of that speed") \
    X(4, "th", "_rad", "rad", "enu", 0, "heading from east, counter-clockwise; not wrapped") \
    X(5, "w", "_rad_s", "rad/s", "body", 0, "turn rate, positive to the left")

#define NUM_CATR_BOX_QUANTITIES(X) \
    NUM_CATR_QUANTITIES(X) \
    X(6, "length", "_m", "m", "body", 4.5, "of the box along the heading") \
    X(7, "width", "_m", "m", "body", 1.8, "of the box across the heading")

#define NUM_ESTIMATOR_QUANTITIES(X) \
    X(0, "p0", "", "1", "", 0, "a parameter") X(1, "p1", "", "1", "", 0, "a parameter") \
    X(2, "p2", "", "1", "", 0, "a parameter") X(3, "p3", "", "1", "", 0, "a parameter") \
    X(4, "p4", "", "1", "", 0, "a parameter") X(5, "p5", "", "1", "", 0, "a parameter") \
    X(6, "p6", "", "1", "", 0, "a parameter") X(7, "p7", "", "1", "", 0, "a parameter") \
    X(8, "p8", "", "1", "", 0, "a parameter") X(9, "p9", "", "1", "", 0, "a parameter") \
    X(10, "p10", "", "1", "", 0, "a parameter") X(11, "p11", "", "1", "", 0, "a parameter") \
    X(12, "p12", "", "1", "", 0, "a parameter") X(13, "p13", "", "1", "", 0, "a parameter") \
    X(14, "p14", "", "1", "", 0, "a parameter") X(15, "p15", "", "1", "", 0, "a parameter")

/* Linear models: the variables, then their first derivatives, then their second derivatives. */
#define NUM_XYZ_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "z", "_m", "m", "enu", 0, "above the origin") \
    X(3, "vx", "_m_s", "m/s", "enu", 0, "velocity east") \
    X(4, "vy", "_m_s", "m/s", "enu", 0, "velocity north") \
    X(5, "vz", "_m_s", "m/s", "enu", 0, "velocity up") \
    X(6, "ax", "_m_s2", "m/s^2", "enu", 0, "acceleration east") \
    X(7, "ay", "_m_s2", "m/s^2", "enu", 0, "acceleration north") \
    X(8, "az", "_m_s2", "m/s^2", "enu", 0, "acceleration up")

#define NUM_XYYAW_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "yaw", "_rad", "rad", "enu", 0, "heading from east, counter-clockwise; not wrapped") \
    X(3, "vx", "_m_s", "m/s", "enu", 0, "velocity east") \
    X(4, "vy", "_m_s", "m/s", "enu", 0, "velocity north") \
    X(5, "yaw_rate", "_rad_s", "rad/s", "enu", 0, "rate of the yaw") \
    X(6, "ax", "_m_s2", "m/s^2", "enu", 0, "acceleration east") \
    X(7, "ay", "_m_s2", "m/s^2", "enu", 0, "acceleration north") \
    X(8, "yaw_accel", "_rad_s2", "rad/s^2", "enu", 0, "rate of the yaw rate")

#define NUM_XYZYAW_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "z", "_m", "m", "enu", 0, "above the origin") \
    X(3, "yaw", "_rad", "rad", "enu", 0, "heading from east, counter-clockwise; not wrapped") \
    X(4, "vx", "_m_s", "m/s", "enu", 0, "velocity east") \
    X(5, "vy", "_m_s", "m/s", "enu", 0, "velocity north") \
    X(6, "vz", "_m_s", "m/s", "enu", 0, "velocity up") \
    X(7, "yaw_rate", "_rad_s", "rad/s", "enu", 0, "rate of the yaw") \
    X(8, "ax", "_m_s2", "m/s^2", "enu", 0, "acceleration east") \
    X(9, "ay", "_m_s2", "m/s^2", "enu", 0, "acceleration north") \
    X(10, "az", "_m_s2", "m/s^2", "enu", 0, "acceleration up") \
    X(11, "yaw_accel", "_rad_s2", "rad/s^2", "enu", 0, "rate of the yaw rate")

#define NUM_XYZRPY_QUANTITIES(X) \
    NUM_STATIONARY_QUANTITIES(X) \
    X(6, "vx", "_m_s", "m/s", "enu", 0, "velocity east") \
    X(7, "vy", "_m_s", "m/s", "enu", 0, "velocity north") \
    X(8, "vz", "_m_s", "m/s", "enu", 0, "velocity up") \
    X(9, "roll_rate", "_rad_s", "rad/s", "enu", 0, "rate of the roll angle") \
    X(10, "pitch_rate", "_rad_s", "rad/s", "enu", 0, "rate of the pitch angle") \
    X(11, "yaw_rate", "_rad_s", "rad/s", "enu", 0, "rate of the yaw angle") \
    X(12, "ax", "_m_s2", "m/s^2", "enu", 0, "acceleration east") \
    X(13, "ay", "_m_s2", "m/s^2", "enu", 0, "acceleration north") \
    X(14, "az", "_m_s2", "m/s^2", "enu", 0, "acceleration up") \
    X(15, "roll_accel", "_rad_s2", "rad/s^2", "enu", 0, "rate of the roll rate") \
    X(16, "pitch_accel", "_rad_s2", "rad/s^2", "enu", 0, "rate of the pitch rate") \
    X(17, "yaw_accel", "_rad_s2", "rad/s^2", "enu", 0, "rate of the yaw rate")

#define NUM_BICYCLE_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "yaw", "_rad", "rad", "enu", 0, "heading from east, counter-clockwise; not wrapped") \
    X(3, "u", "_m_s", "m/s", "body", 0, "speed of the centre of gravity along its path, signed")

#define NUM_TYRE_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "yaw", "_rad", "rad", "enu", 0, "heading from east, counter-clockwise; not wrapped") \
    X(3, "u", "_m_s", "m/s", "body", 0, "speed along body x, signed") \
    X(4, "v", "_m_s", "m/s", "body", 0, "speed along body y") \
    X(5, "omega", "_rad_s", "rad/s", "body", 0, "yaw rate") \
    X(6, "delta", "_rad", "rad", "body", 0, "steering angle of the front wheel; its sign by sign_convention") \
    X(7, "ax", "_m_s2", "m/s^2", "body", 0, "rate of u")

#define NUM_BODY_QUANTITIES(X) \
    NUM_POSE_QUANTITIES(X) \
    X(2, "z", "_m", "m", "enu", 0, "above the origin") \
    X(3, "qw", "", "1", "enu", 1, "attitude, enu from body, w") \
    X(4, "qx", "", "1", "enu", 0, "attitude, enu from body, x") \
    X(5, "qy", "", "1", "enu", 0, "attitude, enu from body, y") \
    X(6, "qz", "", "1", "enu", 0, "attitude, enu from body, z") \
    X(7, "vx", "_m_s", "m/s", "enu", 0, "velocity east") \
    X(8, "vy", "_m_s", "m/s", "enu", 0, "velocity north") \
    X(9, "vz", "_m_s", "m/s", "enu", 0, "velocity up") \
    X(10, "wx", "_rad_s", "rad/s", "body", 0, "angular rate about body x") \
    X(11, "wy", "_rad_s", "rad/s", "body", 0, "angular rate about body y") \
    X(12, "wz", "_rad_s", "rad/s", "body", 0, "angular rate about body z")

/* Numbers of derived quantities: of models with a course, of the kinematic bicycle, of the dynamic bicycle. */
enum { NUM_COURSE_DERIVED = 4, NUM_BICYCLE_DERIVED = 2, NUM_TYRE_DERIVED = 3 };
extern const struct oto_model_quantity num_course_derived[NUM_COURSE_DERIVED], num_bicycle_derived[NUM_BICYCLE_DERIVED],
    num_tyre_derived[NUM_TYRE_DERIVED];

/* The rows of a table of struct oto_model_quantity. */
#define NUM_QUANTITY(place, name, suffix, unit, frame, initial, text) {name, unit, frame, text},
#define NUM_COUNT_ONE_(place, name, suffix, unit, frame, initial, text) +1
#define NUM_COUNT(QUANTITIES) (0 QUANTITIES(NUM_COUNT_ONE_))
/* clang-format on */

#endif
