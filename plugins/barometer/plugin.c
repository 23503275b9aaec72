/* The adapter of barometer_model.h to the plugin ABI. */
#include "barometer_model.h"
#include "otolith/plugin.h"

/* clang-format off */
#define ROW(KEY, MEMBER, COUNT, MINIMUM, MAXIMUM, DEFAULT, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = (COUNT), .offset = OTO_PARAM_AT(struct barometer_params, MEMBER), \
     .flags = OTO_PARAM_RUNTIME, .minimum = (MINIMUM), .maximum = (MAXIMUM), .default_value = (DEFAULT), .unit = UNIT, .text = TEXT}

static const struct oto_param params[] = {
    {.key = "sample_rate_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct barometer_params, sample_rate_hz),
     .flags = OTO_PARAM_RATE, .maximum = 1e6, .default_value = 25, .unit = "Hz", .text = "the node's rate if the world sets none"},
    ROW("range_pa", range_pa, 2, 0, 1e7, 0, "Pa", "lowest and highest pressure that it reports; both 0: unlimited"),
    ROW("resolution_pa", resolution_pa, 1, 0, 1e5, 0, "Pa", "resolution of the output; 0: no rounding"),
    ROW("noise_density_pa_rthz", noise_density_pa_rthz, 1, 0, 1e5, 0, "Pa/sqrt(Hz)", "white noise before the filter, single-sided: one sample has density sqrt(rate/2)"),
    ROW("constant_bias_pa", constant_bias_pa, 1, -1e6, 1e6, 0, "Pa", "added to every sample"),
    ROW("unit_bias_pa", unit_bias_pa, 1, 0, 1e6, 0, "Pa", "standard deviation of a bias that the unit has in every world"),
    ROW("turn_on_bias_pa", turn_on_bias_pa, 1, 0, 1e6, 0, "Pa", "standard deviation of a bias that is drawn once in each run"),
    ROW("scale_error_percent", scale_error_percent, 1, -100, 100, 0, "%", "error of the scale"),
    ROW("temperature_bias_pa_degc", temperature_bias_pa_degc, 1, -1e5, 1e5, 0, "Pa/degC", "bias for each degree of the part above 25 degC"),
    ROW("unit_temperature_bias_pa_degc", unit_temperature_bias_pa_degc, 1, 0, 1e5, 0, "Pa/degC", "standard deviation of such a slope that the unit has in every world"),
    ROW("iir_coefficient", iir_coefficient, 1, 0, 4096, 0, "1", "filter of the part: y += (x - y) / (coefficient + 1); 0: none"),
    ROW("weather.sigma_pa", weather_sigma_pa, 1, 0, 1e5, 0, "Pa", "standard deviation of the weather's pressure, the same for all barometers of a world"),
    ROW("weather.tau_s", weather_tau_s, 1, 0, 1e9, 10800, "s", "its correlation time"),
    ROW("dynamic_pressure.static_coefficient", static_coefficient, 1, -2, 2, 0, "1", "part of rho/2 v^2 of the airspeed that reaches the port from any side; negative: suction"),
    ROW("dynamic_pressure.ram_coefficient", ram_coefficient, 1, -2, 2, 0, "1", "part of rho/2 v|v| of the airspeed along the sensor's x"),
    {.key = "wind_enu_m_s", .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct barometer_params, wind_enu_m_s),
     .flags = OTO_PARAM_RUNTIME | OTO_PARAM_SCALAR_FILLS, .minimum = -200, .maximum = 200, .unit = "m/s", .text = "velocity of the air"},
    ROW("self_heating_degc", self_heating_degc, 1, -100, 100, 0, "degC", "the part above the air around it"),
    ROW("temperature.noise_degc", temperature_noise_degc, 1, 0, 100, 0, "degC", "standard deviation of one temperature, white"),
    ROW("temperature.resolution_degc", temperature_resolution_degc, 1, 0, 100, 0, "degC", "resolution of the temperature; 0: no rounding"),
    ROW("delay_ms", delay_ms, 1, 0, 1000, 0, "ms", "age of the measured air"),
};
/* clang-format on */

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    struct barometer_plan *plan = (struct barometer_plan *)host->alloc(host->context, sizeof *plan);
    if (plan == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "barometer: out of memory");
    }
    barometer_prepare((const struct barometer_params *)block, setup->rate_hz, setup->noise_key, setup->unit_key, plan);
    *data = plan;
    return OTO_OK;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    barometer_init((const struct barometer_plan *)instance->data, (struct barometer_state *)instance->state);
    return OTO_OK;
}

static double draught_pa(const struct oto_sensor_input *input)
{
    double sum_pa = 0.0;
    for (uint32_t i = 0; i < input->disturbance_count; i++) {
        sum_pa += input->disturbances[i].kind == OTO_FAULT_DRAUGHT ? input->disturbances[i].value : 0.0;
    }
    return sum_pa;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct barometer_plan *plan = (const struct barometer_plan *)instance->data;
    const struct oto_sensor_input *input = step->sensor.input;
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
    const struct barometer_truth truth = {.n = step->n,
                                          .t_s = (double)(step->at.t_ns - age_ns) * 1e-9,
                                          .pressure_pa = input->pressure_pa,
                                          .temperature_degc = input->temperature_degc,
                                          .draught_pa = draught_pa(step->sensor.input),
                                          .velocity_enu_m_s = input->velocity_sensor_enu_m_s,
                                          .q_enu_from_sensor = input->q_enu_from_sensor};
    return barometer_measure(plan, (struct barometer_state *)instance->state, &truth,
                             (struct oto_pressure_record *)step->outputs[0].payload, &step->outputs[0].flags)
               ? OTO_STEP_OK
               : OTO_STEP_DISCARD;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct barometer_state *state = (const struct barometer_state *)instance->state;
    const double sum = state->filtered_pa + state->weather[0] + state->weather[1];
    return sum - sum == 0.0 ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[] = {{"", &oto_pressure_type, OTO_PORT_ALWAYS, 0}};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .flags = OTO_PLUGIN_FEELS(OTO_FAULT_DRAUGHT),
    .id = "barometer",
    .kind = OTO_KIND_SENSOR,
    .version = "1.0.0",
    .text = "air pressure with noise, weather, dynamic pressure, temperature error and the part's filter",
    .outputs = outputs,
    .output_count = 1,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct barometer_params),
    .state_bytes = sizeof(struct barometer_state),
    .state_version = 1,
    .migrates_from = 1,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops, .prepare = prepare, .init = init, .step = step, .validate = validate};

OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
