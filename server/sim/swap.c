/*
 * A swap inside the tick: the candidate and the previous plugin of a node are stepped on the same inputs. In the shadow the
 * previous plugin is live and the candidate is not published. On probation the candidate is live. The state of the previous
 * plugin is therefore always current, and a roll-back exchanges the two within the sample that failed. [tick]
 *
 * Until the probation is over, the hash chain contains the state of the previous plugin. A swap that is rolled back
 * therefore leaves the chain of a run without the swap, and so does a swap to identical code.
 *
 * This file leads a swap from begin to end; runner_pair.c steps the two plugins, and runner_remote.c knows which node lives in a
 * plugin host.
 */
#include <string.h>

#include "sim/fifo.h"
#include "sim/sim.h"
#include "base/text.h"
#include "sim/swap_private.h"

#define FILL_INSTANTS 64u /* instants that are filled at each boundary */

static struct srv_node *node_of(struct srv_sim *sim, const struct srv_change *change)
{
    return &sim->nodes[change->open.node];
}

/* Sets the swap in progress of a node, or NULL, and chooses the node's runner for it. */
static void set_trial(const struct srv_sim *sim, struct srv_node *node, struct srv_change *change)
{
    node->trial = change;
    srv_node_choose_runner(sim, node);
}

static void unlink_trial(struct srv_sim *sim, struct srv_change *change)
{
    struct srv_change **link = &sim->trials;
    while (*link != NULL && *link != change) {
        link = &(*link)->trial.next;
    }
    if (*link != NULL) {
        *link = change->trial.next;
    }
}

static void link_trial(struct srv_sim *sim, struct srv_change *change)
{
    change->trial.next = sim->trials;
    sim->trials = change;
}

/*
 * True if the new motion can be evaluated at instants before the flip: it took over the state as it is, and both motions
 * can be evaluated at any time.
 */
static bool shares_past(const struct srv_node *node, const struct srv_change *change)
{
    return change->start == SRV_START_COPY &&
           (node->live.motion_flags & change->instance.motion_flags & OTO_MOTION_ANY_TIME) != 0;
}

/* After an exchange of motions: earlier truths come from the vehicle's history, unless the motions share their past. */
static void take_vehicle(struct srv_sim *sim, const struct srv_node *node, const struct srv_change *change)
{
    struct srv_vehicle *vehicle = srv_trial_vehicle(sim, node);
    if (node->live.evaluate == NULL) {
        return;
    }
    vehicle->any_time = (node->live.motion_flags & OTO_MOTION_ANY_TIME) != 0;
    if (!shares_past(node, change)) {
        vehicle->any_from_ns = sim->schedule.t_ns;
    }
}

/* Shows clients in the directory which plugin fills the channels, and which channels are silent. */
static void show_instance(struct srv_sim *sim, struct srv_node *node, const struct srv_instance *before)
{
    const struct oto_plugin_descriptor *now = node->live.descriptor, *was = before->descriptor;
    const bool renamed = strcmp(now->id, was->id) != 0 || strcmp(now->version, was->version) != 0;
    srv_node_join_rings(node, &sim->store, before->ports, before->port_count);
    srv_node_update_ports(node, sim->store.directory);
    srv_node_choose_runner(sim, node);
    srv_estimators_attach(sim);
    for (uint32_t i = 0; i < node->channel_count + node->labelled; i++) {
        struct oto_segment_channel *channel = &sim->store.directory[node->first_channel + i];
        if (renamed) {
            srv_channel_identify(channel, now->id, now->version, node->generation);
        } else {
            __atomic_store_n(&channel->generation, node->generation, __ATOMIC_RELAXED);
        }
    }
}

static void say_refused(struct srv_sim *sim, const struct srv_node *node, const char *reason)
{
    srv_count(sim, OTO_COUNTER_SWAPS_REFUSED, 1);
    srv_event_write(sim, OTO_EVENT_SWAP_REFUSED, 1, (int64_t)node->generation, node->topic, reason);
}

/* ---- the end of a probation ---- */

/* Ends the swap of a node. The result goes to the command SETTLE that waits for it, or is kept for one. */
static void settle(struct srv_sim *sim, struct srv_node *node, struct srv_change *change)
{
    struct srv_trial *trial = &change->trial;
    set_trial(sim, node, NULL);
    trial->phase = SRV_TRIAL_SETTLED;
    if (trial->asked) {
        (void)srv_trial_settle(sim, change, &trial->reply);
        srv_sim_reply(sim, &trial->reply);
    }
}

