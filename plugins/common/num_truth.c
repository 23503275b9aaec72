#include "num_truth.h"

#include <string.h>

#include "otolith/detmath.h"

struct angles {
    double sr, cr, sp, cp; /* sine and cosine of roll and pitch */
};

static struct angles angles_of(oto_vec3 rpy)
{
    struct angles a;
    oto_sincos(rpy.x, &a.sr, &a.cr);
    oto_sincos(rpy.y, &a.sp, &a.cp);
    return a;
}

/* The angular rate in body axes for these rates of the angles. */
static oto_vec3 body_from_angles(const struct angles *a, oto_vec3 rate)
{
    return oto_vec3_make(rate.x - rate.z * a->sp, rate.y * a->cr + rate.z * a->sr * a->cp,
                         -rate.y * a->sr + rate.z * a->cr * a->cp);
}

static oto_vec3 angles_from_body(const struct angles *a, oto_vec3 w)
{
    const double turned = w.y * a->sr + w.z * a->cr;
    const double yaw = oto_fabs(a->cp) > 1e-7 ? turned / a->cp : 0.0;
    return oto_vec3_make(w.x + yaw * a->sp, w.y * a->cr - w.z * a->sr, yaw);
}

/*
 * The part of the angular acceleration that comes from the rotation of the axes: the derivative of body_from_angles at
 * constant rates.
 */
static oto_vec3 turning_of_axes(const struct angles *a, oto_vec3 rate)
{
    const double roll = rate.x, pitch = rate.y, yaw = rate.z;
    return oto_vec3_make(-yaw * pitch * a->cp,
                         -pitch * roll * a->sr + yaw * (roll * a->cr * a->cp - pitch * a->sr * a->sp),
                         -pitch * roll * a->cr - yaw * (roll * a->sr * a->cp + pitch * a->cr * a->sp));
}

void num_truth_from_pose(const struct num_pose *pose, struct oto_truth_record *truth)
{
    const struct angles a = angles_of(pose->rpy_rad);
    memset(truth, 0, sizeof *truth);
    truth->position_enu_m = pose->position_enu_m;
    truth->velocity_enu_m_s = pose->velocity_enu_m_s;
    truth->accel_enu_m_s2 = pose->accel_enu_m_s2;
    truth->q_enu_from_body = oto_quat_from_rpy(pose->rpy_rad.x, pose->rpy_rad.y, pose->rpy_rad.z);
    truth->angular_rate_body_rad_s = body_from_angles(&a, pose->rpy_rate_rad_s);
    truth->angular_accel_body_rad_s2 =
        oto_vec3_add(body_from_angles(&a, pose->rpy_accel_rad_s2), turning_of_axes(&a, pose->rpy_rate_rad_s));
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, pose->velocity_enu_m_s).x;
}

void num_pose_from_truth(const struct oto_truth_record *truth, struct num_pose *pose)
{
    pose->position_enu_m = truth->position_enu_m;
    pose->velocity_enu_m_s = truth->velocity_enu_m_s;
    pose->accel_enu_m_s2 = truth->accel_enu_m_s2;
    pose->rpy_rad = oto_rpy_from_quat(truth->q_enu_from_body);
    const struct angles a = angles_of(pose->rpy_rad);
    pose->rpy_rate_rad_s = angles_from_body(&a, truth->angular_rate_body_rad_s);
    pose->rpy_accel_rad_s2 = angles_from_body(
        &a, oto_vec3_sub(truth->angular_accel_body_rad_s2, turning_of_axes(&a, pose->rpy_rate_rad_s)));
}

/*
 * With q = s/|s|, omega = 2 vec(s* ṡ)/|s|² and its derivative 2 vec(s* s̈)/|s|² - omega (2 s·ṡ)/|s|², both exact.
 */
void num_truth_set_attitude(oto_quat s, oto_quat rate, oto_quat accel, struct oto_truth_record *truth)
{
    double scale = 2.0 / oto_quat_dot(s, s), stretch = scale * oto_quat_dot(s, rate);
    oto_quat w = oto_quat_mul(oto_quat_conj(s), rate), dw = oto_quat_mul(oto_quat_conj(s), accel);
    oto_vec3 omega = oto_vec3_make(scale * w.x, scale * w.y, scale * w.z);
    truth->q_enu_from_body = oto_quat_normalize(s);
    truth->angular_rate_body_rad_s = omega;
    truth->angular_accel_body_rad_s2 = oto_vec3_make(
        scale * dw.x - stretch * omega.x, scale * dw.y - stretch * omega.y, scale * dw.z - stretch * omega.z);
}

void num_pose_along_course(struct num_pose *pose)
{
    const oto_vec3 v = pose->velocity_enu_m_s, a = pose->accel_enu_m_s2;
    const double v2 = v.x * v.x + v.y * v.y;
    const bool moves = v2 > 1e-200; /* otherwise a/v overflows */
    const double rate = moves ? (v.x * a.y - v.y * a.x) / v2 : 0.0;
    const double yaw = moves ? oto_atan2(v.y, v.x) : oto_atan2(a.y, a.x);
    const double slowing = moves ? -2.0 * rate * ((v.x * a.x + v.y * a.y) / v2) : 0.0;
    pose->rpy_rad = oto_vec3_make(0.0, 0.0, yaw);
    pose->rpy_rate_rad_s = oto_vec3_make(0.0, 0.0, rate);
    pose->rpy_accel_rad_s2 = oto_vec3_make(0.0, 0.0, slowing);
}
