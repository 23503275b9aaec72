/*
 * Models that drive along circles and clothoid-like paths, in closed form: CTRV, CATR with and without a box, bicycle.
 */
#include "num_model.h"

#include <string.h>

#include "num_catr.h"
#include "num_truth.h"

/* ---- a vehicle that drives along its heading, or with a constant side slip ---- */

struct course {
    double x_m, y_m, yaw_rad;
    double slip_rad; /* angle from the heading to the velocity */
    double speed_m_s, accel_m_s2, turn_rate_rad_s, turn_accel_rad_s2;
};

static void course_to_truth(const struct course *course, struct oto_truth_record *truth)
{
    const struct num_direction d = num_direction_of(course->yaw_rad + course->slip_rad);
    const double normal = course->speed_m_s * course->turn_rate_rad_s;
    struct num_pose pose;
    memset(&pose, 0, sizeof pose);
    pose.position_enu_m = oto_vec3_make(course->x_m, course->y_m, 0.0);
    pose.velocity_enu_m_s = oto_vec3_make(course->speed_m_s * d.cosine, course->speed_m_s * d.sine, 0.0);
    pose.accel_enu_m_s2 = oto_vec3_make(course->accel_m_s2 * d.cosine - normal * d.sine,
                                        course->accel_m_s2 * d.sine + normal * d.cosine, 0.0);
    pose.rpy_rad.z = course->yaw_rad;
    pose.rpy_rate_rad_s.z = course->turn_rate_rad_s;
    pose.rpy_accel_rad_s2.z = course->turn_accel_rad_s2;
    num_truth_from_pose(&pose, truth);
}

/* Speed and acceleration along the heading; components across it are dropped. */
static struct course course_from_truth(const struct oto_truth_record *truth)
{
    struct num_pose pose;
    num_pose_from_truth(truth, &pose);
    const struct num_direction d = num_direction_of(pose.rpy_rad.z);
    return (struct course){
        .x_m = pose.position_enu_m.x, .y_m = pose.position_enu_m.y, .yaw_rad = pose.rpy_rad.z,
        .speed_m_s = pose.velocity_enu_m_s.x * d.cosine + pose.velocity_enu_m_s.y * d.sine,
        .accel_m_s2 = pose.accel_enu_m_s2.x * d.cosine + pose.accel_enu_m_s2.y * d.sine,
        .turn_rate_rad_s = pose.rpy_rate_rad_s.z};
}

/* ---- CATR: the state is struct num_catr ---- */

static struct num_catr catr_of(const double *state)
{
    return (struct num_catr){state[0], state[1], state[2], state[3], state[4], state[5]};
}

/* Copies number by number: a copy of the whole struct would wait for the preceding stores. */
static void catr_put(const struct num_catr *catr, double *state)
{
    state[0] = catr->x_m;
    state[1] = catr->y_m;
    state[2] = catr->speed_m_s;
    state[3] = catr->accel_m_s2;
    state[4] = catr->heading_rad;
    state[5] = catr->turn_rate_rad_s;
}

static enum oto_status catr_predict(const void *constants, const double *state, double dt_s, double *next)
{
    (void)constants;
    struct num_catr catr = catr_of(state);
    num_catr_predict_towards(&catr, num_direction_of(catr.heading_rad), dt_s, &catr);
    catr_put(&catr, next);
    return OTO_OK;
}

static enum oto_status catr_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    (void)constants;
    const struct num_catr catr = catr_of(state);
    num_catr_jacobian(&catr, dt_s, (double(*)[NUM_CATR_STATES])jacobian);
    return OTO_OK;
}

static enum oto_status catr_both(const void *constants, const double *state, double dt_s, double *jacobian,
                                 double *next)
{
    (void)constants;
    struct num_catr catr = catr_of(state);
    num_catr_jacobian_and_predict(&catr, dt_s, (double(*)[NUM_CATR_STATES])jacobian, &catr);
    catr_put(&catr, next);
    return OTO_OK;
}

static void catr_to_truth(const void *constants, const double *state, struct oto_truth_record *truth)
{
    (void)constants;
    const struct course course = {.x_m = state[0], .y_m = state[1], .yaw_rad = state[4], .speed_m_s = state[2],
                                  .accel_m_s2 = state[3], .turn_rate_rad_s = state[5]};
    course_to_truth(&course, truth);
}

static void catr_from_truth(const void *constants, const struct oto_truth_record *truth, double *state)
{
    (void)constants;
    const struct course c = course_from_truth(truth);
    const struct num_catr catr = {c.x_m, c.y_m, c.speed_m_s, c.accel_m_s2, c.yaw_rad, c.turn_rate_rad_s};
    catr_put(&catr, state);
}

static const struct oto_model_quantity catr_states[] = {NUM_CATR_QUANTITIES(NUM_QUANTITY)};
const struct num_model num_model_catr = {
    .name = "catr", .exact = true, .state_count = 6, .states = catr_states, .predict = catr_predict,
    .jacobian = catr_jacobian, .both = catr_both, .to_truth = catr_to_truth, .from_truth = catr_from_truth};

/* ---- CATR with the two constant sizes of a box ---- */

