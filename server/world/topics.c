#include "world/binder.h"

#include <stdlib.h>

struct topic {
    char text[OTO_TOPIC_BYTES];
    const struct oto_value *place;
    uint32_t node;
    bool warned;
};

struct topics {
    struct topic *list;
    uint32_t count;
};

static const char *const world_topics[] = {"@events", "@schema"};
enum { WORLD_TOPICS = sizeof world_topics / sizeof *world_topics };

static enum oto_status add(struct srv_binder *binder, struct topics *topics, uint32_t node,
                           const struct oto_value *place, const char *first, const char *second, const char *third,
                           const char *channel)
{
    struct topic *topic = &topics->list[topics->count++];
    int length = snprintf(topic->text, sizeof topic->text, "%s%s%s%s%s%s%s", first, *second ? "/" : "", second,
                          *third ? "/" : "", third, *channel ? "." : "", channel);
    topic->place = place;
    topic->node = node;
    if (length < (int)sizeof topic->text)
        return OTO_OK;
    return oto_value_fail(place, binder->error, OTO_LIMIT,
                          "the topic '%s...' is longer than %zu bytes: use shorter names", topic->text,
                          sizeof topic->text - 1);
}

static enum oto_status add_node(struct srv_binder *binder, struct topics *topics, uint32_t index)
{
    const struct srv_world_config *config = binder->config;
    const struct srv_node_config *node = &config->nodes[index];
    const struct srv_vehicle_config *vehicle = &config->vehicles[node->vehicle];
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(node->plugin);
    const struct oto_value *alias = oto_value_get(node->place, "topic"), *name = oto_value_get(node->place, "name");
    const struct oto_value *place = name != NULL ? name : node->place;
    enum oto_status status = OTO_OK;
    if (index == vehicle->motion || node->alias[0] == '\0')
        status = add(binder, topics, index, place, config->name, vehicle->name, node->name, "");
    else
        status = add(binder, topics, index, alias, node->alias, "", "", "");
    for (uint32_t i = 1; i < descriptor->output_count && status == OTO_OK; i++)
        status =
            add(binder, topics, index, place, config->name, vehicle->name, node->name, descriptor->outputs[i].name);
    return status;
}

static int by_text(const void *a, const void *b)
{
    const struct topic *first = a, *second = b;
    int order = strcmp(first->text, second->text);
    return order != 0 ? order : (first->node > second->node) - (first->node < second->node);
}

/* The one of two conflicting topics that the error tells the user to change: the alias, if only one is an alias. */
static const struct topic *to_change(const struct topic *before, const struct topic *after)
{
    const char *key = before->place->key, *after_key = after->place->key;
    bool is_alias = key != NULL && strcmp(key, "topic") == 0;
    return is_alias && (after_key == NULL || strcmp(after_key, "topic") != 0) ? before : after;
}

/* The topics that are beginnings of the current one, the shortest first. */
struct beginnings {
    struct topic *list[OTO_TOPIC_BYTES];
    uint32_t count;
};

static void warn_of_beginnings(struct srv_binder *binder, struct beginnings *beginnings, const struct topic *topic)
{
    for (uint32_t i = 0; i < beginnings->count; i++) {
        struct topic *shorter = beginnings->list[i];
        if (shorter->node == topic->node || shorter->warned)
            continue;
        shorter->warned = true;
        srv_binder_warn(binder, topic->place,
                        "the topic '%s' begins the topic '%s': a subscription to the first as a prefix gets both",
                        shorter->text, topic->text);
    }
}

/* In sorted order the beginnings of a topic precede it, and all topics between share the beginning. */
static enum oto_status compare(struct srv_binder *binder, const struct topics *topics)
{
    struct beginnings beginnings = {.count = 0};
    for (uint32_t i = 0; i < topics->count; i++) {
        struct topic *topic = &topics->list[i];
        if (i > 0 && strcmp(topics->list[i - 1].text, topic->text) == 0)
            return oto_value_fail(to_change(&topics->list[i - 1], topic)->place, binder->error, OTO_EXISTS,
                                  "the topic '%s' is used twice, expected another `topic`", topic->text);
        while (beginnings.count > 0) {
            const char *last = beginnings.list[beginnings.count - 1]->text;
            if (strncmp(last, topic->text, strlen(last)) == 0)
                break;
            beginnings.count--;
        }
        warn_of_beginnings(binder, &beginnings, topic);
        beginnings.list[beginnings.count++] = topic;
    }
    return OTO_OK;
}

enum oto_status srv_check_topics(struct srv_binder *binder)
{
    const struct srv_world_config *config = binder->config;
    struct topics topics = {0};
    uint64_t most = WORLD_TOPICS + config->node_count;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; i < config->node_count; i++)
        most += oto_plugin_descriptor(config->nodes[i].plugin)->output_count;
    topics.list = calloc(most, sizeof *topics.list);
    if (topics.list == NULL)
        return oto_fail(binder->error, OTO_NO_MEMORY, "out of memory while loading world '%s'", config->name);
    for (uint32_t i = 0; i < WORLD_TOPICS && status == OTO_OK; i++)
        status = add(binder, &topics, UINT32_MAX, oto_document_root(config->document), config->name, world_topics[i],
                     "", "");
    for (uint32_t i = 0; i < config->node_count && status == OTO_OK; i++)
        status = add_node(binder, &topics, i);
    if (status == OTO_OK && topics.count > OTO_SEGMENT_MAX_CHANNELS)
        status = oto_value_fail(oto_document_root(config->document), binder->error, OTO_LIMIT,
                                "%u channels, at most %u are accepted", topics.count, OTO_SEGMENT_MAX_CHANNELS);
    qsort(topics.list, topics.count, sizeof *topics.list, by_text);
    if (status == OTO_OK)
        status = compare(binder, &topics);
    free(topics.list);
    return status;
}
