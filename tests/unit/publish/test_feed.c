#include <oto_test.h>

#include "attach/client_private.h"
#include "publish/feed.h"
#include "transport/stream.h"

#define CHANNELS 300u
#define TEXT_BYTES 40000u /* of each channel's field: a frame of 4 MiB takes about a hundred */

static struct oto_segment_header header = {.epoch = 5, .world = "demo"};
static struct oto_stream stream;
static uint32_t frames;

static struct oto_client make_client(const struct oto_record_type *type)
{
    struct oto_channel *channels = calloc(CHANNELS, sizeof *channels);
    assert_non_null(channels);
    for (uint32_t i = 0; i < CHANNELS; i++) {
        channels[i] = (struct oto_channel){
            .index = i, .rate_num = 200, .rate_den = 1, .type = *type, .type_hash = oto_record_type_hash(type)};
        (void)snprintf(channels[i].topic, sizeof channels[i].topic, "demo/car%u/imu", i);
    }
    struct oto_segment_directory directory = {.channel_count = CHANNELS, .channels = channels};
    struct oto_client client = {.header = &header};
    assert_int_equal(oto_channel_book_turn(&client.book, &directory), OTO_OK);
    return client;
}

static void count_and_give(void *context, const void *data, size_t bytes)
{
    (void)context;
    frames++;
    assert_true(bytes <= OTO_FRAME_MAX_BYTES);
    assert_int_equal(oto_stream_give(&stream, data, bytes), OTO_AGAIN);
}

static void a_schema_too_large_for_a_frame_comes_in_several_and_is_learnt(void **state)
{
    (void)state;
    static char text[TEXT_BYTES + 1];
    memset(text, 'x', TEXT_BYTES);
    const struct oto_field field = {"x", OTO_FIELD_F64, 1, 0, "1", "body", text};
    const struct oto_record_type type = {"wordy", 8, 1, &field};
    struct oto_client client = make_client(&type);
    struct oto_error error = {0};
    struct srv_feed *feed;
    assert_ok(oto_stream_init(&stream, "", &error), error);
    assert_ok(srv_feed_create(&client, SRV_FEED_MAP, "", count_and_give, NULL, &feed, &error), error);
    for (uint32_t round = 0; round < 2; round++) {
        frames = 0;
        srv_feed_schema(feed);
        assert_true(frames >= 3);
        assert_int_equal(stream.topics.count, CHANNELS);
        assert_int_equal(stream.topics.total, CHANNELS);
        assert_int_equal(stream.wanted_count, CHANNELS);
    }
    srv_feed_destroy(feed);
    oto_stream_finish(&stream);
    oto_channel_book_finish(&client.book);
}

static void a_channel_too_large_for_any_frame_is_refused(void **state)
{
    (void)state;
    char *text = malloc(OTO_FRAME_MAX_BYTES + 1);
    assert_non_null(text);
    memset(text, 'x', OTO_FRAME_MAX_BYTES);
    text[OTO_FRAME_MAX_BYTES] = '\0';
    const struct oto_field field = {"x", OTO_FIELD_F64, 1, 0, "1", "body", text};
    const struct oto_record_type type = {"wordy", 8, 1, &field};
    struct oto_client client = make_client(&type);
    struct oto_error error = {0};
    struct srv_feed *feed = NULL;
    assert_int_equal(srv_feed_create(&client, SRV_FEED_MAP, "", count_and_give, NULL, &feed, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "the schema frame cannot be made"));
    assert_null(feed);
    oto_channel_book_finish(&client.book);
    free(text);
}

static void only_the_topics_of_a_pattern_are_published(void **state)
{
    (void)state;
    const struct oto_field field = {"x", OTO_FIELD_F64, 1, 0, "1", "body", "a number"};
    const struct oto_record_type type = {"short", 8, 1, &field};
    struct oto_client client = make_client(&type);
    struct oto_error error = {0};
    struct srv_feed *feed;
    assert_ok(oto_stream_init(&stream, "car?2/*", &error), error);
    assert_ok(srv_feed_create(&client, SRV_FEED_MAP, "car1?/imu,demo/car22/imu", count_and_give, NULL, &feed, &error), error);
    assert_int_equal(srv_feed_topic_count(feed), 11);
    srv_feed_schema(feed);
    assert_int_equal(stream.topics.total, 11);
    assert_int_equal(stream.topics.count, 11);
    assert_int_equal(stream.wanted_count, 2);
    srv_feed_destroy(feed);
    oto_stream_finish(&stream);
    oto_channel_book_finish(&client.book);
}

static void without_subscribers_nothing_is_sent_and_the_schema_comes_when_one_connects(void **state)
{
    (void)state;
    const struct oto_field field = {"x", OTO_FIELD_F64, 1, 0, "1", "body", "a number"};
    const struct oto_record_type type = {"short", 8, 1, &field};
    struct oto_client client = make_client(&type);
    struct oto_error error = {0};
    struct srv_feed *feed;
    const int64_t second_ns = 1000000000;
    assert_ok(oto_stream_init(&stream, "", &error), error);
    assert_ok(srv_feed_create(&client, SRV_FEED_MAP, "", count_and_give, NULL, &feed, &error), error);
    frames = 0;
    for (int64_t s = 1; s < 10; s++) {
        assert_false(srv_feed_serve(feed, s * second_ns, false, false));
    }
    assert_int_equal(frames, 0);
    (void)srv_feed_serve(feed, 10 * second_ns, true, true);
    const uint32_t schema = frames;
    assert_true(schema > 0);
    assert_int_equal(stream.topics.count, CHANNELS);
    (void)srv_feed_serve(feed, 10 * second_ns + 5000000, true, true); /* within 20 ms: waits */
    assert_int_equal(frames, schema);
    (void)srv_feed_serve(feed, 10 * second_ns + 25000000, true, false);
    assert_int_equal(frames, 2 * schema);
    (void)srv_feed_serve(feed, 10 * second_ns + 900000000, true, false);
    assert_int_equal(frames, 2 * schema);
    (void)srv_feed_serve(feed, 12 * second_ns, true, false);
    assert_int_equal(frames, 3 * schema);
    srv_feed_destroy(feed);
    oto_stream_finish(&stream);
    oto_channel_book_finish(&client.book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_too_large_for_a_frame_comes_in_several_and_is_learnt),
        cmocka_unit_test(a_channel_too_large_for_any_frame_is_refused),
        cmocka_unit_test(only_the_topics_of_a_pattern_are_published),
        cmocka_unit_test(without_subscribers_nothing_is_sent_and_the_schema_comes_when_one_connects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
