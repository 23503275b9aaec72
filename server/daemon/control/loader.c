#include "daemon/control/loader_private.h"

#include <stdlib.h>
#include <string.h>

struct srv_loader *srv_loader_create(struct srv_worker *worker, struct srv_engine *engine,
                                     struct srv_command_queue *command_queue, srv_probe_function *probe)
{
    struct srv_loader *loader = calloc(1, sizeof *loader);
    if (loader == NULL) {
        return NULL;
    }
    loader->worker = worker;
    loader->engine = engine;
    loader->command_queue = command_queue;
    loader->probe = probe;
    loader->node_count = srv_engine_node_count(engine);
    loader->previous = calloc((size_t)loader->node_count + 1, sizeof *loader->previous);
    if (loader->previous == NULL) {
        free(loader);
        return NULL;
    }
    for (uint32_t i = 0; i < loader->node_count; i++) {
        srv_previous_of_file(engine, i, &loader->previous[i]);
    }
    return loader;
}

void srv_job_answer(struct srv_job *job, enum oto_status status, uint64_t tick, const char *text)
{
    if (job->pending == NULL) {
        return;
    }
    srv_pending_request_finish(job->pending, status, tick, text);
    job->pending = NULL;
}

void srv_job_drop(struct srv_job *job)
{
    struct srv_job **link = &job->loader->jobs;
    while (*link != NULL && *link != job) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = job->next;
    }
    srv_swap_job_finish(job);
    free(job->key);
    free(job->yaml);
    free(job);
}

/* [worker] */
static void work(uv_work_t *work_request)
{
    struct srv_job *job = work_request->data;
    const struct srv_sim *sim = srv_engine_sim(job->loader->engine);
    if (job->stage == SRV_JOB_RETIRING) {
        job->stayed = !srv_change_free(job->change);
        job->change = NULL;
    } else if (job->stage == SRV_JOB_TRYING) {
        job->status = srv_sim_swap_ready(sim, job->change, &job->error);
    } else if (job->swap) {
        job->status = srv_sim_swap_load(sim, job->node, &job->options, &job->change, &job->error);
    } else {
        job->status = srv_sim_change_parameter(sim, job->node, job->key, job->yaml, &job->change, &job->error);
    }
}

void srv_job_retire(struct srv_job *job, struct srv_node_change *change)
{
    job->change = change;
    if (change == NULL) {
        srv_job_drop(job);
    } else {
        job->stage = SRV_JOB_RETIRING_WAITS;
    }
}

void srv_job_refuse(struct srv_job *job)
{
    if (job->swap) {
        const char *node = srv_engine_node_setup(job->loader->engine, job->node)->node;
        srv_engine_count(job->loader->engine, OTO_COUNTER_SWAPS_REFUSED, 1);
        srv_command_queue_event(job->loader->command_queue, OTO_EVENT_SWAP_REFUSED, 1, (int64_t)job->status, node,
                                job->error.text);
    }
    srv_job_answer(job, job->status, 0, job->error.text);
    srv_job_retire(job, job->change);
}

/* The change in the reply holds the replaced parameters; after a refusal it is the change that was sent. */
static void on_set(void *context, const struct srv_reply *reply)
{
    struct srv_job *job = context;
    struct srv_loader *loader = job->loader;
    srv_job_answer(job, reply->status, reply->tick, reply->status == OTO_OK ? "set" : srv_reply_reason(reply));
    srv_job_retire(job, reply->change);
    srv_loader_go_on(loader);
}

static void send_set(struct srv_job *job)
{
    const struct srv_command command = {
        .kind = SRV_COMMAND_PARAMS, .change = job->change, .key = job->key, .text = job->yaml};
    job->stage = SRV_JOB_FLIPPING;
    if (!srv_command_queue_send(job->loader->command_queue, &command, on_set, job)) {
        const struct srv_reply reply = srv_command_queue_refusal(job->loader->command_queue, job->change);
        on_set(job, &reply);
    }
}

static void on_worked(uv_work_t *work_request, int uv_status)
{
    struct srv_job *job = work_request->data;
    struct srv_loader *loader = job->loader;
    (void)uv_status;
    srv_worker_done(loader->worker, work_request);
    loader->busy = false;
    if (job->stage == SRV_JOB_RETIRING) {
        if (job->stayed) {
            srv_engine_count(loader->engine, OTO_COUNTER_RESIDENT_LIBRARIES, 1);
        }
        srv_job_drop(job);
    } else if (job->status != OTO_OK) {
        srv_job_refuse(job);
    } else if (!job->swap && job->cancelled) {
        job->status = OTO_CLOSED;
        srv_job_refuse(job);
    } else if (!job->swap) {
        send_set(job);
    } else if (job->stage == SRV_JOB_LOADING) {
        srv_swap_job_loaded(job);
    } else {
        srv_swap_job_flip(job);
    }
    srv_loader_go_on(loader);
}

