/*
 * Dynamic bicycle with linear tyres. The equations are linear in the lateral speed and the yaw rate, with coefficients
 * proportional to 1/u. They are integrated by Taylor series in time. The terms follow from recurrences; step and order
 * are chosen so that the omitted terms are below rounding. Jacobian: the same series with dual numbers.
 */
#include "num_model.h"

#include <string.h>

#include "num_truth.h"
#include "otolith/detmath.h"

#define NUM_DUAL_LANES 8
#include "num_dual.h"

enum { X, Y, YAW, U, V, OMEGA, DELTA, AX, STATES };

#define MOST_ORDER 18
#define MOST_STEPS 200000   /* limit for one prediction */
#define STEP_RATE 0.5       /* rate × step at most */
#define STEP_CHANGE 0.1     /* relative change of the speed in a step at most */
#define LEFT_OUT 1e-18

/* The constants with steering positive to the left and stiffness positive, for both sign conventions. */
struct car {
    const struct num_tyre_constants *given;
    double front_n_rad, rear_n_rad;
    double steer; /* factor: delta × steer is positive to the left */
};

static struct car car_of(const struct num_tyre_constants *c)
{
    const double sign = c->sign == NUM_TYRE_SNIPPET ? -1.0 : 1.0;
    return (struct car){c, sign * c->front_stiffness_n_rad, sign * c->rear_stiffness_n_rad, sign};
}

/* ---- the step ---- */

/* The first time in (0, span) at which speed + accel t + jerk t²/2 passes `level`; `span` if there is none. */
static double next_crossing(double speed, double accel, double jerk, double level, double span)
{
    const double c = speed - level, half = 0.5 * jerk;
    const double disc = accel * accel - 4.0 * half * c;
    const double least = 1e-12 + 1e-12 * span;
    double first = span;
    if (disc < 0.0) {
        return span;
    }
    /* Computed without cancellation: q/half and c/q are the roots. */
    const double root = oto_sqrt(disc), q = -0.5 * (accel + (accel < 0.0 ? -root : root));
    const double candidates[2] = {half != 0.0 ? q / half : -1.0, q != 0.0 ? c / q : -1.0};
    for (int i = 0; i < 2; i++) {
        if (candidates[i] > least && candidates[i] < first) {
            first = candidates[i];
        }
    }
    return first;
}

/* The highest rate of the lateral motion in 1/s: the norm of its matrix, and the turn rate. */
static double rate_of(const struct car *car, double speed, double guarded, double omega)
{
    const struct num_tyre_constants *c = car->given;
    const double f = oto_fabs(car->front_n_rad), r = oto_fabs(car->rear_n_rad);
    const double moment = oto_fabs(c->front_m * car->front_n_rad - c->rear_m * car->rear_n_rad) / guarded;
    const double coupling = (oto_fabs(speed) + moment / c->mass_kg) * (moment / c->yaw_inertia_kg_m2);
    return (f + r) / (c->mass_kg * guarded) +
           (c->front_m * c->front_m * f + c->rear_m * c->rear_m * r) / (c->yaw_inertia_kg_m2 * guarded) +
           oto_sqrt(coupling) + oto_fabs(omega);
}

struct stretch {
    double h_s;      /* signed */
    double slope;    /* derivative of the guarded speed by u: +1, -1, or 0 where it is held constant */
    int order;
};

/*
 * Chooses the next interval, of at most `left_s`, in which the guarded speed is one smooth function. Order 0: the motion is
 * too fast.
 */
