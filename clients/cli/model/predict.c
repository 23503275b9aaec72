/* otolith model predict: one prediction for each row of a CSV. */
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/table.h"

/* A column that is a parameter of the model, which is set when the text of the cell changes. */
struct param_column {
    uint32_t column;
    char *last; /* NULL: not set yet */
};

struct run {
    const struct model_options *options;
    struct oto_model *model;
    struct cli_output output;
    uint32_t size;                       /* numbers in the state */
    uint32_t columns[OTO_MODEL_MAX_STATES]; /* of the states */
    uint32_t dt_column;
    struct param_column *params;
    uint32_t param_count;
    uint64_t rows;
};

/* ---- the columns ---- */

static enum oto_status missing(const struct run *run, const struct oto_text_row *row, const char *name,
                               struct oto_error *error)
{
    char names[256] = "";
    size_t length = 0;
    for (uint32_t i = 0; i < run->size && length < sizeof names; i++) {
        length += (size_t)snprintf(names + length, sizeof names - length, "%s, ", oto_model_quantity(run->model, i)->name);
    }
    return oto_fail(error, OTO_INVALID, "%.128s:1: error: there is no column '%s'; model '%s' needs %sand dt_s", row->path,
                    name, model_name(oto_model_descriptor(run->model)), names);
}

static enum oto_status find_columns(struct run *run, const struct oto_text_row *row, struct oto_error *error)
{
    for (uint32_t i = 0; i < run->size; i++) {
        const char *name = oto_model_quantity(run->model, i)->name;
        if (!oto_column_find(row->names, row->columns, name, &run->columns[i])) {
            return missing(run, row, name, error);
        }
    }
    if (!oto_column_find(row->names, row->columns, "dt_s", &run->dt_column) && !oto_column_find(row->names, row->columns, "dt", &run->dt_column)) {
        return missing(run, row, "dt_s", error);
    }
    run->params = calloc(row->columns, sizeof *run->params);
    if (run->params == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu32 " columns", row->columns);
    }
    for (uint32_t i = 0; i < row->columns; i++) {
        uint32_t state;
        if (oto_model_index(run->model, row->names[i], &state, NULL) != OTO_OK &&
            oto_model_param(run->model, row->names[i]) != NULL) {
            run->params[run->param_count++].column = i;
        }
    }
    return OTO_OK;
}

static void write_header(const struct run *run)
{
    FILE *to = run->output.file;
    const struct oto_model_extension *model = oto_model_of(run->model);
    for (uint32_t i = 0; i < run->size; i++) {
        (void)fprintf(to, "%s,", model->states[i].name);
    }
    (void)fputs("dt_s", to);
    for (uint32_t i = 0; run->options->derived && i < model->derived_count; i++) {
        (void)fprintf(to, ",%s", model->derived[i].name);
    }
    for (uint32_t i = 0; run->options->jacobian && i < run->size * run->size; i++) {
        (void)fprintf(to, ",J_%s_%s", model->states[i / run->size].name, model->states[i % run->size].name);
    }
    (void)fputc('\n', to);
}

/* ---- a row ---- */

static enum oto_status at_row(const struct oto_text_row *row, const char *column, const struct oto_error *why,
                              struct oto_error *error)
{
    return oto_fail(error, why->status, "%.128s:%" PRIu32 ": error: row %" PRIu64 "%s%s: %.300s", row->path, row->line,
                    row->number + 1, column[0] != '\0' ? ", column " : "", column, why->text);
}

static enum oto_status set_params(struct run *run, const struct oto_text_row *row, struct oto_error *error)
{
    for (uint32_t i = 0; i < run->param_count; i++) {
        struct param_column *param = &run->params[i];
        const char *cell = row->cells[param->column];
        struct oto_error why = {0};
        if (param->last != NULL && strcmp(param->last, cell) == 0) {
            continue;
        }
        if (oto_model_set(run->model, row->names[param->column], cell, &why) != OTO_OK) {
            return at_row(row, row->names[param->column], &why, error);
        }
        free(param->last);
        param->last = strdup(cell);
    }
    if (oto_model_size(run->model) != run->size) {
        return oto_fail(error, OTO_INVALID, "%.128s:%" PRIu32 ": error: row %" PRIu64 " changes the number of states from "
                        "%u to %u; give it with --set", row->path, row->line, row->number + 1, run->size,
                        oto_model_size(run->model));
    }
    return OTO_OK;
}

static enum oto_status read_cell(const struct oto_text_row *row, uint32_t column, double *number, struct oto_error *error)
{
    struct oto_error why = {0};
    return model_number(row->cells[column], number, &why) == OTO_OK ? OTO_OK
                                                                    : at_row(row, row->names[column], &why, error);
}

