/* Shared by the files of the engine. Members are grouped by the thread that writes them. */
#ifndef SRV_WORLD_ENGINE_PRIVATE_H
#define SRV_WORLD_ENGINE_PRIVATE_H

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#include "daemon/clock/driver.h"
#include "daemon/clock/pacer.h"
#include "daemon/clock/realtime.h"
#include "daemon/segment/segment.h"
#include "daemon/thread/engine.h"
#include "daemon/participants/participants.h"
#include "base/queue.h"
#include "base/wait_time.h"
#include "isolate/isolation.h"
#include "sim/sim.h"

#define SRV_COMMAND_CAPACITY 256u /* most commands without a taken reply; the queue has room for as many events without a reply */
#define SRV_LOSSLESS_READERS 16
#define SRV_LATE_NS 100000
#define SRV_UNPACED_CLOCK_TICKS 16u /* in unpaced worlds the clock is read every 16 ticks */
#define SRV_UNPACED_WAKE_NS 1000000
#define SRV_FACTOR_SAMPLES 16u
#define SRV_SIGNAL_STACK_BYTES (32 * 1024) /* for a signal frame with all registers, and the handler of deadly signals */

/* A lossless reader. The main thread writes this struct; the tick thread reads it and may demote the reader. */
struct srv_lossless_reader {
    uint32_t active; /* 0 free, 1 waited for, 2 demoted; release/acquire */
    uint32_t count;
    uint32_t *channels; /* has room for every channel; freed with the engine */
    uint64_t *next;
};

/* Measures the ratio of simulated to real time over about the last second. */
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
    struct srv_sim *sim;
    uint64_t last_tick; /* the run ends at this tick */
    struct srv_participants participants; /* after the start used by the tick thread alone */
    const struct srv_input_source *inputs;
    struct srv_journal *journal; /* NULL: nothing is logged */
    struct srv_logged_inputs *logged; /* used by the source srv_inputs_of_log */
    struct srv_workers *workers; /* NULL: the tick thread has no worker threads */

    /* members of the tick thread */
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
    bool on_thread;          /* the tick thread has begun: only it may advance the world */
    pthread_t tick_identity;
    unsigned char *signal_stack; /* for the handler of deadly signals: a step may have used up the thread's own stack */
    bool wake_pending;
    int64_t now_ns; /* newest reading of the clock */
    int64_t last_wake_ns, last_work_ns;
    int64_t slip_event_due_ns, slip_unsaid_ns;
    uint64_t busy_work_ns;
    int64_t busy_since_ns;
    uint64_t lossless_safe_ticks, lossless_seen_epoch;
    bool lossless_late; /* the thread waits for lossless readers, since `lossless_wait` */
    struct srv_wait_time lossless_wait;
    struct srv_rights rights;

    /* members that both threads use */
    struct srv_queue commands, replies;
    int notify_fd;
    uint32_t quit;
    uint32_t gone; /* the tick thread has ended */
    uint32_t waiters;
    uint32_t working; /* 1 while a tick is made */
    uint64_t lossless_epoch; /* counts calls of srv_engine_lossless_begin, _acknowledge and _end */
    uint32_t lossless_waiting;
    struct srv_lossless_reader lossless[SRV_LOSSLESS_READERS];

    /* members of the main thread */
    uint64_t last_fault_id;
    pthread_t thread;
    bool started;
    sem_t ready;
    uint32_t outstanding; /* commands without a taken reply */
    pthread_mutex_t views_lock; /* protects `views` against workers that prepare changes; the tick thread never takes it */
    struct srv_node_view {
        struct oto_plugin *plugin;
        struct oto_params params; /* borrowed from the node */
        const struct oto_setup *own_setup; /* borrowed from the node; NULL: the node's configured setup */
        uint64_t revision;
    } *views;
    struct srv_watchdog {
        uint64_t tick;
        int64_t since_ns;
        bool counted, reported;  /* whether the stall of this tick was counted and reported */
        int64_t report_ns;       /* real time of the last report; 0: none */
        int64_t longest_ns;      /* duration of the stall at the last report */
        uint32_t unreported;     /* stalls since the last report */
        uint32_t looks; /* consecutive checks that found the same tick running */
    } watchdog;
};

/* ---- commands.c ---- */

/* Events without an id get no reply. */
static inline bool srv_command_is_unanswered(const struct srv_command *command)
{
    return command->kind == SRV_COMMAND_EVENT && command->id == 0;
}
void srv_commands_apply(struct srv_engine *engine);
/* Sends a reply to the main thread. */
void srv_reply_send_now(struct srv_engine *engine, const struct srv_reply *reply);
/* Main thread: updates the node's view after a change was applied. */
void srv_views_update(struct srv_engine *engine, const struct srv_reply *reply);
/* Any thread: copies what a node runs, because the main thread may take replies while a worker prepares a change. */
void srv_views_fill_base(void *engine, struct srv_change_base *base);
/* Replies to the command `step` that is not finished, if there is one. */
void srv_commands_finish_step(struct srv_engine *engine, enum oto_status status, const char *reason);

/* Starts a thread that blocks all signals except those of its own faults: the main thread handles signals. 0 or an errno. */
int srv_thread_start(pthread_t *thread, void *(*body)(void *argument), void *argument);

/* ---- thread.c, pace.c ---- */

void *srv_tick_thread(void *engine);
/* Reports to simulator and plugin hosts whether ticks are paced. Call it after each change of mode, pause or steps. */
void srv_pace_show(struct srv_engine *engine);
/* Writes the state of the run to the segment header. */
void srv_state_show(struct srv_engine *engine);
/* Counts and reports the decision of the pacer. */
void srv_pace_account(struct srv_engine *engine, const struct srv_pace *pace);
void srv_pace_verdict(struct srv_engine *engine, enum srv_pacer_verdict verdict);
void srv_factor_reset(struct srv_factor *factor);
void srv_factor_update(struct srv_factor *factor, int64_t real_ns, int64_t sim_ns);
/* Gives up SCHED_FIFO when ticks leave no processor time for other threads. */
void srv_pace_guard_core(struct srv_engine *engine, int64_t work_ns);
void srv_wake_readers(struct srv_engine *engine);
/* Notifies the main loop of a reply or a change of state. */
void srv_notify_main(struct srv_engine *engine);

/* ---- lossless.c ---- */

/* True: the next tick overwrites no record that a lossless reader has not read. Otherwise waits and returns false. */
bool srv_lossless_clear(struct srv_engine *engine);
void srv_lossless_finish(struct srv_engine *engine);

#endif
