/* otolith top: the live view of a running world. */
#include "attach/mirror.h"
#include "follow.h"
#include "view.h"

#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 200 };
#define FIRST_SAMPLE_NS INT64_C(2000000000) /* wait for it over the wire; a paused world sends none */

struct options {
    struct cli_common common;
    struct cli_follow follow;
    struct cli_remote remote;
    const char *pattern; /* NULL: all topics */
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
    case ARGP_KEY_ARG:
        if (options->pattern != NULL) {
            argp_error(state, "top takes one pattern: '%s' is too many", argument);
        }
        options->pattern = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Waits for the next run and makes a new view, because the next run may have other topics. */
static enum oto_status follow(struct view *view, struct oto_client *client, const struct options *options,
                              struct oto_error *error)
{
    if (oto_client_is_mirror(client)) {
        return oto_fail(error, OTO_NOT_FOUND, "%s", oto_mirror_reason(client));
    }
    const enum oto_status status = cli_follow(client, &options->follow, error);
    if (status != OTO_OK) {
        return status;
    }
    view_keys_close(view);
    view_finish(view);
    const enum oto_status opened = view_init(view, client, options->pattern, error);
    if (opened == OTO_OK) {
        view_keys_open(view);
    }
    return opened;
}

static int print_json(struct view *view)
{
    const struct timespec pause = {0, PERIOD_MS * 1000000L};
    view_update(view);
    (void)nanosleep(&pause, NULL); /* a rate needs two readings */
    view_update(view);
    view_json(view, stdout);
    return CLI_OK;
}

static int watch(struct view *view, struct oto_client *client, const struct options *options)
{
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    struct oto_error error = {0};
    enum oto_status status = OTO_OK;
    bool quit = false;
    view_keys_open(view);
    view_update(view);
    do {
        (void)view_keys_take(view, PERIOD_MS, &quit);
        view_update(view);
        view_draw(view, stdout);
        if (terminal && !oto_client_server_alive(client)) {
            status = follow(view, client, options, &error);
        }
    } while (terminal && status == OTO_OK && !quit && !cli_interrupted());
    view_keys_close(view);
    return status == OTO_OK || status == OTO_CLOSED ? CLI_OK : cli_say(&error);
}

/* A segment has counted since the run began; over the wire a rate needs a second of samples. */
static void measure_rates(struct view *view)
{
    const struct timespec pause = {0, PERIOD_MS * 1000000L};
    for (int i = 0; view->is_mirror && i < 1000 / PERIOD_MS && !cli_interrupted(); i++) {
        view_update(view);
        (void)nanosleep(&pause, NULL);
    }
}

int cli_top(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {&cli_follow_argp, 0, NULL, 0}, {&cli_samples_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.parser = parse,
                                     .args_doc = "[PATTERN]",
                                     .doc = "Show a live view of a running world, or of the topics that match a pattern such as "
                                            "'car_00*/imu'. One snapshot with --json, or where the output is no terminal.\v"
                                            "Keys: up and down select a topic, left and right show another of its fields, PgUp and "
                                            "PgDn turn the page, / shows only the topics that contain a text or match a pattern, q "
                                            "ends.",
                                     .children = children};
    struct options options = {0};
    cli_parse(&argp, argc, argv, &options);
    cli_catch_signals();
    struct oto_client *client = options.remote.url == NULL
                                    ? cli_observe(&options.common, options.pattern)
                                    : cli_subscribe(&options.remote, options.pattern != NULL ? options.pattern : "");
    if (client == NULL) {
        return CLI_FAILED;
    }
    cli_await_sample(client, FIRST_SAMPLE_NS);
    struct view view;
    struct oto_error error = {0};
    int code = CLI_FAILED;
    if (view_init(&view, client, options.pattern, &error) == OTO_OK) {
        measure_rates(&view);
        code = options.common.json ? print_json(&view) : watch(&view, client, &options);
        view_finish(&view);
    } else {
        code = cli_say(&error);
    }
    oto_client_close(client);
    return code;
}
