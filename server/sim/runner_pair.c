/* Runs the steps of a node with two plugins, the candidate and the previous one: samples and motions. [tick] */
#include <string.h>

#include "base/fpu.h"
#include "sim/sim.h"
#include "sim/swap_private.h"

#define SLOW_STEPS 3u       /* slow steps in a row for a roll-back: a single one may have another cause */
#define EXCESS_BUDGETS 100 /* budgets of total excess for a roll-back: rare steps that are very slow count too */

/* ---- a candidate's step ---- */

static bool is_on_probation(const struct srv_node *node)
{
    return node->trial != NULL && node->trial->trial.phase == SRV_TRIAL_PROBATION;
}

/* The answer of a plugin host to the present sample; NULL: the node runs in this process. */
static const struct srv_sample *answer_of(const struct srv_sim *sim, const struct srv_node *node, bool candidate)
{
    return node->member != NULL ? sim->remote->answer(node->member, candidate) : NULL;
}

static uint64_t *hears_of(const struct srv_sim *sim, const struct srv_node *node)
{
    return node->member != NULL ? sim->remote->cursors_after(node->member) : NULL;
}

struct srv_pair_side srv_pair_live(const struct srv_sim *sim, struct srv_node *node)
{
    return (struct srv_pair_side){.instance = &node->live.abi,
                               .step = node->live.step,
                               .outputs = node->live.outputs,
                               .ports = node->live.ports,
                               .port_count = node->live.port_count,
                               .quarantined = &node->live.quarantined,
                               .heard = is_on_probation(node) ? node->trial->heard : node->inputs.cursors,
                               .hears = is_on_probation(node) ? node->trial->hears : hears_of(sim, node),
                               .answer = answer_of(sim, node, is_on_probation(node))};
}

struct srv_pair_side srv_pair_beside(const struct srv_sim *sim, struct srv_node *node)
{
    struct srv_instance *beside = &node->trial->instance;
    return (struct srv_pair_side){.instance = &beside->abi,
                               .step = beside->step,
                               .outputs = beside->outputs,
                               .ports = beside->ports,
                               .port_count = beside->port_count,
                               .quarantined = &beside->quarantined,
                               .heard = is_on_probation(node) ? node->inputs.cursors : node->trial->heard,
                               .hears = is_on_probation(node) ? hears_of(sim, node) : node->trial->hears,
                               .answer = answer_of(sim, node, !is_on_probation(node))};
}

struct srv_pair_side srv_pair_resident(const struct srv_sim *sim, struct srv_node *node)
{
    return is_on_probation(node) ? srv_pair_beside(sim, node) : srv_pair_live(sim, node);
}

static bool is_good(enum oto_step_status status)
{
    return status == OTO_STEP_OK || status == OTO_STEP_WARN;
}

/*
 * Steps a side in this process, or takes the answer of its host; DISCARD: the host has not answered. False: the step
 * changed the floating-point mode.
 */
static bool run(struct srv_sim *sim, const struct srv_node *node, const struct srv_pair_side *runner,
                const struct oto_step *step, enum oto_step_status *status)
{
    if (runner->answer != NULL) {
        *status = runner->answer->answered ? (enum oto_step_status)runner->answer->status : OTO_STEP_DISCARD;
        return *status != (enum oto_step_status)SRV_STEP_FLOAT_MODE;
    }
    struct oto_step own = *step;
    own.outputs = step->outputs != NULL ? runner->outputs : NULL;
    if (own.outputs != NULL) {
        srv_outputs_clear(runner->outputs, runner->ports, runner->port_count, step->at.t_ns);
    }
    return srv_node_call(sim, node, runner->step, runner->instance, &own, status);
}

static bool all_finite(const struct srv_pair_side *runner)
{
    bool finite = true;
    for (uint32_t i = 0; i < runner->port_count; i++) {
        if (runner->outputs[i].emit != 0 && runner->ports[i].enabled) {
            finite = finite && oto_record_is_finite(runner->ports[i].runs, runner->ports[i].run_count,
                                                    runner->outputs[i].payload);
        }
    }
    return finite;
}

/* Adds the time of a step of the candidate. The time causes a roll-back only if the swap has a budget. */
static void keep_time(struct srv_change *change, int64_t took_ns)
{
    struct srv_trial *trial = &change->trial;
    trial->steps++;
    trial->step_sum_ns += took_ns;
    trial->step_max_ns = took_ns > trial->step_max_ns ? took_ns : trial->step_max_ns;
    trial->slow_in_a_row = change->budget_ns > 0 && took_ns > change->budget_ns ? trial->slow_in_a_row + 1 : 0;
    if (change->budget_ns > 0) {
        const int64_t excess_ns = trial->excess_ns + took_ns - change->budget_ns;
        trial->excess_ns = excess_ns > 0 ? excess_ns : 0;
    }
    trial->over_budget = trial->over_budget || trial->slow_in_a_row >= SLOW_STEPS ||
                         trial->excess_ns / EXCESS_BUDGETS > change->budget_ns;
}

