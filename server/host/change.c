#include "host/change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/fpu.h"

bool srv_change_free(struct srv_node_change *change)
{
    if (change == NULL) {
        return true;
    }
    oto_prepared_free(&change->prepared);
    oto_params_free(&change->params);
    free(change->state);
    const bool unmapped = oto_plugin_close(change->plugin);
    srv_box_end(((struct srv_change *)(void *)change)->box);
    free((struct srv_change *)(void *)change);
    return unmapped;
}

static struct srv_change *begin(const struct srv_change_base *base, struct oto_error *error)
{
    struct srv_change *change = calloc(1, sizeof *change);
    if (change == NULL) {
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory for a change of '%s'", base->topic);
        return NULL;
    }
    change->open.node = base->node;
    change->revision = base->revision;
    return change;
}

static enum oto_status finish(struct srv_change *change, enum oto_status status, struct srv_node_change **out)
{
    srv_fpu_pin();
    if (status != OTO_OK) {
        (void)srv_change_free(&change->open);
        change = NULL;
    }
    *out = change != NULL ? &change->open : NULL;
    return status;
}

enum oto_status srv_change_make_parameter(const struct srv_change_base *base, const char *key, const char *yaml,
                                          struct srv_node_change **out, struct oto_error *error)
{
    struct srv_change *change = begin(base, error);
    *out = NULL;
    if (change == NULL) {
        return OTO_NO_MEMORY;
    }
    enum oto_status status = oto_params_copy(&base->params, &change->open.params, error);
    if (status == OTO_OK) {
        status = oto_params_set(oto_plugin_descriptor(base->plugin), key, yaml, true, &change->open.params, error);
    }
    if (status == OTO_OK && !base->isolated) {
        status = oto_prepare(base->plugin, base->setup, &change->open.params, NULL, NULL, &change->open.prepared,
                             error);
    }
    (void)snprintf(change->text, sizeof change->text, "%.60s = %.80s", key, yaml);
    return finish(change, status, out);
}

/* ---- swap ---- */

static enum oto_status compare_ports(const struct srv_change_base *base, const struct oto_plugin_descriptor *now,
                                     const struct oto_plugin_descriptor *next, struct oto_error *error)
{
    if (strcmp(now->kind, next->kind) != 0) {
        return oto_fail(error, OTO_INVALID, "'%s' is a %s; plugin '%s' is a %s: only the same kind is accepted",
                        base->topic, now->kind, next->id, next->kind);
    }
    if (now->output_count != next->output_count) {
        return oto_fail(error, OTO_INVALID, "'%s' has %u outputs, plugin '%s' has %u: the same number is accepted",
                        base->topic, now->output_count, next->id, next->output_count);
    }
    for (uint32_t i = 0; i < now->output_count; i++) {
        const struct oto_port *ours = &now->outputs[i], *theirs = &next->outputs[i];
        if (strcmp(ours->name, theirs->name) != 0 ||
            oto_record_type_hash(ours->type) != oto_record_type_hash(theirs->type)) {
            return oto_fail(error, OTO_INVALID,
                            "output %u of '%s' is '%s' of record '%s', that of plugin '%s' is '%s' of record '%s' with "
                            "other fields: the same record is accepted",
                            i, base->topic, ours->name, ours->type->name, next->id, theirs->name, theirs->type->name);
        }
    }
    return OTO_OK;
}

static enum oto_status compare_motions(const struct srv_change_base *base, struct oto_plugin *plugin,
                                       struct oto_error *error)
{
    const struct oto_motion_extension *now = oto_plugin_motion(base->plugin), *next = oto_plugin_motion(plugin);
    if (now != NULL && next == NULL) {
        return oto_fail(error, OTO_INVALID, "'%s' is a motion node; %s does not offer the extension '%s'", base->topic,
                        oto_plugin_path(plugin), OTO_EXTENSION_MOTION);
    }
    if (now != NULL && (now->flags & OTO_MOTION_ANY_TIME) != 0 && (next->flags & OTO_MOTION_ANY_TIME) == 0) {
        return oto_fail(error, OTO_INVALID,
                        "'%s' can be asked about any time and its sensors rely on that; %s cannot: one that can is "
                        "accepted",
                        base->topic, oto_plugin_path(plugin));
    }
    return OTO_OK;
}

