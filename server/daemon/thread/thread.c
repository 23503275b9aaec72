#include <signal.h>

#include "base/fpu.h"
#include "daemon/thread/engine_private.h"
#include "daemon/thread/exit_trap.h"
#include "daemon/thread/journal.h"

static bool may_tick(const struct srv_engine *engine)
{
    if (engine->ended || engine->faulted) {
        return false;
    }
    return engine->steps_left > 0 || (!engine->paused && engine->mode != OTO_MODE_STEP);
}

static bool is_paced(const struct srv_engine *engine)
{
    const bool by_clock = engine->mode == OTO_MODE_REALTIME ||
                          (engine->mode == OTO_MODE_LOCKSTEP && engine->config->clock.paced);
    return by_clock && engine->steps_left == 0;
}

void srv_pace_show(struct srv_engine *engine)
{
    engine->sim->paced = engine->mode == OTO_MODE_REALTIME && !engine->paused;
    engine->sim->over = engine->ended || engine->faulted;
}

static uint32_t state_of(const struct srv_engine *engine)
{
    if (engine->faulted) {
        return OTO_SERVER_FAULT;
    }
    if (engine->ended) {
        return OTO_SERVER_ENDED;
    }
    return may_tick(engine) ? OTO_SERVER_RUNNING : OTO_SERVER_PAUSED;
}

void srv_state_show(struct srv_engine *engine)
{
    const uint32_t state = state_of(engine);
    if (state == engine->shown_state) {
        return;
    }
    engine->shown_state = state;
    __atomic_store_n(&engine->sim->store.header->state, state, __ATOMIC_RELEASE);
    engine->wake_pending = true;
    if (state == OTO_SERVER_ENDED || state == OTO_SERVER_FAULT) {
        srv_journal_hashes(engine);
        srv_participants_close(engine);
        srv_notify_main(engine);
    }
}

static void show_clock(struct srv_engine *engine, int64_t start_ns, int64_t work_ns)
{
    struct oto_segment_header *header = engine->sim->store.header;
    const struct oto_clock clock = {.tick = engine->sim->tick,
                                    .sim_time_ns = engine->sim->schedule.t_ns,
                                    .start_mono_ns = start_ns,
                                    .work_ns = work_ns,
                                    .real_time_factor = engine->factor.value,
                                    .scale = engine->pacer.scale,
                                    .state_hash = engine->sim->chain};
    srv_clock_publish(header, &clock);
    __atomic_store_n(&header->tick_futex, (uint32_t)engine->sim->tick, __ATOMIC_RELEASE);
}

static void publish_clock(struct srv_engine *engine, int64_t start_ns, int64_t work_ns)
{
    struct oto_segment_header *header = engine->sim->store.header;
    show_clock(engine, start_ns, work_ns);
    srv_word_add(&header->counter[OTO_COUNTER_TICKS], 1);
    engine->wake_pending = true;
}

static void make_tick(struct srv_engine *engine)
{
    __atomic_store_n(&engine->working, 1, __ATOMIC_RELAXED);
    engine->inputs->apply(engine);
    srv_sim_tick(engine->sim);
    srv_journal_tick(engine);
    __atomic_store_n(&engine->working, 0, __ATOMIC_RELAXED);
}

/* Records the duration of a tick whose start and end were measured, paced or unpaced. */
static void keep_times(struct srv_engine *engine, int64_t start_ns, int64_t end_ns)
{
    engine->now_ns = end_ns;
    engine->last_work_ns = end_ns - start_ns;
    srv_histogram_add(&engine->sim->store.header->work, engine->last_work_ns);
    srv_factor_update(&engine->factor, end_ns, engine->sim->schedule.t_ns);
}

/* Makes one tick at its deadline, or waits for the deadline. */
static void run_paced(struct srv_engine *engine)
{
    engine->now_ns = srv_now_ns();
    if (!engine->anchored) {
        srv_pacer_anchor(&engine->pacer, engine->now_ns);
        srv_factor_reset(&engine->factor);
        engine->anchored = true;
    }
    if (engine->now_ns >= srv_pacer_deadline_ns(&engine->pacer) && !engine->inputs->clear(engine)) {
        return;
    }
    const struct srv_pace pace = srv_pacer_plan(&engine->pacer, engine->now_ns);
    srv_pace_account(engine, &pace);
    if (!pace.run) {
        engine->driver.ops->wait(&engine->driver, pace.until_ns, srv_pacer_period_ns(&engine->pacer));
        if (srv_spin_exhausted_now(&engine->driver.budget)) {
            srv_event_write(engine->sim, OTO_EVENT_REALTIME, 1, engine->driver.budget.used_ns, "clock",
                            "driver hybrid spun for a tenth of a second within one; it sleeps to the deadline instead");
        }
        return;
    }
    const int64_t start_ns = engine->now_ns;
    make_tick(engine);
    publish_clock(engine, start_ns, srv_now_ns() - start_ns);
    srv_wake_readers(engine);
    keep_times(engine, start_ns, srv_now_ns());
    srv_pace_guard_core(engine, engine->last_work_ns);
    srv_pace_verdict(engine, srv_pacer_done(&engine->pacer, engine->now_ns));
}

