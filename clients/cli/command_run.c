/*
 * otolith run WORLD: starts a server for the world, shows and records the run, and stops the server. The server starts
 * paused, so that a recording begins with the first sample.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "cli.h"
#include "document/document.h"
#include "installed.h"
#include "output.h"
#include "record/run_recording.h"
#include "recorder.h"
#include "server_process.h"
#include "summary.h"
#include "view.h"
#include "web_link.h"
#include "sim/run_log.h"
#include "world/world_config.h"

#define PAGE_WAIT_MS 2000 /* for the page to listen */
#define STOP_LIMIT_NS INT64_C(10000000000)
enum { MOST_ARGUMENTS = 256, NAME_BYTES = 24, STEP_CHUNK = 256 };

struct options {
    char *world_path;
    const char *replay; /* a log, in place of the world file */
    const char *name; /* --name, or NULL */
    const char *summary, *log, *checkpoint;
    int64_t for_ns; /* 0: until interrupted */
    bool quiet, json, allow_loss;
    bool step_mode;
    char *arguments[MOST_ARGUMENTS]; /* of the server */
    char names[MOST_ARGUMENTS][NAME_BYTES]; /* storage of the names of options among `arguments` */
    int argument_count;
    const char *sets[MOST_ARGUMENTS]; /* PATH=VALUE */
    int set_count;
    struct recorder recorder;
    struct run_recording mcap;
};

struct run {
    struct options *options;
    struct server_process server;
    struct oto_client *client;
    struct view view;
    uint64_t end_tick; /* in step mode with --for */
    int64_t started_ns; /* 0: not resumed yet */
    bool fault; /* the world stopped itself */
    bool quit;  /* by a key */
};

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

static void add_name(struct options *options, const char *name)
{
    char *text = options->names[options->argument_count];
    (void)snprintf(text, NAME_BYTES, "--%s", name);
    options->arguments[options->argument_count++] = text;
}

static void pass_on(struct options *options, struct argp_state *state, int key, char *argument)
{
    for (const struct argp_option *row = rows; row->name != NULL; row++) {
        if (row->key != key) {
            continue;
        }
        if (options->argument_count + 6 >= MOST_ARGUMENTS) {
            argp_error(state, "too many options");
        }
        add_name(options, row->name);
        if (argument != NULL) {
            options->arguments[options->argument_count++] = argument;
        }
    }
}

/* Stores a --set argument, which is also passed to the server: it may set the world's name. */
static void remember_set(struct options *options, struct argp_state *state, const char *argument)
{
    const char *equals = strchr(argument, '=');
    if (equals == NULL || equals == argument) {
        argp_error(state, "--set takes PATH=VALUE, not '%s'", argument);
    }
    if (options->set_count < MOST_ARGUMENTS) {
        options->sets[options->set_count++] = argument;
    }
}

/* Refuses two outputs to the same file. */
static void check_outputs(const struct options *options, struct argp_state *state)
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

