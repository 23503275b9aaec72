/*
 * A ROS 2 node without ROS: a DDS participant with its writers and readers, under the names, QoS, type hashes and discovery messages
 * of rmw_cyclonedds_cpp. A node belongs to one thread at a time.
 */
#ifndef ROS2_NODE_H
#define ROS2_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

enum { ROS2_NAME_BYTES = 256 }; /* of a topic, with its namespace */

struct ros2_node;

struct ros2_node_options {
    uint32_t domain;
    const char *name_space; /* "/" or "/sim" */
    const char *name;
    uint32_t gid_bytes; /* size of a GID in the discovery message: 16, or 24 for ROS 2 Humble */
};

enum ros2_kind { ROS2_PUBLISHER, ROS2_SUBSCRIPTION, ROS2_REQUESTS, ROS2_REPLIES };

/* A message type: its ROS name and its ros2msg text. */
struct ros2_type {
    const char *name, *definition;
};

enum oto_status ros2_node_open(const struct ros2_node_options *options, struct ros2_node **node, struct oto_error *error);
void ros2_node_close(struct ros2_node *node); /* NULL is allowed */

/*
 * The endpoints of a node are declared between begin and end. An endpoint that was declared with the same topic and type before
 * does not change. `end` removes the endpoints that were not declared again, and announces the others.
 */
void ros2_node_begin(struct ros2_node *node);
enum oto_status ros2_node_end(struct ros2_node *node, struct oto_error *error);
/*
 * `topic`: "/car/imu", or the name of a service. Writers are reliable with `depth` samples of history; `is_latched`: a late reader
 * gets these samples. *endpoint is the argument of write and take; it is valid until an `end` before which it was not declared.
 */
enum oto_status ros2_node_declare(struct ros2_node *node, enum ros2_kind kind, const char *topic, const struct ros2_type *type, int32_t depth,
                                  bool is_latched, int32_t *endpoint, struct oto_error *error);

/* Sends a message without waiting. False: the message was dropped, because a reliable reader does not read. */
bool ros2_write(int32_t endpoint, const void *data, size_t bytes);
/* Bytes of messages that a writer sent once more, because a reader asked for them. */
uint64_t ros2_resent_bytes(int32_t endpoint);
/* Takes a message and the handle of its writer; false: there is none. A message larger than `capacity` gives *bytes 0. */
bool ros2_take(int32_t endpoint, void *data, size_t capacity, size_t *bytes, uint64_t *writer);
/* True if the participant whose writer sent a request reads the replies, or has left. */
bool ros2_is_reply_read(int32_t replies, int32_t requests, uint64_t writer);
/* Waits until a subscription of the node has a message, for at most timeout_ns. */
void ros2_node_wait(struct ros2_node *node, int64_t timeout_ns);

#endif
