/*
 * The smallest complete estimator: a Kalman filter of a vehicle's speed from an odometer and, between its samples, an
 * IMU's forward axis if one is bound. Copy it, change the id, and change the numbered places.
 */
#include "otolith/estimator.h"

/* 1. Inputs: their names, and the fields that a bound channel must have. Any record with these fields is accepted. */
enum { SPEED, IMU, INPUTS };
static const char *const speed_fields[] = {"speed_m_s", NULL};
static const char *const imu_fields[] = {"linear_acceleration.x", NULL};
static const struct oto_input_port inputs[INPUTS] = {
    [SPEED] = {"speed", "odometer", speed_fields, 0, 0},
    [IMU] = {"imu", "accelerometer along body x", imu_fields, OTO_INPUT_OPTIONAL, 0},
};
static const struct oto_estimator_extension estimator = {.size = sizeof estimator, .inputs = inputs, .input_count = INPUTS};

/* 2. Parameters. A rate flagged OTO_PARAM_RATE is used if neither the world nor --rate sets one. */
struct params {
    double speed_std_m_s;
    double accel_noise_m_s2_rthz;
};
#define NUMBER(member, standard, most, u, t)                                                                           \
    {.key = #member, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, member),                 \
     .flags = OTO_PARAM_RUNTIME, .minimum = 1e-6, .maximum = (most), .default_value = (standard), .unit = u, .text = t}
static const struct oto_param params[] = {
    NUMBER(speed_std_m_s, 0.1, 100, "m/s", "error of one sample of the speed"),
    NUMBER(accel_noise_m_s2_rthz, 0.5, 1000, "m/s^2/sqrt(Hz)", "noise of the acceleration in addition to the IMU's"),
};

/* 3. State: plain data, complete. Swap and checkpoint copy it. */
struct state {
    int64_t t_ns; /* time of speed and variance */
    double speed_m_s, variance_m2_s2, accel_m_s2;
    uint64_t used;
};

/* 4. The record that the estimator publishes. */
struct record {
    double speed_m_s, speed_sigma_m_s;
    uint64_t used;
};
static const struct oto_field fields[] = {
    {"speed_m_s", OTO_FIELD_F64, 1, offsetof(struct record, speed_m_s), "m/s", "body", "speed along x"},
    {"speed_sigma_m_s", OTO_FIELD_F64, 1, offsetof(struct record, speed_sigma_m_s), "m/s", "body", "standard deviation"},
    {"used", OTO_FIELD_U64, 1, offsetof(struct record, used), "", "", "samples of the speed so far"},
};
static const struct oto_record_type type = {"speed_estimate", sizeof(struct record), 3, fields};
static const struct oto_port outputs[] = {{"", &type, OTO_PORT_ALWAYS, 0}};

/* Computed once, off the tick: the index of each input, and the field in the record that is bound to it. */
struct data {
    const struct oto_field *field[INPUTS]; /* NULL: not bound */
    uint32_t index[INPUTS];
};

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    (void)block;
    struct data *made = host->alloc(host->context, sizeof *made);
    for (int i = 0; made != NULL && i < INPUTS; i++) {
        const struct oto_input_binding *bound = oto_input_find(setup, inputs[i].name, &made->index[i]);
        made->field[i] = bound != NULL ? oto_record_field(bound->type, inputs[i].fields[0]) : NULL;
    }
    *data = made;
    return made != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes", sizeof *made);
}

static void predict(struct state *state, const struct params *p, int64_t t_ns)
{
    const double dt_s = t_ns > state->t_ns ? (double)(t_ns - state->t_ns) * 1e-9 : 0.0;
    state->speed_m_s += state->accel_m_s2 * dt_s;
    state->variance_m2_s2 += p->accel_noise_m_s2_rthz * p->accel_noise_m_s2_rthz * dt_s;
    state->t_ns = t_ns > state->t_ns ? t_ns : state->t_ns;
}

static void update(struct state *state, const struct params *p, double speed_m_s)
{
    const double measured = p->speed_std_m_s * p->speed_std_m_s;
    const double gain = state->used++ == 0 ? 1.0 : state->variance_m2_s2 / (state->variance_m2_s2 + measured);
    state->speed_m_s += gain * (speed_m_s - state->speed_m_s);
    state->variance_m2_s2 = gain * measured;
}

/*
 * 5. One step: every sample since the previous step, ordered by time; samples that are not finite or repeated are
 * skipped.
 */
static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct params *p = instance->params;
    const struct data *data = instance->data;
    struct state *state = instance->state;
    struct record *record = now->outputs[0].payload;
    for (uint32_t i = 0; i < now->estimator.sample_count; i++) {
        const struct oto_input_sample *sample = &now->estimator.samples[i];
        const int which = data->field[IMU] != NULL && sample->input == data->index[IMU] ? IMU : SPEED;
        const double number = oto_input_number(data->field[which], 0, sample->payload);
        if (number - number != 0.0 || (sample->flags & OTO_SAMPLE_STALE) != 0) {
            continue;
        }
        predict(state, p, sample->t_ns);
        if (which == IMU) {
            state->accel_m_s2 = number;
        } else {
            update(state, p, number);
        }
    }
    predict(state, p, now->at.t_ns);
    *record = (struct record){state->speed_m_s, oto_sqrt(state->variance_m2_s2), state->used};
    return state->used > 0 ? OTO_STEP_OK : OTO_STEP_DISCARD; /* no record before the first measurement */
}

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_ESTIMATOR) == 0 ? &estimator : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "template_estimator", .kind = OTO_KIND_ESTIMATOR, .version = "1.0.0",
    .text = "a vehicle's speed from odometer and accelerometer", .outputs = outputs, .output_count = 1,
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct state), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, extension);
