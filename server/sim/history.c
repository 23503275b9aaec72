#include "sim/history.h"

#include <stdlib.h>

#include "base/schedule.h"
#include "base/wide.h"

uint64_t srv_history_capacity(uint64_t rate_num, uint64_t rate_den)
{
    uint64_t capacity = 4;
    while (capacity < rate_num / rate_den + 4) {
        capacity *= 2;
    }
    return capacity;
}

enum oto_status srv_history_make(struct srv_history *history, uint64_t rate_num, uint64_t rate_den, struct oto_error *error)
{
    const uint64_t capacity = srv_history_capacity(rate_num, rate_den);
    *history = (struct srv_history){.records = calloc(capacity, sizeof *history->records),
                                    .mask = capacity - 1,
                                    .rate_num = rate_num,
                                    .rate_den = rate_den};
    return history->records != NULL ? OTO_OK
                                    : oto_fail(error, OTO_NO_MEMORY, "no memory for one second of truth at %llu/%llu Hz",
                                               (unsigned long long)rate_num, (unsigned long long)rate_den);
}

void srv_history_get(const struct srv_history *history, uint64_t newest, struct oto_instant at,
                     struct oto_truth_record *truth)
{
    const srv_wide unit = (srv_wide)(uint64_t)SRV_NS_PER_S * history->rate_den;
    const srv_wide ticks = (srv_wide)(uint64_t)at.t_ns * history->rate_num;
    uint64_t m = (uint64_t)(ticks / unit);
    double s = ((double)(uint64_t)(ticks % unit) + at.sub_ns * (double)history->rate_num) / (double)(uint64_t)unit;
    if (m >= newest) {
        s = m > newest ? 1.0 : s + 1.0;
        m = newest > 0 ? newest - 1 : 0;
        s = s > 1.0 ? 1.0 : s;
    }
    const double dt_s = (double)history->rate_den / (double)history->rate_num;
    srv_truth_interpolate(&history->records[m & history->mask], &history->records[(m + 1) & history->mask], dt_s, s,
                          truth);
}
