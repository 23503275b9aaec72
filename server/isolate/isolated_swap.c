/*
 * The swap of an isolated node. Its candidate has a host of its own, made ready with the other nodes of the group in it
 * too: while it is in its shadow or on probation only the candidate is stepped there, and the group goes on in its old
 * host as if nothing were. So a candidate that dies takes nothing with it. When it is kept, its host becomes that of the
 * group. [tick]
 */
#include <string.h>

#include "base/monotonic.h"
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
    const bool follows = group->tried == member; /* on one that is on probation, which is kept now */
    if (group->tried != NULL && !follows) {
        return "a swap of another node in its plugin host is in its shadow or on probation: ask again when it is over";
    }
    if (change->box->revision != group->revision + 1) {
        return "another change of its plugin host was applied meanwhile; ask again";
    }
    change->box->revision += follows;
    return NULL;
}

static void watch(struct srv_group *group, struct srv_box *candidate)
{
    __atomic_store_n(&group->candidate, candidate, __ATOMIC_RELEASE);
    srv_keeper_wake(group->isolation->sim);
}

static void hand_over(const struct srv_node *node, const struct srv_change *change, const struct srv_box *box,
                      uint32_t index)
{
    const struct srv_box_place *place = &box->places[index];
    struct srv_box_slot *slot = srv_box_slot(box, index);
    slot->take = SRV_TAKE_AS_IS;
    if (change->start == SRV_START_COPY) {
        memcpy(srv_box_at(box, place->state_offset), node->live.abi.state, place->state_bytes);
    } else if (change->start == SRV_START_MIGRATE) {
        memcpy(srv_box_at(box, place->old_state_offset), node->live.abi.state, place->old_state_bytes);
        slot->take = SRV_TAKE_MIGRATE;
    }
}

/* NULL, or why the candidate has no state to go on from. */
static const char *refusal(const struct srv_box *box, uint32_t taken, bool answered)
{
    static const char *const reasons[SRV_TAKEN_COUNT] = {
        [SRV_TAKEN_NOT_MIGRATED] = "the new plugin's migrate refused the state",
        [SRV_TAKEN_NOT_VALID] = "the new plugin's validate refused the state",
        [SRV_TAKEN_FLOAT_MODE] = "the new plugin changed the floating-point mode"};
    if (!answered) {
        return __atomic_load_n(&box->dead, __ATOMIC_ACQUIRE) != 0 ? "the new plugin ended its plugin host"
                                                                  : "the new plugin's host did not answer in time";
    }
    return taken < SRV_TAKEN_COUNT ? reasons[taken] : "the new plugin's host answered what is no answer";
}

enum oto_status srv_member_take_over(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                     const char **reason)
{
    struct srv_group *group = member->group;
    struct srv_box *box = change->box;
    struct srv_box_slot *slot = srv_box_slot(box, member->slot);
    srv_group_settle(sim, group); /* the state is that of this boundary */
    change->box = NULL;
    group->trial = (struct srv_talk){.box = box};
    group->trial_now = group->trial_before = (struct srv_sample){0};
    group->tried = member;
    watch(group, box);
    hand_over(member->node, change, box, member->slot);
    srv_talk_ask(&group->trial, 0);
    const bool answered = srv_talk_await(sim, group, &group->trial,
                                         sim->paced ? group->budget_ns : SRV_GROUP_STUCK_NS);
    group->trial.open = false;
    *reason = refusal(box, slot->taken, answered);
    slot->take = SRV_TAKE_NOTHING;
    if (*reason != NULL) {
        srv_member_drop_candidate(member);
        return OTO_PLUGIN;
    }
    const struct srv_pair_side runner = {.instance = &change->instance.abi};
    srv_member_copy(box, member, &runner, NULL);
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
    return resident && (group->tried != member || group->trial_now.asked);
}

void srv_group_ask_candidate(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t said)
{
    struct srv_member *member = group->tried;
    if (member == NULL || group->trial_now.asked || srv_due_tick(&member->node->due) != tick ||
        (member->ready_at > said && !group->async)) {
        return;
    }
    struct srv_node *node = member->node;
    const struct srv_pair_side runner = candidate_of(sim, node);
    group->trial_now = (struct srv_sample){.asked = true, .beat = node->beat};
    if (group->trial.open || *runner.quarantined) {
        return;
    }
    group->trial_now.flags = srv_member_expose(sim, member, &runner, group->trial.box, tick);
    srv_box_slot(group->trial.box, member->slot)->due = 1;
    srv_talk_ask(&group->trial, 1);
}

void srv_group_settle_candidate(struct srv_sim *sim, struct srv_group *group)
{
    struct srv_member *member = group->tried;
    if (member == NULL || !group->trial.open ||
        !srv_talk_await(sim, group, &group->trial, srv_group_patience_ns(sim, group))) {
        return;
    }
    const struct srv_pair_side runner = candidate_of(sim, member->node);
    group->trial.open = false;
    srv_member_copy(group->trial.box, member, &runner, &group->trial_now);
}

const char *srv_member_silence(const struct srv_member *member)
{
    const struct srv_box *box = member->group->trial.box;
    return __atomic_load_n(&box->dead, __ATOMIC_ACQUIRE) != 0 ? "ended its plugin host" : "did not answer in time";
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
    group->trial = (struct srv_talk){.box = NULL};
    group->tried = NULL;
    __atomic_store_n(&group->candidate, NULL, __ATOMIC_RELEASE);
}

void srv_member_drop_candidate(struct srv_member *member)
{
    struct srv_group *group = member->group;
    struct srv_box *box = group->trial.box;
    if (group->tried == member) {
        forget(group);
        srv_group_release(group, box);
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
    const struct srv_talk talk = group->trial;
    if (group->tried != member) {
        return;
    }
    group->revision = talk.box->revision;
    member->now = group->trial_now;
    __atomic_store_n(&group->adopted, talk.box, __ATOMIC_RELEASE);
    forget(group);
    srv_group_adopt(group, talk);
    srv_keeper_wake(sim);
}
