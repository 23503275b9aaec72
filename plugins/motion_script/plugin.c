/* The adapter between the ABI and the script: parameter table, preparation, truth. */
#include "otolith/plugin.h"

#include "script.h"

#define MOST_SEGMENTS 256

struct params {
    oto_vec3 position_enu_m;
    double heading_deg;
    double speed_m_s;
    int64_t repeat;
    uint64_t segment_count;
    struct script_segment segments[MOST_SEGMENTS];
};

static const struct oto_named_value kinds[] = {
    {"cruise", SCRIPT_CRUISE}, {"accelerate", SCRIPT_ACCELERATE}, {"brake", SCRIPT_BRAKE},
    {"stop", SCRIPT_STOP},     {"turn", SCRIPT_TURN},             {"lane_change", SCRIPT_LANE_CHANGE},
};

/* clang-format off */
#define SEGMENT(key_, member_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct script_segment, member_), \
     .minimum = min_, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}
#define ABOVE_0(key_, member_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct script_segment, member_), \
     .flags = OTO_PARAM_OPEN_MIN, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}

static const struct oto_param segment_params[] = {
    {.key = "kind", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct script_segment, kind),
     .flags = OTO_PARAM_REQUIRED, .minimum = 1, .maximum = SCRIPT_KIND_COUNT - 1, .unit = "", .text = "the manoeuvre",
     .names = kinds, .name_count = sizeof kinds / sizeof *kinds},
    SEGMENT("duration_s", duration_s, 0, 86400, 0, "s", "of a cruise, lane change or the standing of a stop; else instead of what is reached"),
    SEGMENT("to_speed_m_s", to_speed_m_s, -100, 100, 0, "m/s", "speed that an accelerate or brake reaches"),
    ABOVE_0("accel_m_s2", accel_m_s2, 20, 2, "m/s^2", "largest acceleration, without sign"),
    SEGMENT("angle_deg", angle_deg, -36000, 36000, 0, "deg", "of a turn, positive to the left"),
    SEGMENT("radius_m", radius_m, 0, 1e6, 0, "m", "of a turn, without sign"),
    SEGMENT("turn_rate_deg_s", turn_rate_deg_s, -720, 720, 0, "deg/s", "of a turn, instead of radius_m"),
    SEGMENT("offset_m", offset_m, -1000, 1000, 3.5, "m", "of a lane change, positive to the left"),
    SEGMENT("ramp_s", ramp_s, 0.05, 60, 0.8, "s", "in which an acceleration or turn rate comes up, and goes down"),
};

static const struct oto_param params[] = {
    {.key = "position_enu_m", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct params, position_enu_m),
     .minimum = -1e7, .maximum = 1e7, .unit = "m", .text = "where the script begins"},
    {.key = "heading_deg", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, heading_deg),
     .minimum = -360, .maximum = 360, .unit = "deg", .text = "heading there, from east, counter-clockwise"},
    {.key = "speed_m_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, speed_m_s),
     .minimum = -100, .maximum = 100, .unit = "m/s", .text = "speed there; negative is reverse"},
    {.key = "repeat", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct params, repeat),
     .maximum = 1, .default_value = 1, .unit = "", .text = "begin again at the end; else go on straight"},
    {.key = "segments", .type = OTO_PARAM_LIST, .count = MOST_SEGMENTS,
     .offset = OTO_PARAM_AT(struct params, segment_count), .unit = "", .text = "manoeuvres; none: the built-in city drive",
     .items = segment_params, .item_count = sizeof segment_params / sizeof *segment_params,
     .item_bytes = sizeof(struct script_segment)},
};
/* clang-format on */

_Static_assert(offsetof(struct params, segments) == offsetof(struct params, segment_count) + sizeof(uint64_t),
               "a list is its length, then its items");

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct params *p = block;
    const struct script_start start = {p->position_enu_m, p->heading_deg * OTO_DEG, p->speed_m_s};
    bool built_in = p->segment_count == 0;
    struct script *script = host->alloc(host->context, sizeof *script);
    (void)setup;
    if (script == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *script);
    *data = script;
    return script_plan(script, &start, built_in ? script_city_drive : p->segments,
                       built_in ? script_city_drive_count : (uint32_t)p->segment_count, p->repeat != 0, host->alloc,
                       host->context, error);
}

/* The truth is a function of time alone: there is no state to advance. */
static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    (void)instance;
    (void)now;
    return OTO_STEP_OK;
}

static enum oto_step_status evaluate(const struct oto_instance *instance, int64_t t_ns, double sub_ns,
                                     struct oto_truth_record *truth)
{
    script_evaluate(instance->data, t_ns, sub_ns, truth);
    return OTO_STEP_OK;
}

static const struct oto_motion_extension motion = {
    .size = sizeof motion, .flags = OTO_MOTION_ANY_TIME, .evaluate = evaluate};

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_MOTION) == 0 ? &motion : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "motion_script", .kind = OTO_KIND_MOTION, .version = "1.0.0",
    .text = "a drive written as manoeuvres, in closed form",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, extension);
