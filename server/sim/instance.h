/*
 * An instance: one plugin with the parameters, prepared data, state and outputs that the host owns for it (A14). Each node
 * has one; a swap makes a second one and exchanges the two at a boundary; the tools and tests that run a plugin without a
 * world make one too. Made and dropped [loop], stepped and changed by one thread at a time [tick].
 */
#ifndef SRV_SIM_INSTANCE_H
#define SRV_SIM_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/finite.h"
#include "plugin/host.h"
#include "sim/writer.h"

#define SRV_STATE_ALIGN 64u
#define SRV_NO_CHANNEL UINT32_MAX

/* One output of an instance and its channel. */
struct srv_port {
    struct srv_ring ring;
    const struct oto_float_run *runs;
    uint32_t run_count;
    uint32_t payload_bytes;
    uint32_t channel;       /* index in the directory; SRV_NO_CHANNEL: its records are dropped */
    uint32_t enable_offset; /* into the parameter block, or OTO_PORT_ALWAYS */
    bool enabled;
    bool was_finite; /* of the last record */
};

struct srv_instance {
    /* read by each step */
    struct oto_instance abi; /* what the plugin's operations get */
    enum oto_step_status (*step)(const struct oto_instance *, const struct oto_step *);
    enum oto_step_status (*evaluate)(const struct oto_instance *, struct oto_instant, struct oto_truth_record *);
    uint32_t motion_flags;
    uint32_t port_count;
    uint32_t ports_used; /* up to the last enabled one: a step passes over the others */
    bool quarantined;
    bool fatal; /* its step said FATAL in this tick */
    uint64_t state_bytes;  /* of the descriptor */
    uint64_t hashed_bytes; /* rounded up to whole words; the rest is zero */
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    struct srv_port ports[OTO_PLUGIN_MAX_PORTS];
    /* read at boundaries */
    struct oto_plugin *plugin; /* held */
    const struct oto_plugin_descriptor *descriptor;
    const struct oto_plugin_ops *ops;
    struct oto_params params;
    struct oto_prepared prepared;
    struct oto_setup *own_setup; /* of a plugin with another part or unit than the node's; NULL: the node's setup */
    unsigned char *payloads;     /* one buffer for all ports */
    struct oto_float_run *runs;  /* of all ports */
};

/* Where an instance is to run. */
struct srv_instance_place {
    const struct oto_setup *setup; /* outlives the instance; the instance's own_setup stands in front of it */
    const struct oto_plugin_descriptor *channels; /* the plugin whose ports are the channels; NULL: its own */
    uint32_t first_channel;
    bool remote; /* a plugin host prepares it and makes its state */
    oto_warn_function warn;
    void *warn_context;
};

/* Takes over a held plugin, whose first code has run unless it runs in a plugin host, and reads its tables. */
void srv_instance_bind(struct srv_instance *instance, struct oto_plugin *plugin);
/*
 * [loop] Completes an instance that is bound and has its params: memory for state and outputs, prepare, init. On failure
 * srv_instance_finish drops what is there.
 */
enum oto_status srv_instance_make(struct srv_instance *instance, const struct srv_instance_place *place,
                                  struct oto_error *error);
/* [loop] Prepares and makes the initial state again in the same memory, for a setup or parameters that have changed. */
enum oto_status srv_instance_renew(struct srv_instance *instance, oto_warn_function warn, void *warn_context,
                                   struct oto_error *error);
/* [loop] Zeroed is allowed. False: the plugin's library stays mapped. */
bool srv_instance_finish(struct srv_instance *instance);
/*
 * [tick] One step of an instance that no world runs, with its outputs cleared before. A sensor has `sensor`, an estimator
 * `estimator`, a motion neither.
 */
enum oto_step_status srv_instance_step(struct srv_instance *instance, uint64_t tick, uint64_t n, struct oto_instant at,
                                       const struct oto_sensor_step *sensor, const struct oto_estimator_step *estimator);
/* [tick] Each takes the other's place. */
void srv_instance_exchange(struct srv_instance *one, struct srv_instance *other);

/* [tick] Zeroes the payloads of enabled ports and fills the outputs as a step finds them. */
void srv_outputs_clear(struct oto_output *outputs, const struct srv_port *ports, uint32_t count, int64_t t_ns);
/* The channel that a port fills, found by name and record type; SRV_NO_CHANNEL: none. */
uint32_t srv_port_channel(const struct oto_port *port, const struct oto_plugin_descriptor *channels,
                          uint32_t first_channel);
bool srv_port_is_on(uint32_t enable_offset, const struct oto_params *params);
/* [tick] Reads which ports the parameters enable. */
void srv_instance_enable_ports(struct srv_instance *instance);

/* Zeroed memory for a state, aligned and rounded up; NULL when out of memory. free() drops it. */
void *srv_state_alloc(uint64_t bytes);
uint64_t srv_state_rounded(uint64_t bytes);

#endif
