/* The description in a checkpoint: the plugins that the nodes run, and the parameters that were changed at run time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "sim/checkpoint_image.h"
#include "otolith/version.h"

#define VALUE_BYTES 65536

static const char *id_of(const struct oto_plugin *plugin)
{
    return oto_plugin_descriptor(plugin)->id;
}

static enum oto_status put_params(FILE *to, const struct oto_plugin *plugin, const struct oto_params *params,
                                  const char *node, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    struct oto_error reason = {0};
    char *value = malloc(VALUE_BYTES);
    enum oto_status status = value != NULL ? OTO_OK : oto_fail(&reason, OTO_NO_MEMORY, "out of memory");
    (void)fputs("    params:\n", to);
    for (uint32_t i = 0; i < descriptor->param_count && status == OTO_OK; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (param->type != OTO_PARAM_IGNORED) {
            status = oto_params_get(descriptor, param->key, params, value, VALUE_BYTES, &reason);
            (void)fprintf(to, "      %s: %s\n", param->key, status == OTO_OK ? value : "");
        }
    }
    free(value);
    return status == OTO_OK ? OTO_OK : oto_fail(error, status, "the parameters of '%s' cannot be saved: %s", node,
                                                reason.text);
}

static bool was_changed(const struct srv_running_node *node, const struct srv_node_config *config)
{
    return node->plugin != config->plugin || node->params->bytes != config->params.bytes ||
           memcmp(node->params->block, config->params.block, node->params->bytes) != 0;
}

/* Writes the entry of a node. If the node runs as the world file says, the name of its plugin is enough. */
static enum oto_status put_node(FILE *to, const struct srv_running_node *node, const struct srv_node_config *config,
                                struct oto_error *error)
{
    (void)fputs("  - node: ", to);
    oto_json_put_text(to, node->name);
    (void)fputs("\n    plugin: ", to);
    oto_json_put_text(to, node->plugin != NULL ? id_of(node->plugin) : "");
    (void)fputs("\n", to);
    if (node->plugin == NULL || !was_changed(node, config)) {
        return OTO_OK;
    }
    if (node->plugin != config->plugin) {
        (void)fputs("    file: ", to);
        oto_json_put_text(to, oto_plugin_path(node->plugin));
        (void)fputs("\n", to);
    }
    (void)fprintf(to, "    unit: [%" PRIu64 ", %" PRIu64 "]\n", node->unit_key.seed, node->unit_key.stream);
    return put_params(to, node->plugin, node->params, node->name, error);
}

enum oto_status srv_checkpoint_describe(const struct srv_world_config *config, srv_running_node_function *node_of,
                                        const void *context, struct srv_checkpoint *checkpoint, struct oto_error *error)
{
    size_t bytes = 0;
    FILE *to = open_memstream(&checkpoint->text, &bytes);
    if (to == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the description of a checkpoint");
    }
    (void)fputs("otolith: \"" OTO_VERSION_STRING "\"\nworld: ", to);
    oto_json_put_text(to, config->name);
    (void)fprintf(to, "\nseed: %" PRIu64 "\nnodes:\n", config->seed);
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < config->node_count && status == OTO_OK; i++) {
        const struct srv_running_node node = node_of(context, i);
        status = put_node(to, &node, &config->nodes[i], error);
    }
    (void)fwrite("\0\0\0\0\0\0\0\0", 1, 8, to); /* room to be padded */
    bool whole = ferror(to) == 0;
    whole = fclose(to) == 0 && whole && bytes >= 8;
    checkpoint->text_bytes = whole ? bytes - 8 : 0;
    return status != OTO_OK || whole ? status : oto_fail(error, OTO_NO_MEMORY, "no memory for the description of a checkpoint");
}

/* ---- and back ---- */

enum oto_status srv_checkpoint_seed(const struct srv_checkpoint *checkpoint, uint64_t *seed, struct oto_error *error)
{
    const struct oto_value *value = oto_value_get(oto_document_root(checkpoint->document), "seed");
    return value != NULL ? oto_value_u64(value, seed, error) : OTO_OK;
}

static enum oto_status take_unit(const struct oto_value *entry, struct oto_rng_key *key, struct oto_error *error)
{
    const struct oto_value *unit = oto_value_get(entry, "unit");
    if (unit == NULL || unit->kind != OTO_VALUE_LIST || unit->count != 2) {
        return oto_value_fail(entry, error, OTO_CORRUPT, "a changed node of the checkpoint names no unit");
    }
    const enum oto_status status = oto_value_u64(unit->items[0], &key->seed, error);
    return status == OTO_OK ? oto_value_u64(unit->items[1], &key->stream, error) : status;
}

