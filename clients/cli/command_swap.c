/* otolith swap: another plugin for a node of the running world, or back. */
#include "cli.h"
#include "json.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMS = 1, PART, MODE, UNIT, PROBATION, SHADOW, TOLERANCE, BUDGET, RESET, NO_PROBE, WAIT, CANCEL, UNDO };

static const struct argp_option options[] = {
    {"params", PARAMS, "FILE", 0, "parameters (YAML or JSON) over those that are carried over", 0},
    {"part", PART, "PART", 0, "a real sensor, vendor/part: its parameters over the plugin's defaults", 0},
    {"mode", MODE, "MODE", 0, "operating mode of the part", 0},
    {"unit", UNIT, "N", 0, "serial number: which unit's own offsets and scale errors", 0},
    {"probation", PROBATION, "TIME", 0, "simulated time in which a failure takes the swap back (1s; 0: none)", 0},
    {"shadow", SHADOW, "TIME", 0, "first run beside the old plugin, unheard, and tell the differences (0)", 0},
    {"shadow-tolerance", TOLERANCE, "X", 0, "refuse when a number of the first channel differs by more, in its unit", 0},
    {"budget", BUDGET, "TIME", 0, "real time of a step; three in a row above take the swap back (half a period; 0: none)", 0},
    {"reset-state", RESET, NULL, 0, "begin anew, also where the state could be taken over", 0},
    {"no-probe", NO_PROBE, NULL, 0, "do not try the plugin in another process first", 0},
    {"wait", WAIT, NULL, 0, "answer when the probation is over; fail if it was rolled back", 0},
    {"cancel", CANCEL, NULL, 0, "end a swap that is not live yet", 1},
    {"undo", UNDO, NULL, 0, "go back to the plugin and parameters before the last swap", 1},
    {0}};

struct request {
    struct cli_common common;
    struct oto_swap swap;
    const char *node, *plugin;
    char plugin_path[PATH_MAX], params_path[PATH_MAX], part_path[PATH_MAX];
};

static void usage_error(struct argp_state *state, const struct oto_error *error)
{
    argp_error(state, "%s", error->text);
}

static void take_time(struct argp_state *state, const char *text, int64_t *ns)
{
    struct oto_error error = {0};
    if (cli_duration(text, ns, &error) != OTO_OK) {
        usage_error(state, &error);
    }
}

static void take_unit(struct argp_state *state, const char *text, struct oto_swap *swap)
{
    struct oto_error error = {0};
    uint64_t unit = 0;
    if (cli_count(text, &unit, &error) != OTO_OK || unit > UINT32_MAX) {
        argp_error(state, "--unit takes a whole number up to 4294967295, not '%s'", text);
    }
    swap->unit = (uint32_t)unit;
    swap->has_unit = true;
}

static void take_tolerance(struct argp_state *state, const char *text, struct oto_swap *swap)
{
    struct oto_error error = {0};
    if (cli_positive(text, &swap->shadow_tolerance, &error) != OTO_OK) {
        usage_error(state, &error);
    }
}

static void check(struct argp_state *state, const struct request *request)
{
    const struct oto_swap *swap = &request->swap;
    if (request->node == NULL || (request->plugin == NULL && !swap->undo && !swap->cancel)) {
        argp_error(state, "swap takes a node and a plugin (or --undo, or --cancel)");
    }
    if ((request->plugin != NULL && (swap->undo || swap->cancel)) || (swap->undo && swap->cancel)) {
        argp_error(state, "a plugin, --undo or --cancel: one of them");
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
    case ARGP_KEY_INIT: state->child_inputs[0] = &request->common; return 0;
    case PARAMS: swap->params = text; return 0;
    case PART: swap->part = text; return 0;
    case MODE: swap->mode = text; return 0;
    case UNIT: take_unit(state, text, swap); return 0;
    case PROBATION: take_time(state, text, &swap->probation_ns); return 0;
    case SHADOW: take_time(state, text, &swap->shadow_ns); return 0;
    case TOLERANCE: take_tolerance(state, text, swap); return 0;
    case BUDGET: take_time(state, text, &swap->budget_ns); return 0;
    case RESET: swap->reset_state = true; return 0;
    case NO_PROBE: swap->no_probe = true; return 0;
    case WAIT: swap->wait = true; return 0;
    case CANCEL: swap->cancel = true; return 0;
    case UNDO: swap->undo = true; return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) {
            argp_error(state, "swap takes a node and a plugin; '%s' is one too many", text);
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

/* A path is the caller's, not the server's: made absolute here. */
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
        (void)printf("{\"done\": \"%s\", \"tick\": %" PRIu64 ", \"ticks\": %" PRIu64 ", \"text\": ", what, reply->tick,
                     ticks);
        json_text(stdout, reply->text);
        (void)printf("}\n");
    } else {
        (void)printf("%s at tick %" PRIu64 ": %s\n", what, reply->tick, reply->text);
    }
}

int cli_swap(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 9}, {0}};
    static const struct argp argp = {
        .options = options, .parser = parse, .args_doc = "NODE PLUGIN|FILE.so\nNODE --undo\nNODE --cancel",
        .doc = "Replace a node's plugin at a tick boundary: no tick is missed, no sequence number skipped, noise goes on.",
        .children = children};
    struct request request = {.swap = OTO_SWAP_DEFAULTS};
    cli_parse(&argp, argc, argv, &request);
    make_absolute(&request);
    struct oto_client *client = cli_open(&request.common);
    if (client == NULL) {
        return CLI_FAILED;
    }
    struct oto_reply reply;
    struct oto_error error = {0};
    uint64_t ticks = 0;
    const enum oto_status status = oto_control_swap_with(client, request.node, &request.swap, &reply, &ticks, &error);
    oto_client_close(client);
    if (status != OTO_OK) {
        return cli_say(&error);
    }
    print(&request, &reply, ticks);
    return CLI_OK;
}
