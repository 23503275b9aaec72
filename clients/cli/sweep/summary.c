/* summary.csv: a row for each combination, with statistics of each column over its seeds. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "draw_value.h"
#include "json.h"
#include "output.h"
#include "sweep/sweep.h"

enum { MEAN, STD, P5, P50, P95, STATISTICS };
static const char *const names[STATISTICS] = {"mean", "std", "p5", "p50", "p95"};

struct sweep_summary {
    uint64_t *failed;  /* number of failed runs of each combination */
    double *numbers;   /* one for each combination, column and statistic */
};

struct summing {
    const struct sweep_spec *spec;
    double *values; /* for each column the values of all seeds, one after the other */
    uint32_t *counts;
    char *row;
    char **cells;
};

static double *numbers_of(const struct sweep_spec *spec, const struct sweep_summary *summary, uint64_t combination, uint32_t column)
{
    return &summary->numbers[(combination * spec->column_count + column) * STATISTICS];
}

/* ---- one combination ---- */

static bool take_row(struct summing *summing, const struct sweep_row_at *row)
{
    const struct sweep_spec *spec = summing->spec;
    const uint32_t lead = sweep_row_lead(spec), columns = sweep_row_columns(spec);
    memcpy(summing->row, row->text, row->length);
    summing->row[row->length] = '\0';
    if (sweep_row_split(summing->row, summing->cells, columns) != columns || summing->cells[columns - 1][0] != '\0') {
        return false;
    }
    for (uint32_t i = 0; i < spec->column_count; i++) {
        char *end;
        const char *cell = summing->cells[lead + i];
        const double value = strtod(cell, &end);
        if (end != cell) {
            summing->values[i * spec->seed_count + summing->counts[i]++] = value;
        }
    }
    return true;
}

static void summarise(double *values, uint32_t count, double *numbers)
{
    double sum = 0.0, squares = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    const double mean = sum / count;
    for (uint32_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    numbers[MEAN] = count > 0 ? mean : NAN;
    numbers[STD] = count > 1 ? sqrt(squares / (count - 1.0)) : NAN;
    numbers[P5] = sweep_percentile(values, count, 5.0);
    numbers[P50] = sweep_percentile(values, count, 50.0);
    numbers[P95] = sweep_percentile(values, count, 95.0);
}

static void sum_up(struct summing *summing, const struct sweep_rows *rows, uint64_t combination, struct sweep_summary *summary)
{
    const struct sweep_spec *spec = summing->spec;
    memset(summing->counts, 0, spec->column_count * sizeof *summing->counts);
    for (uint64_t seed = 0; seed < spec->seed_count; seed++) {
        summary->failed[combination] += !take_row(summing, &rows->rows[combination * spec->seed_count + seed]);
    }
    for (uint32_t i = 0; i < spec->column_count; i++) {
        summarise(&summing->values[i * spec->seed_count], summing->counts[i], numbers_of(spec, summary, combination, i));
    }
}

static uint32_t longest(const struct sweep_rows *rows, uint64_t count)
{
    uint32_t length = 0;
    for (uint64_t i = 0; i < count; i++) {
        length = rows->rows[i].length > length ? rows->rows[i].length : length;
    }
    return length;
}

struct sweep_summary *sweep_summary_create(const struct sweep_spec *spec, const struct sweep_rows *rows, struct oto_error *error)
{
    const size_t columns = spec->column_count > 0 ? spec->column_count : 1;
    struct sweep_summary *summary = calloc(1, sizeof *summary);
    struct summing summing = {.spec = spec,
                              .values = calloc(columns * spec->seed_count, sizeof *summing.values),
                              .counts = calloc(columns, sizeof *summing.counts),
                              .row = malloc(longest(rows, spec->runs) + 1u),
                              .cells = calloc(sweep_row_columns(spec), sizeof *summing.cells)};
    if (summary != NULL) {
        summary->failed = calloc(spec->combinations, sizeof *summary->failed);
        summary->numbers = calloc(spec->combinations * columns, STATISTICS * sizeof *summary->numbers);
    }
    if (summary == NULL || summary->failed == NULL || summary->numbers == NULL || summing.values == NULL || summing.counts == NULL ||
        summing.row == NULL || summing.cells == NULL) {
        sweep_summary_destroy(summary);
        summary = NULL;
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory for the summary of %" PRIu64 " combinations", spec->combinations);
    }
    for (uint64_t i = 0; summary != NULL && i < spec->combinations; i++) {
        sum_up(&summing, rows, i, summary);
    }
    free(summing.values);
    free(summing.counts);
    free(summing.row);
    free(summing.cells);
    return summary;
}

void sweep_summary_destroy(struct sweep_summary *summary)
{
    if (summary != NULL) {
        free(summary->failed);
        free(summary->numbers);
        free(summary);
    }
}

/* ---- output ---- */

static bool find_column(const struct sweep_spec *spec, const char *column, uint32_t *index, uint32_t *statistic)
{
    const char *dot = strrchr(column, '.');
    for (*index = 0; dot != NULL && *index < spec->column_count; (*index)++) {
        const char *name = spec->columns[*index];
        for (*statistic = 0; *statistic < STATISTICS; (*statistic)++) {
            if (strlen(name) == (size_t)(dot - column) && strncmp(name, column, strlen(name)) == 0 && strcmp(dot + 1, names[*statistic]) == 0) {
                return true;
            }
        }
    }
    return false;
}

bool sweep_summary_number(const struct sweep_spec *spec, const struct sweep_summary *summary, uint64_t combination,
                          const char *column, double *number)
{
    uint32_t index, statistic;
    if (!find_column(spec, column, &index, &statistic)) {
        return false;
    }
    *number = summary != NULL ? numbers_of(spec, summary, combination, index)[statistic] : NAN;
    return true;
}

static void write_header(FILE *to, const struct sweep_spec *spec)
{
    for (uint32_t i = 0; spec->vary != NULL && i < spec->vary->count; i++) {
        csv_cell(to, spec->vary->items[i]->key);
        (void)fputc(',', to);
    }
    (void)fputs("runs,failed", to);
    for (uint32_t i = 0; i < spec->column_count; i++) {
        for (int s = 0; s < STATISTICS; s++) {
            (void)fprintf(to, ",%s.%s", spec->columns[i], names[s]);
        }
    }
    (void)fputc('\n', to);
}

static enum oto_status write_value(FILE *to, const struct oto_value *value, struct oto_error *error)
{
    char *text = NULL;
    size_t length = 0;
    FILE *cell = open_memstream(&text, &length);
    if (cell != NULL) {
        cli_value_yaml(cell, value);
    }
    const bool written = cell != NULL && fclose(cell) == 0;
    if (written) {
        csv_cell(to, text);
        (void)fputc(',', to);
    }
    free(text);
    return written ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for a value");
}

static enum oto_status write_combination(FILE *to, const struct sweep_spec *spec, const struct sweep_summary *summary,
                                         uint64_t combination, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && spec->vary != NULL && i < spec->vary->count; i++) {
        status = write_value(to, spec->vary->items[i]->items[sweep_choice(spec, combination, i)], error);
    }
    (void)fprintf(to, "%" PRIu64 ",%" PRIu64, spec->seed_count, summary->failed[combination]);
    for (uint32_t i = 0; i < spec->column_count; i++) {
        for (int s = 0; s < STATISTICS; s++) {
            const double number = numbers_of(spec, summary, combination, i)[s];
            (void)fputc(',', to);
            if (isfinite(number)) {
                (void)fprintf(to, "%.12g", number);
            }
        }
    }
    (void)fputc('\n', to);
    return status;
}

