#include "sim/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fifo.h"

static bool is_motion(const struct srv_world_config *world, const struct srv_node_config *config, uint32_t index)
{
    return world->vehicles[config->vehicle].motion == index;
}

static enum oto_status check_kind(const struct srv_world_config *world, const struct srv_node *node,
                                  struct oto_error *error)
{
    const bool motion = is_motion(world, node->config, node->index);
    const char *kind = node->live.descriptor->kind;
    const bool fits = motion ? strcmp(kind, OTO_KIND_MOTION) == 0 : strcmp(kind, OTO_KIND_MOTION) != 0;
    if (!fits) {
        return oto_fail(error, OTO_INVALID, "node '%s': plugin '%s' is of kind '%s'; '%s' is accepted here",
                        node->topic, node->live.descriptor->id, kind,
                        motion ? OTO_KIND_MOTION : OTO_KIND_SENSOR "' or '" OTO_KIND_ESTIMATOR);
    }
    if (motion && oto_plugin_motion(node->live.plugin) == NULL) {
        return oto_fail(error, OTO_PLUGIN, "node '%s': motion plugin '%s' does not offer the extension '%s'",
                        node->topic, node->live.descriptor->id, OTO_EXTENSION_MOTION);
    }
    const uint32_t least = motion ? 0 : 1, most = motion ? 0 : OTO_PLUGIN_MAX_PORTS;
    if (node->live.descriptor->output_count < least || node->live.descriptor->output_count > most) {
        return oto_fail(error, OTO_PLUGIN, "node '%s': plugin '%s' has %u outputs; %u to %u are accepted", node->topic,
                        node->live.descriptor->id, node->live.descriptor->output_count, least, most);
    }
    return OTO_OK;
}

/* The plugin that the world file names for the node: its ports define the channels. */
static const struct oto_plugin_descriptor *made_with(const struct srv_node *node)
{
    return oto_plugin_descriptor(node->config->plugin);
}

static enum oto_status make_schedule(const struct srv_world_config *world, struct srv_node *node,
                                     struct oto_error *error)
{
    const struct srv_node_config *config = node->config;
    char what[OTO_TOPIC_BYTES + 16];
    (void)snprintf(what, sizeof what, "rate of '%s'", node->topic);
    enum oto_status status = srv_rate_check(what, config->rate_num, config->rate_den, error);
    if (status == OTO_OK) {
        srv_schedule_init(&node->schedule, config->rate_num, config->rate_den);
        srv_schedule_advance(&node->schedule);
        status = srv_due_init(&node->due, config->rate_num, config->rate_den, world->clock.rate_num,
                              world->clock.rate_den, error);
    }
    return status;
}

/* Puts the node's name before an error of its plugin, which does not know the name. */
static enum oto_status fail_with_name(const struct srv_node *node, enum oto_status status, struct oto_error *error)
{
    char reason[400] = "";
    if (error != NULL) {
        (void)snprintf(reason, sizeof reason, "%.390s", error->text);
    }
    return oto_fail(error, status, "node '%s' (plugin %s): %s", node->topic, node->live.descriptor->id,
                    reason[0] != '\0' ? reason : "refused to start");
}

/* Puts the node's name and its place in the file before a warning of its plugin, which knows neither. */
struct naming {
    const struct srv_node *node;
    oto_warn_function warn;
    void *warn_context;
};

static void warn_with_name(void *context, const char *sentence)
{
    const struct naming *naming = context;
    const struct oto_value *place = naming->node->config->place;
    char named[800], where[240] = "";
    if (naming->warn == NULL) {
        return;
    }
    if (place != NULL && place->line > 0) {
        (void)snprintf(where, sizeof where, "%.200s:%u:%u: warning: ", place->file, place->line, place->column);
    }
    (void)snprintf(named, sizeof named, "%snode '%s': %.400s", where, naming->node->setup->node, sentence);
    naming->warn(naming->warn_context, named);
}

static enum oto_status make_instance(struct srv_node *node, oto_warn_function warn, void *warn_context,
                                     struct oto_error *error)
{
    const struct srv_replacement *replacement = &node->config->replacement;
    struct naming naming = {node, warn, warn_context};
    const struct srv_instance_place place = {.setup = node->setup,
                                             .channels = made_with(node),
                                             .prepared_later = node->config->isolation.process,
                                             .warn = warn_with_name,
                                             .warn_context = &naming};
    node->live.params = oto_params_copy(replacement->plugin != NULL ? &replacement->params : &node->config->params);
    const enum oto_status status = srv_instance_make(&node->live, &place, error);
    return status == OTO_OK ? OTO_OK : fail_with_name(node, status, error);
}

