/* The adapter of mag_model.h to the plugin ABI. */
#include "mag_model.h"
#include "num_adapter.h"
#include "num_params.h"
#include "num_timing.h"
#include "otolith/plugin.h"

/* The parameters of the model and those of the adapter alone. */
struct mag_block {
    struct mag_params model;
    struct num_timing_params timing;
};

struct mag_node_state {
    struct mag_state model;
    struct num_band_state band; /* since version 2 */
};

struct mag_prepared {
    struct mag_plan plan;
    bool extended, taps;
    struct num_timing timing;
};

static const struct oto_param params[] = {
    NUM_LAW_ROWS(struct mag_params, law, sample_rate_hz),
    NUM_FIELD_ROW(struct mag_params, magnetic_field_enu_ut),
    NUM_TRIAD_ROWS(struct mag_params, magnetometer, "magnetometer", "ut", "uT", "Magnetometer"),
    NUM_IGNORED_ROW("Magnetometer/Acceleration Bias"),
    NUM_IGNORED_ROW("Accelerometer"),
    NUM_IGNORED_ROW("Gyroscope"),
    NUM_IRON_ROWS(struct mag_params, iron),
    NUM_SWITCH_ROW(struct mag_params, taps, "taps", "whether channel `taps` says what each term added"),
    NUM_TIMING_ROWS(struct mag_block, timing),
};

/* clang-format off */
static const struct oto_field taps_fields[] = {
    NUM_TAP_FIELDS_HEAD("magnetometer", 0, "T"), NUM_TAP_FIELDS_IRON("magnetometer", 0, "T"),
    NUM_TAP_FIELDS_MATRIX("magnetometer", 0, "T"), NUM_TAP_FIELDS_TAIL("magnetometer", 0, "T"),
};
static const struct oto_record_type taps_type = {
    "mag_taps", sizeof(struct mag_taps), sizeof taps_fields / sizeof *taps_fields, taps_fields};
/* clang-format on */

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct mag_block *all = (const struct mag_block *)block;
    const struct mag_params *own = &all->model;
    struct mag_prepared *prepared = (struct mag_prepared *)host->alloc(host->context, sizeof *prepared);
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "magnetometer: out of memory");
    }
    struct mag_plan *plan = &prepared->plan;
    enum oto_status status = mag_prepare(own, setup->rate_hz, setup->noise_key, setup->unit_key, plan, error);
    if (status == OTO_OK) {
        status = num_timing_prepare(&all->timing, setup, false, &prepared->timing, error);
    }
    prepared->taps = own->taps != 0;
    prepared->extended = plan->extended || prepared->timing.looks_back || prepared->timing.has_clock;
    if (status == OTO_OK) {
        status = num_field_prepare(host, setup, own->magnetic_field_enu_ut, &plan->has_own_field, error);
        plan->field_enu_ut = oto_vec3_from_array(own->magnetic_field_enu_ut);
        num_params_warn(host, &own->law, NUM_MAGNETOMETER, &own->magnetometer);
    }
    *data = prepared;
    return status;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    mag_init(&((const struct mag_prepared *)instance->data)->plan, (struct mag_state *)instance->state);
    return OTO_OK;
}

static void set_params(const struct oto_instance *instance, const void *old_params)
{
    mag_adapt(&((const struct mag_prepared *)instance->data)->plan, &((const struct mag_block *)old_params)->model,
              &((const struct mag_block *)instance->params)->model, (struct mag_state *)instance->state);
}

enum { PORT_MAG, PORT_TAPS, PORTS };

