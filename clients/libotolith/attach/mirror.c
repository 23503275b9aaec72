#include "attach/mirror.h"

#include <stdlib.h>

#include "attach/client_private.h"
#include "base/monotonic.h"
#include "otolith/records.h"
#include "transport/subscriber.h"

#define RINGS_BYTES (UINT64_C(256) << 20) /* of address space; pages that are not written need no memory */
#define SILENCE_MS 10000                  /* after this time without a publisher the run counts as over */
enum { LEAST_SLOTS = 64, MOST_SLOTS = 16384, MOST_TAKEN = 256, CATCH_UP_ROUNDS = 1024, TEXTS = 4 };

struct mirror_row {
    struct oto_channel channel;
    struct oto_field *fields;
    char *texts; /* of the type and its fields */
    unsigned char *ring; /* struct oto_ring, then the slots */
    uint64_t base; /* the ring counts from the first sample that arrived: seq of a sample minus its number there */
};

struct oto_mirror {
    struct oto_subscriber *subscriber;
    struct mirror_row *rows; /* sorted by topic */
    uint32_t count;
    uint32_t taken; /* greatest number of samples that take() takes: a quarter of a ring */
    struct oto_clock clock;
    int64_t silent_ms; /* instant at which the publisher stopped answering; 0: it answers */
    char reason[512];  /* "": the run is not over */
};

/* ---- channels ---- */

static const char *keep_text(char **texts, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *to = memcpy(*texts, text, bytes);
    *texts += bytes;
    return to;
}

static void texts_of(const struct oto_field *field, const char *texts[TEXTS])
{
    texts[0] = field->name;
    texts[1] = field->unit;
    texts[2] = field->frame;
    texts[3] = field->text;
}

/* Copies a channel with its field table, because the subscriber replaces its own when the schema changes. */
static enum oto_status copy_channel(struct mirror_row *row, const struct oto_channel *channel)
{
    const struct oto_record_type *type = &channel->type;
    size_t bytes = strlen(type->name) + 1;
    const char *texts[TEXTS];
    for (uint32_t i = 0; i < type->field_count; i++) {
        texts_of(&type->fields[i], texts);
        for (int k = 0; k < TEXTS; k++) {
            bytes += strlen(texts[k]) + 1;
        }
    }
    row->channel = *channel;
    row->fields = calloc(type->field_count, sizeof *row->fields);
    row->texts = malloc(bytes);
    if (row->fields == NULL || row->texts == NULL) {
        return OTO_NO_MEMORY;
    }
    char *free_text = row->texts;
    row->channel.type.name = keep_text(&free_text, type->name);
    row->channel.type.fields = row->fields;
    for (uint32_t i = 0; i < type->field_count; i++) {
        texts_of(&type->fields[i], texts);
        row->fields[i] = type->fields[i];
        row->fields[i].name = keep_text(&free_text, texts[0]);
        row->fields[i].unit = keep_text(&free_text, texts[1]);
        row->fields[i].frame = keep_text(&free_text, texts[2]);
        row->fields[i].text = keep_text(&free_text, texts[3]);
    }
    return OTO_OK;
}

static uint32_t stride_of(const struct oto_channel *channel)
{
    return ((uint32_t)sizeof(struct oto_ring_slot) + channel->type.bytes + 63u) / 64u * 64u;
}

static enum oto_status make_ring(struct mirror_row *row, uint32_t slots)
{
    struct oto_channel *channel = &row->channel;
    const uint32_t stride = stride_of(channel);
    row->ring = calloc(1, sizeof(struct oto_ring) + (size_t)slots * stride);
    if (row->ring == NULL) {
        return OTO_NO_MEMORY;
    }
    channel->capacity = slots;
    channel->view = (struct oto_ring_view){.ring = (const struct oto_ring *)(const void *)row->ring,
                                           .slots = row->ring + sizeof(struct oto_ring),
                                           .mask = slots - 1u,
                                           .stride = stride,
                                           .payload_bytes = channel->type.bytes};
    return OTO_OK;
}

/* The schema has no flags; these two follow from the record type. */
static uint32_t flags_of(const struct oto_channel *channel)
{
    const bool is_truth = strcmp(channel->type.name, "truth") == 0;
    const bool is_event = strcmp(channel->type.name, "event") == 0 && channel->type.bytes == sizeof(struct oto_event_record);
    return (is_truth ? OTO_CHANNEL_TRUTH : 0) | (is_event ? OTO_CHANNEL_EVENTS : 0);
}

