/* The adapter of imu_model.h to the plugin ABI. */
#include "imu_model.h"
#include "num_adapter.h"
#include "num_params.h"
#include "num_timing.h"
#include "otolith/plugin.h"

/* The parameters of the model and of the adapter. */
struct imu_block {
    struct imu_params model;
    struct num_timing_params timing;
    int64_t delta;
    int64_t delta_subsamples;
};

struct imu_node_state {
    struct imu_state model;
    struct num_band_state band; /* since version 2; with the white noise since version 3 */
};

struct imu_prepared {
    struct num_sensor_plan sensor;
    struct imu_plan plan;
    bool taps, delta;
    int64_t delta_subsamples;
};

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
            "g-sensitivity, axis by axis; law mems only (MAVS reads it and never applies it)"),
    NUM_ROW(struct imu_params, gyroscope.unit_acceleration_bias_u_m_s2, "gyroscope.unit_acceleration_bias_rad_s_m_s2", 3,
            NUM_RUNTIME_VECTOR, 0, 0, "(rad/s)/(m/s^2)", NULL,
            "law mems: standard deviation of a g-sensitivity that the unit has in every world"),
    NUM_ROW(struct imu_params, gyroscope.acceleration_cross_u_m_s2, "gyroscope.acceleration_cross_rad_s_m_s2", 6,
            NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "(rad/s)/(m/s^2)", NULL,
            "law mems: g-sensitivity across axes, xy xz yx yz zx zy: xy is what force along y adds to the rate about x"),
    NUM_TRIAD_ROWS(struct imu_params, magnetometer, "magnetometer", "ut", "uT", "Magnetometer"),
    NUM_IGNORED_ROW("Magnetometer/Acceleration Bias"),
    NUM_G2_ROW(struct imu_params, accelerometer, "accelerometer", "m_s2", "m/s^2"),
    NUM_G2_ROW(struct imu_params, gyroscope, "gyroscope", "rad_s", "rad/s"),
    NUM_IRON_ROWS(struct imu_params, iron),
    NUM_SWITCH_ROW(struct imu_params, taps, "taps", "whether channel `taps` has the contribution of each term"),
    NUM_TIMING_ROWS(struct imu_block, timing),
    NUM_SWITCH_ROW(struct imu_block, delta, "delta", "whether channel `delta` has delta angles and velocities"),
    {.key = "delta_subsamples",
     .type = OTO_PARAM_I64,
     .count = 1,
     .offset = OTO_PARAM_AT(struct imu_block, delta_subsamples),
     .flags = OTO_PARAM_RUNTIME,
     .minimum = 1,
     .maximum = 64,
     .default_value = 2,
     .unit = "",
     .text = "parts of a period for the integration, with two inputs each"},
};

struct delta_record {
    oto_vec3 angle_rad, velocity_m_s;
    double dt_s;
};

/* clang-format off */
static const struct oto_field delta_fields[] = {
    OTO_FIELD_XYZ_(struct delta_record, angle_rad, "delta_angle_rad", "rad", "sensor", "rotation vector over the period"),
    OTO_FIELD_XYZ_(struct delta_record, velocity_m_s, "delta_velocity_m_s", "m/s", "sensor", "integral of specific force, axes of the period's start"),
    OTO_FIELD_(struct delta_record, dt_s, "dt_s", OTO_FIELD_F64, 1, "s", "", "the period"),
};
static const struct oto_record_type delta_type = {
    "delta", sizeof(struct delta_record), sizeof delta_fields / sizeof *delta_fields, delta_fields};

static const struct oto_field taps_fields[] = {
    NUM_TAP_FIELDS_HEAD("accelerometer", 0, "m/s^2"), NUM_TAP_FIELDS_MATRIX("accelerometer", 0, "m/s^2"),
    NUM_TAP_FIELDS_G2("accelerometer", 0, "m/s^2"), NUM_TAP_FIELDS_TAIL("accelerometer", 0, "m/s^2"),
    NUM_TAP_FIELDS_HEAD("gyroscope", 1, "rad/s"), NUM_TAP_FIELDS_MATRIX("gyroscope", 1, "rad/s"),
    NUM_TAP_FIELDS_G("gyroscope", 1, "rad/s"), NUM_TAP_FIELDS_G2("gyroscope", 1, "rad/s"),
    NUM_TAP_FIELDS_TAIL("gyroscope", 1, "rad/s"),
    NUM_TAP_FIELDS_HEAD("magnetometer", 2, "T"), NUM_TAP_FIELDS_IRON("magnetometer", 2, "T"),
    NUM_TAP_FIELDS_MATRIX("magnetometer", 2, "T"), NUM_TAP_FIELDS_TAIL("magnetometer", 2, "T"),
};
static const struct oto_record_type taps_type = {
    "imu_taps", sizeof(struct imu_taps), sizeof taps_fields / sizeof *taps_fields, taps_fields};
