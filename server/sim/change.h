/*
 * Changes of a running node: a new parameter or a swap. A change is prepared outside the tick [loop] and applied at a
 * boundary [tick]; then what it replaced returns to the main thread, which frees it (A16). The steps of a swap: SWAP.md.
 */
#ifndef SRV_HOST_CHANGE_H
#define SRV_HOST_CHANGE_H

#include "sim/compare.h"
#include "sim/node.h"
#include "sim/probe_feed.h"
#include "sim/command.h"

struct srv_sim;
struct srv_host; /* a plugin host; isolate/plugin_host.h */

/* The plugin, parameters and setup that a node ran before a swap: an undo returns to them. */
struct srv_previous {
    struct oto_plugin *plugin; /* a reference; NULL: there is no previous plugin */
    struct oto_params params;
    struct oto_setup setup;
    bool has_setup; /* true: `setup` differs from the node's setup */
};
void srv_previous_copy(const struct srv_previous *from, struct srv_previous *to);
void srv_previous_finish(struct srv_previous *previous);

/* The pace of filling the vehicle's history, which the swap of a motion needs: a part at each boundary, or all at once. */
enum srv_swap_pace {
    SRV_SWAP_BY_MODE = 0, /* a part at each boundary if the world is paced, else all at once */
    SRV_SWAP_PACED,
    SRV_SWAP_AT_ONCE
};

/* The options of a swap; all zero: the defaults. Texts are borrowed during the call. */
struct srv_swap_options {
    const char *plugin;      /* name or file */
    const char *params_path; /* a file of parameters, applied over the other parameters of the candidate; or NULL */
    const char *part, *mode; /* a part and its mode, applied over the plugin's defaults; or NULL */
    bool unit_given;
    uint32_t unit;
    bool reset_state;        /* the candidate starts with a new state, even if it could take over the old one */
    int64_t probation_ns;    /* simulated; 0: none */
    int64_t shadow_ns;       /* simulated; 0: none */
    double shadow_tolerance; /* largest accepted difference of a number of the first channel, in its unit; 0: any finite number */
    int64_t budget_ns;       /* of a step; three slower ones in a row: roll-back. 0: none; -1: half a period in mode realtime */
    bool unprobed;                       /* no probe, even if `probe` is set */
    srv_probe_function *probe;           /* runs the probe; NULL: there is none */
    const struct srv_previous *previous; /* replaces `plugin` for an undo: the plugin to return to */
    enum srv_swap_pace pace;
};

bool srv_swap_wants_snapshot(const struct srv_node_change *change);
/* Sentences for users: the first describes the swap after the flip, the second its end. */
void srv_swap_describe(const struct srv_node_change *change, char *text, size_t bytes);
void srv_swap_describe_end(const struct srv_node_change *change, char *text, size_t bytes);
/* Writes the differences that the shadow measured; "" if there was no shadow. */
void srv_swap_describe_shadow(const struct srv_node_change *change, char *text, size_t bytes);
/*
 * After the end of a swap: copies the replaced plugin and parameters, for a later undo. The caller then frees the change as
 * usual.
 */
void srv_swap_previous(const struct srv_node_change *change, struct srv_previous *previous);
/* The plugin, parameters and options that a swap finally used, so that a replay can repeat it. Borrowed from the change. */
struct srv_swap_facts {
    struct oto_plugin *plugin;
    const struct oto_params *params;
    const struct oto_setup *setup; /* setup of the candidate, if it has its own; NULL: the node's setup */
    bool begins_anew;
    uint64_t probation_ticks, shadow_ticks;
    double shadow_tolerance;
};
void srv_swap_tell(const struct srv_node_change *change, struct srv_swap_facts *facts);
/* Frees a change and what it holds. Returns false if a library stayed mapped. */
bool srv_change_free(struct srv_node_change *change);


#define SRV_WARM_UP_NS INT64_C(1000000000) /* the shadow of an estimator with a new state, if none was requested */

/* The phase of a swap in the tick thread. */
enum srv_trial_phase {
    SRV_TRIAL_NONE = 0,
    SRV_TRIAL_FILLING,   /* the vehicle's history is being filled, because its motion has kept none */
    SRV_TRIAL_SHADOW,    /* the candidate is stepped beside the live plugin and not published */
    SRV_TRIAL_PROBATION, /* the candidate is live; the previous plugin is stepped beside it */
    SRV_TRIAL_SETTLED    /* the candidate is accepted or rolled back; the loader has not read the result yet */
};

/*
 * The part of a swap that only the tick thread uses, from the boundary of the request until the change returns to the
 * loader.
 */
struct srv_trial {
    enum srv_trial_phase phase;
    uint64_t end_tick;   /* end of this phase */
    uint64_t fill_from, filled; /* FILLING: the newest instant to fill; instants filled from there back */
    uint64_t seq[OTO_PLUGIN_MAX_PORTS]; /* PROBATION: seq of the last record that the previous plugin would have published */
    bool asked;          /* a command SETTLE waits for the end of the swap */
    bool rolled_back, undone; /* the previous plugin is live again; because of a request */
    bool over_budget;
    const char *failure; /* reason of the refusal or roll-back, a static text; NULL: none */
    uint32_t slow_in_a_row;
    int64_t excess_ns; /* time of the steps above the budget, less the time that quicker steps saved; at least 0 */
    int64_t step_sum_ns, step_max_ns; /* times of the candidate's steps on this machine, for the report */
    uint64_t steps;
    int64_t any_from_ns; /* any_from_ns of the vehicle before the flip */
    struct srv_reply reply; /* reply that is still to be sent */
    struct srv_change *next;
};

