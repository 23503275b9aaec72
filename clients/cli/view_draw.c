#include "attach/diagnostics.h"
#include "view.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "json.h"

enum { WIDTH_WITHOUT_TERMINAL = 100, HEAD_LINES = 3, FIELD_COLUMNS = 24, SPARK_LEAST = 8 };

struct page {
    FILE *to;
    int columns, body_lines; /* body_lines: lines for the rows of topics */
    int topic_columns, field_columns, spark_columns;
    int lines; /* drawn so far */
    bool terminal;
};

/* One line without control characters, cut at the width in characters (continuation bytes of UTF-8 do not count). */
__attribute__((format(printf, 2, 3))) static void line(struct page *page, const char *format, ...)
{
    char foreign[1024], text[4096];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(foreign, sizeof foreign, format, arguments);
    va_end(arguments);
    (void)oto_plain_text(foreign, text, sizeof text);
    int room = page->columns;
    size_t end = 0;
    while (text[end] != '\0' && (room > 0 || ((unsigned char)text[end] & 0xc0u) == 0x80u)) {
        room -= ((unsigned char)text[end] & 0xc0u) != 0x80u;
        end++;
    }
    (void)fprintf(page->to, "%.*s%s\n", (int)end, text, page->terminal ? "\033[K" : "");
    page->lines++;
}

/* Writes the newest `columns` values as a sparkline. */
static void spark(char *text, size_t bytes, const double *values, uint32_t count, int columns, double low, double high)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const uint32_t first = count > (uint32_t)columns ? count - (uint32_t)columns : 0;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = first; i < count && used + 4 < bytes; i++) {
        const double part = high > low ? (values[i] - low) / (high - low) : 0.5;
        const int bar = (int)fmin(7.0, fmax(0.0, part * 8.0));
        used += (size_t)snprintf(text + used, bytes - used, "%s", isfinite(values[i]) ? bars[bar] : " ");
    }
}

/* ---- rows ---- */

static bool row_has_truth(const struct view_row *row)
{
    return row->field != NULL && !row->is_mount && row->points > 0 && isfinite(row->reference[row->points - 1]);
}

static int row_lines(const struct view_row *row)
{
    return row->is_mount ? (row->mount_truth[0] != '\0' ? 3 : 2) : row_has_truth(row) ? 2 : 1;
}

static void draw_values(struct page *page, const struct view_row *row, const char *mark)
{
    char sensor[4 * VIEW_POINTS + 1], reference[4 * VIEW_POINTS + 1];
    double low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < row->points; i++) {
        low = fmin(low, fmin(row->sensor[i], row->reference[i]));
        high = fmax(high, fmax(row->sensor[i], row->reference[i]));
    }
    spark(sensor, sizeof sensor, row->sensor, row->points, page->spark_columns, low, high);
    line(page, "%s%-*s %7.1f %10.5g %-6.6s %-*.*s %s", mark, page->topic_columns, row->channel->topic, row->rate_hz, row->last,
         cli_shown_unit(row->field->unit), page->field_columns, page->field_columns, row->field->name, sensor);
    if (row_has_truth(row)) {
        spark(reference, sizeof reference, row->reference, row->points, page->spark_columns, low, high);
        line(page, " %-*s %7s %10.5g %-6.6s %-*s %s", page->topic_columns, "", "", row->reference[row->points - 1],
             cli_shown_unit(row->field->unit), page->field_columns, "  truth", reference);
    }
}

static void draw_row(struct page *page, const struct view_row *row, bool selected)
{
    const char *mark = selected ? ">" : " ";
    if (row->field == NULL) {
        line(page, "%s%-*s %7s %s", mark, page->topic_columns, row->channel->topic, "", row->event);
    } else if (row->is_mount) {
        line(page, "%s%-*s %7.1f %s", mark, page->topic_columns, row->channel->topic, row->rate_hz, row->mount_state);
        line(page, "%s", row->mount_found);
        if (row->mount_truth[0] != '\0') {
            line(page, "%s", row->mount_truth);
        }
    } else {
        draw_values(page, row, mark);
    }
}

/* ---- pages ---- */

/* Moves the first row so that the selected row is on the page. */
static void scroll(struct view *view, int body_lines)
{
    if (view->selected < view->first) {
        view->first = view->selected;
    }
    int used = 0;
    for (uint32_t i = view->selected + 1; i-- > view->first;) {
        used += row_lines(view->shown[i]);
        if (used > body_lines && i < view->selected) {
            view->first = i + 1;
            break;
        }
    }
}

