/* Prepares changes of nodes while the world runs. Changes are made from copies, so that any thread may prepare them. */
#include <string.h>

#include "daemon/thread/engine_private.h"

/* Copies the plugin and parameters that a node runs: the main thread may take replies while a worker prepares a change. */
static enum oto_status begin_change(const struct srv_engine *engine, uint32_t node, struct srv_change_base *base,
                                    struct oto_error *error)
{
    struct srv_engine *locked = (struct srv_engine *)(uintptr_t)engine; /* only the lock is changed */
    memset(base, 0, sizeof *base);
    if (node >= engine->sim->node_count) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no node %u; the world has %u", node, engine->sim->node_count);
    }
    srv_change_base_begin(engine->sim, node, base);
    (void)pthread_mutex_lock(&locked->views_lock);
    const struct srv_node_view *view = &engine->views[node];
    srv_change_base_fill(base, view->plugin, &view->params, view->own_setup, view->revision);
    (void)pthread_mutex_unlock(&locked->views_lock);
    return OTO_OK;
}

enum oto_status srv_change_parameter(const struct srv_engine *engine, uint32_t node, const char *key, const char *yaml,
                                     struct srv_node_change **change, struct oto_error *error)
{
    struct srv_change_base base;
    *change = NULL;
    enum oto_status status = begin_change(engine, node, &base, error);
    if (status == OTO_OK) {
        status = srv_sim_change_parameter(engine->sim, &base, key, yaml, change, error);
    }
    srv_change_base_finish(&base);
    return status;
}

enum oto_status srv_swap_load(const struct srv_engine *engine, uint32_t node, const struct srv_swap_options *options,
                              struct srv_node_change **change, struct oto_error *error)
{
    struct srv_change_base base;
    *change = NULL;
    enum oto_status status = begin_change(engine, node, &base, error);
    if (status == OTO_OK) {
        status = srv_sim_swap_load(engine->sim, &base, options, change, error);
    }
    srv_change_base_finish(&base);
    return status;
}

enum oto_status srv_swap_ready(const struct srv_engine *engine, struct srv_node_change *change, struct oto_error *error)
{
    struct srv_change_base base;
    enum oto_status status = begin_change(engine, change->node, &base, error);
    if (status == OTO_OK) {
        status = srv_sim_swap_ready(engine->sim, &base, change, error);
    }
    srv_change_base_finish(&base);
    return status;
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

void srv_views_update(struct srv_engine *engine, const struct srv_reply *reply)
{
    if (reply->plugin == NULL || reply->change == NULL) {
        return;
    }
    struct srv_node_view *view = &engine->views[reply->change->node];
    (void)pthread_mutex_lock(&engine->views_lock);
    view->plugin = reply->plugin;
    view->params = reply->params;
    view->own_setup = reply->own_setup;
    view->revision = reply->revision;
    (void)pthread_mutex_unlock(&engine->views_lock);
}