static struct stretch choose_stretch(const struct car *car, const double *now, double left_s)
{
    const struct num_tyre_constants *c = car->given;
    const double least = c->least_speed_m_s, direction = left_s < 0.0 ? -1.0 : 1.0;
    const double guarded = oto_fabs(now[U]) > least ? oto_fabs(now[U]) : least;
    const double rate = rate_of(car, now[U], guarded, now[OMEGA]);
    const double bend = oto_sqrt(0.5 * oto_fabs(c->jerk_m_s3) / guarded), slide = oto_fabs(now[AX]) / guarded;
    double h = oto_fabs(left_s), mid, term = 1.0, shrink = 1.0;
    if (!(rate + bend + slide < 1e9)) {
        return (struct stretch){0.0, 0.0, 0};
    }
    h = h * rate > STEP_RATE ? STEP_RATE / rate : h;
    h = h * (bend + slide) > STEP_CHANGE ? STEP_CHANGE / (bend + slide) : h;
    h = next_crossing(now[U], direction * now[AX], c->jerk_m_s3, least, h);
    h = next_crossing(now[U], direction * now[AX], c->jerk_m_s3, -least, h);
    struct stretch s = {direction * h, 0.0, 1};
    mid = now[U] + 0.5 * s.h_s * (now[AX] + 0.25 * s.h_s * c->jerk_m_s3);
    s.slope = mid > least ? 1.0 : mid < -least ? -1.0 : 0.0;
    while (s.order < MOST_ORDER && term + shrink > LEFT_OUT) {
        term *= h * rate / (double)s.order;
        shrink *= s.slope != 0.0 ? h * (bend + slide) : 0.0;
        s.order++;
    }
    return s;
}

/* ---- the series, in time over the interval's length ---- */

struct series {
    struct num_dual speed[3], steer[2]; /* u, and delta positive to the left: polynomials */
    struct num_dual inverse[MOST_ORDER + 1];              /* 1/guarded speed */
    struct num_dual front[MOST_ORDER + 1], rear[MOST_ORDER + 1]; /* lateral speed of an axle relative to its wheel's
                                                                  * direction */
    struct num_dual v[MOST_ORDER + 1], omega[MOST_ORDER + 1], yaw[MOST_ORDER + 1];
    struct num_dual cosine[MOST_ORDER + 1], sine[MOST_ORDER + 1];
};

/* Coefficient k of the product of a series and a polynomial of `count` terms. */
static inline struct num_dual by_polynomial(const struct num_dual *polynomial, int count, const struct num_dual *a, int k,
                                            int lanes)
{
    struct num_dual sum = num_dual_of(0.0);
    for (int i = 0; i < count && i <= k; i++) {
        num_dual_accumulate(&sum, &polynomial[i], &a[k - i], lanes);
    }
    return sum;
}

static inline struct num_dual product(const struct num_dual *a, const struct num_dual *b, int k, int lanes)
{
    struct num_dual sum = num_dual_of(0.0);
    for (int i = 0; i <= k; i++) {
        num_dual_accumulate(&sum, &a[i], &b[k - i], lanes);
    }
    return sum;
}

static inline void begin_series(struct series *s, const struct car *car, const struct stretch *stretch,
                                const struct num_dual *now, int lanes)
{
    const double h = stretch->h_s;
    double sine, cosine;
    oto_sincos(now[YAW].v, &sine, &cosine);
    s->speed[0] = now[U];
    s->speed[1] = num_dual_scale(now[AX], h, lanes);
    s->speed[2] = num_dual_of(0.5 * car->given->jerk_m_s3 * h * h);
    s->steer[0] = num_dual_scale(now[DELTA], car->steer, lanes);
    s->steer[1] = num_dual_of(car->steer * car->given->steering_rate_rad_s * h);
    s->v[0] = now[V];
    s->omega[0] = now[OMEGA];
    s->yaw[0] = now[YAW];
    s->cosine[0] = num_dual_apply(now[YAW], cosine, -sine, lanes);
    s->sine[0] = num_dual_apply(now[YAW], sine, cosine, lanes);
}