/* Steps the candidate. Returns NULL, or what the candidate did wrong. */
static const char *run_candidate(struct srv_sim *sim, const struct srv_node *node, struct srv_change *change,
                                 const struct srv_pair_side *runner, const struct oto_step *step,
                                 enum oto_step_status *status)
{
    if (runner->answer != NULL && !runner->answer->answered) {
        return sim->remote->silence(node->member);
    }
    const struct srv_step_time before = srv_sim_step_time(sim);
    const bool kept_mode = run(sim, node, runner, step, status);
    const struct srv_step_time after = srv_sim_step_time(sim);
    keep_time(change, runner->answer != NULL ? runner->answer->step_ns : srv_step_time_ns(&before, &after));
    if (!kept_mode) {
        return "changed the floating-point mode";
    }
    return *status <= OTO_STEP_DISCARD ? NULL : *status == OTO_STEP_FATAL ? "reported a fatal error" : "reported an error";
}

/* ---- samples ---- */

static void keep_last(const struct srv_sim *sim, const struct srv_node *node)
{
    if (node->member != NULL) {
        sim->remote->keep_last(node->member);
    }
}

static const struct srv_sample *silence(const struct srv_pair_side *runner)
{
    return runner->answer != NULL && !runner->answer->answered ? runner->answer : NULL;
}

/* Hashes the cursors of an estimator, which are part of its state. */
static void absorb_cursors(struct srv_sim *sim, const struct srv_node *node)
{
    if (node->is_estimator) {
        srv_sim_absorb(sim, node->vehicle, node->inputs.cursors, node->inputs.count * sizeof *node->inputs.cursors);
    }
}

/*
 * Hashes and publishes the live plugin's sample, as without a swap. `silent`: the sample of a host that did not answer, to
 * repeat the last records; NULL: there is an answer.
 */
static void finish_sample(struct srv_sim *sim, struct srv_node *node, enum oto_step_status status, uint32_t flags,
                          const struct srv_sample *silent)
{
    if (silent != NULL) {
        sim->remote->repeat(sim, node->member, silent);
        return;
    }
    srv_sim_absorb_state(sim, node->vehicle, &node->live);
    absorb_cursors(sim, node);
    if (is_good(status)) {
        srv_tick_publish(sim, node, flags | (status == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0));
        keep_last(sim, node);
    }
}

/* Steps the live plugin, as without a swap. */
static enum oto_step_status run_live(struct srv_sim *sim, struct srv_node *node, const struct srv_pair_side *live,
                                     const struct oto_step *step)
{
    if (live->answer == NULL) {
        srv_outputs_clear(node->live.outputs, node->live.ports, node->live.port_count, step->at.t_ns);
        return srv_node_run(sim, node, step);
    }
    return live->answer->answered ? srv_node_account(sim, node, live->answer->status) : OTO_STEP_DISCARD;
}

/*
 * Steps the candidate and compares its records with the live ones, before faults change those. Returns NULL, or what the
 * candidate did wrong.
 */
static const char *shadow_candidate(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step,
                                    enum oto_step_status status)
{
    struct srv_change *change = node->trial;
    const struct srv_pair_side live = srv_pair_live(sim, node), beside = srv_pair_beside(sim, node);
    enum oto_step_status theirs;
    const bool was_finite = !is_good(status) || all_finite(&live);
    const char *wrong = run_candidate(sim, node, change, &beside, step, &theirs);
    if (wrong != NULL || !is_good(theirs)) {
        return wrong;
    }
    if (was_finite && !all_finite(&beside)) {
        return "gave a NaN or an infinity";
    }
    if (is_good(status) && live.outputs[0].emit != 0 && beside.outputs[0].emit != 0) {
        srv_comparison_add(&change->comparison, live.outputs[0].payload, beside.outputs[0].payload);
    }
    return NULL;
}

static void shadow_sample(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step, uint32_t flags)
{
    struct srv_trial *trial = &node->trial->trial;
    const struct srv_pair_side live = srv_pair_live(sim, node);
    const bool lives = !node->live.quarantined;
    enum oto_step_status status = OTO_STEP_ERROR;
    if (lives) {
        status = run_live(sim, node, &live, step);
    }
    if (trial->failure == NULL) {
        trial->failure = shadow_candidate(sim, node, step, status);
    }
    if (lives) {
        finish_sample(sim, node, status, flags, silence(&live));
    }
}

