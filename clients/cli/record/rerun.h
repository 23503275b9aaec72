/*
 * A world that runs again from a log of inputs, on the simulator library: each input is applied at its tick, and the hash
 * chain is compared where the log has it. No server, no clock. One thread.
 */
#ifndef CLI_RECORD_RERUN_H
#define CLI_RECORD_RERUN_H

#include "cli.h"
#include "otolith/sim.h"
#include "record/unpacked.h"

struct rerun;

struct rerun_facts {
    uint64_t inputs;         /* applied */
    uint64_t hashes;         /* number of hashes that were compared and equal */
    bool differs;            /* a hash was compared and not equal */
    uint64_t differs_tick;
    bool inputs_unknown;     /* the world wrote no log: only its start is known */
    uint64_t last_tick;      /* of the log */
    bool world_changed;      /* the world file has changed since the recording; the recorded text was used */
    char other_plugin[96];   /* a node whose plugin is another build than the recorded one; "" if there is none */
};

/* The parts of a recording from which a world runs again. */
struct rerun_source {
    const char *inputs; /* the log's text */
    size_t inputs_bytes;
    const char *world; /* the recorded world file; NULL: none */
    size_t world_bytes;
    const struct unpacked *files; /* files that the world names */
};
enum oto_status rerun_open(const struct rerun_source *source, struct rerun **rerun, struct oto_error *error);
void rerun_close(struct rerun *rerun); /* NULL is allowed */
struct oto_sim *rerun_sim(const struct rerun *rerun);
const struct rerun_facts *rerun_facts(const struct rerun *rerun);
/* Applies the inputs of this boundary and makes one tick. OTO_CLOSED: the world has reached its end. */
enum oto_status rerun_tick(struct rerun *rerun, struct oto_error *error);
/* One record of a channel by its seq. OTO_AGAIN: not computed yet; OTO_LAPPED: no longer in memory. */
enum oto_status rerun_record(const struct rerun *rerun, uint32_t channel, uint64_t seq, struct oto_sample_head *head,
                             void *payload);

#endif
