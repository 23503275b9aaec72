/*
 * A rigid body under forces and moments: fourth-order Runge–Kutta for position, velocity and angular rate. The attitude
 * moves along the exponential map, by a rotation vector that starts at zero in each step (Bortz, "A new mathematical
 * formulation for strapdown inertial navigation", 1971) and is integrated with the rest. Jacobian: the same steps with
 * dual numbers.
 */
#include "num_model.h"

#include <string.h>

#include "otolith/detmath.h"

#define NUM_DUAL_LANES 13
#include "num_dual.h"

enum { POSITION, ATTITUDE = 3, VELOCITY = 7, RATE = 10, STATES = 13 };

#define MOST_STEPS 200000 /* limit for one prediction */

/* ---- vectors of numbers with derivatives ---- */

struct vec {
    struct num_dual c[3];
};

static inline struct vec vec_add_scaled(const struct vec *a, const struct vec *b, double factor, int lanes)
{
    struct vec r;
    for (int i = 0; i < 3; i++)
        r.c[i] = num_dual_add_scaled(a->c[i], b->c[i], factor, lanes);
    return r;
}

static inline struct vec vec_cross(const struct vec *a, const struct vec *b, int lanes)
{
    struct vec r;
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const struct num_dual right = num_dual_mul(a->c[k], b->c[j], lanes);
        r.c[i] = num_dual_add_scaled(num_dual_mul(a->c[j], b->c[k], lanes), right, -1.0, lanes);
    }
    return r;
}

struct quat {
    struct num_dual w;
    struct vec u;
};

static inline struct quat quat_mul(const struct quat *a, const struct quat *b, int lanes)
{
    struct quat r;
    const struct vec cross = vec_cross(&a->u, &b->u, lanes);
    r.w = num_dual_mul(a->w, b->w, lanes);
    for (int i = 0; i < 3; i++) {
        r.w = num_dual_add_scaled(r.w, num_dual_mul(a->u.c[i], b->u.c[i], lanes), -1.0, lanes);
        r.u.c[i] = num_dual_add(num_dual_add(num_dual_mul(a->w, b->u.c[i], lanes),
                                             num_dual_mul(b->w, a->u.c[i], lanes), lanes), cross.c[i], lanes);
    }
    return r;
}

/* q f q⁻¹ for a constant f and a unit q: f + 2w (u × f) + 2u × (u × f). */
static inline struct vec quat_rotate(const struct quat *q, oto_vec3 f, int lanes)
{
    struct vec constant = {{num_dual_of(f.x), num_dual_of(f.y), num_dual_of(f.z)}};
    const struct vec t = vec_cross(&q->u, &constant, lanes);
    const struct vec again = vec_cross(&q->u, &t, lanes);
    for (int i = 0; i < 3; i++) {
        const struct num_dual once = num_dual_mul(q->w, t.c[i], lanes);
        constant.c[i] = num_dual_add_scaled(constant.c[i], num_dual_add(once, again.c[i], lanes), 2.0, lanes);
    }
    return constant;
}

/*
 * The exponential map. With n = |r|²: w = cos(√n/2) and k = sin(√n/2)/√n, whose slopes are -k/4 and (w/2 - k)/(2n); for
 * small n by their series.
 */
static inline struct quat quat_exp(const struct vec *r, int lanes)
{
    struct num_dual n = num_dual_of(0.0);
    double w, k, slope;
    for (int i = 0; i < 3; i++)
        num_dual_accumulate(&n, &r->c[i], &r->c[i], lanes);
    if (n.v < 0.01) {
        const double x = n.v;
        w = 1.0 - x * (1.0 / 8.0 - x * (1.0 / 384.0 - x * (1.0 / 46080.0 - x * (1.0 / 10321920.0))));
        k = 0.5 - x * (1.0 / 48.0 - x * (1.0 / 3840.0 - x * (1.0 / 645120.0 - x * (1.0 / 185794560.0))));
        slope = -1.0 / 48.0 + x * (1.0 / 1920.0 - x * (1.0 / 215040.0 - x * (1.0 / 46448640.0)));
    } else {
        const double angle = oto_sqrt(n.v);
        double s;
        oto_sincos(0.5 * angle, &s, &w);
        k = s / angle;
        slope = (0.5 * w - k) / (2.0 * n.v);
    }
    struct quat q;
    const struct num_dual factor = num_dual_apply(n, k, slope, lanes);
    q.w = num_dual_apply(n, w, -0.25 * k, lanes);
    for (int i = 0; i < 3; i++)
        q.u.c[i] = num_dual_mul(factor, r->c[i], lanes);
    return q;
}

