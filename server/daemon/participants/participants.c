#include "daemon/participants/participants.h"

#include <string.h>

#include "sim/answer.h"
#include "daemon/thread/engine_private.h"
#include "daemon/thread/journal.h"
#include "base/text.h"

#define SAY_INTERVAL_NS INT64_C(1000000000)
#define FOR_EVER INT64_MAX

/* ---- events ---- */

void srv_participant_say(struct srv_engine *engine, const struct srv_participant *participant, uint32_t severity,
                         const char *text)
{
    char source[64];
    struct srv_text words = srv_text_begin(source, sizeof source);
    srv_text_add(&words, "participant ");
    srv_text_add(&words, participant->config->name);
    srv_event_write(engine->sim, OTO_EVENT_PARTICIPANT, severity, (int64_t)participant->index, source, text);
}

/* Writes at most one event a second for each participant; the counters count every occurrence. */
static void say_seldom(struct srv_engine *engine, struct srv_participant *participant, const char *text)
{
    engine->now_ns = srv_now_ns();
    if (participant->said_ns == 0 || engine->now_ns - participant->said_ns >= SAY_INTERVAL_NS) {
        participant->said_ns = engine->now_ns;
        srv_participant_say(engine, participant, 1, text);
    }
}

static void fault(struct srv_engine *engine, struct srv_participant *participant, const char *why)
{
    engine->faulted = true;
    srv_commands_finish_step(engine, OTO_CLOSED, "the run was stopped by a participant's fault");
    srv_participant_say(engine, participant, 2, why);
}

/* ---- inputs ---- */

void srv_participant_apply(struct srv_engine *engine, const struct srv_participant_input *input)
{
    srv_journal_input(engine, input);
    if (input->kind == SRV_INPUT_CONTROLS) {
        srv_sim_give_controls(engine->sim, input->vehicle, input->controls);
    } else {
        srv_sim_give_truth(engine->sim, input->vehicle, input->kind == SRV_INPUT_HELD ? NULL : &input->external);
    }
}

/*
 * Applies the newest controls of the participant's vehicle, if they are complete and finite. Controls that are being written
 * wait for the next tick.
 */
static void apply_controls(struct srv_engine *engine, struct srv_participant *participant)
{
    const struct oto_mailbox_controls *controls = &participant->mailbox->header->controls;
    struct srv_participant_input input = {.tick = engine->sim->tick,
                                          .participant = participant->index,
                                          .vehicle = participant->config->controlled - 1,
                                          .kind = SRV_INPUT_CONTROLS};
    const uint64_t lock = __atomic_load_n(&controls->lock, __ATOMIC_ACQUIRE);
    if (lock == participant->controls_seen || lock % 2 != 0) {
        return;
    }
    oto_words_load(input.controls, controls->values, sizeof input.controls);
    OTO_FENCE_(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&controls->lock, OTO_ORDER_LOAD_) != lock) {
        return;
    }
    participant->controls_seen = lock;
    if (srv_controls_are_finite(input.controls)) {
        srv_participant_apply(engine, &input);
    } else {
        srv_count(engine->sim, OTO_COUNTER_PARTICIPANT_REFUSED, 1);
        say_seldom(engine, participant, "its controls were refused: a value is not finite");
    }
}

static void apply(struct srv_engine *engine)
{
    for (uint32_t p = 0; p < engine->participants.count; p++) {
        struct srv_participant *participant = &engine->participants.list[p];
        for (uint32_t i = 0; participant->ready && i < participant->config->vehicle_count; i++) {
            srv_participant_apply(engine, &participant->inputs[i]);
        }
        participant->ready = false;
        participant->asked_ns = 0;
        if (participant->config->controlled != 0 && participant->mailbox != NULL && !participant->dropped) {
            apply_controls(engine, participant);
        }
    }
}

static void hold(struct srv_engine *engine, struct srv_participant *participant)
{
    for (uint32_t i = 0; i < participant->config->vehicle_count; i++) {
        participant->inputs[i] = (struct srv_participant_input){.tick = engine->sim->tick,
                                                                .participant = participant->index,
                                                                .vehicle = participant->vehicles[i],
                                                                .kind = SRV_INPUT_HELD};
    }
    participant->fresh = true;
    participant->ready = true;
}

