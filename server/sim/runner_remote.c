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

/* ---- beside the steps: where the instance of a node lives ---- */

static void give_controls(struct srv_instance *instance, const double *values)
{
    const struct oto_control_extension *control = oto_plugin_control(instance->plugin);
    if (control != NULL) {
        control->control(&instance->abi, values, OTO_CONTROLS);
        srv_instance_settle(instance);
    }
}

void srv_runner_control(struct srv_sim *sim, struct srv_node *motion, const double *values)
{
    if (motion->member != NULL) {
        sim->remote->control(sim, motion->member, values);
        return;
    }
    give_controls(&motion->live, values);
    if (motion->trial != NULL) {
        give_controls(&motion->trial->instance, values);
    }
}

struct srv_sample *srv_runner_waiting(const struct srv_sim *sim, const struct srv_node *node)
{
    return node->member != NULL ? sim->remote->waiting(node->member) : NULL;
}

const char *srv_runner_refuse_swaps(const struct srv_node *node)
{
    if (srv_external_is(node->config->plugin)) {
        return "is moved by a participant: it has no plugin that could be swapped";
    }
    return node->member != NULL && oto_plugin_motion(node->config->plugin) != NULL
               ? "is a motion in a plugin host, where motions are not swapped; without `isolation` it is accepted"
               : NULL;
}

/* Binds and prepares a new parameter of an instance in this process. */
static enum oto_status make_parameter(const struct srv_change_base *base, const char *key, const char *yaml,
                                      struct srv_node_change **change, struct oto_error *error)
{
    enum oto_status status = srv_change_bind_parameter(base, key, yaml, change, error);
    if (status == OTO_OK) {
        status = srv_instance_prepare(&((struct srv_change *)(void *)*change)->instance, NULL, NULL, error);
    }
    if (status != OTO_OK) {
        (void)srv_change_free(*change);
        *change = NULL;
    }
    return status;
}

enum oto_status srv_runner_make_parameter(const struct srv_sim *sim, const struct srv_change_base *base, const char *key,
                                          const char *yaml, struct srv_node_change **change, struct oto_error *error)
{
    struct srv_member *member = sim->nodes[base->node].member;
    return member != NULL ? sim->remote->make_parameter(member, base, key, yaml, change, error)
                          : make_parameter(base, key, yaml, change, error);
}

enum oto_status srv_runner_make_candidate(const struct srv_sim *sim, const struct srv_change_base *base, struct srv_change *change,
                                          struct oto_error *error)
{
    struct srv_member *member = sim->nodes[base->node].member;
    return member != NULL ? sim->remote->make_candidate(member, base, change, error)
                          : srv_change_ready(base, change, false, error);
}

const char *srv_runner_swap_conflict(const struct srv_sim *sim, const struct srv_node *node, struct srv_change *change)
{
    return node->member != NULL ? sim->remote->swap_conflict(node->member, change) : NULL;
}

enum oto_status srv_runner_take_state(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason)
{
    return node->member != NULL ? sim->remote->take_over(sim, node->member, change, reason)
                                : srv_change_take_state(node, change, &srv_trial_vehicle(sim, node)->truth,
                                                        srv_schedule_at(&sim->schedule), reason);
}

void srv_runner_flip(const struct srv_sim *sim, struct srv_node *node, struct srv_change *change)
{
    srv_change_flip(node, change);
    if (node->member != NULL) {
        sim->remote->flip(node->member, change);
    }
}

void srv_runner_settle(struct srv_sim *sim, struct srv_node *node, const struct srv_change *change)
{
    if (node->member != NULL) {
        sim->remote->settle(sim, node->member, change);
    }
}

void srv_runner_keep_candidate(struct srv_sim *sim, struct srv_node *node)
{
    if (node->member != NULL) {
        sim->remote->keep_candidate(sim, node->member);
    }
}

void srv_runner_drop_candidate(const struct srv_sim *sim, const struct srv_node *node)
{
    if (node->member != NULL) {
        sim->remote->drop_candidate(node->member);
    }
}