static enum oto_status add_rows(struct oto_mirror *mirror, const struct oto_topics *topics)
{
    uint64_t slot_bytes = 1;
    enum oto_status status = OTO_OK;
    mirror->rows = calloc((size_t)topics->count + 1, sizeof *mirror->rows);
    if (mirror->rows == NULL) {
        return OTO_NO_MEMORY;
    }
    for (uint32_t i = 0; i < topics->count && status == OTO_OK; i++) {
        if (topics->list[i].wanted) {
            struct mirror_row *row = &mirror->rows[mirror->count];
            status = copy_channel(row, topics->list[i].channel);
            row->channel.index = mirror->count++;
            row->channel.flags = flags_of(&row->channel);
            row->channel.epoch = row->channel.lineage = topics->epoch;
            slot_bytes += stride_of(&row->channel);
        }
    }
    uint32_t slots = MOST_SLOTS;
    while (slots > LEAST_SLOTS && slots * slot_bytes > RINGS_BYTES) {
        slots /= 2;
    }
    mirror->taken = slots / 4 < MOST_TAKEN ? slots / 4 : MOST_TAKEN;
    for (uint32_t i = 0; i < mirror->count && status == OTO_OK; i++) {
        status = make_ring(&mirror->rows[i], slots);
    }
    return status;
}

static enum oto_status make_header(struct oto_client *client, const struct oto_topics *topics)
{
    struct oto_segment_header *header = calloc(1, sizeof *header);
    if (header == NULL) {
        return OTO_NO_MEMORY;
    }
    client->header = client->remote_header = header;
    header->epoch = header->lineage = client->epoch = topics->epoch;
    header->state = OTO_SERVER_RUNNING;
    header->mode = OTO_MODE_REALTIME;
    header->rate_den = 1;
    for (uint32_t i = 0; i < client->mirror->count; i++) {
        const struct oto_channel *channel = &client->mirror->rows[i].channel;
        if ((double)channel->rate_num * (double)header->rate_den > (double)header->rate_num * (double)channel->rate_den) {
            header->rate_num = channel->rate_num;
            header->rate_den = channel->rate_den;
        }
    }
    (void)snprintf(header->world, sizeof header->world, "%.*s", (int)sizeof header->world - 1, topics->world);
    memcpy(client->world, header->world, sizeof client->world);
    return OTO_OK;
}

/* ---- samples ---- */

static int by_topic(const void *topic, const void *row)
{
    return strcmp(topic, ((const struct mirror_row *)row)->channel.topic);
}

static uint64_t *lock_of(const struct mirror_row *row, uint64_t number)
{
    const struct oto_ring_view *view = &row->channel.view;
    return (uint64_t *)(void *)(row->ring + sizeof(struct oto_ring) + ((number - 1) & view->mask) * view->stride);
}

/* Marks the slots of samples that did not arrive as overwritten: a reader passes over them and counts them as lost. */
static void skip_to(struct mirror_row *row, struct oto_ring *ring, uint64_t number)
{
    const uint64_t slots = row->channel.capacity;
    for (uint64_t lost = number > ring->head + slots ? number - slots : ring->head + 1; lost < number; lost++) {
        *lock_of(row, lost) = 2 * lost + 3;
    }
}

/* Only this thread reads the ring, so that the order of the writes does not matter. */
static void push(struct mirror_row *row, const struct oto_wire_sample *sample)
{
    struct oto_ring *ring = (struct oto_ring *)(void *)row->ring;
    row->base = ring->head == 0 ? sample->head.seq - 1 : row->base;
    const uint64_t number = sample->head.seq - row->base;
    if (sample->head.seq <= row->base || number <= ring->head || number > OTO_SEQ_MAX) {
        return;
    }
    skip_to(row, ring, number);
    uint64_t *lock = lock_of(row, number);
    *lock = 2 * number + 2;
    memcpy(lock + 1, &sample->head, sizeof sample->head);
    memcpy((unsigned char *)lock + sizeof(struct oto_ring_slot), sample->payload, row->channel.type.bytes);
    ring->head = number;
}

static void take_sample(const struct oto_client *client, const struct oto_wire_sample *sample)
{
    struct oto_mirror *mirror = client->mirror;
    if (sample->epoch != client->epoch) {
        (void)snprintf(mirror->reason, sizeof mirror->reason, "the run of world '%s' has ended, and another one has begun", client->world);
        return;
    }
    struct mirror_row *row = bsearch(sample->topic, mirror->rows, mirror->count, sizeof *mirror->rows, by_topic);
    if (row == NULL || sample->payload == NULL || oto_record_type_hash(sample->type) != row->channel.type_hash) {
        return;
    }
    push(row, sample);
    mirror->clock.tick++;
    mirror->clock.sim_time_ns =
        sample->head.t_ns > mirror->clock.sim_time_ns ? sample->head.t_ns : mirror->clock.sim_time_ns;
}

static void watch_link(struct oto_mirror *mirror, const char *why)
{
    const int64_t now_ms = srv_now_ms();
    if (oto_subscriber_is_up(mirror->subscriber)) {
        mirror->silent_ms = 0;
    } else if (mirror->silent_ms == 0) {
        mirror->silent_ms = now_ms;
    } else if (now_ms - mirror->silent_ms >= SILENCE_MS) {
        (void)snprintf(mirror->reason, sizeof mirror->reason, "%.450s, for %d s", why, SILENCE_MS / 1000);
    }
}