/* clang-format on */

static void share(const struct oto_host *host, struct imu_plan *plan)
{
    const struct imu_covariances *shared =
        (const struct imu_covariances *)oto_host_share(host, &plan->own_covariances, sizeof plan->own_covariances);
    if (shared != NULL) {
        plan->covariances = shared;
    }
    num_suite_share(host, &plan->suite);
}

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct imu_block *all = (const struct imu_block *)block;
    const struct imu_params *own = &all->model;
    struct imu_prepared *prepared = (struct imu_prepared *)host->alloc(host->context, sizeof *prepared);
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "mems_imu: out of memory");
    }
    struct imu_plan *plan = &prepared->plan;
    enum oto_status status = imu_prepare(own, setup->rate_hz, setup->noise_key, setup->unit_key, plan, error);
    if (status == OTO_OK) {
        status = num_sensor_prepare(host, setup, &all->timing, plan->extended, all->delta != 0,
                                    own->magnetometer_enable != 0 ? own->magnetic_field_enu_ut : NULL,
                                    &prepared->sensor, error);
    }
    if (status == OTO_OK && prepared->sensor.timing->band.substeps > 0) {
        imu_limit_band(plan, prepared->sensor.timing->band.colour.variance);
    }
    share(host, plan);
    prepared->taps = own->taps != 0;
    prepared->delta = all->delta != 0;
    prepared->delta_subsamples = all->delta_subsamples;
    if (status == OTO_OK && own->magnetometer_enable != 0) {
        num_params_warn(host, &own->law, NUM_MAGNETOMETER, &own->magnetometer);
    }
    num_params_warn(host, &own->law, NUM_ACCELEROMETER, &own->accelerometer);
    num_params_warn(host, &own->law, NUM_GYROSCOPE, &own->gyroscope);
    *data = prepared;
    return status;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    imu_init(&((const struct imu_prepared *)instance->data)->plan, (struct imu_state *)instance->state);
    return OTO_OK;
}

static void set_params(const struct oto_instance *instance, const void *old_params)
{
    imu_adapt(&((const struct imu_prepared *)instance->data)->plan, &((const struct imu_block *)old_params)->model,
              &((const struct imu_block *)instance->params)->model, (struct imu_state *)instance->state);
}

/* Fills the delta record: the integral of the truth, plus the errors of the sample times the period. */
static enum oto_step_status fill_delta(const struct imu_prepared *prepared, const struct oto_step *step,
                                       const struct imu_truth *felt, const struct oto_imu_record *imu,
                                       struct delta_record *record)
{
    struct num_delta delta;
    const enum oto_step_status status =
        num_timing_delta(prepared->sensor.timing, step, prepared->delta_subsamples, &delta);
    const oto_vec3 rate_error = oto_vec3_sub(imu->angular_velocity_rad_s, *felt->angular_rate_rad_s);
    const oto_vec3 force_error = oto_vec3_sub(imu->linear_acceleration_m_s2, *felt->specific_force_m_s2);
    record->angle_rad = oto_vec3_add_scaled(delta.angle_rad, rate_error, delta.dt_s);
    record->velocity_m_s = oto_vec3_add_scaled(delta.velocity_m_s, force_error, delta.dt_s);
    record->dt_s = delta.dt_s;
    return status;
}

enum { PORT_IMU, PORT_MAG, PORT_TAPS, PORT_DELTA, PORTS };

static const struct imu_plan *plan_of(const void *data)
{
    return &((const struct imu_prepared *)data)->plan;
}

static struct imu_truth truth_of(const struct num_exposure *exposure)
{
    const struct oto_sensor_input *input = exposure->input;
    return (struct imu_truth){exposure->n, &input->specific_force_sensor_m_s2, &input->angular_rate_sensor_rad_s,
                              exposure->field_ut, input->temperature_degc};
}

