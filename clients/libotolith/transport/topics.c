#include "transport/topics.h"

#include <stdlib.h>

struct oto_topics_part {
    struct oto_topics_part *next;
    struct oto_schema *schema;
    uint32_t used; /* number of topics that this frame defines */
    size_t bytes;
    unsigned char frame[]; /* a copy of the frame, because most schema frames repeat it */
};

static void close_part(struct oto_topics_part *part)
{
    oto_schema_close(part->schema);
    free(part);
}

void oto_topics_finish(struct oto_topics *topics)
{
    while (topics->parts != NULL) {
        struct oto_topics_part *part = topics->parts;
        topics->parts = part->next;
        close_part(part);
    }
    free(topics->list);
    memset(topics, 0, sizeof *topics);
}

static bool is_known(const struct oto_topics *topics, const void *data, size_t bytes)
{
    for (const struct oto_topics_part *part = topics->parts; part != NULL; part = part->next) {
        if (part->bytes == bytes && part->used == oto_schema_channel_count(part->schema) &&
            memcmp(part->frame, data, bytes) == 0) {
            return true;
        }
    }
    return false;
}

static enum oto_status open_part(const void *data, size_t bytes, struct oto_topics_part **part)
{
    struct oto_schema *schema;
    const enum oto_status status = oto_schema_decode(data, bytes, &schema);
    if (status != OTO_OK) {
        return status;
    }
    struct oto_topics_part *made = malloc(sizeof *made + bytes);
    if (made == NULL) {
        oto_schema_close(schema);
        return OTO_NO_MEMORY;
    }
    *made = (struct oto_topics_part){.schema = schema, .bytes = bytes};
    memcpy(made->frame, data, bytes);
    *part = made;
    return OTO_OK;
}

static int by_topic(const void *a, const void *b)
{
    const struct oto_topic *left = a, *right = b;
    return strcmp(left->channel->topic, right->channel->topic);
}

/* Lists the topics of the part, sorted. */
static struct oto_topic *list_part(struct oto_topics_part *part)
{
    const uint32_t count = oto_schema_channel_count(part->schema);
    struct oto_topic *list = calloc((size_t)count + 1, sizeof *list);
    for (uint32_t i = 0; i < count && list != NULL; i++) {
        list[i] = (struct oto_topic){.channel = oto_schema_channel(part->schema, i), .part = part};
    }
    if (list != NULL) {
        qsort(list, count, sizeof *list, by_topic);
    }
    return list;
}

/* Lists the announced topics, with their counters if known; with `stay` also the known topics that are not announced. */
static uint32_t merge(const struct oto_topics *topics, const struct oto_topic *announced, uint32_t announced_count, bool stay,
                      struct oto_topic *to)
{
    uint32_t count = 0, known = 0;
    for (uint32_t i = 0; i < announced_count; i++) {
        if (i > 0 && by_topic(&announced[i - 1], &announced[i]) == 0) {
            continue;
        }
        while (known < topics->count && by_topic(&topics->list[known], &announced[i]) < 0) {
            to[count] = topics->list[known++];
            count += stay;
        }
        to[count] = announced[i];
        if (known < topics->count && by_topic(&topics->list[known], &announced[i]) == 0) {
            to[count] = topics->list[known++];
            to[count].channel = announced[i].channel;
            to[count].part = announced[i].part;
        }
        count++;
    }
    while (stay && known < topics->count) {
        to[count++] = topics->list[known++];
    }
    return count;
}

/* Counts the bytes of the parts that a list needs, and sets their `used`. */
static size_t count_uses(struct oto_topics_part *parts, const struct oto_topic *list, uint32_t count)
{
    size_t bytes = 0;
    for (struct oto_topics_part *part = parts; part != NULL; part = part->next) {
        part->used = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        bytes += list[i].part->used++ == 0 ? list[i].part->bytes : 0;
    }
    return bytes;
}

static void drop_unused(struct oto_topics *topics)
{
    for (struct oto_topics_part **at = &topics->parts; *at != NULL;) {
        struct oto_topics_part *part = *at;
        if (part->used > 0) {
            at = &part->next;
        } else {
            *at = part->next;
            close_part(part);
        }
    }
}

static void name_run(struct oto_topics *topics, const struct oto_schema *schema, const char *schema_topic, size_t world)
{
    memcpy(topics->world, schema_topic, world);
    topics->world[world] = '\0';
    topics->has_schema = true;
    topics->epoch = oto_schema_epoch(schema);
    topics->total = oto_schema_total(schema);
}

/* Adds a part; on success it belongs to `topics`. */
static enum oto_status add_part(struct oto_topics *topics, struct oto_topics_part *part)
{
    const char *schema_topic = (const char *)part->frame;
    const size_t world = (size_t)(strrchr(schema_topic, '/') - schema_topic);
    const bool stay = topics->has_schema && topics->epoch == oto_schema_epoch(part->schema) &&
                      strlen(topics->world) == world && memcmp(topics->world, schema_topic, world) == 0;
    const uint32_t announced_count = oto_schema_channel_count(part->schema);
    struct oto_topic *announced = list_part(part);
    struct oto_topic *list = calloc((size_t)announced_count + topics->count + 1, sizeof *list);
    if (announced == NULL || list == NULL) {
        free(announced);
        free(list);
        return OTO_NO_MEMORY;
    }
    const uint32_t count = merge(topics, announced, announced_count, stay, list);
    free(announced);
    part->next = topics->parts;
    if (count_uses(part, list, count) > OTO_TOPICS_MAX_BYTES || count > OTO_SEGMENT_MAX_CHANNELS) {
        (void)count_uses(topics->parts, topics->list, topics->count);
        free(list);
        return OTO_LIMIT;
    }
    name_run(topics, part->schema, schema_topic, world);
    free(topics->list);
    topics->list = list;
    topics->count = count;
    topics->parts = part;
    drop_unused(topics);
    return OTO_OK;
}

enum oto_status oto_topics_take_schema(struct oto_topics *topics, const void *data, size_t bytes)
{
    if (is_known(topics, data, bytes)) {
        return OTO_AGAIN;
    }
    struct oto_topics_part *part;
    enum oto_status status = open_part(data, bytes, &part);
    if (status == OTO_OK) {
        status = add_part(topics, part);
        if (status != OTO_OK) {
            close_part(part);
        }
    }
    return status;
}

struct oto_topic *oto_topics_find(const struct oto_topics *topics, const char *topic)
{
    uint32_t first = 0, end = topics->count;
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        const int order = strcmp(topics->list[middle].channel->topic, topic);
        if (order == 0) {
            return &topics->list[middle];
        }
        first = order < 0 ? middle + 1 : first;
        end = order < 0 ? end : middle;
    }
    return NULL;
}
