#include "record/recording_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/mirror.h"
#include "base/monotonic.h"
#include "base/pattern.h"
#include "otolith/version.h"

#define CHUNK_BYTES (1u << 20)
#define FLUSH_NS INT64_C(1000000000)      /* real time */
#define VIEW_PERIOD_NS INT64_C(10000000)  /* simulated */
#define DIAGNOSTICS_PERIOD_NS INT64_C(1000000000)
#define ZSTD_LEVEL 1
#define WIRE_SETTLE_NS INT64_C(2000000000) /* simulated time after the end of a recording, for topics that have stopped */
enum { BATCH = 256 };

/* ---- channels ---- */

enum oto_status recording_add_channel(struct recording *recording, uint16_t schema, const char *topic, uint16_t *id,
                                      struct oto_error *error)
{
    static const struct oto_mcap_pair metadata[] = {{"offered_qos_profiles", ""}, {"topic_type_hash", ""}};
    const struct oto_mcap_channel_spec spec = {
        .schema = schema, .topic = topic, .message_encoding = "cdr", .metadata = metadata, .metadata_count = 2};
    return oto_mcap_add_channel(recording->writer, &spec, id, error);
}

static enum oto_status add_type(struct recording *recording, const struct oto_ros_type *ros, uint16_t *schema,
                                struct oto_error *error)
{
    const char *definition = oto_ros_type_definition(ros);
    return oto_mcap_add_schema(recording->writer, oto_ros_type_name(ros), "ros2msg", definition, strlen(definition), schema,
                               error);
}

static enum oto_status add_view_channel(struct recording *recording, enum oto_ros_view view, const char *topic, uint16_t *id,
                                        struct oto_error *error)
{
    const char *definition = oto_ros_view_definition(view);
    enum oto_status status = OTO_OK;
    if (recording->schemas[view] == 0) {
        status = oto_mcap_add_schema(recording->writer, oto_ros_view_name(view), "ros2msg", definition, strlen(definition),
                                     &recording->schemas[view], error);
    }
    return status == OTO_OK ? recording_add_channel(recording, recording->schemas[view], topic, id, error) : status;
}

/* Adds a view of a channel. All vehicles share the topic /tf, and all events share /rosout. */
static enum oto_status add_view(struct recording *recording, struct recording_row *row, enum oto_ros_view view,
                                struct oto_error *error)
{
    char topic[OTO_ROS_TOPIC_BYTES + 16];
    struct recording_view *to = &row->views[row->view_count];
    const char *below = view == OTO_ROS_ODOMETRY ? "odometry" : view == OTO_ROS_FIX ? "fix" : view == OTO_ROS_PRESSURE ? "pressure" : NULL;
    if (below != NULL) {
        (void)snprintf(topic, sizeof topic, "%s/%s", row->topic, below);
    } else {
        (void)snprintf(topic, sizeof topic, "%s", view == OTO_ROS_TRANSFORM ? "/tf" : "/rosout");
        for (uint32_t i = 0; i < recording->count && to->id == 0; i++) {
            const struct recording_row *other = &recording->rows[i];
            for (uint32_t k = 0; k < other->view_count; k++) {
                to->id = other->views[k].view == view ? other->views[k].id : to->id;
            }
        }
    }
    to->view = view;
    const enum oto_status status = to->id != 0 ? OTO_OK : add_view_channel(recording, view, topic, &to->id, error);
    row->view_count += status == OTO_OK;
    return status;
}

static enum oto_status add_row(struct recording *recording, uint32_t index, struct oto_error *error)
{
    static const enum oto_ros_view views[] = {OTO_ROS_TRANSFORM, OTO_ROS_ODOMETRY, OTO_ROS_FIX, OTO_ROS_PRESSURE, OTO_ROS_LOG};
    struct recording_row *row = &recording->rows[index];
    uint16_t schema = 0;
    enum oto_status status = oto_ros_type_make(&row->channel->type, &row->ros, error);
    for (uint32_t i = 0; i < index && status == OTO_OK && schema == 0; i++) { /* channels of one type share a schema */
        const struct recording_row *other = &recording->rows[i];
        schema = other->channel->type_hash == row->channel->type_hash ? other->schema : 0;
    }
    if (status == OTO_OK && schema == 0) {
        status = add_type(recording, row->ros, &schema, error);
    }
    row->schema = schema;
    if (status == OTO_OK) {
        status = recording_add_channel(recording, schema, row->topic, &row->id, error);
    }
    for (size_t i = 0; i < sizeof views / sizeof *views && status == OTO_OK; i++) {
        if (oto_ros_view_of(views[i], &row->channel->type)) {
            status = add_view(recording, row, views[i], error);
        }
    }
    return status;
}

