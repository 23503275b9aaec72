#include <oto_test.h>

#include "sample_records.h"
#include "transport/stream.h"

#define EPOCH 99

static struct oto_channel channels[3];
static struct oto_stream stream;
static struct oto_buffer buffer; /* as nng's message: one frame at a time */

static int set_up(void **state)
{
    (void)state;
    channels[0] = sample_channel("demo/car/imu", &oto_imu_type);
    channels[1] = sample_channel("demo/car/imu2", &oto_imu_type);
    channels[2] = sample_channel("/unity/mag", &oto_mag_type);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    oto_stream_finish(&stream);
    oto_buffer_free(&buffer);
    return 0;
}

static enum oto_status give_schema(uint64_t epoch)
{
    assert_int_equal(oto_frame_encode_schema(&buffer, "demo", epoch, channels, 3), OTO_OK);
    return oto_stream_give(&stream, buffer.data, buffer.bytes);
}

static enum oto_status give(uint32_t channel, uint64_t epoch, uint64_t seq, uint32_t count, enum oto_frame_format format)
{
    struct oto_sample_head heads[8];
    uint64_t payloads[8 * sizeof(struct oto_imu_record) / 8];
    const struct oto_record_type *type = &channels[channel].type;
    for (uint32_t i = 0; i < count; i++) {
        heads[i] = sample_head(seq + i, type->bytes);
        fill_payload(type, (unsigned char *)payloads + (size_t)i * type->bytes, (double)(seq + i));
    }
    assert_int_equal(oto_frame_encode(&buffer, &channels[channel], epoch, format, heads, payloads, count), OTO_OK);
    return oto_stream_give(&stream, buffer.data, buffer.bytes);
}

static void expect(const char *topic, uint64_t seq, uint64_t lost)
{
    struct oto_wire_sample sample;
    assert_int_equal(oto_stream_take(&stream, &sample), OTO_OK);
    assert_string_equal(sample.topic, topic);
    assert_int_equal(sample.head.seq, seq);
    assert_int_equal(sample.lost, lost);
    assert_string_equal(sample.frame_id, "imu_link");
    assert_true(oto_field_number(&sample.type->fields[0], sample.payload, 0) == (double)seq);
}

static void expect_none(void)
{
    struct oto_wire_sample sample;
    assert_int_equal(oto_stream_take(&stream, &sample), OTO_AGAIN);
}

static void nothing_is_decoded_before_the_schema(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "demo/car/imu", &error), error);
    expect_none();
    assert_int_equal(give(0, EPOCH, 5, 2, OTO_FRAME_MAP), OTO_AGAIN);
    expect_none();
    assert_int_equal(give_schema(EPOCH), OTO_AGAIN);
    assert_string_equal(stream.topics.world, "demo");
    assert_int_equal(give(0, EPOCH, 7, 2, OTO_FRAME_MAP), OTO_OK);
    expect("demo/car/imu", 7, 0);
    expect("demo/car/imu", 8, 0);
    expect_none();
}

static void a_topic_is_matched_as_a_whole(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "car/imu", &error), error);
    (void)give_schema(EPOCH);
    assert_int_equal(stream.wanted_count, 1);
    assert_int_equal(give(1, EPOCH, 1, 1, OTO_FRAME_MAP), OTO_AGAIN);
    expect_none();
    assert_int_equal(give(0, EPOCH, 1, 1, OTO_FRAME_MAP), OTO_OK);
    expect("demo/car/imu", 1, 0);
}

