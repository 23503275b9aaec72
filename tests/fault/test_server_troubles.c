/* Plugins that get stuck or crash: what the server still does. */
#include "oto_test.h"

#include <pthread.h>
#include <signal.h>

#include "world_process.h"

static const char *const troubled_yaml = "world: w\n"
                                         "clock: {rate_hz: 1000}\n"
                                         "vehicles:\n"
                                         "  - name: car\n"
                                         "    motion: {plugin: motion_script}\n"
                                         "    nodes:\n"
                                         "      - {name: odd, plugin: " OTO_TEST_PLUGIN_DIR "/counter.so, rate_hz: 100}\n";

static int set_up(void **state)
{
    return world_set_up(state, troubled_yaml);
}

static void a_stuck_plugin_is_named_and_the_server_can_still_be_ended(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    static const char *const stuck[] = {"--set=vehicles.car.nodes.odd.params.trouble=stuck", NULL};
    world_start(world, stuck);
    struct oto_client *client = world_attach(world, "test");
    wait_for(world_log_says(world, "w/car/odd"));
    world_assert_said(world, "in its step for");
    assert_ok(oto_control_info(client, &reply, &error), error);
    const uint64_t stalls = world_counter(client, OTO_COUNTER_STALLS); /* a busy machine may have had one before */
    assert_true(stalls >= 1);
    assert_int_equal(world_stop(world), 1);
    assert_int_equal(world_counter(client, OTO_COUNTER_STALLS), stalls); /* it is counted once */
    assert_false(world_left_something(world));
    world_assert_said(world, "did not stop within 4 seconds");
    oto_client_close(client);
}

static bool stands_still(int64_t since_ms)
{
    return test_now_ms() - since_ms > 4500;
}

/* As a virtual machine does. The tick that is under way would have ended long before the limit of 4 s. */
static void a_server_that_stands_still_while_it_ends_ends_in_order(void **state)
{
    struct world_process *world = *state;
    static const char *const slow[] = {"--no-publish", "--set=vehicles.car.nodes.odd.params.trouble=slow",
                                       "--set=vehicles.car.nodes.odd.params.slow_ms=200", NULL};
    char facts[128];
    world_start(world, slow);
    struct oto_client *client = world_attach(world, "test");
    (void)snprintf(facts, sizeof facts, "%s/otolith/w/server.json", world->root);
    wait_for(access(facts, F_OK) == 0);
    wait_for(world_tick(client) > 100 && __atomic_load_n(&oto_client_header(client)->current_node, __ATOMIC_RELAXED) == 2); /* in the slow step */
    assert_int_equal(kill(world->pid, SIGTERM), 0);
    wait_for(access(facts, F_OK) != 0);
    (void)kill(world->pid, SIGSTOP);
    const int64_t since_ms = test_now_ms();
    wait_for(stands_still(since_ms));
    (void)kill(world->pid, SIGCONT);
    assert_int_equal(world_wait(world), 0);
    assert_false(world_left_something(world));
    oto_client_close(client);
}

static void a_crash_leaves_a_name_that_the_next_server_takes(void **state)
{
    struct world_process *world = *state;
    static const char *const crash[] = {"--set=vehicles.car.nodes.odd.params.trouble=crash", NULL};
    assert_int_equal(setenv("TSAN_OPTIONS", "handle_segv=0 handle_abort=0", 1), 0); /* which else hangs in its report */
    world_start(world, crash);
    assert_true(world_wait(world) != 0);
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    assert_int_equal(world_stop(world), 0);
    assert_false(world_left_something(world));
    oto_client_close(client);
}

static void a_plugin_that_refuses_ends_the_start_with_its_reason(void **state)
{
    static const char *const kinds[] = {"prepare", "init"};
    struct world_process *world = *state;
    for (size_t i = 0; i < 2; i++) {
        char option[96];
        (void)snprintf(option, sizeof option, "--set=vehicles.car.nodes.odd.params.trouble=%s", kinds[i]);
        const char *const arguments[] = {option, NULL}, *const check[] = {option, "--check", NULL};
        world_start(world, arguments);
        assert_int_equal(world_wait(world), 1);
        world_start(world, check);
        assert_int_equal(world_wait(world), 1);
        world_assert_said(world, "car/odd");
        assert_false(world_left_something(world));
    }
}

struct stuck_set {
    struct oto_client *client;
    enum oto_status status;
    struct oto_error error;
};

static void *set_endless(void *argument)
{
    struct stuck_set *job = argument;
    struct oto_reply reply;
    job->status = oto_control_set(job->client, "car/odd", "trouble", "endless", &reply, &job->error);
    return NULL;
}

/* "trouble: endless": a `prepare` that does not return holds the worker. */
static void a_prepare_that_never_returns_is_named_and_the_server_still_ends(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    world_start(world, (const char *const[]){"--no-publish", NULL});
    struct oto_client *client = world_attach(world, "test"), *other = world_attach(world, "other");
    struct stuck_set job = {.client = world_attach(world, "stuck")};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, set_endless, &job), 0);
    /* What waits behind it is refused at last, the stuck request has its reply, and later requests are refused at once. */
    wait_for(oto_control_set(client, "car/odd", "increment", "2", &reply, &error) == OTO_CONFLICT);
    assert_non_null(strstr(error.text, "'set car/odd' has not returned"));
    assert_int_equal(oto_control_set(other, "car/odd", "increment", "2", &reply, &error), OTO_CONFLICT);
    assert_int_equal(oto_control_checkpoint(other, "/tmp/never.ckpt", &reply, &error), OTO_CONFLICT);
    assert_int_equal(oto_control_restore(other, "/tmp/never.ckpt", &reply, &error), OTO_CONFLICT);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(job.status, OTO_TIMEOUT);
    assert_non_null(strstr(job.error.text, "it has not returned for 10 s and is given up"));
    world_advance(client, 1);
    assert_int_equal(world_stop(world), 1);
    world_assert_said(world, "'set car/odd' does not return (a stuck plugin or disk); the process ends without it");
    assert_false(world_left_something(world));
    oto_client_close(job.client);
    oto_client_close(other);
    oto_client_close(client);
}

static void copies_of_plugins_are_kept_where_asked(void **state)
{
    struct world_process *world = *state;
    char path[256];
    (void)snprintf(path, sizeof path, "--keep-plugins=%s", world->root);
    const char *const keep[] = {path, "--check", NULL}, *const nowhere[] = {"--keep-plugins=/nonexistent", "--check", NULL};
    world_start(world, keep);
    assert_int_equal(world_wait(world), 0);
    world_start(world, nowhere);
    assert_int_equal(world_wait(world), 1);
    world_assert_said(world, "/nonexistent");
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(a_stuck_plugin_is_named_and_the_server_can_still_be_ended),
        in_world(a_server_that_stands_still_while_it_ends_ends_in_order),
        in_world(a_crash_leaves_a_name_that_the_next_server_takes),
        in_world(a_plugin_that_refuses_ends_the_start_with_its_reason),
        in_world(a_prepare_that_never_returns_is_named_and_the_server_still_ends),
        in_world(copies_of_plugins_are_kept_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
