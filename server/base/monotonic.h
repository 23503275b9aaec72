/* The monotonic clock, for deadlines and durations. Its readings never enter the state. [any] */
#ifndef SRV_BASE_MONOTONIC_H
#define SRV_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* Reads CLOCK_MONOTONIC. */
static inline int64_t srv_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The same in milliseconds. */
static inline int64_t srv_now_ms(void)
{
    return srv_now_ns() / 1000000;
}

#endif
