#include "config/binder.h"

#include <stdlib.h>

enum { MAX_WARNINGS = 4 };

struct topic {
    char text[OTO_TOPIC_BYTES];
    const struct oto_value *place;
    uint32_t node;
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

/* Of two that clash the alias is what should be changed. */
static const struct topic *to_change(const struct topic *before, const struct topic *after)
{
    const char *key = before->place->key, *after_key = after->place->key;
    bool is_alias = key != NULL && strcmp(key, "topic") == 0;
    return is_alias && (after_key == NULL || strcmp(after_key, "topic") != 0) ? before : after;
}

/* With the topics sorted, a topic that begins others stands right before one of them. */
static enum oto_status compare(struct srv_binder *binder, const struct topics *topics)
{
    uint32_t warnings = 0;
    for (uint32_t i = 1; i < topics->count; i++) {
        const struct topic *before = &topics->list[i - 1], *topic = &topics->list[i];
        if (strcmp(before->text, topic->text) == 0)
            return oto_value_fail(to_change(before, topic)->place, binder->error, OTO_EXISTS,
                                  "the topic '%s' is given twice, expected another `topic`", topic->text);
        if (before->node != topic->node && strncmp(before->text, topic->text, strlen(before->text)) == 0 &&
            warnings++ < MAX_WARNINGS)
            srv_binder_warn(binder, topic->place,
                            "the topic '%s' begins the topic '%s': a subscriber of the first by "
                            "prefix gets both",
                            before->text, topic->text);
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
