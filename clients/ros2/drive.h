/*
 * Vehicles whose truth a participant gives, driven by geometry_msgs/msg/TwistStamped on /VEHICLE/cmd_vel: a thread that takes part in
 * the world, with its own participant of DDS. A command holds for half a simulated second; then the vehicle stops.
 */
#ifndef ROS2_DRIVE_H
#define ROS2_DRIVE_H

#include "node.h"

struct ros2_drive_options {
    const char *world;
    const char *participant; /* name in the world file */
    const char *name_space;  /* "" or "/sim" */
};

struct ros2_drive;

/* Starts a thread that joins the world, and each later run of it, until ros2_drive_stop. The names are borrowed. */
enum oto_status ros2_drive_start(const struct ros2_node_options *node, const struct ros2_drive_options *options, struct ros2_drive **drive,
                                 struct oto_error *error);
/* Ends the thread and waits for it; NULL is allowed. */
void ros2_drive_stop(struct ros2_drive *drive);

#endif