static void check(const struct options *options, struct argp_state *state)
{
    if (options->replay != NULL && options->world_path != NULL) {
        argp_error(state, "--replay takes the world from the log: '%s' is one argument too many", options->world_path);
    }
    check_outputs(options, state);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    struct oto_error error = {0};
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->json;
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

static enum oto_status apply_sets(const struct options *options, struct oto_document *document, struct oto_error *error)
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

/* The name that the server will give to the world. The server reports errors of the world file. */
static enum oto_status world_name(const struct options *options, char *name, size_t bytes, struct oto_error *error)
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

/* The command for the hints: `tools/otolith` in a checkout, otherwise the name of the installed program. */
static const char *own_name(void)
{
    char path[PATH_MAX];
    struct oto_error error;
    if (access("tools/otolith", X_OK) == 0) {
        return "tools/otolith";
    }
    return cli_sibling("../../../tools/otolith", path, sizeof path, &error) == OTO_OK ? "tools/otolith" : "otolith";
}

static void print_page(struct oto_client *client)
{
    struct cli_web_link link;
    struct oto_error error = {0};
    if (cli_web_link_wait(client, PAGE_WAIT_MS, &link, &error) == OTO_OK && link.link[0] != 0) {
        cli_print_line(stderr, "In the browser:");
        cli_print_line(stderr, "  %s", link.link);
    }
}

static void print_hints(struct oto_client *client)
{
    const struct oto_channel *shown = NULL;
    for (uint32_t i = 0; i < oto_client_channel_count(client) && shown == NULL; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        shown = strcmp(channel->type.name, "imu") == 0 ? channel : NULL;
    }
    char directory[PATH_MAX];
    struct oto_error error;
    if (shown == NULL || oto_runtime_directory(directory, sizeof directory, &error) != OTO_OK) {
        return;
    }
    const char *otolith = own_name();
    (void)printf("In a second terminal:\n"
                 "  %s echo %s -n 3\n"
                 "  %s set %s accelerometer.constant_bias_m_s2 '[1, 0, 0]'\n"
                 "  %s swap %s %s\n"
                 "  nngcat --sub --dial ipc://%s/%s/pub.ipc --subscribe %s --quoted\n\n",
                 otolith, shown->topic, otolith, shown->node, otolith, shown->node, shown->plugin, directory,
                 oto_client_header(client)->world, shown->topic);
    (void)fflush(stdout);
}

static uint32_t state_of(const struct run *run)
{
    return __atomic_load_n(&oto_client_header(run->client)->state, __ATOMIC_ACQUIRE);
}

static bool run_over(struct run *run)
{
    return state_of(run) == OTO_SERVER_FAULT || server_ended(&run->server);
}

static bool ended_in_order(const struct run *run)
{
    const uint32_t state = state_of(run);
    return state == OTO_SERVER_ENDED || state == OTO_SERVER_CLOSING;
}

/* Requests the steps of a world in mode `step` with --for, as many at a time as the rings can hold. */
static enum oto_status step_on(struct run *run, struct oto_error *error)
{
    struct oto_clock clock = {0};
    struct oto_reply reply;
    (void)oto_client_clock(run->client, &clock);
    const uint64_t left = run->end_tick > clock.tick ? run->end_tick - clock.tick : 0;
    return left > 0 ? oto_control_step(run->client, left < STEP_CHUNK ? left : STEP_CHUNK, &reply, error) : OTO_OK;
}

static enum oto_status open_view(struct run *run, struct oto_error *error)
{
    const enum oto_status status = view_init(&run->view, run->client, NULL, error);
    run->view.end_ns = run->options->for_ns;
    if (status == OTO_OK && !run->options->quiet) {
        view_keys_open(&run->view);
    }
    return status;
}

static void close_view(struct run *run)
{
    view_keys_close(&run->view);
    view_finish(&run->view);
}

static void show(struct run *run, bool terminal, int64_t *next_ns)
{
    const bool key = view_keys_take(&run->view, 0, &run->quit);
    if (run->options->quiet || (!key && srv_now_ns() < *next_ns)) {
        return;
    }
    *next_ns = srv_now_ns() + (terminal ? 100000000 : 1000000000);
    view_update(&run->view);
    if (terminal) {
        view_draw(&run->view, stdout);
    } else {
        view_line(&run->view, stdout);
    }
}

/* Writes the new samples to all recordings and returns their number. */
static uint64_t drain(struct run *run)
{
    return recorder_drain(&run->options->recorder) + run_recording_drain(&run->options->mcap);
}

/*
 * Attaches to the next run of the server after a crash or a restored checkpoint, and continues view and recording there.
 * OTO_CLOSED: the server has ended.
 */
static enum oto_status reattach(struct run *run, struct oto_error *error)
{
    struct oto_reply reply;
    while (drain(run) > 0) {
        /* reads the remaining samples of the run that has ended */
    }
    enum oto_status status = server_reattach(&run->server, run->client, error);
    if (status == OTO_OK) {
        close_view(run);
        status = open_view(run, error);
    }
    if (status == OTO_OK) {
        status = recorder_resume(&run->options->recorder, error);
    }
    if (status == OTO_OK) {
        status = run_recording_resume(&run->options->mcap, error);
    }
    if (status == OTO_OK && !run->options->step_mode) {
        status = oto_control_resume(run->client, &reply, error);
    }
    return status;
}

static int finish_view(struct run *run, bool terminal, int code)
{
    view_update(&run->view);
    if (!run->options->quiet && terminal) {
        view_draw(&run->view, stdout);
    }
    return code;
}

static bool records(const struct run *run)
{
    return run->options->recorder.count > 0 || run->options->mcap.recording != NULL;
}

static int watch(struct run *run)
{
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    const bool stepping = run->options->step_mode && run->options->for_ns > 0;
    int64_t next_ns = srv_now_ns() + (terminal ? 0 : 1000000000);
    struct oto_error error = {0};
    while (!cli_interrupted() && !run->quit && !run_over(run)) {
        struct oto_clock clock = {0};
        if (oto_client_run_is_over(run->client) && !run_over(run)) {
            const bool orderly = ended_in_order(run);
            const enum oto_status status = reattach(run, &error);
            if (status == OTO_CLOSED || (orderly && status == OTO_TIMEOUT)) {
                return finish_view(run, terminal, orderly || cli_interrupted() ? CLI_OK : CLI_FAILED);
            }
            if (status != OTO_OK) {
                return cli_say(&error);
            }
        }
        (void)oto_client_clock(run->client, &clock);
        if (drain(run) == 0) {
            if (stepping && clock.tick >= run->end_tick) {
                break;
            }
            if (stepping && step_on(run, &error) != OTO_OK && !run_over(run) && !oto_client_run_is_over(run->client)) {
                return cli_say(&error);
            }
            if (!stepping) {
                cli_wait_for_records(run->client, clock.tick, records(run) ? 5 : 50);
            }
        }
        show(run, terminal, &next_ns);
    }
    return finish_view(run, terminal, CLI_OK);
}

static uint64_t end_tick(const struct run *run)
{
    const struct oto_segment_header *header = oto_client_header(run->client);
    const double ticks = (double)run->options->for_ns * 1e-9 * (double)header->rate_num / (double)header->rate_den;
    return (uint64_t)(ticks + 0.5);
}

/*
 * The world stops before any output is finished, so that recordings, summary, log and checkpoint end at the same tick. A
 * world that waits for the recorder is drained until it has stopped.
 */
static void stop(struct run *run)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    const int64_t deadline_ns = srv_now_ns() + STOP_LIMIT_NS;
    run->fault = state_of(run) == OTO_SERVER_FAULT;
    (void)oto_control_shutdown(run->client, &reply, &error);
    while (!run_over(run) && !oto_client_run_is_over(run->client) && srv_now_ns() < deadline_ns) {
        if (drain(run) == 0) {
            (void)usleep(1000);
        }
    }
    run->fault = run->fault || state_of(run) == OTO_SERVER_FAULT;
}

