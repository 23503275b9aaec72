#include <string.h>

#include "base/fpu.h"
#include "sim/sim.h"

static inline bool call(struct srv_sim *sim, const struct srv_node *node,
                        enum oto_step_status (*step_function)(const struct oto_instance *, const struct oto_step *),
                        const struct oto_instance *instance, const struct oto_step *step, enum oto_step_status *status)
{
    uint32_t *breadcrumb = &sim->store.header->current_node;
    srv_assert_tick_thread(sim);
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

bool srv_node_call(struct srv_sim *sim, const struct srv_node *node,
                   enum oto_step_status (*step_function)(const struct oto_instance *, const struct oto_step *),
                   const struct oto_instance *instance, const struct oto_step *step, enum oto_step_status *status)
{
    return call(sim, node, step_function, instance, step, status);
}

enum oto_step_status srv_node_run(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step)
{
    enum oto_step_status status;
    const bool kept_mode = call(sim, node, node->live.step, &node->live.abi, step, &status);
    return srv_node_account(sim, node, kept_mode ? (uint32_t)status : SRV_STEP_FLOAT_MODE);
}

enum oto_step_status srv_node_account(struct srv_sim *sim, struct srv_node *node, uint32_t said)
{
    const enum oto_step_status status = said <= OTO_STEP_FATAL ? (enum oto_step_status)said : OTO_STEP_ERROR;
    if (said == SRV_STEP_FLOAT_MODE) {
        srv_node_quarantine(sim, node, OTO_STEP_ERROR, "changed the floating-point mode; quarantined");
        return OTO_STEP_ERROR;
    }
    if (status == OTO_STEP_WARN) {
        srv_count(sim, OTO_COUNTER_WARNINGS, 1);
    } else if (status == OTO_STEP_DISCARD) {
        srv_count(sim, OTO_COUNTER_DISCARDS, 1);
    } else if (status != OTO_STEP_OK) {
        const bool fatal = status == OTO_STEP_FATAL;
        srv_node_quarantine(sim, node, status,
                            fatal ? "reported a fatal error; every node of its library is quarantined"
                                  : "reported an error; quarantined");
    }
    return status;
}

static void take_out(struct srv_sim *sim, struct srv_node *node)
{
    if (!node->live.quarantined) {
        node->live.quarantined = true;
        srv_count(sim, OTO_COUNTER_QUARANTINED, 1);
    }
}

static void take_out_library(struct srv_sim *sim, struct srv_node *nodes, uint32_t count, const struct oto_plugin_ops *ops)
{
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i].live.ops == ops) {
            take_out(sim, &nodes[i]);
        }
    }
}

void srv_node_quarantine(struct srv_sim *sim, struct srv_node *node, enum oto_step_status status,
                         const char *why)
{
    srv_count(sim, OTO_COUNTER_ERRORS, 1);
    take_out(sim, node);
    if (status == OTO_STEP_FATAL) {
        const struct srv_vehicle *vehicle = &sim->vehicles[node->vehicle];
        take_out_library(sim, vehicle->motion, 1, node->live.ops);
        take_out_library(sim, vehicle->first_sensor, vehicle->sensor_count, node->live.ops);
        node->live.fatal = true;
        sim->fatal = true;
    }
    srv_event_write(sim, OTO_EVENT_PLUGIN_FAULT, 2, (int64_t)node->index, node->topic, why);
}

/*
 * Quarantines the other nodes of a failed library at the end of the tick; those of the same vehicle were quarantined at
 * once. So the order in which vehicles are advanced does not matter.
 */
void srv_fatal_spread(struct srv_sim *sim)
{
    for (uint32_t i = 0; sim->fatal && i < sim->node_count; i++) {
        struct srv_instance *source = &sim->nodes[i].live;
        if (source->fatal) {
            source->fatal = false;
            take_out_library(sim, sim->nodes, sim->node_count, source->ops);
        }
    }
    sim->fatal = false;
}

/* Evaluates the motion node with its runner. A motion that fails is quarantined, as after a failed step. */
static bool evaluate(struct srv_sim *sim, struct srv_vehicle *vehicle, struct oto_instant at,
                     struct oto_truth_record *truth)
{
    struct srv_node *motion = vehicle->motion;
    uint32_t *breadcrumb = &sim->store.header->current_node;
    if (motion->live.quarantined) {
        return false;
    }
    memset(truth, 0, sizeof *truth);
    srv_assert_tick_thread(sim);
    __atomic_store_n(breadcrumb, motion->index + 1, __ATOMIC_RELAXED);
    const enum oto_step_status status = motion->runner->evaluate(sim, motion, at, truth);
    __atomic_store_n(breadcrumb, 0, __ATOMIC_RELAXED);
    if (status == OTO_STEP_ERROR || status == OTO_STEP_FATAL) {
        if (srv_trial_save_motion(sim, motion)) {
            return evaluate(sim, vehicle, at, truth);
        }
        srv_node_quarantine(sim, motion, status, "could not evaluate the motion; quarantined");
    }
    return status == OTO_STEP_OK || status == OTO_STEP_WARN;
}

