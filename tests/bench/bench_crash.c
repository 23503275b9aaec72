/* What a crash costs: until somebody can read who died, and until the world ticks again. */
#include "base/monotonic.h"
#include "bench.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "document/document.h"
#include "otolith/records.h"

#define CRASHES 2 /* of one server, of one host: the third within a minute ends it for good */

static const struct timespec moment = {0, 20000};

struct events {
    const struct oto_channel *channel;
    struct oto_reader reader;
};

static bool events_open(struct events *events, const struct oto_client *client, enum oto_reader_start start)
{
    struct oto_error error = {0};
    events->channel = oto_client_find(client, "@events", &error);
    if (events->channel == NULL) {
        (void)cli_say(&error);
        return false;
    }
    events->reader = oto_reader_make(events->channel, start);
    return true;
}

/* The next event of a kind that is more than a notice. False: none came within ten seconds. */
static bool events_await(struct events *events, enum oto_event_kind kind)
{
    const int64_t end_ns = srv_now_ns() + INT64_C(10000000000);
    while (srv_now_ns() < end_ns && !cli_interrupted()) {
        struct oto_event_record event;
        struct oto_sample_head head;
        if (oto_reader_next(&events->reader, &head, &event, sizeof event) != OTO_OK) {
            (void)nanosleep(&moment, NULL);
        } else if (event.kind == (uint32_t)kind && event.severity > 0) {
            return true;
        }
    }
    return false;
}

/* ---- a plugin host ---- */

static pid_t host_pid(struct bench_world *world)
{
    struct oto_reply reply;
    struct oto_error error = {0};
    struct oto_document *document = NULL;
    double pid = 0.0;
    if (oto_control_info(world->client, &reply, &error) == OTO_OK &&
        oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, &error) == OTO_OK) {
        const struct oto_value *hosts = oto_value_get(oto_document_root(document), "plugin_hosts");
        if (hosts != NULL && hosts->count > 0) {
            (void)oto_value_f64(oto_value_get(hosts->items[0], "pid"), &pid, &error);
        }
    }
    oto_document_close(document);
    return (pid_t)pid;
}

static void measure_host(struct bench_context *context)
{
    static const char *const options[] = {"--no-publish", "--set", "vehicles.car.nodes.imu.isolation={process: bench}", NULL};
    const int count = context->smoke ? 2 : 100;
    struct bench_result result = {.name = "host_crash_event", .unit = "ms", .goal = 5.0, .reference = "the goal, 5 ms",
                                  .reference_p50 = 5.0, .note = "from SIGSEGV of a plugin host"};
    struct bench_series told_ms = {0};
    struct bench_world world;
    bool good = bench_world_start(&world, options);
    struct events events;
    for (int i = 0; good && i < count && !cli_interrupted(); i++) {
        good = bench_world_run(&world, 0.2) && events_open(&events, world.client, OTO_READ_FROM_NOW);
        const pid_t pid = good ? host_pid(&world) : 0;
        const int64_t start_ns = srv_now_ns();
        good = pid > 0 && kill(pid, SIGSEGV) == 0 && events_await(&events, OTO_EVENT_PLUGIN_HOST);
        series_add(&told_ms, (double)(srv_now_ns() - start_ns) * 1e-6);
    }
    bench_world_stop(&world);
    if (good) {
        result_from_series(&result, &told_ms);
        bench_print(context, &result);
    }
    series_free(&told_ms);
}

/* ---- a supervised server ---- */

struct restart {
    int said_fd; /* what the supervised server and its parent say */
    struct bench_series said_ms, event_ms, tick_ms;
};