/* Copies one vehicle's record from the mailbox and checks the copy, so that later writes to the mailbox have no effect. */
static const char *take_record(struct srv_engine *engine, struct srv_participant *participant,
                               const struct oto_mailbox_record *shared, uint64_t tick, uint32_t i)
{
    struct oto_mailbox_record record;
    struct srv_participant_input *input = &participant->inputs[i];
    const struct srv_vehicle *vehicle = &engine->sim->vehicles[participant->vehicles[i]];
    oto_words_load(&record, shared, sizeof record);
    const bool goes_on = participant->fresh ? (record.flags & OTO_TRUTH_CONTINUES) != 0
                                            : (record.flags & OTO_TRUTH_JUMPS) == 0;
    const double ticks = (double)(tick - participant->from);
    const struct srv_answer_frame frame = {
        .tick = tick,
        .span_s = ticks * (double)engine->config->clock.rate_den / (double)engine->config->clock.rate_num,
        .before = goes_on ? &vehicle->truth : NULL};
    const char *wrong = srv_answer_check(&frame, &record);
    *input = (struct srv_participant_input){.tick = engine->sim->tick,
                                            .participant = participant->index,
                                            .vehicle = participant->vehicles[i],
                                            .external = {.from_tick = participant->from,
                                                         .to_tick = tick,
                                                         .flags = record.flags & OTO_TRUTH_HAS_FLAGS,
                                                         .alone = goes_on ? 0 : 1,
                                                         .truth = record.truth}};
    return wrong;
}

/* Returns NULL if the answer is accepted, else the reason of the refusal. */
const char *srv_participant_take_answer(struct srv_engine *engine, struct srv_participant *participant)
{
    const struct srv_mailbox *mailbox = participant->mailbox;
    const struct oto_mailbox_answer *answer = &mailbox->header->answer;
    const uint64_t tick = __atomic_load_n(&answer->tick, __ATOMIC_RELAXED);
    const uint64_t bytes = __atomic_load_n(&answer->bytes, __ATOMIC_RELAXED);
    if (tick <= participant->from || tick > participant->until) {
        return "the answer's tick is not one of those that were granted";
    }
    if (bytes != mailbox->vehicle_count * (uint64_t)sizeof(struct oto_mailbox_record)) {
        return "the answer's size is not that of its vehicles' records";
    }
    const struct oto_mailbox_record *records =
        oto_mailbox_records(mailbox->header, mailbox->output_offset, mailbox->vehicle_count, participant->lock);
    for (uint32_t i = 0; i < mailbox->vehicle_count; i++) {
        const char *wrong = take_record(engine, participant, &records[i], tick, i);
        if (wrong != NULL) {
            return wrong;
        }
    }
    participant->reach = tick;
    participant->ready = true;
    participant->lagging = false;
    participant->fresh = false;
    return NULL;
}

/* ---- policies ---- */

static void drop(struct srv_engine *engine, struct srv_participant *participant, const char *why)
{
    participant->dropped = true;
    srv_participant_tell(participant, OTO_MAILBOX_DROPPED);
    srv_participant_say(engine, participant, 1, why);
    hold(engine, participant);
}

/* An answer is late or refused: applies the timeout policy to the next tick. Policy `wait` continues to wait. */
static void go_on_without(struct srv_engine *engine, struct srv_participant *participant, const char *why)
{
    switch (participant->mailbox->on_timeout) {
    case OTO_TIMEOUT_HOLD:
        hold(engine, participant);
        say_seldom(engine, participant, why);
        break;
    case OTO_TIMEOUT_DROP:
        drop(engine, participant, why);
        break;
    case OTO_TIMEOUT_FAULT:
        fault(engine, participant, why);
        break;
    case OTO_TIMEOUT_WAIT:
        say_seldom(engine, participant, why);
        if (engine->now_ns - participant->asked_ns >= participant->config->wait_limit_ns) {
            fault(engine, participant, "gave no good answer within the wait limit; the run stops");
        }
        break;
    }
}

/* The wait for a participant begins at the first check that finds no valid answer for the next tick. */
static void begin_waiting(struct srv_engine *engine, struct srv_participant *participant)
{
    engine->now_ns = srv_now_ns();
    if (participant->asked_ns == 0) {
        participant->asked_ns = engine->now_ns;
    }
}

static void refuse(struct srv_engine *engine, struct srv_participant *participant, const char *why)
{
    struct oto_mailbox_notice *notice = &participant->mailbox->header->notice;
    char sentence[152];
    struct srv_text words = srv_text_begin(sentence, sizeof sentence);
    srv_text_add(&words, "an answer was refused: ");
    srv_text_add(&words, why);
    begin_waiting(engine, participant);
    participant->refused++;
    srv_count(engine->sim, OTO_COUNTER_PARTICIPANT_REFUSED, 1);
    memcpy(notice->text, sentence, sizeof sentence);
    __atomic_store_n(&notice->tick, engine->sim->tick, __ATOMIC_RELAXED);
    __atomic_store_n(&notice->refused, participant->refused, __ATOMIC_RELEASE);
    go_on_without(engine, participant, sentence);
    if (!participant->ready && !engine->faulted) {
        srv_participant_grant(engine, participant); /* the participant may answer again, within the same timeout */
    }
}

static bool is_late(struct srv_engine *engine, struct srv_participant *participant)
{
    const struct srv_mailbox *mailbox = participant->mailbox;
    begin_waiting(engine, participant);
    const uint64_t seen = __atomic_load_n(&mailbox->header->answer.grant, __ATOMIC_RELAXED);
    if (participant->lagging && seen != participant->seen) {
        participant->lagging = false;
    }
    participant->seen = seen;
    return participant->lagging || engine->now_ns - participant->asked_ns >= mailbox->timeout_ns;
}

