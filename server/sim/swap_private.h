/* Shared by the files of a swap in progress (swap.c, runner_pair.c). [tick] */
#ifndef SRV_WORLD_TRIAL_PRIVATE_H
#define SRV_WORLD_TRIAL_PRIVATE_H

#include "sim/sim.h"

static inline struct srv_vehicle *srv_trial_vehicle(struct srv_sim *sim, const struct srv_node *node)
{
    return &sim->vehicles[node->config->vehicle];
}

/* One of the two plugins of a node during a swap, with what its steps use and change. */
struct srv_pair_side {
    const struct oto_instance *instance;
    enum oto_step_status (*step)(const struct oto_instance *, const struct oto_step *);
    struct oto_output *outputs;
    struct srv_port *ports;
    uint32_t port_count;
    bool *quarantined;
    uint64_t *heard, *hears; /* an isolated estimator: its cursors now, and after the requested step is part of its state */
    const struct srv_sample *answer; /* answer of its plugin host for this sample; NULL: it runs in this process */
};
struct srv_pair_side srv_pair_live(const struct srv_sim *sim, struct srv_node *node);
struct srv_pair_side srv_pair_beside(const struct srv_sim *sim, struct srv_node *node); /* a swap is in progress */
/* Of an isolated node: the plugin that runs in the host of its group, not the candidate, which has a host of its own. */
struct srv_pair_side srv_pair_resident(const struct srv_sim *sim, struct srv_node *node);

/* Ends a probation by a roll-back: the previous plugin is live again. `why`: static text. */
void srv_trial_roll_back(struct srv_sim *sim, struct srv_node *node, const char *why);

#endif
