/* connect() is ours here: after a refusal the next run of the world may begin to listen. */
#include <oto_test.h>

#include <dirent.h>
#include <sys/syscall.h>

#include "attach/client_private.h"
#include "base/process_time.h"

#include "fake_server.h"

static char runtime[FAKE_RUNTIME_BYTES];
static struct fake_server *server;
static bool next_run_follows;

static void listen_again(void);

int connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
    const int connected = (int)syscall(SYS_connect, fd, address, bytes);
    const int reason = errno;
    if (connected != 0 && next_run_follows) {
        next_run_follows = false;
        listen_again();
    }
    errno = reason;
    return connected;
}

static void listen_again(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/control.sock", server->directory);
    (void)unlink(address.sun_path);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 8), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, fake_run, server), 0);
}

static int set_up(void **state)
{
    (void)state;
    fake_runtime_make(runtime);
    server = calloc(1, sizeof *server);
    server->pass_fds = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_runtime_remove(runtime);
    free(server);
    return 0;
}

static int open_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(folder) != NULL) {
        count++;
    }
    (void)closedir(folder);
    return count;
}

static enum oto_status open_world(const char *world, struct oto_client **client, struct oto_error *error)
{
    const struct oto_client_options options = {.size = sizeof options, .world = world, .timeout_ms = 60000};
    return oto_client_open(&options, client, error);
}

static struct oto_client *must_open(void)
{
    struct oto_client *client;
    struct oto_error error = {0};
    assert_ok(open_world("demo", &client, &error), error);
    return client;
}

static void expect_text(const struct oto_error *error, const char *why)
{
    if (strstr(error->text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", error->text, why);
    }
}

static void a_client_attaches_and_reads(void **state)
{
    (void)state;
    struct oto_error error = {0};
    struct oto_sample_head head;
    struct oto_imu_record imu;
    fake_start(server, "demo", FAKE_SEALS);
    const int before = open_descriptors();
    struct oto_client *client = must_open();
    assert_int_equal(open_descriptors(), before + 2); /* both ends of the connection, and no segment */
    assert_int_equal(oto_client_channel_count(client), SAMPLE_CHANNELS);
    const struct oto_channel *channel = oto_client_find(client, "demo/car/imu", &error);
    assert_non_null(channel);
    assert_ptr_equal(oto_client_find(client, "car/imu", &error), channel);
    assert_string_equal(oto_client_find(client, "/unity/mag", &error)->topic, "/unity/mag");
    assert_string_equal(oto_client_find(client, "car/mag", &error)->topic, "/unity/mag");
    assert_null(oto_client_find(client, "car/imo", &error));
    expect_text(&error, "did you mean 'car/imu'?");
    assert_null(oto_client_find(client, "nothing_like_it", &error));
    expect_text(&error, "it has demo/@events, demo/car/imu, /unity/mag");
    assert_int_equal(oto_channel_latest(channel, &head, &imu, sizeof imu), OTO_AGAIN);
    sample_segment_push(server->segment, 1, 1);
    assert_int_equal(oto_channel_latest(channel, &head, &imu, sizeof imu), OTO_OK);
    assert_true(head.seq == 1 && imu.orientation_x == 1.0);
    assert_true(oto_client_server_alive(client));
    assert_true(oto_client_header(client)->rate_num == 1000);
    oto_client_close(client);
    fake_stop(server);
    oto_client_close(NULL);
}

static void the_world_is_found_by_name_variable_or_being_alone(void **state)
{
    (void)state;
    struct oto_client *client;
    struct oto_error error = {0};
    struct oto_world_entry entries[4];
    struct fake_server *other = calloc(1, sizeof *other);
    assert_int_equal(open_world(NULL, &client, &error), OTO_NOT_FOUND);
    expect_text(&error, "no world is running");
    assert_int_equal(oto_worlds_list(entries, 4), 0);
    fake_start(server, "demo", FAKE_SEALS);
    assert_ok(open_world(NULL, &client, &error), error);
    oto_client_close(client);
    other->pass_fds = 1;
    fake_start(other, "fleet", FAKE_SEALS);
    assert_int_equal(oto_worlds_list(entries, 4), 2);
    assert_true(entries[0].alive && entries[1].alive && entries[0].pid == getpid());
    assert_int_equal(open_world(NULL, &client, &error), OTO_INVALID);
    expect_text(&error, "demo");
    expect_text(&error, "fleet");
    (void)setenv("OTOLITH_WORLD", "fleet", 1);
    assert_ok(open_world(NULL, &client, &error), error);
    oto_client_close(client);
    assert_int_equal(open_world("absent", &client, &error), OTO_NOT_FOUND);
    expect_text(&error, "'absent'");
    assert_int_equal(open_world("../demo", &client, &error), OTO_INVALID);
    fake_stop(other);
    free(other);
    fake_stop(server);
}

/* A server whose socket refuses clients, and the path of its server.json. */
static void stop_listening(char *path, size_t bytes)
{
    fake_start(server, "demo", FAKE_SEALS);
    (void)shutdown(server->listener, SHUT_RDWR);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->listener);
    (void)snprintf(path, bytes, "%s/server.json", server->directory);
}