static int report(struct run *run, int code)
{
    struct oto_error error = {0};
    struct oto_clock clock = {0};
    const int64_t wall_ns = srv_now_ns() - run->started_ns;
    if (recorder_finish(&run->options->recorder, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    if (run->options->mcap.path != NULL) {
        server_stop(&run->server); /* after this the server's log of inputs is complete */
    }
    if (run_recording_finish(&run->options->mcap, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    if (recorder_lost(&run->options->recorder) + run->options->mcap.counts.lost > 0 && !run->options->allow_loss) {
        code = CLI_FAILED;
    }
    (void)oto_client_clock(run->client, &clock);
    if (run->options->summary != NULL &&
        summary_write(run->options->summary, run->client, &run->options->recorder, wall_ns, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    if (run->options->json && summary_print(run->client, &run->options->recorder, wall_ns, &error) != OTO_OK) {
        code = cli_say(&error);
    }
    cli_print_line(stderr, "%s: %.3f s simulated in %.3f s, %llu ticks, %llu overruns, state hash %016llx%s",
                   oto_client_header(run->client)->world, (double)clock.sim_time_ns * 1e-9, (double)wall_ns * 1e-9,
                   (unsigned long long)clock.tick,
                   (unsigned long long)oto_client_header(run->client)->counter[OTO_COUNTER_OVERRUNS],
                   (unsigned long long)clock.state_hash, run->fault ? ": stopped by a FAULT, see world/@events" : "");
    return run->fault ? CLI_FAILED : code;
}

static int run_attached(struct run *run)
{
    struct oto_error error = {0};
    struct oto_reply reply;
    int code = CLI_OK;
    bool interrupted = false;
    if (open_view(run, &error) != OTO_OK ||
        recorder_start(&run->options->recorder, run->client, &error) != OTO_OK ||
        run_recording_start(&run->options->mcap, oto_client_header(run->client)->world, run->options->log, &error) != OTO_OK) {
        code = cli_say(&error);
    } else {
        run->end_tick = end_tick(run);
        run->started_ns = srv_now_ns();
        if (!run->options->quiet) {
            print_page(run->client);
        }
        if (!run->options->quiet && isatty(STDOUT_FILENO)) {
            print_hints(run->client);
        }
        if (!run->options->step_mode && oto_control_resume(run->client, &reply, &error) != OTO_OK) {
            code = cli_say(&error);
        } else {
            code = watch(run);
        }
        interrupted = cli_interrupted();
    }
    stop(run);
    if (run->started_ns != 0) {
        code = report(run, code);
    } else {
        (void)recorder_finish(&run->options->recorder, &error);
        (void)run_recording_finish(&run->options->mcap, &error);
    }
    close_view(run);
    oto_client_close(run->client);
    return interrupted && code == CLI_OK ? cli_signal_exit_code() : code;
}

int cli_run(int argc, char **argv)
{
    static const struct argp_child children[] = {{&cli_json_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {.options = rows,
                                     .parser = parse,
                                     .children = children,
                                     .args_doc = "[WORLD]\n--replay LOG",
                                     .doc = "Start a world and show a live view; q or Ctrl-C stops it. Without a terminal one line "
                                            "a second is printed.\vExit codes: 0 the run reached its end; 1 it failed, or "
                                            "samples or outputs were lost; 130 after Ctrl-C, 143 after SIGTERM: all outputs "
                                            "are complete and end at the same tick."};
    struct options *options = calloc(1, sizeof *options);
    if (options == NULL) {
        return cli_no_memory();
    }
    options->argument_count = 1;
    cli_parse(&argp, argc, argv, options);
    struct oto_error error = {0};
    char *chosen = NULL; /* without a world in the command line */
    if (options->replay == NULL && options->world_path == NULL && (options->world_path = chosen = cli_world_choose(&error)) == NULL) {
        free(options);
        return cli_say(&error);
    }
    if (options->replay == NULL) { /* a replay cannot continue after a crash */
        add_name(options, "supervise");
    }
    const bool logs = options->log != NULL;
    if (run_recording_prepare(&options->mcap, &options->log, &error) != OTO_OK) {
        free(options);
        free(chosen);
        return cli_say(&error);
    }
    if (!logs && options->log != NULL) {
        add_name(options, "log");
        options->arguments[options->argument_count++] = options->mcap.log;
    }
    add_name(options, "start-paused");
    add_name(options, "follow-parent");
    if (options->world_path != NULL) {
        options->arguments[options->argument_count++] = options->world_path;
    }
    cli_catch_signals();
    struct run run = {.options = options};
    char name[OTO_WORLD_NAME_BYTES];
    int code = CLI_FAILED;
    const enum oto_status named = world_name(options, name, sizeof name, &error);
    if (named == OTO_NO_MEMORY || named == OTO_IO) { /* without the world's name this command cannot attach */
        code = cli_say(&error);
    } else if (server_start(&run.server, options->arguments, &error) != OTO_OK) {
        code = cli_say(&error);
    } else if (named == OTO_OK && (run.client = server_attach(&run.server, name, &error)) != NULL) {
        code = run_attached(&run);
    } else if (cli_interrupted()) {
        code = cli_signal_exit_code();
    } else if (!server_ended(&run.server) && named == OTO_OK) {
        (void)cli_say(&error);
    }
    server_stop(&run.server);
    (void)run_recording_finish(&options->mcap, &error);
    free(options);
    free(chosen);
    return run.server.exit_code != 0 ? CLI_FAILED : code;
}
