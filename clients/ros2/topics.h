/*
 * The channels of a run as ROS 2 topics: each record as its message, the standard messages beside it, and /tf. Reads the rings and
 * writes to DDS. One thread.
 */
#ifndef ROS2_TOPICS_H
#define ROS2_TOPICS_H

#include "node.h"
#include "otolith/client.h"

#define ROS2_MOST_PATTERNS 64

struct ros2_topics_options {
    const char *name_space; /* "" or "/sim", before each topic but /tf */
    const char *only[ROS2_MOST_PATTERNS];
    uint32_t only_count; /* 0: all topics */
};

struct ros2_topics_counts {
    uint64_t sent, dropped; /* messages */
    uint64_t resent_bytes;  /* once more, to readers that missed messages of this run's topics */
    uint64_t lost;          /* records that were overwritten in their ring before they were read */
    uint64_t out_of_range;  /* records whose time a ROS stamp cannot have */
};

struct ros2_topics;

struct ros2_topics *ros2_topics_create(const struct ros2_topics_options *options, struct ros2_node *node); /* NULL: no memory */
void ros2_topics_destroy(struct ros2_topics *topics); /* NULL is allowed */
/*
 * Declares the topics of the client's run; they replace those of the previous run. In the first run only records
 * from now on are sent, and all events; in later runs all records that were not read already.
 */
enum oto_status ros2_topics_open(struct ros2_topics *topics, struct oto_client *client, struct oto_error *error);
/* Sends all new records. */
void ros2_topics_pass(struct ros2_topics *topics);
void ros2_topics_count(const struct ros2_topics *topics, struct ros2_topics_counts *counts);

#endif
