/* The adapter of imu_model.h to the plugin ABI. */
#include "imu_model.h"
#include "num_adapter.h"
#include "num_params.h"
#include "num_timing.h"
#include "otolith/plugin.h"

/* The parameters of the model and those of the adapter alone. */
struct imu_block {
    struct imu_params model;
    struct num_timing_params timing;
    int64_t delta;
    int64_t delta_subsamples;
};

struct imu_node_state {
    struct imu_state model;
    struct num_band_state band; /* since version 2 */
};

struct imu_prepared {
    struct imu_plan plan;
    bool extended, taps, delta;
    int64_t delta_subsamples;
    struct num_timing timing;
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
            "g-sensitivity, axis by axis; law mems alone (MAVS reads it and never applies it)"),
    NUM_ROW(struct imu_params, gyroscope.acceleration_cross_u_m_s2, "gyroscope.acceleration_cross_rad_s_m_s2", 6,
            NUM_RUNTIME_VECTOR, -NUM_LARGE, 0, "(rad/s)/(m/s^2)", NULL,
            "law mems: g-sensitivity across axes, xy xz yx yz zx zy: xy is what force along y adds to the rate about x"),
    NUM_TRIAD_ROWS(struct imu_params, magnetometer, "magnetometer", "ut", "uT", "Magnetometer"),
    NUM_IGNORED_ROW("Magnetometer/Acceleration Bias"),
    NUM_G2_ROW(struct imu_params, accelerometer, "accelerometer", "m_s2", "m/s^2"),
    NUM_G2_ROW(struct imu_params, gyroscope, "gyroscope", "rad_s", "rad/s"),
    NUM_IRON_ROWS(struct imu_params, iron),
    NUM_SWITCH_ROW(struct imu_params, taps, "taps", "whether channel `taps` says what each term added"),
    NUM_TIMING_ROWS(struct imu_block, timing),
    NUM_SWITCH_ROW(struct imu_block, delta, "delta", "whether channel `delta` gives delta angles and velocities"),
    {.key = "delta_subsamples",
     .type = OTO_PARAM_I64,
     .count = 1,
     .offset = OTO_PARAM_AT(struct imu_block, delta_subsamples),
     .flags = OTO_PARAM_RUNTIME,
     .minimum = 1,
     .maximum = 64,
     .default_value = 2,
     .unit = "",
     .text = "parts that a period is integrated in, each by two inputs"},
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
        status = num_timing_prepare(&all->timing, setup, all->delta != 0, &prepared->timing, error);
    }
    prepared->taps = own->taps != 0;
    prepared->delta = all->delta != 0;
    prepared->delta_subsamples = all->delta_subsamples;
    prepared->extended =
        plan->extended || prepared->delta || prepared->timing.looks_back || prepared->timing.has_clock;
    if (status == OTO_OK && own->magnetometer_enable != 0) {
        status = num_field_prepare(host, setup, own->magnetic_field_enu_ut, &plan->has_own_field, error);
        plan->field_enu_ut = oto_vec3_from_array(own->magnetic_field_enu_ut);
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

/* The integral of the truth, and what the sample is wrong by for the whole of the period. */
static enum oto_step_status fill_delta(const struct imu_prepared *prepared, const struct oto_step *step,
                                       const struct imu_truth *felt, const struct oto_imu_record *imu,
                                       struct delta_record *record)
{
    struct num_delta delta;
    const enum oto_step_status status =
        num_timing_delta(&prepared->timing, step, prepared->delta_subsamples, &delta);
    const oto_vec3 rate_error = oto_vec3_sub(imu->angular_velocity_rad_s, *felt->angular_rate_rad_s);
    const oto_vec3 force_error = oto_vec3_sub(imu->linear_acceleration_m_s2, *felt->specific_force_m_s2);
    record->angle_rad = oto_vec3_add_scaled(delta.angle_rad, rate_error, delta.dt_s);
    record->velocity_m_s = oto_vec3_add_scaled(delta.velocity_m_s, force_error, delta.dt_s);
    record->dt_s = delta.dt_s;
    return status;
}

static struct imu_truth truth_of(uint64_t n, const struct oto_sensor_input *input, const oto_vec3 *field_ut)
{
    return (struct imu_truth){n, &input->specific_force_sensor_m_s2, &input->angular_rate_sensor_rad_s, field_ut,
                              input->temperature_degc};
}

enum { PORT_IMU, PORT_MAG, PORT_TAPS, PORT_DELTA, PORTS };

/* Apart, so that the plain sample stays small. */
static __attribute__((noinline)) enum oto_step_status step_extended(const struct oto_instance *instance,
                                                                    const struct oto_step *step,
                                                                    const oto_vec3 *field_ut)
{
    const struct imu_prepared *prepared = (const struct imu_prepared *)instance->data;
    const struct imu_plan *plan = &prepared->plan;
    struct oto_output *outputs = step->outputs;
    struct oto_imu_record *imu = (struct oto_imu_record *)outputs[PORT_IMU].payload;
    const struct imu_truth truth = truth_of(step->n, step->sensor.input, field_ut);
    struct imu_truth felt = truth;
    struct oto_sensor_input past;
    enum oto_step_status status = OTO_STEP_OK;
    if (prepared->timing.looks_back) {
        status = num_timing_feel(&prepared->timing, step, plan->has_own_field ? &plan->field_enu_ut : NULL,
                                 &((struct imu_node_state *)instance->state)->band, &past);
        felt = truth_of(step->n, &past, &past.mag_field_sensor_ut);
    }
    if (status < OTO_STEP_DISCARD &&
        !imu_measure_extended(plan, (struct imu_state *)instance->state, &truth, &felt, imu, &outputs[PORT_IMU].flags,
                              (struct oto_mag_record *)outputs[PORT_MAG].payload, &outputs[PORT_MAG].flags,
                              prepared->taps ? (struct imu_taps *)outputs[PORT_TAPS].payload : NULL)) {
        status = OTO_STEP_DISCARD;
    }
    if (status < OTO_STEP_DISCARD && prepared->delta) {
        outputs[PORT_DELTA].flags = outputs[PORT_IMU].flags;
        status = fill_delta(prepared, step, &felt, imu, (struct delta_record *)outputs[PORT_DELTA].payload);
    }
    num_timing_stamp(&prepared->timing, step, PORTS);
    return status;
}

/* The input's field, or the one that the parameters give. */
static const oto_vec3 *field_of(const struct imu_plan *plan, const struct oto_sensor_input *input, oto_vec3 *own_ut)
{
    if (!plan->has_own_field) {
        return &input->mag_field_sensor_ut;
    }
    *own_ut = oto_quat_rotate_inv(input->q_enu_from_sensor, plan->field_enu_ut);
    return own_ut;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct imu_prepared *prepared = (const struct imu_prepared *)instance->data;
    const struct imu_plan *plan = &prepared->plan;
    struct oto_output *imu = &step->outputs[PORT_IMU];
    struct oto_output *mag = &step->outputs[PORT_MAG];
    oto_vec3 own_field_ut;
    const oto_vec3 *field_ut = field_of(plan, step->sensor.input, &own_field_ut);
    if (prepared->extended) {
        return step_extended(instance, step, field_ut);
    }
    const struct imu_truth truth = truth_of(step->n, step->sensor.input, field_ut);
    return imu_measure(plan, (struct imu_state *)instance->state, &truth, (struct oto_imu_record *)imu->payload,
                       &imu->flags, (struct oto_mag_record *)mag->payload, &mag->flags)
               ? OTO_STEP_OK
               : OTO_STEP_DISCARD;
}

/* Those of up to NUM_CHUNK units that need the plain sample alone, in one call of the kernel. */
static void step_chunk(const struct oto_instance *const *instances, const struct oto_step *const *steps, uint32_t count,
                       enum oto_step_status *statuses)
{
    struct num_suite_job jobs[NUM_CHUNK];
    double measured_u[NUM_CHUNK][NUM_LANES];
    oto_vec3 own_field_ut[NUM_CHUNK];
    uint32_t units[NUM_CHUNK], taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct imu_prepared *prepared = (const struct imu_prepared *)instances[i]->data;
        const oto_vec3 *field_ut = field_of(&prepared->plan, steps[i]->sensor.input, &own_field_ut[i]);
        const struct imu_truth truth = truth_of(steps[i]->n, steps[i]->sensor.input, field_ut);
        if (prepared->extended) {
            statuses[i] = step_extended(instances[i], steps[i], field_ut);
        } else if (!imu_begin(&prepared->plan, (struct imu_state *)instances[i]->state, &truth, measured_u[taken],
                              &jobs[taken])) {
            statuses[i] = OTO_STEP_DISCARD;
        } else {
            statuses[i] = OTO_STEP_OK;
            units[taken++] = i;
        }
    }
    if (taken > 0) {
        jobs[0].plan->kernel->measure(jobs, taken);
    }
    for (uint32_t job = 0; job < taken; job++) {
        struct oto_output *outputs = steps[units[job]]->outputs;
        imu_finish(&((const struct imu_prepared *)instances[units[job]]->data)->plan, &jobs[job],
                   (struct oto_imu_record *)outputs[PORT_IMU].payload, &outputs[PORT_IMU].flags,
                   (struct oto_mag_record *)outputs[PORT_MAG].payload, &outputs[PORT_MAG].flags);
    }
}

static void step_batch(const struct oto_instance *const *instances, const struct oto_step *const *steps, uint32_t count,
                       enum oto_step_status *statuses)
{
    num_step_chunks(step_chunk, instances, steps, count, statuses);
}

/* Version 1 had no band limit: that one begins settled. */
static enum oto_status migrate(const struct oto_instance *instance, const void *old_state, uint64_t old_bytes,
                               uint32_t old_version)
{
    return num_migrate_grown(instance, old_state, old_bytes, old_version, sizeof(struct imu_state), 1);
}

static enum oto_status validate(const struct oto_instance *instance)
{
    return imu_state_is_finite((const struct imu_state *)instance->state) ? OTO_OK : OTO_CORRUPT;
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
    .version = "1.1.0",
    .text = "accelerometer, gyroscope and optional magnetometer with the errors of MEMS parts",
    .outputs = outputs,
    .output_count = PORTS,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct imu_block),
    .state_bytes = sizeof(struct imu_node_state),
    .state_version = 2,
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
