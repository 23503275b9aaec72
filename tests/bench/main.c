/* otolith-bench [NAME] [--json] [--smoke] */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    void (*run)(struct bench_context *context);
    const char *summary;
} benchmarks[] = {
    {"tick", bench_tick, "work of one tick of the default car at 1 kHz"},
    {"lateness", bench_lateness, "start of a tick after its deadline, both drivers"},
    {"load", bench_load, "ticks over their period with 8 nng subscribers and 4 readers, one of them stopped"},
    {"read", bench_read, "reading the newest sample from shared memory"},
    {"hop", bench_hop, "from the writer to a spinning and to a sleeping reader"},
    {"nng", bench_nng, "from the tick to 8 nng subscribers"},
    {"asap", bench_asap, "simulated seconds per CPU second"},
    {"lockstep", bench_lockstep, "ticks a second with a participant, in C and in Python"},
    {"sensor", bench_sensor, "one sample of mems_imu"},
    {"model", bench_model, "one prediction of a motion model"},
    {"estimator", bench_estimator, "one step of ekf and ins_ekf"},
    {"calibration", bench_calibration, "one IMU sample of mount_calibration, both methods"},
    {"isolated", bench_isolated, "a tick with three sensors, or their motion, in a plugin host"},
    {"fleet", bench_fleet, "a vehicle and tick in worlds of 1 to 10 000 vehicles, and its memory"},
    {"capacity", bench_capacity, "the largest number of vehicles in real time without an overrun"},
    {"motion", bench_motion, "the truth of 1000 vehicles for one tick of 1 ms"},
    {"swap", bench_swap, "a swap, from the request until it is live, and the tick in which it happens"},
    {"checkpoint", bench_checkpoint, "what a checkpoint costs the tick thread, a MiB of state"},
    {"clients", bench_clients, "work of a tick beside a stopped, dying or hostile client"},
    {"crash", bench_crash, "from a crash to the event that names it, and to the first tick of the next server"},
    {"record", bench_record, "IMU records a second into an MCAP file, plain and with zstd"},
    {"footprint", bench_footprint, "resident memory and time to the first tick"},
};

struct options {
    struct bench_context context;
    const char *name;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'j':
        options->context.json = true;
        return 0;
    case 's':
        options->context.smoke = true;
        return 0;
    case ARGP_KEY_ARG:
        options->name = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool known(const char *name)
{
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        if (name == NULL || strcmp(name, benchmarks[i].name) == 0) {
            return true;
        }
    }
    (void)fprintf(stderr, "otolith-bench: there is no benchmark '%s'; there are:\n", name);
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        (void)fprintf(stderr, "  %-11s %s\n", benchmarks[i].name, benchmarks[i].summary);
    }
    return false;
}

int main(int argc, char **argv)
{
    static const struct argp_option rows[] = {{"json", 'j', NULL, 0, "print JSON, one object a line", 0},
                                              {"smoke", 's', NULL, 0, "only a moment of each, to see that it runs", 0},
                                              {0}};
    static const struct argp argp = {.options = rows, .parser = parse, .args_doc = "[NAME]",
                                     .doc = "Measure what otolith promises, each beside a reference in the same run."};
    struct options options = {0};
    char directory[] = "/tmp/otolith-bench-XXXXXX";
    (void)argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (!known(options.name)) {
        return CLI_USAGE;
    }
    if (mkdtemp(directory) == NULL || setenv("XDG_RUNTIME_DIR", directory, 1) != 0) {
        perror("otolith-bench: a runtime directory");
        return CLI_FAILED;
    }
    cli_catch_signals();
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks && !cli_interrupted(); i++) {
        if (options.name == NULL || strcmp(options.name, benchmarks[i].name) == 0) {
            benchmarks[i].run(&options.context);
        }
    }
    char inner[64];
    (void)snprintf(inner, sizeof inner, "%s/otolith", directory);
    (void)rmdir(inner);
    (void)rmdir(directory);
    return options.context.printed > 0 ? CLI_OK : CLI_FAILED;
}
