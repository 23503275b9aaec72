/*
 * Runners: the ways to execute the steps of a node. The tick knows when a node is due; the runner knows how to get its
 * records:
 *
 *   direct  one instance in this process
 *   batch   in this process, together with due instances of the same plugin
 *   pair    in this process, two plugins during a swap: the live one, and the candidate or the previous one
 *   remote  in a plugin host (sim/remote.h); all hosts get their requests before the tick waits for the first answer
 *
 * A truth from a participant or a replay needs no runner of its own: it is the state of an instance (sim/external.h), which
 * the direct runner steps. All functions are [tick].
 */
#ifndef SRV_SIM_RUNNER_H
#define SRV_SIM_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/plugin.h"

struct srv_sim;
struct srv_vehicle;
struct srv_node;
struct srv_change;
struct srv_change_base;
struct srv_node_change;
struct srv_sample;

struct srv_runner {
    /*
     * Sensors and estimators, at the node's position in the order: makes or awaits the records that are due in this tick,
     * and publishes them.
     */
    void (*take)(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick);
    /* Motions: makes one tick and writes the truth at its end to the vehicle; *flags gets the flags of that truth. */
    void (*move)(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step, uint32_t *flags);
    /* Motions: the truth at an instant. */
    enum oto_step_status (*evaluate)(struct srv_sim *sim, struct srv_node *motion, struct oto_instant at,
                                     struct oto_truth_record *truth);
    /* Motions: notes that a sensor read the truth `lag_ns` before its sample. NULL: the runner does not need it. */
    void (*looked_back)(struct srv_sim *sim, struct srv_node *motion, const struct srv_node *sensor, double lag_ns);
    /* Applies new parameters at a boundary. On OTO_OK the change then holds the replaced ones; otherwise *reason is set. */
    enum oto_status (*apply)(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason);
};

extern const struct srv_runner srv_runner_direct, srv_runner_batch, srv_runner_pair, srv_runner_remote;

/*
 * What happens beside the steps of a node: in its plugin host if it has one, else in this process. Operations without an
 * effect on nodes in this process do nothing for them.
 */
void srv_runner_control(struct srv_sim *sim, struct srv_node *motion, const double *values); /* controls of a motion */
/* The sample that waits for the next tick; NULL: the node publishes its samples in their own tick. */
struct srv_sample *srv_runner_waiting(const struct srv_sim *sim, const struct srv_node *node);
/* Swaps, in the order in which swap.c calls them. The first three may be called while the node runs. [loop] */
const char *srv_runner_refuse_swaps(const struct srv_node *node); /* why no plugin of the node can be swapped; NULL: one can */
enum oto_status srv_runner_make_parameter(const struct srv_sim *sim, const struct srv_change_base *base, const char *key,
                                          const char *yaml, struct srv_node_change **change, struct oto_error *error);
enum oto_status srv_runner_make_candidate(const struct srv_sim *sim, const struct srv_change_base *base, struct srv_change *change,
                                          struct oto_error *error);
const char *srv_runner_swap_conflict(const struct srv_sim *sim, const struct srv_node *node, struct srv_change *change);
enum oto_status srv_runner_take_state(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason);
void srv_runner_flip(const struct srv_sim *sim, struct srv_node *node, struct srv_change *change);
void srv_runner_settle(struct srv_sim *sim, struct srv_node *node, const struct srv_change *change);
void srv_runner_keep_candidate(struct srv_sim *sim, struct srv_node *node);
void srv_runner_drop_candidate(const struct srv_sim *sim, const struct srv_node *node);

/* Chooses the node's runner: after the node was made, and whenever a swap of the node begins or ends. */
void srv_node_choose_runner(const struct srv_sim *sim, struct srv_node *node);

#endif
