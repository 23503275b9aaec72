/*
 * The swap of an isolated node. The candidate has a host of its own, which also has the other nodes of the group.
 * During shadow and probation only the candidate is stepped there, and the group continues in its old host: the end of
 * the candidate's host affects no other node. When the candidate is accepted, its host becomes that of the group.
 * [tick]
 */
#include <string.h>

#include "isolate/isolated.h"
#include "sim/swap_private.h"

static struct srv_pair_side candidate_of(const struct srv_sim *sim, struct srv_node *node)
{
    return node->trial->trial.phase == SRV_TRIAL_PROBATION ? srv_pair_live(sim, node) : srv_pair_beside(sim, node);
}

const struct srv_sample *srv_member_answer(const struct srv_member *member, bool candidate)
{
    const struct srv_group *group = member->group;
    if (candidate) {
        return group->async ? &group->trial_before : &group->trial_now;
    }
    return group->async ? &member->before : &member->now;
}

/* ---- begin ---- */

const char *srv_member_swap_conflict(const struct srv_member *member, struct srv_change *change)
{
    const struct srv_group *group = member->group;
    const bool follows = group->swapped == member; /* a second swap of this node accepts the first */
    if (group->swapped != NULL && !follows) {
        return "a swap of another node in its plugin host is in its shadow or on probation: ask again when it is over";
    }
    /* The probation of the swap that it follows has ended while the candidate was made. */
    const bool followed = group->kept == member && change->host->revision == group->revision;
    if (!followed && change->host->revision != group->revision + 1) {
        return "another change of its plugin host was applied meanwhile; ask again";
    }
    change->host->revision += follows || followed;
    return NULL;
}

static void watch(struct srv_group *group, struct srv_host *candidate)
{
    __atomic_store_n(&group->candidate, candidate, __ATOMIC_RELEASE);
    srv_host_supervisor_wake(group->isolation->sim);
}

static int64_t candidate_timeout_ns(const struct srv_sim *sim, const struct srv_group *group)
{
    const int64_t unpaced_ns = sim->isolation->hooks.candidate_timeout_ns;
    return sim->paced || unpaced_ns == 0 ? srv_group_timeout_ns(sim, group) : unpaced_ns;
}

static void hand_over(const struct srv_node *node, const struct srv_change *change, const struct srv_host *host,
                      uint32_t index)
{
    const struct srv_host_layout *layout = &host->layouts[index];
    struct srv_host_slot *slot = srv_host_slot(host, index);
    slot->take = SRV_TAKE_AS_IS;
    if (change->start == SRV_START_COPY) {
        memcpy(srv_host_at(host, layout->state_offset), node->live.abi.state, layout->state_bytes);
    } else if (change->start == SRV_START_MIGRATE) {
        memcpy(srv_host_at(host, layout->old_state_offset), node->live.abi.state, layout->old_state_bytes);
        slot->take = SRV_TAKE_MIGRATE;
    }
}

/* Returns NULL, or why the candidate did not take over the state. */
static const char *refusal(const struct srv_host *host, uint32_t taken, bool answered)
{
    static const char *const reasons[SRV_TAKEN_COUNT] = {
        [SRV_TAKEN_NOT_MIGRATED] = "the new plugin's migrate refused the state",
        [SRV_TAKEN_NOT_VALID] = "the new plugin's validate refused the state",
        [SRV_TAKEN_FLOAT_MODE] = "the new plugin changed the floating-point mode"};
    if (!answered) {
        return __atomic_load_n(&host->dead, __ATOMIC_ACQUIRE) != 0 ? "the new plugin ended its plugin host"
                                                                   : "the new plugin's host did not answer in time";
    }
    return taken < SRV_TAKEN_COUNT ? reasons[taken] : "the new plugin's host sent an invalid answer";
}