static void a_prefix_takes_all_below_it(void **state)
{
    (void)state;
    static const struct {
        const char *asked;
        uint32_t wanted;
    } cases[] = {{"demo/car/", 2}, {"car/", 2}, {"", 3}, {"/unity/", 1}, {"/unity/mag", 1}, {"demo/car", 0}, {"mag", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_error error = {0};
        assert_ok(oto_stream_init(&stream, cases[i].asked, &error), error);
        (void)give_schema(EPOCH);
        assert_int_equal(stream.wanted_count, cases[i].wanted);
        oto_stream_finish(&stream);
    }
}

static void loss_is_exact_for_each_topic(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "demo/car/", &error), error);
    (void)give_schema(EPOCH);
    (void)give(0, EPOCH, 10, 2, OTO_FRAME_MAP);
    expect("demo/car/imu", 10, 0);
    expect("demo/car/imu", 11, 0);
    (void)give(1, EPOCH, 500, 1, OTO_FRAME_PACKED);
    expect("demo/car/imu2", 500, 0);
    (void)give(0, EPOCH, 15, 1, OTO_FRAME_PACKED);
    expect("demo/car/imu", 15, 3);
    (void)give(0, EPOCH, 14, 3, OTO_FRAME_MAP); /* two of them came before */
    expect("demo/car/imu", 16, 0);
    expect_none();
    (void)give(0, EPOCH + 1, 1, 1, OTO_FRAME_MAP); /* another run of the server */
    expect("demo/car/imu", 1, 0);
    (void)give(0, EPOCH + 1, 3, 1, OTO_FRAME_MAP);
    expect("demo/car/imu", 3, 1);
}

/* Numbers never restart within a run: a publisher that restarts them is not trusted, and the count stays. */
static void sequence_numbers_end_and_do_not_begin_anew(void **state)
{
    (void)state;
    struct oto_error error = {0};
    static const enum oto_frame_format formats[] = {OTO_FRAME_MAP, OTO_FRAME_PACKED};
    assert_ok(oto_stream_init(&stream, "demo/car/", &error), error);
    (void)give_schema(EPOCH);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(give(0, EPOCH + i, OTO_SEQ_MAX - 9, 2, formats[i]), OTO_OK);
        expect("demo/car/imu", OTO_SEQ_MAX - 9, 0);
        expect("demo/car/imu", OTO_SEQ_MAX - 8, 0);
        assert_int_equal(give(0, EPOCH + i, OTO_SEQ_MAX - 3, 5, formats[i]), OTO_CORRUPT);
        assert_int_equal(give(0, EPOCH + i, UINT64_MAX - 1, 4, formats[i]), OTO_CORRUPT);
        assert_int_equal(give(0, EPOCH + i, UINT64_MAX, 1, formats[i]), OTO_CORRUPT);
        expect_none();
        assert_int_equal(give(0, EPOCH + i, 1, 2, formats[i]), OTO_OK); /* counted like frames that came before */
        expect_none();
        assert_int_equal(give(0, EPOCH + i, OTO_SEQ_MAX - 3, 4, formats[i]), OTO_OK);
        expect("demo/car/imu", OTO_SEQ_MAX - 3, 4);
        expect("demo/car/imu", OTO_SEQ_MAX - 2, 0);
        expect("demo/car/imu", OTO_SEQ_MAX - 1, 0);
        expect("demo/car/imu", OTO_SEQ_MAX, 0);
    }
}

