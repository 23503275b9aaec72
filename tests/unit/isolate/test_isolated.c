/* A node in a plugin host gives what it gives in the server's process (A17, A19). */
#include "fixture.h"

#include <signal.h>

#include "isolate/isolated.h"

#define TICKS 2000

static void isolate(struct srv_node_config *node, const char *group)
{
    node->isolation.process = true;
    (void)snprintf(node->isolation.group, sizeof node->isolation.group, "%s", group);
}

struct world {
    bool isolated, async;
    const char *plugin;
    const char *key, *value; /* one parameter; NULL: none */
    uint64_t rate;
};

static void begin(struct fixture *fixture, const struct world *world)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    struct srv_node_config *first = fixture_sensor(fixture, "first", world->plugin, world->rate, 1);
    (void)fixture_sensor(fixture, "between", "witness", 300, 1);
    struct srv_node_config *second = fixture_sensor(fixture, "second", world->plugin, 333, 1);
    fixture_vehicle(fixture, "van", "circle_tick_only");
    struct srv_node_config *third = fixture_sensor(fixture, "third", world->plugin, 1000, 7);
    struct srv_node_config *const all[] = {first, second, third};
    for (size_t i = 0; i < 3; i++) {
        if (world->key != NULL) {
            fixture_set(all[i], world->key, world->value);
        }
        if (world->isolated) {
            isolate(all[i], "g");
            all[i]->isolation.async = world->async;
        }
    }
    fixture->config.clock.mode = OTO_MODE_ASAP;
    fixture->config.clock.until_ns = TICKS * INT64_C(1000000);
    fixture->options.start_paused = false;
}

static uint64_t run(const struct world *world, uint64_t *samples)
{
    struct fixture fixture;
    begin(&fixture, world);
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    const struct oto_clock clock = fixture_clock(&fixture);
    const struct oto_ring_view view = fixture_ring(&fixture, fixture_channel(&fixture, "demo/car/first"));
    assert_int_equal(clock.tick, TICKS);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_STALE), 0);
    *samples = oto_ring_newest(&view);
    fixture_end(&fixture);
    return clock.state_hash;
}

static void assert_same(struct world world)
{
    uint64_t inside = 0, outside = 0;
    world.isolated = false;
    const uint64_t expected = run(&world, &inside);
    world.isolated = true;
    const uint64_t hash = run(&world, &outside);
    assert_int_equal(inside, outside);
    assert_true(inside > 0);
    if (hash != expected) {
        fail_msg("%s: hash %016llx in a plugin host, %016llx in the server", world.plugin, (unsigned long long)hash,
                 (unsigned long long)expected);
    }
}

static void sensors_give_the_same_bits_in_a_plugin_host(void **unused)
{
    (void)unused;
    static const char *const plugins[] = {"mems_imu", "sdf_imu", "magnetometer", "odometer", "witness", "counter"};
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
        assert_same((struct world){.plugin = plugins[i], .rate = 200});
    }
}

static void what_they_look_back_at_is_the_same_too(void **unused)
{
    (void)unused;
    assert_same((struct world){.plugin = "witness", .key = "delay_ms", .value = "12.5", .rate = 1000});
    assert_same((struct world){.plugin = "odometer", .key = "delay_ms", .value = "50", .rate = 100});
}

/* In asap and step there is time to wait for the next host: nothing is lost. */
static void a_run_without_pace_is_the_same_when_its_host_is_killed(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct srv_group_facts facts;
    uint64_t samples = 0;
    struct world world = {.plugin = "mems_imu", .rate = 1000};
    const uint64_t expected = run(&world, &samples);
    world.isolated = true;
    begin(&fixture, &world);
    fixture.options.start_paused = true;
    fixture_start(&fixture);
    for (int i = 0; i < 4; i++) {
        fixture_step(&fixture, TICKS / 5);
        assert_int_equal(kill(fixture_other_host(&fixture, "g", 0), SIGKILL), 0);
    }
    (void)fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_RESUME});
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_STALE), 0);
    assert_int_equal(fixture_clock(&fixture).state_hash, expected);
    assert_true(srv_engine_group(fixture.engine, 0, &facts));
    assert_int_equal(facts.restarts, 4);
    fixture_end(&fixture);
}

static void warnings_discards_and_errors_are_the_same_too(void **unused)
{
    (void)unused;
    static const char *const plugins[] = {"trouble_warn", "trouble_discard", "trouble_error", "trouble_fatal",
                                          "trouble_nan"};
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
        assert_same((struct world){.plugin = plugins[i], .rate = 200});
    }
}

static void async_publishes_the_same_samples_one_tick_later(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct world world = {.plugin = "counter", .rate = 200};
    struct counter_record expected[20], record;
    struct oto_sample_head heads[20];
    begin(&fixture, &world);
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    for (uint64_t i = 0; i < 20; i++) {
        heads[i] = fixture_record(&fixture, "demo/car/first", 1 + i, &expected[i]);
    }
    fixture_end(&fixture);
    world.isolated = world.async = true;
    begin(&fixture, &world);
    fixture.options.start_paused = true;
    fixture_start(&fixture);
    fixture_step(&fixture, 5); /* the first sample, at 5 ms, is of tick 4 */
    const struct oto_ring_view view = fixture_ring(&fixture, fixture_channel(&fixture, "demo/car/first"));
    assert_int_equal(oto_ring_newest(&view), 0);
    fixture_step(&fixture, 1);
    assert_int_equal(oto_ring_newest(&view), 1);
    fixture_step(&fixture, 95);
    for (uint64_t i = 0; i < 20; i++) {
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/first", 1 + i, &record);
        assert_int_equal(head.t_ns, heads[i].t_ns);
        assert_int_equal(head.flags, heads[i].flags);
        assert_memory_equal(&record, &expected[i], sizeof record);
    }
    fixture_end(&fixture);
}

