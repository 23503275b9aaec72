/* An estimate beside a reference, column by column. */
#include <math.h>
#include <string.h>

#include "estimate/estimate.h"

/* ---- columns ---- */

static bool find_column(const struct oto_record_type *type, const char *name, const struct oto_field **field,
                        uint32_t *element)
{
    char column[OTO_FIELD_NAME_BYTES + 16];
    for (uint32_t i = 0; i < type->field_count; i++) {
        for (uint32_t k = 0; type->fields[i].type != OTO_FIELD_TEXT && k < type->fields[i].count; k++) {
            (void)oto_field_column(&type->fields[i], k, column, sizeof column);
            if (strcmp(column, name) == 0) {
                *field = &type->fields[i];
                *element = k;
                return true;
            }
        }
    }
    return false;
}

static enum oto_status no_column(const struct oto_record_type *type, const char *what, const char *name,
                                 struct oto_error *error)
{
    const char *names[OTO_RECORD_MAX_FIELDS];
    for (uint32_t i = 0; i < type->field_count; i++) {
        names[i] = type->fields[i].name;
    }
    const char *near = oto_nearest_word(name, names, type->field_count);
    return oto_fail(error, OTO_NOT_FOUND, "--compare: %.200s has no column '%.64s' of numbers%s%s%s", what, name,
                    near != NULL ? ": did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* Finds the channel of "CHANNEL:COLUMN"; without "CHANNEL:" it is the first channel. */
static enum oto_status find_port(const struct oto_plugin_descriptor *descriptor, const char **name, uint32_t *port,
                                 struct oto_error *error)
{
    const char *colon = strchr(*name, ':');
    *port = 0;
    if (colon == NULL) {
        return OTO_OK;
    }
    for (*port = 0; *port < descriptor->output_count; (*port)++) {
        const char *own = descriptor->outputs[*port].name;
        if (strlen(own) == (size_t)(colon - *name) && strncmp(own, *name, strlen(own)) == 0) {
            *name = colon + 1;
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_NOT_FOUND, "--compare: '%s' has no channel '%.*s'", descriptor->id, (int)(colon - *name),
                    *name);
}

static enum oto_status open_row(struct comparison *row, const struct oto_plugin_descriptor *descriptor,
                                const struct oto_log *log, struct oto_error *error)
{
    char text[256];
    const char *name = text;
    (void)snprintf(text, sizeof text, "%s", row->argument);
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return oto_fail(error, OTO_INVALID, "--compare takes COLUMN=COLUMN, of the estimate and of the reference, not '%.128s'",
                        row->argument);
    }
    *equals = '\0';
    enum oto_status status = find_port(descriptor, &name, &row->port, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_record_type *own = descriptor->outputs[row->port].type;
    if (!find_column(own, name, &row->estimate, &row->estimate_element)) {
        return no_column(own, "the estimate", name, error);
    }
    return find_column(oto_log_type(log), equals + 1, &row->reference, &row->reference_element)
               ? OTO_OK
               : no_column(oto_log_type(log), oto_log_source(log), equals + 1, error);
}

static enum oto_status read_tagged_reference(FILE *file, const char *path, struct oto_log **log, struct oto_error *error)
{
    struct tagged_logs tagged;
    const enum oto_status status = tagged_read(file, path, &tagged, error);
    oto_log_close(tagged.lidar);
    oto_log_close(tagged.radar);
    *log = tagged.truth;
    return status != OTO_OK || tagged.truth != NULL ? status
                                                    : oto_fail(error, OTO_INVALID, "%.200s holds no truth", path);
}

static enum oto_status read_reference(const char *path, struct oto_log **log, struct oto_error *error)
{
    FILE *file = NULL;
    enum oto_status status = oto_table_open(path, &file, error);
    if (status == OTO_OK) {
        status = tagged_is(file) ? read_tagged_reference(file, path, log, error) : oto_log_read_of(file, path, log, error);
        (void)fclose(file);
    }
    return status;
}

enum oto_status comparisons_open(struct comparisons *comparisons, const struct oto_plugin_descriptor *descriptor,
                                 struct oto_error *error)
{
    if (comparisons->count == 0) {
        return OTO_OK;
    }
    enum oto_status status = read_reference(comparisons->path, &comparisons->log, error);
    for (uint32_t i = 0; status == OTO_OK && i < comparisons->count; i++) {
        status = open_row(&comparisons->rows[i], descriptor, comparisons->log, error);
    }
    return status;
}

void comparisons_finish(struct comparisons *comparisons)
{
    oto_log_close(comparisons->log);
    comparisons->log = NULL;
}

/* ---- records ---- */

static double number_at(const struct oto_log *log, uint64_t index, const struct comparison *row)
{
    return oto_field_number(row->reference, oto_log_sample(log, index).payload, row->reference_element);
}

static double difference(const struct comparison *row, double a, double b)
{
    return row->angle ? remainder(a - b, 2.0 * OTO_PI) : a - b;
}

/* The first sample at or after an instant; the log's count where there is none. */
static uint64_t first_from(const struct oto_log *log, int64_t t_ns)
{
    uint64_t low = 0, high = oto_log_count(log);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (oto_log_sample(log, middle).t_ns < t_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The reference at an instant, interpolated; NaN outside the times of the reference. */
static double reference_at(const struct oto_log *log, const struct comparison *row, int64_t t_ns)
{
    const uint64_t next = first_from(log, t_ns);
    if (next == oto_log_count(log)) {
        return (double)NAN;
    }
    const struct oto_input_sample after = oto_log_sample(log, next);
    const double to = number_at(log, next, row);
    if (after.t_ns == t_ns) {
        return to;
    }
    if (next == 0) {
        return (double)NAN;
    }
    const struct oto_input_sample before = oto_log_sample(log, next - 1);
    const double from = number_at(log, next - 1, row);
    const double part = (double)(t_ns - before.t_ns) / (double)(after.t_ns - before.t_ns);
    return from + part * difference(row, to, from);
}

void comparisons_take(struct comparisons *comparisons, uint32_t port, const struct oto_sample_head *head,
                      const void *payload)
{
    if (!comparisons->begun) {
        comparisons->begun = true;
        comparisons->from_ns = head->t_ns + comparisons->settle_ns;
    }
    for (uint32_t i = 0; head->t_ns >= comparisons->from_ns && i < comparisons->count; i++) {
        struct comparison *row = &comparisons->rows[i];
        if (row->port != port) {
            continue;
        }
        const double error = difference(row, oto_field_number(row->estimate, payload, row->estimate_element),
                                        reference_at(comparisons->log, row, head->t_ns));
        if (isfinite(error)) {
            row->count++;
            row->sum += error;
            row->squares += error * error;
            row->most = fmax(row->most, fabs(error));
        }
    }
}

double comparison_rmse(const struct comparison *row)
{
    return sqrt(row->squares / (double)row->count);
}

double comparison_mean(const struct comparison *row)
{
    return row->sum / (double)row->count;
}
