/*
 * Benchmarks of otolith: each measures one thing that the README promises, beside a reference in the same run, because
 * only ratios survive a noisy machine. They print n, p50, p99, p99.9, max and the ratio; they assert nothing.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli.h"
#include "otolith/client.h"

/* Measurements in one unit. */
struct bench_series {
    double *values;
    size_t count, capacity;
};
void series_add(struct bench_series *series, double value);
void series_free(struct bench_series *series);
double series_quantile(struct bench_series *series, double p); /* sorts; NaN where empty */

struct bench_result {
    const char *name;
    const char *unit;
    double n, p50, p99, p999, max;
    const char *reference; /* what the ratio is to */
    double reference_p50;
    double goal; /* p50 is to be at most (or, with at_least, at least) this; 0: none */
    bool at_least;
    char note[160];
};
void result_from_series(struct bench_result *result, struct bench_series *series);
void result_from_histogram(struct bench_result *result, const struct oto_histogram *histogram);

struct bench_context {
    bool smoke; /* a moment of each, to see that it runs */
    bool json;
    int printed;
};
void bench_print(struct bench_context *context, const struct bench_result *result);

/* A server of the default world for one benchmark, in a runtime directory of its own. */
struct bench_world {
    pid_t pid;
    struct oto_client *client;
    int64_t spawned_ns;
    double cpu_s; /* user + system, after bench_world_stop */
};
/* `options` end with NULL; says its errors itself. */
bool bench_world_start(struct bench_world *world, const char *const *options);
/* The same with another world file, whose world is called demo too. */
bool bench_world_start_file(struct bench_world *world, const char *path, const char *const *options);
/* Waits until the supervisor has replaced process `before`, which died, by another server. */
bool bench_world_attach_again(struct bench_world *world, pid_t before);
void bench_world_stop(struct bench_world *world);
/* Lets the world run; returns false when it ended early. */
bool bench_world_run(struct bench_world *world, double seconds);

/* `otolith echo` of the car's IMU, by "shm" or "nng"; 0 where it cannot be started. */
pid_t bench_spawn_echo(const char *via);

/* Wakes of a bare absolute clock_nanosleep loop at 1 kHz, in us after the deadline. */
void bare_loop(struct bench_series *lateness_us, double seconds, bool fifo);

void bench_tick(struct bench_context *context);
void bench_lateness(struct bench_context *context);
void bench_load(struct bench_context *context);
void bench_read(struct bench_context *context);
void bench_hop(struct bench_context *context);
void bench_nng(struct bench_context *context);
void bench_asap(struct bench_context *context);
void bench_sensor(struct bench_context *context);
void bench_model(struct bench_context *context);
void bench_estimator(struct bench_context *context);
void bench_isolated(struct bench_context *context);
void bench_motion(struct bench_context *context);
void bench_lockstep(struct bench_context *context);
void bench_swap(struct bench_context *context);
void bench_calibration(struct bench_context *context);
void bench_clients(struct bench_context *context);
void bench_crash(struct bench_context *context);
void bench_checkpoint(struct bench_context *context);
void bench_fleet(struct bench_context *context);
void bench_capacity(struct bench_context *context);
void bench_record(struct bench_context *context);
void bench_footprint(struct bench_context *context);

#endif
