#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "isolate/isolated.h"
#include "base/text.h"
#include "sim/swap_private.h"

#define LATE_NS 200000 /* the longest wait of a paced tick for a late answer */

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

void srv_group_release(struct srv_group *group, struct srv_host *host)
{
    if (host != NULL) {
        (void)srv_queue_push(&group->released, &host);
        srv_host_supervisor_wake(group->isolation->sim);
    }
}

void srv_group_send_states(struct srv_group *group)
{
    for (uint32_t i = 0; i < group->member_count && group->live.host != NULL; i++) {
        const struct srv_host_layout *layout = &group->live.host->layouts[i];
        const struct srv_pair_side runner = srv_pair_resident(group->isolation->sim, group->members[i].node);
        memcpy(srv_host_at(group->live.host, layout->state_offset), runner.instance->state, layout->state_bytes);
    }
}

void srv_group_adopt(struct srv_group *group, struct srv_host_link link)
{
    srv_group_release(group, group->live.host);
    group->live = link;
    group->waiting = false;
    srv_group_send_states(group);
    for (uint32_t i = 0; i < group->member_count; i++) {
        group->members[i].in_request = false;
    }
}

/* Takes a restarted host, unless parameters were changed since it was started. */
static void take_next(struct srv_group *group)
{
    struct srv_host *next = __atomic_exchange_n(&group->next, NULL, __ATOMIC_ACQ_REL);
    if (next != NULL && next->revision == group->revision) {
        srv_group_adopt(group, (struct srv_host_link){.host = next});
    } else {
        srv_group_release(group, next);
    }
}

static void drop_dead(struct srv_group *group)
{
    if (group->live.host != NULL && __atomic_load_n(&group->live.host->dead, __ATOMIC_ACQUIRE) != 0) {
        srv_group_release(group, group->live.host);
        group->live = (struct srv_host_link){.host = NULL};
        group->waiting = false;
    }
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void copy_outputs(const struct srv_host *host, uint32_t index, const struct srv_pair_side *runner,
                         struct srv_sample *sample)
{
    const struct srv_host_layout *layout = &host->layouts[index];
    const struct srv_host_slot *slot = srv_host_slot(host, index);
    for (uint32_t i = 0; i < runner->port_count; i++) {
        const struct srv_host_output made = slot->outputs[i];
        struct oto_output *output = &runner->outputs[i];
        output->t_ns = made.t_ns;
        output->sensor_time_ns = made.sensor_time_ns;
        output->flags = made.flags;
        output->emit = made.emit;
        if (output->emit != 0) {
            memcpy(output->payload, srv_host_at(host, layout->payload_offset[i]), layout->payload_bytes[i]);
        }
    }
    sample->status = slot->status;
    sample->step_ns = slot->step_ns;
    sample->answered = true;
}

void srv_member_copy(const struct srv_host *host, const struct srv_member *member, const struct srv_pair_side *runner,
                     struct srv_sample *sample)
{
    const struct srv_host_layout *layout = &host->layouts[member->slot];
    memcpy(runner->instance->state, srv_host_at(host, layout->state_offset), layout->state_bytes);
    if (runner->hears != NULL) {
        memcpy(runner->heard, runner->hears, member->node->inputs.count * sizeof *runner->heard);
    }
    if (sample != NULL) {
        copy_outputs(host, member->slot, runner, sample);
    }
}

/* An answer in time brings samples and states, a late answer only states. */
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
        srv_member_copy(group->live.host, member, &runner, wanted ? &member->now : NULL);
        if (member->truths != NULL) {
            srv_member_take_motion(member, group->live.host, wanted);
        }
    }
    group->live.open = false;
    group->late_reported = false;
}

static void report_late(struct srv_sim *sim, struct srv_group *group)
{
    char sentence[152];
    const uint32_t culprit = srv_host_culprit(group->live.host);
    const char *topic = culprit < group->member_count ? group->members[culprit].node->topic : "";
    struct srv_text words = srv_text_begin(sentence, sizeof sentence);
    group->late_reported = true;
    srv_text_add(&words, "did not answer within its budget of ");
    srv_text_add_u64(&words, (uint64_t)(group->budget_ns / 1000));
    srv_text_add(&words, " us, in the step of ");
    srv_text_add(&words, topic);
    srv_text_add(&words, "; its samples are stale");
    srv_event_write(sim, OTO_EVENT_PLUGIN_HOST, 1, __atomic_load_n(&group->pid, __ATOMIC_RELAXED), group->name, sentence);
}

