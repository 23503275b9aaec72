/*
 * The topics that a publisher has told of. Its schema comes in one frame or in several, again and again; a frame is kept
 * as long as it has the last word on a topic. Another run of the server (epoch) or another world begins anew. Pure; one
 * thread.
 */
#ifndef OTO_TOPICS_H
#define OTO_TOPICS_H

#include "otolith/frame.h"

#define OTO_TOPICS_MAX_BYTES (64u << 20) /* of schema frames kept: what a publisher may make a subscriber hold */

struct oto_topics_part; /* a schema frame */

struct oto_topic {
    const struct oto_channel *channel; /* of `part`; its name is the topic's */
    struct oto_topics_part *part;
    bool wanted, started;     /* the stream's, kept over schemas, as are those below */
    uint64_t epoch, next_seq; /* of the last sample */
};

struct oto_topics {
    char world[OTO_TOPIC_BYTES];
    uint64_t epoch;
    bool heard;             /* of a schema at all */
    uint32_t count, total;  /* known, and how many the publisher has */
    struct oto_topic *list; /* in the order of strcmp */
    struct oto_topics_part *parts;
};

void oto_topics_finish(struct oto_topics *topics); /* zeroed is allowed */

/* OTO_OK: the list is another one; OTO_AGAIN: nothing new; OTO_CORRUPT, OTO_LIMIT, OTO_VERSION, OTO_NO_MEMORY: as before. */
enum oto_status oto_topics_take_schema(struct oto_topics *topics, const void *data, size_t bytes);

struct oto_topic *oto_topics_find(const struct oto_topics *topics, const char *topic);

#endif
