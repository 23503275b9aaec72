#include "trajectory.h"

#include <string.h>

#define MOST_KNOTS_A_ROW 20       /* a gap longer than this many rows on average is refused */
#define COURSE_SPEED_M_S 0.5      /* below this speed the velocity gives no direction of travel */
#define STILL_RADIUS_M 0.5        /* largest distance of the rows of a standstill from its first row */
#define STILL_ANGLE_RAD 0.02
#define STOP_DECEL_M_S2 2.0       /* mean deceleration beyond the ends */
#define SHORTEST_STOP_S 1.0
#define LOOP_PAUSE_S 1.0
#define LEAST_LENGTH_SQ 0.25      /* least squared length of the smoothed quaternion */

struct fitter {
    struct trajectory *trajectory;
    const struct rows *rows;
    const struct trajectory_options *options;
    const char *path;
    trajectory_alloc *alloc;
    void *alloc_context;
    struct oto_error *error;
    double rows_per_s;
    uint64_t points;
    uint64_t *unknown;
    double *work;
    double *position_rows;
    oto_quat *attitude_rows;
    double *speed_m_s; /* of the rows */
};

static void *take(const struct fitter *f, uint64_t count, size_t bytes)
{
    return f->alloc(f->alloc_context, (size_t)count * bytes);
}

