#include "ekf_view.h"

#include <string.h>

/* Below this speed the course over ground is undefined. */
#define LEAST_SPEED_M_S 1e-3

static uint32_t find(const struct ekf_view *view, const char *name)
{
    for (uint32_t i = 0; i < view->n; i++) {
        if (strcmp(view->model->states[i].name, name) == 0) {
            return i;
        }
    }
    return EKF_ABSENT;
}

static bool have(uint32_t a, uint32_t b)
{
    return a != EKF_ABSENT && b != EKF_ABSENT;
}

static uint32_t either(const struct ekf_view *view, const char *first, const char *second)
{
    const uint32_t place = find(view, first);
    return place != EKF_ABSENT ? place : find(view, second);
}

static uint32_t needs_met(const struct ekf_view *v)
{
    const bool velocity = have(v->vx, v->vy), turned = v->yaw != EKF_ABSENT || v->qw != EKF_ABSENT;
    const bool angles = v->roll != EKF_ABSENT && have(v->pitch, v->yaw);
    const bool angle_rates = v->roll_rate != EKF_ABSENT && have(v->pitch_rate, v->yaw_rate);
    const bool rate3 = v->wx != EKF_ABSENT || (angles && angle_rates);
    const bool accel = (have(v->ax, v->ay) && velocity) || (v->accel != EKF_ABSENT && have(v->forward, v->turn));
    return (have(v->x, v->y) ? EKF_POSITION : 0u) | (v->z != EKF_ABSENT ? EKF_ALTITUDE : 0u) |
           (turned || velocity ? EKF_HEADING : 0u) | (angles || v->qw != EKF_ABSENT ? EKF_ATTITUDE : 0u) |
           (velocity || v->forward != EKF_ABSENT ? EKF_VELOCITY : 0u) |
           (rate3 || v->turn != EKF_ABSENT || v->yaw_rate != EKF_ABSENT || (velocity && have(v->ax, v->ay)) ? EKF_YAW_RATE
                                                                                                     : 0u) |
           (rate3 ? EKF_BODY_RATE : 0u) | (accel ? EKF_ACCELERATION : 0u);
}

void ekf_view_make(const struct num_model *model, uint32_t n, double slip_rad, struct ekf_view *view)
{
    const struct {
        const char *name;
        uint32_t *place;
    } names[] = {
        {"x", &view->x},           {"y", &view->y},   {"z", &view->z},   {"roll", &view->roll}, {"pitch", &view->pitch},
        {"qw", &view->qw},         {"vx", &view->vx}, {"vy", &view->vy}, {"vz", &view->vz},     {"ay", &view->ay},
        {"az", &view->az},         {"a", &view->accel}, {"wx", &view->wx}, {"roll_rate", &view->roll_rate},
        {"pitch_rate", &view->pitch_rate}, {"yaw_rate", &view->yaw_rate},
    };
    *view = (struct ekf_view){.model = model, .n = n};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i].place = find(view, names[i].name);
    }
    const uint32_t u = find(view, "u"), v = find(view, "v");
    view->forward = u != EKF_ABSENT ? u : v;
    view->side = u != EKF_ABSENT ? v : EKF_ABSENT;
    view->yaw = either(view, "yaw", "th");
    view->turn = either(view, "w", "omega");
    view->ax = view->ay != EKF_ABSENT ? find(view, "ax") : EKF_ABSENT; /* in the dynamic bicycle `ax` is u' */
    oto_sincos(slip_rad, &view->slip_sin, &view->slip_cos);
    view->needs = needs_met(view);
}

static void clear(const struct ekf_view *view, struct ekf_vector *vector)
{
    memset(vector->v, 0, sizeof vector->v);
    memset(vector->j, 0, 3 * view->n * sizeof *vector->j);
}

static void take(const struct ekf_view *view, const double *x, uint32_t axis, uint32_t state, double factor,
                 struct ekf_vector *vector)
{
    if (state != EKF_ABSENT) {
        vector->v[axis] += factor * x[state];
        vector->j[axis * view->n + state] += factor;
    }
}

/* ---- attitude ---- */

static oto_mat3 outer_turn(oto_mat3 a, oto_mat3 b, oto_mat3 c)
{
    return oto_mat3_mul(oto_mat3_mul(a, b), c);
}

static void turned_by_angles(const struct ekf_view *view, const double *x, struct ekf_attitude *out)
{
    double sr = 0, cr = 1, sp = 0, cp = 1, sy, cy;
    oto_sincos(x[view->yaw], &sy, &cy);
    const oto_mat3 z = {{{cy, -sy, 0}, {sy, cy, 0}, {0, 0, 1}}}, dz = {{{-sy, -cy, 0}, {cy, -sy, 0}, {0, 0, 0}}};
    out->count = 1;
    out->state[0] = view->yaw;
    out->r = z;
    out->d[0] = dz;
    if (!have(view->roll, view->pitch)) {
        return;
    }
    oto_sincos(x[view->roll], &sr, &cr);
    oto_sincos(x[view->pitch], &sp, &cp);
    const oto_mat3 roll = {{{1, 0, 0}, {0, cr, -sr}, {0, sr, cr}}}, droll = {{{0, 0, 0}, {0, -sr, -cr}, {0, cr, -sr}}};
    const oto_mat3 pitch = {{{cp, 0, sp}, {0, 1, 0}, {-sp, 0, cp}}}, dpitch = {{{-sp, 0, cp}, {0, 0, 0}, {-cp, 0, -sp}}};
    out->count = 3;
    out->state[1] = view->pitch;
    out->state[2] = view->roll;
    out->r = outer_turn(z, pitch, roll);
    out->d[0] = outer_turn(dz, pitch, roll);
    out->d[1] = outer_turn(z, dpitch, roll);
    out->d[2] = outer_turn(z, pitch, droll);
}

