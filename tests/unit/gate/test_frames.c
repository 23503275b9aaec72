#include <oto_test.h>

#include "gate/frames.h"

static struct srv_frames frames;

static int tear_down(void **state)
{
    (void)state;
    srv_frames_finish(&frames);
    memset(&frames, 0, sizeof frames);
    return 0;
}

static void a_frame_has_its_length_before_it(void **state)
{
    (void)state;
    uint64_t cursor = 0;
    srv_frames_put(&frames, "abc", 3);
    struct srv_frame *frame = srv_frames_take(&frames, &cursor);
    assert_non_null(frame);
    assert_int_equal(frame->bytes, 11);
    assert_memory_equal(frame->data, "\0\0\0\0\0\0\0\3abc", 11);
    assert_null(srv_frames_take(&frames, &cursor));
    srv_frame_release(frame);
}

static void a_slow_subscriber_continues_with_the_oldest_frame_that_is_left(void **state)
{
    (void)state;
    uint64_t cursor = 0;
    for (uint32_t i = 0; i < SRV_FRAMES_MAX + 5; i++) {
        srv_frames_put(&frames, &i, sizeof i);
    }
    struct srv_frame *frame = srv_frames_take(&frames, &cursor);
    const uint32_t oldest = 5;
    assert_memory_equal(frame->data + SRV_FRAME_HEADER_BYTES, &oldest, sizeof oldest);
    srv_frame_release(frame);
}

static void memory_is_bounded_by_bytes(void **state)
{
    (void)state;
    static char big[1 << 20];
    for (int i = 0; i < 40; i++) {
        srv_frames_put(&frames, big, sizeof big);
        assert_true(frames.bytes <= SRV_FRAMES_MAX_BYTES);
    }
    assert_int_equal(frames.next, 40);
    assert_int_equal(frames.next - frames.first, 15); /* 16 without their headers would fill it */
}

static void a_frame_that_is_being_sent_outlives_its_place(void **state)
{
    (void)state;
    uint64_t cursor = 0;
    srv_frames_put(&frames, "kept", 4);
    struct srv_frame *frame = srv_frames_take(&frames, &cursor);
    for (uint32_t i = 0; i < SRV_FRAMES_MAX; i++) {
        srv_frames_put(&frames, &i, sizeof i);
    }
    assert_memory_equal(frame->data + SRV_FRAME_HEADER_BYTES, "kept", 4);
    srv_frame_release(frame);
    srv_frame_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_frame_has_its_length_before_it, tear_down),
        cmocka_unit_test_teardown(a_slow_subscriber_continues_with_the_oldest_frame_that_is_left, tear_down),
        cmocka_unit_test_teardown(memory_is_bounded_by_bytes, tear_down),
        cmocka_unit_test_teardown(a_frame_that_is_being_sent_outlives_its_place, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
