#include "num_profile.h"
#include "route.h"

#define LONGEST_S 1e8
#define BUMP_MEAN (128.0 / 315.0) /* mean of the bump over [0, 1] */
#define PROBES 64

struct planner {
    struct route *route;
    const struct route_waypoint *waypoints;
    uint32_t count;
    bool timed; /* scheduled by time_s */
    double default_speed_m_s;
    struct oto_error *error;
};

static double span_m(const struct planner *p, uint32_t span)
{
    return path_span_length_m(&p->route->path.spans[span]);
}

/* The mean speed on a span that follows from the times of its waypoints. */
static double mean_speed(const struct planner *p, uint32_t span)
{
    const double begin_s = p->waypoints[span].time_s + p->waypoints[span].hold_s;
    return span_m(p, span) / (p->waypoints[span + 1].time_s - begin_s);
}

/*
 * The speed at a waypoint with a time and no speed: the harmonic mean of the speeds before and after, which overshoots
 * neither.
 */
static double speed_at(const struct planner *p, uint32_t i)
{
    const struct route_waypoint *w = &p->waypoints[i];
    double before, after;
    if (w->hold_s > 0.0)
        return 0.0;
    if (w->speed_m_s != ROUTE_NOT_GIVEN)
        return w->speed_m_s;
    if (!p->timed)
        return p->default_speed_m_s;
    if (i == 0 || i + 1 == p->count)
        return mean_speed(p, i == 0 ? 0 : i - 1);
    before = mean_speed(p, i - 1);
    after = mean_speed(p, i);
    return 2.0 * before * after / (before + after);
}

static enum oto_status check_times(struct planner *p, bool loop)
{
    uint32_t given = 0;
    for (uint32_t i = 0; i < p->count; i++)
        given += p->waypoints[i].time_s != ROUTE_NOT_GIVEN;
    p->timed = given > 0;
    if (given != 0 && given != p->count)
        return oto_fail(p->error, OTO_INVALID, "waypoints: %u of %u have a time_s; give it to all of them or to none", given,
                        p->count);
    if (p->timed && loop)
        return oto_fail(p->error, OTO_INVALID, "loop: a route with times has no time to come back; give speeds instead");
    for (uint32_t i = 1; p->timed && i < p->count; i++) {
        const double earliest_s = p->waypoints[i - 1].time_s + p->waypoints[i - 1].hold_s;
        if (!(p->waypoints[i].time_s > earliest_s))
            return oto_fail(p->error, OTO_INVALID, "waypoints[%u]: time_s %g decreases; it must be after %g", i,
                            p->waypoints[i].time_s, earliest_s);
    }
    return OTO_OK;
}

static enum oto_status check_waypoint(struct planner *p, uint32_t i)
{
    const struct route_waypoint *w = &p->waypoints[i];
    if (w->speed_m_s < 0.0 && w->speed_m_s != ROUTE_NOT_GIVEN)
        return oto_fail(p->error, OTO_INVALID, "waypoints[%u]: speed_m_s %g is negative; 0 or more is accepted", i,
                        w->speed_m_s);
    if (w->time_s < 0.0 && w->time_s != ROUTE_NOT_GIVEN)
        return oto_fail(p->error, OTO_INVALID, "waypoints[%u]: time_s %g is negative; 0 or more is accepted", i, w->time_s);
    if (w->hold_s > 0.0 && w->speed_m_s > 0.0)
        return oto_fail(p->error, OTO_INVALID, "waypoints[%u]: it stands for hold_s %g at a speed of %g m/s; give one of them",
                        i, w->hold_s, w->speed_m_s);
    return OTO_OK;
}

static enum oto_status add_leg(struct planner *p, struct route_leg leg, double duration_s)
{
    struct route *route = p->route;
    if (!((double)route->period_ns * 1e-9 + duration_s < LONGEST_S))
        return oto_fail(p->error, OTO_RANGE, "waypoints[%u]: the route gets longer than %g s", leg.span, LONGEST_S);
    leg.start_ns = route->period_ns;
    leg.duration_ns = (int64_t)oto_round_half_away(duration_s * 1e9);
    if (leg.duration_ns <= 0)
        return OTO_OK;
    route->legs[route->leg_count++] = leg;
    route->period_ns += leg.duration_ns;
    return OTO_OK;
}