/* Hashes the sample of the previous plugin, so that the chain is that of a run without the swap. */
static void absorb_before(struct srv_sim *sim, const struct srv_node *node, enum oto_step_status status,
                          uint32_t flags)
{
    struct srv_change *change = node->trial;
    struct srv_instance *before = &change->instance;
    srv_sim_absorb_state(sim, node->vehicle, before);
    absorb_cursors(sim, node);
    flags |= status == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0;
    for (uint32_t i = 0; is_good(status) && i < before->port_count; i++) {
        const struct srv_port *port = &before->ports[i];
        const struct oto_output *output = &before->outputs[i];
        if (output->emit == 0 || !port->enabled) {
            continue;
        }
        const bool finite = oto_record_is_finite(port->runs, port->run_count, output->payload);
        const struct oto_sample_head head = {.t_ns = output->t_ns,
                                             .sensor_time_ns = output->sensor_time_ns,
                                             .seq = ++change->trial.seq[i],
                                             .flags = output->flags | flags | (finite ? 0 : OTO_SAMPLE_NON_FINITE),
                                             .bytes = port->payload_bytes};
        srv_sim_absorb(sim, node->vehicle, &head, sizeof head);
        srv_sim_absorb(sim, node->vehicle, output->payload, port->payload_bytes);
    }
}

static void probation_sample(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step,
                             uint32_t flags)
{
    struct srv_change *change = node->trial;
    struct srv_instance *before = &change->instance;
    const struct srv_pair_side live = srv_pair_live(sim, node), beside = srv_pair_beside(sim, node);
    enum oto_step_status status = OTO_STEP_DISCARD, theirs = OTO_STEP_ERROR;
    if (!before->quarantined && (!run(sim, node, &beside, step, &status) || status > OTO_STEP_DISCARD)) {
        before->quarantined = true; /* it failed while it was not published, so a roll-back leads to a quarantined plugin */
    }
    const bool can_be_finite = before->quarantined || !is_good(status) || all_finite(&beside);
    const char *wrong = node->live.quarantined ? "was quarantined with its library"
                                          : run_candidate(sim, node, change, &live, step, &theirs);
    if (wrong == NULL && is_good(theirs) && can_be_finite && !all_finite(&live)) {
        wrong = "gave a NaN or an infinity";
    }
    if (wrong != NULL) {
        srv_trial_roll_back(sim, node, wrong);
        if (!node->live.quarantined) {
            finish_sample(sim, node, status, flags, silence(&beside));
        }
        return;
    }
    if (theirs == OTO_STEP_WARN || theirs == OTO_STEP_DISCARD) {
        srv_count(sim, theirs == OTO_STEP_WARN ? OTO_COUNTER_WARNINGS : OTO_COUNTER_DISCARDS, 1);
    }
    if (!before->quarantined) {
        absorb_before(sim, node, status, flags);
    }
    if (is_good(theirs)) {
        srv_tick_publish_aside(sim, node,
                               flags | OTO_SAMPLE_PROBATION | (theirs == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0));
        keep_last(sim, node);
    }
}

void srv_trial_sample(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step, uint32_t flags)
{
    if (node->trial->trial.phase == SRV_TRIAL_SHADOW) {
        shadow_sample(sim, node, step, flags);
    } else {
        probation_sample(sim, node, step, flags);
    }
}

/* ---- motions ---- */

static bool truth_of(struct srv_sim *sim, const struct srv_node *node, const struct oto_instance *instance,
                     enum oto_step_status (*evaluate)(const struct oto_instance *, struct oto_instant,
                                                      struct oto_truth_record *),
                     const struct oto_step *step, struct oto_truth_record *truth)
{
    uint32_t *breadcrumb = &sim->store.header->current_node;
    memset(truth, 0, sizeof *truth);
    __atomic_store_n(breadcrumb, node->index + 1, __ATOMIC_RELAXED);
    const enum oto_step_status status = evaluate(instance, step->at, truth);
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    const bool pinned = srv_fpu_is_pinned();
    if (!pinned) {
        srv_fpu_pin();
    }
    return pinned && is_good(status) && oto_record_is_finite(sim->truth_runs, sim->truth_run_count, truth);
}

