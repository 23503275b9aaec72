/* The remote runner: the node's instance lives in a plugin host, behind sim->remote. [tick] */
#include "sim/sim.h"
#include "sim/swap_private.h"

/* Requests the step of an estimator, now that the estimators that it reads have published. */
static void ask_estimator(struct srv_sim *sim, struct srv_node *node, uint64_t tick)
{
    if (srv_due_tick(&node->due) != tick) {
        return;
    }
    if (*srv_pair_resident(sim, node).quarantined) {
        srv_inputs_skip(&node->inputs);
    }
    if (!sim->remote->was_asked(node->member)) {
        sim->remote->ask(sim, node->member, tick, node->estimators_before);
    }
}

static void take(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick)
{
    (void)vehicle;
    if (node->is_estimator) {
        ask_estimator(sim, node, tick);
    }
    sim->remote->take(sim, node->member, tick);
}

static void move(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step, uint32_t *flags)
{
    uint32_t status;
    vehicle->stale = true;
    if (sim->remote->move(sim, vehicle->motion->member, &status)) {
        srv_motion_finish(sim, vehicle, step->at, srv_node_account(sim, vehicle->motion, status), flags);
    }
}

/* If the host does not answer there is no truth (DISCARD); the motion is not quarantined for that. */
static enum oto_step_status evaluate(struct srv_sim *sim, struct srv_node *motion, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    enum oto_step_status status = OTO_STEP_DISCARD;
    return sim->remote->evaluate(sim, motion->member, at, truth, &status) ? status : OTO_STEP_DISCARD;
}

static void looked_back(struct srv_sim *sim, struct srv_node *motion, const struct srv_node *sensor, double lag_ns)
{
    sim->remote->note_past(motion->member, sensor, lag_ns);
}

static enum oto_status apply(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason)
{
    return node->trial != NULL ? srv_runner_pair.apply(sim, node, change, reason)
                               : sim->remote->apply(sim, node->member, change, reason);
}

const struct srv_runner srv_runner_remote = {
    .take = take, .move = move, .evaluate = evaluate, .looked_back = looked_back, .apply = apply};
