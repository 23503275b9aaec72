/* Reads a rest log and fits its axes. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/table.h"
#include "document/document.h"
#include "cli.h"
#include "fit/fit.h"

enum { POINTS_PER_DECADE = 10, LEAST_ROWS = 1000, MOST_DIGIT_SAMPLES = 20000 };

/* The longest averaging time has ten independent averages. */
#define RECORDS_PER_TAU 10.0

/* A slow period is accepted only if it lowers the information criterion, summed over three axes, by this much. */
#define LEAST_GAIN 10.0

/* The known columns; `factor` converts the unit of a column to that of its triad. */
static const struct known {
    enum oto_part_triad triad;
    const char *axes[3];
    double factor;
} known[] = {
    {OTO_PART_GYROSCOPE, {"angular_velocity.x", "angular_velocity.y", "angular_velocity.z"}, 1.0},
    {OTO_PART_GYROSCOPE, {"angular_velocity_x_rad_s", "angular_velocity_y_rad_s", "angular_velocity_z_rad_s"}, 1.0},
    {OTO_PART_GYROSCOPE, {"angular_rate_x_rad_s", "angular_rate_y_rad_s", "angular_rate_z_rad_s"}, 1.0},
    {OTO_PART_ACCELEROMETER, {"linear_acceleration.x", "linear_acceleration.y", "linear_acceleration.z"}, 1.0},
    {OTO_PART_ACCELEROMETER,
     {"linear_acceleration_x_m_s2", "linear_acceleration_y_m_s2", "linear_acceleration_z_m_s2"}, 1.0},
    {OTO_PART_ACCELEROMETER, {"specific_force_x_m_s2", "specific_force_y_m_s2", "specific_force_z_m_s2"}, 1.0},
    {OTO_PART_MAGNETOMETER, {"magnetic_field.x", "magnetic_field.y", "magnetic_field.z"}, 1e6},
    {OTO_PART_MAGNETOMETER, {"mag_field_x_ut", "mag_field_y_ut", "mag_field_z_ut"}, 1.0},
};

struct reading {
    struct fit_log *log;
    const struct fit_log_options *options;
    uint32_t columns[OTO_PART_TRIADS][3];
    double factors[OTO_PART_TRIADS];
    uint32_t extra[FIT_EXTRAS];
    int time_column; /* -1: none */
    double time_unit_s, first_s, last_s, step_s;
};

static bool find_unit(enum oto_part_triad triad, const char *unit, double *factor)
{
    static const struct {
        enum oto_part_triad triad;
        const char *unit;
        double factor;
    } units[] = {{OTO_PART_GYROSCOPE, "rad/s", 1.0},
                 {OTO_PART_GYROSCOPE, "deg/s", 3.14159265358979323846 / 180},
                 {OTO_PART_ACCELEROMETER, "m/s2", 1.0},
                 {OTO_PART_ACCELEROMETER, "g", 9.80665},
                 {OTO_PART_MAGNETOMETER, "uT", 1.0},
                 {OTO_PART_MAGNETOMETER, "T", 1e6},
                 {OTO_PART_MAGNETOMETER, "gauss", 100.0}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].triad == triad && strcmp(units[i].unit, unit) == 0) {
            *factor = units[i].factor;
            return true;
        }
    }
    return false;
}

