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

struct srv_member; /* isolate/isolated.h */
struct srv_fifo;   /* sim/fifo.h */

struct srv_change;
struct srv_runner; /* sim/runner.h */

struct srv_node {
    /* read by each step */
    _Alignas(SRV_STATE_ALIGN) uint32_t index;
    uint32_t vehicle; /* index */
    bool labelled; /* the node has a channel of fault labels, after the channels of its ports */
    bool is_estimator; /* stepped after all sensors of the tick */
    uint32_t estimators_before; /* number of estimators that are stepped before this one */
    const struct srv_runner *runner;
    struct oto_setup *setup; /* fixed */
    struct srv_fault *faults; /* faults that wait or are active, in the order in which they were added; usually NULL */
    struct srv_fifo *fifo; /* samples that wait to be published at once (fifo.h); usually NULL */
    struct srv_due due;    /* the tick of the next sample */
    struct srv_schedule schedule; /* instants of the samples; stands at the next sample */
    struct {
        bool made;      /* the sample that is due was already made by a batch (runner_batch.c) */
        uint32_t said;  /* status that the step returned */
        uint32_t flags; /* flags of the sample's truth */
    } ahead;
    struct srv_instance live; /* the instance that publishes */
    /* read where there are faults, plugin hosts or estimators, and at boundaries */
    struct srv_ring label_ring;
    uint32_t label_channel;
    struct srv_member *member; /* NULL: the node runs in this process */
    const char *unsaved; /* why no checkpoint can hold its state; NULL: one can */
    uint64_t revision; /* number of changes applied so far */
    uint32_t generation; /* number of swaps and roll-backs so far */
    struct srv_change *trial; /* the swap in progress, during which two plugins are stepped; or NULL */
    struct srv_ring silent[OTO_PLUGIN_MAX_PORTS]; /* rings of channels that no port fills, for estimators that read them */
    struct srv_inputs inputs; /* used by estimators */
    /* fixed */
    uint32_t first_channel, channel_count; /* in the segment directory; without the channel of labels */
    const struct srv_node_config *config;
    char topic[OTO_TOPIC_BYTES]; /* "world/vehicle/node" */
};

/* [tick] Moves the node's schedule to its next sample. */
static inline void srv_node_advance(struct srv_node *node)
{
    srv_schedule_advance(&node->schedule);
    srv_due_advance(&node->due);
}

/* Fills the setup that an instance of the node keeps for its life. */
void srv_setup_fill(const struct srv_world_config *world, const struct srv_node_config *node, struct oto_setup *setup);

/*
 * Makes the node's instance: copies the parameters, calls prepare and init. srv_node_attach gives it its channels later. On
 * failure nothing remains allocated.
 */
enum oto_status srv_node_init(const struct srv_world_config *world, uint32_t index, oto_warn_function warn,
                              void *warn_context, struct srv_node *node, struct oto_error *error);
void srv_node_finish(struct srv_node *node); /* NULL and zeroed are allowed */

/* Number of channels of the node: one, the truth, for a motion node, else one for each port. */
uint32_t srv_node_channel_count(const struct srv_node *node);
enum oto_status srv_node_describe(const struct srv_world_config *world, const struct srv_node *node, uint32_t channel,
                                  struct srv_channel_spec *spec, struct oto_error *error);
/* Gives the node its channels: `first_channel` and the following ones. */
void srv_node_attach(struct srv_node *node, const struct srv_store *store, uint32_t first_channel);

/*
 * [tick] Joins the ports to the rings of their channels: after the segment was made (`before` NULL), or after a swap, when
 * they continue the rings of the replaced ports `before`.
 */
void srv_node_join_rings(struct srv_node *node, const struct srv_store *store, const struct srv_port *before,
                         uint32_t before_count);
/*
 * [loop] Reserves memory for the channels that a plugin with these parameters will fill as this node. It is called before
 * the tick thread gets the change, because the tick thread reserves nothing. OTO_NO_MEMORY.
 */
enum oto_status srv_ports_wake(const struct oto_plugin_descriptor *descriptor, const struct srv_node_config *config,
                               uint32_t first_channel, const struct oto_params *params,
                               const struct srv_store *store, struct oto_error *error);
/* [tick] Updates which ports are enabled, and shows it in the segment directory; a channel without a port is silent. */
void srv_node_update_ports(struct srv_node *node, struct oto_segment_channel *directory);

#endif
