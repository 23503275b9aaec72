/* otolith swap: replaces the plugin of a node in a running world, or undoes the last swap. */
#include "cli.h"
#include "json.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"

#define START_WAIT_MS 3000

enum { PARAMS = 1, PART, MODE, UNIT, PROBATION, SHADOW, TOLERANCE, BUDGET, RESET, NO_PROBE, WAIT, CANCEL, UNDO };

static const struct argp_option options[] = {
    {"params", PARAMS, "FILE", 0, "parameters (YAML or JSON), applied over those of the previous plugin", 0},
    {"part", PART, "PART", 0, "a part of the library, vendor/part: its parameters, applied over the plugin's defaults", 0},
    {"mode", MODE, "MODE", 0, "operating mode of the part", 0},
    {"unit", UNIT, "N", 0, "serial number, which selects the offsets and scale errors of the unit", 0},
    {"probation", PROBATION, "TIME", 0, "simulated time in which a failure restores the previous plugin (1s; 0: none)", 0},
    {"shadow", SHADOW, "TIME", 0, "first run beside the previous plugin, unpublished, and report the differences (0)", 0},
    {"shadow-tolerance", TOLERANCE, "X", 0, "refuse the swap if a number of the first channel differs by more, in its unit", 0},
    {"budget", BUDGET, "TIME", 0, "real time of a step; three longer steps in a row, or one of 100 times it, restore the previous plugin (half a period; 0: none)", 0},
    {"reset-state", RESET, NULL, 0, "start with a new state, also where the state could be kept", 0},
    {"no-probe", NO_PROBE, NULL, 0, "do not try the plugin in another process first", 0},
    {"wait", WAIT, NULL, 0, "return after the probation; fail if the previous plugin was restored, or if the world is paused", 0},
    {"cancel", CANCEL, NULL, 0, "cancel a swap that is not live yet", 1},
    {"undo", UNDO, NULL, 0, "go back to the plugin and parameters before the last swap", 1},
    {0}};

struct request {
    struct cli_common common;
    struct oto_swap swap;
    const char *node, *plugin;
    char plugin_path[PATH_MAX], params_path[PATH_MAX], part_path[PATH_MAX];
};

static void take_unit(struct argp_state *state, const char *text, struct oto_swap *swap)
{
    swap->unit = (uint32_t)cli_option_count(state, "--unit", text, 0, UINT32_MAX);
    swap->has_unit = true;
}

static void check(struct argp_state *state, const struct request *request)
{
    const struct oto_swap *swap = &request->swap;
    if (request->node == NULL || (request->plugin == NULL && !swap->undo && !swap->cancel)) {
        argp_error(state, "swap takes a node and a plugin (or --undo, or --cancel)");
    }
    if ((request->plugin != NULL && (swap->undo || swap->cancel)) || (swap->undo && swap->cancel)) {
        argp_error(state, "swap takes one of them: a plugin, --undo or --cancel");
    }
    if (swap->shadow_tolerance > 0.0 && swap->shadow_ns == 0) {
        argp_error(state, "--shadow-tolerance needs a --shadow");
    }
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct request *request = state->input;
    struct oto_swap *swap = &request->swap;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->common;
        state->child_inputs[1] = &request->common.remote;
        return 0;
    case PARAMS: swap->params = text; return 0;
    case PART: swap->part = text; return 0;
    case MODE: swap->mode = text; return 0;
    case UNIT: take_unit(state, text, swap); return 0;
    case PROBATION: swap->probation_ns = cli_option_duration(state, "--probation", text, 0); return 0;
    case SHADOW: swap->shadow_ns = cli_option_duration(state, "--shadow", text, 0); return 0;
    case TOLERANCE: swap->shadow_tolerance = cli_option_positive(state, "--shadow-tolerance", text, INFINITY); return 0;
    case BUDGET: swap->budget_ns = cli_option_duration(state, "--budget", text, 0); return 0;
    case RESET: swap->reset_state = true; return 0;
    case NO_PROBE: swap->no_probe = true; return 0;
    case WAIT: swap->wait = true; return 0;
    case CANCEL: swap->cancel = true; return 0;
    case UNDO: swap->undo = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            argp_error(state, "swap takes a node and a plugin; '%s' is one argument too many", text);
        }
        *(state->arg_num == 0 ? &request->node : &request->plugin) = text;
        return 0;
    case ARGP_KEY_END: check(state, request); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && strcmp(text + length - wanted, end) == 0;
}

/* The server has another working directory: the path is made absolute. */
static const char *absolute(const char *path, char *room)
{
    return realpath(path, room) != NULL ? room : path;
}

