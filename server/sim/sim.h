/*
 * The simulator (libotolith-sim's inside): a world's vehicles, nodes and records, moved on tick by tick. There is no thread,
 * lock, socket, clock or process in it. A shell makes it, hands it inputs and commands at tick boundaries, and calls
 * srv_sim_tick: `otolithd` (daemon/thread) or a program of the user's (otolith/sim.h). Creation and destruction are [loop],
 * the rest is [tick] unless it says otherwise: one thread at a time.
 */
#ifndef SRV_SIM_SIM_H
#define SRV_SIM_SIM_H

#include <assert.h>

#include "sim/change.h"
#include "sim/command.h"
#include "sim/environment.h"
#include "sim/external.h"
#include "sim/history.h"
#include "sim/lanes.h"
#include "sim/node.h"
#include "sim/remote.h"
#include "sim/runner.h"
#include "sim/state_hash.h"
#include "sim/store.h"
#include "sim/writer.h"
#include "world/world_config.h"

struct srv_vehicle {
    struct srv_node *motion;
    struct srv_node *first_sensor;
    uint32_t sensor_count;
    bool any_time; /* the motion node can be asked about any instant from any_from_ns on */
    int64_t any_from_ns;
    bool stale;    /* the motion node is broken: the truth is the last good one */
    bool truth_was_finite;
    uint32_t truth_flags; /* of the last truth */
    struct srv_ring ring;
    const struct srv_vibration *vibration; /* NULL: nothing shakes it */
    struct srv_history history; /* without any_time, or once the motion was swapped */
    struct oto_truth_record truth;      /* at the last tick's end */
    /* not of each tick */
    struct oto_truth_record truth_zero; /* at time zero */
    uint32_t channel;
};

/* What the simulator asks of its shell; every member may be NULL. */
struct srv_sim_hooks {
    void *context;
    /* A reply that was owed: of a swap that went live or was refused later, or whose probation is over. */
    void (*reply)(void *context, const struct srv_reply *reply);
    /* A swap is about to be rolled back because real time was too short for its steps, which a replay must be told. */
    void (*over_budget)(void *context, uint32_t node);
    /* CLOCK_MONOTONIC, for the step times of a swap on probation; NULL: they are not measured, and no budget is kept. */
    int64_t (*now_ns)(void);
    /* Whether the calling thread may enter [tick] operations; asserted in debug builds. */
    bool (*may_tick)(const void *context);
    /* Calls work(work_context, lane) for every lane from 0 on, lane 0 on the calling thread, and returns when all are done. */
    void (*run_lanes)(void *context, void (*work)(void *work_context, uint32_t lane), void *work_context, uint32_t lanes);
};

struct srv_sim_options {
    struct srv_sim_hooks hooks;
    bool single_steps; /* instances of one plugin are never stepped together */
    bool no_state_hash; /* the chain does not depend on states and samples */
    uint32_t lanes;     /* that hooks.run_lanes can run at once; below 2: one */
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
    struct srv_node **estimators; /* in the order of the file */
    uint32_t estimator_count;
    const struct srv_remote_ops *remote; /* of isolated nodes; NULL: there are none */
    struct srv_isolation *isolation;     /* the remote runners' own */
    /* the shell's, before ticks and commands */
    bool paced; /* ticks keep to real time: a swap fills its history a little at each tick */
    bool over;  /* the run has ended or faulted: a swap's probation ends with it */
    /* state */
    uint64_t tick;        /* completed */
    uint32_t moved;       /* in a tick: the vehicles before this one have moved */
    struct srv_schedule schedule; /* of tick ends; at the last one completed */
    uint64_t chain;
    bool no_state_hash;
    struct srv_state_hash *hashes; /* of each vehicle, in a tick */
    struct srv_lanes *lanes;       /* NULL: one */
    bool fatal;                    /* a library has reported FATAL in this tick: its other nodes stop at the tick's end */
    struct srv_ring events;
    struct oto_fault_label_record label; /* of the sample that is taken */
    uint64_t newest_fault;               /* highest number begun */
    struct srv_fault *retired_faults;    /* over; the next reply about faults takes them */
    struct srv_change *trials; /* swaps that are under way: filling, in shadow, on probation, or settled */
};

