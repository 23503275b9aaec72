#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "isolate/isolated.h"
#include "base/text.h"
#include "sim/swap_private.h"

#define LATE_NS 200000 /* what a tick gives to a request of an earlier one */

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

void srv_group_release(struct srv_group *group, struct srv_box *box)
{
    if (box != NULL) {
        (void)srv_queue_push(&group->released, &box);
        srv_keeper_wake(group->isolation->sim);
    }
}

void srv_group_give_states(struct srv_group *group)
{
    for (uint32_t i = 0; i < group->member_count && group->live.box != NULL; i++) {
        const struct srv_box_place *place = &group->live.box->places[i];
        const struct srv_pair_side runner = srv_pair_resident(group->isolation->sim, group->members[i].node);
        memcpy(srv_box_at(group->live.box, place->state_offset), runner.instance->state, place->state_bytes);
    }
}

void srv_group_adopt(struct srv_group *group, struct srv_talk talk)
{
    srv_group_release(group, group->live.box);
    group->live = talk;
    group->waiting = false;
    srv_group_give_states(group);
    for (uint32_t i = 0; i < group->member_count; i++) {
        group->members[i].in_request = false;
    }
}

/* A process that was started meanwhile, unless its parameters were changed since. */
static void take_next(struct srv_group *group)
{
    struct srv_box *next = __atomic_exchange_n(&group->next, NULL, __ATOMIC_ACQ_REL);
    if (next != NULL && next->revision == group->revision) {
        srv_group_adopt(group, (struct srv_talk){.box = next});
    } else {
        srv_group_release(group, next);
    }
}

static void drop_dead(struct srv_group *group)
{
    if (group->live.box != NULL && __atomic_load_n(&group->live.box->dead, __ATOMIC_ACQUIRE) != 0) {
        srv_group_release(group, group->live.box);
        group->live = (struct srv_talk){.box = NULL};
        group->waiting = false;
    }
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void copy_outputs(const struct srv_box *box, uint32_t index, const struct srv_pair_side *runner,
                         struct srv_sample *sample)
{
    const struct srv_box_place *place = &box->places[index];
    const struct srv_box_slot *slot = srv_box_slot(box, index);
    for (uint32_t i = 0; i < runner->port_count; i++) {
        const struct srv_box_output made = slot->outputs[i];
        struct oto_output *output = &runner->outputs[i];
        output->t_ns = made.t_ns;
        output->sensor_time_ns = made.sensor_time_ns;
        output->flags = made.flags;
        output->emit = made.emit;
        if (output->emit != 0) {
            memcpy(output->payload, srv_box_at(box, place->payload_offset[i]), place->payload_bytes[i]);
        }
    }
    sample->status = slot->status;
    sample->step_ns = slot->step_ns;
    sample->answered = true;
}

void srv_member_copy(const struct srv_box *box, const struct srv_member *member, const struct srv_pair_side *runner,
                     struct srv_sample *sample)
{
    const struct srv_box_place *place = &box->places[member->slot];
    memcpy(runner->instance->state, srv_box_at(box, place->state_offset), place->state_bytes);
    if (runner->hears != NULL) {
        memcpy(runner->heard, runner->hears, member->node->inputs.count * sizeof *runner->heard);
    }
    if (sample != NULL) {
        copy_outputs(box, member->slot, runner, sample);
    }
}

/* An answer that came in time brings samples; one that came late brings only states to go on from. */
static void take_answers(struct srv_group *group, bool in_time)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        struct srv_member *member = &group->members[i];
        if (!member->in_request) {
            continue;
        }
        member->in_request = false;
        const struct srv_pair_side runner = srv_pair_resident(group->isolation->sim, member->node);
        const bool wanted = in_time && member->now.asked;
        srv_member_copy(group->live.box, member, &runner, wanted ? &member->now : NULL);
        if (member->truths != NULL) {
            srv_member_take_motion(member, group->live.box, wanted);
        }
    }
    group->live.open = false;
    group->told_late = false;
}

static void tell_late(struct srv_sim *sim, struct srv_group *group)
{
    char sentence[152];
    const uint32_t culprit = srv_box_culprit(group->live.box);
    const char *topic = culprit < group->member_count ? group->members[culprit].node->topic : "";
    struct srv_text words = srv_text_begin(sentence, sizeof sentence);
    group->told_late = true;
    srv_text_add(&words, "did not answer within its budget of ");
    srv_text_add_u64(&words, (uint64_t)(group->budget_ns / 1000));
    srv_text_add(&words, " us, in the step of ");
    srv_text_add(&words, topic);
    srv_text_add(&words, "; its samples are stale");
    srv_event_write(sim, OTO_EVENT_PLUGIN_HOST, 1, __atomic_load_n(&group->pid, __ATOMIC_RELAXED), group->name, sentence);
}

