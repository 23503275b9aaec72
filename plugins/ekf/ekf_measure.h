/*
 * The measurement functions of the filter, by name. Each returns the innovation (measured minus expected, angles
 * wrapped) and the Jacobian of the expectation. Pure functions, callable from any thread. README.md has the equations.
 */
#ifndef EKF_MEASURE_H
#define EKF_MEASURE_H

#include "ekf_params.h"
#include "ekf_view.h"
#include "num_kalman.h"

/* One measurement with names resolved: the constants of its function. */
struct ekf_sensor {
    uint32_t function; /* index into ekf_functions */
    uint32_t field_count;
    uint32_t components;                /* bits that select axes, for functions with axes */
    uint32_t m;                         /* rows of the innovation */
    uint32_t states[NUM_KALMAN_ROWS];   /* function linear: the states that are measured */
    uint32_t wraps[NUM_KALMAN_ROWS];    /* function linear: 1: the state is an angle */
    double scale;
    oto_vec3 sensor_position_enu_m; /* position of a sensor that measures ranges */
    oto_vec3 mount_position_body_m;
    oto_quat q_body_from_sensor;
    double gravity_m_s2;
    double field_azimuth_rad; /* azimuth of the magnetic field, from east */
};

struct ekf_function {
    const char *name, *text;
    uint32_t least_fields, most_fields;
    uint32_t rows;           /* rows of the innovation; 0: one for each field */
    uint32_t needs;          /* bits EKF_… that a model must have */
    uint32_t axes;           /* 1: `components` selects axes among x, y, z */
    const char *const *fields; /* names in the standard records, as many as most_fields; NULL: the parameters must name them */
    /* Computes the rows of y and of h (zeroed, rows × n). False if the state does not define them. */
    bool (*residual)(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                     double *y, double *h);
};

enum ekf_function_number {
    EKF_LINEAR,
    EKF_POSITION_FIX,
    EKF_RANGE_BEARING_RANGE_RATE,
    EKF_RANGE_BEARING,
    EKF_RANGE,
    EKF_BEARING,
    EKF_BODY_SPEED,
    EKF_BODY_VELOCITY,
    EKF_ENU_VELOCITY,
    EKF_HEADING_ANGLE,
    EKF_MAGNETIC_HEADING,
    EKF_YAW_RATE_ABOUT_Z,
    EKF_ANGULAR_RATE,
    EKF_ATTITUDE_QUATERNION,
    EKF_SPECIFIC_FORCE,
    EKF_FUNCTIONS
};
extern const struct ekf_function ekf_functions[EKF_FUNCTIONS];

/*
 * Innovation and Jacobian of the rows in `components`. `z` are the fields, scaled. False if the state does not define
 * the measurement.
 */
bool ekf_measure(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                 struct num_kalman_row *row);

/* The position given by range and bearing in `z`, and its derivatives by range and bearing (row-major). */
void ekf_place_of_range(const struct ekf_sensor *sensor, const double *z, double place[2], double by_polar[4]);

#endif
