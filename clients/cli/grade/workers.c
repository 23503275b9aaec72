/* Drives on all cores: a thread takes the next drive that is not done, simulates it once and calibrates it by each method. */
#include "grade/grade.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"

struct crew {
    const struct grade_plan *plan;
    struct grade_plugins *plugins;
    struct grade_store *store;
    struct grade_cost *cost;
    pthread_mutex_t lock; /* of all below, the store's file and marks, and the cost */
    uint64_t next, finished, wanted;
    struct cli_bar bar;
    enum oto_status status;
    struct oto_error *error;
};

struct worker {
    struct crew *crew;
    struct oto_estimate *estimates[GRADE_MOST_METHODS];
    pthread_t thread;
};

static void place_of(const struct grade_plan *plan, uint64_t drive, uint32_t *world, uint32_t *style, uint64_t *seed)
{
    *seed = plan->first_seed + drive % plan->seeds;
    *style = (uint32_t)(drive / plan->seeds % plan->style_count);
    *world = (uint32_t)(drive / plan->seeds / plan->style_count);
}

static enum oto_status simulate(const struct grade_plan *plan, struct grade_plugins *plugins, uint32_t world, uint32_t style,
                                uint64_t seed, struct oto_document **document, struct grade_recording *recording,
                                struct oto_error *error)
{
    *document = NULL;
    *recording = (struct grade_recording){0};
    const enum oto_status status = grade_world_draw(&plan->worlds[world], plan->styles[style], seed, document, error);
    return status == OTO_OK ? grade_simulate(plugins, *document, &plan->worlds[world].path_law, GRADE_DRIVE_S, recording, error) : status;
}

