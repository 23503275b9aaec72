/* What the parts of a trial share (trial.c, trial_step.c, trial_history.c). [tick] */
#ifndef SRV_WORLD_TRIAL_PRIVATE_H
#define SRV_WORLD_TRIAL_PRIVATE_H

#include "world/engine_private.h"

static inline struct srv_vehicle *srv_trial_vehicle(struct srv_engine *engine, const struct srv_node *node)
{
    return &engine->vehicles[node->config->vehicle];
}

/* Ends a probation: the plugin before is live again. `why`: static text. */
void srv_trial_roll_back(struct srv_engine *engine, struct srv_node *node, const char *why);

/*
 * Fills the history of the node's vehicle from the boundary of the begin backwards, some at each boundary, and what came
 * since. True: a second is there.
 */
bool srv_trial_fill(struct srv_engine *engine, struct srv_node *node, struct srv_change *change);

#endif