static void count_late(struct srv_engine *engine, struct srv_participant *participant)
{
    participant->late++;
    srv_count(engine->sim, OTO_COUNTER_PARTICIPANT_LATE, 1);
    __atomic_store_n(&participant->mailbox->header->notice.late, participant->late, __ATOMIC_RELAXED);
}

static void look_at_late(struct srv_engine *engine, struct srv_participant *participant)
{
    const int64_t waited_ns = engine->now_ns - participant->asked_ns;
    if (participant->lagging) {
        hold(engine, participant);
    } else if (participant->mailbox->on_timeout != OTO_TIMEOUT_WAIT) {
        count_late(engine, participant);
        participant->lagging = true;
        go_on_without(engine, participant, "did not answer in time");
    } else if (waited_ns >= participant->config->wait_limit_ns) {
        fault(engine, participant, "did not answer within the wait limit; the run stops");
    } else if (!participant->told) {
        participant->told = true;
        count_late(engine, participant);
        srv_participant_say(engine, participant, 1, "did not answer in time; the world waits");
    }
}

static void look_at_absent(struct srv_engine *engine, struct srv_participant *participant)
{
    const enum oto_timeout_policy policy = participant->config->on_timeout;
    const bool waits = policy == OTO_TIMEOUT_WAIT || (policy == OTO_TIMEOUT_FAULT && !participant->has_been);
    begin_waiting(engine, participant);
    if (participant->dropped || policy == OTO_TIMEOUT_HOLD || policy == OTO_TIMEOUT_DROP) {
        hold(engine, participant);
    } else if (!waits) {
        fault(engine, participant, "left; the run stops");
    } else if (participant->has_been && engine->now_ns - participant->asked_ns >= participant->config->wait_limit_ns) {
        fault(engine, participant, "left and did not come back within the wait limit; the run stops");
    } else if (!participant->told) {
        participant->told = true;
        srv_participant_say(engine, participant, 0, participant->has_been ? "left; the world waits for it to come back"
                                                          : "has not joined yet; the world waits for it");
    }
}

/* Tries to get the participant's inputs for the next tick: from its answer, or by its timeout policy. */
static void look(struct srv_engine *engine, struct srv_participant *participant)
{
    const bool absent = participant->mailbox == NULL || participant->dropped;
    if (!absent && participant->from != engine->sim->tick) {
        srv_participant_grant(engine, participant); /* a restore has changed the tick: a new grant for this tick */
    }
    if (absent) {
        look_at_absent(engine, participant);
    } else if (srv_participant_has_answered(participant)) {
        participant->told = false;
        const char *wrong = srv_participant_take_answer(engine, participant);
        if (wrong != NULL) {
            refuse(engine, participant, wrong);
        }
    } else if (is_late(engine, participant)) {
        look_at_late(engine, participant);
    }
}

static int64_t wait_timeout_ns(const struct srv_participant *participant)
{
    const bool for_ever = participant->mailbox == NULL && !participant->has_been;
    const bool waits = participant->mailbox == NULL || participant->told;
    return for_ever ? FOR_EVER
                    : participant->asked_ns + (waits ? participant->config->wait_limit_ns
                                                     : participant->mailbox->timeout_ns);
}

bool srv_participant_is_needed(const struct srv_engine *engine, const struct srv_participant *participant)
{
    return participant->is_waited_for && !participant->ready && !srv_participant_covers(participant, engine->sim->tick);
}

static bool clear(struct srv_engine *engine)
{
    struct srv_participant *waiting = NULL;
    for (uint32_t p = 0; p < engine->participants.count && !engine->faulted; p++) {
        struct srv_participant *participant = &engine->participants.list[p];
        if (srv_participant_is_needed(engine, participant)) {
            look(engine, participant);
            waiting = participant->ready || waiting != NULL ? waiting : participant;
        }
    }
    if (waiting != NULL && !engine->faulted) {
        engine->anchored =
            engine->anchored && waiting->mailbox != NULL; /* the wait for an absent participant makes no tick late */
        srv_participant_sleep(engine, waiting, wait_timeout_ns(waiting));
    }
    return waiting == NULL && !engine->faulted;
}

/* ---- modes ---- */

static const char *refuse_mode(const struct srv_engine *engine, enum oto_clock_mode mode)
{
    bool waited_for = false;
    for (uint32_t p = 0; p < engine->participants.count; p++) {
        waited_for = waited_for || engine->participants.list[p].is_waited_for;
    }
    if (mode == OTO_MODE_LOCKSTEP && !waited_for) {
        return "mode lockstep needs a participant, and the world has none";
    }
    return mode == OTO_MODE_EXTERNAL && engine->participants.master == NULL
               ? "mode external needs a clock.master, and the world has none"
               : NULL;
}

const struct srv_input_source srv_inputs_of_participants = {
    srv_master_allows, srv_master_wait, clear, apply, srv_participants_grant, refuse_mode, srv_participant_join};
