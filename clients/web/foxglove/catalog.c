#include "foxglove/catalog.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    enum oto_ros_view view;
    const char *below; /* "/…": the whole topic; otherwise the last part of a topic below the record's topic */
} views[] = {{OTO_ROS_TRANSFORM, "/tf"},
             {OTO_ROS_ODOMETRY, "odometry"},
             {OTO_ROS_FIX, "fix"},
             {OTO_ROS_PRESSURE, "pressure"},
             {OTO_ROS_LOG, "/rosout"}};
enum { VIEWS = sizeof views / sizeof *views };

static bool add_source(struct fox_channel *channel, const struct oto_channel *source)
{
    const struct oto_channel **more = realloc(channel->sources, (channel->source_count + 1) * sizeof *more);
    if (more == NULL) {
        return false;
    }
    channel->sources = more;
    more[channel->source_count++] = source;
    return true;
}

/* Finds the channel of a topic, or adds one. */
static struct fox_channel *channel_of(struct fox_catalog *catalog, const char *topic, enum oto_ros_view view)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (catalog->channels[i].ros == NULL && strcmp(catalog->channels[i].topic, topic) == 0) {
            return &catalog->channels[i];
        }
    }
    struct fox_channel *made = &catalog->channels[catalog->count++];
    *made = (struct fox_channel){.view = view};
    (void)snprintf(made->topic, sizeof made->topic, "%s", topic);
    return made;
}

static bool add_views(struct fox_catalog *catalog, const char *record_topic, const struct oto_channel *source)
{
    bool good = true;
    for (uint32_t i = 0; i < VIEWS && good; i++) {
        char topic[OTO_ROS_TOPIC_BYTES + 16];
        if (!oto_ros_view_of(views[i].view, &source->type)) {
            continue;
        }
        const bool own = views[i].below[0] == '/';
        (void)snprintf(topic, sizeof topic, "%s%s%s", own ? "" : record_topic, own ? "" : "/", views[i].below);
        good = add_source(channel_of(catalog, topic, views[i].view), source);
    }
    return good;
}

enum oto_status fox_catalog_make(struct fox_catalog *catalog, const struct oto_client *client, struct oto_error *error)
{
    const uint32_t count = oto_client_channel_count(client);
    enum oto_status status = OTO_OK;
    catalog->count = 0;
    catalog->channels = calloc((size_t)count * (1 + VIEWS) + 2, sizeof *catalog->channels);
    if (catalog->channels == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the channels of a viewer");
    }
    for (uint32_t i = 0; i < count && status == OTO_OK; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if ((channel->flags & OTO_CHANNEL_ENABLED) == 0 && (channel->flags & OTO_CHANNEL_EVENTS) == 0) {
            continue;
        }
        struct fox_channel *record = &catalog->channels[catalog->count++];
        char topic[OTO_ROS_TOPIC_BYTES];
        oto_ros_topic(oto_client_header(client)->world, channel->topic, topic);
        (void)snprintf(record->topic, sizeof record->topic, "%s", topic);
        status = oto_ros_type_make(&channel->type, &record->ros, error);
        if (status == OTO_OK && (!add_source(record, channel) || !add_views(catalog, topic, channel))) {
            status = oto_fail(error, OTO_NO_MEMORY, "out of memory for the channels of a viewer");
        }
    }
    (void)channel_of(catalog, "/clock", OTO_ROS_CLOCK);
    (void)channel_of(catalog, "/diagnostics", OTO_ROS_DIAGNOSTICS);
    return status;
}

void fox_catalog_free(struct fox_catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        oto_ros_type_free(catalog->channels[i].ros);
        free(catalog->channels[i].sources);
    }
    free(catalog->channels);
    *catalog = (struct fox_catalog){0};
}

void fox_catalog_advertise(const struct fox_catalog *catalog, struct oto_json *json)
{
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "advertise");
    oto_json_open(json, "channels", '[');
    for (uint32_t i = 0; i < catalog->count; i++) {
        const struct fox_channel *channel = &catalog->channels[i];
        oto_json_open(json, NULL, '{');
        oto_json_u64(json, "id", i);
        oto_json_text(json, "topic", channel->topic);
        oto_json_text(json, "encoding", "cdr");
        oto_json_text(json, "schemaName", channel->ros != NULL ? oto_ros_type_name(channel->ros) : oto_ros_view_name(channel->view));
        oto_json_text(json, "schemaEncoding", "ros2msg");
        oto_json_text(json, "schema", channel->ros != NULL ? oto_ros_type_definition(channel->ros) : oto_ros_view_definition(channel->view));
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

enum oto_status fox_catalog_encode(const struct fox_channel *channel, uint32_t source, const struct oto_sample_head *head,
                                   const void *payload, struct oto_buffer *message)
{
    const struct oto_channel *from = channel->sources[source];
    return channel->ros != NULL ? oto_ros_encode(channel->ros, from->frame_id, head, payload, message)
                                : oto_ros_view_encode(channel->view, &from->type, from->frame_id, head, payload, message);
}
