/* Plugin hosts beside a real server: from the world file to the end of either. */
#include "oto_test.h"

#include <errno.h>
#include <signal.h>

#include "world_process.h"

static const char *const isolated_yaml =
    "world: w\n"
    "clock: {rate_hz: 1000}\n"
    "vehicles:\n"
    "  - name: car\n"
    "    motion: {plugin: motion_script}\n"
    "    nodes:\n"
    "      - {name: imu, plugin: mems_imu, rate_hz: 200, isolation: process}\n"
    "      - {name: mag, plugin: magnetometer, rate_hz: 50, isolation: {process: shared, budget_us: 30000}}\n"
    "      - {name: odo, plugin: odometer, rate_hz: 100, isolation: {process: shared, budget_us: 30000}}\n"
    "      - {name: odd, plugin: " OTO_TEST_PLUGIN_DIR "/counter.so, rate_hz: 100, isolation: {process: odd, mode: async}}\n";

static int set_up(void **state)
{
    return world_set_up(state, isolated_yaml);
}

/* 0: it is being started again. */
static pid_t pid_of(struct oto_client *client, const char *name)
{
    char text[32];
    world_host_info(client, name, "pid", text, sizeof text);
    return (pid_t)strtol(text, NULL, 10);
}

static pid_t await_pid(struct oto_client *client, const char *name)
{
    pid_t pid = 0;
    wait_for((pid = pid_of(client, name)) > 0);
    return pid;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

static uint64_t samples(const struct oto_client *client, const char *topic)
{
    struct oto_error error = {0};
    const struct oto_channel *channel = oto_client_find(client, topic, &error);
    if (channel == NULL) {
        fail_msg("%s", error.text);
    }
    return oto_ring_newest(&channel->view);
}

static bool has_samples(const struct oto_client *client, const char *topic, uint64_t count)
{
    return samples(client, topic) >= count;
}

static void the_server_tells_its_hosts_and_ends_them(void **state)
{
    struct world_process *world = *state;
    char mode[16];
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    const pid_t own = await_pid(client, "car/imu"), shared = await_pid(client, "shared"), odd = await_pid(client, "odd");
    assert_true(own != shared && shared != odd);
    world_host_info(client, "odd", "mode", mode, sizeof mode);
    assert_string_equal(mode, "async");
    wait_for(has_samples(client, "w/car/imu", 20) && has_samples(client, "w/car/mag", 5) &&
             has_samples(client, "w/car/odo", 10) && has_samples(client, "w/car/odd", 10));
    assert_int_equal(world_stop(world), 0);
    assert_true(is_gone(own) && is_gone(shared) && is_gone(odd));
    assert_false(world_left_something(world));
    oto_client_close(client);
}

static void a_killed_server_leaves_no_host(void **state)
{
    struct world_process *world = *state;
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    const pid_t own = await_pid(client, "car/imu"), shared = await_pid(client, "shared");
    assert_int_equal(kill(world->pid, SIGKILL), 0);
    (void)world_wait(world);
    wait_for(is_gone(own) && is_gone(shared));
    oto_client_close(client);
}

static void a_host_that_was_killed_is_started_again(void **state)
{
    struct world_process *world = *state;
    char restarts[16] = "";
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    const pid_t before = await_pid(client, "shared");
    assert_int_equal(kill(before, SIGSEGV), 0);
    wait_for(world_log_says(world, "the plugin host was ended by SIGSEGV"));
    wait_for(pid_of(client, "shared") > 0 && pid_of(client, "shared") != before);
    world_host_info(client, "shared", "restarts", restarts, sizeof restarts);
    assert_true(strtol(restarts, NULL, 10) >= 1); /* a busy machine may silence the next one for too long as well */
    const uint64_t seq = samples(client, "w/car/odo");
    wait_for(has_samples(client, "w/car/odo", seq + 5));
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

static void a_parameter_of_an_isolated_node_can_be_set(void **state)
{
    struct world_process *world = *state;
    struct oto_reply reply;
    struct oto_error error = {0};
    world_start(world, NULL);
    struct oto_client *client = world_attach(world, "test");
    const pid_t before = await_pid(client, "odd");
    assert_ok(oto_control_set(client, "car/odd", "increment", "5", &reply, &error), error);
    wait_for(pid_of(client, "odd") > 0 && pid_of(client, "odd") != before);
    wait_for(is_gone(before));
    assert_int_equal(world_stop(world), 0);
    oto_client_close(client);
}

static void a_plugin_that_takes_more_than_it_may_is_refused_before_it_runs(void **state)
{
    struct world_process *world = *state;
    static const char *const escaping[] = {
        "--set=vehicles.car.nodes.odd.plugin=" OTO_TEST_PLUGIN_DIR "/hostile_step_file.so", "--check", NULL};
    world_start(world, escaping);
#ifdef OTO_SANITIZED_BUILD
    assert_int_equal(world_wait(world), 0); /* sanitized objects bring imports of their own */
#else
    assert_int_equal(world_wait(world), 1);
    world_assert_said(world, "it imports '");
    world_assert_said(world, "rule 'imports'");
#endif
}

static void code_that_runs_while_a_file_is_mapped_does_not_run_in_the_server(void **state)
{
    struct world_process *world = *state;
    static const char *const crashing[] = {
        "--set=vehicles.car.nodes.odd.plugin=" OTO_TEST_PLUGIN_DIR "/hostile_load_null.so", "--check", NULL};
    world_start(world, crashing);
    assert_int_equal(world_wait(world), 1);
    world_assert_said(world, "the plugin host that loaded it was ended by SIGSEGV");
}

static void a_mode_that_is_not_one_is_refused(void **state)
{
    struct world_process *world = *state;
    static const char *const arguments[] = {"--set=vehicles.car.nodes.odd.isolation.mode=sometimes", "--check", NULL};
    world_start(world, arguments);
    assert_int_equal(world_wait(world), 1);
    world_assert_said(world, "expected sync or async");
}

#define in_world(test) cmocka_unit_test_setup_teardown(test, set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_world(the_server_tells_its_hosts_and_ends_them),
        in_world(a_killed_server_leaves_no_host),
        in_world(a_host_that_was_killed_is_started_again),
        in_world(a_parameter_of_an_isolated_node_can_be_set),
        in_world(a_plugin_that_takes_more_than_it_may_is_refused_before_it_runs),
        in_world(code_that_runs_while_a_file_is_mapped_does_not_run_in_the_server),
        in_world(a_mode_that_is_not_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
