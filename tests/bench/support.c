/* Series, results, and a server for a benchmark. */
#include "base/monotonic.h"
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/diagnostics.h"
#include "json.h"

extern char **environ;

void series_add(struct bench_series *series, double value)
{
    if (series->count == series->capacity) {
        const size_t capacity = series->capacity > 0 ? 2 * series->capacity : 4096;
        double *values = realloc(series->values, capacity * sizeof *values);
        if (values == NULL) {
            return;
        }
        series->values = values;
        series->capacity = capacity;
    }
    series->values[series->count++] = value;
}

void series_free(struct bench_series *series)
{
    free(series->values);
    memset(series, 0, sizeof *series);
}

static int compare(const void *a, const void *b)
{
    const double left = *(const double *)a;
    const double right = *(const double *)b;
    return (left > right) - (left < right);
}

double series_quantile(struct bench_series *series, double p)
{
    if (series->count == 0) {
        return NAN;
    }
    qsort(series->values, series->count, sizeof *series->values, compare);
    const size_t index = (size_t)(p * (double)series->count);
    return series->values[index < series->count ? index : series->count - 1];
}

void result_from_series(struct bench_result *result, struct bench_series *series)
{
    result->n = (double)series->count;
    result->p50 = series_quantile(series, 0.5);
    result->p99 = series_quantile(series, 0.99);
    result->p999 = series_quantile(series, 0.999);
    result->max = series_quantile(series, 1.0);
}

void result_from_histogram(struct bench_result *result, const struct oto_histogram *histogram)
{
    result->n = 0;
    for (uint32_t i = 0; i < OTO_HISTOGRAM_BUCKETS; i++) {
        result->n += (double)histogram->count[i];
    }
    result->p50 = oto_histogram_quantile_us(histogram, 0.5);
    result->p99 = oto_histogram_quantile_us(histogram, 0.99);
    result->p999 = oto_histogram_quantile_us(histogram, 0.999);
    result->max = (double)histogram->max_ns * 1e-3;
}

static const char *verdict(const struct bench_result *result)
{
    if (result->goal == 0.0) {
        return "";
    }
    const bool met = result->at_least ? result->p50 >= result->goal : result->p50 <= result->goal;
    return met ? "met" : "MISSED";
}

static void print_json(const struct bench_result *result)
{
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"n", result->n},       {"p50", result->p50}, {"p99", result->p99},
                   {"p99_9", result->p999}, {"max", result->max}, {"reference_p50", result->reference_p50},
                   {"ratio", result->p50 / result->reference_p50}, {"goal", result->goal}};
    (void)printf("{\"name\": \"%s\", \"unit\": \"%s\"", result->name, result->unit);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)printf(", \"%s\": ", numbers[i].key);
        oto_json_put_number(stdout, numbers[i].value);
    }
    (void)printf(", \"reference\": ");
    oto_json_put_text(stdout, result->reference != NULL ? result->reference : "");
    (void)printf(", \"note\": ");
    oto_json_put_text(stdout, result->note);
    (void)printf("}\n");
}

void bench_print(struct bench_context *context, const struct bench_result *result)
{
    if (context->json) {
        print_json(result);
    } else {
        if (context->printed == 0) {
            (void)printf("%-22s %-8s %9s %10s %10s %10s %10s %8s  %s\n", "benchmark", "unit", "n", "p50", "p99", "p99.9",
                         "max", "ratio", "to the reference; goal");
        }
        (void)printf("%-22s %-8s %9.0f %10.4g %10.4g %10.4g %10.4g %8.3g  %s (%.4g)", result->name, result->unit,
                     result->n, result->p50, result->p99, result->p999, result->max,
                     result->p50 / result->reference_p50, result->reference != NULL ? result->reference : "",
                     result->reference_p50);
        if (result->goal != 0.0) {
            (void)printf("; goal %s %.4g: %s", result->at_least ? ">=" : "<=", result->goal, verdict(result));
        }
        (void)printf("%s%s\n", result->note[0] != '\0' ? "; " : "", result->note);
    }
    (void)fflush(stdout);
    context->printed++;
}

/* ---- a world ---- */

static bool is_parent(pid_t parent, uint32_t pid)
{
    char path[64];
    long found = 0;
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    const bool read = file != NULL && fscanf(file, "%*d (%*[^)]) %*c %ld", &found) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return read && found == (long)parent;
}

