/*
 * The inside of libotolith-sim: a world's vehicles, nodes and records, advanced tick by tick. It has no thread, lock,
 * socket, clock or process. A shell creates it, passes inputs and commands at tick boundaries, and calls srv_sim_tick.
 * Shells are `otolithd` (daemon/thread) and programs that use otolith/sim.h. Creation and destruction are [loop]; the other
 * functions are [tick] unless marked: one thread at a time.
 */
#ifndef SRV_SIM_SIM_H
#define SRV_SIM_SIM_H

#include <assert.h>

#include "base/step_time.h"
#include "sim/change.h"
#include "sim/command.h"
#include "sim/exposure.h"
#include "sim/external.h"
#include "sim/history.h"
#include "sim/lanes.h"
#include "sim/node.h"
#include "sim/remote.h"
#include "sim/runner.h"
#include "sim/state_hash.h"
#include "sim/store.h"
#include "sim/ring_writer.h"
#include "world/world_config.h"

struct srv_vehicle {
    /* read in each tick */
    _Alignas(SRV_STATE_ALIGN) struct srv_node *motion;
    struct srv_node *first_sensor;
    uint32_t sensor_count;
    uint32_t truth_flags; /* of the last truth */
    bool any_time; /* the motion node can be evaluated at any instant from any_from_ns on */
    bool stale;    /* the motion node has no truth for this tick: `truth` is the last good one */
    bool truth_was_finite;
    const struct srv_vibration *vibration; /* NULL: the vehicle does not vibrate */
    struct srv_ring ring;
    struct srv_history history; /* used without any_time, or after a swap of the motion */
    struct oto_truth_record truth;      /* at the end of the last tick */
    /* not used in every tick */
    int64_t any_from_ns;
    struct oto_truth_record truth_zero; /* at time zero */
    uint32_t channel;
};

/* Functions that the shell supplies; each may be NULL. */
struct srv_sim_hooks {
    void *context;
    /* Receives a later reply: a swap is live or was refused, or its probation is over. */
    void (*reply)(void *context, const struct srv_reply *reply);
    /*
     * A swap will be rolled back because its steps exceeded the real-time budget. A log records this, because a replay
     * cannot measure it.
     */
    void (*over_budget)(void *context, uint32_t node);
    /* Reads CLOCK_MONOTONIC, to measure how long a snapshot stops the ticks; NULL: it is not measured. */
    int64_t (*now_ns)(void);
    /* Measures the steps of a candidate; NULL: they are not measured and no budget applies. */
    struct srv_step_time (*step_time)(void);
    /* Fills what the node base->node runs (srv_change_base_fill), for a world that ticks meanwhile; NULL: the node is read. */
    void (*fill_base)(void *context, struct srv_change_base *base);
    /* Whether the calling thread may call [tick] functions; asserted in debug builds. */
    bool (*may_tick)(const void *context);
    /* Calls work(work_context, lane) for every lane from 0 on, lane 0 on the calling thread, and returns when all are done. */
    void (*run_lanes)(void *context, void (*work)(void *work_context, uint32_t lane), void *work_context, uint32_t lanes);
};

struct srv_sim_options {
    struct srv_sim_hooks hooks;
    bool single_steps; /* no batches: each instance is stepped by a call of its own */
    bool no_state_hash; /* states and samples are not hashed; the chain is then not meaningful */
    uint32_t lanes;     /* lanes that hooks.run_lanes can run in parallel; below 2: one lane */
    srv_store_make_function *make_store;
    void *store_context;
};

struct srv_sim {
    /* fixed after creation */
    const struct srv_world_config *config;
    struct srv_sim_hooks hooks;
    bool single_steps;
    struct srv_store store;
    struct srv_environment environment;
    struct srv_node *nodes;
    struct srv_vehicle *vehicles;
    struct oto_float_run *truth_runs;
    uint32_t truth_run_count;
    uint32_t node_count, vehicle_count, channel_count, event_channel;
    uint32_t *first_channels;     /* of each node */
    struct srv_node **estimators; /* in the order of the world file */
    uint32_t estimator_count;
    const struct srv_remote_ops *remote; /* operations for isolated nodes; NULL: there are none */
    struct srv_isolation *isolation;     /* belongs to the remote runners */
    /* set by the shell before ticks and commands */
    bool paced; /* ticks keep to real time: they wait for a host for its budget only, and a swap fills a history in parts */
    bool over;  /* the run has ended or faulted, which also ends the probation of swaps */
    /* state */
    uint64_t tick;        /* completed ticks */
    uint32_t moved;       /* during a tick: number of vehicles that have moved */
    struct srv_schedule schedule; /* schedule of the ends of ticks; stands at the last completed tick */
    uint64_t chain;
    bool no_state_hash;
    struct srv_state_hash *hashes; /* one for each vehicle, valid during a tick */
    struct srv_lanes *lanes;       /* NULL: one */
    bool fatal; /* a library has reported FATAL in this tick: all its nodes are quarantined at the end of the tick */
    struct srv_ring events;
    struct oto_fault_label_record label; /* label of the present sample */
    uint64_t newest_fault;               /* highest number of a fault so far */
    struct srv_fault *retired_faults;    /* faults that have ended; the next reply about faults takes them */
    struct srv_change *trials; /* swaps in progress: filling, in shadow, on probation, or settled */
};

