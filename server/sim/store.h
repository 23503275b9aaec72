/*
 * The memory that holds a world's records: segment header, field table, directory of channels, rings (A10). The layout is
 * computed here. The memory itself is the caller's: a sealed segment in the server, or heap in a program that runs a world.
 * Building is [loop]; afterwards only the tick thread writes (writer.h).
 */
#ifndef SRV_SIM_STORE_H
#define SRV_SIM_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "otolith/segment.h"

/* The description of a channel, which becomes one entry of the directory. */
struct srv_channel_spec {
    char topic[OTO_TOPIC_BYTES];
    char node[OTO_TOPIC_BYTES];
    const char *plugin;
    const char *plugin_version;
    const char *frame_id;
    const struct oto_record_type *type;
    uint64_t rate_num, rate_den; /* 0/1 for events */
    uint32_t capacity; /* wanted slots, rounded up to a power of two; until srv_rings_size sets it, the slots of one second */
    uint32_t least;              /* least slots of the ring in a small world */
    uint32_t burst;              /* records that may be published at once */
    bool kept;                   /* an estimator reads it: the ring holds at least one second */
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

/* The places of all parts of a segment. Pure arithmetic. */
struct srv_layout {
    struct oto_segment_field *fields;      /* heap */
    struct oto_segment_channel *directory; /* heap */
    uint32_t field_count, channel_count;
    uint64_t field_offset, directory_offset, bytes;
    uint64_t awake_bytes; /* whole pages up to the first ring without memory */
    uint64_t hash;
};

enum oto_status srv_layout_make(const struct srv_segment_plan *plan, struct srv_layout *layout,
                                struct oto_error *error);
void srv_layout_finish(struct srv_layout *layout);

/* Bytes of a ring with at least `slots` slots. */
uint64_t srv_ring_bytes(uint32_t slots, uint32_t payload_bytes);
struct srv_world_config;
/* Sets the capacity of each channel, from the world file or from a budget of memory. */
void srv_rings_size(const struct srv_world_config *config, struct srv_channel_spec *specs, uint32_t count);

struct srv_store {
    struct oto_segment_header *header;
    struct oto_segment_channel *directory;
    uint64_t bytes;
    /* Reserves the memory of a channel; called in any thread except the tick thread. NULL: all memory is there. */
    enum oto_status (*reserve)(void *context, uint32_t channel, struct oto_error *error);
    void *context;
};

/*
 * Writes header, fields and directory into zeroed memory of layout->bytes, except the members that only a server can set.
 */
void srv_store_fill(struct srv_store *store, void *memory, const struct srv_segment_plan *plan,
                    const struct srv_layout *layout);
enum oto_status srv_store_reserve(const struct srv_store *store, uint32_t channel, struct oto_error *error);

/*
 * Makes the store of a plan: srv_store_make_heap, or the server's shared segment. `context` is passed on to the function.
 */
typedef enum oto_status srv_store_make_function(void *context, const struct srv_segment_plan *plan,
                                                struct srv_store *store, struct oto_error *error);
/* Makes a store on the heap; `context` is unused. */
srv_store_make_function srv_store_make_heap;
void srv_store_free_heap(struct srv_store *store); /* zeroed is allowed */

#endif
