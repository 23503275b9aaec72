#include <oto_test.h>

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <time.h>

#include "sample_records.h"

#if defined(__SANITIZE_THREAD__)
/* nng counts its references with atomics that ThreadSanitizer cannot see, because nng was built without it. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libnng.so\n";
}
#endif

#define DEADLINE_MS 300000

static char url[64];
static nng_socket publisher;
static struct oto_buffer buffer;

static void start_publisher(void)
{
    assert_int_equal(nng_pub0_open(&publisher), 0);
    assert_int_equal(nng_listen(publisher, url, NULL, 0), 0);
}

static int set_up(void **state)
{
    (void)state;
    char folder[] = "/tmp/oto-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    (void)snprintf(url, sizeof url, "ipc://%s/pub.ipc", folder);
    start_publisher();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)nng_close(publisher);
    (void)unlink(url + strlen("ipc://"));
    *strrchr(url, '/') = '\0';
    (void)rmdir(url + strlen("ipc://"));
    oto_buffer_free(&buffer);
    return 0;
}

static void publish_schema(void)
{
    const struct oto_channel channels[] = {sample_channel("demo/car/imu", &oto_imu_type),
                                           sample_channel("demo/car/mag", &oto_mag_type)};
    assert_int_equal(oto_frame_encode_schema(&buffer, "demo", 1, channels, 2), OTO_OK);
    (void)nng_send(publisher, buffer.data, buffer.bytes, 0);
}

static void publish_first_part(void)
{
    const struct oto_channel channel = sample_channel("demo/car/imu", &oto_imu_type);
    assert_int_equal(oto_frame_encode_schema_part(&buffer, "demo", 1, &channel, 1, 2), OTO_OK);
    (void)nng_send(publisher, buffer.data, buffer.bytes, 0);
}

static void publish(uint64_t seq)
{
    const struct oto_channel channel = sample_channel("demo/car/imu", &oto_imu_type);
    const struct oto_sample_head head = sample_head(seq, oto_imu_type.bytes);
    uint64_t payload[sizeof(struct oto_imu_record) / 8];
    fill_payload(&oto_imu_type, payload, (double)seq);
    assert_int_equal(oto_frame_encode(&buffer, &channel, 1, OTO_FRAME_MAP, &head, payload, 1), OTO_OK);
    (void)nng_send(publisher, buffer.data, buffer.bytes, 0);
}

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Publishes until a sample comes: a subscription takes the time it takes. */
static struct oto_wire_sample publish_until_heard(struct oto_subscriber *subscriber, uint64_t *seq)
{
    const int64_t deadline_ms = now_ms() + DEADLINE_MS;
    struct oto_wire_sample sample;
    struct oto_error error = {0};
    enum oto_status status;
    do {
        assert_true(now_ms() < deadline_ms);
        publish_schema();
        publish(++*seq);
        status = oto_subscriber_next(subscriber, 20, &sample, &error);
    } while (status == OTO_TIMEOUT);
    assert_ok(status, error);
    return sample;
}

static void samples_arrive_decoded(void **state)
{
    (void)state;
    struct oto_subscriber *subscriber;
    struct oto_error error = {0};
    uint64_t seq = 0;
    assert_ok(oto_subscriber_open(url, "demo/car/imu", &subscriber, &error), error);
    const struct oto_wire_sample sample = publish_until_heard(subscriber, &seq);
    assert_string_equal(sample.topic, "demo/car/imu");
    assert_string_equal(sample.type->name, "imu");
    assert_string_equal(sample.frame_id, "imu_link");
    assert_true(oto_field_number(&sample.type->fields[0], sample.payload, 0) == (double)sample.head.seq);
    oto_subscriber_close(subscriber);
    oto_subscriber_close(NULL);
}

static void a_frame_that_cannot_be_decoded_is_told_and_gone_on_from(void **state)
{
    (void)state;
    struct oto_subscriber *subscriber;
    struct oto_error error = {0};
    struct oto_wire_sample sample;
    uint64_t seq = 0;
    char broken[] = "demo/car/imu\0\xc1";
    assert_ok(oto_subscriber_open(url, "demo/car/imu", &subscriber, &error), error);
    const uint64_t heard = publish_until_heard(subscriber, &seq).head.seq;
    (void)nng_send(publisher, broken, sizeof broken - 1, 0);
    publish(seq + 3);
    enum oto_status status;
    uint64_t last = heard, corrupt = 0;
    while (last != seq + 3) {
        status = oto_subscriber_next(subscriber, DEADLINE_MS, &sample, &error);
        if (status == OTO_CORRUPT) {
            assert_non_null(strstr(error.text, "cannot be decoded"));
            corrupt++;
            continue;
        }
        assert_ok(status, error);
        last = sample.head.seq;
    }
    assert_int_equal(corrupt, 1);
    assert_int_equal(sample.lost, 2);
    oto_subscriber_close(subscriber);
}

