/* otolith hz TOPIC: samples per simulated and per real second, over windows of real time. */
#include "base/monotonic.h"
#include "json.h"
#include "source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
    struct cli_source_options source;
    uint64_t windows; /* 0: until interrupted */
    int64_t window_ns;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->source;
        return 0;
    case 'n':
        options->windows = cli_option_count(state, "-n", argument, 1, UINT64_MAX);
        return 0;
    case 'W':
        options->window_ns = cli_option_duration(state, "--window", argument, 1000000);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct window {
    uint64_t epoch; /* of the run whose samples are counted */
    uint64_t samples, lost, first_seq, last_seq;
    int64_t first_t_ns, last_t_ns, first_wall_ns, last_wall_ns;
};

/* Rates are computed from the intervals between samples, and do not depend on the edges of the window. */
static void report(const struct options *options, const struct window *window)
{
    const double intervals = (double)(window->last_seq - window->first_seq);
    const double simulated_s = (double)(window->last_t_ns - window->first_t_ns) * 1e-9;
    const double real_s = (double)(window->last_wall_ns - window->first_wall_ns) * 1e-9;
    const double rate_hz = simulated_s > 0.0 ? intervals / simulated_s : 0.0;
    const double real_rate_hz = real_s > 0.0 ? intervals / real_s : 0.0;
    if (options->source.common.json) {
        struct oto_json json = {.to = stdout};
        oto_json_open(&json, NULL, '{');
        oto_json_text(&json, "topic", options->source.topic);
        oto_json_number(&json, "rate_hz", rate_hz);
        oto_json_number(&json, "real_rate_hz", real_rate_hz);
        oto_json_u64(&json, "samples", window->samples);
        oto_json_u64(&json, "lost", window->lost);
        oto_json_close(&json, '}');
        oto_json_more(&json, "\n", 1);
    } else if (window->samples < 2) {
        (void)printf("%" PRIu64 " samples in this window: too few for a rate\n", window->samples);
    } else {
        (void)printf("%.3f Hz simulated, %.1f Hz real, %" PRIu64 " samples, %" PRIu64 " lost\n", rate_hz, real_rate_hz,
                     window->samples, window->lost);
    }
    (void)fflush(stdout);
}

static enum oto_status collect(struct cli_source *source, int64_t window_ns, struct window *window,
                               struct oto_error *error)
{
    const int64_t end_ns = srv_now_ns() + window_ns;
    *window = (struct window){0};
    while (!cli_interrupted() && srv_now_ns() < end_ns) {
        struct oto_wire_sample sample;
        const enum oto_status status = cli_source_next(source, 50, &sample, error);
        if (status == OTO_TIMEOUT || status == OTO_AGAIN) {
            continue;
        }
        if (status != OTO_OK) {
            return status;
        }
        if (sample.epoch != window->epoch) { /* another run: the counts restart */
            *window = (struct window){.epoch = sample.epoch};
        }
        window->last_seq = sample.head.seq;
        window->last_t_ns = sample.head.t_ns;
        window->last_wall_ns = srv_now_ns();
        if (window->samples++ == 0) {
            window->first_seq = window->last_seq;
            window->first_t_ns = window->last_t_ns;
            window->first_wall_ns = window->last_wall_ns;
        } else {
            window->lost += sample.lost;
        }
    }
    return OTO_OK;
}

int cli_hz(int argc, char **argv)
{
    static const struct argp_option rows[] = {
        {NULL, 'n', "N", 0, "stop after N windows (default: until interrupted; 1 where the output is no terminal)", 1},
        {"window", 'W', "DURATION", 0, "length of a window in real time (default 1s)", 1},
        {0}};
    static const struct argp_child children[] = {{&cli_source_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .args_doc = "TOPIC",
                                     .doc = "Measure the rate of a topic.",
                                     .children = children};
    struct options options = {.window_ns = 1000000000};
    cli_parse(&argp, argc, argv, &options);
    if (options.windows == 0 && (!isatty(STDOUT_FILENO) || options.source.common.json)) {
        options.windows = 1;
    }
    cli_catch_signals();
    struct cli_source *source = cli_source_open(&options.source);
    if (source == NULL) {
        return CLI_FAILED;
    }
    struct oto_error error = {0};
    int code = CLI_OK;
    for (uint64_t i = 0; (options.windows == 0 || i < options.windows) && !cli_interrupted(); i++) {
        struct window window;
        const enum oto_status status = collect(source, options.window_ns, &window, &error);
        report(&options, &window);
        if (status != OTO_OK) {
            code = status == OTO_CLOSED ? CLI_OK : cli_say(&error);
            break;
        }
    }
    cli_source_close(source);
    return code;
}
