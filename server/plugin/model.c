/* otolith/model.h: a motion model with its own parameters and state. */
#include <stdlib.h>

#include "plugin/host.h"

struct oto_model {
    struct oto_plugin *plugin;
    const struct oto_model_extension *model;
    struct oto_setup setup;
    struct oto_params params;
    struct oto_prepared prepared;
    uint32_t size;
    double state[OTO_MODEL_MAX_STATES];
};

static struct oto_instance instance_of(const struct oto_model *model)
{
    return (struct oto_instance){.size = sizeof(struct oto_instance),
                                 .setup = &model->setup,
                                 .params = model->params.block,
                                 .data = model->prepared.data};
}

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
    if (status == OTO_OK) {
        status = oto_plugin_open(path, NULL, &model->plugin, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    model->model = oto_plugin_model(model->plugin);
    return model->model != NULL
               ? OTO_OK
               : oto_fail(error, OTO_UNSUPPORTED, "plugin '%s' is no motion model: it has no extension '%s'",
                          oto_plugin_descriptor(model->plugin)->id, OTO_EXTENSION_MOTION_MODEL);
}

/* Fills the setup with defaults, because there is no world. */
static void fill_setup(struct oto_setup *setup)
{
    *setup = (struct oto_setup){.size = sizeof *setup, .base_rate_num = 1000, .base_rate_den = 1, .rate_num = 1000,
                                .rate_den = 1, .rate_hz = 1000.0, .q_body_from_sensor = {1, 0, 0, 0},
                                .gravity_enu_m_s2 = {0, 0, -9.80665}, .temperature_degc = 25.0, .pressure_pa = 101325.0};
    (void)snprintf(setup->node, sizeof setup->node, "model/motion");
}

/* Replaces the parameters if the plugin can prepare them; otherwise nothing changes. */
static enum oto_status take_params(struct oto_model *model, struct oto_params *params, oto_warn_function warn,
                                   void *warn_context, struct oto_error *error)
{
    struct oto_prepared prepared;
    const enum oto_status status =
        oto_prepare(model->plugin, &model->setup, params, warn, warn_context, &prepared, error);
    if (status != OTO_OK) {
        oto_params_free(params);
        return status;
    }
    oto_prepared_free(&model->prepared);
    oto_params_free(&model->params);
    model->prepared = prepared;
    model->params = *params;
    const struct oto_instance instance = instance_of(model);
    model->size = oto_model_extension_size(model->model, &instance);
    return OTO_OK;
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
        status = oto_params_default(oto_plugin_descriptor(made->plugin), &bound, error);
    }
    if (status == OTO_OK && params != NULL) {
        status = oto_params_apply(oto_plugin_descriptor(made->plugin), params, &bound, warn, warn_context, error);
        if (status != OTO_OK) {
            oto_params_free(&bound);
        }
    }
    if (status == OTO_OK) {
        status = take_params(made, &bound, warn, warn_context, error);
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
        oto_prepared_free(&model->prepared);
        oto_params_free(&model->params);
        (void)oto_plugin_close(model->plugin);
        free(model);
    }
}

/* ---- parameters ---- */

const struct oto_param *oto_model_param(const struct oto_model *model, const char *key)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(model->plugin);
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
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(model->plugin);
    const struct oto_param *param = oto_model_param(model, key);
    struct oto_params changed = {0};
    const uint32_t before = model->size;
    enum oto_status status = oto_params_copy(&model->params, &changed, error);
    if (status == OTO_OK) {
        status = oto_params_set(descriptor, param != NULL ? param->key : key, yaml, false, &changed, error);
    }
    if (status != OTO_OK) {
        oto_params_free(&changed);
        return status;
    }
    status = take_params(model, &changed, NULL, NULL, error);
    for (uint32_t i = before; i < model->size; i++) {
        model->state[i] = 0.0;
    }
    return status;
}

