/*
 * The rings of the segment: their layout, and how a reader gets records from them. Each channel has one ring with one writer,
 * the tick thread; readers write nothing, so that any number of them reads without an effect on a tick. A reader that is
 * slower than the ring counts the records that it lost.
 */
#ifndef OTOLITH_RING_H
#define OTOLITH_RING_H

#include "otolith/segment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The head of a ring. Slots follow at the next multiple of 64. */
struct oto_ring {
    uint64_t head;   /* seq of the newest complete record, 0 before the first; release */
    uint64_t first;  /* oldest record of a run that continues from a checkpoint; 0: record 1 */
    uint64_t reserved[6];
};

/* A slot: lock = 2·seq + 1 while record `seq` is written, 2·seq + 2 when it may be read; then head, then payload. */
struct oto_ring_slot {
    uint64_t lock;
    struct oto_sample_head head;
    /* payload words follow */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct oto_ring) == 64 && sizeof(struct oto_ring_slot) == 40, "segment layout");
#endif

/* A ring for a reader; made once from a checked directory entry. */
struct oto_ring_view {
    const struct oto_ring *ring;
    const unsigned char *slots;
    uint64_t mask;
    uint32_t stride;
    uint32_t payload_bytes;
};

static inline struct oto_ring_view oto_ring_view_make(const void *segment, const struct oto_segment_channel *channel)
{
    const unsigned char *base = (const unsigned char *)segment + channel->ring_offset;
    struct oto_ring_view view;
    view.ring = (const struct oto_ring *)(const void *)base;
    view.slots = base + sizeof(struct oto_ring);
    view.mask = channel->capacity - 1u;
    view.stride = channel->slot_stride;
    view.payload_bytes = channel->payload_bytes;
    return view;
}

/* Seq of the newest complete record, 0 before the first. */
static inline uint64_t oto_ring_newest(const struct oto_ring_view *view)
{
    return __atomic_load_n(&view->ring->head, __ATOMIC_ACQUIRE);
}

/*
 * Reads record `seq` if it is still in the ring. `payload` has room for view->payload_bytes. OTO_OK, OTO_AGAIN (not
 * written yet) or OTO_LAPPED (overwritten); with the latter two the outputs are undefined. Nothing is ever written
 * beyond OTO_SEQ_MAX.
 */
static inline enum oto_status oto_ring_read_at(const struct oto_ring_view *view, uint64_t seq,
                                               struct oto_sample_head *head, void *payload)
{
    const unsigned char *slot = view->slots + ((seq - 1) & view->mask) * view->stride;
    const uint64_t *lock = (const uint64_t *)(const void *)slot;
    const uint64_t wanted = 2 * seq + 2;
    const uint64_t before = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
    if (before != wanted || seq > OTO_SEQ_MAX) {
        return before < wanted || seq > OTO_SEQ_MAX ? OTO_AGAIN : OTO_LAPPED;
    }
    oto_words_load(head, slot + 8, sizeof *head);
    oto_words_load(payload, slot + sizeof(struct oto_ring_slot), view->payload_bytes);
    OTO_FENCE_(__ATOMIC_ACQUIRE);
    return __atomic_load_n(lock, OTO_ORDER_LOAD_) == wanted ? OTO_OK : OTO_LAPPED;
}

/* The position of a reader in a channel. */
struct oto_cursor {
    uint64_t next; /* seq of the next record to read, from 1 */
    uint64_t lost; /* records overwritten before they were read, exact */
};

/*
 * Reads the next record in order. OTO_OK; OTO_AGAIN: nothing new, or overwritten during each attempt; OTO_CORRUPT:
 * impossible numbers in the ring. After a loss the cursor moves past the lost records or to the oldest safe record, and
 * counts them.
 */
static inline enum oto_status oto_ring_next(const struct oto_ring_view *view, struct oto_cursor *cursor,
                                            struct oto_sample_head *head, void *payload)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        const uint64_t newest = oto_ring_newest(view);
        if (cursor->next > newest) {
            return OTO_AGAIN;
        }
        if (newest > OTO_SEQ_MAX || view->ring->first > newest + 1) {
            return OTO_CORRUPT;
        }
        if (cursor->next < view->ring->first) {
            cursor->lost += view->ring->first - cursor->next;
            cursor->next = view->ring->first;
        }
        /* One eighth of the ring stays as a margin, so that a lapped reader is not lapped again immediately. */
        const uint64_t behind = newest - cursor->next;
        if (behind > view->mask) {
            const uint64_t target = newest - (view->mask - view->mask / 8);
            cursor->lost += target - cursor->next;
            cursor->next = target;
        }
        const enum oto_status status = oto_ring_read_at(view, cursor->next, head, payload);
        if (status == OTO_OK) {
            cursor->next++;
            return OTO_OK;
        }
        if (status == OTO_LAPPED) { /* a writer that died while overwriting this record never moves the head */
            cursor->next++;
            cursor->lost++;
        }
    }
    return OTO_AGAIN;
}

/*
 * Reads the newest record, or the previous one while the newest is being replaced. OTO_OK, OTO_AGAIN, or OTO_CORRUPT as
 * above.
 */
static inline enum oto_status oto_ring_latest(const struct oto_ring_view *view, struct oto_sample_head *head,
                                              void *payload)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        const uint64_t newest = oto_ring_newest(view);
        if (newest == 0 || newest > OTO_SEQ_MAX) {
            return newest == 0 ? OTO_AGAIN : OTO_CORRUPT;
        }
        if (oto_ring_read_at(view, newest, head, payload) == OTO_OK) {
            return OTO_OK;
        }
    }
    return OTO_AGAIN;
}

#ifdef __cplusplus
}
#endif

#endif