static enum oto_status box_predict(const void *constants, const double *state, double dt_s, double *next)
{
    const double length = state[6], width = state[7];
    (void)catr_predict(constants, state, dt_s, next);
    next[6] = length;
    next[7] = width;
    return OTO_OK;
}

static enum oto_status box_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    double catr[NUM_CATR_STATES * NUM_CATR_STATES];
    (void)catr_jacobian(constants, state, dt_s, catr);
    num_model_identity(8, jacobian);
    for (int i = 0; i < NUM_CATR_STATES; i++) {
        memcpy(jacobian + 8 * i, catr + NUM_CATR_STATES * i, NUM_CATR_STATES * sizeof *catr);
    }
    return OTO_OK;
}

static enum oto_status box_both(const void *constants, const double *state, double dt_s, double *jacobian,
                                double *next)
{
    (void)box_jacobian(constants, state, dt_s, jacobian);
    return box_predict(constants, state, dt_s, next);
}

static void box_from_truth(const void *constants, const struct oto_truth_record *truth, double *state)
{
    catr_from_truth(constants, truth, state);
    state[6] = 4.5;
    state[7] = 1.8;
}

static const struct oto_model_quantity box_states[] = {NUM_CATR_BOX_QUANTITIES(NUM_QUANTITY)};
const struct num_model num_model_catr_box = {
    .name = "catr_box", .exact = true, .state_count = 8, .states = box_states, .predict = box_predict,
    .jacobian = box_jacobian, .both = box_both, .to_truth = catr_to_truth, .from_truth = box_from_truth};

/* ---- CTRV: CATR without acceleration, in the order x, y, yaw, v, w ---- */

static struct num_catr catr_of_ctrv(const double *state)
{
    return (struct num_catr){state[0], state[1], state[3], 0.0, state[2], state[4]};
}

static void ctrv_put(const struct num_catr *catr, double *state)
{
    state[0] = catr->x_m;
    state[1] = catr->y_m;
    state[2] = catr->heading_rad;
    state[3] = catr->speed_m_s;
    state[4] = catr->turn_rate_rad_s;
}

/* Copies those rows and columns of the Jacobian of CATR whose states CTRV has. */
static void ctrv_put_jacobian(double catr[NUM_CATR_STATES][NUM_CATR_STATES], double *jacobian)
{
    static const int place[5] = {0, 1, 4, 2, 5};
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 5; k++) {
            jacobian[5 * i + k] = catr[place[i]][place[k]];
        }
    }
}

static enum oto_status ctrv_predict(const void *constants, const double *state, double dt_s, double *next)
{
    (void)constants;
    struct num_catr catr = catr_of_ctrv(state);
    num_catr_predict(&catr, dt_s, &catr);
    ctrv_put(&catr, next);
    return OTO_OK;
}

static enum oto_status ctrv_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    (void)constants;
    const struct num_catr catr = catr_of_ctrv(state);
    double full[NUM_CATR_STATES][NUM_CATR_STATES];
    num_catr_jacobian(&catr, dt_s, full);
    ctrv_put_jacobian(full, jacobian);
    return OTO_OK;
}

static enum oto_status ctrv_both(const void *constants, const double *state, double dt_s, double *jacobian,
                                 double *next)
{
    (void)constants;
    struct num_catr catr = catr_of_ctrv(state);
    double full[NUM_CATR_STATES][NUM_CATR_STATES];
    num_catr_jacobian_and_predict(&catr, dt_s, full, &catr);
    ctrv_put_jacobian(full, jacobian);
    ctrv_put(&catr, next);
    return OTO_OK;
}

static void ctrv_to_truth(const void *constants, const double *state, struct oto_truth_record *truth)
{
    (void)constants;
    const struct course course = {.x_m = state[0], .y_m = state[1], .yaw_rad = state[2], .speed_m_s = state[3],
                                  .turn_rate_rad_s = state[4]};
    course_to_truth(&course, truth);
}

static void ctrv_from_truth(const void *constants, const struct oto_truth_record *truth, double *state)
{
    (void)constants;
    const struct course c = course_from_truth(truth);
    const struct num_catr catr = {c.x_m, c.y_m, c.speed_m_s, 0.0, c.yaw_rad, c.turn_rate_rad_s};
    ctrv_put(&catr, state);
}

static const struct oto_model_quantity ctrv_states[] = {NUM_CTRV_QUANTITIES(NUM_QUANTITY)};
const struct num_model num_model_ctrv = {
    .name = "ctrv", .exact = true, .state_count = 5, .states = ctrv_states, .predict = ctrv_predict,
    .jacobian = ctrv_jacobian, .both = ctrv_both, .to_truth = ctrv_to_truth, .from_truth = ctrv_from_truth};

/* ---- kinematic bicycle: the path's curvature is constant, its length is s = ut + a t²/2 ---- */

struct bicycle {
    double slip_rad;      /* beta = atan(L_r tan(delta) / (L_f + L_r)) */
    double curvature_1_m; /* sin(beta)/L_r, written without the division by L_r */
    double length_m, end_speed_m_s;
    double dx_m, dy_m;
    double end_sine, end_cosine; /* of the course at the end */
};

