/*
 * The smallest host: one instance of the plugin that is linked into the test, defaults and values by key, prepare, init
 * and step. For what a server does around them there are integration tests.
 */
#ifndef MINI_HOST_H
#define MINI_HOST_H

#include "oto_test.h"
#include "otolith/plugin.h"

struct mini_host {
    struct oto_setup setup;
    struct oto_host services;
    struct oto_instance instance;
    struct oto_error error;
    void *params;
    void *state;
    void *arena[16];
    int arenas;
    int warnings;
    char last_warning[512];
};

static inline void *mini_alloc(void *context, size_t bytes)
{
    struct mini_host *host = (struct mini_host *)context;
    assert_true(host->arenas < 16);
    return host->arena[host->arenas++] = calloc(1, bytes);
}

static inline void mini_warn(void *context, const char *sentence)
{
    struct mini_host *host = (struct mini_host *)context;
    host->warnings++;
    (void)snprintf(host->last_warning, sizeof host->last_warning, "%s", sentence);
}

static inline const struct oto_param *mini_param(const char *key)
{
    const struct oto_plugin_descriptor *descriptor = otolith_plugin.descriptor;
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        if (strcmp(descriptor->params[i].key, key) == 0) {
            return &descriptor->params[i];
        }
    }
    print_error("there is no parameter %s\n", key);
    fail();
    return NULL;
}

static inline void mini_put(struct mini_host *host, const struct oto_param *param, uint32_t element, double value)
{
    char *place = (char *)host->params + param->offset + 8 * element;
    const int64_t whole = (int64_t)value;
    if (param->type == OTO_PARAM_F64) {
        memcpy(place, &value, sizeof value);
    } else {
        memcpy(place, &whole, sizeof whole);
    }
}

static inline void mini_set(struct mini_host *host, const char *key, double value)
{
    const struct oto_param *param = mini_param(key);
    for (uint32_t i = 0; i < param->count; i++) {
        mini_put(host, param, i, value);
    }
}

static inline void mini_set3(struct mini_host *host, const char *key, double x, double y, double z)
{
    const struct oto_param *param = mini_param(key);
    assert_int_equal(param->count, 3);
    mini_put(host, param, 0, x);
    mini_put(host, param, 1, y);
    mini_put(host, param, 2, z);
}

static inline void mini_open(struct mini_host *host, double rate_hz, uint64_t seed)
{
    const struct oto_plugin_descriptor *descriptor = otolith_plugin.descriptor;
    memset(host, 0, sizeof *host);
    host->setup = (struct oto_setup){.size = sizeof host->setup,
                                     .node = "car/node",
                                     .rate_hz = rate_hz,
                                     .noise_key = oto_rng_key_make(seed, "car/node"),
                                     .unit_key = oto_rng_key_make(0, "part/17"),
                                     .q_body_from_sensor = {1, 0, 0, 0},
                                     .gravity_enu_m_s2 = {0, 0, -9.80665},
                                     .mag_field_enu_ut = {1.5, 21.0, -43.0},
                                     .temperature_degc = 25};
    host->services =
        (struct oto_host){.size = sizeof host->services, .context = host, .alloc = mini_alloc, .warn = mini_warn};
    host->params = calloc(1, descriptor->params_bytes);
    host->state = calloc(1, descriptor->state_bytes);
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        for (uint32_t k = 0; param->type <= OTO_PARAM_BOOL && k < param->count; k++) {
            mini_put(host, param, k, param->default_value);
        }
    }
    host->instance = (struct oto_instance){
        .size = sizeof host->instance, .setup = &host->setup, .params = host->params, .state = host->state};
}

static inline enum oto_status mini_prepare(struct mini_host *host)
{
    return otolith_plugin.ops->prepare(&host->services, &host->setup, host->params, &host->instance.data, &host->error);
}

static inline void mini_start(struct mini_host *host)
{
    assert_ok(mini_prepare(host), host->error);
    if (otolith_plugin.ops->init != NULL) {
        assert_ok(otolith_plugin.ops->init(&host->instance, &host->error), host->error);
    }
}

/* One sample into zeroed payloads; outputs as many as the descriptor has. */
static inline enum oto_step_status mini_step(struct mini_host *host, struct oto_step *step, uint64_t n,
                                             const struct oto_sensor_input *input, struct oto_output *outputs)
{
    step->size = sizeof *step;
    step->n = n;
    step->at.t_ns = (int64_t)((double)n * 1e9 / host->setup.rate_hz);
    if (input != NULL) { /* of a sensor */
        step->sensor.input = input;
    }
    step->outputs = outputs;
    for (uint32_t i = 0; i < otolith_plugin.descriptor->output_count; i++) {
        memset(outputs[i].payload, 0, otolith_plugin.descriptor->outputs[i].type->bytes);
        outputs[i].flags = 0;
        outputs[i].emit = 1;
    }
    return otolith_plugin.ops->step(&host->instance, step);
}

static inline void mini_close(struct mini_host *host)
{
    for (int i = 0; i < host->arenas; i++) {
        free(host->arena[i]);
    }
    free(host->params);
    free(host->state);
}

/* At rest and level, the world's field, 25 degC. */
static inline struct oto_sensor_input mini_rest(const struct mini_host *host)
{
    struct oto_sensor_input input;
    memset(&input, 0, sizeof input);
    input.specific_force_sensor_m_s2 = oto_vec3_make(0, 0, 9.80665);
    input.mag_field_sensor_ut = host->setup.mag_field_enu_ut;
    input.temperature_degc = host->setup.temperature_degc;
    input.q_enu_from_sensor = oto_quat_identity();
    input.truth.q_enu_from_body = oto_quat_identity();
    return input;
}

#endif
