/* How many frames may wait for a slow subscriber. */
#include "oto_test.h"
#include "publish/queue_depth.h"

static void count(struct srv_queue_depth *queue, uint32_t frames, size_t bytes)
{
    for (uint32_t i = 0; i < frames; i++) {
        (void)srv_queue_depth_count(queue, bytes);
    }
}

static void small_frames_keep_the_wanted_depth(void **unused)
{
    (void)unused;
    static struct srv_queue_depth queue;
    srv_queue_depth_init(&queue, 4000);
    for (uint32_t i = 0; i < 100000; i++) {
        assert_false(srv_queue_depth_count(&queue, 600));
    }
    assert_int_equal(queue.depth, 4000);
    srv_queue_depth_init(&queue, 1000000);
    assert_int_equal(queue.depth, SRV_QUEUE_DEPTH_MAX);
    srv_queue_depth_init(&queue, 0);
    assert_int_equal(queue.depth, SRV_QUEUE_DEPTH_MIN);
}

static void frames_in_the_queue_never_exceed_the_budget(void **unused)
{
    (void)unused;
    static struct srv_queue_depth queue;
    static size_t sent[50000];
    srv_queue_depth_init(&queue, 8192);
    uint32_t random = 1;
    for (uint32_t i = 0; i < 50000; i++) {
        random = random * 1664525 + 1013904223;
        sent[i] = i / 5000 % 2 == 0 ? random % 2000 : random % 1000000;
        (void)srv_queue_depth_count(&queue, sent[i]);
        uint64_t held = 0;
        for (uint32_t k = 0; k < queue.depth && k <= i; k++) {
            held += sent[i - k];
        }
        assert_true(held == queue.bytes);
        assert_true((queue.depth & (queue.depth - 1)) != 0); /* a power of two corrupts the queues of nng */
        assert_true(held <= SRV_QUEUE_BYTES);
    }
}

static void the_depth_comes_back_after_large_frames(void **unused)
{
    (void)unused;
    static struct srv_queue_depth queue;
    srv_queue_depth_init(&queue, 1000);
    count(&queue, 2000, 500000);
    assert_in_range(queue.depth, SRV_QUEUE_DEPTH_MIN, SRV_QUEUE_BYTES / 500000);
    count(&queue, 3000, 1000);
    assert_int_equal(queue.depth, 1000);
}

static void frames_of_any_size_leave_the_least_depth(void **unused)
{
    (void)unused;
    static struct srv_queue_depth queue;
    srv_queue_depth_init(&queue, 1000);
    count(&queue, 20, (size_t)1 << 40);
    assert_int_equal(queue.depth, SRV_QUEUE_DEPTH_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_frames_keep_the_wanted_depth),
        cmocka_unit_test(frames_in_the_queue_never_exceed_the_budget),
        cmocka_unit_test(the_depth_comes_back_after_large_frames),
        cmocka_unit_test(frames_of_any_size_leave_the_least_depth),
    };
    return cmocka_run_group_tests_name("queue_depth", tests, NULL, NULL);
}
