/* The document's figures: the votes of one calibration, and precision and recall against the length of a chunk. */
#include "grade/grade.h"

#include <math.h>

#include "output.h"
#include "svg.h"

/* Read off the KPI figure of NVIDIA's DriveWorks documentation, "IMU Self-Calibration" (5.20): ± 0.01 of recall, ± 0.005 deg. Its
 * precision is 1 throughout. NAN: hidden by another curve. */
const struct grade_reference grade_driveworks[] = {
    {2.0, 0, {.002, .053, .267}},     {2.5, 0, {.034, .055, .264}},      {3.0, 0, {.019, .194, .125}},
    {3.5, .048, {.098, .189, .104}},  {4.0, .048, {.101, .166, .130}},   {4.5, .048, {.078, .154, .142}},
    {5.0, .143, {.076, .132, .106}},  {5.5, .205, {.112, .135, .103}},   {6.0, .3, {.159, .143, .119}},
    {6.5, NAN, {.160, .143, .119}},   {7.0, NAN, {.138, .143, .108}},    {7.5, NAN, {.152, .137, .108}},
    {8.0, .42, {.152, .090, .111}},   {8.5, .475, {.127, .092, .111}},   {9.0, .476, {.126, .107, .104}},
    {9.5, .5, {.136, .103, .104}},    {10.0, .502, {.129, .085, .111}},  {10.5, .56, {.125, .084, .111}},
    {11.0, .613, {.136, .088, .095}}, {11.5, .648, {.145, .081, .084}},  {12.0, .65, {.148, .081, .088}},
    {12.5, .709, {.156, .084, .084}}, {13.0, .768, {.160, .076, .069}},  {13.5, .814, {.157, .076, .061}},
    {14.0, .816, {.160, .080, .069}}, {14.5, .873, {.168, .076, .069}},  {15.0, .875, {.157, .065, .061}},
};
const int grade_driveworks_count = sizeof grade_driveworks / sizeof *grade_driveworks;

#define DRIVEWORKS_COLOUR "#777"

enum { WIDTH = 920, HEIGHT = 900, LEFT = 72, RIGHT = 290 };

/* A picture within the page, and the ranges of its axes. */
struct panel {
    FILE *to;
    struct svg_page page;
    double low_x, high_x, low_y, high_y;
};

static double x_of(const struct panel *panel, double x)
{
    const struct svg_page *page = &panel->page;
    return page->left + (x - panel->low_x) / (panel->high_x - panel->low_x) * (page->width - page->left - page->right);
}

static double y_of(const struct panel *panel, double y)
{
    const struct svg_page *page = &panel->page;
    const double clipped = fmin(fmax(y, panel->low_y), panel->high_y);
    return page->height - page->bottom -
           (clipped - panel->low_y) / (panel->high_y - panel->low_y) * (page->height - page->top - page->bottom);
}

static void draw_grid(const struct panel *panel, double step_x, double step_y, int digits)
{
    const struct svg_page *page = &panel->page;
    char text[32];
    for (double x = ceil(panel->low_x / step_x) * step_x; x < panel->high_x + 1e-9; x += step_x) {
        svg_line(panel->to, x_of(panel, x), page->top, x_of(panel, x), page->height - page->bottom, "#eee");
        (void)fprintf(panel->to, "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x_of(panel, x),
                      page->height - page->bottom + 17, fabs(x) < 1e-9 ? 0.0 : x);
    }
    for (double y = panel->low_y; y < panel->high_y + 1e-9; y += step_y) {
        (void)snprintf(text, sizeof text, "%.*f", digits, y);
        svg_line(panel->to, page->left, y_of(panel, y), page->width - page->right, y_of(panel, y), "#eee");
        (void)fprintf(panel->to, "<text x='%d' y='%.1f' text-anchor='end'>%s</text>\n", page->left - 6, y_of(panel, y) + 4, text);
    }
    svg_frame(panel->to, page);
}

static void draw_names(const struct panel *panel, const char *title, const char *x_name, const char *y_name)
{
    const struct svg_page *page = &panel->page;
    const int middle = (page->left + page->width - page->right) / 2;
    (void)fprintf(panel->to, "<text x='%d' y='%d' text-anchor='middle' font-size='13'>", middle, page->top - 8);
    svg_text(panel->to, title);
    (void)fprintf(panel->to, "</text>\n<text x='%d' y='%d' text-anchor='middle'>", middle, page->height - page->bottom + 36);
    svg_text(panel->to, x_name);
    (void)fprintf(panel->to, "</text>\n<text transform='translate(%d %d) rotate(-90)' text-anchor='middle'>", page->left - 44,
                  (page->top + page->height - page->bottom) / 2);
    svg_text(panel->to, y_name);
    (void)fputs("</text>\n", panel->to);
}

