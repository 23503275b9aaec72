/* The adapter of the filter to the plugin ABI: samples in, records out. */
#include "ekf_plan.h"
#include "ekf_report.h"

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    struct ekf_prepared *prepared = (struct ekf_prepared *)host->alloc(host->context, sizeof *prepared);
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "ekf: out of memory");
    }
    *data = prepared;
    return ekf_plan_make(host, setup, (const struct ekf_params *)block, prepared, error);
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    ekf_filter_init(&((const struct ekf_prepared *)instance->data)->plan, (struct ekf_state *)instance->state);
    return OTO_OK;
}

/* ---- samples ---- */

static void take_truth(const struct ekf_prepared *prepared, struct ekf_state *state,
                       const struct oto_input_sample *sample)
{
    const struct ekf_plan *plan = &prepared->plan;
    double numbers[OTO_MODEL_MAX_STATES];
    struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}};
    const uint32_t count = prepared->truth_by_model ? (uint32_t)EKF_TRUTH_NUMBERS : plan->truth_count;
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = num_number_of(&prepared->truth_fields[i], sample->payload);
    }
    if (prepared->truth_by_model) {
        memcpy(&truth, numbers, EKF_TRUTH_NUMBERS * sizeof *numbers); /* these numbers are the first fields of the truth record */
        plan->model->from_truth(plan->constants, &truth, numbers);
    }
    ekf_filter_truth(plan, state, sample->t_ns, numbers);
}

/* Reads the covariance that a sample contains, for the rows in use; false if it contains none. */
static bool own_noise(const struct ekf_source *source, const struct ekf_sensor *sensor, const void *payload,
                      double *noise)
{
    uint32_t axes[3], count = 0;
    if (!source->has_covariance || !(oto_input_number(&source->covariance.field, 0, payload) > 0.0)) {
        return false;
    }
    for (uint32_t i = 0; i < 3; i++) {
        if ((sensor->components >> i & 1u) != 0) {
            axes[count++] = i;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            noise[i * count + k] = oto_input_number(&source->covariance.field, axes[i] * 3 + axes[k], payload);
        }
    }
    return true;
}

/*
 * Applies one row of a sample. A sample with an invalid time is refused; an optional measurement that is absent is
 * skipped.
 */
static enum num_outcome take_row(const struct ekf_prepared *prepared, struct ekf_state *state, uint32_t row,
                                 const struct oto_input_sample *sample, int64_t now_ns)
{
    const struct ekf_source *source = &prepared->sources[row];
    const struct ekf_sensor *sensor = &prepared->plan.rows[row].sensor;
    double z[4] = {0}, noise[NUM_KALMAN_ROWS * NUM_KALMAN_ROWS] = {0};
    uint32_t absent = 0;
    int64_t t_ns;
    for (uint32_t i = 0; i < sensor->field_count; i++) {
        z[i] = sensor->scale * num_number_of(&source->fields[i], sample->payload);
        absent += z[i] != z[i];
    }
    if (source->optional && absent == sensor->field_count) {
        return NUM_USED;
    }
    if (!num_input_time(sample, source->has_age ? &source->age : NULL, now_ns, &t_ns)) {
        num_filter_count(&state->rows[row], NUM_REFUSED, sample->t_ns);
        return NUM_REFUSED;
    }
    const bool own = own_noise(source, sensor, sample->payload, noise);
    return ekf_filter_measure(&prepared->plan, state, row, t_ns, z, own ? noise : NULL);
}

static enum oto_step_status take_samples(const struct ekf_prepared *prepared, struct ekf_state *state,
                                         const struct oto_step *step)
{
    enum oto_step_status status = OTO_STEP_OK;
    int64_t t_ns;
    for (uint32_t i = 0; i < step->estimator.sample_count; i++) {
        const struct oto_input_sample *sample = &step->estimator.samples[i];
        if (sample->input == prepared->truth_input && num_input_time(sample, NULL, step->at.t_ns, &t_ns)) {
            take_truth(prepared, state, sample);
        }
        for (uint32_t row = 0; row < prepared->plan.row_count; row++) {
            if (prepared->sources[row].input == sample->input &&
                take_row(prepared, state, row, sample, step->at.t_ns) >= NUM_REFUSED) {
                status = OTO_STEP_WARN;
            }
        }
    }
    ekf_filter_compare(&prepared->plan, state, step->at.t_ns);
    return status;
}

