#include "ekf_measure.h"

#include <string.h>

/* Below this range the direction is undefined. */
#define LEAST_RANGE_M 1e-6

/* ---- states and positions ---- */

static bool linear(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                   double *y, double *h)
{
    for (uint32_t i = 0; i < sensor->field_count; i++) {
        const double difference = z[i] - x[sensor->states[i]];
        y[i] = sensor->wraps[i] != 0 ? oto_wrap_pi(difference) : difference;
        h[i * view->n + sensor->states[i]] = 1.0;
    }
    return true;
}

/* Measurement of the position of the body origin, or of a sensor that is mounted on the body. */
static bool position(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                     double *y, double *h)
{
    const uint32_t places[3] = {view->x, view->y, view->z};
    const double lever[3] = {sensor->mount_position_body_m.x, sensor->mount_position_body_m.y,
                             sensor->mount_position_body_m.z};
    const bool levered = lever[0] != 0.0 || lever[1] != 0.0 || lever[2] != 0.0;
    struct ekf_attitude attitude = {.count = 0};
    if (levered && !ekf_attitude_of(view, x, &attitude)) {
        return false;
    }
    for (uint32_t i = 0; i < sensor->field_count; i++) {
        y[i] = z[i] - x[places[i]];
        h[i * view->n + places[i]] = 1.0;
        for (uint32_t k = 0; levered && k < 3; k++) {
            y[i] -= attitude.r.m[i][k] * lever[k];
            for (uint32_t c = 0; c < attitude.count; c++) {
                h[i * view->n + attitude.state[c]] += attitude.d[c].m[i][k] * lever[k];
            }
        }
    }
    return true;
}

/* ---- range, bearing, range rate: in the horizontal plane ---- */

struct polar {
    double dx, dy, range;
};

static bool polar_of(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, struct polar *polar)
{
    polar->dx = x[view->x] - sensor->sensor_position_enu_m.x;
    polar->dy = x[view->y] - sensor->sensor_position_enu_m.y;
    polar->range = oto_sqrt(polar->dx * polar->dx + polar->dy * polar->dy);
    return polar->range > LEAST_RANGE_M;
}

static void range_row(const struct polar *p, const struct ekf_view *view, double z, double *y, double *h)
{
    *y = z - p->range;
    h[view->x] = p->dx / p->range;
    h[view->y] = p->dy / p->range;
}

static void bearing_row(const struct polar *p, const struct ekf_view *view, double z, double *y, double *h)
{
    const double square = p->range * p->range;
    *y = oto_wrap_pi(z - oto_atan2(p->dy, p->dx));
    h[view->x] = -p->dy / square;
    h[view->y] = p->dx / square;
}

static void range_rate_row(const struct polar *p, const struct ekf_view *view, const double *x, double z, double *y,
                           double *h)
{
    struct ekf_vector velocity;
    ekf_enu_velocity(view, x, &velocity);
    const double ex = p->dx / p->range, ey = p->dy / p->range;
    const double across = (velocity.v[0] * ey - velocity.v[1] * ex) / p->range;
    *y = z - (velocity.v[0] * ex + velocity.v[1] * ey);
    for (uint32_t s = 0; s < view->n; s++) {
        h[s] = ex * velocity.j[s] + ey * velocity.j[view->n + s];
    }
    h[view->x] += across * ey;
    h[view->y] -= across * ex;
}

static bool range_bearing_range_rate(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x,
                                     const double *z, double *y, double *h)
{
    struct polar p;
    if (!polar_of(sensor, view, x, &p)) {
        return false;
    }
    range_row(&p, view, z[0], y, h);
    bearing_row(&p, view, z[1], y + 1, h + view->n);
    if (sensor->field_count == 3) {
        range_rate_row(&p, view, x, z[2], y + 2, h + 2 * view->n);
    }
    return true;
}

static bool range(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                  double *y, double *h)
{
    struct polar p;
    if (!polar_of(sensor, view, x, &p)) {
        return false;
    }
    range_row(&p, view, z[0], y, h);
    return true;
}

