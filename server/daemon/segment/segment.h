/*
 * The server's shared memory: a sealed segment that holds the world's records (A9), laid out as sim/store.h says. Building is
 * [loop].
 */
#ifndef SRV_DAEMON_SEGMENT_H
#define SRV_DAEMON_SEGMENT_H

#include "sim/store.h"

/* What only a server knows of its run. */
struct srv_segment_identity {
    uint64_t epoch;   /* random */
    uint64_t lineage; /* epoch of the run that this one continues; its own where there is none */
};

struct srv_segment {
    int fd; /* sealed */
    struct oto_segment_header *header;
    struct oto_segment_channel *directory;
    uint64_t bytes;
    void *reservation; /* the mapping with a PROT_NONE page at either end */
    uint64_t reservation_bytes;
    unsigned char *awake; /* by channel; atomic, relaxed */
};

/*
 * Memory is reserved and touched here, so that a machine without room is an error now and not SIGBUS later; of a channel
 * that is asleep the first page alone, which is all that readers look at while nothing was published. On failure nothing
 * is left behind.
 */
enum oto_status srv_segment_create(const struct srv_segment_plan *plan, const struct srv_segment_identity *identity,
                                   struct srv_segment *segment, struct oto_error *error);
void srv_segment_finish(struct srv_segment *segment); /* NULL and zeroed are allowed */
/* Reserves and touches the memory of a channel, if that has not been done. Any thread but the tick's. */
enum oto_status srv_segment_wake(const struct srv_segment *segment, uint32_t channel, struct oto_error *error);
/* The simulator's view of it; the segment outlives the store. */
void srv_segment_store(struct srv_segment *segment, struct srv_store *store);

#endif