/* ---- curves ---- */

typedef double (*curve_value)(const void *context, int index);

static void draw_curve(const struct panel *panel, curve_value value, const void *context, int count, const char *style)
{
    bool open = false;
    for (int i = 0; i < count; i++) {
        const double y = value(context, i);
        if (isfinite(y)) {
            (void)fprintf(panel->to, "%s%.1f,%.1f", open ? " " : "<polyline points='", x_of(panel, grade_minutes(i)), y_of(panel, y));
            open = true;
        }
    }
    if (open) {
        (void)fprintf(panel->to, "' fill='none' %s/>\n", style);
    }
}

static void draw_entry(const struct panel *panel, int row, const char *style, const char *text)
{
    const int x = panel->page.width - panel->page.right + 14, y = panel->page.top + 12 + 20 * row;
    (void)fprintf(panel->to, "<line x1='%d' y1='%d' x2='%d' y2='%d' %s/><text x='%d' y='%d'>", x, y - 4, x + 26, y - 4, style, x + 32, y);
    svg_text(panel->to, text);
    (void)fputs("</text>\n", panel->to);
}

static double recall_of(const void *context, int index)
{
    return ((const struct grade_summary *)context)->scores[index].recall;
}

struct axis_curve {
    const struct grade_summary *summary;
    int axis;
};

static double axis_recall_of(const void *context, int index)
{
    const struct axis_curve *curve = context;
    const struct grade_score *score = &curve->summary->scores[index];
    return (double)score->axes[curve->axis].accepted / (double)score->chunks;
}

/* The precision of an axis; NaN, which is not drawn, where nothing was accepted. */
static double axis_precision_of(const void *context, int index)
{
    const struct axis_curve *curve = context;
    const struct grade_axis_score *score = &curve->summary->scores[index].axes[curve->axis];
    return 1.0 - (double)score->wrong / (double)score->accepted;
}

static double recall_of_driveworks(const void *context, int index)
{
    (void)context;
    return grade_driveworks[index].recall;
}

static const char *const axis_titles[OTO_CALIBRATION_AXES] = {"pitch", "yaw", "roll to the mean road", "roll to gravity"};

/* Draws the recall and precision of the axes; returns the number of rows of the legend that are used. */
static int draw_axis_recalls(const struct panel *panel, const struct grade_summary *summary)
{
    char style[96], text[96];
    for (int axis = 0; axis < OTO_CALIBRATION_AXES; axis++) {
        const struct axis_curve curve = {summary, axis};
        (void)snprintf(style, sizeof style, "stroke='%s' stroke-width='2'", svg_colour((size_t)axis));
        draw_curve(panel, axis_recall_of, &curve, GRADE_TIMES, style);
        (void)snprintf(text, sizeof text, "%s (%.1f°), recall", axis_titles[axis], grade_axis_threshold_deg[axis]);
        draw_entry(panel, 2 * axis, style, text);
        (void)snprintf(style, sizeof style, "stroke='%s' stroke-width='2' stroke-dasharray='6 4'", svg_colour((size_t)axis));
        draw_curve(panel, axis_precision_of, &curve, GRADE_TIMES, style);
        (void)snprintf(text, sizeof text, "%s, precision", axis_titles[axis]);
        draw_entry(panel, 2 * axis + 1, style, text);
    }
    return 2 * OTO_CALIBRATION_AXES;
}

static void draw_recalls(const struct panel *panel, const struct grade_plan *plan, const struct grade_summary *summaries)
{
    char style[96], text[96];
    int row = draw_axis_recalls(panel, &summaries[0]);
    for (uint32_t m = 0; m < plan->method_count; m++) {
        (void)snprintf(style, sizeof style, "stroke='black' stroke-width='1' stroke-dasharray='%u 3'", 8 - 5 * m);
        draw_curve(panel, recall_of, &summaries[m], GRADE_TIMES, style);
        (void)snprintf(text, sizeof text, "%s, all three angles, recall", plan->methods[m]);
        draw_entry(panel, row++, style, text);
    }
    draw_curve(panel, recall_of_driveworks, NULL, grade_driveworks_count, "stroke='" DRIVEWORKS_COLOUR "' stroke-width='2'");
    draw_entry(panel, row++, "stroke='" DRIVEWORKS_COLOUR "' stroke-width='2'", "DriveWorks, recall");
    draw_entry(panel, row++, "stroke='none'", "(its precision is 1, of 13 to 27");
    draw_entry(panel, row, "stroke='none'", "accepted chunks of its own data)");
}

