#include <oto_test.h>

#include "sample_records.h"

#define EPOCH UINT64_C(0x0123456789abcdef)

static const struct oto_record_type *const all_types[] = {&oto_truth_type,    &oto_imu_type,   &oto_mag_type,
                                                          &oto_odometry_type, &oto_estimate_type, &oto_event_type, &every_type};
#define TYPE_COUNT (sizeof all_types / sizeof *all_types)

/* `count` samples of a type, from seq 41. */
struct samples {
    struct oto_channel channel;
    struct oto_sample_head heads[8];
    uint64_t payloads[8 * OTO_RECORD_MAX_BYTES / 8];
};

static void make_samples(struct samples *samples, const struct oto_record_type *type)
{
    samples->channel = sample_channel("demo/car/node", type);
    for (uint32_t i = 0; i < 8; i++) {
        unsigned char *payload = (unsigned char *)samples->payloads + (size_t)i * type->bytes;
        samples->heads[i] = sample_head(41 + i, type->bytes);
        if (type == &every_type) {
            memcpy(payload, &every_value, sizeof every_value);
        } else {
            fill_payload(type, payload, 100.0 * i);
        }
    }
}

static void check_samples(struct oto_frame *frame, const struct samples *samples, uint32_t count)
{
    const struct oto_record_type *type = &samples->channel.type;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = k % 2 == 0 ? k : count - k; /* not in order only */
        struct oto_sample_head head;
        unsigned char payload[OTO_RECORD_MAX_BYTES];
        char frame_id[OTO_WORLD_NAME_BYTES];
        assert_int_equal(oto_frame_sample(frame, type, i, &head, payload, frame_id, sizeof frame_id), OTO_OK);
        assert_memory_equal(&head, &samples->heads[i], sizeof head);
        assert_memory_equal(payload, (const unsigned char *)samples->payloads + (size_t)i * type->bytes, type->bytes);
        assert_string_equal(frame_id, frame->format == OTO_FRAME_MAP ? "imu_link" : "");
    }
}

static void every_record_comes_back_as_it_was(void **state)
{
    (void)state;
    struct oto_buffer buffer = {0};
    for (size_t t = 0; t < 2 * TYPE_COUNT; t++) {
        static struct samples samples;
        struct oto_frame frame;
        const enum oto_frame_format format = t % 2 == 0 ? OTO_FRAME_MAP : OTO_FRAME_PACKED;
        make_samples(&samples, all_types[t / 2]);
        assert_int_equal(oto_frame_encode(&buffer, &samples.channel, EPOCH, format, samples.heads, samples.payloads, 8),
                         OTO_OK);
        assert_int_equal(oto_frame_decode(buffer.data, buffer.bytes, &frame), OTO_OK);
        assert_string_equal(frame.topic, "demo/car/node");
        assert_true(frame.epoch == EPOCH && frame.seq == 41 && frame.count == 8 && frame.format == format);
        assert_true(frame.schema == samples.channel.type_hash);
        check_samples(&frame, &samples, 8);
        assert_int_equal(oto_frame_sample(&frame, &samples.channel.type, 8, &samples.heads[0], samples.payloads, NULL, 0),
                         OTO_NOT_FOUND);
    }
    oto_buffer_free(&buffer);
}

/* ---- the very bytes ---- */

static void golden_imu(struct oto_buffer *buffer)
{
    struct oto_imu_record imu = {.orientation_w = 1.0,
                                 .orientation_covariance = {-1.0},
                                 .angular_velocity_rad_s = {0.125, -0.25, 0.5},
                                 .angular_velocity_covariance = {0.0625, 0, 0, 0, 0.0625, 0, 0, 0, 0.0625},
                                 .linear_acceleration_m_s2 = {1.5, -2.75, 9.8125},
                                 .linear_acceleration_covariance = {0.25, 0, 0, 0, 0.25, 0, 0, 0, 0.25}};
    const struct oto_channel channel = sample_channel("demo/car/imu", &oto_imu_type);
    const struct oto_sample_head head = {.t_ns = 12345000000,
                                         .sensor_time_ns = 12345000123,
                                         .seq = 2469,
                                         .flags = OTO_SAMPLE_SATURATED(2),
                                         .bytes = sizeof imu};
    assert_int_equal(oto_frame_encode(buffer, &channel, EPOCH, OTO_FRAME_MAP, &head, &imu, 1), OTO_OK);
}