/* A part of a vehicle's state or samples goes into the hash chain. */
static inline void srv_sim_absorb(struct srv_sim *sim, uint32_t vehicle, const void *data, size_t bytes)
{
    if (!sim->no_state_hash) {
        srv_state_hash_absorb(&sim->hashes[vehicle], data, bytes);
    }
}

/* Builds nodes, states and store; runs prepare and init of every instance; ticks nothing. The configuration is borrowed. */
enum oto_status srv_sim_create(const struct srv_world_config *config, const struct srv_sim_options *options,
                               oto_warn_function warn, void *warn_context, struct srv_sim **sim, struct oto_error *error);
/* Everything but the store's memory. NULL is allowed. */
void srv_sim_destroy(struct srv_sim *sim);
/* Truths at time zero and the start of the hash chain; after the remote runners are there, before the first tick. */
enum oto_status srv_sim_begin(struct srv_sim *sim, struct oto_error *error);
/*
 * [loop] Back to tick 0 with the configuration's seed, which may have changed: as a world that was just made, where no node
 * has had a swap or a change of parameters and none is isolated. On failure the world is only good to be destroyed.
 */
enum oto_status srv_sim_rewind(struct srv_sim *sim, struct oto_error *error);

/* Makes tick `sim->tick` and completes it. */
void srv_sim_tick(struct srv_sim *sim);
/* Applies a command of the simulator's. True: *reply is to be sent now; false: by hooks.reply, later. */
bool srv_sim_apply(struct srv_sim *sim, const struct srv_command *command, struct srv_reply *reply);
/* The next truth of a vehicle that a participant moves; NULL: none for the next tick. Before the tick. */
void srv_sim_give_truth(struct srv_sim *sim, uint32_t vehicle, const struct srv_external_input *input);
/* OTO_CONTROLS finite values for the motion of a vehicle, also for the other plugin of a swap. Before the tick. */
void srv_sim_give_controls(struct srv_sim *sim, uint32_t vehicle, const double *values);
bool srv_controls_are_finite(const double *values);

/* [loop] "world/vehicle/node", "vehicle/node" or a topic alias. UINT32_MAX and an error that suggests the nearest. */
uint32_t srv_sim_node_find(const struct srv_sim *sim, const char *name, struct oto_error *error);
/* [loop] A fault of the node from its specification; NULL when out of memory. */
struct srv_fault *srv_sim_fault_make(const struct srv_sim *sim, uint32_t node, const struct srv_fault_spec *spec);
/* State, last output and truth of one node: what the chain is made of, for the log of a run. */
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

static inline void srv_sim_reply(struct srv_sim *sim, const struct srv_reply *reply)
{
    if (sim->hooks.reply != NULL) {
        sim->hooks.reply(sim->hooks.context, reply);
    }
}

/* ---- tick.c, truth.c ---- */

/* Truths at time zero, and the start of the hash chain. */
void srv_sim_begin_chain(struct srv_sim *sim);

/* Publishes what a node's outputs hold, watched and hashed; `flags` come to each sample's own. */
void srv_tick_publish(struct srv_sim *sim, struct srv_node *node, uint32_t flags);
/* The same, but not hashed. */
void srv_tick_publish_aside(struct srv_sim *sim, struct srv_node *node, uint32_t flags);
/* Moves a vehicle on by a tick, and publishes its truth. */
void srv_truth_advance(struct srv_sim *sim, struct srv_vehicle *vehicle, uint64_t tick);
void srv_truth_publish(struct srv_sim *sim, struct srv_vehicle *vehicle);
/* Its truth at time zero. */
void srv_truth_begin(struct srv_sim *sim, struct srv_vehicle *vehicle);
/* The truth at an instant of the current tick, or up to a second earlier. False: there is none, the motion is broken. */
bool srv_truth_at(struct srv_sim *sim, struct srv_vehicle *vehicle, struct oto_instant at,
                  struct oto_truth_record *truth);
