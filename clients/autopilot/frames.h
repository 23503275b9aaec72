/*
 * The order of ArduPilot's frames: UDP loses, repeats and reorders them, and a restarted autopilot counts from zero. Pure.
 */
#ifndef AUTOPILOT_FRAMES_H
#define AUTOPILOT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

enum frame_kind {
    FRAME_NEW = 1,   /* step, and reply */
    FRAME_RESENT,    /* the last frame again, because the reply was lost or slow: send the same reply, do not step */
    FRAME_LATE,      /* arrived after a newer frame: ignore */
    FRAME_RESTARTED  /* first frame of an autopilot that has restarted: step, and reply */
};

struct frames {
    bool has_frame;
    uint64_t peer;  /* address and port */
    uint32_t last_count;
    int64_t last_ns; /* real time of the last new frame */
    uint64_t taken, resent, late, lost, restarts;
};

enum { FRAMES_SILENCE_NS = 500000000 }; /* a lower count from the same address after this silence is a restart */

enum frame_kind frames_take(struct frames *frames, uint64_t peer, uint32_t count, int64_t now_ns);

#endif