/* The file is written by tests/golden/make_imu_frame.py with Python's msgpack. */
static void A26_an_imu_frame_has_the_bytes_that_another_encoder_makes(void **state)
{
    (void)state;
    unsigned char golden[4096];
    struct oto_buffer buffer = {0};
    FILE *file = fopen(OTO_SOURCE_DIR "/tests/golden/imu_frame.bin", "rb");
    assert_non_null(file);
    const size_t bytes = fread(golden, 1, sizeof golden, file);
    (void)fclose(file);
    golden_imu(&buffer);
    assert_int_equal(buffer.bytes, bytes);
    assert_memory_equal(buffer.data, golden, bytes);
    oto_buffer_free(&buffer);
}

static void keys_stand_in_the_order_of_sensor_msgs_imu(void **state)
{
    (void)state;
    static const char *const keys[] = {"epoch",
                                       "seq",
                                       "schema",
                                       "samples",
                                       "header",
                                       "stamp",
                                       "sec",
                                       "nanosec",
                                       "frame_id",
                                       "\xaborientation",
                                       "orientation_covariance",
                                       "angular_velocity",
                                       "angular_velocity_covariance",
                                       "linear_acceleration",
                                       "linear_acceleration_covariance",
                                       "otolith",
                                       "sensor_time_ns",
                                       "flags"};
    struct oto_buffer buffer = {0};
    golden_imu(&buffer);
    const unsigned char *at = buffer.data;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const unsigned char *found = memmem(at, buffer.bytes - (size_t)(at - buffer.data), keys[i], strlen(keys[i]));
        if (found == NULL) {
            fail_msg("'%s' does not follow", keys[i]);
        }
        at = found + strlen(keys[i]);
    }
    oto_buffer_free(&buffer);
}

/* ---- damage ---- */

/* Calls every decoder on the bytes; any result is accepted, but no crash. */
static enum oto_status decode_all(const unsigned char *data, size_t bytes, const struct oto_record_type *type)
{
    struct oto_frame frame;
    enum oto_status status = oto_frame_decode(data, bytes, &frame);
    for (uint32_t i = 0; status == OTO_OK && i < frame.count; i++) {
        struct oto_sample_head head;
        uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
        char frame_id[16];
        status = oto_frame_sample(&frame, type, i, &head, payload, frame_id, sizeof frame_id);
    }
    return status;
}

static void every_truncation_of_a_frame_is_refused(void **state)
{
    (void)state;
    struct oto_buffer buffer = {0};
    for (size_t t = 0; t < 2 * TYPE_COUNT; t++) {
        static struct samples samples;
        make_samples(&samples, all_types[t / 2]);
        assert_int_equal(oto_frame_encode(&buffer, &samples.channel, EPOCH, (enum oto_frame_format)(t % 2),
                                          samples.heads, samples.payloads, 2),
                         OTO_OK);
        for (size_t i = 0; i < buffer.bytes; i++) {
            unsigned char *cut = malloc(i + 1);
            memcpy(cut, buffer.data, i);
            assert_int_not_equal(decode_all(cut, i, &samples.channel.type), OTO_OK);
            free(cut);
        }
    }
    oto_buffer_free(&buffer);
}

