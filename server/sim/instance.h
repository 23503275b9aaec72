/*
 * An instance: one plugin with the parameters, prepared data, state and outputs that the host owns for it (A14). Each node
 * has one; a swap makes a second one and exchanges the two at a boundary; the tools and tests that run a plugin without a
 * world make one too. Instances are made and freed [loop], and stepped and changed by one thread at a time [tick].
 */
#ifndef SRV_SIM_INSTANCE_H
#define SRV_SIM_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/finite.h"
#include "plugin/host.h"
#include "sim/state_hash.h"
#include "sim/ring_writer.h"

#define SRV_STATE_ALIGN 64u
#define SRV_NO_CHANNEL UINT32_MAX

/* One output of an instance and its channel. */
struct srv_port {
    struct srv_ring ring;
    const struct oto_float_run *runs;
    uint32_t run_count;
    uint32_t payload_bytes;
    uint32_t channel;       /* index in the segment directory; SRV_NO_CHANNEL: the port's records are dropped */
    uint32_t enable_offset; /* offset in the parameter block, or OTO_PORT_ALWAYS */
    bool enabled;
    bool was_finite; /* the last record was finite */
};

struct srv_instance {
    /* read by each step */
    struct oto_instance abi; /* the struct that the plugin's operations get */
    const struct oto_plugin_ops *ops;
    enum oto_step_status (*step)(const struct oto_instance *, const struct oto_step *);
    enum oto_step_status (*evaluate)(const struct oto_instance *, struct oto_instant, struct oto_truth_record *);
    uint32_t motion_flags;
    uint32_t port_count;
    uint32_t ports_used; /* ports up to the last enabled one; the others are not looked at in a step */
    bool quarantined;
    bool fatal; /* a step returned FATAL in this tick */
    uint64_t state_bytes;  /* of the descriptor */
    uint64_t hashed_bytes; /* state_bytes rounded up to SRV_STATE_ALIGN; the rest is zero */
    uint64_t read_bytes;   /* the first part of these that a step can change; `rest` has the hash of the others */
    uint64_t rest[SRV_HASH_LANES];
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    struct srv_port ports[OTO_PLUGIN_MAX_PORTS];
    /* read at boundaries only */
    struct oto_plugin *plugin; /* held */
    const struct oto_plugin_descriptor *descriptor;
    struct oto_params params;
    struct oto_prepared prepared;
    struct oto_setup *own_setup; /* setup of a plugin whose part or unit differs from the node's; NULL: the node's setup applies */
    unsigned char *payloads;     /* one buffer for all ports */
    struct oto_float_run *runs;  /* of all ports */
};

/* The node, or other place, in which an instance will run. */
struct srv_instance_place {
    const struct oto_setup *setup; /* must outlive the instance; the instance's own_setup replaces it */
    const struct oto_plugin_descriptor *channels; /* the plugin whose ports define the channels; NULL: the instance's own plugin */
    uint32_t first_channel;
    bool prepared_later; /* only allocate; a plugin host prepares the instance and makes its state */
    oto_warn_function warn;
    void *warn_context;
};

/*
 * Takes the caller's reference to the plugin and reads the plugin's tables. The plugin must have begun (oto_plugin_begin),
 * unless it runs in a plugin host.
 */
void srv_instance_bind(struct srv_instance *instance, struct oto_plugin *plugin);
/*
 * [loop] Completes an instance that is bound and has its parameters: allocates state and outputs, calls prepare and init.
 * After a failure call srv_instance_finish.
 */
enum oto_status srv_instance_make(struct srv_instance *instance, const struct srv_instance_place *place,
                                  struct oto_error *error);
/* [loop] Calls prepare, with `abi.setup` and `params`, and frees what an earlier call has prepared. */
enum oto_status srv_instance_prepare(struct srv_instance *instance, oto_warn_function warn, void *warn_context,
                                     struct oto_error *error);
/* [loop] Calls init on a zeroed state. */
enum oto_status srv_instance_init(struct srv_instance *instance, struct oto_error *error);
/* [loop] Calls prepare and init again in the same memory, after the setup or the parameters have changed. */
enum oto_status srv_instance_renew(struct srv_instance *instance, oto_warn_function warn, void *warn_context,
                                   struct oto_error *error);
/* [loop] Frees an instance; a zeroed one is allowed. False: the plugin's library stays mapped. */
bool srv_instance_finish(struct srv_instance *instance);
/*
 * [tick] Clears the outputs and makes one step of an instance outside a world. Set `sensor` for a sensor, `estimator` for
 * an estimator, and neither for a motion.
 */
enum oto_step_status srv_instance_step(struct srv_instance *instance, uint64_t tick, uint64_t n, struct oto_instant at,
                                       const struct oto_sensor_step *sensor, const struct oto_estimator_step *estimator);
/* [tick] Hashes the part of the state that steps do not change. Call whenever anything but a step has written the state. */
void srv_instance_settle(struct srv_instance *instance);
/* [tick] Exchanges two instances. */
void srv_instance_exchange(struct srv_instance *one, struct srv_instance *other);

/* [tick] Prepares the outputs for a step: zeroes the payloads of enabled ports and sets times, flags and emit. */
void srv_outputs_clear(struct oto_output *outputs, const struct srv_port *ports, uint32_t count, int64_t t_ns);
/* The channel that a port fills: the one with its name and record type; SRV_NO_CHANNEL: none. */
uint32_t srv_port_channel(const struct oto_port *port, const struct oto_plugin_descriptor *channels,
                          uint32_t first_channel);
bool srv_port_is_on(uint32_t enable_offset, const struct oto_params *params);
/* [tick] Updates `enabled` of each port from the parameters. */
void srv_instance_enable_ports(struct srv_instance *instance);

/* Allocates a zeroed state, aligned, with its size rounded up; NULL when out of memory. free() releases it. */
void *srv_state_alloc(uint64_t bytes);
uint64_t srv_state_rounded(uint64_t bytes);

#endif
