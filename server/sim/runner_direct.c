/* The direct runner: one instance in this process. [tick] */
#include "base/fpu.h"
#include "sim/sim.h"
#include "sim/swap_private.h"

/* ---- one step ---- */

static inline void prepare_sensor(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node,
                                  struct srv_turn_step *turn)
{
    turn->back = (struct srv_looking_back){sim, vehicle, node, turn->step.at};
    turn->step.sensor = (struct oto_sensor_step){&turn->input, srv_input_at, &turn->back};
    turn->flags = srv_sample_input(sim, vehicle, node, &turn->input);
}

void srv_turn_prepare(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick,
                      struct srv_turn_step *turn)
{
    turn->step = oto_step_make(tick, node->schedule.n, srv_schedule_at(&node->schedule), node->live.outputs);
    turn->flags = 0;
    if (node->is_estimator) {
        srv_estimator_prepare(sim, node, &turn->step);
    } else {
        prepare_sensor(sim, vehicle, node, turn);
    }
}

void srv_node_absorb(struct srv_sim *sim, const struct srv_node *node)
{
    srv_sim_absorb(sim, node->vehicle, node->live.abi.state, node->live.hashed_bytes);
    if (node->is_estimator) {
        srv_estimator_absorb(sim, node);
    }
}

void srv_node_publish(struct srv_sim *sim, struct srv_node *node, enum oto_step_status status, uint32_t flags)
{
    srv_node_absorb(sim, node);
    if (status == OTO_STEP_OK || status == OTO_STEP_WARN) {
        srv_tick_publish(sim, node, flags | (status == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0));
    }
}

void srv_direct_step(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick)
{
    struct srv_turn_step turn;
    srv_turn_prepare(sim, vehicle, node, tick, &turn);
    srv_outputs_clear(node->live.outputs, node->live.ports, node->live.ports_used, turn.step.at.t_ns);
    srv_node_publish(sim, node, srv_node_run(sim, node, &turn.step), turn.flags);
}

/* ---- the runner ---- */

/*
 * Steps a node in each of its samples of this tick. The schedule and inputs of a quarantined node advance too, so that a
 * swap restarts it at the right instant.
 */
static void take(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick)
{
    while (srv_due_tick(&node->due) == tick) {
        if (!node->live.quarantined) {
            srv_direct_step(sim, vehicle, node, tick);
        } else if (node->is_estimator) {
            srv_inputs_skip(&node->inputs);
        }
        srv_node_advance(node);
    }
}

void srv_direct_move(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step, uint32_t *flags)
{
    vehicle->stale = true;
    if (!vehicle->motion->live.quarantined) {
        srv_motion_finish(sim, vehicle, step->at, srv_node_run(sim, vehicle->motion, step), flags);
    }
}

static enum oto_step_status evaluate(struct srv_sim *sim, struct srv_node *motion, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    (void)sim;
    return motion->live.evaluate(&motion->live.abi, at, truth);
}

static enum oto_status apply(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason)
{
    const enum oto_status status = srv_change_apply(node, change, reason);
    (void)sim;
    if (status == OTO_OK && node->live.ops->set_params != NULL && !node->live.quarantined) {
        node->live.ops->set_params(&node->live.abi, change->instance.params.block);
        srv_fpu_pin();
    }
    return status;
}

const struct srv_runner srv_runner_direct = {
    .take = take, .move = srv_direct_move, .evaluate = evaluate, .apply = apply};

void srv_node_choose_runner(const struct srv_sim *sim, struct srv_node *node)
{
    const bool batched = node->live.ops->step_batch != NULL && !node->is_estimator && !sim->single_steps;
    node->runner = node->member != NULL  ? &srv_runner_remote
                   : node->trial != NULL ? &srv_runner_pair
                   : batched             ? &srv_runner_batch
                                         : &srv_runner_direct;
}
