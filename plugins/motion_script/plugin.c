/* The adapter of the script to the plugin ABI: parameter table, preparation, truth. */
#include "otolith/plugin.h"

#include "drive.h"

#define MOST_SEGMENTS 256

struct params {
    oto_vec3 position_enu_m;
    double heading_deg;
    double speed_m_s;
    int64_t repeat;
    int64_t generate;
    double duration_s;
    int64_t seed;
    struct chassis_params chassis;
    uint64_t segment_count;
    struct script_segment segments[MOST_SEGMENTS];
};

static const struct oto_named_value kinds[] = {
    {"cruise", SCRIPT_CRUISE}, {"accelerate", SCRIPT_ACCELERATE},     {"brake", SCRIPT_BRAKE},
    {"stop", SCRIPT_STOP},     {"turn", SCRIPT_TURN},                 {"lane_change", SCRIPT_LANE_CHANGE},
    {"slalom", SCRIPT_SLALOM}, {"figure_eight", SCRIPT_FIGURE_EIGHT}, {"reverse", SCRIPT_REVERSE},
};
static const struct oto_named_value styles[] = {
    {"none", GENERATOR_NONE}, {"city", GENERATOR_CITY}, {"highway", GENERATOR_HIGHWAY}, {"parking", GENERATOR_PARKING},
    {"rural", GENERATOR_RURAL}, {"hills", GENERATOR_HILLS}};
static const struct oto_named_value paths[] = {{"road", 0}, {"level", 1}};
static const struct oto_named_value sides[] = {{"right", 1}, {"left", -1}};

/* clang-format off */
#define SEGMENT(key_, member_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct script_segment, member_), \
     .minimum = min_, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}
#define ABOVE_0(key_, member_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct script_segment, member_), \
     .flags = OTO_PARAM_OPEN_MIN, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}
#define BODY(key_, member_, count_, flags_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = count_, .offset = OTO_PARAM_AT(struct params, chassis.member_), \
     .flags = flags_, .minimum = min_, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}

static const struct oto_param segment_params[] = {
    {.key = "kind", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct script_segment, kind),
     .flags = OTO_PARAM_REQUIRED, .minimum = 1, .maximum = SCRIPT_KIND_COUNT - 1, .unit = "", .text = "the manoeuvre",
     .names = kinds, .name_count = sizeof kinds / sizeof *kinds},
    SEGMENT("duration_s", duration_s, 0, 86400, 0, "s", "duration of a cruise, lane change or final rest; otherwise instead of the target"),
    SEGMENT("to_speed_m_s", to_speed_m_s, -100, 100, 0, "m/s", "speed that an accelerate or brake reaches; of a reverse, 2 where 0"),
    ABOVE_0("accel_m_s2", accel_m_s2, 20, 2, "m/s^2", "largest acceleration, without sign"),
    SEGMENT("angle_deg", angle_deg, -36000, 36000, 0, "deg", "of a turn, positive to the left"),
    SEGMENT("radius_m", radius_m, 0, 1e6, 0, "m", "of a turn or figure eight, without sign"),
    SEGMENT("turn_rate_deg_s", turn_rate_deg_s, -720, 720, 0, "deg/s", "of a turn or figure eight, instead of radius_m"),
    SEGMENT("offset_m", offset_m, -1000, 1000, 3.5, "m", "of a lane change, or of a slalom between its turns; positive to the left"),
    SEGMENT("ramp_s", ramp_s, 0.05, 60, 0.8, "s", "time in which an acceleration or turn rate rises, and in which it falls"),
    SEGMENT("distance_m", distance_m, 0, 1e6, 0, "m", "of a reverse; from gate to gate of a slalom; of a cruise instead of duration_s"),
    {.key = "count", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct script_segment, count),
     .minimum = 1, .maximum = 64, .default_value = 1, .unit = "", .text = "gates of a slalom, rounds of a figure eight"},
};