int64_t srv_group_stuck_ns(const struct srv_sim *sim)
{
    return sim->paced ? SRV_GROUP_STUCK_NS : SRV_GROUP_PATIENCE_NS;
}

int64_t srv_group_timeout_ns(const struct srv_sim *sim, const struct srv_group *group)
{
    return sim->paced ? group->budget_ns : SRV_GROUP_PATIENCE_NS;
}

static void look_for_stuck(struct srv_sim *sim, struct srv_group *group)
{
    if (srv_wait_look(&group->live.silence, srv_now_ns()) >= srv_group_stuck_ns(sim)) {
        __atomic_store_n(&group->kill_wanted, 1, __ATOMIC_RELEASE);
        srv_host_supervisor_wake(sim);
    }
}

static uint32_t node_at(const struct srv_group *group)
{
    const uint32_t culprit = srv_host_culprit(group->live.host);
    return culprit < group->member_count ? group->members[culprit].node->index + 1 : 0;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void condemn(struct srv_sim *sim, struct srv_member *member)
{
    const struct srv_pair_side runner = srv_pair_resident(sim, member->node);
    if (__atomic_exchange_n(&member->quarantine_wanted, 0, __ATOMIC_ACQ_REL) == 0) {
        return;
    }
    if (runner.quarantined == &member->node->live.quarantined) {
        srv_node_quarantine(sim, member->node, OTO_STEP_ERROR,
                            "ended its plugin host three times within a minute; quarantined");
    } else {
        *runner.quarantined = true; /* its outputs are not published while a candidate is on probation */
    }
}

/* Writes the exposure or the inputs of the node. Returns the flags of the truth. */
static uint32_t write_input(struct srv_sim *sim, const struct srv_member *member, const struct srv_pair_side *runner,
                            const struct srv_host *host)
{
    struct srv_node *node = member->node;
    struct oto_sensor_input input = {0}; /* unused disturbances must not show memory of the server to a host */
    if (node->is_estimator) {
        srv_host_put_samples(host, member->slot, &node->inputs,
                             srv_estimator_look(sim, node, runner->heard, runner->hears));
        return 0;
    }
    const uint32_t flags = srv_sample_input(sim, member->vehicle, node, &input);
    srv_host_slot(host, member->slot)->input = input;
    return flags;
}

uint32_t srv_member_expose(struct srv_sim *sim, const struct srv_member *member, const struct srv_pair_side *runner,
                           const struct srv_host *host, uint64_t tick)
{
    const struct srv_schedule *schedule = &member->node->schedule;
    struct srv_host_slot *slot = srv_host_slot(host, member->slot);
    slot->tick = tick;
    slot->n = schedule->n;
    slot->at = srv_schedule_at(schedule);
    for (uint32_t i = 0; i < runner->port_count; i++) {
        slot->outputs[i] = (struct srv_host_output){schedule->t_ns, schedule->t_ns, 0, runner->ports[i].enabled};
    }
    return write_input(sim, member, runner, host);
}

/* Fills the slot with the sample of this tick and its exposure or inputs; for a motion, with the tick. */
static void ask(struct srv_sim *sim, struct srv_member *member, uint64_t tick, struct srv_host *host)
{
    const struct srv_pair_side runner = srv_pair_resident(sim, member->node);
    member->now = (struct srv_sample){.asked = true, .schedule = member->node->schedule};
    if (host == NULL) {
        return;
    }
    if (member->truths != NULL) {
        srv_member_ask_motion(sim, member, host);
    } else {
        member->now.flags = srv_member_expose(sim, member, &runner, host, tick);
    }
    member->in_request = true;
}

/* Whether the node is due, has no request yet, and its inputs are complete after `published` estimators have
 * published. */
static bool is_wanted(const struct srv_member *member, uint64_t tick, uint32_t published)
{
    return srv_due_tick(&member->node->due) == tick &&
           !*srv_pair_resident(member->group->isolation->sim, member->node).quarantined && !member->now.asked &&
           (member->ready_at <= published || member->group->async);
}

static void request(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t published)
{
    struct srv_host *host = group->live.open ? NULL : group->live.host;
    uint32_t asked = 0;
    for (uint32_t i = 0; i < group->member_count; i++) {
        struct srv_member *member = &group->members[i];
        const bool due = is_wanted(member, tick, published);
        if (due) {
            ask(sim, member, tick, host);
        }
        if (host != NULL) {
            srv_host_slot(host, i)->due = due;
            asked += due;
        }
    }
    if (asked > 0) {
        srv_host_link_request(&group->live, asked);
        group->waiting = true;
    }
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* An unpaced world waits for the restarted host, so that its samples do not depend on the end of a host. */
bool srv_group_await_restart(struct srv_sim *sim, struct srv_group *group, int64_t deadline_ns)
{
    while (srv_now_ns() < deadline_ns && __atomic_load_n(&sim->isolation->quit, __ATOMIC_ACQUIRE) == 0) {
        const struct timespec moment = {0, 200000};
        drop_dead(group);
        take_next(group);
        for (uint32_t i = 0; i < group->member_count; i++) {
            condemn(sim, &group->members[i]);
        }
        if (group->live.host != NULL && __atomic_load_n(&group->live.host->dead, __ATOMIC_ACQUIRE) == 0 &&
            __atomic_load_n(&group->kill_wanted, __ATOMIC_ACQUIRE) == 0) {
            return true;
        }
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
    return false;
}

/* Requests the samples of this tick again from the restarted host: no node of the group has published yet. */
static void ask_again(struct srv_sim *sim, struct srv_group *group)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < group->member_count; i++) {
        struct srv_member *member = &group->members[i];
        const bool wanted = member->now.asked && !*srv_pair_resident(sim, member->node).quarantined;
        if (wanted) {
            ask(sim, member, sim->tick, group->live.host);
        }
        srv_host_slot(group->live.host, i)->due = wanted;
        asked += wanted;
    }
    if (asked > 0) {
        srv_host_link_request(&group->live, asked);
        group->waiting = true;
    }
}

static bool await_again(struct srv_sim *sim, struct srv_group *group)
{
    const int64_t deadline_ns = srv_now_ns() + srv_group_stuck_ns(sim);
    bool answered = false;
    while (!answered) {
        if (group->live.host != NULL) {
            look_for_stuck(sim, group);
        }
        if (!srv_group_await_restart(sim, group, deadline_ns)) {
            return false;
        }
        ask_again(sim, group);
        answered = !group->live.open || srv_host_link_await(sim, group, &group->live, deadline_ns - srv_now_ns());
    }
    return group->live.open;
}

void srv_group_report_timeout(struct srv_sim *sim, struct srv_group *group)
{
    drop_dead(group);
    if (group->live.host != NULL && group->live.open) {
        if (!group->late_reported) {
            report_late(sim, group);
        }
        look_for_stuck(sim, group);
    }
}

/* Waits for the group, once a tick. */
static void finish(struct srv_sim *sim, struct srv_group *group)
{
    uint32_t *breadcrumb = &sim->store.header->current_node;
    const bool paced = sim->paced;
    __atomic_store_n(breadcrumb, node_at(group), __ATOMIC_RELAXED);
    bool answered = srv_host_link_await(sim, group, &group->live, srv_group_timeout_ns(sim, group));
    if (!answered && !paced && !group->async) {
        answered = await_again(sim, group);
    }
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    group->waiting = false;
    if (answered) {
        take_answers(group, true);
    } else {
        srv_group_report_timeout(sim, group);
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

static bool is_anybody_due(const struct srv_group *group, uint64_t tick, uint32_t published)
{
    bool due = false;
    for (uint32_t i = 0; i < group->member_count; i++) {
        due = due || is_wanted(&group->members[i], tick, published);
    }
    return due;
}

/* Takes a late answer or a restarted host, then sends one request for all nodes that can be stepped now. */
static void take_turn(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t published)
{
    const int64_t late_ns = sim->paced ? LATE_NS : SRV_GROUP_PATIENCE_NS; /* a paused world is stepped: nothing more gets late */
    for (uint32_t m = 0; m < group->member_count; m++) {
        condemn(sim, &group->members[m]);
    }
    drop_dead(group);
    if (__atomic_load_n(&group->next, __ATOMIC_RELAXED) != NULL) {
        take_next(group);
    }
    if (group->live.open && srv_host_link_await(sim, group, &group->live, late_ns)) {
        take_answers(group, false);
    } else if (group->live.open) {
        look_for_stuck(sim, group);
        drop_dead(group);
    }
    if (group->live.host == NULL && !group->async && is_anybody_due(group, tick, published) &&
        !sim->paced) {
        (void)srv_group_await_restart(sim, group, srv_now_ns() + SRV_GROUP_PATIENCE_NS);
    }
    request(sim, group, tick, published);
    srv_group_ask_candidate(sim, group, tick, published);
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

void srv_member_request(struct srv_sim *sim, struct srv_member *member, uint64_t tick, uint32_t published)
{
    srv_group_settle(sim, member->group);
    take_turn(sim, member->group, tick, published);
}
