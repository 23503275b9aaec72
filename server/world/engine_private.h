/* What the parts of the engine share. Members are grouped by the thread that writes them. */
#ifndef SRV_WORLD_ENGINE_PRIVATE_H
#define SRV_WORLD_ENGINE_PRIVATE_H

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#include "clock/driver.h"
#include "clock/pacer.h"
#include "clock/realtime.h"
#include "host/change.h"
#include "host/node.h"
#include "shm/segment.h"
#include "shm/writer.h"
#include "world/engine.h"
#include "world/environment.h"
#include "world/history.h"
#include "world/isolated.h"
#include "world/participants.h"
#include "world/queue.h"
#include "world/state_hash.h"

#define SRV_COMMAND_CAPACITY 256u /* with a reply to come; beside them as many events without one */
#define SRV_LOSSLESS_READERS 16
#define SRV_LATE_NS 100000
#define SRV_UNPACED_CLOCK_TICKS 16u /* without a pace the clock is read once in so many ticks */
#define SRV_UNPACED_WAKE_NS 1000000
#define SRV_FACTOR_SAMPLES 16u

struct srv_vehicle {
    struct srv_node *motion;
    struct srv_node *first_sensor;
    uint32_t sensor_count;
    bool any_time; /* the motion node can be asked about any instant from any_from_ns on */
    int64_t any_from_ns;
    bool stale;    /* the motion node is broken: the truth is the last good one */
    bool truth_was_finite;
    uint32_t truth_flags; /* of the last truth */
    struct oto_truth_record truth;      /* at the last tick's end */
    struct oto_truth_record truth_zero; /* at time zero */
    struct srv_history history; /* without any_time, or once the motion was swapped */
    struct srv_ring ring;
    uint32_t channel;
    const struct srv_vibration *vibration; /* NULL: nothing shakes it */
};

/* A reader that the tick waits for. The main thread writes, the tick thread reads and demotes. */
struct srv_lossless_reader {
    uint32_t active; /* 0 free, 1 waited for, 2 demoted; release/acquire */
    uint32_t count;
    uint32_t *channels; /* room for every channel; kept until the engine goes */
    uint64_t *next;
};

/* Measures simulated over real time of about the last second. */
struct srv_factor {
    int64_t real_ns[SRV_FACTOR_SAMPLES];
    int64_t sim_ns[SRV_FACTOR_SAMPLES];
    uint32_t count;
    int64_t due_ns;
    double value;
};

struct srv_engine {
    /* fixed after creation */
    const struct srv_world_config *config;
    struct srv_engine_options options;
    struct srv_segment segment;
    struct srv_environment environment;
    struct srv_node *nodes;
    struct srv_vehicle *vehicles;
    struct oto_float_run *truth_runs;
    uint32_t truth_run_count;
    uint32_t node_count, vehicle_count, channel_count, event_channel;
    uint64_t last_tick; /* the run ends after so many ticks */
    uint32_t *first_channels; /* of each node */
    struct srv_node **estimators; /* in the order of the file */
    uint32_t estimator_count;
    struct srv_group *groups; /* of isolated nodes */
    uint32_t group_count;
    struct srv_keeper *keeper; /* NULL: no groups */
    struct srv_participants participants; /* the tick thread's after the start */
    struct srv_journal *journal; /* NULL: nothing is told */
    struct srv_feed *feed;       /* NULL: this is no replay */

