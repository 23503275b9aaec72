/* /tf_static: where the sensors of each vehicle are, in its body axes. */
#ifndef ROS2_MOUNTS_H
#define ROS2_MOUNTS_H

#include "node.h"
#include "otolith/client.h"

/* Declares /tf_static and sends it, between begin and end of the node. Sensors without a known mount are left out. */
enum oto_status ros2_mounts_send(struct ros2_node *node, struct oto_client *client, struct oto_error *error);

#endif
