/* The parts of otolith-nats that need no server: subjects, the queue, secrets. */
#include "oto_test.h"

#include "nats/queue.h"
#include "nats/secret.h"
#include "nats/subject.h"

/* ---- subjects ---- */

static void assert_subject(const char *topic, const char *node, const char *type, bool is_first, const char *expected)
{
    struct oto_channel channel = {.type = {.name = type}};
    char subject[NATS_SUBJECT_BYTES];
    (void)snprintf(channel.topic, sizeof channel.topic, "%s", topic);
    (void)snprintf(channel.node, sizeof channel.node, "%s", node);
    assert_true(nats_subject(&channel, is_first, subject, sizeof subject));
    assert_string_equal(subject, expected);
}

static void a_channel_has_a_subject_of_its_node_and_its_name(void **state)
{
    (void)state;
    assert_subject("demo/car/imu", "demo/car/imu", "imu", true, "otolith.demo.car.imu.main");
    assert_subject("demo/car/imu.taps", "demo/car/imu", "taps", false, "otolith.demo.car.imu.taps");
    assert_subject("demo/car/motion", "demo/car/motion", "truth", true, "otolith.demo.car.motion.main");
    assert_subject("demo/@events", "demo/@events", "event", true, "otolith.demo.@events");
}

static void an_alias_does_not_change_the_subject(void **state)
{
    (void)state;
    assert_subject("compass", "demo/car/mag", "mag", true, "otolith.demo.car.mag.main");
    assert_subject("other", "demo/car/imu", "delta", false, "otolith.demo.car.imu.delta");
}

static void bytes_that_a_subject_cannot_have_are_escaped(void **state)
{
    (void)state;
    char token[64];
    assert_true(nats_token("a.b *>%@é", strlen("a.b *>%@é"), token, sizeof token));
    assert_string_equal(token, "a%2Eb%20%2A%3E%25@%C3%A9");
    assert_false(nats_token("", 0, token, sizeof token));
    assert_true(nats_token("abc", 3, token, 4));
    assert_false(nats_token("abcd", 4, token, 4));
    assert_false(nats_token("ab.", 3, token, 5));
}

/* ---- the queue ---- */

static void frames_leave_the_queue_in_their_order(void **state)
{
    (void)state;
    struct nats_queue *queue = nats_queue_create(1000);
    assert_non_null(queue);
    assert_true(nats_queue_put(queue, "a", "one", 3));
    assert_true(nats_queue_put(queue, "bb", "", 0));
    struct nats_message *message = nats_queue_take(queue, 0);
    assert_string_equal(message->data, "a");
    assert_int_equal(message->bytes, 3);
    assert_memory_equal(nats_message_payload(message), "one", 3);
    free(message);
    message = nats_queue_take(queue, 0);
    assert_string_equal(message->data, "bb");
    free(message);
    assert_null(nats_queue_take(queue, 0));
    nats_queue_destroy(queue);
}

static void a_full_queue_drops_and_counts_the_newest_frames(void **state)
{
    (void)state;
    enum { ROOM = 3 };
    const size_t each = sizeof(struct nats_message) + 2 + 10;
    struct nats_queue_counts counts;
    struct nats_queue *queue = nats_queue_create(ROOM * each + each / 2);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(nats_queue_put(queue, "a", "0123456789", 10), i < ROOM);
    }
    assert_false(nats_queue_put(queue, "a", "0123456789", 10));
    nats_queue_count(queue, &counts);
    assert_int_equal(counts.put, ROOM);
    assert_int_equal(counts.dropped, 3);
    assert_int_equal(counts.bytes, ROOM * each);
    free(nats_queue_take(queue, 0));
    assert_true(nats_queue_put(queue, "a", "0123456789", 10));
    nats_queue_count(queue, &counts);
    assert_int_equal(counts.bytes, ROOM * each);
    assert_int_equal(counts.most_bytes, ROOM * each);
    nats_queue_destroy(queue);
}

static void a_wait_ends_when_the_queue_is_woken(void **state)
{
    (void)state;
    struct nats_queue *queue = nats_queue_create(100);
    nats_queue_wake(queue);
    assert_null(nats_queue_take(queue, 1000000));
    nats_queue_destroy(queue);
}

/* ---- secrets ---- */

static enum oto_status read_text(const char *text, char *secret, struct oto_error *error)
{
    char path[] = "/tmp/otolith-test-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(file);
    const enum oto_status status = nats_secret_read(path, secret, error);
    (void)unlink(path);
    return status;
}

static void a_secret_is_the_first_line_of_its_file(void **state)
{
    (void)state;
    char secret[NATS_SECRET_BYTES], longest[NATS_SECRET_BYTES + 2];
    struct oto_error error = {0};
    assert_ok(read_text("s3cret\r\nmore\n", secret, &error), error);
    assert_string_equal(secret, "s3cret");
    assert_ok(read_text("s3cret", secret, &error), error);
    assert_string_equal(secret, "s3cret");
    assert_int_equal(read_text("\nsecond", secret, &error), OTO_INVALID);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(read_text(longest, secret, &error), OTO_INVALID);
    assert_int_equal(nats_secret_read("/not/there", secret, &error), OTO_IO);
    assert_non_null(strstr(error.text, "/not/there"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_has_a_subject_of_its_node_and_its_name),
        cmocka_unit_test(an_alias_does_not_change_the_subject),
        cmocka_unit_test(bytes_that_a_subject_cannot_have_are_escaped),
        cmocka_unit_test(frames_leave_the_queue_in_their_order),
        cmocka_unit_test(a_full_queue_drops_and_counts_the_newest_frames),
        cmocka_unit_test(a_wait_ends_when_the_queue_is_woken),
        cmocka_unit_test(a_secret_is_the_first_line_of_its_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
