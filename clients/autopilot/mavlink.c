#include "mavlink.h"

#include <string.h>

enum { MAGIC_1 = 0xfe, MAGIC_2 = 0xfd, HEAD_1 = 6, HEAD_2 = 10, CHECKSUM = 2, SIGNATURE = 13, SIGNED = 1 };

struct known {
    uint32_t id, bytes; /* with extensions */
    uint8_t extra;      /* CRC_EXTRA, a number that proves that both sides have the same definition */
};
static const struct known known[] = {
    {MAVLINK_HEARTBEAT, 9, 50},   {MAVLINK_COMMAND_LONG, 33, 152}, {MAVLINK_HIL_ACTUATOR_CONTROLS, 81, 47},
    {MAVLINK_HIL_SENSOR, 65, 108}, {MAVLINK_HIL_GPS, 39, 124},      {MAVLINK_HIL_STATE_QUATERNION, 64, 4},
};

static const struct known *find_known(uint32_t id)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].id == id) {
            return &known[i];
        }
    }
    return NULL;
}

/* CRC-16/MCRF4XX, X.25 without the last inversion. */
static uint16_t checksum(const unsigned char *bytes, size_t count, uint8_t extra)
{
    uint16_t crc = 0xffff;
    for (size_t i = 0; i <= count; i++) {
        uint8_t part = (uint8_t)((i < count ? bytes[i] : extra) ^ (crc & 0xff));
        part = (uint8_t)(part ^ (part << 4));
        crc = (uint16_t)((crc >> 8) ^ (part << 8) ^ (part << 3) ^ (part >> 4));
    }
    return crc;
}

/* ---- fields ---- */

static void put(struct mavlink_message *message, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        message->payload[message->bytes++] = (unsigned char)(value >> (8 * i));
    }
}

static uint64_t get(const struct mavlink_message *message, uint32_t offset, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint64_t)message->payload[offset + i] << (8 * i);
    }
    return value;
}

void mavlink_put_u8(struct mavlink_message *message, uint8_t value)
{
    put(message, value, 1);
}

void mavlink_put_u16(struct mavlink_message *message, uint16_t value)
{
    put(message, value, 2);
}

void mavlink_put_u32(struct mavlink_message *message, uint32_t value)
{
    put(message, value, 4);
}

void mavlink_put_u64(struct mavlink_message *message, uint64_t value)
{
    put(message, value, 8);
}

void mavlink_put_f32(struct mavlink_message *message, double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    put(message, bits, 4);
}

uint16_t mavlink_u16(const struct mavlink_message *message, uint32_t offset)
{
    return (uint16_t)get(message, offset, 2);
}

uint64_t mavlink_u64(const struct mavlink_message *message, uint32_t offset)
{
    return get(message, offset, 8);
}

double mavlink_f32(const struct mavlink_message *message, uint32_t offset)
{
    const uint32_t bits = (uint32_t)get(message, offset, 4);
    float single;
    memcpy(&single, &bits, sizeof single);
    return (double)single;
}

/* ---- frames ---- */

size_t mavlink_write(const struct mavlink_message *message, uint8_t sequence, unsigned char frame[MAVLINK_FRAME_BYTES])
{
    uint32_t bytes = message->bytes;
    while (bytes > 1 && message->payload[bytes - 1] == 0) { /* MAVLink 2 cuts zeros at the end, but keeps one byte */
        bytes--;
    }
    const unsigned char head[HEAD_2] = {MAGIC_2, (unsigned char)bytes, 0, 0, sequence, message->system, message->component,
                                        (unsigned char)message->id, (unsigned char)(message->id >> 8), (unsigned char)(message->id >> 16)};
    memcpy(frame, head, sizeof head);
    memcpy(frame + HEAD_2, message->payload, bytes);
    const uint16_t crc = checksum(frame + 1, HEAD_2 - 1 + bytes, find_known(message->id)->extra);
    frame[HEAD_2 + bytes] = (unsigned char)crc;
    frame[HEAD_2 + bytes + 1] = (unsigned char)(crc >> 8);
    return HEAD_2 + bytes + CHECKSUM;
}

static void drop(struct mavlink_stream *stream, size_t count)
{
    stream->count -= count;
    memmove(stream->bytes, stream->bytes + count, stream->count);
}

/* The head of the frame that begins at the first byte. */
struct frame {
    bool is_2;
    uint32_t head, payload, whole; /* sizes in bytes; whole 0: unknown until more bytes have come */
    uint32_t id;
};

static struct frame frame_of(const struct mavlink_stream *stream)
{
    const unsigned char *at = stream->bytes;
    struct frame frame = {.is_2 = at[0] == MAGIC_2};
    frame.head = frame.is_2 ? HEAD_2 : HEAD_1;
    if (stream->count < frame.head) {
        return frame;
    }
    frame.payload = at[1];
    frame.whole = frame.head + frame.payload + CHECKSUM + (frame.is_2 && (at[2] & SIGNED) != 0 ? SIGNATURE : 0);
    frame.id = frame.is_2 ? at[7] | (uint32_t)at[8] << 8 | (uint32_t)at[9] << 16 : at[5];
    return frame;
}

static void take(const struct mavlink_stream *stream, const struct frame *frame, const struct known *definition,
                 struct mavlink_message *message)
{
    const unsigned char *at = stream->bytes;
    *message = (struct mavlink_message){
        .id = frame->id, .system = at[frame->is_2 ? 5 : 3], .component = at[frame->is_2 ? 6 : 4], .bytes = definition->bytes};
    memcpy(message->payload, at + frame->head, frame->payload < definition->bytes ? frame->payload : definition->bytes);
}

static void skip_damage(struct mavlink_stream *stream, size_t count)
{
    stream->damaged += stream->is_lost ? 0 : 1;
    stream->is_lost = true;
    drop(stream, count);
}

bool mavlink_read(struct mavlink_stream *stream, struct mavlink_message *message)
{
    while (stream->count > 0) {
        if (stream->bytes[0] != MAGIC_1 && stream->bytes[0] != MAGIC_2) {
            skip_damage(stream, 1);
            continue;
        }
        const struct frame frame = frame_of(stream);
        if (frame.whole == 0 || stream->count < frame.whole) {
            return false;
        }
        const struct known *definition = find_known(frame.id);
        const unsigned char *end = stream->bytes + frame.head + frame.payload;
        const uint16_t crc = (uint16_t)(end[0] | end[1] << 8);
        if (definition != NULL && crc != checksum(stream->bytes + 1, frame.head - 1 + frame.payload, definition->extra)) {
            skip_damage(stream, 1);
            continue;
        }
        stream->is_lost = false;
        if (definition != NULL) {
            take(stream, &frame, definition, message);
        }
        drop(stream, frame.whole);
        if (definition != NULL) {
            return true;
        }
    }
    return false;
}
