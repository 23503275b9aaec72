/* otolith/model.h: a motion model with its own parameters and state. */
#include <stdlib.h>

#include "sim/instance.h"
#include "sim/model.h"

struct oto_model {
    struct srv_instance instance; /* without state and outputs, which a model does not use */
    const struct oto_model_extension *model;
    struct oto_setup setup;
    uint32_t size;
    double state[OTO_MODEL_MAX_STATES];
};

/* ---- opening ---- */

/* A plain name first means one of the built-in models: catr is motion_catr. */
static enum oto_status find(const char *name, char *path, size_t bytes, struct oto_error *error)
{
    char prefixed[64];
    const int length = snprintf(prefixed, sizeof prefixed, "motion_%s", name);
    if (strchr(name, '/') != NULL || length < 0 || (size_t)length >= sizeof prefixed) {
        return oto_plugin_find(name, path, bytes, error);
    }
    if (oto_plugin_find(prefixed, path, bytes, NULL) == OTO_OK || oto_plugin_find(name, path, bytes, NULL) == OTO_OK) {
        return OTO_OK;
    }
    return oto_plugin_find(prefixed, path, bytes, error);
}

static enum oto_status open_plugin(struct oto_model *model, const char *name, struct oto_error *error)
{
    char path[4096];
    enum oto_status status = find(name, path, sizeof path, error);
    struct oto_plugin *plugin = NULL;
    if (status == OTO_OK) {
        status = oto_plugin_open(path, NULL, &plugin, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    srv_instance_bind(&model->instance, plugin);
    model->model = oto_plugin_model(plugin);
    return model->model != NULL
               ? OTO_OK
               : oto_fail(error, OTO_UNSUPPORTED, "plugin '%s' is no motion model: it has no extension '%s'",
                          model->instance.descriptor->id, OTO_EXTENSION_MOTION_MODEL);
}

/* Fills the setup with defaults, because there is no world. */
static void fill_setup(struct oto_setup *setup)
{
    *setup = (struct oto_setup){.size = sizeof *setup, .base_rate_num = 1000, .base_rate_den = 1, .rate_num = 1000,
                                .rate_den = 1, .rate_hz = 1000.0, .q_body_from_sensor = {1, 0, 0, 0},
                                .gravity_enu_m_s2 = {0, 0, -9.80665}, .temperature_degc = 25.0, .pressure_pa = 101325.0};
    (void)snprintf(setup->node, sizeof setup->node, "model/motion");
}

/* Replaces the parameters, which it takes, if the plugin can prepare them; otherwise nothing changes. */
static enum oto_status take_params(struct oto_model *model, struct oto_params params, oto_warn_function warn,
                                   void *warn_context, struct oto_error *error)
{
    struct srv_instance next = {.params = params};
    srv_instance_bind(&next, oto_plugin_hold(model->instance.plugin));
    next.abi.setup = &model->setup;
    next.abi.params = params.block;
    const enum oto_status status = srv_instance_prepare(&next, warn, warn_context, error);
    if (status == OTO_OK) {
        srv_instance_exchange(&model->instance, &next);
        model->size = oto_model_extension_size(model->model, &model->instance.abi);
    }
    (void)srv_instance_finish(&next);
    return status;
}

enum oto_status srv_model_open(const char *name, const struct oto_value *params, oto_warn_function warn,
                               void *warn_context, struct oto_model **model, struct oto_error *error)
{
    struct oto_model *made = calloc(1, sizeof *made);
    struct oto_params bound = {0};
    *model = NULL;
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for model '%.64s'", name);
    }
    fill_setup(&made->setup);
    enum oto_status status = open_plugin(made, name, error);
    if (status == OTO_OK) {
        status = oto_params_default(made->instance.descriptor, &bound, error);
    }
    if (status == OTO_OK && params != NULL) {
        status = oto_params_apply(made->instance.descriptor, params, &bound, error);
    }
    if (status == OTO_OK) {
        status = take_params(made, bound, warn, warn_context, error);
    } else {
        oto_params_free(&bound);
    }
    if (status == OTO_OK) {
        const struct oto_truth_record rest = {.q_enu_from_body = {1, 0, 0, 0}};
        status = oto_model_from_truth(made, &rest, error);
    }
    if (status != OTO_OK) {
        oto_model_close(made);
        return status;
    }
    *model = made;
    return OTO_OK;
}

enum oto_status oto_model_open(const char *name, const char *params, oto_warn_function warn, void *warn_context,
                               struct oto_model **model, struct oto_error *error)
{
    struct oto_document *document = NULL;
    *model = NULL;
    enum oto_status status =
        params != NULL ? oto_document_parse("params", params, strlen(params), NULL, &document, error) : OTO_OK;
    if (status == OTO_OK) {
        status = srv_model_open(name, document != NULL ? oto_document_root(document) : NULL, warn, warn_context, model,
                                error);
    }
    oto_document_close(document);
    return status;
}

void oto_model_close(struct oto_model *model)
{
    if (model != NULL) {
        (void)srv_instance_finish(&model->instance);
        free(model);
    }
}

/* ---- parameters ---- */

const struct oto_param *oto_model_param(const struct oto_model *model, const char *key)
{
    const struct oto_plugin_descriptor *descriptor = model->instance.descriptor;
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (strcmp(param->key, key) == 0 || (param->alias != NULL && strcmp(param->alias, key) == 0)) {
            return param;
        }
    }
    return NULL;
}

