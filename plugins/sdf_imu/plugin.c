/* The adapter of sdf_imu_model.h to the plugin ABI. */
#include "otolith/plugin.h"
#include "sdf_imu_model.h"

#define LARGE 1e12
#define NS_PER_S 1000000000

static const struct oto_named_value noise_types[] = {
    {"none", SDF_NOISE_NONE}, {"gaussian", SDF_NOISE_GAUSSIAN}, {"gaussian_quantized", SDF_NOISE_GAUSSIAN_QUANTIZED}};
static const struct oto_named_value localizations[] = {{"CUSTOM", SDF_CUSTOM},   {"ENU", SDF_ENU},
                                                       {"NED", SDF_NED},         {"NWU", SDF_NWU},
                                                       {"GRAV_UP", SDF_GRAV_UP}, {"GRAV_DOWN", SDF_GRAV_DOWN}};
static const struct oto_named_value parents[] = {{"sensor", SDF_PARENT_SENSOR}, {"world", SDF_PARENT_WORLD}};
static const struct oto_named_value of_the_world[] = {{"world", SDF_GRAVITY_WORLD}};
static const struct oto_named_value white[] = {{"white", SDF_COVARIANCE_WHITE}};

/* clang-format off */
#define COUNT(table) (sizeof(table) / sizeof *(table))
#define NAMES(table) .names = (table), .name_count = COUNT(table)
#define AT(MEMBER) .offset = OTO_PARAM_AT(struct sdf_imu_params, MEMBER)
#define VECTOR(MEMBER, KEY, MINIMUM, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = 3, AT(MEMBER), .flags = OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS, \
     .minimum = (MINIMUM), .maximum = LARGE, .unit = UNIT, .text = TEXT}
#define COVARIANCE(MEMBER, KEY, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = 9, AT(MEMBER), .flags = OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS, \
     .minimum = -LARGE, .maximum = LARGE, .default_value = SDF_COVARIANCE_WHITE, .unit = UNIT, NAMES(white), \
     .text = TEXT}
#define SWITCH(MEMBER, KEY, FLAGS, DEFAULT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_BOOL, .count = 1, AT(MEMBER), .flags = (FLAGS), .maximum = 1, \
     .default_value = (DEFAULT), .unit = "", .text = TEXT}
#define WORD(MEMBER, KEY, WORDS, TEXT) \
    {.key = KEY, .type = OTO_PARAM_I64, .count = 1, AT(MEMBER), .flags = OTO_PARAM_RUNTIME, .unit = "", NAMES(WORDS), \
     .text = TEXT}

#define TRIAD(MEMBER, NAME, U, U2, UNIT, UNIT2) \
    {.key = NAME ".noise_type", .type = OTO_PARAM_I64, .count = 3, AT(MEMBER.noise_type), \
     .flags = OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS, .unit = "", NAMES(noise_types), \
     .text = "of each axis; none: the truth, bit by bit"}, \
    VECTOR(MEMBER.mean_u, NAME ".mean_" U, -LARGE, UNIT, "mean of the white noise, added to every sample"), \
    VECTOR(MEMBER.stddev_u, NAME ".stddev_" U, 0, UNIT, "white noise of one sample, whatever the rate"), \
    VECTOR(MEMBER.bias_mean_u, NAME ".bias_mean_" U, -LARGE, UNIT, \
           "mean of the bias drawn at load; its sign is drawn, too"), \
    VECTOR(MEMBER.bias_stddev_u, NAME ".bias_stddev_" U, 0, UNIT, "standard deviation of the bias drawn at load"), \
    VECTOR(MEMBER.dynamic_bias_stddev_u_rts, NAME ".dynamic_bias_stddev_" U "_rts", 0, UNIT "/sqrt(s)", \
           "drive of the Gauss-Markov bias: its variance tends to stddev^2 tau/2"), \
    VECTOR(MEMBER.dynamic_bias_correlation_time_s, NAME ".dynamic_bias_correlation_time_s", 0, "s", \
           "tau of the Gauss-Markov bias; 0: constant bias"), \
    VECTOR(MEMBER.precision_u, NAME ".precision_" U, 0, UNIT, "resolution of the output; up to 1e-6: no rounding"), \
    COVARIANCE(MEMBER.covariance_u2, NAME ".covariance_" U2, UNIT2, \
               "passed through, row-major; white: stddev^2 on the diagonal; all 0: unknown; first -1: absent")