static void no_changed_byte_leads_astray(void **state)
{
    (void)state;
    struct oto_buffer buffer = {0};
    for (size_t t = 0; t < 2 * TYPE_COUNT; t++) {
        static struct samples samples;
        make_samples(&samples, all_types[t / 2]);
        assert_int_equal(oto_frame_encode(&buffer, &samples.channel, EPOCH, (enum oto_frame_format)(t % 2),
                                          samples.heads, samples.payloads, 2),
                         OTO_OK);
        for (size_t i = 0; i < buffer.bytes; i++) {
            const unsigned char kept = buffer.data[i];
            for (unsigned value = 0; value < 256; value += value < 0x80 || value >= 0xe0 ? 13 : 1) {
                buffer.data[i] = (unsigned char)value;
                (void)decode_all(buffer.data, buffer.bytes, &samples.channel.type);
            }
            buffer.data[i] = kept;
        }
    }
    oto_buffer_free(&buffer);
}

/* "t", NUL, {epoch: 1, seq: 1, schema: 1, <key>: <tail>} */
static enum oto_status decode_tail(const char *key, const void *tail, size_t bytes)
{
    unsigned char data[2048];
    static const char start[] = "t\0\x84\xa5"
                                "epoch\x01\xa3"
                                "seq\x01\xa6schema\x01\xa7";
    memcpy(data, start, sizeof start - 1);
    data[sizeof start - 2] = (unsigned char)(0xa0 + strlen(key));
    memcpy(data + sizeof start - 1, key, strlen(key));
    memcpy(data + sizeof start - 1 + strlen(key), tail, bytes);
    return decode_all(data, sizeof start - 1 + strlen(key) + bytes, &oto_mag_type);
}

static void frames_that_claim_much_cost_nothing(void **state)
{
    (void)state;
    unsigned char deep[1024];
    memset(deep, 0x91, sizeof deep);
    deep[sizeof deep - 1] = 1;
    assert_int_equal(decode_tail("samples", "\xdd\x10\0\0\0", 5), OTO_CORRUPT);
    assert_int_equal(decode_tail("samples", "\xdf\x10\0\0\0", 5), OTO_CORRUPT);
    assert_int_equal(decode_tail("packed", "\xc6\x10\0\0\0", 5), OTO_CORRUPT);
    assert_int_equal(decode_tail("other", "\xdd\x10\0\0\0", 5), OTO_CORRUPT);
    assert_int_equal(decode_tail("samples", deep, sizeof deep), OTO_CORRUPT);
    assert_int_equal(decode_tail("other", deep, sizeof deep), OTO_CORRUPT);
    assert_int_equal(decode_tail("samples", "\x90", 1), OTO_CORRUPT);
    assert_int_equal(decode_tail("seq", "\x01", 1), OTO_CORRUPT);
    memset(deep, 0, sizeof deep);
    assert_int_equal(decode_tail("packed", deep, 0), OTO_CORRUPT);
    unsigned char *many = calloc(1, 2 * OTO_FRAME_MAX_SAMPLES);
    memcpy(many, "t\0\x81\xa7samples\xdc\x10\x01", 14);
    assert_int_equal(decode_all(many, 2 * OTO_FRAME_MAX_SAMPLES, &oto_mag_type), OTO_LIMIT);
    free(many);
}

static void a_frame_without_a_topic_is_refused(void **state)
{
    (void)state;
    unsigned char data[200];
    memset(data, 'a', sizeof data);
    assert_int_equal(decode_all(data, sizeof data, &oto_mag_type), OTO_CORRUPT);
    assert_int_equal(decode_all((const unsigned char *)"\0\x80", 2, &oto_mag_type), OTO_CORRUPT);
    assert_int_equal(decode_all((const unsigned char *)"", 0, &oto_mag_type), OTO_CORRUPT);
    unsigned char *large = calloc(1, OTO_FRAME_MAX_BYTES + 1);
    assert_int_equal(decode_all(large, OTO_FRAME_MAX_BYTES + 1, &oto_mag_type), OTO_LIMIT);
    free(large);
}

