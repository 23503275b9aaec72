#include "daemon/thread/engine_private.h"
#include "daemon/thread/workers.h"

int srv_engine_segment_fd(const struct srv_engine *engine)
{
    return engine->segment.fd;
}

const struct oto_segment_header *srv_engine_segment(const struct srv_engine *engine)
{
    return engine->segment.header;
}

int srv_engine_notify_fd(const struct srv_engine *engine)
{
    return engine->notify_fd;
}

uint32_t srv_engine_node_count(const struct srv_engine *engine)
{
    return engine->sim->node_count;
}

const struct srv_node_config *srv_engine_node_config(const struct srv_engine *engine, uint32_t node)
{
    return node < engine->sim->node_count ? engine->sim->nodes[node].config : NULL;
}

const struct oto_setup *srv_engine_node_setup(const struct srv_engine *engine, uint32_t node)
{
    return node < engine->sim->node_count ? engine->sim->nodes[node].setup : NULL;
}

struct oto_plugin *srv_engine_node_plugin(const struct srv_engine *engine, uint32_t node)
{
    return node < engine->sim->node_count ? engine->views[node].plugin : NULL;
}

const char *srv_engine_node_plugin_path(const struct srv_engine *engine, uint32_t node)
{
    return node < engine->sim->node_count ? oto_plugin_path(engine->views[node].plugin) : "";
}

const struct oto_params *srv_engine_node_params(const struct srv_engine *engine, uint32_t node)
{
    return node < engine->sim->node_count ? &engine->views[node].params : NULL;
}

struct oto_rng_key srv_engine_node_unit(const struct srv_engine *engine, uint32_t node)
{
    const struct oto_setup *own = engine->views[node].own_setup;
    return own != NULL ? own->unit_key : engine->sim->nodes[node].setup->unit_key;
}

uint32_t srv_engine_node_find(const struct srv_engine *engine, const char *name, struct oto_error *error)
{
    return srv_sim_node_find(engine->sim, name, error);
}

struct srv_sim *srv_engine_sim(struct srv_engine *engine)
{
    return engine->sim;
}

bool srv_engine_group(const struct srv_engine *engine, uint32_t index, struct srv_group_facts *facts)
{
    return srv_isolation_group(engine->sim, index, facts);
}

const char *srv_engine_group_node(const struct srv_engine *engine, uint32_t index, uint32_t member)
{
    return srv_isolation_group_node(engine->sim, index, member);
}

struct srv_fault *srv_engine_fault_make(struct srv_engine *engine, uint32_t node, const struct srv_fault_spec *spec)
{
    struct srv_fault_spec numbered = *spec;
    if (numbered.id == 0) {
        numbered.id = engine->last_fault_id + 1;
    }
    engine->last_fault_id = numbered.id > engine->last_fault_id ? numbered.id : engine->last_fault_id;
    return srv_sim_fault_make(engine->sim, node, &numbered);
}

uint32_t srv_engine_stepping_node(const struct srv_engine *engine)
{
    const bool ticks = engine->on_thread && pthread_equal(pthread_self(), engine->tick_identity);
    const uint32_t lane = srv_worker_lane();
    const uint32_t node = lane > 0 ? srv_lanes_stepping_node(engine->sim->lanes, lane)
                          : ticks  ? __atomic_load_n(&engine->sim->store.header->current_node, __ATOMIC_RELAXED) : 0;
    return node <= engine->sim->node_count ? node : 0;
}

void srv_engine_tell(struct srv_engine *engine, enum oto_event_kind kind, uint32_t severity, const char *source,
                     const char *text)
{
    srv_event_write(engine->sim, kind, severity, (int64_t)engine->sim->tick, source, text);
}

enum oto_status srv_engine_quarantine(struct srv_engine *engine, const char *name, const char *why,
                                      struct oto_error *error)
{
    const uint32_t node = srv_engine_node_find(engine, name, error);
    if (node == UINT32_MAX) {
        return error->status;
    }
    srv_node_quarantine(engine->sim, &engine->sim->nodes[node], OTO_STEP_ERROR, why);
    return OTO_OK;
}

void srv_engine_set_waiters(struct srv_engine *engine, uint32_t waiters)
{
    __atomic_store_n(&engine->waiters, waiters, __ATOMIC_RELAXED);
}

void srv_engine_count(struct srv_engine *engine, enum oto_counter counter, int64_t delta)
{
    srv_count_shared(engine->sim->store.header, counter, delta);
}

void srv_previous_of_file(const struct srv_engine *engine, uint32_t node, struct srv_previous *previous)
{
    const struct srv_node_config *config = engine->sim->nodes[node].config;
    *previous = (struct srv_previous){.plugin = NULL};
    if (config->replacement.plugin != NULL && config->replacement.plugin != config->plugin) {
        *previous = (struct srv_previous){.plugin = oto_plugin_hold(config->plugin),
                                          .params = oto_params_copy(&config->params)};
    }
}
