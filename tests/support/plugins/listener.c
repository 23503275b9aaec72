/*
 * An estimator that counts its samples, checks their order and hashes them. Equal samples give equal outputs in every process. Built with LISTENER_CRASHES, it crashes once it has seen a sample. Inputs of any names; `imu` must have a gyroscope.
 */
#include "listener.h"
#include "otolith/estimator.h"

#ifndef LISTENER_REVISION
#define LISTENER_REVISION 1
#endif

struct params {
    double rate_hz;
    double gain; /* of the sum */
    int64_t fail_at, nan_at; /* step n; 0: never */
    int64_t loud;
};
static const struct oto_param params[] = {
    {.key = "rate_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, rate_hz),
     .flags = OTO_PARAM_RATE, .minimum = 0, .maximum = 1e6, .unit = "Hz", .text = "steps per second, 0: the host's"},
    {.key = "gain", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, gain),
     .flags = OTO_PARAM_RUNTIME, .minimum = -10, .maximum = 10, .default_value = 1, .unit = "1", .text = "of the sum"},
    {.key = "fail_at", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, fail_at), .minimum = 0,
     .maximum = 1e9, .unit = "1", .text = "step that fails, 0: none"},
    {.key = "nan_at", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct params, nan_at), .minimum = 0,
     .maximum = 1e9, .unit = "1", .text = "step whose sum is NaN, 0: none"},
    {.key = "loud", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct params, loud),
     .flags = OTO_PARAM_RUNTIME, .default_value = 0, .unit = "", .text = "the second channel too"},
};

struct state {
    uint64_t steps, samples, disorder, losses, hash;
    uint64_t last_seq[OTO_ESTIMATOR_MAX_INPUTS];
    int64_t last_t_ns;
    uint64_t last_input;
    double sum;
};

#define U64(member, text) {#member, OTO_FIELD_U64, 1, offsetof(struct listener_record, member), "1", "", text}
static const struct oto_field fields[] = {
    U64(step, "number of the step"),
    U64(samples, "given at this step"),
    U64(steps, "steps so far"),
    U64(total, "samples so far"),
    U64(disorder, "samples that came before an earlier one"),
    U64(losses, "gaps of seq"),
    U64(hash, "of every sample so far"),
    {"first_t_ns", OTO_FIELD_I64, 1, offsetof(struct listener_record, first_t_ns), "ns", "", "of this step's samples"},
    {"last_t_ns", OTO_FIELD_I64, 1, offsetof(struct listener_record, last_t_ns), "ns", "", "of this step's samples"},
    U64(given_flags, "all flags of this step's samples"),
    {"sum", OTO_FIELD_F64, 1, offsetof(struct listener_record, sum), "", "", "of the first field of every sample, times the gain"},
    U64(revision, "of the plugin"),
    {"rate_hz", OTO_FIELD_F64, 1, offsetof(struct listener_record, rate_hz), "Hz", "", "of all inputs"},
    {"mount_x_m", OTO_FIELD_F64, 1, offsetof(struct listener_record, mount_x_m), "m", "body", "of all inputs, turned into their frames"},
};
static const struct oto_record_type type = {"listener", sizeof(struct listener_record), sizeof fields / sizeof *fields, fields};
static const struct oto_port outputs[] = {{"", &type, OTO_PORT_ALWAYS, 0},
                                          {"loud", &type, OTO_PARAM_AT(struct params, loud), 0}};

static void take(struct state *state, const struct oto_setup *setup, const struct oto_input_sample *sample)
{
    const struct oto_record_type *record = setup->estimator.inputs[sample->input].type;
    state->disorder += state->samples > 0 &&
                       (sample->t_ns < state->last_t_ns ||
                        (sample->t_ns == state->last_t_ns && sample->input < state->last_input));
    state->losses += state->last_seq[sample->input] != 0 && sample->seq != state->last_seq[sample->input] + 1;
    state->last_seq[sample->input] = sample->seq;
    state->last_t_ns = sample->t_ns;
    state->last_input = sample->input;
    state->samples++;
    state->sum += oto_input_number(&record->fields[0], 0, sample->payload);
    state->hash = oto_fnv1a64_more(state->hash, &sample->input, sizeof sample->input);
    state->hash = oto_fnv1a64_more(state->hash, &sample->seq, sizeof sample->seq);
    state->hash = oto_fnv1a64_more(state->hash, &sample->t_ns, sizeof sample->t_ns);
    for (uint32_t i = 0; i < record->field_count; i++) {
        for (uint32_t k = 0; k < record->fields[i].count; k++) {
            const double number = oto_input_number(&record->fields[i], k, sample->payload);
            state->hash = oto_fnv1a64_more(state->hash, &number, sizeof number);
        }
    }
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct params *p = instance->params;
    struct state *state = instance->state;
    state->steps++;
    struct listener_record record = {.step = now->n, .samples = now->estimator.sample_count, .steps = state->steps,
                            .revision = LISTENER_REVISION};
#ifdef LISTENER_CRASHES
    if (state->samples > 0) {
        *(volatile int *)(uintptr_t)(state->samples & 4) = 1;
    }
#endif
    for (uint32_t i = 0; i < now->estimator.sample_count; i++) {
        take(state, instance->setup, &now->estimator.samples[i]);
        record.given_flags |= now->estimator.samples[i].flags;
    }
    if (now->estimator.sample_count > 0) {
        record.first_t_ns = now->estimator.samples[0].t_ns;
        record.last_t_ns = now->estimator.samples[now->estimator.sample_count - 1].t_ns;
    }
    record.total = state->samples;
    record.disorder = state->disorder;
    record.losses = state->losses;
    record.hash = state->hash;
    record.sum = p->nan_at > 0 && now->n == (uint64_t)p->nan_at ? (double)__builtin_nanf("") : p->gain * state->sum;
    for (uint32_t i = 0; i < instance->setup->estimator.input_count; i++) {
        const struct oto_input_binding *input = &instance->setup->estimator.inputs[i];
        record.rate_hz += input->rate_hz;
        record.mount_x_m += oto_quat_rotate(input->q_body_from_sensor, input->mount_position_body_m).x;
    }
    memcpy(now->outputs[0].payload, &record, sizeof record);
    if (now->outputs[1].emit) {
        memcpy(now->outputs[1].payload, &record, sizeof record);
    }
    return p->fail_at > 0 && now->n == (uint64_t)p->fail_at ? OTO_STEP_ERROR : OTO_STEP_OK;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    struct state *state = instance->state;
    (void)error;
    state->hash = OTO_FNV1A64_START;
    return OTO_OK;
}

static const char *const imu_fields[] = {"angular_velocity.x", "angular_velocity.y", "angular_velocity.z", NULL};
static const struct oto_input_port inputs[] = {
    {"main", "what is heard", NULL, 0, 0},
    {"imu", "a gyroscope", imu_fields, OTO_INPUT_OPTIONAL, 0},
};
#ifdef LISTENER_CLOSED
static const struct oto_estimator_extension estimator = {sizeof estimator, 0, inputs, 2, 0, NULL};
#else
static const struct oto_estimator_extension estimator = {sizeof estimator, OTO_ESTIMATOR_OPEN_INPUTS, inputs, 2, 0, NULL};
#endif

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_ESTIMATOR) == 0 ? &estimator : NULL;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "listener", .kind = OTO_KIND_ESTIMATOR, .version = "1.0.0",
    .text = "remembers what it was given", .outputs = outputs, .output_count = 2,
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct state), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .init = init, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, extension);