static void async_runs_are_the_same_each_time(void **unused)
{
    (void)unused;
    uint64_t samples[2];
    const struct world world = {.isolated = true, .async = true, .plugin = "witness", .key = "delay_ms", .value = "3.3",
                                .rate = 1000};
    assert_int_equal(run(&world, &samples[0]), run(&world, &samples[1]));
    assert_int_equal(samples[0], samples[1]);
}

/* The same change at the same boundary, in the server and in a host. */
static uint64_t run_with_change(struct world world, bool isolated)
{
    struct fixture fixture;
    world.isolated = isolated;
    begin(&fixture, &world);
    fixture.options.start_paused = true;
    fixture_start(&fixture);
    fixture_step(&fixture, 500);
    assert_int_equal(fixture_change(&fixture, 1, "increment", "3").status, OTO_OK);
    assert_int_equal(fixture_change(&fixture, 3, "increment", "0.125").status, OTO_OK);
    fixture_step(&fixture, 500);
    const struct oto_clock clock = fixture_clock(&fixture);
    struct counter_record record;
    (void)fixture_latest(&fixture, "demo/car/first", &record);
    assert_true(record.value == 100.0 + 3.0 * 100.0);
    fixture_end(&fixture);
    return clock.state_hash;
}

static void changed_parameters_give_the_same_bits_too(void **unused)
{
    (void)unused;
    const struct world world = {.plugin = "counter", .rate = 200};
    assert_int_equal(run_with_change(world, true), run_with_change(world, false));
}

static void changed_parameters_outlive_the_host_that_brought_them(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record before, after;
    const struct world world = {.isolated = true, .plugin = "counter", .rate = 1000};
    begin(&fixture, &world);
    fixture.config.clock.until_ns = 0;
    fixture.config.clock.mode = OTO_MODE_REALTIME;
    for (uint32_t i = 0; i < fixture.config.node_count; i++) { /* a host of a busy machine may need longer than the default */
        fixture.nodes[i].isolation.budget_ns = FIXTURE_PATIENCE_NS;
    }
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 20);
    const int32_t first_pid = fixture_other_host(&fixture, "g", 0);
    assert_int_equal(fixture_change(&fixture, 1, "increment", "7").status, OTO_OK);
    fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 50);
    assert_int_equal(kill(fixture_other_host(&fixture, "g", first_pid), SIGKILL), 0);
    fixture_wait_counter(&fixture, OTO_COUNTER_HOST_RESTARTS, 1);
    fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 50);
    const struct oto_ring_view view = fixture_ring(&fixture, fixture_channel(&fixture, "demo/car/first"));
    const uint64_t last = oto_ring_newest(&view);
    (void)fixture_record(&fixture, "demo/car/first", last - 1, &before);
    const struct oto_sample_head head = fixture_record(&fixture, "demo/car/first", last, &after);
    assert_int_equal(head.flags & OTO_SAMPLE_STALE, 0);
    assert_true(after.value == before.value + 7.0);
    fixture_end(&fixture);
}

static void a_change_that_is_refused_leaves_the_host_as_it_is(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    const struct world world = {.isolated = true, .plugin = "counter", .rate = 200};
    begin(&fixture, &world);
    fixture.options.start_paused = true;
    fixture_start(&fixture);
    assert_int_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 1, "trouble", "prepare", &change, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "prepare was told to fail"));
    assert_int_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 1, "increment", "5000", &change, &error), OTO_RANGE);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_STALE), 0);
    fixture_end(&fixture);
}

static void what_cannot_be_isolated_is_refused_with_a_reason(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct world world = {.isolated = true, .plugin = "counter", .rate = 200};
    begin(&fixture, &world);
    fixture.nodes[1].isolation.budget_ns = 1000;
    fixture_expect_refusal(&fixture, "one of each is accepted");
    begin(&fixture, &world);
    fixture.nodes[1].rate_num = 2000;
    fixture_expect_refusal(&fixture, "at most one sample a tick");
}

static void a_plugin_that_refuses_its_parameters_ends_the_start(void **unused)
{
    (void)unused;
    static const struct {
        const char *plugin, *words;
    } cases[] = {{"trouble_prepare", "prepare was told to fail"}, {"trouble_init", "init was told to fail"}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        const struct world world = {.isolated = true, .plugin = cases[i].plugin, .rate = 200};
        begin(&fixture, &world);
        fixture_expect_refusal(&fixture, cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sensors_give_the_same_bits_in_a_plugin_host),
        cmocka_unit_test(what_they_look_back_at_is_the_same_too),
        cmocka_unit_test(a_run_without_pace_is_the_same_when_its_host_is_killed),
        cmocka_unit_test(warnings_discards_and_errors_are_the_same_too),
        cmocka_unit_test(async_publishes_the_same_samples_one_tick_later),
        cmocka_unit_test(async_runs_are_the_same_each_time),
        cmocka_unit_test(changed_parameters_give_the_same_bits_too),
        cmocka_unit_test(changed_parameters_outlive_the_host_that_brought_them),
        cmocka_unit_test(a_change_that_is_refused_leaves_the_host_as_it_is),
        cmocka_unit_test(what_cannot_be_isolated_is_refused_with_a_reason),
        cmocka_unit_test(a_plugin_that_refuses_its_parameters_ends_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
