/* Shared memory: reading the newest sample, and the way from the writer to a reader. */
#include "base/monotonic.h"
#include "bench.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "otolith/records.h"
#include "sim/ring_writer.h"

enum { READS = 1000 };

void bench_read(struct bench_context *context)
{
    static const char *const options[] = {"--no-publish", NULL};
    struct bench_result result = {.name = "read_newest", .unit = "ns", .reference = "memcpy of the record", .goal = 100.0};
    struct bench_series reads = {0}, copies = {0};
    struct bench_world world;
    struct oto_error error = {0};
    static struct oto_imu_record record, copy;
    struct oto_sample_head head;
    if (!bench_world_start(&world, options) || !bench_world_run(&world, 0.2)) {
        bench_world_stop(&world);
        return;
    }
    const struct oto_channel *channel = oto_client_find(world.client, "car/imu", &error);
    for (int batch = 0; channel != NULL && batch < (context->smoke ? 100 : 5000); batch++) {
        const int64_t start_ns = srv_now_ns();
        for (int i = 0; i < READS; i++) {
            (void)oto_channel_latest(channel, &head, &record, sizeof record);
        }
        const int64_t middle_ns = srv_now_ns();
        for (int i = 0; i < READS; i++) {
            memcpy(&copy, &record, sizeof copy);
            __asm__ volatile("" : : "r"(&copy), "r"(&record) : "memory");
        }
        series_add(&reads, (double)(middle_ns - start_ns) / READS);
        series_add(&copies, (double)(srv_now_ns() - middle_ns) / READS);
    }
    result_from_series(&result, &reads);
    result.reference_p50 = series_quantile(&copies, 0.5);
    bench_print(context, &result);
    bench_world_stop(&world);
    series_free(&reads);
    series_free(&copies);
}

/* ---- hops ---- */

/* A page shared by two threads: a ring's slot lock, or a bare word as the reference. */
struct hop {
    _Alignas(64) uint64_t word;   /* number of messages sent */
    _Alignas(64) uint64_t answer; /* number of messages received */
    _Alignas(64) uint32_t futex;
    bool ring;
    bool sleeping;
    int count;
    int64_t sent_ns;
    struct oto_ring_view view;
    struct bench_series *seen_ns;
};

struct hop_ring {
    struct oto_ring ring;
    unsigned char slots[64][384];
};

static void *hop_reader(void *argument)
{
    struct hop *hop = argument;
    struct oto_imu_record record;
    struct oto_sample_head head;
    struct oto_cursor cursor = {1, 0};
    for (int i = 0; i < hop->count; i++) {
        while (hop->sleeping && __atomic_load_n(&hop->futex, __ATOMIC_ACQUIRE) <= (uint32_t)i) {
            (void)syscall(SYS_futex, &hop->futex, FUTEX_WAIT, (uint32_t)i, NULL, NULL, 0);
        }
        if (hop->ring) {
            while (oto_ring_next(&hop->view, &cursor, &head, &record) != OTO_OK) {
            }
        } else {
            while (__atomic_load_n(&hop->word, __ATOMIC_ACQUIRE) <= (uint64_t)i) {
            }
        }
        const int64_t now_ns = srv_now_ns();
        series_add(hop->seen_ns, (double)(now_ns - __atomic_load_n(&hop->sent_ns, __ATOMIC_ACQUIRE)));
        __atomic_store_n(&hop->answer, (uint64_t)i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* One clock reading is part of every hop (about 20 ns), in the reference too. */
static void hops(struct bench_series *seen_ns, int count, bool ring, bool sleeping)
{
    static struct hop_ring memory;
    static struct oto_imu_record record;
    struct oto_sample_head head = {.t_ns = 0};
    struct srv_ring writer = {&memory.ring, &memory.slots[0][0], 63, 0, sizeof memory.slots[0], sizeof record, 0};
    const struct timespec gap = {0, sleeping ? 200000 : 2000};
    struct hop hop = {.ring = ring, .sleeping = sleeping, .count = count, .seen_ns = seen_ns};
    pthread_t thread;
    memset(&memory, 0, sizeof memory);
    hop.view = (struct oto_ring_view){&memory.ring, &memory.slots[0][0], 63, sizeof memory.slots[0], sizeof record};
    if (pthread_create(&thread, NULL, hop_reader, &hop) != 0) {
        return;
    }
    for (int i = 0; i < count; i++) {
        if (sleeping) {
            (void)nanosleep(&gap, NULL);
        }
        __atomic_store_n(&hop.sent_ns, srv_now_ns(), __ATOMIC_RELEASE);
        srv_ring_push(&writer, &head, &record);
        __atomic_store_n(&hop.word, (uint64_t)i + 1, __ATOMIC_RELEASE);
        if (sleeping) {
            __atomic_store_n(&hop.futex, (uint32_t)i + 1, __ATOMIC_RELEASE);
            (void)syscall(SYS_futex, &hop.futex, FUTEX_WAKE, 1, NULL, NULL, 0);
        }
        while (__atomic_load_n(&hop.answer, __ATOMIC_ACQUIRE) <= (uint64_t)i) {
        }
    }
    (void)pthread_join(thread, NULL);
}

static void hop_of(struct bench_context *context, const char *name, bool sleeping, double goal)
{
    const int count = context->smoke ? 200 : sleeping ? 5000 : 200000;
    struct bench_result result = {.name = name, .unit = "ns", .reference = "a bare word", .goal = goal};
    struct bench_series ring = {0}, word = {0};
    hops(&word, count, false, sleeping);
    hops(&ring, count, true, sleeping);
    result_from_series(&result, &ring);
    result.reference_p50 = series_quantile(&word, 0.5);
    bench_print(context, &result);
    series_free(&ring);
    series_free(&word);
}

void bench_hop(struct bench_context *context)
{
    hop_of(context, "hop_spinning", false, 300.0);
    hop_of(context, "hop_sleeping", true, 40000.0);
}
