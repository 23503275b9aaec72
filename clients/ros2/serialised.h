/*
 * DDS data that are serialised already: a type of Cyclone DDS whose samples are CDR bytes with their encapsulation. The only file with
 * Cyclone's internal headers. Any thread.
 */
#ifndef ROS2_SERIALISED_H
#define ROS2_SERIALISED_H

#include <stddef.h>

#include <dds/dds.h>

/* Makes a topic of a participant. `type`: DDS name as "sensor_msgs::msg::dds_::Imu_". Negative: a return code of DDS. */
dds_entity_t ros2_serialised_topic(dds_entity_t participant, const char *name, const char *type);
/* A return code of DDS. */
dds_return_t ros2_serialised_write(dds_entity_t writer, const void *data, size_t bytes);
/*
 * Takes one sample, and reports its size and its writer. 1: taken; 0: there is none; negative: a return code of DDS. A sample beyond
 * `capacity` is taken with *bytes 0.
 */
int ros2_serialised_take(dds_entity_t reader, void *data, size_t capacity, size_t *bytes, dds_instance_handle_t *writer);

#endif
