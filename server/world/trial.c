/*
 * Two plugins in one place: a swap's candidate and the plugin before it, kept in step on the same inputs. In the shadow
 * the one before is live and the candidate runs unheard; on probation it is the other way round, so that the one before
 * is always where it would be had it never left, and a roll-back is an exchange: within the sample that failed. [tick]
 *
 * The state's hash follows the plugin before until probation is over: a swap that is rolled back leaves the chain of a
 * run that never saw it, and a swap to identical code the same chain as no swap.
 */
#include <string.h>

#include "host/fifo.h"
#include "host/fpu.h"
#include "world/engine_private.h"
#include "world/journal.h"
#include "world/text.h"

#define FILL_INSTANTS 64u   /* of the history, at each boundary */
#define SLOW_STEPS 3u       /* in a row: one may be the machine's fault */

static struct srv_vehicle *vehicle_of(struct srv_engine *engine, const struct srv_node *node)
{
    return &engine->vehicles[node->config->vehicle];
}

static struct srv_node *node_of(struct srv_engine *engine, const struct srv_change *change)
{
    return &engine->nodes[change->open.node];
}

static void unlink_trial(struct srv_engine *engine, struct srv_change *change)
{
    struct srv_change **link = &engine->trials;
    while (*link != NULL && *link != change) {
        link = &(*link)->trial.next;
    }
    if (*link != NULL) {
        *link = change->trial.next;
    }
}

static void link_trial(struct srv_engine *engine, struct srv_change *change)
{
    change->trial.next = engine->trials;
    engine->trials = change;
}

/* The past of a motion that took over a state as it is, and can be asked about any time as the other could, is its own. */
static bool shares_past(const struct srv_node *node, const struct srv_change *change)
{
    return change->start == SRV_START_COPY &&
           (node->motion_flags & change->occupant.motion_flags & OTO_MOTION_ANY_TIME) != 0;
}

/* After an exchange: of what was before it the vehicle's history tells. */
static void take_vehicle(struct srv_engine *engine, const struct srv_node *node, const struct srv_change *change)
{
    struct srv_vehicle *vehicle = vehicle_of(engine, node);
    if (node->evaluate == NULL) {
        return;
    }
    vehicle->any_time = (node->motion_flags & OTO_MOTION_ANY_TIME) != 0;
    if (!shares_past(node, change)) {
        vehicle->any_from_ns = engine->beat.t_ns;
    }
}

/* Clients see who fills the channels, and which of them are silent. */
static void show_occupant(struct srv_engine *engine, struct srv_node *node, const struct srv_occupant *before)
{
    const struct oto_plugin_descriptor *now = node->descriptor, *was = before->descriptor;
    const bool renamed = strcmp(now->id, was->id) != 0 || strcmp(now->version, was->version) != 0;
    srv_node_join_rings(node, &engine->segment, before->ports, before->port_count);
    srv_node_update_ports(node, engine->segment.directory);
    srv_estimators_attach(engine);
    for (uint32_t i = 0; i < node->channel_count + node->labelled; i++) {
        struct oto_segment_channel *channel = &engine->segment.directory[node->first_channel + i];
        if (renamed) {
            srv_channel_identify(channel, now->id, now->version, node->generation);
        } else {
            __atomic_store_n(&channel->generation, node->generation, __ATOMIC_RELAXED);
        }
    }
}

static void say_refused(struct srv_engine *engine, const struct srv_node *node, const char *reason)
{
    srv_count(engine, OTO_COUNTER_SWAPS_REFUSED, 1);
    srv_event_write(engine, OTO_EVENT_SWAP_REFUSED, 1, (int64_t)node->generation, node->topic, reason);
}

/* ---- the end of a probation ---- */

/* Off the node; the answer goes to who asked for it, or waits to be asked for. */
static void settle(struct srv_engine *engine, struct srv_node *node, struct srv_change *change)
{
    struct srv_trial *trial = &change->trial;
    node->trial = NULL;
    trial->phase = SRV_TRIAL_SETTLED;
    if (trial->asked) {
        (void)srv_trial_settle(engine, change, &trial->reply);
        srv_reply_send_now(engine, &trial->reply);
    }
}

