/* Opens an estimator and binds logs to its inputs. */
#include <stdlib.h>
#include <string.h>

#include "offline/private.h"

static void fill_setup(struct oto_setup *setup, const struct oto_plugin_descriptor *descriptor)
{
    *setup = (struct oto_setup){.size = sizeof *setup, .q_body_from_sensor = {1, 0, 0, 0},
                                .gravity_enu_m_s2 = {0, 0, -9.80665}, .temperature_degc = 25.0, .pressure_pa = 101325.0};
    (void)snprintf(setup->node, sizeof setup->node, "offline/%s", descriptor->id);
    setup->noise_key.stream = oto_fnv1a64_text(OTO_FNV1A64_START, setup->node);
}

enum oto_status oto_estimate_open(const char *plugin, struct oto_estimate **estimate, struct oto_error *error)
{
    char path[4096];
    struct oto_estimate *made = calloc(1, sizeof *made);
    *estimate = NULL;
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for estimator '%.64s'", plugin);
    }
    enum oto_status status = oto_plugin_find(plugin, path, sizeof path, error);
    if (status == OTO_OK) {
        status = oto_plugin_open(path, NULL, &made->plugin, error);
    }
    const struct oto_plugin_descriptor *descriptor = status == OTO_OK ? oto_plugin_descriptor(made->plugin) : NULL;
    if (descriptor != NULL && strcmp(descriptor->kind, OTO_KIND_ESTIMATOR) != 0) {
        status = oto_fail(error, OTO_INVALID, "plugin '%s' is of the kind '%s'; estimators are accepted here",
                          descriptor->id, descriptor->kind);
    }
    if (status == OTO_OK) {
        status = oto_params_default(descriptor, &made->params, error);
    }
    if (status != OTO_OK) {
        oto_estimate_close(made);
        return status;
    }
    made->extension = oto_plugin_estimator(made->plugin);
    fill_setup(&made->setup, descriptor);
    for (uint32_t i = 0; i < made->extension->input_count; i++) {
        struct estimate_input *input = &made->inputs[made->input_count++];
        (void)snprintf(input->name, sizeof input->name, "%s", made->extension->inputs[i].name);
        input->q_body_from_sensor = (oto_quat){1, 0, 0, 0};
    }
    *estimate = made;
    return OTO_OK;
}

void oto_estimate_close(struct oto_estimate *estimate)
{
    if (estimate == NULL) {
        return;
    }
    (void)srv_instance_finish(&estimate->instance);
    oto_params_free(&estimate->params);
    (void)oto_plugin_close(estimate->plugin);
    free(estimate);
}

const struct oto_plugin *oto_estimate_plugin(const struct oto_estimate *estimate)
{
    return estimate->plugin;
}

struct oto_params *oto_estimate_params(struct oto_estimate *estimate)
{
    return &estimate->params;
}

struct oto_setup *oto_estimate_setup(struct oto_estimate *estimate)
{
    return &estimate->setup;
}

const struct oto_model_quantity *oto_estimate_state(const struct oto_estimate *estimate, uint32_t index)
{
    const struct oto_estimator_extension *extension = estimate->extension;
    uint32_t count = 0;
    if (estimate->instance.plugin == NULL || extension->states == NULL) {
        return NULL;
    }
    const struct oto_model_quantity *states = extension->states(estimate->instance.abi.data, &count);
    return index < count ? &states[index] : NULL;
}

/* ---- inputs ---- */

static struct estimate_input *find_input(struct oto_estimate *estimate, const char *name)
{
    for (uint32_t i = 0; i < estimate->input_count; i++) {
        if (strcmp(estimate->inputs[i].name, name) == 0) {
            return &estimate->inputs[i];
        }
    }
    return NULL;
}

static enum oto_status unknown_input(const struct oto_estimate *estimate, const char *name, struct oto_error *error)
{
    const char *names[OTO_ESTIMATOR_MAX_INPUTS];
    char list[256] = "none";
    size_t used = 0;
    for (uint32_t i = 0; i < estimate->input_count; i++) {
        names[i] = estimate->inputs[i].name;
        if (used < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", names[i]);
        }
    }
    const char *near = oto_nearest_word(name, names, estimate->input_count);
    return oto_fail(error, OTO_NOT_FOUND, "estimator '%s' has no input '%.64s'%s%s%s; its inputs: %s",
                    oto_plugin_descriptor(estimate->plugin)->id, name, near != NULL ? ": did you mean '" : "",
                    near != NULL ? near : "", near != NULL ? "'?" : "", list);
}

static enum oto_status open_input(struct oto_estimate *estimate, const char *name, struct estimate_input **input,
                                  struct oto_error *error)
{
    if ((estimate->extension->flags & OTO_ESTIMATOR_OPEN_INPUTS) == 0) {
        return unknown_input(estimate, name, error);
    }
    if (estimate->input_count == OTO_ESTIMATOR_MAX_INPUTS || strlen(name) >= sizeof estimate->inputs[0].name ||
        name[0] == '\0') {
        return oto_fail(error, OTO_LIMIT, "input '%.64s': at most %d inputs with names of 1 to 31 characters are accepted",
                        name, OTO_ESTIMATOR_MAX_INPUTS);
    }
    *input = &estimate->inputs[estimate->input_count++];
    **input = (struct estimate_input){.q_body_from_sensor = {1, 0, 0, 0}};
    (void)snprintf((*input)->name, sizeof (*input)->name, "%s", name);
    return OTO_OK;
}

static enum oto_status only_input(struct oto_estimate *estimate, const char **name, struct oto_error *error)
{
    if (estimate->extension->input_count == 1) {
        *name = estimate->inputs[0].name;
        return OTO_OK;
    }
    return oto_fail(error, OTO_INVALID, "estimator '%s' has %u inputs: name one",
                    oto_plugin_descriptor(estimate->plugin)->id, estimate->extension->input_count);
}

static enum oto_status check_fields(const struct oto_estimate *estimate, const struct estimate_input *input,
                                    const struct oto_log *log, struct oto_error *error)
{
    const uint32_t index = (uint32_t)(input - estimate->inputs);
    if (index >= estimate->extension->input_count) {
        return OTO_OK;
    }
    struct oto_error why = {0};
    const enum oto_status status =
        oto_input_check_fields(&estimate->extension->inputs[index], oto_log_type(log), &why);
    return status == OTO_OK ? OTO_OK
                            : oto_fail(error, status, "%.200s: %.300s", oto_log_source(log), why.text);
}

enum oto_status oto_estimate_bind(struct oto_estimate *estimate, const char *input, const struct oto_log *log,
                                  struct oto_error *error)
{
    enum oto_status status = input == NULL ? only_input(estimate, &input, error) : OTO_OK;
    if (status != OTO_OK) {
        return status;
    }
    struct estimate_input *found = find_input(estimate, input);
    if (found == NULL) {
        status = open_input(estimate, input, &found, error);
    }
    if (status == OTO_OK && log != NULL) {
        status = check_fields(estimate, found, log, error);
    }
    if (status == OTO_OK) {
        found->log = log;
    }
    return status;
}

enum oto_status oto_estimate_mount(struct oto_estimate *estimate, const char *input, oto_vec3 position_body_m,
                                   oto_quat q_body_from_sensor, struct oto_error *error)
{
    struct estimate_input *found = find_input(estimate, input);
    if (found == NULL) {
        return unknown_input(estimate, input, error);
    }
    found->mount_position_body_m = position_body_m;
    found->q_body_from_sensor = q_body_from_sensor;
    return OTO_OK;
}
