#include "num_blend.h"

#include <string.h>

#include "num_truth.h"

#define SHORTEST_S 1.0
#define LONGEST_S 10.0
#define GENTLE_M_S2 3.0 /* limit of the acceleration while the velocity is blended */

static bool is_finite(const struct oto_truth_record *t)
{
    return oto_vec3_is_finite(t->position_enu_m) && oto_vec3_is_finite(t->velocity_enu_m_s) &&
           oto_vec3_is_finite(t->accel_enu_m_s2) && oto_quat_is_finite(t->q_enu_from_body) &&
           oto_vec3_is_finite(t->angular_rate_body_rad_s) && oto_vec3_is_finite(t->angular_accel_body_rad_s2);
}

static oto_quat pure(oto_vec3 v, double by)
{
    return oto_quat_make(0.0, by * v.x, by * v.y, by * v.z);
}

static oto_quat add_scaled(oto_quat a, oto_quat b, double by)
{
    return oto_quat_make(a.w + b.w * by, a.x + b.x * by, a.y + b.y * by, a.z + b.z * by);
}

/* The rotation about the vertical axis that is nearest to q. */
static oto_quat yaw_part(oto_quat q)
{
    return q.w == 0.0 && q.z == 0.0 ? oto_quat_identity() : oto_quat_normalize(oto_quat_make(q.w, 0.0, 0.0, q.z));
}

enum oto_status num_blend_begin(struct num_blend *blend, const struct oto_truth_record *source,
                                const struct oto_truth_record *adopted, struct oto_instant at)
{
    oto_quat turned, left;
    oto_vec3 rate_left;
    double fastest_m_s;
    if (!is_finite(adopted) || !is_finite(source) || !oto_quat_is_unit(adopted->q_enu_from_body, 1e-6))
        return OTO_INVALID;
    memset(blend, 0, sizeof *blend);
    blend->active = 1;
    blend->epoch = at;
    blend->adopted = *adopted;
    blend->source_position_enu_m = source->position_enu_m;
    blend->q_enu_from_source = yaw_part(oto_quat_mul(adopted->q_enu_from_body, oto_quat_conj(source->q_enu_from_body)));
    blend->velocity_left_enu_m_s = oto_vec3_sub(adopted->velocity_enu_m_s, oto_quat_rotate(blend->q_enu_from_source, source->velocity_enu_m_s));
    blend->accel_left_enu_m_s2 = oto_vec3_sub(adopted->accel_enu_m_s2, oto_quat_rotate(blend->q_enu_from_source, source->accel_enu_m_s2));
    turned = oto_quat_mul(blend->q_enu_from_source, source->q_enu_from_body);
    left = oto_quat_mul(oto_quat_conj(turned), oto_quat_normalize(adopted->q_enu_from_body));
    if (left.w < 0.0)
        left = oto_quat_neg(left);
    rate_left = oto_vec3_sub(adopted->angular_rate_body_rad_s, oto_quat_rotate_inv(left, source->angular_rate_body_rad_s));
    blend->attitude_left = left;
    blend->attitude_rate_left = oto_quat_mul(left, pure(rate_left, 0.5));
    fastest_m_s = oto_vec3_norm(blend->velocity_left_enu_m_s);
    blend->duration_s = 1.5 * fastest_m_s / GENTLE_M_S2;
    blend->duration_s = blend->duration_s < SHORTEST_S ? SHORTEST_S : blend->duration_s;
    blend->duration_s = blend->duration_s > LONGEST_S ? LONGEST_S : blend->duration_s;
    return OTO_OK;
}

struct oto_instant num_blend_source_time(const struct num_blend *blend, struct oto_instant at)
{
    if (!blend->active)
        return at;
    at.t_ns -= blend->epoch.t_ns;
    at.sub_ns -= blend->epoch.sub_ns;
    if (at.sub_ns < 0.0) {
        at.sub_ns += 1.0;
        at.t_ns -= 1;
    }
    if (at.t_ns < 0) {
        at.t_ns = 0;
        at.sub_ns = 0.0;
    }
    return at;
}

/* Extrapolates before the epoch with the acceleration and the angular rate at the epoch. */
static void before_epoch(const struct num_blend *blend, double tau_s, struct oto_truth_record *truth)
{
    const struct oto_truth_record *at = &blend->adopted;
    const oto_quat turn = oto_quat_from_rotvec(oto_vec3_scale(at->angular_rate_body_rad_s, tau_s));
    *truth = *at;
    truth->position_enu_m = oto_vec3_add_scaled(oto_vec3_add_scaled(at->position_enu_m, at->velocity_enu_m_s, tau_s),
                                                at->accel_enu_m_s2, 0.5 * tau_s * tau_s);
    truth->velocity_enu_m_s = oto_vec3_add_scaled(at->velocity_enu_m_s, at->accel_enu_m_s2, tau_s);
    truth->q_enu_from_body = oto_quat_normalize(oto_quat_mul(at->q_enu_from_body, turn));
    truth->angular_accel_body_rad_s2 = oto_vec3_zero();
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s).x;
}

static void move_rigidly(const struct num_blend *blend, struct oto_truth_record *truth)
{
    const oto_quat q = blend->q_enu_from_source;
    const oto_vec3 way = oto_vec3_sub(truth->position_enu_m, blend->source_position_enu_m);
    truth->position_enu_m = oto_vec3_add(blend->adopted.position_enu_m, oto_quat_rotate(q, way));
    truth->velocity_enu_m_s = oto_quat_rotate(q, truth->velocity_enu_m_s);
    truth->accel_enu_m_s2 = oto_quat_rotate(q, truth->accel_enu_m_s2);
    truth->q_enu_from_body = oto_quat_mul(q, truth->q_enu_from_body);
}

