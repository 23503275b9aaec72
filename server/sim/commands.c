/* Commands that change the world, each at a tick boundary. [tick] */
#include <math.h>
#include <string.h>

#include "sim/checkpoint.h"
#include "sim/sim.h"

/* Applies a command at a boundary and fills status and reason of the reply. False: the reply comes later. */
typedef bool apply_function(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply);

/* The change of the command if it is of this kind and of this world; otherwise NULL, and *reply refuses. */
static struct srv_change *change_of(struct srv_sim *sim, const struct srv_command *command, bool swap,
                                    struct srv_reply *reply)
{
    struct srv_change *change = (struct srv_change *)(void *)command->change;
    if (change == NULL || change->open.node >= sim->node_count || change->open.swap != swap) {
        (void)srv_reply_refuse(reply, OTO_INVALID, "the change is not one of a node of this world");
        return NULL;
    }
    return change;
}

void srv_reply_show_node(const struct srv_node *node, struct srv_reply *reply)
{
    reply->plugin = node->live.plugin;
    reply->params = node->live.params;
    reply->own_setup = node->live.own_setup;
    reply->revision = node->revision;
}

static bool apply_params(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(sim, command, false, reply);
    if (change == NULL) {
        return true;
    }
    struct srv_node *node = &sim->nodes[change->open.node];
    srv_assert_tick_thread(sim);
    reply->status = node->runner->apply(sim, node, change, &reply->reason);
    if (reply->status != OTO_OK) {
        return true;
    }
    srv_node_update_ports(node, sim->store.directory);
    srv_reply_show_node(node, reply);
    srv_count(sim, OTO_COUNTER_PARAMETER_CHANGES, 1);
    srv_event_write(sim, OTO_EVENT_PARAMETER, 0, (int64_t)node->revision, node->topic, change->text);
    return true;
}

static bool apply_swap(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(sim, command, true, reply);
    return change == NULL || srv_trial_begin(sim, &sim->nodes[change->open.node], change, reply);
}

static bool apply_snapshot(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(sim, command, true, reply);
    if (change == NULL) {
        return true;
    }
    const struct srv_node *node = &sim->nodes[change->open.node];
    if (change->revision != node->revision || change->snapshot == NULL) {
        return srv_reply_refuse(reply, OTO_CONFLICT, "another change of this node was applied meanwhile; ask again");
    }
    memcpy(change->snapshot, node->live.abi.state, node->live.state_bytes);
    change->truth = sim->vehicles[node->config->vehicle].truth;
    change->at = srv_schedule_at(&sim->schedule);
    return true;
}

static bool apply_settle(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_change *change = change_of(sim, command, true, reply);
    return change == NULL || srv_trial_settle(sim, change, reply);
}

static bool apply_cancel(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    if (command->node >= sim->node_count) {
        return srv_reply_refuse(reply, OTO_INVALID, "there is no such node");
    }
    srv_trial_cancel(sim, &sim->nodes[command->node], reply);
    return true;
}

static bool apply_undo(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    if (command->node >= sim->node_count) {
        return srv_reply_refuse(reply, OTO_INVALID, "there is no such node");
    }
    srv_trial_undo(sim, &sim->nodes[command->node], reply);
    return true;
}

static void take_retired(struct srv_sim *sim, struct srv_reply *reply)
{
    reply->faults = sim->retired_faults;
    sim->retired_faults = NULL;
}

static bool apply_fault(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    take_retired(sim, reply);
    reply->status = srv_fault_begin(sim, command->fault, &reply->reason);
    if (reply->status != OTO_OK) {
        command->fault->next = reply->faults;
        reply->faults = command->fault;
    }
    return true;
}

static bool apply_clear_faults(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    reply->status = srv_fault_clear(sim, command->node, command->fault_id, &reply->reason);
    take_retired(sim, reply);
    return true;
}

static bool apply_save(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    struct srv_snapshot *snapshot = command->snapshot;
    const char *reason = NULL;
    if (sim->remote != NULL) {
        sim->remote->collect(sim); /* the answers of async hosts that are still missing belong to this boundary */
    }
    const enum oto_status refusal = srv_checkpoint_refusal(sim, &reason);
    if (refusal != OTO_OK) {
        return srv_reply_refuse(reply, refusal, reason);
    }
    const int64_t start_ns = srv_sim_now_ns(sim);
    snapshot->tick = sim->tick;
    snapshot->chain = sim->chain;
    snapshot->bytes = srv_checkpoint_save(sim, snapshot->data, snapshot->capacity);
    snapshot->stall_ns = srv_sim_now_ns(sim) - start_ns;
    return snapshot->bytes <= snapshot->capacity ? true : srv_reply_refuse(reply, OTO_LIMIT, "the world's state takes more room");
}

static bool apply_event(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    struct oto_event_record event = command->event;
    (void)reply;
    event.source[sizeof event.source - 1] = '\0';
    event.text[sizeof event.text - 1] = '\0';
    srv_event_push(sim, &event);
    return true;
}

static apply_function *const verbs[] = {
    [SRV_COMMAND_PARAMS] = apply_params,     [SRV_COMMAND_SWAP] = apply_swap,
    [SRV_COMMAND_EVENT] = apply_event,       [SRV_COMMAND_FAULT] = apply_fault,
    [SRV_COMMAND_CLEAR_FAULTS] = apply_clear_faults, [SRV_COMMAND_SNAPSHOT] = apply_snapshot,
    [SRV_COMMAND_SETTLE] = apply_settle,     [SRV_COMMAND_CANCEL] = apply_cancel,
    [SRV_COMMAND_UNDO] = apply_undo,         [SRV_COMMAND_SAVE] = apply_save,
};

bool srv_sim_apply(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply)
{
    return verbs[command->kind](sim, command, reply);
}

void srv_sim_give_truth(struct srv_sim *sim, uint32_t index, const struct srv_external_input *input)
{
    const struct srv_vehicle *vehicle = &sim->vehicles[index];
    if (input == NULL) {
        srv_external_hold(&vehicle->motion->live.abi);
        srv_count(sim, OTO_COUNTER_PARTICIPANT_HELD, 1);
    } else {
        srv_external_give(&vehicle->motion->live.abi, &vehicle->truth, input);
    }
}

void srv_sim_give_controls(struct srv_sim *sim, uint32_t index, const double *values)
{
    srv_runner_control(sim, sim->vehicles[index].motion, values);
}

bool srv_controls_are_finite(const double *values)
{
    bool finite = true;
    for (uint32_t i = 0; i < OTO_CONTROLS; i++) {
        finite = finite && isfinite(values[i]);
    }
    return finite;
}