struct error_curve {
    const struct grade_summary *summary; /* NULL: DriveWorks */
    int angle; /* an enum oto_calibration_axis; for DriveWorks 0 roll, 1 pitch, 2 yaw */
};

static double error_of(const void *context, int index)
{
    const struct error_curve *curve = context;
    return curve->summary != NULL ? curve->summary->scores[index].axes[curve->angle].mean_deg
                                  : grade_driveworks[index].error_deg[curve->angle];
}

static void draw_errors(const struct panel *panel, const struct grade_summary *summary)
{
    static const char *const angles[] = {"roll", "pitch", "yaw"};
    static const int axis_of[] = {OTO_CALIBRATION_ROLL_REPEATABLE, OTO_CALIBRATION_PITCH, OTO_CALIBRATION_YAW};
    char style[96], text[96];
    for (int axis = 0; axis < OTO_CALIBRATION_AXES; axis++) {
        const struct error_curve curve = {summary, axis};
        (void)snprintf(style, sizeof style, "stroke='%s' stroke-width='2'", svg_colour((size_t)axis));
        draw_curve(panel, error_of, &curve, GRADE_TIMES, style);
        draw_entry(panel, axis, style, axis_titles[axis]);
    }
    for (int angle = 0; angle < 3; angle++) {
        const struct error_curve curve = {NULL, angle};
        (void)snprintf(style, sizeof style, "stroke='%s' stroke-width='1' stroke-dasharray='3 3'", svg_colour((size_t)axis_of[angle]));
        (void)snprintf(text, sizeof text, "DriveWorks, accepted, %s", angles[angle]);
        draw_curve(panel, error_of, &curve, GRADE_TIMES, style);
        draw_entry(panel, OTO_CALIBRATION_AXES + angle, style, text);
    }
}

static void title_of(const struct grade_plan *plan, uint32_t world, uint32_t style, uint64_t drives, char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "Mount calibration in '%s'%s%s: %llu drives of 15 min, seeds from %llu", plan->worlds[world].name,
                   plan->styles[style][0] != '\0' ? ", traffic " : "", plan->styles[style], (unsigned long long)drives,
                   (unsigned long long)plan->first_seed);
}

