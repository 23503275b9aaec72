/*
 * The number of frames that wait for a slow subscriber. nng limits a queue in frames, not in bytes, and shares a frame between the
 * queues, so the queues of all slow subscribers together hold the last `depth` frames. In mode `asap` a frame is a hundred
 * times as large as in real time: the depth falls while the last frames are large. Pure; the caller tells nng.
 *
 * The depth is never a power of two. nng up to 1.11 writes after the end of a full queue that is shortened to a power of two
 * (nni_lmq_resize leaves the place of the next frame at the end, not at the beginning): later the heap is corrupt.
 */
#ifndef SRV_PUBLISH_QUEUE_DEPTH_H
#define SRV_PUBLISH_QUEUE_DEPTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SRV_QUEUE_DEPTH_MIN 15u
#define SRV_QUEUE_DEPTH_MAX 8191u /* the limit of nng is 8192 */
#define SRV_QUEUE_BYTES (24u << 20)
#define SRV_QUEUE_SIZES 8192u /* a power of two, because indices wrap at 2^32 */

struct srv_queue_depth {
    uint32_t wanted, depth; /* frames */
    uint32_t next;          /* place of the next frame in `sizes` */
    uint64_t bytes;         /* sum of the last `depth` frames */
    uint32_t sizes[SRV_QUEUE_SIZES];
};

/* `wanted`: frames to keep while they fit; it is limited to the two limits above. */
void srv_queue_depth_init(struct srv_queue_depth *queue, uint32_t wanted);
/* Counts a frame that is sent. True if `depth` has changed. The last `depth` frames then fit in SRV_QUEUE_BYTES, or `depth` is the least. */
bool srv_queue_depth_count(struct srv_queue_depth *queue, size_t bytes);

#endif
