/* Shared by the loader's files. [loop], except functions marked [worker]. */
#ifndef SRV_LOADER_PRIVATE_H
#define SRV_LOADER_PRIVATE_H

#include "daemon/control/loader.h"

enum srv_job_stage {
    SRV_JOB_WAITING,        /* the job waits for the worker, or for an earlier change of the same node */
    SRV_JOB_LOADING,        /* the worker prepares the parameter, or loads the candidate of a swap */
    SRV_JOB_SNAPSHOT,       /* a swap: the tick thread copies the live state for the probe */
    SRV_JOB_TRYING_WAITS,   /* a swap: it waits for the worker to probe the candidate */
    SRV_JOB_TRYING,         /* a swap: the worker probes the candidate and makes it ready */
    SRV_JOB_FLIPPING,       /* the tick thread has the change, from its command until it is live; includes the shadow */
    SRV_JOB_SETTLING,       /* a swap: the candidate is live, on probation */
    SRV_JOB_RETIRING_WAITS, /* the replaced objects wait for the worker to free them */
    SRV_JOB_RETIRING        /* the worker frees the replaced objects */
};

struct srv_job {
    struct srv_job *next;
    struct srv_loader *loader;
    struct srv_pending_request *pending; /* NULL: no client waits for a reply */
    enum srv_job_stage stage;
    uint32_t node;
    bool swap;
    bool stayed;    /* the file of the retired plugin is still mapped */
    bool cancelled; /* a client cancelled the swap before the tick thread had it */
    bool wait;      /* the reply waits for the end of the probation */
    char *key, *yaml; /* of a parameter change */
    struct srv_swap_options options; /* of a swap; the job owns the texts */
    struct srv_previous previous;    /* of an undo: the plugin to return to */
    uint64_t asked_tick, live_tick;
    struct srv_node_change *change;
    enum oto_status status;
    struct oto_error error;
    uv_work_t work;
};

struct srv_loader {
    struct srv_worker *worker;
    struct srv_engine *engine;
    struct srv_command_queue *command_queue;
    struct srv_job *jobs; /* in order of arrival */
    struct srv_previous *previous; /* previous plugin of each node; member `plugin` NULL: there is none */
    uint32_t node_count;
    srv_probe_function *probe;
    bool busy;        /* the worker has a job of the loader */
    bool stopped;
};

/* ---- loader.c ---- */

struct srv_job *srv_job_make(struct srv_loader *loader, struct srv_pending_request *pending, uint32_t node);
/* Queues the job, which owns the pending request from now on. */
void srv_job_enter(struct srv_job *job);
void srv_job_drop(struct srv_job *job);
void srv_job_answer(struct srv_job *job, enum oto_status status, uint64_t tick, const char *text);
/* Refuses a job before the engine has its change, and counts a refused swap. The worker frees the change. */
void srv_job_refuse(struct srv_job *job);
/* Makes the worker free the objects of `change`. NULL: there is nothing to free, and the job is done. */
void srv_job_retire(struct srv_job *job, struct srv_node_change *change);
void srv_loader_go_on(struct srv_loader *loader);

/* ---- verbs_swap.c ---- */

void srv_swap_job_loaded(struct srv_job *job); /* requests the snapshot, or continues without one */
void srv_swap_job_flip(struct srv_job *job);
void srv_swap_job_finish(struct srv_job *job); /* frees its texts */

#endif