/* A topic that was asked for: one channel, or the pattern of several. */
struct wish {
    const char *pattern;
    const struct oto_channel *channel;
    bool matched;
};

static bool is_wished(const struct recording *recording, struct wish *wishes, uint32_t count, const struct oto_channel *channel)
{
    const bool shown = recording->over_wire || cli_is_shown(channel);
    bool wished = count == 0 && shown;
    for (uint32_t i = 0; i < count; i++) {
        const bool matches = wishes[i].channel == channel ||
                             (shown && wishes[i].pattern != NULL &&
                              srv_pattern_matches_in(wishes[i].pattern, oto_client_header(recording->client)->world, channel->topic));
        wishes[i].matched = wishes[i].matched || matches;
        wished = wished || matches;
    }
    return wished;
}

static enum oto_status choose_wished(struct recording *recording, struct wish *wishes, uint32_t count, struct oto_error *error)
{
    for (uint32_t i = 0; i < oto_client_channel_count(recording->client); i++) {
        const struct oto_channel *channel = oto_client_channel(recording->client, i);
        if (is_wished(recording, wishes, count, channel)) {
            struct recording_row *row = &recording->rows[recording->count++];
            row->channel = channel;
            row->reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!wishes[i].matched) {
            return oto_fail(error, OTO_NOT_FOUND, "no topic matches '%s'; otolith ls lists the topics", wishes[i].pattern);
        }
    }
    return OTO_OK;
}

static enum oto_status choose_rows(struct recording *recording, const struct recording_options *options,
                                   struct oto_error *error)
{
    const uint32_t all = oto_client_channel_count(recording->client);
    struct wish *wishes = calloc((size_t)options->topic_count + 1, sizeof *wishes);
    enum oto_status status = OTO_OK;
    recording->rows = calloc((size_t)all + 1, sizeof *recording->rows);
    recording->next = calloc((size_t)all + 1, sizeof *recording->next);
    if (recording->rows == NULL || recording->next == NULL || wishes == NULL) {
        status = oto_fail(error, OTO_NO_MEMORY, "no memory to record %u topics", all);
    }
    for (uint32_t i = 0; i < options->topic_count && status == OTO_OK; i++) {
        const char *topic = options->topics[i];
        if (srv_is_pattern(topic)) {
            wishes[i].pattern = topic;
        } else if ((wishes[i].channel = oto_client_find(recording->client, topic, error)) == NULL) {
            status = error->status;
        }
    }
    status = status == OTO_OK ? choose_wished(recording, wishes, options->topic_count, error) : status;
    free(wishes);
    return status;
}

static int compare_topics(const void *a, const void *b)
{
    return strcmp((*(const struct recording_row *const *)a)->topic, (*(const struct recording_row *const *)b)->topic);
}

/* Topics that differ in their characters only, which ROS does not have, are one topic in ROS. */
static enum oto_status check_names(const struct recording *recording, struct oto_error *error)
{
    const struct recording_row **sorted = calloc((size_t)recording->count + 1, sizeof *sorted);
    enum oto_status status = sorted != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory to record %u topics", recording->count);
    for (uint32_t i = 0; i < recording->count && sorted != NULL; i++) {
        sorted[i] = &recording->rows[i];
    }
    if (sorted != NULL) {
        qsort(sorted, recording->count, sizeof *sorted, compare_topics);
    }
    for (uint32_t i = 1; i < recording->count && status == OTO_OK; i++) {
        if (compare_topics(&sorted[i - 1], &sorted[i]) == 0) {
            const bool ordered = sorted[i - 1] < sorted[i];
            status = oto_fail(error, OTO_CONFLICT, "the topics '%s' and '%s' are both '%s' in ROS: record them into two files",
                              sorted[ordered ? i - 1 : i]->channel->topic, sorted[ordered ? i : i - 1]->channel->topic, sorted[i]->topic);
        }
    }
    free(sorted);
    return status;
}

