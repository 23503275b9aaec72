/*
 * A vehicle and tick against the number of vehicles: motion_script and a six-axis tdk/icm-42688-p as its part has it, both
 * at 1 kHz, on the simulator itself. The reference is the bare loop: the same plugins' steps over as many instances, without a world round them.
 */
#include "base/monotonic.h"
#include "bench.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/thread/workers.h"
#include "sim/sim.h"

static const uint32_t counts[] = {1, 10, 100, 1000, 10000};
enum { SHARE = 200000, ROUNDS = 7 }; /* vehicle ticks of a round */

static const char world[] = "world: fleet\nclock: {rate_hz: 1000, mode: asap}\nvehicles:\n"
                            "- name: car\n  count: %u\n  motion: {plugin: motion_script}\n"
                            "  nodes: [{name: imu, plugin: mems_imu, part: tdk/icm-42688-p, rate_hz: 1000}]\n"
                            "  spread: {motion.params.heading_deg: {step: 3.6, wrap: 100}, nodes.imu.unit: {step: 1}}\n";

static double cpu_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%*s %llu", &pages) != 1) {
            pages = 0;
        }
        (void)fclose(file);
    }
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

struct fleet {
    struct srv_world_config config;
    struct srv_sim *sim;
    uint32_t count;
    double load_s, resident_bytes;
    struct oto_error error;
};

static void run_lanes(void *context, void (*work)(void *, uint32_t), void *work_context, uint32_t lanes)
{
    srv_workers_run(context, work, work_context, lanes);
}

/* workers NULL: one lane. */
static bool open_fleet(struct fleet *fleet, uint32_t count, struct srv_workers *workers, uint32_t lanes)
{
    char text[1024];
    const struct srv_world_source source = {.text = text};
    const struct srv_sim_options options = {
        .make_store = srv_store_make_heap, .hooks = {.context = workers, .run_lanes = run_lanes}, .lanes = lanes};
    const double before_bytes = resident_bytes(), before_s = cpu_s();
    memset(fleet, 0, sizeof *fleet);
    fleet->count = count;
    (void)snprintf(text, sizeof text, world, count);
    enum oto_status status = srv_world_config_load(&source, NULL, NULL, &fleet->config, &fleet->error);
    if (status == OTO_OK) {
        status = srv_sim_create(&fleet->config, &options, NULL, NULL, &fleet->sim, &fleet->error);
    }
    if (status == OTO_OK) {
        status = srv_sim_begin(fleet->sim, &fleet->error);
    }
    fleet->load_s = cpu_s() - before_s;
    for (int i = 0; status == OTO_OK && i < 100; i++) {
        srv_sim_tick(fleet->sim); /* the rings are full, so that their memory is there */
    }
    fleet->resident_bytes = resident_bytes() - before_bytes;
    return status == OTO_OK || (cli_say(&fleet->error), false);
}

static void close_fleet(struct fleet *fleet)
{
    if (fleet->sim != NULL) {
        struct srv_store store = fleet->sim->store;
        srv_sim_destroy(fleet->sim);
        srv_store_free_heap(&store);
    }
    srv_world_config_finish(&fleet->config);
}

static void whole_tick(struct fleet *fleet, uint64_t tick)
{
    (void)tick;
    srv_sim_tick(fleet->sim);
}

/* The plugins alone, with the instances of the world and a constant input. */
static void bare_tick(struct fleet *fleet, uint64_t tick)
{
    static const struct oto_sensor_input input = {
        .q_enu_from_sensor = {1, 0, 0, 0}, .specific_force_sensor_m_s2 = {0, 0, 9.8}, .temperature_degc = 25};
    const struct oto_instant at = {(int64_t)(tick + 1) * 1000000, 0.0};
    for (uint32_t v = 0; v < fleet->count; v++) {
        struct srv_vehicle *vehicle = &fleet->sim->vehicles[v];
        struct srv_instance *motion = &vehicle->motion->live, *imu = &vehicle->first_sensor->live;
        const struct oto_sensor_step sensor = {.input = &input};
        const struct oto_step move = oto_step_make(tick, tick + 1, at, NULL);
        (void)motion->step(&motion->abi, &move);
        (void)motion->evaluate(&motion->abi, at, &vehicle->truth);
        (void)srv_instance_step(imu, tick, tick + 1, at, &sensor, NULL);
    }
}

