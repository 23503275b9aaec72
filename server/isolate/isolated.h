/*
 * Isolated nodes: nodes that run in a plugin host (A17). A host group is the nodes of one host. The tick thread sends
 * one request a tick for all nodes of the group that are due, and publishes each answer at the node's position in the
 * order of nodes. In mode sync the tick waits for the answer, up to the group's budget. In mode async the samples of
 * tick k are always published in tick k+1. All nodes of a group are of one kind, because the kinds are stepped one
 * after the other. An estimator that reads earlier estimators is requested after these have published.
 *
 * The tick thread writes requests and takes answers. The host supervisor's thread checks the processes, reports their
 * ends and restarts them from the last good states (node->instance.state).
 */
#ifndef SRV_WORLD_ISOLATED_H
#define SRV_WORLD_ISOLATED_H

#include <pthread.h>

#include "isolate/plugin_host.h"
#include "isolate/isolation.h"
#include "sim/sim.h"
#include "base/queue.h"
#include "base/wait_time.h"

#define SRV_GROUP_MAX 64u
#define SRV_GROUP_NAME_BYTES 96
#define SRV_GROUP_BUDGET_NS INT64_C(20000000) /* default budget of a tick in a paced world */
#define SRV_GROUP_STUCK_NS INT64_C(500000000)    /* a host of a paced world without an answer for this long is ended */
#define SRV_GROUP_PATIENCE_NS INT64_C(5000000000) /* the same without a pace, where samples must not depend on a busy machine */
#define SRV_CRASHES_ALLOWED 3u                /* within SRV_CRASH_WINDOW_NS; the last one quarantines the node */
#define SRV_CRASH_WINDOW_NS INT64_C(60000000000)

struct srv_group;
struct srv_host_supervisor;
struct srv_pair_side; /* sim/swap_private.h */

/* All plugin hosts of a world. */
struct srv_isolation {
    struct srv_sim *sim;
    struct srv_group *groups;
    uint32_t group_count;
    struct srv_host_supervisor *supervisor; /* NULL: no groups */
    uint32_t quit; /* atomic: ends every wait */
    struct srv_isolation_hooks hooks;
};

struct srv_member {
    struct srv_node *node;
    struct srv_vehicle *vehicle;
    struct srv_group *group;
    uint32_t slot;
    uint32_t ready_at; /* estimators: how many estimators of the world must have published first */
    /* tick thread */
    uint64_t *after;           /* estimators: the cursors after the requested step */
    struct srv_truths *truths; /* truths of a motion node; NULL for other nodes */
    struct srv_sample now;
    struct srv_sample before; /* mode async: the sample of the previous tick */
    bool in_request;
    uint32_t has_last; /* bit i: port i has published */
    unsigned char *last; /* copies of the last published payloads, laid out as node->payloads */
    char unsaved[240]; /* the reason of node->unsaved */
    /* host supervisor */
    int64_t crash_ns[SRV_CRASHES_ALLOWED];
    uint32_t crashes;
    bool off;
    /* from host supervisor to tick thread */
    uint32_t quarantine_wanted;
};

/* Requests to one host and its answers. [tick] */
struct srv_host_link {
    struct srv_host *host;      /* NULL: there is none */
    uint32_t request, answered; /* newest values of the words with these names in the mailbox */
    uint32_t answers_left;
    bool open;        /* a request waits for its answer */
    struct srv_wait_time silence; /* since the open request was sent */
};

struct srv_group {
    char name[SRV_GROUP_NAME_BYTES];
    struct srv_isolation *isolation;
    enum srv_turn turn;
    bool async;
    int64_t budget_ns;
    int32_t fifo_priority; /* priority of the hosts: one below the tick thread's */
    uint32_t member_count;
    struct srv_member *members;
    /* tick thread */
    struct srv_host_link live;
    uint64_t revision; /* number of changes of parameters and accepted swaps */
    const struct srv_member *kept; /* whose accepted swap made this revision; NULL: a parameter did */
    bool waiting;      /* this tick has not waited for the open request yet */
    bool late_reported;
    struct srv_host_link trial;                /* to the host of a swap's candidate; one node of a group at a time */
    struct srv_member *swapped;                /* the node that is swapped; NULL: none */
    struct srv_sample trial_now, trial_before; /* as `now` and `before` of a node, for the candidate */
    /* passed between the threads */
    struct srv_host *next;      /* from host supervisor to tick thread */
    struct srv_host *adopted;   /* tick thread to host supervisor: the host that a swap or a new parameter has started */
    struct srv_host *candidate; /* from tick thread to host supervisor: the host of `trial` */
    struct srv_queue released;  /* from tick thread to host supervisor: hosts to end */
    uint32_t kill_wanted;       /* tick thread to host supervisor */
    /* host supervisor and loader, under the lock: how to make the next host */
    pthread_mutex_t lock;
    struct srv_host_instance_spec *specs; /* they own their parameters and have references to their plugins */
    uint64_t specs_revision;
    /* host supervisor */
    struct srv_host *watched; /* the newest host */
    int64_t restart_ns;       /* when to restart; 0: not planned */
    int64_t started_ns, pause_ns;
    /* read by any thread, with relaxed order */
    uint64_t restarts, stale;
    int32_t pid;
    uint32_t landlock; /* ABI of Landlock of the first host; later hosts have the same */
};

