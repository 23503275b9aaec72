#include "oto_test.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>

#include "otolith/records.h"
#include "world_process.h"

static int set_up(void **state)
{
    return world_set_up(state, NULL);
}

static const char *const no_publish[] = {"--no-publish", NULL};
static const char *const paused[] = {"--no-publish", "--start-paused", NULL};

static void it_starts_ticks_and_leaves_nothing(void **state)
{
    struct world_process *world = *state;
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    wait_for(world_tick(client) > 20);
    assert_int_equal(world_stop(world), 0);
    assert_false(world_left_something(world));
    assert_false(oto_client_server_alive(client));
    assert_int_equal(oto_client_wait_tick(client, UINT64_MAX, 1000), OTO_CLOSED);
    oto_client_close(client);
}

static void shutdown_ends_it(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    assert_ok(oto_control_shutdown(client, &reply, &error), error);
    assert_int_equal(world_wait(world), 0);
    assert_false(world_left_something(world));
    oto_client_close(client);
}

static void a_second_server_of_the_name_is_refused_and_another_name_taken(void **state)
{
    struct world_process *world = *state;
    static const char *const renamed[] = {"--no-publish", "--name", "w2", NULL};
    world_start(world, no_publish);
    struct oto_client *client = world_attach(world, "test");
    struct world_process second = *world, third = *world;
    world_start(&second, no_publish);
    assert_int_equal(world_wait(&second), 1);
    world_assert_said(world, "a world named 'w' runs already");
    world_start(&third, renamed);
    struct oto_world_entry entries[4];
    wait_for(oto_worlds_list(entries, 4) == 2 && entries[0].alive && entries[1].alive);
    assert_int_equal(world_stop(&third), 0);
    world_advance(client, 1);
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

static void a_killed_server_is_succeeded_with_a_new_epoch(void **state)
{
    struct world_process *world = *state;
    world_start(world, no_publish);
    struct oto_client *client = world_attach(world, "test");
    const uint64_t epoch = oto_client_header(client)->epoch;
    assert_int_equal(kill(world->pid, SIGKILL), 0);
    assert_int_equal(world_wait(world), 128 + SIGKILL);
    wait_for(!oto_client_server_alive(client));
    assert_true(world_left_something(world)); /* a stale socket */
    world_start(world, no_publish);
    struct oto_error error = {0};
    assert_ok(oto_client_reattach(client, TEST_DEADLINE_MS, &error), error);
    assert_true(oto_client_header(client)->epoch != epoch);
    assert_true(oto_client_header(client)->lineage == oto_client_header(client)->epoch);
    world_advance(client, 1);
    assert_int_equal(world_stop(world), 0);
    assert_false(world_left_something(world));
    oto_client_close(client);
}

static void bad_worlds_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *set, *said;
    } cases[] = {{"--set=clock.rate_hz=fast", "fast"},
                 {"--set=clok.rate_hz=100", "clok"},
                 {"--set=vehicles.car.nodes.imu.plugin=mems_imo", "mems_imo"},
                 {"--mode=quick", "quick"},
                 {"--seed=-1", "-1"},
                 {"--set=publish.listen=ws://127.0.0.1:1", "ws://127.0.0.1:1"}};
    struct world_process *world = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const arguments[] = {cases[i].set, NULL};
        world_start(world, arguments);
        assert_int_equal(world_wait(world), 1);
        world_assert_said(world, cases[i].said);
        assert_false(world_left_something(world));
    }
}

/* nng would remove the file. */
static void a_listener_on_a_file_that_is_no_socket_is_refused(void **state)
{
    struct world_process *world = *state;
    char set[256];
    (void)snprintf(set, sizeof set, "--set=publish.listen=ipc://%s", world->file);
    const char *const run[] = {set, NULL}, *const check[] = {set, "--check", NULL};
    const char *const *const lines[] = {run, check};
    for (size_t i = 0; i < 2; i++) {
        world_start(world, lines[i]);
        assert_int_equal(world_wait(world), 1);
        world_assert_said(world, "is not a socket");
        assert_int_equal(access(world->file, R_OK), 0);
    }
}

