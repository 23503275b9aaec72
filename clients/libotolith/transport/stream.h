/*
 * From frames to samples: keeps the schema, picks the topics asked for, decodes, and counts by `seq` what never
 * came. Pure: no socket, no clock; any thread, one stream each.
 */
#ifndef OTO_STREAM_H
#define OTO_STREAM_H

#include "transport/topics.h"

struct oto_stream {
    char asked[OTO_TOPIC_BYTES]; /* "": every topic */
    struct oto_topics topics;
    uint32_t wanted_count;
    struct oto_frame frame; /* the one being read */
    struct oto_topic *topic; /* that it is of */
    uint32_t next_sample;
    char frame_id[OTO_WORLD_NAME_BYTES];
    uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
};

enum oto_status oto_stream_init(struct oto_stream *stream, const char *topic, struct oto_error *error);
void oto_stream_finish(struct oto_stream *stream);

/*
 * Gives a frame, which must stay until its samples have been taken. OTO_OK: there are samples; OTO_AGAIN: a schema, or
 * nothing for us, or nothing that can be read before a newer schema; OTO_CORRUPT and others: it cannot be read.
 */
enum oto_status oto_stream_give(struct oto_stream *stream, const void *data, size_t bytes);
/* OTO_OK, OTO_AGAIN (the frame is used up) or OTO_CORRUPT (it ends here). */
enum oto_status oto_stream_take(struct oto_stream *stream, struct oto_wire_sample *sample);
/* A topic of the schema near to the one asked for, NULL if there is none. */
const char *oto_stream_nearest(const struct oto_stream *stream);

#endif