/*
 * The remaining velocity is blended out. With s = tau/T it is v(2s³ - 3s² + 1) + aT(s³ - 2s² + s), which falls from v, with
 * the initial slope a, to zero. Its integral is added to the position.
 */
static void add_velocity_left(const struct num_blend *blend, double s, struct oto_truth_record *truth)
{
    const double T = blend->duration_s, s2 = s * s, s3 = s2 * s, s4 = s2 * s2;
    const oto_vec3 v = blend->velocity_left_enu_m_s, a = blend->accel_left_enu_m_s2;
    truth->position_enu_m = oto_vec3_add_scaled(truth->position_enu_m, v, T * (0.5 * s4 - s3 + s));
    truth->position_enu_m = oto_vec3_add_scaled(truth->position_enu_m, a, T * T * (0.25 * s4 - 2.0 / 3.0 * s3 + 0.5 * s2));
    truth->velocity_enu_m_s = oto_vec3_add_scaled(truth->velocity_enu_m_s, v, 2.0 * s3 - 3.0 * s2 + 1.0);
    truth->velocity_enu_m_s = oto_vec3_add_scaled(truth->velocity_enu_m_s, a, T * (s3 - 2.0 * s2 + s));
    truth->accel_enu_m_s2 = oto_vec3_add_scaled(truth->accel_enu_m_s2, v, 6.0 * (s2 - s) / T);
    truth->accel_enu_m_s2 = oto_vec3_add_scaled(truth->accel_enu_m_s2, a, 3.0 * s2 - 4.0 * s + 1.0);
}

/*
 * The remaining attitude is d = 1 + (d0 - 1) h + d0' k with h = 1 - smoothstep(s) and k = T(s - 6s³ + 8s⁴ - 3s⁵). The
 * quaternion d is not normalised and never zero. With p the attitude of the source, the product p d is differentiated
 * without normalising.
 */
static void add_attitude_left(const struct num_blend *blend, double s, struct oto_truth_record *truth)
{
    const double T = blend->duration_s, s2 = s * s, s3 = s2 * s;
    const double h = 1.0 - s3 * (10.0 - 15.0 * s + 6.0 * s2), h1 = -30.0 * s2 * (1.0 - s) * (1.0 - s) / T;
    const double h2 = -60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (T * T);
    const double k = T * s * (1.0 - s2 * (6.0 - 8.0 * s + 3.0 * s2)), k1 = 1.0 - s2 * (18.0 - 32.0 * s + 15.0 * s2);
    const double k2 = -s * (36.0 - 96.0 * s + 60.0 * s2) / T;
    const oto_quat one = oto_quat_identity(), off = add_scaled(blend->attitude_left, one, -1.0);
    const oto_quat rate = blend->attitude_rate_left, none = oto_quat_make(0.0, 0.0, 0.0, 0.0);
    const oto_quat d = add_scaled(add_scaled(one, off, h), rate, k);
    const oto_quat d1 = add_scaled(add_scaled(none, off, h1), rate, k1);
    const oto_quat d2 = add_scaled(add_scaled(none, off, h2), rate, k2);
    const oto_quat p = truth->q_enu_from_body, w = pure(truth->angular_rate_body_rad_s, 0.5);
    const oto_quat p1 = oto_quat_mul(p, w);
    const oto_quat p2 = add_scaled(oto_quat_mul(p1, w), oto_quat_mul(p, pure(truth->angular_accel_body_rad_s2, 0.5)), 1.0);
    const oto_quat rate_of = add_scaled(oto_quat_mul(p1, d), oto_quat_mul(p, d1), 1.0);
    const oto_quat accel_of = add_scaled(add_scaled(oto_quat_mul(p2, d), oto_quat_mul(p1, d1), 2.0), oto_quat_mul(p, d2), 1.0);
    num_truth_set_attitude(oto_quat_mul(p, d), rate_of, accel_of, truth);
}

void num_blend_apply(const struct num_blend *blend, struct oto_instant at, struct oto_truth_record *truth)
{
    double tau_s, s;
    if (!blend->active)
        return;
    tau_s = (double)(at.t_ns - blend->epoch.t_ns) * 1e-9 + (at.sub_ns - blend->epoch.sub_ns) * 1e-9;
    if (tau_s < 0.0) {
        before_epoch(blend, tau_s, truth);
        return;
    }
    move_rigidly(blend, truth);
    s = tau_s < blend->duration_s ? tau_s / blend->duration_s : 1.0;
    add_velocity_left(blend, s, truth);
    if (s < 1.0)
        add_attitude_left(blend, s, truth);
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s).x;
}

void num_blend_truth(const struct num_blend *blend, num_blend_source *source, const void *motion,
                     struct oto_instant at, struct oto_truth_record *truth)
{
    source(motion, num_blend_source_time(blend, at), truth);
    num_blend_apply(blend, at, truth);
}

enum oto_status num_blend_adopt(struct num_blend *blend, num_blend_source *source, const void *motion,
                                const struct oto_truth_record *adopted, struct oto_instant at)
{
    const struct oto_instant zero = {0, 0.0};
    struct oto_truth_record own;
    source(motion, zero, &own);
    return num_blend_begin(blend, &own, adopted, at);
}
