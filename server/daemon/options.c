#include "options.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"

enum {
    KEY_SET = 's', KEY_MODE = 'm', KEY_SCALE = 'x', KEY_RATE = 'r', KEY_SEED = 1000, KEY_FOR, KEY_PAUSED, KEY_CHECK,
    KEY_SCHEMA, KEY_SUPERVISE, KEY_CRASH_PAGE, KEY_SAVES, KEY_AGAIN, KEY_QUARANTINE, KEY_RESTORE, KEY_CHECKPOINT, KEY_KEEP, KEY_NO_PUBLISH, KEY_NAME, KEY_FOLLOW,
    KEY_LOG, KEY_LOG_HASHES, KEY_REPLAY, KEY_ANYWAY, KEY_ONLY, KEY_THREADS, KEY_INSECURE, KEY_JSON
};

static const struct argp_option rows[] = {
    {"set", KEY_SET, "PATH=VALUE", 0, "Set a value of the world file, as vehicles.car.nodes.imu.params.law=mems", 0},
    {"mode", KEY_MODE, "MODE", 0, "realtime, asap, step, lockstep or external", 0},
    {"scale", KEY_SCALE, "X", 0, "Simulated seconds in a real second", 0},
    {"rate", KEY_RATE, "HZ", 0, "Ticks in a simulated second, also as a fraction: 60000/1001", 0},
    {"seed", KEY_SEED, "N", 0, "Seed of all noise, 0 to 18446744073709551615", 0},
    {"only", KEY_ONLY, "PATTERN", 0, "Simulate the vehicles of these names only, as car_0[0-4]*: their samples are the same", 0},
    {"threads", KEY_THREADS, "N", 0, "Threads that share the vehicles, 1 to 64; samples do not depend on it", 0},
    {"for", KEY_FOR, "DURATION", 0, "End after this simulated time: 10s, 500ms, 2min", 0},
    {"restore", KEY_RESTORE, "FILE", 0, "Go on from a checkpoint; --for counts from there", 0},
    {"checkpoint", KEY_CHECKPOINT, "FILE", 0, "Save the state at the end of the run", 0},
    {"supervise", KEY_SUPERVISE, NULL, 0, "Start the server again when it crashes, from its newest checkpoint", 0},
    {"checkpoint-directory", KEY_SAVES, "DIR", 0, "Checkpoints once a second there, where the world asks for none", 0},
    {"quarantine", KEY_QUARANTINE, "NODE", 0, "Do not step this node; may be given again", 0},
    {"again", KEY_AGAIN, "DEATH", OPTION_HIDDEN, "A supervised run continues after that: --for counts from time zero",
     0},
    {"crash-page", KEY_CRASH_PAGE, "FD", OPTION_HIDDEN, "Shared with the supervising parent", 0},
    {"log", KEY_LOG, "FILE", 0, "Write everything that happens to the world there, to be replayed", 0},
    {"log-hashes", KEY_LOG_HASHES, "TICKS", 0, "Hashes of all nodes every so many ticks (1000)", 0},
    {"replay", KEY_REPLAY, "FILE", 0, "Follow a log, in place of WORLD: the same run, to the last bit", 0},
    {"replay-anyway", KEY_ANYWAY, NULL, 0, "Also with files that are not those of the log any more", 0},
    {"start-paused", KEY_PAUSED, NULL, 0, "Wait for resume or step before the first tick", 0},
    {"name", KEY_NAME, "NAME", 0, "Name of the world instead of the file's", 0},
    {"no-publish", KEY_NO_PUBLISH, NULL, 0, "Shared memory alone, no nng publisher", 0},
    {"insecure", KEY_INSECURE, NULL, 0, "Accept tcp:// addresses beyond this machine, as `publish: {insecure: true}`", 0},
    {"keep-plugins", KEY_KEEP, "DIR", 0, "Also write the loaded copies of plugins there, for perf and gdb", 0},
    {"follow-parent", KEY_FOLLOW, "PID", OPTION_ARG_OPTIONAL,
     "End in order when the process that started this one ends; PID: its id, also where it has ended by now", 0},
    {"check", KEY_CHECK, NULL, 0, "Load and prepare everything, say what is wrong, run nothing", 1},
    {"json", KEY_JSON, NULL, 0, "With --check: print the result as JSON", 1},
    {"schema", KEY_SCHEMA, NULL, 0, "Print the JSON Schema of world files", 1},
    {0}};

/* Options that set one key of the world file. */
static const struct {
    int key;
    const char *path;
} shorthands[] = {{KEY_MODE, "clock.mode"},
                  {KEY_SCALE, "clock.scale"},
                  {KEY_RATE, "clock.rate_hz"},
                  {KEY_SEED, "seed"},
                  {KEY_ONLY, "only"},
                  {KEY_THREADS, "threads"},
                  {KEY_NAME, "world"}};

static void add_override(struct argp_state *state, const char *path, const char *value)
{
    struct srv_options *options = state->input;
    if (options->override_count == SRV_MAX_OVERRIDES) {
        argp_error(state, "at most %d values may be set", SRV_MAX_OVERRIDES);
    }
    options->overrides[options->override_count++] = (struct srv_override){path, value};
}

