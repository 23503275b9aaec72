#include "page/feed.h"

#include <string.h>

#define HEADER_BYTES 24u
#define BATCH_BYTES 24u

/* ---- subscriptions ----------------------------------------------------------------------------------------------- */

bool web_column_find(const struct oto_record_type *type, const char *name, struct web_column *column)
{
    char text[OTO_FIELD_NAME_BYTES + 16];
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        if (field->type == OTO_FIELD_TEXT || strncmp(name, field->name, strlen(field->name)) != 0) {
            continue;
        }
        for (uint32_t element = 0; element < field->count; element++) {
            (void)oto_field_column(field, element, text, sizeof text);
            if (strcmp(text, name) == 0) {
                *column = (struct web_column){field, element};
                return true;
            }
        }
    }
    return false;
}

static struct web_subscription *place(struct web_feed *feed, uint16_t id)
{
    struct web_subscription *unused = NULL;
    for (uint32_t i = 0; i < WEB_FEED_SUBSCRIPTIONS; i++) {
        struct web_subscription *subscription = &feed->subscriptions[i];
        if (subscription->used && subscription->id == id) {
            return subscription;
        }
        unused = !subscription->used ? subscription : unused;
    }
    return unused;
}

enum oto_status web_feed_subscribe(struct web_feed *feed, const struct oto_client *client, uint16_t id, const char *topic,
                                   const char *const *columns, uint32_t column_count, struct oto_error *error)
{
    struct web_subscription *subscription = place(feed, id);
    const struct oto_channel *channel = oto_client_find(client, topic, error);
    if (channel == NULL) {
        return OTO_NOT_FOUND;
    }
    if (subscription == NULL || column_count == 0 || column_count > WEB_FEED_COLUMNS) {
        return oto_fail(error, OTO_LIMIT, "a page has at most %u subscriptions, each of 1 to %u columns",
                        WEB_FEED_SUBSCRIPTIONS, WEB_FEED_COLUMNS);
    }
    subscription->used = false;
    for (uint32_t i = 0; i < column_count; i++) {
        if (!web_column_find(&channel->type, columns[i], &subscription->columns[i])) {
            return oto_fail(error, OTO_NOT_FOUND, "%.100s has no column '%.60s'", channel->topic, columns[i]);
        }
    }
    subscription->id = id;
    subscription->column_count = column_count;
    subscription->reader = oto_reader_make(channel, OTO_READ_FROM_OLDEST);
    subscription->lost = 0;
    subscription->used = true;
    return OTO_OK;
}

void web_feed_unsubscribe(struct web_feed *feed, uint16_t id)
{
    struct web_subscription *subscription = place(feed, id);
    if (subscription != NULL && subscription->used && subscription->id == id) {
        subscription->used = false;
    }
}