/* ---- isolated_link.c: [tick] ---- */

/* Sends the content of the slots as a request to step `instances` instances, and wakes the host. */
void srv_host_link_request(struct srv_host_link *link, uint32_t instances);
/* Waits for the answer to the open request. False: the budget is used up, or the host ended. */
bool srv_host_link_await(struct srv_sim *sim, struct srv_group *group, struct srv_host_link *link, int64_t budget_ns);

/* ---- isolated.c: [tick] ---- */

/* Before a tick: takes the answers of async groups and late answers. */
void srv_groups_collect(struct srv_sim *sim);
/* Sends one request to each group of this kind that has due nodes. */
void srv_groups_request(struct srv_sim *sim, enum srv_turn turn, uint64_t tick);
/* Requests the step of an estimator that reads earlier ones, now that `published` estimators have published. */
void srv_member_request(struct srv_sim *sim, struct srv_member *member, uint64_t tick, uint32_t published);
/* Makes the host of `link` the live host of the group and copies the states to it. */
void srv_group_adopt(struct srv_group *group, struct srv_host_link link);
/* Passes a host to the host supervisor, which ends it. NULL is allowed. */
void srv_group_release(struct srv_group *group, struct srv_host *host);
/* A host without an answer for this long is ended. */
int64_t srv_group_stuck_ns(const struct srv_sim *sim);
/* The longest time that a tick waits for an answer. */
int64_t srv_group_timeout_ns(const struct srv_sim *sim, const struct srv_group *group);
/* Writes the exposure or the inputs of this tick's sample into the slot of a host. Returns the flags of its truth. */
uint32_t srv_member_expose(struct srv_sim *sim, const struct srv_member *member, const struct srv_pair_side *runner,
                           const struct srv_host *host, uint64_t tick);
/*
 * Copies the answer of a host once; later checks use the copy. Without a sample only the state is copied. The cursors
 * of an estimator advance with its state.
 */
void srv_member_copy(const struct srv_host *host, const struct srv_member *member, const struct srv_pair_side *runner,
                     struct srv_sample *sample);
/* Copies the nodes' states to the live host. */
void srv_group_send_states(struct srv_group *group);
/* Takes the answer to the open request, or marks it late. Waits if this tick has not waited yet. */
void srv_group_settle(struct srv_sim *sim, struct srv_group *group);

/* Unpaced worlds: waits for a restarted host until the deadline. */
bool srv_group_await_restart(struct srv_sim *sim, struct srv_group *group, int64_t deadline_ns);
/* Whether the budget limits the wait of a tick. */
/* Reports an unanswered request, once in a row, and has the host ended after srv_group_stuck_ns. */
void srv_group_report_timeout(struct srv_sim *sim, struct srv_group *group);

/* ---- isolated_motion.c: [tick] ---- */

/* [loop] Allocates the truths of a motion node. */
enum oto_status srv_member_make_truths(struct srv_member *member, struct oto_error *error);
/* Writes into the slot the steps up to the end of this tick and the instants at which its sensors will need the truth.
 */
void srv_member_ask_motion(struct srv_sim *sim, struct srv_member *member, const struct srv_host *host);
/* Takes the answer to the steps. With `in_time` its truths are those of this tick. */
void srv_member_take_motion(struct srv_member *member, const struct srv_host *host, bool in_time);
/* Takes the truth at time zero, which the host computed with the first state. [loop] */
void srv_member_take_zero(struct srv_member *member, const struct srv_host *host);
/* [loop] Frees the truths. NULL is allowed. */
void srv_member_free_truths(struct srv_member *member);
/* Keeps the controls of a motion node until its host has made the steps from the present boundary on. */
void srv_member_control(struct srv_sim *sim, struct srv_member *member, const double *values);
/* A restored state has the controls that held when it was saved. */
void srv_member_forget_controls(struct srv_member *member);
/* Moves the vehicle of a motion node. False: the host did not answer. *status is the status of the step. */
bool srv_member_move(struct srv_sim *sim, struct srv_member *member, uint32_t *status);
/* A sensor read the truth `lag_ns` before its sample, and will do so again: later requests include that instant. */
void srv_member_note_past(struct srv_member *member, const struct srv_node *sensor, double lag_ns);
/* Evaluates the truth at an instant. False: the host did not answer. */
bool srv_member_evaluate(struct srv_sim *sim, struct srv_member *member, struct oto_instant at,
                         struct oto_truth_record *truth, enum oto_step_status *status);

