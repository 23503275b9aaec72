/*
 * What `otolith sense` feeds a sensor: rows of a CSV of true sensor-frame inputs, the last second of which may be asked
 * for again.
 */
#ifndef CLI_SENSE_INPUT_H
#define CLI_SENSE_INPUT_H

#include "otolith/plugin.h"
#include "document/table.h"

enum { SENSE_COLUMNS = 11, SENSE_VALUES = SENSE_COLUMNS - 1 };

/* t_s first; then what may be absent, and what it is then: at rest and level, in the MAVS document's default field. */
extern const char *const sense_columns[SENSE_COLUMNS];
extern const double sense_defaults[SENSE_VALUES];
#define SENSE_PRESSURE_PA 101325.0

struct sense_row {
    int64_t t_ns;
    double values[SENSE_VALUES];
};

/* The rows of the last second, and one before. */
struct sense_history {
    struct sense_row *rows;
    size_t first, count, capacity; /* rows[first … count) */
};

/* "FILE:LINE: error: row N: <sentence>"; returns status. */
enum oto_status sense_fail(const struct oto_row *row, struct oto_error *error, enum oto_status status,
                           const char *sentence);
/* Takes a row, which must be later than the previous row. */
enum oto_status sense_history_push(struct sense_history *history, const struct oto_row *row, struct oto_error *error);
const struct sense_row *sense_history_newest(const struct sense_history *history);
void sense_history_finish(struct sense_history *history);

struct oto_sensor_input sense_input(const double *values);
/* For oto_step.input_at; the context is a history. Linear between rows, held before the first and after the newest. */
enum oto_step_status sense_input_at(void *context, struct oto_instant at, struct oto_sensor_input *input);

/* One over the median step of the file's t_s. */
enum oto_status sense_median_rate(const char *path, double *rate_hz, struct oto_error *error);

#endif
