/* What a checkpoint costs the tick thread, as the server tells it: its copy of the state at a boundary. */
#include "base/monotonic.h"
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "document/document.h"

#define MIB 1048576.0

struct cost {
    double bytes, stall_us;
};

static bool read_cost(struct bench_world *world, struct cost *cost, struct oto_error *error)
{
    struct oto_reply reply;
    struct oto_document *document = NULL;
    enum oto_status status = oto_control_info(world->client, &reply, error);
    if (status == OTO_OK) {
        status = oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, error);
    }
    const struct oto_value *costs =
        status == OTO_OK ? oto_value_get(oto_document_root(document), "checkpoints") : NULL;
    if (costs != NULL) {
        status = oto_value_f64(oto_value_get(costs, "bytes"), &cost->bytes, error);
        status = status == OTO_OK ? oto_value_f64(oto_value_get(costs, "stall_us"), &cost->stall_us, error) : status;
    }
    oto_document_close(document);
    return status == OTO_OK && costs != NULL;
}

static bool save(struct bench_world *world, struct cost *cost)
{
    char path[512];
    struct oto_reply reply;
    struct oto_error error = {0};
    (void)snprintf(path, sizeof path, "%s/bench.ckpt", getenv("XDG_RUNTIME_DIR"));
    const bool saved = oto_control_checkpoint(world->client, path, &reply, &error) == OTO_OK && read_cost(world, cost, &error);
    (void)unlink(path);
    if (!saved) {
        (void)cli_say(&error);
    }
    return saved;
}

/* As many bytes in one piece. */
static double copy_us(double bytes)
{
    const size_t count = (size_t)bytes;
    unsigned char *both = malloc(2 * count);
    if (both == NULL) {
        return 0.0;
    }
    memset(both, 1, 2 * count);
    const int64_t start_ns = srv_now_ns();
    memcpy(both, both + count, count);
    __asm__ volatile("" : : "r"(both) : "memory");
    const double us = (double)(srv_now_ns() - start_ns) * 1e-3;
    free(both);
    return us;
}

/* In us for a small state, whose bytes cost nothing; else in us a MiB. */
static void measure(struct bench_context *context, struct bench_world *world, const char *name, int count, bool by_size)
{
    struct cost cost = {0};
    struct bench_series stall = {0}, copies = {0};
    struct bench_result result = {.name = name, .unit = by_size ? "us/MiB" : "us", .goal = 50.0,
                                  .reference = "one memcpy of as many bytes"};
    bool good = save(world, &cost); /* the first finds out how much room it takes */
    for (int i = 0; good && i < count && !cli_interrupted(); i++) {
        good = bench_world_run(world, 0.02) && save(world, &cost);
        const double size = by_size ? cost.bytes / MIB : 1.0;
        series_add(&stall, cost.stall_us / size);
        series_add(&copies, copy_us(cost.bytes) / size);
    }
    if (good) {
        result_from_series(&result, &stall);
        result.reference_p50 = series_quantile(&copies, 0.5);
        (void)snprintf(result.note, sizeof result.note, "state of %.1f KiB", cost.bytes / 1024.0);
        bench_print(context, &result);
    }
    series_free(&stall);
    series_free(&copies);
}

/* 64 cars with the estimators whose states are large. */
static bool write_fleet(char *path, size_t bytes)
{
    (void)snprintf(path, bytes, "%s/fleet-XXXXXX.yaml", getenv("XDG_RUNTIME_DIR"));
    const int fd = mkstemps(path, 5);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        return false;
    }
    (void)fputs("world: demo\nclock: {rate_hz: 1000}\nvehicles:\n", file);
    for (int i = 0; i < 64; i++) {
        (void)fprintf(file, "  - name: car%d\n    motion: {plugin: motion_script}\n    nodes:\n"
                            "      - {name: imu, plugin: mems_imu, rate_hz: 100}\n"
                            "      - {name: odometer, plugin: odometer, rate_hz: 50}\n"
                            "      - {name: mount, plugin: mount_calibration, rate_hz: 10, inputs: {imu: imu, speed: odometer}}\n"
                            "      - {name: ins, plugin: ins_ekf, rate_hz: 10, inputs: {imu: imu, odometer: odometer}}\n", i);
    }
    return fclose(file) == 0;
}

void bench_checkpoint(struct bench_context *context)
{
    static const char *const options[] = {"--no-publish", NULL};
    struct bench_world world;
    char path[512];
    if (bench_world_start(&world, options)) {
        measure(context, &world, "checkpoint_stall", context->smoke ? 3 : 300, false);
    }
    bench_world_stop(&world);
    if (write_fleet(path, sizeof path) && bench_world_start_file(&world, path, options)) {
        measure(context, &world, "checkpoint_stall_mib", context->smoke ? 3 : 100, true);
        bench_world_stop(&world);
    }
    (void)unlink(path);
}
