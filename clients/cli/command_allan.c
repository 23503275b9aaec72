/*
 * otolith allan FILE|TOPIC: overlapping Allan deviation of the columns of a CSV, or of the samples of a topic, with
 * intervals and fitted coefficients. The file is read row by row and may be larger than memory.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "allan/allan.h"
#include "allan/plot.h"
#include "allan/report.h"
#include "bar.h"
#include "base/monotonic.h"
#include "document/document.h"
#include "document/table.h"
#include "output.h"
#include "source.h"

enum { MOST_COLUMNS = 64, NAME_BYTES = ALLAN_NAME_BYTES, MOST_FIELDS = 256 };

struct options {
    struct cli_source_options source; /* `topic` of it is the argument FILE or TOPIC */
    const char *wanted[MOST_COLUMNS];
    int wanted_count;
    double rate_hz; /* 0: from the stamps */
    double points_per_decade;
    int64_t for_ns;
    const char *plot;
    struct allan_fit_options fit;
};

struct analysis {
    const struct options *options;
    struct allan_column columns[MOST_COLUMNS];
    uint32_t count;
    bool laid_out;
    int time_column; /* -1: none */
    double time_unit_s;
    double first_s, last_s, step_s;
    uint64_t rows;
    struct cli_bar bar;
    char field_names[MOST_FIELDS][NAME_BYTES]; /* of a topic */
};

enum { KEY_TAU_MIN = 256, KEY_TAU_MAX, KEY_TERMS };

/* The terms to fit, as a word of the letters N B K Q R. */
static bool read_terms(const char *text, unsigned *terms)
{
    static const char letters[] = "QNBKR"; /* in the order of ALLAN_… */
    for (; *text != '\0'; text++) {
        const char *at = strchr(letters, *text);
        if (at == NULL) {
            return false;
        }
        *terms |= 1u << (at - letters);
    }
    return *terms != 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->source;
        return 0;
    case 'C':
        if (options->wanted_count == MOST_COLUMNS) {
            argp_error(state, "at most %d columns", (int)MOST_COLUMNS);
        }
        options->wanted[options->wanted_count++] = argument;
        return 0;
    case 'r': options->rate_hz = cli_option_positive(state, "--rate", argument, INFINITY); return 0;
    case 'd': options->points_per_decade = cli_option_positive(state, "--density", argument, 30.0); return 0;
    case 'f': options->for_ns = cli_option_duration(state, "--for", argument, 0); return 0;
    case KEY_TAU_MIN: options->fit.tau_min_s = cli_option_positive(state, "--tau-min", argument, INFINITY); return 0;
    case KEY_TAU_MAX: options->fit.tau_max_s = cli_option_positive(state, "--tau-max", argument, INFINITY); return 0;
    case KEY_TERMS:
        if (!read_terms(argument, &options->fit.terms)) {
            argp_error(state, "--terms: '%s'; letters of NBKQR are accepted, as NBK", argument);
        }
        return 0;
    case 'p':
        options->plot = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->fit.tau_max_s > 0.0 && options->fit.tau_max_s <= options->fit.tau_min_s) {
            argp_error(state, "--tau-max %g s is not beyond --tau-min %g s", options->fit.tau_max_s, options->fit.tau_min_s);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool wanted(const struct options *options, const char *name)
{
    for (int i = 0; i < options->wanted_count; i++) {
        if (strcmp(options->wanted[i], name) == 0) {
            return true;
        }
    }
    return options->wanted_count == 0 && strcmp(name, "seq") != 0 && strcmp(name, "sensor_time_ns") != 0 &&
           strcmp(name, "flags") != 0 && strstr(name, "covariance") == NULL;
}

static enum oto_status lay_out(struct analysis *analysis, const char *const *names, uint32_t count, struct oto_error *error)
{
    const struct options *options = analysis->options;
    analysis->laid_out = true;
    analysis->time_column = -1;
    for (uint32_t i = 0; i < count; i++) {
        const bool ns = strcmp(names[i], "t_ns") == 0;
        if (ns || strcmp(names[i], "t_s") == 0) {
            analysis->time_column = (int)i;
            analysis->time_unit_s = ns ? 1e-9 : 1.0;
        } else if (wanted(options, names[i]) && analysis->count < MOST_COLUMNS) {
            struct allan_column *column = &analysis->columns[analysis->count++];
            (void)snprintf(column->name, sizeof column->name, "%s", names[i]);
            column->index = i;
            column->allan = allan_create((uint32_t)options->points_per_decade);
            if (column->allan == NULL) {
                return oto_fail(error, OTO_NO_MEMORY, "out of memory");
            }
        }
    }
    for (int i = 0; i < options->wanted_count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < analysis->count; k++) {
            found = found || strcmp(analysis->columns[k].name, options->wanted[i]) == 0;
        }
        if (!found) {
            const char *near = oto_nearest_word(options->wanted[i], names, count);
            return oto_fail(error, OTO_NOT_FOUND, "%s has no column '%s'%s%s%s", options->source.topic, options->wanted[i],
                            near != NULL ? "; did you mean '" : "", near != NULL ? near : "", near != NULL ? "'?" : "");
        }
    }
    return OTO_OK;
}

