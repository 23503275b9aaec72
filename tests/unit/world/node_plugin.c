/* A motion that stands still, or a sensor of one number: enough for a world file to name. */
#include "otolith/estimator.h"

#ifndef NODE_KIND
#if defined(NODE_MOTION)
#define NODE_KIND OTO_KIND_MOTION
#elif defined(NODE_ESTIMATOR)
#define NODE_KIND OTO_KIND_ESTIMATOR
#else
#define NODE_KIND OTO_KIND_SENSOR
#endif
#endif

struct params {
    double bias_m_s2[3];
    double rate_hz;
    int64_t law;
    char path[512];
};
static const struct oto_named_value laws[] = {{"mems", 0}, {"mavs", 1}};
static const struct oto_param params[] = {
    {.key = "accelerometer.bias_m_s2",
     .type = OTO_PARAM_F64,
     .count = 3,
     .offset = OTO_PARAM_AT(struct params, bias_m_s2),
     .flags = OTO_PARAM_SCALAR_FILLS,
     .minimum = -100,
     .maximum = 100,
     .unit = "m/s^2",
     .text = "constant error",
     .alias = "Accelerometer/Constant Bias"},
    {.key = "rate_hz",
     .type = OTO_PARAM_F64,
     .count = 1,
     .offset = OTO_PARAM_AT(struct params, rate_hz),
     .flags = OTO_PARAM_RATE,
     .minimum = 0,
     .maximum = 1e9,
     .unit = "Hz",
     .text = "samples a second",
     .alias = "Sample Rate"},
    {.key = "law",
     .type = OTO_PARAM_I64,
     .count = 1,
     .offset = OTO_PARAM_AT(struct params, law),
     .names = laws,
     .name_count = 2,
     .minimum = 0,
     .maximum = 1,
     .unit = "",
     .text = "error law"},
    {.key = "path",
     .type = OTO_PARAM_PATH,
     .count = 512,
     .offset = OTO_PARAM_AT(struct params, path),
#ifdef NODE_NEEDS_PATH
     .flags = OTO_PARAM_REQUIRED,
#endif
     .unit = "",
     .text = "a recording"},
};

struct record {
    double number;
};
static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    (void)instance;
    (void)now;
    return OTO_STEP_OK;
}

#ifdef NODE_MOTION
static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    (void)instance;
    (void)at;
    (void)truth;
    return OTO_STEP_OK;
}
static const struct oto_motion_extension motion = {
    .size = sizeof motion, .flags = OTO_MOTION_ANY_TIME, .evaluate = evaluate};
static const void *extension(const char *id)
{
    const char *wanted = OTO_EXTENSION_MOTION;
    size_t i = 0;
    while (id[i] != '\0' && id[i] == wanted[i])
        i++;
    return id[i] == wanted[i] ? &motion : NULL;
}
#define OUTPUTS NULL
#define OUTPUT_COUNT 0
#define EXTENSION extension
#else
static const struct oto_field fields[] = {
    {"number", OTO_FIELD_F64, 1, offsetof(struct record, number), "", "", "nothing in particular"},
};
static const struct oto_record_type number_type = {"number", sizeof(struct record), 1, fields};
static const struct oto_port outputs[] = {{"", &number_type, OTO_PORT_ALWAYS, 0},
                                          {"taps", &number_type, OTO_PORT_ALWAYS, 0}};
#define OUTPUTS outputs
#define OUTPUT_COUNT 2
#ifdef NODE_ESTIMATOR
static const char *const needed[] = {"number", NULL};
static const struct oto_input_port inputs[] = {{"main", "a number", needed, 0, 0},
                                               {"truth", "anything", NULL, OTO_INPUT_OPTIONAL, 0}};
static const struct oto_estimator_extension estimator = {sizeof estimator, NODE_ESTIMATOR, inputs, 2, 0, NULL};
static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_ESTIMATOR) == 0 ? &estimator : NULL;
}
#define EXTENSION extension
#else
#define EXTENSION NULL
#endif
#endif

static const struct oto_plugin_descriptor descriptor = {.size = sizeof descriptor,
#ifdef NODE_FLAGS
                                                        .flags = NODE_FLAGS,
#endif
                                                        .id = NODE_ID,
                                                        .kind = NODE_KIND,
                                                        .version = "1.0.0",
                                                        .text = "for tests",
                                                        .outputs = OUTPUTS,
                                                        .output_count = OUTPUT_COUNT,
                                                        .param_count = sizeof params / sizeof *params,
                                                        .params = params,
                                                        .params_bytes = sizeof(struct params),
                                                        .state_bytes = 8,
                                                        .state_version = 1,
                                                        .migrates_from = 1};
static const struct oto_plugin_ops ops = {.size = sizeof ops, .step = step};
OTO_PLUGIN_DEFINE(descriptor, ops, EXTENSION);
