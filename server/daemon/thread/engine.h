/*
 * The engine: a world that ticks in a thread of its own. The main loop talks to it only through commands, which are
 * applied at tick boundaries and answered by replies; its only other output is the segment. All functions are [loop]
 * and called from the main loop's thread, unless they say otherwise.
 */
#ifndef SRV_ENGINE_H
#define SRV_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "world/world_config.h"
#include "otolith/records.h"
#include "otolith/segment.h"
#include "daemon/participants/mailbox.h"

struct srv_engine;

struct srv_engine_options {
    bool start_paused;     /* first tick waits for resume or step */
    uint64_t epoch;        /* random, made by the caller */
    uint64_t lineage;      /* epoch of the run that this one continues after a crash; 0: its own */
    bool single_steps;     /* nodes of one plugin are never stepped together */
    int64_t watchdog_ns;   /* 0: max(250 ms, 50 periods) */
    uint64_t journal_every; /* 0: no journal (world/journal.h); else the ticks between its hashes */
    bool replay;            /* ticks go on as far as srv_engine_allow says, on inputs that are fed in */
};

/*
 * Builds segment, nodes and states; runs prepare and init of every instance; ticks nothing. The configuration is
 * borrowed and must outlive the engine. On failure nothing is left behind.
 */
enum oto_status srv_engine_create(const struct srv_world_config *config, const struct srv_engine_options *options,
                                  oto_warn_function warn, void *warn_context, struct srv_engine **engine,
                                  struct oto_error *error);
/*
 * Stops the tick thread if it runs; NULL is allowed. A thread that is stuck in a plugin for two seconds is left behind
 * with all that it uses, its libraries included: then the process should end.
 */
void srv_engine_destroy(struct srv_engine *engine);

/* Starts the tick thread. What real-time rights it got is said in the text (and in a REALTIME event). */
enum oto_status srv_engine_start(struct srv_engine *engine, char *privileges, size_t privileges_bytes,
                                 struct oto_error *error);

/* The sealed memfd, for SCM_RIGHTS. Owned by the engine. */
int srv_engine_segment_fd(const struct srv_engine *engine);
const struct oto_segment_header *srv_engine_segment(const struct srv_engine *engine);
/*
 * Readable when replies wait, and once when the run has ended or faulted (see header->state); level-triggered until
 * srv_engine_take_reply has returned false.
 */
int srv_engine_notify_fd(const struct srv_engine *engine);

enum srv_command_kind {
    SRV_COMMAND_PAUSE = 1,
    SRV_COMMAND_RESUME,
    SRV_COMMAND_STEP,    /* ticks; answered when they are done; then paused */
    SRV_COMMAND_SCALE,   /* scale */
    SRV_COMMAND_MODE,    /* mode */
    SRV_COMMAND_PARAMS,  /* node, change: new block and prepared data, already checked */
    SRV_COMMAND_SWAP,    /* node, change: new plugin, block and prepared data, already checked */
    SRV_COMMAND_EVENT,   /* event: written to the event ring; with id 0 there is no reply */
    SRV_COMMAND_STOP,    /* the run ends at the next boundary */
    SRV_COMMAND_FAULT,   /* fault: taken on */
    SRV_COMMAND_CLEAR_FAULTS, /* node, fault_id (0: all of the node) */
    SRV_COMMAND_JOIN,    /* mailbox: its participant takes part from the next tick; a refusal gives it back */
    SRV_COMMAND_LEAVE,   /* mailbox: its participant is gone; the reply gives it back */
    SRV_COMMAND_SNAPSHOT, /* change: the live state is copied into it, for its probe */
    SRV_COMMAND_SETTLE,  /* change: answered when its probation is over; ownership returns with that reply */
    SRV_COMMAND_CANCEL,  /* node: ends what is before the flip; its swap is answered CLOSED */
    SRV_COMMAND_UNDO,    /* node: ends a probation by taking the swap back */
    SRV_COMMAND_SAVE     /* snapshot: the world's state; LIMIT where it has too little room: `bytes` is what it takes */
};

/* What a change brings to a node; after its reply the same struct holds what was replaced, to be freed by the caller. */
struct srv_node_change {
    uint32_t node;
    bool swap;                 /* else a change of parameters */
    struct oto_plugin *plugin; /* SWAP: the candidate, the change's own until it is freed */
};

/* Room for the state of the world at a boundary; the caller's. */
struct srv_snapshot {
    void *data;
    uint64_t capacity, bytes;
    uint64_t tick, chain;
    int64_t stall_ns; /* real time that the tick thread gave for it */
};

