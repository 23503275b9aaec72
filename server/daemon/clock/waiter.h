/*
 * The sleep of the tick thread (A2). A private libuv loop polls a timerfd, set to an absolute time of CLOCK_MONOTONIC, and an
 * eventfd by which other threads wake the tick thread. The main thread opens and closes the waiter; the tick thread uses it
 * without allocation or lock.
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

/* [tick] Sleeps until deadline_ns or a wake. Returns at once if a wake arrived since the last sleep. */
void srv_waiter_wait(struct srv_waiter *waiter, int64_t deadline_ns);
/* [any] Wakes the tick thread. */
void srv_waiter_wake(struct srv_waiter *waiter);


#endif
