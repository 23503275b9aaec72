
#include "sim/fetch.h"
#include "sim/fifo.h"
#include "sim/sim.h"

enum oto_step_status srv_input_at(void *input_context, struct oto_instant at, struct oto_sensor_input *input)
{
    const struct srv_looking_back *back = input_context;
    const bool too_early = at.t_ns < back->at.t_ns - SRV_NS_PER_S;
    if (oto_instant_is_before(back->at, at) || too_early) {
        return OTO_STEP_ERROR;
    }
    const uint32_t caller = back->node->index + 1;
    (void)srv_truth_at(back->sim, back->vehicle, at, &input->truth);
    struct srv_node *motion = back->vehicle->motion;
    if (motion->runner->looked_back != NULL && back->at.sub_ns == 0.0) {
        motion->runner->looked_back(back->sim, motion, back->node, oto_instant_span_ns(at, back->at));
    }
    __atomic_store_n(&back->sim->store.header->current_node, caller, __ATOMIC_RELAXED);
    const struct srv_exposure exposure = {.vibration = back->vehicle->vibration, .at = at};
    srv_environment_fill(&back->sim->environment, back->node->setup, &exposure, input);
    return OTO_STEP_OK;
}

static void check_record(struct srv_sim *sim, struct srv_node *node, struct srv_port *port,
                         const struct oto_output *output, uint32_t *flags)
{
    const bool finite = oto_record_is_finite(port->runs, port->run_count, output->payload);
    if (!finite) {
        *flags |= OTO_SAMPLE_NON_FINITE;
        srv_count(sim, OTO_COUNTER_NON_FINITE, 1);
        if (port->was_finite) {
            srv_event_write(sim, OTO_EVENT_PLUGIN_FAULT, 2, (int64_t)node->index, node->topic,
                            "a sample holds a NaN or an infinity");
        }
    }
    port->was_finite = finite;
}

static inline void publish(struct srv_sim *sim, struct srv_node *node, uint32_t flags, bool absorb)
{
    const bool faulty = node->faults != NULL;
    if (faulty) {
        srv_faults_begin_sample(sim, node);
    }
    for (uint32_t i = 0; i < node->live.ports_used; i++) {
        struct srv_port *port = &node->live.ports[i];
        const struct oto_output *output = &node->live.outputs[i];
        uint32_t record_flags = output->flags | flags;
        if (output->emit == 0 || !port->enabled) {
            continue;
        }
        check_record(sim, node, port, output, &record_flags);
        if (faulty) {
            srv_faults_inject(sim, node, i, &record_flags);
        }
        if (output->emit == 0) {
            continue;
        }
        struct oto_sample_head head = {
            .t_ns = output->t_ns, .sensor_time_ns = output->sensor_time_ns, .flags = record_flags};
        if (node->fifo == NULL) {
            srv_ring_push(&port->ring, &head, output->payload);
        } else {
            srv_fifo_push(node, &port->ring, port->channel, &head, output->payload);
        }
        if (absorb) {
            srv_sim_absorb(sim, node->vehicle, &head, sizeof head);
            srv_sim_absorb(sim, node->vehicle, output->payload, port->payload_bytes);
        }
    }
    if (faulty) {
        srv_faults_end_sample(sim, node);
    }
    if (node->fifo != NULL) {
        srv_fifo_end_sample(node);
    }
}

void srv_tick_publish(struct srv_sim *sim, struct srv_node *node, uint32_t flags)
{
    publish(sim, node, flags, true);
}

void srv_tick_publish_aside(struct srv_sim *sim, struct srv_node *node, uint32_t flags)
{
    publish(sim, node, flags, false);
}

uint32_t srv_sample_input(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct srv_node *node,
                          struct oto_sensor_input *input)
{
    const struct srv_exposure exposure = {.vibration = vehicle->vibration, .at = srv_schedule_at(&node->schedule)};
    uint32_t flags = vehicle->stale ? OTO_SAMPLE_STALE : 0;
    if (srv_due_at_end(&node->due)) {
        input->truth = vehicle->truth;
    } else if (!srv_truth_at(sim, vehicle, exposure.at, &input->truth)) {
        flags |= OTO_SAMPLE_STALE;
    }
    srv_environment_fill(&sim->environment, node->setup, &exposure, input);
    if (node->faults != NULL) {
        srv_faults_disturb(node, input);
    }
    return flags;
}

/* ---- vehicles ---- */

/*
 * Vehicles of a block move before its sensors are stepped: a batch takes nodes of several vehicles. A block fits a cache.
 */
enum { BLOCK = SRV_BLOCK, MOTIONS_AHEAD = 3 };