static bool goes_back(const struct route_leg *leg)
{
    for (int i = 0; i <= PROBES; i++) {
        const double s = (double)i / PROBES;
        const double v = leg->speed_m_s + leg->speed_gain_m_s * num_profile_value(NUM_PROFILE_STEP, s) +
                         leg->speed_bump_m_s * num_profile_value(NUM_PROFILE_BUMP, s);
        if (v < -1e-9)
            return true;
    }
    return false;
}

/*
 * Plans the drive over a span. Its duration is rounded to ns, and the bump absorbs the difference, so the distance is
 * exact.
 */
static enum oto_status add_way(struct planner *p, uint32_t span)
{
    const double from = speed_at(p, span), to = speed_at(p, (span + 1) % p->count), way_m = span_m(p, span);
    double duration_s = 2.0 * way_m / (from + to), whole_s;
    struct route_leg leg = {.span = span, .speed_m_s = from, .speed_gain_m_s = to - from};
    if (p->timed)
        duration_s = p->waypoints[span + 1].time_s - p->waypoints[span].time_s - p->waypoints[span].hold_s;
    else if (!(from + to > 0.0))
        return oto_fail(p->error, OTO_INVALID,
                        "waypoints[%u]: it and the next one both have speed 0, so the way between takes for ever; give one "
                        "of them a speed, or all of them a time_s", span);
    whole_s = oto_round_half_away(duration_s * 1e9) * 1e-9;
    leg.speed_bump_m_s = (way_m / whole_s - 0.5 * (from + to)) / BUMP_MEAN;
    if (goes_back(&leg))
        return oto_fail(p->error, OTO_INVALID,
                        "waypoints[%u]: %.4g m to the next one in %.4g s, from %.4g to %.4g m/s: it would have to go back on "
                        "the way; give a lower speed or less time", span, way_m, duration_s, from, to);
    return add_leg(p, leg, duration_s);
}

static enum oto_status add_stand(struct planner *p, uint32_t waypoint)
{
    const uint32_t spans = p->route->path.span_count, span = waypoint < spans ? waypoint : spans - 1;
    const struct route_leg leg = {.span = span, .at_m = waypoint < spans ? 0.0 : span_m(p, span)};
    return add_leg(p, leg, p->waypoints[waypoint].hold_s);
}

static enum oto_status lay_legs(struct planner *p)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < p->count; i++) {
        status = add_stand(p, i);
        if (status == OTO_OK && i < p->route->path.span_count)
            status = add_way(p, i);
    }
    p->route->end_speed_m_s = speed_at(p, p->count - 1);
    return status;
}

enum oto_status route_make(struct route *route, const struct route_waypoint *waypoints, uint32_t count, double speed_m_s,
                           bool loop, path_alloc *alloc, void *alloc_context, struct oto_error *error)
{
    struct planner p = {route, waypoints, count, false, speed_m_s, error};
    struct path_waypoint *places = alloc(alloc_context, (count + 1) * sizeof *places);
    enum oto_status status = OTO_OK;
    *route = (struct route){.legs = alloc(alloc_context, (2 * (size_t)count + 1) * sizeof *route->legs)};
    if (places == NULL || route->legs == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "waypoints: out of memory for %u of them", count);
    for (uint32_t i = 0; status == OTO_OK && i < count; i++) {
        places[i] = (struct path_waypoint){oto_vec3_from_array(waypoints[i].position_enu_m), waypoints[i].bank_deg * OTO_DEG};
        status = check_waypoint(&p, i);
    }
    if (status == OTO_OK)
        status = check_times(&p, loop);
    if (status == OTO_OK)
        status = path_fit(&route->path, places, count, loop, alloc, alloc_context, error);
    return status == OTO_OK ? lay_legs(&p) : status;
}
