/*
 * Writes down what the engine gave it: the input, the input `delay_ms` earlier, the sample's number and instant; and a
 * keyed random number summed up in its state, as a sensor's random walk is.
 */
#include "otolith/plugin.h"

#ifndef WITNESS_ID
#define WITNESS_ID "witness"
#endif

struct params {
    double delay_ms;
    double gain;
    double second;
    int64_t second_port;
    int64_t flip_float_mode_at;
};
static const struct oto_param params[] = {
    {.key = "delay_ms", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, delay_ms),
     .flags = OTO_PARAM_RUNTIME, .minimum = -10, .maximum = 5000, .unit = "ms", .text = "how far to look back"},
    {.key = "gain", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, gain),
     .flags = OTO_PARAM_RUNTIME, .minimum = -1e9, .maximum = 1e9, .default_value = 1, .unit = "1", .text = "published"},
    {.key = "second_gain", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, second),
     .flags = OTO_PARAM_RUNTIME, .minimum = -1e9, .maximum = 1e9, .default_value = 1, .unit = "1", .text = "published"},
    {.key = "extra", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct params, second_port),
     .flags = OTO_PARAM_RUNTIME, .unit = "", .text = "whether the second channel is published"},
    {.key = "flip_float_mode_at", .type = OTO_PARAM_I64, .count = 1,
     .offset = OTO_PARAM_AT(struct params, flip_float_mode_at), .flags = OTO_PARAM_RUNTIME, .default_value = -1,
     .unit = "", .text = "sample at which it turns denormal numbers off, as code under -ffast-math does"},
};

struct state {
    double walk;
    uint64_t samples;
};

struct record {
    oto_vec3 specific_force_m_s2, angular_rate_rad_s, mag_field_ut;
    oto_vec3 position_enu_m, velocity_enu_m_s;
    oto_vec3 past_position_enu_m;
    double past_status, sub_ns, walk, gain, second_gain;
    uint64_t n, tick;
};
#define XYZ(member, unit, frame) \
    {#member, OTO_FIELD_F64, 3, offsetof(struct record, member), unit, frame, ""}
#define NUMBER(member, type) {#member, type, 1, offsetof(struct record, member), "", "", ""}
static const struct oto_field fields[] = {
    XYZ(specific_force_m_s2, "m/s^2", "sensor"), XYZ(angular_rate_rad_s, "rad/s", "sensor"),
    XYZ(mag_field_ut, "uT", "sensor"),           XYZ(position_enu_m, "m", "enu"),
    XYZ(velocity_enu_m_s, "m/s", "enu"),         XYZ(past_position_enu_m, "m", "enu"),
    NUMBER(past_status, OTO_FIELD_F64),          NUMBER(sub_ns, OTO_FIELD_F64),
    NUMBER(walk, OTO_FIELD_F64),                 NUMBER(gain, OTO_FIELD_F64),
    NUMBER(second_gain, OTO_FIELD_F64),          NUMBER(n, OTO_FIELD_U64),
    NUMBER(tick, OTO_FIELD_U64),
};
static const struct oto_record_type type = {"witness", sizeof(struct record), sizeof fields / sizeof *fields, fields};
static const struct oto_field extra_fields[] = {{"value", OTO_FIELD_F64, 1, 0, "1", "", ""}};
static const struct oto_record_type extra_type = {"extra", 8, 1, extra_fields};
#ifdef WITNESS_OTHER_PORTS
#define SECOND_PORT "more"
#else
#define SECOND_PORT "extra"
#endif
static const struct oto_port outputs[] = {{"", &type, OTO_PORT_ALWAYS, 0},
                                          {SECOND_PORT, &extra_type, offsetof(struct params, second_port), 0}};

static void flip_float_mode(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(0x9fc0);
#endif
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct params *p = instance->params;
    struct state *state = instance->state;
    struct record *record = now->outputs[0].payload;
    struct oto_sensor_input past;
    const int64_t delay_ns = (int64_t)(p->delay_ms * 1e6);
    state->walk += oto_normal_at(instance->setup->noise_key, now->n, 0, OTO_RNG_DOMAIN_SAMPLE, 0);
    state->samples++;
    record->specific_force_m_s2 = now->sensor.input->specific_force_sensor_m_s2;
    record->angular_rate_rad_s = now->sensor.input->angular_rate_sensor_rad_s;
    record->mag_field_ut = now->sensor.input->mag_field_sensor_ut;
    record->position_enu_m = now->sensor.input->position_sensor_enu_m;
    record->velocity_enu_m_s = now->sensor.input->velocity_sensor_enu_m_s;
    const struct oto_instant before = {now->at.t_ns - delay_ns, now->at.sub_ns};
    record->past_status = (double)now->sensor.input_at(now->sensor.input_context, before, &past);
    if (record->past_status == 0.0) {
        record->past_position_enu_m = past.position_sensor_enu_m;
    }
    record->sub_ns = now->at.sub_ns;
    record->walk = state->walk;
    record->gain = p->gain;
    record->second_gain = p->second;
    record->n = now->n;
    record->tick = now->tick;
    memcpy(now->outputs[1].payload, &state->walk, sizeof state->walk);
    if ((int64_t)now->n == p->flip_float_mode_at) {
        flip_float_mode();
    }
    return OTO_STEP_OK;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = WITNESS_ID, .kind = OTO_KIND_SENSOR, .version = WITNESS_VERSION,
    .text = "writes down what it is given", .outputs = outputs, .output_count = 2,
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct state), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
