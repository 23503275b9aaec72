/* Definitions of standard ROS messages, as blocks of a ros2msg text. Pure data. */
#ifndef OTO_ROS_TEXT_H
#define OTO_ROS_TEXT_H

/* clang-format off */
#define OTO_ROS_BLOCK_ "================================================================================\nMSG: "
#define OTO_ROS_TIME OTO_ROS_BLOCK_ "builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
#define OTO_ROS_HEADER OTO_ROS_BLOCK_ "std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n" OTO_ROS_TIME
#define OTO_ROS_VECTOR3 OTO_ROS_BLOCK_ "geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"
#define OTO_ROS_QUATERNION OTO_ROS_BLOCK_ "geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
#define OTO_ROS_SAMPLE_HEAD OTO_ROS_BLOCK_ \
    "otolith_msgs/SampleHead\n" \
    "uint64 seq  # number of this record in its channel, from 1\n" \
    "int64 sensor_time_ns  # reading of the sensor's own clock\n" \
    "uint32 flags  # OTO_SAMPLE_... of otolith/channel.h\n"
/* clang-format on */

#endif
