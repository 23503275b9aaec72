#include "view.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "mount_calibration/calibration.h"
#include "otolith/records.h"
#include "view_mount.h"

/* The field that is shown of a record; of other records it is the first number. */
static const struct {
    const char *record, *field;
} shown_fields[] = {
    {"imu", "linear_acceleration.x"},
    {"mag", "magnetic_field.x"},
    {"odometry", "speed_m_s"},
    {"truth", "longitudinal_speed_m_s"},
};

static const struct oto_field *field_of(const struct oto_record_type *type)
{
    const char *wanted = "";
    for (size_t i = 0; i < sizeof shown_fields / sizeof *shown_fields; i++) {
        wanted = strcmp(type->name, shown_fields[i].record) == 0 ? shown_fields[i].field : wanted;
    }
    const struct oto_field *first = NULL;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        if (strcmp(field->name, wanted) == 0) {
            return field;
        }
        first = first == NULL && field->type != OTO_FIELD_TEXT ? field : first;
    }
    return first;
}

/* The truth channel of the vehicle that a node belongs to. */
static const struct oto_channel *truth_of(const struct oto_client *client, const struct oto_channel *channel)
{
    const char *slash = strrchr(channel->node, '/');
    const size_t prefix = slash != NULL ? (size_t)(slash - channel->node) + 1 : 0;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *other = oto_client_channel(client, i);
        if ((other->flags & OTO_CHANNEL_TRUTH) != 0 && strncmp(other->node, channel->node, prefix) == 0 &&
            strchr(other->node + prefix, '/') == NULL && strcmp(other->type.name, "truth") == 0) {
            return other;
        }
    }
    return NULL;
}

static void init_mount(const struct view *view, struct view_row *row)
{
    const struct oto_record_type *type = &row->channel->type;
    double rpy_deg[3];
    row->is_mount = strcmp(type->name, oto_mount_calibration_type.name) == 0 && type->bytes == oto_mount_calibration_type.bytes;
    if (row->is_mount && view_mount_truth(view->client, row->channel->node, rpy_deg)) {
        view_mount_given(rpy_deg, row->mount_truth, sizeof row->mount_truth);
    }
}

enum oto_status view_init(struct view *view, struct oto_client *client, struct oto_error *error)
{
    memset(view, 0, sizeof *view);
    view->client = client;
    view->row_count = oto_client_channel_count(client);
    view->rows = calloc(view->row_count > 0 ? view->row_count : 1, sizeof *view->rows);
    view->payload = malloc(OTO_RECORD_MAX_BYTES);
    if (view->rows == NULL || view->payload == NULL) {
        view_finish(view);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the live view");
    }
    for (uint32_t i = 0; i < view->row_count; i++) {
        struct view_row *row = &view->rows[i];
        row->channel = oto_client_channel(client, i);
        row->truth = truth_of(client, row->channel);
        row->field = (row->channel->flags & OTO_CHANNEL_EVENTS) != 0 ? NULL : field_of(&row->channel->type);
        row->reader = oto_reader_make(row->channel, OTO_READ_FROM_OLDEST);
        init_mount(view, row);
    }
    return OTO_OK;
}

void view_finish(struct view *view)
{
    free(view->rows);
    free(view->payload);
    memset(view, 0, sizeof *view);
}

/* The value of the same field from an ideal sensor; NaN where it cannot be derived from the truth. */
static double reference_of(const struct view_row *row)
{
    struct oto_truth_record truth;
    struct oto_sample_head head;
    if (row->truth == NULL || row->truth->type.bytes != sizeof truth ||
        oto_channel_latest(row->truth, &head, &truth, sizeof truth) != OTO_OK) {
        return NAN;
    }
    if (strcmp(row->channel->type.name, "odometry") == 0) {
        return truth.longitudinal_speed_m_s;
    }
    if (strcmp(row->channel->type.name, "imu") == 0) {
        const oto_vec3 up_force = {truth.accel_enu_m_s2.x, truth.accel_enu_m_s2.y, truth.accel_enu_m_s2.z + 9.80665};
        return oto_quat_rotate_inv(truth.q_enu_from_body, up_force).x;
    }
    return NAN;
}

