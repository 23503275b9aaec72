/* What a swap costs: from the request until the plugin is live, the tick in which it happens, and ten thousand of them. */
#include "base/monotonic.h"
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world_file.h"
#include "daemon/thread/engine_private.h"
#include "plain_swap.h"

#define INSTANCES 8
#define TICKS_BETWEEN 3

static double status_kib(pid_t pid)
{
    char path[64], line[256];
    double kib = 0.0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "RssAnon:", 8) == 0) {
            kib = strtod(line + 8, NULL);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

static int mappings(pid_t pid)
{
    char path[64];
    int lines = 0, c;
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && (c = fgetc(file)) != EOF) {
        lines += c == '\n';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return lines;
}

/* Swaps the car's IMU again and again, each with the default probation, which the next one ends. */
static bool swap_often(struct bench_world *world, int count, bool probed, struct bench_series *live_ms)
{
    struct oto_swap swap = OTO_SWAP_DEFAULTS;
    swap.plugin = "mems_imu";
    swap.no_probe = !probed;
    for (int i = 0; i < count && !cli_interrupted(); i++) {
        struct oto_error error = {0};
        struct oto_reply reply;
        const int64_t start_ns = srv_now_ns();
        if (oto_control_swap_with(world->client, "car/imu", &swap, &reply, NULL, &error) != OTO_OK) {
            (void)cli_say(&error);
            return false;
        }
        series_add(live_ms, (double)(srv_now_ns() - start_ns) * 1e-6);
    }
    return true;
}

static void measure_requests(struct bench_context *context, bool probed, int count)
{
    static const char *const options[] = {"--no-publish", NULL};
    struct bench_world world;
    struct bench_series live_ms = {0};
    struct bench_result result = {.name = probed ? "swap_live_probed" : "swap_live", .unit = "ms", .goal = 5.0,
                                  .reference = "the goal, 5 ms", .reference_p50 = 5.0};
    const bool began = bench_world_start(&world, options) && swap_often(&world, 20, probed, &live_ms);
    if (began) {
        const struct oto_segment_header *header = oto_client_header(world.client);
        const uint64_t *counter = header->counter;
        const double kib = status_kib(world.pid);
        const int maps = mappings(world.pid);
        const uint64_t overruns = counter[OTO_COUNTER_OVERRUNS], slips = counter[OTO_COUNTER_SLIPS];
        series_free(&live_ms);
        (void)swap_often(&world, count, probed, &live_ms);
        result_from_series(&result, &live_ms);
        (void)snprintf(result.note, sizeof result.note,
                       "%llu overruns, %llu slips; memory %+.0f KiB, mappings %+d; %llu rolled back",
                       (unsigned long long)(counter[OTO_COUNTER_OVERRUNS] - overruns),
                       (unsigned long long)(counter[OTO_COUNTER_SLIPS] - slips), status_kib(world.pid) - kib,
                       mappings(world.pid) - maps, (unsigned long long)counter[OTO_COUNTER_SWAPS_ROLLED_BACK]);
        bench_print(context, &result);
    }
    bench_world_stop(&world);
    series_free(&live_ms);
}

/* ---- the tick of the swap ---- */

static const char world_text[] = "world: bench\nclock: {rate_hz: 1000, mode: step}\nvehicles:\n  - name: car\n"
                                 "    motion: {plugin: motion_script}\n    nodes:\n";

static bool write_world(char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/swap-XXXXXX.yaml", getenv("XDG_RUNTIME_DIR"));
    const int fd = mkstemps(path, 5);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        return false;
    }
    (void)fputs(world_text, file);
    for (int i = 0; i < INSTANCES; i++) {
        (void)fprintf(file, "      - {name: imu%d, plugin: mems_imu, rate_hz: 1000}\n", i);
    }
    return fclose(file) == 0;
}

/* One boundary at which all eight are swapped; the engine's thread is not started, so that this one may be it. */
static bool swap_all(struct srv_engine *engine, struct bench_series *work_us)
{
    struct srv_change *changes[INSTANCES] = {NULL};
    struct srv_reply replies[INSTANCES];
    struct oto_error error = {0};
    bool made = true;
    memset(replies, 0, sizeof replies);
    for (uint32_t i = 0; i < INSTANCES && made; i++) {
        struct srv_node_change *change = NULL;
        made = make_plain_swap(engine, i + 1, "mems_imu", &change, &error) == OTO_OK;
        changes[i] = (struct srv_change *)(void *)change;
    }
    for (int i = 0; i < TICKS_BETWEEN; i++) {
        srv_sim_tick(engine->sim); /* a world does not stand still while a loader works */
    }
    const int64_t start_ns = srv_now_ns();
    for (uint32_t i = 0; i < INSTANCES && made; i++) {
        made = srv_trial_begin(engine->sim, &engine->sim->nodes[i + 1], changes[i], &replies[i]) && replies[i].status == OTO_OK;
    }
    series_add(work_us, (double)(srv_now_ns() - start_ns) * 1e-3);
    for (uint32_t i = 0; i < INSTANCES; i++) {
        srv_views_update(engine, &replies[i]);
        (void)srv_change_free(changes[i] != NULL ? &changes[i]->open : NULL);
    }
    if (!made) {
        (void)cli_say(&error);
    }
    return made;
}

static void measure_tick(struct bench_context *context)
{
    char path[256];
    struct srv_world_config config;
    struct srv_engine *engine = NULL;
    struct oto_error error = {0};
    struct bench_series work_us = {0};
    const struct srv_engine_options options = {.epoch = 1};
    if (!write_world(path, sizeof path) ||
        world_file_load(path, NULL, 0, NULL, NULL, &config, &error) != OTO_OK) {
        (void)cli_say(&error);
        return;
    }
    (void)unlink(path);
    if (srv_engine_create(&config, &options, NULL, NULL, &engine, &error) == OTO_OK) {
        const int count = context->smoke ? 5 : 500;
        for (int i = 0; i < count && !cli_interrupted() && swap_all(engine, &work_us); i++) {
        }
        struct bench_result result = {.name = "swap_tick", .unit = "us", .goal = 10.0, .reference = "the goal, 10 us",
                                      .reference_p50 = 10.0};
        result_from_series(&result, &work_us);
        (void)snprintf(result.note, sizeof result.note, "eight mems_imu at one boundary, %llu bytes of state each",
                       (unsigned long long)engine->sim->nodes[1].live.state_bytes);
        bench_print(context, &result);
        srv_engine_destroy(engine);
    } else {
        (void)cli_say(&error);
    }
    series_free(&work_us);
    srv_world_config_finish(&config);
}

void bench_swap(struct bench_context *context)
{
    measure_tick(context);
    measure_requests(context, true, context->smoke ? 5 : 500);
    measure_requests(context, false, context->smoke ? 20 : 10000);
}