static void a_dead_world_is_listed_as_dead_and_refused(void **state)
{
    (void)state;
    struct oto_client *client;
    struct oto_error error = {0};
    struct oto_world_entry entry;
    char path[96];
    stop_listening(path, sizeof path);
    FILE *file = fopen(path, "w");
    (void)fputs("{\"pid\": 4711, \"epoch\": 1}", file);
    (void)fclose(file);
    assert_int_equal(oto_worlds_list(&entry, 1), 1);
    assert_false(entry.alive);
    assert_int_equal(entry.pid, 4711);
    assert_int_equal(open_world("demo", &client, &error), OTO_NOT_FOUND);
    expect_text(&error, "no server listens");
    (void)unlink(path);
    server->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(pthread_create(&server->thread, NULL, fake_run, server), 0); /* for fake_stop; accept fails at once */
    fake_stop(server);
}

/* During a `restore`: no server listens, and server.json names a process that lives. */
static void a_client_waits_between_two_runs_of_a_world(void **state)
{
    (void)state;
    struct oto_client *client;
    struct oto_error error = {0};
    struct oto_world_entry entry;
    char path[96];
    stop_listening(path, sizeof path);
    FILE *file = fopen(path, "w");
    (void)fprintf(file, "{\"pid\": %ld, \"start_time\": %llu}", (long)getpid(), (unsigned long long)srv_process_start_time(getpid()));
    (void)fclose(file);
    assert_int_equal(oto_worlds_list(&entry, 1), 1);
    assert_true(entry.alive);
    next_run_follows = true;
    assert_ok(open_world("demo", &client, &error), error);
    oto_client_close(client);
    (void)unlink(path);
    fake_stop(server);
}

static void a_directory_that_others_may_enter_is_refused(void **state)
{
    (void)state;
    struct oto_client *client;
    struct oto_error error = {0};
    struct oto_world_entry entry;
    fake_start(server, "demo", FAKE_SEALS);
    assert_int_equal(chmod(server->directory, 0755), 0);
    assert_int_equal(open_world("demo", &client, &error), OTO_DENIED);
    expect_text(&error, "mode 0700; it is mode 0755");
    assert_int_equal(oto_worlds_list(&entry, 1), 0);
    fake_stop(server);
}

static void expect_refusal(int seals, const char *why)
{
    struct oto_client *client;
    struct oto_error error = {0};
    fake_start(server, "demo", seals);
    const int before = open_descriptors();
    assert_int_not_equal(open_world("demo", &client, &error), OTO_OK);
    assert_null(client);
    expect_text(&error, why);
    fake_stop(server);
    assert_int_equal(open_descriptors(), before - 2); /* none of those passed stays open; listener and segment are gone */
}

static void a_segment_that_could_change_under_us_is_refused(void **state)
{
    (void)state;
    expect_refusal(0, "seals are 0x0");
    expect_refusal(F_SEAL_SHRINK | F_SEAL_GROW, "must be sealed");
    server->announce_off = 4096;
    expect_refusal(FAKE_SEALS, "the server announced 69632");
    server->announce_off = 0;
    server->epoch_off = 1;
    expect_refusal(FAKE_SEALS, "another run");
}

static void exactly_one_descriptor_is_taken(void **state)
{
    (void)state;
    static const int counts[] = {0, 2, 4};
    for (size_t i = 0; i < 3; i++) {
        server->pass_fds = counts[i];
        expect_refusal(FAKE_SEALS, "exactly one segment");
    }
}

static void replies_that_are_no_messages_are_refused(void **state)
{
    (void)state;
    server->garbage = true;
    expect_refusal(FAKE_SEALS, "control message");
}

