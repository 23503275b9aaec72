/* The ports of the plugin that a node runs, and the channels that they fill. */
#include <string.h>

#include "sim/node.h"

uint32_t srv_port_channel(const struct oto_port *port, const struct oto_plugin_descriptor *channels,
                          uint32_t first_channel)
{
    for (uint32_t i = 0; i < channels->output_count; i++) {
        if (strcmp(port->name, channels->outputs[i].name) == 0 &&
            oto_record_type_hash(port->type) == oto_record_type_hash(channels->outputs[i].type)) {
            return first_channel + i;
        }
    }
    return SRV_NO_CHANNEL;
}

static const struct srv_port *find_port(const struct srv_port *ports, uint32_t count, uint32_t channel)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ports[i].channel == channel) {
            return &ports[i];
        }
    }
    return NULL;
}

void srv_node_join_rings(struct srv_node *node, const struct srv_store *store, const struct srv_port *before,
                         uint32_t before_count)
{
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        struct srv_port *port = &node->live.ports[i];
        if (port->channel != SRV_NO_CHANNEL) {
            const struct srv_port *same = find_port(before, before_count, port->channel);
            port->ring = same != NULL ? same->ring
                                      : srv_ring_make(store->header, &store->directory[port->channel]);
        }
    }
}

bool srv_port_is_on(uint32_t enable_offset, const struct oto_params *params)
{
    int64_t value = 1;
    if (enable_offset != OTO_PORT_ALWAYS && enable_offset + sizeof value <= params->bytes) {
        memcpy(&value, (const unsigned char *)params->block + enable_offset, sizeof value);
    }
    return value != 0;
}

enum oto_status srv_ports_wake(const struct oto_plugin_descriptor *descriptor, const struct srv_node_config *config,
                               uint32_t first_channel, const struct oto_params *params,
                               const struct srv_store *store, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < descriptor->output_count && status == OTO_OK; i++) {
        const struct oto_port *port = &descriptor->outputs[i];
        const uint32_t channel = srv_port_channel(port, oto_plugin_descriptor(config->plugin), first_channel);
        if (channel != SRV_NO_CHANNEL && srv_port_is_on(port->enable_offset, params)) {
            status = srv_store_reserve(store, channel, error);
        }
    }
    return status;
}

void srv_instance_enable_ports(struct srv_instance *instance)
{
    instance->ports_used = 0;
    for (uint32_t i = 0; i < instance->port_count; i++) {
        struct srv_port *port = &instance->ports[i];
        port->enabled = port->channel != SRV_NO_CHANNEL && srv_port_is_on(port->enable_offset, &instance->params);
        instance->ports_used = port->enabled ? i + 1 : instance->ports_used;
    }
    for (uint32_t i = instance->ports_used; i < instance->port_count; i++) {
        instance->outputs[i].flags = instance->outputs[i].emit = 0;
    }
}

static void show_enabled(struct oto_segment_channel *channel, bool enabled)
{
    const uint32_t flags = __atomic_load_n(&channel->flags, __ATOMIC_RELAXED) & ~OTO_CHANNEL_ENABLED;
    __atomic_store_n(&channel->flags, flags | (enabled ? OTO_CHANNEL_ENABLED : 0), __ATOMIC_RELAXED);
}

void srv_node_update_ports(struct srv_node *node, struct oto_segment_channel *directory)
{
    bool filled[OTO_PLUGIN_MAX_PORTS] = {false};
    if (node->live.evaluate != NULL) {
        return; /* the only channel of a motion is the truth */
    }
    srv_instance_enable_ports(&node->live);
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        const struct srv_port *port = &node->live.ports[i];
        if (port->channel != SRV_NO_CHANNEL) {
            filled[port->channel - node->first_channel] = true;
            show_enabled(&directory[port->channel], port->enabled);
        }
    }
    for (uint32_t i = 0; i < node->channel_count; i++) {
        if (!filled[i]) {
            show_enabled(&directory[node->first_channel + i], false);
        }
    }
}
