#include "fit/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define G0 9.80665
#define REFERENCE_DEGC 25.0
#define SPAN_DEGC 50.0 /* degrees that count as 1, so that the powers are of one size */

enum { UNKNOWNS = 4 };

/* ---- least squares of one output with up to four unknowns ---- */

struct equations {
    double normal[UNKNOWNS][UNKNOWNS], right[UNKNOWNS], square;
    uint64_t count;
};

static void add_equation(struct equations *e, const double row[UNKNOWNS], double y)
{
    for (int i = 0; i < UNKNOWNS; i++) {
        e->right[i] += row[i] * y;
        for (int j = 0; j < UNKNOWNS; j++) {
            e->normal[i][j] += row[i] * row[j];
        }
    }
    e->square += y * y;
    e->count++;
}

/* Inverts the normal matrix of the first `size` unknowns (Gauss-Jordan with pivots). False: the unknowns are not determined. */
static bool invert(const struct equations *e, int size, double inverse[UNKNOWNS][UNKNOWNS])
{
    double work[UNKNOWNS][2 * UNKNOWNS] = {{0}};
    for (int i = 0; i < size; i++) {
        memcpy(work[i], e->normal[i], (size_t)size * sizeof(double));
        work[i][size + i] = 1.0;
    }
    for (int column = 0; column < size; column++) {
        int pivot = column;
        for (int i = column + 1; i < size; i++) {
            pivot = fabs(work[i][column]) > fabs(work[pivot][column]) ? i : pivot;
        }
        if (!(fabs(work[pivot][column]) > 1e-12 * fabs(e->normal[column][column]))) {
            return false;
        }
        for (int k = 0; k < 2 * size; k++) {
            const double swap = work[column][k];
            work[column][k] = work[pivot][k];
            work[pivot][k] = swap;
        }
        for (int i = 0; i < size; i++) {
            const double factor = i == column ? 0.0 : work[i][column] / work[column][column];
            for (int k = 0; k < 2 * size; k++) {
                work[i][k] -= factor * work[column][k];
            }
        }
    }
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < size; k++) {
            inverse[i][k] = work[i][size + k] / work[i][i];
        }
    }
    return true;
}

/* Computes solution and standard errors. Returns the residual sum of squares; NaN: the unknowns are not determined. */
static double solve(const struct equations *e, int size, double x[UNKNOWNS], double se[UNKNOWNS])
{
    double inverse[UNKNOWNS][UNKNOWNS], rest = e->square;
    memset(x, 0, UNKNOWNS * sizeof *x);
    memset(se, 0, UNKNOWNS * sizeof *se);
    if (e->count <= (uint64_t)size || !invert(e, size, inverse)) {
        return NAN;
    }
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < size; k++) {
            x[i] += inverse[i][k] * e->right[k];
        }
        rest -= x[i] * e->right[i];
    }
    rest = fmax(rest, 0.0);
    for (int i = 0; i < size; i++) {
        se[i] = sqrt(inverse[i][i] * rest / (double)(e->count - (uint64_t)size));
    }
    return rest;
}

static bool solve_affine(const struct equations equations[3], struct fit_affine *affine)
{
    affine->is_there = true;
    for (int i = 0; i < 3; i++) {
        double x[UNKNOWNS], se[UNKNOWNS];
        const double rest = solve(&equations[i], UNKNOWNS, x, se);
        memcpy(affine->matrix[i], x, sizeof affine->matrix[i]);
        memcpy(affine->matrix_se[i], se, sizeof affine->matrix_se[i]);
        affine->bias[i] = x[3];
        affine->bias_se[i] = se[3];
        affine->rms[i] = sqrt(rest / (double)equations[i].count);
        affine->is_there = affine->is_there && isfinite(rest);
    }
    return affine->is_there;
}

/* ---- six positions ---- */

enum { POSITIONS = 6 };
/* A sample belongs to a position if one axis has nearly all of gravity, and if the sensor does not turn. */
#define UPRIGHT 0.9
#define ACROSS 0.4
#define TURNING_RAD_S 0.05

static int position_of(const double force[3])
{
    for (int i = 0; i < 3; i++) {
        if (fabs(force[i]) > UPRIGHT * G0 && fabs(force[(i + 1) % 3]) < ACROSS * G0 &&
            fabs(force[(i + 2) % 3]) < ACROSS * G0) {
            return 2 * i + (force[i] < 0.0);
        }
    }
    return -1;
}

static void axes_at(const struct fit_triad *triad, uint64_t n, double axes[3])
{
    for (int i = 0; i < 3; i++) {
        axes[i] = triad->is_there ? triad->axes[i].samples[n] : 0.0;
    }
}

