#include "node.h"

#include <stdlib.h>
#include <string.h>

#include <dds/ddsc/dds_statistics.h>

#include "discovery.h"
#include "serialised.h"
#include "type_hash.h"

enum { DISCOVERY_DEPTH = 1, SERVICE_ID_BYTES = 64, MOST_CLIENTS = 256 };

struct endpoint {
    enum ros2_kind kind;
    char topic[ROS2_NAME_BYTES];
    char type[ROS2_NAME_BYTES];
    dds_entity_t entity, condition; /* condition: for a reader, its condition in the wait set */
    bool is_declared;
};

struct ros2_node {
    struct ros2_node_options options;
    char name_space[ROS2_NAME_BYTES], name[ROS2_NAME_BYTES];
    dds_entity_t participant, wait_set, discovery;
    struct endpoint *endpoints;
    uint32_t count;
};

static enum oto_status fail_dds(struct oto_error *error, dds_return_t code, const char *what, const char *name)
{
    return oto_fail(error, OTO_INVALID, "Cyclone DDS cannot make %s '%.96s': %s", what, name, dds_strretcode(-code));
}

/* ---- names: design.ros2.org/articles/topic_and_service_names.html ---- */

static bool dds_topic(enum ros2_kind kind, const char *topic, char name[ROS2_NAME_BYTES])
{
    static const char *const before[] = {"rt", "rt", "rq", "rr"}, *const behind[] = {"", "", "Request", "Reply"};
    const int length = snprintf(name, ROS2_NAME_BYTES, "%s%s%s", before[kind], topic, behind[kind]);
    return length > 0 && length < ROS2_NAME_BYTES;
}

/* Converts "sensor_msgs/msg/Imu" to "sensor_msgs::msg::dds_::Imu_". */
static bool dds_type(const char *type, char name[ROS2_NAME_BYTES])
{
    const char *first = strchr(type, '/'), *second = first != NULL ? strchr(first + 1, '/') : NULL;
    const int length = second == NULL ? -1
                                      : snprintf(name, ROS2_NAME_BYTES, "%.*s::%.*s::dds_::%s_", (int)(first - type), type,
                                                 (int)(second - first - 1), first + 1, second + 1);
    return length > 0 && length < ROS2_NAME_BYTES;
}

/* ---- QoS ---- */

static dds_qos_t *make_qos(const struct endpoint *endpoint, int32_t depth, bool is_latched, const char *user_data)
{
    dds_qos_t *qos = dds_create_qos();
    const bool is_reader = endpoint->kind == ROS2_SUBSCRIPTION || endpoint->kind == ROS2_REQUESTS;
    dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, depth);
    if (endpoint->kind == ROS2_SUBSCRIPTION) { /* best effort matches best-effort and reliable writers */
        dds_qset_reliability(qos, DDS_RELIABILITY_BEST_EFFORT, 0);
    } else {
        dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, is_reader ? DDS_INFINITY : 0); /* 0: a write never waits */
    }
    dds_qset_durability(qos, is_latched ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
    if (is_latched) {
        dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_LAST, depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED,
                                    DDS_LENGTH_UNLIMITED);
    }
    dds_qset_writer_data_lifecycle(qos, false);
    dds_qset_userdata(qos, user_data, strlen(user_data));
    return qos;
}

/* Makes "typehash=RIHS01_…;". For a service adds the id by which a client recognises that requests and replies belong together. */
static enum oto_status make_user_data(const struct ros2_node *node, const struct endpoint *endpoint, const struct ros2_type *type, char *text,
                                      size_t bytes, struct oto_error *error)
{
    char hash[ROS2_TYPE_HASH_BYTES], service[SERVICE_ID_BYTES] = "";
    const enum oto_status status = ros2_type_hash(type->name, type->definition, hash, error);
    dds_guid_t guid;
    if (status != OTO_OK) {
        return status;
    }
    if ((endpoint->kind == ROS2_REQUESTS || endpoint->kind == ROS2_REPLIES) && dds_get_guid(node->participant, &guid) == DDS_RETCODE_OK) {
        size_t length = (size_t)snprintf(service, sizeof service, "serviceid=");
        for (unsigned i = 0; i < sizeof guid.v; i++) {
            length += (size_t)snprintf(service + length, sizeof service - length, "%02x", guid.v[i]);
        }
        (void)snprintf(service + length, sizeof service - length, ";");
    }
    (void)snprintf(text, bytes, "%stypehash=%s;", service, hash);
    return OTO_OK;
}

/* ---- discovery ---- */

static void put_entity(const struct ros2_node *node, dds_entity_t entity, struct ros2_discovery *message)
{
    dds_guid_t guid;
    if (dds_get_guid(entity, &guid) == DDS_RETCODE_OK) {
        ros2_discovery_put_gid(message, guid.v, node->options.gid_bytes);
    }
}

