/* Models in which each variable moves independently, along a line or a parabola: p' = p + v t + a t²/2. */
#include "num_model.h"

#include <string.h>

#include "num_truth.h"
#include "otolith/detmath.h"

/* ---- D variables, their rates and the rates of the rates ---- */

static inline __attribute__((always_inline)) void linear_predict(int d, const double *x, double t, double *next)
{
    const double half = 0.5 * t * t;
    for (int i = 0; i < d; i++) {
        const double v = x[d + i], a = x[2 * d + i];
        next[i] = x[i] + (v * t + a * half);
        next[d + i] = v + a * t;
        next[2 * d + i] = a;
    }
}

static inline __attribute__((always_inline)) void linear_jacobian(int d, double t, double *j)
{
    const int n = 3 * d;
    num_model_identity((uint32_t)n, j);
    for (int i = 0; i < d; i++) {
        j[i * n + d + i] = t;
        j[i * n + 2 * d + i] = 0.5 * t * t;
        j[(d + i) * n + 2 * d + i] = t;
    }
}

/* The indices of a model's variables in the pose (x, y, z, roll, pitch, yaw), ascending. */
struct layout {
    int count;
    int place[6];
};

static double *member(struct num_pose *pose, int order, int place)
{
    oto_vec3 *const positions[] = {&pose->position_enu_m, &pose->velocity_enu_m_s, &pose->accel_enu_m_s2};
    oto_vec3 *const angles[] = {&pose->rpy_rad, &pose->rpy_rate_rad_s, &pose->rpy_accel_rad_s2};
    oto_vec3 *vector = place < 3 ? positions[order] : angles[order];
    return place % 3 == 0 ? &vector->x : place % 3 == 1 ? &vector->y : &vector->z;
}

/* `orders`: 1 for the variables only, 2 with first derivatives, 3 with second derivatives. */
static void to_truth(const struct layout *layout, int orders, const double *state, struct oto_truth_record *truth)
{
    struct num_pose pose;
    memset(&pose, 0, sizeof pose);
    for (int order = 0; order < orders; order++) {
        for (int i = 0; i < layout->count; i++) {
            *member(&pose, order, layout->place[i]) = state[order * layout->count + i];
        }
    }
    if (layout->place[layout->count - 1] < 3) {
        num_pose_along_course(&pose);
    }
    num_truth_from_pose(&pose, truth);
}

static void from_truth(const struct layout *layout, int orders, const struct oto_truth_record *truth, double *state)
{
    struct num_pose pose;
    num_pose_from_truth(truth, &pose);
    for (int order = 0; order < orders; order++) {
        for (int i = 0; i < layout->count; i++) {
            state[order * layout->count + i] = *member(&pose, order, layout->place[i]);
        }
    }
}

static const struct layout layout_xy = {2, {0, 1}}, layout_xyz = {3, {0, 1, 2}}, layout_xyyaw = {3, {0, 1, 5}},
                           layout_xyzyaw = {4, {0, 1, 2, 5}}, layout_xyzrpy = {6, {0, 1, 2, 3, 4, 5}};

/* clang-format off */
/* The operations of a model of D variables. */
#define LINEAR_OPERATIONS(NAME, D, ORDERS, LAYOUT) \
    static enum oto_status NAME##_predict(const void *constants, const double *state, double dt_s, double *next) \
    { \
        (void)constants; \
        linear_predict(D, state, dt_s, next); \
        return OTO_OK; \
    } \
    static enum oto_status NAME##_jacobian(const void *constants, const double *state, double dt_s, double *jacobian) \
    { \
        (void)constants; \
        (void)state; \
        linear_jacobian(D, dt_s, jacobian); \
        return OTO_OK; \
    } \
    LINEAR_SHARED_(NAME, ORDERS, LAYOUT)
#define LINEAR_SHARED_(NAME, ORDERS, LAYOUT) \
    static enum oto_status NAME##_both(const void *constants, const double *state, double dt_s, double *jacobian, \
                                       double *next) \
    { \
        (void)NAME##_jacobian(constants, state, dt_s, jacobian); \
        return NAME##_predict(constants, state, dt_s, next); \
    } \
    static void NAME##_to_truth(const void *constants, const double *state, struct oto_truth_record *truth) \
    { \
        (void)constants; \
        to_truth(&(LAYOUT), ORDERS, state, truth); \
    } \
    static void NAME##_from_truth(const void *constants, const struct oto_truth_record *truth, double *state) \
    { \
        (void)constants; \
        from_truth(&(LAYOUT), ORDERS, truth, state); \
    }
#define LINEAR_MODEL(MODEL, NAME, QUANTITIES, ...) \
    static const struct oto_model_quantity NAME##_states[] = {QUANTITIES(NUM_QUANTITY)}; \
    const struct num_model num_model_##MODEL = { \
        .name = #MODEL, .exact = true, .state_count = NUM_COUNT(QUANTITIES), .states = NAME##_states, \
        .predict = NAME##_predict, .jacobian = NAME##_jacobian, .both = NAME##_both, .to_truth = NAME##_to_truth, \
        .from_truth = NAME##_from_truth, __VA_ARGS__};
/* clang-format on */

/* ---- quantities derived from a velocity and an acceleration ---- */

const struct oto_model_quantity num_course_derived[NUM_COURSE_DERIVED] = {
    {"speed", "m/s", "enu", "length of the velocity"},
    {"accel", "m/s^2", "enu", "length of the acceleration"},
    {"heading", "rad", "enu", "direction of the velocity, from east, counter-clockwise; 0 at rest"},
    {"turn_rate", "rad/s", "enu", "rate of that direction, (vx ay - vy ax)/v^2; 0 at rest"},
};

