/*
 * Vectors, quaternions and 3×3 matrices: values copied like numbers, pure functions, callable from any thread, no
 * allocation. Quaternions are Hamilton's, scalar first. q_a_from_b converts b vectors to a, so
 * oto_quat_rotate(q_enu_from_body, v_body) is v in ENU and q_a_from_b * q_b_from_c = q_a_from_c. Matrices are
 * row-major. Roll, pitch, yaw are fixed-axis (extrinsic x, y, z): R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF, SDF and
 * ROS tf. Only + - * / sqrt and detmath.h are used, so every machine and compiler gives the same bits (A19).
 */
#ifndef OTOLITH_VECMATH_H
#define OTOLITH_VECMATH_H

#include "otolith/detmath.h"

#include <stdbool.h>

typedef struct {
    double x, y, z;
} oto_vec3;

typedef struct {
    double w, x, y, z;
} oto_quat;

typedef struct {
    double m[3][3]; /* m[row][column] */
} oto_mat3;

/* ---- vectors ---- */

static inline oto_vec3 oto_vec3_make(double x, double y, double z)
{
    oto_vec3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}

static inline oto_vec3 oto_vec3_zero(void)
{
    return oto_vec3_make(0.0, 0.0, 0.0);
}

static inline oto_vec3 oto_vec3_from_array(const double a[3])
{
    return oto_vec3_make(a[0], a[1], a[2]);
}

