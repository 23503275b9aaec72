/* Definitions of the services of a world, as ros2msg texts. Pure data. */
#ifndef OTO_ROS_SERVICE_H
#define OTO_ROS_SERVICE_H

#define OTO_ROS_STEP_REQUEST "uint64 ticks  # then the world pauses\n"
#define OTO_ROS_SET_REQUEST \
    "string node  # car/imu\n" \
    "string param\n" \
    "string value  # YAML, as in a world file\n"
/* Of both. */
#define OTO_ROS_CONTROL_REPLY \
    "bool success\n" \
    "string message\n" \
    "uint64 tick  # from which the change applies\n"

#endif
