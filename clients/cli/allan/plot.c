#include "plot.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "svg.h"

enum { WIDTH = 900, HEIGHT = 560, LEFT = 84, RIGHT = 230, TOP = 44, BOTTOM = 60, LEGEND = 80 };
static const struct svg_page page = {WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM};

/* A point with fewer degrees of freedom does not extend the axes: its bar may leave the picture. */
#define LEAST_EDF 3.0

struct frame {
    FILE *to;
    double low_x, high_x, low_y, high_y; /* decades */
};

static double x_of(const struct frame *frame, double tau_s)
{
    return LEFT + (log10(tau_s) - frame->low_x) / (frame->high_x - frame->low_x) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct frame *frame, double deviation)
{
    return HEIGHT - BOTTOM - (log10(deviation) - frame->low_y) / (frame->high_y - frame->low_y) * (HEIGHT - TOP - BOTTOM);
}

static void find_range(struct frame *frame, const struct plot_curve *curves, size_t count)
{
    frame->low_x = frame->low_y = INFINITY;
    frame->high_x = frame->high_y = -INFINITY;
    for (size_t c = 0; c < count; c++) {
        for (size_t i = 0; i < curves[c].count; i++) {
            const struct allan_point *point = &curves[c].points[i];
            if (point->adev > 0.0) {
                frame->low_x = fmin(frame->low_x, floor(log10(point->tau_s)));
                frame->high_x = fmax(frame->high_x, ceil(log10(point->tau_s) + 1e-9));
                const bool sure = point->edf >= LEAST_EDF;
                frame->low_y = fmin(frame->low_y, floor(log10(sure ? point->lo : point->adev)));
                frame->high_y = fmax(frame->high_y, ceil(log10(sure ? point->hi : point->adev)));
            }
        }
    }
    if (!(frame->high_x > frame->low_x && frame->high_y > frame->low_y)) {
        *frame = (struct frame){frame->to, 0.0, 1.0, 0.0, 1.0};
    }
}

/* "10" with a whole exponent in superscript characters, which every viewer has. */
static const char *power_of_ten(double exponent, char text[32])
{
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    const int whole = abs((int)exponent);
    (void)snprintf(text, 32, "10%s%s%s", exponent < 0.0 ? "⁻" : "", whole >= 10 ? digits[whole / 10 % 10] : "",
                   digits[whole % 10]);
    return text;
}

/* Grid lines: whole decades dark and with a number, the others light. */
static void draw_grid(const struct frame *frame)
{
    char text[32];
    for (double decade = frame->low_x; decade <= frame->high_x + 0.5; decade++) {
        for (int i = 1; i < (decade < frame->high_x ? 10 : 2); i++) {
            const double x = x_of(frame, i * pow(10.0, decade));
            svg_line(frame->to, x, TOP, x, HEIGHT - BOTTOM, i == 1 ? "#ccc" : "#f0f0f0");
        }
        (void)fprintf(frame->to, "<text x='%.1f' y='%d' text-anchor='middle'>%s</text>\n", x_of(frame, pow(10.0, decade)),
                      HEIGHT - BOTTOM + 20, power_of_ten(decade, text));
    }
    for (double decade = frame->low_y; decade <= frame->high_y + 0.5; decade++) {
        for (int i = 1; i < (decade < frame->high_y ? 10 : 2); i++) {
            const double y = y_of(frame, i * pow(10.0, decade));
            svg_line(frame->to, LEFT, y, WIDTH - RIGHT, y, i == 1 ? "#ccc" : "#f0f0f0");
        }
        (void)fprintf(frame->to, "<text x='%d' y='%.1f' text-anchor='end'>%s</text>\n", LEFT - 8,
                      y_of(frame, pow(10.0, decade)) + 4, power_of_ten(decade, text));
    }
    svg_frame(frame->to, &page);
}

