#include "daemon/thread/workers.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "base/futex.h"
#include "daemon/thread/engine_private.h"

#define SPINS 4000u /* take some ten microseconds */
#define SLEEP_NS INT64_C(1000000000)
#define LARGE_WORLD_VEHICLES 200u

struct worker {
    struct srv_workers *workers;
    pthread_t thread;
    uint32_t lane;
    unsigned char *signal_stack;
};

struct srv_workers {
    /* fixed */
    uint32_t wanted;
    uint32_t count; /* threads beside the tick thread */
    void (*begin)(void *context);
    void *begin_context;
    struct worker *workers;
    /* written by the tick thread; workers read them after a change of `generation` */
    void (*work)(void *context, uint32_t lane);
    void *context;
    uint32_t lanes;
    uint32_t quit;
    _Alignas(64) uint32_t generation; /* counts the calls of srv_workers_run; workers sleep on it */
    uint32_t sleepers;                /* workers that sleep, or are about to */
    _Alignas(64) uint32_t pending;    /* workers that are not done; the tick thread sleeps on it */
    uint32_t waits;                   /* the tick thread sleeps, or is about to */
};

static _Thread_local uint32_t own_lane;

uint32_t srv_worker_lane(void)
{
    return own_lane;
}

static uint32_t processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

uint32_t srv_workers_wanted(const struct srv_world_config *config)
{
    if (config->threads > 0) {
        return config->threads;
    }
    const bool large = config->clock.mode == OTO_MODE_ASAP && config->vehicle_count >= LARGE_WORLD_VEHICLES;
    return large ? processors() : 1;
}

/* ---- the barrier ---- */

/* Waits until *word differs from `seen`: spins, then sleeps. *sleeping counts the sleeping threads for the waker. */
static uint32_t wait_for_change(const uint32_t *word, uint32_t seen, uint32_t *sleeping)
{
    uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; now == seen && i < SPINS; i++) {
        srv_pause();
        now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    }
    while (now == seen) {
        (void)__atomic_add_fetch(sleeping, 1, __ATOMIC_SEQ_CST);
        srv_futex_wait(word, seen, SLEEP_NS);
        (void)__atomic_sub_fetch(sleeping, 1, __ATOMIC_SEQ_CST);
        now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    }
    return now;
}

static void finish_work(struct srv_workers *workers)
{
    (void)__atomic_sub_fetch(&workers->pending, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&workers->waits, __ATOMIC_SEQ_CST) != 0) {
        srv_futex_wake(&workers->pending);
    }
}

static void *worker_thread(void *argument)
{
    struct worker *worker = argument;
    struct srv_workers *workers = worker->workers;
    const stack_t stack = {.ss_sp = worker->signal_stack, .ss_size = SRV_SIGNAL_STACK_BYTES};
    stack_t previous; /* a sanitizer may have set one */
    uint32_t seen = 0;
    (void)sigaltstack(&stack, &previous);
    own_lane = worker->lane;
    workers->begin(workers->begin_context);
    while (true) {
        seen = wait_for_change(&workers->generation, seen, &workers->sleepers);
        if (__atomic_load_n(&workers->quit, __ATOMIC_RELAXED) != 0) {
            break;
        }
        if (worker->lane < workers->lanes) {
            workers->work(workers->context, worker->lane);
        }
        finish_work(workers);
    }
    (void)sigaltstack(&previous, NULL);
    return NULL;
}

static void call_workers(struct srv_workers *workers)
{
    (void)__atomic_add_fetch(&workers->generation, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&workers->sleepers, __ATOMIC_SEQ_CST) != 0) {
        srv_futex_wake(&workers->generation);
    }
}

void srv_workers_run(struct srv_workers *workers, void (*work)(void *context, uint32_t lane), void *context, uint32_t lanes)
{
    workers->work = work;
    workers->context = context;
    workers->lanes = lanes;
    __atomic_store_n(&workers->pending, workers->count, __ATOMIC_RELAXED);
    call_workers(workers);
    work(context, 0);
    uint32_t left = __atomic_load_n(&workers->pending, __ATOMIC_ACQUIRE);
    while (left != 0) {
        left = wait_for_change(&workers->pending, left, &workers->waits);
    }
}

/* ---- threads ---- */

static bool start_one(struct srv_workers *workers, uint32_t index)
{
    struct worker *worker = &workers->workers[index];
    worker->workers = workers;
    worker->lane = index + 1;
    worker->signal_stack = malloc(SRV_SIGNAL_STACK_BYTES);
    return worker->signal_stack != NULL && srv_thread_start(&worker->thread, worker_thread, worker) == 0;
}

enum oto_status srv_workers_start(uint32_t count, void (*begin)(void *context), void *context, struct srv_workers **out,
                                  struct oto_error *error)
{
    struct srv_workers *workers = srv_state_alloc(sizeof *workers);
    bool started = workers != NULL;
    *out = NULL;
    if (started) {
        workers->wanted = count;
        workers->begin = begin;
        workers->begin_context = context;
        workers->workers = calloc(count, sizeof *workers->workers);
        started = workers->workers != NULL;
    }
    for (uint32_t i = 0; i < count && started; i++) {
        started = start_one(workers, i);
        workers->count += started;
    }
    if (!started) {
        srv_workers_stop(workers);
        return oto_fail(error, OTO_NO_MEMORY, "cannot start %u threads; a lower number of `threads` is accepted", count);
    }
    *out = workers;
    return OTO_OK;
}

void srv_workers_stop(struct srv_workers *workers)
{
    if (workers == NULL) {
        return;
    }
    __atomic_store_n(&workers->quit, 1, __ATOMIC_RELAXED);
    call_workers(workers);
    for (uint32_t i = 0; i < workers->count; i++) {
        (void)pthread_join(workers->workers[i].thread, NULL);
    }
    for (uint32_t i = 0; workers->workers != NULL && i < workers->wanted; i++) {
        free(workers->workers[i].signal_stack);
    }
    free(workers->workers);
    free(workers);
}
