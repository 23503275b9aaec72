#include "otolith/client.h"

/* A channel without a ring is one that a schema frame told of. */
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

struct oto_reader oto_reader_make(const struct oto_channel *channel, enum oto_reader_start start)
{
    struct oto_reader reader = {.channel = channel, .cursor = {.next = 1, .lost = 0}};
    if (channel->view.ring == NULL) {
        return reader;
    }
    const uint64_t newest = oto_ring_newest(&channel->view);
    if (start == OTO_READ_FROM_NOW) {
        reader.cursor.next = newest + 1;
    } else if (newest > channel->view.mask) {
        /* An eighth of the ring is left between us and the writer; what lies before is not counted as lost. */
        reader.cursor.next = newest - (channel->view.mask - channel->view.mask / 8);
    }
    if (reader.cursor.next < channel->view.ring->first) {
        reader.cursor.next = channel->view.ring->first;
    }
    return reader;
}

enum oto_status oto_reader_next(struct oto_reader *reader, struct oto_sample_head *head, void *payload,
                                size_t payload_bytes)
{
    const enum oto_status status = check_room(reader->channel, payload_bytes);
    return status != OTO_OK ? status : oto_ring_next(&reader->channel->view, &reader->cursor, head, payload);
}

size_t oto_reader_read(struct oto_reader *reader, struct oto_sample_head *heads, void *payloads, size_t count)
{
    const struct oto_channel *channel = reader->channel;
    size_t done = 0;
    if (channel->view.ring == NULL) {
        return 0;
    }
    while (done < count && oto_ring_next(&channel->view, &reader->cursor, &heads[done],
                                         (unsigned char *)payloads + done * channel->type.bytes) == OTO_OK) {
        done++;
    }
    return done;
}
