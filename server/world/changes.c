#include "world/engine_private.h"

#include <string.h>

/* A private copy of what a node runs, so that the main thread may take replies while a worker prepares. */
static enum oto_status begin_change(const struct srv_engine *engine, uint32_t node, struct srv_change_base *base,
                                    struct oto_error *error)
{
    struct srv_engine *locked = (struct srv_engine *)(uintptr_t)engine; /* only its lock is touched */
    memset(base, 0, sizeof *base);
    if (node >= engine->node_count) {
        return oto_fail(error, OTO_NOT_FOUND, "there is no node %u; the world has %u", node, engine->node_count);
    }
    base->node = node;
    base->topic = engine->nodes[node].topic;
    base->setup = engine->nodes[node].setup;
    base->isolated = engine->nodes[node].member != NULL;
    (void)pthread_mutex_lock(&locked->views_lock);
    base->plugin = oto_plugin_hold(engine->views[node].plugin);
    base->revision = engine->views[node].revision;
    const enum oto_status status = oto_params_copy(&engine->views[node].params, &base->params, error);
    (void)pthread_mutex_unlock(&locked->views_lock);
    return status;
}

static void end_change(struct srv_change_base *base)
{
    oto_params_free(&base->params);
    if (base->plugin != NULL) {
        (void)oto_plugin_close(base->plugin);
    }
}

enum oto_status srv_change_parameter(const struct srv_engine *engine, uint32_t node, const char *key, const char *yaml,
                                     struct srv_node_change **change, struct oto_error *error)
{
    struct srv_change_base base;
    *change = NULL;
    enum oto_status status = begin_change(engine, node, &base, error);
    if (status == OTO_OK && base.isolated) {
        status = srv_member_make_parameter(engine->nodes[node].member, &base, key, yaml, change, error);
    } else if (status == OTO_OK) {
        status = srv_change_make_parameter(&base, key, yaml, change, error);
    }
    end_change(&base);
    return status;
}

enum oto_status srv_change_plugin(const struct srv_engine *engine, uint32_t node, const char *path,
                                  struct srv_node_change **change, struct oto_error *error)
{
    struct srv_change_base base;
    *change = NULL;
    enum oto_status status = begin_change(engine, node, &base, error);
    if (status == OTO_OK && srv_external_is(base.plugin)) {
        status = oto_fail(error, OTO_UNSUPPORTED, "'%s' is moved by a participant: it has no plugin that could be swapped",
                          base.topic);
    }
    if (status == OTO_OK && base.isolated) {
        status = oto_fail(error, OTO_UNSUPPORTED, "'%s' runs in a plugin host, where nodes are not swapped; without "
                          "`isolation` it is accepted", base.topic);
    }
    if (status == OTO_OK) {
        status = srv_change_make_plugin(&base, path, change, error);
    }
    end_change(&base);
    return status;
}

void srv_views_update(struct srv_engine *engine, const struct srv_reply *reply)
{
    const bool changes = reply->kind == SRV_COMMAND_PARAMS || reply->kind == SRV_COMMAND_SWAP;
    if (!changes || reply->status != OTO_OK || reply->change == NULL) {
        return;
    }
    const struct srv_change *change = (const struct srv_change *)(const void *)reply->change;
    struct srv_node_view *view = &engine->views[change->open.node];
    (void)pthread_mutex_lock(&engine->views_lock);
    view->plugin = change->plugin_now;
    view->params = change->params_now;
    view->revision = change->revision + 1;
    (void)pthread_mutex_unlock(&engine->views_lock);
}
