/* The adapter of encoder_model.h to the plugin ABI. */
#include "encoder_model.h"
#include "otolith/plugin.h"

static const struct oto_named_value fitted_names[] = {{"rear", ENCODER_FITTED_REAR}, {"all", ENCODER_FITTED_ALL}};
static const struct oto_named_value direction_names[] = {
    {"quadrature", ENCODER_QUADRATURE}, {"sensed", ENCODER_SENSED}, {"none", ENCODER_UNSIGNED}};
static const struct oto_named_value drive_names[] = {
    {"front", ENCODER_DRIVEN_FRONT}, {"rear", ENCODER_DRIVEN_REAR}, {"all", ENCODER_DRIVEN_ALL}};
static const struct oto_named_value timing_names[] = {{"pulses", ENCODER_PULSES}, {"window", ENCODER_WINDOW}};

/* clang-format off */
#define ROW(MEMBER, COUNT, FLAGS, MINIMUM, MAXIMUM, DEFAULT, UNIT, TEXT) \
    {.key = #MEMBER, .type = OTO_PARAM_F64, .count = (COUNT), .offset = OTO_PARAM_AT(struct encoder_params, MEMBER), \
     .flags = OTO_PARAM_RUNTIME | (FLAGS), .minimum = (MINIMUM), .maximum = (MAXIMUM), .default_value = (DEFAULT), .unit = UNIT, .text = TEXT}
#define WORD(MEMBER, NAMES, COUNT, DEFAULT, TEXT) \
    {.key = #MEMBER, .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct encoder_params, MEMBER), \
     .maximum = (COUNT) - 1, .default_value = (DEFAULT), .unit = "", .names = NAMES, .name_count = (COUNT), .text = TEXT}
#define WHOLE(MEMBER, MINIMUM, MAXIMUM, DEFAULT, UNIT, TEXT) \
    {.key = #MEMBER, .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct encoder_params, MEMBER), \
     .minimum = (MINIMUM), .maximum = (MAXIMUM), .default_value = (DEFAULT), .unit = UNIT, .text = TEXT}

static const struct oto_param params[] = {
    {.key = "sample_rate_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct encoder_params, sample_rate_hz),
     .flags = OTO_PARAM_RATE, .maximum = 1e6, .default_value = 100, .unit = "Hz", .text = "the node's rate if the world sets none"},
    WORD(fitted, fitted_names, 2, ENCODER_FITTED_ALL, "wheels with an encoder; odometry is of the rear wheels"),
    ROW(track_width_m, 1, OTO_PARAM_OPEN_MIN, 0, 100, 1.6, "m", "between the middles of the left and right wheels, as the controller assumes"),
    ROW(wheelbase_m, 1, 0, 0, 100, 2.7, "m", "between the axles"),
    ROW(radius_m, 1, OTO_PARAM_OPEN_MIN, 0, 10, 0.31, "m", "rolling radius, as the controller assumes"),
    WHOLE(ticks_per_turn, 1, 1000000, 96, "", "edges that are counted in one turn of a wheel"),
    WHOLE(counter_bits, 4, 32, 16, "", "width of a counter, which rolls over"),
    WORD(direction, direction_names, 3, ENCODER_QUADRATURE, "quadrature: counters count up and down; sensed: up only, and the direction is known above a speed; none: up only, forward is assumed"),
    ROW(direction_threshold_m_s, 1, 0, 0, 100, 0.3, "m/s", "sensed: below it the direction is unknown"),
    ROW(radius_error_percent, 4, OTO_PARAM_SCALAR_FILLS, -50, 50, 0, "%", "true over assumed radius of each wheel, less 1"),
    ROW(unit_radius_percent, 1, 0, 0, 50, 0, "%", "standard deviation of such an error that each wheel of the unit has in every world"),
    ROW(track_error_percent, 1, 0, -50, 50, 0, "%", "true over assumed track width, less 1"),
    ROW(unit_track_percent, 1, 0, 0, 50, 0, "%", "standard deviation of such an error that the unit has in every world"),
    WORD(driven, drive_names, 3, ENCODER_DRIVEN_FRONT, "wheels that drive; all wheels brake"),
    ROW(slip_percent_m_s2, 1, 0, 0, 50, 0, "%/(m/s^2)", "longitudinal slip for each m/s^2 of specific force that a wheel transmits"),
    ROW(side_slip_deg_m_s2, 1, 0, 0, 45, 0, "deg/(m/s^2)", "slip angle of the front wheels for each m/s^2 of lateral specific force"),
    ROW(missed_tick_probability, 1, 0, 0, 0.9, 0, "1", "of each edge"),
    WORD(timing, timing_names, 2, ENCODER_PULSES, "speed from the times of edges, or from the edges in a sample period"),
    ROW(timer_resolution_ns, 1, 0, 0, 1e9, 1000, "ns", "pulses: resolution of the times"),
    ROW(standstill_s, 1, OTO_PARAM_OPEN_MIN, 0, 100, 0.2, "s", "pulses: without an edge for so long the speed is 0"),
    ROW(delay_ms, 1, 0, 0, 1000, 0, "ms", "age of the reported counters"),
    ROW(distance_sigma_m_rtm, 1, 0, 0, 10, 0.01, "m/sqrt(m)", "standard deviation of a wheel's distance after a metre, for the covariance"),
};
/* clang-format on */

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    struct encoder_plan *plan = (struct encoder_plan *)host->alloc(host->context, sizeof *plan);
    if (plan == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "wheel_encoder: out of memory");
    }
    encoder_prepare((const struct encoder_params *)block, setup->rate_hz, setup->noise_key, setup->unit_key, plan);
    *data = plan;
    return OTO_OK;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    encoder_init((const struct encoder_plan *)instance->data, (struct encoder_state *)instance->state);
    return OTO_OK;
}