enum oto_status oto_model_set(struct oto_model *model, const char *key, const char *yaml, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = model->instance.descriptor;
    const struct oto_param *param = oto_model_param(model, key);
    struct oto_params changed = oto_params_copy(&model->instance.params);
    const uint32_t before = model->size;
    enum oto_status status = oto_params_set(descriptor, param != NULL ? param->key : key, yaml, false, &changed, error);
    if (status != OTO_OK) {
        oto_params_free(&changed);
        return status;
    }
    status = take_params(model, changed, NULL, NULL, error);
    for (uint32_t i = before; i < model->size; i++) {
        model->state[i] = 0.0;
    }
    return status;
}

enum oto_status oto_model_get_param(const struct oto_model *model, const char *key, char *text, size_t text_bytes,
                                    struct oto_error *error)
{
    const struct oto_param *param = oto_model_param(model, key);
    return oto_params_get(model->instance.descriptor, param != NULL ? param->key : key, &model->instance.params, text,
                          text_bytes, error);
}

const struct oto_plugin_descriptor *oto_model_descriptor(const struct oto_model *model)
{
    return model->instance.descriptor;
}

const struct oto_model_extension *oto_model_of(const struct oto_model *model)
{
    return model->model;
}

/* ---- reading the state ---- */

uint32_t oto_model_size(const struct oto_model *model)
{
    return model->size;
}

const struct oto_model_quantity *oto_model_quantity(const struct oto_model *model, uint32_t index)
{
    return index < model->size ? &model->model->states[index] : NULL;
}

enum oto_status oto_model_index(const struct oto_model *model, const char *name, uint32_t *index,
                                struct oto_error *error)
{
    const char *names[OTO_MODEL_MAX_STATES];
    for (uint32_t i = 0; i < model->size; i++) {
        names[i] = model->model->states[i].name;
        if (strcmp(names[i], name) == 0) {
            *index = i;
            return OTO_OK;
        }
    }
    const char *near = oto_nearest_word(name, names, model->size);
    return oto_fail(error, OTO_NOT_FOUND, "model '%s' has no state '%.64s'%s%s%s",
                    model->instance.descriptor->id, name, near != NULL ? "; did you mean '" : "",
                    near != NULL ? near : "", near != NULL ? "'?" : "");
}

enum oto_status oto_model_get(const struct oto_model *model, uint32_t index, double *value, struct oto_error *error)
{
    if (index >= model->size) {
        return oto_fail(error, OTO_RANGE, "model '%s' has no state %u: 0 to %u are accepted",
                        model->instance.descriptor->id, index, model->size - 1);
    }
    *value = model->state[index];
    return OTO_OK;
}

void oto_model_state(const struct oto_model *model, double *values)
{
    memcpy(values, model->state, model->size * sizeof *values);
}

void oto_model_derived(const struct oto_model *model, double *values)
{
    if (model->model->derived_count > 0) {
        model->model->derive(&model->instance.abi, model->state, values);
    }
}

void oto_model_to_truth(const struct oto_model *model, struct oto_truth_record *truth)
{
    model->model->to_truth(&model->instance.abi, model->state, truth);
}

/* ---- changing the state ---- */

static enum oto_status check_step(const struct oto_model *model, enum oto_status status, int64_t dt_ns,
                                  struct oto_error *error)
{
    return status == OTO_OK ? OTO_OK
                            : oto_fail(error, status, "model '%s' cannot be integrated over %.9g s from this state: take "
                                       "shorter steps", model->instance.descriptor->id, (double)dt_ns * 1e-9);
}

enum oto_status oto_model_reset(struct oto_model *model, const double *values, struct oto_error *error)
{
    return model->model->reset(&model->instance.abi, values, model->state, error);
}

enum oto_status oto_model_from_truth(struct oto_model *model, const struct oto_truth_record *truth,
                                     struct oto_error *error)
{
    double values[OTO_MODEL_MAX_STATES];
    model->model->from_truth(&model->instance.abi, truth, values);
    return oto_model_reset(model, values, error);
}

enum oto_status oto_model_predict_to(const struct oto_model *model, int64_t dt_ns, double *next, struct oto_error *error)
{
    return check_step(model, model->model->predict(&model->instance.abi, model->state, dt_ns, next), dt_ns, error);
}

enum oto_status oto_model_predict(struct oto_model *model, int64_t dt_ns, struct oto_error *error)
{
    return oto_model_predict_to(model, dt_ns, model->state, error);
}

enum oto_status oto_model_jacobian(const struct oto_model *model, int64_t dt_ns, double *jacobian, struct oto_error *error)
{
    return check_step(model, model->model->jacobian(&model->instance.abi, model->state, dt_ns, jacobian), dt_ns, error);
}

enum oto_status oto_model_jacobian_and_predict(struct oto_model *model, int64_t dt_ns, double *jacobian,
                                               struct oto_error *error)
{
    const enum oto_status status = model->model->jacobian_and_predict(&model->instance.abi, model->state, dt_ns, jacobian,
                                                                       model->state);
    return check_step(model, status, dt_ns, error);
}

enum oto_status oto_model_roll_out(const struct oto_model *model, int64_t dt_ns, uint64_t steps, double *states,
                                   struct oto_error *error)
{
    const enum oto_status status = oto_model_extension_roll_out(model->model, &model->instance.abi, model->state, dt_ns, steps,
                                                                states);
    return check_step(model, status, dt_ns, error);
}