    /* tick thread */
    uint64_t tick; /* completed */
    struct srv_beat beat; /* of tick ends; at the last one completed */
    uint64_t chain;
    struct srv_state_hash hash;
    struct srv_ring events;
    struct oto_fault_label_record label; /* of the sample that is taken */
    uint64_t newest_fault;               /* highest number taken on */
    struct srv_fault *retired_faults;    /* over; the next reply about faults takes them */
    enum oto_clock_mode mode;
    bool paused, ended, faulted;
    uint32_t shown_state;
    uint64_t steps_left;
    struct srv_reply step_reply;
    bool step_pending;
    struct srv_pacer pacer;
    struct srv_clock_driver driver;
    struct srv_waiter waiter;
    struct srv_factor factor;
    bool anchored;
    bool on_thread;          /* the tick thread has begun; its operations may be called by it alone */
    pthread_t tick_identity;
    bool wake_pending;
    int64_t now_ns; /* newest reading of the clock */
    int64_t last_wake_ns, last_work_ns;
    int64_t slip_event_due_ns, slip_unsaid_ns;
    uint64_t busy_work_ns;
    int64_t busy_since_ns;
    uint64_t lossless_safe_ticks, lossless_seen_epoch;
    int64_t lossless_deadline_ns; /* of the wait that goes on, 0: none */
    struct srv_rights rights;
    struct srv_change *trials; /* swaps that the tick thread has: filling, in shadow, on probation, or settled */

    /* both */
    struct srv_queue commands, replies;
    int notify_fd;
    uint32_t quit;
    uint32_t gone; /* the tick thread has nothing more to do */
    uint32_t waiters;
    uint32_t working; /* 1 while a tick is made */
    uint64_t lossless_epoch; /* counts begins, acknowledges and ends */
    uint32_t lossless_waiting;
    struct srv_lossless_reader lossless[SRV_LOSSLESS_READERS];

    /* main thread */
    uint64_t last_fault_id;
    pthread_t thread;
    bool started;
    sem_t ready;
    uint32_t outstanding; /* commands without a taken reply */
    pthread_mutex_t views_lock; /* against workers that prepare changes; never taken by the tick thread */
    struct srv_node_view {
        struct oto_plugin *plugin;
        struct oto_params params; /* borrowed from the node */
        const struct oto_setup *own_setup; /* likewise; NULL: the node's */
        uint64_t revision;
    } *views;
    struct srv_watchdog {
        uint64_t tick;
        int64_t since_ns;
        bool told;
        uint32_t looks; /* that found the same tick under way */
    } watchdog;
};

/* [tick] operations of plugins are called by the tick thread, or by nobody else before it has begun. */
static inline void srv_assert_tick_thread(const struct srv_engine *engine)
{
    assert(!engine->on_thread || pthread_equal(pthread_self(), engine->tick_identity));
    (void)engine;
}

/* ---- tick.c, truth.c ---- */

/* Truths at time zero and the start of the hash chain, before the first tick. */
void srv_tick_begin_world(struct srv_engine *engine);
/* Makes tick `engine->tick` and completes it. */
void srv_tick_make(struct srv_engine *engine);
/* Publishes what a node's outputs hold, watched and hashed; `flags` come to each sample's own. */
void srv_tick_publish(struct srv_engine *engine, struct srv_node *node, uint32_t flags);
/* The same, but not hashed. */
void srv_tick_publish_aside(struct srv_engine *engine, struct srv_node *node, uint32_t flags);
/* Moves a vehicle on by a tick, and publishes its truth. */
void srv_truth_advance(struct srv_engine *engine, struct srv_vehicle *vehicle, uint64_t tick);
void srv_truth_publish(struct srv_engine *engine, struct srv_vehicle *vehicle);
/* Its truth at time zero. */
void srv_truth_begin(struct srv_engine *engine, struct srv_vehicle *vehicle);
/* The truth at an instant of the current tick, or up to a second earlier. False: there is none, the motion is broken. */
bool srv_truth_at(struct srv_engine *engine, struct srv_vehicle *vehicle, struct oto_instant at,
                  struct oto_truth_record *truth);
/* Whether an instant of the current tick or before it is the motion's to tell; what is not is told by the history. */
static inline bool srv_motion_may_tell(const struct srv_engine *engine, const struct srv_vehicle *vehicle, int64_t t_ns)
{
    const int64_t start_ns = engine->beat.t_ns - engine->beat.step_ns; /* at or after the tick's start: never before it */
    return t_ns >= 0 && ((vehicle->any_time && t_ns >= vehicle->any_from_ns) || t_ns >= start_ns);
}
/* A step said ERROR or FATAL, or broke the floating-point mode: takes the node, or all of its library, out. */
void srv_node_quarantine(struct srv_engine *engine, struct srv_node *node, enum oto_step_status status,
                         const char *why);
