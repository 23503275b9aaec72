/* Records for tests of the wire: every standard type, and one with every type of field, nested and in arrays. */
#ifndef SAMPLE_RECORDS_H
#define SAMPLE_RECORDS_H

#include "otolith/frame.h"
#include "otolith/records.h"

struct every_record {
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16[3];
    uint32_t u32;
    int32_t i32;
    float f32;
    uint64_t u64;
    int64_t i64;
    double f64[2];
    char text[12];
    uint8_t bytes[4];
};

#define EVERY_(member, wire, kind, n) OTO_FIELD_(struct every_record, member, wire, kind, n, "1", "body", "a field")
static const struct oto_field every_fields[] = {
    EVERY_(u8, "status.small.u8", OTO_FIELD_U8, 1),     EVERY_(i8, "status.small.i8", OTO_FIELD_I8, 1),
    EVERY_(u16, "status.u16", OTO_FIELD_U16, 1),        EVERY_(i16, "status.i16", OTO_FIELD_I16, 3),
    EVERY_(u32, "u32", OTO_FIELD_U32, 1),               EVERY_(i32, "i32", OTO_FIELD_I32, 1),
    EVERY_(f32, "real.f32", OTO_FIELD_F32, 1),          EVERY_(f64, "real.f64", OTO_FIELD_F64, 2),
    EVERY_(u64, "u64", OTO_FIELD_U64, 1),               EVERY_(i64, "i64", OTO_FIELD_I64, 1),
    EVERY_(text, "text", OTO_FIELD_TEXT, 12),           EVERY_(bytes, "bytes", OTO_FIELD_U8, 4),
};
static const struct oto_record_type every_type = {"every", sizeof(struct every_record),
                                                  sizeof every_fields / sizeof *every_fields, every_fields};

static const struct every_record every_value = {.u8 = 255,
                                                .i8 = -128,
                                                .u16 = 65535,
                                                .i16 = {-32768, 0, 32767},
                                                .u32 = UINT32_MAX,
                                                .i32 = INT32_MIN,
                                                .f32 = 0.1f,
                                                .u64 = UINT64_MAX,
                                                .i64 = INT64_MIN,
                                                .f64 = {-0.0, 1e-300},
                                                .text = "zw\xc3\xb6lf bytes",
                                                .bytes = {0, 127, 128, 255}};

static inline struct oto_channel sample_channel(const char *topic, const struct oto_record_type *type)
{
    struct oto_channel channel = {.node_index = UINT32_MAX, .rate_num = 200, .rate_den = 1, .type = *type};
    (void)snprintf(channel.topic, sizeof channel.topic, "%s", topic);
    (void)snprintf(channel.node, sizeof channel.node, "%s", topic);
    (void)snprintf(channel.frame_id, sizeof channel.frame_id, "imu_link");
    channel.type_hash = oto_record_type_hash(type);
    return channel;
}

static inline struct oto_sample_head sample_head(uint64_t seq, uint32_t bytes)
{
    return (struct oto_sample_head){.t_ns = (int64_t)(seq * 5000000 + 3000000000),
                                    .sensor_time_ns = (int64_t)(seq * 5000001 - 7),
                                    .seq = seq,
                                    .flags = OTO_SAMPLE_SATURATED(4),
                                    .bytes = bytes};
}

/* Fills every field of a numeric record with values that tell fields apart. */
static inline void fill_payload(const struct oto_record_type *type, void *payload, double base)
{
    memset(payload, 0, type->bytes);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        unsigned char *to = (unsigned char *)payload + field->offset;
        for (uint32_t k = 0; k < field->count; k++) {
            const double real = base + (double)i + (double)k / 16;
            const uint64_t whole = (uint64_t)(i + k + 1);
            if (field->type == OTO_FIELD_F64) {
                memcpy(to + 8 * k, &real, 8);
            } else if (field->type == OTO_FIELD_TEXT) {
                to[k] = k + 1 < field->count ? (unsigned char)('a' + k % 26) : 0;
            } else {
                memcpy(to + (size_t)k * oto_field_type_bytes(field->type), &whole, oto_field_type_bytes(field->type));
            }
        }
    }
}

#endif