static void a_record_of_another_type_is_refused(void **state)
{
    (void)state;
    static struct samples samples;
    struct oto_buffer buffer = {0};
    for (int format = 0; format < 2; format++) {
        make_samples(&samples, &oto_imu_type);
        assert_int_equal(oto_frame_encode(&buffer, &samples.channel, EPOCH, (enum oto_frame_format)format, samples.heads,
                                          samples.payloads, 1),
                         OTO_OK);
        assert_int_equal(decode_all(buffer.data, buffer.bytes, &oto_mag_type), OTO_CORRUPT);
    }
    oto_buffer_free(&buffer);
}

static void a_key_from_a_later_version_is_stepped_over(void **state)
{
    (void)state;
    static const struct oto_field fields[] = {{"speed", OTO_FIELD_F64, 1, 0, "m/s", "", ""}};
    static const struct oto_record_type type = {"old", 8, 1, fields};
    struct oto_field more_fields[] = {{"extra.deep.a", OTO_FIELD_F64, 1, 0, "", "", ""},
                                      {"extra.deep.b", OTO_FIELD_F64, 1, 8, "", "", ""},
                                      {"speed", OTO_FIELD_F64, 1, 16, "m/s", "", ""}};
    const struct oto_record_type newer = {"old", 24, 3, more_fields};
    const struct oto_channel channel = sample_channel("demo/car/x", &newer);
    const struct oto_sample_head head = sample_head(1, 24);
    const double values[3] = {1, 2, 3};
    struct oto_buffer buffer = {0};
    struct oto_frame frame;
    struct oto_sample_head got;
    double speed;
    assert_int_equal(oto_frame_encode(&buffer, &channel, EPOCH, OTO_FRAME_MAP, &head, values, 1), OTO_OK);
    assert_int_equal(oto_frame_decode(buffer.data, buffer.bytes, &frame), OTO_OK);
    assert_int_equal(oto_frame_sample(&frame, &type, 0, &got, &speed, NULL, 0), OTO_OK);
    assert_true(speed == 3);
    oto_buffer_free(&buffer);
}

static void too_much_for_a_frame_is_refused(void **state)
{
    (void)state;
    static struct samples samples;
    struct oto_buffer buffer = {0};
    make_samples(&samples, &oto_imu_type);
    assert_int_equal(oto_frame_encode(&buffer, &samples.channel, EPOCH, OTO_FRAME_MAP, samples.heads, samples.payloads, 0),
                     OTO_INVALID);
    assert_int_equal(oto_frame_encode(&buffer, &samples.channel, EPOCH, OTO_FRAME_MAP, samples.heads, samples.payloads,
                                      OTO_FRAME_MAX_SAMPLES + 1),
                     OTO_LIMIT);
    struct oto_field field = {"text", OTO_FIELD_TEXT, 4096, 0, "", "", ""};
    const struct oto_record_type type = {"large", 4096, 1, &field};
    const struct oto_channel channel = sample_channel("demo/car/x", &type);
    struct oto_sample_head *heads = calloc(2048, sizeof *heads);
    unsigned char *payloads = malloc(2048 * 4096);
    memset(payloads, 'x', 2048 * 4096);
    assert_int_equal(oto_frame_encode(&buffer, &channel, EPOCH, OTO_FRAME_MAP, heads, payloads, 2048), OTO_LIMIT);
    assert_true(buffer.capacity <= OTO_FRAME_MAX_BYTES);
    free(heads);
    free(payloads);
    oto_buffer_free(&buffer);
}

static void encoding_again_allocates_nothing(void **state)
{
    (void)state;
    static struct samples samples;
    struct oto_buffer buffer = {0};
    make_samples(&samples, &oto_imu_type);
    (void)oto_frame_encode(&buffer, &samples.channel, EPOCH, OTO_FRAME_MAP, samples.heads, samples.payloads, 8);
    const unsigned char *data = buffer.data;
    const size_t capacity = buffer.capacity;
    for (int i = 0; i < 100; i++) {
        (void)oto_frame_encode(&buffer, &samples.channel, EPOCH, OTO_FRAME_MAP, samples.heads, samples.payloads, 8);
    }
    assert_ptr_equal(buffer.data, data);
    assert_int_equal(buffer.capacity, capacity);
    oto_buffer_free(&buffer);
}

