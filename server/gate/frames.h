/*
 * The newest frames, shared by all subscribers of otolith-gate. A subscriber that is too slow loses the oldest frames, and
 * detects the loss by `seq`. Memory is limited to SRV_FRAMES_MAX_BYTES for all subscribers, plus one frame for each
 * subscriber: the frame that is being sent. Pure; one thread.
 */
#ifndef SRV_GATE_FRAMES_H
#define SRV_GATE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#define SRV_FRAMES_MAX 16384u
#define SRV_FRAMES_MAX_BYTES (16u << 20)
#define SRV_FRAME_HEADER_BYTES 8 /* the length of a frame on the wire */

struct srv_frame {
    uint32_t references;
    size_t bytes; /* size of `data`: header and frame */
    unsigned char data[];
};

struct srv_frames {
    struct srv_frame *slots[SRV_FRAMES_MAX];
    uint64_t first, next; /* numbers of the oldest frame and of the next frame */
    size_t bytes;
};

/* Adds a frame and drops the oldest ones beyond the limits. Without memory the frame is dropped. */
void srv_frames_put(struct srv_frames *frames, const void *data, size_t bytes);
/* The frame at *cursor, or the oldest frame if that one was dropped; moves the cursor. NULL: there is no newer frame. */
struct srv_frame *srv_frames_take(struct srv_frames *frames, uint64_t *cursor);
void srv_frame_release(struct srv_frame *frame); /* call it for each frame of srv_frames_take; NULL is allowed */
void srv_frames_finish(struct srv_frames *frames);

#endif