struct srv_command {
    enum srv_command_kind kind;
    uint64_t id; /* the caller's, returned in the reply */
    uint64_t ticks;
    double scale;
    enum oto_clock_mode mode;
    struct srv_node_change *change; /* heap; ownership returns with the reply */
    struct srv_mailbox *mailbox;
    struct oto_event_record event;
    struct srv_fault *fault; /* made by srv_engine_fault_make; ownership goes over, or returns with a refusal */
    uint32_t node; /* CLEAR_FAULTS, CANCEL, UNDO */
    uint64_t fault_id;
    struct srv_snapshot *snapshot; /* SAVE; lives until the reply */
    /* What was asked, for the log; borrowed until the command is sent. PARAMS: key and value; FAULT: the spec as YAML. */
    const char *key, *text;
};

struct srv_reply {
    uint64_t id;
    enum srv_command_kind kind;
    enum oto_status status;
    uint64_t tick; /* boundary at which it was applied */
    struct srv_node_change *change;
    struct srv_fault *faults; /* a list to be freed: those that are over, and one that was refused */
    struct srv_mailbox *mailbox; /* JOIN and LEAVE: as in the command */
    const char *reason; /* of a refusal, static text; or NULL */
    /*
     * SWAP: the engine keeps the change, whose plugin is live, until its probation is over: ask by SETTLE. Its answer is
     * OK when the plugin stays, PLUGIN or CLOSED when the one before is back.
     */
    bool settling;
    /* What the node runs from `tick` on, where that has changed. */
    struct oto_plugin *plugin;
    struct oto_params params; /* borrowed from the node */
    const struct oto_setup *own_setup;
    uint64_t revision;
};

/* False when 256 commands are without a taken reply: try again after replies. */
bool srv_engine_post(struct srv_engine *engine, const struct srv_command *command);
bool srv_engine_take_reply(struct srv_engine *engine, struct srv_reply *reply);

/* Nodes in tick order; the index is oto_segment_channel.node_index. */
uint32_t srv_engine_node_count(const struct srv_engine *engine);
const struct srv_node_config *srv_engine_node_config(const struct srv_engine *engine, uint32_t node);
/* "world/vehicle/node", "vehicle/node" or a topic alias. UINT32_MAX and an error that suggests the nearest. */
uint32_t srv_engine_node_find(const struct srv_engine *engine, const char *name, struct oto_error *error);
/* What the node runs now (kept by the main thread: updated as replies are taken). */
struct oto_plugin *srv_engine_node_plugin(const struct srv_engine *engine, uint32_t node);
const char *srv_engine_node_plugin_path(const struct srv_engine *engine, uint32_t node); /* the file it came from */
const struct oto_params *srv_engine_node_params(const struct srv_engine *engine, uint32_t node);
/* Whose own errors it has: that of the file, or of the swap by which it came. `node` is there. */
struct oto_rng_key srv_engine_node_unit(const struct srv_engine *engine, uint32_t node);
const struct oto_setup *srv_engine_node_setup(const struct srv_engine *engine, uint32_t node);

/* A fault of the node, with a number of its own where the spec has none; NULL when out of memory. Freed by srv_fault_free unless it is posted. */
struct srv_fault *srv_engine_fault_make(struct srv_engine *engine, uint32_t node, const struct srv_fault_spec *spec);

/*
 * A change is made from what the node runs when it is begun. Is another change of that node applied first, the later
 * one is refused with OTO_CONFLICT and nothing is lost: make it again.
 *
 * Makes a change ready off the tick: copies the block, sets one parameter, runs prepare. For a swap: opens the file,
 * compares ports, kind and state version, carries over the parameters, runs prepare. May take milliseconds: these two
 * may be called from a worker thread, one at a time for each node.
 */
enum oto_status srv_change_parameter(const struct srv_engine *engine, uint32_t node, const char *key, const char *yaml,
                                     struct srv_node_change **change, struct oto_error *error);
/* A swap of the plainest kind: parameters carried over, no probe, no shadow, no probation. */
enum oto_status srv_change_plugin(const struct srv_engine *engine, uint32_t node, const char *path,
                                  struct srv_node_change **change, struct oto_error *error);

struct srv_probe_request;
struct srv_probe_result;
typedef enum oto_status srv_probe_function(const struct srv_probe_request *request, struct srv_probe_result *result,
                                           struct oto_error *error);

/* What a node ran before a swap, to go back to. */
struct srv_previous {
    struct oto_plugin *plugin; /* held; NULL: there is nothing */
    struct oto_params params;
    struct oto_setup setup;
    bool has_setup; /* of its own */
};
enum oto_status srv_previous_copy(const struct srv_previous *from, struct srv_previous *to);
/* Where a checkpoint found another plugin in the node's place: what the world's file says; else nothing. */
enum oto_status srv_previous_of_file(const struct srv_engine *engine, uint32_t node, struct srv_previous *previous);
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

/*
 * A swap in steps, so that the live state can be fetched between them: load (worker), post SNAPSHOT where
 * srv_swap_wants_snapshot, ready (worker), post SWAP. On failure of `ready` the change is still to be freed.
 */