/* Its standard error goes into a pipe. */
static bool start_heard(struct bench_world *world, struct restart *restart)
{
    static const char *const options[] = {"--supervise", "--no-publish", NULL};
    int ends[2];
    const int own = dup(STDERR_FILENO);
    if (own < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    (void)dup2(ends[1], STDERR_FILENO);
    const bool good = bench_world_start(world, options);
    (void)dup2(own, STDERR_FILENO);
    (void)close(own);
    (void)close(ends[1]);
    restart->said_fd = ends[0];
    return good;
}

/* False: it was not said within ten seconds. */
static bool await_words(int fd, const char *words)
{
    char text[4096];
    size_t used = 0;
    struct pollfd news = {.fd = fd, .events = POLLIN};
    while (used + 1 < sizeof text && poll(&news, 1, 10000) == 1) {
        const ssize_t got = read(fd, text + used, sizeof text - 1 - used);
        if (got <= 0) {
            return false;
        }
        used += (size_t)got;
        text[used] = '\0';
        if (strstr(text, words) != NULL) {
            return true;
        }
    }
    return false;
}

/* When the run that the client sees made its first tick. Its counters begin with it. */
static bool first_tick_ns(struct bench_world *world, int64_t *ns)
{
    const struct oto_segment_header *header = oto_client_header(world->client);
    const double period_ns = 1e9 * (double)header->rate_den / (double)header->rate_num;
    struct oto_clock clock = {0};
    for (int i = 0; i < 1000 && !cli_interrupted(); i++) {
        const uint64_t before = __atomic_load_n(&header->counter[OTO_COUNTER_TICKS], __ATOMIC_ACQUIRE);
        const bool ticks = oto_client_clock(world->client, &clock) == OTO_OK && before > 0;
        if (ticks && __atomic_load_n(&header->counter[OTO_COUNTER_TICKS], __ATOMIC_ACQUIRE) == before) {
            *ns = clock.start_mono_ns - (int64_t)((double)(before - 1) * period_ns);
            return true;
        }
        (void)oto_client_wait_tick(world->client, clock.tick, 10);
    }
    return false;
}

/* One crash: the parent reports it, and the next server continues and publishes it as an event. */
static bool crash_once(struct bench_world *world, struct restart *restart)
{
    struct events events;
    int64_t tick_ns = 0;
    const pid_t child = (pid_t)oto_client_header(world->client)->writer_pid;
    const int64_t start_ns = srv_now_ns();
    if (kill(child, SIGSEGV) != 0 || !await_words(restart->said_fd, "died of SIGSEGV")) {
        return false;
    }
    series_add(&restart->said_ms, (double)(srv_now_ns() - start_ns) * 1e-6);
    if (!bench_world_attach_again(world, child) || !events_open(&events, world->client, OTO_READ_FROM_OLDEST) ||
        !events_await(&events, OTO_EVENT_CRASH)) {
        return false;
    }
    series_add(&restart->event_ms, (double)(srv_now_ns() - start_ns) * 1e-6);
    if (!first_tick_ns(world, &tick_ns)) {
        return false;
    }
    series_add(&restart->tick_ms, (double)(tick_ns - start_ns) * 1e-6);
    return true;
}

static void print_restart(struct bench_context *context, struct restart *restart)
{
    const struct {
        const char *name, *note;
        double goal_ms;
        struct bench_series *series;
    } rows[] = {{"server_crash_said", "from SIGSEGV of a supervised server to its parent's sentence", 5.0, &restart->said_ms},
                {"server_crash_event", "to the event in the next server's segment", 200.0, &restart->event_ms},
                {"server_crash_tick", "to the first tick from its checkpoint", 200.0, &restart->tick_ms}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_result result = {.name = rows[i].name, .unit = "ms", .goal = rows[i].goal_ms, .reference = "the goal",
                                      .reference_p50 = rows[i].goal_ms};
        (void)snprintf(result.note, sizeof result.note, "%s", rows[i].note);
        result_from_series(&result, rows[i].series);
        bench_print(context, &result);
    }
}

static void measure_server(struct bench_context *context)
{
    const int count = context->smoke ? 1 : 20;
    struct restart restart = {.said_fd = -1};
    bool good = true;
    for (int i = 0; good && i < count && !cli_interrupted(); i++) {
        struct bench_world world;
        good = start_heard(&world, &restart);
        for (int k = 0; good && k < (context->smoke ? 1 : CRASHES); k++) {
            good = bench_world_run(&world, 1.3) && crash_once(&world, &restart); /* saved once a second */
        }
        bench_world_stop(&world);
        (void)close(restart.said_fd);
    }
    if (good) {
        print_restart(context, &restart);
    }
    series_free(&restart.said_ms);
    series_free(&restart.event_ms);
    series_free(&restart.tick_ms);
}

void bench_crash(struct bench_context *context)
{
    measure_host(context);
    measure_server(context);
}