static const struct oto_param params[] = {
    {.key = "position_enu_m", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct params, position_enu_m),
     .minimum = -1e7, .maximum = 1e7, .unit = "m", .text = "start of the script"},
    {.key = "heading_deg", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, heading_deg),
     .minimum = -360, .maximum = 360, .unit = "deg", .text = "heading there, from east, counter-clockwise"},
    {.key = "speed_m_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, speed_m_s),
     .minimum = -100, .maximum = 100, .unit = "m/s", .text = "speed there; negative is reverse"},
    {.key = "repeat", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct params, repeat),
     .maximum = 1, .default_value = 1, .unit = "", .text = "true: repeat from the end; false: continue straight"},
    {.key = "generate", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, generate),
     .maximum = GENERATOR_STYLE_COUNT - 1, .unit = "", .names = styles, .name_count = sizeof styles / sizeof *styles,
     .text = "random traffic of this style instead of segments"},
    {.key = "duration_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, duration_s),
     .maximum = 1e8, .unit = "s", .text = "duration of a generated drive, which then stops; 0: no end"},
    {.key = "seed", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, seed),
     .minimum = -1, .maximum = 9e15, .default_value = -1, .unit = "",
     .text = "seed of the generated drive, the road and the vibration; -1: the world's seed and the vehicle's name"},
    {.key = "path", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, chassis.level_path),
     .maximum = 1, .unit = "", .names = paths, .name_count = 2,
     .text = "road: the vehicle rises and falls with the grade; level: grade and bank only tilt the body"},
    BODY("road.grade_deg", grade_deg, 1, 0, -30, 30, 0, "deg", "mean grade, uphill positive"),
    BODY("road.grade_rms_deg", grade_rms_deg, 1, 0, 0, 10, 0, "deg", "of the random grade"),
    BODY("road.bank_deg", bank_deg, 1, 0, -30, 30, 0, "deg", "mean bank, positive where the left side is higher"),
    BODY("road.bank_rms_deg", bank_rms_deg, 1, 0, 0, 10, 0, "deg", "of the random bank"),
    BODY("road.correlation_length_m", correlation_length_m, 1, 0, 1, 1e6, 150, "m", "distance over which the autocorrelation of grade and bank falls to 1/e"),
    BODY("road.crown_deg", crown_deg, 1, 0, -10, 10, 0, "deg", "cross slope towards the road's edge, on the side of traffic_side"),
    {.key = "road.traffic_side", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, chassis.traffic_side),
     .minimum = -1, .maximum = 1, .default_value = 1, .unit = "", .names = sides, .name_count = 2,
     .text = "side of the crown: right, which banks to the right, or left"},
    BODY("road.corner_crown_loss", corner_crown_loss, 1, 0, -4, 4, 0, "1", "share of the crown that corners do not have; half of it at a radius of 40 m"),
    BODY("suspension.pitch_compliance_deg_s2_m", pitch_compliance_deg_s2_m, 1, 0, -10, 10, 0, "deg/(m/s^2)", "pitch for each m/s^2 of specific force ahead; nose-up is negative, so a car has about -0.3"),
    BODY("suspension.roll_compliance_deg_s2_m", roll_compliance_deg_s2_m, 1, 0, -10, 10, 0, "deg/(m/s^2)", "roll for each m/s^2 of specific force to the left; left-up is positive, so a car has about 0.35"),
    BODY("suspension.speed_pitch_deg", speed_pitch_deg, 1, 0, -10, 10, 0, "deg", "pitch by drag and lift at 30 m/s, with the square of the speed; nose-up is negative, so a car has -0.1 to 0"),
    BODY("vibration.pitch_rms_deg", pitch_vibration_deg, 1, 0, 0, 10, 0, "deg", "of the body's pitch, at speed"),
    BODY("vibration.roll_rms_deg", roll_vibration_deg, 1, 0, 0, 10, 0, "deg", "of the body's roll, at speed"),
    BODY("vibration.vertical_rms_m_s2", vertical_vibration_m_s2, 1, 0, 0, 100, 0, "m/s^2", "of the body's vertical acceleration, at speed"),
    {.key = "vibration.angle_low_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, chassis.angle_band_hz),
     .flags = OTO_PARAM_OPEN_MIN, .maximum = 1000, .default_value = 1, .unit = "Hz", .text = "lower end of the band of pitch and roll"},
    {.key = "vibration.angle_high_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, chassis.angle_band_hz) + 8,
     .flags = OTO_PARAM_OPEN_MIN, .maximum = 1000, .default_value = 3, .unit = "Hz", .text = "and ends here"},
    {.key = "vibration.vertical_low_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, chassis.vertical_band_hz),
     .flags = OTO_PARAM_OPEN_MIN, .maximum = 1000, .default_value = 1, .unit = "Hz", .text = "lower end of the band of the vertical"},
    {.key = "vibration.vertical_high_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, chassis.vertical_band_hz) + 8,
     .flags = OTO_PARAM_OPEN_MIN, .maximum = 1000, .default_value = 15, .unit = "Hz", .text = "and ends here"},
    BODY("vibration.half_speed_m_s", half_speed_m_s, 1, 0, 0, 100, 2, "m/s", "speed at which the vibration has half of the rms; 0: full rms, also at rest"),
    {.key = "segments", .type = OTO_PARAM_LIST, .count = MOST_SEGMENTS,
     .offset = OTO_PARAM_AT(struct params, segment_count), .unit = "", .text = "manoeuvres; none: the built-in city drive",
     .items = segment_params, .item_count = sizeof segment_params / sizeof *segment_params,
     .item_bytes = sizeof(struct script_segment)},
};
/* clang-format on */

