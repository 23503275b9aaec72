/*
 * Changes of a running node: made ready off the tick [loop], applied at a boundary [tick], and what was replaced goes
 * back to the main thread to be dropped (A16). How a swap goes, step by step: README.md.
 */
#ifndef SRV_HOST_CHANGE_H
#define SRV_HOST_CHANGE_H

#include "sim/compare.h"
#include "sim/node.h"
#include "sim/probe_feed.h"
#include "sim/command.h"

struct srv_sim;
struct srv_host; /* a plugin host; isolate/plugin_host.h */

/* What a node ran before a swap, to go back to. */
struct srv_previous {
    struct oto_plugin *plugin; /* held; NULL: there is nothing */
    struct oto_params params;
    struct oto_setup setup;
    bool has_setup; /* of its own */
};
enum oto_status srv_previous_copy(const struct srv_previous *from, struct srv_previous *to);
void srv_previous_finish(struct srv_previous *previous);

/* How a motion that needs a history beside it gets one: a little at each tick, or at once. */
enum srv_swap_pace {
    SRV_SWAP_BY_MODE = 0, /* a little where the world is paced */
    SRV_SWAP_PACED,
    SRV_SWAP_AT_ONCE
};

/* How a swap is wished; zeroed is the plainest. Texts are borrowed during the call. */
struct srv_swap_options {
    const char *plugin;      /* name or file */
    const char *params_path; /* applied over what is carried over or the part's; or NULL */
    const char *part, *mode; /* parameters of a part, over the plugin's defaults; or NULL */
    bool unit_given;
    uint32_t unit;
    bool reset_state;        /* the state is made anew, also where it could be taken over */
    int64_t probation_ns;    /* simulated; 0: none */
    int64_t shadow_ns;       /* simulated; 0: none */
    double shadow_tolerance; /* no number of the first channel may be further apart, in its unit; 0: finite is enough */
    int64_t budget_ns;       /* of a step; three in a row above take the swap back. 0: none; below: half a period if paced */
    bool unprobed;                       /* not to be probed, though there is a probe */
    srv_probe_function *probe;           /* NULL: there is none */
    const struct srv_previous *previous; /* instead of `plugin`: back to it */
    enum srv_swap_pace pace;
};

bool srv_swap_wants_snapshot(const struct srv_node_change *change);
/* Texts for people: the first after the flip, the second after the end of the swap. */
void srv_swap_describe(const struct srv_node_change *change, char *text, size_t bytes);
void srv_swap_describe_end(const struct srv_node_change *change, char *text, size_t bytes);
/* The shadow's differences, "" without one. */
void srv_swap_describe_shadow(const struct srv_node_change *change, char *text, size_t bytes);
/* After the end: takes what was replaced out for a later undo; the change is freed as usual. */
enum oto_status srv_swap_previous(const struct srv_node_change *change, struct srv_previous *previous);
/* The plugin, parameters and options that a swap has ended up with, so that a replay can repeat it. Borrowed from the change. */
struct srv_swap_facts {
    struct oto_plugin *plugin;
    const struct oto_params *params;
    const struct oto_setup *setup; /* the candidate's own; NULL: the node's */
    bool begins_anew;
    uint64_t probation_ticks, shadow_ticks;
    double shadow_tolerance;
};
void srv_swap_tell(const struct srv_node_change *change, struct srv_swap_facts *facts);
/* Frees a change and what it holds. Returns false if a library stayed mapped. */
bool srv_change_free(struct srv_node_change *change);


#define SRV_WARM_UP_NS INT64_C(1000000000) /* the shadow of an estimator with a new state, if none was requested */

/* Where a swap stands once the tick thread has it. */
enum srv_trial_phase {
    SRV_TRIAL_NONE = 0,
    SRV_TRIAL_FILLING,   /* the vehicle's history is filled from a motion that needed none */
    SRV_TRIAL_SHADOW,    /* the candidate runs beside the plugin, unpublished */
    SRV_TRIAL_PROBATION, /* the candidate is live, the previous plugin runs beside it */
    SRV_TRIAL_SETTLED    /* the candidate stays, or the previous plugin is back; the loader has not read the result yet */
};

