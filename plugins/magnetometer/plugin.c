/* The adapter of mag_model.h to the plugin ABI. */
#include "mag_model.h"
#include "num_params.h"
#include "otolith/plugin.h"

static const struct oto_param params[] = {
    NUM_LAW_ROWS(struct mag_params, law, sample_rate_hz),
    NUM_FIELD_ROW(struct mag_params, magnetic_field_enu_ut),
    NUM_TRIAD_ROWS(struct mag_params, magnetometer, "magnetometer", "ut", "uT", "Magnetometer"),
    NUM_IGNORED_ROW("Magnetometer/Acceleration Bias"),
    NUM_IGNORED_ROW("Accelerometer"),
    NUM_IGNORED_ROW("Gyroscope"),
};

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct mag_params *own = (const struct mag_params *)block;
    struct mag_plan *plan = (struct mag_plan *)host->alloc(host->context, sizeof *plan);
    if (plan == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "magnetometer: out of memory");
    }
    enum oto_status status = mag_prepare(own, setup->rate_hz, setup->noise_key, setup->unit_key, plan, error);
    if (status == OTO_OK) {
        status = num_field_prepare(host, setup, own->magnetic_field_enu_ut, &plan->has_own_field, error);
        plan->field_enu_ut = oto_vec3_from_array(own->magnetic_field_enu_ut);
        num_params_warn(host, &own->law, NUM_MAGNETOMETER, &own->magnetometer);
    }
    *data = plan;
    return status;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    mag_init((const struct mag_plan *)instance->data, (struct mag_state *)instance->state);
    return OTO_OK;
}

static void set_params(const struct oto_instance *instance, const void *old_params)
{
    mag_adapt((const struct mag_plan *)instance->data, (const struct mag_params *)old_params,
              (const struct mag_params *)instance->params, (struct mag_state *)instance->state);
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct mag_plan *plan = (const struct mag_plan *)instance->data;
    const struct oto_sensor_input *input = step->input;
    struct oto_output *output = &step->outputs[0];
    const oto_vec3 field_ut = plan->has_own_field ? oto_quat_rotate_inv(input->q_enu_from_sensor, plan->field_enu_ut)
                                                  : input->mag_field_sensor_ut;
    return mag_measure(plan, (struct mag_state *)instance->state, step->n, field_ut, input->temperature_degc,
                       (struct oto_mag_record *)output->payload, &output->flags)
               ? OTO_STEP_OK
               : OTO_STEP_DISCARD;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    return mag_state_is_finite((const struct mag_state *)instance->state) ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[] = {{"", &oto_mag_type, OTO_PORT_ALWAYS, 0}};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "magnetometer",
    .kind = OTO_KIND_SENSOR,
    .version = "1.0.0",
    .text = "three-axis magnetometer with the errors of MEMS parts",
    .outputs = outputs,
    .output_count = 1,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct mag_params),
    .state_bytes = sizeof(struct mag_state),
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
