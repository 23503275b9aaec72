#include "source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/pattern.h"

static error_t parse_source(int key, char *argument, struct argp_state *state)
{
    struct cli_source_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        state->child_inputs[1] = &options->follow;
        state->child_inputs[2] = &options->remote;
        return 0;
    case 'v':
        if (strcmp(argument, "shm") != 0 && strcmp(argument, "nng") != 0) {
            argp_error(state, "--via takes shm or nng, not '%s'", argument);
        }
        options->nng = strcmp(argument, "nng") == 0;
        return 0;
    case ARGP_KEY_ARG: cli_take_argument(state, &options->topic, argument); return 0;
    case ARGP_KEY_END:
        if (options->topic == NULL) {
            argp_error(state, "a topic is missing; otolith ls lists the topics");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option source_options[] = {
    {"via", 'v', "shm|nng", 0, "transport of the samples (default shm)", 5},
    {0},
};
static const struct argp_child source_children[] = {{&cli_common_argp, 0, NULL, 0}, {&cli_follow_argp, 0, NULL, 0}, {&cli_samples_argp, 0, NULL, 0}, {0}};
const struct argp cli_source_argp = {.options = source_options, .parser = parse_source, .children = source_children};

/* The ipc endpoint of a world on this machine is in the directory of its control socket. */
static enum oto_status local_url(const struct oto_client *client, char *url, size_t bytes, struct oto_error *error)
{
    char directory[512];
    const enum oto_status status = oto_runtime_directory(directory, sizeof directory, error);
    if (status == OTO_OK) {
        (void)snprintf(url, bytes, "ipc://%s/%s/pub.ipc", directory, oto_client_header(client)->world);
    }
    return status;
}

static void add_row(struct cli_source *source, const struct oto_channel *channel)
{
    source->rows[source->row_count++] =
        (struct cli_source_row){.channel = channel, .reader = oto_reader_make(channel, OTO_READ_FROM_NOW)};
}

static void add_matching(struct cli_source *source, const char *pattern)
{
    const char *world = oto_client_header(source->client)->world;
    for (uint32_t i = 0; i < oto_client_channel_count(source->client); i++) {
        const struct oto_channel *channel = oto_client_channel(source->client, i);
        if (cli_is_shown(channel) && srv_pattern_matches_in(pattern, world, channel->topic)) {
            add_row(source, channel);
        }
    }
}

static enum oto_status open_shm(struct cli_source *source, const char *topic, struct oto_error *error)
{
    const bool pattern = srv_is_pattern(topic);
    const struct oto_channel *channel = pattern ? NULL : oto_client_find(source->client, topic, error);
    if (channel == NULL && !pattern) {
        return error->status;
    }
    source->rows = calloc(pattern ? (size_t)oto_client_channel_count(source->client) + 1 : 1, sizeof *source->rows);
    if (source->rows == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the topics");
    }
    if (pattern) {
        add_matching(source, topic);
    } else {
        add_row(source, channel);
    }
    source->channel = source->rows[0].channel;
    return source->row_count > 0 ? OTO_OK : oto_fail(error, OTO_NOT_FOUND, "no topic matches '%s'; otolith ls lists the topics", topic);
}

struct cli_source *cli_source_open(const struct cli_source_options *options)
{
    struct cli_source *source = calloc(1, sizeof *source);
    struct oto_error error = {0};
    enum oto_status status = OTO_OK;
    char url[1024] = "";
    const char *topic = options->topic;
    if (source == NULL) {
        (void)cli_no_memory();
        return NULL;
    }
    source->follow = options->follow;
    if (srv_is_pattern(topic) && !options->many) {
        (void)oto_fail(&error, OTO_INVALID, "'%s' is a pattern, and one topic is expected; otolith ls '%s' lists its topics", topic, topic);
        (void)cli_say(&error);
        cli_source_close(source);
        return NULL;
    }
    if (options->remote.url == NULL) {
        source->client = cli_observe(&options->common, options->topic);
        if (source->client == NULL) {
            cli_source_close(source);
            return NULL;
        }
        status = open_shm(source, topic, &error);
        if (status == OTO_OK && options->nng) {
            topic = srv_is_pattern(topic) ? topic : source->channel->topic;
            status = local_url(source->client, url, sizeof url, &error);
        }
    } else {
        (void)snprintf(url, sizeof url, "%s", options->remote.url);
    }
    if (status == OTO_OK && url[0] != '\0') {
        status = oto_subscriber_open_tls(url, topic, cli_tls_files(&options->remote.tls), &source->subscriber, &error);
    }
    if (status != OTO_OK) {
        (void)cli_say(&error);
        cli_source_close(source);
        return NULL;
    }
    return source;
}

void cli_source_close(struct cli_source *source)
{
    oto_subscriber_close(source->subscriber);
    oto_client_close(source->client);
    free(source->rows);
    free(source);
}

static enum oto_status follow_shm(struct cli_source *source, struct oto_error *error)
{
    const enum oto_status status = cli_follow(source->client, &source->follow, error);
    for (uint32_t i = 0; i < source->row_count && status == OTO_OK; i++) {
        if (source->rows[i].channel->view.ring == NULL) {
            return oto_fail(error, OTO_NOT_FOUND, "after its restart the world has no topic '%s', or one with another record",
                            source->rows[i].channel->topic);
        }
    }
    return status;
}

/* Reads the next record of one of the topics, in rotation; NULL: no topic has a new record. */
static struct cli_source_row *next_row(struct cli_source *source, struct oto_wire_sample *sample)
{
    for (uint32_t i = 0; i < source->row_count; i++) {
        struct cli_source_row *row = &source->rows[source->next_row];
        source->next_row = (source->next_row + 1) % source->row_count;
        if (oto_reader_next(&row->reader, &sample->head, source->payload, sizeof source->payload) == OTO_OK) {
            return row;
        }
    }
    return NULL;
}

static bool all_are_read(const struct cli_source *source)
{
    bool read = true;
    for (uint32_t i = 0; i < source->row_count && read; i++) {
        read = oto_ring_newest(&source->rows[i].channel->view) < source->rows[i].reader.cursor.next;
    }
    return read;
}

static enum oto_status next_shm(struct cli_source *source, int32_t timeout_ms, struct oto_wire_sample *sample,
                                struct oto_error *error)
{
    const int64_t deadline_ns = srv_now_ns() + (int64_t)timeout_ms * 1000000;
    struct cli_source_row *row;
    while ((row = next_row(source, sample)) == NULL) {
        const int64_t left_ms = (deadline_ns - srv_now_ns()) / 1000000;
        if (left_ms <= 0) {
            return OTO_TIMEOUT;
        }
        struct oto_clock clock = {0};
        (void)oto_client_clock(source->client, &clock);
        enum oto_status status = oto_client_wait_tick(source->client, clock.tick, (int32_t)left_ms);
        if (status == OTO_CLOSED && all_are_read(source)) {
            status = follow_shm(source, error);
            if (status != OTO_OK) {
                return status;
            }
        }
    }
    sample->topic = row->channel->topic;
    sample->epoch = oto_client_header(source->client)->epoch;
    sample->lost = row->reader.cursor.lost - row->lost_before;
    row->lost_before = row->reader.cursor.lost;
    sample->type = &row->channel->type;
    sample->payload = source->payload;
    sample->frame_id = row->channel->frame_id;
    return OTO_OK;
}

/* Called without a connection: waits for the next run of a world on this machine, or for a remote publisher. */
static enum oto_status follow_nng(struct cli_source *source, struct oto_error *error)
{
    if (source->client != NULL) {
        if (oto_client_server_alive(source->client)) {
            return OTO_TIMEOUT; /* the server restarts its publisher */
        }
        const enum oto_status status = cli_follow(source->client, &source->follow, error);
        source->epoch = oto_client_header(source->client)->epoch;
        return status == OTO_OK ? OTO_TIMEOUT : status;
    }
    const int64_t now_ns = srv_now_ns();
    source->silent_ns = source->silent_ns != 0 ? source->silent_ns : now_ns;
    if (now_ns - source->silent_ns < cli_follow_wait_ns(&source->follow)) {
        return OTO_TIMEOUT;
    }
    char why[sizeof error->text];
    memcpy(why, error->text, sizeof why);
    return oto_fail(error, OTO_NOT_FOUND, "%.300s, for %g s; --wait sets the time to wait", why,
                    (double)cli_follow_wait_ns(&source->follow) * 1e-9);
}

static enum oto_status next_nng(struct cli_source *source, int32_t timeout_ms, struct oto_wire_sample *sample,
                                struct oto_error *error)
{
    const enum oto_status status = oto_subscriber_next(source->subscriber, timeout_ms, sample, error);
    if (status == OTO_TIMEOUT && !oto_subscriber_is_up(source->subscriber)) {
        return follow_nng(source, error);
    }
    source->silent_ns = 0;
    if (status == OTO_OK && sample->epoch != source->epoch) {
        if (source->epoch != 0) {
            cli_print_line(stderr, "otolith: the world of %s restarted with epoch %" PRIu64, sample->topic, sample->epoch);
        }
        source->epoch = sample->epoch;
    }
    return status;
}

enum oto_status cli_source_next(struct cli_source *source, int32_t timeout_ms, struct oto_wire_sample *sample,
                                struct oto_error *error)
{
    if (source->subscriber != NULL) {
        return next_nng(source, timeout_ms, sample, error);
    }
    return next_shm(source, timeout_ms, sample, error);
}