bool srv_group_is_paced(const struct srv_sim *sim)
{
    return sim->isolation->paced;
}

int64_t srv_group_patience_ns(const struct srv_sim *sim, const struct srv_group *group)
{
    return srv_group_is_paced(sim) ? group->budget_ns : SRV_GROUP_STUCK_NS;
}

static void look_for_stuck(struct srv_sim *sim, struct srv_group *group)
{
    if (srv_now_ns() - group->live.since_ns >= SRV_GROUP_STUCK_NS) {
        __atomic_store_n(&group->kill_wanted, 1, __ATOMIC_RELEASE);
        srv_keeper_wake(sim);
    }
}

static uint32_t node_at(const struct srv_group *group)
{
    const uint32_t culprit = srv_box_culprit(group->live.box);
    return culprit < group->member_count ? group->members[culprit].node->index + 1 : 0;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void condemn(struct srv_sim *sim, struct srv_member *member)
{
    const struct srv_pair_side runner = srv_pair_resident(sim, member->node);
    if (__atomic_exchange_n(&member->condemned, 0, __ATOMIC_ACQ_REL) == 0) {
        return;
    }
    if (runner.quarantined == &member->node->live.quarantined) {
        srv_node_quarantine(sim, member->node, OTO_STEP_ERROR,
                            "ended its plugin host three times within a minute; quarantined");
    } else {
        *runner.quarantined = true; /* unheard, beside a candidate on probation */
    }
}

/* What the node is exposed to, or given; returns the flags of the truth. */
static uint32_t write_input(struct srv_sim *sim, const struct srv_member *member, const struct srv_pair_side *runner,
                            const struct srv_box *box)
{
    struct srv_node *node = member->node;
    struct oto_sensor_input input;
    if (node->is_estimator) {
        srv_box_put_samples(box, member->slot, &node->inputs,
                            srv_estimator_look(sim, node, runner->heard, runner->hears));
        return 0;
    }
    const uint32_t flags = srv_sample_input(sim, member->vehicle, node, &input);
    srv_box_slot(box, member->slot)->input = input;
    return flags;
}

uint32_t srv_member_expose(struct srv_sim *sim, const struct srv_member *member, const struct srv_pair_side *runner,
                           const struct srv_box *box, uint64_t tick)
{
    const struct srv_beat *beat = &member->node->beat;
    struct srv_box_slot *slot = srv_box_slot(box, member->slot);
    slot->tick = tick;
    slot->n = beat->n;
    slot->at = srv_beat_at(beat);
    for (uint32_t i = 0; i < runner->port_count; i++) {
        slot->outputs[i] = (struct srv_box_output){beat->t_ns, beat->t_ns, 0, runner->ports[i].enabled};
    }
    return write_input(sim, member, runner, box);
}

/* The sample that falls into this tick, with what the node is exposed to or given; of a motion the tick. */
static void ask(struct srv_sim *sim, struct srv_member *member, uint64_t tick, struct srv_box *box)
{
    const struct srv_pair_side runner = srv_pair_resident(sim, member->node);
    member->now = (struct srv_sample){.asked = true, .beat = member->node->beat};
    if (box == NULL) {
        return;
    }
    if (member->truths != NULL) {
        srv_member_ask_motion(sim, member, box);
    } else {
        member->now.flags = srv_member_expose(sim, member, &runner, box, tick);
    }
    member->in_request = true;
}

/* Whether it is due and not yet asked, and what it listens to is there once `said` of the estimators have had their turn. */
static bool is_wanted(const struct srv_member *member, uint64_t tick, uint32_t said)
{
    return srv_due_tick(&member->node->due) == tick && !*srv_pair_resident(member->group->isolation->sim, member->node).quarantined &&
           !member->now.asked && (member->ready_at <= said || member->group->async);
}

static void request(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t said)
{
    struct srv_box *box = group->live.open ? NULL : group->live.box;
    uint32_t asked = 0;
    for (uint32_t i = 0; i < group->member_count; i++) {
        struct srv_member *member = &group->members[i];
        const bool due = is_wanted(member, tick, said);
        if (due) {
            ask(sim, member, tick, box);
        }
        if (box != NULL) {
            srv_box_slot(box, i)->due = due;
            asked += due;
        }
    }
    if (asked > 0) {
        srv_talk_ask(&group->live, asked);
        group->waiting = true;
    }
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Without a pace there is time for a host to come back: the run is then as if the other had not died. */
bool srv_group_revive(struct srv_sim *sim, struct srv_group *group, int64_t deadline_ns)
{
    while (srv_now_ns() < deadline_ns && __atomic_load_n(&sim->isolation->quit, __ATOMIC_ACQUIRE) == 0) {
        const struct timespec moment = {0, 200000};
        drop_dead(group);
        take_next(group);
        for (uint32_t i = 0; i < group->member_count; i++) {
            condemn(sim, &group->members[i]);
        }
        if (group->live.box != NULL && __atomic_load_n(&group->live.box->dead, __ATOMIC_ACQUIRE) == 0 &&
            __atomic_load_n(&group->kill_wanted, __ATOMIC_ACQUIRE) == 0) {
            return true;
        }
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
    return false;
}

/* The samples of this tick once more, of the host that came after: none of the group has been published yet. */
static void ask_again(struct srv_sim *sim, struct srv_group *group)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < group->member_count; i++) {
        struct srv_member *member = &group->members[i];
        const bool wanted = member->now.asked && !*srv_pair_resident(sim, member->node).quarantined;
        if (wanted) {
            ask(sim, member, sim->tick, group->live.box);
        }
        srv_box_slot(group->live.box, i)->due = wanted;
        asked += wanted;
    }
    if (asked > 0) {
        srv_talk_ask(&group->live, asked);
        group->waiting = true;
    }
}

static bool await_again(struct srv_sim *sim, struct srv_group *group)
{
    const int64_t deadline_ns = srv_now_ns() + SRV_GROUP_STUCK_NS;
    bool answered = false;
    while (!answered) {
        if (group->live.box != NULL) {
            look_for_stuck(sim, group);
        }
        if (!srv_group_revive(sim, group, deadline_ns)) {
            return false;
        }
        ask_again(sim, group);
        answered = !group->live.open || srv_talk_await(sim, group, &group->live, deadline_ns - srv_now_ns());
    }
    return group->live.open;
}

void srv_group_note_silence(struct srv_sim *sim, struct srv_group *group)
{
    drop_dead(group);
    if (group->live.box != NULL && group->live.open) {
        if (!group->told_late) {
            tell_late(sim, group);
        }
        look_for_stuck(sim, group);
    }
}

/* The tick's one wait for the group. */
static void finish(struct srv_sim *sim, struct srv_group *group)
{
    uint32_t *breadcrumb = &sim->store.header->current_node;
    const bool paced = srv_group_is_paced(sim);
    __atomic_store_n(breadcrumb, node_at(group), __ATOMIC_RELAXED);
    bool answered = srv_talk_await(sim, group, &group->live, srv_group_patience_ns(sim, group));
    if (!answered && !paced && !group->async) {
        answered = await_again(sim, group);
    }
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    group->waiting = false;
    if (answered) {
        take_answers(group, true);
    } else {
        srv_group_note_silence(sim, group);
    }
}

void srv_group_settle(struct srv_sim *sim, struct srv_group *group)
{
    if (group->waiting) {
        finish(sim, group);
    }
}

void srv_groups_collect(struct srv_sim *sim)
{
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        srv_group_settle(sim, &sim->isolation->groups[i]);
        srv_group_settle_candidate(sim, &sim->isolation->groups[i]);
    }
}

