#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/document.h"

#define EVENT_CAPACITY 1024u

/* ---- checks ---- */

static enum oto_status check_world(const struct srv_world_config *config, struct oto_error *error)
{
    if (config->node_count == 0 || config->node_count > SRV_MAX_NODES || config->vehicle_count == 0 ||
        config->vehicle_count > SRV_MAX_VEHICLES) {
        return oto_fail(error, OTO_LIMIT, "world '%s' has %u vehicles with %u nodes; 1 to %d and 1 to %d are accepted",
                        config->name, config->vehicle_count, config->node_count, SRV_MAX_VEHICLES, SRV_MAX_NODES);
    }
    for (uint32_t v = 0; v < config->vehicle_count; v++) {
        const struct srv_vehicle_config *vehicle = &config->vehicles[v];
        if (vehicle->motion >= config->node_count || vehicle->first_node > config->node_count ||
            vehicle->node_count > config->node_count - vehicle->first_node) {
            return oto_fail(error, OTO_INVALID, "vehicle '%s' names nodes beyond the world's %u", vehicle->name,
                            config->node_count);
        }
    }
    return srv_rate_check("the clock's rate", config->clock.rate_num, config->clock.rate_den, error);
}

/* ---- parts of creation ---- */

static enum oto_status make_nodes(struct srv_sim *sim, oto_warn_function warn, void *warn_context, struct oto_error *error)
{
    const uint32_t count = sim->config->node_count;
    enum oto_status status = OTO_OK;
    sim->nodes = srv_state_alloc(count * sizeof *sim->nodes);
    sim->first_channels = calloc(count, sizeof *sim->first_channels);
    if (sim->nodes == NULL || sim->first_channels == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u nodes", count);
    }
    for (uint32_t i = 0; status == OTO_OK && i < count; i++) {
        struct srv_node *node = &sim->nodes[i];
        status = srv_node_init(sim->config, i, warn, warn_context, node, error);
        if (status == OTO_OK) {
            sim->node_count = i + 1;
            sim->first_channels[i] = sim->channel_count;
            sim->channel_count += srv_node_channel_count(node);
            status = srv_faults_load(sim, node, error);
        }
    }
    sim->event_channel = sim->channel_count++;
    return status == OTO_OK ? srv_estimators_make(sim, error) : status;
}

static void describe_events(const struct srv_world_config *config, struct srv_channel_spec *spec)
{
    memset(spec, 0, sizeof *spec);
    (void)snprintf(spec->topic, sizeof spec->topic, "%s/@events", config->name);
    (void)snprintf(spec->node, sizeof spec->node, "%s/@events", config->name);
    spec->plugin = "";
    spec->plugin_version = "";
    spec->frame_id = "";
    spec->type = &oto_event_type;
    spec->rate_den = 1;
    spec->capacity = EVENT_CAPACITY;
    spec->node_index = UINT32_MAX;
    spec->flags = OTO_CHANNEL_EVENTS | OTO_CHANNEL_ENABLED;
}

static void keep_inputs(const struct srv_sim *sim, struct srv_channel_spec *specs)
{
    for (uint32_t e = 0; e < sim->estimator_count; e++) {
        const struct srv_node_config *config = sim->estimators[e]->config;
        for (uint32_t i = 0; i < config->input_count; i++) {
            specs[sim->first_channels[config->inputs[i].node] + config->inputs[i].port].kept = true;
        }
    }
}