/* The server that was spawned, or that one's child where it supervises; not `other_than`, 0: any. */
static struct oto_client *attach(struct bench_world *world, pid_t other_than)
{
    const struct timespec pause = {0, 200000};
    struct oto_error error = {0};
    for (int i = 0; i < 50000 && !cli_interrupted(); i++) {
        struct oto_client_options options = {.size = sizeof options, .world = "demo", .name = "bench"};
        struct oto_client *client = NULL;
        if (oto_client_open(&options, &client, &error) == OTO_OK) {
            const uint32_t writer = oto_client_header(client)->writer_pid;
            const bool own = writer == (uint32_t)world->pid || is_parent(world->pid, writer);
            if (own && writer != (uint32_t)other_than) {
                return client;
            }
            oto_client_close(client);
        }
        if (waitpid(world->pid, NULL, WNOHANG) == world->pid) {
            world->pid = 0;
            break;
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)cli_say(&error);
    return NULL;
}

bool bench_world_start(struct bench_world *world, const char *const *options)
{
    return bench_world_start_file(world, OTO_SOURCE_DIR "/configs/worlds/city_drive.yaml", options);
}

bool bench_world_start_file(struct bench_world *world, const char *path, const char *const *options)
{
    char program[PATH_MAX];
    char file[PATH_MAX];
    char *arguments[32] = {program, file};
    struct oto_error error = {0};
    memset(world, 0, sizeof *world);
    (void)snprintf(file, sizeof file, "%s", path);
    if (cli_sibling("otolithd", program, sizeof program, &error) != OTO_OK) {
        (void)cli_say(&error);
        return false;
    }
    for (int i = 0; options[i] != NULL && i < 28; i++) {
        arguments[i + 2] = strdup(options[i]);
    }
    world->spawned_ns = srv_now_ns();
    const int failure = posix_spawn(&world->pid, program, NULL, NULL, arguments, environ);
    for (int i = 2; arguments[i] != NULL; i++) {
        free(arguments[i]);
    }
    if (failure != 0) {
        world->pid = 0;
        return false;
    }
    world->client = attach(world, 0);
    if (world->client == NULL) {
        bench_world_stop(world);
        return false;
    }
    return true;
}

bool bench_world_attach_again(struct bench_world *world, pid_t before)
{
    oto_client_close(world->client);
    world->client = attach(world, before);
    return world->client != NULL;
}

void bench_world_stop(struct bench_world *world)
{
    struct rusage usage;
    struct oto_reply reply;
    struct oto_error error;
    if (world->client != NULL) {
        (void)oto_control_shutdown(world->client, &reply, &error);
        oto_client_close(world->client);
        world->client = NULL;
    }
    if (world->pid > 0) {
        (void)kill(world->pid, SIGTERM);
        if (wait4(world->pid, NULL, 0, &usage) == world->pid) {
            world->cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
        }
        world->pid = 0;
    }
}

bool bench_world_run(struct bench_world *world, double seconds)
{
    const int64_t end_ns = srv_now_ns() + (int64_t)(seconds * 1e9);
    const struct timespec pause = {0, 20000000};
    while (srv_now_ns() < end_ns && !cli_interrupted()) {
        if (!oto_client_server_alive(world->client)) {
            return false;
        }
        (void)nanosleep(&pause, NULL);
    }
    return true;
}

pid_t bench_spawn_echo(const char *via)
{
    char program[PATH_MAX];
    struct oto_error error = {0};
    pid_t pid = 0;
    char topic[] = "demo/car/imu";
    char option[] = "--via";
    char road[8];
    char command[] = "echo";
    char *arguments[] = {program, command, topic, option, road, NULL};
    posix_spawn_file_actions_t actions;
    (void)snprintf(road, sizeof road, "%s", via);
    if (cli_sibling("otolith", program, sizeof program, &error) != OTO_OK) {
        return 0;
    }
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&pid, program, &actions, NULL, arguments, environ) != 0) {
        pid = 0;
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* ---- the reference clock ---- */

struct bare {
    struct bench_series *lateness_us;
    double seconds;
};

static void *bare_thread(void *argument)
{
    struct bare *bare = argument;
    const int64_t period_ns = 1000000;
    const int64_t start_ns = srv_now_ns() + period_ns;
    for (int64_t i = 0; (double)i * 1e-3 < bare->seconds && !cli_interrupted(); i++) {
        const int64_t deadline_ns = start_ns + i * period_ns;
        const struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR && !cli_interrupted()) {
        }
        series_add(bare->lateness_us, (double)(srv_now_ns() - deadline_ns) * 1e-3);
    }
    return NULL;
}

void bare_loop(struct bench_series *lateness_us, double seconds, bool fifo)
{
    struct bare bare = {lateness_us, seconds};
    pthread_attr_t attributes;
    pthread_t thread;
    (void)pthread_attr_init(&attributes);
    if (fifo) {
        const struct sched_param parameter = {.sched_priority = 70};
        (void)pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        (void)pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        (void)pthread_attr_setschedparam(&attributes, &parameter);
    }
    if (pthread_create(&thread, &attributes, bare_thread, &bare) == 0 ||
        pthread_create(&thread, NULL, bare_thread, &bare) == 0) {
        (void)pthread_join(thread, NULL);
    }
    (void)pthread_attr_destroy(&attributes);
}
