#include "sim/interpolate.h"

#include <string.h>

/* The value of the quintic on [0, 1] with the given ends, and its first two derivatives. Derivatives are by s. */
struct quintic {
    double p, v, a;
};

static struct quintic quintic_at(struct quintic from, struct quintic to, double s)
{
    const double dp = to.p - from.p;
    const double c3 = 10.0 * dp - 6.0 * from.v - 4.0 * to.v - 1.5 * from.a + 0.5 * to.a;
    const double c4 = -15.0 * dp + 8.0 * from.v + 7.0 * to.v + 1.5 * from.a - to.a;
    const double c5 = 6.0 * dp - 3.0 * (from.v + to.v) - 0.5 * (from.a - to.a);
    const double c2 = 0.5 * from.a;
    struct quintic at;
    at.p = from.p + s * (from.v + s * (c2 + s * (c3 + s * (c4 + s * c5))));
    at.v = from.v + s * (from.a + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)));
    at.a = from.a + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5));
    return at;
}

/* Offsets of position, velocity and acceleration in a truth record, in doubles. */
enum { POSITION = 0, VELOCITY = 3, ACCEL = 6 };
_Static_assert(offsetof(struct oto_truth_record, velocity_enu_m_s) == 8 * VELOCITY, "truth record layout");
_Static_assert(offsetof(struct oto_truth_record, accel_enu_m_s2) == 8 * ACCEL, "truth record layout");

static void interpolate_path(const double *a, const double *b, double dt_s, double s, double *out)
{
    for (int axis = 0; axis < 3; axis++) {
        const struct quintic from = {a[POSITION + axis], a[VELOCITY + axis] * dt_s, a[ACCEL + axis] * dt_s * dt_s};
        const struct quintic to = {b[POSITION + axis], b[VELOCITY + axis] * dt_s, b[ACCEL + axis] * dt_s * dt_s};
        const struct quintic at = quintic_at(from, to, s);
        out[POSITION + axis] = at.p;
        out[VELOCITY + axis] = at.v / dt_s;
        out[ACCEL + axis] = at.a / (dt_s * dt_s);
    }
}

void srv_truth_interpolate(const struct oto_truth_record *a, const struct oto_truth_record *b, double dt_s, double s,
                           struct oto_truth_record *truth)
{
    struct oto_truth_record out;
    memset(&out, 0, sizeof out);
    interpolate_path(&a->position_enu_m.x, &b->position_enu_m.x, dt_s, s, &out.position_enu_m.x);
    out.q_enu_from_body = oto_quat_slerp(a->q_enu_from_body, b->q_enu_from_body, s);
    out.angular_rate_body_rad_s = oto_vec3_lerp(a->angular_rate_body_rad_s, b->angular_rate_body_rad_s, s);
    out.angular_accel_body_rad_s2 = oto_vec3_lerp(a->angular_accel_body_rad_s2, b->angular_accel_body_rad_s2, s);
    out.longitudinal_speed_m_s =
        a->longitudinal_speed_m_s + s * (b->longitudinal_speed_m_s - a->longitudinal_speed_m_s);
    *truth = out;
}