static const struct oto_param params[] = {
    {.key = "update_rate_hz", .type = OTO_PARAM_F64, .count = 1, AT(update_rate_hz), .flags = OTO_PARAM_RATE,
     .maximum = 1e6, .unit = "Hz", .text = "the node's rate if the world sets none; 0: each physics tick"},
    SWITCH(offset_start_time, "offset_start_time", 0, 0,
           "whether a random number of the first samples is discarded"),
    {.key = "offset_start_max_samples", .type = OTO_PARAM_I64, .count = 1, AT(offset_start_max_samples), .minimum = 1,
     .maximum = 1000, .default_value = 10, .unit = "", .text = "upper limit of that number, exclusive"},
    SWITCH(discard_redundant_data, "discard_redundant_data", OTO_PARAM_RUNTIME, 0,
           "whether a sample with the data and the time stamp of the previous one is discarded"),
    {.key = "gravity_m_s2", .type = OTO_PARAM_F64, .count = 1, AT(gravity_m_s2), .flags = OTO_PARAM_RUNTIME,
     .maximum = 1e4, .default_value = SDF_GRAVITY_WORLD, .unit = "m/s^2", NAMES(of_the_world),
     .text = "added upwards; world: gravity at the world's origin"},
    {.key = "scene_units_per_m", .type = OTO_PARAM_F64, .count = 1, AT(scene_units_per_m),
     .flags = OTO_PARAM_RUNTIME | OTO_PARAM_OPEN_MIN, .maximum = 1e9, .default_value = 1, .unit = "1/m",
     .text = "scale: the acceleration is in scene units/s^2"},
    SWITCH(orientation_enable, "orientation.enable", OTO_PARAM_RUNTIME, 1, "whether there is an orientation"),
    WORD(localization, "orientation.localization", localizations, "the frame to which the orientation is relative"),
    VECTOR(custom_rpy_rad, "orientation.custom_rpy_rad", -LARGE, "rad",
           "CUSTOM: the reference in its parent frame, fixed-axis roll, pitch, yaw"),
    WORD(custom_rpy_parent_frame, "orientation.custom_rpy_parent_frame", parents,
         "CUSTOM: world (ENU), or the sensor as it is at its first sample"),
    {.key = "orientation.grav_dir_x", .type = OTO_PARAM_F64, .count = 3, AT(grav_dir_x), .flags = OTO_PARAM_RUNTIME,
     .minimum = -LARGE, .maximum = LARGE, .unit = "1",
     .text = "GRAV_UP, GRAV_DOWN: the level part of this is the reference's x; all 0: [1, 0, 0]"},
    WORD(grav_dir_x_parent_frame, "orientation.grav_dir_x_parent_frame", parents,
         "the frame of grav_dir_x: world (ENU), or the sensor as it is at its first sample"),
    {.key = "orientation.covariance_rad2", .type = OTO_PARAM_F64, .count = 9, AT(orientation_covariance_rad2),
     .flags = OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS, .minimum = -LARGE, .maximum = LARGE, .unit = "rad^2",
     .text = "passed through, row-major; all 0: unknown; first -1: absent"},
    TRIAD(linear_acceleration, "linear_acceleration", "m_s2", "m2_s4", "m/s^2", "m^2/s^4"),
    TRIAD(angular_velocity, "angular_velocity", "rad_s", "rad2_s2", "rad/s", "rad^2/s^2"),
};
/* clang-format on */

static const struct oto_port outputs[] = {{"", &oto_imu_type, OTO_PORT_ALWAYS, 0}};

static void warn_of(const struct oto_host *host, const char *triad, const struct sdf_triad_params *own)
{
    char sentence[200];
    for (int i = 0; i < 3; i++) {
        const bool off = own->noise_type[i] == SDF_NOISE_NONE;
        const bool is_given = own->mean_u[i] != 0 || own->stddev_u[i] != 0 || own->bias_mean_u[i] != 0 ||
                              own->bias_stddev_u[i] != 0 || own->dynamic_bias_stddev_u_rts[i] != 0 ||
                              own->precision_u[i] != 0;
        const bool stands = own->dynamic_bias_stddev_u_rts[i] > 0 && !(own->dynamic_bias_correlation_time_s[i] > 0);
        if (host->warn != NULL && ((off && is_given) || (!off && stands))) {
            (void)snprintf(sentence, sizeof sentence, "%s, axis %c: %s", triad, "xyz"[i],
                           off ? "its noise has no effect: noise_type is none"
                               : "dynamic_bias_stddev has no effect: dynamic_bias_correlation_time_s is 0");
            host->warn(host->context, sentence);
        }
    }
}

/* The number of ticks per sample, fb/fs, if it is a whole number; otherwise 0. */
static uint64_t ticks_per_sample(const struct oto_setup *setup)
{
    const unsigned __int128 ticks = (unsigned __int128)setup->rate_den * setup->base_rate_num;
    const unsigned __int128 unit = (unsigned __int128)setup->rate_num * setup->base_rate_den;
    return unit > 0 && ticks % unit == 0 ? (uint64_t)(ticks / unit) : 0;
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct sdf_imu_params *own = (const struct sdf_imu_params *)block;
    const struct sdf_imu_place place = {setup->base_rate_num, setup->base_rate_den, ticks_per_sample(setup),
                                        setup->noise_key, setup->gravity_enu_m_s2};
    struct sdf_imu_plan *plan = (struct sdf_imu_plan *)host->alloc(host->context, sizeof *plan);
    if (plan == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "sdf_imu: out of memory");
    }
    if (setup->base_rate_num < setup->base_rate_den) {
        return oto_fail(error, OTO_INVALID, "the clock has %g Hz; sdf_imu takes physics of at least 1 Hz",
                        (double)setup->base_rate_num / (double)setup->base_rate_den);
    }
    *data = plan;
    warn_of(host, "linear_acceleration", &own->linear_acceleration);
    warn_of(host, "angular_velocity", &own->angular_velocity);
    return sdf_imu_prepare(own, &place, plan, error);
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    sdf_imu_init((const struct sdf_imu_plan *)instance->data, (struct sdf_imu_state *)instance->state);
    return OTO_OK;
}

