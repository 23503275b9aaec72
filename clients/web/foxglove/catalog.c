#include "foxglove/catalog.h"

#include <stdlib.h>
#include <string.h>

#define PART_BYTES (256u << 10) /* a part of a list of channels ends beyond it */

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

static struct fox_channel *add_view(struct fox_catalog *catalog, const char *topic, enum oto_ros_view view)
{
    struct fox_channel *made = &catalog->channels[catalog->count++];
    *made = (struct fox_channel){.view = view};
    (void)snprintf(made->topic, sizeof made->topic, "%s", topic);
    return made;
}

/* The channel of a view that all records share. */
static struct fox_channel *shared_view(struct fox_catalog *catalog, const char *topic, enum oto_ros_view view)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        if (catalog->channels[i].ros == NULL && catalog->channels[i].view == view) {
            return &catalog->channels[i];
        }
    }
    return add_view(catalog, topic, view);
}

static bool add_views(struct fox_catalog *catalog, const char *record_topic, const struct oto_channel *source)
{
    bool good = true;
    for (uint32_t i = 0; i < VIEWS && good; i++) {
        char topic[OTO_ROS_TOPIC_BYTES + 16];
        if (!oto_ros_view_of(views[i].view, &source->type)) {
            continue;
        }
        const bool shared = views[i].below[0] == '/';
        (void)snprintf(topic, sizeof topic, "%s/%s", record_topic, views[i].below);
        good = add_source(shared ? shared_view(catalog, views[i].below, views[i].view) : add_view(catalog, topic, views[i].view), source);
    }
    return good;
}

static enum oto_status find_type(struct fox_catalog *catalog, const struct oto_channel *channel, const struct oto_ros_type **ros,
                                 struct oto_error *error)
{
    uint32_t i = 0;
    while (i < catalog->type_count && catalog->types[i].hash != channel->type_hash) {
        i++;
    }
    if (i == catalog->type_count) {
        struct fox_type *more = realloc(catalog->types, (i + 1) * sizeof *more);
        if (more == NULL) {
            return oto_fail(error, OTO_NO_MEMORY, "out of memory for the channels of a viewer");
        }
        catalog->types = more;
        more[i] = (struct fox_type){.hash = channel->type_hash};
        const enum oto_status status = oto_ros_type_make(&channel->type, &more[i].ros, error);
        if (status != OTO_OK) {
            return status;
        }
        catalog->type_count++;
    }
    *ros = catalog->types[i].ros;
    return OTO_OK;
}

enum oto_status fox_catalog_make(struct fox_catalog *catalog, const struct oto_client *client, struct oto_error *error)
{
    const uint32_t count = oto_client_channel_count(client);
    enum oto_status status = OTO_OK;
    *catalog = (struct fox_catalog){.channels = calloc((size_t)count * (1 + VIEWS) + 2, sizeof *catalog->channels)};
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
        status = find_type(catalog, channel, &record->ros, error);
        if (status == OTO_OK && (!add_source(record, channel) || !add_views(catalog, topic, channel))) {
            status = oto_fail(error, OTO_NO_MEMORY, "out of memory for the channels of a viewer");
        }
    }
    (void)add_view(catalog, "/clock", OTO_ROS_CLOCK);
    (void)add_view(catalog, "/diagnostics", OTO_ROS_DIAGNOSTICS);
    return status;
}

void fox_catalog_free(struct fox_catalog *catalog)
{
    for (uint32_t i = 0; i < catalog->count; i++) {
        free(catalog->channels[i].sources);
    }
    for (uint32_t i = 0; i < catalog->type_count; i++) {
        oto_ros_type_free(catalog->types[i].ros);
    }
    free(catalog->types);
    free(catalog->channels);
    *catalog = (struct fox_catalog){0};
}

static bool has_more(const struct fox_catalog *catalog, uint32_t next, const struct oto_json *json)
{
    return next < catalog->count && json->bytes < PART_BYTES && !json->failed;
}

void fox_catalog_advertise(const struct fox_catalog *catalog, uint32_t *next, struct oto_json *json)
{
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "advertise");
    oto_json_open(json, "channels", '[');
    for (; has_more(catalog, *next, json); (*next)++) {
        const struct fox_channel *channel = &catalog->channels[*next];
        oto_json_open(json, NULL, '{');
        oto_json_u64(json, "id", *next);
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

void fox_catalog_graph(const struct fox_catalog *catalog, uint32_t *next, struct oto_json *json)
{
    static const char *const empty[] = {"subscribedTopics", "advertisedServices", "removedTopics", "removedServices"};
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "connectionGraphUpdate");
    oto_json_open(json, "publishedTopics", '[');
    for (; has_more(catalog, *next, json); (*next)++) {
        const struct fox_channel *channel = &catalog->channels[*next];
        oto_json_open(json, NULL, '{');
        oto_json_text(json, "name", channel->topic);
        oto_json_open(json, "publisherIds", '[');
        for (uint32_t k = 0; k < channel->source_count; k++) {
            oto_json_text(json, NULL, channel->sources[k]->node);
        }
        oto_json_close(json, ']');
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        oto_json_format(json, empty[i], "[]");
    }
    oto_json_close(json, '}');
}

enum oto_status fox_catalog_encode(const struct fox_channel *channel, uint32_t source, const struct oto_sample_head *head,
                                   const void *payload, struct oto_buffer *message)
{
    const struct oto_channel *from = channel->sources[source];
    return channel->ros != NULL ? oto_ros_encode(channel->ros, from->frame_id, head, payload, message)
                                : oto_ros_view_encode(channel->view, &from->type, from->frame_id, head, payload, message);
}
