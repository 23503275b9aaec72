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
    bool start_paused;     /* the first tick waits for resume or step */
    uint64_t epoch;        /* random, made by the caller */
    uint64_t lineage;      /* epoch of the run that this run continues after a crash; 0: this run continues none */
    bool single_steps;     /* nodes of one plugin are never stepped together */
    int64_t watchdog_ns;   /* a tick that takes longer is reported; 0: max(250 ms, 50 periods) */
    int64_t candidate_timeout_ns; /* of a swap in a plugin host without a pace (isolate/isolation.h); 0: 5 s */
    uint64_t journal_every; /* ticks between two hashes of all nodes; 0: nothing is logged (daemon/thread/journal.h) */
    bool trap_exits;        /* a step that ends the process raises SIGSYS (exit_trap.h), which srv_crash_watch handles */
    bool replay;            /* ticks run up to the limit of srv_engine_allow, on the inputs of a log */
};

/*
 * Builds segment, nodes and states; runs prepare and init of every instance; makes no tick. The configuration is
 * borrowed and must outlive the engine. On failure everything is freed.
 */
enum oto_status srv_engine_create(const struct srv_world_config *config, const struct srv_engine_options *options,
                                  oto_warn_function warn, void *warn_context, struct srv_engine **engine,
                                  struct oto_error *error);
/*
 * Stops the tick thread if it runs, and frees the engine; NULL is allowed. If the tick thread is stuck in a plugin for two
 * seconds, the thread and all memory and plugins that it uses stay: then the process should end.
 */
void srv_engine_destroy(struct srv_engine *engine);

/* Before the start: restores a saved state (sim/checkpoint.h). After an error the engine can only be destroyed. */
enum oto_status srv_engine_load(struct srv_engine *engine, const void *state, uint64_t bytes, struct oto_error *error);
/* Starts the tick thread. `privileges`, and a REALTIME event, report the real-time rights that the thread got. */
enum oto_status srv_engine_start(struct srv_engine *engine, char *privileges, size_t privileges_bytes,
                                 struct oto_error *error);

/* The engine's simulator. While the tick thread runs, the simulator belongs to that thread. */
struct srv_sim *srv_engine_sim(struct srv_engine *engine);

/* The sealed memfd, for SCM_RIGHTS. Owned by the engine. */
int srv_engine_segment_fd(const struct srv_engine *engine);
const struct oto_segment_header *srv_engine_segment(const struct srv_engine *engine);
/*
 * A descriptor that is readable when replies wait, and once when the run has ended or faulted (see header->state). It stays
 * readable until srv_engine_take_reply has returned false.
 */
int srv_engine_notify_fd(const struct srv_engine *engine);

/* Sends a command. False: 256 commands are without a taken reply; retry after taking replies. */
bool srv_engine_post(struct srv_engine *engine, const struct srv_command *command);
bool srv_engine_take_reply(struct srv_engine *engine, struct srv_reply *reply);

/* Nodes in tick order; the index is oto_segment_channel.node_index. */
uint32_t srv_engine_node_count(const struct srv_engine *engine);
const struct srv_node_config *srv_engine_node_config(const struct srv_engine *engine, uint32_t node);
/* Finds a node by "world/vehicle/node", "vehicle/node" or a topic alias. UINT32_MAX: none; the error suggests the nearest. */
uint32_t srv_engine_node_find(const struct srv_engine *engine, const char *name, struct oto_error *error);
/* The plugin and parameters that the node runs, as of the replies that the main thread has taken. */
struct oto_plugin *srv_engine_node_plugin(const struct srv_engine *engine, uint32_t node);
const char *srv_engine_node_plugin_path(const struct srv_engine *engine, uint32_t node); /* the plugin's file */
const struct oto_params *srv_engine_node_params(const struct srv_engine *engine, uint32_t node);
/* Key of the unit whose constant errors the node has: of the world file, or of the node's last swap. `node` must exist. */
struct oto_rng_key srv_engine_node_unit(const struct srv_engine *engine, uint32_t node);
const struct oto_setup *srv_engine_node_setup(const struct srv_engine *engine, uint32_t node);