/* Breadcrumb, step, and what a step may not do. */
enum oto_step_status srv_node_run(struct srv_engine *engine, struct srv_node *node, const struct oto_step *step);
/* What follows from what a step said: enum oto_step_status, SRV_STEP_FLOAT_MODE, or something it may not say. */
enum oto_step_status srv_node_account(struct srv_engine *engine, struct srv_node *node, uint32_t said);

/* What a node is exposed to at its next sample; returns the flags that its truth brings. */
uint32_t srv_sample_input(struct srv_engine *engine, struct srv_vehicle *vehicle, const struct srv_node *node,
                          struct oto_sensor_input *input);
/* What srv_input_at needs of a sample that is being taken. */
struct srv_looking_back {
    struct srv_engine *engine;
    struct srv_vehicle *vehicle;
    const struct srv_node *node;
    struct oto_instant at;
};
enum oto_step_status srv_input_at(void *looking_back, struct oto_instant at, struct oto_sensor_input *input);

/* ---- batch.c ---- */

/* Makes this node's sample of the tick and those of nodes alike that come after it, if there are any. */
void srv_batch_make(struct srv_engine *engine, struct srv_vehicle *vehicle, struct srv_node *first, uint64_t tick);

/* ---- estimators.c ---- */

/* Finds the estimators among the nodes [loop]; points their inputs at the rings, again when a swap has moved ports. */
enum oto_status srv_estimators_make(struct srv_engine *engine, struct oto_error *error);
void srv_estimators_attach(struct srv_engine *engine);
/* Steps those that are due in this tick, after its sensors. */
void srv_estimators_step(struct srv_engine *engine, uint64_t tick);
/* Of the estimators in their order so many must have had their turn before all that this one listens to is there. */
uint32_t srv_estimator_ready_at(const struct srv_engine *engine, const struct srv_node *node);
/* What its next step is given; the cursors stay, `after` gets where they would stand (host/inputs.h). */
uint32_t srv_estimator_look(struct srv_engine *engine, struct srv_node *node, uint64_t *cursors, uint64_t *after);
/* How far it has listened, which is its state too. */
void srv_estimator_absorb(struct srv_engine *engine, const struct srv_node *node);

/* Breadcrumb and step of an instance, no more. False: it changed the floating-point mode, which is put back. */
bool srv_node_call(struct srv_engine *engine, const struct srv_node *node,
                   enum oto_step_status (*step_function)(const struct oto_instance *, const struct oto_step *),
                   const struct oto_instance *instance, const struct oto_step *step, enum oto_step_status *status);
/* One tick of the motion, and the truth at its end; *flags gets what is to be said of it. */
void srv_motion_step(struct srv_engine *engine, struct srv_vehicle *vehicle, const struct oto_step *step,
                     uint32_t *flags);

/* ---- trial.c, trial_step.c ---- */

/* Takes a swap: at once, or through history and shadow. True: *reply is to be sent. */
bool srv_trial_begin(struct srv_engine *engine, struct srv_node *node, struct srv_change *change,
                     struct srv_reply *reply);
/* A boundary has come. */
void srv_trials_advance(struct srv_engine *engine);
/* A sample of a sensor or estimator, and a motion's tick, of a node that has a trial. */
void srv_trial_sample(struct srv_engine *engine, struct srv_node *node, const struct oto_step *step, uint32_t flags);
void srv_trial_motion(struct srv_engine *engine, struct srv_vehicle *vehicle, const struct oto_step *step,
                      uint32_t *flags);