static bool bearing(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                    double *y, double *h)
{
    struct polar p;
    if (!polar_of(sensor, view, x, &p)) {
        return false;
    }
    bearing_row(&p, view, z[0], y, h);
    return true;
}

void ekf_place_of_range(const struct ekf_sensor *sensor, const double *z, double place[2], double by_polar[4])
{
    double s, c;
    oto_sincos(z[1], &s, &c);
    place[0] = sensor->sensor_position_enu_m.x + z[0] * c;
    place[1] = sensor->sensor_position_enu_m.y + z[0] * s;
    by_polar[0] = c;
    by_polar[1] = -z[0] * s;
    by_polar[2] = s;
    by_polar[3] = z[0] * c;
}

/* ---- vectors in the sensor's axes ---- */

/* Innovation, in body axes, of a vector that was measured in sensor axes. */
static void vector_rows(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *z,
                        const struct ekf_vector *expected, double *y, double *h)
{
    double body[3];
    oto_vec3_to_array(oto_quat_rotate(sensor->q_body_from_sensor, oto_vec3_from_array(z)), body);
    for (uint32_t i = 0; i < 3; i++) {
        y[i] = body[i] - expected->v[i];
    }
    memcpy(h, expected->j, 3 * view->n * sizeof *h);
}

/* velocity += rate × lever */
static bool add_lever(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x,
                      struct ekf_vector *velocity)
{
    const oto_vec3 l = sensor->mount_position_body_m;
    struct ekf_vector rate;
    if (oto_vec3_norm_sq(l) == 0.0 || (view->needs & EKF_YAW_RATE) == 0) {
        return true;
    }
    if (!ekf_body_rate(view, x, &rate)) {
        return false;
    }
    const oto_mat3 m = oto_mat3_scale(oto_mat3_skew(l), -1.0);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            velocity->v[i] += m.m[i][k] * rate.v[k];
            for (uint32_t s = 0; s < view->n; s++) {
                velocity->j[i * view->n + s] += m.m[i][k] * rate.j[k * view->n + s];
            }
        }
    }
    return true;
}

static bool body_velocity(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x,
                          const double *z, double *y, double *h)
{
    struct ekf_vector velocity;
    if (!ekf_body_velocity(view, x, &velocity) || !add_lever(sensor, view, x, &velocity)) {
        return false;
    }
    vector_rows(sensor, view, z, &velocity, y, h);
    return true;
}

static bool body_speed(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                       double *y, double *h)
{
    struct ekf_vector velocity;
    if (!ekf_body_velocity(view, x, &velocity) || !add_lever(sensor, view, x, &velocity)) {
        return false;
    }
    y[0] = z[0] - velocity.v[0];
    memcpy(h, velocity.j, view->n * sizeof *h);
    return true;
}

static bool enu_velocity(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                         double *y, double *h)
{
    struct ekf_vector velocity;
    ekf_enu_velocity(view, x, &velocity);
    for (uint32_t i = 0; i < sensor->field_count; i++) {
        y[i] = z[i] - velocity.v[i];
    }
    memcpy(h, velocity.j, sensor->field_count * view->n * sizeof *h);
    return true;
}

static bool angular_rate(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                         double *y, double *h)
{
    struct ekf_vector rate;
    if (!ekf_body_rate(view, x, &rate)) {
        return false;
    }
    vector_rows(sensor, view, z, &rate, y, h);
    return true;
}

/* Measurement of the rate about body z. Works for models that turn about z only and for all others with a body rate. */
static bool yaw_rate(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                     double *y, double *h)
{
    struct ekf_vector rate;
    (void)sensor;
    if (!ekf_body_rate(view, x, &rate)) {
        return false;
    }
    y[0] = z[0] - rate.v[2];
    memcpy(h, rate.j + 2 * view->n, view->n * sizeof *h);
    return true;
}

/* f = Rᵀ (a + g up) */
static bool specific_force(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x,
                           const double *z, double *y, double *h)
{
    struct ekf_vector force;
    struct ekf_attitude attitude;
    if (!ekf_body_acceleration(view, x, &force) || !ekf_attitude_of(view, x, &attitude)) {
        return false;
    }
    ekf_add_from_enu(view, &attitude, oto_vec3_make(0, 0, sensor->gravity_m_s2), &force);
    vector_rows(sensor, view, z, &force, y, h);
    return true;
}