static void a_stamp_before_time_zero_comes_back(void **state)
{
    (void)state;
    static const int64_t stamps[] = {-1, -1000000000, -1500000000, 0, INT64_MAX, INT64_MIN + 1000000000};
    static struct samples samples;
    struct oto_buffer buffer = {0};
    make_samples(&samples, &oto_mag_type);
    for (size_t i = 0; i < sizeof stamps / sizeof *stamps; i++) {
        struct oto_frame frame;
        struct oto_sample_head head;
        uint64_t payload[12];
        samples.heads[0].t_ns = stamps[i];
        (void)oto_frame_encode(&buffer, &samples.channel, EPOCH, OTO_FRAME_MAP, samples.heads, samples.payloads, 1);
        assert_int_equal(oto_frame_decode(buffer.data, buffer.bytes, &frame), OTO_OK);
        assert_int_equal(oto_frame_sample(&frame, &oto_mag_type, 0, &head, payload, NULL, 0), OTO_OK);
        assert_true(head.t_ns == stamps[i]);
    }
    oto_buffer_free(&buffer);
}

/* ---- schema ---- */

static void make_schema(struct oto_buffer *buffer)
{
    struct oto_channel channels[TYPE_COUNT];
    for (size_t i = 0; i < TYPE_COUNT; i++) {
        char topic[32];
        (void)snprintf(topic, sizeof topic, "demo/car/%s", all_types[i]->name);
        channels[i] = sample_channel(topic, all_types[i]);
    }
    assert_int_equal(oto_frame_encode_schema(buffer, "demo", EPOCH, channels, TYPE_COUNT), OTO_OK);
}

static void a_schema_describes_every_channel(void **state)
{
    (void)state;
    struct oto_buffer buffer = {0};
    struct oto_schema *schema;
    struct oto_frame frame;
    make_schema(&buffer);
    assert_string_equal((const char *)buffer.data, "demo/@schema");
    assert_int_equal(oto_frame_decode(buffer.data, buffer.bytes, &frame), OTO_UNSUPPORTED);
    assert_int_equal(oto_schema_decode(buffer.data, buffer.bytes, &schema), OTO_OK);
    assert_int_equal(oto_schema_channel_count(schema), TYPE_COUNT);
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        const struct oto_channel *channel = oto_schema_channel(schema, i);
        assert_string_equal(channel->type.name, all_types[i]->name);
        assert_true(oto_record_type_hash(&channel->type) == oto_record_type_hash(all_types[i]));
        assert_string_equal(channel->type.fields[0].text, all_types[i]->fields[0].text);
        assert_true(channel->rate_num == 200 && channel->rate_den == 1);
        assert_string_equal(channel->frame_id, "imu_link");
    }
    assert_null(oto_schema_channel(schema, TYPE_COUNT));
    oto_schema_close(schema);
    oto_buffer_free(&buffer);
}