static void roll_back(struct srv_engine *engine, struct srv_node *node, const char *why)
{
    struct srv_change *change = node->trial;
    char text[152];
    struct srv_text words = srv_text_begin(text, sizeof text);
    srv_text_add(&words, node->descriptor->id);
    srv_text_add(&words, " ");
    srv_text_add(&words, why);
    srv_text_add(&words, "; back to ");
    srv_change_flip(node, change);
    srv_text_add(&words, node->descriptor->id);
    srv_text_add(&words, " ");
    srv_text_add(&words, node->descriptor->version);
    show_occupant(engine, node, &change->occupant);
    take_vehicle(engine, node, change);
    if (node->quarantined) {
        srv_count(engine, OTO_COUNTER_QUARANTINED, 1);
    }
    change->trial.rolled_back = true;
    change->trial.failure = why;
    srv_count(engine, OTO_COUNTER_SWAPS_ROLLED_BACK, 1);
    srv_event_write(engine, OTO_EVENT_SWAP_ROLLED_BACK, change->trial.undone ? 0 : 2, (int64_t)node->generation,
                    node->topic, text);
    settle(engine, node, change);
}

static void keep(struct srv_engine *engine, struct srv_node *node, struct srv_change *change)
{
    srv_event_write(engine, OTO_EVENT_SWAP_KEPT, 0, (int64_t)node->generation, node->topic, change->text);
    settle(engine, node, change);
}

bool srv_trial_settle(struct srv_engine *engine, struct srv_change *change, struct srv_reply *reply)
{
    struct srv_trial *trial = &change->trial;
    const bool over = engine->ended || engine->faulted;
    if (trial->phase == SRV_TRIAL_PROBATION && over) {
        node_of(engine, change)->trial = NULL;
        trial->phase = SRV_TRIAL_SETTLED;
    }
    if (trial->phase != SRV_TRIAL_SETTLED) {
        trial->asked = true;
        trial->reply = *reply;
        return false;
    }
    unlink_trial(engine, change);
    reply->change = &change->open;
    reply->status = trial->undone ? OTO_CLOSED : trial->rolled_back ? OTO_PLUGIN : OTO_OK;
    reply->reason = trial->failure;
    reply->tick = engine->tick;
    srv_reply_show_node(node_of(engine, change), reply);
    return true;
}

/* ---- the flip ---- */

/* True: *reply is complete. */
static bool flip(struct srv_engine *engine, struct srv_node *node, struct srv_change *change, struct srv_reply *reply)
{
    struct srv_trial *trial = &change->trial;
    for (uint32_t i = 0; i < node->port_count; i++) {
        trial->seq[i] = srv_fifo_newest(node, &node->ports[i].ring, node->ports[i].channel);
    }
    srv_change_flip(node, change);
    show_occupant(engine, node, &change->occupant);
    take_vehicle(engine, node, change);
    trial->flip_tick = engine->tick;
    reply->status = OTO_OK;
    reply->tick = engine->tick;
    reply->change = &change->open;
    srv_reply_show_node(node, reply);
    srv_count(engine, OTO_COUNTER_SWAPS, 1);
    srv_event_write(engine, OTO_EVENT_SWAP, 0, (int64_t)node->generation, node->topic, change->text);
    reply->settling = change->probation_ticks > 0;
    if (!reply->settling) {
        node->trial = NULL;
        unlink_trial(engine, change);
        return true;
    }
    if (trial->phase == SRV_TRIAL_NONE) {
        link_trial(engine, change);
    }
    trial->phase = SRV_TRIAL_PROBATION;
    trial->end_tick = engine->tick + change->probation_ticks;
    node->trial = change;
    return true;
}

static bool refuse(struct srv_engine *engine, struct srv_node *node, struct srv_change *change, enum oto_status status,
                   const char *reason, struct srv_reply *reply)
{
    node->trial = NULL;
    unlink_trial(engine, change);
    reply->status = status;
    reply->reason = reason;
    reply->tick = engine->tick;
    reply->change = &change->open;
    say_refused(engine, node, reason);
    return true;
}