/* Adds a part of a vehicle's state or samples to the hash chain. */
static inline void srv_sim_absorb(struct srv_sim *sim, uint32_t vehicle, const void *data, size_t bytes)
{
    if (!sim->no_state_hash) {
        srv_state_hash_absorb(&sim->hashes[vehicle], data, bytes);
    }
}

static inline void srv_sim_absorb_state(struct srv_sim *sim, uint32_t vehicle, const struct srv_instance *instance)
{
    if (!sim->no_state_hash) {
        srv_state_hash_absorb_with(&sim->hashes[vehicle], instance->abi.state, instance->read_bytes, instance->hashed_bytes,
                                   instance->rest);
    }
}

/*
 * Makes nodes, states and store, and calls prepare and init of every instance. Makes no tick. The configuration is
 * borrowed.
 */
enum oto_status srv_sim_create(const struct srv_world_config *config, const struct srv_sim_options *options,
                               oto_warn_function warn, void *warn_context, struct srv_sim **sim, struct oto_error *error);
/* Frees everything except the store's memory. NULL is allowed. */
void srv_sim_destroy(struct srv_sim *sim);
/*
 * Computes the truths at time zero and starts the hash chain. Call after the remote runners are set and before the first
 * tick.
 */
enum oto_status srv_sim_begin(struct srv_sim *sim, struct oto_error *error);
/*
 * [loop] Returns to tick 0 with the configuration's seed, which may have changed. The world then equals one that was just
 * made. Allowed if no node was swapped or changed and none is isolated. After a failure the world can only be destroyed.
 */
enum oto_status srv_sim_rewind(struct srv_sim *sim, struct oto_error *error);

/* Makes tick `sim->tick` and completes it. */
void srv_sim_tick(struct srv_sim *sim);
/*
 * Applies a command of the simulator (srv_command_is_of_sim). True: *reply is complete; false: hooks.reply gets it later.
 */
bool srv_sim_apply(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply);
/*
 * Sets the next truth of a vehicle that a participant moves; NULL: the vehicle has none for the next tick. Call before the
 * tick.
 */
void srv_sim_give_truth(struct srv_sim *sim, uint32_t vehicle, const struct srv_external_input *input);
/* Gives OTO_CONTROLS finite values to the motion of a vehicle, and to both plugins during a swap. Call before the tick. */
void srv_sim_give_controls(struct srv_sim *sim, uint32_t vehicle, const double *values);
bool srv_controls_are_finite(const double *values);

/*
 * [loop] The index of a node by "world/vehicle/node", "vehicle/node" or a topic alias. UINT32_MAX: unknown; the error
 * suggests the nearest name.
 */
uint32_t srv_sim_node_find(const struct srv_sim *sim, const char *name, struct oto_error *error);
/* [loop] Makes a fault of the node from its specification; NULL when out of memory. */
struct srv_fault *srv_sim_fault_make(const struct srv_sim *sim, uint32_t node, const struct srv_fault_spec *spec);
/* A hash of a node's state, last output and truth, as in the chain; for logs. */
uint64_t srv_sim_node_hash(const struct srv_sim *sim, const struct srv_node *node);

/* ---- for the simulator's own files, and the remote runners ---- */

static inline void srv_assert_tick_thread(const struct srv_sim *sim)
{
    assert(sim->hooks.may_tick == NULL || sim->hooks.may_tick(sim->hooks.context));
    (void)sim;
}

static inline int64_t srv_sim_now_ns(const struct srv_sim *sim)
{
    return sim->hooks.now_ns != NULL ? sim->hooks.now_ns() : 0;
}

static inline struct srv_step_time srv_sim_step_time(const struct srv_sim *sim)
{
    return sim->hooks.step_time != NULL ? sim->hooks.step_time() : (struct srv_step_time){0};
}