static enum oto_status make_store(struct srv_sim *sim, const struct srv_sim_options *options, struct oto_error *error)
{
    const struct srv_world_config *config = sim->config;
    struct srv_channel_spec *specs = calloc(sim->channel_count, sizeof *specs);
    if (specs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u channels", sim->channel_count);
    }
    enum oto_status status = OTO_OK;
    for (uint32_t n = 0; status == OTO_OK && n < sim->node_count; n++) {
        const uint32_t first = sim->first_channels[n];
        for (uint32_t i = 0; status == OTO_OK && i < srv_node_channel_count(&sim->nodes[n]); i++) {
            status = srv_node_describe(config, &sim->nodes[n], i, &specs[first + i], error);
        }
    }
    keep_inputs(sim, specs);
    srv_rings_size(config, specs, sim->event_channel);
    describe_events(config, &specs[sim->event_channel]);
    const struct srv_segment_plan plan = {.world = config->name,
                                          .seed = config->seed,
                                          .rate_num = config->clock.rate_num,
                                          .rate_den = config->clock.rate_den,
                                          .channels = specs,
                                          .channel_count = sim->channel_count};
    if (status == OTO_OK) {
        status = options->make_store(options->store_context, &plan, &sim->store, error);
    }
    free(specs);
    return status;
}

static enum oto_status make_vehicles(struct srv_sim *sim, struct oto_error *error)
{
    const struct srv_world_config *config = sim->config;
    enum oto_status status = OTO_OK;
    sim->vehicles = srv_state_alloc(config->vehicle_count * sizeof *sim->vehicles);
    sim->hashes = srv_state_alloc(config->vehicle_count * sizeof *sim->hashes);
    sim->truth_runs = calloc(oto_truth_type.field_count, sizeof *sim->truth_runs);
    if (sim->vehicles == NULL || sim->hashes == NULL || sim->truth_runs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u vehicles", config->vehicle_count);
    }
    sim->truth_run_count = oto_float_runs(&oto_truth_type, sim->truth_runs);
    sim->vehicle_count = config->vehicle_count;
    for (uint32_t v = 0; status == OTO_OK && v < sim->vehicle_count; v++) {
        const struct srv_vehicle_config *from = &config->vehicles[v];
        struct srv_vehicle *vehicle = &sim->vehicles[v];
        vehicle->motion = &sim->nodes[from->motion];
        vehicle->first_sensor = &sim->nodes[from->first_node];
        vehicle->vibration = from->vibration.source_count > 0 ? &from->vibration : NULL;
        vehicle->sensor_count = from->node_count;
        vehicle->any_time = (vehicle->motion->live.motion_flags & OTO_MOTION_ANY_TIME) != 0;
        vehicle->truth_zero.q_enu_from_body = oto_quat_identity();
        vehicle->truth = vehicle->truth_zero;
        status = vehicle->any_time ? OTO_OK
                                   : srv_history_make(&vehicle->history, config->clock.rate_num, config->clock.rate_den, error);
    }
    return status;
}

static void attach_channels(struct srv_sim *sim)
{
    void *base = sim->store.header;
    for (uint32_t i = 0; i < sim->node_count; i++) {
        srv_node_attach(&sim->nodes[i], &sim->store, sim->first_channels[i]);
    }
    for (uint32_t v = 0; v < sim->vehicle_count; v++) {
        struct srv_vehicle *vehicle = &sim->vehicles[v];
        const uint32_t channel = sim->first_channels[vehicle->motion->index];
        vehicle->ring = srv_ring_make(base, &sim->store.directory[channel]);
    }
    srv_estimators_attach(sim);
    sim->events = srv_ring_make(base, &sim->store.directory[sim->event_channel]);
}

static enum oto_status build(struct srv_sim *sim, const struct srv_sim_options *options, oto_warn_function warn,
                             void *warn_context, struct oto_error *error)
{
    enum oto_status status = check_world(sim->config, error);
    if (status == OTO_OK) {
        status = make_nodes(sim, warn, warn_context, error);
    }
    if (status == OTO_OK) {
        status = make_store(sim, options, error);
    }
    if (status == OTO_OK) {
        status = make_vehicles(sim, error);
    }
    if (status == OTO_OK) {
        srv_environment_init(&sim->environment, sim->config);
        srv_schedule_init(&sim->schedule, sim->config->clock.rate_num, sim->config->clock.rate_den);
        attach_channels(sim);
        status = srv_lanes_make(sim, options->lanes, &sim->lanes, error);
    }
    return status;
}