static enum oto_status take_state(struct srv_engine *engine, struct srv_node *node, struct srv_change *change,
                                  const char **reason)
{
    return srv_change_take_state(node, change, &vehicle_of(engine, node)->truth, engine->beat.t_ns,
                                 srv_beat_sub_ns(&engine->beat), reason);
}

/* A motion has gone its own way since it took over: it takes over again. */
static bool flip_now(struct srv_engine *engine, struct srv_node *node, struct srv_change *change,
                     struct srv_reply *reply)
{
    const char *reason = NULL;
    if (change->occupant.evaluate != NULL && take_state(engine, node, change, &reason) != OTO_OK) {
        return refuse(engine, node, change, OTO_PLUGIN, reason, reply);
    }
    return flip(engine, node, change, reply);
}

/* ---- the history of a vehicle whose motion needed none ---- */

static void fill_one(const struct srv_vehicle *vehicle, struct srv_history *history, uint64_t m)
{
    const struct srv_node *motion = vehicle->motion;
    struct oto_truth_record truth;
    uint64_t rest;
    const int64_t t_ns = srv_instant_ns(m, history->rate_num, history->rate_den, &rest);
    memset(&truth, 0, sizeof truth);
    const bool known = !motion->quarantined &&
                       motion->evaluate(&motion->instance, t_ns, (double)rest / (double)history->rate_num, &truth) ==
                           OTO_STEP_OK;
    srv_history_put(history, m, m == 0 ? &vehicle->truth_zero : known ? &truth : &vehicle->truth);
}

static struct srv_history history_of(const struct srv_engine *engine, const struct srv_change *change)
{
    const struct srv_clock_config *clock = &engine->config->clock;
    const struct srv_history history = {.records = change->history,
                                        .mask = srv_history_capacity(clock->rate_num, clock->rate_den) - 1,
                                        .rate_num = clock->rate_num,
                                        .rate_den = clock->rate_den};
    return history;
}