static inline void srv_sim_reply(struct srv_sim *sim, const struct srv_reply *reply)
{
    if (sim->hooks.reply != NULL) {
        sim->hooks.reply(sim->hooks.context, reply);
    }
}

/* ---- tick.c, truth.c ---- */

/* Computes the truths at time zero and starts the hash chain with them. */
void srv_sim_begin_chain(struct srv_sim *sim);

/* Publishes and hashes the node's outputs and checks them for NaN; `flags` are added to the flags of each sample. */
void srv_tick_publish(struct srv_sim *sim, struct srv_node *node, uint32_t flags);
/* As srv_tick_publish, without hashing. */
void srv_tick_publish_aside(struct srv_sim *sim, struct srv_node *node, uint32_t flags);
/* Moves a vehicle by one tick to its next truth. */
void srv_truth_advance(struct srv_sim *sim, struct srv_vehicle *vehicle, uint64_t tick);
void srv_truth_publish(struct srv_sim *sim, struct srv_vehicle *vehicle);
/* Computes the vehicle's truth at time zero. */
void srv_truth_begin(struct srv_sim *sim, struct srv_vehicle *vehicle);
/*
 * The truth at an instant of the current tick, or up to one second earlier. False: the motion has failed, there is no
 * truth.
 */
bool srv_truth_at(struct srv_sim *sim, struct srv_vehicle *vehicle, struct oto_instant at,
                  struct oto_truth_record *truth);
/*
 * Whether the motion is evaluated at this instant, which is not after the current tick. Otherwise the history has the
 * truth.
 */
static inline bool srv_motion_may_tell(const struct srv_sim *sim, const struct srv_vehicle *vehicle, int64_t t_ns)
{
    const int64_t start_ns =
        sim->schedule.t_ns - sim->schedule.step_ns; /* rounded up: not before the tick's start */
    return t_ns >= 0 && ((vehicle->any_time && t_ns >= vehicle->any_from_ns) || t_ns >= start_ns);
}
/* Quarantines a node after ERROR or a changed floating-point mode, and all nodes of its library after FATAL. */
void srv_node_quarantine(struct srv_sim *sim, struct srv_node *node, enum oto_step_status status,
                         const char *why);
/* Runs one step: records the node's number for crash reports, calls the plugin, and checks the floating-point mode. */
enum oto_step_status srv_node_run(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step);
/*
 * Counts the result of a step and acts on it. `said` is an enum oto_step_status, SRV_STEP_FLOAT_MODE, or an invalid number.
 */
enum oto_step_status srv_node_account(struct srv_sim *sim, struct srv_node *node, uint32_t said);

/* Fills the exposure of a node at its next sample. Returns the flags of the truth. */
uint32_t srv_sample_input(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct srv_node *node,
                          struct oto_sensor_input *input);
/* The context of srv_input_at during a step of a sensor. */
struct srv_looking_back {
    struct srv_sim *sim;
    struct srv_vehicle *vehicle;
    const struct srv_node *node;
    struct oto_instant at;
};
enum oto_step_status srv_input_at(void *looking_back, struct oto_instant at, struct oto_sensor_input *input);

/* ---- runner_direct.c: for the other runners ---- */

/* A step, with the data to which its pointers point. */
struct srv_turn_step {
    struct oto_step step;
    struct oto_sensor_input input;
    struct srv_looking_back back;
    uint32_t flags; /* flags of the truth in a sensor's exposure */
};
/* Prepares the step of the node's next sample: a sensor's exposure, or an estimator's samples, whose cursors move. */
void srv_turn_prepare(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick,
                      struct srv_turn_step *turn);
/* Makes one sample: prepares its input, steps the node, hashes and publishes. */
void srv_direct_step(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick);
void srv_direct_move(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step, uint32_t *flags);
/* srv_node_absorb hashes the node's state. srv_node_publish hashes it and, if the status allows, publishes the records. */
void srv_node_absorb(struct srv_sim *sim, const struct srv_node *node);
void srv_node_publish(struct srv_sim *sim, struct srv_node *node, enum oto_step_status status, uint32_t flags);

/* ---- estimators.c ---- */

/*
 * srv_estimators_make collects the estimators among the nodes [loop]. srv_estimators_attach points their inputs at the
 * rings; it is called again when a swap has moved ports.
 */
enum oto_status srv_estimators_make(struct srv_sim *sim, struct oto_error *error);
void srv_estimators_attach(struct srv_sim *sim);
/* Steps the estimators from number `first` to before `end` that are due in this tick; after its sensors. */
void srv_estimators_step(struct srv_sim *sim, uint32_t first, uint32_t end, uint64_t tick);
/* The number of estimators that must have been stepped before all inputs of this one are complete. */
uint32_t srv_estimator_ready_at(const struct srv_sim *sim, const struct srv_node *node);
/*
 * The number of samples for the estimator's next step. Its cursors do not move: `after` gets the moved ones (sim/inputs.h).
 */
