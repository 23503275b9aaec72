/*
 * Changes of a running node: made ready off the tick [loop], applied at a boundary [tick], and what was replaced goes
 * back to the main thread to be dropped (A16). How a swap goes, step by step: README.md.
 */
#ifndef SRV_HOST_CHANGE_H
#define SRV_HOST_CHANGE_H

#include "host/box.h"
#include "host/compare.h"
#include "host/occupant.h"
#include "host/probe.h"
#include "world/engine.h"

#define SRV_WARM_UP_NS INT64_C(1000000000) /* the shadow of an estimator that begins anew, where none was asked for */

/* Where a swap stands once the tick thread has it. */
enum srv_trial_phase {
    SRV_TRIAL_NONE = 0,
    SRV_TRIAL_FILLING,   /* the vehicle's history is filled from a motion that needed none */
    SRV_TRIAL_SHADOW,    /* the candidate runs beside, unheard */
    SRV_TRIAL_PROBATION, /* the candidate is live, the one before runs beside */
    SRV_TRIAL_SETTLED    /* it stays, or the one before is back; waits to be asked for */
};

/* Of the tick thread, from the boundary at which the change came to it until it gives it back. */
struct srv_trial {
    enum srv_trial_phase phase;
    uint64_t end_tick;   /* of this phase */
    uint64_t flip_tick;
    uint64_t fill_from, filled; /* FILLING: instants of the history, counted back from where the swap came */
    uint64_t seq[OTO_PLUGIN_MAX_PORTS]; /* PROBATION: of the last record that the one before would have published */
    bool asked;          /* somebody waits for the end */
    bool rolled_back, undone; /* by itself; on request */
    bool over_budget;
    const char *failure; /* NULL: none; static text */
    uint32_t slow_in_a_row;
    int64_t step_sum_ns, step_max_ns; /* of the candidate; of this machine, for the record only */
    uint64_t steps;
    int64_t any_from_ns; /* of the vehicle, before the flip */
    struct srv_reply reply; /* that is owed */
    struct srv_change *next;
};

/* A change with what only its makers and appliers need. Heap; freed by srv_change_free. */
struct srv_change {
    struct srv_node_change open; /* first: what engine.h shows is this */
    uint64_t revision;           /* of the node, as it was when the change was made */
    char text[152];              /* of the event */
    /* a change of parameters */
    struct oto_params params;
    struct oto_prepared prepared;
    struct srv_box *box; /* isolated nodes: a host with the new parameters or the candidate; or NULL */
    /* a swap: what is to come, and afterwards what was */
    struct srv_occupant occupant;
    unsigned char *last; /* of an isolated node, as in struct srv_member */
    uint32_t has_last;
    uint64_t *heard, *hears; /* of an isolated estimator: the candidate's cursors (server/world/trial_private.h) */
    enum srv_start start;
    uint64_t probation_ticks, shadow_ticks;
    double shadow_tolerance;
    int64_t budget_ns; /* 0: none */
    enum srv_swap_pace pace;
    struct srv_comparison comparison; /* of the first port, or the truth, during the shadow */
    char note[512];    /* what was done with channels and parameters */
    srv_probe_function *probe;
    void *snapshot;    /* of the live state, for the probe */
    uint64_t snapshot_bytes;
    uint32_t snapshot_version;
    struct oto_truth_record truth; /* with it */
    struct oto_instant at;
    void *first_state; /* of a motion, which may take over twice: what init made */
    struct oto_truth_record *history; /* for a vehicle that has none; motions only */
    struct srv_trial trial;
};

/* What a node was when its change was begun: copies and held handles, so that any thread may read them. */
struct srv_change_base {
    uint32_t node;
    const char *topic;
    const struct srv_node_config *config;
    uint32_t first_channel;
    const struct oto_setup *setup; /* a copy where it is the plugin's own; gone with the base */
    const struct oto_setup *node_setup; /* of the world's file; stays */
    struct oto_setup own_setup;
    struct oto_plugin *plugin;
    struct oto_params params;
    uint64_t revision;
    bool isolated; /* its host prepares it */
    uint64_t base_rate_num, base_rate_den;
    bool realtime;
};

enum oto_status srv_change_make_parameter(const struct srv_change_base *base, const char *key, const char *yaml,
                                          struct srv_node_change **change, struct oto_error *error);
/* Steps 1 and 2 of a swap: stage, check, map; ports, kind and state compared, parameters bound. */
enum oto_status srv_change_load_plugin(const struct srv_change_base *base, const struct srv_swap_options *options,
                                       struct srv_change **change, struct oto_error *error);
/* Steps 3 and 4: probe on `inputs`, where the change asks for it; then the first code of the plugin runs here. */
enum oto_status srv_change_try(const struct srv_change_base *base, const struct srv_probe_input *inputs,
                               uint32_t input_count, struct srv_change *change, struct oto_error *error);
enum oto_status srv_change_ready(const struct srv_change_base *base, struct srv_change *change,
                                 struct oto_error *error);

/* Parameters of a candidate: carried over, of a part, of a file, of the time before. */
enum oto_status srv_change_bind(const struct srv_change_base *base, const struct srv_swap_options *options,
                                struct srv_change *change, struct oto_error *error);

/*
 * [tick] Step 5, first half: gives the candidate its state. `truth` is that of the node's vehicle at the boundary
 * that instant. On failure *reason says why and nothing has happened.
 */
enum oto_status srv_change_take_state(const struct srv_node *node, struct srv_change *change,
                                      const struct oto_truth_record *truth, struct oto_instant at,
                                      const char **reason);
/* [tick] The other half: the two change places. */
void srv_change_flip(struct srv_node *node, struct srv_change *change);
/* [tick] Applies a change of parameters; on OTO_OK it holds what was replaced. Otherwise *reason says why not. */
enum oto_status srv_change_apply(struct srv_node *node, struct srv_change *change, const char **reason);

#endif