/* Apart, so that the plain sample stays small. */
static __attribute__((noinline)) enum oto_step_status step_extended(const struct oto_instance *instance,
                                                                    const struct oto_step *step, oto_vec3 field_ut)
{
    const struct mag_prepared *prepared = (const struct mag_prepared *)instance->data;
    const struct mag_plan *plan = &prepared->plan;
    struct oto_output *outputs = step->outputs;
    struct oto_sensor_input past;
    oto_vec3 felt_ut = field_ut;
    double temperature_degc = step->sensor.input->temperature_degc;
    if (prepared->timing.looks_back) {
        const enum oto_step_status status =
            num_timing_feel(&prepared->timing, step, plan->has_own_field ? &plan->field_enu_ut : NULL,
                            &((struct mag_node_state *)instance->state)->band, &past);
        if (status >= OTO_STEP_DISCARD) {
            return status;
        }
        felt_ut = past.mag_field_sensor_ut;
        temperature_degc = past.temperature_degc;
    }
    num_timing_stamp(&prepared->timing, step, PORTS);
    return mag_measure_extended(plan, (struct mag_state *)instance->state, step->n, field_ut, felt_ut, temperature_degc,
                                (struct oto_mag_record *)outputs[PORT_MAG].payload, &outputs[PORT_MAG].flags,
                                prepared->taps ? (struct mag_taps *)outputs[PORT_TAPS].payload : NULL)
               ? OTO_STEP_OK
               : OTO_STEP_DISCARD;
}

static oto_vec3 field_of(const struct mag_plan *plan, const struct oto_sensor_input *input)
{
    return plan->has_own_field ? oto_quat_rotate_inv(input->q_enu_from_sensor, plan->field_enu_ut)
                               : input->mag_field_sensor_ut;
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct mag_prepared *prepared = (const struct mag_prepared *)instance->data;
    const struct mag_plan *plan = &prepared->plan;
    const struct oto_sensor_input *input = step->sensor.input;
    struct oto_output *output = &step->outputs[PORT_MAG];
    const oto_vec3 field_ut = field_of(plan, input);
    if (prepared->extended) {
        return step_extended(instance, step, field_ut);
    }
    return mag_measure(plan, (struct mag_state *)instance->state, step->n, field_ut, input->temperature_degc,
                       (struct oto_mag_record *)output->payload, &output->flags)
               ? OTO_STEP_OK
               : OTO_STEP_DISCARD;
}

/* Those of up to NUM_CHUNK units that need the plain sample alone, in one call of the kernel. */
static void step_chunk(const struct oto_instance *const *instances, const struct oto_step *const *steps, uint32_t count,
                       enum oto_step_status *statuses)
{
    struct num_suite_job jobs[NUM_CHUNK];
    double measured_u[NUM_CHUNK][NUM_LANES];
    oto_vec3 field_ut[NUM_CHUNK];
    uint32_t units[NUM_CHUNK], taken = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct mag_prepared *prepared = (const struct mag_prepared *)instances[i]->data;
        field_ut[i] = field_of(&prepared->plan, steps[i]->sensor.input);
        if (prepared->extended) {
            statuses[i] = step_extended(instances[i], steps[i], field_ut[i]);
        } else if (!mag_begin(&prepared->plan, (struct mag_state *)instances[i]->state, steps[i]->n, &field_ut[i],
                              steps[i]->sensor.input->temperature_degc, measured_u[taken], &jobs[taken])) {
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
        struct oto_output *output = &steps[units[job]]->outputs[PORT_MAG];
        mag_finish(&((const struct mag_prepared *)instances[units[job]]->data)->plan, &jobs[job],
                   (struct oto_mag_record *)output->payload, &output->flags);
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
    return num_migrate_grown(instance, old_state, old_bytes, old_version, sizeof(struct mag_state), 1);
}

static enum oto_status validate(const struct oto_instance *instance)
{
    return mag_state_is_finite((const struct mag_state *)instance->state) ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[] = {
    {"", &oto_mag_type, OTO_PORT_ALWAYS, 0},
    {"taps", &taps_type, OTO_PARAM_AT(struct mag_params, taps), 0},
};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "magnetometer",
    .kind = OTO_KIND_SENSOR,
    .version = "1.1.0",
    .text = "three-axis magnetometer with the errors of MEMS parts",
    .outputs = outputs,
    .output_count = PORTS,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct mag_block),
    .state_bytes = sizeof(struct mag_node_state),
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