static enum oto_status drive_one(struct worker *worker, uint64_t drive, struct oto_error *error)
{
    const struct grade_plan *plan = worker->crew->plan;
    struct oto_document *document;
    struct grade_recording recording;
    uint32_t world, style;
    uint64_t seed;
    place_of(plan, drive, &world, &style, &seed);
    enum oto_status status = simulate(plan, worker->crew->plugins, world, style, seed, &document, &recording, error);
    for (uint32_t m = 0; status == OTO_OK && m < plan->method_count; m++) {
        struct grade_chunk *chunk = &worker->crew->store->chunks[drive * plan->method_count + m];
        *chunk = (struct grade_chunk){.world = world, .style = style, .method = m, .seed = seed};
        status = grade_calibrate(worker->estimates[m], plan->methods[m], &recording, chunk, NULL, error);
    }
    grade_recording_finish(&recording);
    oto_document_close(document);
    return status;
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
static void put_drive(struct crew *crew, uint64_t drive, enum oto_status status, struct oto_error *error)
{
    char text[64];
    if (status == OTO_OK) {
        status = grade_store_put(crew->plan, crew->store, drive, error);
    }
    for (uint32_t m = 0; m < crew->plan->method_count; m++) {
        const struct grade_chunk *chunk = &crew->store->chunks[drive * crew->plan->method_count + m];
        crew->cost->cpu_ns += chunk->cpu_ns;
        crew->cost->samples += chunk->samples;
    }
    if (status != OTO_OK && crew->status == OTO_OK) {
        crew->status = status;
        *crew->error = *error;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " drives", ++crew->finished, crew->wanted);
    cli_bar_show(&crew->bar, crew->finished, crew->wanted, text);
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct crew *crew = worker->crew;
    struct oto_error error = {0};
    uint64_t drive;
    (void)pthread_mutex_lock(&crew->lock);
    while (next_drive(crew, &drive)) {
        (void)pthread_mutex_unlock(&crew->lock);
        const enum oto_status status = drive_one(worker, drive, &error);
        (void)pthread_mutex_lock(&crew->lock);
        put_drive(crew, drive, status, &error);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* A scene of each world once, so that every plugin is there before threads look for it. */
static enum oto_status open_all(const struct grade_plan *plan, struct grade_plugins *plugins, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t w = 0; status == OTO_OK && w < plan->world_count; w++) {
        struct oto_document *document = NULL;
        struct grade_recording recording = {0};
        status = grade_world_draw(&plan->worlds[w], plan->styles[0], plan->first_seed, &document, error);
        if (status == OTO_OK) {
            status = grade_simulate(plugins, document, &plan->worlds[w].path_law, 0.1, &recording, error);
        }
        grade_recording_finish(&recording);
        oto_document_close(document);
    }
    return status;
}

static enum oto_status open_worker(struct worker *worker, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t m = 0; status == OTO_OK && m < worker->crew->plan->method_count; m++) {
        status = oto_estimate_open("mount_calibration", &worker->estimates[m], error);
    }
    return status;
}

static enum oto_status run_workers(struct crew *crew, struct worker *workers, uint32_t jobs, struct oto_error *error)
{
    uint32_t begun = 0;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < jobs; i++) {
        workers[i].crew = crew;
        status = open_worker(&workers[i], error);
    }
    while (status == OTO_OK && begun < jobs) {
        if (pthread_create(&workers[begun].thread, NULL, work, &workers[begun]) != 0) {
            status = oto_fail(error, OTO_LIMIT, "cannot start %" PRIu32 " threads; give fewer --jobs", jobs);
        }
        begun += status == OTO_OK;
    }
    for (uint32_t i = 0; i < begun; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    return status == OTO_OK ? crew->status : status;
}

enum oto_status grade_run(const struct grade_plan *plan, struct grade_plugins *plugins, struct grade_store *store,
                          uint32_t jobs, struct grade_cost *cost, struct oto_error *error)
{
    struct crew crew = {.plan = plan, .plugins = plugins, .store = store, .cost = cost, .wanted = store->drives - store->kept,
                        .error = error};
    struct worker *workers = calloc(jobs, sizeof *workers);
    *cost = (struct grade_cost){0};
    if (workers == NULL || pthread_mutex_init(&crew.lock, NULL) != 0) {
        free(workers);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %" PRIu32 " threads", jobs);
    }
    cli_bar_begin(&crew.bar);
    enum oto_status status = open_all(plan, plugins, error);
    plugins->closed = true;
    if (status == OTO_OK) {
        status = run_workers(&crew, workers, jobs, error);
    }
    cli_bar_end(&crew.bar);
    for (uint32_t i = 0; i < jobs * GRADE_MOST_METHODS; i++) {
        oto_estimate_close(workers[i / GRADE_MOST_METHODS].estimates[i % GRADE_MOST_METHODS]);
    }
    free(workers);
    (void)pthread_mutex_destroy(&crew.lock);
    if (status == OTO_OK && cli_interrupted()) {
        return oto_fail(error, OTO_CLOSED, "interrupted after %" PRIu64 " of %" PRIu64 " drives; the same command goes on from there",
                        store->kept + crew.finished, store->drives);
    }
    return status;
}

enum oto_status grade_votes(const struct grade_plan *plan, struct grade_plugins *plugins, uint32_t world, uint32_t style,
                            struct oto_mount_calibration_histogram_record *record, double *true_rpy_deg,
                            struct oto_error *error)
{
    struct oto_document *document;
    struct grade_recording recording;
    struct grade_chunk chunk = {0};
    struct oto_estimate *estimate = NULL;
    memset(record, 0, sizeof *record);
    enum oto_status status = simulate(plan, plugins, world, style, plan->first_seed, &document, &recording, error);
    if (status == OTO_OK) {
        memcpy(true_rpy_deg, recording.true_rpy_deg, sizeof recording.true_rpy_deg);
        status = oto_estimate_open("mount_calibration", &estimate, error);
    }
    if (status == OTO_OK) {
        status = grade_calibrate(estimate, "histogram", &recording, &chunk, record, error);
    }
    oto_estimate_close(estimate);
    grade_recording_finish(&recording);
    oto_document_close(document);
    return status;
}
