#include "num_strapdown.h"

void num_strapdown_start(struct num_strapdown *s, oto_quat q_enu_from_body, oto_vec3 velocity_enu_m_s,
                         oto_vec3 position_enu_m)
{
    *s = (struct num_strapdown){q_enu_from_body, velocity_enu_m_s, position_enu_m, {0.0, 0.0, 0.0}, 0.0};
}

/*
 * The acceleration within a step is its mean over the step plus a slope j, estimated from the previous step. Integrated
 * twice from the start of the step the slope gives j dt³/6, of which half the mean already contains j dt³/4: the
 * correction is - j dt³/12.
 */
static oto_vec3 way_of(const struct num_strapdown *s, oto_vec3 accel_enu_m_s2, oto_vec3 force_enu_m_s2, double dt_s)
{
    oto_vec3 way = oto_vec3_scale(s->velocity_enu_m_s, dt_s);
    way = oto_vec3_add_scaled(way, accel_enu_m_s2, 0.5 * dt_s * dt_s);
    if (s->last_dt_s > 0.0) {
        const oto_vec3 change = oto_vec3_sub(force_enu_m_s2, s->last_accel_enu_m_s2);
        way = oto_vec3_add_scaled(way, change, -dt_s * dt_s * dt_s / (6.0 * (dt_s + s->last_dt_s)));
    }
    return way;
}

void num_strapdown_advance(struct num_strapdown *s, const struct num_strapdown_delta *delta, double dt_s,
                           oto_vec3 gravity_enu_m_s2, oto_vec3 earth_rate_enu_rad_s)
{
    const bool turns = oto_vec3_norm_sq(earth_rate_enu_rad_s) > 0.0;
    const oto_quat turn = oto_quat_from_rotvec(delta->angle_rad);
    oto_vec3 force = oto_vec3_scale(oto_quat_rotate(s->q_enu_from_body, delta->velocity_m_s), 1.0 / dt_s);
    oto_vec3 accel, coriolis;
    oto_quat next = oto_quat_mul(s->q_enu_from_body, turn);
    if (turns) {
        /*
         * The ENU axes rotate with the Earth: on average by half of the angle during the step, and by the whole angle at
         * its end.
         */
        force = oto_vec3_add_scaled(force, oto_vec3_cross(earth_rate_enu_rad_s, force), -0.5 * dt_s);
        next = oto_quat_mul(oto_quat_from_rotvec(oto_vec3_scale(earth_rate_enu_rad_s, -dt_s)), next);
    }
    accel = oto_vec3_add(force, gravity_enu_m_s2);
    if (turns) {
        coriolis = oto_vec3_cross(earth_rate_enu_rad_s, oto_vec3_add_scaled(s->velocity_enu_m_s, accel, 0.5 * dt_s));
        accel = oto_vec3_add_scaled(accel, coriolis, -2.0);
    }
    s->position_enu_m = oto_vec3_add(s->position_enu_m, way_of(s, accel, force, dt_s));
    s->velocity_enu_m_s = oto_vec3_add_scaled(s->velocity_enu_m_s, accel, dt_s);
    s->q_enu_from_body = oto_quat_normalize(next);
    s->last_accel_enu_m_s2 = force;
    s->last_dt_s = dt_s;
}

/*
 * With rate w0 + dw τ and force f0 + df τ, τ in [0, 1]: the rotation vector is dt (w0 + w1)/2 + dt²/12 w0×w1. The
 * velocity ∫ (1 + [θ]× + ½[θ]×²) f dt has the first-order term dt² (w0×f0/2 + w0×df/3 + dw×f0/6 + dw×df/8), and the
 * second-order term dt³/6 w×(w×f) of the mean values.
 */
struct num_strapdown_delta num_strapdown_between(const struct num_strapdown_sample *before,
                                                 const struct num_strapdown_sample *now, double dt_s)
{
    const oto_vec3 w0 = before->angular_rate_rad_s, w1 = now->angular_rate_rad_s;
    const oto_vec3 f0 = before->specific_force_m_s2, f1 = now->specific_force_m_s2;
    const oto_vec3 dw = oto_vec3_sub(w1, w0), df = oto_vec3_sub(f1, f0);
    const oto_vec3 w = oto_vec3_scale(oto_vec3_add(w0, w1), 0.5), f = oto_vec3_scale(oto_vec3_add(f0, f1), 0.5);
    const double dt2 = dt_s * dt_s;
    struct num_strapdown_delta delta;
    delta.angle_rad = oto_vec3_add_scaled(oto_vec3_scale(w, dt_s), oto_vec3_cross(w0, w1), dt2 / 12.0);
    delta.velocity_m_s = oto_vec3_scale(f, dt_s);
    delta.velocity_m_s = oto_vec3_add_scaled(delta.velocity_m_s, oto_vec3_cross(w0, f0), dt2 / 2.0);
    delta.velocity_m_s = oto_vec3_add_scaled(delta.velocity_m_s, oto_vec3_cross(w0, df), dt2 / 3.0);
    delta.velocity_m_s = oto_vec3_add_scaled(delta.velocity_m_s, oto_vec3_cross(dw, f0), dt2 / 6.0);
    delta.velocity_m_s = oto_vec3_add_scaled(delta.velocity_m_s, oto_vec3_cross(dw, df), dt2 / 8.0);
    delta.velocity_m_s = oto_vec3_add_scaled(delta.velocity_m_s, oto_vec3_cross(w, oto_vec3_cross(w, f)), dt2 * dt_s / 6.0);
    return delta;
}
