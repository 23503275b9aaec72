/* The options of `otolith run`, and the name of the world that they choose. */
#include "run_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "document/document.h"
#include "output.h"
#include "sim/run_log.h"
#include "world/world_config.h"

/* Options of group 1 are passed to the server. */
static const struct argp_option rows[] = {
    {"for", 'f', "DURATION", 0, "end after this simulated time (10s, 500ms, 2min)", 1},
    {"mode", 'm', "MODE", 0, "realtime, asap, step (with --for, all steps are made), lockstep or external", 1},
    {"scale", 'x', "X", 0, "simulated seconds per real second", 1},
    {"rate", 'r', "HZ", 0, "physics ticks per second", 1},
    {"seed", 's', "N", 0, "the world's seed, 0 to 18446744073709551615", 1},
    {"name", 'n', "NAME", 0, "the world's name in place of the file's: two runs of one file need two names", 1},
    {"only", 'o', "PATTERN", 0, "simulate the vehicles of these names only, as car_0[0-4]*: their samples are the same", 1},
    {"threads", 't', "N", 0, "threads that share the vehicles; samples do not depend on it", 1},
    {"set", 'S', "PATH=VALUE", 0, "set a value of the world file: vehicles.car.nodes.imu.params.law=mems", 1},
    {"restore", 'R', "FILE", 0, "start from a checkpoint; --for counts from there", 1},
    {"checkpoint", 'C', "FILE", 0, "save the state at the end of the run", 1},
    {"log", 'L', "FILE", 0, "log all inputs of the world, for --replay", 1},
    {"log-hashes", 'H', "TICKS", 0, "ticks between hashes of all nodes in the log (1000)", 1},
    {"replay", 'Y', "LOG", 0, "repeat the run of a log, in place of WORLD, bit for bit", 1},
    {"replay-anyway", 'Z', NULL, 0, "also where files have changed since the log was written", 1},
    {"no-publish", 'P', NULL, 0, "start no publisher", 1},
    {"insecure", 'I', NULL, 0, "accept tcp:// addresses beyond this machine: everybody who reaches the port may read", 1},
    {"keep-plugins", 'K', "DIR", 0, "keep copies of the loaded plugins in DIR, for perf and gdb", 1},
    {"csv", 'c', "TOPIC=FILE", 0, "record a topic as CSV; may be repeated", 2},
    {"csv-flags", 'F', NULL, OPTION_HIDDEN, NULL, 2},
    {"mcap", 'M', "FILE", 0, "record all topics as an MCAP file, for Foxglove, ROS 2, `otolith play` and `otolith verify`", 2},
    {"allow-loss", 'A', NULL, 0, "exit code 0 also where a paced world was too fast for --csv and samples were lost", 2},
    {"summary", 'u', "FILE", 0, "write a summary of the run as JSON; --json prints it, and no live view", 2},
    {"quiet", 'q', NULL, 0, "no live view", 2},
    {0},
};

void run_options_pass(struct run_options *options, const char *name, char *value)
{
    char *text = options->names[options->argument_count];
    (void)snprintf(text, RUN_NAME_BYTES, "--%s", name);
    options->arguments[options->argument_count++] = text;
    if (value != NULL) {
        options->arguments[options->argument_count++] = value;
    }
}

static void pass_on(struct run_options *options, struct argp_state *state, int key, char *argument)
{
    for (const struct argp_option *row = rows; row->name != NULL; row++) {
        if (row->key != key) {
            continue;
        }
        if (options->argument_count + 6 >= RUN_MOST_ARGUMENTS) {
            argp_error(state, "too many options");
        }
        run_options_pass(options, row->name, argument);
    }
}

/* Stores a --set argument, which is also passed to the server: it may set the world's name. */
static void remember_set(struct run_options *options, struct argp_state *state, const char *argument)
{
    const char *equals = strchr(argument, '=');
    if (equals == NULL || equals == argument) {
        argp_error(state, "--set takes PATH=VALUE, not '%s'", argument);
    }
    if (options->set_count < RUN_MOST_ARGUMENTS) {
        options->sets[options->set_count++] = argument;
    }
}

/* Refuses two outputs to the same file. */
static void check_outputs(const struct run_options *options, struct argp_state *state)
{
    struct {
        const char *option, *path;
    } outputs[RECORDER_MAX + 5] = {{"--summary", options->summary},
                                   {"--log", options->log},
                                   {"--checkpoint", options->checkpoint},
                                   {"--mcap", options->mcap.path},
                                   {"--json", options->json ? "-" : NULL}};
    const uint32_t count = options->recorder.count + 5;
    for (uint32_t i = 5; i < count; i++) {
        outputs[i].option = "--csv";
        outputs[i].path = options->recorder.rows[i - 5].path;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i && outputs[i].path != NULL; k++) {
            if (outputs[k].path != NULL && cli_output_is_same(outputs[k].path, outputs[i].path)) {
                argp_error(state, "%s and %s would both write '%s': give each output a file of its own", outputs[k].option,
                           outputs[i].option, outputs[i].path);
            }
        }
    }
}