static void set_columns(struct page *page, const struct view *view)
{
    size_t topic = strlen("topic"), field = strlen("field");
    for (uint32_t i = 0; i < view->shown_count; i++) {
        const struct view_row *row = view->shown[i];
        topic = fmax((double)topic, (double)strlen(row->channel->topic));
        field = fmax((double)field, row->field != NULL ? (double)strlen(row->field->name) : 0.0);
    }
    const int fixed = 1 + 1 + 7 + 1 + 10 + 1 + 6 + 1 + 1;
    page->topic_columns = (int)fmin((double)topic, fmax(12.0, (double)(page->columns - fixed - FIELD_COLUMNS)));
    page->field_columns = (int)fmin((double)field, FIELD_COLUMNS);
    page->spark_columns = page->columns - fixed - page->topic_columns - page->field_columns;
    if (page->spark_columns < SPARK_LEAST) {
        page->field_columns = (int)fmax(8.0, (double)(page->field_columns + page->spark_columns - SPARK_LEAST));
        page->spark_columns = (int)fmax(0.0, (double)(page->columns - fixed - page->topic_columns - page->field_columns));
    }
    page->spark_columns = page->spark_columns < VIEW_POINTS ? page->spark_columns : VIEW_POINTS;
}

static struct page open_page(const struct view *view, FILE *to)
{
    struct winsize size;
    struct page page = {
        .to = to, .columns = WIDTH_WITHOUT_TERMINAL, .body_lines = INT32_MAX, .terminal = isatty(fileno(to)) != 0};
    if (page.terminal) {
        const bool sized = ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 20 && size.ws_row > 6;
        page.columns = sized ? size.ws_col : 80;
        page.body_lines = (sized ? size.ws_row : 24) - HEAD_LINES - 2; /* minus the last line and one line below the drawing */
    }
    set_columns(&page, view);
    return page;
}

/* ---- head ---- */

static const char *state_text(const struct oto_segment_header *header)
{
    static const char *const texts[] = {"starting", "running", "paused", "FAULT", "closing", "ended"};
    const uint32_t state = __atomic_load_n(&header->state, __ATOMIC_RELAXED);
    return state < sizeof texts / sizeof *texts ? texts[state] : "?";
}

static uint64_t counter_of(const struct oto_segment_header *header, enum oto_counter counter)
{
    return __atomic_load_n(&header->counter[counter], __ATOMIC_RELAXED);
}

static double max_us(const struct oto_histogram *histogram)
{
    return (double)__atomic_load_n(&histogram->max_ns, __ATOMIC_RELAXED) * 1e-3;
}

/* "t 2.00 of 60 s, 58 s left" or, of a run without an end, "t 2.00 s". */
static void write_time(const struct view *view, char *text, size_t bytes)
{
    const double now_s = (double)view->clock.sim_time_ns * 1e-9, end_s = (double)view->end_ns * 1e-9;
    const double speed = view->clock.real_time_factor;
    if (view->end_ns > 0 && speed > 0.0) {
        (void)snprintf(text, bytes, "t %.2f of %g s, %.0f s left", now_s, end_s, fmax(end_s - now_s, 0.0) / speed);
    } else {
        (void)snprintf(text, bytes, "t %.2f s", now_s);
    }
}

static void draw_timing(struct page *page, const struct view *view)
{
    const struct oto_segment_header *header = oto_client_header(view->client);
    char time[96];
    write_time(view, time, sizeof time);
    line(page, "%s  %s  %s  speed x%.3f  late %" PRIu64 "  overruns %" PRIu64 "  ticks %" PRIu64, header->world, state_text(header), time,
         view->clock.real_time_factor, counter_of(header, OTO_COUNTER_LATE), counter_of(header, OTO_COUNTER_OVERRUNS), view->clock.tick);
    line(page, "lateness p50 %.1f p99 %.1f max %.0f us   work p50 %.1f p99 %.1f max %.0f us",
         oto_histogram_quantile_us(&header->lateness, 0.5), oto_histogram_quantile_us(&header->lateness, 0.99), max_us(&header->lateness),
         oto_histogram_quantile_us(&header->work, 0.5), oto_histogram_quantile_us(&header->work, 0.99), max_us(&header->work));
}

/* The wire has neither the state of the world nor the timing of its ticks. */
static void draw_head(struct page *page, const struct view *view)
{
    if (view->is_mirror) {
        line(page, "%s  over the wire  t %.2f s  samples %" PRIu64, oto_client_header(view->client)->world,
             (double)view->clock.sim_time_ns * 1e-9, view->clock.tick);
        line(page, "%s", "");
    } else {
        draw_timing(page, view);
    }
    line(page, " %-*s %7s %10s %-6s %-*s %s", page->topic_columns, "topic", "rate Hz", "last", "unit", page->field_columns,
         "field", "sensor over truth");
}