static void push_point(struct view_row *row, double sensor, double reference)
{
    if (row->points == VIEW_POINTS) {
        memmove(row->sensor, row->sensor + 1, (VIEW_POINTS - 1) * sizeof *row->sensor);
        memmove(row->reference, row->reference + 1, (VIEW_POINTS - 1) * sizeof *row->reference);
        row->points--;
    }
    row->sensor[row->points] = sensor;
    row->reference[row->points++] = reference;
}

/* Every record in a paced world. In other modes only the newest one, because reading would slow the run down. */
static bool reads_in_order(const struct view *view)
{
    return __atomic_load_n(&oto_client_header(view->client)->mode, __ATOMIC_RELAXED) == OTO_MODE_REALTIME;
}

static void update_row(struct view *view, struct view_row *row, double elapsed_s)
{
    struct oto_sample_head head;
    bool have = false;
    if (reads_in_order(view)) {
        for (uint32_t i = 0; i < 100000; i++) {
            if (oto_reader_next(&row->reader, &head, view->payload, OTO_RECORD_MAX_BYTES) != OTO_OK) {
                break;
            }
            have = true;
        }
    } else {
        have = oto_channel_latest(row->channel, &head, view->payload, OTO_RECORD_MAX_BYTES) == OTO_OK;
        row->reader.cursor.next = oto_ring_newest(&row->channel->view) + 1;
    }
    row->samples = oto_ring_newest(&row->channel->view);
    row->rate_hz = elapsed_s > 0.0 ? (double)(row->samples - row->samples_before) / elapsed_s : row->rate_hz;
    row->samples_before = elapsed_s > 0.0 ? row->samples : row->samples_before;
    if (!have) {
        return;
    }
    if (row->is_mount) {
        view_mount_state(view->payload, row->mount_state, sizeof row->mount_state);
        view_mount_found(view->payload, row->mount_found, sizeof row->mount_found);
    } else if (row->field != NULL) {
        row->last = oto_field_number(row->field, view->payload, 0);
        push_point(row, row->last, reference_of(row));
    } else {
        const struct oto_event_record *event = (const struct oto_event_record *)(const void *)view->payload;
        (void)snprintf(row->event, sizeof row->event, "%.*s", (int)sizeof event->text, event->text);
    }
}

void view_update(struct view *view)
{
    if (oto_client_clock(view->client, &view->clock) != OTO_OK) {
        return;
    }
    const double elapsed_s = (double)(view->clock.sim_time_ns - view->sim_before_ns) * 1e-9;
    for (uint32_t i = 0; i < view->row_count; i++) {
        update_row(view, &view->rows[i], elapsed_s);
    }
    view->sim_before_ns = view->clock.sim_time_ns;
}

double view_quantile_us(const struct oto_histogram *histogram, double p)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < OTO_HISTOGRAM_BUCKETS; i++) {
        total += __atomic_load_n(&histogram->count[i], __ATOMIC_RELAXED);
    }
    const double wanted = p * (double)total;
    uint64_t below = 0;
    for (uint32_t i = 0; i < OTO_HISTOGRAM_BUCKETS && total > 0; i++) {
        below += __atomic_load_n(&histogram->count[i], __ATOMIC_RELAXED);
        if ((double)below >= wanted) {
            return oto_histogram_value_ns(i) * 1e-3;
        }
    }
    return 0.0;
}

/* ---- drawing ---- */

struct page {
    FILE *to;
    int width;
    int lines;
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
    int room = page->width;
    size_t end = 0;
    while (text[end] != '\0' && (room > 0 || ((unsigned char)text[end] & 0xc0u) == 0x80u)) {
        room -= ((unsigned char)text[end] & 0xc0u) != 0x80u;
        end++;
    }
    (void)fprintf(page->to, "%.*s%s\n", (int)end, text, page->terminal ? "\033[K" : "");
    page->lines++;
}

static void spark(char *text, size_t bytes, const double *values, uint32_t count, double low, double high)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count && used + 4 < bytes; i++) {
        const double part = high > low ? (values[i] - low) / (high - low) : 0.5;
        const int bar = (int)fmin(7.0, fmax(0.0, part * 8.0));
        used += (size_t)snprintf(text + used, bytes - used, "%s", isfinite(values[i]) ? bars[bar] : " ");
    }
}