enum oto_status srv_sim_create(const struct srv_world_config *config, const struct srv_sim_options *options,
                               oto_warn_function warn, void *warn_context, struct srv_sim **out, struct oto_error *error)
{
    struct srv_sim *sim = srv_state_alloc(sizeof *sim);
    *out = NULL;
    if (sim == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a world");
    }
    sim->config = config;
    sim->hooks = options->hooks;
    sim->single_steps = options->single_steps;
    sim->no_state_hash = options->no_state_hash;
    const enum oto_status status = build(sim, options, warn, warn_context, error);
    if (status != OTO_OK) {
        srv_sim_destroy(sim);
        return status;
    }
    *out = sim;
    return OTO_OK;
}

void srv_sim_destroy(struct srv_sim *sim)
{
    if (sim == NULL) {
        return;
    }
    srv_trials_finish(sim);
    srv_fault_free(sim->retired_faults);
    for (uint32_t v = 0; v < sim->vehicle_count; v++) {
        free(sim->vehicles[v].history.records);
    }
    for (uint32_t i = 0; i < sim->node_count; i++) {
        srv_node_finish(&sim->nodes[i]);
    }
    srv_lanes_free(sim->lanes);
    free(sim->vehicles);
    free(sim->hashes);
    free(sim->truth_runs);
    free(sim->nodes);
    free(sim->estimators);
    free(sim->first_channels);
    free(sim);
}

/* ---- names ---- */

static bool is_named(const struct srv_node *node, const char *name)
{
    return strcmp(name, node->topic) == 0 || strcmp(name, node->setup->node) == 0 ||
           (node->config->alias[0] != '\0' && strcmp(name, node->config->alias) == 0);
}

static uint32_t not_found(const struct srv_sim *sim, const char *name, struct oto_error *error)
{
    const char **candidates = calloc(2 * (size_t)sim->node_count, sizeof *candidates);
    const char *nearest = NULL;
    for (uint32_t i = 0; candidates != NULL && i < sim->node_count; i++) {
        candidates[2 * i] = sim->nodes[i].topic;
        candidates[2 * i + 1] = sim->nodes[i].setup->node;
    }
    if (candidates != NULL) {
        nearest = oto_nearest_word(name, candidates, 2 * (size_t)sim->node_count);
    }
    if (nearest != NULL) {
        (void)oto_fail(error, OTO_NOT_FOUND, "there is no node '%.96s'; did you mean '%s'?", name, nearest);
    } else {
        (void)oto_fail(error, OTO_NOT_FOUND, "there is no node '%.96s'; a name like '%s' is accepted", name,
                       sim->nodes[sim->node_count - 1].topic);
    }
    free(candidates);
    return UINT32_MAX;
}

uint32_t srv_sim_node_find(const struct srv_sim *sim, const char *name, struct oto_error *error)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        if (is_named(&sim->nodes[i], name)) {
            return i;
        }
    }
    return not_found(sim, name, error);
}

struct srv_fault *srv_sim_fault_make(const struct srv_sim *sim, uint32_t node, const struct srv_fault_spec *spec)
{
    return srv_fault_make(spec, node, oto_plugin_descriptor(sim->nodes[node].config->plugin),
                          sim->nodes[node].setup->rate_hz);
}

/* The hash of a node's state, its last published records and, for a motion, its truth. */
uint64_t srv_sim_node_hash(const struct srv_sim *sim, const struct srv_node *node)
{
    const struct srv_vehicle *vehicle = &sim->vehicles[node->config->vehicle];
    struct srv_state_hash hash;
    srv_state_hash_begin(&hash, node->index);
    srv_state_hash_absorb(&hash, node->live.abi.state, node->live.hashed_bytes);
    if (vehicle->motion == node) {
        srv_state_hash_absorb(&hash, &vehicle->truth, sizeof vehicle->truth);
    }
    for (uint32_t i = 0; i < node->live.port_count && node->runner != &srv_runner_remote; i++) {
        if (node->live.ports[i].enabled) {
            srv_state_hash_absorb(&hash, node->live.outputs[i].payload, node->live.ports[i].payload_bytes);
        }
    }
    return srv_state_hash_end(&hash);
}
