/*
 * What a node runs: a plugin with the parameters, prepared data, state and buffers of one instance. A swap makes one
 * ready off the tick and exchanges it with the node's at a boundary; the other one keeps everything that it needs to go
 * on, so that it can run beside and come back.
 */
#ifndef SRV_HOST_OCCUPANT_H
#define SRV_HOST_OCCUPANT_H

#include "sim/node.h"

/* The members are those of the same names of srv_node. */
struct srv_occupant {
    struct oto_instance instance;
    enum oto_step_status (*step)(const struct oto_instance *, const struct oto_step *);
    enum oto_step_status (*evaluate)(const struct oto_instance *, struct oto_instant, struct oto_truth_record *);
    uint32_t motion_flags;
    uint32_t port_count;
    bool quarantined;
    uint64_t state_bytes, hashed_bytes;
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    struct srv_port ports[OTO_PLUGIN_MAX_PORTS];
    struct oto_plugin *plugin;
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_plugin_ops *ops;
    struct oto_params params;
    struct oto_prepared prepared;
    struct oto_setup *own_setup;
    unsigned char *payloads;
    struct oto_float_run *runs;
};

/*
 * [loop] Completes an occupant that has its plugin, params and perhaps own_setup: prepare, state by init (also where a
 * state will be taken over: it is then written over), buffers, ports. Where the node is isolated its host prepares and
 * makes the state. On failure srv_occupant_finish drops it all.
 */
enum oto_status srv_occupant_make(struct srv_occupant *occupant, const struct oto_setup *setup,
                                  const struct srv_node_config *config, uint32_t first_channel,
                                  struct oto_error *error);
/* [loop] False: a library stays mapped. Zeroed is allowed. */
bool srv_occupant_finish(struct srv_occupant *occupant);

/* [tick] Each takes the other's place. */
void srv_occupant_exchange(struct srv_node *node, struct srv_occupant *occupant);

#endif
