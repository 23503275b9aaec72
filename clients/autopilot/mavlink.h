/*
 * MAVLink 2 frames: the few messages of the simulator interface of PX4. Writing appends a frame; reading takes bytes as a stream gives
 * them. Sources: mavlink.io, "Packet Serialization" and common.xml (numbers, field order, CRC_EXTRA). Pure.
 */
#ifndef AUTOPILOT_MAVLINK_H
#define AUTOPILOT_MAVLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAVLINK_PAYLOAD_BYTES = 255, MAVLINK_FRAME_BYTES = 280, MAVLINK_STREAM_BYTES = 4096 };

enum mavlink_id {
    MAVLINK_HEARTBEAT = 0,
    MAVLINK_COMMAND_LONG = 76,
    MAVLINK_HIL_ACTUATOR_CONTROLS = 93,
    MAVLINK_HIL_SENSOR = 107,
    MAVLINK_HIL_GPS = 113,
    MAVLINK_HIL_STATE_QUATERNION = 115
};

/* A message. Fields lie in the payload in wire order: larger types first, extensions last. */
struct mavlink_message {
    uint32_t id;
    uint8_t system, component;
    uint32_t bytes; /* of the payload; after reading: the full size of the message, whose absent bytes are 0 */
    unsigned char payload[MAVLINK_PAYLOAD_BYTES];
};

void mavlink_put_u8(struct mavlink_message *message, uint8_t value);
void mavlink_put_u16(struct mavlink_message *message, uint16_t value);
void mavlink_put_u32(struct mavlink_message *message, uint32_t value);
void mavlink_put_u64(struct mavlink_message *message, uint64_t value);
void mavlink_put_f32(struct mavlink_message *message, double value);
uint16_t mavlink_u16(const struct mavlink_message *message, uint32_t offset);
uint64_t mavlink_u64(const struct mavlink_message *message, uint32_t offset);
double mavlink_f32(const struct mavlink_message *message, uint32_t offset);

/* Writes a frame with this sequence number. Returns its length. The id is one of enum mavlink_id. */
size_t mavlink_write(const struct mavlink_message *message, uint8_t sequence, unsigned char frame[MAVLINK_FRAME_BYTES]);

/* Received bytes that are not read yet. */
struct mavlink_stream {
    unsigned char bytes[MAVLINK_STREAM_BYTES];
    size_t count;
    uint64_t damaged; /* number of frames with a wrong checksum and of sequences of bytes outside of frames */
    bool is_lost;     /* searches the next frame after damage */
};

/* The number of bytes that can be added at bytes + count. */
static inline size_t mavlink_room(const struct mavlink_stream *stream)
{
    return sizeof stream->bytes - stream->count;
}
/* Takes the next message of enum mavlink_id; others are skipped. False: more bytes are needed. */
bool mavlink_read(struct mavlink_stream *stream, struct mavlink_message *message);

#endif