void srv_trial_roll_back(struct srv_sim *sim, struct srv_node *node, const char *why)
{
    struct srv_change *change = node->trial;
    char text[152];
    struct srv_text words = srv_text_begin(text, sizeof text);
    srv_text_add(&words, node->live.descriptor->id);
    srv_text_add(&words, " ");
    srv_text_add(&words, why);
    srv_text_add(&words, "; back to ");
    srv_runner_flip(sim, node, change);
    srv_text_add(&words, node->live.descriptor->id);
    srv_text_add(&words, " ");
    srv_text_add(&words, node->live.descriptor->version);
    show_instance(sim, node, &change->instance);
    take_vehicle(sim, node, change);
    if (node->live.quarantined) {
        srv_count(sim, OTO_COUNTER_QUARANTINED, 1);
    }
    change->trial.rolled_back = true;
    change->trial.failure = why;
    srv_count(sim, OTO_COUNTER_SWAPS_ROLLED_BACK, 1);
    srv_event_write(sim, OTO_EVENT_SWAP_ROLLED_BACK, change->trial.undone ? 0 : 2, (int64_t)node->generation,
                    node->topic, text);
    settle(sim, node, change);
    srv_runner_drop_candidate(sim, node);
}

static void keep(struct srv_sim *sim, struct srv_node *node, struct srv_change *change)
{
    srv_event_write(sim, OTO_EVENT_SWAP_KEPT, 0, (int64_t)node->generation, node->topic, change->text);
    srv_runner_settle(sim, node, change);
    settle(sim, node, change);
    srv_runner_keep_candidate(sim, node);
}

bool srv_trial_settle(struct srv_sim *sim, struct srv_change *change, struct srv_reply *reply)
{
    struct srv_trial *trial = &change->trial;
    const bool over = sim->over;
    if (trial->phase == SRV_TRIAL_PROBATION && over) {
        set_trial(sim, node_of(sim, change), NULL);
        trial->phase = SRV_TRIAL_SETTLED;
        srv_runner_drop_candidate(sim, node_of(sim, change));
    }
    if (trial->phase != SRV_TRIAL_SETTLED) {
        trial->asked = true;
        trial->reply = *reply;
        return false;
    }
    unlink_trial(sim, change);
    reply->change = &change->open;
    reply->status = trial->undone ? OTO_CLOSED : trial->rolled_back ? OTO_PLUGIN : OTO_OK;
    reply->reason = trial->failure;
    reply->tick = sim->tick;
    srv_reply_show_node(node_of(sim, change), reply);
    return true;
}

/* ---- the flip ---- */

/* The flip of a swap. Always true: *reply is complete. */
static bool flip(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, struct srv_reply *reply)
{
    struct srv_trial *trial = &change->trial;
    if (change->probation_ticks == 0) {
        srv_runner_settle(sim, node, change);
    }
    for (uint32_t i = 0; i < node->live.port_count; i++) {
        trial->seq[i] = srv_fifo_newest(node, &node->live.ports[i].ring, node->live.ports[i].channel);
    }
    srv_runner_flip(sim, node, change);
    show_instance(sim, node, &change->instance);
    take_vehicle(sim, node, change);
    reply->status = OTO_OK;
    reply->tick = sim->tick;
    reply->change = &change->open;
    srv_reply_show_node(node, reply);
    srv_count(sim, OTO_COUNTER_SWAPS, 1);
    srv_event_write(sim, OTO_EVENT_SWAP, 0, (int64_t)node->generation, node->topic, change->text);
    reply->settling = change->probation_ticks > 0;
    if (!reply->settling) {
        set_trial(sim, node, NULL);
        unlink_trial(sim, change);
        srv_runner_keep_candidate(sim, node);
        return true;
    }
    if (trial->phase == SRV_TRIAL_NONE) {
        link_trial(sim, change);
    }
    trial->phase = SRV_TRIAL_PROBATION;
    trial->end_tick = sim->tick + change->probation_ticks;
    set_trial(sim, node, change);
    return true;
}

static bool refuse(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, enum oto_status status,
                   const char *reason, struct srv_reply *reply)
{
    set_trial(sim, node, NULL);
    unlink_trial(sim, change);
    srv_runner_drop_candidate(sim, node);
    reply->status = status;
    reply->reason = reason;
    reply->tick = sim->tick;
    reply->change = &change->open;
    say_refused(sim, node, reason);
    return true;
}

/* Flips now. A motion takes over the state again first, because it has followed a path of its own in the shadow. */
static bool flip_now(struct srv_sim *sim, struct srv_node *node, struct srv_change *change,
                     struct srv_reply *reply)
{
    const char *reason = NULL;
    if (change->instance.evaluate != NULL && srv_runner_take_state(sim, node, change, &reason) != OTO_OK) {
        return refuse(sim, node, change, OTO_PLUGIN, reason, reply);
    }
    return flip(sim, node, change, reply);
}