static void a_reply_to_an_earlier_request_is_dropped(void **state)
{
    (void)state;
    struct oto_error error = {0};
    struct oto_reply reply;
    server->stale_first = true;
    fake_start(server, "demo", FAKE_SEALS);
    struct oto_client *client = must_open();
    assert_ok(oto_control_pause(client, &reply, &error), error);
    assert_string_equal(reply.text, "pause");
    assert_int_equal(reply.tick, 42);
    assert_ok(oto_control_step(client, 10, &reply, &error), error);
    assert_string_equal(reply.text, "step");
    oto_client_close(client);
    fake_stop(server);
}

static void a_refusal_is_told_in_the_servers_words(void **state)
{
    (void)state;
    struct oto_error error = {0};
    server->refuse = true;
    fake_start(server, "demo", FAKE_SEALS);
    struct oto_client *client = must_open();
    assert_int_equal(oto_control_set(client, "car/imu", "law", "mavs", NULL, &error), OTO_DENIED);
    assert_string_equal(error.text, "only on Sundays");
    oto_client_close(client);
    fake_stop(server);
}

static void a_silent_server_times_out(void **state)
{
    (void)state;
    struct oto_client *client;
    struct oto_error error = {0};
    server->silent = true;
    fake_start(server, "demo", FAKE_SEALS);
    client = must_open();
    client->control.timeout_ms = 30; /* not for the attach, which is answered */
    assert_int_equal(oto_control_resume(client, NULL, &error), OTO_TIMEOUT);
    expect_text(&error, "30 ms");
    oto_client_close(client);
    fake_stop(server);
}

/* A fleet makes fewer ticks a second than its clock has. */
static void a_step_of_a_slow_world_waits_while_ticks_are_made(void **state)
{
    (void)state;
    struct oto_client *client;
    struct oto_error error = {0};
    struct oto_reply reply;
    server->slow_ms = 4000;
    fake_start(server, "demo", FAKE_SEALS);
    client = must_open();
    client->control.timeout_ms = 3000;
    assert_ok(oto_control_step(client, 20, &reply, &error), error);
    assert_string_equal(reply.text, "step");
    oto_client_close(client);
    fake_stop(server);
}

/* The header is shared: what it said when it was checked is what counts. */
static void a_header_that_changes_later_leads_nobody_astray(void **state)
{
    (void)state;
    struct oto_error error = {0};
    struct oto_channel_identity identity;
    fake_start(server, "demo", FAKE_SEALS);
    struct oto_client *client = must_open();
    struct oto_segment_header *header = (struct oto_segment_header *)(void *)server->segment;
    header->directory_offset = OTO_SEGMENT_MAX_BYTES;
    header->channel_count = UINT32_MAX;
    header->segment_bytes = UINT64_MAX;
    const struct oto_channel *imu = oto_client_find(client, "car/imu", &error);
    assert_ok(imu == NULL, error);
    assert_int_equal(oto_client_channel_identity(client, imu, &identity), OTO_OK);
    assert_string_equal(identity.plugin, "mems_imu");
    oto_client_close(client);
    fake_stop(server);
}

static void a_timeout_of_weeks_is_one(void **state)
{
    (void)state;
    struct oto_client *client;
    struct oto_error error = {0};
    struct oto_reply reply;
    fake_start(server, "demo", FAKE_SEALS);
    const struct oto_client_options options = {.size = sizeof options, .world = "demo", .timeout_ms = INT32_MAX};
    assert_ok(oto_client_open(&options, &client, &error), error);
    assert_ok(oto_control_checkpoint(client, "/tmp/none.ckpt", &reply, &error), error);
    oto_client_close(client);
    fake_stop(server);
}

static void a_server_that_goes_is_an_error_and_no_signal(void **state)
{
    (void)state;
    struct oto_error error = {0};
    server->hang_up = true;
    fake_start(server, "demo", FAKE_SEALS);
    struct oto_client *client = must_open();
    assert_int_equal(oto_control_pause(client, NULL, &error), OTO_CLOSED);
    assert_int_equal(oto_control_pause(client, NULL, &error), OTO_CLOSED);
    expect_text(&error, "closed");
    assert_false(oto_client_server_alive(client));
    assert_int_equal(oto_client_wait_tick(client, 0, 60000), OTO_CLOSED);
    assert_string_equal(oto_client_header(client)->world, "demo"); /* the mapped memory stays readable */
    oto_client_close(client);
    fake_stop(server);
}