/* Used by the tick thread alone, from the boundary of the swap until it returns the change to the loader. */
struct srv_trial {
    enum srv_trial_phase phase;
    uint64_t end_tick;   /* of this phase */
    uint64_t flip_tick;
    uint64_t fill_from, filled; /* FILLING: instants of the history, counted back from where the swap came */
    uint64_t seq[OTO_PLUGIN_MAX_PORTS]; /* PROBATION: of the last record that the previous plugin would have published */
    bool asked;          /* somebody waits for the end */
    bool rolled_back, undone; /* by itself; on request */
    bool over_budget;
    const char *failure; /* NULL: none; static text */
    uint32_t slow_in_a_row;
    int64_t excess_ns; /* of the step times over the budget: what quicker steps have not made up for */
    int64_t step_sum_ns, step_max_ns; /* of the candidate; of this machine, for the record only */
    uint64_t steps;
    int64_t any_from_ns; /* of the vehicle, before the flip */
    struct srv_reply reply; /* that is owed */
    struct srv_change *next;
};

/* A change with what only its makers and appliers need. Heap; freed by srv_change_free. */
struct srv_change {
    struct srv_node_change open; /* first: command.h shows this part */
    uint64_t revision;           /* of the node, as it was when the change was made */
    char text[152];              /* of the event */
    /* a change of parameters */
    struct oto_params params;
    struct oto_prepared prepared;
    struct srv_host *host; /* isolated nodes: a host with the new parameters or the candidate; or NULL */
    void (*end_host)(struct srv_host *host);
    struct srv_instance instance; /* a swap: the candidate, and after the flip the previous one */
    unsigned char *last; /* of an isolated node, as in struct srv_member */
    uint32_t has_last;
    uint64_t *heard, *hears; /* of an isolated estimator: the candidate's cursors (server/sim/swap_private.h) */
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
    void *first_state; /* motions only: the state that init made, because a motion may take over twice */
    struct oto_truth_record *history; /* motions only: memory for the truths of a vehicle that keeps none yet */
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
    srv_open_plugin_function *open_plugin;
    uint64_t base_rate_num, base_rate_den;
    bool realtime;
};

/* [loop] The base of a node of a world that does not tick meanwhile; srv_change_base_finish drops it. */
enum oto_status srv_change_base_of(const struct srv_sim *sim, uint32_t node, struct srv_change_base *base,
                                   struct oto_error *error);
void srv_change_base_finish(struct srv_change_base *base);
/* The same in two halves, for a world that ticks: what is fixed, and a copy of what the node is known to run. */
void srv_change_base_begin(const struct srv_sim *sim, uint32_t node, struct srv_change_base *base);
enum oto_status srv_change_base_fill(struct srv_change_base *base, struct oto_plugin *plugin,
                                     const struct oto_params *params, const struct oto_setup *own_setup,
                                     uint64_t revision, struct oto_error *error);

/*
 * [loop], also from a worker thread, one at a time for each node. A change of one parameter, ready to be applied; a swap in
 * two steps, between which the live state may be fetched (SRV_COMMAND_SNAPSHOT where srv_swap_wants_snapshot). On failure of
 * `ready` the change is still to be freed. A base whose node was changed meanwhile is refused with OTO_CONFLICT.
 */
enum oto_status srv_sim_change_parameter(const struct srv_sim *sim, const struct srv_change_base *base, const char *key,
                                         const char *yaml, struct srv_node_change **change, struct oto_error *error);
enum oto_status srv_sim_swap_load(const struct srv_sim *sim, const struct srv_change_base *base,
                                  const struct srv_swap_options *options, struct srv_node_change **change,
                                  struct oto_error *error);
enum oto_status srv_sim_swap_ready(const struct srv_sim *sim, const struct srv_change_base *base,
                                   struct srv_node_change *change, struct oto_error *error);

enum oto_status srv_change_make_parameter(const struct srv_change_base *base, const char *key, const char *yaml,
                                          struct srv_node_change **change, struct oto_error *error);
/* Steps 1 and 2 of a swap: stage, check, map; ports, kind and state compared, parameters bound. */
enum oto_status srv_change_load_plugin(const struct srv_change_base *base, const struct srv_swap_options *options,
                                       struct srv_change **change, struct oto_error *error);
/* Steps 3 and 4: probe on `feed`, where the change asks for it; then the first code of the plugin runs here. */
enum oto_status srv_change_try(const struct srv_change_base *base, const struct srv_probe_feed *feed, struct srv_change *change,
                               struct oto_error *error);
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
