/* otolith record: records a running world as an MCAP file. */
#include <inttypes.h>

#include "attach/mirror.h"
#include "bar.h"
#include "cli.h"
#include "follow.h"
#include "json.h"
#include "record/recording.h"

enum { MOST_TOPICS = 256 };
#define FIRST_SAMPLE_NS INT64_C(2000000000) /* a paused world sends none */

struct options {
    struct cli_common common;
    struct cli_follow follow;
    struct cli_remote remote;
    const char *topics[MOST_TOPICS];
    struct recording_options recording;
};

static const struct argp_option rows[] = {
    {"output", 'o', "FILE", 0, "the recording (WORLD.mcap)", 0},
    {"for", 'f', "DURATION", 0, "end after this simulated time (60s, 2min)", 0},
    {"uncompressed", 'u', NULL, 0, "chunks without zstd: larger, and three times as fast", 0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        state->child_inputs[1] = &options->follow;
        state->child_inputs[2] = &options->remote;
        return 0;
    case 'o':
        options->recording.path = argument;
        return 0;
    case 'f':
        options->recording.for_ns = cli_option_duration(state, "--for", argument, 1);
        return 0;
    case 'u':
        options->recording.plain = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->recording.topic_count == MOST_TOPICS) {
            argp_error(state, "at most %d topics; without any all are recorded", (int)MOST_TOPICS);
        }
        options->topics[options->recording.topic_count++] = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* After a crash or a restored checkpoint the recording continues in the next run, but not over the wire. OTO_CLOSED: there is none. */
static enum oto_status follow(struct oto_client *client, const struct options *options, struct recording *recording, struct oto_error *error)
{
    uint64_t count = 1;
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && count > 0) {
        status = recording_drain(recording, &count, error);
    }
    if (status == OTO_OK && oto_client_is_mirror(client)) {
        cli_print_line(stderr, "otolith: %s: the recording ends there", oto_mirror_reason(client));
        return OTO_CLOSED;
    }
    if (status == OTO_OK) {
        status = cli_follow(client, &options->follow, error);
    }
    return status == OTO_OK ? recording_resume(recording, error) : status;
}

static void show_progress(struct cli_bar *bar, const struct recording *recording, int64_t done_ns, int64_t for_ns)
{
    char text[96];
    if (cli_bar_is_due(bar)) {
        const struct recording_counts counts = recording_counts(recording);
        (void)snprintf(text, sizeof text, "%" PRIu64 " samples, %.1f MB, %" PRIu64 " lost", counts.samples, (double)counts.bytes * 1e-6,
                       counts.lost);
        cli_bar_show(bar, (uint64_t)(done_ns < for_ns ? done_ns : for_ns), (uint64_t)for_ns, text);
    }
}

static enum oto_status record(struct oto_client *client, const struct options *options, struct recording *recording, struct oto_error *error)
{
    const int64_t for_ns = options->recording.for_ns;
    enum oto_status status = OTO_OK;
    struct oto_clock start = {0};
    struct cli_bar bar;
    (void)oto_client_clock(client, &start);
    cli_bar_begin(&bar);
    while (status == OTO_OK && !cli_interrupted()) {
        struct oto_clock clock = {0};
        uint64_t count = 0;
        const bool over = oto_client_run_is_over(client);
        (void)oto_client_clock(client, &clock);
        status = recording_drain(recording, &count, error);
        show_progress(&bar, recording, clock.sim_time_ns - start.sim_time_ns, for_ns);
        if (status == OTO_OK && count == 0 && over) {
            cli_bar_end(&bar);
            status = follow(client, options, recording, error);
        } else if (status == OTO_OK && count == 0) {
            cli_wait_for_records(client, clock.tick, 5);
        }
    }
    cli_bar_end(&bar);
    return status == OTO_CLOSED ? OTO_OK : status;
}

/* Over the wire there is no time before the first sample: `--for` counts from it. */
static struct oto_client *open_world(const struct options *options)
{
    if (options->remote.url == NULL) {
        return cli_observe(&options->common, options->recording.topic_count > 0 ? options->topics[0] : NULL);
    }
    struct oto_client *client = cli_subscribe(&options->remote, "");
    if (client != NULL) {
        struct oto_clock clock;
        cli_await_sample(client, FIRST_SAMPLE_NS);
        if (oto_client_clock(client, &clock) == OTO_AGAIN && !cli_interrupted()) {
            cli_print_line(stderr, "otolith: no sample has arrived yet: the recording begins with the first one");
            cli_await_sample(client, INT64_MAX / 2);
        }
    }
    return client;
}

static void print_json(const char *path, const struct recording_counts *counts)
{
    struct oto_json json = {.to = stdout};
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "file", path);
    oto_json_u64(&json, "samples", counts->samples);
    oto_json_u64(&json, "lost", counts->lost);
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
}

int cli_record(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&cli_common_argp, 0, NULL, 0}, {&cli_follow_argp, 0, NULL, 0}, {&cli_samples_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .args_doc = "[TOPIC...]",
        .doc = "Record topics of a running world, or all of them, as an MCAP file that Foxglove, Lichtblick, PlotJuggler and ROS 2 "
               "read, that `otolith play` serves again, and whose samples `otolith verify` computes again. Ctrl-C ends it."
               "\vWith --connect the samples come over the wire: a world that is not in real time does not wait for them, the recording "
               "ends with the run, and it has no world file for `otolith verify`.\n\nExit codes: 0 all samples are in the file; 1 it failed, samples were lost, or the server died and did not start again.",
        .children = children};
    static struct options options;
    char path[OTO_WORLD_NAME_BYTES + 8];
    struct recording *recording = NULL;
    struct oto_error error = {0};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    struct oto_client *client = open_world(&options);
    if (client == NULL) {
        return CLI_FAILED;
    }
    (void)snprintf(path, sizeof path, "%s.mcap", oto_client_header(client)->world);
    options.recording.path = options.recording.path != NULL ? options.recording.path : path;
    options.recording.topics = options.topics;
    enum oto_status status = recording_open(&options.recording, client, &recording, &error);
    if (status != OTO_OK) {
        oto_client_close(client);
        return cli_say(&error);
    }
    const enum oto_status recorded = record(client, &options, recording, &error);
    const struct recording_counts counts = recording_counts(recording);
    status = recording_close(recording, recorded == OTO_OK ? &error : &(struct oto_error){0});
    oto_client_close(client);
    if (recorded != OTO_OK || status != OTO_OK) {
        (void)cli_say(&error);
    }
    if ((recorded != OTO_OK && recorded != OTO_NOT_FOUND /* the world is gone; its recording is whole */) || status != OTO_OK) {
        return CLI_FAILED;
    }
    if (options.common.json) {
        print_json(options.recording.path, &counts);
    }
    cli_print_line(stderr, "%s: %" PRIu64 " samples, %" PRIu64 " lost", options.recording.path, counts.samples, counts.lost);
    return counts.lost > 0 || recorded != OTO_OK ? CLI_FAILED : CLI_OK;
}
