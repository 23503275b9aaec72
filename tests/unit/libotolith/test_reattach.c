/* A client that reattaches to a restarted world: what stays valid, what is counted, what is refused. */
#include <oto_test.h>

#include "fake_server.h"

enum { EVENTS = 0, IMU = 1, MAG = 2 };

static char runtime[FAKE_RUNTIME_BYTES];
static struct fake_server *server;

static int set_up(void **state)
{
    (void)state;
    fake_runtime_make(runtime);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_runtime_remove(runtime);
    return 0;
}

static struct oto_segment_header *header_of(void)
{
    return (struct oto_segment_header *)(void *)server->segment;
}

static struct oto_segment_channel *entry_of(uint32_t index)
{
    return (struct oto_segment_channel *)(void *)(server->segment + SAMPLE_DIRECTORY_AT) + index;
}

/* A run of the world that hangs up when it is asked for anything but to attach. */
static void start_run(uint64_t epoch, uint64_t lineage)
{
    server = calloc(1, sizeof *server);
    server->pass_fds = 1;
    server->hang_up = true;
    server->epoch_off = epoch - 7;
    fake_start(server, "demo", FAKE_SEALS);
    header_of()->epoch = epoch;
    header_of()->lineage = lineage;
    entry_of(EVENTS)->flags = OTO_CHANNEL_EVENTS;
}

/* The ring of a server that was restored from a checkpoint. */
static void push_from(uint32_t index, uint64_t first, uint64_t last)
{
    struct oto_ring *ring = (struct oto_ring *)(void *)(server->segment + entry_of(index)->ring_offset);
    ring->first = first > 1 ? first : 0;
    for (uint64_t seq = first; seq <= last; seq++) {
        sample_segment_push(server->segment, index, seq);
    }
}

static struct oto_client *open_world(void)
{
    const struct oto_client_options options = {
        .size = sizeof options, .world = "demo", .timeout_ms = 60000, .name = "me", .role = "observe"};
    struct oto_client *client;
    struct oto_error error = {0};
    assert_ok(oto_client_open(&options, &client, &error), error);
    return client;
}

static void end_run(struct oto_client *client)
{
    assert_int_equal(oto_control_pause(client, NULL, NULL), OTO_CLOSED);
    fake_stop(server);
    free(server);
    server = NULL;
}

static void reattach(struct oto_client *client)
{
    struct oto_error error = {0};
    assert_ok(oto_client_reattach(client, 60000, &error), error);
}

static uint64_t read_one(struct oto_reader *reader)
{
    struct oto_sample_head head;
    uint64_t payload[OTO_RECORD_MAX_BYTES / 8];
    return oto_reader_next(reader, &head, payload, sizeof payload) == OTO_OK ? head.seq : 0;
}

static void a_run_that_continues_is_read_behind_the_last_record(void **state)
{
    (void)state;
    start_run(7, 7);
    struct oto_client *client = open_world();
    const struct oto_channel *imu = oto_client_channel(client, IMU);
    const struct oto_field *fields = imu->type.fields;
    struct oto_reader reader = oto_reader_make(imu, OTO_READ_FROM_NOW);
    push_from(IMU, 1, 5);
    for (uint64_t seq = 1; seq <= 5; seq++) {
        assert_int_equal(read_one(&reader), seq);
    }
    end_run(client);
    start_run(8, 7);
    push_from(IMU, 4, 4);
    reattach(client);
    assert_int_equal(oto_client_header(client)->epoch, 8);
    assert_true(oto_client_server_alive(client));
    assert_ptr_equal(oto_client_channel(client, IMU), imu);
    assert_ptr_equal(imu->type.fields, fields);
    assert_true(imu->epoch == 8 && imu->lineage == 7);
    assert_int_equal(read_one(&reader), 0); /* 4 and 5 have been read */
    push_from(IMU, 4, 6);
    assert_int_equal(read_one(&reader), 6);
    assert_int_equal(reader.cursor.lost, 0);
    assert_string_equal(server->name, "me");
    assert_string_equal(server->role, "observe");
    end_run(client);
    start_run(9, 7);
    push_from(IMU, 9, 10); /* 7 and 8 were published while no client was attached, and no run holds them */
    reattach(client);
    assert_int_equal(read_one(&reader), 9);
    assert_int_equal(reader.cursor.lost, 2);
    end_run(client);
    oto_client_close(client);
}