/* 1/g from g · (1/g) = 1; g is +-u, or constant. */
static inline struct num_dual inverse_term(const struct series *s, const struct stretch *stretch, double least, int k,
                                           int lanes)
{
    if (stretch->slope == 0.0) {
        return num_dual_of(k == 0 ? 1.0 / least : 0.0);
    }
    const double inverse = 1.0 / (stretch->slope * s->speed[0].v);
    const struct num_dual first =
        num_dual_apply(s->speed[0], inverse, -stretch->slope * inverse * inverse, lanes);
    if (k == 0) {
        return first;
    }
    struct num_dual sum = num_dual_of(0.0);
    for (int i = 1; i <= 2 && i <= k; i++) {
        num_dual_accumulate(&sum, &s->speed[i], &s->inverse[k - i], lanes);
    }
    return num_dual_mul(num_dual_scale(sum, -stretch->slope, lanes), first, lanes);
}

/* Computes term k + 1 of all series from the terms up to k. */
static inline void extend_series(struct series *s, const struct car *car, const struct stretch *stretch, int k, int lanes)
{
    const struct num_tyre_constants *c = car->given;
    const double per = stretch->h_s / (double)(k + 1);
    s->inverse[k] = inverse_term(s, stretch, c->least_speed_m_s, k, lanes);
    s->front[k] = num_dual_add_scaled(s->v[k], s->omega[k], c->front_m, lanes);
    s->rear[k] = num_dual_add_scaled(s->v[k], s->omega[k], -c->rear_m, lanes);
    for (int i = 0; i < 2 && i <= k; i++) {
        if (k - i < 3) {
            s->front[k] = num_dual_add_scaled(s->front[k], num_dual_mul(s->steer[i], s->speed[k - i], lanes), -1.0, lanes);
        }
    }
    const struct num_dual front_n = num_dual_scale(product(s->front, s->inverse, k, lanes), -car->front_n_rad, lanes);
    const struct num_dual rear_n = num_dual_scale(product(s->rear, s->inverse, k, lanes), -car->rear_n_rad, lanes);
    const struct num_dual carried = by_polynomial(s->speed, 3, s->omega, k, lanes);
    const struct num_dual accel =
        num_dual_add_scaled(num_dual_scale(num_dual_add(front_n, rear_n, lanes), 1.0 / c->mass_kg, lanes), carried, -1.0,
                            lanes);
    const struct num_dual moment =
        num_dual_add_scaled(num_dual_scale(front_n, c->front_m, lanes), rear_n, -c->rear_m, lanes);
    s->v[k + 1] = num_dual_scale(accel, per, lanes);
    s->yaw[k + 1] = num_dual_scale(s->omega[k], per, lanes);
    s->cosine[k + 1] = num_dual_scale(product(s->sine, s->omega, k, lanes), -per, lanes);
    s->sine[k + 1] = num_dual_scale(product(s->cosine, s->omega, k, lanes), per, lanes);
    s->omega[k + 1] = num_dual_scale(moment, per / c->yaw_inertia_kg_m2, lanes);
}

/* Adds the terms from the highest down. */
static inline struct num_dual sum_of(const struct num_dual *terms, int order, int lanes)
{
    struct num_dual sum = terms[order];
    for (int k = order - 1; k >= 0; k--) {
        sum = num_dual_add(terms[k], sum, lanes);
    }
    return sum;
}

/* The path over the interval: ∫ u cos - v sin, ∫ u sin + v cos. */
static inline void move(const struct series *s, const struct stretch *stretch, struct num_dual *now, int lanes)
{
    struct num_dual dx = num_dual_of(0.0), dy = num_dual_of(0.0);
    for (int k = stretch->order - 1; k >= 0; k--) {
        const double per = stretch->h_s / (double)(k + 1);
        const struct num_dual uc = by_polynomial(s->speed, 3, s->cosine, k, lanes);
        const struct num_dual us = by_polynomial(s->speed, 3, s->sine, k, lanes);
        const struct num_dual vc = product(s->v, s->cosine, k, lanes), vs = product(s->v, s->sine, k, lanes);
        dx = num_dual_add_scaled(dx, num_dual_add_scaled(uc, vs, -1.0, lanes), per, lanes);
        dy = num_dual_add_scaled(dy, num_dual_add(us, vc, lanes), per, lanes);
    }
    now[X] = num_dual_add(now[X], dx, lanes);
    now[Y] = num_dual_add(now[Y], dy, lanes);
}