static enum oto_status lay_out_triad(struct reading *reading, const struct oto_row *row, enum oto_part_triad id,
                                     struct oto_error *error)
{
    struct fit_triad *triad = &reading->log->triads[id];
    const char *const *wanted = reading->options->columns[id];
    const char *const *names = wanted[0] != NULL ? wanted : NULL;
    triad->id = id;
    reading->factors[id] = 1.0;
    for (size_t k = 0; k < sizeof known / sizeof *known && names == NULL; k++) {
        uint32_t ignored;
        if (known[k].triad == id && oto_column_find(row->names, row->columns, known[k].axes[0], &ignored)) {
            names = known[k].axes;
            reading->factors[id] = known[k].factor;
        }
    }
    triad->is_there = names != NULL;
    for (int i = 0; i < 3 && triad->is_there; i++) {
        if (!oto_column_find(row->names, row->columns, names[i], &reading->columns[id][i])) {
            const char *near = oto_nearest_word(names[i], row->names, row->columns);
            return oto_fail(error, OTO_NOT_FOUND, "%s has no column '%s'%s%s%s", row->path, names[i],
                            near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
        }
        (void)snprintf(triad->axes[i].column, sizeof triad->axes[i].column, "%s", names[i]);
    }
    const char *unit = reading->options->units[id];
    if (unit != NULL && !find_unit(id, unit, &reading->factors[id])) {
        return oto_fail(error, OTO_INVALID, "'%s' is no unit of a %s here; accepted are rad/s, deg/s; m/s2, g; uT, T, gauss",
                        unit, oto_part_triad_name(id));
    }
    return OTO_OK;
}

static enum oto_status lay_out(struct reading *reading, const struct oto_row *row, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    bool any = false;
    reading->time_column = -1;
    for (uint32_t i = 0; i < row->columns; i++) {
        const bool ns = strcmp(row->names[i], "t_ns") == 0;
        if (ns || strcmp(row->names[i], "t_s") == 0) {
            reading->time_column = (int)i;
            reading->time_unit_s = ns ? 1e-9 : 1.0;
        }
    }
    for (int id = 0; id < OTO_PART_TRIADS && status == OTO_OK; id++) {
        status = lay_out_triad(reading, row, (enum oto_part_triad)id, error);
        any |= reading->log->triads[id].is_there;
    }
    for (int i = 0; i < FIT_EXTRAS && status == OTO_OK; i++) {
        const char *name = reading->options->extra[i];
        if (name != NULL && !oto_column_find(row->names, row->columns, name, &reading->extra[i])) {
            status = oto_fail(error, OTO_NOT_FOUND, "%s has no column '%s'", row->path, name);
        }
    }
    if (status == OTO_OK && !any) {
        status = oto_fail(error, OTO_NOT_FOUND,
                          "%s has no columns of a sensor, as angular_velocity.x or linear_acceleration_x_m_s2; name them with "
                          "--gyroscope X,Y,Z or --accelerometer X,Y,Z", row->path);
    }
    return status;
}

/* Refuses a log with a gap, which would look like noise. */
static enum oto_status check_time(struct reading *reading, const struct oto_row *row, struct oto_error *error)
{
    const double time_s = row->values[reading->time_column] * reading->time_unit_s;
    if (row->number == 0) {
        reading->first_s = time_s;
    } else if (row->number == 1) {
        reading->step_s = time_s - reading->first_s;
    }
    if (row->number > 0 && !(time_s > reading->last_s)) {
        return oto_fail(error, OTO_INVALID, "%s:%" PRIu32 ": time does not go forward", row->path, row->line);
    }
    if (row->number > 1 && fabs(time_s - reading->last_s - reading->step_s) > 0.5 * reading->step_s) {
        return oto_fail(error, OTO_INVALID, "%s:%" PRIu32 ": a gap: %.9g s after the previous row, where %.9g s is usual",
                        row->path, row->line, time_s - reading->last_s, reading->step_s);
    }
    reading->last_s = time_s;
    return OTO_OK;
}

static bool make_room(struct fit_log *log, const struct fit_log_options *options)
{
    const uint64_t capacity = log->capacity > 0 ? 2 * log->capacity : 1 << 16;
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        for (int i = 0; i < 3 && log->triads[id].is_there; i++) {
            double *samples = realloc(log->triads[id].axes[i].samples, capacity * sizeof *samples);
            if (samples == NULL) {
                return false;
            }
            log->triads[id].axes[i].samples = samples;
        }
    }
    for (int i = 0; i < FIT_EXTRAS; i++) {
        double *values = options->extra[i] != NULL ? realloc(log->extra[i], capacity * sizeof *values) : NULL;
        if (options->extra[i] != NULL && values == NULL) {
            return false;
        }
        log->extra[i] = values;
    }
    log->capacity = capacity;
    return true;
}

static enum oto_status take_row(void *context, const struct oto_row *row, struct oto_error *error)
{
    struct reading *reading = context;
    struct fit_log *log = reading->log;
    enum oto_status status = row->number == 0 ? lay_out(reading, row, error) : OTO_OK;
    if (status == OTO_OK && reading->time_column >= 0 && !reading->options->is_calibration) {
        status = check_time(reading, row, error);
    }
    if (status == OTO_OK && log->rows == log->capacity && !make_room(log, reading->options)) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu64 " rows", log->rows);
    }
    for (int id = 0; id < OTO_PART_TRIADS && status == OTO_OK; id++) {
        for (int i = 0; i < 3 && log->triads[id].is_there; i++) {
            log->triads[id].axes[i].samples[log->rows] = row->values[reading->columns[id][i]] * reading->factors[id];
        }
    }
    for (int i = 0; i < FIT_EXTRAS && status == OTO_OK; i++) {
        if (log->extra[i] != NULL) {
            log->extra[i][log->rows] = row->values[reading->extra[i]];
        }
    }
    log->rows += status == OTO_OK;
    return status;
}

