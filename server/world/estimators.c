/* Estimators: stepped when all sensors of the tick have been taken, in the order of the file. */
#include <stdlib.h>

#include "world/engine_private.h"
#include "world/trial_private.h"

enum oto_status srv_estimators_make(struct srv_engine *engine, struct oto_error *error)
{
    engine->estimators = calloc(engine->node_count, sizeof *engine->estimators);
    if (engine->estimators == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u nodes", engine->node_count);
    }
    for (uint32_t i = 0; i < engine->node_count; i++) {
        if (engine->nodes[i].is_estimator) {
            engine->estimators[engine->estimator_count++] = &engine->nodes[i];
        }
    }
    return OTO_OK;
}

uint32_t srv_estimator_ready_at(const struct srv_engine *engine, const struct srv_node *node)
{
    uint32_t ready_at = 0;
    for (uint32_t i = 0; i < engine->estimator_count && engine->estimators[i] != node; i++) {
        for (uint32_t k = 0; k < node->inputs.count; k++) {
            ready_at = node->config->inputs[k].node == engine->estimators[i]->index ? i + 1 : ready_at;
        }
    }
    return ready_at;
}

/* Of a channel that a node was made with: the port that fills it now, or its own while none does. */
static struct srv_ring *ring_of(struct srv_engine *engine, const struct srv_input_config *input)
{
    struct srv_node *node = &engine->nodes[input->node];
    if (node->evaluate != NULL) {
        return &engine->vehicles[node->config->vehicle].ring;
    }
    const uint32_t channel = node->first_channel + input->port;
    for (uint32_t i = 0; i < node->port_count; i++) {
        if (node->ports[i].channel == channel) {
            return &node->ports[i].ring;
        }
    }
    node->silent[input->port] = srv_ring_make(engine->segment.header, &engine->segment.directory[channel]);
    return &node->silent[input->port];
}

void srv_estimators_attach(struct srv_engine *engine)
{
    for (uint32_t i = 0; i < engine->estimator_count; i++) {
        struct srv_node *node = engine->estimators[i];
        for (uint32_t k = 0; k < node->inputs.count; k++) {
            node->inputs.rings[k] = ring_of(engine, &node->config->inputs[k]);
        }
    }
}

static void tell_lost(struct srv_engine *engine, const struct srv_node *node, uint64_t lost)
{
    if (lost > 0) {
        srv_event_write(engine, OTO_EVENT_PLUGIN_FAULT, 2, (int64_t)lost, node->topic,
                        "samples were overwritten before this estimator took them");
    }
}

uint32_t srv_estimator_look(struct srv_engine *engine, struct srv_node *node, uint64_t *cursors, uint64_t *after)
{
    const uint64_t lost = node->inputs.lost;
    const uint32_t count = srv_inputs_look(&node->inputs, cursors, after);
    tell_lost(engine, node, node->inputs.lost - lost);
    return count;
}

void srv_estimator_absorb(struct srv_engine *engine, const struct srv_node *node)
{
    srv_state_hash_absorb(&engine->hash, node->inputs.cursors, node->inputs.count * sizeof *node->inputs.cursors);
}

static void take_step(struct srv_engine *engine, struct srv_node *node, uint64_t tick)
{
    const uint64_t lost = node->inputs.lost;
    const uint32_t count = srv_inputs_take(&node->inputs);
    const struct oto_step step = {.size = sizeof step,
                                  .tick = tick,
                                  .n = node->beat.n,
                                  .at = srv_beat_at(&node->beat),
                                  .outputs = node->outputs,
                                  .estimator = {.samples = node->inputs.samples, .sample_count = count}};
    tell_lost(engine, node, node->inputs.lost - lost);
    if (node->trial != NULL) {
        srv_trial_sample(engine, node, &step, 0);
        return;
    }
    srv_outputs_clear(node->outputs, node->ports, node->port_count, step.at.t_ns);
    const enum oto_step_status status = srv_node_run(engine, node, &step);
    srv_state_hash_absorb(&engine->hash, node->instance.state, node->hashed_bytes);
    srv_estimator_absorb(engine, node);
    if (status == OTO_STEP_OK || status == OTO_STEP_WARN) {
        srv_tick_publish(engine, node, status == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0);
    }
}

/* As of a sensor; one that was not asked yet listens to estimators that have been published by now. */
static void take_isolated(struct srv_engine *engine, uint32_t place, uint64_t tick)
{
    struct srv_node *node = engine->estimators[place];
    struct srv_member *member = node->member;
    if (srv_due_tick(&node->due) == tick) {
        if (*srv_runner_resident(node).quarantined) {
            srv_inputs_skip(&node->inputs);
        }
        if (!srv_member_was_asked(member)) {
            srv_member_request(engine, member, tick, place);
        }
    }
    srv_member_take(engine, member, tick);
}

/* A quarantined estimator's steps go on without it, and what it would have been given: a swap revives it in the present. */
static void step_here(struct srv_engine *engine, struct srv_node *node, uint64_t tick)
{
    while (srv_due_tick(&node->due) == tick) {
        if (node->quarantined && node->trial == NULL) {
            srv_inputs_skip(&node->inputs);
        } else {
            take_step(engine, node, tick);
        }
        srv_beat_advance(&node->beat);
        srv_due_advance(&node->due);
    }
}

void srv_estimators_step(struct srv_engine *engine, uint64_t tick)
{
    srv_groups_request(engine, SRV_TURN_ESTIMATORS, tick);
    for (uint32_t i = 0; i < engine->estimator_count; i++) {
        struct srv_node *node = engine->estimators[i];
        if (node->member != NULL) {
            take_isolated(engine, i, tick);
        } else {
            step_here(engine, node, tick);
        }
    }
}
