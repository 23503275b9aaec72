/* The adapter of imu_model.h to the plugin ABI. */
#include "imu_model.h"
#include "num_params.h"
#include "otolith/plugin.h"

static const struct oto_param params[] = {
    NUM_LAW_ROWS(struct imu_params, law, sample_rate_hz),
    NUM_FIELD_ROW(struct imu_params, magnetic_field_enu_ut),
    {.key = "magnetometer.enable",
     .type = OTO_PARAM_BOOL,
     .count = 1,
     .offset = OTO_PARAM_AT(struct imu_params, magnetometer_enable),
     .maximum = 1,
     .unit = "",
     .text = "whether the unit has a magnetometer: a second channel `mag`"},
    NUM_TRIAD_ROWS(struct imu_params, accelerometer, "accelerometer", "m_s2", "m/s^2", "Accelerometer"),
    NUM_IGNORED_ROW("Accelerometer/Acceleration Bias"),
    NUM_TRIAD_ROWS(struct imu_params, gyroscope, "gyroscope", "rad_s", "rad/s", "Gyroscope"),
    NUM_ROW(struct imu_params, gyroscope.acceleration_bias_u_m_s2, "gyroscope.acceleration_bias_rad_s_m_s2", 3,
            NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "(rad/s)/(m/s^2)", "Gyroscope/Acceleration Bias",
            "g-sensitivity, axis by axis; law mems alone (MAVS reads it and never applies it)"),
    NUM_TRIAD_ROWS(struct imu_params, magnetometer, "magnetometer", "ut", "uT", "Magnetometer"),
    NUM_IGNORED_ROW("Magnetometer/Acceleration Bias"),
};

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct imu_params *own = (const struct imu_params *)block;
    struct imu_plan *plan = (struct imu_plan *)host->alloc(host->context, sizeof *plan);
    if (plan == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "mems_imu: out of memory");
    }
    enum oto_status status = imu_prepare(own, setup->rate_hz, setup->noise_key, setup->unit_key, plan, error);
    if (status == OTO_OK && own->magnetometer_enable != 0) {
        status = num_field_prepare(host, setup, own->magnetic_field_enu_ut, &plan->has_own_field, error);
        plan->field_enu_ut = oto_vec3_from_array(own->magnetic_field_enu_ut);
        num_params_warn(host, &own->law, NUM_MAGNETOMETER, &own->magnetometer);
    }
    num_params_warn(host, &own->law, NUM_ACCELEROMETER, &own->accelerometer);
    num_params_warn(host, &own->law, NUM_GYROSCOPE, &own->gyroscope);
    *data = plan;
    return status;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    imu_init((const struct imu_plan *)instance->data, (struct imu_state *)instance->state);
    return OTO_OK;
}

static void set_params(const struct oto_instance *instance, const void *old_params)
{
    imu_adapt((const struct imu_plan *)instance->data, (const struct imu_params *)old_params,
              (const struct imu_params *)instance->params, (struct imu_state *)instance->state);
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct imu_plan *plan = (const struct imu_plan *)instance->data;
    const struct oto_sensor_input *input = step->input;
    struct oto_output *imu = &step->outputs[0];
    struct oto_output *mag = &step->outputs[1];
    oto_vec3 own_field_ut;
    const oto_vec3 *field_ut = &input->mag_field_sensor_ut;
    if (plan->has_own_field) {
        own_field_ut = oto_quat_rotate_inv(input->q_enu_from_sensor, plan->field_enu_ut);
        field_ut = &own_field_ut;
    }
    const struct imu_truth truth = {step->n, &input->specific_force_sensor_m_s2, &input->angular_rate_sensor_rad_s,
                                    field_ut, input->temperature_degc};
    return imu_measure(plan, (struct imu_state *)instance->state, &truth, (struct oto_imu_record *)imu->payload,
                       &imu->flags, (struct oto_mag_record *)mag->payload, &mag->flags)
               ? OTO_STEP_OK
               : OTO_STEP_DISCARD;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    return imu_state_is_finite((const struct imu_state *)instance->state) ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[] = {
    {"", &oto_imu_type, OTO_PORT_ALWAYS, 0},
    {"mag", &oto_mag_type, OTO_PARAM_AT(struct imu_params, magnetometer_enable), 0},
};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "mems_imu",
    .kind = OTO_KIND_SENSOR,
    .version = "1.0.0",
    .text = "accelerometer, gyroscope and optional magnetometer with the errors of MEMS parts",
    .outputs = outputs,
    .output_count = 2,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct imu_params),
    .state_bytes = sizeof(struct imu_state),
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
