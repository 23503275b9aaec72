/* What the parts of a trial share (swap.c, runner_pair.c, swap_history.c). [tick] */
#ifndef SRV_WORLD_TRIAL_PRIVATE_H
#define SRV_WORLD_TRIAL_PRIVATE_H

#include "sim/sim.h"

static inline struct srv_vehicle *srv_trial_vehicle(struct srv_sim *sim, const struct srv_node *node)
{
    return &sim->vehicles[node->config->vehicle];
}

/* A plugin of a node with what its steps are made with and leave: the one that is live, or the other one of a trial. */
struct srv_pair_side {
    const struct oto_instance *instance;
    enum oto_step_status (*step)(const struct oto_instance *, const struct oto_step *);
    struct oto_output *outputs;
    struct srv_port *ports;
    uint32_t port_count;
    bool *quarantined;
    uint64_t *heard, *hears; /* an isolated estimator: its cursors, now and once what was asked for is in its state */
    const struct srv_sample *answer; /* of its plugin host, to what was asked for this sample; NULL: it runs here */
};
struct srv_pair_side srv_pair_live(const struct srv_sim *sim, struct srv_node *node);
struct srv_pair_side srv_pair_beside(const struct srv_sim *sim, struct srv_node *node); /* that has a trial */
/* Of an isolated node: what runs with the others of its group, as opposed to a candidate that has a host of its own. */
struct srv_pair_side srv_pair_resident(const struct srv_sim *sim, struct srv_node *node);

/* Ends a probation: the plugin before is live again. `why`: static text. */
void srv_trial_roll_back(struct srv_sim *sim, struct srv_node *node, const char *why);

/*
 * Fills the history of the node's vehicle from the boundary of the begin backwards, some at each boundary, and what came
 * since. True: a second is there.
 */
bool srv_trial_fill(struct srv_sim *sim, struct srv_node *node, struct srv_change *change);

#endif
