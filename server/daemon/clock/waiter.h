/*
 * How the tick thread sleeps: a private libuv loop with a timerfd, absolute on CLOCK_MONOTONIC, under uv_poll, beside
 * an eventfd by which other threads wake it (A2). Opened and closed by the main thread; used by the tick thread alone,
 * where it neither allocates nor locks.
 */
#ifndef SRV_CLOCK_WAITER_H
#define SRV_CLOCK_WAITER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/monotonic.h"
#include "otolith/status.h"

#define SRV_WAIT_FOR_EVER INT64_MAX

struct srv_waiter {
    uv_loop_t loop;
    uv_poll_t timer_poll, wake_poll;
    int timer_fd, wake_fd;
    bool opened, timer_due, woken;
};

enum oto_status srv_waiter_open(struct srv_waiter *waiter, struct oto_error *error);
void srv_waiter_close(struct srv_waiter *waiter); /* zeroed is allowed */

/* [tick] Sleeps until deadline_ns or a wake, whichever comes first; a wake that came before counts. */
void srv_waiter_wait(struct srv_waiter *waiter, int64_t deadline_ns);
/* [any] Wakes the tick thread. */
void srv_waiter_wake(struct srv_waiter *waiter);


#endif
