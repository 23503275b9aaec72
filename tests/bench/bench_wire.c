/*
 * From the tick to remote subscribers: eight of them in threads, each through nng. A sample is sent when its tick's
 * work ends; a reader of the clock keeps that time for each tick, and the sample's stamp says which tick it was.
 */
#include "base/monotonic.h"
#include "bench.h"

#include <pthread.h>
#include <string.h>

enum { SUBSCRIBERS = 8, TICKS = 1 << 16 };

struct wire {
    const char *url;
    int64_t sent_ns[TICKS]; /* by tick, written by the clock's reader */
    double period_ns;
    int64_t end_ns;
};

struct subscriber {
    struct wire *wire;
    struct bench_series latency_us;
    uint64_t received, lost;
};

static void *receive(void *argument)
{
    struct subscriber *self = argument;
    struct oto_subscriber *subscriber = NULL;
    struct oto_error error = {0};
    if (oto_subscriber_open(self->wire->url, "demo/car/imu", &subscriber, &error) != OTO_OK) {
        (void)cli_say(&error);
        return NULL;
    }
    while (srv_now_ns() < self->wire->end_ns && !cli_interrupted()) {
        struct oto_wire_sample sample;
        if (oto_subscriber_next(subscriber, 100, &sample, &error) != OTO_OK || sample.type == NULL) {
            continue;
        }
        const int64_t now_ns = srv_now_ns();
        const uint64_t tick = (uint64_t)((double)sample.head.t_ns / self->wire->period_ns + 0.5);
        const int64_t sent_ns = __atomic_load_n(&self->wire->sent_ns[tick % TICKS], __ATOMIC_ACQUIRE);
        if (self->received++ > 0) {
            self->lost += sample.lost;
        }
        if (sent_ns > 0) {
            series_add(&self->latency_us, (double)(now_ns - sent_ns) * 1e-3);
        }
    }
    oto_subscriber_close(subscriber);
    return NULL;
}

/* Keeps the end of each tick's work until the run is over. */
static void follow_clock(struct bench_world *world, struct wire *wire)
{
    struct oto_clock clock = {0};
    while (srv_now_ns() < wire->end_ns && !cli_interrupted()) {
        if (oto_client_wait_tick(world->client, clock.tick, 100) == OTO_OK &&
            oto_client_clock(world->client, &clock) == OTO_OK) {
            __atomic_store_n(&wire->sent_ns[clock.tick % TICKS], clock.start_mono_ns + clock.work_ns, __ATOMIC_RELEASE);
        }
    }
}

void bench_nng(struct bench_context *context)
{
    static const char *const options[] = {"--set", "publish.coalesce_ms=0", NULL};
    static struct wire wire;
    struct subscriber subscribers[SUBSCRIBERS];
    pthread_t threads[SUBSCRIBERS];
    char url[1024];
    char directory[512];
    struct bench_series all = {0}, bare = {0};
    struct oto_error error = {0};
    uint64_t lost = 0;
    struct bench_world world;
    struct bench_result result = {.name = "nng_8_subscribers", .unit = "us", .goal = 200.0,
                                  .reference = "a bare loop's wake-up"};
    if (!bench_world_start(&world, options) || !bench_world_run(&world, 0.5) ||
        oto_runtime_directory(directory, sizeof directory, &error) != OTO_OK) {
        bench_world_stop(&world);
        return;
    }
    const struct oto_segment_header *header = oto_client_header(world.client);
    (void)snprintf(url, sizeof url, "ipc://%s/demo/pub.ipc", directory);
    memset(&wire, 0, sizeof wire);
    memset(subscribers, 0, sizeof subscribers);
    wire.url = url;
    wire.period_ns = 1e9 * (double)header->rate_den / (double)header->rate_num;
    wire.end_ns = srv_now_ns() + (context->smoke ? INT64_C(2500000000) : INT64_C(20000000000));
    bare_loop(&bare, 0.3, false);
    for (int i = 0; i < SUBSCRIBERS; i++) {
        subscribers[i].wire = &wire;
        (void)pthread_create(&threads[i], NULL, receive, &subscribers[i]);
    }
    follow_clock(&world, &wire);
    for (int i = 0; i < SUBSCRIBERS; i++) {
        (void)pthread_join(threads[i], NULL);
        lost += subscribers[i].lost;
        for (size_t k = 0; k < subscribers[i].latency_us.count; k++) {
            series_add(&all, subscribers[i].latency_us.values[k]);
        }
        series_free(&subscribers[i].latency_us);
    }
    result_from_series(&result, &all);
    result.reference_p50 = series_quantile(&bare, 0.5);
    (void)snprintf(result.note, sizeof result.note, "%llu samples lost (goal 0)", (unsigned long long)lost);
    bench_print(context, &result);
    bench_world_stop(&world);
    series_free(&all);
    series_free(&bare);
}
