/* The adapter of mag_model.h to the plugin ABI. */
#include "mag_model.h"
#include "num_adapter.h"
#include "num_params.h"
#include "num_timing.h"
#include "otolith/plugin.h"

/* The parameters of the model and of the adapter. */
struct mag_block {
    struct mag_params model;
    struct num_timing_params timing;
};

struct mag_node_state {
    struct mag_state model;
    struct num_band_state band; /* since version 2; with the white noise since version 3 */
};

struct mag_prepared {
    struct num_sensor_plan sensor;
    struct mag_plan plan;
    bool taps;
};

static const struct oto_param params[] = {
    NUM_LAW_ROWS(struct mag_params, law, sample_rate_hz),
    NUM_FIELD_ROW(struct mag_params, magnetic_field_enu_ut),
    NUM_TRIAD_ROWS(struct mag_params, magnetometer, "magnetometer", "ut", "uT", "Magnetometer"),
    NUM_IGNORED_ROW("Magnetometer/Acceleration Bias"),
    NUM_IGNORED_ROW("Accelerometer"),
    NUM_IGNORED_ROW("Gyroscope"),
    NUM_IRON_ROWS(struct mag_params, iron),
    NUM_SWITCH_ROW(struct mag_params, taps, "taps", "whether channel `taps` has the contribution of each term"),
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
        status = num_sensor_prepare(host, setup, &all->timing, plan->extended, false, own->magnetic_field_enu_ut,
                                    &prepared->sensor, error);
    }
    if (status == OTO_OK && prepared->sensor.timing->band.substeps > 0) {
        mag_limit_band(plan, prepared->sensor.timing->band.colour.variance);
    }
    num_suite_share(host, &plan->suite);
    prepared->taps = own->taps != 0;
    if (status == OTO_OK) {
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

static const struct mag_plan *plan_of(const void *data)
{
    return &((const struct mag_prepared *)data)->plan;
}

static bool measure(const void *data, void *state, const struct num_exposure *truth, struct oto_output *outputs)
{
    return mag_measure(plan_of(data), (struct mag_state *)state, truth->n, *truth->field_ut,
                       truth->input->temperature_degc, (struct oto_mag_record *)outputs[PORT_MAG].payload,
                       &outputs[PORT_MAG].flags);
}

static bool begin(const void *data, void *state, const struct num_exposure *truth, double *measured_u,
                  struct num_suite_job *job)
{
    return mag_begin(plan_of(data), (struct mag_state *)state, truth->n, truth->field_ut,
                     truth->input->temperature_degc, measured_u, job);
}

static void finish(const void *data, const struct num_suite_job *job, struct oto_output *outputs)
{
    mag_finish(plan_of(data), job, (struct oto_mag_record *)outputs[PORT_MAG].payload, &outputs[PORT_MAG].flags);
}

static enum oto_step_status measure_extended(const void *data, void *state, const struct num_exposure *truth,
                                             const struct num_exposure *felt, const struct oto_step *step)
{
    const bool taps = ((const struct mag_prepared *)data)->taps;
    struct oto_output *outputs = step->outputs;
    struct num_coloured coloured;
    return mag_measure_extended(plan_of(data), (struct mag_state *)state, truth->n, *truth->field_ut, *felt->field_ut,
                                felt->input->temperature_degc,
                                num_sensor_coloured(&((const struct mag_prepared *)data)->sensor,
                                                    &((struct mag_node_state *)state)->band, &coloured),
                                (struct oto_mag_record *)outputs[PORT_MAG].payload, &outputs[PORT_MAG].flags,
                                taps ? (struct mag_taps *)outputs[PORT_TAPS].payload : NULL)
               ? OTO_STEP_OK
               : OTO_STEP_DISCARD;
}

static bool state_is_finite(const void *state)
{
    return mag_state_is_finite((const struct mag_state *)state);
}

static const struct num_sensor sensor = {PORTS, offsetof(struct mag_node_state, band), measure, begin, finish,
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
    {"", &oto_mag_type, OTO_PORT_ALWAYS, 0},
    {"taps", &taps_type, OTO_PARAM_AT(struct mag_params, taps), 0},
};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "magnetometer",
    .kind = OTO_KIND_SENSOR,
    .version = "1.2.0",
    .text = "three-axis magnetometer with the errors of MEMS parts",
    .outputs = outputs,
    .output_count = PORTS,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct mag_block),
    .state_bytes = sizeof(struct mag_node_state),
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
