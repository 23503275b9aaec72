/*
 * Participants: other processes that give vehicles their truth or keep step with the ticks, through their mailboxes.
 * A tick is made only when each participant that it waits for has answered, or the participant's timeout policy replaces the
 * answer. An answer is copied once, checked, and applied at the start of the tick in the order of the participants, so that
 * results depend on the content of the answers and not on their time. [tick], except begin and finish.
 */
#ifndef SRV_WORLD_PARTICIPANTS_H
#define SRV_WORLD_PARTICIPANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/external.h"
#include "daemon/participants/mailbox.h"

struct srv_engine;

enum srv_participant_input_kind {
    SRV_INPUT_TRUTH = 0, /* member `external` holds truth */
    SRV_INPUT_HELD,      /* there is no truth for this tick (policy hold) */
    SRV_INPUT_CONTROLS   /* member `controls` holds controls */
};

/* An input for one vehicle at the start of a tick. A participant changes the state in no other way. */
struct srv_participant_input {
    uint64_t tick;        /* the input is applied at the start of this tick */
    uint32_t participant; /* number in the world */
    uint32_t vehicle;     /* index of the vehicle */
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
    uint32_t *vehicles; /* indices of the vehicles whose truth it gives */
    struct srv_participant_input *inputs; /* for the next tick, one for each vehicle */
    bool is_waited_for, is_master;
    struct srv_mailbox *mailbox; /* NULL: the participant is absent */
    bool dropped;                /* policy `drop` was applied: the mailbox is no longer read */
    bool has_been; /* joined before */
    bool lagging;  /* was late: ticks do not wait for it until it answers a grant again */
    bool fresh;    /* no answer was accepted since it joined or was last held */
    bool told;     /* an event has reported that the world waits for it */
    bool ready;    /* `inputs` are ready for the next tick */
    uint64_t reach; /* its newest answer covers the ticks before this one */
    uint64_t lock, from, until; /* of the newest grant */
    uint64_t seen;              /* number (lock) of the last grant that it answered */
    uint64_t controls_seen;     /* number (lock) of the controls that were applied last */
    uint64_t refused, late;
    int64_t asked_ns;  /* real time since which the next tick has waited for it; 0: it does not wait */
    int64_t said_ns;   /* real time of the last event about a timeout or refusal */
};

/* Whether the participant's newest answer covers tick `tick`. */
static inline bool srv_participant_covers(const struct srv_participant *participant, uint64_t tick)
{
    return participant->from <= tick && tick < participant->reach;
}

struct srv_participants {
    struct srv_participant *list;
    uint32_t count;
    struct srv_participant *master;
    uint64_t run_until; /* number of ticks that the master allows to be completed */
    uint32_t *sleeping_on; /* the futex word that the tick thread waits on; read by the main thread */
};

/* [loop] Makes the participants of the world's configuration; `finish` also closes the mailboxes that are still open. */
enum oto_status srv_participants_begin(struct srv_engine *engine, struct oto_error *error);
void srv_participants_finish(struct srv_engine *engine);

/* Where the inputs of ticks come from: the participants, or the log of an earlier run (thread/journal.c). */
struct srv_input_source {
    /* Whether another tick is allowed: by the master in mode external, by the log that was read so far. */
    bool (*allows)(struct srv_engine *engine);
    void (*wait)(struct srv_engine *engine); /* until a tick is allowed, or a command arrives */
    /* Whether the inputs of the next tick are there; if not, waits for one or for a command, within the timeout. */
    bool (*clear)(struct srv_engine *engine);
    void (*apply)(struct srv_engine *engine); /* applies the inputs at the start of a tick */
    void (*grant)(struct srv_engine *engine); /* after a tick: requests the next inputs, and reports to the master */
    const char *(*refuse_mode)(const struct srv_engine *engine, enum oto_clock_mode mode); /* NULL: it is accepted */
    /* A participant joins; on a refusal *reason is set. */
    enum oto_status (*join)(struct srv_engine *engine, struct srv_mailbox *mailbox, const char **reason);
};
extern const struct srv_input_source srv_inputs_of_participants, srv_inputs_of_log;

/* The one place where a participant's input changes the state. */
void srv_participant_apply(struct srv_engine *engine, const struct srv_participant_input *input);
/* Writes the end of the run into the mailboxes. */
void srv_participants_close(struct srv_engine *engine);
void srv_participant_leave(struct srv_engine *engine, struct srv_mailbox *mailbox); /* a command */

/* [loop] Wakes the tick thread if it sleeps on the futex of a mailbox; srv_waiter_wake ends its other sleeps. */
void srv_participants_wake(struct srv_engine *engine);

/* ---- between participants.c, participant_life.c and participant_wait.c ---- */

enum oto_status srv_participant_join(struct srv_engine *engine, struct srv_mailbox *mailbox, const char **reason);
void srv_participants_grant(struct srv_engine *engine);
bool srv_master_allows(struct srv_engine *engine);
void srv_master_wait(struct srv_engine *engine);

/* Writes an event whose source names the participant. */
void srv_participant_say(struct srv_engine *engine, const struct srv_participant *participant, uint32_t severity,
                         const char *text);
/* Whether the next tick must wait for an answer of the participant. */
bool srv_participant_is_needed(const struct srv_engine *engine, const struct srv_participant *participant);
/* Copies and checks the answer in the participant's mailbox. NULL: accepted; else the reason of the refusal. */
const char *srv_participant_take_answer(struct srv_engine *engine, struct srv_participant *participant);

void srv_participant_grant(struct srv_engine *engine, struct srv_participant *participant);
/* Whether the participant's mailbox holds the answer to the newest grant. */
bool srv_participant_has_answered(const struct srv_participant *participant);
/* Sleeps until the participant answers, a command arrives, or until_ns. May return early. */
void srv_participant_sleep(struct srv_engine *engine, const struct srv_participant *participant, int64_t until_ns);
/* Writes a new state into the participant's mailbox and wakes its waiters. */
void srv_participant_tell(struct srv_participant *participant, enum oto_mailbox_state state);

#endif
