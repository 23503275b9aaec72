/*
 * The type hash of a ROS 2 message (RIHS01, REP 2016): SHA-256 of the message's description as JSON. Made from its ros2msg text, so that
 * the field table stays the only description of a record. Pure.
 */
#ifndef ROS2_TYPE_HASH_H
#define ROS2_TYPE_HASH_H

#include "otolith/status.h"

enum { ROS2_TYPE_HASH_BYTES = 72 }; /* "RIHS01_", 64 digits and a NUL */

/* `name`: "sensor_msgs/msg/Imu"; `definition`: with all messages that it uses. OTO_CORRUPT: it is not such a text. */
enum oto_status ros2_type_hash(const char *name, const char *definition, char hash[ROS2_TYPE_HASH_BYTES], struct oto_error *error);

#endif
