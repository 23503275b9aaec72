/*
 * The wire frame (A21): topic, one NUL, one msgpack map with string keys. Encoding writes into a caller's buffer and
 * allocates nothing. Decoding is limited by the frame's own length and allocates nothing from sizes that it claims.
 * Pure: any thread, one buffer each.
 *
 *   map:     {epoch, seq (of the first sample), schema (type hash), samples: [record, …]}
 *   record:  {header: {seq, stamp: {sec, nanosec}, frame_id}, <fields, nested along their dots>, otolith: {sensor_time_ns, flags}}
 *   packed:  {epoch, seq, schema, packed: bin} with each sample as struct oto_sample_head and payload, back to back
 *   schema:  topic world/@schema, {epoch, v, world, total, channels: [{topic, node, type, schema, rate: [num, den], frame_id,
 *            bytes, fields: [{name, type, count, offset, unit, frame, text}, …]}, …]}
 *            where `type` of a channel is its record's name, `schema` the hash in its frames, and `type` of a field one
 *            of u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 text. A schema too large for one frame is split: the frames share
 *            `epoch`, and `total` counts the channels of all of them (absent: those of this one). If `total` is above 256, a
 *            channel may have no `fields`: they are those of one of the 64 channels before it in the frame, with the same
 *            `schema`
 * Raw records in `packed` are little-endian. Invalid bytes of a text are replaced by '?'.
 */
#ifndef OTOLITH_FRAME_H
#define OTOLITH_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/client.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OTO_FRAME_MAX_BYTES (4u << 20)
#define OTO_FRAME_MAX_SAMPLES 4096u

enum oto_frame_format { OTO_FRAME_MAP = 0, OTO_FRAME_PACKED = 1 };

/* A growing buffer that belongs to the caller; `data` is malloc'ed and reused for each frame. */
struct oto_buffer {
    unsigned char *data;
    size_t bytes, capacity;
};
OTO_API void oto_buffer_free(struct oto_buffer *buffer);

/* Encodes `count` consecutive samples of a channel (heads[i], payloads + i × type.bytes). */
OTO_API enum oto_status oto_frame_encode(struct oto_buffer *buffer, const struct oto_channel *channel, uint64_t epoch,
                                         enum oto_frame_format format, const struct oto_sample_head *heads,
                                         const void *payloads, uint32_t count);
/* Encodes the schema frame of all channels; OTO_LIMIT: it must be split. */
OTO_API enum oto_status oto_frame_encode_schema(struct oto_buffer *buffer, const char *world, uint64_t epoch,
                                                const struct oto_channel *channels, uint32_t count);
/* Encodes `count` of `total` channels: one of several schema frames. */
OTO_API enum oto_status oto_frame_encode_schema_part(struct oto_buffer *buffer, const char *world, uint64_t epoch,
                                                     const struct oto_channel *channels, uint32_t count,
                                                     uint32_t total);

/* The envelope of a frame. */
struct oto_frame {
    const char *topic; /* points into the frame, NUL-terminated */
    uint64_t epoch, seq, schema;
    uint32_t count;
    enum oto_frame_format format;
    const unsigned char *samples; /* private, as all members below */
    size_t samples_bytes;
    const unsigned char *next; /* start of sample `next_index`, so that reading in order needs one pass */
    uint32_t next_index;
};
/* Decodes the envelope of a frame. OTO_OK, OTO_CORRUPT, OTO_LIMIT, or OTO_UNSUPPORTED for a schema frame. */
OTO_API enum oto_status oto_frame_decode(const void *data, size_t bytes, struct oto_frame *frame);
/* Decodes sample i by its type into head and payload (type->bytes). frame_id may be NULL. */
OTO_API enum oto_status oto_frame_sample(struct oto_frame *frame, const struct oto_record_type *type,
                                         uint32_t index, struct oto_sample_head *head, void *payload, char *frame_id,
                                         size_t frame_id_bytes);

struct oto_schema; /* the channels of a schema frame; of limited size */
OTO_API enum oto_status oto_schema_decode(const void *data, size_t bytes, struct oto_schema **schema);
OTO_API void oto_schema_close(struct oto_schema *schema);
OTO_API uint64_t oto_schema_epoch(const struct oto_schema *schema);
/* Number of channels of the world, which is larger than that of this frame if the schema is split. */
OTO_API uint32_t oto_schema_total(const struct oto_schema *schema);
OTO_API uint32_t oto_schema_channel_count(const struct oto_schema *schema);
/* The `view` of these channels is not valid. */
OTO_API const struct oto_channel *oto_schema_channel(const struct oto_schema *schema, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