/* ---- the motion ---- */

struct body {
    struct vec position, velocity, turned, rate; /* `turned`: rotation vector since the step's start, body axes */
};

static inline struct body slope_of(const struct num_body_constants *c, const struct quat *start, const struct body *b,
                                   int lanes)
{
    struct body d;
    const double moment[3] = {c->moment_body_nm.x, c->moment_body_nm.y, c->moment_body_nm.z};
    const struct quat turn = quat_exp(&b->turned, lanes), q = quat_mul(start, &turn, lanes);
    const struct vec force = quat_rotate(&q, c->force_body_n, lanes);
    const double outer[3] = {c->force_enu_n.x, c->force_enu_n.y, c->force_enu_n.z};
    const double gravity[3] = {c->gravity_enu_m_s2.x, c->gravity_enu_m_s2.y, c->gravity_enu_m_s2.z};
    const struct vec once = vec_cross(&b->turned, &b->rate, lanes), twice = vec_cross(&b->turned, &once, lanes);
    struct vec momentum = b->rate;
    d.position = b->velocity;
    d.turned = vec_add_scaled(&b->rate, &once, 0.5, lanes);
    d.turned = vec_add_scaled(&d.turned, &twice, 1.0 / 12.0, lanes);
    for (int i = 0; i < 3; i++)
        momentum.c[i] = num_dual_scale(momentum.c[i], c->inertia_kg_m2[i], lanes);
    const struct vec gyroscopic = vec_cross(&b->rate, &momentum, lanes);
    for (int i = 0; i < 3; i++) {
        d.velocity.c[i] = num_dual_scale(force.c[i], 1.0 / c->mass_kg, lanes);
        d.velocity.c[i].v += outer[i] / c->mass_kg + gravity[i];
        d.rate.c[i] = num_dual_scale(gyroscopic.c[i], -1.0 / c->inertia_kg_m2[i], lanes);
        d.rate.c[i].v += moment[i] / c->inertia_kg_m2[i];
    }
    return d;
}

static inline struct body body_add_scaled(const struct body *b, const struct body *d, double factor, int lanes)
{
    struct body r;
    r.position = vec_add_scaled(&b->position, &d->position, factor, lanes);
    r.velocity = vec_add_scaled(&b->velocity, &d->velocity, factor, lanes);
    r.turned = vec_add_scaled(&b->turned, &d->turned, factor, lanes);
    r.rate = vec_add_scaled(&b->rate, &d->rate, factor, lanes);
    return r;
}

static inline void step(const struct num_body_constants *c, double h, struct quat *q, struct body *b, int lanes)
{
    for (int i = 0; i < 3; i++)
        b->turned.c[i] = num_dual_of(0.0);
    const struct body k1 = slope_of(c, q, b, lanes);
    const struct body b2 = body_add_scaled(b, &k1, 0.5 * h, lanes);
    const struct body k2 = slope_of(c, q, &b2, lanes);
    const struct body b3 = body_add_scaled(b, &k2, 0.5 * h, lanes);
    const struct body k3 = slope_of(c, q, &b3, lanes);
    const struct body b4 = body_add_scaled(b, &k3, h, lanes);
    const struct body k4 = slope_of(c, q, &b4, lanes);
    struct body sum = body_add_scaled(&k1, &k2, 2.0, lanes);
    sum = body_add_scaled(&sum, &k3, 2.0, lanes);
    sum = body_add_scaled(&sum, &k4, 1.0, lanes);
    *b = body_add_scaled(b, &sum, h / 6.0, lanes);
    const struct quat turn = quat_exp(&b->turned, lanes);
    *q = quat_mul(q, &turn, lanes);
}

static inline __attribute__((always_inline)) enum oto_status integrate(const struct num_body_constants *c,
                                                                       const double *state, double dt_s,
                                                                       struct num_dual *next, int lanes)
{
    const double count = oto_fabs(dt_s) / c->step_s;
    struct body b;
    struct quat q;
    if (!(count <= MOST_STEPS)) {
        return OTO_RANGE;
    }
    const int steps = (int)count + ((double)(int)count < count);
    for (int i = 0; i < 3; i++) {
        b.position.c[i] = num_dual_variable(state[POSITION + i], POSITION + i, lanes);
        b.velocity.c[i] = num_dual_variable(state[VELOCITY + i], VELOCITY + i, lanes);
        b.rate.c[i] = num_dual_variable(state[RATE + i], RATE + i, lanes);
        q.u.c[i] = num_dual_variable(state[ATTITUDE + 1 + i], ATTITUDE + 1 + i, lanes);
    }
    q.w = num_dual_variable(state[ATTITUDE], ATTITUDE, lanes);
    for (int i = 0; i < steps; i++) {
        step(c, dt_s / steps, &q, &b, lanes);
    }
    for (int i = 0; i < 3; i++) {
        next[POSITION + i] = b.position.c[i];
        next[ATTITUDE + 1 + i] = q.u.c[i];
        next[VELOCITY + i] = b.velocity.c[i];
        next[RATE + i] = b.rate.c[i];
    }
    next[ATTITUDE] = q.w;
    return OTO_OK;
}

