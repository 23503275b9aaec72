/* The metrics of a spec: fields with their statistics, and Python functions. */
#include "sweep/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const accepted = "count, mean, std, rms, min, max, last, p0 to p100, allan_n, allan_b or allan_k";

static enum oto_status no_memory(struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory for the metrics of a sweep");
}

/* ---- columns ---- */

static enum oto_status add_column(struct sweep_spec *spec, const struct oto_value *place, const char *name, const char *statistic,
                                  struct oto_error *error)
{
    static const char *const own[] = {"run", "seed", "error"};
    if (spec->column_count == SWEEP_MOST_COLUMNS) {
        return oto_value_fail(place, error, OTO_LIMIT, "at most %d columns", (int)SWEEP_MOST_COLUMNS);
    }
    char **columns = realloc(spec->columns, (spec->column_count + 1) * sizeof *columns);
    if (columns == NULL) {
        return no_memory(error);
    }
    spec->columns = columns;
    char **column = &columns[spec->column_count];
    if (asprintf(column, "%s%s%s", name, statistic != NULL ? "." : "", statistic != NULL ? statistic : "") < 0) {
        return no_memory(error);
    }
    spec->column_count++;
    bool taken = false;
    for (uint32_t i = 0; i + 1 < spec->column_count; i++) {
        taken = taken || strcmp(columns[i], *column) == 0;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        taken = taken || strcmp(own[i], *column) == 0;
    }
    return taken ? oto_value_fail(place, error, OTO_CONFLICT, "a column '%.120s' exists already; give a `name`", *column) : OTO_OK;
}

/* ---- statistics ---- */

static bool read_percentile(const char *word, double *percent)
{
    char *end;
    if (word[0] != 'p' || word[1] < '0' || word[1] > '9') {
        return false;
    }
    *percent = strtod(word + 1, &end);
    return *end == '\0' && *percent >= 0.0 && *percent <= 100.0;
}

static enum oto_status read_compute(const struct oto_value *value, struct sweep_compute *compute, struct oto_error *error)
{
    static const struct {
        const char *name;
        enum sweep_statistic statistic;
    } words[] = {{"count", SWEEP_COUNT}, {"mean", SWEEP_MEAN}, {"std", SWEEP_STD}, {"rms", SWEEP_RMS}, {"min", SWEEP_MIN},
                 {"max", SWEEP_MAX}, {"last", SWEEP_LAST}, {"allan_n", SWEEP_ALLAN_N}, {"allan_b", SWEEP_ALLAN_B},
                 {"allan_k", SWEEP_ALLAN_K}};
    const enum oto_status status = oto_value_text(value, &compute->name, error);
    if (status != OTO_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].name, compute->name) == 0) {
            compute->statistic = words[i].statistic;
            return OTO_OK;
        }
    }
    compute->statistic = SWEEP_PERCENTILE;
    return read_percentile(compute->name, &compute->percent) ? OTO_OK : oto_value_expected(value, error, accepted);
}

static enum oto_status read_computes(struct sweep_metric *metric, const struct oto_value *list, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    if (list->kind != OTO_VALUE_LIST || list->count == 0 || list->count > SWEEP_MOST_COMPUTES) {
        return oto_value_expected(list, error, "a list of statistics, for example [mean, rms, p95]");
    }
    for (uint32_t i = 0; status == OTO_OK && i < list->count; i++) {
        status = read_compute(list->items[i], &metric->computes[metric->compute_count++], error);
    }
    return status;
}

/* ---- references ---- */

/* Finds the reference of `against: truth`: the field of the same name in the truth of the vehicle. */
static enum oto_status refer_to_truth(const struct sweep_metric *metric, struct sweep_reference *reference, struct oto_error *error)
{
    const char *slash = strrchr(metric->channel, '/');
    if (slash == NULL) {
        return oto_value_fail(reference->place, error, OTO_INVALID, "channel '%.80s' belongs to no vehicle; {channel: C, field: F} or "
                              "{path: P} is accepted here", metric->channel);
    }
    reference->kind = SWEEP_FIELD;
    (void)snprintf(reference->channel, sizeof reference->channel, "%.*s/motion", (int)(slash - metric->channel), metric->channel);
    (void)snprintf(reference->field, sizeof reference->field, "%s", metric->field);
    return OTO_OK;
}

