/* Estimators: stepped in the order of the world file, after all sensors of the tick. */
#include <stdlib.h>

#include "sim/sim.h"

enum oto_status srv_estimators_make(struct srv_sim *sim, struct oto_error *error)
{
    sim->estimators = calloc(sim->node_count, sizeof *sim->estimators);
    if (sim->estimators == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u nodes", sim->node_count);
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (sim->nodes[i].is_estimator) {
            sim->nodes[i].estimators_before = sim->estimator_count;
            sim->estimators[sim->estimator_count++] = &sim->nodes[i];
        }
    }
    return OTO_OK;
}

uint32_t srv_estimator_ready_at(const struct srv_sim *sim, const struct srv_node *node)
{
    uint32_t ready_at = 0;
    for (uint32_t i = 0; i < sim->estimator_count && sim->estimators[i] != node; i++) {
        for (uint32_t k = 0; k < node->inputs.count; k++) {
            ready_at = node->config->inputs[k].node == sim->estimators[i]->index ? i + 1 : ready_at;
        }
    }
    return ready_at;
}

/* The ring of an input's channel: that of the port that fills the channel now, or a ring of its own if no port does. */
static struct srv_ring *ring_of(struct srv_sim *sim, const struct srv_input_config *input)
{
    struct srv_node *node = &sim->nodes[input->node];
    if (node->live.evaluate != NULL) {
        return &sim->vehicles[node->config->vehicle].ring;
    }
    const uint32_t channel = node->first_channel + input->port;
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        if (node->live.ports[i].channel == channel) {
            return &node->live.ports[i].ring;
        }
    }
    node->silent[input->port] = srv_ring_make(sim->store.header, &sim->store.directory[channel]);
    return &node->silent[input->port];
}

void srv_estimators_attach(struct srv_sim *sim)
{
    for (uint32_t i = 0; i < sim->estimator_count; i++) {
        struct srv_node *node = sim->estimators[i];
        for (uint32_t k = 0; k < node->inputs.count; k++) {
            node->inputs.rings[k] = ring_of(sim, &node->config->inputs[k]);
        }
    }
}

static void tell_lost(struct srv_sim *sim, const struct srv_node *node, uint64_t lost)
{
    if (lost > 0) {
        srv_event_write(sim, OTO_EVENT_PLUGIN_FAULT, 2, (int64_t)lost, node->topic,
                        "samples were overwritten before this estimator took them");
    }
}

uint32_t srv_estimator_look(struct srv_sim *sim, struct srv_node *node, uint64_t *cursors, uint64_t *after)
{
    const uint64_t lost = node->inputs.lost;
    const uint32_t count = srv_inputs_look(&node->inputs, cursors, after);
    tell_lost(sim, node, node->inputs.lost - lost);
    return count;
}

void srv_estimator_absorb(struct srv_sim *sim, const struct srv_node *node)
{
    srv_sim_absorb(sim, node->vehicle, node->inputs.cursors, node->inputs.count * sizeof *node->inputs.cursors);
}

void srv_estimator_prepare(struct srv_sim *sim, struct srv_node *node, struct oto_step *step)
{
    const uint64_t lost = node->inputs.lost;
    const uint32_t count = srv_inputs_take(&node->inputs);
    step->estimator = (struct oto_estimator_step){.samples = node->inputs.samples, .sample_count = count};
    tell_lost(sim, node, node->inputs.lost - lost);
}

void srv_estimators_step(struct srv_sim *sim, uint32_t first, uint32_t end, uint64_t tick)
{
    for (uint32_t i = first; i < end; i++) {
        struct srv_node *node = sim->estimators[i];
        node->runner->take(sim, &sim->vehicles[node->config->vehicle], node, tick);
    }
}