/* The medians of the angular rates: the bias of the gyroscope, because the turns between positions are short. */
static void median_rates(const struct fit_log *log, double median[3])
{
    const struct fit_triad *gyroscope = &log->triads[OTO_PART_GYROSCOPE];
    for (int i = 0; i < 3; i++) {
        double low = -1e3, high = 1e3;
        for (int round = 0; round < 60 && gyroscope->is_there; round++) {
            uint64_t below = 0;
            const double middle = 0.5 * (low + high);
            for (uint64_t n = 0; n < log->rows; n++) {
                below += gyroscope->axes[i].samples[n] < middle;
            }
            *(2 * below < log->rows ? &low : &high) = middle;
        }
        median[i] = gyroscope->is_there ? 0.5 * (low + high) : 0.0;
    }
}

static enum oto_status need_triad(const struct fit_log *log, enum oto_part_triad triad, struct oto_error *error)
{
    return log->triads[triad].is_there
               ? OTO_OK
               : oto_fail(error, OTO_NOT_FOUND, "%s has no columns of the %s", log->path, oto_part_triad_name(triad));
}

enum oto_status fit_positions(struct fit_calibration *calibration, const char *path, const struct fit_log_options *options,
                              struct oto_error *error)
{
    struct fit_log log;
    struct equations force[3], rate[3];
    double median[3];
    uint64_t taken[POSITIONS] = {0};
    memset(force, 0, sizeof force);
    memset(rate, 0, sizeof rate);
    enum oto_status status = fit_log_read(&log, path, options, error);
    if (status == OTO_OK) {
        status = need_triad(&log, OTO_PART_ACCELEROMETER, error);
    }
    if (status == OTO_OK) {
        median_rates(&log, median);
    }
    for (uint64_t n = 0; status == OTO_OK && n < log.rows; n++) {
        double f[3], w[3], row[UNKNOWNS] = {0, 0, 0, 1};
        axes_at(&log.triads[OTO_PART_ACCELEROMETER], n, f);
        axes_at(&log.triads[OTO_PART_GYROSCOPE], n, w);
        const int position = position_of(f);
        if (position < 0 || fabs(w[0] - median[0]) + fabs(w[1] - median[1]) + fabs(w[2] - median[2]) > TURNING_RAD_S) {
            continue;
        }
        row[position / 2] = position % 2 == 0 ? G0 : -G0;
        taken[position]++;
        for (int i = 0; i < 3; i++) {
            add_equation(&force[i], row, f[i]);
            add_equation(&rate[i], row, w[i]);
        }
    }
    for (int p = 0; p < POSITIONS && status == OTO_OK; p++) {
        if (taken[p] < 10) {
            status = oto_fail(error, OTO_INVALID, "%s: %" PRIu64 " samples at rest with axis %c %s; six positions are needed, "
                              "with at least 10 samples each", path, taken[p], "xyz"[p / 2], p % 2 == 0 ? "up" : "down");
        }
    }
    if (status == OTO_OK && !solve_affine(force, &calibration->accelerometer)) {
        status = oto_fail(error, OTO_INVALID, "%s: the six positions do not determine the matrix", path);
    }
    if (status == OTO_OK && log.triads[OTO_PART_GYROSCOPE].is_there) {
        (void)solve_affine(rate, &calibration->g_sensitivity);
    }
    fit_log_free(&log);
    return status;
}

/* ---- rate table ---- */

enum oto_status fit_rate_table(struct fit_calibration *calibration, const char *path, const struct fit_log_options *options,
                               struct oto_error *error)
{
    struct fit_log_options with_reference = *options;
    struct fit_log log;
    struct equations equations[3];
    memset(equations, 0, sizeof equations);
    with_reference.extra[0] = "reference_x_rad_s";
    with_reference.extra[1] = "reference_y_rad_s";
    with_reference.extra[2] = "reference_z_rad_s";
    enum oto_status status = fit_log_read(&log, path, &with_reference, error);
    if (status == OTO_OK) {
        status = need_triad(&log, OTO_PART_GYROSCOPE, error);
    }
    for (uint64_t n = 0; status == OTO_OK && n < log.rows; n++) {
        double w[3];
        const double row[UNKNOWNS] = {log.extra[0][n], log.extra[1][n], log.extra[2][n], 1};
        axes_at(&log.triads[OTO_PART_GYROSCOPE], n, w);
        for (int i = 0; i < 3; i++) {
            add_equation(&equations[i], row, w[i]);
        }
    }
    if (status == OTO_OK && !solve_affine(equations, &calibration->gyroscope)) {
        status = oto_fail(error, OTO_INVALID, "%s: the rates do not determine the matrix: turn about each of the three axes", path);
    }
    fit_log_free(&log);
    return status;
}

