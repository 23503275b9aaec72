#include <string.h>

#include "host/node.h"

void srv_node_clear_outputs(struct srv_node *node, int64_t t_ns)
{
    for (uint32_t i = 0; i < node->port_count; i++) {
        struct oto_output *output = &node->outputs[i];
        if (node->ports[i].enabled) {
            memset(output->payload, 0, node->ports[i].payload_bytes);
        }
        output->t_ns = t_ns;
        output->sensor_time_ns = t_ns;
        output->flags = 0;
        output->emit = node->ports[i].enabled;
    }
}

static bool parameter_enables(const struct srv_node *node, const struct srv_port *port)
{
    int64_t value = 1;
    if (port->enable_offset != OTO_PORT_ALWAYS && port->enable_offset + sizeof value <= node->params.bytes) {
        memcpy(&value, (const unsigned char *)node->params.block + port->enable_offset, sizeof value);
    }
    return value != 0;
}

void srv_node_update_ports(struct srv_node *node, struct oto_segment_channel *directory)
{
    for (uint32_t i = 0; i < node->port_count; i++) {
        struct srv_port *port = &node->ports[i];
        struct oto_segment_channel *channel = &directory[port->channel];
        port->enable_offset = node->descriptor->output_count > i ? node->descriptor->outputs[i].enable_offset
                                                                 : OTO_PORT_ALWAYS;
        port->enabled = parameter_enables(node, port);
        const uint32_t flags = __atomic_load_n(&channel->flags, __ATOMIC_RELAXED) & ~OTO_CHANNEL_ENABLED;
        __atomic_store_n(&channel->flags, flags | (port->enabled ? OTO_CHANNEL_ENABLED : 0), __ATOMIC_RELAXED);
    }
}
