#include "daemon/clock/waiter.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)


static void on_timer(uv_poll_t *poll, int status, int events)
{
    struct srv_waiter *waiter = poll->data;
    (void)status;
    (void)events;
    waiter->timer_due = true; /* the timerfd is not read: setting it again makes it unreadable */
}

static void on_wake(uv_poll_t *poll, int status, int events)
{
    struct srv_waiter *waiter = poll->data;
    uint64_t count;
    (void)status;
    (void)events;
    (void)!read(waiter->wake_fd, &count, sizeof count);
    waiter->woken = true;
}

static int start_polling(struct srv_waiter *waiter)
{
    waiter->timer_poll.data = waiter;
    waiter->wake_poll.data = waiter;
    int result = uv_poll_init(&waiter->loop, &waiter->timer_poll, waiter->timer_fd);
    if (result == 0) {
        result = uv_poll_init(&waiter->loop, &waiter->wake_poll, waiter->wake_fd);
    }
    if (result == 0) {
        result = uv_poll_start(&waiter->timer_poll, UV_READABLE, on_timer);
    }
    return result == 0 ? uv_poll_start(&waiter->wake_poll, UV_READABLE, on_wake) : result;
}

enum oto_status srv_waiter_open(struct srv_waiter *waiter, struct oto_error *error)
{
    memset(waiter, 0, sizeof *waiter);
    int result = uv_loop_init(&waiter->loop);
    if (result != 0) {
        return oto_fail(error, OTO_IO, "cannot make the tick thread's event loop (%s)", uv_strerror(result));
    }
    waiter->opened = true;
    waiter->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    waiter->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    result = waiter->timer_fd < 0 || waiter->wake_fd < 0 ? -errno : start_polling(waiter);
    if (result != 0) {
        srv_waiter_close(waiter);
        return oto_fail(error, OTO_IO, "cannot make the tick thread's timer (%s)", uv_strerror(result));
    }
    return OTO_OK;
}

static void close_handle(uv_handle_t *handle, void *argument)
{
    (void)argument;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

void srv_waiter_close(struct srv_waiter *waiter)
{
    if (!waiter->opened) {
        return;
    }
    uv_walk(&waiter->loop, close_handle, NULL);
    (void)uv_run(&waiter->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&waiter->loop);
    if (waiter->timer_fd >= 0) {
        (void)close(waiter->timer_fd);
    }
    if (waiter->wake_fd >= 0) {
        (void)close(waiter->wake_fd);
    }
    waiter->opened = false;
}

static void arm(struct srv_waiter *waiter, int64_t deadline_ns)
{
    struct itimerspec when;
    memset(&when, 0, sizeof when); /* zero disarms */
    if (deadline_ns != SRV_WAIT_FOR_EVER) {
        const int64_t due_ns = deadline_ns > 1 ? deadline_ns : 1;
        when.it_value.tv_sec = (time_t)(due_ns / NS_PER_S);
        when.it_value.tv_nsec = (long)(due_ns % NS_PER_S);
    }
    (void)timerfd_settime(waiter->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void srv_waiter_wait(struct srv_waiter *waiter, int64_t deadline_ns)
{
    arm(waiter, deadline_ns);
    waiter->timer_due = false;
    waiter->woken = false;
    while (!waiter->timer_due && !waiter->woken) {
        (void)uv_run(&waiter->loop, UV_RUN_ONCE);
    }
}

void srv_waiter_wake(struct srv_waiter *waiter)
{
    const uint64_t one = 1;
    (void)!write(waiter->wake_fd, &one, sizeof one);
}
