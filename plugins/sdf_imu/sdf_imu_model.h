/*
 * The IMU of Unity and of SDF: it reads attitude, angular rate and velocity at the end of the last completed physics
 * tick, computes the acceleration from the change of velocity, and adds <noise>. Pure numbers: no host. Prepare belongs
 * to the loop, the rest to the tick.
 */
#ifndef SDF_IMU_MODEL_H
#define SDF_IMU_MODEL_H

#include <stdbool.h>

#include "otolith/records.h"
#include "otolith/rng.h"
#include "otolith/status.h"
#include "sdf_noise.h"

/* Axes in the order in which Gazebo applies noise: acceleration x y z, angular velocity x y z. */
enum { SDF_AXES = 6 };

enum sdf_localization { SDF_CUSTOM = 0, SDF_ENU = 1, SDF_NED = 2, SDF_NWU = 3, SDF_GRAV_UP = 4, SDF_GRAV_DOWN = 5 };
enum sdf_parent_frame { SDF_PARENT_SENSOR = 0, SDF_PARENT_WORLD = 1 };

#define SDF_GRAVITY_WORLD (-1.0)    /* value of gravity_m_s2: use the gravity of the world at its origin */
#define SDF_COVARIANCE_WHITE (-2.0) /* value of an element: stddev² on the diagonal, 0 elsewhere */

/* The parameters of linear_acceleration or of angular_velocity, in its unit u. */
struct sdf_triad_params {
    int64_t noise_type[3];
    double mean_u[3], stddev_u[3], bias_mean_u[3], bias_stddev_u[3], dynamic_bias_stddev_u_rts[3];
    double dynamic_bias_correlation_time_s[3], precision_u[3];
    double covariance_u2[9];
};

struct sdf_imu_params {
    double update_rate_hz; /* 0: every tick; the host makes this the node's rate */
    int64_t offset_start_time, offset_start_max_samples, discard_redundant_data;
    double gravity_m_s2, scene_units_per_m;
    int64_t orientation_enable, localization, custom_rpy_parent_frame, grav_dir_x_parent_frame;
    double custom_rpy_rad[3], grav_dir_x[3], orientation_covariance_rad2[9];
    struct sdf_triad_params linear_acceleration, angular_velocity;
};

/* The clock, key and gravity of the node in its world, from the host. */
struct sdf_imu_place {
    uint64_t base_rate_num, base_rate_den;
    uint64_t ticks_per_sample; /* 0: not constant */
    struct oto_rng_key noise_key;
    oto_vec3 gravity_enu_m_s2;
};

struct sdf_imu_plan {
    struct sdf_imu_place place;
    struct sdf_noise noise[SDF_AXES];
    double load_bias_u[SDF_AXES];
    size_t normals;  /* number of deviates per sample: 0, those of the white noise, or also those of the biases */
    double period_s; /* period of regular samples (0: irregular), and its effect on the biases */
    struct sdf_noise_drive drive[SDF_AXES];
    oto_vec3 up_enu_m_s2;    /* reaction to gravity, added to the acceleration */
    uint64_t skipped;        /* samples before the first one, by offset_start_time */
    double covariance[3][9]; /* orientation, angular velocity, linear acceleration */
};

enum sdf_reference { SDF_REFERENCE_OPEN = 0, SDF_REFERENCE_SET = 1, SDF_REFERENCE_NONE = 2 };

struct sdf_imu_state {
    uint64_t is_started;
    uint64_t tick;      /* tick whose end was read last, counted from time zero */
    uint64_t reference; /* enum sdf_reference */
    oto_vec3 velocity_enu_m_s;
    oto_quat q_enu_from_reference;
    double bias_u[SDF_AXES];
    struct oto_imu_record last;
};

/* The state of the sensor at the end of a physics tick. */
struct sdf_imu_physics {
    uint64_t n, tick;
    oto_vec3 velocity_enu_m_s, angular_rate_sensor_rad_s;
    oto_quat q_enu_from_sensor;
};

enum sdf_imu_result {
    SDF_SAMPLE = 0,              /* a record */
    SDF_SAMPLE_NO_REFERENCE = 1, /* a record without orientation: grav_dir_x is parallel to gravity */
    SDF_NOTHING = 2              /* no record */
};

/* Errors: INVALID. If `place` has the rate 0, samples are taken at the ticks. */
enum oto_status sdf_imu_prepare(const struct sdf_imu_params *params, const struct sdf_imu_place *place,
                                struct sdf_imu_plan *plan, struct oto_error *error);
void sdf_imu_init(const struct sdf_imu_plan *plan, struct sdf_imu_state *state);
/*
 * Call after a change of parameters: draws those biases again whose law at load has changed, and takes a new reference if
 * its parameters have changed.
 */
void sdf_imu_adapt(const struct sdf_imu_plan *plan, const struct sdf_imu_params *old_params,
                   const struct sdf_imu_params *new_params, struct sdf_imu_state *state);
bool sdf_imu_state_is_finite(const struct sdf_imu_state *state);

/* True if sample n is before the start time of the sensor. */
bool sdf_imu_is_waiting(const struct sdf_imu_plan *plan, uint64_t n);
/* True if a sample at this tick has no new physics. */
bool sdf_imu_is_redundant(const struct sdf_imu_state *state, uint64_t tick);
/*
 * Repeats the last record with the current covariances. SDF_NOTHING if repeated records are to be discarded and the record
 * would be the same.
 */
enum sdf_imu_result sdf_imu_repeat(const struct sdf_imu_params *params, const struct sdf_imu_plan *plan,
                                   struct sdf_imu_state *state, struct oto_imu_record *record);
/* Makes one sample of new physics in a zeroed record. SDF_NOTHING, with the state unchanged, if the physics is not finite. */
enum sdf_imu_result sdf_imu_measure(const struct sdf_imu_params *params, const struct sdf_imu_plan *plan,
                                    struct sdf_imu_state *state, const struct sdf_imu_physics *physics,
                                    struct oto_imu_record *record);

#endif