/* ---- temperature ---- */

/* Fits polynomials of order 0 to 3 and keeps that with the lowest Bayesian information criterion. */
static bool fit_polynomial(const struct equations *equations, double c[UNKNOWNS], double se[UNKNOWNS])
{
    double best = INFINITY;
    const double n = (double)equations->count;
    for (int size = 1; size <= UNKNOWNS; size++) {
        double x[UNKNOWNS], errors[UNKNOWNS];
        const double rest = solve(equations, size, x, errors);
        const double bic = isfinite(rest) ? n * log(fmax(rest, 1e-300) / n) + size * log(n) : (double)INFINITY;
        if (bic < best) {
            best = bic;
            memcpy(c, x, sizeof x);
            memcpy(se, errors, sizeof errors);
        }
    }
    return isfinite(best);
}

static void fit_thermal_triad(const struct fit_log *log, const struct fit_triad *triad, struct fit_thermal *thermal)
{
    thermal->is_there = true;
    thermal->from_degc = INFINITY;
    thermal->to_degc = -INFINITY;
    for (int i = 0; i < 3; i++) {
        struct equations equations;
        /* values are relative to the first sample, so that the squares of gravity do not hide the residuals */
        const double first = triad->axes[i].samples[0];
        memset(&equations, 0, sizeof equations);
        for (uint64_t n = 0; n < log->rows; n++) {
            const double d = (log->extra[0][n] - REFERENCE_DEGC) / SPAN_DEGC;
            const double row[UNKNOWNS] = {1, d, d * d, d * d * d};
            add_equation(&equations, row, triad->axes[i].samples[n] - first);
            thermal->from_degc = fmin(thermal->from_degc, log->extra[0][n]);
            thermal->to_degc = fmax(thermal->to_degc, log->extra[0][n]);
        }
        thermal->is_there = fit_polynomial(&equations, thermal->c[i], thermal->se[i]) && thermal->is_there;
        thermal->c[i][0] += first;
        for (int order = 1; order < UNKNOWNS; order++) {
            thermal->c[i][order] /= pow(SPAN_DEGC, order);
            thermal->se[i][order] /= pow(SPAN_DEGC, order);
        }
    }
}

enum oto_status fit_temperature(struct fit_calibration *calibration, const char *path, const struct fit_log_options *options,
                                struct oto_error *error)
{
    struct fit_log_options with_temperature = *options;
    struct fit_log log;
    with_temperature.extra[0] = "temperature_degc";
    enum oto_status status = fit_log_read(&log, path, &with_temperature, error);
    for (int id = 0; id < OTO_PART_TRIADS && status == OTO_OK; id++) {
        if (log.triads[id].is_there) {
            fit_thermal_triad(&log, &log.triads[id], &calibration->thermal[id]);
        }
    }
    for (int id = 0; id < OTO_PART_TRIADS && status == OTO_OK; id++) {
        const struct fit_thermal *thermal = &calibration->thermal[id];
        if (log.triads[id].is_there && thermal->to_degc - thermal->from_degc < 5.0) {
            status = oto_fail(error, OTO_RANGE, "%s: the temperature goes from %g to %g °C; at least 5 °C are needed", path,
                              thermal->from_degc, thermal->to_degc);
        }
    }
    fit_log_free(&log);
    return status;
}

/* ---- output ---- */

static const char *const keys[OTO_PART_TRIADS] = {"m_s2", "rad_s", "ut"};
static const char *const units[OTO_PART_TRIADS] = {"m/s^2", "rad/s", "uT"};

/* Writes a parameter of the plugin, in the parameter's unit. */
static void put_values(FILE *to, enum oto_part_triad triad, const char *term, const double *values, size_t count, const char *unit)
{
    (void)fprintf(to, "      %s.%s: {value: [", oto_part_triad_name(triad), term);
    for (size_t i = 0; i < count; i++) {
        (void)fprintf(to, "%s%.6g", i > 0 ? ", " : "", values[i]);
    }
    (void)fprintf(to, "], unit: \"%s\", is: derived, source: \"log calibration records\"}\n", unit);
}

/* Writes the elements xy xz yx yz zx zy of a matrix, each times `scale`. */
static void put_cross(FILE *to, enum oto_part_triad triad, const char *term, const double m[3][3], double scale, const char *unit)
{
    const double values[] = {scale * m[0][1], scale * m[0][2], scale * m[1][0], scale * m[1][2], scale * m[2][0], scale * m[2][1]};
    put_values(to, triad, term, values, 6, unit);
}