static inline void oto_vec3_to_array(oto_vec3 v, double out[3])
{
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

static inline oto_vec3 oto_vec3_add(oto_vec3 a, oto_vec3 b)
{
    return oto_vec3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline oto_vec3 oto_vec3_sub(oto_vec3 a, oto_vec3 b)
{
    return oto_vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline oto_vec3 oto_vec3_neg(oto_vec3 a)
{
    return oto_vec3_make(-a.x, -a.y, -a.z);
}

static inline oto_vec3 oto_vec3_scale(oto_vec3 a, double s)
{
    return oto_vec3_make(a.x * s, a.y * s, a.z * s);
}

/* a + s b */
static inline oto_vec3 oto_vec3_add_scaled(oto_vec3 a, oto_vec3 b, double s)
{
    return oto_vec3_make(a.x + b.x * s, a.y + b.y * s, a.z + b.z * s);
}

/* The product of each pair of elements. */
static inline oto_vec3 oto_vec3_mul(oto_vec3 a, oto_vec3 b)
{
    return oto_vec3_make(a.x * b.x, a.y * b.y, a.z * b.z);
}

/* Linear interpolation: a at s = 0, b at s = 1. */
static inline oto_vec3 oto_vec3_lerp(oto_vec3 a, oto_vec3 b, double s)
{
    return oto_vec3_add(oto_vec3_scale(a, 1.0 - s), oto_vec3_scale(b, s));
}

static inline double oto_vec3_dot(oto_vec3 a, oto_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline oto_vec3 oto_vec3_cross(oto_vec3 a, oto_vec3 b)
{
    return oto_vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline double oto_vec3_norm_sq(oto_vec3 a)
{
    return oto_vec3_dot(a, a);
}

static inline double oto_vec3_norm(oto_vec3 a)
{
    return oto_sqrt(oto_vec3_dot(a, a));
}

static inline bool oto_vec3_is_finite(oto_vec3 a)
{
    return (a.x - a.x) + (a.y - a.y) + (a.z - a.z) == 0.0;
}

/* The zero vector has no direction and is returned unchanged. */
static inline oto_vec3 oto_vec3_normalize(oto_vec3 a)
{
    double norm = oto_vec3_norm(a);
    return norm > 0.0 ? oto_vec3_scale(a, 1.0 / norm) : a;
}

/* ---- matrices ---- */

static inline oto_mat3 oto_mat3_from_rows(oto_vec3 r0, oto_vec3 r1, oto_vec3 r2)
{
    oto_mat3 m;
    oto_vec3_to_array(r0, m.m[0]);
    oto_vec3_to_array(r1, m.m[1]);
    oto_vec3_to_array(r2, m.m[2]);
    return m;
}

static inline oto_mat3 oto_mat3_diagonal(double a, double b, double c)
{
    return oto_mat3_from_rows(oto_vec3_make(a, 0.0, 0.0), oto_vec3_make(0.0, b, 0.0), oto_vec3_make(0.0, 0.0, c));
}

static inline oto_mat3 oto_mat3_identity(void)
{
    return oto_mat3_diagonal(1.0, 1.0, 1.0);
}

/* [a]×, so that [a]× b = a × b. */
static inline oto_mat3 oto_mat3_skew(oto_vec3 a)
{
    return oto_mat3_from_rows(oto_vec3_make(0.0, -a.z, a.y), oto_vec3_make(a.z, 0.0, -a.x),
                              oto_vec3_make(-a.y, a.x, 0.0));
}

static inline oto_mat3 oto_mat3_transpose(oto_mat3 a)
{
    oto_mat3 t;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t.m[i][j] = a.m[j][i];
    return t;
}

static inline oto_mat3 oto_mat3_add(oto_mat3 a, oto_mat3 b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a.m[i][j] += b.m[i][j];
    return a;
}

static inline oto_mat3 oto_mat3_scale(oto_mat3 a, double s)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            a.m[i][j] *= s;
    return a;
}

static inline oto_vec3 oto_mat3_mul_vec(oto_mat3 a, oto_vec3 v)
{
    return oto_vec3_make(a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
                         a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
                         a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z);
}

static inline oto_mat3 oto_mat3_mul(oto_mat3 a, oto_mat3 b)
{
    oto_mat3 c;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] + a.m[i][2] * b.m[2][j];
    return c;
}

static inline double oto_mat3_det(oto_mat3 a)
{
    return a.m[0][0] * (a.m[1][1] * a.m[2][2] - a.m[1][2] * a.m[2][1]) +
           a.m[0][1] * (a.m[1][2] * a.m[2][0] - a.m[1][0] * a.m[2][2]) +
           a.m[0][2] * (a.m[1][0] * a.m[2][1] - a.m[1][1] * a.m[2][0]);
}

/* By cofactors. Returns false and leaves *out alone when the determinant is zero or not finite. */
static inline bool oto_mat3_inverse(oto_mat3 a, oto_mat3 *out)
{
    double det = oto_mat3_det(a);
    double inv_det = 1.0 / det;
    if (!(det != 0.0) || inv_det - inv_det != 0.0)
        return false;
    for (int i = 0; i < 3; i++) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; j++) {
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            out->m[j][i] = (a.m[i1][j1] * a.m[i2][j2] - a.m[i1][j2] * a.m[i2][j1]) * inv_det;
        }
    }
    return true;
}

/* ---- quaternions ---- */

static inline oto_quat oto_quat_make(double w, double x, double y, double z)
{
    oto_quat q;
    q.w = w;
    q.x = x;
    q.y = y;
    q.z = z;
    return q;
}

static inline oto_quat oto_quat_identity(void)
{
    return oto_quat_make(1.0, 0.0, 0.0, 0.0);
}

static inline oto_quat oto_quat_mul(oto_quat a, oto_quat b)
{
    return oto_quat_make(a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                         a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w);
}

static inline oto_quat oto_quat_conj(oto_quat q)
{
    return oto_quat_make(q.w, -q.x, -q.y, -q.z);
}

static inline oto_quat oto_quat_neg(oto_quat q)
{
    return oto_quat_make(-q.w, -q.x, -q.y, -q.z);
}

static inline double oto_quat_dot(oto_quat a, oto_quat b)
{
    return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline bool oto_quat_is_finite(oto_quat q)
{
    return (q.w - q.w) + (q.x - q.x) + (q.y - q.y) + (q.z - q.z) == 0.0;
}

/* |1 - |q|²| <= 2 tol, that is ||q| - 1| <= tol for small tol. NaN is not a unit. */
static inline bool oto_quat_is_unit(oto_quat q, double tol)
{
    return oto_fabs(oto_quat_dot(q, q) - 1.0) <= 2.0 * tol;
}

/* The zero quaternion is not a rotation; the identity is returned. */
static inline oto_quat oto_quat_normalize(oto_quat q)
{
    double norm = oto_sqrt(oto_quat_dot(q, q));
    if (!(norm > 0.0))
        return norm == 0.0 ? oto_quat_identity() : q;
    return oto_quat_make(q.w / norm, q.x / norm, q.y / norm, q.z / norm);
}

/* q v q⁻¹ for a unit q, as v + 2w (u × v) + 2 u × (u × v). */
static inline oto_vec3 oto_quat_rotate(oto_quat q, oto_vec3 v)
{
    oto_vec3 u = oto_vec3_make(q.x, q.y, q.z);
    oto_vec3 t = oto_vec3_scale(oto_vec3_cross(u, v), 2.0);
    return oto_vec3_add(oto_vec3_add_scaled(v, t, q.w), oto_vec3_cross(u, t));
}

static inline oto_vec3 oto_quat_rotate_inv(oto_quat q, oto_vec3 v)
{
    return oto_quat_rotate(oto_quat_conj(q), v);
}

/* Exponential map: a rotation by |r| radians about r. Below 2^-13 rad two Taylor terms reach the last bit. */
static inline oto_quat oto_quat_from_rotvec(oto_vec3 r)
{
    double angle_sq = oto_vec3_norm_sq(r);
    double w, k; /* cos(angle/2), sin(angle/2)/angle */
    if (angle_sq < 0x1p-26) {
        w = 1.0 - angle_sq * 0.125;
        k = 0.5 - angle_sq / 48.0;
    } else {
        double angle = oto_sqrt(angle_sq), s;
        oto_sincos(0.5 * angle, &s, &w);
        k = s / angle;
    }
    return oto_quat_make(w, r.x * k, r.y * k, r.z * k);
}

/* Inverse of the exponential map, shortest path: |result| <= pi. q need not be normalised exactly. */
static inline oto_vec3 oto_quat_to_rotvec(oto_quat q)
{
    oto_vec3 u = oto_vec3_make(q.x, q.y, q.z);
    double s, k;
    if (q.w < 0.0)
        q = oto_quat_neg(q), u = oto_vec3_neg(u);
    s = oto_vec3_norm(u);
    k = s < 0x1p-27 ? 2.0 / q.w : 2.0 * oto_atan2(s, q.w) / s;
    return oto_vec3_scale(u, k);
}

static inline oto_quat oto_quat_from_axis_angle(oto_vec3 axis_unit, double angle_rad)
{
    double s, c;
    oto_sincos(0.5 * angle_rad, &s, &c);
    return oto_quat_make(c, axis_unit.x * s, axis_unit.y * s, axis_unit.z * s);
}

/* Angle of the shortest rotation from a to b, in [0, pi]. */
static inline double oto_quat_angle_between(oto_quat a, oto_quat b)
{
    return oto_vec3_norm(oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(a), b)));
}

