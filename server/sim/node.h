/*
 * A node: a sensor, motion or estimator of a vehicle, with its instance, channels and schedule. Made, described and dropped
 * by the main thread [loop]; stepped and changed by the tick thread [tick].
 */
#ifndef SRV_HOST_NODE_H
#define SRV_HOST_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/schedule.h"
#include "world/world_config.h"
#include "sim/fault.h"
#include "sim/inputs.h"
#include "sim/instance.h"
#include "sim/store.h"

struct srv_member; /* world/isolated.h */
struct srv_fifo;   /* host/fifo.h */

struct srv_change;
struct srv_runner; /* sim/runner.h */

struct srv_node {
    /* read by each step */
    uint32_t index;
    uint32_t vehicle; /* index */
    bool labelled; /* there is a channel of fault labels, after those of the ports */
    bool is_estimator; /* stepped after all sensors of the tick */
    uint32_t estimators_before; /* estimators that are stepped before this one */
    const struct srv_runner *runner;
    struct oto_setup *setup; /* fixed */
    struct {
        bool made;      /* the sample of this turn is made already (server/sim/batch.c) */
        uint32_t said;  /* by its step */
        uint32_t flags; /* of its input */
    } ahead;
    struct srv_schedule schedule; /* instants of samples; at the next one */
    struct srv_due due;    /* the tick of the next sample */
    struct srv_fault *faults; /* that wait or are active, in the order in which they came; mostly none */
    struct srv_ring label_ring;
    uint32_t label_channel;
    struct srv_fifo *fifo; /* where samples wait to be handed out together (host/fifo.h), mostly NULL */
    struct srv_member *member; /* NULL: it runs in this process */
    struct srv_instance live; /* what the node runs */
    /* changed at boundaries */
    uint64_t revision; /* changes applied so far */
    uint32_t generation; /* swaps applied so far, and those taken back */
    struct srv_change *trial; /* two plugins are kept in step (server/sim/swap.c), or NULL */
    struct srv_ring silent[OTO_PLUGIN_MAX_PORTS]; /* of channels that no port fills, for estimators that listen */
    struct srv_inputs inputs; /* of an estimator */
    /* fixed */
    uint32_t first_channel, channel_count; /* in the directory, the label's not counted */
    const struct srv_node_config *config;
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

/*
 * [tick] Joins the ports to their rings, after the segment was made, or when they take channels over from the ports
 * `before`, which were joined and filled them until now.
 */
void srv_node_join_rings(struct srv_node *node, const struct srv_store *store, const struct srv_port *before,
                         uint32_t before_count);
/*
 * [loop] Wakes the channels that a plugin with these parameters will fill in the place of a node: before they reach the
 * tick thread, which reserves nothing. OTO_NO_MEMORY.
 */
enum oto_status srv_ports_wake(const struct oto_plugin_descriptor *descriptor, const struct srv_node_config *config,
                               uint32_t first_channel, const struct oto_params *params,
                               const struct srv_store *store, struct oto_error *error);
/* [tick] Reads which ports the parameters enable, and shows it in the directory; a channel without a port is silent. */
void srv_node_update_ports(struct srv_node *node, struct oto_segment_channel *directory);

#endif