static void make_absolute(struct request *request)
{
    struct oto_swap *swap = &request->swap;
    swap->plugin = request->plugin;
    if (swap->plugin != NULL && (strchr(swap->plugin, '/') != NULL || ends_in(swap->plugin, ".so"))) {
        swap->plugin = absolute(swap->plugin, request->plugin_path);
    }
    if (swap->params != NULL) {
        swap->params = absolute(swap->params, request->params_path);
    }
    if (swap->part != NULL && (ends_in(swap->part, ".yaml") || ends_in(swap->part, ".yml") || ends_in(swap->part, ".json"))) {
        swap->part = absolute(swap->part, request->part_path);
    }
}

static void print(const struct request *request, const struct oto_reply *reply, uint64_t ticks)
{
    const struct oto_swap *swap = &request->swap;
    const char *what = swap->cancel ? "cancelled" : swap->undo ? "undone" : "swapped";
    if (request->common.json) {
        struct oto_json json = {.to = stdout};
        oto_json_open(&json, NULL, '{');
        oto_json_text(&json, "done", what);
        oto_json_u64(&json, "tick", reply->tick);
        oto_json_u64(&json, "ticks", ticks);
        oto_json_text(&json, "text", reply->text);
        oto_json_close(&json, '}');
        oto_json_more(&json, "\n", 1);
    } else {
        cli_print_line(stdout, "%s at tick %" PRIu64 ": %s", what, reply->tick, reply->text);
    }
}

static bool is_paused(const struct oto_client *client)
{
    return __atomic_load_n(&oto_client_header(client)->state, __ATOMIC_ACQUIRE) == OTO_SERVER_PAUSED;
}

/* A world that `otolith run` has just started is paused until its recordings are open and its page listens. */
static bool stays_paused(const struct oto_client *client)
{
    const int64_t deadline_ms = srv_now_ms() + START_WAIT_MS;
    while (is_paused(client) && srv_now_ms() < deadline_ms) {
        (void)usleep(10000);
    }
    return is_paused(client);
}

static uint64_t tick_of(const struct oto_client *client)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    return clock.tick;
}

/* Reports a failed request. In a paused world a request times out because the swap waits for a tick. */
static int report_failure(const struct request *request, const struct oto_client *client, const struct oto_error *error)
{
    if (error->status != OTO_TIMEOUT || !is_paused(client)) {
        return cli_say(error);
    }
    cli_print_line(stderr, "otolith: the world is paused at tick %" PRIu64 ": the swap of %s is pending until the world is resumed "
                   "or stepped; --cancel ends it", tick_of(client), request->node);
    return CLI_FAILED;
}

/*
 * Shadow and probation last for simulated time, which stands still in a paused world. There the swap itself is made
 * at once, and --wait reports that the probation is not over.
 */
static int swap(struct request *request, struct oto_client *client)
{
    struct oto_reply reply;
    struct oto_error error = {0};
    uint64_t ticks = 0;
    const bool paused = !request->swap.cancel && (request->swap.wait ? stays_paused(client) : is_paused(client));
    const bool waits = paused && request->swap.wait && request->swap.probation_ns > 0;
    if (paused && request->swap.shadow_ns > 0) {
        cli_print_line(stderr, "otolith: the world is paused at tick %" PRIu64 ": the shadow of %g s begins when it is resumed or stepped",
                       tick_of(client), (double)request->swap.shadow_ns * 1e-9);
    } else if (waits) {
        request->swap.wait = false;
    }
    if (oto_control_swap_with(client, request->node, &request->swap, &reply, &ticks, &error) != OTO_OK) {
        return report_failure(request, client, &error);
    }
    print(request, &reply, ticks);
    if (!waits || request->swap.wait) {
        return CLI_OK;
    }
    cli_print_line(stderr, "otolith: the world is paused: the swap is live at tick %" PRIu64 ", but its probation of %g s is not over; "
                   "it continues when the world is resumed or stepped", reply.tick, (double)request->swap.probation_ns * 1e-9);
    return CLI_FAILED;
}

int cli_swap(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 9}, {&cli_remote_argp, 0, NULL, 9}, {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "NODE PLUGIN|FILE.so\nNODE --undo\nNODE --cancel",
        .doc = "Replace the plugin of a node at a tick boundary. No tick and no sequence number is skipped, and the noise continues.",
        .children = children};
    struct request request = {.swap = OTO_SWAP_DEFAULTS};
    cli_parse(&argp, argc, argv, &request);
    make_absolute(&request);
    struct oto_client *client = cli_open(&request.common, request.node);
    if (client == NULL) {
        return CLI_FAILED;
    }
    const int code = swap(&request, client);
    oto_client_close(client);
    return code;
}
