/*
 * Records as ROS 2 messages: CDR (XCDR1, little-endian) and the schema text "ros2msg", both made from the field table.
 *
 * An `imu` is sensor_msgs/msg/Imu and a `mag` sensor_msgs/msg/MagneticField, field by field. Every other record becomes
 * otolith_msgs/msg/<Type>: std_msgs/Header header, otolith_msgs/SampleHead otolith (seq, time of the sensor's clock, flags),
 * then its fields; a group x, y, z of doubles is geometry_msgs/Vector3, and with w geometry_msgs/Quaternion. Encoding and
 * decoding lose nothing but the sample head of the two standard messages, which the record `head` holds (oto_ros_head_type).
 *
 * The views at the end are standard messages beside a record, for programs that know these only. Pure: any thread.
 */
#ifndef OTO_ROS_H
#define OTO_ROS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/channel.h"
#include "otolith/frame.h"
#include "otolith/status.h"
#include "otolith/vecmath.h"

#define OTO_ROS_WORLD_FRAME "map" /* the world's ENU axes, as REP 105 names them */

#define OTO_ROS_START_FRAME "odom" /* axes of the body at the start, for wheel encoders */

struct oto_ros_type;

/* Makes the ROS message of a record type. The fields of `type` are borrowed. */
enum oto_status oto_ros_type_make(const struct oto_record_type *type, struct oto_ros_type **ros, struct oto_error *error);
void oto_ros_type_free(struct oto_ros_type *ros); /* NULL is allowed */
const char *oto_ros_type_name(const struct oto_ros_type *ros);       /* "sensor_msgs/msg/Imu" */
const char *oto_ros_type_definition(const struct oto_ros_type *ros); /* the ros2msg text, with all messages that it uses */
/* False for a standard message, which does not have the seq, sensor time and flags of the sample head. */
bool oto_ros_type_has_sample_head(const struct oto_ros_type *ros);

/* Replaces the contents of `to`. OTO_RANGE: the time does not fit the 32 bits of a ROS stamp's seconds. */
enum oto_status oto_ros_encode(const struct oto_ros_type *ros, const char *frame_id, const struct oto_sample_head *head,
                               const void *payload, struct oto_buffer *to);
/*
 * Decodes a message. If the message has no sample head, only head->t_ns and head->bytes are set. OTO_CORRUPT: the bytes are
 * not a message of this type.
 */
enum oto_status oto_ros_decode(const struct oto_ros_type *ros, const void *data, size_t bytes, struct oto_sample_head *head,
                               void *payload);

/* A record type without fields: its message has only the sample head. */
extern const struct oto_record_type oto_ros_head_type;

/* ---- views ---- */

enum oto_ros_view {
    OTO_ROS_CLOCK,      /* rosgraph_msgs/msg/Clock: head->t_ns */
    OTO_ROS_TRANSFORM,  /* tf2_msgs/msg/TFMessage of a truth: the body in the world */
    OTO_ROS_ODOMETRY,   /* nav_msgs/msg/Odometry of a truth, an estimate, a wheel odometry or wheel encoders */
    OTO_ROS_FIX,        /* sensor_msgs/msg/NavSatFix of a navsat */
    OTO_ROS_PRESSURE,   /* sensor_msgs/msg/FluidPressure of a pressure */
    OTO_ROS_LOG,        /* rcl_interfaces/msg/Log of an event */
    OTO_ROS_DIAGNOSTICS /* diagnostic_msgs/msg/DiagnosticArray: struct oto_ros_diagnostics */
};
const char *oto_ros_view_name(enum oto_ros_view view);
const char *oto_ros_view_definition(enum oto_ros_view view);
/* True if a record of this type has the view. */
bool oto_ros_view_of(enum oto_ros_view view, const struct oto_record_type *type);

/* One transform of a tf2_msgs/msg/TFMessage. */
struct oto_ros_transform {
    const char *frame_id, *child_frame_id;
    oto_vec3 translation_m;
    oto_quat q_frame_from_child;
};
enum oto_status oto_ros_transforms_encode(const struct oto_ros_transform *transforms, uint32_t count, int64_t t_ns, struct oto_buffer *to);

/* The contents of a DiagnosticArray: statuses, each with pairs of texts. */
enum { OTO_ROS_OK = 0, OTO_ROS_WARN = 1, OTO_ROS_ERROR = 2 };
struct oto_ros_fact {
    const char *key;
    char value[48];
};
struct oto_ros_status {
    const char *name, *message;
    uint8_t level;
    const struct oto_ros_fact *facts;
    uint32_t count;
};
struct oto_ros_diagnostics {
    const struct oto_ros_status *statuses;
    uint32_t count;
};
/* Encodes a view. `frame_id`: that of the record's channel. */
enum oto_status oto_ros_view_encode(enum oto_ros_view view, const struct oto_record_type *type, const char *frame_id,
                                    const struct oto_sample_head *head, const void *payload, struct oto_buffer *to);

#endif