/* ---- attitude ---- */

static bool heading(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                    double *y, double *h)
{
    struct ekf_attitude attitude;
    (void)sensor;
    if (view->yaw != EKF_ABSENT) {
        y[0] = oto_wrap_pi(z[0] - x[view->yaw]);
        h[view->yaw] = 1.0;
        return true;
    }
    if (!ekf_attitude_of(view, x, &attitude)) {
        return false;
    }
    const double c = attitude.r.m[0][0], s = attitude.r.m[1][0], square = c * c + s * s;
    if (!(square > 1e-12)) {
        return false;
    }
    y[0] = oto_wrap_pi(z[0] - oto_atan2(s, c));
    for (uint32_t k = 0; k < attitude.count; k++) {
        h[attitude.state[k]] = (c * attitude.d[k].m[1][0] - s * attitude.d[k].m[0][0]) / square;
    }
    return true;
}

/* Measurement of the heading: the yaw that aligns the horizontal field, measured in level axes, with magnetic north. */
static bool magnetic_heading(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x,
                             const double *z, double *y, double *h)
{
    const oto_vec3 field = oto_quat_rotate(sensor->q_body_from_sensor, oto_vec3_from_array(z));
    const double square = field.x * field.x + field.y * field.y;
    const double yaw = sensor->field_azimuth_rad - oto_atan2(field.y, field.x);
    return square > 0.0 && heading(sensor, view, x, &yaw, y, h);
}

/*
 * Measurement of the attitude: innovation in roll, pitch and yaw; for a model with a quaternion, the small rotation 2
 * vec(q⁻¹ q_measured) about body axes.
 */
static bool attitude(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                     double *y, double *h)
{
    const oto_quat raw = oto_quat_make(z[0], z[1], z[2], z[3]);
    if (!oto_quat_is_unit(raw, 0.05)) {
        return false;
    }
    oto_quat measured = oto_quat_normalize(oto_quat_mul(raw, oto_quat_conj(sensor->q_body_from_sensor)));
    if (view->qw == EKF_ABSENT) {
        const oto_vec3 rpy = oto_rpy_from_quat(measured);
        const uint32_t places[3] = {view->roll, view->pitch, view->yaw};
        const double angles[3] = {rpy.x, rpy.y, rpy.z};
        for (uint32_t i = 0; i < 3; i++) {
            y[i] = oto_wrap_pi(angles[i] - x[places[i]]);
            h[i * view->n + places[i]] = 1.0;
        }
        return true;
    }
    const oto_quat q = oto_quat_make(x[view->qw], x[view->qw + 1], x[view->qw + 2], x[view->qw + 3]);
    if (oto_quat_dot(q, measured) < 0.0) {
        measured = oto_quat_neg(measured);
    }
    const oto_quat turn = oto_quat_mul(oto_quat_conj(q), measured);
    y[0] = 2.0 * turn.x;
    y[1] = 2.0 * turn.y;
    y[2] = 2.0 * turn.z;
    const double w = measured.w, i = measured.x, j = measured.y, k = measured.z; /* the innovation y is linear in q: h = −∂y/∂q */
    const double rows[3][4] = {{-i, w, k, -j}, {-j, -k, w, i}, {-k, j, -i, w}};
    for (uint32_t r = 0; r < 3; r++) {
        for (uint32_t c = 0; c < 4; c++) {
            h[r * view->n + view->qw + c] = 2.0 * rows[r][c];
        }
    }
    return true;
}

/* ---- the table ---- */

static const char *const position_fields[] = {"position_enu_m.x", "position_enu_m.y", "position_enu_m.z"};
static const char *const velocity_fields[] = {"velocity_enu_m_s.x", "velocity_enu_m_s.y", "velocity_enu_m_s.z"};
static const char *const speed_fields[] = {"speed_m_s"};
static const char *const rate_fields[] = {"angular_velocity.x", "angular_velocity.y", "angular_velocity.z"};
static const char *const yaw_rate_fields[] = {"angular_velocity.z"};
static const char *const magnetic_fields[] = {"magnetic_field.x", "magnetic_field.y", "magnetic_field.z"};
static const char *const orientation_fields[] = {"orientation.w", "orientation.x", "orientation.y", "orientation.z"};
static const char *const force_fields[] = {"linear_acceleration.x", "linear_acceleration.y", "linear_acceleration.z"};