static inline oto_quat oto_quat_from_rpy(double roll_rad, double pitch_rad, double yaw_rad)
{
    double sr, cr, sp, cp, sy, cy;
    oto_sincos(0.5 * roll_rad, &sr, &cr);
    oto_sincos(0.5 * pitch_rad, &sp, &cp);
    oto_sincos(0.5 * yaw_rad, &sy, &cy);
    return oto_quat_make(cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy,
                         cr * cp * sy - sr * sp * cy);
}

/* (roll, pitch, yaw) of a unit q; roll and yaw in (-pi, pi], pitch in [-pi/2, pi/2]. Half angles: with
 * a = w - y, b = x + z, c = w + y, d = z - x, pitch = 2 atan2(|c,d|, |a,b|) - pi/2 keeps full precision at the poles
 * (Bernardes & Viollet 2022, "Quaternion to Euler angles conversion"). Within 1e-7 rad of a pole only yaw - roll (up)
 * or yaw + roll (down) is defined; roll is then 0. */
static inline oto_vec3 oto_rpy_from_quat(oto_quat q)
{
    double a = q.w - q.y, b = q.x + q.z, c = q.w + q.y, d = q.z - q.x;
    double up = oto_sqrt(c * c + d * d), down = oto_sqrt(a * a + b * b);
    double pitch = 2.0 * oto_atan2(up, down) - OTO_HALF_PI;
    double half_sum = oto_atan2(b, a), half_diff = oto_atan2(d, c);
    double tiny = 0.5e-7 * (up + down);
    oto_vec3 rpy;
    if (down <= tiny)
        return oto_vec3_make(0.0, pitch, oto_wrap_pi(2.0 * half_diff));
    if (up <= tiny)
        return oto_vec3_make(0.0, pitch, oto_wrap_pi(2.0 * half_sum));
    rpy = oto_vec3_make(oto_wrap_pi(half_sum - half_diff), pitch, oto_wrap_pi(half_sum + half_diff));
    return rpy;
}

static inline oto_mat3 oto_mat3_from_quat(oto_quat q)
{
    double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    double xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return oto_mat3_from_rows(oto_vec3_make(1.0 - 2.0 * (yy + zz), 2.0 * (xy - wz), 2.0 * (xz + wy)),
                              oto_vec3_make(2.0 * (xy + wz), 1.0 - 2.0 * (xx + zz), 2.0 * (yz - wx)),
                              oto_vec3_make(2.0 * (xz - wy), 2.0 * (yz + wx), 1.0 - 2.0 * (xx + yy)));
}

/* From a rotation matrix, by the largest of the four diagonal sums (Shepperd 1978); w >= 0. */
static inline oto_quat oto_quat_from_mat3(oto_mat3 r)
{
    double m00 = r.m[0][0], m11 = r.m[1][1], m22 = r.m[2][2];
    double zy = r.m[2][1] - r.m[1][2], xz = r.m[0][2] - r.m[2][0], yx = r.m[1][0] - r.m[0][1];
    double xy = r.m[1][0] + r.m[0][1], zx = r.m[0][2] + r.m[2][0], yz = r.m[2][1] + r.m[1][2];
    oto_quat q;
    if (m22 < 0.0) {
        if (m00 > m11)
            q = oto_quat_make(zy, 1.0 + m00 - m11 - m22, xy, zx);
        else
            q = oto_quat_make(xz, xy, 1.0 - m00 + m11 - m22, yz);
    } else {
        if (m00 < -m11)
            q = oto_quat_make(yx, zx, yz, 1.0 - m00 - m11 + m22);
        else
            q = oto_quat_make(1.0 + m00 + m11 + m22, zy, xz, yx);
    }
    q = oto_quat_normalize(q);
    return q.w < 0.0 ? oto_quat_neg(q) : q;
}

/* Constant-rate rotation from a (s = 0) to b (s = 1) along the shorter arc. */
static inline oto_quat oto_quat_slerp(oto_quat a, oto_quat b, double s)
{
    oto_quat b_from_a = oto_quat_mul(b, oto_quat_conj(a));
    oto_vec3 rotvec = oto_vec3_scale(oto_quat_to_rotvec(b_from_a), s);
    return oto_quat_normalize(oto_quat_mul(oto_quat_from_rotvec(rotvec), a));
}

#endif
