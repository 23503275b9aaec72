/* The tick thread: work of a tick, lateness of both drivers, and both under load. */
#include "bench.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static bool may_use_fifo(void)
{
    const struct sched_param wanted = {.sched_priority = 1};
    const struct sched_param normal = {0};
    if (sched_setscheduler(0, SCHED_FIFO, &wanted) != 0) {
        return false;
    }
    (void)sched_setscheduler(0, SCHED_OTHER, &normal);
    return true;
}

void bench_tick(struct bench_context *context)
{
    static const char *const car[] = {"--no-publish", NULL};
    static const char *const bare[] = {"--no-publish", "--set", "vehicles.car.nodes=[]", NULL};
    const double seconds = context->smoke ? 0.5 : 15.0;
    struct bench_result result = {.name = "tick_work", .unit = "us", .reference = "the same world without sensors", .goal = 5.0};
    struct bench_result reference = {0};
    struct bench_world world;
    if (bench_world_start(&world, bare) && bench_world_run(&world, seconds)) {
        result_from_histogram(&reference, &oto_client_header(world.client)->work);
    }
    bench_world_stop(&world);
    if (bench_world_start(&world, car) && bench_world_run(&world, seconds)) {
        result_from_histogram(&result, &oto_client_header(world.client)->work);
        result.reference_p50 = reference.p50;
        bench_print(context, &result);
    }
    bench_world_stop(&world);
}

/* The bare loop runs before and after, so that a machine that changes its mood shows. */
static void lateness_of(struct bench_context *context, const char *name, const char *driver, double goal)
{
    const bool fifo = may_use_fifo();
    const double seconds = context->smoke ? 0.5 : 15.0;
    const char *const options[] = {"--no-publish", "--set", driver, NULL};
    struct bench_result result = {.name = name, .unit = "us", .reference = "bare clock_nanosleep loop", .goal = goal};
    struct bench_series bare = {0};
    struct bench_world world;
    bare_loop(&bare, seconds / 2, fifo);
    const bool ran = bench_world_start(&world, options) && bench_world_run(&world, seconds);
    if (ran) {
        result_from_histogram(&result, &oto_client_header(world.client)->lateness);
    }
    bench_world_stop(&world);
    bare_loop(&bare, seconds / 2, fifo);
    if (ran) {
        result.reference_p50 = series_quantile(&bare, 0.5);
        (void)snprintf(result.note, sizeof result.note, "%s; bare p99 %.1f max %.1f", fifo ? "SCHED_FIFO" : "no RT rights",
                       series_quantile(&bare, 0.99), series_quantile(&bare, 1.0));
        result.goal = result.goal > 0.0 ? result.goal : result.reference_p50;
        bench_print(context, &result);
    }
    series_free(&bare);
}

void bench_lateness(struct bench_context *context)
{
    lateness_of(context, "lateness_uv", "clock.driver=uv", 0.0);
    lateness_of(context, "lateness_hybrid", "clock.driver=hybrid", 1.0);
}

/* ---- under load ---- */

enum { SUBSCRIBERS = 8, READERS = 4 };

void bench_load(struct bench_context *context)
{
    static const char *const options[] = {NULL};
    const bool fifo = may_use_fifo();
    const double seconds = context->smoke ? 1.0 : 60.0;
    pid_t children[SUBSCRIBERS + READERS];
    struct bench_series bare = {0};
    struct bench_world world;
    struct bench_result result = {.name = "load_lateness", .unit = "us", .reference = "bare loop under the same load"};
    if (!bench_world_start(&world, options)) {
        return;
    }
    for (int i = 0; i < SUBSCRIBERS + READERS; i++) {
        children[i] = bench_spawn_echo(i < SUBSCRIBERS ? "nng" : "shm");
    }
    (void)bench_world_run(&world, 0.5);
    if (children[SUBSCRIBERS] > 0) {
        (void)kill(children[SUBSCRIBERS], SIGSTOP);
    }
    const struct oto_segment_header *header = oto_client_header(world.client);
    const uint64_t overruns = header->counter[OTO_COUNTER_OVERRUNS];
    const uint64_t ticks = header->counter[OTO_COUNTER_TICKS];
    bare_loop(&bare, seconds, fifo);
    size_t bare_over = 0;
    for (size_t i = 0; i < bare.count; i++) {
        bare_over += bare.values[i] > 1000.0;
    }
    result_from_histogram(&result, &header->lateness);
    result.reference_p50 = series_quantile(&bare, 0.5);
    (void)snprintf(result.note, sizeof result.note, "%s; ticks over their period: %llu of %llu (goal 0); bare loop: %zu of %zu",
                   fifo ? "SCHED_FIFO" : "no RT rights",
                   (unsigned long long)(header->counter[OTO_COUNTER_OVERRUNS] - overruns),
                   (unsigned long long)(header->counter[OTO_COUNTER_TICKS] - ticks), bare_over, bare.count);
    bench_print(context, &result);
    for (int i = 0; i < SUBSCRIBERS + READERS; i++) {
        if (children[i] > 0) {
            (void)kill(children[i], SIGKILL);
            (void)waitpid(children[i], NULL, 0);
        }
    }
    bench_world_stop(&world);
    series_free(&bare);
}