static enum oto_status add_channels(struct recording *recording, struct oto_error *error)
{
    enum oto_status status = oto_ros_type_make(&oto_ros_head_type, &recording->head_type, error);
    for (uint32_t i = 0; i < recording->count; i++) {
        oto_ros_topic(oto_client_header(recording->client)->world, recording->rows[i].channel->topic, recording->rows[i].topic);
    }
    status = status == OTO_OK ? check_names(recording, error) : status;
    for (uint32_t i = 0; i < recording->count && status == OTO_OK; i++) {
        status = add_row(recording, i, error);
    }
    if (status == OTO_OK) {
        status = add_view_channel(recording, OTO_ROS_CLOCK, "/clock", &recording->clock_id, error);
    }
    return status == OTO_OK && !recording->over_wire
               ? add_view_channel(recording, OTO_ROS_DIAGNOSTICS, "/diagnostics", &recording->diagnostics_id, error)
               : status;
}

/* ---- opening ---- */

static void acknowledge(struct recording *recording)
{
    if (recording->over_wire) {
        return;
    }
    for (uint32_t i = 0; i < recording->count; i++) {
        recording->next[i] = oto_reader_position(&recording->rows[i].reader);
    }
    recording->unacknowledged = oto_lossless_acknowledge(recording->client, recording->next, recording->count) == OTO_AGAIN;
}

/* Asks the world to wait for this recording before it overwrites a record that the recording has not read. */
static enum oto_status begin_lossless(struct recording *recording, struct oto_error *error)
{
    if (recording->over_wire) {
        return OTO_OK;
    }
    const struct oto_channel **channels = calloc((size_t)recording->count + 1, sizeof *channels);
    if (channels == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to record %u topics", recording->count);
    }
    for (uint32_t i = 0; i < recording->count; i++) {
        channels[i] = recording->rows[i].channel;
    }
    const enum oto_status status = oto_lossless_begin(recording->client, channels, recording->count, error);
    free(channels);
    if (status == OTO_OK) {
        acknowledge(recording); /* the world counts from its newest records, but the readers begin at the oldest */
    }
    return status;
}

/*
 * The recording begins with the next samples. Those that the rings still hold are left out: the world overwrites some of them while
 * it is asked to wait. Over the wire the rings hold what has arrived since the subscription.
 */
static enum oto_status begin(struct recording *recording, struct oto_error *error)
{
    struct oto_clock clock = {0};
    const enum oto_status status = begin_lossless(recording, error);
    for (uint32_t i = 0; i < recording->count && status == OTO_OK && !recording->over_wire; i++) {
        recording->rows[i].reader = oto_reader_make(recording->rows[i].channel, OTO_READ_FROM_NOW);
    }
    if (status == OTO_OK) {
        acknowledge(recording);
    }
    (void)oto_client_clock(recording->client, &clock);
    recording->start_ns = clock.sim_time_ns;
    return status;
}