static void derive_course(double vx, double vy, double ax, double ay, double *derived)
{
    const double v2 = vx * vx + vy * vy;
    derived[0] = oto_hypot(vx, vy);
    derived[1] = oto_hypot(ax, ay);
    derived[2] = oto_atan2(vy, vx);
    derived[3] = v2 > 1e-200 ? (vx * ay - vy * ax) / v2 : 0.0;
}

static void ca_derive(const void *constants, const double *state, double *derived)
{
    (void)constants;
    derive_course(state[2], state[3], state[4], state[5], derived);
}

static void cv_derive(const void *constants, const double *state, double *derived)
{
    (void)constants;
    derive_course(state[2], state[3], 0.0, 0.0, derived);
}

/* ---- constant velocity ---- */

static enum oto_status cv_predict(const void *constants, const double *state, double dt_s, double *next)
{
    (void)constants;
    const double vx = state[2], vy = state[3];
    next[0] = state[0] + vx * dt_s;
    next[1] = state[1] + vy * dt_s;
    next[2] = vx;
    next[3] = vy;
    return OTO_OK;
}

static enum oto_status cv_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    (void)constants;
    (void)state;
    num_model_identity(4, jacobian);
    jacobian[0 * 4 + 2] = dt_s;
    jacobian[1 * 4 + 3] = dt_s;
    return OTO_OK;
}

/* ---- stationary models ---- */

static enum oto_status still_predict(const void *constants, const double *state, double dt_s, double *next)
{
    (void)constants;
    (void)dt_s;
    memmove(next, state, NUM_COUNT(NUM_STATIONARY_QUANTITIES) * sizeof *next);
    return OTO_OK;
}

static enum oto_status still_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    (void)constants;
    (void)state;
    (void)dt_s;
    num_model_identity(NUM_COUNT(NUM_STATIONARY_QUANTITIES), jacobian);
    return OTO_OK;
}

static uint32_t estimator_size_of(const void *constants)
{
    const int64_t count = ((const struct num_estimator_constants *)constants)->count;
    return count < 1 ? 1 : count > NUM_ESTIMATOR_MOST ? NUM_ESTIMATOR_MOST : (uint32_t)count;
}

static enum oto_status estimator_predict(const void *constants, const double *state, double dt_s, double *next)
{
    (void)dt_s;
    memmove(next, state, estimator_size_of(constants) * sizeof *next);
    return OTO_OK;
}

static enum oto_status estimator_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    (void)state;
    (void)dt_s;
    num_model_identity(estimator_size_of(constants), jacobian);
    return OTO_OK;
}

static enum oto_status estimator_both(const void *constants, const double *state, double dt_s, double *jacobian,
                                      double *next)
{
    (void)estimator_jacobian(constants, state, dt_s, jacobian);
    return estimator_predict(constants, state, dt_s, next);
}

/* The states of this model are parameters without motion: a vehicle of this model rests at the origin. */
static void estimator_to_truth(const void *constants, const double *state, struct oto_truth_record *truth)
{
    (void)constants;
    (void)state;
    memset(truth, 0, sizeof *truth);
    truth->q_enu_from_body = oto_quat_identity();
}

static void estimator_from_truth(const void *constants, const struct oto_truth_record *truth, double *state)
{
    (void)truth;
    memset(state, 0, estimator_size_of(constants) * sizeof *state);
}

static const struct oto_model_quantity estimator_states[] = {NUM_ESTIMATOR_QUANTITIES(NUM_QUANTITY)};
const struct num_model num_model_parameter_estimator = {
    .name = "parameter_estimator", .exact = true, .state_count = NUM_ESTIMATOR_MOST, .states = estimator_states,
    .size_of = estimator_size_of, .predict = estimator_predict, .jacobian = estimator_jacobian,
    .both = estimator_both, .to_truth = estimator_to_truth, .from_truth = estimator_from_truth};

/* ---- the models ---- */

LINEAR_SHARED_(still, 1, layout_xyzrpy)
LINEAR_MODEL(stationary, still, NUM_STATIONARY_QUANTITIES, .derived_count = 0)
LINEAR_SHARED_(cv, 2, layout_xy)
LINEAR_MODEL(constant_velocity, cv, NUM_CV_QUANTITIES, .derived_count = NUM_COURSE_DERIVED, .derived = num_course_derived,
             .derive = cv_derive)
LINEAR_OPERATIONS(xy, 2, 3, layout_xy)
LINEAR_MODEL(linear_xy, xy, NUM_CA_QUANTITIES, .derived_count = 0)
const struct num_model num_model_constant_acceleration = {
    .name = "constant_acceleration", .exact = true, .state_count = 6, .derived_count = NUM_COURSE_DERIVED, .states = xy_states,
    .derived = num_course_derived, .predict = xy_predict, .jacobian = xy_jacobian, .both = xy_both,
    .derive = ca_derive, .to_truth = xy_to_truth, .from_truth = xy_from_truth};
LINEAR_OPERATIONS(xyz, 3, 3, layout_xyz)
LINEAR_MODEL(linear_xyz, xyz, NUM_XYZ_QUANTITIES, .derived_count = 0)
LINEAR_OPERATIONS(xyyaw, 3, 3, layout_xyyaw)
LINEAR_MODEL(linear_xyyaw, xyyaw, NUM_XYYAW_QUANTITIES, .derived_count = 0)
LINEAR_OPERATIONS(xyzyaw, 4, 3, layout_xyzyaw)
LINEAR_MODEL(linear_xyzyaw, xyzyaw, NUM_XYZYAW_QUANTITIES, .derived_count = 0)
LINEAR_OPERATIONS(xyzrpy, 6, 3, layout_xyzrpy)
LINEAR_MODEL(linear_xyzrpy, xyzrpy, NUM_XYZRPY_QUANTITIES, .derived_count = 0)
