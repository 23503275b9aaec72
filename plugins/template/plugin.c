/*
 * The smallest complete plugin: a thermometer with a bias, white noise and a first-order lag. Copy this folder, change
 * the id, and change the numbered places: parameters, state, record, step.
 */
#include "otolith/plugin.h"

/* 1. Parameters: a plain block, and the table that binds it, checks it and documents it. */
struct params {
    double bias_degc;
    double noise_std_degc;
    double lag_s;
};
static const struct oto_param params[] = {
    {.key = "bias_degc", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, bias_degc),
     .flags = OTO_PARAM_RUNTIME, .minimum = -50, .maximum = 50, .default_value = 0.3, .unit = "degC",
     .text = "constant error"},
    {.key = "noise_std_degc", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, noise_std_degc),
     .flags = OTO_PARAM_RUNTIME, .minimum = 0, .maximum = 10, .default_value = 0.05, .unit = "degC",
     .text = "white noise of one sample"},
    {.key = "lag_s", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, lag_s),
     .flags = OTO_PARAM_RUNTIME, .minimum = 0, .maximum = 1000, .default_value = 2, .unit = "s",
     .text = "time constant of the housing, 0: none"},
};

/* 2. State: plain data in the host's memory. Increase state_version below when its layout or meaning changes. */
struct state {
    double housing_degc;
    uint64_t started;
};

/* 3. The record that is published: fields with units, for every reader. */
struct record {
    double temperature_degc;
};
static const struct oto_field fields[] = {
    {"temperature_degc", OTO_FIELD_F64, 1, offsetof(struct record, temperature_degc), "degC", "", "measured temperature"},
};
static const struct oto_record_type thermometer_type = {"thermometer", sizeof(struct record), 1, fields};
static const struct oto_port outputs[] = {{"", &thermometer_type, OTO_PORT_ALWAYS, 0}};

/* Derived once from the parameters, off the tick: the weight of one sample in the lag. */
struct data {
    double weight;
};

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    const struct params *p = block;
    struct data *made = host->alloc(host->context, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *made);
    }
    made->weight = 1 / (1 + p->lag_s * setup->rate_hz);
    *data = made;
    return OTO_OK;
}

/* 4. One sample, on the tick thread: no allocation, no lock, no I/O, no static data. */
static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct params *p = instance->params;
    const struct data *data = instance->data;
    struct state *state = instance->state;
    struct record *record = now->outputs[0].payload;
    const double truth_degc = now->sensor.input->temperature_degc;
    state->housing_degc += state->started ? data->weight * (truth_degc - state->housing_degc) : truth_degc;
    state->started = 1;
    /* Noise is a function of key and sample number: term 0, deviate 0. */
    const double noise = oto_normal_at(instance->setup->noise_key, now->n, 0, OTO_RNG_DOMAIN_SAMPLE, 0);
    record->temperature_degc = state->housing_degc + p->bias_degc + p->noise_std_degc * noise;
    return OTO_STEP_OK;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "template", .kind = OTO_KIND_SENSOR, .version = "1.0.0",
    .text = "a thermometer with bias, white noise and lag", .outputs = outputs, .output_count = 1,
    .param_count = sizeof params / sizeof *params, .params = params, .params_bytes = sizeof(struct params),
    .state_bytes = sizeof(struct state), .state_version = 1, .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
