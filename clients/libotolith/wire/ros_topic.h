/* Names of ROS topics for otolith's topics: "demo/car/imu.taps" of world "demo" is "/car/imu/taps". Pure. */
#ifndef OTO_ROS_TOPIC_H
#define OTO_ROS_TOPIC_H

#include "otolith/channel.h"

enum { OTO_ROS_TOPIC_BYTES = OTO_TOPIC_BYTES + 16 };

void oto_ros_topic(const char *world, const char *topic, char name[OTO_ROS_TOPIC_BYTES]);

#endif