static bool measure(const void *data, void *state, const struct num_exposure *exposure, struct oto_output *outputs)
{
    const struct imu_truth truth = truth_of(exposure);
    struct oto_output *imu = &outputs[PORT_IMU], *mag = &outputs[PORT_MAG];
    return imu_measure(plan_of(data), (struct imu_state *)state, &truth, (struct oto_imu_record *)imu->payload,
                       &imu->flags, (struct oto_mag_record *)mag->payload, &mag->flags);
}

static bool begin(const void *data, void *state, const struct num_exposure *exposure, double *measured_u,
                  struct num_suite_job *job)
{
    const struct imu_truth truth = truth_of(exposure);
    return imu_begin(plan_of(data), (struct imu_state *)state, &truth, measured_u, job);
}

static void finish(const void *data, const struct num_suite_job *job, struct oto_output *outputs)
{
    struct oto_output *imu = &outputs[PORT_IMU], *mag = &outputs[PORT_MAG];
    imu_finish(plan_of(data), job, (struct oto_imu_record *)imu->payload, &imu->flags,
               (struct oto_mag_record *)mag->payload, &mag->flags);
}

static enum oto_step_status measure_extended(const void *data, void *state, const struct num_exposure *exposure,
                                             const struct num_exposure *exposure_felt, const struct oto_step *step)
{
    const struct imu_prepared *prepared = (const struct imu_prepared *)data;
    const struct imu_truth truth = truth_of(exposure), felt = truth_of(exposure_felt);
    struct oto_output *outputs = step->outputs;
    struct oto_imu_record *imu = (struct oto_imu_record *)outputs[PORT_IMU].payload;
    struct num_coloured coloured;
    if (!imu_measure_extended(&prepared->plan, (struct imu_state *)state, &truth, &felt,
                              num_sensor_coloured(&prepared->sensor, &((struct imu_node_state *)state)->band, &coloured),
                              imu, &outputs[PORT_IMU].flags, (struct oto_mag_record *)outputs[PORT_MAG].payload, &outputs[PORT_MAG].flags,
                              prepared->taps ? (struct imu_taps *)outputs[PORT_TAPS].payload : NULL)) {
        return OTO_STEP_DISCARD;
    }
    if (!prepared->delta) {
        return OTO_STEP_OK;
    }
    outputs[PORT_DELTA].flags = outputs[PORT_IMU].flags;
    return fill_delta(prepared, step, &felt, imu, (struct delta_record *)outputs[PORT_DELTA].payload);
}

static bool state_is_finite(const void *state)
{
    return imu_state_is_finite((const struct imu_state *)state);
}

static const struct num_sensor sensor = {PORTS, offsetof(struct imu_node_state, band), measure, begin, finish,
                                         measure_extended, state_is_finite};

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    return num_sensor_step(&sensor, instance, step);
}

static void step_batch(const struct oto_instance *const *instances, const struct oto_step *const *steps, uint32_t count,
                       enum oto_step_status *statuses)
{
    num_sensor_step_batch(&sensor, instances, steps, count, statuses);
}

static enum oto_status migrate(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                               uint32_t old_version)
{
    return num_sensor_migrate(&sensor, instance, old_state, old_bytes, old_version);
}

static enum oto_status validate(const struct oto_instance *instance)
{
    return num_sensor_validate(&sensor, instance);
}

static const struct oto_port outputs[] = {
    {"", &oto_imu_type, OTO_PORT_ALWAYS, 0},
    {"mag", &oto_mag_type, OTO_PARAM_AT(struct imu_params, magnetometer_enable), 0},
    {"taps", &taps_type, OTO_PARAM_AT(struct imu_params, taps), 0},
    {"delta", &delta_type, OTO_PARAM_AT(struct imu_block, delta), 0},
};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "mems_imu",
    .kind = OTO_KIND_SENSOR,
    .version = "1.2.0",
    .text = "accelerometer, gyroscope and optional magnetometer with the errors of MEMS parts",
    .outputs = outputs,
    .output_count = PORTS,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct imu_block),
    .state_bytes = sizeof(struct imu_node_state),
    .state_version = 3,
    .migrates_from = 1,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops,
    .prepare = prepare,
    .init = init,
    .set_params = set_params,
    .step = step,
    .migrate = migrate,
    .validate = validate,
    .step_batch = step_batch,
};

OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
