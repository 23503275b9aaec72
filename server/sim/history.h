/*
 * The truths of a vehicle at the ends of its last ticks, for sensors that read earlier instants (band limits, delays) when
 * the motion node cannot be evaluated there. Between two truths: position by the quintic that has position, velocity and
 * acceleration of both ends, attitude along the shortest arc, rates linearly. Pure. [tick]
 */
#ifndef SRV_WORLD_HISTORY_H
#define SRV_WORLD_HISTORY_H

#include <stdint.h>

#include "sim/interpolate.h"
#include "otolith/instant.h"
#include "otolith/records.h"
#include "otolith/status.h"

struct srv_history {
    struct oto_truth_record *records; /* the truth at instant m/fb is in records[m & mask] */
    uint64_t mask;
    uint64_t rate_num, rate_den;
};

/* Number of records that one second needs, a power of two. */
uint64_t srv_history_capacity(uint64_t rate_num, uint64_t rate_den);
/* [loop] Makes an empty history. free() releases `records`. */
enum oto_status srv_history_make(struct srv_history *history, uint64_t rate_num, uint64_t rate_den, struct oto_error *error);
static inline void srv_history_put(struct srv_history *history, uint64_t m, const struct oto_truth_record *truth)
{
    history->records[m & history->mask] = *truth;
}
/* `newest` is the newest m that was put. The instant must lie between the oldest kept record and the newest. */
void srv_history_get(const struct srv_history *history, uint64_t newest, struct oto_instant at,
                     struct oto_truth_record *truth);

#endif