/* Names the node and its endpoints to all participants of ROS 2. */
static enum oto_status announce(struct ros2_node *node, struct oto_error *error)
{
    struct ros2_discovery message = {0};
    uint32_t readers = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        readers += node->endpoints[i].condition > 0;
    }
    enum oto_status status = ros2_discovery_begin(&message, node->count + 1);
    if (status != OTO_OK) {
        return oto_fail(error, status, "no memory for the discovery message");
    }
    put_entity(node, node->participant, &message);
    ros2_discovery_put_node(&message, node->name_space, node->name);
    ros2_discovery_put_count(&message, readers);
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->endpoints[i].condition > 0) {
            put_entity(node, node->endpoints[i].entity, &message);
        }
    }
    ros2_discovery_put_count(&message, node->count - readers);
    for (uint32_t i = 0; i < node->count; i++) {
        if (node->endpoints[i].condition == 0) {
            put_entity(node, node->endpoints[i].entity, &message);
        }
    }
    if (!ros2_write(node->discovery, message.buffer.data, message.writer.at)) {
        status = oto_fail(error, OTO_INVALID, "Cyclone DDS does not take the discovery message");
    }
    ros2_discovery_free(&message);
    return status;
}

static enum oto_status open_discovery(struct ros2_node *node, struct oto_error *error)
{
    const dds_entity_t topic = ros2_serialised_topic(node->participant, ROS2_DISCOVERY_TOPIC, ROS2_DISCOVERY_TYPE);
    const struct endpoint writer = {.kind = ROS2_PUBLISHER};
    if (topic < 0) {
        return fail_dds(error, topic, "topic", ROS2_DISCOVERY_TOPIC);
    }
    dds_qos_t *qos = make_qos(&writer, DISCOVERY_DEPTH, true, "");
    node->discovery = dds_create_writer(node->participant, topic, qos, NULL);
    dds_delete_qos(qos);
    (void)dds_delete(topic); /* the writer keeps the topic */
    return node->discovery < 0 ? fail_dds(error, node->discovery, "writer", ROS2_DISCOVERY_TOPIC) : OTO_OK;
}

/* ---- nodes ---- */

enum oto_status ros2_node_open(const struct ros2_node_options *options, struct ros2_node **out, struct oto_error *error)
{
    static const char enclave[] = "enclave=/;";
    struct ros2_node *node = calloc(1, sizeof *node);
    *out = node;
    if (node == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for node '%.96s'", options->name);
    }
    node->options = *options;
    (void)snprintf(node->name_space, sizeof node->name_space, "%s", options->name_space);
    (void)snprintf(node->name, sizeof node->name, "%s", options->name);
    dds_qos_t *qos = dds_create_qos();
    dds_qset_userdata(qos, enclave, strlen(enclave));
    node->participant = dds_create_participant(options->domain, qos, NULL);
    dds_delete_qos(qos);
    if (node->participant < 0) {
        return fail_dds(error, node->participant, "participant", options->name);
    }
    node->wait_set = dds_create_waitset(node->participant);
    if (node->wait_set < 0) {
        return fail_dds(error, node->wait_set, "wait set of", options->name);
    }
    return open_discovery(node, error);
}

void ros2_node_close(struct ros2_node *node)
{
    if (node != NULL) {
        if (node->participant > 0) {
            (void)dds_delete(node->participant); /* deletes its readers, writers and topics too */
        }
        free(node->endpoints);
        free(node);
    }
}

/* ---- endpoints ---- */

void ros2_node_begin(struct ros2_node *node)
{
    for (uint32_t i = 0; i < node->count; i++) {
        node->endpoints[i].is_declared = false;
    }
}

enum oto_status ros2_node_end(struct ros2_node *node, struct oto_error *error)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->count; i++) {
        struct endpoint *endpoint = &node->endpoints[i];
        if (endpoint->is_declared) {
            node->endpoints[kept++] = *endpoint;
        } else {
            (void)dds_delete(endpoint->entity);
        }
    }
    node->count = kept;
    return announce(node, error);
}

static enum oto_status open_reader(struct ros2_node *node, struct endpoint *endpoint, dds_entity_t topic, const dds_qos_t *qos,
                                   struct oto_error *error)
{
    endpoint->entity = dds_create_reader(node->participant, topic, qos, NULL);
    endpoint->condition = endpoint->entity > 0 ? dds_create_readcondition(endpoint->entity, DDS_ANY_STATE) : endpoint->entity;
    const dds_return_t code = endpoint->condition > 0 ? dds_waitset_attach(node->wait_set, endpoint->condition, 0) : endpoint->condition;
    return code < 0 ? fail_dds(error, code, "reader of", endpoint->topic) : OTO_OK;
}

