#include "publish/queue_depth.h"

#define PLACE(N) ((N) % SRV_QUEUE_SIZES)

/* The nearest depth that is allowed: see queue_depth.h. */
static uint32_t allowed(uint32_t depth)
{
    const uint32_t limited = depth < SRV_QUEUE_DEPTH_MIN ? SRV_QUEUE_DEPTH_MIN : depth > SRV_QUEUE_DEPTH_MAX ? SRV_QUEUE_DEPTH_MAX : depth;
    return (limited & (limited - 1)) == 0 ? limited - 1 : limited;
}

void srv_queue_depth_init(struct srv_queue_depth *queue, uint32_t wanted)
{
    *queue = (struct srv_queue_depth){.wanted = allowed(wanted), .depth = allowed(wanted)};
}

static uint64_t last(const struct srv_queue_depth *queue, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 1; i <= count; i++) {
        bytes += queue->sizes[PLACE(queue->next - i)];
    }
    return bytes;
}

static void set_depth(struct srv_queue_depth *queue, uint32_t depth)
{
    queue->depth = depth;
    queue->bytes = last(queue, depth);
}

bool srv_queue_depth_count(struct srv_queue_depth *queue, size_t bytes)
{
    const uint32_t before = queue->depth;
    const uint32_t size = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    queue->bytes += size - (uint64_t)queue->sizes[PLACE(queue->next - queue->depth)];
    queue->sizes[queue->next] = size;
    queue->next = PLACE(queue->next + 1);
    while (queue->bytes > SRV_QUEUE_BYTES && queue->depth > SRV_QUEUE_DEPTH_MIN) {
        set_depth(queue, allowed(queue->depth / 2));
    }
    /* Grows much later than it falls, so that it does not change with every frame. */
    if (queue->depth == before && before < queue->wanted && queue->bytes < SRV_QUEUE_BYTES / 8) {
        const uint32_t more = allowed(2 * before < queue->wanted ? 2 * before : queue->wanted);
        if (last(queue, more) < SRV_QUEUE_BYTES / 2) {
            set_depth(queue, more);
        }
    }
    return queue->depth != before;
}