/* clang-format off */
const struct ekf_function ekf_functions[EKF_FUNCTIONS] = {
    [EKF_LINEAR] = {"linear", "states themselves", 1, 3, 0, 0, 0, NULL, linear},
    [EKF_POSITION_FIX] = {"position", "x, y and z of the mount", 2, 3, 0, EKF_POSITION, 0, position_fields, position},
    [EKF_RANGE_BEARING_RANGE_RATE] = {"range_bearing_range_rate", "seen from a fixed place", 3, 3, 0, EKF_POSITION | EKF_VELOCITY, 0, NULL, range_bearing_range_rate},
    [EKF_RANGE_BEARING] = {"range_bearing", "seen from a fixed place", 2, 2, 0, EKF_POSITION, 0, NULL, range_bearing_range_rate},
    [EKF_RANGE] = {"range", "from a fixed place", 1, 1, 0, EKF_POSITION, 0, NULL, range},
    [EKF_BEARING] = {"bearing", "from a fixed place", 1, 1, 0, EKF_POSITION, 0, NULL, bearing},
    [EKF_BODY_SPEED] = {"body_speed", "speed along body x", 1, 1, 0, EKF_VELOCITY, 0, speed_fields, body_speed},
    [EKF_BODY_VELOCITY] = {"body_velocity", "velocity in the sensor's axes", 3, 3, 3, EKF_VELOCITY, 1, NULL, body_velocity},
    [EKF_ENU_VELOCITY] = {"velocity", "velocity east, north and up", 2, 3, 0, EKF_VELOCITY, 0, velocity_fields, enu_velocity},
    [EKF_HEADING_ANGLE] = {"heading", "yaw, from east", 1, 1, 0, EKF_HEADING, 0, NULL, heading},
    [EKF_MAGNETIC_HEADING] = {"magnetic_heading", "yaw by a magnetometer that stands level", 3, 3, 1, EKF_HEADING, 0, magnetic_fields, magnetic_heading},
    [EKF_YAW_RATE_ABOUT_Z] = {"yaw_rate", "rate about body z", 1, 1, 0, EKF_YAW_RATE, 0, yaw_rate_fields, yaw_rate},
    [EKF_ANGULAR_RATE] = {"angular_rate", "rates in the sensor's axes", 3, 3, 3, EKF_YAW_RATE, 1, rate_fields, angular_rate},
    [EKF_ATTITUDE_QUATERNION] = {"attitude", "quaternion w x y z, ENU from sensor", 4, 4, 3, EKF_ATTITUDE, 1, orientation_fields, attitude},
    [EKF_SPECIFIC_FORCE] = {"specific_force", "accelerometer in the sensor's axes", 3, 3, 3, EKF_ACCELERATION | EKF_HEADING, 1, force_fields, specific_force},
};
/* clang-format on */

bool ekf_measure(const struct ekf_sensor *sensor, const struct ekf_view *view, const double *x, const double *z,
                 struct num_kalman_row *row)
{
    const struct ekf_function *function = &ekf_functions[sensor->function];
    const uint32_t n = view->n, rows = function->rows != 0 ? function->rows : sensor->field_count;
    memset(row->jacobian, 0, rows * n * sizeof *row->jacobian);
    if (!function->residual(sensor, view, x, z, row->innovation, row->jacobian)) {
        return false;
    }
    row->m = sensor->m;
    for (uint32_t from = 0, to = 0; row->m < rows && from < rows; from++) {
        if ((sensor->components >> from & 1u) != 0) {
            row->innovation[to] = row->innovation[from];
            memmove(row->jacobian + to * n, row->jacobian + from * n, n * sizeof *row->jacobian);
            to++;
        }
    }
    return true;
}