static double bicycle_curvature(const struct num_bicycle_constants *c, double *slip_rad)
{
    const double per_m = oto_tan(c->steering_rad) / (c->front_m + c->rear_m);
    *slip_rad = oto_atan(c->rear_m * per_m);
    return per_m * oto_cos(*slip_rad);
}

static struct bicycle bicycle_move(const struct num_bicycle_constants *c, const double *state, double t)
{
    struct bicycle b;
    struct num_moments m;
    b.curvature_1_m = bicycle_curvature(c, &b.slip_rad);
    b.length_m = t * (state[3] + 0.5 * c->accel_m_s2 * t);
    b.end_speed_m_s = state[3] + c->accel_m_s2 * t;
    const struct num_direction d = num_direction_of(state[2] + b.slip_rad);
    const double alpha = b.curvature_1_m * b.length_m;
    num_moments_at(alpha, 1, &m);
    b.dx_m = b.length_m * (d.cosine * m.cosine[0] - d.sine * m.sine[0]);
    b.dy_m = b.length_m * (d.sine * m.cosine[0] + d.cosine * m.sine[0]);
    oto_sincos(state[2] + b.slip_rad + alpha, &b.end_sine, &b.end_cosine);
    return b;
}

static void bicycle_put(const struct bicycle *b, const double *state, double *next)
{
    next[0] = state[0] + b->dx_m;
    next[1] = state[1] + b->dy_m;
    next[2] = state[2] + b->curvature_1_m * b->length_m;
    next[3] = b->end_speed_m_s;
}

/* The term t: a higher initial speed increases the path length at the end by t per m/s. */
static void bicycle_put_jacobian(const struct bicycle *b, double t, double *jacobian)
{
    num_model_identity(4, jacobian);
    jacobian[0 * 4 + 2] = -b->dy_m;
    jacobian[0 * 4 + 3] = t * b->end_cosine;
    jacobian[1 * 4 + 2] = b->dx_m;
    jacobian[1 * 4 + 3] = t * b->end_sine;
    jacobian[2 * 4 + 3] = t * b->curvature_1_m;
}

static enum oto_status bicycle_predict(const void *constants, const double *state, double dt_s, double *next)
{
    const struct bicycle b = bicycle_move(constants, state, dt_s);
    bicycle_put(&b, state, next);
    return OTO_OK;
}

static enum oto_status bicycle_jacobian(const void *constants, const double *state, double dt_s, double *jacobian)
{
    const struct bicycle b = bicycle_move(constants, state, dt_s);
    bicycle_put_jacobian(&b, dt_s, jacobian);
    return OTO_OK;
}

static enum oto_status bicycle_both(const void *constants, const double *state, double dt_s, double *jacobian,
                                    double *next)
{
    const struct bicycle b = bicycle_move(constants, state, dt_s);
    bicycle_put_jacobian(&b, dt_s, jacobian);
    bicycle_put(&b, state, next);
    return OTO_OK;
}

const struct oto_model_quantity num_bicycle_derived[NUM_BICYCLE_DERIVED] = {
    {"beta", "rad", "body", "side slip: from the heading to the velocity"},
    {"yaw_rate", "rad/s", "body", "turn rate at this speed"},
};

static void bicycle_derive(const void *constants, const double *state, double *derived)
{
    const double curvature_1_m = bicycle_curvature(constants, &derived[0]);
    derived[1] = state[3] * curvature_1_m;
}

static void bicycle_to_truth(const void *constants, const double *state, struct oto_truth_record *truth)
{
    const struct num_bicycle_constants *c = constants;
    struct course course = {.x_m = state[0], .y_m = state[1], .yaw_rad = state[2], .speed_m_s = state[3],
                            .accel_m_s2 = c->accel_m_s2};
    const double curvature_1_m = bicycle_curvature(c, &course.slip_rad);
    course.turn_rate_rad_s = state[3] * curvature_1_m;
    course.turn_accel_rad_s2 = c->accel_m_s2 * curvature_1_m;
    course_to_truth(&course, truth);
}

/* The state from a truth. The speed along the path is chosen so that its component along the heading equals that of the truth. */
static void bicycle_from_truth(const void *constants, const struct oto_truth_record *truth, double *state)
{
    const struct course course = course_from_truth(truth);
    double slip_rad;
    (void)bicycle_curvature(constants, &slip_rad);
    state[0] = course.x_m;
    state[1] = course.y_m;
    state[2] = course.yaw_rad;
    state[3] = course.speed_m_s / oto_cos(slip_rad);
}

static const struct oto_model_quantity bicycle_states[] = {NUM_BICYCLE_QUANTITIES(NUM_QUANTITY)};
const struct num_model num_model_kinematic_bicycle = {
    .name = "kinematic_bicycle", .exact = true, .state_count = 4, .derived_count = NUM_BICYCLE_DERIVED, .states = bicycle_states,
    .derived = num_bicycle_derived, .predict = bicycle_predict, .jacobian = bicycle_jacobian, .both = bicycle_both,
    .derive = bicycle_derive, .to_truth = bicycle_to_truth, .from_truth = bicycle_from_truth};