bool srv_truth_at(struct srv_sim *sim, struct srv_vehicle *vehicle, struct oto_instant at,
                  struct oto_truth_record *truth)
{
    const struct srv_schedule *end = &sim->schedule;
    bool made = true;
    if (at.t_ns < 0 || (at.t_ns == 0 && at.sub_ns <= 0.0)) {
        *truth = vehicle->truth_zero;
    } else if (oto_instant_is_equal(at, srv_schedule_at(end))) {
        *truth = vehicle->truth;
    } else if (srv_motion_may_tell(sim, vehicle, at.t_ns)) {
        made = evaluate(sim, vehicle, at, truth);
    } else {
        srv_history_get(&vehicle->history, end->n, at, truth);
    }
    if (!made) {
        *truth = vehicle->truth;
    }
    return made;
}

void srv_motion_finish(struct srv_sim *sim, struct srv_vehicle *vehicle, struct oto_instant at, enum oto_step_status status,
                       uint32_t *flags)
{
    struct oto_truth_record truth;
    if (status == OTO_STEP_WARN) {
        *flags |= OTO_SAMPLE_WARN;
    }
    if ((status == OTO_STEP_OK || status == OTO_STEP_WARN) && evaluate(sim, vehicle, at, &truth)) {
        vehicle->truth = truth;
        vehicle->stale = false;
    }
}

static void check_truth(struct srv_sim *sim, struct srv_vehicle *vehicle, uint32_t *flags)
{
    const bool finite = oto_record_is_finite(sim->truth_runs, sim->truth_run_count, &vehicle->truth);
    if (!finite) {
        *flags |= OTO_SAMPLE_NON_FINITE;
        srv_count(sim, OTO_COUNTER_NON_FINITE, 1);
        if (vehicle->truth_was_finite) {
            srv_event_write(sim, OTO_EVENT_PLUGIN_FAULT, 2, (int64_t)vehicle->motion->index, vehicle->motion->topic,
                            "the truth holds a NaN or an infinity");
        }
    }
    vehicle->truth_was_finite = finite;
}

void srv_truth_advance(struct srv_sim *sim, struct srv_vehicle *vehicle, uint64_t tick)
{
    const struct srv_node *motion = vehicle->motion;
    const struct oto_step step = oto_step_make(tick, tick + 1, srv_schedule_at(&sim->schedule), NULL);
    uint32_t flags = 0;
    motion->runner->move(sim, vehicle, &step, &flags);
    if (vehicle->stale) {
        flags |= OTO_SAMPLE_STALE;
    }
    check_truth(sim, vehicle, &flags);
    if (vehicle->history.records != NULL) {
        srv_history_put(&vehicle->history, sim->schedule.n, &vehicle->truth);
    }
    vehicle->truth_flags = flags;
}

void srv_truth_publish(struct srv_sim *sim, struct srv_vehicle *vehicle)
{
    const struct srv_node *motion = vehicle->motion;
    struct oto_sample_head head = {
        .t_ns = sim->schedule.t_ns, .sensor_time_ns = sim->schedule.t_ns, .flags = vehicle->truth_flags};
    const struct oto_truth_record *truth = &vehicle->truth;
    struct oto_truth_record shaken;
    if (vehicle->vibration != NULL) {
        const struct srv_exposure exposure = {.vibration = vehicle->vibration, .at = srv_schedule_at(&sim->schedule)};
        shaken = *truth;
        srv_truth_shake(&exposure, &shaken);
        truth = &shaken;
    }
    srv_ring_push(&vehicle->ring, &head, truth);
    head.flags &= ~OTO_SAMPLE_PROBATION; /* a swap to identical code must not change the chain */
    srv_sim_absorb(sim, motion->vehicle, motion->live.abi.state, motion->live.hashed_bytes);
    srv_sim_absorb(sim, motion->vehicle, &head, sizeof head);
    srv_sim_absorb(sim, motion->vehicle, truth, sizeof *truth);
}

void srv_truth_begin(struct srv_sim *sim, struct srv_vehicle *vehicle)
{
    vehicle->truth_was_finite = true;
    if (evaluate(sim, vehicle, (struct oto_instant){0, 0.0}, &vehicle->truth_zero)) {
        vehicle->truth = vehicle->truth_zero;
    }
    if (vehicle->history.records != NULL) {
        srv_history_put(&vehicle->history, 0, &vehicle->truth_zero);
    }
}