static bool is_anybody_due(const struct srv_group *group, uint64_t tick, uint32_t said)
{
    bool due = false;
    for (uint32_t i = 0; i < group->member_count; i++) {
        due = due || is_wanted(&group->members[i], tick, said);
    }
    return due;
}

/* One request for all that can be asked; before it, what became of the group and of its last request. */
static void take_turn(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t said)
{
    for (uint32_t m = 0; m < group->member_count; m++) {
        condemn(sim, &group->members[m]);
    }
    drop_dead(group);
    if (__atomic_load_n(&group->next, __ATOMIC_RELAXED) != NULL) {
        take_next(group);
    }
    if (group->live.open && srv_talk_await(sim, group, &group->live, LATE_NS)) {
        take_answers(group, false);
    } else if (group->live.open) {
        look_for_stuck(sim, group);
    }
    if (group->live.box == NULL && !group->async && is_anybody_due(group, tick, said) && !srv_group_is_paced(sim)) {
        (void)srv_group_revive(sim, group, srv_now_ns() + SRV_GROUP_STUCK_NS);
    }
    request(sim, group, tick, said);
    srv_group_ask_candidate(sim, group, tick, said);
}

static void begin_turn(struct srv_group *group)
{
    for (uint32_t i = 0; i < group->member_count; i++) {
        group->members[i].before = group->members[i].now;
        group->members[i].now = (struct srv_sample){0};
    }
    group->trial_before = group->trial_now;
    group->trial_now = (struct srv_sample){0};
}

void srv_groups_request(struct srv_sim *sim, enum srv_turn turn, uint64_t tick)
{
    for (uint32_t i = 0; i < sim->isolation->group_count; i++) {
        if (sim->isolation->groups[i].turn == turn) {
            begin_turn(&sim->isolation->groups[i]);
            take_turn(sim, &sim->isolation->groups[i], tick, 0);
        }
    }
}

void srv_member_request(struct srv_sim *sim, struct srv_member *member, uint64_t tick, uint32_t said)
{
    srv_group_settle(sim, member->group);
    take_turn(sim, member->group, tick, said);
}
