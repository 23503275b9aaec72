#include "frames.h"

static void begin(struct frames *frames, uint64_t peer, uint32_t count, int64_t now_ns)
{
    frames->has_frame = true;
    frames->peer = peer;
    frames->last_count = count;
    frames->last_ns = now_ns;
    frames->taken++;
}

enum frame_kind frames_take(struct frames *frames, uint64_t peer, uint32_t count, int64_t now_ns)
{
    const int32_t ahead = (int32_t)(count - frames->last_count);
    const bool is_silent = now_ns - frames->last_ns > FRAMES_SILENCE_NS;
    if (!frames->has_frame) {
        begin(frames, peer, count, now_ns);
        return FRAME_NEW;
    }
    if (peer != frames->peer || (ahead < 0 && is_silent)) {
        frames->restarts++;
        begin(frames, peer, count, now_ns);
        return FRAME_RESTARTED;
    }
    if (ahead == 0) {
        frames->resent++;
        return FRAME_RESENT;
    }
    if (ahead < 0) {
        frames->late++;
        return FRAME_LATE;
    }
    frames->lost += (uint32_t)ahead - 1;
    begin(frames, peer, count, now_ns);
    return FRAME_NEW;
}
