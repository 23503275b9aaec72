#include "course.h"

#include <string.h>

#define UNIT_TOLERANCE 1e-12 /* a quaternion this close to length 1 keeps its bits */

static oto_quat attitude_of(const struct course_point *point)
{
    const double *v = point->values;
    return oto_quat_make(v[QUANTITY_Q_W], v[QUANTITY_Q_X], v[QUANTITY_Q_Y], v[QUANTITY_Q_Z]);
}

bool course_complete(struct course_point *point, bool has_rpy)
{
    double *v = point->values;
    for (uint32_t i = 0; i < QUANTITIES; i++) {
        if (!__builtin_isfinite(v[i])) {
            return false;
        }
    }
    oto_quat q = has_rpy ? oto_quat_from_rpy(v[QUANTITY_ROLL], v[QUANTITY_PITCH], v[QUANTITY_YAW]) : attitude_of(point);
    if (oto_quat_dot(q, q) < 0.25) {
        return false;
    }
    q = oto_quat_is_unit(q, UNIT_TOLERANCE) ? q : oto_quat_normalize(q);
    v[QUANTITY_Q_W] = q.w;
    v[QUANTITY_Q_X] = q.x;
    v[QUANTITY_Q_Y] = q.y;
    v[QUANTITY_Q_Z] = q.z;
    return true;
}

static bool is_given(uint32_t given, uint32_t quantity)
{
    return (given >> quantity & 1u) != 0;
}

/* One axis of position, velocity and acceleration at the point points[1] of three. */
struct axis {
    double p, v, a;
};

static struct axis axis_at(const struct course_point *points, uint32_t given, double step_s, uint32_t i)
{
    const double *before = points[0].values, *now = points[1].values, *after = points[2].values;
    const uint32_t p = QUANTITY_POSITION_X + i, v = QUANTITY_VELOCITY_X + i, a = QUANTITY_ACCEL_X + i;
    struct axis axis = {now[p], now[v], now[a]};
    if (!is_given(given, v)) {
        axis.v = (after[p] - before[p]) / (2.0 * step_s);
    }
    if (!is_given(given, a)) {
        axis.a = is_given(given, v) ? (after[v] - before[v]) / (2.0 * step_s)
                                    : (after[p] - 2.0 * now[p] + before[p]) / (step_s * step_s);
    }
    return axis;
}

/* The rotation from one attitude to the next in body axes, per second. */
static oto_vec3 mean_rate(oto_quat from, oto_quat to, double step_s)
{
    return oto_vec3_scale(oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(from), to)), 1.0 / step_s);
}

static void turn_at(const struct course_point *points, uint32_t given, double step_s, struct oto_truth_record *truth)
{
    const oto_quat before = attitude_of(&points[0]), now = attitude_of(&points[1]), after = attitude_of(&points[2]);
    const oto_vec3 first = mean_rate(before, now, step_s), second = mean_rate(now, after, step_s);
    double rate[3], accel[3];
    truth->q_enu_from_body = now;
    oto_vec3_to_array(oto_vec3_scale(oto_vec3_add(first, second), 0.5), rate);
    oto_vec3_to_array(oto_vec3_scale(oto_vec3_sub(second, first), 1.0 / step_s), accel);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t w = QUANTITY_RATE_X + i;
        if (is_given(given, w)) {
            rate[i] = points[1].values[w];
            accel[i] = (points[2].values[w] - points[0].values[w]) / (2.0 * step_s);
        }
    }
    truth->angular_rate_body_rad_s = oto_vec3_from_array(rate);
    truth->angular_accel_body_rad_s2 = oto_vec3_from_array(accel);
}

/* The truth at points[1] of three. */
static void truth_at(const struct course_point *points, uint32_t given, double step_s, struct oto_truth_record *truth)
{
    double p[3], v[3], a[3];
    memset(truth, 0, sizeof *truth);
    for (uint32_t i = 0; i < 3; i++) {
        const struct axis axis = axis_at(points, given, step_s, i);
        p[i] = axis.p;
        v[i] = axis.v;
        a[i] = axis.a;
    }
    truth->position_enu_m = oto_vec3_from_array(p);
    truth->velocity_enu_m_s = oto_vec3_from_array(v);
    truth->accel_enu_m_s2 = oto_vec3_from_array(a);
    turn_at(points, given, step_s, truth);
}

/* The quintic with position, velocity and acceleration of both ends; derivatives are by s. */
static struct axis quintic(struct axis from, struct axis to, double s)
{
    const double dp = to.p - from.p;
    const double c2 = 0.5 * from.a;
    const double c3 = 10.0 * dp - 6.0 * from.v - 4.0 * to.v - 1.5 * from.a + 0.5 * to.a;
    const double c4 = -15.0 * dp + 8.0 * from.v + 7.0 * to.v + 1.5 * from.a - to.a;
    const double c5 = 6.0 * dp - 3.0 * (from.v + to.v) - 0.5 * (from.a - to.a);
    return (struct axis){from.p + s * (from.v + s * (c2 + s * (c3 + s * (c4 + s * c5)))),
                         from.v + s * (from.a + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5))),
                         from.a + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))};
}

static void blend_path(const struct oto_truth_record *a, const struct oto_truth_record *b, double step_s, double s,
                       struct oto_truth_record *truth)
{
    double from[9], to[9], out[9];
    const oto_vec3 ends[2][3] = {{a->position_enu_m, a->velocity_enu_m_s, a->accel_enu_m_s2},
                                 {b->position_enu_m, b->velocity_enu_m_s, b->accel_enu_m_s2}};
    for (uint32_t i = 0; i < 3; i++) {
        oto_vec3_to_array(ends[0][i], from + 3 * i);
        oto_vec3_to_array(ends[1][i], to + 3 * i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        const struct axis start = {from[i], from[3 + i] * step_s, from[6 + i] * step_s * step_s};
        const struct axis end = {to[i], to[3 + i] * step_s, to[6 + i] * step_s * step_s};
        const struct axis at = quintic(start, end, s);
        out[i] = at.p;
        out[3 + i] = at.v / step_s;
        out[6 + i] = at.a / (step_s * step_s);
    }
    truth->position_enu_m = oto_vec3_from_array(out);
    truth->velocity_enu_m_s = oto_vec3_from_array(out + 3);
    truth->accel_enu_m_s2 = oto_vec3_from_array(out + 6);
}

void course_truth(const struct course_point points[4], uint32_t given, double step_s, double s, struct oto_truth_record *truth)
{
    struct oto_truth_record from, to;
    if (s <= 0.0) {
        truth_at(points, given, step_s, truth);
    } else if (s >= 1.0) {
        truth_at(points + 1, given, step_s, truth);
    } else {
        truth_at(points, given, step_s, &from);
        truth_at(points + 1, given, step_s, &to);
        memset(truth, 0, sizeof *truth);
        blend_path(&from, &to, step_s, s, truth);
        truth->q_enu_from_body = oto_quat_slerp(from.q_enu_from_body, to.q_enu_from_body, s);
        truth->angular_rate_body_rad_s = oto_vec3_lerp(from.angular_rate_body_rad_s, to.angular_rate_body_rad_s, s);
        truth->angular_accel_body_rad_s2 = oto_vec3_lerp(from.angular_accel_body_rad_s2, to.angular_accel_body_rad_s2, s);
    }
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s).x;
}