static enum oto_status refer_to_field(struct sweep_reference *reference, const struct oto_value *value, struct oto_error *error)
{
    const char *channel, *field;
    enum oto_status status = oto_value_text(oto_value_get(value, "channel"), &channel, error);
    if (status == OTO_OK) {
        status = oto_value_text(oto_value_get(value, "field"), &field, error);
    }
    if (status == OTO_OK) {
        reference->kind = SWEEP_FIELD;
        (void)snprintf(reference->channel, sizeof reference->channel, "%s", channel);
        (void)snprintf(reference->field, sizeof reference->field, "%s", field);
    }
    return status;
}

static enum oto_status read_reference(struct sweep_metric *metric, const struct oto_value *value, struct oto_error *error)
{
    static const char *const keys[] = {"channel", "field", "path"};
    static const char *const expected = "truth, a number, {path: P} of the world file, or {channel: C, field: F}";
    struct sweep_reference *reference = &metric->reference;
    reference->place = value;
    if (value->kind == OTO_VALUE_SCALAR && strcmp(value->text, "truth") == 0) {
        return refer_to_truth(metric, reference, error);
    }
    if (value->kind == OTO_VALUE_SCALAR) {
        reference->kind = SWEEP_NUMBER;
        return oto_value_f64(value, &reference->number, NULL) == OTO_OK ? OTO_OK : oto_value_expected(value, error, expected);
    }
    if (value->kind != OTO_VALUE_MAP) {
        return oto_value_expected(value, error, expected);
    }
    const enum oto_status status = sweep_spec_keys(value, "against", keys, sizeof keys / sizeof *keys, error);
    if (status == OTO_OK && oto_value_get(value, "path") != NULL && value->count == 1) {
        reference->kind = SWEEP_WORLD_VALUE;
        return oto_value_text(oto_value_get(value, "path"), &reference->path, error);
    }
    if (status == OTO_OK && oto_value_get(value, "channel") != NULL && oto_value_get(value, "field") != NULL && value->count == 2) {
        return refer_to_field(reference, value, error);
    }
    return status == OTO_OK ? oto_value_expected(value, error, expected) : status;
}

/* ---- one field ---- */

static enum oto_status name_metric(struct sweep_metric *metric, const struct oto_value *item, bool is_one_of_many,
                                   struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(item, "name");
    const char *name = metric->channel;
    const enum oto_status status = value != NULL ? oto_value_text(value, &name, error) : OTO_OK;
    if (status == OTO_OK && value != NULL && !is_one_of_many) {
        (void)snprintf(metric->name, sizeof metric->name, "%s", name);
    } else if (status == OTO_OK) {
        (void)snprintf(metric->name, sizeof metric->name, "%.120s.%.100s", name, metric->field);
    }
    return status;
}

