#include "sim/occupant.h"

#include <stdlib.h>

#include "sim/fpu.h"

static void bind(struct srv_occupant *occupant)
{
    const struct oto_motion_extension *motion = oto_plugin_motion(occupant->plugin);
    occupant->descriptor = oto_plugin_descriptor(occupant->plugin);
    occupant->ops = oto_plugin_ops(occupant->plugin);
    occupant->step = occupant->ops->step;
    occupant->evaluate = motion != NULL ? motion->evaluate : NULL;
    occupant->motion_flags = motion != NULL ? motion->flags : 0;
    occupant->port_count = occupant->descriptor->output_count;
    occupant->state_bytes = occupant->descriptor->state_bytes;
    occupant->hashed_bytes = srv_state_rounded(occupant->state_bytes);
}

/* Where it is to run in this process; else its host does this. */
static enum oto_status run_first_code(struct srv_occupant *occupant, struct oto_error *error)
{
    enum oto_status status = oto_prepare(occupant->plugin, occupant->instance.setup, &occupant->params, NULL, NULL,
                                         &occupant->prepared, error);
    occupant->instance.data = occupant->prepared.data;
    if (status == OTO_OK && occupant->ops->init != NULL) {
        status = occupant->ops->init(&occupant->instance, error);
    }
    srv_fpu_pin();
    return status;
}

enum oto_status srv_occupant_make(struct srv_occupant *occupant, const struct oto_setup *setup,
                                  const struct srv_node_config *config, uint32_t first_channel,
                                  struct oto_error *error)
{
    bind(occupant);
    occupant->instance.size = sizeof occupant->instance;
    occupant->instance.setup = occupant->own_setup != NULL ? occupant->own_setup : setup;
    occupant->instance.params = occupant->params.block;
    occupant->instance.state = srv_state_alloc(occupant->state_bytes);
    if (occupant->instance.state == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a state of %llu bytes",
                        (unsigned long long)occupant->state_bytes);
    }
    enum oto_status status = config->isolation.process ? OTO_OK : run_first_code(occupant, error);
    if (status == OTO_OK) {
        status = srv_ports_make(occupant->descriptor, config, first_channel, occupant->outputs, occupant->ports,
                                &occupant->payloads, &occupant->runs, error);
    }
    return status;
}

bool srv_occupant_finish(struct srv_occupant *occupant)
{
    free(occupant->instance.state);
    oto_prepared_free(&occupant->prepared);
    oto_params_free(&occupant->params);
    free(occupant->own_setup);
    free(occupant->payloads);
    free(occupant->runs);
    const bool unmapped = oto_plugin_close(occupant->plugin);
    *occupant = (struct srv_occupant){.plugin = NULL};
    return unmapped;
}

#define EXCHANGE(member)                                                                                               \
    do {                                                                                                               \
        const __typeof__(node->member) kept = node->member;                                                            \
        node->member = occupant->member;                                                                               \
        occupant->member = kept;                                                                                       \
    } while (0)

void srv_occupant_exchange(struct srv_node *node, struct srv_occupant *occupant)
{
    const uint32_t ports = node->port_count > occupant->port_count ? node->port_count : occupant->port_count;
    EXCHANGE(instance);
    EXCHANGE(step);
    EXCHANGE(evaluate);
    EXCHANGE(motion_flags);
    EXCHANGE(port_count);
    EXCHANGE(quarantined);
    EXCHANGE(state_bytes);
    EXCHANGE(hashed_bytes);
    EXCHANGE(plugin);
    EXCHANGE(descriptor);
    EXCHANGE(ops);
    EXCHANGE(params);
    EXCHANGE(prepared);
    EXCHANGE(own_setup);
    EXCHANGE(payloads);
    EXCHANGE(runs);
    for (uint32_t i = 0; i < ports; i++) {
        EXCHANGE(outputs[i]);
        EXCHANGE(ports[i]);
    }
}