static void draw_foot(struct page *page, const struct view *view)
{
    const uint32_t count = view->shown_count;
    if (!page->terminal || (!view->has_keys && view->shown_last + 1 >= count && view->first == 0)) {
        return;
    }
    if (view->takes_find) {
        line(page, "find: %s_   %u topics   Enter: keep  Esc: all topics", view->find, count);
        return;
    }
    char found[VIEW_FIND_BYTES + 16] = "";
    if (view->find[0] != '\0') {
        (void)snprintf(found, sizeof found, " with '%s'", view->find);
    }
    line(page, "topics %u-%u of %u%s%s", count > 0 ? view->first + 1 : 0, count > 0 ? view->shown_last + 1 : 0, count, found,
         view->has_keys ? "   arrows: topic, field  PgDn: page  /: find  q: quit" : "");
}

void view_draw(struct view *view, FILE *to)
{
    struct page page = open_page(view, to);
    const uint32_t count = view->shown_count;
    if (view->selected >= count) {
        view->selected = count > 0 ? count - 1 : 0;
    }
    if (count > 0) {
        scroll(view, page.body_lines);
    }
    if (page.terminal && view->drawn_lines > 0) {
        (void)fprintf(to, "\033[%dA\r", view->drawn_lines);
    }
    draw_head(&page, view);
    view->shown_last = view->first;
    int used = 0;
    for (uint32_t i = view->first; i < count; i++) {
        const struct view_row *row = view->shown[i];
        used += row_lines(row);
        if (used > page.body_lines && i > view->first) {
            break;
        }
        draw_row(&page, row, view->has_keys && i == view->selected);
        view->shown_last = i;
    }
    draw_foot(&page, view);
    if (page.terminal) {
        (void)fputs("\033[J", to);
    }
    (void)fflush(to);
    view->drawn_lines = page.lines;
}

/* ---- without a terminal ---- */

void view_line(struct view *view, FILE *to)
{
    const struct oto_segment_header *header = oto_client_header(view->client);
    (void)fprintf(to, "t %.3f s  rtf %.3f  late p50 %.1f p99 %.1f max %.1f us  overruns %" PRIu64,
                  (double)view->clock.sim_time_ns * 1e-9, view->clock.real_time_factor,
                  oto_histogram_quantile_us(&header->lateness, 0.5), oto_histogram_quantile_us(&header->lateness, 0.99),
                  max_us(&header->lateness), counter_of(header, OTO_COUNTER_OVERRUNS));
    for (uint32_t i = 0; i < view->row_count && i < 6; i++) {
        if (view->rows[i].field != NULL && cli_is_shown(view->rows[i].channel)) {
            (void)fputs("  ", to);
            oto_plain_text_put(to, view->rows[i].channel->topic);
            (void)fprintf(to, " %.1f Hz", view->rows[i].rate_hz);
        }
    }
    (void)fputc('\n', to);
    (void)fflush(to);
}

static void json_histogram(struct oto_json *json, const char *key, const struct oto_histogram *histogram)
{
    oto_json_open(json, key, '{');
    oto_json_number(json, "p50", oto_histogram_quantile_us(histogram, 0.5));
    oto_json_number(json, "p99", oto_histogram_quantile_us(histogram, 0.99));
    oto_json_number(json, "max", max_us(histogram));
    oto_json_close(json, '}');
}

static void json_row(struct oto_json *json, const struct view_row *row)
{
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "topic", row->channel->topic);
    oto_json_number(json, "rate_hz", row->rate_hz);
    oto_json_u64(json, "samples", row->samples);
    if (row->field == NULL) {
        oto_json_text(json, "event", row->event);
    } else {
        oto_json_text(json, "field", row->field->name);
        oto_json_text(json, "unit", row->field->unit);
        oto_json_number(json, "last", row->last);
    }
    oto_json_close(json, '}');
}

static void json_timing(struct oto_json *json, const struct view *view)
{
    const struct oto_segment_header *header = oto_client_header(view->client);
    oto_json_text(json, "state", state_text(header));
    oto_json_u64(json, "tick", view->clock.tick);
    oto_json_number(json, "real_time_factor", view->clock.real_time_factor);
    oto_json_u64(json, "late", counter_of(header, OTO_COUNTER_LATE));
    oto_json_u64(json, "overruns", counter_of(header, OTO_COUNTER_OVERRUNS));
    json_histogram(json, "lateness_us", &header->lateness);
    json_histogram(json, "work_us", &header->work);
}

void view_json(struct view *view, FILE *to)
{
    struct oto_json json = {.to = to};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "world", oto_client_header(view->client)->world);
    oto_json_i64(&json, "t_ns", view->clock.sim_time_ns);
    if (!view->is_mirror) {
        json_timing(&json, view);
    }
    oto_json_open(&json, "topics", '[');
    for (uint32_t i = 0; i < view->shown_count; i++) {
        json_row(&json, view->shown[i]);
    }
    oto_json_close(&json, ']');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
    (void)fflush(to);
}