static enum oto_status make_inputs(const struct srv_world_config *world, struct srv_node *node,
                                   struct oto_error *error)
{
    struct oto_error why = {0};
    node->is_estimator = strcmp(node->live.descriptor->kind, OTO_KIND_ESTIMATOR) == 0;
    if (!node->is_estimator) {
        return OTO_OK;
    }
    const enum oto_status status = srv_inputs_init(world, node->config, &node->inputs, &why);
    node->setup->estimator.inputs = node->inputs.bindings;
    node->setup->estimator.input_count = node->inputs.count;
    return status == OTO_OK ? OTO_OK : oto_fail(error, status, "node '%s' (plugin %s): %.300s", node->topic,
                                                node->live.descriptor->id, why.text);
}

static enum oto_status name_node(const struct srv_world_config *world, struct srv_node *node, struct oto_error *error)
{
    const int length = snprintf(node->topic, sizeof node->topic, "%s/%s/%s", world->name,
                                world->vehicles[node->config->vehicle].name, node->config->name);
    if (length < 0 || (size_t)length >= sizeof node->topic) {
        return oto_fail(error, OTO_LIMIT, "the topic '%s…' is longer than %d bytes; a shorter world name is accepted",
                        node->topic, OTO_TOPIC_BYTES - 1);
    }
    return OTO_OK;
}

static bool wants_labels(const struct srv_world_config *world, const struct srv_node_config *config)
{
    return config->labels == SRV_LABELS_ON ||
           (config->labels == SRV_LABELS_AUTO && (config->fault_count > 0 || world->node_count <= SRV_LABELS_AUTO_NODES));
}

/* Gives the plugin that a checkpoint has for this node the unit that it had in the saved run. */
static enum oto_status stand_in(struct srv_node *node, struct oto_error *error)
{
    const struct oto_port *first = node->live.descriptor->outputs;
    if (node->live.port_count > 0 && srv_port_channel(first, made_with(node), 0) != 0) {
        return oto_fail(error, OTO_INVALID,
                        "node '%s': plugin '%s' ran when it was saved, and its first output is none of plugin '%s', "
                        "which the world names", node->topic, node->live.descriptor->id, made_with(node)->id);
    }
    node->live.own_setup = malloc(sizeof *node->live.own_setup);
    if (node->live.own_setup == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the setup of '%s'", node->topic);
    }
    *node->live.own_setup = *node->setup;
    node->live.own_setup->unit_key = node->config->replacement.unit_key;
    return OTO_OK;
}

enum oto_status srv_node_init(const struct srv_world_config *world, uint32_t index, oto_warn_function warn,
                              void *warn_context, struct srv_node *node, struct oto_error *error)
{
    memset(node, 0, sizeof *node);
    node->index = index;
    node->config = &world->nodes[index];
    node->vehicle = node->config->vehicle;
    struct oto_plugin *replacement = node->config->replacement.plugin;
    srv_instance_bind(&node->live, oto_plugin_hold(replacement != NULL ? replacement : node->config->plugin));
    enum oto_status status = name_node(world, node, error);
    if (status == OTO_OK) {
        status = check_kind(world, node, error);
    }
    if (status == OTO_OK) {
        status = make_schedule(world, node, error);
    }
    if (status == OTO_OK) {
        node->setup = calloc(1, sizeof *node->setup);
        status = node->setup != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory");
    }
    if (status == OTO_OK) {
        srv_setup_fill(world, node->config, node->setup);
        node->labelled = node->live.evaluate == NULL && wants_labels(world, node->config);
        status = make_inputs(world, node, error);
    }
    if (status == OTO_OK && replacement != NULL) {
        status = stand_in(node, error);
    }
    if (status == OTO_OK) {
        status = make_instance(node, warn, warn_context, error);
    }
    if (status != OTO_OK) {
        srv_node_finish(node);
    }
    return status;
}

void srv_node_finish(struct srv_node *node)
{
    if (node == NULL || node->live.plugin == NULL) {
        return;
    }
    (void)srv_instance_finish(&node->live);
    srv_fault_free(node->faults);
    free(node->setup);
    srv_inputs_finish(&node->inputs);
    srv_fifo_free(node->fifo);
    memset(node, 0, sizeof *node);
}

