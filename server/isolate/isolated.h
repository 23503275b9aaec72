/*
 * Nodes that run in a plugin host (A17). A group is the nodes of one host: one request a tick for all that are due,
 * published at their places in the order of nodes. In mode sync a tick waits for the answer, up to the group's budget;
 * in mode async the samples of tick k are published in tick k+1, always. A group is of one kind, since kinds have their
 * turns one after the other. Estimators that listen to others before them are asked when those have been published.
 *
 * The tick thread writes requests and takes answers; the keeper's thread watches the processes, tells of their deaths
 * and starts new ones, from the last good states, which are the nodes' own (node->instance.state).
 */
#ifndef SRV_WORLD_ISOLATED_H
#define SRV_WORLD_ISOLATED_H

#include <pthread.h>

#include "isolate/box.h"
#include "isolate/isolation.h"
#include "sim/sim.h"
#include "base/queue.h"

#define SRV_GROUP_MAX 64u
#define SRV_GROUP_NAME_BYTES 96
#define SRV_GROUP_BUDGET_NS INT64_C(20000000) /* of a paced tick, where the world gives none */
#define SRV_GROUP_STUCK_NS INT64_C(500000000) /* without an answer for so long, a host is ended */
#define SRV_CRASHES_ALLOWED 3u                /* within SRV_CRASH_WINDOW_NS; with the last the node is quarantined */
#define SRV_CRASH_WINDOW_NS INT64_C(60000000000)

struct srv_group;
struct srv_keeper;
struct srv_pair_side; /* sim/swap_private.h */

/* All plugin hosts of a world. The shell makes it and sets the members that it names. */
struct srv_isolation {
    struct srv_sim *sim;
    struct srv_group *groups;
    uint32_t group_count;
    struct srv_keeper *keeper; /* NULL: no groups */
    /* the shell's */
    bool paced;    /* a tick waits for a host only for its budget */
    uint32_t quit; /* atomic: ends every wait */
    struct srv_isolation_hooks hooks;
};

struct srv_member {
    struct srv_node *node;
    struct srv_vehicle *vehicle;
    struct srv_group *group;
    uint32_t slot;
    uint32_t ready_at; /* an estimator: after so many of the world's, in their order, all that it listens to has been said */
    /* tick thread */
    uint64_t *after; /* an estimator's cursors, once the step that was asked for has become part of its state */
    struct srv_truths *truths; /* a motion's, else NULL */
    struct srv_sample now;
    struct srv_sample before; /* mode async: of the tick before */
    bool in_request;
    uint32_t has_last; /* bit i: port i has published */
    unsigned char *last; /* the last payloads, as node->payloads */
    /* keeper */
    int64_t crash_ns[SRV_CRASHES_ALLOWED];
    uint32_t crashes;
    bool off;
    /* keeper to tick thread */
    uint32_t condemned;
};

/* The conversation with one host. [tick] */
struct srv_talk {
    struct srv_box *box; /* NULL: there is none */
    uint32_t request, answered; /* newest numbers of the mailbox's words */
    uint32_t answers_left;
    bool open;        /* a request is without an answer */
    int64_t since_ns; /* when it was made */
};

struct srv_group {
    char name[SRV_GROUP_NAME_BYTES];
    struct srv_isolation *isolation;
    enum srv_turn turn;
    bool async;
    int64_t budget_ns;
    int32_t fifo_priority; /* of its hosts, one below that of the tick thread */
    uint32_t member_count;
    struct srv_member *members;
    /* tick thread */
    struct srv_talk live;
    uint64_t revision; /* of the parameters; counts changes */
    bool waiting;      /* this tick has not waited for the open request yet */
    bool told_late;
    struct srv_talk trial;     /* with the host of a swap's candidate; of one member at a time */
    struct srv_member *tried;  /* whose swap it is; NULL: none */
    struct srv_sample trial_now, trial_before; /* as a member's, of the candidate */
    /* between the threads */
    struct srv_box *next;       /* keeper to tick thread */
    struct srv_box *adopted;    /* tick thread to keeper: a change brought it */
    struct srv_box *candidate;  /* tick thread to keeper: the host of `trial`, whose end it should see */
    struct srv_queue released;  /* boxes, tick thread to keeper */
    uint32_t kill_wanted;       /* tick thread to keeper */
    /* keeper and loader, under the lock: how the next host is made */
    pthread_mutex_t lock;
    struct srv_box_seat *seats; /* own their parameters and hold their plugins */
    uint64_t seats_revision;
    /* keeper */
    struct srv_box *watched; /* the newest that it knows of */
    int64_t restart_ns;      /* when to start another; 0: not planned */
    int64_t started_ns, pause_ns;
    /* for those who look: relaxed */
    uint64_t restarts, stale;
    int32_t pid;
    uint32_t landlock; /* of the first host: those that follow it are under the same */
};