static void turned_by_quaternion(const struct ekf_view *view, const double *x, struct ekf_attitude *out)
{
    const double w = x[view->qw], i = x[view->qw + 1], j = x[view->qw + 2], k = x[view->qw + 3];
    out->r = oto_mat3_from_quat(oto_quat_make(w, i, j, k));
    out->count = 4;
    for (uint32_t c = 0; c < 4; c++) {
        out->state[c] = view->qw + c;
    }
    out->d[0] = oto_mat3_scale((oto_mat3){{{0, -k, j}, {k, 0, -i}, {-j, i, 0}}}, 2.0);
    out->d[1] = oto_mat3_scale((oto_mat3){{{0, j, k}, {j, -2 * i, -w}, {k, w, -2 * i}}}, 2.0);
    out->d[2] = oto_mat3_scale((oto_mat3){{{-2 * j, i, w}, {i, 0, k}, {-w, k, -2 * j}}}, 2.0);
    out->d[3] = oto_mat3_scale((oto_mat3){{{-2 * k, -w, i}, {w, -2 * k, j}, {i, j, 0}}}, 2.0);
}

/* The attitude of a model without yaw: level, with body x along the velocity over ground. */
static bool turned_by_course(const struct ekf_view *view, const double *x, struct ekf_attitude *out)
{
    const double speed = oto_hypot(x[view->vx], x[view->vy]);
    if (!(speed > LEAST_SPEED_M_S)) {
        return false;
    }
    const double c = x[view->vx] / speed, s = x[view->vy] / speed;
    const oto_mat3 turn = {{{-s, -c, 0}, {c, -s, 0}, {0, 0, 0}}};
    out->r = (oto_mat3){{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
    out->count = 2;
    out->state[0] = view->vx;
    out->state[1] = view->vy;
    out->d[0] = oto_mat3_scale(turn, -s / speed);
    out->d[1] = oto_mat3_scale(turn, c / speed);
    return true;
}

bool ekf_attitude_of(const struct ekf_view *view, const double *x, struct ekf_attitude *attitude)
{
    if (view->qw != EKF_ABSENT) {
        turned_by_quaternion(view, x, attitude);
        return true;
    }
    if (view->yaw != EKF_ABSENT) {
        turned_by_angles(view, x, attitude);
        return true;
    }
    return have(view->vx, view->vy) && turned_by_course(view, x, attitude);
}

void ekf_add_from_enu(const struct ekf_view *view, const struct ekf_attitude *attitude, oto_vec3 u,
                      struct ekf_vector *out)
{
    double part[3];
    oto_vec3_to_array(oto_mat3_mul_vec(oto_mat3_transpose(attitude->r), u), part);
    for (uint32_t axis = 0; axis < 3; axis++) {
        out->v[axis] += part[axis];
    }
    for (uint32_t c = 0; c < attitude->count; c++) {
        oto_vec3_to_array(oto_mat3_mul_vec(oto_mat3_transpose(attitude->d[c]), u), part);
        for (uint32_t axis = 0; axis < 3; axis++) {
            out->j[axis * view->n + attitude->state[c]] += part[axis];
        }
    }
}

/* Rotates an ENU vector whose components are states to body axes. */
static bool enu_states_in_body(const struct ekf_view *view, const double *x, const uint32_t places[3],
                               struct ekf_vector *out)
{
    struct ekf_attitude attitude;
    double u[3];
    if (!ekf_attitude_of(view, x, &attitude)) {
        return false;
    }
    clear(view, out);
    for (uint32_t axis = 0; axis < 3; axis++) {
        u[axis] = places[axis] != EKF_ABSENT ? x[places[axis]] : 0.0;
    }
    ekf_add_from_enu(view, &attitude, oto_vec3_from_array(u), out);
    for (uint32_t axis = 0; axis < 3; axis++) {
        for (uint32_t k = 0; k < 3; k++) {
            if (places[k] != EKF_ABSENT) {
                out->j[axis * view->n + places[k]] += attitude.r.m[k][axis];
            }
        }
    }
    return true;
}

/* ---- velocity ---- */

bool ekf_body_velocity(const struct ekf_view *view, const double *x, struct ekf_vector *velocity)
{
    if (view->forward == EKF_ABSENT) {
        return enu_states_in_body(view, x, (const uint32_t[3]){view->vx, view->vy, view->vz}, velocity);
    }
    clear(view, velocity);
    take(view, x, 0, view->forward, view->slip_cos, velocity);
    take(view, x, 1, view->forward, view->slip_sin, velocity);
    take(view, x, 1, view->side, 1.0, velocity);
    return true;
}

void ekf_enu_velocity(const struct ekf_view *view, const double *x, struct ekf_vector *velocity)
{
    struct ekf_vector body;
    struct ekf_attitude attitude;
    clear(view, velocity);
    if (view->forward == EKF_ABSENT) {
        take(view, x, 0, view->vx, 1.0, velocity);
        take(view, x, 1, view->vy, 1.0, velocity);
        take(view, x, 2, view->vz, 1.0, velocity);
        return;
    }
    if (!ekf_body_velocity(view, x, &body) || !ekf_attitude_of(view, x, &attitude)) {
        return;
    }
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            velocity->v[i] += attitude.r.m[i][k] * body.v[k];
            for (uint32_t s = 0; s < view->n; s++) {
                velocity->j[i * view->n + s] += attitude.r.m[i][k] * body.j[k * view->n + s];
            }
            for (uint32_t c = 0; c < attitude.count; c++) {
                velocity->j[i * view->n + attitude.state[c]] += attitude.d[c].m[i][k] * body.v[k];
            }
        }
    }
}

