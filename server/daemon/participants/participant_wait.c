/* Grants and waking, the tick thread's sleep in a mailbox, and the clock's master. */
#include "base/futex.h"
#include "daemon/thread/engine_private.h"
#include "daemon/participants/participants.h"

#define SPIN_NS 30000
#define SPIN_LOOKS 32 /* checks of the mailbox between two readings of the clock */
/* Longest sleep: if a participant dies after its answer and before its wake, the tick thread finds the answer after this. */
#define SLEEP_MAX_NS INT64_C(100000000)

/* Changes the grant's futex word and wakes its waiters; a thread that is about to wait returns at once. */
static void ring_bell(struct srv_mailbox *mailbox)
{
    (void)__atomic_add_fetch(&mailbox->header->grant.futex, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&mailbox->header->participant_waits, __ATOMIC_SEQ_CST) != 0) {
        srv_futex_wake(&mailbox->header->grant.futex);
    }
}

/* ---- grants ---- */

void srv_participant_grant(struct srv_engine *engine, struct srv_participant *participant)
{
    struct srv_mailbox *mailbox = participant->mailbox;
    struct oto_mailbox_grant *grant = &mailbox->header->grant;
    const uint64_t lock = participant->lock + 2;
    const uint64_t until = engine->sim->tick + mailbox->step_n;
    int64_t until_ns = engine->sim->schedule.t_ns + engine->sim->schedule.step_ns;
    if (mailbox->step_n > 1) {
        until_ns = srv_instant_ns(until, engine->config->clock.rate_num, engine->config->clock.rate_den, NULL);
    } else if (engine->sim->schedule.rest + engine->sim->schedule.step_rest >= engine->sim->schedule.num) {
        until_ns++;
    }
    __atomic_store_n(&grant->lock, lock - 1, __ATOMIC_RELAXED);
    OTO_FENCE_(__ATOMIC_RELEASE);
    for (uint32_t i = 0; i < mailbox->vehicle_count; i++) {
        oto_words_store(&mailbox->vehicles[i].truth, &engine->sim->vehicles[participant->vehicles[i]].truth,
                        sizeof(struct oto_truth_record));
    }
    __atomic_store_n(&grant->tick, engine->sim->tick, OTO_ORDER_STORE_);
    __atomic_store_n(&grant->until, until, OTO_ORDER_STORE_);
    __atomic_store_n(&grant->t_ns, engine->sim->schedule.t_ns, OTO_ORDER_STORE_);
    __atomic_store_n(&grant->until_ns, until_ns, OTO_ORDER_STORE_);
    __atomic_store_n(&grant->lock, lock, __ATOMIC_RELEASE);
    participant->lock = lock;
    participant->from = engine->sim->tick;
    participant->until = until;
    ring_bell(mailbox);
}

static void tell_master(struct srv_engine *engine)
{
    struct srv_participant *master = engine->participants.master;
    if (master == NULL || master->mailbox == NULL) {
        return;
    }
    __atomic_store_n(&master->mailbox->header->grant.completed, engine->sim->tick, __ATOMIC_RELEASE);
    if (engine->sim->tick == engine->participants.run_until) {
        ring_bell(master->mailbox);
    }
}

void srv_participants_grant(struct srv_engine *engine)
{
    tell_master(engine);
    for (uint32_t p = 0; p < engine->participants.count; p++) {
        struct srv_participant *participant = &engine->participants.list[p];
        if (participant->mailbox != NULL && !participant->dropped && participant->is_waited_for &&
            !srv_participant_covers(participant, engine->sim->tick)) {
            srv_participant_grant(engine, participant);
        }
    }
}

void srv_participant_tell(struct srv_participant *participant, enum oto_mailbox_state state)
{
    if (participant->mailbox != NULL) {
        __atomic_store_n(&participant->mailbox->header->grant.state, (uint32_t)state, __ATOMIC_RELEASE);
        ring_bell(participant->mailbox);
    }
}

void srv_participants_close(struct srv_engine *engine)
{
    for (uint32_t p = 0; p < engine->participants.count; p++) {
        srv_participant_tell(&engine->participants.list[p], OTO_MAILBOX_CLOSED);
    }
}

/* ---- sleeping ---- */

bool srv_participant_has_answered(const struct srv_participant *participant)
{
    return __atomic_load_n(&participant->mailbox->header->answer.grant, __ATOMIC_ACQUIRE) == participant->lock;
}

static bool master_has_granted(const struct srv_participant *master, uint64_t known)
{
    return __atomic_load_n(&master->mailbox->header->answer.run_until, __ATOMIC_ACQUIRE) != known;
}