static void files_that_never_answer_are_refused(void **state)
{
    struct world_process *world = *state;
    char fifo[128], set[256];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", world->root);
    (void)snprintf(set, sizeof set, "--set=vehicles.car.nodes.imu.params_file=%s", fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const char *const check[] = {set, "--check", NULL};
    world_start(world, check);
    assert_int_equal(world_wait(world), 1);
    world_assert_said(world, "not a regular file");
    struct world_process of_fifo = *world;
    (void)snprintf(of_fifo.file, sizeof of_fifo.file, "%s", fifo);
    world_start(&of_fifo, no_publish);
    assert_int_equal(world_wait(&of_fifo), 1);
    world_assert_said(&of_fifo, "fifo: cannot be read");
}

static void check_prepares_everything_and_runs_nothing(void **state)
{
    struct world_process *world = *state;
    static const char *const check[] = {"--check", NULL};
    world_start(world, check);
    assert_int_equal(world_wait(world), 0);
    world_assert_said(world, "ok: world 'w', 1 vehicle,");
    assert_false(world_left_something(world));
}

static void a_bounded_run_ends_by_itself(void **state)
{
    struct world_process *world = *state;
    static const char *const bounded[] = {"--no-publish", "--mode", "asap", "--for", "2s", "--start-paused", NULL};
    struct oto_reply reply;
    struct oto_error error = {0};
    world_start(world, bounded);
    struct oto_client *client = world_attach(world, "test");
    assert_ok(oto_control_resume(client, &reply, &error), error);
    assert_int_equal(world_wait(world), 0);
    assert_int_equal(world_tick(client), 2000);
    oto_client_close(client);
}

static void a_lossless_reader_gets_every_sample_of_a_fast_run(void **state)
{
    struct world_process *world = *state;
    static const char *const bounded[] = {"--no-publish", "--mode=asap", "--for=30s", "--start-paused", NULL};
    struct oto_reply reply;
    struct oto_error error = {0};
    world_start(world, bounded);
    struct oto_client *client = world_attach(world, "test");
    const struct oto_channel *imu = oto_client_find(client, "car/imu", &error);
    assert_non_null(imu);
    struct oto_reader reader = oto_reader_make(imu, OTO_READ_FROM_OLDEST);
    assert_ok(oto_lossless_begin(client, &imu, 1, &error), error);
    assert_ok(oto_control_resume(client, &reply, &error), error);
    struct oto_sample_head head;
    struct oto_imu_record record;
    uint64_t got = 0;
    const int64_t end_ms = test_now_ms() + TEST_DEADLINE_MS;
    while (got < 6000 && test_now_ms() < end_ms) {
        if (oto_reader_next(&reader, &head, &record, sizeof record) == OTO_OK) {
            assert_int_equal(head.seq, ++got);
        } else {
            (void)oto_lossless_acknowledge(client, &reader.cursor.next, 1);
            test_yield();
        }
    }
    assert_int_equal(got, 6000);
    assert_int_equal(reader.cursor.lost, 0);
    (void)oto_lossless_acknowledge(client, &reader.cursor.next, 1);
    assert_int_equal(world_wait(world), 0); /* it waits for the last acknowledgement, and no longer */
    oto_client_close(client);
}

static void pause_step_and_resume_do_what_they_say(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    world_start(world, paused);
    struct oto_client *client = world_attach(world, "test");
    assert_int_equal(world_tick(client), 0);
    assert_ok(oto_control_step(client, 10, &reply, &error), error);
    assert_int_equal(reply.tick, 10);
    assert_int_equal(world_tick(client), 10);
    assert_ok(oto_control_resume(client, &reply, &error), error);
    wait_for(world_tick(client) > 30);
    assert_ok(oto_control_pause(client, &reply, &error), error);
    const uint64_t stopped = world_tick(client);
    assert_int_equal(reply.tick, stopped);
    assert_ok(oto_control_step(client, 3, &reply, &error), error);
    assert_int_equal(world_tick(client), stopped + 3);
    assert_ok(oto_control_scale(client, 2.0, &reply, &error), error);
    assert_int_equal(oto_control_scale(client, -1.0, &reply, &error), OTO_RANGE);
    assert_ok(oto_control_mode(client, "asap", &reply, &error), error);
    assert_int_equal(oto_control_mode(client, "warp", &reply, &error), OTO_INVALID);
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

struct seen {
    uint32_t count;
    char value[512];
    bool runtime;
};

static void take_param(void *context, const struct oto_param_info *info)
{
    struct seen *seen = context;
    seen->count++;
    (void)snprintf(seen->value, sizeof seen->value, "%s", info->value);
    seen->runtime = info->runtime;
}

static void a_parameter_that_is_set_moves_the_next_sample(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    struct oto_sample_head head;
    struct oto_imu_record before, after;
    struct seen seen = {0};
    world_start(world, paused);
    struct oto_client *client = world_attach(world, "test");
    const struct oto_channel *imu = oto_client_find(client, "car/imu", &error);
    const char *key = "accelerometer.constant_bias_m_s2";
    assert_ok(oto_control_step(client, 5, &reply, &error), error);
    assert_int_equal(oto_channel_latest(imu, &head, &before, sizeof before), OTO_OK);
    assert_ok(oto_control_set(client, "w/car/imu", key, "[5, 0, 0]", &reply, &error), error);
    assert_ok(oto_control_get(client, "car/imu", key, take_param, &seen, &error), error);
    assert_int_equal(seen.count, 1);
    assert_true(seen.runtime);
    assert_non_null(strstr(seen.value, "5"));
    assert_ok(oto_control_step(client, 5, &reply, &error), error);
    assert_int_equal(oto_channel_latest(imu, &head, &after, sizeof after), OTO_OK);
    assert_int_equal(head.seq, 2);
    assert_true(after.linear_acceleration_m_s2.x - before.linear_acceleration_m_s2.x > 4.0);
    memset(&seen, 0, sizeof seen);
    assert_ok(oto_control_get(client, "car/imu", NULL, take_param, &seen, &error), error);
    assert_true(seen.count > 10);
    assert_int_not_equal(oto_control_set(client, "car/imu", "accelerometer.constant_bais_m_s2", "1", &reply, &error), OTO_OK);
    assert_non_null(strstr(error.text, "constant_bias"));
    assert_int_not_equal(oto_control_set(client, "car/imo", key, "1", &reply, &error), OTO_OK);
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

static void a_swap_keeps_the_sequence(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    struct oto_sample_head head;
    struct oto_imu_record record;
    world_start(world, no_publish);
    struct oto_client *client = world_attach(world, "test");
    const struct oto_channel *imu = oto_client_find(client, "car/imu", &error);
    struct oto_reader reader = oto_reader_make(imu, OTO_READ_FROM_OLDEST);
    for (int swap = 0; swap < 5; swap++) {
        assert_ok(oto_control_swap(client, "car/imu", OTO_PLUGIN_DIR "/mems_imu.so", &reply, &error), error);
    }
    assert_int_not_equal(oto_control_swap(client, "car/imu", OTO_PLUGIN_DIR "/magnetometer.so", &reply, &error), OTO_OK);
    assert_int_not_equal(oto_control_swap(client, "car/imu", "/nowhere/mems_imu.so", &reply, &error), OTO_OK);
    wait_for(oto_ring_newest(&imu->view) > 20);
    for (uint64_t seq = 1; seq <= 20; seq++) {
        assert_int_equal(oto_reader_next(&reader, &head, &record, sizeof record), OTO_OK);
        assert_int_equal(head.seq, seq + reader.cursor.lost); /* the ring holds a second: slow swaps overwrite its beginning */
    }
    assert_int_equal(world_counter(client, OTO_COUNTER_SWAPS), 5);
    assert_int_equal(world_counter(client, OTO_COUNTER_SWAPS_REFUSED), 2);
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

/* The next event of client commands, by its text. */
static bool find_event(struct oto_reader *reader, uint32_t kind, const char *text, struct oto_event_record *event)
{
    struct oto_sample_head head;
    while (oto_reader_next(reader, &head, event, sizeof *event) == OTO_OK) {
        if (event->kind == kind && strstr(event->text, text) != NULL) {
            return true;
        }
    }
    return false;
}

static void every_mutation_is_in_the_event_ring(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    struct oto_event_record event;
    world_start(world, paused);
    struct oto_client *client = world_attach(world, "somebody");
    struct oto_reader reader = oto_reader_make(oto_client_find(client, "w/@events", &error), OTO_READ_FROM_OLDEST);
    assert_ok(oto_control_step(client, 2, &reply, &error), error);
    wait_for(find_event(&reader, OTO_EVENT_CLIENT, "step 2", &event));
    char who[64];
    (void)snprintf(who, sizeof who, "somebody (pid %ld)", (long)getpid());
    assert_string_equal(event.source, who);
    assert_int_not_equal(oto_control_set(client, "car/imu", "nonsense", "1", &reply, &error), OTO_OK);
    wait_for(find_event(&reader, OTO_EVENT_CLIENT, "set car/imu nonsense = 1: refused", &event));
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

static void server_json_says_who_runs(void **state)
{
    struct world_process *world = *state;
    char path[160], pid[32], text[64];
    struct stat facts;
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    world_info(client, "pid", text, sizeof text);
    (void)snprintf(pid, sizeof pid, "%ld", (long)world->pid);
    assert_string_equal(text, pid);
    (void)snprintf(path, sizeof path, "%s/otolith/w/server.json", world->root);
    wait_for(stat(path, &facts) == 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    (void)snprintf(path, sizeof path, "%s/otolith/w", world->root);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0700);
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

/* The next server of the name may be started then, and waits for this one. */
static void a_world_is_no_longer_announced_when_a_shutdown_is_answered(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    char path[160];
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    (void)snprintf(path, sizeof path, "%s/otolith/w/server.json", world->root);
    wait_for(access(path, F_OK) == 0);
    assert_ok(oto_control_shutdown(client, &reply, &error), error);
    assert_int_equal(access(path, F_OK), -1);
    oto_client_close(client);
    assert_int_equal(world_wait(world), 0);
}

/* A shell is the parent; it ends when its input does. */
static int start_under_shell(struct world_process *world)
{
    int leash[2];
    assert_int_equal(pipe2(leash, O_CLOEXEC), 0);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"\"$0\" \"$1\" --no-publish --follow-parent & read -r line"},
                    (char[]){OTO_BIN_DIR "/otolithd"}, world->file, NULL};
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, leash[0], 0);
    assert_int_equal(posix_spawn(&world->pid, "/bin/sh", &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(leash[0]);
    return leash[1];
}

static void a_server_that_follows_ends_with_its_parent(void **state)
{
    struct world_process *world = *state;
    const int leash = start_under_shell(world);
    struct oto_client *client = world_attach(world, "test");
    (void)close(leash);
    (void)world_wait(world);
    wait_for(!oto_client_server_alive(client));
    wait_for(!world_left_something(world));
    oto_client_close(client);
}

/* Some launchers ignore SIGCHLD, and an exec keeps that. */
static void a_server_started_with_sigchld_ignored_ends(void **state)
{
    struct world_process *world = *state;
    assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    world_start(world, NULL);
    assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
    struct oto_client *client = world_attach(world, "test");
    wait_for(world_tick(client) > 20);
    assert_int_equal(world_stop(world), 0);
    assert_false(world_left_something(world));
    oto_client_close(client);
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(it_starts_ticks_and_leaves_nothing),
        in_world(shutdown_ends_it),
        in_world(a_second_server_of_the_name_is_refused_and_another_name_taken),
        in_world(a_killed_server_is_succeeded_with_a_new_epoch),
        in_world(bad_worlds_are_refused_with_their_place),
        in_world(a_listener_on_a_file_that_is_no_socket_is_refused),
        in_world(files_that_never_answer_are_refused),
        in_world(check_prepares_everything_and_runs_nothing),
        in_world(a_bounded_run_ends_by_itself),
        in_world(a_lossless_reader_gets_every_sample_of_a_fast_run),
        in_world(pause_step_and_resume_do_what_they_say),
        in_world(a_parameter_that_is_set_moves_the_next_sample),
        in_world(a_swap_keeps_the_sequence),
        in_world(every_mutation_is_in_the_event_ring),
        in_world(server_json_says_who_runs),
        in_world(a_world_is_no_longer_announced_when_a_shutdown_is_answered),
        in_world(a_server_that_follows_ends_with_its_parent),
        in_world(a_server_started_with_sigchld_ignored_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
