/*
 * Runners: where the steps of a node are made. The tick knows when a node has its turn; the runner alone knows how it gets
 * its records:
 *
 *   direct  here, one instance
 *   batch   here, together with instances of the same plugin that are due in the same tick
 *   pair    here, two plugins in step during a swap: the live one, and its candidate or the previous one
 *   remote  in a plugin host (sim/remote.h); all hosts are asked before the first answer is awaited
 *
 * The truth that a participant or a replay gives needs no runner of its own: it is the state of an instance
 * (sim/external.h), which a direct runner steps. All functions are [tick].
 */
#ifndef SRV_SIM_RUNNER_H
#define SRV_SIM_RUNNER_H

#include <stdint.h>

#include "otolith/plugin.h"

struct srv_sim;
struct srv_vehicle;
struct srv_node;
struct srv_change;

struct srv_runner {
    /* Sensors and estimators: at the node's place, makes or awaits the records that are due in the tick, and publishes them. */
    void (*take)(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick);
    /* Motions: one tick, and the truth at its end into the vehicle; *flags gets the flags of that truth. */
    void (*move)(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step, uint32_t *flags);
    /* Motions: the truth at an instant. */
    enum oto_step_status (*evaluate)(struct srv_sim *sim, struct srv_node *motion, struct oto_instant at,
                                     struct oto_truth_record *truth);
    /* Motions: a sensor's sample has read the truth `lag_ns` before its own instant. NULL: of no interest. */
    void (*looked_back)(struct srv_sim *sim, struct srv_node *motion, const struct srv_node *sensor, double lag_ns);
    /* New parameters at a boundary. On OTO_OK the change holds what was replaced; otherwise *reason tells why not. */
    enum oto_status (*apply)(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason);
};

extern const struct srv_runner srv_runner_direct, srv_runner_batch, srv_runner_pair, srv_runner_remote;

/* Chooses the node's runner: once it is made, and whenever a swap of it begins or ends. */
void srv_node_choose_runner(const struct srv_sim *sim, struct srv_node *node);

#endif
