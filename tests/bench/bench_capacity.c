/*
 * The largest fleet that runs in real time: motion_script and a six-axis tdk/icm-42688-p, both at 1 kHz, published, in a server of
 * its own with a thread for each processor. A number of vehicles is possible if not one tick ends after the next deadline.
 */
#include "bench.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static const char world_text[] = "world: demo\nclock: {rate_hz: 1000, mode: realtime}\nvehicles:\n"
                                 "- name: car\n  count: %u\n  motion: {plugin: motion_script}\n"
                                 "  nodes: [{name: imu, plugin: mems_imu, part: tdk/icm-42688-p, rate_hz: 1000}]\n"
                                 "  spread: {motion.params.heading_deg: {step: 3.6, wrap: 100}, nodes.imu.unit: {step: 1}}\n";

#define PERIOD_US 1000.0

/* Durations of a try and of the last one, which must succeed; accuracy of the search. */
struct search {
    double try_s, last_s, share;
    uint32_t first;
};

static uint32_t processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

static bool write_world(uint32_t count, char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/capacity.yaml", getenv("XDG_RUNTIME_DIR"));
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        perror(path);
        return false;
    }
    (void)fprintf(file, world_text, count);
    return fclose(file) == 0;
}

static uint64_t counter_of(const struct bench_world *world, int counter)
{
    return __atomic_load_n(&oto_client_header(world->client)->counter[counter], __ATOMIC_RELAXED);
}

/* Runs so many vehicles; returns whether no tick was late. The first half second, in which pages are first touched, does not count. */
static bool keeps_up(uint32_t count, double seconds)
{
    char path[PATH_MAX], threads[32];
    const char *const options[] = {threads, NULL};
    struct bench_world world;
    bool on_time = false;
    (void)snprintf(threads, sizeof threads, "--threads=%u", processors());
    if (!write_world(count, path, sizeof path)) {
        return false;
    }
    if (bench_world_start_file(&world, path, options)) {
        if (bench_world_run(&world, 0.5)) {
            const uint64_t late = counter_of(&world, OTO_COUNTER_OVERRUNS);
            on_time = bench_world_run(&world, seconds) && counter_of(&world, OTO_COUNTER_OVERRUNS) == late && !cli_interrupted();
        }
        bench_world_stop(&world);
    }
    (void)unlink(path);
    return on_time;
}

/* Doubles the number until it is too large, then halves the interval. */
static uint32_t largest(const struct search *search)
{
    uint32_t possible = 0, number = search->first;
    while (!cli_interrupted() && number <= 65536 && keeps_up(number, search->try_s)) {
        possible = number;
        number *= 2;
    }
    for (uint32_t step = (number - possible) / 2; possible > 0 && (double)step > search->share * possible && !cli_interrupted(); step /= 2) {
        possible += keeps_up(possible + step, search->try_s) ? step : 0;
    }
    return possible;
}

void bench_capacity(struct bench_context *context)
{
    const struct search search = context->smoke ? (struct search){0.05, 0.1, 1.0, 2} : (struct search){5.0, 60.0, 0.03, 128};
    struct bench_result result = {.name = "capacity", .unit = "vehicles", .n = 1, .at_least = true,
                                  .reference = "0.45 us a vehicle", .reference_p50 = processors() * PERIOD_US / 0.45};
    uint32_t count = largest(&search);
    while (count > 0 && !cli_interrupted() && !keeps_up(count, search.last_s)) {
        count -= count / 20 + 1;
    }
    result.p50 = result.p99 = result.p999 = result.max = count;
    (void)snprintf(result.note, sizeof result.note, "no tick late in the last %g s, %u threads, published", search.last_s, processors());
    if (!cli_interrupted()) {
        bench_print(context, &result);
    }
}
