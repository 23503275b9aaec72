/* Drives on all cores: a thread takes the next drive that is not done, and runs its world once with a calibration of each method. */
#include "grade/grade.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "bar.h"

struct crew {
    const struct grade_plan *plan;
    struct grade_store *store;
    struct grade_cost *cost;
    pthread_mutex_t lock; /* protects the members below, the store's file and `done`, and the cost */
    uint64_t next, finished, wanted;
    struct cli_bar bar;
    enum oto_status status;
    struct oto_error *error;
};

static int64_t thread_cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void place_of(const struct grade_plan *plan, uint64_t drive, uint32_t *world, uint32_t *style, uint64_t *seed)
{
    *seed = plan->first_seed + drive % plan->seeds;
    *style = (uint32_t)(drive / plan->seeds % plan->style_count);
    *world = (uint32_t)(drive / plan->seeds / plan->style_count);
}

static enum oto_status drive_one(const struct crew *crew, uint64_t drive, struct oto_error *error)
{
    uint32_t world, style;
    uint64_t seed;
    place_of(crew->plan, drive, &world, &style, &seed);
    return grade_drive(crew->plan, world, style, seed, &crew->store->chunks[drive * crew->plan->method_count], error);
}

/* The lock is held. */
static bool next_drive(struct crew *crew, uint64_t *drive)
{
    while (crew->next < crew->store->drives && crew->store->done[crew->next]) {
        crew->next++;
    }
    *drive = crew->next;
    return crew->status == OTO_OK && !cli_interrupted() && crew->next++ < crew->store->drives;
}

/* The lock is held. */
static void put_drive(struct crew *crew, uint64_t drive, int64_t cpu_ns, enum oto_status status, struct oto_error *error)
{
    char text[64];
    if (status == OTO_OK) {
        status = grade_store_put(crew->plan, crew->store, drive, error);
    }
    crew->cost->drives++;
    crew->cost->cpu_ns += cpu_ns;
    if (status != OTO_OK && crew->status == OTO_OK) {
        crew->status = status;
        *crew->error = *error;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " drives", ++crew->finished, crew->wanted);
    cli_bar_show(&crew->bar, crew->finished, crew->wanted, text);
}

static void *work(void *context)
{
    struct crew *crew = context;
    struct oto_error error = {0};
    uint64_t drive;
    (void)pthread_mutex_lock(&crew->lock);
    while (next_drive(crew, &drive)) {
        (void)pthread_mutex_unlock(&crew->lock);
        const int64_t begun_ns = thread_cpu_ns();
        const enum oto_status status = drive_one(crew, drive, &error);
        const int64_t cpu_ns = thread_cpu_ns() - begun_ns;
        (void)pthread_mutex_lock(&crew->lock);
        put_drive(crew, drive, cpu_ns, status, &error);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static enum oto_status run_workers(struct crew *crew, pthread_t *threads, uint32_t jobs, struct oto_error *error)
{
    uint32_t begun = 0;
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && begun < jobs) {
        if (pthread_create(&threads[begun], NULL, work, crew) != 0) {
            status = oto_fail(error, OTO_LIMIT, "cannot start %" PRIu32 " threads; give fewer --jobs", jobs);
        }
        begun += status == OTO_OK;
    }
    for (uint32_t i = 0; i < begun; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return status == OTO_OK ? crew->status : status;
}

enum oto_status grade_run(const struct grade_plan *plan, struct grade_store *store, uint32_t jobs, struct grade_cost *cost,
                          struct oto_error *error)
{
    struct crew crew = {.plan = plan, .store = store, .cost = cost, .wanted = store->drives - store->kept, .error = error};
    pthread_t *threads = calloc(jobs, sizeof *threads);
    *cost = (struct grade_cost){0};
    if (threads == NULL || pthread_mutex_init(&crew.lock, NULL) != 0) {
        free(threads);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu32 " threads", jobs);
    }
    cli_bar_begin(&crew.bar);
    const enum oto_status status = run_workers(&crew, threads, jobs, error);
    cli_bar_end(&crew.bar);
    free(threads);
    (void)pthread_mutex_destroy(&crew.lock);
    if (status == OTO_OK && cli_interrupted()) {
        return oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " of %" PRIu64 " drives; the same command continues from there",
                        store->kept + crew.finished, store->drives);
    }
    return status;
}
