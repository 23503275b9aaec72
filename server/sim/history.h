/*
 * A vehicle's truth at the ends of its last ticks, for sensors that look back (band limits, delays) on a motion node
 * that cannot be asked about the past: position by the quintic that has position, velocity and acceleration of both
 * ends, attitude along the shortest arc, rates linearly. Pure. [tick]
 */
#ifndef SRV_WORLD_HISTORY_H
#define SRV_WORLD_HISTORY_H

#include <stdint.h>

#include "sim/interpolate.h"
#include "otolith/instant.h"
#include "otolith/records.h"
#include "otolith/status.h"

struct srv_history {
    struct oto_truth_record *records; /* of instant m/fb at m & mask */
    uint64_t mask;
    uint64_t rate_num, rate_den;
};

/* Records needed to look back one second. */
uint64_t srv_history_capacity(uint64_t rate_num, uint64_t rate_den);
/* [loop] Empty; free() drops `records`. */
enum oto_status srv_history_make(struct srv_history *history, uint64_t rate_num, uint64_t rate_den, struct oto_error *error);
static inline void srv_history_put(struct srv_history *history, uint64_t m, const struct oto_truth_record *truth)
{
    history->records[m & history->mask] = *truth;
}
/* `newest` is the newest m put. The instant lies between the oldest kept and the newest. */
void srv_history_get(const struct srv_history *history, uint64_t newest, struct oto_instant at,
                     struct oto_truth_record *truth);

#endif
