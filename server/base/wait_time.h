/* How long this process has waited for another process or thread, without the time in which the whole machine stood still. [any] */
#ifndef SRV_BASE_WAIT_TIME_H
#define SRV_BASE_WAIT_TIME_H

#include <stdint.h>

/* Between two looks at most this much counts: in a longer time this process stood still, and what it waits for perhaps as well. */
#define SRV_WAIT_LOOK_NS INT64_C(250000000)

struct srv_wait_time {
    int64_t looked_ns; /* CLOCK_MONOTONIC at the beginning of the wait or at the last look */
    int64_t waited_ns; /* from the beginning to the last look */
};

static inline struct srv_wait_time srv_wait_begin(int64_t now_ns)
{
    return (struct srv_wait_time){.looked_ns = now_ns};
}

/* Returns how long the wait has been. Whoever waits looks at least once in SRV_WAIT_LOOK_NS. */
static inline int64_t srv_wait_look(struct srv_wait_time *wait, int64_t now_ns)
{
    const int64_t passed_ns = now_ns - wait->looked_ns;
    wait->looked_ns = now_ns;
    wait->waited_ns += passed_ns < SRV_WAIT_LOOK_NS ? passed_ns : SRV_WAIT_LOOK_NS;
    return wait->waited_ns;
}

#endif