/* An estimator goes on with the channels that it listens to. */
static enum oto_status compare_inputs(const struct srv_change_base *base, struct oto_plugin *plugin,
                                      struct oto_error *error)
{
    const struct oto_estimator_extension *next = oto_plugin_estimator(plugin);
    struct oto_error why = {0};
    if (strcmp(oto_plugin_descriptor(plugin)->kind, OTO_KIND_ESTIMATOR) != 0) {
        return OTO_OK;
    }
    const enum oto_status status = oto_inputs_check(next, base->setup->inputs, base->setup->input_count, &why);
    return status == OTO_OK ? OTO_OK
                            : oto_fail(error, status, "%s cannot go on with the inputs of '%s': %.300s",
                                       oto_plugin_path(plugin), base->topic, why.text);
}

/* How the new plugin comes to its state. */
static bool state_is_same(uint32_t version, uint64_t bytes, const struct oto_plugin_descriptor *next)
{
    return next->state_version == version && next->state_bytes == bytes;
}

static bool state_migrates(uint32_t version, const struct oto_plugin_descriptor *next, const struct oto_plugin_ops *ops)
{
    return ops->migrate != NULL && version < next->state_version && version >= next->migrates_from;
}

static enum oto_status compare_states(const struct srv_change_base *base, const struct oto_plugin_descriptor *now,
                                      struct oto_plugin *plugin, struct oto_error *error)
{
    const struct oto_plugin_descriptor *next = oto_plugin_descriptor(plugin);
    if (state_is_same(now->state_version, now->state_bytes, next) ||
        state_migrates(now->state_version, next, oto_plugin_ops(plugin))) {
        return OTO_OK;
    }
    return oto_fail(error, OTO_VERSION,
                    "'%s' has a state of version %u (%llu bytes, plugin %s %s); %s has version %u (%llu bytes) and takes "
                    "over from version %u at the oldest",
                    base->topic, now->state_version, (unsigned long long)now->state_bytes, now->id, now->version,
                    oto_plugin_path(plugin), next->state_version, (unsigned long long)next->state_bytes,
                    oto_plugin_ops(plugin)->migrate != NULL ? next->migrates_from : next->state_version);
}

static uint64_t param_bytes(const struct oto_param *param)
{
    switch (param->type) {
    case OTO_PARAM_TEXT:
    case OTO_PARAM_PATH:
        return param->count;
    case OTO_PARAM_LIST:
        return sizeof(uint64_t) + param->count * param->item_bytes;
    case OTO_PARAM_IGNORED:
        return 0;
    default:
        return 8 * (uint64_t)param->count;
    }
}

static bool same_shape(const struct oto_param *a, const struct oto_param *b)
{
    return a->type == b->type && a->count == b->count && a->item_bytes == b->item_bytes &&
           a->item_count == b->item_count;
}

/* Parameters of the same key and shape keep their values; new ones have their defaults. */
static enum oto_status carry_params(const struct srv_change_base *base, const struct oto_plugin_descriptor *now,
                                    const struct oto_plugin_descriptor *next, struct oto_params *params,
                                    struct oto_error *error)
{
    const enum oto_status status = oto_params_default(next, params, error);
    for (uint32_t i = 0; status == OTO_OK && i < now->param_count; i++) {
        const struct oto_param *from = &now->params[i];
        const struct oto_param *to = from->key != NULL ? oto_param_find(next, from->key) : NULL;
        if (to != NULL && same_shape(from, to)) {
            memcpy((unsigned char *)params->block + to->offset,
                   (const unsigned char *)base->params.block + from->offset, param_bytes(from));
        }
    }
    params->rate_hz = base->params.rate_hz;
    return status;
}