enum oto_status srv_swap_load(const struct srv_engine *engine, uint32_t node, const struct srv_swap_options *options,
                              struct srv_node_change **change, struct oto_error *error);
bool srv_swap_wants_snapshot(const struct srv_node_change *change);
enum oto_status srv_swap_ready(const struct srv_engine *engine, struct srv_node_change *change,
                               struct oto_error *error);
/* After the flip: what was done, in words. After the end: how it went. */
void srv_swap_describe(const struct srv_node_change *change, char *text, size_t bytes);
void srv_swap_describe_end(const struct srv_node_change *change, char *text, size_t bytes);
/* The shadow's differences, "" without one. */
void srv_swap_describe_shadow(const struct srv_node_change *change, char *text, size_t bytes);
/* After the end: takes what was replaced out for a later undo; the change is freed as usual. */
enum oto_status srv_swap_previous(const struct srv_node_change *change, struct srv_previous *previous);
/* What a swap is, every wish worked out: to make the same one again. Borrowed from the change. */
struct srv_swap_facts {
    struct oto_plugin *plugin;
    const struct oto_params *params;
    const struct oto_setup *setup; /* of its own; NULL: the node's */
    bool begins_anew;
    uint64_t probation_ticks, shadow_ticks;
    double shadow_tolerance;
};
void srv_swap_tell(const struct srv_node_change *change, struct srv_swap_facts *facts);
/* Frees a change and what it holds. Returns false if a library stayed mapped. */
bool srv_change_free(struct srv_node_change *change);

/*
 * A mailbox for a participant that joins; it takes part after SRV_COMMAND_JOIN. The engine holds it until a LEAVE, or its
 * end, and then the caller closes it. UINT32_MAX and an error that suggests the nearest where there is none of that name.
 */
uint32_t srv_engine_participant_find(const struct srv_engine *engine, const char *name, struct oto_error *error);
const struct srv_participant_config *srv_engine_participant_config(const struct srv_engine *engine,
                                                                   uint32_t participant);
enum oto_status srv_engine_mailbox_create(const struct srv_engine *engine, const struct srv_join *join,
                                          struct srv_mailbox **mailbox, struct oto_error *error);

/* How many clients wait on the tick futex: 0 saves the wake. */
void srv_engine_set_waiters(struct srv_engine *engine, uint32_t waiters);

/*
 * Lossless readers (up to 16). `next[i]` is the first unread seq of channel channels[i]; the tick thread does not
 * overwrite unread records in modes asap and step, waits at most 5 s, then demotes the reader with an event.
 * begin returns a slot, or -1 when all are taken. acknowledge is cheap and lock-free.
 */
int srv_engine_lossless_begin(struct srv_engine *engine, const uint32_t *channels, uint32_t count);
void srv_engine_lossless_acknowledge(struct srv_engine *engine, int slot, const uint64_t *next, uint32_t count);
void srv_engine_lossless_end(struct srv_engine *engine, int slot);

/*
 * 1 + the node whose step the calling thread is in; 0 where it is in none. May be called in a signal handler, for an
 * engine that is being used.
 */
uint32_t srv_engine_stepping_node(const struct srv_engine *engine);
/* Before the start: an event of the world. */
void srv_engine_tell(struct srv_engine *engine, enum oto_event_kind kind, uint32_t severity, const char *source,
                     const char *text);
/* Before the start: takes a node out, as if a step of it had said ERROR, and says why in an event. */
enum oto_status srv_engine_quarantine(struct srv_engine *engine, const char *name, const char *why,
                                      struct oto_error *error);

/* To be called some times a second: names a stuck node in `sentence` (and counts it) once for each stall. */
bool srv_engine_watchdog(struct srv_engine *engine, char *sentence, size_t bytes);
/* So many looks of the watchdog in a row found the same tick under way: unlike time, they stand still with the process. */
uint32_t srv_engine_stuck_looks(const struct srv_engine *engine);

/* A plugin host, as one sees it from outside. */
struct srv_group_facts {
    const char *name;
    uint32_t nodes;
    bool async;
    int64_t budget_ns;
    int32_t pid; /* 0: not running */
    uint64_t restarts, stale;
    uint32_t landlock; /* ABI of the kernel's Landlock that its hosts are under, 0: none is offered */
};

/* Plugin host `index` of the world, false beyond the last; and the topic of its node `member`, NULL beyond. */
bool srv_engine_group(const struct srv_engine *engine, uint32_t index, struct srv_group_facts *facts);
const char *srv_engine_group_node(const struct srv_engine *engine, uint32_t index, uint32_t member);

/* Counters of the main loop's own (clients, publisher restarts, refused swaps): relaxed adds to the segment. */
void srv_engine_count(struct srv_engine *engine, enum oto_counter counter, int64_t delta);

#endif
