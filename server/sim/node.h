/*
 * A node: one instance of a plugin with the memory that the host owns for it (A14). Made, described and dropped by the
 * main thread [loop]; stepped and changed by the tick thread [tick].
 */
#ifndef SRV_HOST_NODE_H
#define SRV_HOST_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/schedule.h"
#include "world/world_config.h"
#include "sim/fault.h"
#include "sim/inputs.h"
#include "plugin/finite.h"
#include "sim/store.h"
#include "sim/writer.h"

#define SRV_STATE_ALIGN 64u

/* One output of a node and its channel. */
struct srv_port {
    struct srv_ring ring;
    const struct oto_float_run *runs;
    uint32_t run_count;
    uint32_t payload_bytes;
    uint32_t channel;       /* index in the directory; SRV_NO_CHANNEL: the port has none, what it says is dropped */
    uint32_t enable_offset; /* into the parameter block, or OTO_PORT_ALWAYS */
    bool enabled;
    bool was_finite; /* of the last record */
};

struct srv_member; /* world/isolated.h */
struct srv_fifo;   /* host/fifo.h */
#define SRV_NO_CHANNEL UINT32_MAX

struct srv_change;
struct srv_runner; /* sim/runner.h */

struct srv_node {
    /* read by each step */
    struct oto_instance instance;
    enum oto_step_status (*step)(const struct oto_instance *, const struct oto_step *);
    enum oto_step_status (*evaluate)(const struct oto_instance *, struct oto_instant, struct oto_truth_record *);
    uint32_t motion_flags;
    uint32_t index;
    uint32_t port_count;
    bool quarantined;
    bool labelled; /* there is a channel of fault labels, after those of the ports */
    struct srv_fault *faults; /* that wait or are active, in the order in which they came; mostly none */
    struct srv_ring label_ring;
    uint32_t label_channel;
    struct srv_fifo *fifo; /* where samples wait to be handed out together (host/fifo.h), mostly NULL */
    bool is_estimator; /* stepped after all sensors of the tick */
    uint32_t estimators_before; /* estimators that are stepped before this one */
    const struct srv_runner *runner;
    struct srv_member *member; /* NULL: it runs in this process */
    uint64_t state_bytes;  /* of the descriptor */
    uint64_t hashed_bytes; /* rounded up to whole words; the rest is zero */
    struct {
        bool made;      /* the sample of this turn is made already (server/sim/batch.c) */
        uint32_t said;  /* by its step */
        uint32_t flags; /* of its input */
    } ahead;
    struct srv_schedule schedule; /* instants of samples; at the next one */
    struct srv_due due;    /* the tick of the next sample */
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    struct srv_port ports[OTO_PLUGIN_MAX_PORTS];
    /* changed at boundaries */
    struct oto_plugin *plugin; /* held */
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_plugin_ops *ops;
    struct oto_params params;
    struct oto_prepared prepared;
    struct oto_setup *own_setup; /* of a plugin that was given another part or unit; NULL: `setup` */
    unsigned char *payloads;     /* one buffer for all ports */
    struct oto_float_run *runs;  /* of all ports */
    uint64_t revision; /* changes applied so far */
    uint32_t generation; /* swaps applied so far, and those taken back */
    struct srv_change *trial; /* two plugins are kept in step (server/sim/swap.c), or NULL */
    struct srv_ring silent[OTO_PLUGIN_MAX_PORTS]; /* of channels that no port fills, for estimators that listen */
    struct srv_inputs inputs; /* of an estimator */
    /* fixed */
    uint32_t first_channel, channel_count; /* in the directory, the label's not counted */
    const struct srv_node_config *config;
    struct oto_setup *setup;
    char topic[OTO_TOPIC_BYTES]; /* "world/vehicle/node" */
};

/* [tick] To the next sample. */
static inline void srv_node_advance(struct srv_node *node)
{
    srv_schedule_advance(&node->schedule);
    srv_due_advance(&node->due);
}

/* Fills the setup that an instance keeps for its life. */
void srv_setup_fill(const struct srv_world_config *world, const struct srv_node_config *node, struct oto_setup *setup);

/*
 * Makes the instance: parameters copied, prepared, state made by init. Its channels come later by srv_node_attach.
 * On failure nothing is left behind.
 */
enum oto_status srv_node_init(const struct srv_world_config *world, uint32_t index, oto_warn_function warn,
                              void *warn_context, struct srv_node *node, struct oto_error *error);
void srv_node_finish(struct srv_node *node); /* NULL and zeroed are allowed */

/* Channels of the node: the truth for a motion node, else its ports. */
uint32_t srv_node_channel_count(const struct srv_node *node);
enum oto_status srv_node_describe(const struct srv_world_config *world, const struct srv_node *node, uint32_t channel,
                                  struct srv_channel_spec *spec, struct oto_error *error);
/* The node's channels are first_channel and those after it. */
void srv_node_attach(struct srv_node *node, const struct srv_store *store, uint32_t first_channel);

/* Points the node at a plugin's operations. */
void srv_node_bind(struct srv_node *node, struct oto_plugin *plugin);

/* Zeroed memory for a state, aligned and rounded up; NULL when out of memory. free() drops it. */
void *srv_state_alloc(uint64_t bytes);
uint64_t srv_state_rounded(uint64_t bytes);

/* [tick] Zeroes the payloads and sets what a step finds in its outputs. */
void srv_outputs_clear(struct oto_output *outputs, const struct srv_port *ports, uint32_t count, int64_t t_ns);
/*
 * Buffers and runs for the ports of a descriptor; the channels are those that `config` was made with, found by name and
 * record type, from first_channel on.
 */
enum oto_status srv_ports_make(const struct oto_plugin_descriptor *descriptor, const struct srv_node_config *config,
                               uint32_t first_channel, struct oto_output *outputs, struct srv_port *ports,
                               unsigned char **payloads, struct oto_float_run **runs, struct oto_error *error);
/*
 * [tick] Joins the ports to their rings, after the segment was made, or when they take channels over from the ports
 * `before`, which were joined and filled them until now.
 */
void srv_node_join_rings(struct srv_node *node, const struct srv_store *store, const struct srv_port *before,
                         uint32_t before_count);
bool srv_port_is_on(uint32_t enable_offset, const struct oto_params *params);
/*
 * [loop] Wakes the channels that a plugin with these parameters will fill in the place of a node: before they reach the
 * tick thread, which reserves nothing. OTO_NO_MEMORY.
 */
enum oto_status srv_ports_wake(const struct oto_plugin_descriptor *descriptor, const struct srv_node_config *config,
                               uint32_t first_channel, const struct oto_params *params,
                               const struct srv_store *store, struct oto_error *error);
/* [tick] Reads which ports the parameters enable. */
void srv_ports_enable(struct srv_port *ports, uint32_t count, const struct oto_params *params);
/* [tick] The same, and says so in the directory; a channel without a port is silent. */
void srv_node_update_ports(struct srv_node *node, struct oto_segment_channel *directory);

#endif
