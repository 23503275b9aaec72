/*
 * The worker thread runs jobs that load, write and free, one at a time and in order. The start time of the running job is
 * kept, so that requests behind a job that does not return are refused and the process can still end. [loop]
 */
#ifndef SRV_WORKER_H
#define SRV_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define SRV_WORKER_JOBS 4             /* at least one of the loader, one of the checkpointer and one restore */
#define SRV_WORKER_PATIENCE_MS 10000u /* a job that runs longer is stuck: requests behind it are refused */
#define SRV_WORKER_GIVEN_UP "it has not returned for 10 s and is given up; if it returns later it changes nothing"

struct srv_worker {
    uv_loop_t *loop;
    uint32_t count;
    struct srv_worker_job {
        const uv_work_t *work;
        char what[112];
    } jobs[SRV_WORKER_JOBS]; /* the first one runs */
    uint64_t since_ms;       /* start of the first job */
};

void srv_worker_init(struct srv_worker *worker, uv_loop_t *loop);
/* `what` names the job in sentences. False: nothing was queued. */
bool srv_worker_queue(struct srv_worker *worker, uv_work_t *work, uv_work_cb run, uv_after_work_cb done, const char *what);
/* `done` must call it first. */
void srv_worker_done(struct srv_worker *worker, const uv_work_t *work);
bool srv_worker_is_idle(const struct srv_worker *worker);
/* Whether the running job is stuck; then `text` names the job. */
bool srv_worker_is_stuck(const struct srv_worker *worker, char *text, size_t bytes);
/* Name of the running job; "": the worker is idle. */
const char *srv_worker_doing(const struct srv_worker *worker);

#endif
