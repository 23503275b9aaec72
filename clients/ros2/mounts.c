#include "mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otolith/records.h"
#include "otolith/vecmath.h"
#include "wire/ros.h"

enum { DEPTH = 1 };

/* Finds the truth channel of a channel's vehicle, whose frame is that of the body. */
static const struct oto_channel *body_of(const struct oto_client *client, const struct oto_channel *channel)
{
    const char *slash = strrchr(channel->node, '/');
    const size_t vehicle = slash != NULL ? (size_t)(slash - channel->node) + 1 : 0;
    for (uint32_t i = 0; vehicle > 0 && i < oto_client_channel_count(client); i++) {
        const struct oto_channel *other = oto_client_channel(client, i);
        if (strncmp(other->node, channel->node, vehicle) == 0 && strchr(other->node + vehicle, '/') == NULL &&
            oto_record_type_hash(&other->type) == oto_record_type_hash(&oto_truth_type)) {
            return other;
        }
    }
    return NULL;
}

static bool is_first_of_node(const struct oto_client *client, uint32_t index)
{
    return index == 0 || strcmp(oto_client_channel(client, index - 1)->node, oto_client_channel(client, index)->node) != 0;
}

struct value {
    double numbers[3];
    bool is_known;
};

static void read_value(void *context, const struct oto_param_info *info)
{
    struct value *value = context;
    value->is_known = sscanf(info->value, "[%lf, %lf, %lf]", &value->numbers[0], &value->numbers[1], &value->numbers[2]) == 3;
}

/* Reads the mount of a node. False: the node is no sensor, or the server does not support mounts. */
static bool read_mount(struct oto_client *client, const char *node, struct oto_ros_transform *transform)
{
    struct value position = {0}, rpy = {0};
    if (oto_control_get(client, node, "mount.position_m", read_value, &position, NULL) != OTO_OK ||
        oto_control_get(client, node, "mount.rpy_deg", read_value, &rpy, NULL) != OTO_OK || !position.is_known || !rpy.is_known) {
        return false;
    }
    transform->translation_m = oto_vec3_make(position.numbers[0], position.numbers[1], position.numbers[2]);
    transform->q_frame_from_child = oto_quat_from_rpy(rpy.numbers[0] * OTO_DEG, rpy.numbers[1] * OTO_DEG, rpy.numbers[2] * OTO_DEG);
    return true;
}

static uint32_t collect(struct oto_client *client, struct oto_ros_transform *transforms)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        const struct oto_channel *body = is_first_of_node(client, i) ? body_of(client, channel) : NULL;
        if (body != NULL && body != channel && read_mount(client, channel->node, &transforms[count])) {
            transforms[count].frame_id = body->frame_id;
            transforms[count].child_frame_id = channel->frame_id;
            count++;
        }
    }
    return count;
}

enum oto_status ros2_mounts_send(struct ros2_node *node, struct oto_client *client, struct oto_error *error)
{
    const struct ros2_type type = {oto_ros_view_name(OTO_ROS_TRANSFORM), oto_ros_view_definition(OTO_ROS_TRANSFORM)};
    struct oto_ros_transform *transforms = calloc(oto_client_channel_count(client) + 1, sizeof *transforms);
    struct oto_buffer message = {0};
    int32_t writer;
    if (transforms == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for the mounts of the sensors");
    }
    enum oto_status status = ros2_node_declare(node, ROS2_PUBLISHER, "/tf_static", &type, DEPTH, true, &writer, error);
    if (status == OTO_OK) {
        const uint32_t count = collect(client, transforms);
        status = oto_ros_transforms_encode(transforms, count, 0, &message);
        status = status == OTO_OK && ros2_write(writer, message.data, message.bytes)
                     ? OTO_OK
                     : oto_fail(error, OTO_INVALID, "Cyclone DDS does not take /tf_static with %u transforms", count);
    }
    oto_buffer_free(&message);
    free(transforms);
    return status;
}