enum oto_status srv_member_take_over(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                     const char **reason)
{
    struct srv_group *group = member->group;
    struct srv_host *host = change->host;
    struct srv_host_slot *slot = srv_host_slot(host, member->slot);
    srv_group_settle(sim, group); /* after this, the node's state in the server is that of this boundary */
    change->host = NULL;
    group->trial = (struct srv_host_link){.host = host};
    group->trial_now = group->trial_before = (struct srv_sample){0};
    group->swapped = member;
    watch(group, host);
    hand_over(member->node, change, host, member->slot);
    srv_host_link_request(&group->trial, 0);
    const bool answered = srv_host_link_await(sim, group, &group->trial, candidate_timeout_ns(sim, group));
    group->trial.open = false;
    *reason = refusal(host, slot->taken, answered);
    slot->take = SRV_TAKE_NOTHING;
    if (*reason != NULL) {
        srv_member_drop_candidate(member);
        return OTO_PLUGIN;
    }
    const struct srv_pair_side runner = {.instance = &change->instance.abi};
    srv_member_copy(host, member, &runner, NULL);
    if (change->heard != NULL) {
        memcpy(change->heard, member->node->inputs.cursors, member->node->inputs.count * sizeof *change->heard);
    }
    return OTO_OK;
}

/* ---- while it runs ---- */

bool srv_member_was_asked(const struct srv_member *member)
{
    const struct srv_group *group = member->group;
    const bool resident = member->now.asked || *srv_pair_resident(group->isolation->sim, member->node).quarantined;
    return resident && (group->swapped != member || group->trial_now.asked);
}

void srv_group_ask_candidate(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t published)
{
    struct srv_member *member = group->swapped;
    if (member == NULL || group->trial_now.asked || srv_due_tick(&member->node->due) != tick ||
        (member->ready_at > published && !group->async)) {
        return;
    }
    struct srv_node *node = member->node;
    const struct srv_pair_side runner = candidate_of(sim, node);
    group->trial_now = (struct srv_sample){.asked = true, .schedule = node->schedule};
    if (group->trial.open || *runner.quarantined) {
        return;
    }
    group->trial_now.flags = srv_member_expose(sim, member, &runner, group->trial.host, tick);
    srv_host_slot(group->trial.host, member->slot)->due = 1;
    srv_host_link_request(&group->trial, 1);
}

void srv_group_settle_candidate(struct srv_sim *sim, struct srv_group *group)
{
    struct srv_member *member = group->swapped;
    if (member == NULL || !group->trial.open ||
        !srv_host_link_await(sim, group, &group->trial, candidate_timeout_ns(sim, group))) {
        return;
    }
    const struct srv_pair_side runner = candidate_of(sim, member->node);
    group->trial.open = false;
    srv_member_copy(group->trial.host, member, &runner, &group->trial_now);
}

const char *srv_member_silence(const struct srv_member *member)
{
    const struct srv_host *host = member->group->trial.host;
    return __atomic_load_n(&host->dead, __ATOMIC_ACQUIRE) != 0 ? "ended its plugin host" : "did not answer in time";
}

/* ---- its end ---- */

void srv_member_flip(struct srv_member *member, struct srv_change *change)
{
    unsigned char *const last = member->last;
    const uint32_t has_last = member->has_last;
    member->last = change->last;
    member->has_last = change->has_last;
    change->last = last;
    change->has_last = has_last;
}

static void forget(struct srv_group *group)
{
    group->trial = (struct srv_host_link){.host = NULL};
    group->swapped = NULL;
    __atomic_store_n(&group->candidate, NULL, __ATOMIC_RELEASE);
}

void srv_member_drop_candidate(struct srv_member *member)
{
    struct srv_group *group = member->group;
    struct srv_host *host = group->trial.host;
    if (group->swapped == member) {
        forget(group);
        srv_group_release(group, host);
    }
}

void srv_member_settle(struct srv_sim *sim, struct srv_member *member, const struct srv_change *change)
{
    srv_group_settle(sim, member->group);
    srv_group_settle_candidate(sim, member->group);
    if (change->heard != NULL) {
        memcpy(member->node->inputs.cursors, change->heard, member->node->inputs.count * sizeof *change->heard);
    }
}

void srv_member_keep_candidate(struct srv_sim *sim, struct srv_member *member)
{
    struct srv_group *group = member->group;
    const struct srv_host_link link = group->trial;
    if (group->swapped != member) {
        return;
    }
    group->revision = link.host->revision;
    group->kept = member;
    member->now = group->trial_now;
    __atomic_store_n(&group->adopted, link.host, __ATOMIC_RELEASE);
    forget(group);
    srv_group_adopt(group, link);
    srv_host_supervisor_wake(sim);
}
