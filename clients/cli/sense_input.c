#include "sense_input.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *const sense_columns[SENSE_COLUMNS] = {
    "t_s", "?specific_force_x_m_s2", "?specific_force_y_m_s2", "?specific_force_z_m_s2", "?angular_rate_x_rad_s",
    "?angular_rate_y_rad_s", "?angular_rate_z_rad_s", "?mag_field_x_ut", "?mag_field_y_ut", "?mag_field_z_ut",
    "?temperature_degc"};
const double sense_defaults[SENSE_VALUES] = {0, 0, 9.80665, 0, 0, 0, -2.4169, 27.5550, 16.0849, 25};

struct oto_sensor_input sense_input(const double *v)
{
    const oto_quat level = {1, 0, 0, 0};
    struct oto_sensor_input input = {
        .specific_force_sensor_m_s2 = {v[0], v[1], v[2]}, .angular_rate_sensor_rad_s = {v[3], v[4], v[5]},
        .mag_field_sensor_ut = {v[6], v[7], v[8]}, .temperature_degc = v[9], .pressure_pa = SENSE_PRESSURE_PA,
        .q_enu_from_sensor = level};
    input.truth.q_enu_from_body = level;
    return input;
}

enum oto_status sense_fail(const struct oto_row *row, struct oto_error *error, enum oto_status status,
                           const char *sentence)
{
    return oto_fail(error, status, "%.256s:%" PRIu32 ": error: row %" PRIu64 ": %s", row->path, row->line,
                    row->number + 1, sentence);
}

const struct sense_row *sense_history_newest(const struct sense_history *history)
{
    return history->count > 0 ? &history->rows[history->count - 1] : NULL;
}

void sense_history_finish(struct sense_history *history)
{
    free(history->rows);
    *history = (struct sense_history){0};
}

/* Drops rows older than a second and moves the others to the front. The array grows only to a few seconds of rows. */
static enum oto_status make_room(struct sense_history *history, int64_t now_ns, struct oto_error *error)
{
    while (history->first + 1 < history->count && now_ns - history->rows[history->first + 1].t_ns > 1000000000) {
        history->first++;
    }
    if (history->count == history->capacity && history->first > history->capacity / 2) {
        memmove(history->rows, history->rows + history->first, (history->count - history->first) * sizeof *history->rows);
        history->count -= history->first;
        history->first = 0;
    }
    if (history->count < history->capacity) {
        return OTO_OK;
    }
    const size_t capacity = history->capacity > 0 ? 2 * history->capacity : 1024;
    struct sense_row *rows = realloc(history->rows, capacity * sizeof *rows);
    if (rows == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu rows of one second", capacity);
    }
    history->rows = rows;
    history->capacity = capacity;
    return OTO_OK;
}

enum oto_status sense_history_push(struct sense_history *history, const struct oto_row *row, struct oto_error *error)
{
    const struct sense_row *newest = sense_history_newest(history);
    struct sense_row now;
    if (fabs(row->values[0]) > 9e9) {
        return sense_fail(row, error, OTO_RANGE, "t_s is beyond 9e9 s either way");
    }
    now.t_ns = (int64_t)llround(row->values[0] * 1e9);
    if (newest != NULL && now.t_ns <= newest->t_ns) {
        return sense_fail(row, error, OTO_INVALID, "t_s does not grow from row to row");
    }
    for (size_t i = 0; i < SENSE_VALUES; i++) {
        now.values[i] = isnan(row->values[i + 1]) ? sense_defaults[i] : row->values[i + 1];
    }
    const enum oto_status status = make_room(history, now.t_ns, error);
    if (status == OTO_OK) {
        history->rows[history->count++] = now;
    }
    return status;
}

enum oto_step_status sense_input_at(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    const struct sense_history *history = context;
    size_t low = history->first, high = history->count - 1;
    if (at.t_ns >= history->rows[high].t_ns) {
        low = high;
    }
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *(history->rows[middle].t_ns <= at.t_ns ? &low : &high) = middle;
    }
    const struct sense_row *a = &history->rows[low], *b = &history->rows[high];
    const double span_ns = (double)(b->t_ns - a->t_ns);
    const double into_ns = (double)(at.t_ns - a->t_ns) + at.sub_ns;
    const double part = span_ns > 0 && into_ns > 0 ? into_ns / span_ns : 0;
    double values[SENSE_VALUES];
    for (size_t i = 0; i < SENSE_VALUES; i++) {
        values[i] = a->values[i] + part * (b->values[i] - a->values[i]);
    }
    *input = sense_input(values);
    return OTO_STEP_OK;
}

struct intervals {
    double *dt_s;
    size_t count, capacity;
    double last_s;
};

static enum oto_status each_interval(void *context, const struct oto_row *row, struct oto_error *error)
{
    struct intervals *intervals = context;
    if (intervals->count == intervals->capacity) {
        const size_t capacity = intervals->capacity > 0 ? 2 * intervals->capacity : 4096;
        double *dt_s = realloc(intervals->dt_s, capacity * sizeof *dt_s);
        if (dt_s == NULL) {
            return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu intervals; give --rate", capacity);
        }
        intervals->dt_s = dt_s;
        intervals->capacity = capacity;
    }
    if (row->number > 0) {
        intervals->dt_s[intervals->count++] = row->values[0] - intervals->last_s;
    }
    intervals->last_s = row->values[0];
    return OTO_OK;
}

static int ascending(const void *a, const void *b)
{
    double left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

enum oto_status sense_median_rate(const char *path, double *rate_hz, struct oto_error *error)
{
    struct intervals intervals = {0};
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode)) {
        return oto_fail(error, OTO_INVALID, "%.256s: a pipe can be read but once, and its rate is needed first; give --rate HZ",
                        path);
    }
    enum oto_status status = oto_table_each(path, sense_columns, 1, each_interval, &intervals, error);
    if (status == OTO_OK && intervals.count > 0) {
        qsort(intervals.dt_s, intervals.count, sizeof *intervals.dt_s, ascending);
        *rate_hz = 1 / intervals.dt_s[intervals.count / 2];
    }
    if (status == OTO_OK && (intervals.count == 0 || !isfinite(*rate_hz) || *rate_hz <= 0)) {
        status = oto_fail(error, OTO_INVALID, "%.256s: the column t_s gives no rate; give --rate HZ", path);
    }
    free(intervals.dt_s);
    return status;
}
