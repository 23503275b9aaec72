/*
 * A single-producer, single-consumer queue of items of fixed size between the main thread and the tick thread, without
 * locks or allocation. The producer owns `tail`, the consumer owns `head`.
 */
#ifndef SRV_WORLD_QUEUE_H
#define SRV_WORLD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct srv_queue {
    _Alignas(64) uint64_t head;
    _Alignas(64) uint64_t tail;
    _Alignas(64) unsigned char *items;
    uint64_t capacity; /* a power of two */
    uint64_t item_bytes;
};

static inline bool srv_queue_push(struct srv_queue *queue, const void *item)
{
    const uint64_t tail = __atomic_load_n(&queue->tail, __ATOMIC_RELAXED);
    if (tail - __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) == queue->capacity) {
        return false;
    }
    memcpy(queue->items + (tail & (queue->capacity - 1)) * queue->item_bytes, item, queue->item_bytes);
    __atomic_store_n(&queue->tail, tail + 1, __ATOMIC_RELEASE);
    return true;
}

static inline bool srv_queue_is_empty(const struct srv_queue *queue)
{
    return __atomic_load_n(&queue->head, __ATOMIC_RELAXED) == __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE);
}

static inline bool srv_queue_pop(struct srv_queue *queue, void *item)
{
    const uint64_t head = __atomic_load_n(&queue->head, __ATOMIC_RELAXED);
    if (head == __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE)) {
        return false;
    }
    memcpy(item, queue->items + (head & (queue->capacity - 1)) * queue->item_bytes, queue->item_bytes);
    __atomic_store_n(&queue->head, head + 1, __ATOMIC_RELEASE);
    return true;
}

#endif