/* Takes some of the samples that have arrived; false: there are no more. */
static bool take(const struct oto_client *client)
{
    struct oto_mirror *mirror = client->mirror;
    for (uint32_t i = 0; i < mirror->taken; i++) {
        struct oto_wire_sample sample;
        struct oto_error error = {0};
        const enum oto_status status = mirror->reason[0] == '\0' ? oto_subscriber_next(mirror->subscriber, 0, &sample, &error) : OTO_CLOSED;
        if (status == OTO_OK) {
            take_sample(client, &sample);
        } else if (status != OTO_CORRUPT) {
            if (status != OTO_CLOSED) {
                watch_link(mirror, error.text);
            }
            return false;
        }
    }
    return true;
}

void oto_mirror_catch_up(const struct oto_client *client)
{
    for (int round = 0; round < CATCH_UP_ROUNDS && take(client); round++) {
    }
}

enum oto_status oto_mirror_clock(const struct oto_client *client, struct oto_clock *clock)
{
    (void)take(client);
    *clock = client->mirror->clock;
    return clock->tick > 0 ? OTO_OK : OTO_AGAIN;
}

bool oto_mirror_is_over(const struct oto_client *client)
{
    return client->mirror->reason[0] != '\0';
}

const char *oto_mirror_reason(const struct oto_client *client)
{
    return client->mirror->reason;
}

bool oto_client_is_mirror(const struct oto_client *client)
{
    return client->mirror != NULL;
}

/* ---- opening and closing ---- */

static bool is_complete(const struct oto_topics *topics)
{
    return topics->has_schema && topics->count >= topics->total;
}

/* Samples that arrive before the schema is complete are before the first sample of the mirror. */
static enum oto_status await_schema(const struct oto_mirror *mirror, int32_t timeout_ms, struct oto_error *error)
{
    const struct oto_topics *topics = oto_subscriber_topics(mirror->subscriber);
    const int64_t deadline_ms = srv_now_ms() + timeout_ms;
    while (!is_complete(topics)) {
        struct oto_wire_sample ignored;
        const int64_t left_ms = deadline_ms - srv_now_ms();
        const enum oto_status status = oto_subscriber_next(mirror->subscriber, left_ms > 50 ? 50 : 0, &ignored, error);
        if (status != OTO_OK && status != OTO_CORRUPT && left_ms <= 0 && !is_complete(topics)) {
            return status == OTO_NOT_FOUND ? OTO_TIMEOUT : status;
        }
    }
    for (uint32_t i = 0; i < topics->count; i++) {
        if (topics->list[i].wanted) {
            return OTO_OK;
        }
    }
    struct oto_wire_sample none;
    return oto_subscriber_next(mirror->subscriber, 0, &none, error); /* for its sentence: no such topic */
}

static enum oto_status fill(struct oto_client *client, int32_t timeout_ms, struct oto_error *error)
{
    struct oto_mirror *mirror = client->mirror;
    enum oto_status status = await_schema(mirror, timeout_ms, error);
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_topics *topics = oto_subscriber_topics(mirror->subscriber);
    status = add_rows(mirror, topics);
    if (status == OTO_OK) {
        status = make_header(client, topics);
    }
    client->book.now = calloc((size_t)mirror->count + 1, sizeof *client->book.now);
    if (status != OTO_OK || client->book.now == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u topics", mirror->count);
    }
    for (uint32_t i = 0; i < mirror->count; i++) {
        client->book.now[i] = &mirror->rows[i].channel;
    }
    client->book.count = mirror->count;
    return OTO_OK;
}

enum oto_status oto_mirror_open(const char *url, const char *topic, const struct oto_tls_files *tls, int32_t timeout_ms,
                                struct oto_client **client, struct oto_error *error)
{
    struct oto_client *made = calloc(1, sizeof *made);
    *client = NULL;
    if (made == NULL || (made->mirror = calloc(1, sizeof *made->mirror)) == NULL) {
        free(made);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a client");
    }
    made->control.fd = -1;
    made->control.timeout_ms = timeout_ms;
    enum oto_status status = oto_subscriber_open_tls(url, topic, tls, &made->mirror->subscriber, error);
    if (status == OTO_OK) {
        status = fill(made, timeout_ms, error);
    }
    if (status != OTO_OK) {
        oto_client_close(made);
        return status;
    }
    *client = made;
    return OTO_OK;
}

void oto_mirror_close(struct oto_mirror *mirror)
{
    if (mirror == NULL) {
        return;
    }
    oto_subscriber_close(mirror->subscriber);
    for (uint32_t i = 0; i < mirror->count; i++) {
        free(mirror->rows[i].fields);
        free(mirror->rows[i].texts);
        free(mirror->rows[i].ring);
    }
    free(mirror->rows);
    free(mirror);
}