static uint32_t draw(uint32_t below)
{
    static uint32_t state = 2463534242u; /* Marsaglia 2003, xorshift32 */
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

/* Frames that are lost, come twice, overlap or are cut off, between repeated schemas. */
static void the_account_is_exact_whatever_comes(void **state)
{
    (void)state;
    struct oto_error error = {0};
    struct oto_wire_sample sample;
    uint64_t sent[2] = {0, 0}, last[2] = {0, 0}, counted[2] = {0, 0};
    assert_ok(oto_stream_init(&stream, "demo/car/", &error), error);
    (void)give_schema(EPOCH);
    for (uint32_t round = 0; round < 20000; round++) {
        const uint32_t channel = draw(2), what = draw(16), count = 1 + draw(8);
        const enum oto_frame_format format = draw(2) == 0 ? OTO_FRAME_MAP : OTO_FRAME_PACKED;
        const uint64_t back = what < 4 ? draw(12) : 0;
        const uint64_t first = back < sent[channel] ? sent[channel] + 1 - back : 1;
        if (what == 15) {
            (void)give_schema(EPOCH);
            continue;
        }
        if (what < 12) { /* otherwise no subscriber gets it */
            assert_int_equal(give(channel, EPOCH, first, count, format), OTO_OK);
        }
        if (what == 11) { /* or it is cut off on its way */
            assert_int_equal(oto_stream_give(&stream, buffer.data, buffer.bytes - 1 - draw(8)), OTO_CORRUPT);
        }
        sent[channel] = first + count - 1 > sent[channel] ? first + count - 1 : sent[channel];
        while (oto_stream_take(&stream, &sample) == OTO_OK) {
            const uint32_t of = strcmp(sample.topic, "demo/car/imu2") == 0;
            assert_int_equal(sample.head.seq, last[of] + 1 + (last[of] == 0 ? sample.head.seq - 1 : sample.lost));
            counted[of] += 1 + (last[of] == 0 ? sample.head.seq - 1 : sample.lost);
            last[of] = sample.head.seq;
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(last[i] > 10000 && sent[i] - last[i] < 200);
        assert_int_equal(counted[i], last[i]);
    }
}

static void a_new_schema_keeps_the_count_and_changes_the_type(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "", &error), error);
    (void)give_schema(EPOCH);
    (void)give(0, EPOCH, 1, 1, OTO_FRAME_MAP);
    expect("demo/car/imu", 1, 0);
    channels[1] = sample_channel("demo/car/imu2", &oto_mag_type);
    assert_int_equal(give(1, EPOCH, 1, 1, OTO_FRAME_MAP), OTO_AGAIN); /* of a type that is not announced yet */
    (void)give_schema(EPOCH);
    (void)give(1, EPOCH, 2, 1, OTO_FRAME_MAP);
    expect("demo/car/imu2", 2, 0);
    (void)give(0, EPOCH, 5, 1, OTO_FRAME_MAP);
    expect("demo/car/imu", 5, 3);
}

/* ---- a schema in several frames ---- */

static enum oto_status give_part(uint64_t epoch, uint32_t first, uint32_t count, uint32_t total)
{
    assert_int_equal(oto_frame_encode_schema_part(&buffer, "demo", epoch, channels + first, count, total), OTO_OK);
    return oto_stream_give(&stream, buffer.data, buffer.bytes);
}

static void a_schema_in_several_frames_is_learnt_whole(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "", &error), error);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint32_t part = 0; part < 3; part++) {
            assert_int_equal(give_part(EPOCH, part, 1, 3), OTO_AGAIN);
            assert_int_equal(stream.topics.count, round == 0 ? part + 1 : 3);
            assert_int_equal(stream.topics.total, 3);
        }
        assert_int_equal(stream.wanted_count, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(give(i, EPOCH, 1 + 3 * round, 1, OTO_FRAME_MAP), OTO_OK);
            expect(channels[i].topic, 1 + 3 * round, round == 0 ? 0 : 2);
        }
    }
}

static void parts_cut_elsewhere_keep_what_was_counted(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "", &error), error);
    (void)give_part(EPOCH, 0, 2, 3);
    (void)give_part(EPOCH, 2, 1, 3);
    for (uint32_t i = 0; i < 3; i++) {
        (void)give(i, EPOCH, 5, 1, OTO_FRAME_MAP);
        expect(channels[i].topic, 5, 0);
    }
    (void)give_part(EPOCH, 0, 1, 3); /* the second of the old part is still known */
    assert_int_equal(stream.topics.count, 3);
    (void)give_part(EPOCH, 1, 2, 3);
    (void)give_part(EPOCH, 0, 2, 3); /* and it may go back */
    assert_int_equal(stream.topics.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        (void)give(i, EPOCH, 9, 1, OTO_FRAME_MAP);
        expect(channels[i].topic, 9, 3);
    }
}

static void another_run_or_world_begins_anew(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "", &error), error);
    (void)give_schema(EPOCH);
    (void)give_part(EPOCH + 1, 0, 1, 3);
    assert_int_equal(stream.topics.count, 1);
    assert_int_equal(give(1, EPOCH + 1, 1, 1, OTO_FRAME_MAP), OTO_AGAIN); /* channels that the schema of the new run lacks */
    (void)give_part(EPOCH + 1, 1, 2, 3);
    assert_int_equal(stream.topics.count, 3);
    assert_int_equal(oto_frame_encode_schema(&buffer, "demo2", EPOCH + 1, channels, 1), OTO_OK);
    (void)oto_stream_give(&stream, buffer.data, buffer.bytes);
    assert_int_equal(stream.topics.count, 1);
    assert_string_equal(stream.topics.world, "demo2");
}

