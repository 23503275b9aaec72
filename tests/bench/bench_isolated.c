/* What a plugin host costs a tick: three sensors at 1 kHz, in one host and in the server's process; and their motion. */
#include "bench.h"

#define EACH_TICK(node) "--set", "vehicles.car.nodes." node ".rate_hz=1000"
#define IN_HOST(node, mode) "--set", "vehicles.car.nodes." node ".isolation={process: bench, mode: " mode "}"

static bool measure(const char *const *options, double seconds, struct bench_result *result)
{
    struct bench_world world;
    const bool ran = bench_world_start(&world, options) && bench_world_run(&world, seconds);
    if (ran) {
        result_from_histogram(result, &oto_client_header(world.client)->work);
        (void)snprintf(result->note, sizeof result->note, "%llu stale samples",
                       (unsigned long long)oto_client_header(world.client)->counter[OTO_COUNTER_STALE]);
    }
    bench_world_stop(&world);
    return ran;
}

void bench_isolated(struct bench_context *context)
{
    static const char *const inside[] = {"--no-publish", EACH_TICK("imu"), EACH_TICK("mag"), EACH_TICK("odo"), NULL};
    static const char *const sync[] = {"--no-publish", EACH_TICK("imu"), EACH_TICK("mag"), EACH_TICK("odo"),
                                       IN_HOST("imu", "sync"), IN_HOST("mag", "sync"), IN_HOST("odo", "sync"), NULL};
    static const char *const async[] = {"--no-publish", EACH_TICK("imu"), EACH_TICK("mag"), EACH_TICK("odo"),
                                        IN_HOST("imu", "async"), IN_HOST("mag", "async"), IN_HOST("odo", "async"), NULL};
    static const char *const motion[] = {"--no-publish", EACH_TICK("imu"), EACH_TICK("mag"), EACH_TICK("odo"), "--set",
                                         "vehicles.car.motion.isolation=process", NULL};
    static const struct {
        const char *name;
        const char *const *options;
    } ways[] = {{"isolated_tick", sync}, {"isolated_async_tick", async}, {"isolated_motion_tick", motion}};
    const double seconds = context->smoke ? 0.5 : 10.0;
    struct bench_result reference = {0};
    bool ran = measure(inside, seconds, &reference);
    for (size_t i = 0; ran && i < sizeof ways / sizeof *ways; i++) {
        struct bench_result result = {.name = ways[i].name, .unit = "us", .goal = 50.0,
                                      .reference = "the same nodes in the server's process"};
        ran = measure(ways[i].options, seconds, &result);
        result.reference_p50 = reference.p50;
        if (ran) {
            bench_print(context, &result);
        }
    }
}
