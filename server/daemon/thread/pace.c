#include <sys/eventfd.h>
#include <unistd.h>

#include "base/futex.h"
#include "daemon/thread/engine_private.h"
#include "base/text.h"

#define EVENT_INTERVAL_NS INT64_C(1000000000)
#define FACTOR_WINDOW_NS INT64_C(1000000000)
#define BUSY_SHARE 0.95

static void say_slip(struct srv_engine *engine)
{
    char sentence[96];
    struct srv_text words = srv_text_begin(sentence, sizeof sentence);
    srv_text_add(&words, "gave up ");
    srv_text_add_milli(&words, (double)engine->slip_unsaid_ns * 1e-6);
    srv_text_add(&words, " ms of real time");
    srv_event_write(engine->sim, OTO_EVENT_SLIP, 1, engine->slip_unsaid_ns, "clock", sentence);
    engine->slip_unsaid_ns = 0;
    engine->slip_event_due_ns = engine->now_ns + EVENT_INTERVAL_NS;
}

void srv_pace_account(struct srv_engine *engine, const struct srv_pace *pace)
{
    struct oto_segment_header *header = engine->sim->store.header;
    if (pace->slipped_ns != 0) {
        srv_word_add(&header->counter[OTO_COUNTER_SLIPS], 1);
        srv_word_add(&header->counter[OTO_COUNTER_SLIPPED_NS], (uint64_t)pace->slipped_ns);
        engine->slip_unsaid_ns += pace->slipped_ns;
    }
    /* Writes at most one event a second, with the sum of the slips since the last event. */
    if (engine->slip_unsaid_ns != 0 && engine->now_ns >= engine->slip_event_due_ns) {
        say_slip(engine);
    }
    if (pace->run) {
        srv_histogram_add(&header->lateness, pace->lateness_ns);
        srv_word_add(&header->counter[OTO_COUNTER_LATE], pace->lateness_ns > SRV_LATE_NS ? 1 : 0);
        srv_word_add(&header->counter[OTO_COUNTER_CATCHUP_TICKS], pace->catching_up ? 1 : 0);
    }
}

void srv_pace_verdict(struct srv_engine *engine, enum srv_pacer_verdict verdict)
{
    if (verdict == SRV_PACER_OK) {
        return;
    }
    srv_word_add(&engine->sim->store.header->counter[OTO_COUNTER_OVERRUNS], 1);
    if (verdict == SRV_PACER_FAULT) {
        char sentence[96];
        struct srv_text words = srv_text_begin(sentence, sizeof sentence);
        srv_text_add_u64(&words, engine->pacer.overruns);
        srv_text_add(&words, " ticks in a row ended after their deadline");
        engine->faulted = true;
        srv_commands_finish_step(engine, OTO_CLOSED, "the clock stopped by a fault");
        srv_event_write(engine->sim, OTO_EVENT_CLOCK_FAULT, 2, (int64_t)engine->pacer.overruns, "clock", sentence);
    }
}

void srv_pace_guard_core(struct srv_engine *engine, int64_t work_ns)
{
    if (!engine->rights.real_time) {
        return;
    }
    const int64_t elapsed_ns = engine->now_ns - engine->busy_since_ns;
    engine->busy_work_ns += (uint64_t)work_ns;
    if (elapsed_ns < EVENT_INTERVAL_NS) {
        return;
    }
    if ((double)engine->busy_work_ns > BUSY_SHARE * (double)elapsed_ns && elapsed_ns < 2 * EVENT_INTERVAL_NS) {
        srv_rights_set_thread(&engine->rights, false);
        srv_event_write(engine->sim, OTO_EVENT_REALTIME, 1, (int64_t)engine->busy_work_ns, "clock",
                        "gave up real-time priority: ticks leave no time for anything else on their core");
    }
    engine->busy_work_ns = 0;
    engine->busy_since_ns = engine->now_ns;
}

void srv_factor_reset(struct srv_factor *factor)
{
    factor->count = 0;
    factor->due_ns = 0;
}

void srv_factor_update(struct srv_factor *factor, int64_t real_ns, int64_t sim_ns)
{
    if (real_ns < factor->due_ns) {
        return;
    }
    const uint32_t oldest = factor->count < SRV_FACTOR_SAMPLES ? 0 : factor->count % SRV_FACTOR_SAMPLES;
    const int64_t elapsed_ns = factor->count > 0 ? real_ns - factor->real_ns[oldest] : 0;
    if (elapsed_ns > 0) {
        factor->value = (double)(sim_ns - factor->sim_ns[oldest]) / (double)elapsed_ns;
    }
    factor->real_ns[factor->count % SRV_FACTOR_SAMPLES] = real_ns;
    factor->sim_ns[factor->count % SRV_FACTOR_SAMPLES] = sim_ns;
    factor->count++;
    if (factor->count == 2 * SRV_FACTOR_SAMPLES) {
        factor->count = SRV_FACTOR_SAMPLES;
    }
    factor->due_ns = real_ns + FACTOR_WINDOW_NS / SRV_FACTOR_SAMPLES;
}

void srv_wake_readers(struct srv_engine *engine)
{
    engine->wake_pending = false;
    engine->last_wake_ns = engine->now_ns;
    if (__atomic_load_n(&engine->waiters, __ATOMIC_RELAXED) != 0) {
        srv_word_add(&engine->sim->store.header->counter[OTO_COUNTER_WAKES], 1);
        srv_futex_wake(&engine->sim->store.header->tick_futex);
    }
}

void srv_notify_main(struct srv_engine *engine)
{
    const uint64_t one = 1;
    (void)!write(engine->notify_fd, &one, sizeof one);
}