static void put_matrix(FILE *to, enum oto_part_triad triad, const struct fit_affine *affine)
{
    const double scale[3] = {100 * (affine->matrix[0][0] - 1), 100 * (affine->matrix[1][1] - 1),
                             100 * (affine->matrix[2][2] - 1)};
    put_values(to, triad, "scale_factor_error_percent", scale, 3, "%");
    put_cross(to, triad, "cross_axis_percent", affine->matrix, 100.0, "%");
}

static void put_thermal(FILE *to, enum oto_part_triad triad, const struct fit_thermal *thermal)
{
    static const char *const orders[] = {"", "quadratic_", "cubic_"}, *const powers[] = {"", "2", "3"}, *const carets[] = {"", "^2", "^3"};
    for (int order = 1; order < UNKNOWNS; order++) {
        const double v[3] = {thermal->c[0][order], thermal->c[1][order], thermal->c[2][order]};
        if (v[0] != 0.0 || v[1] != 0.0 || v[2] != 0.0) {
            char term[64], unit[32];
            (void)snprintf(term, sizeof term, "temperature_bias_%s%s_degc%s", orders[order - 1], keys[triad], powers[order - 1]);
            (void)snprintf(unit, sizeof unit, "%s/degC%s", units[triad], carets[order - 1]);
            put_values(to, triad, term, v, 3, unit);
        }
    }
}

void fit_calibration_write(FILE *to, const struct fit_calibration *calibration)
{
    bool any = calibration->accelerometer.is_there || calibration->gyroscope.is_there;
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        any = any || calibration->thermal[id].is_there;
    }
    if (!any) {
        return;
    }
    (void)fputs("    parameters:\n", to);
    if (calibration->accelerometer.is_there) {
        put_values(to, OTO_PART_ACCELEROMETER, "constant_bias_m_s2", calibration->accelerometer.bias, 3, units[OTO_PART_ACCELEROMETER]);
        put_matrix(to, OTO_PART_ACCELEROMETER, &calibration->accelerometer);
    }
    if (calibration->gyroscope.is_there) {
        put_matrix(to, OTO_PART_GYROSCOPE, &calibration->gyroscope);
    }
    if (calibration->g_sensitivity.is_there) {
        const double (*g)[3] = calibration->g_sensitivity.matrix;
        put_values(to, OTO_PART_GYROSCOPE, "acceleration_bias_rad_s_m_s2", (double[]){g[0][0], g[1][1], g[2][2]}, 3, "(rad/s)/(m/s^2)");
        put_cross(to, OTO_PART_GYROSCOPE, "acceleration_cross_rad_s_m_s2", g, 1.0, "(rad/s)/(m/s^2)");
    }
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        if (calibration->thermal[id].is_there) {
            put_thermal(to, (enum oto_part_triad)id, &calibration->thermal[id]);
        }
    }
}

static void report_affine(FILE *to, const char *name, const struct fit_affine *affine, double scale, double less, const char *unit)
{
    if (!affine->is_there) {
        return;
    }
    (void)fprintf(to, "%s, %s (rows: measured axis, columns: true axis)\n", name, unit);
    for (int i = 0; i < 3; i++) {
        (void)fprintf(to, "  %c", "xyz"[i]);
        for (int k = 0; k < 3; k++) {
            (void)fprintf(to, "  %.4g ± %.2g", scale * (affine->matrix[i][k] - (i == k ? less : 0.0)),
                          scale * affine->matrix_se[i][k]);
        }
        (void)fprintf(to, "   bias %.4g ± %.2g, residual %.2g\n", affine->bias[i], affine->bias_se[i], affine->rms[i]);
    }
}

void fit_calibration_report(FILE *to, const struct fit_calibration *calibration)
{
    report_affine(to, "accelerometer: scale and cross-axis errors", &calibration->accelerometer, 100.0, 1.0, "%");
    report_affine(to, "gyroscope: scale and cross-axis errors", &calibration->gyroscope, 100.0, 1.0, "%");
    report_affine(to, "gyroscope: g-sensitivity", &calibration->g_sensitivity, 1.0, 0.0, "(rad/s)/(m/s²)");
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        const struct fit_thermal *thermal = &calibration->thermal[id];
        for (int i = 0; i < 3 && thermal->is_there; i++) {
            (void)fprintf(to, "%s %c, %.3g to %.3g °C: bias", oto_part_triad_name((enum oto_part_triad)id), "xyz"[i],
                          thermal->from_degc, thermal->to_degc);
            for (int order = 1; order < UNKNOWNS; order++) {
                if (thermal->c[i][order] != 0.0) {
                    (void)fprintf(to, "  %.4g ± %.2g %s/°C^%d", thermal->c[i][order], thermal->se[i][order],
                                  oto_part_triad_unit((enum oto_part_triad)id), order);
                }
            }
            (void)fputc('\n', to);
        }
    }
}