/* Stamps must be evenly spaced: a gap would appear as noise. */
static enum oto_status check_time(struct analysis *analysis, double time_s, const char *place, uint64_t line,
                                  struct oto_error *error)
{
    if (analysis->rows == 0) {
        analysis->first_s = time_s;
    } else if (!(time_s > analysis->last_s)) {
        return oto_fail(error, OTO_INVALID, "%s:%" PRIu64 ": time does not go forward: %.9g s after %.9g s", place, line,
                        time_s, analysis->last_s);
    } else if (analysis->rows == 1) {
        analysis->step_s = time_s - analysis->first_s;
    } else if (fabs(time_s - analysis->last_s - analysis->step_s) > 0.5 * analysis->step_s) {
        return oto_fail(error, OTO_INVALID, "%s:%" PRIu64 ": a gap: %.9g s after the row before, where %.9g s is usual", place,
                        line, time_s - analysis->last_s, analysis->step_s);
    }
    analysis->last_s = time_s;
    return OTO_OK;
}

/* A topic that is read for a time has an end; the number of rows of a file is not known before its end. */
static void show_progress(struct analysis *analysis)
{
    const bool is_timed = analysis->options->for_ns > 0;
    const int64_t spent_ns = srv_now_ns() - analysis->bar.begun_ns;
    char text[64];
    if (analysis->rows % 1024 != 0 || !cli_bar_is_due(&analysis->bar)) {
        return;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64 " rows, %.0f rows/s", analysis->rows, (double)analysis->rows / ((double)spent_ns * 1e-9));
    cli_bar_show(&analysis->bar, is_timed ? (uint64_t)spent_ns : 0, is_timed ? (uint64_t)analysis->options->for_ns : 0, text);
}

static enum oto_status take_row(void *context, const struct oto_row *row, struct oto_error *error)
{
    struct analysis *analysis = context;
    enum oto_status status = OTO_OK;
    if (!analysis->laid_out) {
        status = lay_out(analysis, row->names, row->columns, error);
    }
    if (status == OTO_OK && analysis->time_column >= 0) {
        status = check_time(analysis, row->values[analysis->time_column] * analysis->time_unit_s, row->path, row->line, error);
    }
    for (uint32_t i = 0; status == OTO_OK && i < analysis->count; i++) {
        status = allan_add(analysis->columns[i].allan, &row->values[analysis->columns[i].index], 1);
    }
    analysis->rows++;
    show_progress(analysis);
    return cli_interrupted() && status == OTO_OK ? OTO_CLOSED : status;
}

/* ---- live ---- */

/* The record of a topic as a row of numbers with the column names of a CSV. */
static enum oto_status take_sample(struct analysis *analysis, const struct oto_wire_sample *sample, struct oto_error *error)
{
    const char *names[MOST_FIELDS] = {"t_ns"};
    double values[MOST_FIELDS] = {(double)sample->head.t_ns};
    uint32_t count = 1;
    for (uint32_t i = 0; i < sample->type->field_count; i++) {
        const struct oto_field *field = &sample->type->fields[i];
        for (uint32_t k = 0; field->type != OTO_FIELD_TEXT && k < field->count && count < MOST_FIELDS; k++) {
            (void)oto_field_column(field, k, analysis->field_names[count], NAME_BYTES);
            names[count] = analysis->field_names[count];
            values[count++] = oto_field_number(field, sample->payload, k);
        }
    }
    const struct oto_row row = {.path = sample->topic, .line = (uint32_t)sample->head.seq, .number = analysis->rows,
                                .columns = count, .names = names, .values = values};
    return take_row(analysis, &row, error);
}

static enum oto_status follow(struct analysis *analysis, struct oto_error *error)
{
    const struct options *options = analysis->options;
    const int64_t end_ns = srv_now_ns() + options->for_ns;
    struct cli_source *source = cli_source_open(&options->source);
    enum oto_status status = OTO_OK;
    uint64_t epoch = 0, next_seq = 0;
    if (source == NULL) {
        return oto_fail(error, OTO_NOT_FOUND, "'%s' is neither a file nor a topic of a running world", options->source.topic);
    }
    (void)fprintf(stderr, "otolith: reading %s; Ctrl-C ends it\n", options->source.topic);
    while (status == OTO_OK && !cli_interrupted() && (options->for_ns == 0 || srv_now_ns() < end_ns)) {
        struct oto_wire_sample sample;
        status = cli_source_next(source, 100, &sample, error);
        if (status == OTO_OK && sample.type != NULL) {
            if (epoch != 0 && sample.epoch != epoch && sample.head.seq != next_seq) {
                (void)fprintf(stderr, "otolith: the next run does not continue the previous one: the record ends here\n");
                break;
            }
            epoch = sample.epoch;
            next_seq = sample.head.seq + 1;
            status = take_sample(analysis, &sample, error);
        } else if (status == OTO_TIMEOUT || status == OTO_AGAIN) {
            status = OTO_OK;
        }
    }
    cli_source_close(source);
    return status == OTO_CLOSED ? OTO_OK : status;
}

