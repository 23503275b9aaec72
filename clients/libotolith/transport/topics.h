/*
 * The topics that a publisher announced. Its schema arrives repeatedly, in one frame or in several. A frame is kept as
 * long as it is the newest one for some topic. Another epoch or another world clears the list. Pure; one thread.
 */
#ifndef OTO_TOPICS_H
#define OTO_TOPICS_H

#include "otolith/frame.h"

#define OTO_TOPICS_MAX_BYTES (64u << 20) /* limit of the schema frames kept, so that a publisher cannot exhaust a
                                          * subscriber's memory */

struct oto_topics_part; /* a schema frame */

struct oto_topic {
    const struct oto_channel *channel; /* belongs to `part`; its name is the topic */
    struct oto_topics_part *part;
    bool wanted, started;     /* set by the stream; these and the members below stay when the schema changes */
    uint64_t epoch, next_seq; /* of the last sample */
};

struct oto_topics {
    char world[OTO_TOPIC_BYTES];
    uint64_t epoch;
    bool has_schema;             /* a schema was received */
    uint32_t count, total;  /* topics known, and topics that the publisher has */
    struct oto_topic *list; /* sorted by strcmp */
    struct oto_topics_part *parts;
};

void oto_topics_finish(struct oto_topics *topics); /* zeroed is allowed */

/*
 * Takes a schema frame. OTO_OK: the list has changed; OTO_AGAIN: nothing new; OTO_CORRUPT, OTO_LIMIT, OTO_VERSION,
 * OTO_NO_MEMORY: the list is unchanged.
 */
enum oto_status oto_topics_take_schema(struct oto_topics *topics, const void *data, size_t bytes);

struct oto_topic *oto_topics_find(const struct oto_topics *topics, const char *topic);

#endif