static void a_large_schema_describes_a_type_once(void **state)
{
    (void)state;
    enum { COUNT = 600, BYTES_EACH = 250 };
    struct oto_buffer buffer = {0};
    struct oto_schema *schema;
    struct oto_channel *channels = calloc(COUNT, sizeof *channels);
    assert_non_null(channels);
    for (uint32_t i = 0; i < COUNT; i++) {
        char topic[32];
        (void)snprintf(topic, sizeof topic, "demo/car_%u/imu", i);
        channels[i] = sample_channel(topic, all_types[i % TYPE_COUNT]);
    }
    assert_int_equal(oto_frame_encode_schema_part(&buffer, "demo", EPOCH, channels, COUNT, COUNT), OTO_OK);
    assert_true(buffer.bytes < (size_t)COUNT * BYTES_EACH + 20000);
    assert_int_equal(oto_schema_decode(buffer.data, buffer.bytes, &schema), OTO_OK);
    assert_int_equal(oto_schema_channel_count(schema), COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct oto_channel *channel = oto_schema_channel(schema, i);
        assert_string_equal(channel->topic, channels[i].topic);
        assert_true(oto_record_type_hash(&channel->type) == oto_record_type_hash(all_types[i % TYPE_COUNT]));
    }
    oto_schema_close(schema);
    const unsigned char *at = memmem(buffer.data, buffer.bytes, "\xa6" "fields", 7);
    assert_non_null(at);
    buffer.data[at - buffer.data + 1] = 'F'; /* an unknown key: the first channel has no fields, and none is before it */
    assert_int_equal(oto_schema_decode(buffer.data, buffer.bytes, &schema), OTO_CORRUPT);
    /* The hash of another type does not lend its fields: the last channel claims that of a record with another name. */
    channels[COUNT - 1].type.name = "another";
    assert_int_equal(oto_frame_encode_schema_part(&buffer, "demo", EPOCH, channels, COUNT, COUNT), OTO_OK);
    assert_int_equal(oto_schema_decode(buffer.data, buffer.bytes, &schema), OTO_CORRUPT);
    channels[COUNT - 1].type = *all_types[(COUNT - 1) % TYPE_COUNT];
    channels[COUNT - 1].type.bytes += 8;
    assert_int_equal(oto_frame_encode_schema_part(&buffer, "demo", EPOCH, channels, COUNT, COUNT), OTO_OK);
    assert_int_equal(oto_schema_decode(buffer.data, buffer.bytes, &schema), OTO_CORRUPT);
    free(channels);
    oto_buffer_free(&buffer);
}

static void a_damaged_schema_is_refused_or_sound(void **state)
{
    (void)state;
    struct oto_buffer buffer = {0};
    struct oto_schema *schema;
    make_schema(&buffer);
    for (size_t i = 0; i < buffer.bytes; i += i < 600 ? 1 : 7) {
        assert_int_not_equal(oto_schema_decode(buffer.data, i, &schema), OTO_OK);
        assert_null(schema);
        const unsigned char kept = buffer.data[i];
        static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xc6, 0xcb, 0xcf, 0xdb, 0xdd, 0xdf, 255};
        for (size_t k = 0; k < sizeof values; k++) {
            buffer.data[i] = values[k];
            if (oto_schema_decode(buffer.data, buffer.bytes, &schema) == OTO_OK) {
                assert_int_equal(oto_schema_channel_count(schema), TYPE_COUNT);
                oto_schema_close(schema);
            }
        }
        buffer.data[i] = kept;
    }
    oto_buffer_free(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_back_as_it_was),
        cmocka_unit_test(A26_an_imu_frame_has_the_bytes_that_another_encoder_makes),
        cmocka_unit_test(keys_stand_in_the_order_of_sensor_msgs_imu),
        cmocka_unit_test(every_truncation_of_a_frame_is_refused),
        cmocka_unit_test(no_changed_byte_leads_astray),
        cmocka_unit_test(frames_that_claim_much_cost_nothing),
        cmocka_unit_test(a_frame_without_a_topic_is_refused),
        cmocka_unit_test(a_record_of_another_type_is_refused),
        cmocka_unit_test(a_key_from_a_later_version_is_stepped_over),
        cmocka_unit_test(too_much_for_a_frame_is_refused),
        cmocka_unit_test(encoding_again_allocates_nothing),
        cmocka_unit_test(a_stamp_before_time_zero_comes_back),
        cmocka_unit_test(a_schema_describes_every_channel),
        cmocka_unit_test(a_large_schema_describes_a_type_once),
        cmocka_unit_test(a_damaged_schema_is_refused_or_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
