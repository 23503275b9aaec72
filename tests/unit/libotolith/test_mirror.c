#include <oto_test.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "attach/mirror.h"
#include "base/monotonic.h"
#include "sample_records.h"

#define DEADLINE_MS 300000

/* A publisher that sends one prepared stream of bytes to each subscriber. */
static struct {
    char folder[32], path[64], url[80];
    unsigned char *bytes;
    size_t count;
    int listener;
    pthread_t thread;
} peer;
static struct oto_client *client; /* closed by tear_down, also after an assertion failed: the publisher waits for that */
static struct oto_buffer buffer;

static void *serve(void *context)
{
    (void)context;
    int fd;
    while ((fd = accept4(peer.listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        char greeting[8];
        for (size_t done = 0; done < peer.count;) {
            const ssize_t sent = send(fd, peer.bytes + done, peer.count - done, MSG_NOSIGNAL);
            done = sent > 0 ? done + (size_t)sent : peer.count;
        }
        while (recv(fd, greeting, sizeof greeting, 0) > 0) {
        }
        (void)close(fd);
    }
    return NULL;
}

static void append(const void *bytes, size_t count)
{
    peer.bytes = realloc(peer.bytes, peer.count + count);
    assert_non_null(peer.bytes);
    memcpy(peer.bytes + peer.count, bytes, count);
    peer.count += count;
}

static void append_frame(void)
{
    unsigned char head[9] = {1};
    for (int i = 0; i < 8; i++) {
        head[1 + i] = (unsigned char)(buffer.bytes >> (56 - 8 * i));
    }
    append(head, sizeof head);
    append(buffer.data, buffer.bytes);
}

static void append_sample(const char *topic, const struct oto_record_type *type, uint64_t epoch, uint64_t seq)
{
    const struct oto_channel channel = sample_channel(topic, type);
    const struct oto_sample_head head = sample_head(seq, type->bytes);
    uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
    fill_payload(type, payload, (double)seq);
    assert_int_equal(oto_frame_encode(&buffer, &channel, epoch, OTO_FRAME_MAP, &head, payload, 1), OTO_OK);
    append_frame();
}

static void imu(uint64_t seq)
{
    append_sample("demo/car/imu", &oto_imu_type, 1, seq);
}

static int set_up(void **state)
{
    (void)state;
    const struct oto_channel channels[] = {sample_channel("demo/car/imu", &oto_imu_type), sample_channel("demo/car/mag", &oto_mag_type)};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memset(&peer, 0, sizeof peer);
    (void)snprintf(peer.folder, sizeof peer.folder, "/tmp/oto-test-XXXXXX");
    assert_non_null(mkdtemp(peer.folder));
    (void)snprintf(peer.path, sizeof peer.path, "%s/pub.ipc", peer.folder);
    (void)snprintf(peer.url, sizeof peer.url, "ipc://%s", peer.path);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", peer.path);
    peer.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(peer.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(peer.listener, 8), 0);
    append("\0SP\0\0\x20\0\0", 8);
    assert_int_equal(oto_frame_encode_schema(&buffer, "demo", 1, channels, 2), OTO_OK);
    append_frame();
    append_sample("demo/car/mag", &oto_mag_type, 1, 1); /* it may end the wait for the schema, or be the first one of the mirror */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    oto_client_close(client);
    client = NULL;
    (void)shutdown(peer.listener, SHUT_RDWR);
    (void)pthread_join(peer.thread, NULL);
    (void)close(peer.listener);
    (void)unlink(peer.path);
    (void)rmdir(peer.folder);
    free(peer.bytes);
    oto_buffer_free(&buffer);
    return 0;
}

static void start(void)
{
    assert_int_equal(pthread_create(&peer.thread, NULL, serve, NULL), 0);
}

static void open_mirror(const char *topic)
{
    struct oto_error error = {0};
    assert_ok(oto_mirror_open(peer.url, topic, NULL, DEADLINE_MS, &client, &error), error);
}

static void await_sample(uint64_t seq)
{
    const int64_t t_ns = sample_head(seq, 0).t_ns;
    const int64_t deadline_ms = srv_now_ms() + DEADLINE_MS;
    struct oto_clock clock = {0};
    while (clock.sim_time_ns < t_ns) {
        assert_true(srv_now_ms() < deadline_ms);
        (void)oto_client_clock(client, &clock);
    }
}

static void a_mirror_has_the_channels_of_the_publisher(void **state)
{
    (void)state;
    start();
    open_mirror("");
    struct oto_error error = {0};
    assert_true(oto_client_is_mirror(client));
    assert_int_equal(oto_client_channel_count(client), 2);
    assert_string_equal(oto_client_header(client)->world, "demo");
    assert_int_equal(oto_client_header(client)->rate_num, 200);
    const struct oto_channel *mag = oto_client_find(client, "car/mag", &error);
    assert_non_null(mag);
    assert_int_equal(mag->type_hash, oto_record_type_hash(&oto_mag_type));
    assert_int_equal(oto_record_type_hash(&mag->type), mag->type_hash);
    assert_null(oto_client_find(client, "car/gps", &error));
    oto_client_close(client);
    open_mirror("car/mag");
    assert_int_equal(oto_client_channel_count(client), 1);
}

static void a_reader_counts_exactly_what_did_not_arrive(void **state)
{
    (void)state;
    static const uint64_t seqs[] = {2, 3, 3, 7, 8, 6, 9, 100009, 100010}; /* repeated and older ones are dropped */
    struct oto_sample_head head;
    struct oto_imu_record record;
    for (size_t i = 0; i < sizeof seqs / sizeof *seqs; i++) {
        imu(seqs[i]);
    }
    start();
    open_mirror("");
    struct oto_reader reader = oto_reader_make(oto_client_channel(client, 0), OTO_READ_FROM_OLDEST);
    struct oto_reader other = oto_reader_make(oto_client_channel(client, 1), OTO_READ_FROM_OLDEST);
    await_sample(100010);
    uint64_t count = 0, last = 0;
    while (oto_reader_next(&reader, &head, &record, sizeof record) == OTO_OK) {
        count++;
        last = head.seq;
        assert_true(record.orientation_x == (double)head.seq);
    }
    assert_int_equal(last, 100010);
    assert_int_equal(count + reader.cursor.lost, 100010 - 1); /* numbers 2 to 100010 */
    struct oto_mag_record mag;
    while (oto_reader_next(&other, &head, &mag, sizeof mag) == OTO_OK) {
        assert_int_equal(head.seq, 1);
    }
    assert_int_equal(other.cursor.lost, 0);
}

static void small_gaps_lose_no_other_sample(void **state)
{
    (void)state;
    static const uint64_t read[] = {5, 6, 9, 20};
    struct oto_sample_head head;
    struct oto_imu_record record;
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        imu(read[i]);
    }
    start();
    open_mirror("");
    struct oto_reader reader = oto_reader_make(oto_client_channel(client, 0), OTO_READ_FROM_OLDEST);
    struct oto_clock clock;
    await_sample(20);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        assert_int_equal(oto_reader_next(&reader, &head, &record, sizeof record), OTO_OK);
        assert_int_equal(head.seq, read[i]);
    }
    assert_int_equal(reader.cursor.lost, 2 + 10);
    assert_int_equal(oto_client_clock(client, &clock), OTO_OK);
    assert_int_equal(clock.sim_time_ns, head.t_ns);
}

