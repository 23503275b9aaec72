/* MAVLink frames: the checksum, cut zeros, streams in pieces, damage. node-mavlink judges the messages in tests/integration/autopilot. */
#include "oto_test.h"

#include <math.h>

#include "px4_messages.h"

static void feed(struct mavlink_stream *stream, const unsigned char *bytes, size_t count)
{
    assert_true(count <= mavlink_room(stream));
    memcpy(stream->bytes + stream->count, bytes, count);
    stream->count += count;
}

static size_t heartbeat_frame(unsigned char frame[MAVLINK_FRAME_BYTES])
{
    struct mavlink_message message;
    px4_heartbeat(&message);
    return mavlink_write(&message, 7, frame);
}

static size_t controls_frame(unsigned char frame[MAVLINK_FRAME_BYTES], double first)
{
    struct mavlink_message message = {.id = MAVLINK_HIL_ACTUATOR_CONTROLS, .system = 1, .component = 1};
    mavlink_put_u64(&message, 123456);
    mavlink_put_u64(&message, 1);
    for (int i = 0; i < PX4_CONTROLS; i++) {
        mavlink_put_f32(&message, i == 0 ? first : 0.25);
    }
    mavlink_put_u8(&message, 0);
    return mavlink_write(&message, 0, frame);
}

static void a_message_reads_back(void **state)
{
    (void)state;
    unsigned char frame[MAVLINK_FRAME_BYTES];
    static struct mavlink_stream stream;
    struct mavlink_message message;
    double controls[PX4_CONTROLS];
    stream = (struct mavlink_stream){0};
    feed(&stream, frame, controls_frame(frame, 0.5));
    assert_true(mavlink_read(&stream, &message));
    assert_int_equal(message.id, MAVLINK_HIL_ACTUATOR_CONTROLS);
    assert_int_equal(mavlink_u64(&message, 0), 123456);
    assert_int_equal(mavlink_u64(&message, 8), 1);
    px4_controls(&message, controls);
    assert_near(controls[0], 0.5, 0.0);
    assert_near(controls[15], 0.25, 0.0);
    assert_false(mavlink_read(&stream, &message));
    assert_int_equal(stream.damaged, 0);
}

static void outputs_that_are_off_are_zero(void **state)
{
    (void)state;
    unsigned char frame[MAVLINK_FRAME_BYTES];
    static struct mavlink_stream stream;
    struct mavlink_message message;
    double controls[PX4_CONTROLS];
    stream = (struct mavlink_stream){0};
    feed(&stream, frame, controls_frame(frame, NAN));
    assert_true(mavlink_read(&stream, &message));
    px4_controls(&message, controls);
    assert_near(controls[0], 0.0, 0.0);
}

static void zeros_at_the_end_are_cut_and_come_back(void **state)
{
    (void)state;
    unsigned char frame[MAVLINK_FRAME_BYTES];
    static struct mavlink_stream stream;
    struct mavlink_message message;
    const size_t bytes = controls_frame(frame, 0.5); /* its last field, the mode, is 0 */
    stream = (struct mavlink_stream){0};
    assert_int_equal(frame[1], 80); /* without the mode */
    feed(&stream, frame, bytes);
    assert_true(mavlink_read(&stream, &message));
    assert_int_equal(message.bytes, 81);
    assert_int_equal(message.payload[80], 0);
}

static void frames_may_come_byte_by_byte(void **state)
{
    (void)state;
    unsigned char frame[MAVLINK_FRAME_BYTES];
    static struct mavlink_stream stream;
    struct mavlink_message message;
    const size_t bytes = heartbeat_frame(frame);
    stream = (struct mavlink_stream){0};
    for (size_t i = 0; i + 1 < bytes; i++) {
        feed(&stream, frame + i, 1);
        assert_false(mavlink_read(&stream, &message));
    }
    feed(&stream, frame + bytes - 1, 1);
    assert_true(mavlink_read(&stream, &message));
    assert_int_equal(message.id, MAVLINK_HEARTBEAT);
}

static void damage_is_skipped_and_counted_once(void **state)
{
    (void)state;
    unsigned char frame[MAVLINK_FRAME_BYTES];
    static struct mavlink_stream stream;
    struct mavlink_message message;
    const size_t bytes = heartbeat_frame(frame);
    stream = (struct mavlink_stream){0};
    feed(&stream, (const unsigned char *)"noise", 5);
    frame[12] ^= 1;
    feed(&stream, frame, bytes);
    frame[12] ^= 1;
    for (int i = 0; i < 20; i++) { /* a damaged length may swallow the next frames, never all */
        feed(&stream, frame, bytes);
    }
    int read = 0;
    while (mavlink_read(&stream, &message)) {
        read++;
    }
    assert_true(read >= 15);
    assert_true(stream.damaged >= 1);
}

static void an_interval_request_is_understood(void **state)
{
    (void)state;
    uint32_t id;
    double interval_us;
    struct mavlink_message message = {.id = MAVLINK_COMMAND_LONG};
    const double params[] = {115, 5000, 0, 0, 0, 0, 0};
    for (int i = 0; i < 7; i++) {
        mavlink_put_f32(&message, params[i]);
    }
    mavlink_put_u16(&message, 511);
    assert_true(px4_message_interval(&message, &id, &interval_us));
    assert_int_equal(id, 115);
    assert_near(interval_us, 5000.0, 0.0);
    message.payload[28] = 0;
    assert_false(px4_message_interval(&message, &id, &interval_us));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_reads_back),
        cmocka_unit_test(outputs_that_are_off_are_zero),
        cmocka_unit_test(zeros_at_the_end_are_cut_and_come_back),
        cmocka_unit_test(frames_may_come_byte_by_byte),
        cmocka_unit_test(damage_is_skipped_and_counted_once),
        cmocka_unit_test(an_interval_request_is_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
