/* How long a thread works on a step: a measure that other programs of a busy machine do not lengthen. [any] */
#ifndef SRV_BASE_STEP_TIME_H
#define SRV_BASE_STEP_TIME_H

#include <sys/resource.h>

#include "base/monotonic.h"

struct srv_step_time {
    int64_t now_ns; /* CLOCK_MONOTONIC */
    int64_t cpu_ns; /* the thread's processor time */
    long waits;     /* how often the thread gave up the processor by itself: in a sleep, a lock, a read */
};

/* Reads CLOCK_THREAD_CPUTIME_ID: alone where a sandbox refuses getrusage. */
static inline int64_t srv_thread_cpu_ns(void)
{
    struct timespec cpu;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    return (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec;
}

static inline struct srv_step_time srv_step_time_read(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_THREAD, &used);
    return (struct srv_step_time){srv_now_ns(), srv_thread_cpu_ns(), used.ru_nvcsw};
}

/* Real time if the thread waited for something itself, otherwise without the time in which other threads had its processor. */
static inline int64_t srv_step_time_ns(const struct srv_step_time *before, const struct srv_step_time *after)
{
    const int64_t real_ns = after->now_ns - before->now_ns, cpu_ns = after->cpu_ns - before->cpu_ns;
    return after->waits == before->waits && cpu_ns < real_ns ? cpu_ns : real_ns;
}

#endif
