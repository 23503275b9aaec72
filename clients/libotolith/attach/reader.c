#include "otolith/client.h"

/* A channel has no ring if it comes from a schema frame, or if the current run does not have it. */
static enum oto_status check_room(const struct oto_channel *channel, size_t payload_bytes)
{
    return channel->view.ring == NULL ? OTO_UNSUPPORTED : payload_bytes < channel->type.bytes ? OTO_INVALID : OTO_OK;
}

enum oto_status oto_channel_latest(const struct oto_channel *channel, struct oto_sample_head *head, void *payload,
                                   size_t payload_bytes)
{
    const enum oto_status status = check_room(channel, payload_bytes);
    return status != OTO_OK ? status : oto_ring_latest(&channel->view, head, payload);
}

/* The oldest record that is safe to read: an eighth of the ring stays between reader and writer. */
static uint64_t oldest(const struct oto_ring_view *view)
{
    const uint64_t newest = oto_ring_newest(view);
    const uint64_t safe = newest > view->mask ? newest - (view->mask - view->mask / 8) : 1;
    return safe < view->ring->first ? view->ring->first : safe;
}

struct oto_reader oto_reader_make(const struct oto_channel *channel, enum oto_reader_start start)
{
    struct oto_reader reader = {.channel = channel, .cursor = {.next = 1, .lost = 0}, .lineage = channel->lineage};
    if (channel->view.ring != NULL) {
        /* Records before the start of the reader do not count as lost. */
        const uint64_t first = oldest(&channel->view), next = oto_ring_newest(&channel->view) + 1;
        reader.cursor.next = start == OTO_READ_FROM_NOW && next > first ? next : first;
    }
    return reader;
}

/* Restarts the cursor if the client has attached to a run that does not continue the cursor's lineage. */
static void follow_channel(struct oto_reader *reader)
{
    if (reader->lineage != reader->channel->lineage) {
        reader->lineage = reader->channel->lineage;
        reader->cursor.next = oldest(&reader->channel->view);
    }
}

uint64_t oto_reader_position(struct oto_reader *reader)
{
    if (reader->channel->view.ring != NULL) {
        follow_channel(reader);
    }
    return reader->cursor.next;
}

static enum oto_status read_next(struct oto_reader *reader, struct oto_sample_head *head, void *payload)
{
    const struct oto_ring_view *view = &reader->channel->view;
    follow_channel(reader);
    uint64_t before = reader->cursor.next;
    enum oto_status status = oto_ring_next(view, &reader->cursor, head, payload);
    if (status == OTO_AGAIN && reader->cursor.next != before) {
        /* It passes over four lost records a call. A recording or a mirror may have a longer gap. */
        const uint64_t newest = oto_ring_newest(view);
        while (status == OTO_AGAIN && reader->cursor.next != before && reader->cursor.next <= newest) {
            before = reader->cursor.next;
            status = oto_ring_next(view, &reader->cursor, head, payload);
        }
    }
    return status;
}

enum oto_status oto_reader_next(struct oto_reader *reader, struct oto_sample_head *head, void *payload,
                                size_t payload_bytes)
{
    const enum oto_status status = check_room(reader->channel, payload_bytes);
    return status != OTO_OK ? status : read_next(reader, head, payload);
}

size_t oto_reader_read(struct oto_reader *reader, struct oto_sample_head *heads, void *payloads, size_t count)
{
    const struct oto_channel *channel = reader->channel;
    size_t done = 0;
    if (channel->view.ring == NULL) {
        return 0;
    }
    while (done < count && read_next(reader, &heads[done], (unsigned char *)payloads + done * channel->type.bytes) == OTO_OK) {
        done++;
    }
    return done;
}
