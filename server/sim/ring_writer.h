/*
 * Writers of the segment: rings, clock slots, counters and histograms. All [tick], and the tick thread is the only writer
 * of what it writes, so no function here needs an atomic read-modify-write; only srv_count_shared may be called from any
 * thread. The order of stores is the one that segment.h states for its readers.
 */
#ifndef SRV_RING_WRITER_H
#define SRV_RING_WRITER_H

#include "otolith/ring.h"

/* A ring as the tick thread, its only writer, uses it. */
struct srv_ring {
    struct oto_ring *ring;
    unsigned char *slots;
    uint64_t mask;
    uint64_t head; /* seq of the newest record */
    uint32_t stride;
    uint32_t payload_bytes;
    uint64_t unread; /* oldest record that an estimator has not taken, while a checkpoint is saved; 0: none reads it */
};

static inline struct srv_ring srv_ring_make(void *segment, const struct oto_segment_channel *channel)
{
    unsigned char *base = (unsigned char *)segment + channel->ring_offset;
    struct srv_ring ring;
    ring.ring = (struct oto_ring *)(void *)base;
    ring.slots = base + sizeof(struct oto_ring);
    ring.mask = channel->capacity - 1u;
    ring.head = __atomic_load_n(&ring.ring->head, __ATOMIC_RELAXED);
    ring.stride = channel->slot_stride;
    ring.payload_bytes = channel->payload_bytes;
    ring.unread = 0;
    return ring;
}

/* Writes one record; fills head->seq and head->bytes. */
static inline void srv_ring_push(struct srv_ring *ring, struct oto_sample_head *head, const void *payload)
{
    const uint64_t seq = ring->head + 1;
    unsigned char *slot = ring->slots + ((seq - 1) & ring->mask) * ring->stride;
    uint64_t *lock = (uint64_t *)(void *)slot;
    head->seq = seq;
    head->bytes = ring->payload_bytes;
    __atomic_store_n(lock, 2 * seq + 1, OTO_ORDER_STORE_);
    OTO_FENCE_(__ATOMIC_RELEASE);
    oto_words_store(slot + 8, head, sizeof *head);
    oto_words_store(slot + sizeof(struct oto_ring_slot), payload, ring->payload_bytes);
    __atomic_store_n(lock, 2 * seq + 2, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->ring->head, seq, __ATOMIC_RELEASE);
    ring->head = seq;
}

/* Writes the plugin that fills a channel from now on. */
static inline void srv_channel_identify(struct oto_segment_channel *channel, const char *plugin, const char *version,
                                        uint32_t generation)
{
    _Alignas(8) struct oto_channel_identity identity;
    memset(&identity, 0, sizeof identity);
    memcpy(identity.plugin, plugin, strnlen(plugin, sizeof identity.plugin - 1));
    memcpy(identity.plugin_version, version, strnlen(version, sizeof identity.plugin_version - 1));
    const uint32_t lock = __atomic_load_n(&channel->identity_lock, __ATOMIC_RELAXED);
    __atomic_store_n(&channel->identity_lock, lock + 1, OTO_ORDER_STORE_);
    OTO_FENCE_(__ATOMIC_RELEASE);
    oto_words_store(channel->plugin, identity.plugin, sizeof identity.plugin);
    oto_words_store(channel->plugin_version, identity.plugin_version, sizeof identity.plugin_version);
    __atomic_store_n(&channel->generation, generation, OTO_ORDER_STORE_);
    __atomic_store_n(&channel->identity_lock, lock + 2, __ATOMIC_RELEASE);
}

/* Publishes a reading of the clock. */
static inline void srv_clock_publish(struct oto_segment_header *header, const struct oto_clock *clock)
{
    const uint64_t written = __atomic_load_n(&header->clock_head, __ATOMIC_RELAXED) + 1;
    struct oto_clock_slot *slot = &header->clock[(written - 1) % OTO_CLOCK_SLOTS];
    __atomic_store_n(&slot->lock, 2 * written + 1, OTO_ORDER_STORE_);
    OTO_FENCE_(__ATOMIC_RELEASE);
    oto_words_store(&slot->clock, clock, sizeof *clock);
    __atomic_store_n(&slot->lock, 2 * written + 2, __ATOMIC_RELEASE);
    __atomic_store_n(&header->clock_head, written, __ATOMIC_RELEASE);
}

/* Adds to a word that only the tick thread writes. */
static inline void srv_word_add(uint64_t *word, uint64_t delta)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + delta, __ATOMIC_RELAXED);
}

/* [any] Adds to a counter that several threads write. */
static inline void srv_count_shared(struct oto_segment_header *header, enum oto_counter counter, int64_t delta)
{
    (void)__atomic_fetch_add(&header->counter[counter], (uint64_t)delta, __ATOMIC_RELAXED);
}

static inline void srv_histogram_add(struct oto_histogram *histogram, int64_t ns)
{
    const uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    srv_word_add(&histogram->count[oto_histogram_bucket(value)], 1);
    if (value > __atomic_load_n(&histogram->max_ns, __ATOMIC_RELAXED)) {
        __atomic_store_n(&histogram->max_ns, value, __ATOMIC_RELAXED);
    }
}

#endif
