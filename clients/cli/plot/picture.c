#include "picture.h"

#include <math.h>

#include "svg.h"

enum { WIDTH = 900, HEIGHT = 500, LEFT = 84, RIGHT = 150, TOP = 44, BOTTOM = 60, LEGEND = 18, TICKS = 8 };
static const struct svg_page page = {WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM};

/* One axis: the values at its ends, and their positions on the page. */
struct axis {
    double low, high;
    double low_px, high_px;
};

static double place(const struct axis *axis, double value)
{
    return axis->low_px + (value - axis->low) / (axis->high - axis->low) * (axis->high_px - axis->low_px);
}

static void take(struct axis *axis, double value)
{
    axis->low = fmin(axis->low, value);
    axis->high = fmax(axis->high, value);
}

/* Adds a margin to both ends of an axis; a constant gets a range around its value. */
static void widen(struct axis *axis, double margin)
{
    if (!(axis->low <= axis->high)) {
        axis->low = 0.0;
        axis->high = 1.0;
    }
    const double span = axis->high - axis->low, least = 1e-9 * fmax(fabs(axis->low), fabs(axis->high));
    const double room = span > least ? margin * span : fmax(least, fabs(axis->low) > 0.0 ? 0.1 * fabs(axis->low) : 1.0);
    axis->low -= room;
    axis->high += room;
}

/* The step of the grid, 1, 2 or 5 times a power of ten: at most TICKS steps fit. */
static double step_of(const struct axis *axis)
{
    static const double factors[] = {1.0, 2.0, 5.0, 10.0};
    const double span = axis->high - axis->low, power = pow(10.0, floor(log10(span / TICKS)));
    size_t i = 0;
    while (i < 3 && span / (factors[i] * power) > TICKS) {
        i++;
    }
    return factors[i] * power;
}

static void draw_grid(FILE *to, const struct axis *x, const struct axis *y)
{
    const double x_step = step_of(x), y_step = step_of(y);
    for (double k = ceil(x->low / x_step - 1e-9); k * x_step <= x->high + 1e-9 * x_step; k++) {
        const double px = place(x, k * x_step);
        svg_line(to, px, TOP, px, HEIGHT - BOTTOM, "#ddd");
        (void)fprintf(to, "<text x='%.1f' y='%d' text-anchor='middle'>%.10g</text>\n", px, HEIGHT - BOTTOM + 20, k * x_step + 0.0);
    }
    for (double k = ceil(y->low / y_step - 1e-9); k * y_step <= y->high + 1e-9 * y_step; k++) {
        const double px = place(y, k * y_step);
        svg_line(to, LEFT, px, WIDTH - RIGHT, px, k == 0.0 ? "#999" : "#ddd");
        (void)fprintf(to, "<text x='%d' y='%.1f' text-anchor='end'>%.10g</text>\n", LEFT - 8, px + 4, k * y_step + 0.0);
    }
    svg_frame(to, &page);
}

/* Draws the points of one pixel column: the first point, minimum and maximum in the order of x, and the last point. */
static void draw_column(FILE *to, const struct picture_point *points, size_t count, const struct axis *x,
                        const struct axis *y)
{
    size_t low = 0, high = 0;
    for (size_t i = 1; i < count; i++) {
        low = points[i].y < points[low].y ? i : low;
        high = points[i].y > points[high].y ? i : high;
    }
    const size_t chosen[] = {0, low < high ? low : high, low < high ? high : low, count - 1};
    for (size_t i = 0; i < 4; i++) {
        if (i == 0 || chosen[i] != chosen[i - 1]) {
            (void)fprintf(to, "%.1f,%.1f ", place(x, points[chosen[i]].x), place(y, points[chosen[i]].y));
        }
    }
}

static void draw_curve(FILE *to, const struct picture_curve *curve, const char *colour, const struct axis *x,
                       const struct axis *y)
{
    (void)fputs("<polyline points='", to);
    for (size_t first = 0, next; first < curve->count; first = next) {
        const double column = floor(place(x, curve->points[first].x));
        next = first + 1;
        while (next < curve->count && floor(place(x, curve->points[next].x)) == column) {
            next++;
        }
        draw_column(to, &curve->points[first], next - first, x, y);
    }
    (void)fprintf(to, "' fill='none' stroke='%s' stroke-width='1.2' stroke-linejoin='round'/>\n", colour);
}

static void draw_name(FILE *to, size_t index, const char *name)
{
    const int y = TOP + 12 + LEGEND * (int)index;
    (void)fprintf(to, "<text x='%d' y='%d' fill='%s' font-weight='bold'>", WIDTH - RIGHT + 12, y, svg_colour(index));
    svg_text(to, name);
    (void)fputs("</text>\n", to);
}

void picture_svg(FILE *to, const struct picture *picture)
{
    struct axis x = {INFINITY, -INFINITY, LEFT, WIDTH - RIGHT}, y = {INFINITY, -INFINITY, HEIGHT - BOTTOM, TOP};
    for (size_t c = 0; c < picture->count; c++) {
        for (size_t i = 0; i < picture->curves[c].count; i++) {
            take(&x, picture->curves[c].points[i].x);
            take(&y, picture->curves[c].points[i].y);
        }
    }
    widen(&x, 0.0);
    widen(&y, 0.04);
    svg_begin(to, &page, fmax(HEIGHT, TOP + LEGEND * (double)picture->count + 20), picture->title);
    draw_grid(to, &x, &y);
    for (size_t c = 0; c < picture->count; c++) {
        draw_curve(to, &picture->curves[c], svg_colour(c), &x, &y);
        draw_name(to, c, picture->curves[c].name);
    }
    svg_end(to, &page, picture->x_name, picture->y_name);
}