/* ---- rates ---- */

oto_mat3 ekf_rates_from_angles(double roll_rad, double pitch_rad)
{
    double sr, cr, sp, cp;
    oto_sincos(roll_rad, &sr, &cr);
    oto_sincos(pitch_rad, &sp, &cp);
    return (oto_mat3){{{1, 0, -sp}, {0, cr, sr * cp}, {0, -sr, cr * cp}}};
}

static void rates_of_angles(const struct ekf_view *view, const double *x, struct ekf_vector *rate)
{
    const uint32_t places[3] = {view->roll_rate, view->pitch_rate, view->yaw_rate};
    const oto_mat3 m = ekf_rates_from_angles(x[view->roll], x[view->pitch]);
    double sr, cr, sp, cp;
    oto_sincos(x[view->roll], &sr, &cr);
    oto_sincos(x[view->pitch], &sp, &cp);
    for (uint32_t axis = 0; axis < 3; axis++) {
        for (uint32_t k = 0; k < 3; k++) {
            take(view, x, axis, places[k], m.m[axis][k], rate);
        }
    }
    const double dp = x[view->pitch_rate], dy = x[view->yaw_rate];
    rate->j[0 * view->n + view->pitch] -= cp * dy;
    rate->j[1 * view->n + view->pitch] -= sr * sp * dy;
    rate->j[2 * view->n + view->pitch] -= cr * sp * dy;
    rate->j[1 * view->n + view->roll] += -sr * dp + cr * cp * dy;
    rate->j[2 * view->n + view->roll] += -cr * dp - sr * cp * dy;
}

/* Yaw rate of the course over ground: (vx ay − vy ax) / v². */
static bool rate_of_course(const struct ekf_view *view, const double *x, struct ekf_vector *rate)
{
    const double vx = x[view->vx], vy = x[view->vy], ax = x[view->ax], ay = x[view->ay], square = vx * vx + vy * vy;
    if (!(square > LEAST_SPEED_M_S * LEAST_SPEED_M_S)) {
        return false;
    }
    const double w = (vx * ay - vy * ax) / square;
    double *row = rate->j + 2 * view->n;
    rate->v[2] = w;
    row[view->vx] = (ay - 2.0 * vx * w) / square;
    row[view->vy] = (-ax - 2.0 * vy * w) / square;
    row[view->ax] = -vy / square;
    row[view->ay] = vx / square;
    return true;
}

bool ekf_body_rate(const struct ekf_view *view, const double *x, struct ekf_vector *rate)
{
    clear(view, rate);
    if (view->wx != EKF_ABSENT) {
        for (uint32_t axis = 0; axis < 3; axis++) {
            take(view, x, axis, view->wx + axis, 1.0, rate);
        }
    } else if ((view->needs & EKF_BODY_RATE) != 0) {
        rates_of_angles(view, x, rate);
    } else if (view->turn != EKF_ABSENT || view->yaw_rate != EKF_ABSENT) {
        take(view, x, 2, view->turn != EKF_ABSENT ? view->turn : view->yaw_rate, 1.0, rate);
    } else {
        return view->ax != EKF_ABSENT && have(view->vx, view->vy) && rate_of_course(view, x, rate);
    }
    return true;
}

bool ekf_body_acceleration(const struct ekf_view *view, const double *x, struct ekf_vector *acceleration)
{
    if (view->accel == EKF_ABSENT) {
        return enu_states_in_body(view, x, (const uint32_t[3]){view->ax, view->ay, view->az}, acceleration);
    }
    clear(view, acceleration);
    take(view, x, 0, view->accel, 1.0, acceleration);
    take(view, x, 1, view->forward, x[view->turn], acceleration);
    acceleration->j[view->n + view->turn] += x[view->forward];
    return true;
}