static void what_a_publisher_may_make_one_hold_is_bounded(void **state)
{
    (void)state;
    enum { TEXT_BYTES = 3 << 20, FIT = OTO_TOPICS_MAX_BYTES / (TEXT_BYTES + 1024) };
    struct oto_error error = {0};
    char *text = malloc(TEXT_BYTES + 1);
    memset(text, 'x', TEXT_BYTES);
    text[TEXT_BYTES] = '\0';
    const struct oto_field field = {"x", OTO_FIELD_F64, 1, 0, "1", "body", text};
    const struct oto_record_type type = {"wordy", 8, 1, &field};
    assert_ok(oto_stream_init(&stream, "", &error), error);
    for (uint32_t i = 0; i <= FIT; i++) {
        char topic[32];
        (void)snprintf(topic, sizeof topic, "demo/n%u", i);
        channels[0] = sample_channel(topic, &type);
        assert_int_equal(give_part(EPOCH, 0, 1, FIT + 1), i < FIT ? OTO_AGAIN : OTO_LIMIT);
    }
    free(text);
    assert_int_equal(stream.topics.count, FIT);
    assert_non_null(oto_topics_find(&stream.topics, "demo/n0"));
    assert_null(oto_topics_find(&stream.topics, "demo/n21"));
}

static void damage_is_told_and_gone_on_from(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "demo/car/imu", &error), error);
    assert_int_equal(oto_stream_give(&stream, "x", 1), OTO_CORRUPT);
    assert_int_equal(oto_stream_give(&stream, "demo/@schema\0\xc0", 14), OTO_CORRUPT);
    (void)give_schema(EPOCH);
    assert_int_equal(oto_stream_give(&stream, "demo/@schema\0\xc0", 14), OTO_CORRUPT);
    (void)give(0, EPOCH, 1, 1, OTO_FRAME_MAP);
    expect("demo/car/imu", 1, 0);
    unsigned char *key = memmem(buffer.data, buffer.bytes, "angular_velocity", 16);
    assert_non_null(key);
    *key = 'A';
    struct oto_wire_sample sample;
    assert_int_equal(oto_stream_give(&stream, buffer.data, buffer.bytes), OTO_OK);
    assert_int_equal(oto_stream_take(&stream, &sample), OTO_CORRUPT);
    expect_none();
}

static void a_misspelt_topic_has_a_neighbour(void **state)
{
    (void)state;
    struct oto_error error = {0};
    assert_ok(oto_stream_init(&stream, "demo/car/imo", &error), error);
    assert_null(oto_stream_nearest(&stream));
    (void)give_schema(EPOCH);
    assert_string_equal(oto_stream_nearest(&stream), "demo/car/imu");
    char topic[200];
    memset(topic, 'a', sizeof topic);
    topic[199] = '\0';
    oto_stream_finish(&stream);
    assert_int_equal(oto_stream_init(&stream, topic, &error), OTO_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_decoded_before_the_schema),
        TEST(a_topic_is_matched_as_a_whole),
        TEST(a_prefix_takes_all_below_it),
        TEST(loss_is_exact_for_each_topic),
        TEST(sequence_numbers_end_and_do_not_begin_anew),
        TEST(the_account_is_exact_whatever_comes),
        TEST(a_new_schema_keeps_the_count_and_changes_the_type),
        TEST(a_schema_in_several_frames_is_learnt_whole),
        TEST(parts_cut_elsewhere_keep_what_was_counted),
        TEST(another_run_or_world_begins_anew),
        TEST(what_a_publisher_may_make_one_hold_is_bounded),
        TEST(damage_is_told_and_gone_on_from),
        TEST(a_misspelt_topic_has_a_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
