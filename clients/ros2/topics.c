#include "topics.h"

#include <fnmatch.h>
#include <stdlib.h>

#include "mounts.h"
#include "wire/ros.h"
#include "wire/ros_topic.h"

enum { DEPTH = 10, LOG_DEPTH = 1000, MOST_OUTPUTS = 4, MOST_PASS = 4096 };

/* One topic on which a record is sent. */
struct output {
    bool is_view;
    enum oto_ros_view view;
    int32_t writer;
};

/* A channel, its reader, and its topics. */
struct source {
    struct oto_reader reader;
    struct oto_ros_type *ros;
    struct output outputs[MOST_OUTPUTS];
    uint32_t count;
};

struct ros2_topics {
    struct ros2_topics_options options;
    struct ros2_node *node;
    struct source *sources;
    uint32_t count;
    void *payload; /* room for the largest record */
    struct oto_buffer message;
    struct ros2_topics_counts counts;
};

struct ros2_topics *ros2_topics_create(const struct ros2_topics_options *options, struct ros2_node *node)
{
    struct ros2_topics *topics = calloc(1, sizeof *topics);
    if (topics != NULL) {
        topics->options = *options;
        topics->node = node;
    }
    return topics;
}

static void free_sources(struct source *sources, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        oto_ros_type_free(sources[i].ros);
    }
    free(sources);
}

void ros2_topics_destroy(struct ros2_topics *topics)
{
    if (topics != NULL) {
        free_sources(topics->sources, topics->count);
        oto_buffer_free(&topics->message);
        free(topics->payload);
        free(topics);
    }
}

/* ---- the topics of a channel ---- */

static bool is_wanted(const struct ros2_topics_options *options, const char *topic)
{
    bool is = options->only_count == 0;
    for (uint32_t i = 0; i < options->only_count; i++) {
        is = is || fnmatch(options->only[i], topic, 0) == 0;
    }
    return is;
}

struct declaration {
    const char *topic;
    struct ros2_type type;
    int32_t depth;
    bool is_latched;
};

static enum oto_status add_output(struct ros2_topics *topics, struct source *source, const struct declaration *declaration,
                                  struct output output, struct oto_error *error)
{
    if (!is_wanted(&topics->options, declaration->topic)) {
        return OTO_OK;
    }
    const enum oto_status status = ros2_node_declare(topics->node, ROS2_PUBLISHER, declaration->topic, &declaration->type, declaration->depth,
                                                     declaration->is_latched, &output.writer, error);
    if (status == OTO_OK) {
        source->outputs[source->count++] = output;
    }
    return status;
}

static enum oto_status add_view(struct ros2_topics *topics, struct source *source, enum oto_ros_view view, const char *topic,
                                struct oto_error *error)
{
    const bool is_log = view == OTO_ROS_LOG;
    const struct declaration declaration = {.topic = topic,
                                            .type = {oto_ros_view_name(view), oto_ros_view_definition(view)},
                                            .depth = is_log ? LOG_DEPTH : DEPTH,
                                            .is_latched = is_log};
    return add_output(topics, source, &declaration, (struct output){.is_view = true, .view = view}, error);
}

/* Adds the topics of a record. If it has a standard message, TOPIC has that message and TOPIC/record has the record. */
static enum oto_status add_outputs(struct ros2_topics *topics, struct source *source, const char *topic, struct oto_error *error)
{
    static const enum oto_ros_view standards[] = {OTO_ROS_ODOMETRY, OTO_ROS_FIX, OTO_ROS_PRESSURE};
    const struct oto_record_type *type = &source->reader.channel->type;
    char below[ROS2_NAME_BYTES + 8];
    enum oto_status status = OTO_OK;
    bool has_standard = false;
    for (size_t i = 0; i < sizeof standards / sizeof *standards && status == OTO_OK; i++) {
        if (oto_ros_view_of(standards[i], type)) {
            has_standard = true;
            status = add_view(topics, source, standards[i], topic, error);
        }
    }
    if (status == OTO_OK && oto_ros_view_of(OTO_ROS_TRANSFORM, type)) {
        status = add_view(topics, source, OTO_ROS_TRANSFORM, "/tf", error);
    }
    if (status == OTO_OK && oto_ros_view_of(OTO_ROS_LOG, type)) {
        status = add_view(topics, source, OTO_ROS_LOG, "/rosout", error);
    }
    (void)snprintf(below, sizeof below, "%s%s", topic, has_standard ? "/record" : "");
    const struct declaration record = {
        .topic = below, .type = {oto_ros_type_name(source->ros), oto_ros_type_definition(source->ros)}, .depth = DEPTH};
    return status == OTO_OK ? add_output(topics, source, &record, (struct output){0}, error) : status;
}

/* ---- a run ---- */

