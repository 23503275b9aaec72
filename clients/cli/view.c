#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/mirror.h"
#include "base/pattern.h"
#include "mount_calibration/calibration.h"
#include "otolith/records.h"
#include "view_mount.h"

enum { FIRST_PAGE = 64 }; /* number of rows that are read before the first drawing, when the size of the page is unknown */

#define RATE_WINDOW_S 1.0 /* of simulated time */

/* The field of a record that is shown first. Of records that are not in this table it is the first number. */
static const struct {
    const char *record, *field;
} shown_fields[] = {
    {"imu", "linear_acceleration.x"},
    {"mag", "magnetic_field.x"},
    {"odometry", "speed_m_s"},
    {"truth", "longitudinal_speed_m_s"},
};

static const char *first_shown_field(const struct oto_record_type *type)
{
    for (size_t i = 0; i < sizeof shown_fields / sizeof *shown_fields; i++) {
        if (strcmp(type->name, shown_fields[i].record) == 0) {
            return shown_fields[i].field;
        }
    }
    return "";
}

static const struct oto_field *field_of(const struct oto_record_type *type)
{
    const char *wanted = first_shown_field(type);
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

void view_row_next_field(struct view_row *row, int step)
{
    const struct oto_record_type *type = &row->channel->type;
    if (row->field == NULL) {
        return;
    }
    uint32_t next = (uint32_t)(row->field - type->fields);
    do {
        next = (next + (step > 0 ? 1 : type->field_count - 1)) % type->field_count;
    } while (type->fields[next].type == OTO_FIELD_TEXT);
    row->field = &type->fields[next];
    row->points = 0;
    row->last = NAN;
}

static bool is_truth_of(const struct oto_channel *other, const char *vehicle, size_t prefix)
{
    return (other->flags & OTO_CHANNEL_TRUTH) != 0 && strncmp(other->node, vehicle, prefix) == 0 &&
           strchr(other->node + prefix, '/') == NULL && strcmp(other->type.name, "truth") == 0;
}

/* The truth channel of the vehicle that a node belongs to: the channels of a vehicle are next to each other. */
static const struct oto_channel *truth_of(const struct oto_client *client, const struct oto_channel *channel)
{
    const char *slash = strrchr(channel->node, '/');
    const size_t prefix = slash != NULL ? (size_t)(slash - channel->node) + 1 : 0;
    for (int step = -1; step <= 1; step += 2) {
        const struct oto_channel *other = channel;
        for (uint32_t i = channel->index; other != NULL && strncmp(other->node, channel->node, prefix) == 0; i += (uint32_t)step) {
            if (is_truth_of(other, channel->node, prefix)) {
                return other;
            }
            other = oto_client_channel(client, i + (uint32_t)step);
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

static void init_row(const struct view *view, struct view_row *row, const struct oto_channel *channel)
{
    row->channel = channel;
    row->is_found = true;
    row->truth = truth_of(view->client, channel);
    row->field = (channel->flags & OTO_CHANNEL_EVENTS) != 0 ? NULL : field_of(&channel->type);
    row->reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
    init_mount(view, row);
}

enum oto_status view_init(struct view *view, struct oto_client *client, const char *pattern, struct oto_error *error)
{
    const uint32_t count = oto_client_channel_count(client);
    memset(view, 0, sizeof *view);
    view->client = client;
    view->is_mirror = oto_client_is_mirror(client);
    view->shown_last = isatty(STDOUT_FILENO) != 0 ? FIRST_PAGE : UINT32_MAX;
    view->rows = calloc((size_t)count + 1, sizeof *view->rows);
    view->shown = calloc((size_t)count + 1, sizeof *view->shown);
    view->payload = malloc(OTO_RECORD_MAX_BYTES);
    if (view->rows == NULL || view->shown == NULL || view->payload == NULL) {
        view_finish(view);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the live view");
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (pattern == NULL || srv_pattern_matches_in(pattern, oto_client_header(client)->world, channel->topic)) {
            init_row(view, &view->rows[view->row_count++], channel);
        }
    }
    if (pattern != NULL && view->row_count == 0) {
        view_finish(view);
        return oto_fail(error, OTO_NOT_FOUND, "no topic matches '%s'; otolith ls lists the topics", pattern);
    }
    return OTO_OK;
}

void view_apply_find(struct view *view)
{
    const char *world = oto_client_header(view->client)->world;
    for (uint32_t i = 0; i < view->row_count; i++) {
        const char *topic = view->rows[i].channel->topic;
        view->rows[i].is_found = srv_is_pattern(view->find) ? srv_pattern_matches_in(view->find, world, topic)
                                                            : strstr(topic, view->find) != NULL;
    }
    view->selected = 0;
    view->first = 0;
}

void view_finish(struct view *view)
{
    free(view->rows);
    free(view->shown);
    free(view->payload);
    memset(view, 0, sizeof *view);
}

/* The value that an ideal sensor would have in the field that is shown first; NaN for other fields. */
static double reference_of(const struct view_row *row)
{
    struct oto_truth_record truth;
    struct oto_sample_head head;
    if (strcmp(row->field->name, first_shown_field(&row->channel->type)) != 0 || row->truth == NULL || row->truth->type.bytes != sizeof truth ||
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

/* True if the view reads every record: in mode realtime. In other modes it reads only the newest, so as not to slow the run. */
static bool reads_in_order(const struct view *view)
{
    return __atomic_load_n(&oto_client_header(view->client)->mode, __ATOMIC_RELAXED) == OTO_MODE_REALTIME;
}

/* Updates a row. Records are read for visible rows only, because a world may have tens of thousands of topics. */
static void update_row(struct view *view, struct view_row *row, double elapsed_s, bool visible)
{
    struct oto_sample_head head;
    bool have = false;
    if (visible && reads_in_order(view)) {
        for (uint32_t i = 0; i < 100000; i++) {
            if (oto_reader_next(&row->reader, &head, view->payload, OTO_RECORD_MAX_BYTES) != OTO_OK) {
                break;
            }
            have = true;
        }
    } else {
        have = visible && oto_channel_latest(row->channel, &head, view->payload, OTO_RECORD_MAX_BYTES) == OTO_OK;
        row->reader.cursor.next = oto_ring_newest(&row->channel->view) + 1;
    }
    row->samples = oto_ring_newest(&row->channel->view);
    if (elapsed_s >= RATE_WINDOW_S || (elapsed_s > 0.0 && row->rate_hz == 0.0)) {
        row->rate_hz = (double)(row->samples - row->samples_before) / elapsed_s;
    }
    if (elapsed_s >= RATE_WINDOW_S) {
        row->samples_before = row->samples;
    }
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

/* Over the wire the numbers of samples begin when the mirror was opened, not with the run. */
static void begin_rates(struct view *view)
{
    view->has_begun = true;
    view->sim_before_ns = view->clock.sim_time_ns;
    for (uint32_t i = 0; i < view->row_count; i++) {
        view->rows[i].samples_before = oto_ring_newest(&view->rows[i].channel->view);
    }
}

void view_update(struct view *view)
{
    if (view->is_mirror) {
        oto_mirror_catch_up(view->client);
    }
    if (oto_client_clock(view->client, &view->clock) != OTO_OK) {
        return;
    }
    if (view->is_mirror && !view->has_begun) {
        begin_rates(view);
    }
    const double elapsed_s = (double)(view->clock.sim_time_ns - view->sim_before_ns) * 1e-9;
    view->shown_count = 0;
    for (uint32_t i = 0; i < view->row_count; i++) {
        const uint32_t at = view->shown_count;
        const bool is_shown = view->rows[i].is_found && cli_is_shown(view->rows[i].channel);
        update_row(view, &view->rows[i], elapsed_s, is_shown && at >= view->first && at <= view->shown_last);
        view->shown[at] = &view->rows[i];
        view->shown_count += is_shown;
    }
    view->sim_before_ns = elapsed_s >= RATE_WINDOW_S ? view->clock.sim_time_ns : view->sim_before_ns;
}