static void another_epoch_ends_the_mirror(void **state)
{
    (void)state;
    struct oto_sample_head head;
    struct oto_imu_record record;
    struct oto_clock clock;
    imu(2);
    append_sample("demo/car/imu", &oto_imu_type, 2, 1);
    start();
    open_mirror("");
    const int64_t deadline_ms = srv_now_ms() + DEADLINE_MS;
    while (!oto_client_run_is_over(client)) {
        assert_true(srv_now_ms() < deadline_ms);
        (void)oto_client_clock(client, &clock);
    }
    assert_false(oto_client_server_alive(client));
    assert_non_null(strstr(oto_mirror_reason(client), "another one has begun"));
    struct oto_reader reader = oto_reader_make(oto_client_channel(client, 0), OTO_READ_FROM_OLDEST);
    assert_int_equal(oto_reader_next(&reader, &head, &record, sizeof record), OTO_OK);
    assert_int_equal(head.seq, 2);
    assert_int_equal(oto_reader_next(&reader, &head, &record, sizeof record), OTO_AGAIN);
}

static void what_needs_a_segment_or_a_server_is_refused(void **state)
{
    (void)state;
    struct oto_error error = {0};
    struct oto_reply reply;
    struct oto_channel_identity identity;
    start();
    open_mirror("");
    const struct oto_channel *channel = oto_client_channel(client, 0);
    assert_int_not_equal(oto_control_pause(client, &reply, &error), OTO_OK);
    assert_int_not_equal(oto_lossless_begin(client, &channel, 1, &error), OTO_OK);
    assert_int_equal(oto_client_wait_tick(client, 0, 0), OTO_UNSUPPORTED);
    assert_int_equal(oto_client_reattach(client, 0, &error), OTO_UNSUPPORTED);
    assert_int_equal(oto_client_channel_identity(client, channel, &identity), OTO_UNSUPPORTED);
    oto_client_close(client);
    assert_int_equal(oto_mirror_open(peer.url, "car/imo", NULL, DEADLINE_MS, &client, &error), OTO_NOT_FOUND);
    assert_null(client);
    assert_non_null(strstr(error.text, "did you mean"));
    assert_int_equal(oto_mirror_open("bogus", "", NULL, DEADLINE_MS, &client, &error), OTO_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_mirror_has_the_channels_of_the_publisher),
        TEST(a_reader_counts_exactly_what_did_not_arrive),
        TEST(small_gaps_lose_no_other_sample),
        TEST(another_epoch_ends_the_mirror),
        TEST(what_needs_a_segment_or_a_server_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
