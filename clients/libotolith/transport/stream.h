/*
 * Turns frames into samples: keeps the schema, selects the requested topics, decodes, and counts lost samples by `seq`.
 * Pure: no socket, no clock; any thread, one stream each.
 */
#ifndef OTO_STREAM_H
#define OTO_STREAM_H

#include "transport/topics.h"

struct oto_stream {
    char asked[OTO_TOPIC_BYTES]; /* "": all topics */
    struct oto_topics topics;
    uint32_t wanted_count;
    struct oto_frame frame; /* the frame that is being read */
    struct oto_topic *topic; /* its topic */
    uint32_t next_sample;
    char frame_id[OTO_WORLD_NAME_BYTES];
    uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
};

enum oto_status oto_stream_init(struct oto_stream *stream, const char *topic, struct oto_error *error);
void oto_stream_finish(struct oto_stream *stream);

/*
 * Passes a frame, which must stay valid until its samples have been taken. OTO_OK: it has samples. OTO_AGAIN: it is a
 * schema, has no requested topic, or needs a newer schema. OTO_CORRUPT and others: it cannot be read.
 */
enum oto_status oto_stream_give(struct oto_stream *stream, const void *data, size_t bytes);
/* Returns OTO_OK, OTO_AGAIN (no sample is left in the frame) or OTO_CORRUPT (the rest of the frame is unreadable). */
enum oto_status oto_stream_take(struct oto_stream *stream, struct oto_wire_sample *sample);
/* The topic of the schema nearest to the requested one; NULL if there is none. */
const char *oto_stream_nearest(const struct oto_stream *stream);

#endif
