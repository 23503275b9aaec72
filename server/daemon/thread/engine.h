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
#include "sim/change.h"
#include "sim/command.h"

struct srv_engine;
struct srv_sim;

struct srv_engine_options {
    bool start_paused;     /* first tick waits for resume or step */
    uint64_t epoch;        /* random, made by the caller */
    uint64_t lineage;      /* epoch of the run that this one continues after a crash; 0: its own */
    bool single_steps;     /* nodes of one plugin are never stepped together */
    int64_t watchdog_ns;   /* 0: max(250 ms, 50 periods) */
    uint64_t journal_every; /* 0: no journal (world/journal.h); else the ticks between its hashes */
    bool trap_exits;        /* a step that ends the process raises SIGSYS (exit_trap.h), which srv_crash_watch handles */
    bool replay;            /* ticks run up to the limit of srv_engine_allow, on the inputs of a log */
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

/* Before the start: restores a saved state (sim/checkpoint.h). After an error the engine can only be destroyed. */
enum oto_status srv_engine_load(struct srv_engine *engine, const void *state, uint64_t bytes, struct oto_error *error);
/* Starts the tick thread. The text, and a REALTIME event, report the real-time rights that it got. */
enum oto_status srv_engine_start(struct srv_engine *engine, char *privileges, size_t privileges_bytes,
                                 struct oto_error *error);

/* The simulator in it; the tick thread's while that runs. */
struct srv_sim *srv_engine_sim(struct srv_engine *engine);

/* The sealed memfd, for SCM_RIGHTS. Owned by the engine. */
int srv_engine_segment_fd(const struct srv_engine *engine);
const struct oto_segment_header *srv_engine_segment(const struct srv_engine *engine);
/*
 * Readable when replies wait, and once when the run has ended or faulted (see header->state); level-triggered until
 * srv_engine_take_reply has returned false.
 */
int srv_engine_notify_fd(const struct srv_engine *engine);

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

/*
 * A swap in steps, so that the live state can be fetched between them: load (worker), post SNAPSHOT where
 * srv_swap_wants_snapshot, ready (worker), post SWAP. On failure of `ready` the change is still to be freed.
 */
enum oto_status srv_swap_load(const struct srv_engine *engine, uint32_t node, const struct srv_swap_options *options,
                              struct srv_node_change **change, struct oto_error *error);
enum oto_status srv_swap_ready(const struct srv_engine *engine, struct srv_node_change *change,
                               struct oto_error *error);
/* After a checkpoint whose node ran another plugin than the world file names: the plugin of the file. Otherwise empty. */
enum oto_status srv_previous_of_file(const struct srv_engine *engine, uint32_t node, struct srv_previous *previous);

/*
 * The index of a participant by its name. On an unknown name UINT32_MAX, and an error that suggests the nearest one.
 */
uint32_t srv_engine_participant_find(const struct srv_engine *engine, const char *name, struct oto_error *error);
const struct srv_participant_config *srv_engine_participant_config(const struct srv_engine *engine,
                                                                   uint32_t participant);
/* A mailbox for a participant that joins. It is used from SRV_COMMAND_JOIN to SRV_COMMAND_LEAVE or the end; then the caller closes it. */
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
/* Before the start: quarantines a node, as after a step with status ERROR, and reports the reason in an event. */
enum oto_status srv_engine_quarantine(struct srv_engine *engine, const char *name, const char *why,
                                      struct oto_error *error);

/* To be called some times a second: names a stuck node in `sentence` (and counts it) once for each stall. */
bool srv_engine_watchdog(struct srv_engine *engine, char *sentence, size_t bytes);
/* Checks of the watchdog in a row that found the same tick running. A stopped process does not count them, unlike time.
 */
uint32_t srv_engine_stuck_looks(const struct srv_engine *engine);

/* Plugin host `index` of the world, false beyond the last; and the topic of its node `member`, NULL beyond. */
struct srv_group_facts;
bool srv_engine_group(const struct srv_engine *engine, uint32_t index, struct srv_group_facts *facts);
const char *srv_engine_group_node(const struct srv_engine *engine, uint32_t index, uint32_t member);

/* Counters of the main loop's own (clients, publisher restarts, refused swaps): relaxed adds to the segment. */
void srv_engine_count(struct srv_engine *engine, enum oto_counter counter, int64_t delta);

#endif
