/* otolith fault: injects a fault into the samples of a sensor, or clears it. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

#include "otolith/records.h"

#define SPEC_BYTES 1024

struct fault_options {
    struct cli_common common;
    const char *node, *kind;
    const char *channel, *duration, *at;
    char fields[512];
    char spec[SPEC_BYTES];
    size_t used;
    bool clear;
    uint64_t clear_id;
};

enum { KEY_FOR = 256, KEY_AT, KEY_CHANNEL, KEY_CLEAR };

static const struct argp_option options[] = {
    {"field", 'f', "NAME", 0, "a field, or a group of fields by the part before the dot; may be repeated (default: all measured fields)", 0},
    {"channel", KEY_CHANNEL, "NAME", 0, "the channel of the node (default: the first)", 0},
    {"for", KEY_FOR, "TIME", 0, "simulated duration: 5s, 200ms (default: until it is cleared)", 0},
    {"at", KEY_AT, "TIME", 0, "start, in simulated time since the start of the world (default: now)", 0},
    {"clear", KEY_CLEAR, "NUMBER", OPTION_ARG_OPTIONAL, "clear this fault of the node, or all its faults", 0},
    {0},
};

static void add(struct argp_state *state, const char *key, const char *value, bool quoted)
{
    struct fault_options *o = state->input;
    const char *mark = quoted ? "\"" : "";
    const int length = snprintf(o->spec + o->used, sizeof o->spec - o->used, "%s%s: %s%s%s", o->used > 1 ? ", " : "", key,
                                mark, value, mark);
    if (length < 0 || (size_t)length >= sizeof o->spec - o->used - 1 || (quoted && strpbrk(value, "\"\\") != NULL)) {
        argp_error(state, "'%.40s' is too long, or holds a quotation mark", value);
    }
    o->used += (size_t)length;
}

/* Adds a duration such as "5s" to the specification of the fault, which has seconds. */
static void add_time(struct argp_state *state, const char *option, const char *key, const char *text)
{
    char seconds[40];
    const int64_t ns = cli_option_duration(state, option, text, 0);
    (void)snprintf(seconds, sizeof seconds, "%" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    add(state, key, seconds, false);
}

/* Adds a term: "value=0.1", or the value alone. */
static void add_term(struct argp_state *state, char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL) {
        const struct fault_options *o = state->input;
        const bool axes = strcmp(o->kind, "axes") == 0 || strcmp(o->kind, "axis_swap") == 0;
        const bool count = strcmp(o->kind, "repeat") == 0;
        add(state, axes ? "axes" : count ? "count" : "value", text, axes);
        return;
    }
    *equals = '\0';
    add(state, text, equals + 1, false);
}

static void add_field(struct argp_state *state, const char *name)
{
    struct fault_options *o = state->input;
    const size_t used = strlen(o->fields);
    const int length = snprintf(o->fields + used, sizeof o->fields - used, "%s%s", used > 0 ? "," : "", name);
    if (length < 0 || (size_t)length >= sizeof o->fields - used) {
        argp_error(state, "the names of the fields have more than %zu bytes together", sizeof o->fields - 1);
    }
}

static void finish(struct argp_state *state)
{
    struct fault_options *o = state->input;
    if (o->node == NULL || (o->kind == NULL && !o->clear)) {
        argp_error(state, "NODE and KIND are needed, or NODE and --clear");
    }
    if (o->fields[0] != '\0') {
        add(state, "fields", o->fields, true);
    }
    if (o->channel != NULL) {
        add(state, "channel", o->channel, true);
    }
    if (o->duration != NULL) {
        add_time(state, "--for", "for_s", o->duration);
    }
    if (o->at != NULL) {
        add_time(state, "--at", "at_s", o->at);
    }
    o->spec[o->used++] = '}';
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct fault_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->common;
        state->child_inputs[1] = &o->common.remote;
        return 0;
    case 'f': add_field(state, argument); return 0;
    case KEY_CHANNEL: o->channel = argument; return 0;
    case KEY_FOR: o->duration = argument; return 0;
    case KEY_AT: o->at = argument; return 0;
    case KEY_CLEAR:
        o->clear = true;
        if (argument != NULL) {
            o->clear_id = cli_option_count(state, "--clear", argument, 0, UINT64_MAX);
        }
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0) {
            o->node = argument;
        } else if (state->arg_num == 1) {
            o->kind = argument;
            add(state, "kind", argument, true);
        } else {
            add_term(state, cli_argument(argument));
        }
        return 0;
    case ARGP_KEY_END: finish(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&cli_common_argp, 0, NULL, 0}, {&cli_remote_argp, 0, NULL, 0}, {0}};
static const struct argp fault_argp = {
    .options = options,
    .parser = parse,
    .args_doc = "NODE KIND [VALUE] [TERM=VALUE...]\nNODE --clear[=NUMBER]",
    .doc = "Inject a fault between a sensor and its channel, or a disturbance into the sensor. The noise of the sensor does not "
           "change.\v"
           "Kinds: stuck, dropout, intermittent (period_s, probability), bias VALUE, ramp VALUE (per second), scale FACTOR, "
           "spikes VALUE (rate_hz), noise SIGMA, saturation LEVEL, sign, axes ORDER (yxz, -xzy), delay SECONDS, "
           "time_jump SECONDS, time_jitter SECONDS, repeat COUNT, nan. Disturbances act inside "
           "the sensor: outage, multipath METRES (decay_s), spoof M/S and jam DB of satellite receivers, draught PASCALS (decay_s) of "
           "barometers. What was injected is published in the channel NODE.label. NODE may be a pattern such as 'car_00*/imu'.",
    .children = children,
};

int cli_fault(int argc, char **argv)
{
    struct fault_options o = {.spec = "{", .used = 1};
    struct oto_reply reply = {0};
    struct oto_error error = {0};
    cli_parse(&fault_argp, argc, argv, &o);
    struct oto_client *client = cli_open(&o.common, o.node);
    if (client == NULL) {
        return CLI_FAILED;
    }
    const enum oto_status status = o.clear ? oto_control_clear_faults(client, o.node, o.clear_id, &reply, &error)
                                           : oto_control_fault(client, o.node, o.spec, &reply, &error);
    return cli_finish(client, &o.common, status, &reply, &error, "%s from tick %" PRIu64, o.clear ? "cleared" : reply.text, reply.tick);
}
