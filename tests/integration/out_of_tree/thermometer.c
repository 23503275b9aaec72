/* A sensor with a record type of its own: the temperature at its place. */
#include "otolith/plugin.h"

struct params {
    double offset_degc;
};

struct record {
    double temperature_degc;
};

static const struct oto_param params[] = {
    {.key = "offset_degc", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, offset_degc),
     .flags = OTO_PARAM_RUNTIME, .minimum = -100.0, .maximum = 100.0, .unit = "degC", .text = "added to the truth"},
};

static const struct oto_field fields[] = {
    {"temperature_degc", OTO_FIELD_F64, 1, 0, "degC", "", "what the thermometer shows"},
};
static const struct oto_record_type type = {"temperature", sizeof(struct record), 1, fields};
static const struct oto_port ports[] = {{"", &type, OTO_PORT_ALWAYS, 0}};

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    const struct params *own = instance->params;
    struct record *record = now->outputs[0].payload;
    record->temperature_degc = now->sensor.input->temperature_degc + own->offset_degc;
    return OTO_STEP_OK;
}

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor, .id = "thermometer", .kind = OTO_KIND_SENSOR, .version = "1.0.0",
    .text = "the temperature at its place", .outputs = ports, .output_count = 1, .params = params, .param_count = 1,
    .params_bytes = sizeof(struct params), .state_version = 1, .migrates_from = 1,
};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .step = step};

OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
