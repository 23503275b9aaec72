/*
 * The memory that holds a world's records: header page, field table, directory of channels, rings (A10). Where everything
 * lies is worked out here; the memory itself is the caller's: a sealed segment of the server, or heap of a process that
 * runs the world for itself. Building is [loop]; afterwards the thread that ticks is the only writer (writer.h).
 */
#ifndef SRV_SIM_STORE_H
#define SRV_SIM_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/segment.h"

/* A channel to be made; becomes one entry of the directory. */
struct srv_channel_spec {
    char topic[OTO_TOPIC_BYTES];
    char node[OTO_TOPIC_BYTES];
    const char *plugin;
    const char *plugin_version;
    const char *frame_id;
    const struct oto_record_type *type;
    uint64_t rate_num, rate_den; /* 0/1 for events */
    uint32_t capacity;           /* wanted slots, rounded up to a power of two; before srv_rings_size those of one second */
    uint32_t least;              /* slots of the ring in a world that is small */
    uint32_t burst;              /* records that may be published at once */
    bool kept;                   /* an estimator reads it: never less than a second */
    uint32_t node_index;
    uint32_t flags;
    bool asleep; /* no memory is reserved for its records before srv_store_reserve */
};

struct srv_segment_plan {
    const char *world;
    uint64_t seed;
    uint64_t rate_num, rate_den;
    const struct srv_channel_spec *channels;
    uint32_t channel_count;
};

/* Pure arithmetic. */
struct srv_layout {
    struct oto_segment_field *fields;      /* heap */
    struct oto_segment_channel *directory; /* heap */
    uint32_t field_count, channel_count;
    uint64_t field_offset, directory_offset, bytes;
    uint64_t awake_bytes; /* up to the first ring without memory, whole pages */
    uint64_t hash;
};

enum oto_status srv_layout_make(const struct srv_segment_plan *plan, struct srv_layout *layout,
                                struct oto_error *error);
void srv_layout_finish(struct srv_layout *layout);

/* Bytes of a ring with at least so many slots. */
uint64_t srv_ring_bytes(uint32_t slots, uint32_t payload_bytes);
struct srv_world_config;
/* Sets the capacity of each channel, from what the world gives or from a budget. */
void srv_rings_size(const struct srv_world_config *config, struct srv_channel_spec *specs, uint32_t count);

struct srv_store {
    struct oto_segment_header *header;
    struct oto_segment_channel *directory;
    uint64_t bytes;
    /* Reserves the memory of a channel, from any thread but the one that ticks. NULL: it is there. */
    enum oto_status (*reserve)(void *context, uint32_t channel, struct oto_error *error);
    void *context;
};

/* Writes header, fields and directory into zeroed memory of layout->bytes; everything but what only a server knows. */
void srv_store_fill(struct srv_store *store, void *memory, const struct srv_segment_plan *plan,
                    const struct srv_layout *layout);
enum oto_status srv_store_reserve(const struct srv_store *store, uint32_t channel, struct oto_error *error);

/* Makes a store for a plan: srv_store_make_heap, or the server's shared segment. `context` is the maker's own. */
typedef enum oto_status srv_store_make_function(void *context, const struct srv_segment_plan *plan,
                                                struct srv_store *store, struct oto_error *error);
/* In memory of this process; `context` is unused. */
srv_store_make_function srv_store_make_heap;
void srv_store_free_heap(struct srv_store *store); /* zeroed is allowed */

#endif
