#include "plot.h"

#include <math.h>

enum { WIDTH = 860, HEIGHT = 560, LEFT = 84, RIGHT = 200, TOP = 44, BOTTOM = 60 };

struct frame {
    FILE *to;
    double low_x, high_x, low_y, high_y; /* decades */
};

static const char *const colours[] = {"#1b6ca8", "#c1440e", "#2e7d32", "#7b3fa0", "#8a6d00", "#007c80"};

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
                frame->low_y = fmin(frame->low_y, floor(log10(point->lo)));
                frame->high_y = fmax(frame->high_y, ceil(log10(point->hi)));
            }
        }
    }
    if (!(frame->high_x > frame->low_x && frame->high_y > frame->low_y)) {
        *frame = (struct frame){frame->to, 0.0, 1.0, 0.0, 1.0};
    }
}

static void draw_grid(const struct frame *frame)
{
    for (double decade = frame->low_x; decade <= frame->high_x + 0.5; decade++) {
        const double x = x_of(frame, pow(10.0, decade));
        (void)fprintf(frame->to, "<line x1='%.1f' y1='%d' x2='%.1f' y2='%d' stroke='#ddd'/>\n", x, TOP, x, HEIGHT - BOTTOM);
        (void)fprintf(frame->to, "<text x='%.1f' y='%d' text-anchor='middle'>10<tspan dy='-6' font-size='9'>%.0f</tspan></text>\n",
                      x, HEIGHT - BOTTOM + 20, decade);
    }
    for (double decade = frame->low_y; decade <= frame->high_y + 0.5; decade++) {
        const double y = y_of(frame, pow(10.0, decade));
        (void)fprintf(frame->to, "<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='#ddd'/>\n", LEFT, y, WIDTH - RIGHT, y);
        (void)fprintf(frame->to, "<text x='%d' y='%.1f' text-anchor='end'>10<tspan dy='-6' font-size='9'>%.0f</tspan></text>\n",
                      LEFT - 8, y + 4, decade);
    }
    (void)fprintf(frame->to, "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='#333'/>\n", LEFT, TOP,
                  WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
}

/* A curve of the model, clipped by the picture's clip path. */
static void draw_model(const struct frame *frame, const struct allan_fit *fit, const char *colour, const char *style)
{
    bool started = false;
    (void)fprintf(frame->to, "<polyline clip-path='url(#area)' fill='none' stroke='%s' %s points='", colour, style);
    for (int i = 0; i <= 100; i++) {
        const double tau_s = pow(10.0, frame->low_x + (frame->high_x - frame->low_x) * i / 100.0);
        const double deviation = allan_model(fit, tau_s);
        if (deviation > 0.0) {
            (void)fprintf(frame->to, "%s%.1f,%.1f", started ? " " : "", x_of(frame, tau_s), y_of(frame, deviation));
            started = true;
        }
    }
    (void)fprintf(frame->to, "'/>\n");
}

static void draw_points(const struct frame *frame, const struct plot_curve *curve, const char *colour)
{
    for (size_t i = 0; i < curve->count; i++) {
        const struct allan_point *point = &curve->points[i];
        if (point->adev > 0.0) {
            const double x = x_of(frame, point->tau_s);
            (void)fprintf(frame->to, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-opacity='0.5'/>", x,
                          y_of(frame, point->lo), x, y_of(frame, point->hi), colour);
            (void)fprintf(frame->to, "<circle cx='%.1f' cy='%.1f' r='2.4' fill='%s'/>\n", x, y_of(frame, point->adev), colour);
        }
    }
}

static void draw_legend(const struct frame *frame, const struct plot_curve *curve, size_t index, const char *colour)
{
    const int x = WIDTH - RIGHT + 14;
    const int y = TOP + 14 + 70 * (int)index;
    (void)fprintf(frame->to, "<text x='%d' y='%d' fill='%s' font-weight='bold'>%s</text>\n", x, y, colour, curve->name);
    (void)fprintf(frame->to, "<text x='%d' y='%d'>N %.4g</text><text x='%d' y='%d'>B %.4g</text><text x='%d' y='%d'>K %.4g</text>\n",
                  x, y + 15, curve->fit.n, x, y + 30, curve->fit.b, x, y + 45, curve->fit.k);
}

void plot_svg(FILE *to, const char *title, const struct plot_curve *curves, size_t count)
{
    struct frame frame = {.to = to};
    find_range(&frame, curves, count);
    (void)fprintf(to, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif' font-size='12'>\n"
                      "<rect width='100%%' height='100%%' fill='white'/>\n"
                      "<clipPath id='area'><rect x='%d' y='%d' width='%d' height='%d'/></clipPath>\n"
                      "<text x='%d' y='26' font-size='15'>%s</text>\n",
                  WIDTH, HEIGHT, LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM, LEFT, title);
    draw_grid(&frame);
    for (size_t c = 0; c < count; c++) {
        const char *colour = colours[c % (sizeof colours / sizeof *colours)];
        const struct allan_fit n = {.n = curves[c].fit.n}, b = {.b = curves[c].fit.b}, k = {.k = curves[c].fit.k};
        draw_model(&frame, &n, colour, "stroke-dasharray='2 4'");
        draw_model(&frame, &b, colour, "stroke-dasharray='2 4'");
        draw_model(&frame, &k, colour, "stroke-dasharray='2 4'");
        draw_model(&frame, &curves[c].fit, colour, "stroke-width='1.4'");
        draw_points(&frame, &curves[c], colour);
        draw_legend(&frame, &curves[c], c, colour);
    }
    (void)fprintf(to, "<text x='%d' y='%d' text-anchor='middle'>averaging time, s</text>\n", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16);
    (void)fprintf(to, "<text transform='translate(20 %d) rotate(-90)' text-anchor='middle'>overlapping Allan deviation, unit of the column; bars: 95 %%</text>\n</svg>\n",
                  (TOP + HEIGHT - BOTTOM) / 2);
}
