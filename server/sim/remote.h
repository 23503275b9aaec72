/*
 * Nodes that run in another process (A17), as the simulator sees them: a table of operations that server/isolate
 * implements. The simulator decides when a node is due and what happens with its answer; server/isolate handles the
 * processes.
 */
#ifndef SRV_SIM_REMOTE_H
#define SRV_SIM_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/schedule.h"
#include "plugin/host.h"

struct srv_sim;
struct srv_node;
struct srv_isolation;
struct srv_member; /* an isolated node; isolate/isolated.h */
struct srv_change;
struct srv_change_base;
struct srv_node_change;

/* Used as the status of a step that changed the floating-point mode. */
#define SRV_STEP_FLOAT_MODE 100u

/* When the nodes of a plugin host are stepped within a tick. */
enum srv_turn { SRV_TURN_MOTIONS, SRV_TURN_SENSORS, SRV_TURN_ESTIMATORS };

/* One sample that was requested from a host. */
struct srv_sample {
    bool asked, answered;
    uint32_t status; /* enum oto_step_status or SRV_STEP_FLOAT_MODE */
    uint32_t flags;  /* flags of the truth behind the sample: OTO_SAMPLE_STALE or 0 */
    int64_t step_ns; /* processor time of the step, as the host measured it */
    struct srv_schedule schedule; /* number and instant of the sample */
};

/* All operations are [tick] unless marked. */
struct srv_remote_ops {
    /* Before a tick or a save: takes the answers of async hosts, and late answers. */
    void (*collect)(struct srv_sim *sim);
    /* Sends one request to each host of this turn that has a node that is due. */
    void (*request)(struct srv_sim *sim, enum srv_turn turn, uint64_t tick);

    /* At the node's position in the order of nodes: publishes the answer and advances the node's schedule. */
    void (*take)(struct srv_sim *sim, struct srv_member *member, uint64_t tick);
    /*
     * For an estimator that reads earlier estimators. was_asked: whether its step was requested in this tick. ask: requests
     * it, now that `done` estimators were stepped.
     */
    bool (*was_asked)(const struct srv_member *member);
    void (*ask)(struct srv_sim *sim, struct srv_member *member, uint64_t tick, uint32_t done);
    /* Moves a vehicle by one tick. False: the host has not answered. *status is the status of the motion's step. */
    bool (*move)(struct srv_sim *sim, struct srv_member *member, uint32_t *status);
    /* As a motion's `evaluate`. False: the host has not answered. */
    bool (*evaluate)(struct srv_sim *sim, struct srv_member *member, struct oto_instant at, struct oto_truth_record *truth,
                     enum oto_step_status *status);
    /* As a motion's `control`: the values hold from the next step on. */
    void (*control)(struct srv_sim *sim, struct srv_member *member, const double *values);
    /* Notes that a sensor read the truth `lag_ns` before its sample, so that later requests include that instant. */
    void (*note_past)(struct srv_member *member, const struct srv_node *sensor, double lag_ns);

    /*
     * Swaps. swap_conflict: NULL, or why the swap cannot begin. take_over: gives the candidate's host the state; from then
     * on the host gets a request for each sample.
     */
    const char *(*swap_conflict)(const struct srv_member *member, struct srv_change *change);
    enum oto_status (*take_over)(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                 const char **reason);
    void (*flip)(struct srv_member *member, struct srv_change *change);
    void (*settle)(struct srv_sim *sim, struct srv_member *member, const struct srv_change *change);
    void (*keep_candidate)(struct srv_sim *sim, struct srv_member *member);
    void (*drop_candidate)(struct srv_member *member);
    /*
     * answer: the newest sample of the candidate's host or of the group's host, or NULL; `silence` then returns the reason,
     * a static text.
     */
    const struct srv_sample *(*answer)(const struct srv_member *member, bool candidate);
    const char *(*silence)(const struct srv_member *member);
    /*
     * The cursors that an estimator gets when the requested step becomes part of its state; NULL: the node is no estimator.
     */
    uint64_t *(*cursors_after)(const struct srv_member *member);
    /* keep_last: keeps a published record; repeat: publishes it again for a missing sample. */
    void (*keep_last)(struct srv_member *member);
    void (*repeat)(struct srv_sim *sim, struct srv_member *member, const struct srv_sample *sample);
    /* Applies a change of parameters at a boundary. */
    enum oto_status (*apply)(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                             const char **reason);

    /*
     * [loop] Starts a host with the changed parameter, or with the candidate of a swap. srv_change_free ends the host if it
     * was not taken over.
     */
    enum oto_status (*make_parameter)(struct srv_member *member, const struct srv_change_base *base, const char *key,
                                      const char *yaml, struct srv_node_change **change, struct oto_error *error);
    enum oto_status (*make_candidate)(struct srv_member *member, const struct srv_change_base *base,
                                      struct srv_change *change, struct oto_error *error);

    /*
     * Checkpoints. waiting: the sample that an async host still has to deliver, NULL in mode sync. give_states: sends the
     * loaded states to the hosts.
     */
    struct srv_sample *(*waiting)(const struct srv_member *member);
    void (*give_states)(struct srv_sim *sim);
};

#endif