/* Whether an instant of the current tick or before it is the motion's to tell; what is not is told by the history. */
static inline bool srv_motion_may_tell(const struct srv_sim *sim, const struct srv_vehicle *vehicle, int64_t t_ns)
{
    const int64_t start_ns =
        sim->schedule.t_ns - sim->schedule.step_ns; /* at or after the tick's start: never before it */
    return t_ns >= 0 && ((vehicle->any_time && t_ns >= vehicle->any_from_ns) || t_ns >= start_ns);
}
/* A step said ERROR or FATAL, or broke the floating-point mode: takes the node, or all of its library, out. */
void srv_node_quarantine(struct srv_sim *sim, struct srv_node *node, enum oto_step_status status,
                         const char *why);
/* Runs one step: notes for a crash report which node runs, calls the plugin, and checks the floating-point mode. */
enum oto_step_status srv_node_run(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step);
/* Counts the result of a step and reacts to it. `said` is an enum oto_step_status, SRV_STEP_FLOAT_MODE, or an invalid number. */
enum oto_step_status srv_node_account(struct srv_sim *sim, struct srv_node *node, uint32_t said);

/* What a node is exposed to at its next sample; returns the flags that its truth brings. */
uint32_t srv_sample_input(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct srv_node *node,
                          struct oto_sensor_input *input);
/* What srv_input_at needs of a sample that is being taken. */
struct srv_looking_back {
    struct srv_sim *sim;
    struct srv_vehicle *vehicle;
    const struct srv_node *node;
    struct oto_instant at;
};
enum oto_step_status srv_input_at(void *looking_back, struct oto_instant at, struct oto_sensor_input *input);

/* ---- runner_direct.c: for the other runners ---- */

/* A step with the parts that its pointers lead to. */
struct srv_turn_step {
    struct oto_step step;
    struct oto_sensor_input input;
    struct srv_looking_back back;
    uint32_t flags; /* of the truth that a sensor is exposed to */
};
/* The step of the node's next sample: its input, or its samples, whose cursors move. */
void srv_turn_prepare(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick,
                      struct srv_turn_step *turn);
/* One sample from the input to the rings. */
void srv_direct_step(struct srv_sim *sim, struct srv_vehicle *vehicle, struct srv_node *node, uint64_t tick);
void srv_direct_move(struct srv_sim *sim, struct srv_vehicle *vehicle, const struct oto_step *step, uint32_t *flags);
/* The node's state goes into the hash; and, after a step with this status, its records to the rings. */
void srv_node_absorb(struct srv_sim *sim, const struct srv_node *node);
void srv_node_publish(struct srv_sim *sim, struct srv_node *node, enum oto_step_status status, uint32_t flags);

/* ---- estimators.c ---- */

/* Finds the estimators among the nodes [loop]; points their inputs at the rings, again when a swap has moved ports. */
enum oto_status srv_estimators_make(struct srv_sim *sim, struct oto_error *error);
void srv_estimators_attach(struct srv_sim *sim);
/* Steps those that are due in this tick, after its sensors: from number `first` to before `end`. */
void srv_estimators_step(struct srv_sim *sim, uint32_t first, uint32_t end, uint64_t tick);
/* Of the estimators in their order so many must have had their turn before all that this one listens to is there. */
uint32_t srv_estimator_ready_at(const struct srv_sim *sim, const struct srv_node *node);
/* What its next step is given; the cursors stay, `after` gets where they would stand (host/inputs.h). */
uint32_t srv_estimator_look(struct srv_sim *sim, struct srv_node *node, uint64_t *cursors, uint64_t *after);
/* The samples of its next step; the cursors move. */
void srv_estimator_prepare(struct srv_sim *sim, struct srv_node *node, struct oto_step *step);
/* The cursors of an estimator are part of its state. */
void srv_estimator_absorb(struct srv_sim *sim, const struct srv_node *node);