/* ---- isolated_talk.c: [tick] ---- */

/* Makes what stands in the slots a request to step so many instances, and wakes the host. */
void srv_talk_ask(struct srv_talk *talk, uint32_t instances);
/* Waits for the answer to the open request; false when the budget or the host is at its end. */
bool srv_talk_await(struct srv_sim *sim, struct srv_group *group, struct srv_talk *talk, int64_t budget_ns);

/* ---- isolated.c: [tick] ---- */

/* Before a tick: answers of async groups, and of late ones. */
void srv_groups_collect(struct srv_sim *sim);
/* The turn has come: one request for each of its groups with nodes that are due. */
void srv_groups_request(struct srv_sim *sim, enum srv_turn turn, uint64_t tick);
/* An estimator is due and was not asked, since it listens to others before it: now `said` of them have been published. */
void srv_member_request(struct srv_sim *sim, struct srv_member *member, uint64_t tick, uint32_t said);
/* Takes another host as the live one and gives it the states. */
void srv_group_adopt(struct srv_group *group, struct srv_talk talk);
/* Gives a box to the keeper, who ends it. NULL is allowed. */
void srv_group_release(struct srv_group *group, struct srv_box *box);
/* How long a tick waits for an answer. */
int64_t srv_group_patience_ns(const struct srv_sim *sim, const struct srv_group *group);
/* Writes into the slot of a host what the sample of this tick is exposed to or given; returns the flags of its truth. */
uint32_t srv_member_expose(struct srv_sim *sim, const struct srv_member *member, const struct srv_pair_side *runner,
                           const struct srv_box *box, uint64_t tick);
/*
 * What a host answered, copied once: what is looked at afterwards is the copy. Without a sample the state alone. What an
 * estimator was given is in its state from now on.
 */
void srv_member_copy(const struct srv_box *box, const struct srv_member *member, const struct srv_pair_side *runner,
                     struct srv_sample *sample);
/* The nodes' states, to the live box. */
void srv_group_give_states(struct srv_group *group);
/* What the group was asked is answered, or late; waits if nobody has yet. */
void srv_group_settle(struct srv_sim *sim, struct srv_group *group);

/* Without a pace, until the deadline: waits for a host that lives. */
bool srv_group_revive(struct srv_sim *sim, struct srv_group *group, int64_t deadline_ns);
/* Whether a tick gives a host its budget, not what it takes. */
bool srv_group_is_paced(const struct srv_sim *sim);
/* A request was not answered: says so, once in a row, and has a host ended that has said nothing for too long. */
void srv_group_note_silence(struct srv_sim *sim, struct srv_group *group);

/* ---- isolated_motion.c: [tick] ---- */

/* Room for its truths. [loop] */
enum oto_status srv_member_make_truths(struct srv_member *member, struct oto_error *error);
/* What stands in the slot is then: the steps up to the end of this tick, and the truths that its sensors will ask for. */
void srv_member_ask_motion(struct srv_sim *sim, struct srv_member *member, const struct srv_box *box);
/* The steps have been made: with `in_time`, the truths are those of this tick. */
void srv_member_take_motion(struct srv_member *member, const struct srv_box *box, bool in_time);
/* The truth at time zero, which came with the first state. [loop] */
void srv_member_take_zero(struct srv_member *member, const struct srv_box *box);
/* The vehicle's turn. False: its host has not moved it; *said is what its step said. */
bool srv_member_move(struct srv_sim *sim, struct srv_member *member, uint32_t *said);
/* A sensor has looked back: so long before a sample it will want the truth again. */
void srv_member_note_past(struct srv_member *member, const struct srv_node *sensor, double lag_ns);
/* As the motion's `evaluate`. False: nobody answered. */
bool srv_member_evaluate(struct srv_sim *sim, struct srv_member *member, struct oto_instant at,
                         struct oto_truth_record *truth, enum oto_step_status *status);

