/*
 * A path driven to a schedule, and the truth that follows. `route_make` may allocate and fail; `route_truth` is pure,
 * in bounded time, from any thread.
 */
#ifndef ROUTE_H
#define ROUTE_H

#include "otolith/instant.h"
#include "otolith/records.h"
#include "path.h"

#define ROUTE_NOT_GIVEN (-1.0)

struct route_waypoint {
    double position_enu_m[3];
    double time_s;    /* ROUTE_NOT_GIVEN, or later than at the previous waypoint */
    double speed_m_s; /* ROUTE_NOT_GIVEN, or not negative */
    double hold_s;    /* time at rest at this waypoint; the speed is then 0 */
    double bank_deg;
};

/* A leg, from one waypoint to the next, or a rest: speed = from + gain · smoothstep(s) + bump · bump(s), s in [0, 1]. */
struct route_leg {
    int64_t start_ns, duration_ns;
    uint32_t span;
    uint32_t reserved;
    double at_m; /* position in the span at the start */
    double speed_m_s, speed_gain_m_s, speed_bump_m_s;
};

struct route {
    struct path path;
    uint32_t leg_count;
    struct route_leg *legs;
    int64_t period_ns; /* duration of the whole schedule; a loop then repeats */
    double end_speed_m_s;
};

/* `speed_m_s` applies to waypoints that have neither speed nor time. */
enum oto_status route_make(struct route *route, const struct route_waypoint *waypoints, uint32_t count, double speed_m_s,
                           bool loop, path_alloc *alloc, void *alloc_context, struct oto_error *error);

/* The truth at an instant, t_ns >= 0. After the end of an open route the vehicle continues straight. */
void route_truth(const struct route *route, struct oto_instant at, struct oto_truth_record *truth);

#endif