/* Makes the reader of a channel. If the previous run had the channel, its reader continues. */
static struct oto_reader make_reader(const struct ros2_topics *topics, const struct oto_channel *channel)
{
    for (uint32_t i = 0; i < topics->count; i++) {
        if (topics->sources[i].reader.channel == channel) {
            return topics->sources[i].reader;
        }
    }
    const bool is_first_run = topics->count == 0;
    return oto_reader_make(channel, is_first_run && (channel->flags & OTO_CHANNEL_EVENTS) == 0 ? OTO_READ_FROM_NOW : OTO_READ_FROM_OLDEST);
}

static enum oto_status add_source(struct ros2_topics *topics, struct source *source, const struct oto_client *client,
                                  const struct oto_channel *channel, struct oto_error *error)
{
    char below[OTO_ROS_TOPIC_BYTES], topic[ROS2_NAME_BYTES];
    oto_ros_topic(oto_client_header(client)->world, channel->topic, below);
    (void)snprintf(topic, sizeof topic, "%.64s%s", topics->options.name_space, below);
    source->reader = make_reader(topics, channel);
    const enum oto_status status = oto_ros_type_make(&channel->type, &source->ros, error);
    return status == OTO_OK ? add_outputs(topics, source, topic, error) : status;
}

static bool has_records(const struct oto_channel *channel)
{
    return channel->view.ring != NULL && (channel->flags & (OTO_CHANNEL_ENABLED | OTO_CHANNEL_EVENTS)) != 0;
}

static enum oto_status make_payload(struct ros2_topics *topics, const struct oto_client *client, struct oto_error *error)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const uint32_t bytes = oto_client_channel(client, i)->type.bytes;
        most = bytes > most ? bytes : most;
    }
    free(topics->payload);
    topics->payload = malloc(most);
    return topics->payload != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for a record of %u bytes", most);
}

enum oto_status ros2_topics_open(struct ros2_topics *topics, struct oto_client *client, struct oto_error *error)
{
    const uint32_t channels = oto_client_channel_count(client);
    struct source *sources = calloc(channels + 1, sizeof *sources);
    enum oto_status status = sources != NULL ? make_payload(topics, client, error)
                                             : oto_fail(error, OTO_NO_MEMORY, "no memory for %u channels", channels);
    uint32_t count = 0;
    ros2_node_begin(topics->node);
    for (uint32_t i = 0; i < channels && status == OTO_OK; i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (has_records(channel)) {
            status = add_source(topics, &sources[count++], client, channel, error);
        }
    }
    free_sources(topics->sources, topics->count);
    topics->sources = sources;
    topics->count = count;
    if (status == OTO_OK && is_wanted(&topics->options, "/tf_static")) {
        status = ros2_mounts_send(topics->node, client, error);
    }
    return status == OTO_OK ? ros2_node_end(topics->node, error) : status;
}

/* ---- messages ---- */

static void send(struct ros2_topics *topics, const struct source *source, const struct output *output, const struct oto_sample_head *head)
{
    const struct oto_channel *channel = source->reader.channel;
    const enum oto_status status =
        output->is_view ? oto_ros_view_encode(output->view, &channel->type, channel->frame_id, head, topics->payload, &topics->message)
                        : oto_ros_encode(source->ros, channel->frame_id, head, topics->payload, &topics->message);
    if (status != OTO_OK) {
        topics->counts.out_of_range++;
    } else if (ros2_write(output->writer, topics->message.data, topics->message.bytes)) {
        topics->counts.sent++;
    } else {
        topics->counts.dropped++;
    }
}

void ros2_topics_pass(struct ros2_topics *topics)
{
    struct oto_sample_head head;
    for (uint32_t i = 0; i < topics->count; i++) {
        struct source *source = &topics->sources[i];
        const uint64_t lost = source->reader.cursor.lost;
        for (uint32_t n = 0; n < MOST_PASS && source->count > 0; n++) {
            if (oto_reader_next(&source->reader, &head, topics->payload, source->reader.channel->type.bytes) != OTO_OK) {
                break;
            }
            for (uint32_t k = 0; k < source->count; k++) {
                send(topics, source, &source->outputs[k], &head);
            }
        }
        topics->counts.lost += source->reader.cursor.lost - lost;
    }
}

/* Latched topics do not count: a late reader asks for their history. */
static uint64_t resent_bytes(const struct source *source)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < source->count; k++) {
        const struct output *output = &source->outputs[k];
        bytes += output->is_view && output->view == OTO_ROS_LOG ? 0 : ros2_resent_bytes(output->writer);
    }
    return bytes;
}

void ros2_topics_count(const struct ros2_topics *topics, struct ros2_topics_counts *counts)
{
    *counts = topics->counts;
    for (uint32_t i = 0; i < topics->count; i++) {
        counts->resent_bytes += resent_bytes(&topics->sources[i]);
    }
}