static void set_params(const struct oto_instance *instance, const void *old_params)
{
    sdf_imu_adapt((const struct sdf_imu_plan *)instance->data, (const struct sdf_imu_params *)old_params,
                  (const struct sdf_imu_params *)instance->params, (struct sdf_imu_state *)instance->state);
}

/* The end of the last tick that is complete at the sample's instant: m = floor(n fb / fs). */
struct tick_end {
    uint64_t m;
    bool is_now; /* the instant of the sample equals the end of the tick */
    struct oto_instant at;
};

static struct tick_end last_tick_end(const struct oto_setup *setup, const struct oto_step *step)
{
    struct tick_end end = {step->n, true, step->at};
    const unsigned __int128 ticks = (unsigned __int128)step->n * setup->rate_den * setup->base_rate_num;
    const unsigned __int128 unit = (unsigned __int128)setup->rate_num * setup->base_rate_den;
    if (setup->base_rate_num == 0 || unit == 0) {
        return end;
    }
    end.m = step->tick + 1;
    end.is_now = ticks == unit * end.m;
    if (!end.is_now) {
        end.m = step->tick;
        const unsigned __int128 ns = (unsigned __int128)end.m * NS_PER_S * setup->base_rate_den;
        end.at.t_ns = (int64_t)(ns / setup->base_rate_num);
        end.at.sub_ns = (double)(uint64_t)(ns % setup->base_rate_num) / (double)setup->base_rate_num;
    }
    return end;
}

static enum oto_step_status measure(const struct oto_instance *instance, const struct oto_step *step,
                                    const struct tick_end *end, enum sdf_imu_result *result)
{
    struct oto_sensor_input earlier;
    const struct oto_sensor_input *input = step->sensor.input;
    if (!end->is_now) {
        const enum oto_step_status status = step->sensor.input_at(step->sensor.input_context, end->at, &earlier);
        if (status != OTO_STEP_OK) {
            return status;
        }
        input = &earlier;
    }
    const struct sdf_imu_physics physics = {step->n, end->m, input->velocity_sensor_enu_m_s,
                                            input->angular_rate_sensor_rad_s, input->q_enu_from_sensor};
    *result = sdf_imu_measure((const struct sdf_imu_params *)instance->params,
                              (const struct sdf_imu_plan *)instance->data, (struct sdf_imu_state *)instance->state,
                              &physics, (struct oto_imu_record *)step->outputs[0].payload);
    return OTO_STEP_OK;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    static const enum oto_step_status says[] = {
        [SDF_SAMPLE] = OTO_STEP_OK, [SDF_SAMPLE_NO_REFERENCE] = OTO_STEP_WARN, [SDF_NOTHING] = OTO_STEP_DISCARD};
    const struct sdf_imu_plan *plan = (const struct sdf_imu_plan *)instance->data;
    struct sdf_imu_state *state = (struct sdf_imu_state *)instance->state;
    const struct tick_end end = last_tick_end(instance->setup, now);
    enum sdf_imu_result result = SDF_NOTHING;
    enum oto_step_status status = OTO_STEP_OK;
    if (sdf_imu_is_waiting(plan, now->n)) {
        return OTO_STEP_DISCARD;
    }
    if (sdf_imu_is_redundant(state, end.m)) {
        result = sdf_imu_repeat((const struct sdf_imu_params *)instance->params, plan, state,
                                (struct oto_imu_record *)now->outputs[0].payload);
    } else {
        status = measure(instance, now, &end, &result);
    }
    now->outputs[0].t_ns = end.at.t_ns;
    now->outputs[0].sensor_time_ns = end.at.t_ns;
    return status == OTO_STEP_OK ? says[result] : status;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    return sdf_imu_state_is_finite((const struct sdf_imu_state *)instance->state) ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .flags = OTO_PLUGIN_ANY_RATE, /* if its rate exceeds the base rate, it repeats samples, as Unity does (A6) */
    .id = "sdf_imu",
    .kind = OTO_KIND_SENSOR,
    .version = "1.0.0",
    .text = "the IMU of Unity and of SDF: velocity differences of the physics, and <noise>",
    .outputs = outputs,
    .output_count = 1,
    .param_count = COUNT(params),
    .params = params,
    .params_bytes = sizeof(struct sdf_imu_params),
    .state_bytes = sizeof(struct sdf_imu_state),
    .state_version = 1,
    .migrates_from = 1,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops,
    .prepare = prepare,
    .init = init,
    .set_params = set_params,
    .step = step,
    .validate = validate,
};

OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
