/* Reads logs from CSV files. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "document/internal.h"
#include "offline/log.h"

struct reading {
    struct log_plan plan;
    struct oto_log *log;
    double payload[OTO_RECORD_MAX_BYTES / 8];
};

enum oto_status log_fail(const struct oto_text_row *row, const char *column, struct oto_error *error,
                         enum oto_status status, const char *format, ...)
{
    char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return oto_fail(error, status, "%.200s:%" PRIu32 ": error: row %" PRIu64 "%s%.64s%s: %s", row->path, row->line,
                    row->number + 1, column != NULL ? ", column '" : "", column != NULL ? column : "",
                    column != NULL ? "'" : "", sentence);
}

/* ---- cells ---- */

bool log_number(const char *cell, double *number)
{
    *number = (double)NAN;
    if (*cell == '\0') {
        return true;
    }
    switch (doc_number_f64(cell, number)) {
    case DOC_NUMBER_OK: return true;
    case DOC_NUMBER_NOT_FINITE:
        *number = strpbrk(cell, "fF") == NULL ? (double)NAN : *cell == '-' ? -(double)INFINITY : (double)INFINITY;
        return true;
    default: return false;
    }
}

static bool scaled_time(const char *cell, double unit_ns, int64_t *ns)
{
    double number;
    if (doc_number_f64(cell, &number) != DOC_NUMBER_OK || !(fabs(number * unit_ns) < 9.2e18)) {
        return false;
    }
    *ns = (int64_t)llround(number * unit_ns);
    return true;
}

/* Converts the digits after the point to ns and rounds by the first digit beyond them. */
static int64_t fraction_ns(const char **at, int64_t unit_ns)
{
    int64_t ns = 0;
    bool rounded = false;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        if (unit_ns > 1) {
            unit_ns /= 10;
            ns += unit_ns * (**at - '0');
        } else if (!rounded) {
            ns += **at >= '5';
            rounded = true;
        }
    }
    return ns;
}

/*
 * Parses digit by digit, because seconds since 1970 as a double are 240 ns apart. A number with an exponent is parsed
 * as a double.
 */
bool log_time(const char *cell, double unit_ns, int64_t *ns)
{
    const char *at = cell + (*cell == '-' || *cell == '+');
    int64_t whole = 0;
    bool good = *at >= '0' && *at <= '9';
    for (; *at >= '0' && *at <= '9'; at++) {
        good = good && !__builtin_mul_overflow(whole, INT64_C(10), &whole) &&
               !__builtin_add_overflow(whole, (int64_t)(*at - '0'), &whole);
    }
    good = good && !__builtin_mul_overflow(whole, (int64_t)unit_ns, &whole);
    at += *at == '.';
    good = good && !__builtin_add_overflow(whole, fraction_ns(&at, (int64_t)unit_ns), &whole);
    if (*at != '\0' || !good || whole > INT64_C(9200000000000000000)) {
        return scaled_time(cell, unit_ns, ns);
    }
    *ns = *cell == '-' ? -whole : whole;
    return true;
}

/* ---- rows ---- */

/* True if the row has only its time: `otolith sense` writes such a row for a sample that was discarded. */
static bool is_discarded(const struct reading *reading, const struct oto_text_row *row)
{
    for (uint32_t i = 0; i < row->columns; i++) {
        if (reading->plan.columns[i].role == LOG_FIELD && row->cells[i][0] != '\0') {
            return false;
        }
    }
    return true;
}

static enum oto_status take_whole(const struct oto_text_row *row, uint32_t column, uint64_t most, uint64_t *number,
                                  struct oto_error *error)
{
    *number = 0;
    if (row->cells[column][0] == '\0' ||
        (doc_number_u64(row->cells[column], number) == DOC_NUMBER_OK && *number <= most)) {
        return OTO_OK;
    }
    return log_fail(row, row->names[column], error, OTO_INVALID, "'%.60s' is not a whole number from 0 to %" PRIu64,
                    row->cells[column], most);
}