enum oto_status fit_log_read(struct fit_log *log, const char *path, const struct fit_log_options *options,
                             struct oto_error *error)
{
    struct reading reading = {.log = log, .options = options};
    memset(log, 0, sizeof *log);
    log->path = path;
    const enum oto_status status = oto_table_each(path, NULL, 0, take_row, &reading, error);
    if (status != OTO_OK || options->is_calibration) {
        return status;
    }
    log->rate_hz = options->rate_hz;
    if (log->rate_hz == 0.0 && reading.time_column >= 0 && log->rows > 1) {
        log->rate_hz = (double)(log->rows - 1) / (reading.last_s - reading.first_s);
    }
    if (log->rows < LEAST_ROWS) {
        return oto_fail(error, OTO_INVALID, "%s: %" PRIu64 " samples are too few; a fit needs at least %d", path, log->rows,
                        LEAST_ROWS);
    }
    if (log->rate_hz == 0.0) {
        return oto_fail(error, OTO_INVALID, "%s has neither a column t_ns nor t_s: give --rate", path);
    }
    return OTO_OK;
}

void fit_log_free(struct fit_log *log)
{
    for (int i = 0; i < FIT_EXTRAS; i++) {
        free(log->extra[i]);
    }
    for (int id = 0; id < OTO_PART_TRIADS; id++) {
        for (int i = 0; i < 3; i++) {
            free(log->triads[id].axes[i].samples);
        }
    }
}

/* ---- the digit ---- */