_Static_assert(offsetof(struct params, segments) == offsetof(struct params, segment_count) + sizeof(uint64_t),
               "a list is its length, then its items");

/* With the parameter `seed` the drive is the same in every world, for any name of the vehicle. */
static struct oto_rng_key key_of(const struct params *p, const struct oto_setup *setup)
{
    return p->seed < 0 ? setup->noise_key : oto_rng_key_make((uint64_t)p->seed, "motion_script");
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct params *p = block;
    const bool built_in = p->segment_count == 0;
    const struct drive_plan plan = {
        .start = {0, p->position_enu_m.x, p->position_enu_m.y, 0.0, p->heading_deg * OTO_DEG, p->speed_m_s},
        .height_m = p->position_enu_m.z, .style = p->generate, .duration_s = p->duration_s, .key = key_of(p, setup),
        .repeat = p->repeat != 0, .segments = built_in ? script_city_drive : p->segments,
        .segment_count = built_in ? script_city_drive_count : (uint32_t)p->segment_count, .chassis = &p->chassis};
    struct drive *drive = host->alloc(host->context, sizeof *drive);
    if (drive == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *drive);
    *data = drive;
    if (p->generate != GENERATOR_NONE && !built_in)
        return oto_fail(error, OTO_INVALID,
                        "generate: there are %llu segments too; a drive is generated or written, not both",
                        (unsigned long long)p->segment_count);
    if (p->generate == GENERATOR_NONE && p->duration_s > 0.0)
        return oto_fail(error, OTO_INVALID,
                        "duration_s: %g is given, but nothing is generated; set generate to city, highway, parking, rural or hills, or "
                        "leave it out", p->duration_s);
    const enum oto_status status = drive_make(&plan, drive, host->alloc, host->context, error);
    if (status == OTO_OK && p->generate == GENERATOR_NONE && drive->chassis.plain)
        oto_host_limit_state(host, 0);
    return status;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    drive_begin(instance->data, instance->state);
    return OTO_OK;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    drive_advance(instance->data, instance->state, now->at.t_ns);
    return OTO_STEP_OK;
}

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    drive_truth(instance->data, instance->state, at, truth);
    return OTO_STEP_OK;
}

static enum oto_status adopt(const struct oto_instance *instance, const struct oto_truth_record *truth,
                             struct oto_instant at)
{
    return drive_adopt(instance->data, instance->state, truth, at);
}

static const struct oto_motion_extension motion = {
    .size = sizeof motion, .flags = OTO_MOTION_ANY_TIME, .evaluate = evaluate, .adopt = adopt};

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_MOTION) == 0 ? &motion : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "motion_script", .kind = OTO_KIND_MOTION, .version = "1.2.0",
    .text = "a drive written as manoeuvres or generated, with road and suspension, in closed form",
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct drive_state), .state_version = 2, .migrates_from = 2};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .init = init, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, extension);