/* ---- isolated_take.c: [tick] ---- */

/* Publishes the node's sample, at its position in the order of nodes. */
void srv_member_take(struct srv_sim *sim, struct srv_member *member, uint64_t tick);
/* keep_last keeps the published payloads; repeat publishes them again for a missing sample. */
void srv_member_keep_last(struct srv_member *member);
void srv_member_repeat(struct srv_sim *sim, struct srv_member *member, const struct srv_sample *sample);

/* ---- isolated_change.c ---- */

struct srv_change;
struct srv_change_base;
struct srv_node_change;
/* [loop] Prepares a changed parameter and starts a host that has it. */
enum oto_status srv_member_make_parameter(struct srv_member *member, const struct srv_change_base *base, const char *key,
                                          const char *yaml, struct srv_node_change **change, struct oto_error *error);
/* [loop] Starts the candidate's host, which also has the other nodes of the group, and allocates its last payloads. */
enum oto_status srv_member_make_candidate(struct srv_member *member, const struct srv_change_base *base,
                                          struct srv_change *change, struct oto_error *error);
/* [tick] Applies a change of parameters, as srv_change_apply does. */
enum oto_status srv_member_apply(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                 const char **reason);

/* ---- isolated_swap.c: [tick] ---- */

/* Returns NULL if the swap may begin (srv_member_take_over follows), else the reason why not. */
const char *srv_member_swap_conflict(const struct srv_member *member, struct srv_change *change);
/* As srv_change_take_state, in the candidate's host; from then on it receives a request for each sample. */
enum oto_status srv_member_take_over(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                     const char **reason);
/* Exchanges what this file keeps of the two plugins, after the flip. */
void srv_member_flip(struct srv_member *member, struct srv_change *change);
/* Before the candidate is accepted: waits for the answers of both plugins and takes the candidate's cursors. */
void srv_member_settle(struct srv_sim *sim, struct srv_member *member, const struct srv_change *change);
/* At the end of a swap: the candidate's host becomes that of the group, or is ended. Nothing happens without a
 * candidate. */
void srv_member_keep_candidate(struct srv_sim *sim, struct srv_member *member);
void srv_member_drop_candidate(struct srv_member *member);
/* Sends a request to the candidate and waits for its answer; `published` as for srv_member_request. */
void srv_group_ask_candidate(struct srv_sim *sim, struct srv_group *group, uint64_t tick, uint32_t published);
void srv_group_settle_candidate(struct srv_sim *sim, struct srv_group *group);
/* Whether all plugins of a due node have received their request in this tick. */
bool srv_member_was_asked(const struct srv_member *member);
/* The reason why the candidate did not answer, a static text. */
const char *srv_member_silence(const struct srv_member *member);
/* The sample to publish now: that of the candidate, or that of the plugin in the group's host. */
const struct srv_sample *srv_member_answer(const struct srv_member *member, bool candidate);

/* ---- groups.c: [loop] ---- */

/* Makes the groups that the nodes name, starts their hosts and copies the first states from them. */
enum oto_status srv_groups_make(struct srv_sim *sim, oto_warn_function warn, void *warn_context,
                                struct oto_error *error);
void srv_groups_drop(struct srv_sim *sim); /* call after srv_host_supervisor_stop */
/* Allocates the last payloads of the ports; NULL when out of memory. */
void *srv_member_make_last(const struct srv_port *ports, uint32_t port_count);
/* [host supervisor] Copies plugins and parameters of `host` for the next host of the group. The lock is held. */
void srv_group_take_specs(struct srv_group *group, const struct srv_host *host);

/* ---- supervisor.c ---- */

/* [loop] Starts the host supervisor, if the world has groups. */
enum oto_status srv_host_supervisor_start(struct srv_sim *sim, oto_warn_function warn, void *warn_context,
                                          struct oto_error *error);
void srv_host_supervisor_stop(struct srv_sim *sim);
/* [any] Wakes the host supervisor. */
void srv_host_supervisor_wake(struct srv_sim *sim);
/* [tick] Writes the queued events to the event ring. */
void srv_host_supervisor_write_events(struct srv_sim *sim);

#endif