/* From the boundary of the begin backwards, some at each boundary, and what came since. True: a second is there. */
static bool fill(struct srv_engine *engine, struct srv_node *node, struct srv_change *change)
{
    struct srv_vehicle *vehicle = vehicle_of(engine, node);
    struct srv_history history = history_of(engine, change);
    struct srv_trial *trial = &change->trial;
    srv_history_put(&history, engine->beat.n, &vehicle->truth);
    const uint64_t first = trial->fill_from;
    const uint64_t second = history.rate_num / history.rate_den + 2;
    const uint64_t least = first < second ? first : second;
    for (uint32_t i = 0; i < FILL_INSTANTS && trial->filled <= least; i++, trial->filled++) {
        const uint64_t m = first - trial->filled;
        if (m + history.mask >= engine->beat.n) { /* else its place is a newer one's by now */
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

static bool begin_shadow(struct srv_engine *engine, struct srv_node *node, struct srv_change *change,
                         struct srv_reply *reply)
{
    struct srv_trial *trial = &change->trial;
    const char *reason = NULL;
    if (change->shadow_ticks == 0) {
        return flip_now(engine, node, change, reply);
    }
    if (change->occupant.evaluate != NULL && take_state(engine, node, change, &reason) != OTO_OK) {
        return refuse(engine, node, change, OTO_PLUGIN, reason, reply);
    }
    srv_ports_enable(change->occupant.ports, change->occupant.port_count, &change->occupant.params);
    if (trial->phase == SRV_TRIAL_NONE) {
        link_trial(engine, change);
    }
    node->trial = change;
    trial->phase = SRV_TRIAL_SHADOW;
    trial->end_tick = engine->tick + change->shadow_ticks;
    return false;
}

bool srv_trial_is_paced(const struct srv_engine *engine)
{
    return engine->mode == OTO_MODE_REALTIME && !engine->paused;
}

/* False: it goes on at the next boundaries. */
static bool have_history(struct srv_engine *engine, struct srv_node *node, struct srv_change *change)
{
    if (node->evaluate == NULL || vehicle_of(engine, node)->history.records != NULL || shares_past(node, change)) {
        return true;
    }
    const bool paced = change->pace == SRV_SWAP_PACED || (change->pace == SRV_SWAP_BY_MODE && srv_trial_is_paced(engine));
    change->trial.fill_from = engine->beat.n;
    bool filled = fill(engine, node, change);
    while (!filled && !paced) {
        filled = fill(engine, node, change);
    }
    return filled;
}

bool srv_trial_begin(struct srv_engine *engine, struct srv_node *node, struct srv_change *change,
                     struct srv_reply *reply)
{
    const char *reason = NULL;
    srv_assert_tick_thread(engine);
    const bool under_way = node->trial != NULL && node->trial->trial.phase != SRV_TRIAL_PROBATION;
    if (under_way || change->revision != node->revision) {
        reply->status = OTO_CONFLICT;
        reply->reason = under_way ? "another swap of this node is under way"
                                  : "another change of this node was applied meanwhile; ask again";
        say_refused(engine, node, reply->reason);
        return true;
    }
    if (node->trial != NULL) {
        keep(engine, node, node->trial); /* who swaps on has seen enough of it */
    }
    if (take_state(engine, node, change, &reason) != OTO_OK) {
        return refuse(engine, node, change, OTO_PLUGIN, reason, reply);
    }
    change->trial.reply = *reply;
    if (!have_history(engine, node, change)) {
        change->trial.phase = SRV_TRIAL_FILLING;
        link_trial(engine, change);
        node->trial = change;
        return false;
    }
    return begin_shadow(engine, node, change, reply);
}

/* ---- boundaries ---- */

static bool end_shadow(struct srv_engine *engine, struct srv_node *node, struct srv_change *change,
                       struct srv_reply *reply)
{
    struct srv_difference worst = {0.0, 0.0};
    uint32_t element;
    if (change->shadow_tolerance > 0.0 && srv_comparison_worst(&change->comparison, &element, &worst) != NULL &&
        worst.largest > change->shadow_tolerance) {
        return refuse(engine, node, change, OTO_RANGE, "in the shadow it differed by more than the tolerance", reply);
    }
    return flip_now(engine, node, change, reply);
}

static void advance(struct srv_engine *engine, struct srv_change *change)
{
    struct srv_trial *trial = &change->trial;
    struct srv_node *node = node_of(engine, change);
    struct srv_reply *reply = &trial->reply;
    bool answered = false;
    if (trial->phase == SRV_TRIAL_FILLING && fill(engine, node, change)) {
        answered = begin_shadow(engine, node, change, reply);
    } else if (trial->phase == SRV_TRIAL_SHADOW && trial->failure != NULL) {
        answered = refuse(engine, node, change, OTO_PLUGIN, trial->failure, reply);
    } else if (trial->phase == SRV_TRIAL_SHADOW && engine->tick >= trial->end_tick) {
        answered = end_shadow(engine, node, change, reply);
    } else if (trial->phase == SRV_TRIAL_PROBATION && trial->over_budget) {
        srv_journal_slow(engine, node->index);
        roll_back(engine, node, "took longer than its budget in three steps");
    } else if (trial->phase == SRV_TRIAL_PROBATION && engine->tick >= trial->end_tick) {
        keep(engine, node, change);
    }
    if (answered) {
        const struct srv_reply now = *reply; /* after it the change may be gone */
        srv_reply_send_now(engine, &now);
    }
}

void srv_trials_advance(struct srv_engine *engine)
{
    struct srv_change *next;
    for (struct srv_change *change = engine->trials; change != NULL; change = next) {
        next = change->trial.next;
        advance(engine, change);
    }
}

/* ---- a candidate's step ---- */

/* What runs, wherever it stands at the moment. */
struct runner {
    const struct oto_instance *instance;
    enum oto_step_status (*step)(const struct oto_instance *, const struct oto_step *);
    struct oto_output *outputs;
    struct srv_port *ports;
    uint32_t port_count;
};

static struct runner runner_of_node(struct srv_node *node)
{
    return (struct runner){&node->instance, node->step, node->outputs, node->ports, node->port_count};
}

static struct runner runner_beside(struct srv_change *change)
{
    struct srv_occupant *beside = &change->occupant;
    return (struct runner){&beside->instance, beside->step, beside->outputs, beside->ports, beside->port_count};
}

static bool is_good(enum oto_step_status status)
{
    return status == OTO_STEP_OK || status == OTO_STEP_WARN;
}

static bool run(struct srv_engine *engine, const struct srv_node *node, const struct runner *runner,
                const struct oto_step *step, enum oto_step_status *status)
{
    struct oto_step own = *step;
    own.outputs = step->outputs != NULL ? runner->outputs : NULL;
    if (own.outputs != NULL) {
        srv_outputs_clear(runner->outputs, runner->ports, runner->port_count, step->t_ns);
    }
    return srv_node_call(engine, node, runner->step, runner->instance, &own, status);
}

static bool all_finite(const struct runner *runner)
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

/* Real time is measured and kept for the record; it decides only where a budget was asked for or the world is paced. */
static void keep_time(struct srv_change *change, int64_t took_ns)
{
    struct srv_trial *trial = &change->trial;
    trial->steps++;
    trial->step_sum_ns += took_ns;
    trial->step_max_ns = took_ns > trial->step_max_ns ? took_ns : trial->step_max_ns;
    trial->slow_in_a_row = change->budget_ns > 0 && took_ns > change->budget_ns ? trial->slow_in_a_row + 1 : 0;
    trial->over_budget = trial->over_budget || trial->slow_in_a_row >= SLOW_STEPS;
}

/* NULL, or what it did wrong. */
static const char *run_candidate(struct srv_engine *engine, const struct srv_node *node, struct srv_change *change,
                                 const struct runner *runner, const struct oto_step *step,
                                 enum oto_step_status *status)
{
    const int64_t before_ns = srv_now_ns();
    const bool kept_mode = run(engine, node, runner, step, status);
    keep_time(change, srv_now_ns() - before_ns);
    if (!kept_mode) {
        return "changed the floating-point mode";
    }
    return *status == OTO_STEP_ERROR ? "reported an error" : *status == OTO_STEP_FATAL ? "reported a fatal error" : NULL;
}

/* ---- samples ---- */

/* What an estimator has taken of its inputs, which is its state too. */
static void absorb_cursors(struct srv_engine *engine, const struct srv_node *node)
{
    if (node->is_estimator) {
        srv_state_hash_absorb(&engine->hash, node->inputs.cursors, node->inputs.count * sizeof *node->inputs.cursors);
    }
}

/* As without a trial. */
static void finish_sample(struct srv_engine *engine, struct srv_node *node, enum oto_step_status status, uint32_t flags)
{
    srv_state_hash_absorb(&engine->hash, node->instance.state, node->hashed_bytes);
    absorb_cursors(engine, node);
    if (is_good(status)) {
        srv_tick_publish(engine, node, flags | (status == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0));
    }
}

/* NULL, or what the candidate did wrong. What faults do to the live record is not compared. */
static const char *shadow_candidate(struct srv_engine *engine, struct srv_node *node, const struct oto_step *step,
                                    enum oto_step_status status)
{
    struct srv_change *change = node->trial;
    const struct runner live = runner_of_node(node), beside = runner_beside(change);
    enum oto_step_status theirs;
    const bool was_finite = !is_good(status) || all_finite(&live);
    const char *wrong = run_candidate(engine, node, change, &beside, step, &theirs);
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

static void shadow_sample(struct srv_engine *engine, struct srv_node *node, const struct oto_step *step, uint32_t flags)
{
    struct srv_trial *trial = &node->trial->trial;
    const bool live = !node->quarantined;
    enum oto_step_status status = OTO_STEP_ERROR;
    if (live) {
        srv_outputs_clear(node->outputs, node->ports, node->port_count, step->t_ns);
        status = srv_node_run(engine, node, step);
    }
    if (trial->failure == NULL) {
        trial->failure = shadow_candidate(engine, node, step, status);
    }
    if (live) {
        finish_sample(engine, node, status, flags);
    }
}

/* As it would have been, had the swap not been. */
static void absorb_before(struct srv_engine *engine, const struct srv_node *node, enum oto_step_status status,
                          uint32_t flags)
{
    struct srv_change *change = node->trial;
    struct srv_occupant *before = &change->occupant;
    srv_state_hash_absorb(&engine->hash, before->instance.state, before->hashed_bytes);
    absorb_cursors(engine, node);
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
        srv_state_hash_absorb(&engine->hash, &head, sizeof head);
        srv_state_hash_absorb(&engine->hash, output->payload, port->payload_bytes);
    }
}

static void probation_sample(struct srv_engine *engine, struct srv_node *node, const struct oto_step *step,
                             uint32_t flags)
{
    struct srv_change *change = node->trial;
    struct srv_occupant *before = &change->occupant;
    const struct runner live = runner_of_node(node), beside = runner_beside(change);
    enum oto_step_status status = OTO_STEP_DISCARD, theirs = OTO_STEP_ERROR;
    if (!before->quarantined && (!run(engine, node, &beside, step, &status) || status > OTO_STEP_DISCARD)) {
        before->quarantined = true; /* it broke unheard: there is no way back to a whole one */
    }
    const bool can_be_finite = before->quarantined || !is_good(status) || all_finite(&beside);
    const char *wrong = node->quarantined ? "was quarantined with its library"
                                          : run_candidate(engine, node, change, &live, step, &theirs);
    if (wrong == NULL && is_good(theirs) && can_be_finite && !all_finite(&live)) {
        wrong = "gave a NaN or an infinity";
    }
    if (wrong != NULL) {
        roll_back(engine, node, wrong);
        if (!node->quarantined) {
            finish_sample(engine, node, status, flags);
        }
        return;
    }
    if (theirs == OTO_STEP_WARN || theirs == OTO_STEP_DISCARD) {
        srv_count(engine, theirs == OTO_STEP_WARN ? OTO_COUNTER_WARNINGS : OTO_COUNTER_DISCARDS, 1);
    }
    if (!before->quarantined) {
        absorb_before(engine, node, status, flags);
    }
    if (is_good(theirs)) {
        srv_tick_publish_aside(engine, node,
                               flags | OTO_SAMPLE_PROBATION | (theirs == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0));
    }
}

void srv_trial_sample(struct srv_engine *engine, struct srv_node *node, const struct oto_step *step, uint32_t flags)
{
    if (node->trial->trial.phase == SRV_TRIAL_SHADOW) {
        shadow_sample(engine, node, step, flags);
    } else {
        probation_sample(engine, node, step, flags);
    }
}

/* ---- motions ---- */

static bool truth_of(struct srv_engine *engine, const struct srv_node *node, const struct oto_instance *instance,
                     enum oto_step_status (*evaluate)(const struct oto_instance *, int64_t, double,
                                                      struct oto_truth_record *),
                     const struct oto_step *step, struct oto_truth_record *truth)
{
    uint32_t *breadcrumb = &engine->segment.header->current_node;
    memset(truth, 0, sizeof *truth);
    __atomic_store_n(breadcrumb, node->index + 1, __ATOMIC_RELAXED);
    const enum oto_step_status status = evaluate(instance, step->t_ns, step->sub_ns, truth);
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    const bool pinned = srv_fpu_is_pinned();
    if (!pinned) {
        srv_fpu_pin();
    }
    return pinned && is_good(status) && oto_record_is_finite(engine->truth_runs, engine->truth_run_count, truth);
}

/* NULL, or what the candidate did wrong. */
static const char *move_candidate(struct srv_engine *engine, struct srv_node *node, const struct runner *runner,
                                  enum oto_step_status (*evaluate)(const struct oto_instance *, int64_t, double,
                                                                   struct oto_truth_record *),
                                  const struct oto_step *step, enum oto_step_status *status,
                                  struct oto_truth_record *truth)
{
    const char *wrong = run_candidate(engine, node, node->trial, runner, step, status);
    if (wrong == NULL && is_good(*status) && !truth_of(engine, node, runner->instance, evaluate, step, truth)) {
        wrong = "could not be evaluated, or gave a NaN or an infinity";
    }
    return wrong;
}

static void shadow_motion(struct srv_engine *engine, struct srv_vehicle *vehicle, const struct oto_step *step)
{
    struct srv_change *change = vehicle->motion->trial;
    const struct runner beside = runner_beside(change);
    struct oto_truth_record truth;
    enum oto_step_status status;
    if (change->trial.failure != NULL) {
        return;
    }
    change->trial.failure =
        move_candidate(engine, vehicle->motion, &beside, change->occupant.evaluate, step, &status, &truth);
    if (change->trial.failure == NULL && is_good(status)) {
        srv_comparison_add(&change->comparison, &vehicle->truth, &truth);
    }
}

static void probation_motion(struct srv_engine *engine, struct srv_vehicle *vehicle, const struct oto_step *step,
                             uint32_t *flags)
{
    struct srv_node *motion = vehicle->motion;
    struct srv_change *change = motion->trial;
    struct srv_occupant *before = &change->occupant;
    const struct runner live = runner_of_node(motion), beside = runner_beside(change);
    struct oto_truth_record truth, old_truth;
    enum oto_step_status status = OTO_STEP_ERROR, theirs = OTO_STEP_ERROR;
    if (!before->quarantined && (!run(engine, motion, &beside, step, &status) || status > OTO_STEP_DISCARD)) {
        before->quarantined = true;
    }
    const bool old_stands = !before->quarantined && is_good(status) &&
                            truth_of(engine, motion, &before->instance, before->evaluate, step, &old_truth);
    const char *wrong = motion->quarantined
                            ? "was quarantined with its library"
                            : move_candidate(engine, motion, &live, motion->evaluate, step, &theirs, &truth);
    if (wrong != NULL) {
        roll_back(engine, motion, wrong);
    } else {
        *flags |= OTO_SAMPLE_PROBATION | (theirs == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0);
    }
    vehicle->stale = wrong == NULL ? !is_good(theirs) : !old_stands;
    if (!vehicle->stale) {
        vehicle->truth = wrong == NULL ? truth : old_truth;
    }
}

void srv_trial_motion(struct srv_engine *engine, struct srv_vehicle *vehicle, const struct oto_step *step,
                      uint32_t *flags)
{
    if (vehicle->motion->trial->trial.phase == SRV_TRIAL_PROBATION) {
        probation_motion(engine, vehicle, step, flags);
        return;
    }
    srv_motion_step(engine, vehicle, step, flags);
    if (vehicle->motion->trial->trial.phase == SRV_TRIAL_SHADOW) {
        shadow_motion(engine, vehicle, step);
    }
}

bool srv_trial_save_motion(struct srv_engine *engine, struct srv_node *motion)
{
    if (motion->trial->trial.phase != SRV_TRIAL_PROBATION || motion->trial->occupant.quarantined) {
        return false;
    }
    roll_back(engine, motion, "could not be evaluated");
    return true;
}

/* ---- commands ---- */

void srv_trial_cancel(struct srv_engine *engine, struct srv_node *node, struct srv_reply *reply)
{
    struct srv_change *change = node->trial;
    if (change == NULL || change->trial.phase == SRV_TRIAL_PROBATION) {
        reply->status = change == NULL ? OTO_NOT_FOUND : OTO_CONFLICT;
        reply->reason = change == NULL ? "no swap of this node is under way" : "it is live already: undo takes it back";
        return;
    }
    struct srv_reply answer = change->trial.reply;
    (void)refuse(engine, node, change, OTO_CLOSED, "cancelled", &answer);
    srv_reply_send_now(engine, &answer);
}

void srv_trial_undo(struct srv_engine *engine, struct srv_node *node, struct srv_reply *reply)
{
    struct srv_change *change = node->trial;
    if (change == NULL || change->trial.phase != SRV_TRIAL_PROBATION) {
        reply->status = OTO_NOT_FOUND;
        reply->reason = "no swap of this node is on probation";
        return;
    }
    change->trial.undone = true;
    roll_back(engine, node, "was taken back on request");
}

void srv_trials_finish(struct srv_engine *engine)
{
    while (engine->trials != NULL) {
        struct srv_change *change = engine->trials;
        engine->trials = change->trial.next;
        (void)srv_change_free(&change->open);
    }
}