static int ascending(const void *a, const void *b)
{
    double left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

/* The resolution: the smallest difference of two samples if all differences are multiples of it, else 0. */
static double digit_of(const double *samples, uint64_t rows)
{
    const size_t count = rows < MOST_DIGIT_SAMPLES ? (size_t)rows : MOST_DIGIT_SAMPLES;
    double *sorted = malloc(count * sizeof *sorted), digit = INFINITY;
    if (sorted == NULL) {
        return 0.0;
    }
    memcpy(sorted, samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, ascending);
    const double span = sorted[count - 1] - sorted[0], grain = 1e-9 * fmax(fabs(sorted[0]), fabs(sorted[count - 1]));
    size_t distinct = 1;
    for (size_t i = 1; i < count; i++) {
        const double step = sorted[i] - sorted[i - 1];
        distinct += step > grain;
        digit = step > grain && step < digit ? step : digit;
    }
    digit = isfinite(digit) && span > 0.0 ? span / round(span / digit) : 0.0;
    bool is_grid = digit > 0.0 && distinct * 4 < count;
    for (size_t i = 0; i < count && is_grid; i++) {
        const double steps = (sorted[i] - sorted[0]) / digit;
        is_grid = fabs(steps - round(steps)) < 0.05;
    }
    free(sorted);
    return is_grid ? digit : 0.0;
}

/* ---- fit ---- */

static enum oto_status analyse(struct fit_axis *axis, const struct fit_log *log, bool *is_constant,
                               struct oto_error *error)
{
    struct allan *allan = allan_create(POINTS_PER_DECADE);
    struct allan_fit fit;
    const enum oto_status status =
        allan != NULL ? allan_add(allan, axis->samples, (size_t)log->rows) : OTO_NO_MEMORY;
    if (status != OTO_OK) {
        allan_destroy(allan);
        return oto_fail(error, status, "out of memory");
    }
    if (allan_is_constant(allan)) {
        *is_constant = true;
    } else {
        axis->count = allan_points(allan, log->rate_hz, axis->points, ALLAN_MAX_POINTS);
        allan_fit(axis->points, axis->count, log->rows, NULL, &fit);
    }
    allan_destroy(allan);
    axis->mean_u = 0.0;
    for (uint64_t i = 0; i < log->rows; i++) {
        axis->mean_u += axis->samples[i] / (double)log->rows;
    }
    return status;
}

/* The strongest frequencies of the three axes; those within 2 % of each other count once. */
static void find_lines(struct fit_triad *triad, const struct fit_log *log)
{
    double best[FIT_SINES] = {0};
    for (int i = 0; i < 3; i++) {
        double hz[FIT_SINES], power[FIT_SINES];
        const size_t count = fit_lines(triad->axes[i].samples, (size_t)log->rows, log->rate_hz, hz, power, FIT_SINES);
        const double noise = triad->axes[i].points[0].adev * triad->axes[i].points[0].adev;
        for (size_t k = 0; k < count; k++) {
            size_t place = FIT_SINES;
            for (size_t j = 0; j < FIT_SINES && place == FIT_SINES; j++) {
                place = best[j] > 0.0 && fabs(triad->setup.sine_hz[j] / hz[k] - 1.0) < 0.02 ? j : FIT_SINES;
            }
            for (size_t j = 0; j < FIT_SINES && place == FIT_SINES; j++) {
                place = best[j] < power[k] / noise ? j : FIT_SINES;
            }
            if (place < FIT_SINES && best[place] < power[k] / noise) {
                best[place] = power[k] / noise;
                triad->setup.sine_hz[place] = hz[k];
            }
        }
    }
}

/* The information criterion of Gauss-Markov fits, summed over the three axes. */
static double criterion_with(const struct fit_triad *triad, const struct fit_setup *setup)
{
    double bic = 0.0;
    for (int i = 0; i < 3; i++) {
        struct fit_model model;
        fit_model_of(triad->axes[i].points, triad->axes[i].count, setup, FIT_MARKOV, &model);
        bic += model.bic;
    }
    return bic;
}

/*
 * A slow period, as of a room's heater, has too few turns in a segment of the spectrum. It shows in the deviation, as a hump
 * at 0.37 of its period that processes cannot follow.
 */
static void find_slow_line(struct fit_triad *triad, const struct fit_log *log)
{
    const double slowest_hz = 4.0 * log->rate_hz / (double)log->rows;
    double best = criterion_with(triad, &triad->setup) - LEAST_GAIN, best_hz = 0.0;
    int place = 0;
    while (place < FIT_SINES && triad->setup.sine_hz[place] > 0.0) {
        place++;
    }
    for (double hz = slowest_hz; place < FIT_SINES && hz < 40.0 * slowest_hz && hz < 0.05 * log->rate_hz; hz *= 1.26) {
        struct fit_setup setup = triad->setup;
        setup.sine_hz[place] = hz;
        const double bic = criterion_with(triad, &setup);
        if (bic < best) {
            best = bic;
            best_hz = hz;
        }
    }
    if (place < FIT_SINES) {
        triad->setup.sine_hz[place] = best_hz;
    }
}

static void choose_kind(struct fit_triad *triad)
{
    double total[FIT_KINDS] = {0};
    for (int kind = 0; kind < FIT_KINDS; kind++) {
        for (int i = 0; i < 3; i++) {
            total[kind] += triad->axes[i].models[kind].bic;
        }
        triad->kind = total[kind] < total[triad->kind] ? (enum fit_kind)kind : triad->kind;
    }
    for (int i = 0; i < 3; i++) {
        triad->axes[i].model = triad->axes[i].models[triad->kind];
    }
}

enum oto_status fit_log_fit(struct fit_log *log, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    bool any = false;
    if (log->tau_max_s == 0.0) {
        log->tau_max_s = (double)log->rows / log->rate_hz / RECORDS_PER_TAU;
    }
    for (int id = 0; id < OTO_PART_TRIADS && status == OTO_OK; id++) {
        struct fit_triad *triad = &log->triads[id];
        bool is_constant = false;
        for (int i = 0; i < 3 && triad->is_there && status == OTO_OK; i++) {
            status = analyse(&triad->axes[i], log, &is_constant, error);
            triad->resolution_u = fmax(triad->resolution_u, digit_of(triad->axes[i].samples, log->rows));
        }
        if (status == OTO_OK && is_constant) {
            cli_print_line(stderr, "otolith: warning: %s: a column of the %s is constant; it is left out", log->path,
                           oto_part_triad_name(triad->id));
            triad->is_there = false;
        }
        if (status != OTO_OK || !triad->is_there) {
            continue;
        }
        any = true;
        triad->setup = (struct fit_setup){.rate_hz = log->rate_hz, .tau_max_s = log->tau_max_s};
        fit_setup_times(&triad->setup);
        find_lines(triad, log);
        find_slow_line(triad, log);
        for (int i = 0; i < 3; i++) {
            (void)fit_models(triad->axes[i].points, triad->axes[i].count, &triad->setup, triad->axes[i].models);
        }
        choose_kind(triad);
    }
    if (status == OTO_OK && !any) {
        status = oto_fail(error, OTO_INVALID, "%s: every sensor's columns are constant: there is no noise to fit", log->path);
    }
    return status;
}