static enum oto_status add_metric(struct sweep_spec *spec, const struct oto_value *item, const struct oto_value *field,
                                  bool is_one_of_many, struct oto_error *error)
{
    const struct oto_value *from = oto_value_get(item, "from_s"), *against = oto_value_get(item, "against");
    double from_s = 0.0;
    if (spec->metric_count == SWEEP_MOST_METRICS) {
        return oto_value_fail(field, error, OTO_LIMIT, "at most %d fields", (int)SWEEP_MOST_METRICS);
    }
    struct sweep_metric *metric = &spec->metrics[spec->metric_count++];
    metric->channel_place = oto_value_get(item, "channel");
    metric->field_place = field;
    enum oto_status status = oto_value_text(metric->channel_place, &metric->channel, error);
    if (status == OTO_OK) {
        status = oto_value_text(field, &metric->field, error);
    }
    if (status == OTO_OK) {
        status = name_metric(metric, item, is_one_of_many, error);
    }
    if (status == OTO_OK && from != NULL) {
        status = oto_value_f64(from, &from_s, error);
    }
    if (status == OTO_OK && !(from_s >= 0.0 && from_s * 1e9 < (double)spec->duration_ns)) {
        status = oto_value_fail(from, error, OTO_RANGE, "from_s is from 0 to less than duration_s, not %g", from_s);
    }
    metric->from_ns = (int64_t)llround(from_s * 1e9);
    if (status == OTO_OK && against != NULL) {
        status = read_reference(metric, against, error);
    }
    if (status == OTO_OK) {
        status = read_computes(metric, oto_value_get(item, "compute"), error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < metric->compute_count; i++) {
        status = add_column(spec, item, metric->name, metric->computes[i].name, error);
    }
    return status;
}

static enum oto_status read_fields(struct sweep_spec *spec, const struct oto_value *item, struct oto_error *error)
{
    static const char *const keys[] = {"channel", "field", "compute", "name", "from_s", "against"};
    const struct oto_value *field = oto_value_get(item, "field");
    enum oto_status status = sweep_spec_keys(item, "a metric", keys, sizeof keys / sizeof *keys, error);
    if (status == OTO_OK && (oto_value_get(item, "channel") == NULL || field == NULL || oto_value_get(item, "compute") == NULL)) {
        status = oto_value_fail(item, error, OTO_INVALID, "a metric has `channel`, `field` and `compute`, or `python`, `function`, "
                                "`channels` and `columns`");
    }
    if (status != OTO_OK || field->kind != OTO_VALUE_LIST) {
        return status == OTO_OK ? add_metric(spec, item, field, false, error) : status;
    }
    for (uint32_t i = 0; status == OTO_OK && i < field->count; i++) {
        status = add_metric(spec, item, field->items[i], true, error);
    }
    return status;
}

/* ---- Python functions ---- */

static enum oto_status check_names(const struct oto_value *list, uint32_t most, const char *what, struct oto_error *error)
{
    const char *name;
    enum oto_status status = OTO_OK;
    if (list == NULL || list->kind != OTO_VALUE_LIST || list->count == 0 || list->count > most) {
        return list != NULL ? oto_value_expected(list, error, what) : OTO_INVALID;
    }
    for (uint32_t i = 0; status == OTO_OK && i < list->count; i++) {
        status = oto_value_text(list->items[i], &name, error);
    }
    return status;
}

static enum oto_status read_function(struct sweep_spec *spec, const struct oto_value *item, struct oto_error *error)
{
    static const char *const keys[] = {"python", "function", "channels", "columns"};
    const char *file = NULL;
    enum oto_status status = sweep_spec_keys(item, "a Python metric", keys, sizeof keys / sizeof *keys, error);
    if (status == OTO_OK && (item->count != 4 || spec->function_count == SWEEP_MOST_FUNCTIONS)) {
        status = oto_value_fail(item, error, OTO_INVALID, "a Python metric has `python`, `function`, `channels` and `columns`; at most "
                                "%d are accepted", (int)SWEEP_MOST_FUNCTIONS);
    }
    if (status != OTO_OK) {
        return status;
    }
    struct sweep_function *function = &spec->functions[spec->function_count++];
    *function = (struct sweep_function){.place = item, .channels = oto_value_get(item, "channels"),
                                        .columns = oto_value_get(item, "columns")};
    status = oto_value_text(oto_value_get(item, "python"), &file, error);
    if (status == OTO_OK) {
        status = oto_value_text(oto_value_get(item, "function"), &function->name, error);
    }
    if (status == OTO_OK) {
        status = check_names(function->channels, SWEEP_MOST_CHANNELS, "a list of channels", error);
    }
    if (status == OTO_OK) {
        status = check_names(function->columns, SWEEP_MOST_COLUMNS, "a list of names of columns", error);
    }
    if (status == OTO_OK) {
        function->file = sweep_spec_beside(spec, file);
        status = function->file != NULL ? OTO_OK : no_memory(error);
    }
    if (status == OTO_OK && access(function->file, R_OK) != 0) {
        status = oto_value_fail(oto_value_get(item, "python"), error, OTO_NOT_FOUND, "cannot read '%.256s'", function->file);
    }
    for (uint32_t i = 0; status == OTO_OK && i < function->columns->count; i++) {
        status = add_column(spec, function->columns->items[i], function->columns->items[i]->text, NULL, error);
    }
    return status;
}

/* Reads the fields first and the functions after them, because this is the order of the columns. */
enum oto_status sweep_spec_metrics(struct sweep_spec *spec, const struct oto_value *list, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    if (list->kind != OTO_VALUE_LIST || list->count == 0) {
        return oto_value_expected(list, error, "a list of metrics");
    }
    spec->metrics = calloc(SWEEP_MOST_METRICS, sizeof *spec->metrics);
    if (spec->metrics == NULL) {
        return no_memory(error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < list->count; i++) {
        status = oto_value_get(list->items[i], "python") == NULL ? read_fields(spec, list->items[i], error) : OTO_OK;
    }
    for (uint32_t i = 0; status == OTO_OK && i < list->count; i++) {
        status = oto_value_get(list->items[i], "python") != NULL ? read_function(spec, list->items[i], error) : OTO_OK;
    }
    return status;
}
