/*
 * The server's shared memory: a sealed segment that holds the world's records (A9); sim/store.h defines its layout. Functions
 * are [loop] unless they state otherwise.
 */
#ifndef SRV_DAEMON_SEGMENT_H
#define SRV_DAEMON_SEGMENT_H

#include "sim/store.h"

/* Identity of a run, which the server chooses. */
struct srv_segment_identity {
    uint64_t epoch;   /* random */
    uint64_t lineage; /* epoch of the run that this run continues after a crash; without one its own epoch */
};

struct srv_segment {
    int fd; /* sealed */
    struct oto_segment_header *header;
    struct oto_segment_channel *directory;
    uint64_t bytes;
    void *reservation; /* the mapping with a PROT_NONE page at each end */
    uint64_t reservation_bytes;
    unsigned char *awake; /* for each channel: 1 if its memory is reserved; atomic, relaxed */
};

/*
 * Makes a segment. Its memory is reserved and touched here, so that a lack of memory is an error now and not SIGBUS later. Of
 * a channel that is asleep only the first page is reserved, because readers access no other page before the channel
 * publishes. On failure everything is freed.
 */
enum oto_status srv_segment_create(const struct srv_segment_plan *plan, const struct srv_segment_identity *identity,
                                   struct srv_segment *segment, struct oto_error *error);
void srv_segment_finish(struct srv_segment *segment); /* NULL and zeroed are allowed */
/* Reserves and touches the memory of a channel, if that has not been done. Any thread except the tick thread. */
enum oto_status srv_segment_wake(const struct srv_segment *segment, uint32_t channel, struct oto_error *error);
/* Makes the simulator's view of the segment; the segment must outlive `store`. */
void srv_segment_store(struct srv_segment *segment, struct srv_store *store);

#endif
