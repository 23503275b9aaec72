#include "daemon/control/worker.h"

#include <stdio.h>
#include <string.h>

void srv_worker_init(struct srv_worker *worker, uv_loop_t *loop)
{
    *worker = (struct srv_worker){.loop = loop};
}

bool srv_worker_queue(struct srv_worker *worker, uv_work_t *work, uv_work_cb run, uv_after_work_cb done, const char *what)
{
    if (worker->count == SRV_WORKER_JOBS || uv_queue_work(worker->loop, work, run, done) != 0) {
        return false;
    }
    struct srv_worker_job *job = &worker->jobs[worker->count++];
    job->work = work;
    (void)snprintf(job->what, sizeof job->what, "%s", what);
    if (worker->count == 1) {
        worker->since_ms = uv_now(worker->loop);
    }
    return true;
}

void srv_worker_done(struct srv_worker *worker, const uv_work_t *work)
{
    uint32_t i = 0;
    while (i < worker->count && worker->jobs[i].work != work) {
        i++;
    }
    if (i == worker->count) {
        return;
    }
    worker->count--;
    memmove(&worker->jobs[i], &worker->jobs[i + 1], (worker->count - i) * sizeof *worker->jobs);
    if (i == 0) {
        worker->since_ms = uv_now(worker->loop);
    }
}

bool srv_worker_is_idle(const struct srv_worker *worker)
{
    return worker->count == 0;
}

const char *srv_worker_doing(const struct srv_worker *worker)
{
    return worker->count > 0 ? worker->jobs[0].what : "";
}

bool srv_worker_is_stuck(const struct srv_worker *worker, char *text, size_t bytes)
{
    const uint64_t ran_ms = uv_now(worker->loop) - worker->since_ms;
    if (worker->count == 0 || ran_ms < SRV_WORKER_PATIENCE_MS) {
        return false;
    }
    (void)snprintf(text, bytes, "'%s' has not returned for %u s, and requests behind it are refused: wait, or end the server",
                   worker->jobs[0].what, (unsigned)(ran_ms / 1000));
    return true;
}
