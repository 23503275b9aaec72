/*
 * The records from which the log of a run is written. The tick thread writes them to one queue, in the order in which they
 * took effect: each command with the boundary at which it was applied, each input of a participant with its tick, and at a
 * fixed period the hash of each node. A replay sends the same inputs to the tick thread, which then advances only as far as
 * the replay has read. An engine has this queue only if its options ask for it.
 */
#ifndef SRV_WORLD_JOURNAL_H
#define SRV_WORLD_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/thread/engine.h"
#include "daemon/participants/participants.h"
#include "base/queue.h"

#define SRV_JOURNAL_RECORDS 4096u
#define SRV_JOURNAL_HASHES 32u /* hashes of nodes in one record */

enum srv_journal_kind {
    SRV_JOURNAL_COMMAND = 1, /* members id, command, status, paced */
    SRV_JOURNAL_INPUT,       /* member input */
    SRV_JOURNAL_HASHES_BEGIN, /* member chain; records SRV_JOURNAL_NODES with the hashes of all nodes follow */
    SRV_JOURNAL_NODES,       /* member hashes: of `count` nodes from index `node` on */
    SRV_JOURNAL_SLOW         /* the probation of `node` ended because its steps took too much real time */
};

struct srv_journal_record {
    uint32_t kind;
    uint32_t node;
    uint32_t count;
    uint32_t command; /* enum srv_command_kind */
    uint32_t status;
    uint32_t paced; /* 1: ticks were paced when the command was applied, which decides how a swap proceeds */
    uint64_t tick; /* number of completed ticks when the record was written */
    uint64_t id;
    uint64_t chain;
    union {
        struct srv_participant_input input;
        uint64_t hashes[SRV_JOURNAL_HASHES];
    };
};

struct srv_journal {
    struct srv_queue queue; /* from the tick thread to the main loop */
    uint64_t every;         /* ticks between two hashes of all nodes */
    uint64_t lost;          /* records that were dropped because the queue was full */
};

struct srv_logged_inputs {
    struct srv_queue queue; /* inputs, from the main loop to the tick thread */
    uint64_t horizon;       /* number of ticks that may be completed */
    uint32_t waits;         /* 1: the tick thread waits at the horizon */
};

/* Whether a command of this kind is logged. */
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
/* Whether an input is valid: its participant exists, moves or controls its vehicle, and all values are finite. */
bool srv_engine_takes_input(const struct srv_engine *engine, const struct srv_participant_input *input);
/* Queues an input of the log for the tick thread. False: the queue is full. */
bool srv_engine_feed(struct srv_engine *engine, const struct srv_participant_input *input);
/* Allows the tick thread to complete ticks up to `tick`; the limit never decreases. */
void srv_engine_allow(struct srv_engine *engine, uint64_t tick);

/* ---- [tick]; without a journal these functions do nothing ---- */

void srv_journal_command(struct srv_engine *engine, const struct srv_command *command, const struct srv_reply *reply);
void srv_journal_input(struct srv_engine *engine, const struct srv_participant_input *input);
void srv_journal_slow(struct srv_engine *engine, uint32_t node);
/* Call it when a tick is complete: writes the hashes if they are due. */
void srv_journal_tick(struct srv_engine *engine);
/* Writes the hashes, also if they are not due. */
void srv_journal_hashes(struct srv_engine *engine);
/* Whether the queue has room for the records of a tick; if not, waits 1 ms. Unpaced worlds call it and so lose no record. */
bool srv_journal_clear(struct srv_engine *engine);

#endif