static enum oto_status read_row(const struct run *run, const struct oto_text_row *row, double *state, int64_t *dt_ns,
                                struct oto_error *error)
{
    double dt_s = 0.0;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < run->size && status == OTO_OK; i++) {
        status = read_cell(row, run->columns[i], &state[i], error);
    }
    if (status == OTO_OK) {
        status = read_cell(row, run->dt_column, &dt_s, error);
    }
    if (status == OTO_OK && fabs(dt_s) > 9e9) {
        const struct oto_error why = {OTO_RANGE, "a step beyond 9e9 s either way"};
        return at_row(row, row->names[run->dt_column], &why, error);
    }
    *dt_ns = (int64_t)llround(dt_s * 1e9);
    return status;
}

static void write_numbers(FILE *to, const double *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)fputc(',', to);
        model_print_number(to, numbers[i]);
    }
}

static enum oto_status write_row(const struct run *run, const struct oto_text_row *row, int64_t dt_ns,
                                 const double *jacobian, struct oto_error *error)
{
    double state[OTO_MODEL_MAX_STATES], derived[OTO_MODEL_MAX_DERIVED];
    FILE *to = run->output.file;
    oto_model_state(run->model, state);
    for (uint32_t i = 0; i < run->size; i++) {
        if (!isfinite(state[i])) {
            const struct oto_error why = {OTO_RANGE, "the prediction is beyond the range of numbers"};
            return at_row(row, oto_model_quantity(run->model, i)->name, &why, error);
        }
    }
    model_print_number(to, state[0]);
    write_numbers(to, state + 1, run->size - 1);
    (void)fputc(',', to);
    model_print_number(to, (double)dt_ns / 1e9);
    if (run->options->derived) {
        oto_model_derived(run->model, derived);
        write_numbers(to, derived, oto_model_of(run->model)->derived_count);
    }
    if (run->options->jacobian) {
        write_numbers(to, jacobian, run->size * run->size);
    }
    (void)fputc('\n', to);
    return ferror(to) == 0 ? OTO_OK : oto_fail(error, OTO_IO, "cannot write '%.256s': %m", run->options->out);
}

static enum oto_status each_row(void *context, const struct oto_text_row *row, struct oto_error *error)
{
    struct run *run = context;
    double state[OTO_MODEL_MAX_STATES], jacobian[OTO_MODEL_MAX_STATES * OTO_MODEL_MAX_STATES];
    struct oto_error why = {0};
    int64_t dt_ns = 0;
    if (cli_interrupted()) {
        return oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " rows; nothing was written", run->rows);
    }
    enum oto_status status = run->rows++ == 0 ? find_columns(run, row, error) : OTO_OK;
    if (status == OTO_OK) {
        status = set_params(run, row, error);
    }
    if (status == OTO_OK) {
        status = read_row(run, row, state, &dt_ns, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    status = oto_model_reset(run->model, state, &why);
    if (status == OTO_OK) {
        status = run->options->jacobian ? oto_model_jacobian_and_predict(run->model, dt_ns, jacobian, &why)
                                        : oto_model_predict(run->model, dt_ns, &why);
    }
    return status == OTO_OK ? write_row(run, row, dt_ns, jacobian, error) : at_row(row, "", &why, error);
}

static enum oto_status predict(struct run *run, struct oto_error *error)
{
    enum oto_status status = model_open(run->options, &run->model, error);
    if (status == OTO_OK) {
        run->size = oto_model_size(run->model);
        status = cli_output_open(&run->output, run->options->out, error);
    }
    if (status == OTO_OK) {
        write_header(run);
        status = oto_table_each_text(run->options->in, each_row, run, error);
    }
    return cli_output_close(&run->output, status, error);
}

int model_predict(int argc, char **argv)
{
    static const char doc[] =
        "Predict each row's state by its dt_s. Input columns: the model's state names and dt_s (or dt), and, where "
        "present, its parameters by key or short name (otolith model info MODEL), which then hold for that row; others are "
        "ignored. Output columns: the same state names after dt_s, dt_s, and what --derived and --jacobian add.";
    struct model_options options;
    struct run run = {.options = &options};
    struct oto_error error = {0};
    model_parse(argc, argv, "mPsioJd", "", doc, &options);
    if (options.model == NULL || options.in == NULL || options.out == NULL) {
        (void)fprintf(stderr, "otolith: model predict needs --model, --in and --out\n");
        return CLI_USAGE;
    }
    cli_catch_signals();
    const enum oto_status status = predict(&run, &error);
    if (status == OTO_OK) {
        (void)fprintf(stderr, "otolith: %" PRIu64 " rows\n", run.rows);
    }
    for (uint32_t i = 0; i < run.param_count; i++) {
        free(run.params[i].last);
    }
    free(run.params);
    oto_model_close(run.model);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}
