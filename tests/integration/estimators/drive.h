/*
 * A smooth drive in closed form but for the position, which is integrated by Simpson's rule: standstill, then speed and
 * heading that change all the time, with a little pitch and roll. Body x points along the velocity.
 */
#ifndef DRIVE_H
#define DRIVE_H

#include "otolith/records.h"

#define DRIVE_REST_S 3.0

struct drive {
    double t_s;
    oto_vec3 position_enu_m;
};

/* Speed 6 (1 - cos(0.35 u)) m/s, u seconds after the start; *accel is its derivative, which is zero at the start too. */
static inline double drive_speed(double t_s, double *accel)
{
    const double u = t_s - DRIVE_REST_S;
    if (u <= 0.0) {
        *accel = 0.0;
        return 0.0;
    }
    *accel = 6.0 * 0.35 * oto_sin(0.35 * u);
    return 6.0 * (1.0 - oto_cos(0.35 * u));
}

/* Heading, pitch and roll with their first two derivatives; all begin at rest with the third power of time. */
static inline void drive_angle(double t_s, double size, double rate, double *angle)
{
    const double u = t_s > DRIVE_REST_S ? t_s - DRIVE_REST_S : 0.0, ramp = u / (1.0 + u);
    const double r1 = 1.0 / ((1.0 + u) * (1.0 + u)), r2 = -2.0 * r1 / (1.0 + u);
    const double c = ramp * ramp * ramp, c1 = 3 * ramp * ramp * r1, c2 = 6 * ramp * r1 * r1 + 3 * ramp * ramp * r2;
    const double s = oto_sin(rate * u), s1 = rate * oto_cos(rate * u), s2 = -rate * rate * s;
    angle[0] = size * c * s;
    angle[1] = u > 0 ? size * (c1 * s + c * s1) : 0.0;
    angle[2] = u > 0 ? size * (c2 * s + 2 * c1 * s1 + c * s2) : 0.0;
}

static inline oto_quat drive_attitude(double t_s, oto_vec3 *rate_body, oto_vec3 *rate_change_body)
{
    double yaw[3], pitch[3], roll[3], sr, cr, sp, cp;
    drive_angle(t_s, 1.6, 0.3, yaw);
    drive_angle(t_s, 0.06, 0.8, pitch);
    drive_angle(t_s, 0.05, 1.1, roll);
    oto_sincos(roll[0], &sr, &cr);
    oto_sincos(pitch[0], &sp, &cp);
    *rate_body = oto_vec3_make(roll[1] - sp * yaw[1], cr * pitch[1] + sr * cp * yaw[1], -sr * pitch[1] + cr * cp * yaw[1]);
    *rate_change_body = oto_vec3_make(
        roll[2] - sp * yaw[2] - cp * pitch[1] * yaw[1],
        cr * pitch[2] - sr * roll[1] * pitch[1] + sr * cp * yaw[2] + (cr * cp * roll[1] - sr * sp * pitch[1]) * yaw[1],
        -sr * pitch[2] - cr * roll[1] * pitch[1] + cr * cp * yaw[2] - (sr * cp * roll[1] + cr * sp * pitch[1]) * yaw[1]);
    return oto_quat_from_rpy(roll[0], pitch[0], yaw[0] + 0.7);
}

static inline oto_vec3 drive_velocity(double t_s)
{
    double accel;
    oto_vec3 rate, change;
    const double speed = drive_speed(t_s, &accel);
    return oto_quat_rotate(drive_attitude(t_s, &rate, &change), oto_vec3_make(speed, 0, 0));
}

/* The truth at t_s, not before the last one asked for. */
static inline struct oto_truth_record drive_truth(struct drive *drive, double t_s)
{
    struct oto_truth_record truth = {.position_enu_m = {0, 0, 0}};
    const double h = t_s - drive->t_s;
    oto_vec3 sum = oto_vec3_add(drive_velocity(drive->t_s), drive_velocity(t_s));
    sum = oto_vec3_add_scaled(sum, drive_velocity(drive->t_s + 0.5 * h), 4.0);
    drive->position_enu_m = oto_vec3_add_scaled(drive->position_enu_m, sum, h / 6.0);
    drive->t_s = t_s;
    double accel;
    const double speed = drive_speed(t_s, &accel);
    truth.q_enu_from_body = drive_attitude(t_s, &truth.angular_rate_body_rad_s, &truth.angular_accel_body_rad_s2);
    truth.position_enu_m = drive->position_enu_m;
    truth.velocity_enu_m_s = oto_quat_rotate(truth.q_enu_from_body, oto_vec3_make(speed, 0, 0));
    const oto_vec3 turning = oto_vec3_cross(truth.angular_rate_body_rad_s, oto_vec3_make(speed, 0, 0));
    truth.accel_enu_m_s2 = oto_quat_rotate(truth.q_enu_from_body, oto_vec3_add(turning, oto_vec3_make(accel, 0, 0)));
    truth.longitudinal_speed_m_s = speed;
    return truth;
}

/* Velocity of a point of the body, in body axes. */
static inline oto_vec3 drive_point_velocity(const struct oto_truth_record *truth, oto_vec3 lever_m)
{
    return oto_vec3_add(oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s),
                        oto_vec3_cross(truth->angular_rate_body_rad_s, lever_m));
}

/* Specific force at a point of the body, in body axes. */
static inline oto_vec3 drive_force(const struct oto_truth_record *truth, oto_vec3 lever_m, oto_vec3 gravity_enu_m_s2)
{
    const oto_vec3 w = truth->angular_rate_body_rad_s;
    oto_vec3 f = oto_quat_rotate_inv(truth->q_enu_from_body, oto_vec3_sub(truth->accel_enu_m_s2, gravity_enu_m_s2));
    f = oto_vec3_add(f, oto_vec3_cross(truth->angular_accel_body_rad_s2, lever_m));
    return oto_vec3_add(f, oto_vec3_cross(w, oto_vec3_cross(w, lever_m)));
}

#endif