static enum oto_status open_file(struct recording *recording, const struct recording_options *options,
                                 struct oto_error *error)
{
    const enum oto_status status = oto_output_file_open(&recording->output, options->path, 0, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_mcap_options mcap = {.fd = fileno(recording->output.file),
                                          .path = options->path,
                                          .profile = "ros2",
                                          .library = "otolith " OTO_VERSION_STRING,
                                          .parts = OTO_MCAP_ALL_PARTS,
                                          .zstd_level = options->plain ? 0 : ZSTD_LEVEL,
                                          .chunk_bytes = CHUNK_BYTES};
    return oto_mcap_writer_open(&mcap, &recording->writer, error);
}

/*
 * The file is made after all topics are found. A fleet is asked to wait only when the file has all that comes before its samples, because
 * it goes on without a reader that reads nothing for five seconds. Then the file gets its name: no sample from that moment on is lost.
 */
static enum oto_status start(struct recording *recording, const struct recording_options *options, struct oto_error *error)
{
    enum oto_status status = choose_rows(recording, options, error);
    if (status == OTO_OK) {
        status = open_file(recording, options, error);
    }
    if (status == OTO_OK) {
        status = recording_attach_origin(recording, options, error);
    }
    if (status == OTO_OK) {
        status = add_channels(recording, error);
    }
    if (status == OTO_OK) { /* last: a world without a pace waits for the recorder from here on, and not for long */
        status = begin(recording, error);
    }
    if (status == OTO_OK) {
        status = oto_output_file_take_name(&recording->output, error);
    }
    recording->has_end = options->for_ns > 0;
    recording->end_ns = recording->start_ns + options->for_ns;
    recording->flush_ns = srv_now_ns() + FLUSH_NS;
    return status;
}

static void release(struct recording *recording)
{
    for (uint32_t i = 0; i < recording->count; i++) {
        oto_ros_type_free(recording->rows[i].ros);
    }
    oto_ros_type_free(recording->head_type);
    oto_mcap_writer_close(recording->writer);
    oto_buffer_free(&recording->message);
    free(recording->rows);
    free(recording->next);
    free(recording->heads);
    free(recording->payloads);
    free(recording->log_path);
    free(recording);
}

enum oto_status recording_open(const struct recording_options *options, struct oto_client *client, struct recording **out,
                               struct oto_error *error)
{
    struct recording *recording = calloc(1, sizeof *recording);
    struct oto_error ignored;
    *out = NULL;
    if (recording == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a recording");
    }
    recording->client = client;
    recording->over_wire = oto_client_is_mirror(client);
    recording->heads = malloc(BATCH * sizeof *recording->heads);
    recording->payloads = malloc((size_t)BATCH * OTO_RECORD_MAX_BYTES);
    const enum oto_status status = recording->heads != NULL && recording->payloads != NULL
                                       ? start(recording, options, error)
                                       : oto_fail(error, OTO_NO_MEMORY, "no memory for a recording");
    if (status != OTO_OK) {
        (void)oto_output_file_close(&recording->output, status, &ignored);
        release(recording);
        return status;
    }
    *out = recording;
    return OTO_OK;
}

enum oto_status recording_resume(struct recording *recording, struct oto_error *error)
{
    return begin_lossless(recording, error);
}

/* ---- samples ---- */

static enum oto_status put_message(struct recording *recording, uint16_t channel, const struct oto_sample_head *head,
                                   bool with_next, struct oto_error *error)
{
    const uint64_t time_ns = head->t_ns > 0 ? (uint64_t)head->t_ns : 0;
    const struct oto_mcap_message message = {.channel = channel,
                                             .sequence = (uint32_t)head->seq,
                                             .log_time_ns = time_ns,
                                             .publish_time_ns = time_ns,
                                             .data = recording->message.data,
                                             .bytes = recording->message.bytes,
                                             .with_next = with_next};
    recording->last_ns = time_ns > recording->last_ns ? time_ns : recording->last_ns;
    return oto_mcap_write(recording->writer, &message, error);
}

static enum oto_status put(struct recording *recording, uint16_t channel, const struct oto_sample_head *head,
                           struct oto_error *error)
{
    return put_message(recording, channel, head, false, error);
}

/* Writes the sample head for a standard message, which cannot contain it, if the head has flags or another sensor time. */
static enum oto_status put_head(struct recording *recording, struct recording_row *row, const struct oto_sample_head *head,
                                struct oto_error *error)
{
    char topic[OTO_ROS_TOPIC_BYTES + 8];
    if (oto_ros_type_has_sample_head(row->ros) || (head->flags == 0 && head->sensor_time_ns == head->t_ns)) {
        return OTO_OK;
    }
    enum oto_status status = OTO_OK;
    if (recording->head_schema == 0) {
        status = add_type(recording, recording->head_type, &recording->head_schema, error);
    }
    if (status == OTO_OK && row->head_id == 0) {
        (void)snprintf(topic, sizeof topic, "%s" RECORDING_HEAD, row->topic);
        status = recording_add_channel(recording, recording->head_schema, topic, &row->head_id, error);
    }
    if (status == OTO_OK) {
        status = oto_ros_encode(recording->head_type, row->channel->frame_id, head, NULL, &recording->message);
    }
    return status == OTO_OK ? put_message(recording, row->head_id, head, true, error) : status;
}

static enum oto_status put_clock(struct recording *recording, const struct oto_sample_head *head, struct oto_error *error)
{
    if (head->t_ns < recording->next_clock_ns) {
        return OTO_OK;
    }
    recording->next_clock_ns = head->t_ns + VIEW_PERIOD_NS;
    (void)oto_ros_view_encode(OTO_ROS_CLOCK, NULL, "", head, NULL, &recording->message);
    return put(recording, recording->clock_id, head, error);
}

static enum oto_status put_views(struct recording *recording, struct recording_row *row, const struct oto_sample_head *head,
                                 const void *payload, struct oto_error *error)
{
    enum oto_status status = put_clock(recording, head, error);
    for (uint32_t i = 0; i < row->view_count && status == OTO_OK; i++) {
        struct recording_view *view = &row->views[i];
        if (view->view != OTO_ROS_LOG && head->t_ns < view->next_ns) {
            continue;
        }
        view->next_ns = head->t_ns + VIEW_PERIOD_NS;
        (void)oto_ros_view_encode(view->view, &row->channel->type, row->channel->frame_id, head, payload, &recording->message);
        status = put(recording, view->id, head, error);
    }
    return status;
}

/* Writes the sample head before the sample, so that a reader knows the head when it reads the sample. */
static enum oto_status put_sample(struct recording *recording, struct recording_row *row, const struct oto_sample_head *head,
                                  const void *payload, struct oto_error *error)
{
    enum oto_status status = put_head(recording, row, head, error);
    if (status == OTO_OK &&
        (status = oto_ros_encode(row->ros, row->channel->frame_id, head, payload, &recording->message)) != OTO_OK) {
        return oto_fail(error, status, "a sample of %s at %.9g s cannot be a ROS message: its stamp has 32 bits of seconds",
                        row->channel->topic, (double)head->t_ns * 1e-9);
    }
    if (status == OTO_OK) {
        status = put(recording, row->id, head, error);
    }
    recording->samples += status == OTO_OK;
    return status == OTO_OK ? put_views(recording, row, head, payload, error) : status;
}

/*
 * Records of a topic that are read before those of the next one. Of many topics they are few, so that the chunks of the file are
 * nearly in the order of time: a player reads at most 64 chunks together.
 */
static uint32_t batch_of(const struct recording *recording)
{
    const uint32_t share = BATCH * BATCH / (recording->count + 1);
    return share > BATCH ? BATCH : share > 0 ? share : 1;
}

static enum oto_status drain_row(struct recording *recording, struct recording_row *row, uint64_t *total,
                                 struct oto_error *error)
{
    const size_t count = row->over ? 0 : oto_reader_read(&row->reader, recording->heads, recording->payloads, batch_of(recording));
    enum oto_status status = OTO_OK;
    for (size_t i = 0; i < count && status == OTO_OK && !row->over; i++) {
        const struct oto_sample_head *head = &recording->heads[i];
        row->over = recording->has_end && head->t_ns > recording->end_ns;
        if (!row->over) {
            status = put_sample(recording, row, head, recording->payloads + i * row->channel->type.bytes, error);
        }
    }
    *total += count;
    return status;
}

/* Once a second of simulated time, as often as the samples are read. */
static enum oto_status diagnose_when_due(struct recording *recording, struct oto_error *error)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(recording->client, &clock);
    if (recording->over_wire || clock.sim_time_ns < recording->next_diagnostics_ns) {
        return OTO_OK;
    }
    recording->next_diagnostics_ns = clock.sim_time_ns + DIAGNOSTICS_PERIOD_NS;
    return recording_put_diagnostics(recording, &clock, error);
}

