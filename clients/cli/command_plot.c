/* otolith plot FILE.csv... --y COLUMN --out FILE.svg: draws columns of CSV files over time or over another column. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/table.h"
#include "json.h"
#include "output.h"
#include "plot/picture.h"

enum { MOST_FILES = 16, MOST_COLUMNS = 16, MOST_CURVES = 64, MOST_POINTS = 50000000 };

struct options {
    const char *files[MOST_FILES], *columns[MOST_COLUMNS], *labels[MOST_CURVES];
    int file_count, column_count, label_count;
    const char *x, *out, *title, *x_name, *y_name;
    bool json;
};

/* Splits "a,b,c" into its words, in place. */
static bool split(char *argument, const char **words, int *count, int most)
{
    for (char *rest = argument, *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        if (*word == '\0' || *count == most) {
            return false;
        }
        words[(*count)++] = word;
    }
    return true;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->json;
        return 0;
    case 'x':
        options->x = argument;
        return 0;
    case 'y':
        if (!split(argument, options->columns, &options->column_count, MOST_COLUMNS)) {
            argp_error(state, "--y: '%s': names of 1 to %d columns are accepted, as a,b", argument, (int)MOST_COLUMNS);
        }
        return 0;
    case 'l':
        if (!split(argument, options->labels, &options->label_count, MOST_CURVES)) {
            argp_error(state, "--label: '%s': names are accepted, as a,b", argument);
        }
        return 0;
    case 'o':
        options->out = argument;
        return 0;
    case 't':
        options->title = argument;
        return 0;
    case 'X':
        options->x_name = argument;
        return 0;
    case 'Y':
        options->y_name = argument;
        return 0;
    case ARGP_KEY_ARG:
        if (options->file_count == MOST_FILES) {
            argp_error(state, "at most %d files", (int)MOST_FILES);
        }
        options->files[options->file_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->file_count == 0 || options->column_count == 0 || options->out == NULL) {
            argp_error(state, "a file, --y and --out are needed");
        }
        if (options->file_count * options->column_count > MOST_CURVES) {
            argp_error(state, "%d curves, at most %d", options->file_count * options->column_count, (int)MOST_CURVES);
        }
        cli_json_check(state, options->json, "--out", options->out);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- reading ---- */

struct reading {
    const struct options *options;
    struct picture_curve *curves; /* the curves of this file, one for each column */
    size_t capacity;
};

static enum oto_status grow(struct reading *reading, const struct oto_row *row, struct oto_error *error)
{
    const size_t capacity = reading->capacity > 0 ? 2 * reading->capacity : 4096;
    if (capacity * (size_t)reading->options->column_count > MOST_POINTS) {
        return oto_fail(error, OTO_LIMIT, "%s:%u: more than %d points", row->path, row->line, (int)MOST_POINTS);
    }
    for (int i = 0; i < reading->options->column_count; i++) {
        struct picture_point *points = realloc(reading->curves[i].points, capacity * sizeof *points);
        if (points == NULL) {
            return oto_fail(error, OTO_NO_MEMORY, "out of memory");
        }
        reading->curves[i].points = points;
    }
    reading->capacity = capacity;
    return OTO_OK;
}

/* The x of a row. It precedes the columns: the column --x, or the time column by one of its two names. */
static double x_of_row(const struct options *options, const struct oto_row *row)
{
    if (options->x != NULL) {
        return row->values[0] * (strcmp(options->x, "t_ns") == 0 ? 1e-9 : 1.0);
    }
    if (!isnan(row->values[0])) {
        return row->values[0];
    }
    return isnan(row->values[1]) ? (double)row->number : row->values[1] * 1e-9;
}

static enum oto_status take_row(void *context, const struct oto_row *row, struct oto_error *error)
{
    struct reading *reading = context;
    const struct options *options = reading->options;
    const double x = x_of_row(options, row), *y = &row->values[options->x != NULL ? 1 : 2];
    if (row->number >= reading->capacity) {
        const enum oto_status status = grow(reading, row, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    for (int i = 0; i < options->column_count; i++) {
        struct picture_curve *curve = &reading->curves[i];
        if (curve->count > 0 && x < curve->points[curve->count - 1].x) {
            return oto_fail(error, OTO_INVALID, "%s:%u: x goes back, from %.10g to %.10g: a column that grows is expected",
                            row->path, row->line, curve->points[curve->count - 1].x, x);
        }
        curve->points[curve->count++] = (struct picture_point){x, y[i]};
    }
    return OTO_OK;
}

static enum oto_status read_file(const struct options *options, const char *path, struct picture_curve *curves,
                                 struct oto_error *error)
{
    const char *names[MOST_COLUMNS + 2] = {"?t_s", "?t_ns"};
    uint32_t count = 2;
    struct reading reading = {options, curves, 0};
    if (options->x != NULL) {
        names[0] = options->x;
        count = 1;
    }
    for (int i = 0; i < options->column_count; i++) {
        names[count++] = options->columns[i];
    }
    enum oto_status status = oto_table_each(path, names, count, take_row, &reading, error);
    if (status == OTO_OK && curves[0].count == 0) {
        status = oto_fail(error, OTO_INVALID, "%s has no rows, nothing can be drawn", path);
    }
    return status;
}

/* ---- drawing ---- */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void name_curve(const struct options *options, int file, int column, struct picture_curve *curve)
{
    const int index = file * options->column_count + column;
    if (index < options->label_count) {
        (void)snprintf(curve->name, sizeof curve->name, "%s", options->labels[index]);
    } else if (options->file_count == 1) {
        (void)snprintf(curve->name, sizeof curve->name, "%s", options->columns[column]);
    } else if (options->column_count == 1) {
        (void)snprintf(curve->name, sizeof curve->name, "%s", base_of(options->files[file]));
    } else {
        (void)snprintf(curve->name, sizeof curve->name, "%.60s %.60s", base_of(options->files[file]), options->columns[column]);
    }
}

static enum oto_status write_picture(const struct options *options, const struct picture *picture, struct oto_error *error)
{
    struct cli_output output;
    enum oto_status status = cli_output_open(&output, options->out, error);
    if (status == OTO_OK) {
        picture_svg(output.file, picture);
        status = cli_output_close(&output, status, error);
    }
    return status;
}

static void print_curve(const struct options *options, size_t index, const struct picture_curve *curve, struct oto_json *json)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < curve->count; i++) {
        low = fmin(low, curve->points[i].y);
        high = fmax(high, curve->points[i].y);
    }
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "name", curve->name);
    oto_json_text(json, "file", options->files[index / (size_t)options->column_count]);
    oto_json_text(json, "column", options->columns[index % (size_t)options->column_count]);
    oto_json_u64(json, "points", curve->count);
    oto_json_numbers(json, "x", (double[]){curve->points[0].x, curve->points[curve->count - 1].x}, 2);
    oto_json_numbers(json, "y", (double[]){low, high}, 2);
    oto_json_close(json, '}');
}