static enum oto_status open_plugin(const struct srv_change_base *base, const char *name, struct srv_change *change,
                                   struct oto_error *error)
{
    char path[4096];
    const struct oto_plugin_descriptor *now = oto_plugin_descriptor(base->plugin);
    enum oto_status status = oto_plugin_find(name, path, sizeof path, error);
    if (status == OTO_OK) {
        status = oto_plugin_open(path, NULL, &change->open.plugin, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_plugin_descriptor *next = oto_plugin_descriptor(change->open.plugin);
    status = compare_ports(base, now, next, error);
    if (status == OTO_OK) {
        status = compare_motions(base, change->open.plugin, error);
    }
    if (status == OTO_OK) {
        status = compare_inputs(base, change->open.plugin, error);
    }
    if (status == OTO_OK) {
        status = compare_states(base, now, change->open.plugin, error);
    }
    if (status == OTO_OK) {
        status = carry_params(base, now, next, &change->open.params, error);
    }
    (void)snprintf(change->text, sizeof change->text, "%s %s to %s %s", now->id, now->version, next->id, next->version);
    return status;
}

enum oto_status srv_change_make_plugin(const struct srv_change_base *base, const char *path,
                                       struct srv_node_change **out, struct oto_error *error)
{
    struct srv_change *change = begin(base, error);
    *out = NULL;
    if (change == NULL) {
        return OTO_NO_MEMORY;
    }
    enum oto_status status = open_plugin(base, path, change, error);
    if (status == OTO_OK) {
        status = oto_prepare(change->open.plugin, base->setup, &change->open.params, NULL, NULL,
                             &change->open.prepared, error);
    }
    if (status == OTO_OK) {
        change->open.state = srv_state_alloc(oto_plugin_descriptor(change->open.plugin)->state_bytes);
        if (change->open.state == NULL) {
            status = oto_fail(error, OTO_NO_MEMORY, "no memory for the new state of '%s'", base->topic);
        }
    }
    return finish(change, status, out);
}

/* ---- at the boundary ---- */

static enum oto_status take_over_state(const struct srv_node *node, const struct oto_instance *next_instance,
                                       struct oto_plugin *plugin, const char **reason)
{
    const struct oto_plugin_descriptor *next = oto_plugin_descriptor(plugin);
    const struct oto_plugin_ops *ops = oto_plugin_ops(plugin);
    const uint32_t version = node->descriptor->state_version;
    if (state_is_same(version, node->state_bytes, next)) {
        memcpy(next_instance->state, node->instance.state, node->state_bytes);
    } else if (!state_migrates(version, next, ops)) {
        *reason = "the state's version changed meanwhile";
        return OTO_VERSION;
    } else if (ops->migrate(next_instance, node->instance.state, node->state_bytes, version) != OTO_OK) {
        *reason = "the new plugin's migrate refused the state";
        return OTO_PLUGIN;
    }
    if (ops->validate != NULL && ops->validate(next_instance) != OTO_OK) {
        *reason = "the new plugin's validate refused the state";
        return OTO_PLUGIN;
    }
    return OTO_OK;
}

static void exchange_params(struct srv_node *node, struct srv_node_change *open)
{
    const struct oto_params params = node->params;
    const struct oto_prepared prepared = node->prepared;
    node->params = open->params;
    node->prepared = open->prepared;
    open->params = params;
    open->prepared = prepared;
    node->instance.params = node->params.block;
    node->instance.data = node->prepared.data;
}

static void exchange_plugin(struct srv_node *node, struct srv_node_change *open)
{
    struct oto_plugin *plugin = node->plugin;
    void *state = node->instance.state;
    srv_node_bind(node, open->plugin);
    node->instance.state = open->state;
    node->state_bytes = node->descriptor->state_bytes;
    node->hashed_bytes = srv_state_rounded(node->state_bytes);
    node->quarantined = false;
    node->generation++;
    open->plugin = plugin;
    open->state = state;
}

enum oto_status srv_change_apply(struct srv_node *node, struct srv_change *change, const char **reason)
{
    struct srv_node_change *open = &change->open;
    enum oto_status status = OTO_OK;
    if (change->revision != node->revision) {
        *reason = "another change of this node was applied meanwhile; ask again";
        return OTO_CONFLICT;
    }
    if (open->plugin != NULL) {
        struct oto_instance next = node->instance;
        next.params = open->params.block;
        next.data = open->prepared.data;
        next.state = open->state;
        status = take_over_state(node, &next, open->plugin, reason);
        if (status == OTO_OK) {
            exchange_params(node, open);
            exchange_plugin(node, open);
        }
    } else {
        exchange_params(node, open);
        if (node->ops->set_params != NULL && !node->quarantined && node->member == NULL) {
            node->ops->set_params(&node->instance, open->params.block);
        }
    }
    if (!srv_fpu_is_pinned()) {
        srv_fpu_pin();
    }
    if (status == OTO_OK) {
        node->revision++;
        change->plugin_now = node->plugin;
        change->params_now = node->params;
    }
    return status;
}
