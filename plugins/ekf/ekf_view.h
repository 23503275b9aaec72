/*
 * A common view of the states of all motion models: position, attitude and velocity of the body, each with derivatives
 * by the state. Measurement functions use this view, so that each works with every model that has the needed
 * quantities. Pure functions, callable from any thread.
 */
#ifndef EKF_VIEW_H
#define EKF_VIEW_H

#include <stdbool.h>

#include "num_matrix.h"
#include "num_model.h"

/* Quantities that a model can have. */
enum ekf_need {
    EKF_POSITION = 1 << 0,   /* x, y */
    EKF_ALTITUDE = 1 << 1,   /* z */
    EKF_HEADING = 1 << 2,    /* a yaw, or a course over ground */
    EKF_ATTITUDE = 1 << 3,   /* roll, pitch and yaw, or a quaternion */
    EKF_VELOCITY = 1 << 4,
    EKF_YAW_RATE = 1 << 5,
    EKF_BODY_RATE = 1 << 6,  /* about all three axes */
    EKF_ACCELERATION = 1 << 7,
};

enum { EKF_ABSENT = NUM_MATRIX_MOST };

/* Indices of states; EKF_ABSENT if the model does not have them. */
struct ekf_view {
    const struct num_model *model;
    uint32_t n;
    uint32_t needs; /* bits EKF_… of the quantities that the model has */
    uint32_t x, y, z;
    uint32_t roll, pitch, yaw;
    uint32_t qw;            /* index of the first of four quaternion states */
    uint32_t vx, vy, vz;    /* velocity in ENU axes */
    uint32_t forward, side; /* velocity in body axes */
    uint32_t ax, ay, az;    /* acceleration in ENU axes */
    uint32_t accel;         /* rate of `forward` */
    uint32_t turn;          /* turn rate about the vertical */
    uint32_t roll_rate, pitch_rate, yaw_rate; /* rates of the angles */
    uint32_t wx;            /* index of the first of three body rates */
    double slip_cos, slip_sin; /* direction of `forward` relative to body x */
};

void ekf_view_make(const struct num_model *model, uint32_t n, double slip_rad, struct ekf_view *view);

/* A vector and its derivatives: j[axis * n + state]. */
struct ekf_vector {
    double v[3];
    double j[3 * NUM_MATRIX_MOST];
};

/* enu_from_body and its derivatives by `count` states. */
struct ekf_attitude {
    oto_mat3 r;
    uint32_t count;
    uint32_t state[4];
    oto_mat3 d[4];
};

/* Functions return false if the state does not define the quantity: a vehicle at rest has no course. */
bool ekf_attitude_of(const struct ekf_view *view, const double *x, struct ekf_attitude *attitude);
bool ekf_body_velocity(const struct ekf_view *view, const double *x, struct ekf_vector *velocity);
void ekf_enu_velocity(const struct ekf_view *view, const double *x, struct ekf_vector *velocity);
bool ekf_body_rate(const struct ekf_view *view, const double *x, struct ekf_vector *rate);
/* Acceleration of the body origin in body axes, without gravity. */
bool ekf_body_acceleration(const struct ekf_view *view, const double *x, struct ekf_vector *acceleration);
/* Adds rᵀ u, for a constant ENU vector u, to `out`. */
void ekf_add_from_enu(const struct ekf_view *view, const struct ekf_attitude *attitude, oto_vec3 u,
                      struct ekf_vector *out);

/*
 * body rates = matrix (roll rate, pitch rate, yaw rate); also small rotations about body axes from small changes of the
 * angles.
 */
oto_mat3 ekf_rates_from_angles(double roll_rad, double pitch_rad);

#endif