enum oto_status grade_plot_curves(const struct grade_plan *plan, const struct grade_store *store, uint32_t world,
                                  uint32_t style, struct oto_error *error)
{
    struct grade_summary summaries[GRADE_MOST_METHODS];
    char path[4096], title[256];
    struct cli_output output = {0};
    for (uint32_t m = 0; m < plan->method_count; m++) {
        grade_summarise(plan, store, world, style, m, &summaries[m]);
    }
    grade_path(plan, "kpi", world, style, "svg", path, sizeof path);
    enum oto_status status = cli_output_open(&output, path, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct panel upper = {output.file, {WIDTH, HEIGHT, LEFT, RIGHT, 70, 460}, 2.0, 15.0, 0.0, 1.0};
    const struct panel lower = {output.file, {WIDTH, HEIGHT, LEFT, RIGHT, 530, 60}, 2.0, 15.0, 0.0, 0.6};
    title_of(plan, world, style, summaries[0].chunks, title, sizeof title);
    svg_begin(output.file, &upper.page, HEIGHT, title);
    draw_grid(&upper, 1.0, 0.1, 1);
    draw_names(&upper, "Precision and recall by axis", "length of a chunk, min", "share");
    draw_recalls(&upper, plan, summaries);
    draw_grid(&lower, 1.0, 0.1, 1);
    draw_names(&lower, "Mean absolute error of all chunks", "length of a chunk, min", "deg");
    draw_errors(&lower, &summaries[0]);
    (void)fputs("</svg>\n", output.file);
    return cli_output_close(&output, OTO_OK, error);
}

/* ---- histograms ---- */

#define ENVELOPE_DEG 0.7 /* histogram.sigma_deg of the plugin; below: how much higher than an ideal mode a bin may be */
#define ENVELOPE_ABOVE 1.2

static double smoothed(const uint16_t *counts, int at)
{
    double sum = 0.0;
    for (int i = at - 3; i <= at + 3; i++) {
        sum += i >= 0 && i < OTO_CALIBRATION_HISTOGRAM_BINS ? counts[i] : 0.0;
    }
    return sum / 7.0;
}

static double highest(const uint16_t *counts, bool smooth)
{
    double most = 0.0;
    for (int i = 0; i < OTO_CALIBRATION_HISTOGRAM_BINS; i++) {
        most = fmax(most, smooth ? smoothed(counts, i) : counts[i]);
    }
    return most;
}

static void draw_votes(const struct panel *panel, const struct oto_mount_calibration_histogram_record *record, int which)
{
    const double range = record->range_deg[which], scale = record->votes_per_count[which];
    const double width = 2.0 * range / OTO_CALIBRATION_HISTOGRAM_BINS;
    for (int i = 0; i < OTO_CALIBRATION_HISTOGRAM_BINS; i++) {
        if (record->counts[which][i] > 0) {
            const double x = x_of(panel, -range + i * width), y = y_of(panel, scale * record->counts[which][i]);
            (void)fprintf(panel->to, "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' fill='black'/>\n", x, y,
                          x_of(panel, -range + (i + 1) * width) - x, y_of(panel, 0.0) - y);
        }
    }
}

static void draw_envelope(const struct panel *panel, double peak_deg, double most)
{
    enum { STEPS = 240 };
    (void)fputs("<polyline points='", panel->to);
    for (int i = 0; i <= STEPS; i++) {
        const double x = panel->low_x + (panel->high_x - panel->low_x) * i / STEPS, off = (x - peak_deg) / ENVELOPE_DEG;
        (void)fprintf(panel->to, "%.1f,%.1f ", x_of(panel, x), y_of(panel, ENVELOPE_ABOVE * most * exp(-0.5 * off * off)));
    }
    (void)fputs("' fill='none' stroke='#2e7d32' stroke-width='2'/>\n", panel->to);
}

static void draw_histogram(FILE *to, const struct oto_mount_calibration_histogram_record *record, int which)
{
    static const char *const names[] = {"Up inclination", "Up azimuth", "Forward inclination", "Forward azimuth"};
    const int column = which / 2, row = which % 2;
    const double scale = record->votes_per_count[which], range = record->range_deg[which];
    const double top = fmax(1.0, 1.25 * fmax(scale * highest(record->counts[which], false),
                                             ENVELOPE_ABOVE * scale * highest(record->counts[which], true)));
    char title[96];
    const struct panel panel = {to, {WIDTH, 720, LEFT + 450 * column, 470 - 450 * column, 76 + 330 * row, 390 - 330 * row}, -range,
                                range, 0.0, top};
    (void)snprintf(title, sizeof title, "%s: %.3f°, %s", names[which], record->peak_deg[which],
                   record->accepted[which] != 0 ? "accepted" : "not accepted");
    draw_grid(&panel, range > 8.0 ? 4.0 : 2.0, top / 4.0, 0);
    draw_votes(&panel, record, which);
    draw_envelope(&panel, record->peak_deg[which], scale * highest(record->counts[which], true));
    draw_names(&panel, title, "correction, deg", "votes");
}

enum oto_status grade_plot_histograms(const struct grade_plan *plan, uint32_t world, uint32_t style,
                                      const struct oto_mount_calibration_histogram_record *record,
                                      const double *true_rpy_deg, uint64_t seed, struct oto_error *error)
{
    char path[4096], title[256];
    struct cli_output output = {0};
    grade_path(plan, "histograms", world, style, "svg", path, sizeof path);
    const enum oto_status status = cli_output_open(&output, path, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct svg_page page = {WIDTH, 720, LEFT, 20, 0, 0};
    (void)snprintf(title, sizeof title, "Votes after 15 min in '%s', seed %llu; true roll %.3f°, pitch %.3f°, yaw %.3f°",
                   plan->worlds[world].name, (unsigned long long)seed, true_rpy_deg[0], true_rpy_deg[1], true_rpy_deg[2]);
    svg_begin(output.file, &page, page.height, title);
    for (int i = 0; i < 4; i++) {
        draw_histogram(output.file, record, i);
    }
    (void)fputs("</svg>\n", output.file);
    return cli_output_close(&output, OTO_OK, error);
}