struct param_list {
    uint32_t count;
    struct oto_param_info infos[8];
};

static void keep_param(void *context, const struct oto_param_info *info)
{
    struct param_list *list = context;
    list->infos[list->count++] = *info;
}

static void parameters_come_in_parts(void **state)
{
    (void)state;
    struct oto_error error = {0};
    static struct param_list list;
    fake_start(server, "demo", FAKE_SEALS);
    struct oto_client *client = must_open();
    assert_ok(oto_control_get(client, "car/imu", NULL, keep_param, &list, &error), error);
    assert_int_equal(list.count, FAKE_PARAMS);
    assert_string_equal(list.infos[1].key, "a.y");
    assert_string_equal(list.infos[1].value, "[2, 3]");
    assert_string_equal(list.infos[4].value, "mems");
    assert_true(list.infos[4].runtime && !list.infos[3].runtime);
    oto_client_close(client);
    fake_stop(server);
}

static void *tick_later(void *context)
{
    struct oto_client *client = context;
    (void)client;
    for (uint64_t tick = 1; tick <= 5; tick++) {
        fake_tick(server, tick);
    }
    return NULL;
}

static void a_waiter_sees_the_tick_after(void **state)
{
    (void)state;
    struct oto_clock clock;
    pthread_t thread;
    fake_start(server, "demo", FAKE_SEALS);
    struct oto_client *client = must_open();
    assert_int_equal(oto_client_clock(client, &clock), OTO_AGAIN);
    assert_int_equal(oto_client_wait_tick(client, 0, 1), OTO_TIMEOUT);
    assert_int_equal(pthread_create(&thread, NULL, tick_later, client), 0);
    assert_int_equal(oto_client_wait_tick(client, 4, 10000), OTO_OK);
    (void)pthread_join(thread, NULL);
    assert_int_equal(oto_client_clock(client, &clock), OTO_OK);
    assert_int_equal(clock.tick, 5);
    ((struct oto_segment_header *)(void *)server->segment)->state = OTO_SERVER_ENDED;
    assert_int_equal(oto_client_wait_tick(client, 4, 10000), OTO_OK);
    assert_int_equal(oto_client_wait_tick(client, 5, 10000), OTO_CLOSED);
    oto_client_close(client);
    fake_stop(server);
}

static void lossless_reading_is_acknowledged(void **state)
{
    (void)state;
    struct oto_error error = {0};
    const uint64_t next[2] = {5, 6};
    fake_start(server, "demo", FAKE_SEALS);
    struct oto_client *client = must_open();
    const struct oto_channel *const channels[] = {oto_client_channel(client, 1), oto_client_channel(client, 2)};
    assert_int_equal(oto_lossless_acknowledge(client, next, 2), OTO_INVALID);
    assert_ok(oto_lossless_begin(client, channels, 2, &error), error);
    assert_int_equal(oto_lossless_acknowledge(client, next, 1), OTO_INVALID);
    assert_int_equal(oto_lossless_acknowledge(client, next, 2), OTO_OK);
    assert_ok(oto_control_pause(client, NULL, &error), error); /* after it, so the acknowledgement has been read */
    assert_int_equal(__atomic_load_n(&server->acknowledged, __ATOMIC_ACQUIRE), 2);
    oto_client_close(client);
    fake_stop(server);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_client_attaches_and_reads),
        TEST(the_world_is_found_by_name_variable_or_being_alone),
        TEST(a_dead_world_is_listed_as_dead_and_refused),
        TEST(a_client_waits_between_two_runs_of_a_world),
        TEST(a_directory_that_others_may_enter_is_refused),
        TEST(a_segment_that_could_change_under_us_is_refused),
        TEST(exactly_one_descriptor_is_taken),
        TEST(replies_that_are_no_messages_are_refused),
        TEST(a_reply_to_an_earlier_request_is_dropped),
        TEST(a_refusal_is_told_in_the_servers_words),
        TEST(a_silent_server_times_out),
        TEST(a_step_of_a_slow_world_waits_while_ticks_are_made),
        TEST(a_header_that_changes_later_leads_nobody_astray),
        TEST(a_timeout_of_weeks_is_one),
        TEST(a_server_that_goes_is_an_error_and_no_signal),
        TEST(parameters_come_in_parts),
        TEST(a_waiter_sees_the_tick_after),
        TEST(lossless_reading_is_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