static void print_json(const struct options *options, const struct picture *picture)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "out", options->out);
    oto_json_open(&json, "curves", '[');
    for (size_t i = 0; i < picture->count; i++) {
        print_curve(options, i, &picture->curves[i], &json);
    }
    oto_json_close(&json, ']');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

static int draw(const struct options *options)
{
    struct picture_curve *curves = calloc(MOST_CURVES, sizeof *curves);
    struct oto_error error = {0};
    enum oto_status status = curves != NULL ? OTO_OK : oto_fail(&error, OTO_NO_MEMORY, "out of memory");
    const size_t count = (size_t)options->file_count * (size_t)options->column_count;
    for (int file = 0; file < options->file_count && status == OTO_OK; file++) {
        struct picture_curve *of_file = &curves[file * options->column_count];
        status = read_file(options, options->files[file], of_file, &error);
        for (int column = 0; column < options->column_count; column++) {
            name_curve(options, file, column, &of_file[column]);
        }
    }
    const struct picture picture = {.title = options->title != NULL ? options->title : base_of(options->files[0]),
                                    .x_name = options->x_name != NULL ? options->x_name
                                              : options->x == NULL || strcmp(options->x, "t_ns") == 0 ? "time, s" : options->x,
                                    .y_name = options->y_name != NULL ? options->y_name
                                              : options->column_count == 1 ? options->columns[0] : "",
                                    .curves = curves,
                                    .count = count};
    if (status == OTO_OK) {
        status = write_picture(options, &picture, &error);
    }
    if (status == OTO_OK && options->json) {
        print_json(options, &picture);
    }
    for (size_t i = 0; curves != NULL && i < count; i++) {
        free(curves[i].points);
    }
    free(curves);
    return status == OTO_OK ? CLI_OK : cli_say(&error);
}

int cli_plot(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {"y", 'y', "COLUMN[,COLUMN...]", 0, "columns to draw", 1},
        {"x", 'x', "COLUMN", 0, "column of the horizontal axis (default: t_s, or t_ns in s; without either the row number)", 1},
        {"out", 'o', "FILE.svg", 0, "output file", 1},
        {"title", 't', "TEXT", 0, "title (default: the name of the file)", 2},
        {"label", 'l', "TEXT[,TEXT...]", 0, "names of the curves, file by file (default: names of columns or files)", 2},
        {"x-label", 'X', "TEXT", 0, "name of the horizontal axis", 2},
        {"y-label", 'Y', "TEXT", 0, "name of the vertical axis", 2},
        {0}};
    static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .children = children,
                                     .args_doc = "FILE.csv...",
                                     .doc = "Draw columns of CSV files as an SVG picture: each column of each file is a curve."};
    struct options options = {0};
    cli_parse(&argp, argc, argv, &options);
    return draw(&options);
}