void web_feed_clear(struct web_feed *feed)
{
    memset(feed, 0, sizeof *feed);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static void take(struct web_feed_batch *batch, const struct web_subscription *subscription, const struct oto_sample_head *head,
                 const void *payload)
{
    const uint32_t n = batch->samples++;
    batch->flags |= head->flags;
    batch->times_s[n] = (double)head->t_ns * 1e-9;
    for (uint32_t i = 0; i < subscription->column_count; i++) {
        const struct web_column *column = &subscription->columns[i];
        batch->values[i][n] = oto_field_number(column->field, payload, column->element);
    }
}

/*
 * Reads records until the batch is full or no record is new. A loss ends a batch. The record after the loss has been read
 * already and begins the next batch: it stays in `head` and `payload`, and *held is true.
 */
static void fill(struct web_feed_batch *batch, struct web_subscription *subscription, uint32_t room, struct oto_sample_head *head,
                 void *payload, bool *held)
{
    batch->samples = batch->flags = batch->lost = 0;
    while (batch->samples < room) {
        if (!*held && oto_reader_next(&subscription->reader, head, payload, OTO_RECORD_MAX_BYTES) != OTO_OK) {
            return;
        }
        *held = true;
        const uint64_t lost = subscription->reader.cursor.lost - subscription->lost;
        if (lost > 0 && batch->samples > 0) {
            return;
        }
        if (batch->samples == 0) {
            batch->first_seq = head->seq;
            batch->lost = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
            subscription->lost = subscription->reader.cursor.lost;
        }
        take(batch, subscription, head, payload);
        *held = false;
    }
}

static unsigned char *put_batch(unsigned char *to, const struct web_subscription *subscription, const struct web_feed_batch *batch)
{
    const uint16_t names[2] = {subscription->id, (uint16_t)subscription->column_count};
    const uint32_t numbers[3] = {batch->samples, batch->lost, batch->flags};
    const double first_seq = (double)batch->first_seq;
    const size_t column_bytes = batch->samples * sizeof(double);
    memcpy(to, names, sizeof names);
    memcpy(to + 4, numbers, sizeof numbers);
    memcpy(to + 16, &first_seq, sizeof first_seq);
    to += BATCH_BYTES;
    memcpy(to, batch->times_s, column_bytes);
    for (uint32_t i = 0; i < subscription->column_count; i++) {
        to += column_bytes;
        memcpy(to, batch->values[i], column_bytes);
    }
    return to + column_bytes;
}

/* The number of samples that fit into `left` bytes, at most that of a batch. */
static uint32_t room_for(const struct web_subscription *subscription, size_t left)
{
    const size_t samples = left > BATCH_BYTES ? (left - BATCH_BYTES) / (8 * (1 + subscription->column_count)) : 0;
    return samples < WEB_FEED_BATCH_SAMPLES ? (uint32_t)samples : WEB_FEED_BATCH_SAMPLES;
}

static unsigned char *put_subscription(struct web_subscription *subscription, struct web_feed_room *room, unsigned char *to,
                                       const unsigned char *end, uint32_t *batches)
{
    struct web_feed_batch *batch = &room->batch;
    struct oto_sample_head head;
    bool held = false;
    for (;;) {
        const uint32_t samples = room_for(subscription, (size_t)(end - to));
        if (samples == 0) {
            break;
        }
        fill(batch, subscription, samples, &head, room->payload, &held);
        if (batch->samples == 0) {
            break;
        }
        to = put_batch(to, subscription, batch);
        (*batches)++;
    }
    if (held) { /* no room is left for the record that was read: the next frame reads it again */
        subscription->reader.cursor.next--;
    }
    return to;
}

static uint32_t count_used(const struct web_feed *feed)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WEB_FEED_SUBSCRIPTIONS; i++) {
        count += feed->subscriptions[i].used;
    }
    return count;
}

/* Each subscription has an equal share of the frame, so that the history of one does not delay the others. */
size_t web_feed_frame(struct web_feed *feed, struct web_feed_room *room, uint32_t *batches)
{
    const uint32_t used = count_used(feed);
    const size_t share = used > 0 ? (WEB_FEED_FRAME_BYTES - HEADER_BYTES) / used : 0;
    unsigned char *to = room->frame + HEADER_BYTES;
    *batches = 0;
    for (uint32_t i = 0; i < WEB_FEED_SUBSCRIPTIONS; i++) {
        if (feed->subscriptions[i].used) {
            to = put_subscription(&feed->subscriptions[i], room, to, to + share, batches);
        }
    }
    return (size_t)(to - room->frame);
}

void web_feed_header(unsigned char *frame, uint32_t batches, double sim_time_s, uint32_t sent_bytes, uint32_t run)
{
    const uint32_t start[2] = {WEB_FEED_MAGIC, batches}, end[2] = {sent_bytes, run};
    memcpy(frame, start, sizeof start);
    memcpy(frame + 8, &sim_time_s, sizeof sim_time_s);
    memcpy(frame + 16, end, sizeof end);
}