static void draw_mount(struct page *page, const struct view_row *row)
{
    line(page, "%-26s %7.1f Hz %9" PRIu64 " %6" PRIu64 "  %s", row->channel->topic, row->rate_hz, row->samples,
         row->reader.cursor.lost, row->mount_state);
    line(page, "%s", row->mount_found);
    if (row->mount_truth[0] != '\0') {
        line(page, "%s", row->mount_truth);
    }
}

static void draw_row(struct page *page, const struct view_row *row)
{
    char sensor[4 * VIEW_POINTS + 1], reference[4 * VIEW_POINTS + 1];
    double low = INFINITY, high = -INFINITY;
    bool has_reference = false;
    if (row->field == NULL) {
        line(page, "%-26s %10s %9" PRIu64 " %6" PRIu64 "  %s", row->channel->topic, "", row->samples,
             row->reader.cursor.lost, row->event);
        return;
    }
    if (row->is_mount) {
        draw_mount(page, row);
        return;
    }
    for (uint32_t i = 0; i < row->points; i++) {
        low = fmin(low, fmin(row->sensor[i], row->reference[i]));
        high = fmax(high, fmax(row->sensor[i], row->reference[i]));
        has_reference = has_reference || isfinite(row->reference[i]);
    }
    spark(sensor, sizeof sensor, row->sensor, row->points, low, high);
    spark(reference, sizeof reference, row->reference, row->points, low, high);
    line(page, "%-26s %7.1f Hz %9" PRIu64 " %6" PRIu64 "  %-24.24s %11.5g  %s", row->channel->topic, row->rate_hz,
         row->samples, row->reader.cursor.lost, row->field->name, row->last, sensor);
    if (has_reference) {
        line(page, "%-26s %10s %9s %6s  %-24s %11.5g  %s", "", "", "", "", "  truth",
             row->points > 0 ? row->reference[row->points - 1] : 0.0, reference);
    }
}

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

void view_draw(struct view *view, FILE *to)
{
    const struct oto_segment_header *header = oto_client_header(view->client);
    struct winsize size;
    struct page page = {.to = to, .width = 100, .terminal = isatty(fileno(to)) != 0};
    if (page.terminal && ioctl(fileno(to), TIOCGWINSZ, &size) == 0 && size.ws_col > 20) {
        page.width = size.ws_col;
    }
    if (page.terminal && view->drawn_lines > 0) {
        (void)fprintf(to, "\033[%dA\r", view->drawn_lines);
    }
    line(&page, "%s  %s  t %.3f s  real-time factor %.3f  ticks %" PRIu64 "  late %" PRIu64 "  overruns %" PRIu64,
         header->world, state_text(header), (double)view->clock.sim_time_ns * 1e-9, view->clock.real_time_factor,
         view->clock.tick, counter_of(header, OTO_COUNTER_LATE), counter_of(header, OTO_COUNTER_OVERRUNS));
    line(&page, "tick lateness p50 %.1f us  p99 %.1f us  max %.1f us    work p50 %.2f us  p99 %.2f us  max %.1f us",
         view_quantile_us(&header->lateness, 0.5), view_quantile_us(&header->lateness, 0.99), max_us(&header->lateness),
         view_quantile_us(&header->work, 0.5), view_quantile_us(&header->work, 0.99), max_us(&header->work));
    line(&page, "%-26s %10s %9s %6s  %-36s  %s", "topic", "rate", "samples", "lost", "last", "sensor over truth");
    for (uint32_t i = 0; i < view->row_count; i++) {
        if (cli_is_shown(view->rows[i].channel)) {
            draw_row(&page, &view->rows[i]);
        }
    }
    if (page.terminal) {
        (void)fputs("\033[J", to);
    }
    (void)fflush(to);
    view->drawn_lines = page.lines;
}

void view_line(struct view *view, FILE *to)
{
    const struct oto_segment_header *header = oto_client_header(view->client);
    (void)fprintf(to, "t %.3f s  rtf %.3f  late p50 %.1f p99 %.1f max %.1f us  overruns %" PRIu64,
                  (double)view->clock.sim_time_ns * 1e-9, view->clock.real_time_factor,
                  view_quantile_us(&header->lateness, 0.5), view_quantile_us(&header->lateness, 0.99),
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