/* ---- isolated_take.c: [tick] ---- */

/* At the node's place in the order. */
void srv_member_take(struct srv_sim *sim, struct srv_member *member, uint64_t tick);
/* What was published may be repeated; and is, for a sample that was not made. */
void srv_member_keep_last(struct srv_member *member);
void srv_member_repeat(struct srv_sim *sim, struct srv_member *member, const struct srv_sample *sample);

/* ---- isolated_change.c ---- */

struct srv_change;
struct srv_change_base;
struct srv_node_change;
/* [loop] A changed parameter, with a host that has it. */
enum oto_status srv_member_make_parameter(struct srv_member *member, const struct srv_change_base *base, const char *key,
                                          const char *yaml, struct srv_node_change **change, struct oto_error *error);
/* [loop] A candidate's host, with the others of the group as they are; room for its last records. */
enum oto_status srv_member_make_candidate(struct srv_member *member, const struct srv_change_base *base,
                                          struct srv_change *change, struct oto_error *error);
/* [tick] As srv_change_apply. */
enum oto_status srv_member_apply(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                 const char **reason);

/* ---- isolated_swap.c: [tick] ---- */

/* NULL: the swap may begin now, and srv_member_take_over follows. Else what is in its way. */
const char *srv_member_swap_conflict(const struct srv_member *member, struct srv_change *change);
/* As srv_change_take_state, in the candidate's host; afterwards it is asked for each sample. */
enum oto_status srv_member_take_over(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                     const char **reason);
/* Node and change have exchanged their plugins. */
void srv_member_flip(struct srv_member *member, struct srv_change *change);
/* Before a trial ends with the candidate: both plugins' answers that are still to come; how far the candidate has heard. */
void srv_member_settle(struct srv_sim *sim, struct srv_member *member, const struct srv_change *change);
/* Once it is over: the candidate's host becomes that of the group; or is let go. Nothing happens where there is none. */
void srv_member_keep_candidate(struct srv_sim *sim, struct srv_member *member);
void srv_member_drop_candidate(struct srv_member *member);
/* With the group's requests and where their answers are taken; `said` as of srv_member_request. */
void srv_group_ask_candidate(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t said);
void srv_group_settle_candidate(struct srv_sim *sim, struct srv_group *group);
/* Whether the plugins of a node that is due have been asked in this tick, as far as they are to be asked. */
bool srv_member_was_asked(const struct srv_member *member);
/* Why the candidate gave no answer; static text. */
const char *srv_member_silence(const struct srv_member *member);
/* The sample that is at its place now: of the candidate, or of the plugin that runs with the others of the group. */
const struct srv_sample *srv_member_answer(const struct srv_member *member, bool candidate);

/* ---- groups.c: [loop] ---- */

/* Makes the groups that the nodes name, starts their hosts and takes the first states from them. */
enum oto_status srv_groups_make(struct srv_sim *sim, oto_warn_function warn, void *warn_context,
                                struct oto_error *error);
void srv_groups_drop(struct srv_sim *sim); /* after the keeper has ended */
/* Room for the last payloads of ports; NULL when out of memory. */
void *srv_member_make_last(const struct srv_port *ports, uint32_t port_count);
/* [keeper] Plugins and parameters that the next host of the group begins with. The lock is held. */
enum oto_status srv_group_take_seats(struct srv_group *group, const struct srv_box *box, struct oto_error *error);

/* ---- keeper.c ---- */

/* [loop] Nothing happens without groups. */
enum oto_status srv_keeper_start(struct srv_sim *sim, oto_warn_function warn, void *warn_context,
                                 struct oto_error *error);
void srv_keeper_stop(struct srv_sim *sim);
/* [any] The keeper has something to do. */
void srv_keeper_wake(struct srv_sim *sim);
/* [tick] Writes its events. */
void srv_keeper_news(struct srv_sim *sim);

#endif