/* A curve of the model, clipped to the picture. */
static void draw_model(const struct frame *frame, const struct allan_fit *fit, const char *colour, const char *style)
{
    enum { STEPS = 400 };
    bool inside = false;
    for (int i = 0; i <= STEPS + 1; i++) {
        const double tau_s = pow(10.0, frame->low_x + (frame->high_x - frame->low_x) * i / STEPS);
        const double deviation = i <= STEPS ? allan_model(fit, tau_s) : 0.0;
        const bool was_inside = inside;
        inside = deviation >= pow(10.0, frame->low_y) && deviation <= pow(10.0, frame->high_y);
        if (inside) {
            (void)fprintf(frame->to, "%s%.1f,%.1f", was_inside ? " " : "<polyline points='", x_of(frame, tau_s),
                          y_of(frame, deviation));
        } else if (was_inside) {
            (void)fprintf(frame->to, "' fill='none' stroke='%s' %s/>\n", colour, style);
        }
    }
}

static double y_within(const struct frame *frame, double deviation)
{
    return fmin(fmax(y_of(frame, deviation), TOP), HEIGHT - BOTTOM);
}

static void draw_points(const struct frame *frame, const struct plot_curve *curve, const char *colour)
{
    for (size_t i = 0; i < curve->count; i++) {
        const struct allan_point *point = &curve->points[i];
        if (point->adev > 0.0) {
            const double x = x_of(frame, point->tau_s);
            (void)fprintf(frame->to, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-opacity='0.5'/>", x,
                          y_within(frame, point->lo), x, y_within(frame, point->hi), colour);
            (void)fprintf(frame->to, "<circle cx='%.1f' cy='%.1f' r='2.4' fill='%s'/>\n", x, y_of(frame, point->adev), colour);
        }
    }
}

static void draw_coefficient(const struct frame *frame, int y, char letter, double value, double error)
{
    (void)fprintf(frame->to, "<text x='%d' y='%d'>%c ", WIDTH - RIGHT + 14, y, letter);
    if (isfinite(error)) {
        (void)fprintf(frame->to, "%.4g ± %.2g</text>\n", value, error);
    } else {
        (void)fprintf(frame->to, "%.4g</text>\n", value);
    }
}

static void draw_legend(const struct frame *frame, const struct plot_curve *curve, size_t index, const char *colour)
{
    const int y = TOP + 14 + LEGEND * (int)index;
    (void)fprintf(frame->to, "<text x='%d' y='%d' fill='%s' font-weight='bold'>", WIDTH - RIGHT + 14, y, colour);
    svg_text(frame->to, curve->name);
    (void)fputs("</text>\n", frame->to);
    draw_coefficient(frame, y + 16, 'N', curve->fit.n, curve->fit.n_se);
    draw_coefficient(frame, y + 32, 'B', curve->fit.b, curve->fit.b_se);
    draw_coefficient(frame, y + 48, 'K', curve->fit.k, curve->fit.k_se);
}

void plot_svg(FILE *to, const char *title, const struct plot_curve *curves, size_t count)
{
    struct frame frame = {.to = to};
    find_range(&frame, curves, count);
    svg_begin(to, &page, fmax(HEIGHT, TOP + LEGEND * (double)count + 20), title);
    draw_grid(&frame);
    for (size_t c = 0; c < count; c++) {
        const char *colour = svg_colour(c);
        const struct allan_fit n = {.n = curves[c].fit.n}, b = {.b = curves[c].fit.b}, k = {.k = curves[c].fit.k};
        draw_model(&frame, &n, colour, "stroke-dasharray='2 4'");
        draw_model(&frame, &b, colour, "stroke-dasharray='2 4'");
        draw_model(&frame, &k, colour, "stroke-dasharray='2 4'");
        draw_model(&frame, &curves[c].fit, colour, "stroke-width='1.4'");
        draw_points(&frame, &curves[c], colour);
        draw_legend(&frame, &curves[c], c, colour);
    }
    svg_end(to, &page, "averaging time, s", "overlapping Allan deviation, unit of the column; bars: 95 %");
}