/* The median of the intervals between rows, by bisection on the value, without a copy or sorting. */
static double median_interval_s(const struct rows *rows)
{
    double low = 0.0, high = rows->t_s[rows->count - 1];
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        uint64_t below = 0;
        for (uint64_t r = 1; r < rows->count; r++)
            below += rows->t_s[r] - rows->t_s[r - 1] <= middle;
        if (below * 2 > rows->count - 1)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static enum oto_status lay_grid(struct fitter *f)
{
    const struct trajectory_options *o = f->options;
    double span_s = f->rows->t_s[f->rows->count - 1], knot_s = median_interval_s(f->rows), count;
    double shortest_s = o->position_smoothing_s < o->attitude_smoothing_s ? o->position_smoothing_s : o->attitude_smoothing_s;
    if (knot_s < 0.5 * shortest_s)
        knot_s = 0.5 * shortest_s;
    count = span_s / knot_s;
    if (count > (double)f->rows->count * MOST_KNOTS_A_ROW)
        return oto_fail(f->error, OTO_INVALID,
                        "%s: it spans %g s with rows %g s apart, so most of it is gaps; split the file at them", f->path,
                        span_s, knot_s);
    f->trajectory->grid.start_s = 0.0;
    f->trajectory->grid.intervals = (uint64_t)count + 1;
    f->trajectory->grid.knot_s = span_s / (double)f->trajectory->grid.intervals;
    f->points = f->trajectory->grid.intervals + NUM_SPLINE_ORDER - 1;
    f->rows_per_s = (double)f->rows->count / span_s;
    return OTO_OK;
}

static enum oto_status take_memory(struct fitter *f)
{
    uint64_t n = f->rows->count;
    f->unknown = take(f, f->points, sizeof *f->unknown);
    f->work = take(f, f->points * (NUM_SPLINE_ORDER + 4), sizeof *f->work);
    f->position_rows = take(f, n * 3, sizeof *f->position_rows);
    f->speed_m_s = take(f, n, sizeof *f->speed_m_s);
    f->trajectory->position = take(f, f->points * 3, sizeof(double));
    f->trajectory->attitude = take(f, f->points * 4, sizeof(double));
    f->attitude_rows = f->rows->q_enu_from_body != NULL ? f->rows->q_enu_from_body : take(f, n, sizeof(oto_quat));
    if (f->unknown == NULL || f->work == NULL || f->position_rows == NULL || f->speed_m_s == NULL ||
        f->trajectory->position == NULL || f->trajectory->attitude == NULL || f->attitude_rows == NULL)
        return oto_fail(f->error, OTO_NO_MEMORY, "%s: out of memory for %llu rows", f->path, (unsigned long long)n);
    f->trajectory->base_enu_m = f->rows->position_enu_m[0];
    for (uint64_t r = 0; r < n; r++)
        oto_vec3_to_array(oto_vec3_sub(f->rows->position_enu_m[r], f->trajectory->base_enu_m), f->position_rows + 3 * r);
    for (uint64_t point = 0; point < f->points; point++)
        f->unknown[point] = point;
    return OTO_OK;
}

/* Raises a smoothing time that is far below the knot distance. Otherwise the rows would not determine all unknowns. */
static double at_least_knots(const struct fitter *f, double smoothing_s)
{
    double least_s = 0.2 * f->trajectory->grid.knot_s;
    return smoothing_s > least_s ? smoothing_s : least_s;
}

static enum oto_status fit_channels(struct fitter *f, const double *value, const double *rate, uint32_t channels,
                                    double smoothing_s, double *control)
{
    double tau_s = at_least_knots(f, smoothing_s), tau2 = tau_s * tau_s;
    double value_weight = 1.0 / (f->options->position_sigma_m * f->options->position_sigma_m);
    double rate_weight = 1.0 / (f->options->velocity_sigma_m_s * f->options->velocity_sigma_m_s);
    struct num_spline_rows rows = {f->rows->count, f->rows->t_s, value, rate, value_weight, rate_weight, channels};
    double lambda = f->rows_per_s * tau2 * tau2 * (value_weight * tau2 + (rate != NULL ? rate_weight : 0.0));
    if (!num_spline_fit(&f->trajectory->grid, &rows, lambda, f->unknown, f->work, control))
        return oto_fail(f->error, OTO_INVALID,
                        "%s: its rows do not determine a spline with a smoothing time of %g s; a shorter one may do",
                        f->path, smoothing_s);
    return OTO_OK;
}

static enum oto_status fit_position(struct fitter *f)
{
    const double *rate = f->rows->velocity_enu_m_s != NULL ? &f->rows->velocity_enu_m_s[0].x : NULL;
    return fit_channels(f, f->position_rows, rate, 3, f->options->position_smoothing_s, f->trajectory->position);
}

static enum oto_status fit_attitude(struct fitter *f)
{
    enum oto_status status = fit_channels(f, &f->attitude_rows[0].w, NULL, 4, f->options->attitude_smoothing_s,
                                          f->trajectory->attitude);
    for (uint64_t r = 0; r < f->rows->count && status == OTO_OK; r++) {
        double value[7], rate[7], accel[7], length_sq;
        trajectory_spline(f->trajectory, f->rows->t_s[r], value, rate, accel);
        length_sq = value[3] * value[3] + value[4] * value[4] + value[5] * value[5] + value[6] * value[6];
        if (!(length_sq > LEAST_LENGTH_SQ))
            status = oto_fail(f->error, OTO_INVALID,
                              "%s: at row %llu the attitude turns too far within smoothing.attitude_s %g; set a smaller value",
                              f->path, (unsigned long long)r + 1, f->options->attitude_smoothing_s);
    }
    return status;
}

static oto_vec3 fitted_velocity(const struct fitter *f, uint64_t row)
{
    struct num_spline_basis basis;
    double value[3], rate[3], accel[3];
    num_spline_basis_at(&f->trajectory->grid, f->rows->t_s[row], &basis);
    num_spline_combine(&basis, f->trajectory->position, 3, value, rate, accel);
    return oto_vec3_from_array(rate);
}

/* ---- attitude of a file that has none: x along the velocity, y level ---- */

static oto_quat course(oto_vec3 v)
{
    return oto_quat_from_rpy(0.0, -oto_atan2(v.z, oto_hypot(v.x, v.y)), oto_atan2(v.y, v.x));
}

static void attitude_from_course(struct fitter *f)
{
    oto_quat now = oto_quat_identity();
    for (uint64_t r = f->rows->count; r-- > 0;)
        if (oto_vec3_norm(fitted_velocity(f, r)) >= COURSE_SPEED_M_S)
            now = course(fitted_velocity(f, r));
    for (uint64_t r = 0; r < f->rows->count; r++) {
        oto_vec3 v = fitted_velocity(f, r);
        oto_quat next = oto_vec3_norm(v) >= COURSE_SPEED_M_S ? course(v) : now;
        now = oto_quat_dot(next, now) < 0.0 ? oto_quat_neg(next) : next;
        f->attitude_rows[r] = now;
    }
}

/* ---- standstill ---- */

/* The index after the last row of the still rows that begin at `first`. */
static uint64_t still_until(const struct fitter *f, uint64_t first)
{
    uint64_t r = first;
    while (r < f->rows->count && f->speed_m_s[r] < f->options->standstill_speed_m_s &&
           oto_vec3_norm(oto_vec3_sub(f->rows->position_enu_m[r], f->rows->position_enu_m[first])) < STILL_RADIUS_M &&
           oto_quat_angle_between(f->attitude_rows[r], f->attitude_rows[first]) < STILL_ANGLE_RAD)
        r++;
    return r;
}

/* Makes all control points of the intervals within [from, to] equal: they become one unknown. */
static void merge_points(struct fitter *f, double from_s, double to_s)
{
    double knot_s = f->trajectory->grid.knot_s;
    uint64_t first = (uint64_t)(from_s / knot_s + 1.0 - 1e-9), end = (uint64_t)(to_s / knot_s + 1e-9);
    for (uint64_t point = first + 1; end > first && point < end + NUM_SPLINE_ORDER - 1; point++)
        f->unknown[point] = UINT64_MAX; /* this control point equals the preceding one */
}

static void number_unknowns(struct fitter *f)
{
    uint64_t next = 0;
    for (uint64_t point = 1; point < f->points; point++)
        f->unknown[point] = f->unknown[point] == UINT64_MAX ? next : ++next;
}

/* Finds the standstills and merges their control points; true if there is one. */
static bool find_standstills(struct fitter *f)
{
    const double *t_s = f->rows->t_s;
    for (uint64_t r = 0; r < f->rows->count; r++)
        f->speed_m_s[r] =
            oto_vec3_norm(f->rows->velocity_enu_m_s != NULL ? f->rows->velocity_enu_m_s[r] : fitted_velocity(f, r));
    for (uint64_t first = 0; first < f->rows->count;) {
        uint64_t end = still_until(f, first);
        if (end > first && t_s[end - 1] - t_s[first] >= f->options->standstill_duration_s) {
            f->trajectory->still_rows += end - first;
            merge_points(f, t_s[first], t_s[end - 1]);
        }
        first = end > first ? end : first + 1;
    }
    number_unknowns(f);
    return f->trajectory->still_rows > 0;
}

/* ---- beyond the ends ---- */

static void lay_coast(const struct trajectory *t, double x_s, double direction, struct trajectory_coast *coast)
{
    double value[7], rate[7], accel[7], speed_m_s;
    trajectory_spline(t, x_s, value, rate, accel);
    speed_m_s = oto_vec3_norm(oto_vec3_from_array(rate));
    for (int i = 0; i < 7; i++)
        rate[i] *= direction;
    coast->direction = direction;
    coast->attitude_stop_s = SHORTEST_STOP_S;
    coast->position_stop_s = SHORTEST_STOP_S + speed_m_s / STOP_DECEL_M_S2;
    memcpy(coast->position, value, sizeof coast->position);
    memcpy(coast->position_rate, rate, sizeof coast->position_rate);
    memcpy(coast->position_accel, accel, sizeof coast->position_accel);
    memcpy(coast->attitude, value + 3, sizeof coast->attitude);
    memcpy(coast->attitude_rate, rate + 3, sizeof coast->attitude_rate);
    memcpy(coast->attitude_accel, accel + 3, sizeof coast->attitude_accel);
}

static int64_t ns_of(double seconds)
{
    return (int64_t)oto_round_half_away(seconds * 1e9);
}

static enum oto_status lay_ends(struct fitter *f)
{
    struct trajectory *t = f->trajectory;
    double last_s = f->rows->t_s[f->rows->count - 1];
    if (!(f->options->start_offset_s < last_s))
        return oto_fail(f->error, OTO_RANGE, "start_offset_s: %g s is not before the last row of %s, at %g s",
                        f->options->start_offset_s, f->path, last_s);
    if (!(last_s < 1e8))
        return oto_fail(f->error, OTO_RANGE, "%s: it spans %g s; a trajectory takes at most 1e8", f->path, last_s);
    t->duration_ns = ns_of(last_s);
    t->offset_ns = ns_of(f->options->start_offset_s);
    lay_coast(t, 0.0, -1.0, &t->before);
    lay_coast(t, (double)t->duration_ns * 1e-9, 1.0, &t->after);
    if (f->options->at_end == TRAJECTORY_LOOP) {
        t->lead_ns = ns_of(t->before.position_stop_s);
        t->offset_ns += t->lead_ns;
        t->period_ns = t->lead_ns + t->duration_ns + ns_of(t->after.position_stop_s + LOOP_PAUSE_S);
    }
    return OTO_OK;
}

static enum oto_status fit_all(struct fitter *f)
{
    bool has_attitude = f->rows->q_enu_from_body != NULL;
    enum oto_status status = fit_position(f);
    if (status == OTO_OK && !has_attitude)
        attitude_from_course(f);
    if (status == OTO_OK && find_standstills(f))
        status = fit_position(f);
    return status == OTO_OK ? fit_attitude(f) : status;
}

enum oto_status trajectory_fit(struct trajectory *trajectory, const struct rows *rows,
                               const struct trajectory_options *options, const char *path, trajectory_alloc *alloc,
                               void *alloc_context, struct oto_error *error)
{
    struct fitter f = {.trajectory = trajectory, .rows = rows, .options = options, .path = path, .alloc = alloc,
                       .alloc_context = alloc_context, .error = error};
    enum oto_status status;
    memset(trajectory, 0, sizeof *trajectory);
    status = lay_grid(&f);
    if (status == OTO_OK)
        status = take_memory(&f);
    if (status == OTO_OK)
        status = fit_all(&f);
    return status == OTO_OK ? lay_ends(&f) : status;
}

struct trajectory_doubts trajectory_doubt(const struct trajectory *trajectory)
{
    struct trajectory_doubts doubts = {0.0, 0.0};
    double moving = 0.0;
    for (uint64_t k = 0; k < trajectory->grid.intervals; k++) {
        double value[7], rate[7], accel[7];
        oto_quat q_enu_from_body;
        oto_vec3 v;
        trajectory_spline(trajectory, ((double)k + 0.5) * trajectory->grid.knot_s, value, rate, accel);
        q_enu_from_body = oto_quat_normalize(oto_quat_make(value[3], value[4], value[5], value[6]));
        v = oto_quat_rotate_inv(q_enu_from_body, oto_vec3_from_array(rate));
        doubts.upward += oto_quat_rotate(q_enu_from_body, oto_vec3_make(0.0, 0.0, 1.0)).z;
        if (oto_vec3_norm(v) < 2.0)
            continue;
        doubts.course_error_rad += oto_atan2(oto_hypot(v.y, v.z), v.x);
        moving += 1.0;
    }
    doubts.upward /= (double)trajectory->grid.intervals;
    if (moving > 0.0)
        doubts.course_error_rad /= moving;
    return doubts;
}