static void check(const struct run_options *options, struct argp_state *state)
{
    if (options->replay != NULL && options->world_path != NULL) {
        argp_error(state, "--replay takes the world from the log: '%s' is one argument too many", options->world_path);
    }
    check_outputs(options, state);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct run_options *options = state->input;
    struct oto_error error = {0};
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->json;
        options->argument_count = 1; /* the first is the program */
        return 0;
    case 'f':
        options->for_ns = cli_option_duration(state, "--for", argument, 1);
        break;
    case 'm':
        options->step_mode = strcmp(argument, "step") == 0;
        break;
    case 'n':
        options->name = argument;
        break;
    case 'S':
        remember_set(options, state, argument);
        break;
    case 'c':
        if (recorder_add(&options->recorder, argument, &error) != OTO_OK) {
            argp_error(state, "%s", error.text);
        }
        return 0;
    case 'M':
        options->mcap.path = argument;
        return 0;
    case 'u':
        options->summary = argument;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case 'F':
        argp_error(state, "--csv-flags: every CSV has the columns sensor_time_ns and flags; leave it out");
        return 0;
    case 'A':
        options->allow_loss = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->world_path != NULL) {
            argp_error(state, "run takes one world; '%s' is one argument too many", argument);
        }
        options->world_path = argument;
        return 0;
    case ARGP_KEY_END:
        check(options, state);
        options->quiet = options->quiet || options->json;
        return 0;
    case 'Y':
        options->replay = argument;
        break;
    case 'L':
        options->log = argument;
        break;
    case 'C':
        options->checkpoint = argument;
        break;
    case 'H':
    case 'Z':
    case 'x':
    case 'r':
    case 's':
    case 'o':
    case 't':
    case 'P':
    case 'I':
    case 'K':
    case 'R':
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    pass_on(options, state, key, argument);
    return 0;
}

static enum oto_status logged_name(const char *path, char *name, size_t bytes, struct oto_error *error)
{
    struct oto_run_log_reader *reader = NULL;
    struct oto_run_log_line header;
    const enum oto_status status = oto_run_log_open(path, &reader, &header, error);
    if (status != OTO_OK) {
        return status;
    }
    const char *world = oto_run_log_text(&header, "world");
    const bool fits = world != NULL && (size_t)snprintf(name, bytes, "%s", world) < bytes;
    oto_run_log_close(reader);
    return fits ? OTO_OK : OTO_INVALID;
}

static enum oto_status apply_sets(const struct run_options *options, struct oto_document *document, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (int i = 0; i < options->set_count && status == OTO_OK; i++) {
        const char *equals = strchr(options->sets[i], '=');
        char *path = strndup(options->sets[i], (size_t)(equals - options->sets[i]));
        status = path != NULL ? oto_document_set(document, path, equals + 1, error)
                              : oto_fail(error, OTO_NO_MEMORY, "out of memory");
        free(path);
    }
    return status;
}

enum oto_status run_options_world_name(const struct run_options *options, char *name, size_t bytes, struct oto_error *error)
{
    struct oto_document *document = NULL;
    if (options->name != NULL) {
        return (size_t)snprintf(name, bytes, "%s", options->name) < bytes ? OTO_OK : OTO_INVALID;
    }
    if (options->replay != NULL) {
        return logged_name(options->replay, name, bytes, error);
    }
    enum oto_status status = oto_document_read(options->world_path, NULL, &document, error);
    if (status == OTO_OK) {
        status = srv_defaults_apply(document, error);
    }
    if (status == OTO_OK) {
        status = apply_sets(options, document, error);
    }
    if (status == OTO_OK) {
        const struct oto_value *value = oto_value_get(oto_document_root(document), "world");
        const bool found = value != NULL && value->kind == OTO_VALUE_SCALAR &&
                           (size_t)snprintf(name, bytes, "%s", value->text) < bytes;
        status = found ? OTO_OK : OTO_INVALID;
    }
    oto_document_close(document);
    return status;
}

static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
const struct argp run_options_argp = {.options = rows,
                                     .parser = parse,
                                     .children = children,
                                     .args_doc = "[WORLD]\n--replay LOG",
                                     .doc = "Start a world and show a live view; q or Ctrl-C stops it. Without a terminal one line "
                                            "a second is printed.\vExit codes: 0 the run reached its end; 1 it failed, or "
                                            "samples or outputs were lost; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP: "
                                            "all outputs are complete and end at the same tick."};