static enum oto_status open_endpoint(struct ros2_node *node, struct endpoint *endpoint, const struct ros2_type *type, int32_t depth,
                                     bool is_latched, struct oto_error *error)
{
    char name[ROS2_NAME_BYTES], type_name[ROS2_NAME_BYTES], user_data[SERVICE_ID_BYTES + ROS2_TYPE_HASH_BYTES + 16];
    if (!dds_topic(endpoint->kind, endpoint->topic, name) || !dds_type(type->name, type_name)) {
        return oto_fail(error, OTO_LIMIT, "topic '%.96s' of type '%.96s' has a name that is too long", endpoint->topic, type->name);
    }
    enum oto_status status = make_user_data(node, endpoint, type, user_data, sizeof user_data, error);
    if (status != OTO_OK) {
        return status;
    }
    const dds_entity_t topic = ros2_serialised_topic(node->participant, name, type_name);
    if (topic < 0) {
        return fail_dds(error, topic, "topic", name);
    }
    dds_qos_t *qos = make_qos(endpoint, depth, is_latched, user_data);
    if (endpoint->kind == ROS2_SUBSCRIPTION || endpoint->kind == ROS2_REQUESTS) {
        status = open_reader(node, endpoint, topic, qos, error);
    } else {
        endpoint->entity = dds_create_writer(node->participant, topic, qos, NULL);
        status = endpoint->entity < 0 ? fail_dds(error, endpoint->entity, "writer of", endpoint->topic) : OTO_OK;
    }
    dds_delete_qos(qos);
    (void)dds_delete(topic); /* the endpoint keeps the topic */
    return status;
}

static struct endpoint *find(struct ros2_node *node, enum ros2_kind kind, const char *topic, const char *type)
{
    for (uint32_t i = 0; i < node->count; i++) {
        struct endpoint *endpoint = &node->endpoints[i];
        if (endpoint->kind == kind && strcmp(endpoint->topic, topic) == 0 && strcmp(endpoint->type, type) == 0) {
            return endpoint;
        }
    }
    return NULL;
}

enum oto_status ros2_node_declare(struct ros2_node *node, enum ros2_kind kind, const char *topic, const struct ros2_type *type, int32_t depth,
                                  bool is_latched, int32_t *out, struct oto_error *error)
{
    struct endpoint *known = find(node, kind, topic, type->name);
    if (known != NULL) {
        known->is_declared = true;
        *out = known->entity;
        return OTO_OK;
    }
    struct endpoint *more = realloc(node->endpoints, (node->count + 1) * sizeof *more);
    if (more == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for topic '%.96s'", topic);
    }
    node->endpoints = more;
    struct endpoint *endpoint = &more[node->count];
    *endpoint = (struct endpoint){.kind = kind, .is_declared = true};
    (void)snprintf(endpoint->topic, sizeof endpoint->topic, "%s", topic);
    (void)snprintf(endpoint->type, sizeof endpoint->type, "%s", type->name);
    const enum oto_status status = open_endpoint(node, endpoint, type, depth, is_latched, error);
    if (status == OTO_OK) {
        node->count++;
        *out = endpoint->entity;
    }
    return status;
}

/* ---- messages ---- */

bool ros2_write(int32_t endpoint, const void *data, size_t bytes)
{
    return ros2_serialised_write(endpoint, data, bytes) == DDS_RETCODE_OK;
}

uint64_t ros2_resent_bytes(int32_t endpoint)
{
    struct dds_statistics *statistics = dds_create_statistics(endpoint);
    const struct dds_stat_keyvalue *resent = dds_lookup_statistic(statistics, "rexmit_bytes");
    const uint64_t bytes = resent != NULL ? resent->u.u64 : 0;
    dds_delete_statistics(statistics);
    return bytes;
}

bool ros2_take(int32_t endpoint, void *data, size_t capacity, size_t *bytes, uint64_t *writer)
{
    *bytes = 0;
    return ros2_serialised_take(endpoint, data, capacity, bytes, writer) > 0;
}

bool ros2_is_reply_read(int32_t replies, int32_t requests, uint64_t writer)
{
    dds_instance_handle_t readers[MOST_CLIENTS];
    dds_builtintopic_endpoint_t *from = dds_get_matched_publication_data(requests, writer);
    if (from == NULL) {
        return true;
    }
    const dds_return_t count = dds_get_matched_subscriptions(replies, readers, MOST_CLIENTS);
    bool is = count > MOST_CLIENTS;
    for (dds_return_t i = 0; i < count && !is; i++) {
        dds_builtintopic_endpoint_t *to = dds_get_matched_subscription_data(replies, readers[i]);
        is = to != NULL && to->participant_instance_handle == from->participant_instance_handle;
        dds_builtintopic_free_endpoint(to);
    }
    dds_builtintopic_free_endpoint(from);
    return is;
}

void ros2_node_wait(struct ros2_node *node, int64_t timeout_ns)
{
    (void)dds_waitset_wait(node->wait_set, NULL, 0, timeout_ns);
}