/* A change with the parts that only this folder uses. Heap; freed by srv_change_free. */
struct srv_change {
    struct srv_node_change open; /* first member: the part that command.h declares */
    uint64_t revision;           /* revision of the node when the change was made */
    char text[152];              /* text of the event */
    struct srv_host *host; /* isolated nodes: the plugin host that has the new parameters or the candidate; or NULL */
    void (*end_host)(struct srv_host *host);
    struct srv_instance instance; /* a swap: the candidate, after the flip the previous plugin; else the parameters and what is
                                     prepared from them, new ones, after the boundary the replaced ones */
    unsigned char *last; /* of an isolated node: the last payloads, as in struct srv_member */
    uint32_t has_last;
    uint64_t *heard, *hears; /* of an isolated estimator: the candidate's cursors, as in struct srv_pair_side */
    enum srv_start start;
    uint64_t probation_ticks, shadow_ticks;
    double shadow_tolerance;
    int64_t budget_ns; /* 0: none */
    enum srv_swap_pace pace;
    struct srv_comparison comparison; /* differences during the shadow: of the first port, or of a motion's truth */
    char note[512];    /* report: what happened to channels and parameters */
    srv_probe_function *probe;
    void *snapshot;    /* copy of the live state, for the probe */
    uint64_t snapshot_bytes;
    uint32_t snapshot_version;
    struct oto_truth_record truth; /* truth at the instant of the snapshot */
    struct oto_instant at;
    void *first_state; /* motions: the state that init made, because a motion may adopt twice */
    struct oto_truth_record *history; /* motions: memory for the history of a vehicle that keeps none yet */
    struct srv_trial trial;
};

/* What a node ran when its change began: copies and references, so that any thread may read them. */
struct srv_change_base {
    uint32_t node;
    const char *topic;
    const struct srv_node_config *config;
    uint32_t first_channel;
    const struct oto_setup *setup; /* the setup that the running plugin uses: &own_setup or node_setup */
    const struct oto_setup *node_setup; /* of the node; lives as long as the world */
    struct oto_setup own_setup;
    struct oto_plugin *plugin;
    struct oto_params params;
    uint64_t revision;
    srv_open_plugin_function *open_plugin;
    uint64_t base_rate_num, base_rate_den;
    bool realtime;
};

/* Copies into the base what the caller knows that the node runs. */
void srv_change_base_fill(struct srv_change_base *base, struct oto_plugin *plugin, const struct oto_params *params,
                          const struct oto_setup *own_setup, uint64_t revision);

/*
 * [loop], also from a worker thread; at most one change of a node at a time. A change is made from what the node runs at the
 * time of the call: if another change of that node is applied first, this one is refused with OTO_CONFLICT; make it again.
 * A change of a parameter is made by one function. A swap is made by `load` and `ready`; between them the caller fetches a
 * snapshot of the live state (SRV_COMMAND_SNAPSHOT) if srv_swap_wants_snapshot. If `ready` fails, the caller must still free
 * the change.
 */
enum oto_status srv_sim_change_parameter(const struct srv_sim *sim, uint32_t node, const char *key, const char *yaml,
                                         struct srv_node_change **change, struct oto_error *error);
enum oto_status srv_sim_swap_load(const struct srv_sim *sim, uint32_t node, const struct srv_swap_options *options,
                                  struct srv_node_change **change, struct oto_error *error);
enum oto_status srv_sim_swap_ready(const struct srv_sim *sim, struct srv_node_change *change, struct oto_error *error);

/* For the runners: binds the new parameter, which the runner then prepares where it runs the instance. */
enum oto_status srv_change_bind_parameter(const struct srv_change_base *base, const char *key, const char *yaml,
                                          struct srv_node_change **change, struct oto_error *error);
/* For the runners: makes the candidate's instance; unless it is prepared_later, this runs the plugin's first code. */
enum oto_status srv_change_ready(const struct srv_change_base *base, struct srv_change *change, bool prepared_later,
                                 struct oto_error *error);

/* Sets the parameters of a candidate: those of the node, a part, a file, or the previous plugin. */
enum oto_status srv_change_bind(const struct srv_change_base *base, const struct srv_swap_options *options,
                                struct srv_change *change, struct oto_error *error);

/*
 * [tick] Step 5: gives the candidate its state. `truth` is the truth of the node's vehicle at this boundary, whose instant
 * is `at`. On failure *reason is set and the node is unchanged.
 */
enum oto_status srv_change_take_state(const struct srv_node *node, struct srv_change *change,
                                      const struct oto_truth_record *truth, struct oto_instant at,
                                      const char **reason);
/* [tick] Step 7: exchanges the candidate and the live plugin. */
void srv_change_flip(struct srv_node *node, struct srv_change *change);
/*
 * [tick] Applies a change of parameters. On OTO_OK the change then holds the replaced parameters; otherwise *reason is set.
 */
enum oto_status srv_change_apply(struct srv_node *node, struct srv_change *change, const char **reason);

#endif