static void a_publisher_that_comes_back_is_heard_again(void **state)
{
    (void)state;
    struct oto_subscriber *subscriber;
    struct oto_error error = {0};
    uint64_t seq = 0;
    assert_ok(oto_subscriber_open(url, "demo/car/", &subscriber, &error), error);
    const uint64_t heard = publish_until_heard(subscriber, &seq).head.seq;
    const uint64_t before = seq;
    (void)nng_close(publisher);
    start_publisher();
    seq += 100;
    struct oto_wire_sample sample = publish_until_heard(subscriber, &seq);
    uint64_t expected = heard + 1;
    while (sample.head.seq <= before) { /* frames that were still in the socket */
        expected = sample.head.seq + 1;
        sample = publish_until_heard(subscriber, &seq);
    }
    assert_int_equal(sample.lost, sample.head.seq - expected);
    oto_subscriber_close(subscriber);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct oto_subscriber *subscriber;
    struct oto_error error = {0};
    struct oto_wire_sample sample;
    char nowhere[80];
    (void)snprintf(nowhere, sizeof nowhere, "%s-not", url);
    assert_ok(oto_subscriber_open(nowhere, "demo/car/imu", &subscriber, &error), error);
    assert_int_equal(oto_subscriber_next(subscriber, 0, &sample, &error), OTO_TIMEOUT);
    assert_non_null(strstr(error.text, "no publisher answers"));
    oto_subscriber_close(subscriber);
    assert_ok(oto_subscriber_open(url, "demo/car/imo", &subscriber, &error), error);
    const int64_t deadline_ms = now_ms() + DEADLINE_MS;
    while (oto_subscriber_next(subscriber, 20, &sample, &error) == OTO_TIMEOUT) {
        assert_true(now_ms() < deadline_ms);
        publish_schema();
    }
    assert_string_equal(error.text, "world 'demo' publishes no topic 'demo/car/imo'; did you mean 'demo/car/imu'?");
    oto_subscriber_close(subscriber);
    assert_ok(oto_subscriber_open(url, "demo/car/gps", &subscriber, &error), error);
    while (strstr(error.text, "announced") == NULL) {
        assert_true(now_ms() < deadline_ms);
        publish_first_part();
        assert_int_equal(oto_subscriber_next(subscriber, 20, &sample, &error), OTO_TIMEOUT);
    }
    assert_non_null(strstr(error.text, "has announced 1 of its 2 topics within 20 ms, but not 'demo/car/gps'"));
    oto_subscriber_close(subscriber);
    assert_int_equal(oto_subscriber_open("bogus", "", &subscriber, &error), OTO_INVALID);
    assert_null(subscriber);
    assert_non_null(strstr(error.text, "tcp://host:port"));
}

static int64_t cpu_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Between two tries it sleeps: spinning would take most of a second. */
static void waiting_for_a_publisher_costs_nothing(void **state)
{
    (void)state;
    struct oto_subscriber *subscriber;
    struct oto_error error = {0};
    struct oto_wire_sample sample;
    char nowhere[80];
    (void)snprintf(nowhere, sizeof nowhere, "%s-not", url);
    assert_ok(oto_subscriber_open(nowhere, "", &subscriber, &error), error);
    const int64_t before_ms = cpu_ms();
    assert_int_equal(oto_subscriber_next(subscriber, 1000, &sample, &error), OTO_TIMEOUT);
    assert_in_range(cpu_ms() - before_ms, 0, 100);
    oto_subscriber_close(subscriber);
}

/* ---- peers that are no publisher, or a strange one ---- */

struct peer {
    int listener;
    char path[80];
    const char *bytes; /* sent to each that connects, one byte at a time */
    size_t count;
    pthread_t thread;
};

static void *run_peer(void *context)
{
    const struct peer *peer = context;
    int fd;
    while ((fd = accept4(peer->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        char greeting[8];
        for (size_t i = 0; i < peer->count; i++) {
            if (send(fd, peer->bytes + i, 1, MSG_NOSIGNAL) != 1) {
                break;
            }
        }
        while (recv(fd, greeting, sizeof greeting, 0) > 0) {
        }
        (void)close(fd);
    }
    return NULL;
}

static void start_peer(struct peer *peer, const char *bytes, size_t count)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(peer->path, sizeof peer->path, "%s.peer", url + strlen("ipc://"));
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", peer->path);
    peer->bytes = bytes;
    peer->count = count;
    peer->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(peer->listener, 8), 0);
    assert_int_equal(pthread_create(&peer->thread, NULL, run_peer, peer), 0);
}