/* Writes the data in memory to the file once a second of real time. */
static enum oto_status flush_when_due(struct recording *recording, struct oto_error *error)
{
    const int64_t now_ns = srv_now_ns();
    if (now_ns < recording->flush_ns) {
        return OTO_OK;
    }
    recording->flush_ns = now_ns + FLUSH_NS;
    const enum oto_status status = recording_attach_log(recording, error);
    return status == OTO_OK ? oto_mcap_flush(recording->writer, error) : status;
}

/* Over the wire the samples of one instant arrive one topic after the other: the end has passed when all topics have passed it. */
static bool all_have_passed(const struct recording *recording)
{
    for (uint32_t i = 0; i < recording->count; i++) {
        const struct recording_row *row = &recording->rows[i];
        if (!row->over && row->channel->rate_num > 0 && oto_ring_newest(&row->channel->view) > 0) {
            return false;
        }
    }
    return true;
}

static bool is_over(const struct recording *recording)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(recording->client, &clock);
    return recording->has_end && clock.sim_time_ns >= recording->end_ns &&
           (!recording->over_wire || clock.sim_time_ns >= recording->end_ns + WIRE_SETTLE_NS || all_have_passed(recording));
}

enum oto_status recording_drain(struct recording *recording, uint64_t *count, struct oto_error *error)
{
    const bool over = is_over(recording); /* checked before the samples are read, so that no sample is missed */
    *count = 0;
    for (uint32_t i = 0; i < recording->count && recording->status == OTO_OK; i++) {
        recording->status = drain_row(recording, &recording->rows[i], count, &recording->error);
    }
    if (recording->status == OTO_OK) {
        recording->status = diagnose_when_due(recording, &recording->error);
    }
    if (recording->status == OTO_OK) {
        recording->status = flush_when_due(recording, &recording->error);
    }
    if (*count > 0 || recording->unacknowledged) {
        acknowledge(recording);
    }
    if (recording->status != OTO_OK) {
        *error = recording->error;
        return recording->status;
    }
    return over && *count == 0 ? OTO_CLOSED : OTO_OK;
}

