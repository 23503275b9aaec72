/*
 * The inputs of the sensor of `otolith sense`: rows of a CSV with the true quantities in sensor axes. The sensor may read the
 * inputs of the last second again.
 */
#ifndef CLI_SENSE_INPUT_H
#define CLI_SENSE_INPUT_H

#include "otolith/plugin.h"
#include "document/table.h"

enum { SENSE_COLUMNS = 11, SENSE_VALUES = SENSE_COLUMNS - 1 };

/* The first column is t_s. The others may be absent; their defaults are a level rest in the MAVS document's default field. */
extern const char *const sense_columns[SENSE_COLUMNS];
extern const double sense_defaults[SENSE_VALUES];
#define SENSE_PRESSURE_PA 101325.0

struct sense_row {
    int64_t t_ns;
    double values[SENSE_VALUES];
};

/* The rows of the last second, and one row before them. */
struct sense_history {
    struct sense_row *rows;
    size_t first, count, capacity; /* rows[first … count) */
};

/* Fills `error` with "FILE:LINE: error: row N: <sentence>" and returns status. */
enum oto_status sense_fail(const struct oto_row *row, struct oto_error *error, enum oto_status status,
                           const char *sentence);
/* Takes a row, which must be later than the previous row. */
enum oto_status sense_history_push(struct sense_history *history, const struct oto_row *row, struct oto_error *error);
const struct sense_row *sense_history_newest(const struct sense_history *history);
void sense_history_finish(struct sense_history *history);

struct oto_sensor_input sense_input(const double *values);
/* The function for oto_step.input_at; `context` is a sense_history. Linear between rows, constant outside of them. */
enum oto_step_status sense_input_at(void *context, struct oto_instant at, struct oto_sensor_input *input);

/* One over the median step of the file's t_s. */
enum oto_status sense_median_rate(const char *path, double *rate_hz, struct oto_error *error);

#endif