/* Makes a fault of the node, with a new id if the spec has none; NULL: out of memory. Free it by srv_fault_free or post it. */
struct srv_fault *srv_engine_fault_make(struct srv_engine *engine, uint32_t node, const struct srv_fault_spec *spec);

/* If the node runs another plugin of a restored checkpoint, `previous` is the plugin of the world file; otherwise empty. */
void srv_previous_of_file(const struct srv_engine *engine, uint32_t node, struct srv_previous *previous);

/*
 * The index of a participant by its name. On an unknown name UINT32_MAX, and an error that suggests the nearest one.
 */
uint32_t srv_engine_participant_find(const struct srv_engine *engine, const char *name, struct oto_error *error);
const struct srv_participant_config *srv_engine_participant_config(const struct srv_engine *engine,
                                                                   uint32_t participant);
/*
 * Makes a mailbox for a participant that joins. The engine uses it from SRV_COMMAND_JOIN to SRV_COMMAND_LEAVE or the end; then
 * the caller closes it.
 */
enum oto_status srv_engine_mailbox_create(const struct srv_engine *engine, const struct srv_join *join,
                                          struct srv_mailbox **mailbox, struct oto_error *error);

/* Sets the number of clients that wait on the tick futex; with 0 the tick thread makes no wake call. */
void srv_engine_set_waiters(struct srv_engine *engine, uint32_t waiters);

/*
 * Lossless readers (up to 16). `next[i]` is the first unread seq of channel channels[i]; the tick thread does not
 * overwrite unread records in modes asap and step, waits at most 5 s, then demotes the reader with an event.
 * begin returns a slot, or -1 when all are taken; extend adds channels to a reader. acknowledge sets `next` of the channels from
 * `first` on; it is cheap and lock-free.
 */
int srv_engine_lossless_begin(struct srv_engine *engine, const uint32_t *channels, uint32_t count);
bool srv_engine_lossless_extend(struct srv_engine *engine, int slot, const uint32_t *channels, uint32_t count);
void srv_engine_lossless_acknowledge(struct srv_engine *engine, int slot, uint32_t first, const uint64_t *next, uint32_t count);
void srv_engine_lossless_end(struct srv_engine *engine, int slot);

/*
 * 1 + the index of the node whose step the calling thread executes; 0: none. May be called in a signal handler, also while
 * the engine is in use.
 */
uint32_t srv_engine_stepping_node(const struct srv_engine *engine);
/* Before the start: writes an event. */
void srv_engine_tell(struct srv_engine *engine, enum oto_event_kind kind, uint32_t severity, const char *source,
                     const char *text);
/* Before the start: quarantines a node, as after a step with status ERROR, and reports the reason in an event. */
enum oto_status srv_engine_quarantine(struct srv_engine *engine, const char *name, const char *why,
                                      struct oto_error *error);

/* Call it several times a second. True: a tick is stuck, and `sentence` names the node; at most once for each stall. */
bool srv_engine_watchdog(struct srv_engine *engine, char *sentence, size_t bytes);
/* Consecutive calls of srv_engine_watchdog that found the same tick running. Unlike a time, it stands while the process is
 * stopped. */
uint32_t srv_engine_stuck_looks(const struct srv_engine *engine);

/* Facts of plugin host `index`, false: there are fewer hosts; and the topic of its node `member`, NULL: it has fewer nodes. */
struct srv_group_facts;
bool srv_engine_group(const struct srv_engine *engine, uint32_t index, struct srv_group_facts *facts);
const char *srv_engine_group_node(const struct srv_engine *engine, uint32_t index, uint32_t member);

/* Adds to a counter of the main loop (clients, publisher restarts, refused swaps) in the segment, with relaxed order. */
void srv_engine_count(struct srv_engine *engine, enum oto_counter counter, int64_t delta);

#endif
