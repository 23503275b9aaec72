/*
 * Nodes that run in another process (A17), as the simulator sees them: an operation table that server/isolate fills. The
 * simulator alone knows when a node has its turn and what becomes of its answer; the other side alone knows processes.
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

/* A step that changed the floating-point mode, in place of its status. */
#define SRV_STEP_FLOAT_MODE 100u

/* When the nodes of a plugin host have their turn in a tick. */
enum srv_turn { SRV_TURN_MOTIONS, SRV_TURN_SENSORS, SRV_TURN_ESTIMATORS };

/* One sample that a host was asked for. */
struct srv_sample {
    bool asked, answered;
    uint32_t status; /* enum oto_step_status or SRV_STEP_FLOAT_MODE */
    uint32_t flags;  /* of its truth: OTO_SAMPLE_STALE or 0 */
    int64_t step_ns; /* real time of the step, as the host measured it */
    struct srv_schedule schedule; /* its number and instant */
};

/* All [tick] unless marked. */
struct srv_remote_ops {
    /* Before a tick, or a save: takes the answers of async hosts, and late ones. */
    void (*collect)(struct srv_sim *sim);
    /* The turn of a kind: one request to each of its hosts that has a node that is due. */
    void (*request)(struct srv_sim *sim, enum srv_turn turn, uint64_t tick);

    /* At the node's place in the order: publishes the answer and advances the node's schedule. */
    void (*take)(struct srv_sim *sim, struct srv_member *member, uint64_t tick);
    /* An estimator whose inputs are complete once `done` of the estimators were stepped: whether it was asked; asks it. */
    bool (*was_asked)(const struct srv_member *member);
    void (*ask)(struct srv_sim *sim, struct srv_member *member, uint64_t tick, uint32_t done);
    /* A motion's turn. False: its host has not moved it; *status is that of its step. */
    bool (*move)(struct srv_sim *sim, struct srv_member *member, uint32_t *status);
    /* As a motion's `evaluate`. False: there is no answer. */
    bool (*evaluate)(struct srv_sim *sim, struct srv_member *member, struct oto_instant at, struct oto_truth_record *truth,
                     enum oto_step_status *status);
    /* A sensor has looked back: it will want the truth so long before its next samples again. */
    void (*note_past)(struct srv_member *member, const struct srv_node *sensor, double lag_ns);

    /* Swaps: NULL, or the obstacle; then the candidate's host gets the state, and is asked for each sample. */
    const char *(*swap_conflict)(const struct srv_member *member, struct srv_change *change);
    enum oto_status (*take_over)(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                                 const char **reason);
    void (*flip)(struct srv_member *member, struct srv_change *change);
    void (*settle)(struct srv_sim *sim, struct srv_member *member, const struct srv_change *change);
    void (*keep_candidate)(struct srv_sim *sim, struct srv_member *member);
    void (*drop_candidate)(struct srv_member *member);
    /* The newest sample of the candidate or of the group's host; NULL: none, and `silence` says why in a static text. */
    const struct srv_sample *(*answer)(const struct srv_member *member, bool candidate);
    const char *(*silence)(const struct srv_member *member);
    /* An estimator's cursors once the step that was asked for is part of its state; NULL: no estimator. */
    uint64_t *(*cursors_after)(const struct srv_member *member);
    /* Keeps a published record, to repeat it for a sample that was not made. */
    void (*keep_last)(struct srv_member *member);
    void (*repeat)(struct srv_sim *sim, struct srv_member *member, const struct srv_sample *sample);
    /* A change of parameters at its boundary. */
    enum oto_status (*apply)(struct srv_sim *sim, struct srv_member *member, struct srv_change *change,
                             const char **reason);

    /* [loop] A host with the changed parameters, or with the candidate of a swap; and its end where it was not taken. */
    enum oto_status (*make_parameter)(struct srv_member *member, const struct srv_change_base *base, const char *key,
                                      const char *yaml, struct srv_node_change **change, struct oto_error *error);
    enum oto_status (*make_candidate)(struct srv_member *member, const struct srv_change_base *base,
                                      struct srv_change *change, struct oto_error *error);

    /* Checkpoints: the sample that an async host owes, NULL where the node's mode is sync; the states after a load. */
    struct srv_sample *(*waiting)(const struct srv_member *member);
    void (*give_states)(struct srv_sim *sim);
};

#endif
