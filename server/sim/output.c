#include <string.h>

#include "sim/instance.h"

void srv_outputs_clear(struct oto_output *outputs, const struct srv_port *ports, uint32_t count, int64_t t_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        struct oto_output *output = &outputs[i];
        if (ports[i].enabled) {
            memset(output->payload, 0, ports[i].payload_bytes);
        }
        output->t_ns = t_ns;
        output->sensor_time_ns = t_ns;
        output->flags = 0;
        output->emit = ports[i].enabled;
    }
}
