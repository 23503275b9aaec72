/*
 * /clock: a thread with its own client and its own participant, so that it never waits for the other topics. It sends the simulated
 * time at most 250 times a second, and once at each pause and step.
 */
#ifndef ROS2_CLOCK_H
#define ROS2_CLOCK_H

#include "node.h"

struct ros2_clock;

/* Starts the thread. It reattaches to each later run of the world until ros2_clock_stop. */
enum oto_status ros2_clock_start(const struct ros2_node_options *node, const char *world, struct ros2_clock **clock, struct oto_error *error);
/* Ends the thread and waits for it; NULL is allowed. */
void ros2_clock_stop(struct ros2_clock *clock);

#endif
