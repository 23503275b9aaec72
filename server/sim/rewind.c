/* Returns the world to tick 0 with the seed of the configuration, in the same memory. [loop] */
#include <string.h>

#include "sim/fifo.h"
#include "sim/sim.h"

static void rewind_ring(struct srv_ring *ring)
{
    ring->head = 0;
    ring->unread = 0;
}

static void rewind_store(const struct srv_sim *sim)
{
    struct oto_segment_header *header = sim->store.header;
    header->seed = sim->config->seed;
    memset(header->counter, 0, sizeof header->counter);
    for (uint32_t i = 0; i < sim->channel_count; i++) {
        unsigned char *base = (unsigned char *)header + sim->store.directory[i].ring_offset;
        struct oto_ring *ring = (struct oto_ring *)(void *)base;
        __atomic_store_n(&ring->head, 0, __ATOMIC_RELEASE);
        ring->first = 0;
    }
}

/* Sets the keys of the new seed and makes prepared data and state again. */
static enum oto_status rewind_instance(const struct srv_sim *sim, struct srv_node *node, struct oto_error *error)
{
    node->setup->noise_key = oto_rng_key_make(sim->config->seed, node->setup->node);
    return srv_instance_renew(&node->live, NULL, NULL, error);
}

static void rewind_schedule(struct srv_node *node)
{
    srv_schedule_jump(&node->schedule, 1);
    srv_due_jump(&node->due, 1);
    node->ahead.made = false;
    node->live.quarantined = false;
}

static void rewind_records(struct srv_sim *sim, struct srv_node *node)
{
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        struct srv_port *port = &node->live.ports[i];
        port->was_finite = true;
        rewind_ring(&port->ring);
        memset(node->live.outputs[i].payload, 0, port->payload_bytes);
    }
    for (uint32_t i = 0; i < node->channel_count && node->live.evaluate == NULL; i++) {
        rewind_ring(&node->silent[i]);
    }
    if (node->labelled) {
        rewind_ring(&node->label_ring);
        sim->store.directory[node->label_channel].flags &= ~OTO_CHANNEL_ENABLED;
    }
    if (node->fifo != NULL) {
        srv_fifo_rewind(node->fifo);
    }
    if (node->inputs.count > 0) {
        memset(node->inputs.cursors, 0, node->inputs.count * sizeof *node->inputs.cursors);
        node->inputs.lost = 0;
    }
}

static enum oto_status rewind_node(struct srv_sim *sim, struct srv_node *node, struct oto_error *error)
{
    const enum oto_status status = rewind_instance(sim, node, error);
    rewind_schedule(node);
    rewind_records(sim, node);
    srv_fault_free(node->faults);
    node->faults = NULL;
    return status == OTO_OK ? srv_faults_load(sim, node, error) : status;
}

static void rewind_vehicle(struct srv_vehicle *vehicle)
{
    vehicle->truth_zero = (struct oto_truth_record){.q_enu_from_body = oto_quat_identity()};
    vehicle->truth = vehicle->truth_zero;
    vehicle->stale = false;
    vehicle->truth_flags = 0;
    vehicle->any_from_ns = 0;
    rewind_ring(&vehicle->ring);
}

enum oto_status srv_sim_rewind(struct srv_sim *sim, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    rewind_store(sim);
    rewind_ring(&sim->events);
    srv_fault_free(sim->retired_faults);
    sim->retired_faults = NULL;
    sim->newest_fault = 0;
    sim->tick = 0;
    srv_schedule_jump(&sim->schedule, 0);
    for (uint32_t v = 0; v < sim->vehicle_count; v++) {
        rewind_vehicle(&sim->vehicles[v]);
    }
    for (uint32_t i = 0; status == OTO_OK && i < sim->node_count; i++) {
        status = rewind_node(sim, &sim->nodes[i], error);
    }
    if (status == OTO_OK) {
        srv_sim_begin_chain(sim);
    }
    return status;
}