/* Breadcrumb and step of an instance, no more. False: it changed the floating-point mode, which is put back. */
bool srv_node_call(struct srv_sim *sim, const struct srv_node *node,
                   enum oto_step_status (*step_function)(const struct oto_instance *, const struct oto_step *),
                   const struct oto_instance *instance, const struct oto_step *step, enum oto_step_status *status);
/* After the step of a motion: evaluates the truth at the end of the tick for the vehicle. Without one the truth stays, flagged stale. */
void srv_motion_finish(struct srv_sim *sim, struct srv_vehicle *vehicle, struct oto_instant at, enum oto_step_status status,
                       uint32_t *flags);

/* ---- swap.c, runner_pair.c ---- */

/* Takes a swap: at once, or through history and shadow. True: *reply is to be sent. */
bool srv_trial_begin(struct srv_sim *sim, struct srv_node *node, struct srv_change *change,
                     struct srv_reply *reply);
/* A boundary has come. */
void srv_trials_advance(struct srv_sim *sim);
/* A sample of a sensor or estimator of a node that has a swap under way. */
void srv_trial_sample(struct srv_sim *sim, struct srv_node *node, const struct oto_step *step, uint32_t flags);
bool srv_node_is_swapped(const struct srv_node *node);
/* The candidate of a motion could not be evaluated. True: the motion before it is back and may be asked. */
bool srv_trial_save_motion(struct srv_sim *sim, struct srv_node *motion);
/* Commands. True: *reply is to be sent. */
bool srv_trial_settle(struct srv_sim *sim, struct srv_change *change, struct srv_reply *reply);
void srv_trial_cancel(struct srv_sim *sim, struct srv_node *node, struct srv_reply *reply);
void srv_trial_undo(struct srv_sim *sim, struct srv_node *node, struct srv_reply *reply);
/* [loop] Drops what the tick thread still had. */
void srv_trials_finish(struct srv_sim *sim);

/* ---- events.c ---- */

void srv_event_write(struct srv_sim *sim, enum oto_event_kind kind, uint32_t severity, int64_t value,
                     const char *source, const char *text);
void srv_event_push(struct srv_sim *sim, struct oto_event_record *event);

/* ---- faults.c ---- */

#define SRV_FAULTS_OF_A_NODE 1024

/* Around the publication of a sample of a node that has faults: what is active, each record, the label. */
void srv_faults_begin_sample(struct srv_sim *sim, struct srv_node *node);
/* Adds the node's active disturbances to the exposure of its sample. */
void srv_faults_disturb(const struct srv_node *node, struct oto_sensor_input *input);
void srv_faults_inject(struct srv_sim *sim, struct srv_node *node, uint32_t port, uint32_t *flags);
void srv_faults_end_sample(struct srv_sim *sim, struct srv_node *node);
/* The timeline of the world's file, before the first tick. */
enum oto_status srv_faults_load(struct srv_sim *sim, struct srv_node *node, struct oto_error *error);
/* At a boundary: takes a fault on; or ends one, or all with id 0. */
enum oto_status srv_fault_begin(struct srv_sim *sim, struct srv_fault *fault, const char **reason);
enum oto_status srv_fault_clear(struct srv_sim *sim, uint32_t node, uint64_t id, const char **reason);

/* The plugin that the node runs now goes into the reply. */
void srv_reply_show_node(const struct srv_node *node, struct srv_reply *reply);
/* Adds to a counter that other threads may write too. */
/* Quarantines every node of a library that has reported FATAL. */
void srv_fatal_spread(struct srv_sim *sim);
void srv_count(struct srv_sim *sim, enum oto_counter counter, uint64_t delta);

#endif
