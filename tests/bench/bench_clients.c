/*
 * Work of a tick while a client misbehaves, beside that of the same world left alone: they take turns in one run, as the
 * machine is another one a minute later. A neighbour that only burns time shows what any busy process costs.
 */
#include "base/monotonic.h"
#include "bench.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_S 0.1 /* of each turn, not measured */

static void end_process(pid_t pid)
{
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}

/* ---- what the clients do ---- */

static pid_t stop_a_reader(struct bench_world *world)
{
    const pid_t pid = bench_spawn_echo("shm");
    (void)bench_world_run(world, SETTLE_S);
    (void)kill(pid, SIGSTOP);
    return pid;
}

/* In a process of its own: readers come and are killed, over and over. */
static void kill_readers(void)
{
    const struct timespec life = {0, 30000000};
    for (;;) {
        const pid_t pid = bench_spawn_echo("shm");
        (void)nanosleep(&life, NULL);
        end_process(pid);
    }
}

static int connect_control(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.80s/otolith/demo/control.sock", getenv("XDG_RUNTIME_DIR"));
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* Connections in a loop, garbage in each, answers that nobody reads. */
static void flood(void)
{
    unsigned char garbage[512];
    for (uint32_t seed = 1;; seed++) {
        const int fd = connect_control();
        for (size_t i = 0; i < sizeof garbage; i++) {
            garbage[i] = (unsigned char)((seed * 2654435761u + i * 40503u) >> 13);
        }
        for (int i = 0; fd >= 0 && i < 64 && send(fd, garbage, sizeof garbage, MSG_NOSIGNAL) >= 0; i++) {
        }
        if (fd >= 0) {
            (void)close(fd);
        }
    }
}

static void burn(void)
{
    for (volatile uint64_t i = 0;; i++) {
    }
}

/* One that does it for ever, in a group of its own, so that its readers end with it. */
static pid_t fork_one(void (*what)(void))
{
    const pid_t pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        what();
        _exit(0);
    }
    (void)setpgid(pid, pid);
    return pid;
}

static pid_t begin_deaths(struct bench_world *world)
{
    (void)world;
    return fork_one(kill_readers);
}

static pid_t begin_flood(struct bench_world *world)
{
    (void)world;
    return fork_one(flood);
}

static pid_t begin_burning(struct bench_world *world)
{
    (void)world;
    return fork_one(burn);
}

/* ---- turns ---- */

/* Work of each tick that is seen in that time, in us. */
static void watch_ticks(struct bench_world *world, double seconds, struct bench_series *work_us)
{
    const int64_t end_ns = srv_now_ns() + (int64_t)(seconds * 1e9);
    struct oto_clock clock = {0};
    while (srv_now_ns() < end_ns && !cli_interrupted()) {
        const uint64_t before = clock.tick;
        if (oto_client_wait_tick(world->client, before, 100) == OTO_OK &&
            oto_client_clock(world->client, &clock) == OTO_OK && clock.tick > before) {
            series_add(work_us, (double)clock.work_ns * 1e-3);
        }
    }
}

struct misdeed {
    const char *name;
    pid_t (*begin)(struct bench_world *world);
    bool grouped; /* it has a process group */
    double limit; /* of the ratio; 0: none */
    const char *note;
};

static void take_turns(struct bench_context *context, struct bench_world *world, const struct misdeed *misdeed)
{
    const int turns = context->smoke ? 1 : 20;
    const double seconds = context->smoke ? 0.2 : 1.0;
    struct bench_series alone_us = {0}, beside_us = {0};
    struct bench_result result = {.name = misdeed->name, .unit = "us", .reference = "the same world left alone"};
    for (int i = 0; i < turns && !cli_interrupted(); i++) {
        (void)bench_world_run(world, SETTLE_S);
        watch_ticks(world, seconds, &alone_us);
        const pid_t pid = misdeed->begin(world);
        (void)bench_world_run(world, SETTLE_S);
        watch_ticks(world, seconds, &beside_us);
        if (misdeed->grouped && pid > 0) {
            (void)kill(-pid, SIGKILL);
        }
        end_process(pid);
    }
    result_from_series(&result, &beside_us);
    result.reference_p50 = series_quantile(&alone_us, 0.5);
    result.goal = misdeed->limit * result.reference_p50;
    (void)snprintf(result.note, sizeof result.note, "%s; alone p99 %.3g; %llu overruns in all", misdeed->note,
                   series_quantile(&alone_us, 0.99),
                   (unsigned long long)oto_client_header(world->client)->counter[OTO_COUNTER_OVERRUNS]);
    bench_print(context, &result);
    series_free(&alone_us);
    series_free(&beside_us);
}

void bench_clients(struct bench_context *context)
{
    static const char *const options[] = {"--no-publish", NULL};
    static const struct misdeed misdeeds[] = {
        {"tick_stopped_client", stop_a_reader, false, 1.05, "a reader under SIGSTOP"},
        {"tick_dying_clients", begin_deaths, true, 1.05, "readers that are killed 30 times a second"},
        {"tick_flooded", begin_flood, true, 1.05, "connections and garbage as fast as they go"},
        {"tick_busy_neighbour", begin_burning, true, 0.0, "a process that only burns time, for comparison"},
    };
    struct bench_world world;
    if (bench_world_start(&world, options)) {
        for (size_t i = 0; i < sizeof misdeeds / sizeof *misdeeds; i++) {
            take_turns(context, &world, &misdeeds[i]);
        }
    }
    bench_world_stop(&world);
}