enum oto_status sweep_write_summary(const struct sweep_spec *spec, const struct sweep_summary *summary, const char *directory,
                                    struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    (void)snprintf(path, sizeof path, "%.3000s/summary.csv", directory);
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        write_header(output.file, spec);
    }
    for (uint64_t i = 0; status == OTO_OK && i < spec->combinations; i++) {
        status = write_combination(output.file, spec, summary, i, error);
    }
    return cli_output_close(&output, status, error);
}

static void print_combination(struct oto_json *json, const struct sweep_spec *spec, const struct sweep_summary *summary,
                              uint64_t combination)
{
    oto_json_open(json, NULL, '{');
    oto_json_open(json, "values", '{');
    for (uint32_t i = 0; spec->vary != NULL && i < spec->vary->count; i++) {
        cli_value_json(json, spec->vary->items[i]->key, spec->vary->items[i]->items[sweep_choice(spec, combination, i)]);
    }
    oto_json_close(json, '}');
    oto_json_u64(json, "runs", spec->seed_count);
    oto_json_u64(json, "failed", summary->failed[combination]);
    oto_json_open(json, "columns", '{');
    for (uint32_t i = 0; i < spec->column_count; i++) {
        oto_json_open(json, spec->columns[i], '{');
        for (int s = 0; s < STATISTICS; s++) {
            oto_json_number(json, names[s], numbers_of(spec, summary, combination, i)[s]);
        }
        oto_json_close(json, '}');
    }
    oto_json_close(json, '}');
    oto_json_close(json, '}');
}

void sweep_summary_json(struct oto_json *json, const char *key, const struct sweep_spec *spec, const struct sweep_summary *summary)
{
    oto_json_open(json, key, '[');
    for (uint64_t i = 0; i < spec->combinations; i++) {
        print_combination(json, spec, summary, i);
    }
    oto_json_close(json, ']');
}
