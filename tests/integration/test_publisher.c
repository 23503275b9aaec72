#include "oto_test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>

#include "otolith/records.h"
#include "world_process.h"

static int set_up(void **state)
{
    return world_set_up(state, NULL);
}

static struct oto_subscriber *subscribe(const char *url, const char *topic)
{
    struct oto_subscriber *subscriber = NULL;
    struct oto_error error = {0};
    assert_ok(oto_subscriber_open(url, topic, &subscriber, &error), error);
    return subscriber;
}

/* One sample whose type is known, if there is one now. */
static bool take(struct oto_subscriber *subscriber, struct oto_wire_sample *sample)
{
    struct oto_error error = {0};
    const enum oto_status status = oto_subscriber_next(subscriber, 1, sample, &error);
    assert_true(status == OTO_OK || status == OTO_TIMEOUT);
    return status == OTO_OK && sample->payload != NULL;
}

static long publisher_pid(struct oto_client *client)
{
    char text[32];
    world_info(client, "publisher_pid", text, sizeof text);
    return strtol(text, NULL, 10);
}

static void check_samples(struct world_process *world, const char *const *arguments)
{
    struct oto_error error = {0};
    world_start(world, arguments);
    struct oto_client *client = world_attach(world, "test");
    const struct oto_channel *imu = oto_client_find(client, "car/imu", &error);
    for (unsigned i = 0; i < 2; i++) {
        char url[256];
        world_endpoint(world, client, i, url, sizeof url);
        struct oto_subscriber *subscriber = subscribe(url, "w/car/imu");
        uint64_t before = 0;
        for (int compared = 0; compared < 50;) {
            struct oto_wire_sample sample;
            struct oto_sample_head head;
            struct oto_imu_record record;
            wait_for(take(subscriber, &sample));
            assert_string_equal(sample.topic, "w/car/imu");
            assert_int_equal(sample.epoch, oto_client_header(client)->epoch);
            assert_true(before == 0 || sample.head.seq == before + 1 + sample.lost);
            before = sample.head.seq;
            const enum oto_status status = oto_ring_read_at(&imu->view, sample.head.seq, &head, &record);
            if (status == OTO_LAPPED) {
                continue; /* a busy machine brings it later than the ring holds it */
            }
            assert_int_equal(status, OTO_OK);
            assert_int_equal(head.t_ns, sample.head.t_ns);
            assert_memory_equal(&record, sample.payload, sizeof record);
            compared++;
        }
        oto_subscriber_close(subscriber);
    }
    oto_client_close(client);
    assert_int_equal(world_stop(world), 0);
    assert_false(world_left_something(world));
}

static void frames_carry_what_stands_in_shared_memory(void **state)
{
    check_samples(*state, NULL);
}

static void packed_frames_too(void **state)
{
    static const char *const packed[] = {"--set=publish.format=packed", NULL};
    check_samples(*state, packed);
}

static void without_coalescing_each_tick_is_published(void **state)
{
    static const char *const at_once[] = {"--set=publish.coalesce_ms=0", NULL};
    check_samples(*state, at_once);
}

static void eight_subscribers_get_every_sample_or_are_told(void **state)
{
    struct world_process *world = *state;
    struct oto_subscriber *subscribers[8];
    uint64_t got[8] = {0}, last[8] = {0};
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    for (unsigned i = 0; i < 8; i++) {
        char url[256];
        world_endpoint(world, client, i % 2, url, sizeof url);
        subscribers[i] = subscribe(url, "w/car/imu");
    }
    uint32_t done = 0;
    const int64_t end_ms = test_now_ms() + TEST_DEADLINE_MS;
    while (done < 8 && test_now_ms() < end_ms) {
        done = 0;
        for (unsigned i = 0; i < 8; i++) {
            struct oto_wire_sample sample;
            while (got[i] < 300 && take(subscribers[i], &sample)) {
                /* a machine that stalls for a second may lose some; each is counted */
                assert_true(last[i] == 0 || sample.head.seq == last[i] + 1 + sample.lost);
                last[i] = sample.head.seq;
                got[i]++;
            }
            done += got[i] >= 300;
        }
    }
    assert_int_equal(done, 8);
    for (unsigned i = 0; i < 8; i++) {
        oto_subscriber_close(subscribers[i]);
    }
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

static bool has_new_publisher(struct oto_client *client, long old)
{
    const long pid = publisher_pid(client);
    return pid != 0 && pid != old;
}

/* The seq of the ring continues, and the reported loss is exactly that of the crash. */
static void a_publisher_killed_again_and_again_comes_back(void **state)
{
    struct world_process *world = *state;
    char url[256];
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    world_endpoint(world, client, 0, url, sizeof url);
    struct oto_subscriber *subscriber = subscribe(url, "w/car/imu");
    uint64_t seq = 0;
    struct oto_wire_sample sample;
    wait_for(take(subscriber, &sample));
    seq = sample.head.seq;
    for (unsigned round = 1; round <= 4; round++) {
        long pid = 0;
        wait_for((pid = publisher_pid(client)) != 0);
        assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
        wait_for(has_new_publisher(client, pid));
        const uint64_t reached = oto_ring_newest(&oto_client_find(client, "car/imu", NULL)->view);
        do {
            wait_for(take(subscriber, &sample));
            assert_int_equal(sample.epoch, oto_client_header(client)->epoch);
            assert_int_equal(sample.head.seq, seq + 1 + sample.lost);
            seq = sample.head.seq;
        } while (seq <= reached);
    }
    assert_int_equal(world_counter(client, OTO_COUNTER_PUBLISHER_RESTARTS), 4);
    oto_subscriber_close(subscriber);
    assert_int_equal(world_stop(world), 0);
    assert_false(world_left_something(world));
    oto_client_close(client);
}

/* Ended, or a zombie of the process that inherited it. */
static bool is_dead(long pid)
{
    char path[64], text[512] = "";
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return true;
    }
    (void)fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    const char *end = strrchr(text, ')');
    return end == NULL || end[2] == 'Z' || end[2] == 'X';
}

