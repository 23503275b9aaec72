/* The adapter of the inertial navigation to the plugin ABI: samples in, records out. */
#include "ins_plan.h"
#include "ins_report.h"

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    struct ins_prepared *prepared = (struct ins_prepared *)host->alloc(host->context, sizeof *prepared);
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "ins_ekf: out of memory");
    }
    *data = prepared;
    return ins_plan_make(host, setup, (const struct ins_params *)block, prepared, error);
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    ins_filter_init(&((const struct ins_prepared *)instance->data)->plan, (struct ins_state *)instance->state);
    return OTO_OK;
}

/* ---- samples ---- */

static enum num_outcome take_imu(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns, const double *z)
{
    const struct num_strapdown_sample sample = {oto_vec3_from_array(z), oto_vec3_from_array(z + 3)};
    return ins_filter_imu(&prepared->plan, state, t_ns, &sample);
}

static enum num_outcome take_odometer(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns,
                                      const double *z)
{
    return ins_filter_odometer(&prepared->plan, state, t_ns, z[0]);
}

static enum num_outcome take_magnetometer(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns,
                                          const double *z)
{
    const oto_vec3 body = oto_quat_rotate(prepared->q_body_from_magnetometer, oto_vec3_from_array(z));
    return ins_filter_magnetometer(&prepared->plan, state, t_ns, body);
}

static enum num_outcome take_position(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns,
                                      const double *z)
{
    return ins_filter_position(&prepared->plan, state, t_ns, oto_vec3_from_array(z));
}

/* z: status, latitude, longitude, altitude, variances; mode (0: the record has none); velocity and its variances */
static enum num_outcome take_gnss(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns,
                                  const double *z)
{
    const struct ins_fix fix = {.place = {z[1] * OTO_DEG, z[2] * OTO_DEG, z[3]},
                                .variance_enu_m2 = {z[4], z[5], z[6]},
                                .mode = z[7] > 0.0 ? (uint64_t)z[7] : (uint64_t)(z[0] + 1.0),
                                .has_velocity = prepared->sources[INS_GNSS].has_velocity,
                                .velocity_enu_m_s = {z[8], z[9], z[10]},
                                .velocity_variance_enu_m2_s2 = {z[11], z[12], z[13]}};
    return z[0] < 0.0 ? NUM_USED : ins_filter_fix(&prepared->plan, state, t_ns, &fix);
}

static enum num_outcome take_barometer(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns,
                                       const double *z)
{
    return ins_filter_barometer(&prepared->plan, state, t_ns, z[0]);
}

static enum num_outcome take_truth(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns,
                                   const double *z)
{
    ins_filter_truth(&prepared->plan, state, t_ns, oto_vec3_from_array(z), oto_vec3_from_array(z + 3),
                     oto_quat_make(z[6], z[7], z[8], z[9]));
    return NUM_USED;
}

static const struct {
    uint32_t numbers;
    uint32_t row;
    enum num_outcome (*take)(const struct ins_prepared *prepared, struct ins_state *state, int64_t t_ns, const double *z);
} takers[INS_INPUTS] = {
    [INS_IMU] = {6, INS_ROW_IMU, take_imu},
    [INS_ODOMETER] = {1, INS_ROW_ODOMETER, take_odometer},
    [INS_MAGNETOMETER] = {3, INS_ROW_MAGNETOMETER, take_magnetometer},
    [INS_POSITION] = {3, INS_ROW_POSITION, take_position},
    [INS_TRUTH] = {10, INS_ROW_IMU, take_truth},
    [INS_GNSS] = {7, INS_ROW_GNSS, take_gnss},
    [INS_BAROMETER] = {1, INS_ROW_BAROMETER, take_barometer},
};