static void move(struct srv_sim *sim, uint32_t first, uint32_t end, uint64_t tick)
{
    const bool fetches = sim->vehicle_count >= SRV_FETCH_FROM_VEHICLES;
    for (uint32_t v = first; v < end; v++) {
        if (fetches) {
            srv_fetch_sensors(&sim->vehicles[v]);
            srv_fetch_motion(&sim->vehicles[v + MOTIONS_AHEAD < end ? v + MOTIONS_AHEAD : v]);
        }
        srv_truth_advance(sim, &sim->vehicles[v], tick);
    }
    sim->moved = end;
}

static void take_sensors(struct srv_sim *sim, uint32_t first, uint32_t end, uint64_t tick)
{
    const bool fetches = sim->vehicle_count >= SRV_FETCH_FROM_VEHICLES;
    for (uint32_t v = first; v < end; v++) {
        struct srv_vehicle *vehicle = &sim->vehicles[v];
        if (fetches && v + BLOCK < sim->vehicle_count) {
            srv_fetch_vehicle(&sim->vehicles[v + BLOCK]);
        }
        srv_state_hash_begin(&sim->hashes[v], sim->chain);
        srv_truth_publish(sim, vehicle);
        for (uint32_t i = 0; i < vehicle->sensor_count; i++) {
            if (!vehicle->first_sensor[i].is_estimator) {
                struct srv_node *node = &vehicle->first_sensor[i];
                node->runner->take(sim, vehicle, node, tick);
            }
        }
    }
}

/* Advances a world with plugin hosts: a request has nodes of several vehicles, so all vehicles move before it. */
static void advance_with_hosts(struct srv_sim *sim, uint64_t tick)
{
    sim->remote->request(sim, SRV_TURN_MOTIONS, tick);
    move(sim, 0, sim->vehicle_count, tick);
    sim->remote->request(sim, SRV_TURN_SENSORS, tick);
    take_sensors(sim, 0, sim->vehicle_count, tick);
    sim->remote->request(sim, SRV_TURN_ESTIMATORS, tick);
    srv_estimators_step(sim, 0, sim->estimator_count, tick);
}

static void advance(struct srv_sim *sim, uint32_t first, uint32_t end, uint64_t tick)
{
    for (uint32_t block = first; block < end; block += BLOCK) {
        const uint32_t block_end = end - block > BLOCK ? block + BLOCK : end;
        move(sim, block, block_end, tick);
        take_sensors(sim, block, block_end, tick);
    }
}

static void fold_chain(struct srv_sim *sim, uint64_t chain)
{
    for (uint32_t v = 0; v < sim->vehicle_count; v++) {
        chain = srv_state_hash_fold(chain, srv_state_hash_end(&sim->hashes[v]));
    }
    sim->chain = chain;
}

void srv_sim_tick(struct srv_sim *sim)
{
    const uint64_t tick = sim->tick;
    if (sim->remote != NULL) {
        sim->remote->collect(sim);
    }
    srv_schedule_advance(&sim->schedule);
    if (sim->remote != NULL) {
        advance_with_hosts(sim, tick);
    } else if (srv_lanes_apply(sim)) {
        srv_lanes_advance(sim, advance, srv_estimators_step, tick);
    } else {
        advance(sim, 0, sim->vehicle_count, tick);
        srv_estimators_step(sim, 0, sim->estimator_count, tick);
    }
    if (sim->fatal) {
        srv_fatal_spread(sim);
    }
    fold_chain(sim, sim->chain);
    sim->tick = tick + 1;
    if (sim->trials != NULL) {
        srv_trials_advance(sim);
    }
}

void srv_sim_begin_chain(struct srv_sim *sim)
{
    for (uint32_t v = 0; v < sim->vehicle_count; v++) {
        srv_state_hash_begin(&sim->hashes[v], sim->config->seed);
        srv_truth_begin(sim, &sim->vehicles[v]);
        srv_sim_absorb(sim, v, &sim->vehicles[v].truth_zero, sizeof(struct oto_truth_record));
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        srv_sim_absorb(sim, sim->nodes[i].vehicle, sim->nodes[i].live.abi.state, sim->nodes[i].live.hashed_bytes);
    }
    fold_chain(sim, sim->config->seed);
}

enum oto_status srv_sim_begin(struct srv_sim *sim, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < sim->node_count; i++) {
        status = srv_fifo_make(&sim->nodes[i], error);
        srv_node_choose_runner(sim, &sim->nodes[i]);
    }
    if (status == OTO_OK) {
        srv_sim_begin_chain(sim);
    }
    return status;
}
