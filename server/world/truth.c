#include <string.h>

#include "host/fpu.h"
#include "world/engine_private.h"

static inline bool call(struct srv_engine *engine, const struct srv_node *node,
                        enum oto_step_status (*step_function)(const struct oto_instance *, const struct oto_step *),
                        const struct oto_instance *instance, const struct oto_step *step, enum oto_step_status *status)
{
    uint32_t *breadcrumb = &engine->segment.header->current_node;
    srv_assert_tick_thread(engine);
    __atomic_store_n(breadcrumb, node->index + 1, __ATOMIC_RELAXED);
    *status = step_function(instance, step);
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    if (!srv_fpu_is_pinned()) {
        srv_fpu_pin();
        *status = OTO_STEP_ERROR;
        return false;
    }
    return true;
}

bool srv_node_call(struct srv_engine *engine, const struct srv_node *node,
                   enum oto_step_status (*step_function)(const struct oto_instance *, const struct oto_step *),
                   const struct oto_instance *instance, const struct oto_step *step, enum oto_step_status *status)
{
    return call(engine, node, step_function, instance, step, status);
}

enum oto_step_status srv_node_run(struct srv_engine *engine, struct srv_node *node, const struct oto_step *step)
{
    enum oto_step_status status;
    const bool kept_mode = call(engine, node, node->step, &node->instance, step, &status);
    return srv_node_account(engine, node, kept_mode ? (uint32_t)status : SRV_STEP_FLOAT_MODE);
}

enum oto_step_status srv_node_account(struct srv_engine *engine, struct srv_node *node, uint32_t said)
{
    const enum oto_step_status status = said <= OTO_STEP_FATAL ? (enum oto_step_status)said : OTO_STEP_ERROR;
    if (said == SRV_STEP_FLOAT_MODE) {
        srv_node_quarantine(engine, node, OTO_STEP_ERROR, "changed the floating-point mode; quarantined");
        return OTO_STEP_ERROR;
    }
    if (status == OTO_STEP_WARN) {
        srv_count(engine, OTO_COUNTER_WARNINGS, 1);
    } else if (status == OTO_STEP_DISCARD) {
        srv_count(engine, OTO_COUNTER_DISCARDS, 1);
    } else if (status != OTO_STEP_OK) {
        const bool fatal = status == OTO_STEP_FATAL;
        srv_node_quarantine(engine, node, status,
                            fatal ? "reported a fatal error; every node of its library is quarantined"
                                  : "reported an error; quarantined");
    }
    return status;
}

static void take_out(struct srv_engine *engine, struct srv_node *node)
{
    if (!node->quarantined) {
        node->quarantined = true;
        srv_count(engine, OTO_COUNTER_QUARANTINED, 1);
    }
}

void srv_node_quarantine(struct srv_engine *engine, struct srv_node *node, enum oto_step_status status,
                         const char *why)
{
    srv_count(engine, OTO_COUNTER_ERRORS, 1);
    take_out(engine, node);
    for (uint32_t i = 0; status == OTO_STEP_FATAL && i < engine->node_count; i++) {
        if (engine->nodes[i].ops == node->ops) {
            take_out(engine, &engine->nodes[i]);
        }
    }
    srv_event_write(engine, OTO_EVENT_PLUGIN_FAULT, 2, (int64_t)node->index, node->topic, why);
}

/* Asks the motion node, wherever it runs. A truth that it cannot give stops it, as an error of its step does. */
static bool evaluate(struct srv_engine *engine, struct srv_vehicle *vehicle, struct oto_instant at,
                     struct oto_truth_record *truth)
{
    struct srv_node *motion = vehicle->motion;
    uint32_t *breadcrumb = &engine->segment.header->current_node;
    if (motion->quarantined) {
        return false;
    }
    enum oto_step_status status = OTO_STEP_DISCARD;
    memset(truth, 0, sizeof *truth);
    srv_assert_tick_thread(engine);
    __atomic_store_n(breadcrumb, motion->index + 1, __ATOMIC_RELAXED);
    if (motion->member == NULL) {
        status = motion->evaluate(&motion->instance, at, truth);
    } else if (!srv_member_evaluate(engine, motion->member, at, truth, &status)) {
        status = OTO_STEP_DISCARD; /* its host is away: there is no truth, and nothing is wrong with the motion */
    }
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    if (status == OTO_STEP_ERROR || status == OTO_STEP_FATAL) {
        if (motion->trial != NULL && srv_trial_save_motion(engine, motion)) {
            return evaluate(engine, vehicle, at, truth);
        }
        srv_node_quarantine(engine, motion, status, "could not evaluate the motion; quarantined");
    }
    return status == OTO_STEP_OK || status == OTO_STEP_WARN;
}

