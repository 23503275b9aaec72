/*
 * The channels of a run in the form of Foxglove: each record as a ROS message, and the standard views beside it. The catalog is
 * made again for each run. [loop]
 */
#ifndef WEB_FOXGLOVE_CATALOG_H
#define WEB_FOXGLOVE_CATALOG_H

#include "otolith/client.h"
#include "base/json.h"
#include "wire/ros.h"
#include "wire/ros_topic.h"

struct fox_channel {
    const struct oto_channel **sources; /* one; for /tf the truths of all vehicles; for /clock and /diagnostics none */
    uint32_t source_count;
    const struct oto_ros_type *ros; /* of the catalog; NULL: a view */
    enum oto_ros_view view;
    char topic[OTO_ROS_TOPIC_BYTES + 16];
};

/* The ROS message of a record type, which all channels of the type share. */
struct fox_type {
    uint64_t hash;
    struct oto_ros_type *ros;
};

struct fox_catalog {
    struct fox_channel *channels; /* the id of a channel is its index */
    uint32_t count;
    struct fox_type *types;
    uint32_t type_count;
};

enum oto_status fox_catalog_make(struct fox_catalog *catalog, const struct oto_client *client, struct oto_error *error);
void fox_catalog_free(struct fox_catalog *catalog); /* zeroed is allowed */
/* Writes {"op":"advertise",…} with the channels from *next on, until the message has the size of a part; advances *next. */
void fox_catalog_advertise(const struct fox_catalog *catalog, uint32_t *next, struct oto_json *json);
/* Writes {"op":"connectionGraphUpdate",…} in the same way. */
void fox_catalog_graph(const struct fox_catalog *catalog, uint32_t *next, struct oto_json *json);
/* Encodes one record of a source as a message of the channel. */
enum oto_status fox_catalog_encode(const struct fox_channel *channel, uint32_t source, const struct oto_sample_head *head,
                                   const void *payload, struct oto_buffer *message);

#endif