static enum oto_status take_cell(struct reading *reading, const struct oto_text_row *row, uint32_t column,
                                 struct oto_sample_head *head, struct oto_error *error)
{
    const struct log_column *plan = &reading->plan.columns[column];
    const char *cell = row->cells[column];
    enum oto_status status = OTO_OK;
    uint64_t whole = 0;
    switch (plan->role) {
    case LOG_TIME:
        return log_time(cell, plan->ns, &head->t_ns)
                   ? OTO_OK
                   : log_fail(row, row->names[column], error, OTO_INVALID, "'%.60s' is not a time within 292 years", cell);
    case LOG_SENSOR_TIME:
        return cell[0] == '\0' || log_time(cell, 1.0, &head->sensor_time_ns)
                   ? OTO_OK
                   : log_fail(row, row->names[column], error, OTO_INVALID, "'%.60s' is not a time in ns", cell);
    case LOG_SEQ:
        return take_whole(row, column, UINT64_MAX, &head->seq, error);
    case LOG_FLAGS:
        status = take_whole(row, column, UINT32_MAX, &whole, error);
        head->flags = (uint32_t)whole;
        return status;
    case LOG_FIELD:
        return log_number(cell, &reading->payload[reading->plan.fields[plan->field].offset / 8 + plan->element])
                   ? OTO_OK
                   : log_fail(row, row->names[column], error, OTO_INVALID, "'%.60s' is not a number", cell);
    default:
        return OTO_OK;
    }
}

static bool has_role(const struct reading *reading, const struct oto_text_row *row, enum log_role role)
{
    for (uint32_t i = 0; i < row->columns; i++) {
        if (reading->plan.columns[i].role == role) {
            return true;
        }
    }
    return false;
}

static enum oto_status each_row(void *context, const struct oto_text_row *row, struct oto_error *error)
{
    struct reading *reading = context;
    struct oto_sample_head head = {0};
    struct oto_error why = {0};
    enum oto_status status = OTO_OK;
    if (reading->log == NULL) {
        status = log_plan_make(row, &reading->plan, error);
        if (status == OTO_OK) {
            status = oto_log_create(row->path, &reading->plan.type, &reading->log, error);
        }
    }
    for (uint32_t i = 0; status == OTO_OK && i < row->columns; i++) {
        status = take_cell(reading, row, i, &head, error);
    }
    if (status != OTO_OK || is_discarded(reading, row)) {
        return status;
    }
    if (!has_role(reading, row, LOG_SENSOR_TIME)) {
        head.sensor_time_ns = head.t_ns;
    }
    status = oto_log_add(reading->log, &head, reading->payload, &why);
    return status == OTO_OK ? OTO_OK : log_fail(row, NULL, error, status, "%s", why.text);
}

enum oto_status oto_log_read_of(FILE *file, const char *path, struct oto_log **log, struct oto_error *error)
{
    struct reading *reading = calloc(1, sizeof *reading);
    *log = NULL;
    if (reading == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read '%.200s'", path);
    }
    enum oto_status status = oto_table_each_text_of(file, path, each_row, reading, error);
    if (status == OTO_OK && (reading->log == NULL || oto_log_count(reading->log) == 0)) {
        status = oto_fail(error, OTO_INVALID, "%.200s: there is no sample below the header", path);
    }
    if (status != OTO_OK) {
        oto_log_close(reading->log);
        reading->log = NULL;
    }
    *log = reading->log;
    log_plan_finish(&reading->plan);
    free(reading);
    return status;
}

enum oto_status oto_log_read(const char *path, struct oto_log **log, struct oto_error *error)
{
    FILE *file = NULL;
    *log = NULL;
    enum oto_status status = oto_table_open(path, &file, error);
    if (status == OTO_OK) {
        status = oto_log_read_of(file, path, log, error);
        (void)fclose(file);
    }
    return status;
}
