/* Publishes the answers of hosts, each at the node's position in the order of nodes. [tick] */
#include <string.h>

#include "isolate/isolated.h"

void srv_member_keep_last(struct srv_member *member)
{
    const struct srv_node *node = member->node;
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        if (node->live.outputs[i].emit != 0 && node->live.ports[i].enabled) {
            const size_t offset = (size_t)((unsigned char *)node->live.outputs[i].payload - node->live.payloads);
            memcpy(member->last + offset, node->live.outputs[i].payload, node->live.ports[i].payload_bytes);
            member->has_last |= 1u << i;
        }
    }
}

/* Publishes the last payloads at the instant of the missing sample. */
void srv_member_repeat(struct srv_sim *sim, struct srv_member *member, const struct srv_sample *sample)
{
    struct srv_node *node = member->node;
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        const size_t offset = (size_t)((unsigned char *)node->live.outputs[i].payload - node->live.payloads);
        struct oto_output *output = &node->live.outputs[i];
        output->t_ns = output->sensor_time_ns = sample->schedule.t_ns;
        output->flags = OTO_SAMPLE_STALE;
        output->emit = (member->has_last >> i) & 1u;
        memcpy(output->payload, member->last + offset, node->live.ports[i].payload_bytes);
    }
    srv_count(sim, OTO_COUNTER_STALE, 1);
    (void)__atomic_add_fetch(&member->group->stale, 1, __ATOMIC_RELAXED);
    srv_node_absorb(sim, node);
    srv_tick_publish(sim, node, 0);
}

/*
 * Publishes the sample that was requested, as for a node in this process, or repeats the last records if the host did not
 * answer.
 */
static void settle(struct srv_sim *sim, struct srv_member *member, struct srv_sample *sample)
{
    struct srv_node *node = member->node;
    const bool asked = sample->asked;
    sample->asked = false;
    if (!asked || node->live.quarantined) {
        return;
    }
    if (!sample->answered) {
        srv_member_repeat(sim, member, sample);
        return;
    }
    const enum oto_step_status status = srv_node_account(sim, node, sample->status);
    srv_node_absorb(sim, node);
    if (status == OTO_STEP_OK || status == OTO_STEP_WARN) {
        srv_tick_publish(sim, node, sample->flags | (status == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0));
        srv_member_keep_last(member);
    }
}

/* Takes the answers of both hosts of a node with a candidate. */
static void settle_both(struct srv_sim *sim, struct srv_member *member, struct srv_sample *sample,
                        struct srv_sample *candidate, uint64_t tick)
{
    struct srv_node *node = member->node;
    const struct oto_step step =
        oto_step_make(tick, candidate->schedule.n, srv_schedule_at(&candidate->schedule), node->live.outputs);
    sample->asked = candidate->asked = false;
    srv_trial_sample(sim, node, &step, sample->flags | candidate->flags);
}

void srv_member_take(struct srv_sim *sim, struct srv_member *member, uint64_t tick)
{
    struct srv_group *group = member->group;
    struct srv_node *node = member->node;
    struct srv_sample *sample = group->async ? &member->before : &member->now;
    struct srv_sample *candidate = group->async ? &group->trial_before : &group->trial_now;
    const bool is_swapped = group->swapped == member && candidate->asked;
    if (!group->async && (sample->asked || is_swapped)) {
        srv_group_settle(sim, group);
        srv_group_settle_candidate(sim, group);
    }
    /* The published sample keeps the number and instant of its request. */
    const struct srv_schedule next = node->schedule;
    node->schedule = sample->asked ? sample->schedule : is_swapped ? candidate->schedule : next;
    if (is_swapped) {
        settle_both(sim, member, sample, candidate, tick);
    } else {
        settle(sim, member, sample);
    }
    node->schedule = next;
    while (srv_due_tick(&node->due) == tick) {
        srv_schedule_advance(&node->schedule);
        srv_due_advance(&node->due);
    }
}
