#include "gate/frames.h"

#include <stdlib.h>
#include <string.h>

void srv_frame_release(struct srv_frame *frame)
{
    if (frame != NULL && --frame->references == 0) {
        free(frame);
    }
}

static void drop_oldest(struct srv_frames *frames)
{
    struct srv_frame **slot = &frames->slots[frames->first++ % SRV_FRAMES_MAX];
    frames->bytes -= (*slot)->bytes;
    srv_frame_release(*slot);
    *slot = NULL;
}

void srv_frames_put(struct srv_frames *frames, const void *data, size_t bytes)
{
    const size_t whole = bytes + SRV_FRAME_HEADER_BYTES;
    struct srv_frame *frame = whole <= SRV_FRAMES_MAX_BYTES ? malloc(sizeof *frame + whole) : NULL;
    if (frame == NULL) {
        return;
    }
    frame->references = 1;
    frame->bytes = whole;
    for (int i = 0; i < SRV_FRAME_HEADER_BYTES; i++) {
        frame->data[i] = (unsigned char)((uint64_t)bytes >> (56 - 8 * i));
    }
    memcpy(frame->data + SRV_FRAME_HEADER_BYTES, data, bytes);
    while (frames->next - frames->first == SRV_FRAMES_MAX || frames->bytes + whole > SRV_FRAMES_MAX_BYTES) {
        drop_oldest(frames);
    }
    frames->slots[frames->next++ % SRV_FRAMES_MAX] = frame;
    frames->bytes += whole;
}

struct srv_frame *srv_frames_take(struct srv_frames *frames, uint64_t *cursor)
{
    if (*cursor < frames->first) {
        *cursor = frames->first;
    }
    if (*cursor >= frames->next) {
        return NULL;
    }
    struct srv_frame *frame = frames->slots[(*cursor)++ % SRV_FRAMES_MAX];
    frame->references++;
    return frame;
}

void srv_frames_finish(struct srv_frames *frames)
{
    while (frames->first < frames->next) {
        drop_oldest(frames);
    }
}