static inline void integrate_stretch(const struct car *car, const struct stretch *stretch, struct num_dual *now, int lanes)
{
    struct series s;
    begin_series(&s, car, stretch, now, lanes);
    for (int k = 0; k < stretch->order; k++) {
        extend_series(&s, car, stretch, k, lanes);
    }
    move(&s, stretch, now, lanes);
    now[YAW] = sum_of(s.yaw, stretch->order, lanes);
    now[V] = sum_of(s.v, stretch->order, lanes);
    now[OMEGA] = sum_of(s.omega, stretch->order, lanes);
}

/*
 * Sets the states that the controls determine, at `t` from the start, so that they do not depend on the number of
 * intervals.
 */
static inline void set_controlled(const struct num_tyre_constants *c, const double *start, double t, struct num_dual *now,
                                  int lanes)
{
    now[U] = num_dual_variable(start[U] + t * (start[AX] + 0.5 * c->jerk_m_s3 * t), U, lanes);
    if (lanes > 0) {
        now[U].d[AX] = t;
    }
    now[DELTA] = num_dual_variable(start[DELTA] + t * c->steering_rate_rad_s, DELTA, lanes);
    now[AX] = num_dual_variable(start[AX] + t * c->jerk_m_s3, AX, lanes);
}

static inline __attribute__((always_inline)) enum oto_status integrate(const struct num_tyre_constants *c,
                                                                       const double *start, double dt_s,
                                                                       struct num_dual *now, int lanes)
{
    const struct car car = car_of(c);
    double done_s = 0.0;
    for (int i = 0; i < STATES; i++) {
        now[i] = num_dual_variable(start[i], i, lanes);
    }
    for (int steps = 0; done_s != dt_s; steps++) {
        double values[STATES];
        for (int i = 0; i < STATES; i++) {
            values[i] = now[i].v;
        }
        const struct stretch stretch = choose_stretch(&car, values, dt_s - done_s);
        if (steps == MOST_STEPS || stretch.order == 0) {
            return OTO_RANGE;
        }
        integrate_stretch(&car, &stretch, now, lanes);
        const double next_s = done_s + stretch.h_s;
        /* The last interval ends at dt to the bit. An interval that is too short to change done_s is taken as the last one. */
        done_s = stretch.h_s == dt_s - done_s || next_s == done_s ? dt_s : next_s;
        set_controlled(c, start, done_s, now, lanes);
    }
    return OTO_OK;
}

static enum oto_status tyre_predict(const void *constants, const double *state, double dt_s, double *next)
{
    struct num_dual now[STATES];
    const enum oto_status status = integrate(constants, state, dt_s, now, 0);
    if (status == OTO_OK) {
        num_dual_split(now, STATES, NULL, next);
    }
    return status;
}

static enum oto_status tyre_both(const void *constants, const double *state, double dt_s, double *jacobian, double *next)
{
    struct num_dual now[STATES];
    const enum oto_status status = integrate(constants, state, dt_s, now, STATES);
    if (status == OTO_OK) {
        num_dual_split(now, STATES, jacobian, next);
    }
    return status;
}

static enum oto_status tyre_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    double next[STATES];
    return tyre_both(constants, state, dt_s, jacobian, next);
}

/* ---- truth from a state ---- */

struct lateral {
    double accel_m_s2, yaw_accel_rad_s2; /* (F_f + F_r)/m, (L_f F_f - L_r F_r)/I */
    double slip_rad;
};