/* The candidate of a motion could not be evaluated. True: the motion before it is back and may be asked. */
bool srv_trial_save_motion(struct srv_engine *engine, struct srv_node *motion);
/* Whether a swap that comes now goes by the pace of real time. */
bool srv_trial_is_paced(const struct srv_engine *engine);
/* Commands. True: *reply is to be sent. */
bool srv_trial_settle(struct srv_engine *engine, struct srv_change *change, struct srv_reply *reply);
void srv_trial_cancel(struct srv_engine *engine, struct srv_node *node, struct srv_reply *reply);
void srv_trial_undo(struct srv_engine *engine, struct srv_node *node, struct srv_reply *reply);
/* [loop] Drops what the tick thread still had. */
void srv_trials_finish(struct srv_engine *engine);

/* ---- events.c ---- */

void srv_event_write(struct srv_engine *engine, enum oto_event_kind kind, uint32_t severity, int64_t value,
                     const char *source, const char *text);
void srv_event_push(struct srv_engine *engine, struct oto_event_record *event);

/* ---- faults.c ---- */

#define SRV_FAULTS_OF_A_NODE 1024

/* Around the publication of a sample of a node that has faults: what is active, each record, the label. */
void srv_faults_begin_sample(struct srv_engine *engine, struct srv_node *node);
void srv_faults_inject(struct srv_engine *engine, struct srv_node *node, uint32_t port, uint32_t *flags);
void srv_faults_end_sample(struct srv_engine *engine, struct srv_node *node);
/* The timeline of the world's file, before the first tick. */
enum oto_status srv_faults_load(struct srv_engine *engine, struct srv_node *node, struct oto_error *error);
/* At a boundary: takes a fault on; or ends one, or all with id 0. */
enum oto_status srv_fault_begin(struct srv_engine *engine, struct srv_fault *fault, const char **reason);
enum oto_status srv_fault_clear(struct srv_engine *engine, uint32_t node, uint64_t id, const char **reason);

/* ---- commands.c ---- */

/* Events without an id get no reply. */
static inline bool srv_command_is_unanswered(const struct srv_command *command)
{
    return command->kind == SRV_COMMAND_EVENT && command->id == 0;
}
void srv_commands_apply(struct srv_engine *engine);
/* An answer that was owed. */
void srv_reply_send_now(struct srv_engine *engine, const struct srv_reply *reply);
/* What the node runs now goes into the reply. */
void srv_reply_show_node(const struct srv_node *node, struct srv_reply *reply);
/* Answers a `step` that waits, if any. */
void srv_commands_finish_step(struct srv_engine *engine, enum oto_status status, const char *reason);

/* Adds to a counter that the main thread may write too. */
void srv_count(struct srv_engine *engine, enum oto_counter counter, uint64_t delta);

/* ---- thread.c, pace.c ---- */

void *srv_tick_thread(void *engine);
/* Brings the segment's state up to date. */
void srv_state_show(struct srv_engine *engine);
/* Counts and says what the pacer decided. */
void srv_pace_account(struct srv_engine *engine, const struct srv_pace *pace);
void srv_pace_verdict(struct srv_engine *engine, enum srv_pacer_verdict verdict);
void srv_factor_reset(struct srv_factor *factor);
void srv_factor_update(struct srv_factor *factor, int64_t real_ns, int64_t sim_ns);
/* Gives up SCHED_FIFO when ticks leave no room for anybody else. */
void srv_pace_guard_core(struct srv_engine *engine, int64_t work_ns);
void srv_wake_readers(struct srv_engine *engine);
/* A reply or a change of state waits for the main loop. */
void srv_notify_main(struct srv_engine *engine);

/* ---- lossless.c ---- */

/* True when the next tick overwrites nothing that a lossless reader has not read; else waits and returns false. */
bool srv_lossless_clear(struct srv_engine *engine);
void srv_lossless_finish(struct srv_engine *engine);

/* ---- changes.c ---- */

/* Main thread: what the node runs after a change was applied. */
void srv_views_update(struct srv_engine *engine, const struct srv_reply *reply);

#endif