/* ---- the history of a vehicle whose present motion needs none, for the motion that takes over ---- */

static void fill_one(const struct srv_vehicle *vehicle, struct srv_history *history, uint64_t m)
{
    const struct srv_node *motion = vehicle->motion;
    struct oto_truth_record truth;
    uint64_t rest;
    struct oto_instant at;
    at.t_ns = srv_instant_ns(m, history->rate_num, history->rate_den, &rest);
    at.sub_ns = (double)rest / (double)history->rate_num;
    memset(&truth, 0, sizeof truth);
    const bool known =
        !motion->live.quarantined && motion->live.evaluate(&motion->live.abi, at, &truth) == OTO_STEP_OK;
    srv_history_put(history, m, m == 0 ? &vehicle->truth_zero : known ? &truth : &vehicle->truth);
}

static struct srv_history history_of(const struct srv_sim *sim, const struct srv_change *change)
{
    const struct srv_clock_config *clock = &sim->config->clock;
    return (struct srv_history){.records = change->history,
                                .mask = srv_history_capacity(clock->rate_num, clock->rate_den) - 1,
                                .rate_num = clock->rate_num,
                                .rate_den = clock->rate_den};
}

/*
 * Fills the history of the node's vehicle: some instants at each boundary, from the first boundary of the swap backwards,
 * and the truths since. True: one second is complete.
 */
static bool fill_history(struct srv_sim *sim, struct srv_node *node, struct srv_change *change)
{
    struct srv_vehicle *vehicle = srv_trial_vehicle(sim, node);
    struct srv_history history = history_of(sim, change);
    struct srv_trial *trial = &change->trial;
    srv_history_put(&history, sim->schedule.n, &vehicle->truth);
    const uint64_t first = trial->fill_from;
    const uint64_t second = history.rate_num / history.rate_den + 2;
    const uint64_t least = first < second ? first : second;
    for (uint32_t i = 0; i < FILL_INSTANTS && trial->filled <= least; i++, trial->filled++) {
        const uint64_t m = first - trial->filled;
        if (m + history.mask >= sim->schedule.n) { /* otherwise a newer truth has its slot by now */
            fill_one(vehicle, &history, m);
        }
    }
    if (trial->filled <= least) {
        return false;
    }
    vehicle->history = history;
    change->history = NULL;
    return true;
}

/* ---- begin ---- */

static bool begin_shadow(struct srv_sim *sim, struct srv_node *node, struct srv_change *change,
                         struct srv_reply *reply)
{
    struct srv_trial *trial = &change->trial;
    const char *reason = NULL;
    if (change->shadow_ticks == 0) {
        return flip_now(sim, node, change, reply);
    }
    if (change->instance.evaluate != NULL && srv_runner_take_state(sim, node, change, &reason) != OTO_OK) {
        return refuse(sim, node, change, OTO_PLUGIN, reason, reply);
    }
    srv_instance_enable_ports(&change->instance);
    if (trial->phase == SRV_TRIAL_NONE) {
        link_trial(sim, change);
    }
    set_trial(sim, node, change);
    trial->phase = SRV_TRIAL_SHADOW;
    trial->end_tick = sim->tick + change->shadow_ticks;
    return false;
}

/* Makes sure that the vehicle has a history. False: it is filled at the next boundaries. */
static bool have_history(struct srv_sim *sim, struct srv_node *node, struct srv_change *change)
{
    if (node->live.evaluate == NULL || srv_trial_vehicle(sim, node)->history.records != NULL ||
        shares_past(node, change)) {
        return true;
    }
    const bool paced = change->pace == SRV_SWAP_PACED || (change->pace == SRV_SWAP_BY_MODE && sim->paced);
    change->trial.fill_from = sim->schedule.n;
    bool filled = fill_history(sim, node, change);
    while (!filled && !paced) {
        filled = fill_history(sim, node, change);
    }
    return filled;
}

/* NULL, or why the swap cannot begin. */
static const char *conflict_of(const struct srv_sim *sim, const struct srv_node *node, struct srv_change *change)
{
    if (node->trial != NULL && node->trial->trial.phase != SRV_TRIAL_PROBATION) {
        return "another swap of this node is under way";
    }
    if (change->revision != node->revision) {
        return "another change of this node was applied meanwhile; ask again";
    }
    return srv_runner_swap_conflict(sim, node, change);
}