/* ---- output ---- */

static enum oto_status evaluate(struct analysis *analysis, struct oto_error *error)
{
    double rate_hz = analysis->options->rate_hz;
    if (rate_hz == 0.0 && analysis->time_column >= 0 && analysis->rows > 1) {
        rate_hz = (double)(analysis->rows - 1) / (analysis->last_s - analysis->first_s);
    }
    if (analysis->rows < 3) {
        return oto_fail(error, OTO_INVALID, "%s: %" PRIu64 " samples are too few, it takes at least 3",
                        analysis->options->source.topic, analysis->rows);
    }
    if (rate_hz == 0.0) {
        return oto_fail(error, OTO_INVALID, "%s has neither a column t_ns nor t_s: give --rate", analysis->options->source.topic);
    }
    for (uint32_t i = 0; i < analysis->count; i++) {
        struct allan_column *column = &analysis->columns[i];
        column->count = allan_is_constant(column->allan) ? 0 : allan_points(column->allan, rate_hz, column->points, ALLAN_MAX_POINTS);
        allan_fit(column->points, column->count, allan_count(column->allan), &analysis->options->fit,
                  &column->fit);
        allan_judge(column, &analysis->options->fit);
    }
    return OTO_OK;
}

static enum oto_status write_plot(const struct analysis *analysis, struct oto_error *error)
{
    struct plot_curve curves[MOST_COLUMNS];
    size_t count = 0;
    for (uint32_t i = 0; i < analysis->count; i++) {
        const struct allan_column *column = &analysis->columns[i];
        if (column->count > 0) {
            curves[count++] = (struct plot_curve){column->name, column->points, column->count, column->fit};
        }
    }
    struct cli_output output;
    enum oto_status status = cli_output_open(&output, analysis->options->plot, error);
    if (status == OTO_OK) {
        plot_svg(output.file, analysis->options->source.topic, curves, count);
        status = cli_output_close(&output, status, error);
    }
    return status;
}

static int finish(struct analysis *analysis, enum oto_status status, struct oto_error *error)
{
    if (status == OTO_OK) {
        status = evaluate(analysis, error);
    }
    if (status == OTO_OK && analysis->options->source.common.json) {
        allan_print_json(analysis->columns, analysis->count, analysis->options->wanted_count > 0);
    } else if (status == OTO_OK) {
        allan_print_text(analysis->columns, analysis->count);
    }
    if (status == OTO_OK && analysis->options->plot != NULL) {
        status = write_plot(analysis, error);
    }
    for (uint32_t i = 0; i < analysis->count; i++) {
        allan_destroy(analysis->columns[i].allan);
    }
    return status == OTO_OK ? CLI_OK : cli_say(error);
}

int cli_allan(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"column", 'C', "NAME", 0, "a column (default: all that vary, but stamps and covariances); may be repeated", 1},
        {"rate", 'r', "HZ", 0, "samples per second (default: from the column t_ns or t_s)", 1},
        {"density", 'd', "N", 0, "averaging times a decade (default 10)", 1},
        {"for", 'f', "DURATION", 0, "of a topic: time to read (default: until Ctrl-C)", 1},
        {"plot", 'p', "FILE.svg", 0, "draw the deviation as SVG", 1},
        {"tau-min", KEY_TAU_MIN, "S", 0,
         "shortest averaging time of the fit: a bias instability is flat over a limited range only", 2},
        {"tau-max", KEY_TAU_MAX, "S", 0, "longest averaging time of the fit (default: all)", 2},
        {"terms", KEY_TERMS, "LETTERS", 0, "terms of the fit, of NBKQR (default: all)", 2},
        {0}};
    static const struct argp_child children[] = {{&cli_source_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "FILE|TOPIC",
                                     .doc = "Overlapping Allan deviation with 95 % intervals, and the coefficients N, B, K "
                                            "(and quantisation and ramp) of a joint fit, with their standard errors.",
                                     .children = children};
    struct options options = {0};
    struct oto_error error = {0};
    struct stat about;
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    struct analysis *analysis = calloc(1, sizeof *analysis);
    if (analysis == NULL) {
        return cli_no_memory();
    }
    analysis->options = &options;
    const bool file = options.source.remote.url == NULL && (stat(options.source.topic, &about) == 0 || strstr(options.source.topic, ".csv") != NULL);
    cli_bar_begin(&analysis->bar);
    const enum oto_status status =
        file ? oto_table_each(options.source.topic, NULL, 0, take_row, analysis, &error) : follow(analysis, &error);
    cli_bar_end(&analysis->bar);
    const int code = finish(analysis, status, &error);
    free(analysis);
    return code;
}
