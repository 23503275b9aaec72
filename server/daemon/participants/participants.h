/*
 * Participants: other processes that give vehicles their truth or keep step with the ticks, through their mailboxes.
 * A tick is made only when each that it waits for has answered for it, or its timeout policy says how it goes on. What
 * an answer said is copied once, checked, and applied at the start of the tick in the order of the participants, so that
 * results depend on what was answered and not on when. [tick], except begin and finish.
 */
#ifndef SRV_WORLD_PARTICIPANTS_H
#define SRV_WORLD_PARTICIPANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/external.h"
#include "daemon/participants/mailbox.h"

struct srv_engine;

enum srv_participant_input_kind {
    SRV_INPUT_TRUTH = 0, /* external */
    SRV_INPUT_HELD,      /* there is no truth for this tick */
    SRV_INPUT_CONTROLS   /* controls */
};

/* What one vehicle gets at the start of a tick: all that a participant can do to the state. */
struct srv_participant_input {
    uint64_t tick;        /* at whose start it is applied */
    uint32_t participant; /* number in the world */
    uint32_t vehicle;     /* index */
    uint32_t kind;        /* enum srv_participant_input_kind */
    uint32_t reserved;
    union {
        struct srv_external_input external;
        double controls[OTO_CONTROLS];
    };
};

struct srv_participant {
    const struct srv_participant_config *config;
    uint32_t index;
    uint32_t *vehicles; /* indices of those it owns */
    struct srv_participant_input *inputs; /* for the tick to come, one a vehicle */
    bool is_waited_for, is_master;
    struct srv_mailbox *mailbox; /* NULL: absent */
    bool dropped;                /* the mailbox is no longer read */
    bool has_been; /* joined before */
    bool lagging;  /* was late: it is not waited for until it shows life */
    bool fresh;    /* nothing was accepted since it joined or was last held */
    bool told;     /* that the world waits for it */
    bool ready;    /* inputs of the next tick are ready */
    uint64_t reach; /* its inputs hold for the ticks before this */
    uint64_t lock, from, until; /* of the grant */
    uint64_t seen;              /* the last grant that it answered */
    uint64_t controls_seen;     /* lock of the controls that were applied last */
    uint64_t refused, late;
    int64_t asked_ns;  /* since when the tick to come has waited for it; 0: it has not */
    int64_t said_ns;   /* last event of a timeout or refusal */
};

/* Whether its answer covers the tick after `tick`. */
static inline bool srv_participant_covers(const struct srv_participant *participant, uint64_t tick)
{
    return participant->from <= tick && tick < participant->reach;
}

struct srv_participants {
    struct srv_participant *list;
    uint32_t count;
    struct srv_participant *master;
    uint64_t run_until; /* ticks that the master lets be completed */
    uint32_t *sleeping_on; /* the futex word that the tick thread waits on; read by the main thread */
};

/* [loop] From the world's configuration; finish also closes the mailboxes that are still open. */
enum oto_status srv_participants_begin(struct srv_engine *engine, struct oto_error *error);
void srv_participants_finish(struct srv_engine *engine);

/* Whether the tick to come may be made; else waits a while for an answer or a command. */
bool srv_participants_clear(struct srv_engine *engine);
/* At the start of a tick. */
void srv_participants_apply(struct srv_engine *engine);
/* The one place where a participant's input changes the state. */
void srv_participant_apply(struct srv_engine *engine, const struct srv_participant_input *input);
/* At a boundary: asks for the next truths, and tells the master how far it is. */
void srv_participants_grant(struct srv_engine *engine);
/* Writes the end or the fault of the run into the mailboxes. */
void srv_participants_close(struct srv_engine *engine);

/* Mode external: whether the master lets another tick be made, and waiting until it does. */
bool srv_master_allows(struct srv_engine *engine);
void srv_master_wait(struct srv_engine *engine);

/* ---- commands; the reason of a refusal, or NULL ---- */

const char *srv_participant_join(struct srv_engine *engine, struct srv_mailbox *mailbox);
void srv_participant_leave(struct srv_engine *engine, struct srv_mailbox *mailbox);
/* Whether mode lockstep, or mode external, has somebody to follow. */
bool srv_participants_any_waited_for(const struct srv_engine *engine);

/* [loop] Ends the tick thread's sleep in a mailbox, as srv_waiter_wake ends the others. */
void srv_participants_wake(struct srv_engine *engine);

/* ---- between participants.c, participant_life.c and participant_wait.c ---- */

/* An event with its name as the source. */
void srv_participant_say(struct srv_engine *engine, const struct srv_participant *participant, uint32_t severity,
                         const char *text);
/* Whether the tick to come wants something of it that it does not have yet. */
bool srv_participant_is_needed(const struct srv_engine *engine, const struct srv_participant *participant);
/* Copies and checks the answer in its mailbox. NULL: taken; else the reason of the refusal. */
const char *srv_participant_take_answer(struct srv_engine *engine, struct srv_participant *participant);

void srv_participant_grant(struct srv_engine *engine, struct srv_participant *participant);
/* Whether its mailbox has the answer to the newest grant. */
bool srv_participant_has_answered(const struct srv_participant *participant);
/* Sleeps until it answers, a command comes, or until_ns. */
void srv_participant_sleep(struct srv_engine *engine, const struct srv_participant *participant, int64_t until_ns);
/* Publishes a new state of the mailbox and wakes its waiters. */
void srv_participant_tell(struct srv_participant *participant, enum oto_mailbox_state state);

#endif