/* Moves the candidate and evaluates its truth. Returns NULL, or what the candidate did wrong. */
static const char *move_candidate(struct srv_sim *sim, struct srv_node *node, const struct srv_pair_side *runner,
                                  enum oto_step_status (*evaluate)(const struct oto_instance *, struct oto_instant,
                                                                   struct oto_truth_record *),
                                  const struct oto_step *step, enum oto_step_status *status,
                                  struct oto_truth_record *truth)
{
    const char *wrong = run_candidate(sim, node, node->trial, runner, step, status);
    if (wrong == NULL && is_good(*status) && !truth_of(sim, node, runner->instance, evaluate, step, truth)) {
        wrong = "could not be evaluated, or gave a NaN or an infinity";
    }
    return wrong;
}

static void shadow_motion(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step)
{
    struct srv_change *change = vehicle->motion->trial;
    const struct srv_pair_side beside = srv_pair_beside(sim, vehicle->motion);
    struct oto_truth_record truth;
    enum oto_step_status status;
    if (change->trial.failure != NULL) {
        return;
    }
    change->trial.failure =
        move_candidate(sim, vehicle->motion, &beside, change->instance.evaluate, step, &status, &truth);
    if (change->trial.failure == NULL && is_good(status)) {
        srv_comparison_add(&change->comparison, &vehicle->truth, &truth);
    }
}

static void probation_motion(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step,
                             uint32_t *flags)
{
    struct srv_node *motion = vehicle->motion;
    struct srv_change *change = motion->trial;
    struct srv_instance *before = &change->instance;
    const struct srv_pair_side live = srv_pair_live(sim, motion), beside = srv_pair_beside(sim, motion);
    struct oto_truth_record truth, old_truth;
    enum oto_step_status status = OTO_STEP_ERROR, theirs = OTO_STEP_ERROR;
    if (!before->quarantined && (!run(sim, motion, &beside, step, &status) || status > OTO_STEP_DISCARD)) {
        before->quarantined = true;
    }
    const bool old_stands = !before->quarantined && is_good(status) &&
                            truth_of(sim, motion, &before->abi, before->evaluate, step, &old_truth);
    const char *wrong = motion->live.quarantined
                            ? "was quarantined with its library"
                            : move_candidate(sim, motion, &live, motion->live.evaluate, step, &theirs, &truth);
    if (wrong != NULL) {
        srv_trial_roll_back(sim, motion, wrong);
    } else {
        *flags |= OTO_SAMPLE_PROBATION | (theirs == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0);
    }
    vehicle->stale = wrong == NULL ? !is_good(theirs) : !old_stands;
    if (!vehicle->stale) {
        vehicle->truth = wrong == NULL ? truth : old_truth;
    }
}

static void move(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step, uint32_t *flags)
{
    if (vehicle->motion->trial->trial.phase == SRV_TRIAL_PROBATION) {
        probation_motion(sim, vehicle, step, flags);
        return;
    }
    srv_direct_move(sim, vehicle, step, flags);
    if (vehicle->motion->trial->trial.phase == SRV_TRIAL_SHADOW) {
        shadow_motion(sim, vehicle, step);
    }
}

bool srv_trial_save_motion(struct srv_sim *sim, struct srv_node *motion)
{
    if (motion->trial == NULL || motion->trial->trial.phase != SRV_TRIAL_PROBATION || motion->trial->instance.quarantined) {
        return false;
    }
    srv_trial_roll_back(sim, motion, "could not be evaluated");
    return true;
}

/* ---- the runner ---- */

/* Takes the samples of this tick. After a roll-back within the tick, the node's new runner takes the other samples. */
static void take(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick)
{
    struct srv_turn_step turn;
    while (srv_due_tick(&node->due) == tick) {
        if (node->runner != &srv_runner_pair) {
            node->runner->take(sim, vehicle, node, tick);
            return;
        }
        srv_turn_prepare(sim, vehicle, node, tick, &turn);
        srv_trial_sample(sim, node, &turn.step, turn.flags);
        srv_node_advance(node);
    }
}

static enum oto_step_status evaluate(struct srv_sim *sim, struct srv_node *motion, struct oto_instant at,
                                     struct oto_truth_record *truth)
{
    return srv_runner_direct.evaluate(sim, motion, at, truth);
}

static enum oto_status apply(struct srv_sim *sim, struct srv_node *node, struct srv_change *change, const char **reason)
{
    (void)sim;
    (void)node;
    (void)change;
    *reason = "a swap of this node is on probation or in its shadow: set it when that is over, or undo the swap";
    return OTO_CONFLICT;
}

const struct srv_runner srv_runner_pair = {.take = take, .move = move, .evaluate = evaluate, .apply = apply};