uint32_t srv_node_channel_count(const struct srv_node *node)
{
    return node->live.evaluate != NULL ? 1 : made_with(node)->output_count + node->labelled;
}

static enum oto_status name_channel(const struct srv_node *node, const char *port, struct srv_channel_spec *spec,
                                    struct oto_error *error)
{
    const bool first = port[0] == '\0';
    const char *topic = first && node->config->alias[0] != '\0' ? node->config->alias : node->topic;
    const int length = snprintf(spec->topic, sizeof spec->topic, "%s%s%s", topic, first ? "" : ".", port);
    if (length < 0 || (size_t)length >= sizeof spec->topic) {
        return oto_fail(error, OTO_LIMIT, "the topic '%s.%s' is longer than %d bytes; shorter names are accepted", topic,
                        port, OTO_TOPIC_BYTES - 1);
    }
    memcpy(spec->node, node->topic, sizeof spec->node);
    return OTO_OK;
}

#define SMALL_WORLD_SLOTS 1024u

/* Slots for one second of records, plus twice the samples that a FIFO publishes at once. */
static uint32_t slots_of_second(const struct srv_node *node, uint64_t rate_num, uint64_t rate_den)
{
    const uint64_t second = rate_num / rate_den + 1 + 2 * (uint64_t)node->config->fifo_samples;
    return second > UINT32_MAX ? UINT32_MAX : (uint32_t)second;
}

/*
 * Describes the channel of fault labels, after the channels of the ports. Its ring holds one second: readers follow it
 * live.
 */
static enum oto_status describe_label(const struct srv_node *node, struct srv_channel_spec *spec,
                                      struct oto_error *error)
{
    spec->type = &oto_fault_label_type;
    spec->least = 0;
    return name_channel(node, "label", spec, error);
}

/* Whether an enabled port fills the channel. `channel` counts from the node's first channel; rings are not joined yet. */
static bool is_filled(const struct srv_node *node, uint32_t channel)
{
    bool filled = false;
    const struct srv_port *ports = node->live.ports;
    for (uint32_t i = 0; i < node->live.port_count && !filled; i++) {
        filled = ports[i].channel == channel && srv_port_is_on(ports[i].enable_offset, &node->live.params);
    }
    return filled;
}

enum oto_status srv_node_describe(const struct srv_world_config *world, const struct srv_node *node, uint32_t channel,
                                  struct srv_channel_spec *spec, struct oto_error *error)
{
    const bool motion = node->live.evaluate != NULL;
    const struct oto_plugin_descriptor *channels = made_with(node);
    const struct oto_port *port = motion || channel >= channels->output_count ? NULL : &channels->outputs[channel];
    memset(spec, 0, sizeof *spec);
    spec->plugin = node->live.descriptor->id;
    spec->plugin_version = node->live.descriptor->version;
    spec->frame_id = node->config->frame_id[0] != '\0' ? node->config->frame_id : node->setup->node;
    spec->type = port != NULL ? port->type : &oto_truth_type;
    spec->rate_num = motion ? world->clock.rate_num : node->config->rate_num;
    spec->rate_den = motion ? world->clock.rate_den : node->config->rate_den;
    spec->capacity = slots_of_second(node, spec->rate_num, spec->rate_den);
    spec->least = world->ring_capacity > 0 ? world->ring_capacity : SMALL_WORLD_SLOTS;
    spec->burst = 2 * node->config->fifo_samples;
    spec->node_index = node->index;
    spec->flags = motion ? OTO_CHANNEL_TRUTH | OTO_CHANNEL_ENABLED : 0;
    spec->asleep = port != NULL && !is_filled(node, channel);
    if (!motion && port == NULL) {
        return describe_label(node, spec, error);
    }
    return name_channel(node, motion ? "" : port->name, spec, error);
}

void srv_node_attach(struct srv_node *node, const struct srv_store *store, uint32_t first_channel)
{
    node->first_channel = first_channel;
    node->channel_count = node->live.evaluate != NULL ? 1 : made_with(node)->output_count;
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        if (node->live.ports[i].channel != SRV_NO_CHANNEL) {
            node->live.ports[i].channel += first_channel;
        }
    }
    srv_node_join_rings(node, store, NULL, 0);
    if (node->labelled) {
        node->label_channel = first_channel + node->channel_count;
        node->label_ring = srv_ring_make(store->header, &store->directory[node->label_channel]);
    }
    srv_node_update_ports(node, store->directory);
}
