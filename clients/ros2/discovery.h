/*
 * The graph message of ROS 2: rmw_dds_common/msg/ParticipantEntitiesInfo, by which `ros2 node list` knows a participant's nodes and
 * their endpoints. Pure.
 */
#ifndef ROS2_DISCOVERY_H
#define ROS2_DISCOVERY_H

#include "otolith/frame.h"
#include "wire/cdr.h"

#define ROS2_DISCOVERY_TOPIC "ros_discovery_info"
#define ROS2_DISCOVERY_TYPE "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"

enum { ROS2_GUID_BYTES = 16, ROS2_MOST_GID_BYTES = 24, ROS2_MOST_NODE_NAME_BYTES = 256 };

struct ros2_discovery {
    struct oto_buffer buffer;
    struct oto_cdr_writer writer;
};

/* Begins a message. `gids`: the greatest number of GIDs that follow. */
static inline enum oto_status ros2_discovery_begin(struct ros2_discovery *message, size_t gids)
{
    return oto_cdr_begin(&message->writer, &message->buffer, 2 * ROS2_MOST_NODE_NAME_BYTES + 64 + gids * ROS2_MOST_GID_BYTES);
}

static inline void ros2_discovery_free(struct ros2_discovery *message)
{
    free(message->buffer.data);
}

/* Puts a GUID as the first bytes of a GID; the other bytes are 0. */
static inline void ros2_discovery_put_gid(struct ros2_discovery *message, const unsigned char guid[ROS2_GUID_BYTES], uint32_t gid_bytes)
{
    unsigned char gid[ROS2_MOST_GID_BYTES] = {0};
    memcpy(gid, guid, ROS2_GUID_BYTES);
    oto_cdr_put(&message->writer, 1, gid, gid_bytes);
}

static inline void ros2_discovery_put_count(struct ros2_discovery *message, uint32_t count)
{
    oto_cdr_put_u32(&message->writer, count);
}

/* Puts the only node of the participant. The caller then puts the counts and GIDs of its readers and writers. */
static inline void ros2_discovery_put_node(struct ros2_discovery *message, const char *name_space, const char *name)
{
    ros2_discovery_put_count(message, 1);
    oto_cdr_put_text(&message->writer, name_space, strnlen(name_space, ROS2_MOST_NODE_NAME_BYTES - 1));
    oto_cdr_put_text(&message->writer, name, strnlen(name, ROS2_MOST_NODE_NAME_BYTES - 1));
}

#endif
