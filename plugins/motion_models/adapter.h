/*
 * Connects a pure motion model to the plugin ABI. The file <model>.c contains the parameters (first the model's
 * constants, then `double initial[]`) and ends with MODEL_PLUGIN. adapter.c is the same for all models.
 */
#ifndef ADAPTER_H
#define ADAPTER_H

#include "num_blend.h"
#include "num_model.h"

struct model_plugin {
    const struct num_model *model;
    size_t initial_offset;  /* offset in the parameters, which begin with the model's constants */
    uint32_t motion_flags;  /* OTO_MOTION_ANY_TIME: no parameter changes while running */
    void (*warn)(const struct oto_host *host, const void *constants); /* warns about implausible constants; NULL: no
                                                                       * warnings */
};

/* The vehicle's state at the epoch; the motion continues from there with the current parameters. */
struct model_state {
    int64_t epoch_ns, end_ns; /* end_ns: end of the last tick */
    double epoch_sub_ns, end_sub_ns;
    double values[OTO_MODEL_MAX_STATES];
    struct num_blend blend; /* the part of a previous motion that the model cannot represent */
};

/* Defined by MODEL_PLUGIN. */
extern const struct model_plugin model_plugin;
extern const struct oto_plugin_descriptor model_descriptor;
extern const struct oto_model_extension model_extension;

uint32_t model_size_of(const struct oto_instance *instance);
enum oto_status model_reset(const struct oto_instance *instance, const double *values, double *state,
                            struct oto_error *error);
enum oto_status model_predict(const struct oto_instance *instance, const double *state, int64_t dt_ns, double *next);
enum oto_status model_jacobian(const struct oto_instance *instance, const double *state, int64_t dt_ns, double *jacobian);
enum oto_status model_jacobian_and_predict(const struct oto_instance *instance, const double *state, int64_t dt_ns,
                                           double *jacobian, double *next);
void model_derive(const struct oto_instance *instance, const double *state, double *derived);
void model_to_truth(const struct oto_instance *instance, const double *state, struct oto_truth_record *truth);
void model_from_truth(const struct oto_instance *instance, const struct oto_truth_record *truth, double *state);

/* clang-format off */
/* A parameter for each quantity of the initial state, in `struct params`. */
#define MODEL_INITIAL(place, name, suffix, unit_, frame, initial_, text_) \
    {.key = "initial." name suffix, .type = OTO_PARAM_F64, .count = 1, \
     .offset = OTO_PARAM_AT(struct params, initial) + 8 * (place), .default_value = (initial_), .unit = unit_, \
     .text = "at time zero: " text_},

/* A parameter for one number of the constants. LEAST and MOST both 0: any finite number. */
#define MODEL_NUMBER(KEY, ALIAS, MEMBER, FLAGS, LEAST, MOST, DEFAULT, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct params, constants.MEMBER), \
     .flags = (FLAGS), .minimum = (LEAST), .maximum = (MOST), .default_value = (DEFAULT), .unit = UNIT, .text = TEXT, \
     .alias = ALIAS}
#define MODEL_VECTOR(KEY, MEMBER, FLAGS, LEAST, MOST, DEFAULT, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct params, constants.MEMBER), \
     .flags = (FLAGS), .minimum = (LEAST), .maximum = (MOST), .default_value = (DEFAULT), .unit = UNIT, .text = TEXT}

/*
 * Defines the plugin; use it after `struct params` and `static const struct oto_param params[]`. `...`: further members of
 * the extension.
 */
#define MODEL_PLUGIN(NAME, TEXT, QUANTITIES, MOTION_FLAGS, WARN, ...) \
    static const struct oto_model_quantity states[] = {QUANTITIES(NUM_QUANTITY)}; \
    const struct model_plugin model_plugin = {&num_model_##NAME, offsetof(struct params, initial), MOTION_FLAGS, WARN}; \
    const struct oto_plugin_descriptor model_descriptor = { \
        .size = sizeof model_descriptor, .id = "motion_" #NAME, .kind = OTO_KIND_MOTION, .version = "1.1.0", \
        .text = TEXT, .param_count = sizeof params / sizeof *params, .params = params, \
        .params_bytes = sizeof(struct params), .state_bytes = sizeof(struct model_state), .state_version = 2, \
        .migrates_from = 2}; \
    const struct oto_model_extension model_extension = { \
        .size = sizeof model_extension, .state_count = NUM_COUNT(QUANTITIES), .states = states, \
        .size_of = model_size_of, .reset = model_reset, .predict = model_predict, .jacobian = model_jacobian, \
        .jacobian_and_predict = model_jacobian_and_predict, .to_truth = model_to_truth, \
        .from_truth = model_from_truth, __VA_ARGS__};
#define MODEL_EXACT .flags = OTO_MODEL_EXACT
#define MODEL_DERIVED(TABLE, COUNT) .derived_count = (COUNT), .derived = (TABLE), .derive = model_derive
/* clang-format on */

#endif
