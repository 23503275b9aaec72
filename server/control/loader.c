#include "control/loader.h"

#include <stdlib.h>
#include <string.h>

enum stage {
    STAGE_WAITING, /* for the worker, or for an earlier change of the same node */
    STAGE_LOADING, /* in the worker */
    STAGE_FLIPPING, /* at the tick thread */
    STAGE_RETIRING_WAITS, /* what was replaced waits for the worker */
    STAGE_RETIRING        /* in the worker */
};

struct job {
    struct job *next;
    struct srv_loader *loader;
    struct srv_ticket *ticket; /* NULL once answered */
    enum stage stage;
    uint32_t node;
    bool swap;
    bool stayed; /* a retired library is still mapped */
    char *key;   /* of a parameter; the path of a swap */
    char *yaml;
    struct srv_node_change *change;
    enum oto_status status;
    struct oto_error error;
    uv_work_t work;
};

struct srv_loader {
    uv_loop_t *loop;
    struct srv_engine *engine;
    struct srv_courier *courier;
    struct job *jobs; /* in the order in which they came */
    bool busy;        /* the worker */
    bool stopped;
};

static void go_on(struct srv_loader *loader);

struct srv_loader *srv_loader_create(uv_loop_t *loop, struct srv_engine *engine, struct srv_courier *courier)
{
    struct srv_loader *loader = calloc(1, sizeof *loader);
    if (loader != NULL) {
        loader->loop = loop;
        loader->engine = engine;
        loader->courier = courier;
    }
    return loader;
}

static void answer(struct job *job, enum oto_status status, uint64_t tick, const char *text)
{
    if (job->ticket == NULL) {
        return;
    }
    srv_ticket_close(job->ticket, status, tick, text);
    job->ticket = NULL;
}

static void drop(struct job *job)
{
    struct job **link = &job->loader->jobs;
    while (*link != job) {
        link = &(*link)->next;
    }
    *link = job->next;
    free(job->key);
    free(job->yaml);
    free(job);
}

/* [worker] */
static void load(uv_work_t *work)
{
    struct job *job = work->data;
    struct srv_engine *engine = job->loader->engine;
    job->status = job->swap
                      ? srv_change_plugin(engine, job->node, job->key, &job->change, &job->error)
                      : srv_change_parameter(engine, job->node, job->key, job->yaml, &job->change, &job->error);
}

/* [worker] */
static void retire(uv_work_t *work)
{
    struct job *job = work->data;
    job->stayed = !srv_change_free(job->change);
    job->change = NULL;
}

static void on_retired(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct srv_loader *loader = job->loader;
    (void)status;
    loader->busy = false;
    if (job->stayed) {
        srv_engine_count(loader->engine, OTO_COUNTER_RESIDENT_LIBRARIES, 1);
    }
    drop(job);
    go_on(loader);
}

/* The reply brings what was replaced; a refusal brings the change itself back. */
static void on_flipped(void *context, const struct srv_reply *reply)
{
    struct job *job = context;
    struct srv_loader *loader = job->loader;
    const char *done = job->swap ? "swapped" : "set";
    answer(job, reply->status, reply->tick, reply->status == OTO_OK ? done
                                            : reply->reason != NULL ? reply->reason
                                                                    : oto_status_text(reply->status));
    job->change = reply->change;
    if (job->change == NULL) {
        drop(job);
    } else {
        job->stage = STAGE_RETIRING_WAITS;
    }
    go_on(loader);
}

/* Before it came to the engine, which counts and records what it refuses itself. */
static void refuse(struct job *job)
{
    if (job->swap) {
        const char *node = srv_engine_node_setup(job->loader->engine, job->node)->node;
        srv_engine_count(job->loader->engine, OTO_COUNTER_SWAPS_REFUSED, 1);
        srv_courier_event(job->loader->courier, OTO_EVENT_SWAP_REFUSED, 1, (int64_t)job->status, node, job->error.text);
    }
    answer(job, job->status, 0, job->error.text);
    drop(job);
}

static void on_loaded(uv_work_t *work, int status)
{
    struct job *job = work->data;
    struct srv_loader *loader = job->loader;
    (void)status;
    loader->busy = false;
    if (job->status != OTO_OK) {
        refuse(job);
        go_on(loader);
        return;
    }
    const struct srv_command command = {.kind = job->swap ? SRV_COMMAND_SWAP : SRV_COMMAND_PARAMS,
                                        .change = job->change};
    job->stage = STAGE_FLIPPING;
    if (!srv_courier_send(loader->courier, &command, on_flipped, job)) {
        const struct srv_reply reply = {.status = loader->stopped ? OTO_CLOSED : OTO_LIMIT, .change = job->change};
        on_flipped(job, &reply);
        return;
    }
    go_on(loader);
}

static bool node_is_taken(const struct srv_loader *loader, const struct job *until)
{
    for (const struct job *job = loader->jobs; job != until; job = job->next) {
        if (job->node == until->node && job->stage <= STAGE_FLIPPING) {
            return true;
        }
    }
    return false;
}

static struct job *pick(const struct srv_loader *loader)
{
    for (struct job *job = loader->jobs; job != NULL; job = job->next) {
        if (job->stage == STAGE_RETIRING_WAITS || (job->stage == STAGE_WAITING && !node_is_taken(loader, job))) {
            return job;
        }
    }
    return NULL;
}

static void go_on(struct srv_loader *loader)
{
    struct job *job = loader->busy ? NULL : pick(loader);
    if (job == NULL) {
        return;
    }
    const bool retiring = job->stage == STAGE_RETIRING_WAITS;
    job->stage = retiring ? STAGE_RETIRING : STAGE_LOADING;
    job->work.data = job;
    loader->busy = true;
    if (uv_queue_work(loader->loop, &job->work, retiring ? retire : load, retiring ? on_retired : on_loaded) != 0) {
        loader->busy = false;
        answer(job, OTO_NO_MEMORY, 0, "the server cannot start its loader thread");
        drop(job);
    }
}

static void enter(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node, bool swap, const char *key,
                  const char *yaml)
{
    struct job *job = calloc(1, sizeof *job);
    char *key_copy = strdup(key);
    char *yaml_copy = strdup(yaml);
    if (loader->stopped || job == NULL || key_copy == NULL || yaml_copy == NULL) {
        free(job);
        free(key_copy);
        free(yaml_copy);
        srv_ticket_close(ticket, loader->stopped ? OTO_CLOSED : OTO_NO_MEMORY, 0,
                         loader->stopped ? "the server ends" : "the server is out of memory");
        return;
    }
    job->loader = loader;
    job->ticket = ticket;
    job->node = node;
    job->swap = swap;
    job->key = key_copy;
    job->yaml = yaml_copy;
    struct job **link = &loader->jobs;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = job;
    go_on(loader);
}

void srv_loader_set(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node, const char *key,
                    const char *yaml)
{
    enter(loader, ticket, node, false, key, yaml);
}

void srv_loader_swap(struct srv_loader *loader, struct srv_ticket *ticket, uint32_t node, const char *path)
{
    enter(loader, ticket, node, true, path, "");
}

void srv_loader_stop(struct srv_loader *loader)
{
    loader->stopped = true;
    struct job *next;
    for (struct job *job = loader->jobs; job != NULL; job = next) {
        next = job->next;
        if (job->stage == STAGE_WAITING) {
            answer(job, OTO_CLOSED, 0, "the server ends");
            drop(job);
        }
    }
}

void srv_loader_destroy(struct srv_loader *loader)
{
    free(loader);
}
