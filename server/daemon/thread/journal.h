/*
 * The journal of a run. The tick thread writes one queue, in the order in which things took effect: each command with the
 * tick boundary at which it was applied, each input of a participant with its tick, and at a fixed period the hash of each
 * node. A replay feeds the same records in; the tick thread then advances only as far as the replay has read. An engine
 * has a journal only if it was created with one.
 */
#ifndef SRV_WORLD_JOURNAL_H
#define SRV_WORLD_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/thread/engine.h"
#include "daemon/participants/participants.h"
#include "base/queue.h"

#define SRV_JOURNAL_RECORDS 4096u
#define SRV_JOURNAL_HASHES 32u /* of nodes in a record */

enum srv_journal_kind {
    SRV_JOURNAL_COMMAND = 1, /* id, command, status, node, paced */
    SRV_JOURNAL_INPUT,       /* input */
    SRV_JOURNAL_HASHES_BEGIN, /* chain; records NODES with the hashes of all nodes follow */
    SRV_JOURNAL_NODES,       /* node: the first of `count`; hashes */
    SRV_JOURNAL_SLOW         /* node: its probation ended because real time was too short for it */
};

struct srv_journal_record {
    uint32_t kind;
    uint32_t node;
    uint32_t count;
    uint32_t command; /* enum srv_command_kind */
    uint32_t status;
    uint32_t paced; /* SWAP: it went by the pace of real time (srv_pace_of_change) */
    uint64_t tick; /* completed when it was applied */
    uint64_t id;
    uint64_t chain;
    union {
        struct srv_participant_input input;
        uint64_t hashes[SRV_JOURNAL_HASHES];
    };
};

struct srv_journal {
    struct srv_queue queue; /* tick thread to main loop */
    uint64_t every;         /* ticks between hashes */
    uint64_t lost;          /* records that found no room */
};

struct srv_feed {
    struct srv_queue queue; /* inputs, main loop to tick thread */
    uint64_t horizon;       /* ticks that may be completed */
    uint32_t waits;         /* 1: the tick thread waits at the horizon */
};

/* Whether a command belongs to the story of a run. */
static inline bool srv_journal_tells(enum srv_command_kind kind)
{
    return kind != SRV_COMMAND_EVENT && kind != SRV_COMMAND_SNAPSHOT && kind != SRV_COMMAND_SETTLE &&
           kind != SRV_COMMAND_SAVE;
}

/* ---- [loop] ---- */

enum oto_status srv_journal_make(struct srv_engine *engine, struct oto_error *error);
void srv_journal_drop(struct srv_engine *engine);
bool srv_engine_take_record(struct srv_engine *engine, struct srv_journal_record *record);
uint64_t srv_engine_records_lost(const struct srv_engine *engine);
/* Whether the world has such a participant with such a vehicle, and the truth is one that it may give. */
bool srv_engine_takes_input(const struct srv_engine *engine, const struct srv_participant_input *input);
/* False: there is no room now. */
bool srv_engine_feed(struct srv_engine *engine, const struct srv_participant_input *input);
/* Ticks may be completed up to this one; it never goes back. */
void srv_engine_allow(struct srv_engine *engine, uint64_t tick);

/* ---- [tick]; each does nothing where there is no journal or feed ---- */

void srv_journal_command(struct srv_engine *engine, const struct srv_command *command, const struct srv_reply *reply);
void srv_journal_input(struct srv_engine *engine, const struct srv_participant_input *input);
void srv_journal_slow(struct srv_engine *engine, uint32_t node);
/* A tick is complete, or the world begins. */
void srv_journal_tick(struct srv_engine *engine);
/* The hashes now, also where they are not due. */
void srv_journal_hashes(struct srv_engine *engine);
/* Whether the queue has room for the records of a tick; else waits briefly. In unpaced worlds no record is lost. */
bool srv_journal_clear(struct srv_engine *engine);

/* Whether the tick to come is beyond what the replay knows. */
bool srv_feed_is_dry(const struct srv_engine *engine);
void srv_feed_wait(struct srv_engine *engine);
/* In place of the participants: what they gave for the tick to come. */
void srv_feed_apply(struct srv_engine *engine);

#endif
