/* The parameters of the filter, as the host binds them. */
#ifndef EKF_PARAMS_H
#define EKF_PARAMS_H

#include <stdint.h>

#include "num_model.h"

enum {
    EKF_MOST_ROWS = 16, /* = NUM_FILTER_ROWS */
    EKF_MOST_NOISES = 48,
    EKF_NAME = 32,
    EKF_FIELD = 48,
};

/* The value of `mount_…` that means "the mount of the channel". */
#define EKF_MOUNT_OF_CHANNEL 1e9

struct ekf_initial {
    char state[EKF_NAME];
    double value, sigma;
};

enum ekf_noise_kind { EKF_RANDOM_WALK = 1, EKF_WHITE_ACCELERATION = 2 };
struct ekf_noise {
    char state[EKF_NAME], rate[EKF_NAME];
    int64_t kind; /* enum ekf_noise_kind */
    double q;
};

enum ekf_initialise { EKF_NEVER = 0, EKF_STATE = 1, EKF_STATE_AND_SIGMA = 2 };
struct ekf_measurement {
    char input[EKF_NAME];
    int64_t function; /* index into ekf_functions */
    char fields[192], states[128];
    char covariance_field[EKF_FIELD], age_field[EKF_FIELD];
    int64_t components; /* bits: x 1, y 2, z 4; 0: all */
    double sigma[3];
    double correlation[3]; /* xy, xz, yz */
    double scale;
    double gate;
    int64_t initialise; /* enum ekf_initialise */
    int64_t optional;
    double sensor_position_enu_m[3];
    double mount_position_m[3];
    double mount_rpy_deg[3];
};

struct ekf_truth {
    char state[EKF_NAME], field[EKF_FIELD];
};

struct ekf_params {
    double sample_rate_hz;
    int64_t model; /* index into num_models */
    struct num_estimator_constants estimator;
    struct num_bicycle_constants bicycle;
    struct num_tyre_constants tyre;
    double inertia_kg_m2[3], step_s; /* for rigid_body_6dof with unit mass */
    double max_step_s, late_limit_s;
    uint64_t initial_count;
    struct ekf_initial initial[OTO_MODEL_MAX_STATES];
    uint64_t noise_count;
    struct ekf_noise noise[EKF_MOST_NOISES];
    uint64_t row_count;
    struct ekf_measurement rows[EKF_MOST_ROWS];
    uint64_t truth_count;
    struct ekf_truth truth[OTO_MODEL_MAX_STATES];
};

/* The parameter table that binds struct ekf_params. */
enum { EKF_PARAM_COUNT = 25 };
extern const struct oto_param ekf_param_table[EKF_PARAM_COUNT];

#endif