/* ---- the end ---- */

struct recording_counts recording_counts(const struct recording *recording)
{
    struct recording_counts counts = {.samples = recording->samples, .bytes = oto_mcap_writer_bytes(recording->writer)};
    for (uint32_t i = 0; i < recording->count; i++) {
        counts.lost += recording->rows[i].reader.cursor.lost;
    }
    return counts;
}

static void report_lost(const struct recording *recording)
{
    for (uint32_t i = 0; i < recording->count; i++) {
        const struct recording_row *row = &recording->rows[i];
        if (row->reader.cursor.lost > 0) {
            cli_print_line(stderr, "otolith: '%s' lacks %" PRIu64 " samples of %s: the recording was too slow for the world",
                           recording->output.path, row->reader.cursor.lost, row->channel->topic);
        }
    }
}

/* The server writes the inputs of all published samples to its log before it replies. */
static void await_log(struct oto_client *client)
{
    struct oto_reply reply;
    struct oto_error ignored;
    (void)oto_control_info(client, &reply, &ignored); /* without a reply the log is as the server left it */
}

enum oto_status recording_close(struct recording *recording, struct oto_error *error)
{
    uint64_t count;
    while (recording->status == OTO_OK && recording_drain(recording, &count, error) == OTO_OK && count > 0) {
    }
    if (recording->log_path != NULL && !oto_client_run_is_over(recording->client)) {
        await_log(recording->client);
    }
    if (recording->status == OTO_OK) {
        recording->status = recording_attach_log(recording, &recording->error);
    }
    if (recording->status == OTO_OK) {
        recording->status = recording_add_end(recording, &recording->error);
    }
    if (recording->status == OTO_OK) {
        recording->status = oto_mcap_writer_finish(recording->writer, &recording->error);
    }
    report_lost(recording);
    *error = recording->error;
    const enum oto_status status = oto_output_file_close(&recording->output, recording->status, error);
    release(recording);
    return status;
}