static enum oto_status body_predict(const void *constants, const double *state, double dt_s, double *next)
{
    struct num_dual after[STATES];
    const enum oto_status status = integrate(constants, state, dt_s, after, 0);
    if (status == OTO_OK) {
        num_dual_split(after, STATES, NULL, next);
    }
    return status;
}

static enum oto_status body_both(const void *constants, const double *state, double dt_s, double *jacobian, double *next)
{
    struct num_dual after[STATES];
    const enum oto_status status = integrate(constants, state, dt_s, after, STATES);
    if (status == OTO_OK) {
        num_dual_split(after, STATES, jacobian, next);
    }
    return status;
}

static enum oto_status body_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    double next[STATES];
    return body_both(constants, state, dt_s, jacobian, next);
}

/* ---- truth from a state ---- */

static oto_quat attitude_of(const double *state)
{
    return oto_quat_make(state[ATTITUDE], state[ATTITUDE + 1], state[ATTITUDE + 2], state[ATTITUDE + 3]);
}

static void put_attitude(oto_quat q, double *state)
{
    q = oto_quat_normalize(q);
    state[ATTITUDE] = q.w;
    state[ATTITUDE + 1] = q.x;
    state[ATTITUDE + 2] = q.y;
    state[ATTITUDE + 3] = q.z;
}

static enum oto_status body_check(double *state, struct oto_error *error)
{
    const oto_quat q = attitude_of(state);
    if (!oto_quat_is_unit(q, 1e-6)) {
        return oto_fail(error, OTO_INVALID, "qw, qx, qy, qz = %g, %g, %g, %g is a quaternion of length %.9g; length 1, to "
                        "1e-6, is accepted", q.w, q.x, q.y, q.z, oto_sqrt(oto_quat_dot(q, q)));
    }
    put_attitude(q, state);
    return OTO_OK;
}

static void body_to_truth(const void *constants, const double *state, struct oto_truth_record *truth)
{
    const struct num_body_constants *c = constants;
    const double *j = c->inertia_kg_m2;
    const oto_vec3 w = oto_vec3_make(state[RATE], state[RATE + 1], state[RATE + 2]);
    const oto_vec3 spin = oto_vec3_cross(w, oto_vec3_make(j[0] * w.x, j[1] * w.y, j[2] * w.z));
    const oto_vec3 moment = oto_vec3_sub(c->moment_body_nm, spin);
    memset(truth, 0, sizeof *truth);
    truth->position_enu_m = oto_vec3_make(state[0], state[1], state[2]);
    truth->velocity_enu_m_s = oto_vec3_make(state[VELOCITY], state[VELOCITY + 1], state[VELOCITY + 2]);
    truth->q_enu_from_body = oto_quat_normalize(attitude_of(state));
    const oto_vec3 force = oto_vec3_add(oto_quat_rotate(truth->q_enu_from_body, c->force_body_n), c->force_enu_n);
    truth->accel_enu_m_s2 = oto_vec3_add_scaled(c->gravity_enu_m_s2, force, 1.0 / c->mass_kg);
    truth->angular_rate_body_rad_s = w;
    truth->angular_accel_body_rad_s2 = oto_vec3_make(moment.x / j[0], moment.y / j[1], moment.z / j[2]);
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s).x;
}

static void body_from_truth(const void *constants, const struct oto_truth_record *truth, double *state)
{
    (void)constants;
    oto_vec3_to_array(truth->position_enu_m, state + POSITION);
    put_attitude(truth->q_enu_from_body, state);
    oto_vec3_to_array(truth->velocity_enu_m_s, state + VELOCITY);
    oto_vec3_to_array(truth->angular_rate_body_rad_s, state + RATE);
}

static const struct oto_model_quantity body_states[] = {NUM_BODY_QUANTITIES(NUM_QUANTITY)};
const struct num_model num_model_rigid_body_6dof = {
    .name = "rigid_body_6dof", .state_count = STATES, .states = body_states, .check = body_check,
    .predict = body_predict, .jacobian = body_jacobian, .both = body_both, .to_truth = body_to_truth,
    .from_truth = body_from_truth};