enum oto_status oto_model_get_param(const struct oto_model *model, const char *key, char *text, size_t text_bytes,
                                    struct oto_error *error)
{
    const struct oto_param *param = oto_model_param(model, key);
    return oto_params_get(oto_plugin_descriptor(model->plugin), param != NULL ? param->key : key, &model->params, text,
                          text_bytes, error);
}

const struct oto_plugin_descriptor *oto_model_descriptor(const struct oto_model *model)
{
    return oto_plugin_descriptor(model->plugin);
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
                    oto_plugin_descriptor(model->plugin)->id, name, near != NULL ? "; did you mean '" : "",
                    near != NULL ? near : "", near != NULL ? "'?" : "");
}

enum oto_status oto_model_get(const struct oto_model *model, uint32_t index, double *value, struct oto_error *error)
{
    if (index >= model->size) {
        return oto_fail(error, OTO_RANGE, "model '%s' has no state %u: 0 to %u are accepted",
                        oto_plugin_descriptor(model->plugin)->id, index, model->size - 1);
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
    const struct oto_instance instance = instance_of(model);
    if (model->model->derived_count > 0) {
        model->model->derive(&instance, model->state, values);
    }
}

void oto_model_to_truth(const struct oto_model *model, struct oto_truth_record *truth)
{
    const struct oto_instance instance = instance_of(model);
    model->model->to_truth(&instance, model->state, truth);
}

/* ---- changing the state ---- */

static enum oto_status check_step(const struct oto_model *model, enum oto_status status, int64_t dt_ns,
                                  struct oto_error *error)
{
    return status == OTO_OK ? OTO_OK
                            : oto_fail(error, status, "model '%s' cannot be integrated over %.9g s from this state: take "
                                       "shorter steps", oto_plugin_descriptor(model->plugin)->id, (double)dt_ns * 1e-9);
}

enum oto_status oto_model_reset(struct oto_model *model, const double *values, struct oto_error *error)
{
    const struct oto_instance instance = instance_of(model);
    return model->model->reset(&instance, values, model->state, error);
}

enum oto_status oto_model_from_truth(struct oto_model *model, const struct oto_truth_record *truth,
                                     struct oto_error *error)
{
    const struct oto_instance instance = instance_of(model);
    double values[OTO_MODEL_MAX_STATES];
    model->model->from_truth(&instance, truth, values);
    return oto_model_reset(model, values, error);
}

enum oto_status oto_model_predict_to(const struct oto_model *model, int64_t dt_ns, double *next, struct oto_error *error)
{
    const struct oto_instance instance = instance_of(model);
    return check_step(model, model->model->predict(&instance, model->state, dt_ns, next), dt_ns, error);
}

enum oto_status oto_model_predict(struct oto_model *model, int64_t dt_ns, struct oto_error *error)
{
    return oto_model_predict_to(model, dt_ns, model->state, error);
}

enum oto_status oto_model_jacobian(const struct oto_model *model, int64_t dt_ns, double *jacobian, struct oto_error *error)
{
    const struct oto_instance instance = instance_of(model);
    return check_step(model, model->model->jacobian(&instance, model->state, dt_ns, jacobian), dt_ns, error);
}

enum oto_status oto_model_jacobian_and_predict(struct oto_model *model, int64_t dt_ns, double *jacobian,
                                               struct oto_error *error)
{
    const struct oto_instance instance = instance_of(model);
    const enum oto_status status = model->model->jacobian_and_predict(&instance, model->state, dt_ns, jacobian,
                                                                       model->state);
    return check_step(model, status, dt_ns, error);
}

enum oto_status oto_model_roll_out(const struct oto_model *model, int64_t dt_ns, uint64_t steps, double *states,
                                   struct oto_error *error)
{
    const struct oto_instance instance = instance_of(model);
    const enum oto_status status = oto_model_extension_roll_out(model->model, &instance, model->state, dt_ns, steps,
                                                                states);
    return check_step(model, status, dt_ns, error);
}