/* Takes the horizontal specific force in body axes: the wheels also transmit the force that holds the vehicle on a slope. */
static struct encoder_truth truth_of(const struct oto_sensor_input *input)
{
    const oto_quat q_body_from_sensor =
        oto_quat_mul(oto_quat_conj(input->truth.q_enu_from_body), input->q_enu_from_sensor);
    const oto_vec3 force = oto_quat_rotate(q_body_from_sensor, input->specific_force_sensor_m_s2);
    return (struct encoder_truth){
        .velocity_body_m_s = oto_quat_rotate_inv(input->truth.q_enu_from_body, input->velocity_sensor_enu_m_s),
        .yaw_rate_rad_s = input->truth.angular_rate_body_rad_s.z,
        .longitudinal_m_s2 = force.x,
        .lateral_m_s2 = force.y};
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct encoder_plan *plan = (const struct encoder_plan *)instance->data;
    const struct oto_sensor_input *input = step->sensor.input;
    struct oto_wheels_record *record = (struct oto_wheels_record *)step->outputs[0].payload;
    const int64_t age_ns = plan->delay_ns < step->at.t_ns ? plan->delay_ns : step->at.t_ns;
    struct oto_sensor_input past;
    if (age_ns > 0) {
        const struct oto_instant at = {step->at.t_ns - age_ns, step->at.sub_ns};
        const enum oto_step_status status = step->sensor.input_at(step->sensor.input_context, at, &past);
        if (status >= OTO_STEP_DISCARD) {
            return status;
        }
        input = &past;
    }
    const struct encoder_truth truth = truth_of(input);
    record->age_ns = age_ns;
    return encoder_measure(plan, (struct encoder_state *)instance->state, &truth, record) ? OTO_STEP_OK : OTO_STEP_DISCARD;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct encoder_state *state = (const struct encoder_state *)instance->state;
    double sum = state->position_m[0] + state->position_m[1] + state->yaw_rad + state->distance_m;
    bool good = true;
    for (int i = 0; i < 9; i++) {
        sum += state->covariance[i];
    }
    for (int i = 0; i < ENCODER_WHEELS; i++) {
        const struct encoder_wheel *wheel = &state->wheels[i];
        sum += wheel->rotation + wheel->speed_ticks_s + wheel->since_edge_s + wheel->silent_s + wheel->reported_m_s;
        good = good && (wheel->heading == 1 || wheel->heading == -1) && wheel->rotation >= 0.0 && wheel->rotation < 1.0;
    }
    return good && sum - sum == 0.0 ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[] = {{"", &oto_wheels_type, OTO_PORT_ALWAYS, 0}};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "wheel_encoder",
    .kind = OTO_KIND_SENSOR,
    .version = "1.0.0",
    .text = "counters of four wheels with slip and missed ticks, and the odometry from them",
    .outputs = outputs,
    .output_count = 1,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct encoder_params),
    .state_bytes = sizeof(struct encoder_state),
    .state_version = 1,
    .migrates_from = 1,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops, .prepare = prepare, .init = init, .step = step, .validate = validate};

OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
