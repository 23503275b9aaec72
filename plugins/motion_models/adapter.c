/* The operations of the plugin and its two extensions, for any model. */
#include "adapter.h"

#include <string.h>

static double seconds(int64_t dt_ns)
{
    return (double)dt_ns / 1e9;
}

static const double *initial_of(const struct oto_instance *instance)
{
    return (const double *)(const void *)((const char *)instance->params + model_plugin.initial_offset);
}

/* ---- the model ---- */

uint32_t model_size_of(const struct oto_instance *instance)
{
    return num_model_size(model_plugin.model, instance->params);
}

enum oto_status model_reset(const struct oto_instance *instance, const double *values, double *state,
                            struct oto_error *error)
{
    return num_model_reset(model_plugin.model, instance->params, values, state, error);
}

enum oto_status model_predict(const struct oto_instance *instance, const double *state, int64_t dt_ns, double *next)
{
    return model_plugin.model->predict(instance->params, state, seconds(dt_ns), next);
}

enum oto_status model_jacobian(const struct oto_instance *instance, const double *state, int64_t dt_ns, double *jacobian)
{
    return model_plugin.model->jacobian(instance->params, state, seconds(dt_ns), jacobian);
}

enum oto_status model_jacobian_and_predict(const struct oto_instance *instance, const double *state, int64_t dt_ns,
                                           double *jacobian, double *next)
{
    return model_plugin.model->both(instance->params, state, seconds(dt_ns), jacobian, next);
}

void model_derive(const struct oto_instance *instance, const double *state, double *derived)
{
    model_plugin.model->derive(instance->params, state, derived);
}

void model_to_truth(const struct oto_instance *instance, const double *state, struct oto_truth_record *truth)
{
    model_plugin.model->to_truth(instance->params, state, truth);
}

void model_from_truth(const struct oto_instance *instance, const struct oto_truth_record *truth, double *state)
{
    model_plugin.model->from_truth(instance->params, truth, state);
}

/* ---- the vehicle ---- */

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *params,
                               const void **data, struct oto_error *error)
{
    const struct oto_instance instance = {.size = sizeof instance, .setup = setup, .params = params};
    double state[OTO_MODEL_MAX_STATES];
    *data = NULL;
    if (model_plugin.warn != NULL) {
        model_plugin.warn(host, params);
    }
    return model_reset(&instance, initial_of(&instance), state, error);
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    struct model_state *state = instance->state;
    return model_reset(instance, initial_of(instance), state->values, error);
}

static double since_epoch(const struct model_state *state, struct oto_instant at)
{
    return seconds(at.t_ns - state->epoch_ns) + (at.sub_ns - state->epoch_sub_ns) * 1e-9;
}

/* Moves the epoch to the end of the last tick, with the parameters that were valid until then. */
static enum oto_status advance(struct model_state *state, const void *params)
{
    const struct num_model *model = model_plugin.model;
    const struct oto_instant end = {state->end_ns, state->end_sub_ns};
    const double dt_s = since_epoch(state, end);
    const enum oto_status status = model->predict(params, state->values, dt_s, state->values);
    if (status == OTO_OK && model->check != NULL) {
        (void)model->check(state->values, NULL);
    }
    state->epoch_ns = state->end_ns;
    state->epoch_sub_ns = state->end_sub_ns;
    return status;
}

/* A model with a closed form is evaluated from its epoch at any time; an integrated model advances its epoch at every tick. */
static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *now)
{
    struct model_state *state = instance->state;
    const enum oto_status status = model_plugin.model->exact ? OTO_OK : advance(state, instance->params);
    state->end_ns = now->at.t_ns;
    state->end_sub_ns = now->at.sub_ns;
    return status == OTO_OK ? OTO_STEP_OK : OTO_STEP_ERROR;
}

static void set_params(const struct oto_instance *instance, const void *old_params)
{
    if (memcmp(instance->params, old_params, model_descriptor.params_bytes) != 0) {
        (void)advance(instance->state, old_params);
    }
}

static enum oto_status validate(const struct oto_instance *instance)
{
    double checked[OTO_MODEL_MAX_STATES];
    return model_reset(instance, ((const struct model_state *)instance->state)->values, checked, NULL);
}

static enum oto_step_status evaluate(const struct oto_instance *instance, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    const struct num_model *model = model_plugin.model;
    const struct model_state *state = instance->state;
    double then[OTO_MODEL_MAX_STATES];
    if (model->predict(instance->params, state->values, since_epoch(state, at), then) != OTO_OK) {
        return OTO_STEP_ERROR;
    }
    model->to_truth(instance->params, then, truth);
    num_blend_apply(&state->blend, at, truth);
    return OTO_STEP_OK;
}

/*
 * Continues another motion with the part of its truth that the model can represent. The rest (height, pitch, roll, sideways
 * velocity, depending on the model) stays as an offset or is blended out.
 */
static enum oto_status adopt(const struct oto_instance *instance, const struct oto_truth_record *truth,
                             struct oto_instant at)
{
    const struct num_model *model = model_plugin.model;
    struct model_state *state = instance->state;
    struct oto_truth_record own;
    struct num_blend blend;
    double taken[OTO_MODEL_MAX_STATES] = {0.0}, values[OTO_MODEL_MAX_STATES] = {0.0};
    enum oto_status status;
    model->from_truth(instance->params, truth, taken);
    status = model_reset(instance, taken, values, NULL);
    if (status != OTO_OK) {
        return status;
    }
    model->to_truth(instance->params, values, &own);
    status = num_blend_begin(&blend, &own, truth, at);
    if (status != OTO_OK) {
        return status;
    }
    *state = (struct model_state){at.t_ns, at.t_ns, at.sub_ns, at.sub_ns, {0.0}, blend};
    memcpy(state->values, values, sizeof values);
    return OTO_OK;
}

static const struct oto_motion_extension any_time = {
    .size = sizeof any_time, .flags = OTO_MOTION_ANY_TIME, .evaluate = evaluate, .adopt = adopt};
static const struct oto_motion_extension this_tick = {.size = sizeof this_tick, .evaluate = evaluate, .adopt = adopt};

static const void *extension(const char *id)
{
    if (strcmp(id, OTO_EXTENSION_MOTION) == 0) {
        return (model_plugin.motion_flags & OTO_MOTION_ANY_TIME) != 0 ? &any_time : &this_tick;
    }
    return strcmp(id, OTO_EXTENSION_MOTION_MODEL) == 0 ? &model_extension : NULL;
}

static const struct oto_plugin_ops ops = {.size = sizeof ops, .prepare = prepare, .init = init,
                                          .set_params = set_params, .step = step, .validate = validate};
OTO_PLUGIN_DEFINE(model_descriptor, ops, extension);
