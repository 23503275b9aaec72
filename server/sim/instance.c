#include "sim/instance.h"

#include <stdlib.h>
#include <string.h>

#include "base/fpu.h"
#include "base/huge_pages.h"

uint64_t srv_state_rounded(uint64_t bytes)
{
    return (bytes + SRV_STATE_ALIGN - 1) / SRV_STATE_ALIGN * SRV_STATE_ALIGN;
}

void *srv_state_alloc(uint64_t bytes)
{
    const uint64_t rounded = srv_state_rounded(bytes > 0 ? bytes : 1);
    void *state = aligned_alloc(SRV_STATE_ALIGN, rounded);
    srv_huge_pages(state, rounded);
    if (state != NULL) {
        memset(state, 0, rounded);
    }
    return state;
}

void srv_instance_bind(struct srv_instance *instance, struct oto_plugin *plugin)
{
    const struct oto_motion_extension *motion = oto_plugin_motion(plugin);
    instance->abi.size = sizeof instance->abi;
    instance->plugin = plugin;
    instance->descriptor = oto_plugin_descriptor(plugin);
    instance->ops = oto_plugin_ops(plugin);
    instance->step = instance->ops->step;
    instance->evaluate = motion != NULL ? motion->evaluate : NULL;
    instance->motion_flags = motion != NULL ? motion->flags : 0;
    instance->port_count = instance->descriptor->output_count;
    instance->state_bytes = instance->descriptor->state_bytes;
    instance->hashed_bytes = srv_state_rounded(instance->state_bytes);
    instance->read_bytes = instance->hashed_bytes;
}

void srv_instance_settle(struct srv_instance *instance)
{
    const struct oto_prepared *prepared = &instance->prepared;
    const bool is_limited = prepared->is_limited && prepared->step_bytes < instance->state_bytes;
    instance->read_bytes = is_limited ? srv_state_rounded(prepared->step_bytes) : instance->hashed_bytes;
    srv_state_hash_rest(instance->abi.state, instance->read_bytes, instance->hashed_bytes, instance->rest);
}

/* Allocates the payloads, each on its own cache lines, and lists the floating-point numbers in them. */
static enum oto_status make_outputs(struct srv_instance *instance, const struct srv_instance_place *place,
                                    struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = instance->descriptor;
    const struct oto_plugin_descriptor *channels = place->channels != NULL ? place->channels : descriptor;
    uint64_t payload_bytes = 0, fields = 0;
    for (uint32_t i = 0; i < descriptor->output_count; i++) {
        payload_bytes += srv_state_rounded(descriptor->outputs[i].type->bytes);
        fields += descriptor->outputs[i].type->field_count;
    }
    instance->payloads = srv_state_alloc(payload_bytes);
    instance->runs = calloc(fields + 1, sizeof *instance->runs);
    if (instance->payloads == NULL || instance->runs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the outputs of plugin '%s'", descriptor->id);
    }
    unsigned char *payload = instance->payloads;
    struct oto_float_run *run = instance->runs;
    for (uint32_t i = 0; i < descriptor->output_count; i++) {
        const struct oto_port *port = &descriptor->outputs[i];
        instance->outputs[i].payload = payload;
        instance->ports[i] = (struct srv_port){.payload_bytes = port->type->bytes,
                                               .runs = run,
                                               .run_count = oto_float_runs(port->type, run),
                                               .channel = srv_port_channel(port, channels, place->first_channel),
                                               .enable_offset = port->enable_offset,
                                               .was_finite = true};
        payload += srv_state_rounded(port->type->bytes);
        run += instance->ports[i].run_count;
    }
    return OTO_OK;
}

enum oto_status srv_instance_renew(struct srv_instance *instance, oto_warn_function warn, void *warn_context,
                                   struct oto_error *error)
{
    const enum oto_status status = srv_instance_prepare(instance, warn, warn_context, error);
    memset(instance->abi.state, 0, instance->hashed_bytes);
    return status == OTO_OK ? srv_instance_init(instance, error) : status;
}

enum oto_status srv_instance_prepare(struct srv_instance *instance, oto_warn_function warn, void *warn_context,
                                     struct oto_error *error)
{
    oto_prepared_free(&instance->prepared);
    const enum oto_status status = oto_prepare(instance->plugin, instance->abi.setup, &instance->params, warn,
                                               warn_context, &instance->prepared, error);
    instance->abi.data = instance->prepared.data;
    srv_fpu_pin();
    return status;
}

enum oto_status srv_instance_init(struct srv_instance *instance, struct oto_error *error)
{
    error->text[0] = '\0';
    const enum oto_status status = instance->ops->init != NULL ? instance->ops->init(&instance->abi, error) : OTO_OK;
    srv_fpu_pin();
    srv_instance_settle(instance);
    return status == OTO_OK || error->text[0] != '\0'
               ? status
               : oto_fail(error, status, "plugin '%s' refused to start and gave no reason", instance->descriptor->id);
}

/* An instance of a plugin that runs in a plugin host only is not made in this process. */
static enum oto_status check_place(const struct srv_instance *instance, const struct srv_instance_place *place,
                                   struct oto_error *error)
{
    return place->prepared_later || (instance->descriptor->flags & OTO_PLUGIN_HOST_ONLY) == 0
               ? OTO_OK
               : oto_fail(error, OTO_UNSUPPORTED, "plugin '%s' runs code of others, so it needs a plugin host, which only the server "
                          "(otolithd) starts", instance->descriptor->id);
}

enum oto_status srv_instance_make(struct srv_instance *instance, const struct srv_instance_place *place,
                                  struct oto_error *error)
{
    instance->abi.setup = instance->own_setup != NULL ? instance->own_setup : place->setup;
    instance->abi.params = instance->params.block;
    instance->abi.state = srv_state_alloc(instance->state_bytes);
    if (instance->abi.state == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a state of %llu bytes",
                        (unsigned long long)instance->state_bytes);
    }
    enum oto_status status = check_place(instance, place, error);
    if (status == OTO_OK) {
        status = make_outputs(instance, place, error);
    }
    srv_instance_enable_ports(instance);
    return status != OTO_OK || place->prepared_later
               ? status
               : srv_instance_renew(instance, place->warn, place->warn_context, error);
}

bool srv_instance_finish(struct srv_instance *instance)
{
    free(instance->abi.state);
    oto_prepared_free(&instance->prepared);
    oto_params_free(&instance->params);
    free(instance->own_setup);
    free(instance->payloads);
    free(instance->runs);
    const bool unmapped = oto_plugin_close(instance->plugin);
    *instance = (struct srv_instance){.plugin = NULL};
    return unmapped;
}

enum oto_step_status srv_instance_step(struct srv_instance *instance, uint64_t tick, uint64_t n, struct oto_instant at,
                                       const struct oto_sensor_step *sensor, const struct oto_estimator_step *estimator)
{
    struct oto_step step = oto_step_make(tick, n, at, instance->outputs);
    if (sensor != NULL) {
        step.sensor = *sensor;
    } else if (estimator != NULL) {
        step.estimator = *estimator;
    }
    srv_outputs_clear(instance->outputs, instance->ports, instance->ports_used, at.t_ns);
    return instance->step(&instance->abi, &step);
}

void srv_instance_exchange(struct srv_instance *one, struct srv_instance *other)
{
    const struct srv_instance kept = *one;
    *one = *other;
    *other = kept;
}