static struct lateral lateral_of(const struct num_tyre_constants *c, const double *state)
{
    const struct car car = car_of(c);
    const double guarded = oto_fabs(state[U]) > c->least_speed_m_s ? oto_fabs(state[U]) : c->least_speed_m_s;
    const double front = state[V] + c->front_m * state[OMEGA] - car.steer * state[DELTA] * state[U];
    const double rear = state[V] - c->rear_m * state[OMEGA];
    const double front_n = -car.front_n_rad * front / guarded, rear_n = -car.rear_n_rad * rear / guarded;
    const double slip = state[U] == 0.0 && state[V] == 0.0 ? 0.0 : oto_atan2(state[V], oto_fabs(state[U]));
    return (struct lateral){(front_n + rear_n) / c->mass_kg,
                            (c->front_m * front_n - c->rear_m * rear_n) / c->yaw_inertia_kg_m2, slip};
}

const struct oto_model_quantity num_tyre_derived[NUM_TYRE_DERIVED] = {
    {"lateral_accel", "m/s^2", "body", "of the centre of gravity, along body y"},
    {"yaw_accel", "rad/s^2", "body", "rate of the yaw rate"},
    {"slip", "rad", "body", "side slip of the centre of gravity, atan2(v, |u|)"},
};

static void tyre_derive(const void *constants, const double *state, double *derived)
{
    const struct lateral lateral = lateral_of(constants, state);
    derived[0] = lateral.accel_m_s2;
    derived[1] = lateral.yaw_accel_rad_s2;
    derived[2] = lateral.slip_rad;
}

static void tyre_to_truth(const void *constants, const double *state, struct oto_truth_record *truth)
{
    const struct lateral lateral = lateral_of(constants, state);
    const double along = state[AX] - state[V] * state[OMEGA];
    double s, c;
    struct num_pose pose;
    memset(&pose, 0, sizeof pose);
    oto_sincos(state[YAW], &s, &c);
    pose.position_enu_m = oto_vec3_make(state[X], state[Y], 0.0);
    pose.velocity_enu_m_s = oto_vec3_make(state[U] * c - state[V] * s, state[U] * s + state[V] * c, 0.0);
    pose.accel_enu_m_s2 =
        oto_vec3_make(along * c - lateral.accel_m_s2 * s, along * s + lateral.accel_m_s2 * c, 0.0);
    pose.rpy_rad.z = state[YAW];
    pose.rpy_rate_rad_s.z = state[OMEGA];
    pose.rpy_accel_rad_s2.z = lateral.yaw_accel_rad_s2;
    num_truth_from_pose(&pose, truth);
}

/* The truth does not contain the wheel angle: the steering is set straight ahead. */
static void tyre_from_truth(const void *constants, const struct oto_truth_record *truth, double *state)
{
    (void)constants;
    struct num_pose pose;
    double s, c;
    num_pose_from_truth(truth, &pose);
    oto_sincos(pose.rpy_rad.z, &s, &c);
    state[X] = pose.position_enu_m.x;
    state[Y] = pose.position_enu_m.y;
    state[YAW] = pose.rpy_rad.z;
    state[U] = pose.velocity_enu_m_s.x * c + pose.velocity_enu_m_s.y * s;
    state[V] = pose.velocity_enu_m_s.y * c - pose.velocity_enu_m_s.x * s;
    state[OMEGA] = pose.rpy_rate_rad_s.z;
    state[DELTA] = 0.0;
    state[AX] = pose.accel_enu_m_s2.x * c + pose.accel_enu_m_s2.y * s + state[V] * state[OMEGA];
}

static const struct oto_model_quantity tyre_states[] = {NUM_TYRE_QUANTITIES(NUM_QUANTITY)};
const struct num_model num_model_linear_tyre = {
    .name = "linear_tyre", .state_count = STATES, .derived_count = NUM_TYRE_DERIVED, .states = tyre_states, .derived = num_tyre_derived,
    .predict = tyre_predict, .jacobian = tyre_jacobian, .both = tyre_both, .derive = tyre_derive,
    .to_truth = tyre_to_truth, .from_truth = tyre_from_truth};