static bool is_called(const struct srv_engine *engine)
{
    return !srv_queue_is_empty(&engine->commands) || __atomic_load_n(&engine->quit, __ATOMIC_RELAXED) != 0;
}

/* A sleep of the tick thread and the answer or grant that it waits for. */
struct sleep {
    struct srv_engine *engine;
    const struct srv_participant *participant;
    bool for_run;   /* true: waits for the master's grant; false: for the participant's answer */
    uint64_t known; /* the master's last known grant (run_until) */
};

static bool is_over(const struct sleep *sleep)
{
    return sleep->for_run ? master_has_granted(sleep->participant, sleep->known)
                          : srv_participant_has_answered(sleep->participant);
}

/*
 * Spins for SPIN_NS. True: the wait is over, or a command arrived. Most answers arrive within this time, and a sleep would
 * cost two system calls and a context switch.
 */
static bool spin(const struct sleep *sleep)
{
    const int64_t end_ns = srv_now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < SPIN_LOOKS; i++) {
            if (is_over(sleep)) {
                return true;
            }
            srv_pause();
        }
        if (is_called(sleep->engine)) {
            return true;
        }
    } while (srv_now_ns() < end_ns);
    return false;
}

static void sleep_until(const struct sleep *sleep, int64_t until_ns)
{
    struct srv_engine *engine = sleep->engine;
    struct oto_mailbox_header *header = sleep->participant->mailbox->header;
    uint32_t *word = &header->answer.futex;
    if (engine->wake_pending) {
        srv_wake_readers(engine);
    }
    const uint32_t seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    __atomic_store_n(&header->server_waits, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&engine->participants.sleeping_on, word, __ATOMIC_SEQ_CST);
    const int64_t left_ns = until_ns - srv_now_ns();
    if (left_ns > 0 && !is_over(sleep) && !is_called(engine)) {
        srv_futex_wait(word, seen, left_ns < SLEEP_MAX_NS ? left_ns : SLEEP_MAX_NS);
    }
    __atomic_store_n(&engine->participants.sleeping_on, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&header->server_waits, 0, __ATOMIC_RELAXED);
}

/* Without a participant the tick thread sleeps until a command; a join is a command. */
static void sleep_without_mailbox(struct srv_engine *engine, int64_t until_ns)
{
    if (engine->wake_pending) {
        srv_wake_readers(engine);
    }
    if (!is_called(engine)) {
        srv_waiter_wait(&engine->waiter, until_ns == INT64_MAX ? SRV_WAIT_FOR_EVER : until_ns);
    }
}

void srv_participant_sleep(struct srv_engine *engine, const struct srv_participant *participant, int64_t until_ns)
{
    const struct sleep sleep = {.engine = engine, .participant = participant};
    if (participant->mailbox == NULL || participant->dropped) {
        sleep_without_mailbox(engine, until_ns);
    } else if (!spin(&sleep)) {
        sleep_until(&sleep, until_ns);
    }
}

void srv_participants_wake(struct srv_engine *engine)
{
    uint32_t *word = __atomic_load_n(&engine->participants.sleeping_on, __ATOMIC_SEQ_CST);
    if (word != NULL) {
        (void)__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
        srv_futex_wake(word);
    }
}

/* ---- the clock's master ---- */

/* In mode external the master grants ticks, except the ticks of a `step`. */
bool srv_master_allows(struct srv_engine *engine)
{
    struct srv_participants *participants = &engine->participants;
    const struct srv_participant *master = participants->master;
    if (engine->mode != OTO_MODE_EXTERNAL || engine->steps_left > 0 || engine->sim->tick < participants->run_until) {
        return true;
    }
    if (master == NULL || master->mailbox == NULL || master->dropped) {
        return false;
    }
    const uint64_t asked = __atomic_load_n(&master->mailbox->header->answer.run_until, __ATOMIC_ACQUIRE);
    if (asked > engine->sim->tick && asked - engine->sim->tick <= OTO_MAILBOX_MAX_RUN_TICKS) {
        participants->run_until = asked;
    }
    return engine->sim->tick < participants->run_until;
}

void srv_master_wait(struct srv_engine *engine)
{
    const struct srv_participant *master = engine->participants.master;
    if (master == NULL || master->mailbox == NULL || master->dropped) {
        sleep_without_mailbox(engine, INT64_MAX);
        return;
    }
    const uint64_t known = __atomic_load_n(&master->mailbox->header->answer.run_until, __ATOMIC_RELAXED);
    const struct sleep sleep = {.engine = engine, .participant = master, .for_run = true, .known = known};
    if (!srv_master_allows(engine) && !spin(&sleep)) {
        sleep_until(&sleep, INT64_MAX);
    }
}