static void stop_peer(struct peer *peer)
{
    (void)shutdown(peer->listener, SHUT_RDWR);
    (void)pthread_join(peer->thread, NULL);
    (void)close(peer->listener);
    (void)unlink(peer->path);
}

static struct oto_subscriber *subscribe_to_peer(const struct peer *peer)
{
    struct oto_subscriber *subscriber;
    struct oto_error error = {0};
    char peer_url[100];
    (void)snprintf(peer_url, sizeof peer_url, "ipc://%s", peer->path);
    assert_ok(oto_subscriber_open(peer_url, "", &subscriber, &error), error);
    return subscriber;
}

static void what_is_no_publisher_is_hung_up_on(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *why;
    } peers[] = {{"HTTP/1.1 400 Bad Request\r\n\r\n", 28, "Protocol error"},
                 {"\0SP\0\0\x10\0\0", 8, "Protocol error"},                                             /* a pair */
                 {"\0SP\0\0\x20\0\0\1\x7f\xff\xff\xff\xff\xff\xff\xff", 17, "Protocol error"}, /* 2^63 bytes */
                 {"\0SP\0\0\x20\0\0\2\0\0\0\0\0\0\0\1x", 18, "Protocol error"},                 /* of another kind */
                 {"\0SP\0", 4, "no answer yet"}};
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        struct peer peer;
        struct oto_wire_sample sample;
        struct oto_error error = {0};
        start_peer(&peer, peers[i].bytes, peers[i].count);
        struct oto_subscriber *subscriber = subscribe_to_peer(&peer);
        const int64_t deadline_ms = now_ms() + DEADLINE_MS;
        do {
            assert_true(now_ms() < deadline_ms);
            assert_int_equal(oto_subscriber_next(subscriber, 10, &sample, &error), OTO_TIMEOUT);
        } while (strstr(error.text, peers[i].why) == NULL);
        oto_subscriber_close(subscriber);
        stop_peer(&peer);
    }
}

static void messages_in_single_bytes_arrive(void **state)
{
    (void)state;
    static char bytes[16384];
    size_t count = 8;
    struct peer peer;
    struct oto_wire_sample sample;
    struct oto_error error = {0};
    memcpy(bytes, "\0SP\0\0\x20\0\0", 8);
    const struct oto_channel channel = sample_channel("demo/car/mag", &oto_mag_type);
    for (uint64_t i = 0; i < 4; i++) {
        const struct oto_sample_head head = sample_head(i, oto_mag_type.bytes);
        uint64_t payload[sizeof(struct oto_mag_record) / 8];
        fill_payload(&oto_mag_type, payload, (double)i);
        if (i == 0) {
            assert_int_equal(oto_frame_encode_schema(&buffer, "demo", 1, &channel, 1), OTO_OK);
        } else {
            assert_int_equal(oto_frame_encode(&buffer, &channel, 1, OTO_FRAME_MAP, &head, payload, 1), OTO_OK);
        }
        bytes[count] = 1;
        for (int k = 0; k < 8; k++) {
            bytes[count + 1 + (size_t)k] = (char)(buffer.bytes >> (56 - 8 * k));
        }
        memcpy(bytes + count + 9, buffer.data, buffer.bytes);
        count += 9 + buffer.bytes;
    }
    start_peer(&peer, bytes, count);
    struct oto_subscriber *subscriber = subscribe_to_peer(&peer);
    for (uint64_t seq = 1; seq < 4; seq++) {
        assert_ok(oto_subscriber_next(subscriber, DEADLINE_MS, &sample, &error), error);
        assert_int_equal(sample.head.seq, seq);
    }
    oto_subscriber_close(subscriber);
    stop_peer(&peer);
}

/* A whole nng socket, closed while messages are on their way, hangs about once in twenty times (nng 1.5.2). */
static void closing_in_the_middle_of_a_stream_never_hangs(void **state)
{
    (void)state;
    uint64_t seq = 0;
    for (int i = 0; i < 60; i++) {
        struct oto_subscriber *subscriber;
        struct oto_error error = {0};
        assert_ok(oto_subscriber_open(url, "demo/car/imu", &subscriber, &error), error);
        (void)publish_until_heard(subscriber, &seq);
        for (int k = 0; k < 8; k++) {
            publish(++seq);
        }
        oto_subscriber_close(subscriber);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(samples_arrive_decoded),
        TEST(a_frame_that_cannot_be_decoded_is_told_and_gone_on_from),
        TEST(a_publisher_that_comes_back_is_heard_again),
        TEST(what_is_missing_is_said),
        TEST(waiting_for_a_publisher_costs_nothing),
        TEST(what_is_no_publisher_is_hung_up_on),
        TEST(messages_in_single_bytes_arrive),
        TEST(closing_in_the_middle_of_a_stream_never_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
