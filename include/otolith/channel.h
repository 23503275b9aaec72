/*
 * Channels describe themselves. A channel is a sequence of records of fixed layout. A record type has a name, a size
 * and a table of fields. msgpack frames, CSV and CLI columns, NumPy dtypes and fault injection read the field table, so
 * a new record works with all of them. Pure data: any thread.
 *
 * A field's name may contain dots: `linear_acceleration.x` is the member `x` of the map `linear_acceleration` on the
 * wire and one column of that name in a CSV. A field with count > 1 is an array on the wire and columns `name.0`,
 * `name.1`… Besides its payload every sample has the head below; the head is not in the field table.
 */
#ifndef OTOLITH_CHANNEL_H
#define OTOLITH_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

enum oto_field_type {
    OTO_FIELD_U8 = 1,
    OTO_FIELD_I8 = 2,
    OTO_FIELD_U16 = 3,
    OTO_FIELD_I16 = 4,
    OTO_FIELD_U32 = 5,
    OTO_FIELD_I32 = 6,
    OTO_FIELD_U64 = 7,
    OTO_FIELD_I64 = 8,
    OTO_FIELD_F32 = 9,
    OTO_FIELD_F64 = 10,
    OTO_FIELD_TEXT = 11 /* `count` bytes, NUL-padded UTF-8: one string on the wire, one column in a CSV */
};

#define OTO_FIELD_NAME_BYTES 48
#define OTO_FIELD_UNIT_BYTES 16
#define OTO_FIELD_FRAME_BYTES 16
#define OTO_RECORD_NAME_BYTES 32
#define OTO_TOPIC_BYTES 96
#define OTO_RECORD_MAX_BYTES 4096 /* largest size of a payload in bytes */
#define OTO_RECORD_MAX_FIELDS 256

struct oto_field {
    const char *name;
    uint32_t type;   /* enum oto_field_type */
    uint32_t count;  /* 1 for a scalar */
    uint32_t offset; /* bytes from the start of the payload, aligned to the type */
    const char *unit;  /* "m/s^2", "rad/s", "T", "1" … "" for none */
    const char *frame; /* axes: "enu", "body", "sensor", "" for none */
    const char *text;  /* one line */
};

struct oto_record_type {
    const char *name;     /* "imu", "mag", … or a name that the plugin defines */
    uint32_t bytes;       /* size of the payload: a multiple of 8, at most OTO_RECORD_MAX_BYTES */
    uint32_t field_count;
    const struct oto_field *fields;
};

/*
 * Largest sequence number, so that a slot's lock (2·seq + 2) fits 64 bits. Simulated time ends long before a channel has so
 * many records. A greater number in a segment or frame is OTO_CORRUPT.
 */
#define OTO_SEQ_MAX ((UINT64_C(1) << 63) - 2)

/* The sample head, which precedes every payload in a ring. The host of the plugins writes it, never a plugin. */
struct oto_sample_head {
    int64_t t_ns;           /* simulated measurement time since time zero, floor(n·1e9/fs) */
    int64_t sensor_time_ns; /* reading of the sensor's own clock at that instant (A8) */
    uint64_t seq;           /* number of this record in its channel, from 1 to OTO_SEQ_MAX, without a gap */
    uint32_t flags;         /* OTO_SAMPLE_… */
    uint32_t bytes;         /* size of the payload */
};
#ifndef __cplusplus
_Static_assert(sizeof(struct oto_sample_head) == 32, "the sample head is 32 bytes");
#endif

/*
 * Saturation of each axis: bits 0…2 x y z of the accelerometer or of the only triad, 3…5 gyroscope, 6…8 magnetometer.
 */
#define OTO_SAMPLE_SATURATED(axis) (1u << (axis))
#define OTO_SAMPLE_SATURATED_MASK 0x1ffu
#define OTO_SAMPLE_FAULT (1u << 16)     /* a fault was injected into this sample */
#define OTO_SAMPLE_STALE (1u << 17)     /* the producer did not answer; this record repeats the last one */
#define OTO_SAMPLE_WARN (1u << 18)      /* the producer returned OTO_STEP_WARN */
#define OTO_SAMPLE_PROBATION (1u << 19) /* the node's plugin was on probation; the swap may have been rolled back later */
#define OTO_SAMPLE_NON_FINITE (1u << 20) /* the record contains a NaN or an infinity */

/* Bytes of one element of `type`, 0 for an unknown type. */
static inline uint32_t oto_field_type_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1};
    return type < sizeof bytes ? bytes[type] : 0;
}

/*
 * Identifies a record's layout and meaning: FNV-1a-64 over name, size and every field's name, type, count, offset, unit
 * and axes. Texts are not included.
 */
static inline uint64_t oto_record_type_hash(const struct oto_record_type *type)
{
    uint64_t hash = oto_fnv1a64_text(OTO_FNV1A64_START, type->name);
    hash = oto_fnv1a64_more(hash, &type->bytes, sizeof type->bytes);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        const uint32_t numbers[3] = {field->type, field->count, field->offset};
        hash = oto_fnv1a64_text(hash, field->name);
        hash = oto_fnv1a64_more(hash, "", 1);
        hash = oto_fnv1a64_more(hash, numbers, sizeof numbers);
        hash = oto_fnv1a64_text(hash, field->unit);
        hash = oto_fnv1a64_more(hash, "", 1);
        hash = oto_fnv1a64_text(hash, field->frame);
        hash = oto_fnv1a64_more(hash, "", 1);
    }
    return hash;
}

#ifdef __cplusplus
}
#endif

#endif
