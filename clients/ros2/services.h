/*
 * The services pause, step and set of a world: a thread with its own client and its own participant, so that a request never delays a
 * topic. Requests and replies have the header of rmw_cyclonedds_cpp: the client's 64-bit name, and the number of the request.
 */
#ifndef ROS2_SERVICES_H
#define ROS2_SERVICES_H

#include "node.h"

struct ros2_services;

/* `name_space`: "" or "/sim". The thread reattaches to each later run of the world until ros2_services_stop. */
enum oto_status ros2_services_start(const struct ros2_node_options *node, const char *name_space, const char *world, struct ros2_services **services,
                                    struct oto_error *error);
/* Ends the thread and waits for it; NULL is allowed. */
void ros2_services_stop(struct ros2_services *services);

#endif