bool srv_trial_begin(struct srv_sim *sim, struct srv_node *node, struct srv_change *change,
                     struct srv_reply *reply)
{
    const char *reason = NULL;
    srv_assert_tick_thread(sim);
    reply->reason = conflict_of(sim, node, change);
    if (reply->reason != NULL) {
        reply->status = OTO_CONFLICT;
        say_refused(sim, node, reply->reason);
        return true;
    }
    if (node->trial != NULL) {
        keep(sim, node, node->trial); /* a second swap of the node accepts the first */
    }
    if (srv_runner_take_state(sim, node, change, &reason) != OTO_OK) {
        return refuse(sim, node, change, OTO_PLUGIN, reason, reply);
    }
    change->trial.reply = *reply;
    if (!have_history(sim, node, change)) {
        change->trial.phase = SRV_TRIAL_FILLING;
        link_trial(sim, change);
        set_trial(sim, node, change);
        return false;
    }
    return begin_shadow(sim, node, change, reply);
}

/* ---- boundaries ---- */

static bool end_shadow(struct srv_sim *sim, struct srv_node *node, struct srv_change *change,
                       struct srv_reply *reply)
{
    struct srv_difference worst = {0.0, 0.0};
    uint32_t element;
    if (change->shadow_tolerance > 0.0 && srv_comparison_worst(&change->comparison, &element, &worst) != NULL &&
        worst.largest > change->shadow_tolerance) {
        return refuse(sim, node, change, OTO_RANGE, "in the shadow it differed by more than the tolerance", reply);
    }
    return flip_now(sim, node, change, reply);
}

static void advance(struct srv_sim *sim, struct srv_change *change)
{
    struct srv_trial *trial = &change->trial;
    struct srv_node *node = node_of(sim, change);
    struct srv_reply *reply = &trial->reply;
    bool answered = false;
    if (trial->phase == SRV_TRIAL_FILLING && fill_history(sim, node, change)) {
        answered = begin_shadow(sim, node, change, reply);
    } else if (trial->phase == SRV_TRIAL_SHADOW && trial->failure != NULL) {
        answered = refuse(sim, node, change, OTO_PLUGIN, trial->failure, reply);
    } else if (trial->phase == SRV_TRIAL_SHADOW && sim->tick >= trial->end_tick) {
        answered = end_shadow(sim, node, change, reply);
    } else if (trial->phase == SRV_TRIAL_PROBATION && trial->over_budget) {
        if (sim->hooks.over_budget != NULL) {
            sim->hooks.over_budget(sim->hooks.context, node->index);
        }
        srv_trial_roll_back(sim, node, "took longer than its budget in three steps in a row, or by a hundred budgets in total");
    } else if (trial->phase == SRV_TRIAL_PROBATION && sim->tick >= trial->end_tick) {
        keep(sim, node, change);
    }
    if (answered) {
        const struct srv_reply now = *reply; /* a copy, because the receiver may free the change */
        srv_sim_reply(sim, &now);
    }
}

void srv_trials_advance(struct srv_sim *sim)
{
    struct srv_change *next;
    for (struct srv_change *change = sim->trials; change != NULL; change = next) {
        next = change->trial.next;
        advance(sim, change);
    }
}

/* ---- commands ---- */

void srv_trial_cancel(struct srv_sim *sim, struct srv_node *node, struct srv_reply *reply)
{
    struct srv_change *change = node->trial;
    if (change == NULL || change->trial.phase == SRV_TRIAL_PROBATION) {
        reply->status = change == NULL ? OTO_NOT_FOUND : OTO_CONFLICT;
        reply->reason = change == NULL ? "no swap of this node is under way" : "it is live already: undo takes it back";
        return;
    }
    struct srv_reply answer = change->trial.reply;
    (void)refuse(sim, node, change, OTO_CLOSED, "cancelled", &answer);
    srv_sim_reply(sim, &answer);
}

void srv_trial_undo(struct srv_sim *sim, struct srv_node *node, struct srv_reply *reply)
{
    struct srv_change *change = node->trial;
    if (change == NULL || change->trial.phase != SRV_TRIAL_PROBATION) {
        reply->status = OTO_NOT_FOUND;
        reply->reason = "no swap of this node is on probation";
        return;
    }
    change->trial.undone = true;
    srv_trial_roll_back(sim, node, "was taken back on request");
}

bool srv_node_is_swapped(const struct srv_node *node)
{
    return node->trial != NULL;
}

void srv_trials_finish(struct srv_sim *sim)
{
    while (sim->trials != NULL) {
        struct srv_change *change = sim->trials;
        sim->trials = change->trial.next;
        (void)srv_change_free(&change->open);
    }
}
