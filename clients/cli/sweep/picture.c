/* plot.svg: columns of the summary over the values of one list; a curve for each column and each choice of the other lists. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "plot/picture.h"
#include "sweep/sweep.h"

enum { MOST_CURVES = 64 };

enum oto_status sweep_check_plot(const struct sweep_spec *spec, struct oto_error *error)
{
    double number;
    for (uint32_t i = 0; spec->plot.y != NULL && i < spec->plot.y->count; i++) {
        const struct oto_value *y = spec->plot.y->items[i];
        const char *column, *label;
        enum oto_status status = oto_value_text(y, &column, error);
        if (status == OTO_OK && spec->plot.labels != NULL) {
            status = oto_value_text(spec->plot.labels->items[i], &label, error);
        }
        if (status != OTO_OK || !sweep_summary_number(spec, NULL, 0, column, &number)) {
            return status != OTO_OK ? status
                                    : oto_value_fail(y, error, OTO_NOT_FOUND, "'%.120s' is no column of summary.csv: a column of a metric "
                                                     "with .mean, .std, .p5, .p50 or .p95 behind it is accepted", column);
        }
    }
    const struct oto_value *list = spec->plot.y != NULL ? oto_value_get(spec->vary, spec->plot.x) : NULL;
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        const enum oto_status status = oto_value_f64(list->items[i], &number, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

static uint32_t index_of_x(const struct sweep_spec *spec)
{
    uint32_t item = 0;
    while (strcmp(spec->vary->items[item]->key, spec->plot.x) != 0) {
        item++;
    }
    return item;
}

/* Names a curve "label" if the spec has one list, else "label, path=value …" with the last word of each path. */
static void name_curve(const struct sweep_spec *spec, const char *label, uint64_t combination, uint32_t x, char *name, size_t bytes)
{
    int used = snprintf(name, bytes, "%s", label);
    for (uint32_t i = 0; i < spec->vary->count && used > 0 && (size_t)used < bytes; i++) {
        const struct oto_value *list = spec->vary->items[i];
        const char *dot = strrchr(list->key, '.');
        const struct oto_value *value = list->items[sweep_choice(spec, combination, i)];
        if (i != x && value->kind == OTO_VALUE_SCALAR) {
            used += snprintf(name + used, bytes - (size_t)used, ", %s=%s", dot != NULL ? dot + 1 : list->key, value->text);
        }
    }
}

static int by_x(const void *a, const void *b)
{
    const struct picture_point *left = a, *right = b;
    return (left->x > right->x) - (left->x < right->x);
}

/* Fills the curve of plot.y[index] with the combinations that differ from `first` only in x. */
static void fill_curve(const struct sweep_spec *spec, const struct sweep_summary *summary, uint32_t index, uint64_t first, uint32_t x,
                       struct picture_curve *curve)
{
    const char *column = spec->plot.y->items[index]->text;
    const struct oto_value *list = spec->vary->items[x];
    uint64_t stride = 1;
    for (uint32_t i = x + 1; i < spec->vary->count; i++) {
        stride *= spec->vary->items[i]->count;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct picture_point point = {0};
        (void)oto_value_f64(list->items[i], &point.x, NULL);
        (void)sweep_summary_number(spec, summary, first + i * stride, column, &point.y);
        point.x *= spec->plot.x_factor;
        if (isfinite(point.y)) {
            curve->points[curve->count++] = point;
        }
    }
    qsort(curve->points, curve->count, sizeof *curve->points, by_x);
    name_curve(spec, spec->plot.labels != NULL ? spec->plot.labels->items[index]->text : column, first, x, curve->name,
               sizeof curve->name);
}

static enum oto_status make_curves(const struct sweep_spec *spec, const struct sweep_summary *summary, struct picture_curve *curves,
                                   size_t *count, struct oto_error *error)
{
    const uint32_t x = index_of_x(spec);
    for (uint32_t i = 0; i < spec->plot.y->count; i++) {
        for (uint64_t first = 0; first < spec->combinations && *count < MOST_CURVES; first++) {
            if (sweep_choice(spec, first, x) != 0) {
                continue;
            }
            struct picture_curve *curve = &curves[(*count)++];
            curve->points = calloc(spec->vary->items[x]->count, sizeof *curve->points);
            if (curve->points == NULL) {
                return oto_fail(error, OTO_NO_MEMORY, "no memory for a picture");
            }
            fill_curve(spec, summary, i, first, x, curve);
        }
    }
    return OTO_OK;
}

enum oto_status sweep_write_picture(const struct sweep_spec *spec, const struct sweep_summary *summary, const char *directory,
                                    struct oto_error *error)
{
    char path[4096];
    struct cli_output output = {0};
    struct picture_curve *curves = calloc(MOST_CURVES, sizeof *curves);
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%.3000s/plot.svg", directory);
    enum oto_status status = curves != NULL ? make_curves(spec, summary, curves, &count, error)
                                            : oto_fail(error, OTO_NO_MEMORY, "no memory for a picture");
    if (status == OTO_OK) {
        status = cli_output_open(&output, path, error);
    }
    if (status == OTO_OK) {
        const struct sweep_plot *plot = &spec->plot;
        const struct picture picture = {.title = plot->title != NULL ? plot->title : spec->name,
                                        .x_name = plot->x_name != NULL ? plot->x_name : plot->x,
                                        .y_name = plot->y_name != NULL ? plot->y_name : "",
                                        .curves = curves,
                                        .count = count};
        picture_svg(output.file, &picture);
    }
    status = cli_output_close(&output, status, error);
    for (size_t i = 0; i < count; i++) {
        free(curves[i].points);
    }
    free(curves);
    return status;
}
