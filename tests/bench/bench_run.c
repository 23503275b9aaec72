/* Whole runs: speed as fast as possible, resident memory, and the time to the first tick. */
#include "base/monotonic.h"
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "otolith/detmath.h"

/* A fixed amount of arithmetic, so that the figure of one machine can be compared with another's. */
static double reference_s(void)
{
    const int64_t start_ns = srv_now_ns();
    double sum = 0.0;
    for (int i = 0; i < 20000000; i++) {
        sum += oto_sin((double)i * 1e-3);
    }
    __asm__ volatile("" : : "x"(sum));
    return (double)(srv_now_ns() - start_ns) * 1e-9;
}

void bench_asap(struct bench_context *context)
{
    const char *const options[] = {"--no-publish", "--mode", "asap", "--for", context->smoke ? "30s" : "3000s", NULL};
    const double simulated_s = context->smoke ? 30.0 : 3000.0;
    const int runs = context->smoke ? 1 : 5;
    struct bench_series speed = {0};
    struct bench_result result = {.name = "asap", .unit = "sim s/s", .goal = 1000.0, .at_least = true,
                                  .reference = "1e7 sines per CPU second"};
    const double sines_s = reference_s();
    for (int i = 0; i < runs && !cli_interrupted(); i++) {
        struct bench_world world;
        if (!bench_world_start(&world, options)) {
            break;
        }
        const struct oto_segment_header *header = oto_client_header(world.client);
        while (oto_client_server_alive(world.client) && !cli_interrupted() &&
               __atomic_load_n(&header->state, __ATOMIC_ACQUIRE) <= OTO_SERVER_PAUSED) {
            const struct timespec pause = {0, 1000000};
            (void)nanosleep(&pause, NULL);
        }
        bench_world_stop(&world);
        series_add(&speed, simulated_s / world.cpu_s);
    }
    result_from_series(&result, &speed);
    result.reference_p50 = 2.0 / sines_s;
    (void)snprintf(result.note, sizeof result.note, "CPU time of the whole server process, start-up included");
    bench_print(context, &result);
    series_free(&speed);
}

/* "RssAnon:", "RssFile:", "RssShmem:" in KiB. */
static double status_kib(pid_t pid, const char *key)
{
    char path[64], line[256];
    double kib = 0.0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kib = strtod(line + strlen(key), NULL);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

void bench_footprint(struct bench_context *context)
{
    static const char *const options[] = {NULL};
    const int runs = context->smoke ? 1 : 11;
    struct bench_series resident = {0}, start = {0};
    for (int i = 0; i < runs && !cli_interrupted(); i++) {
        struct bench_world world;
        struct oto_clock clock = {0};
        if (!bench_world_start(&world, options)) {
            break;
        }
        while (oto_client_clock(world.client, &clock) != OTO_OK && oto_client_server_alive(world.client)) {
            (void)oto_client_wait_tick(world.client, 0, 100);
        }
        const struct oto_segment_header *header = oto_client_header(world.client);
        const double period_ns = 1e9 * (double)header->rate_den / (double)header->rate_num;
        series_add(&start, ((double)(clock.start_mono_ns - world.spawned_ns) - (double)(clock.tick - 1) * period_ns) * 1e-6);
        (void)bench_world_run(&world, 0.3);
        series_add(&resident, (status_kib(world.pid, "RssAnon:") + status_kib(world.pid, "RssFile:")) / 1024.0);
        bench_world_stop(&world);
    }
    struct bench_result memory = {.name = "resident", .unit = "MiB", .goal = 10.0, .reference = "10 MiB", .reference_p50 = 10.0,
                                  .note = "anonymous and file pages of otolithd; the segment apart"};
    struct bench_result first = {.name = "first_tick", .unit = "ms", .goal = 100.0, .reference = "100 ms", .reference_p50 = 100.0,
                                 .note = "from spawning otolithd"};
    result_from_series(&memory, &resident);
    result_from_series(&first, &start);
    bench_print(context, &memory);
    bench_print(context, &first);
    series_free(&resident);
    series_free(&start);
}