/* ---- outputs ---- */

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct ekf_prepared *prepared = (const struct ekf_prepared *)instance->data;
    const struct ekf_plan *plan = &prepared->plan;
    struct ekf_state *state = (struct ekf_state *)instance->state;
    double x[OTO_MODEL_MAX_STATES], p[NUM_MATRIX_MOST * NUM_MATRIX_MOST];
    enum oto_step_status status = take_samples(prepared, state, step);
    const double *now_x = state->x, *now_p = state->p;
    if (state->started != 0 && step->at.t_ns > state->time_ns) {
        memcpy(x, state->x, plan->n * sizeof *x);
        memcpy(p, state->p, plan->n * plan->n * sizeof *p);
        if (!ekf_filter_predict(plan, state->time_ns, step->at.t_ns, x, p)) {
            return OTO_STEP_DISCARD;
        }
        now_x = x;
        now_p = p;
    }
    ekf_report_estimate(plan, state, now_x, now_p, step->at.t_ns,
                        (struct oto_estimate_record *)step->outputs[0].payload);
    if (step->outputs[1].emit != 0) {
        ekf_report_state(plan, state, now_x, now_p, (struct num_filter_state_record *)step->outputs[1].payload);
    }
    if (step->outputs[2].emit != 0) {
        num_filter_report(state->rows, plan->row_count,
                          (struct num_filter_innovation_record *)step->outputs[2].payload);
    }
    return status;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct ekf_plan *plan = &((const struct ekf_prepared *)instance->data)->plan;
    const struct ekf_state *state = (const struct ekf_state *)instance->state;
    bool good = state->model_hash == plan->model_hash && num_all_finite(state->x, plan->n) &&
                num_all_finite(state->p, plan->n * plan->n);
    for (uint32_t i = 0; good && i < plan->n; i++) {
        good = state->p[i * plan->n + i] >= 0.0;
    }
    return good ? OTO_OK : OTO_CORRUPT;
}

/* ---- the descriptor ---- */

static const struct oto_port outputs[] = {
    {"", &oto_estimate_type, OTO_PORT_ALWAYS, 0},
    {"state", &num_filter_state_type, OTO_PORT_ALWAYS, 0},
    {"innovation", &num_filter_innovation_type, OTO_PORT_ALWAYS, 0},
};
/* The inputs have the order of those of ins_ekf, so that one plugin can be swapped for the other. Further inputs are open. */
static const struct oto_input_port inputs[] = {
    {"imu", "any record; `measurements` tell what is in it", NULL, OTO_INPUT_OPTIONAL, 0},
    {"odometer", "any record", NULL, OTO_INPUT_OPTIONAL, 0},
    {"magnetometer", "any record", NULL, OTO_INPUT_OPTIONAL, 0},
    {"position", "any record", NULL, OTO_INPUT_OPTIONAL, 0},
    {"truth", "what the estimate is compared with", NULL, OTO_INPUT_OPTIONAL, 0},
};
static const struct oto_model_quantity *states(const void *data, uint32_t *count)
{
    const struct ekf_plan *plan = &((const struct ekf_prepared *)data)->plan;
    *count = plan->n;
    return plan->model->states;
}

static const struct oto_estimator_extension estimator = {
    sizeof estimator, OTO_ESTIMATOR_OPEN_INPUTS, inputs, sizeof inputs / sizeof *inputs, 0, states};

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_ESTIMATOR) == 0 ? &estimator : NULL;
}

static const struct oto_plugin_ops ops = {
    .size = sizeof ops, .prepare = prepare, .init = init, .step = step, .validate = validate};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "ekf",
    .kind = OTO_KIND_ESTIMATOR,
    .version = "1.0.0",
    .text = "extended Kalman filter on any motion model, with measurements by a table",
    .outputs = outputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .param_count = EKF_PARAM_COUNT,
    .params = ekf_param_table,
    .params_bytes = sizeof(struct ekf_params),
    .state_bytes = sizeof(struct ekf_state),
    .state_version = 1,
    .migrates_from = 1,
};

OTO_PLUGIN_DEFINE(descriptor, ops, extension);
