#include "resources.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTORS 16 /* for the two loops, their pipes, the tick thread's timer and the segment */

static enum oto_status check_descriptors(struct oto_error *error)
{
    int fds[DESCRIPTORS], count = 0, reason = 0;
    while (count < DESCRIPTORS && reason == 0) {
        fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        reason = fds[count] < 0 ? errno : 0;
        count += reason == 0;
    }
    for (int i = 0; i < count; i++) {
        (void)close(fds[i]);
    }
    return reason == 0 ? OTO_OK
                       : oto_fail(error, OTO_LIMIT, "a server needs at least %d file descriptors to start, and only %d are "
                                  "to be had: %s (ulimit -n)", DESCRIPTORS, count, strerror(reason));
}

static void *do_nothing(void *context)
{
    return context;
}

static enum oto_status check_thread(struct oto_error *error)
{
    pthread_t thread;
    const int failed = pthread_create(&thread, NULL, do_nothing, NULL);
    if (failed != 0) {
        return oto_fail(error, OTO_LIMIT, "a server needs threads, and none is to be had: %s (ulimit -u)", strerror(failed));
    }
    return pthread_join(thread, NULL) == 0 ? OTO_OK : oto_fail(error, OTO_IO, "a thread that ended cannot be joined");
}

enum oto_status srv_resources_check(struct oto_error *error)
{
    const enum oto_status status = check_descriptors(error);
    return status == OTO_OK ? check_thread(error) : status;
}

static void work(uv_work_t *job)
{
    (void)job;
}

static void on_worked(uv_work_t *job, int cancelled)
{
    (void)job;
    (void)cancelled;
}

void srv_resources_start_worker(uv_loop_t *loop, uv_work_t *job)
{
    (void)uv_queue_work(loop, job, work, on_worked); /* fails only if it gets no function */
}