/* Opens the plugin that ran, if it was another than the world file's; otherwise *stood_in stays NULL. */
static enum oto_status take_plugin(const struct oto_value *entry, const struct srv_node_config *node,
                                   srv_open_plugin_function *open, struct oto_plugin **stood_in, struct oto_error *error)
{
    const struct oto_value *id = oto_value_get(entry, "plugin"), *file = oto_value_get(entry, "file");
    struct oto_plugin *plugin = NULL;
    if (id == NULL || id->kind != OTO_VALUE_SCALAR) {
        return oto_value_fail(entry, error, OTO_CORRUPT, "a node of the checkpoint names no plugin");
    }
    const bool own = node->plugin != NULL && strcmp(id->text, id_of(node->plugin)) == 0;
    if (file == NULL) {
        return own || node->plugin == NULL
                   ? OTO_OK
                   : oto_value_fail(id, error, OTO_INVALID,
                                    "node '%s' ran plugin '%s' when it was saved, and the world says '%s'", node->name,
                                    id->text, id_of(node->plugin));
    }
    const enum oto_status status = open(file->text, node->isolation.process, &plugin, error);
    if (status != OTO_OK) {
        return status;
    }
    if (strcmp(id_of(plugin), id->text) != 0) {
        const enum oto_status other =
            oto_value_fail(file, error, OTO_INVALID, "'%s' is plugin '%s' by now; it was '%s' when the checkpoint was made",
                           file->text, id_of(plugin), id->text);
        (void)oto_plugin_close(plugin);
        return other;
    }
    *stood_in = plugin;
    return OTO_OK;
}

static enum oto_status take_params(const struct oto_value *map, const struct oto_plugin *plugin, double rate_hz,
                                   struct oto_params *params, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    enum oto_status status = oto_params_default(descriptor, params, error);
    if (status == OTO_OK) {
        status = oto_params_apply(descriptor, map, params, error);
    }
    params->rate_hz = rate_hz;
    return status;
}

/* Reads the entry of a node: a changed node has its parameters there, and its plugin if that is not the world file's. */
static enum oto_status take_node(const struct oto_value *entry, struct srv_node_config *node,
                                 srv_open_plugin_function *open, struct oto_error *error)
{
    const struct oto_value *params = oto_value_get(entry, "params");
    struct srv_replacement *replacement = &node->replacement;
    enum oto_status status = take_plugin(entry, node, open, &replacement->plugin, error);
    if (status != OTO_OK || params == NULL || params->kind != OTO_VALUE_MAP) {
        return status;
    }
    if (replacement->plugin == NULL) {
        replacement->plugin = oto_plugin_hold(node->plugin);
    }
    status = take_params(params, replacement->plugin, node->params.rate_hz, &replacement->params, error);
    return status == OTO_OK ? take_unit(entry, &replacement->unit_key, error) : status;
}

/* Whether the entry's name, such as "car/imu", is the name of this node. */
static bool is_node(const struct srv_world_config *config, const struct srv_node_config *node, const struct oto_value *name)
{
    char ours[2 * SRV_NAME_BYTES];
    (void)snprintf(ours, sizeof ours, "%s/%s", config->vehicles[node->vehicle].name, node->name);
    return name != NULL && name->kind == OTO_VALUE_SCALAR && strcmp(name->text, ours) == 0;
}

enum oto_status srv_checkpoint_configure(const struct srv_checkpoint *checkpoint, struct srv_world_config *config,
                                         struct oto_error *error)
{
    const struct oto_value *nodes = oto_value_get(oto_document_root(checkpoint->document), "nodes");
    if (nodes == NULL || nodes->kind != OTO_VALUE_LIST || nodes->count != config->node_count) {
        return oto_value_fail(oto_document_root(checkpoint->document), error, OTO_INVALID,
                              "the checkpoint has %u nodes and the world %u: it is of another world", nodes != NULL ? nodes->count : 0,
                              config->node_count);
    }
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < nodes->count && status == OTO_OK; i++) {
        const struct oto_value *entry = nodes->items[i];
        struct srv_node_config *node = &config->nodes[i];
        if (!is_node(config, node, oto_value_get(entry, "node"))) {
            return oto_value_fail(entry, error, OTO_INVALID, "node %u of the world is '%s/%s': the checkpoint is of another world",
                                  i, config->vehicles[node->vehicle].name, node->name);
        }
        status = take_node(entry, node, config->open_plugin, error);
    }
    return status;
}
