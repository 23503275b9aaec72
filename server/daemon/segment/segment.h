/*
 * The world segment from the writer's side: its layout from a list of channels, and the sealed memory that holds it
 * (A9, A10). Building is [loop]; afterwards the tick thread alone writes (see writer.h), except for the counters.
 */
#ifndef SRV_SHM_SEGMENT_H
#define SRV_SHM_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/segment.h"

/* What a channel is to be; becomes one entry of the directory. */
struct srv_channel_spec {
    char topic[OTO_TOPIC_BYTES];
    char node[OTO_TOPIC_BYTES];
    const char *plugin;
    const char *plugin_version;
    const char *frame_id;
    const struct oto_record_type *type;
    uint64_t rate_num, rate_den; /* 0/1 for events */
    uint32_t capacity;           /* wanted slots; rounded up to a power of two */
    uint32_t node_index;
    uint32_t flags;
    bool asleep; /* memory for its records is not reserved before srv_segment_wake */
};

struct srv_segment_plan {
    const char *world;
    uint64_t epoch, lineage, seed;
    uint64_t rate_num, rate_den;
    const struct srv_channel_spec *channels;
    uint32_t channel_count;
};

/* Where everything comes to lie; pure arithmetic. */
struct srv_layout {
    struct oto_segment_field *fields;      /* heap */
    struct oto_segment_channel *directory; /* heap */
    uint32_t field_count;
    uint64_t field_offset, directory_offset, bytes;
    uint64_t hash;
};

enum oto_status srv_layout_make(const struct srv_segment_plan *plan, struct srv_layout *layout,
                                struct oto_error *error);
void srv_layout_finish(struct srv_layout *layout);

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
enum oto_status srv_segment_create(const struct srv_segment_plan *plan, struct srv_segment *segment,
                                   struct oto_error *error);
void srv_segment_finish(struct srv_segment *segment); /* NULL and zeroed are allowed */
/* Reserves and touches the memory of a channel, if that has not been done. Any thread but the tick's. */
enum oto_status srv_segment_wake(const struct srv_segment *segment, uint32_t channel, struct oto_error *error);

#endif