static bool node_is_taken(const struct srv_loader *loader, const struct srv_job *until)
{
    for (const struct srv_job *job = loader->jobs; job != until; job = job->next) {
        if (job->node == until->node && job->stage <= SRV_JOB_FLIPPING) {
            return true;
        }
    }
    return false;
}

static struct srv_job *pick(const struct srv_loader *loader)
{
    for (struct srv_job *job = loader->jobs; job != NULL; job = job->next) {
        if (job->stage == SRV_JOB_RETIRING_WAITS || job->stage == SRV_JOB_TRYING_WAITS ||
            (job->stage == SRV_JOB_WAITING && !node_is_taken(loader, job))) {
            return job;
        }
    }
    return NULL;
}

void srv_loader_go_on(struct srv_loader *loader)
{
    static const enum srv_job_stage next[] = {[SRV_JOB_WAITING] = SRV_JOB_LOADING,
                                              [SRV_JOB_TRYING_WAITS] = SRV_JOB_TRYING,
                                              [SRV_JOB_RETIRING_WAITS] = SRV_JOB_RETIRING};
    struct srv_job *job = loader->busy ? NULL : pick(loader);
    if (job == NULL) {
        return;
    }
    job->stage = next[job->stage];
    job->work.data = job;
    loader->busy = true;
    char what[112];
    (void)snprintf(what, sizeof what, "%s %.80s", job->swap ? "swap" : "set",
                   srv_engine_node_setup(loader->engine, job->node)->node);
    if (!srv_worker_queue(loader->worker, &job->work, work, on_worked, what)) {
        loader->busy = false;
        srv_job_answer(job, OTO_NO_MEMORY, 0, "the server cannot start its loader thread");
        (void)srv_change_free(job->change);
        srv_job_drop(job);
    }
}

struct srv_job *srv_job_make(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node)
{
    struct srv_job *job = loader->stopped ? NULL : calloc(1, sizeof *job);
    if (job == NULL) {
        if (pending != NULL) {
            srv_pending_request_finish(pending, loader->stopped ? OTO_CLOSED : OTO_NO_MEMORY, 0,
                                       loader->stopped ? "the server ends" : "the server is out of memory");
        }
        return NULL;
    }
    job->loader = loader;
    job->pending = pending;
    job->node = node;
    return job;
}

void srv_job_enter(struct srv_job *job)
{
    struct srv_job **link = &job->loader->jobs;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = job;
    srv_loader_go_on(job->loader);
}

void srv_loader_set(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node, const char *key,
                    const char *yaml)
{
    struct srv_job *job = srv_job_make(loader, pending, node);
    if (job == NULL) {
        return;
    }
    job->key = strdup(key);
    job->yaml = strdup(yaml);
    if (job->key == NULL || job->yaml == NULL) {
        srv_job_answer(job, OTO_NO_MEMORY, 0, "the server is out of memory");
        srv_job_drop(job);
        return;
    }
    srv_job_enter(job);
}

void srv_loader_refuse_waiting(struct srv_loader *loader, enum oto_status status, const char *why)
{
    struct srv_job *next;
    for (struct srv_job *job = loader->jobs; job != NULL; job = next) {
        next = job->next;
        if (job->stage == SRV_JOB_WAITING) {
            srv_job_answer(job, status, 0, why);
            srv_job_drop(job);
        }
    }
}

void srv_loader_give_up_running(struct srv_loader *loader, enum oto_status status, const char *why)
{
    for (struct srv_job *job = loader->jobs; job != NULL; job = job->next) {
        if (job->stage == SRV_JOB_LOADING || job->stage == SRV_JOB_TRYING) {
            srv_job_answer(job, status, 0, why);
            job->cancelled = true;
        }
    }
}

void srv_loader_stop(struct srv_loader *loader)
{
    loader->stopped = true;
    srv_loader_refuse_waiting(loader, OTO_CLOSED, "the server ends");
}

void srv_loader_destroy(struct srv_loader *loader)
{
    if (loader == NULL) {
        return;
    }
    for (uint32_t i = 0; i < loader->node_count; i++) {
        srv_previous_finish(&loader->previous[i]);
    }
    free(loader->previous);
    free(loader);
}