static void the_publisher_dies_with_its_server(void **state)
{
    struct world_process *world = *state;
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    long pid = 0;
    wait_for((pid = publisher_pid(client)) != 0);
    assert_int_equal(kill(world->pid, SIGKILL), 0);
    (void)world_wait(world);
    wait_for(is_dead(pid));
    oto_client_close(client);
}

static void a_port_that_stays_taken_fails_the_run(void **state)
{
    struct world_process *world = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    char option[96];
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    (void)snprintf(option, sizeof option, "--set=publish.listen=[ipc, 'tcp://127.0.0.1:%u']", ntohs(address.sin_port));
    const char *const arguments[] = {option, NULL};
    world_start(world, arguments);
    wait_for(world_log_says(world, "cannot listen on tcp://127.0.0.1"));
    assert_int_equal(world_stop(world), 1);
    world_assert_said(world, "not all addresses of `publish` were served");
    (void)close(fd);
}

static void a_taken_port_is_said_and_tried_again(void **state)
{
    struct world_process *world = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    char option[96], url[64], listed[72], ipc[256], tcp[256];
    struct oto_reply reply;
    struct oto_error error = {0};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    (void)snprintf(url, sizeof url, "tcp://127.0.0.1:%u", ntohs(address.sin_port));
    (void)snprintf(option, sizeof option, "--set=publish.listen=[ipc, '%s']", url);
    const char *const arguments[] = {option, NULL};
    world_start(world, arguments);
    struct oto_client *client = world_attach(world, "test");
    world_endpoint(world, client, 0, ipc, sizeof ipc);
    struct oto_subscriber *subscriber = subscribe(ipc, "w/car/imu");
    struct oto_wire_sample sample;
    wait_for(take(subscriber, &sample));
    oto_subscriber_close(subscriber);
    wait_for(world_log_says(world, "cannot listen on tcp://127.0.0.1"));
    assert_ok(oto_control_info(client, &reply, &error), error);
    (void)snprintf(listed, sizeof listed, "\"%s\"", url);
    assert_null(strstr(reply.text, listed)); /* only addresses at which it listens are announced */
    (void)close(fd);
    subscriber = subscribe(url, "w/car/imu");
    wait_for(take(subscriber, &sample));
    oto_subscriber_close(subscriber);
    world_endpoint(world, client, 1, tcp, sizeof tcp);
    assert_string_equal(tcp, url);
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

static void a_paused_world_still_tells_its_schema(void **state)
{
    struct world_process *world = *state;
    static const char *const paused[] = {"--start-paused", NULL};
    struct oto_reply reply;
    struct oto_error error = {0};
    char url[256];
    world_start(world, paused);
    struct oto_client *client = world_attach(world, "test");
    world_endpoint(world, client, 0, url, sizeof url);
    struct oto_subscriber *subscriber = subscribe(url, "w/car/imu");
    struct oto_wire_sample sample = {0};
    bool known = false;
    /* Stepped now and then: the first sample that comes may come before the schema, a later one has its type. */
    wait_for((assert_int_equal(oto_control_step(client, 5, &reply, &error), OTO_OK),
              known = take(subscriber, &sample)));
    assert_true(known);
    assert_string_equal(sample.type->name, "imu");
    oto_subscriber_close(subscriber);
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(frames_carry_what_stands_in_shared_memory),
        in_world(packed_frames_too),
        in_world(without_coalescing_each_tick_is_published),
        in_world(eight_subscribers_get_every_sample_or_are_told),
        in_world(a_publisher_killed_again_and_again_comes_back),
        in_world(the_publisher_dies_with_its_server),
        in_world(a_taken_port_is_said_and_tried_again),
        in_world(a_port_that_stays_taken_fails_the_run),
        in_world(a_paused_world_still_tells_its_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
