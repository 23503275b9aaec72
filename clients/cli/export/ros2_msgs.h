/* The ROS 2 package otolith_msgs: the messages of the standard records and of all plugins that are found. */
#ifndef CLI_EXPORT_ROS2_MSGS_H
#define CLI_EXPORT_ROS2_MSGS_H

#include <stdint.h>

#include "otolith/status.h"

/* Makes the folder where it is absent; its files of the same names are replaced. *count: messages. */
enum oto_status export_ros2_msgs(const char *directory, uint32_t *count, struct oto_error *error);

#endif
