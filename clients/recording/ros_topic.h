/* Names of ROS topics for otolith's topics: "demo/car/imu.taps" of world "demo" is "/car/imu/taps". Pure. */
#ifndef CLI_ROS_TOPIC_H
#define CLI_ROS_TOPIC_H

#include "otolith/channel.h"

enum { ROS_TOPIC_BYTES = OTO_TOPIC_BYTES + 16 };

void ros_topic(const char *world, const char *topic, char name[ROS_TOPIC_BYTES]);

#endif