static void measure(struct fleet *fleet, void (*tick)(struct fleet *, uint64_t), struct bench_series *series, bool smoke)
{
    const uint64_t ticks = smoke ? 2 : SHARE / fleet->count;
    uint64_t now = fleet->sim->tick;
    for (int round = 0; round < (smoke ? 2 : ROUNDS) && !cli_interrupted(); round++) {
        const double start_s = cpu_s();
        for (uint64_t i = 0; i < ticks; i++) {
            tick(fleet, now++);
        }
        series_add(series, (cpu_s() - start_s) * 1e6 / (double)(ticks * fleet->count));
    }
}

static void print_fleet(struct bench_context *context, const struct fleet *fleet, struct bench_series *whole,
                        struct bench_series *bare)
{
    char name[32];
    struct bench_result cost = {.name = name, .unit = "us", .goal = 0.45, .reference = "the plugins alone"};
    (void)snprintf(name, sizeof name, "fleet_%u", fleet->count);
    (void)snprintf(cost.note, sizeof cost.note, "CPU of a vehicle and tick; %.1f KiB a vehicle, loaded in %.2f s",
                   fleet->resident_bytes / 1024.0 / fleet->count, fleet->load_s);
    result_from_series(&cost, whole);
    cost.reference_p50 = series_quantile(bare, 0.5);
    bench_print(context, &cost);
}

/* ---- threads ---- */

enum { SHARED_VEHICLES = 1000, SHARED_TICKS = 50 };

static double ticks_ns(struct fleet *fleet, uint32_t ticks)
{
    const int64_t start_ns = srv_now_ns();
    for (uint32_t i = 0; i < ticks; i++) {
        srv_sim_tick(fleet->sim);
    }
    return (double)(srv_now_ns() - start_ns);
}

/* Both worlds take turns, so that other work on the machine disturbs both. */
static void compare_threads(struct bench_context *context, struct fleet *one, struct fleet *all, uint32_t threads)
{
    struct bench_series ratios = {0}, alone = {0};
    struct bench_result result = {.name = "fleet_threads", .unit = "times", .at_least = true, .goal = 0.9 * threads,
                                  .reference = "ns of a vehicle and tick with one thread"};
    for (int round = 0; round < (context->smoke ? 2 : 60) && !cli_interrupted(); round++) {
        const double one_ns = ticks_ns(one, SHARED_TICKS), all_ns = ticks_ns(all, SHARED_TICKS);
        series_add(&ratios, one_ns / all_ns);
        series_add(&alone, one_ns / SHARED_TICKS / SHARED_VEHICLES);
    }
    (void)snprintf(result.note, sizeof result.note, "%u threads, %d vehicles, real time; chains are %s", threads, SHARED_VEHICLES,
                   one->sim->chain == all->sim->chain ? "equal" : "NOT EQUAL");
    result_from_series(&result, &ratios);
    result.reference_p50 = series_quantile(&alone, 0.5);
    bench_print(context, &result);
    series_free(&ratios);
    series_free(&alone);
}

static void begin_nothing(void *context)
{
    (void)context;
}

static void bench_threads(struct bench_context *context)
{
    const long threads = sysconf(_SC_NPROCESSORS_ONLN);
    struct srv_workers *workers = NULL;
    struct fleet one, all;
    struct oto_error error = {0};
    if (threads < 2 || srv_workers_start((uint32_t)threads - 1, begin_nothing, NULL, &workers, &error) != OTO_OK) {
        return;
    }
    const bool first = open_fleet(&one, SHARED_VEHICLES, NULL, 1), second = open_fleet(&all, SHARED_VEHICLES, workers, (uint32_t)threads);
    if (first && second) {
        compare_threads(context, &one, &all, (uint32_t)threads);
    }
    close_fleet(&one);
    close_fleet(&all);
    srv_workers_stop(workers);
}

void bench_fleet(struct bench_context *context)
{
    const size_t most = sizeof counts / sizeof *counts - (context->smoke ? 1 : 0);
    for (size_t i = 0; i < most && !cli_interrupted(); i++) {
        struct bench_series whole = {0}, bare = {0};
        struct fleet fleet;
        if (open_fleet(&fleet, counts[i], NULL, 1)) {
            measure(&fleet, whole_tick, &whole, context->smoke);
            measure(&fleet, bare_tick, &bare, context->smoke);
            print_fleet(context, &fleet, &whole, &bare);
        }
        close_fleet(&fleet);
        series_free(&whole);
        series_free(&bare);
    }
    bench_threads(context);
}
