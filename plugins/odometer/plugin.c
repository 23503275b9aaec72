/* The adapter of odometer_model.h to the plugin ABI. */
#include "odometer_model.h"
#include "otolith/plugin.h"

#define DELAY_MAX_MS 1000.0 /* the host provides inputs of this age at most */

/* clang-format off */
#define ROW(MEMBER, FLAGS, MINIMUM, MAXIMUM, DEFAULT, UNIT, TEXT) \
    {.key = #MEMBER, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct odometer_params, MEMBER), \
     .flags = (FLAGS), .minimum = (MINIMUM), .maximum = (MAXIMUM), .default_value = (DEFAULT), .unit = UNIT, .text = TEXT}

static const struct oto_param params[] = {
    ROW(sample_rate_hz, OTO_PARAM_RATE, 0, 1e6, 0, "Hz", "the node's rate if the world sets none"),
    ROW(track_width_m, OTO_PARAM_RUNTIME, 0, 100, 1.6, "m", "between the middles of the left and right wheels"),
    ROW(wheelbase_m, OTO_PARAM_RUNTIME, 0, 100, 2.7, "m", "between the axles"),
    ROW(scale_error_percent, OTO_PARAM_RUNTIME, -100, 100, 0, "%", "scale error of every speed: actual against assumed tyre radius"),
    ROW(noise_m_s, OTO_PARAM_RUNTIME, 0, 1e3, 0, "m/s", "standard deviation of each reported speed, white"),
    ROW(ticks_per_metre, OTO_PARAM_RUNTIME, 0, 1e9, 0, "1/m", "speeds are counted in whole ticks; 0: they are not"),
    ROW(resolution_m_s, OTO_PARAM_RUNTIME, 0, 1e3, 0, "m/s", "resolution of a speed; 0: no rounding"),
    ROW(standstill_threshold_m_s, OTO_PARAM_RUNTIME, 0, 1e3, 0, "m/s", "slower wheels read exactly 0"),
    ROW(delay_ms, OTO_PARAM_RUNTIME, 0, DELAY_MAX_MS, 0, "ms", "age of the reported motion"),
    {.key = "reports_reverse", .type = OTO_PARAM_BOOL, .count = 1,
     .offset = OTO_PARAM_AT(struct odometer_params, reports_reverse), .flags = OTO_PARAM_RUNTIME, .maximum = 1,
     .default_value = 1, .unit = "", .text = "false: speeds are magnitudes, without a sign in reverse"},
};
/* clang-format on */

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    struct odometer_plan *plan = (struct odometer_plan *)host->alloc(host->context, sizeof *plan);
    if (plan == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "odometer: out of memory");
    }
    odometer_prepare((const struct odometer_params *)block, setup->rate_hz, setup->noise_key, plan);
    *data = plan;
    return OTO_OK;
}

/* Reads the input of `delay` ago, or that of time zero if the world is younger; and its age. */
static enum oto_step_status delayed_input(const struct odometer_plan *plan, const struct oto_step *step,
                                          struct oto_sensor_input *input, int64_t *age_ns)
{
    const struct oto_instant now = step->at;
    *age_ns = plan->delay_ns < now.t_ns ? plan->delay_ns : now.t_ns;
    const struct oto_instant past = {now.t_ns - *age_ns, *age_ns < now.t_ns ? now.sub_ns : 0.0};
    return step->sensor.input_at(step->sensor.input_context, past, input);
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct odometer_plan *plan = (const struct odometer_plan *)instance->data;
    const struct oto_sensor_input *input = step->sensor.input;
    struct oto_odometry_record *record = (struct oto_odometry_record *)step->outputs[0].payload;
    struct oto_sensor_input past;
    if (plan->delay_ns > 0) {
        const enum oto_step_status status = delayed_input(plan, step, &past, &record->age_ns);
        if (status >= OTO_STEP_DISCARD) {
            return status;
        }
        input = &past;
    }
    const oto_vec3 velocity_body_m_s =
        oto_quat_rotate_inv(input->truth.q_enu_from_body, input->velocity_sensor_enu_m_s);
    const struct odometer_truth truth = {step->n, velocity_body_m_s.x, input->truth.angular_rate_body_rad_s.z};
    return odometer_measure(plan, (struct odometer_state *)instance->state, &truth, record) ? OTO_STEP_OK
                                                                                            : OTO_STEP_DISCARD;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct odometer_state *state = (const struct odometer_state *)instance->state;
    double sum = state->distance_m;
    for (int i = 0; i < ODOMETER_SOURCES; i++) {
        sum += state->pulse[i];
    }
    return sum - sum == 0.0 ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[] = {{"", &oto_odometry_type, OTO_PORT_ALWAYS, 0}};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "odometer",
    .kind = OTO_KIND_SENSOR,
    .version = "1.0.0",
    .text = "wheel speeds and distance, with scale error, noise, ticks and delay",
    .outputs = outputs,
    .output_count = 1,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct odometer_params),
    .state_bytes = sizeof(struct odometer_state),
    .state_version = 1,
    .migrates_from = 1,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops,
    .prepare = prepare,
    .step = step,
    .validate = validate,
};

OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
