/* The adapter of the route to the plugin ABI: parameter table, preparation, truth. */
#include "otolith/plugin.h"

#include "num_course.h"
#include "route.h"

#define MOST_WAYPOINTS 512

struct params {
    double speed_m_s;
    int64_t loop;
    uint64_t waypoint_count;
    struct route_waypoint waypoints[MOST_WAYPOINTS];
};

static const struct oto_named_value not_given[] = {{"auto", ROUTE_NOT_GIVEN}};

/* clang-format off */
#define WAYPOINT(key_, member_, count_, flags_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = count_, .offset = OTO_PARAM_AT(struct route_waypoint, member_), \
     .flags = flags_, .minimum = min_, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}

static const struct oto_param waypoint_params[] = {
    WAYPOINT("position_enu_m", position_enu_m, 3, OTO_PARAM_REQUIRED, -1e7, 1e7, 0, "m", "points of the path"),
    {.key = "time_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct route_waypoint, time_s),
     .minimum = ROUTE_NOT_GIVEN, .maximum = 1e8, .default_value = ROUTE_NOT_GIVEN, .unit = "s", .names = not_given, .name_count = 1,
     .text = "time since the first waypoint; for all waypoints or none. auto: from the speeds"},
    {.key = "speed_m_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct route_waypoint, speed_m_s),
     .minimum = ROUTE_NOT_GIVEN, .maximum = 200, .default_value = ROUTE_NOT_GIVEN, .unit = "m/s", .names = not_given, .name_count = 1,
     .text = "speed at the waypoint; auto: the route's speed_m_s, or from the times"},
    WAYPOINT("hold_s", hold_s, 1, 0, 0, 1e6, 0, "s", "time at rest there; the speed is then 0"),
    WAYPOINT("bank_deg", bank_deg, 1, 0, -80, 80, 0, "deg", "roll there, positive where the left side is higher"),
};

static const struct oto_param params[] = {
    {.key = "speed_m_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, speed_m_s),
     .flags = OTO_PARAM_OPEN_MIN, .maximum = 200, .default_value = 10, .unit = "m/s", .text = "speed at waypoints that have neither speed nor time"},
    {.key = "loop", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct params, loop), .maximum = 1,
     .default_value = 0, .unit = "", .text = "true: from the last waypoint back to the first, endlessly; false: straight after the last"},
    {.key = "waypoints", .type = OTO_PARAM_LIST, .count = MOST_WAYPOINTS, .offset = OTO_PARAM_AT(struct params, waypoint_count),
     .unit = "", .text = "at least two waypoints; none: a closed example course", .items = waypoint_params,
     .item_count = sizeof waypoint_params / sizeof *waypoint_params, .item_bytes = sizeof(struct route_waypoint)},
};
/* clang-format on */

_Static_assert(offsetof(struct params, waypoints) == offsetof(struct params, waypoint_count) + sizeof(uint64_t),
               "a list is its length, then its items");

#define AT(x_, y_, z_, speed_, bank_) {{x_, y_, z_}, ROUTE_NOT_GIVEN, speed_, 0.0, bank_}
/* A stadium: two straights and two banked bends, a little uphill and down again. */
static const struct route_waypoint round_course[] = {
    AT(0, 0, 0, 12, 0),     AT(50, 0, 1, 14, 0),   AT(100, 0, 2, 12, -2), AT(135, 35, 2.5, 9, -5),
    AT(100, 70, 3, 10, -2), AT(50, 70, 2, 14, 0),  AT(0, 70, 1, 12, -2),  AT(-35, 35, 0.5, 9, -5),
};

struct prepared {
    struct num_course course;
    struct route route;
};

static void truth_of(const void *route, struct oto_instant at, struct oto_truth_record *truth)
{
    route_truth(route, at, truth);
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct params *p = block;
    const bool built_in = p->waypoint_count == 0;
    struct prepared *prepared = host->alloc(host->context, sizeof *prepared);
    (void)setup;
    if (prepared == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *prepared);
    prepared->course = (struct num_course){truth_of, &prepared->route};
    *data = prepared;
    return route_make(&prepared->route, built_in ? round_course : p->waypoints,
                      built_in ? (uint32_t)(sizeof round_course / sizeof *round_course) : (uint32_t)p->waypoint_count,
                      p->speed_m_s, built_in || p->loop != 0, host->alloc, host->context, error);
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "motion_waypoints", .kind = OTO_KIND_MOTION, .version = "1.0.0",
    .text = "a smooth path through waypoints, by speeds or times, in closed form",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct num_blend), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .step = num_course_step};
OTO_PLUGIN_DEFINE(descriptor, ops, num_course_extension);