bool srv_truth_at(struct srv_engine *engine, struct srv_vehicle *vehicle, struct oto_instant at,
                  struct oto_truth_record *truth)
{
    const struct srv_beat *end = &engine->beat;
    bool made = true;
    if (at.t_ns < 0 || (at.t_ns == 0 && at.sub_ns <= 0.0)) {
        *truth = vehicle->truth_zero;
    } else if (oto_instant_is_equal(at, srv_beat_at(end))) {
        *truth = vehicle->truth;
    } else if (srv_motion_may_tell(engine, vehicle, at.t_ns)) {
        made = evaluate(engine, vehicle, at, truth);
    } else {
        srv_history_get(&vehicle->history, end->n, at, truth);
    }
    if (!made) {
        *truth = vehicle->truth;
    }
    return made;
}

void srv_motion_step(struct srv_engine *engine, struct srv_vehicle *vehicle, const struct oto_step *step,
                     uint32_t *flags)
{
    struct srv_node *motion = vehicle->motion;
    struct oto_truth_record truth;
    uint32_t said;
    vehicle->stale = true;
    if (motion->member != NULL ? !srv_member_move(engine, motion->member, &said) : motion->quarantined) {
        return;
    }
    const enum oto_step_status status =
        motion->member != NULL ? srv_node_account(engine, motion, said) : srv_node_run(engine, motion, step);
    if (status == OTO_STEP_WARN) {
        *flags |= OTO_SAMPLE_WARN;
    }
    if ((status == OTO_STEP_OK || status == OTO_STEP_WARN) &&
        evaluate(engine, vehicle, step->at, &truth)) {
        vehicle->truth = truth;
        vehicle->stale = false;
    }
}

static void check_truth(struct srv_engine *engine, struct srv_vehicle *vehicle, uint32_t *flags)
{
    const bool finite = oto_record_is_finite(engine->truth_runs, engine->truth_run_count, &vehicle->truth);
    if (!finite) {
        *flags |= OTO_SAMPLE_NON_FINITE;
        srv_count(engine, OTO_COUNTER_NON_FINITE, 1);
        if (vehicle->truth_was_finite) {
            srv_event_write(engine, OTO_EVENT_PLUGIN_FAULT, 2, (int64_t)vehicle->motion->index, vehicle->motion->topic,
                            "the truth holds a NaN or an infinity");
        }
    }
    vehicle->truth_was_finite = finite;
}

void srv_truth_advance(struct srv_engine *engine, struct srv_vehicle *vehicle, uint64_t tick)
{
    const struct srv_node *motion = vehicle->motion;
    const struct oto_step step = {.size = sizeof step,
                                  .tick = tick,
                                  .n = tick + 1,
                                  .at = srv_beat_at(&engine->beat)};
    uint32_t flags = 0;
    if (motion->trial == NULL) {
        srv_motion_step(engine, vehicle, &step, &flags);
    } else {
        srv_trial_motion(engine, vehicle, &step, &flags);
    }
    if (vehicle->stale) {
        flags |= OTO_SAMPLE_STALE;
    }
    check_truth(engine, vehicle, &flags);
    if (vehicle->history.records != NULL) {
        srv_history_put(&vehicle->history, engine->beat.n, &vehicle->truth);
    }
    vehicle->truth_flags = flags;
}

void srv_truth_publish(struct srv_engine *engine, struct srv_vehicle *vehicle)
{
    const struct srv_node *motion = vehicle->motion;
    struct oto_sample_head head = {
        .t_ns = engine->beat.t_ns, .sensor_time_ns = engine->beat.t_ns, .flags = vehicle->truth_flags};
    srv_ring_push(&vehicle->ring, &head, &vehicle->truth);
    head.flags &= ~OTO_SAMPLE_PROBATION; /* a swap to identical code is not seen in the chain */
    srv_state_hash_absorb(&engine->hash, motion->instance.state, motion->hashed_bytes);
    srv_state_hash_absorb(&engine->hash, &head, sizeof head);
    srv_state_hash_absorb(&engine->hash, &vehicle->truth, sizeof vehicle->truth);
}

void srv_truth_begin(struct srv_engine *engine, struct srv_vehicle *vehicle)
{
    vehicle->truth_was_finite = true;
    if (evaluate(engine, vehicle, (struct oto_instant){0, 0.0}, &vehicle->truth_zero)) {
        vehicle->truth = vehicle->truth_zero;
    }
    if (vehicle->history.records != NULL) {
        srv_history_put(&vehicle->history, 0, &vehicle->truth_zero);
    }
}