static void add_set(struct argp_state *state, char *text)
{
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        argp_error(state, "--set '%s': PATH=VALUE is needed, as clock.rate_hz=500", text);
    }
    *equals = 0;
    add_override(state, text, equals + 1);
    ((struct srv_options *)state->input)->fixed = "--set";
}

static bool take_shorthand(int key, const char *value, struct argp_state *state)
{
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++) {
        if (shorthands[i].key == key) {
            struct srv_options *options = state->input;
            add_override(state, shorthands[i].path, value);
            options->mode_given = options->mode_given || key == KEY_MODE;
            if (key == KEY_RATE || key == KEY_SEED || key == KEY_ONLY) {
                options->fixed = key == KEY_RATE ? "--rate" : key == KEY_SEED ? "--seed" : "--only";
            }
            return true;
        }
    }
    return false;
}

static bool *flag_of(struct srv_options *options, int key)
{
    switch (key) {
    case KEY_PAUSED:
        return &options->start_paused;
    case KEY_CHECK:
        return &options->check;
    case KEY_JSON:
        return &options->json;
    case KEY_SCHEMA:
        return &options->schema;
    case KEY_NO_PUBLISH:
        return &options->no_publish;
    case KEY_SUPERVISE:
        return &options->supervise;
    case KEY_ANYWAY:
        return &options->replay_anyway;
    default:
        return NULL;
    }
}

static uint64_t parse_count(const struct argp_state *state, const char *value)
{
    char *end = NULL;
    const uint64_t count = value[0] >= '0' && value[0] <= '9' ? strtoull(value, &end, 10) : 0;
    if (count == 0 || *end != '\0' || count > UINT32_MAX) {
        argp_error(state, "--log-hashes '%s': a number of ticks from 1 is needed", value);
    }
    return count;
}

static void check_whole(const struct argp_state *state, const struct srv_options *options)
{
    if (options->replay_path == NULL && options->world_path == NULL && !options->schema) {
        argp_error(state, "a world file is needed");
    }
    if (options->json && !options->check) {
        argp_error(state, "--json needs --check");
    }
    if (options->replay_path != NULL && options->world_path != NULL) {
        argp_error(state, "--replay names its world in the log: '%s' is too many", options->world_path);
    }
    if (options->replay_path != NULL && options->fixed != NULL) {
        argp_error(state, "%s would make another run of the replay; --mode, --scale, --for and --name are accepted",
                   options->fixed);
    }
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct srv_options *options = state->input;
    bool *flag = flag_of(options, key);
    if (flag != NULL) {
        *flag = true;
        return 0;
    }
    if (take_shorthand(key, value, state)) {
        return 0;
    }
    switch (key) {
    case KEY_SET:
        add_set(state, value);
        return 0;
    case KEY_INSECURE:
        add_override(state, "publish.insecure", "true");
        return 0;
    case KEY_FOR:
        if (!srv_duration_parse(value, &options->for_ns) || options->for_ns == 0) {
            argp_error(state, "--for '%s': a simulated time above 0 is needed, as 10s, 500ms, 1.5min", value);
        }
        return 0;
    case KEY_FOLLOW:
        options->follow_parent = true;
        options->parent = value;
        return 0;
    case KEY_SAVES:
        options->checkpoint_directory = value;
        return 0;
    case KEY_AGAIN:
        options->again = value;
        return 0;
    case KEY_CRASH_PAGE:
        options->crash_page_fd = atoi(value);
        return 0;
    case KEY_QUARANTINE:
        if (options->quarantine_count == SRV_MAX_QUARANTINE) {
            argp_error(state, "at most %d nodes may be quarantined", SRV_MAX_QUARANTINE);
        }
        options->quarantine[options->quarantine_count++] = value;
        return 0;
    case KEY_LOG:
        options->log_path = value;
        return 0;
    case KEY_LOG_HASHES:
        options->log_hashes = parse_count(state, value);
        return 0;
    case KEY_REPLAY:
        options->replay_path = value;
        return 0;
    case KEY_RESTORE:
        options->fixed = "--restore";
        options->restore_path = value;
        return 0;
    case KEY_CHECKPOINT:
        options->checkpoint_path = value;
        return 0;
    case KEY_KEEP:
        options->keep_plugins = value;
        return 0;
    case ARGP_KEY_ARG:
        if (options->world_path != NULL) {
            argp_error(state, "one world file only: '%s' is too many", value);
        }
        options->world_path = value;
        return 0;
    case ARGP_KEY_END:
        check_whole(state, options);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void srv_options_parse(int argc, char **argv, struct srv_options *options)
{
    const struct argp argp = {rows,  parse_option, "WORLD", "Runs a world: ticks it, holds it in shared memory, publishes it.",
                              NULL, NULL,         NULL};
    argp_err_exit_status = 2;
    const error_t failed = argp_parse(&argp, argc, argv, 0, NULL, options);
    if (failed != 0) {
        (void)fprintf(stderr, "otolithd: the command line cannot be read: %s\n", strerror(failed));
        exit(EXIT_FAILURE);
    }
}
