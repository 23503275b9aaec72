/*
 * Exact times of rational rates, without drift by rounding. The instant of event n is n·den/num seconds, stored as
 * whole nanoseconds and an integer remainder. Advancing is addition only; 128-bit divisions happen once, at the start.
 * Pure. [any]
 */
#ifndef SRV_BASE_SCHEDULE_H
#define SRV_BASE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/instant.h"
#include "otolith/status.h"

#define SRV_RATE_MAX_TERM (UINT64_C(1) << 40) /* limit of a rate's numerator and denominator */
#define SRV_PERIOD_MAX_S 1000000u
#define SRV_NS_PER_S INT64_C(1000000000)
#define SRV_TIME_MAX_NS (INT64_MAX / 2) /* a run ends at this time, after 146 years, so that sums of two times do not
                                         * overflow */

/* Checks that num/den events a second can be scheduled. `what` names the rate in the message. */
enum oto_status srv_rate_check(const char *what, uint64_t num, uint64_t den, struct oto_error *error);

/* floor(n·1e9·den/num) ns. The remainder, in units of 1/num ns, is stored in *rest unless it is NULL. */
int64_t srv_instant_ns(uint64_t n, uint64_t num, uint64_t den, uint64_t *rest);
/* The first n whose instant is not before t_ns. */
uint64_t srv_events_until(int64_t t_ns, uint64_t num, uint64_t den);

/* The instants of events 0, 1, 2, … */
struct srv_schedule {
    uint64_t n;
    int64_t t_ns;
    uint64_t rest; /* the instant is t_ns + rest/num ns */
    uint64_t num;
    int64_t step_ns;
    uint64_t step_rest;
};

/* Sets n = 0. */
void srv_schedule_init(struct srv_schedule *schedule, uint64_t num, uint64_t den);

/* Sets n. */
void srv_schedule_jump(struct srv_schedule *schedule, uint64_t n);

static inline void srv_schedule_advance(struct srv_schedule *schedule)
{
    schedule->n++;
    schedule->t_ns += schedule->step_ns;
    schedule->rest += schedule->step_rest;
    if (schedule->rest >= schedule->num) {
        schedule->rest -= schedule->num;
        schedule->t_ns++;
    }
}

static inline struct oto_instant srv_schedule_at(const struct srv_schedule *schedule)
{
    const struct oto_instant at = {schedule->t_ns,
                                   schedule->rest == 0 ? 0.0 : (double)schedule->rest / (double)schedule->num};
    return at;
}

/*
 * The tick of sample n: the k whose interval (k/fb, (k+1)/fb] contains n/fs. With n·fb/fs = ticks + rest/unit the
 * result is `ticks`; if the remainder is 0 the sample is exactly at the end of the tick before, and the result is
 * `ticks` - 1.
 */
struct srv_due {
    uint64_t ticks;
    uint64_t rest;
    uint64_t unit;
    uint64_t step_ticks;
    uint64_t step_rest;
};

/* Sets n = 1. Fails if the two rates have no common grid within 64 bits. */
enum oto_status srv_due_init(struct srv_due *due, uint64_t rate_num, uint64_t rate_den, uint64_t base_num,
                             uint64_t base_den, struct oto_error *error);

/* Sets n, from 1. */
void srv_due_jump(struct srv_due *due, uint64_t n);

static inline void srv_due_advance(struct srv_due *due)
{
    due->ticks += due->step_ticks;
    due->rest += due->step_rest;
    if (due->rest >= due->unit) {
        due->rest -= due->unit;
        due->ticks++;
    }
}

static inline bool srv_due_at_end(const struct srv_due *due)
{
    return due->rest == 0;
}

static inline uint64_t srv_due_tick(const struct srv_due *due)
{
    return due->rest == 0 ? due->ticks - 1 : due->ticks;
}

#endif