/* Makes one tick without a deadline. The clock is read and readers are woken only after several ticks. */
static void run_unpaced(struct srv_engine *engine)
{
    if (!engine->inputs->clear(engine) || !srv_lossless_clear(engine) || !srv_journal_clear(engine)) {
        return;
    }
    const bool few = engine->steps_left > 0 && engine->steps_left <= SRV_UNPACED_CLOCK_TICKS;
    const bool timed = few || engine->sim->tick % SRV_UNPACED_CLOCK_TICKS == 0;
    const int64_t start_ns = timed ? srv_now_ns() : engine->now_ns;
    make_tick(engine);
    if (timed) {
        keep_times(engine, start_ns, srv_now_ns());
    }
    publish_clock(engine, start_ns, engine->last_work_ns);
    if (timed && engine->now_ns - engine->last_wake_ns >= SRV_UNPACED_WAKE_NS) {
        srv_wake_readers(engine);
    }
    engine->anchored = false;
}

static void after_tick(struct srv_engine *engine, uint64_t before)
{
    if (engine->sim->tick == before) {
        return;
    }
    engine->inputs->grant(engine);
    if (engine->steps_left > 0 && --engine->steps_left == 0) {
        srv_commands_finish_step(engine, OTO_OK, NULL);
    }
    if (engine->sim->tick >= engine->last_tick) {
        engine->ended = true;
        srv_commands_finish_step(engine, OTO_CLOSED, "the run reached its end before the steps were done");
        srv_event_write(engine->sim, OTO_EVENT_STOPPED, 0, (int64_t)engine->sim->tick, "clock", "reached its end");
    }
}

static void begin(struct srv_engine *engine)
{
    engine->tick_identity = pthread_self();
    engine->on_thread = true;
    srv_rights_prepare_thread();
    srv_fpu_pin();
    if (engine->options.trap_exits) {
        srv_exit_trap_set();
    }
    srv_rights_set_thread(&engine->rights, engine->mode == OTO_MODE_REALTIME);
    srv_event_write(engine->sim, OTO_EVENT_STARTED, 0, (int64_t)engine->sim->node_count, "clock", "started");
    engine->now_ns = srv_now_ns();
    engine->busy_since_ns = engine->now_ns;
    if (engine->sim->tick > 0) { /* a restored world: its clock can be read before its next tick */
        show_clock(engine, engine->now_ns, 0);
    }
    srv_journal_hashes(engine);
    (void)sem_post(&engine->ready);
}

void *srv_tick_thread(void *argument)
{
    struct srv_engine *engine = argument;
    const stack_t stack = {.ss_sp = engine->signal_stack, .ss_size = SRV_SIGNAL_STACK_BYTES};
    stack_t previous_stack; /* a sanitizer may have set one */
    (void)sigaltstack(&stack, &previous_stack);
    begin(engine);
    while (__atomic_load_n(&engine->quit, __ATOMIC_ACQUIRE) == 0) {
        const uint64_t before = engine->sim->tick;
        if (!srv_queue_is_empty(&engine->commands)) {
            srv_commands_apply(engine);
        }
        srv_isolation_publish_events(engine->sim);
        srv_pace_show(engine);
        srv_state_show(engine);
        if (!may_tick(engine)) {
            if (engine->wake_pending) {
                srv_wake_readers(engine);
            }
            engine->anchored = false;
            srv_factor_reset(&engine->factor);
            srv_waiter_wait(&engine->waiter, SRV_WAIT_FOR_EVER);
        } else if (!engine->inputs->allows(engine)) {
            engine->inputs->wait(engine);
        } else if (is_paced(engine)) {
            run_paced(engine);
        } else {
            run_unpaced(engine);
        }
        after_tick(engine, before);
    }
    (void)sigaltstack(&previous_stack, NULL);
    __atomic_store_n(&engine->gone, 1, __ATOMIC_RELEASE);
    srv_notify_main(engine);
    return NULL;
}