static void a_run_that_begins_anew_is_read_from_its_oldest_record(void **state)
{
    (void)state;
    struct oto_sample_head head;
    struct oto_imu_record imu;
    start_run(7, 7);
    struct oto_client *client = open_world();
    struct oto_reader reader = oto_reader_make(oto_client_channel(client, IMU), OTO_READ_FROM_OLDEST);
    push_from(IMU, 1, 5);
    while (read_one(&reader) != 0) {
    }
    end_run(client);
    start_run(8, 8);
    push_from(IMU, 1, 2);
    reattach(client);
    assert_int_equal(oto_channel_latest(reader.channel, &head, &imu, sizeof imu), OTO_OK);
    assert_int_equal(head.seq, 2);
    assert_int_equal(read_one(&reader), 1);
    assert_int_equal(read_one(&reader), 2);
    assert_int_equal(read_one(&reader), 0);
    assert_int_equal(reader.cursor.lost, 0);
    end_run(client);
    start_run(9, 0); /* layout 1.0 tells of no lineage */
    push_from(IMU, 1, 1);
    reattach(client);
    assert_int_equal(read_one(&reader), 1);
    end_run(client);
    oto_client_close(client);
}

static void events_are_never_taken_for_those_of_another_run(void **state)
{
    (void)state;
    start_run(7, 7);
    struct oto_client *client = open_world();
    struct oto_reader reader = oto_reader_make(oto_client_channel(client, EVENTS), OTO_READ_FROM_OLDEST);
    push_from(EVENTS, 1, 3);
    while (read_one(&reader) != 0) {
    }
    end_run(client);
    start_run(8, 7);
    push_from(EVENTS, 2, 2);
    reattach(client);
    assert_int_equal(read_one(&reader), 2);
    end_run(client);
    oto_client_close(client);
}

static void a_channel_that_a_run_has_not_reads_nothing_until_one_has_it_again(void **state)
{
    (void)state;
    struct oto_error error = {0};
    struct oto_channel_identity identity;
    start_run(7, 7);
    struct oto_client *client = open_world();
    const struct oto_channel *imu = oto_client_channel(client, IMU);
    struct oto_reader reader = oto_reader_make(imu, OTO_READ_FROM_NOW);
    end_run(client);
    start_run(8, 7);
    push_from(IMU, 1, 1);
    (void)snprintf(entry_of(IMU)->topic, OTO_TOPIC_BYTES, "demo/car/other");
    sample_segment_hash(server->segment);
    reattach(client);
    struct oto_sample_head head;
    struct oto_imu_record record;
    assert_null(imu->view.ring);
    assert_int_equal(oto_reader_next(&reader, &head, &record, sizeof record), OTO_UNSUPPORTED);
    assert_int_equal(oto_reader_read(&reader, &head, &record, 1), 0);
    assert_int_equal(oto_channel_latest(imu, &head, &record, sizeof record), OTO_UNSUPPORTED);
    assert_int_equal(oto_client_channel_identity(client, imu, &identity), OTO_RANGE);
    assert_int_equal(oto_lossless_begin(client, &imu, 1, &error), OTO_NOT_FOUND);
    assert_string_equal(oto_client_find(client, "car/other", &error)->topic, "demo/car/other");
    assert_int_equal(oto_client_channel_count(client), SAMPLE_CHANNELS);
    end_run(client);
    start_run(9, 7);
    push_from(IMU, 1, 1);
    reattach(client);
    assert_ptr_equal(oto_client_find(client, "demo/car/imu", &error), imu);
    assert_int_equal(read_one(&reader), 1);
    end_run(client);
    oto_client_close(client);
}

static void what_does_not_come_again_stays_as_it_was(void **state)
{
    (void)state;
    struct oto_error error = {0};
    start_run(7, 7);
    struct oto_client *client = open_world();
    struct oto_reader reader = oto_reader_make(oto_client_channel(client, IMU), OTO_READ_FROM_OLDEST);
    push_from(IMU, 1, 1);
    assert_int_equal(oto_client_reattach(client, 0, &error), OTO_CONFLICT);
    assert_non_null(strstr(error.text, "still runs"));
    header_of()->state = OTO_SERVER_CLOSING; /* over, and still there: not to be taken for the next */
    assert_int_equal(oto_client_reattach(client, 20, &error), OTO_TIMEOUT);
    end_run(client);
    assert_int_equal(oto_client_reattach(client, 20, &error), OTO_TIMEOUT);
    assert_non_null(strstr(error.text, "'demo' did not restart within 20 ms"));
    assert_int_equal(read_one(&reader), 1);
    assert_int_equal(oto_client_header(client)->epoch, 7);
    start_run(8, 8);
    header_of()->major = OTO_SEGMENT_MAJOR + 1;
    assert_int_equal(oto_client_reattach(client, 60000, &error), OTO_VERSION);
    header_of()->major = OTO_SEGMENT_MAJOR;
    reattach(client);
    end_run(client);
    oto_client_close(client);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_run_that_continues_is_read_behind_the_last_record),
        TEST(a_run_that_begins_anew_is_read_from_its_oldest_record),
        TEST(events_are_never_taken_for_those_of_another_run),
        TEST(a_channel_that_a_run_has_not_reads_nothing_until_one_has_it_again),
        TEST(what_does_not_come_again_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