static enum num_outcome take_sample(const struct ins_prepared *prepared, struct ins_state *state,
                                    const struct oto_input_sample *sample, int64_t now_ns)
{
    const uint32_t kind = prepared->kinds[sample->input];
    const struct ins_source *source = &prepared->sources[kind];
    double z[INS_MOST_NUMBERS];
    int64_t t_ns;
    if (!num_input_time(sample, source->has_age ? &source->age : NULL, now_ns, &t_ns)) {
        num_filter_count(&state->rows[takers[kind].row], NUM_REFUSED, sample->t_ns);
        return NUM_REFUSED;
    }
    for (uint32_t i = 0; i < takers[kind].numbers; i++) {
        z[i] = num_number_of(&source->numbers[i], sample->payload);
    }
    if (kind == INS_GNSS) {
        z[7] = source->has_mode ? num_number_of(&source->mode, sample->payload) : 0.0;
        for (uint32_t i = 0; i < 6; i++) {
            z[8 + i] = source->has_velocity ? num_number_of(&source->velocity[i], sample->payload) : 0.0;
        }
    }
    return takers[kind].take(prepared, state, t_ns, z);
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct ins_prepared *prepared = (const struct ins_prepared *)instance->data;
    struct ins_state *state = (struct ins_state *)instance->state;
    enum oto_step_status status = OTO_STEP_OK;
    for (uint32_t i = 0; i < step->estimator.sample_count; i++) {
        if (take_sample(prepared, state, &step->estimator.samples[i], step->at.t_ns) >= NUM_REFUSED) {
            status = OTO_STEP_WARN;
        }
    }
    ins_report_estimate(&prepared->plan, state, step->at.t_ns, (struct oto_estimate_record *)step->outputs[0].payload);
    if (step->outputs[1].emit != 0) {
        ins_report_state(state, (struct num_filter_state_record *)step->outputs[1].payload);
    }
    if (step->outputs[3].emit != 0) {
        ins_report_nees(state, (struct ins_nees_record *)step->outputs[3].payload);
    }
    if (step->outputs[2].emit != 0) {
        num_filter_report(state->rows, INS_ROWS, (struct num_filter_innovation_record *)step->outputs[2].payload);
    }
    return status;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct ins_state *state = (const struct ins_state *)instance->state;
    bool good = oto_quat_is_unit(state->nav.q_enu_from_body, 1e-6) && oto_vec3_is_finite(state->nav.velocity_enu_m_s) &&
                oto_vec3_is_finite(state->nav.position_enu_m) && oto_vec3_is_finite(state->gyro_bias) &&
                oto_vec3_is_finite(state->accel_bias) && num_all_finite(state->aids, INS_AIDS) &&
                num_all_finite(state->p, INS_STATES * INS_STATES);
    for (uint32_t i = 0; good && i < INS_STATES; i++) {
        good = state->p[i * (INS_STATES + 1)] >= 0.0;
    }
    return good ? OTO_OK : OTO_CORRUPT;
}

/* ---- the descriptor ---- */

static const struct oto_port outputs[] = {
    {"", &oto_estimate_type, OTO_PORT_ALWAYS, 0},
    {"state", &num_filter_state_type, OTO_PORT_ALWAYS, 0},
    {"innovation", &num_filter_innovation_type, OTO_PORT_ALWAYS, 0},
    {"nees", &ins_nees_type, OTO_PORT_ALWAYS, 0},
};
static const struct oto_model_quantity *states(const void *data, uint32_t *count)
{
    (void)data;
    *count = INS_STATES;
    return ins_state_quantities;
}

static const struct oto_estimator_extension estimator = {sizeof estimator, 0, ins_inputs, INS_INPUTS, 0, states};

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_ESTIMATOR) == 0 ? &estimator : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "ins_ekf",
    .kind = OTO_KIND_ESTIMATOR,
    .version = "2.0.0",
    .text = "error-state inertial navigation, aided by odometer, constraint, satellites, position, magnetometer and barometer",
    .outputs = outputs,
    .output_count = sizeof outputs / sizeof *outputs,
    .param_count = INS_PARAM_COUNT,
    .params = ins_param_table,
    .params_bytes = sizeof(struct ins_params),
    .state_bytes = sizeof(struct ins_state),
    .state_version = 3,
    .migrates_from = 3,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops, .prepare = prepare, .init = init, .step = step, .validate = validate};

OTO_PLUGIN_DEFINE(descriptor, ops, extension);