uint32_t srv_estimator_look(struct srv_sim *sim, struct srv_node *node, uint64_t *cursors, uint64_t *after);
/* Takes the samples of the estimator's next step and moves its cursors. */
void srv_estimator_prepare(struct srv_sim *sim, struct srv_node *node, struct oto_step *step);
/* Hashes the cursors of an estimator, which are part of its state. */
void srv_estimator_absorb(struct srv_sim *sim, const struct srv_node *node);

/*
 * Steps an instance with the node's number recorded for crash reports. False: it changed the floating-point mode, which is
 * restored.
 */
bool srv_node_call(struct srv_sim *sim, const struct srv_node *node,
                   enum oto_step_status (*step_function)(const struct oto_instance *, const struct oto_step *),
                   const struct oto_instance *instance, const struct oto_step *step, enum oto_step_status *status);
/*
 * After the step of a motion: evaluates the truth at the end of the tick. If that fails, the vehicle's truth stays, flagged
 * stale.
 */
void srv_motion_finish(struct srv_sim *sim, struct srv_vehicle *vehicle, struct oto_instant at, enum oto_step_status status,
                       uint32_t *flags);

/* ---- swap.c, runner_pair.c ---- */

/*
 * Begins a swap: flips at once, or first fills a history or runs a shadow. True: *reply is complete; false: it comes later.
 */
bool srv_trial_begin(struct srv_sim *sim, struct srv_node *node, struct srv_change *change,
                     struct srv_reply *reply);
/* Advances all swaps at a boundary. */
void srv_trials_advance(struct srv_sim *sim);
/* Takes a sample of a sensor or estimator that has a swap in progress. */
void srv_trial_sample(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step, uint32_t flags);
bool srv_node_is_swapped(const struct srv_node *node);
/*
 * After the candidate of a motion could not be evaluated: rolls back. True: the previous motion is live and can be
 * evaluated.
 */
bool srv_trial_save_motion(struct srv_sim *sim, struct srv_node *motion);
/* Commands about swaps. True: *reply is complete; false: it comes later. */
bool srv_trial_settle(struct srv_sim *sim, struct srv_change *change, struct srv_reply *reply);
void srv_trial_cancel(struct srv_sim *sim, struct srv_node *node, struct srv_reply *reply);
void srv_trial_undo(struct srv_sim *sim, struct srv_node *node, struct srv_reply *reply);
/* [loop] Frees the changes that the tick thread still has. */
void srv_trials_finish(struct srv_sim *sim);

/* ---- events.c ---- */

void srv_event_write(struct srv_sim *sim, enum oto_event_kind kind, uint32_t severity, int64_t value,
                     const char *source, const char *text);
void srv_event_push(struct srv_sim *sim, struct oto_event_record *event);

/* ---- faults.c ---- */

#define SRV_FAULTS_OF_A_NODE 1024

/*
 * Faults of one sample: begin_sample finds the active ones, inject changes the records of a port, end_sample publishes the
 * label.
 */
void srv_faults_begin_sample(struct srv_sim *sim, struct srv_node *node);
/* Adds the node's active disturbances to the exposure of its sample. */
void srv_faults_disturb(const struct srv_node *node, struct oto_sensor_input *input);
void srv_faults_inject(struct srv_sim *sim, struct srv_node *node, uint32_t port, uint32_t *flags);
void srv_faults_end_sample(struct srv_sim *sim, struct srv_node *node);
/* Adds the faults of the world file, before the first tick. */
enum oto_status srv_faults_load(struct srv_sim *sim, struct srv_node *node, struct oto_error *error);
/* At a boundary: srv_fault_begin adds a fault; srv_fault_clear ends the fault `id`, or all of the node with id 0. */
enum oto_status srv_fault_begin(struct srv_sim *sim, struct srv_fault *fault, const char **reason);
enum oto_status srv_fault_clear(struct srv_sim *sim, uint32_t node, uint64_t id, const char **reason);

/* Writes into the reply which plugin the node runs now. */
void srv_reply_show_node(const struct srv_node *node, struct srv_reply *reply);
/* Adds to a counter that other threads may write too. */
/* Quarantines every node of a library that has reported FATAL. */
void srv_fatal_spread(struct srv_sim *sim);
void srv_count(struct srv_sim *sim, enum oto_counter counter, uint64_t delta);

#endif
