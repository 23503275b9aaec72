/* Changes while the world runs: at a boundary, whole, and refused without a trace. */
#include "fixture.h"
#include "plain_swap.h"

#include <sys/stat.h>

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "witness", "witness", 1000, 1);
    (void)fixture_sensor(fixture, "count", "counter", 100, 1);
}

static void a_parameter_changes_at_the_boundary_that_the_reply_names(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct witness_record record;
    struct oto_event_record event;
    begin(&fixture);
    fixture.config.ring_capacity = 16384; /* a slow machine pauses late */
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 50);
    const struct srv_reply reply = fixture_change(&fixture, 1, "gain", "3.5");
    assert_int_equal(reply.status, OTO_OK);
    fixture_wait_tick(&fixture, reply.tick + 50);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_PAUSE).status, OTO_OK);
    const uint64_t last = fixture_latest(&fixture, "demo/car/witness", &record).seq;
    assert_true(last < 14000);
    for (uint64_t seq = 1; seq <= last; seq++) {
        (void)fixture_record(&fixture, "demo/car/witness", seq, &record);
        assert_near(record.gain, record.tick < reply.tick ? 1.0 : 3.5, 0.0);
        assert_near(record.second_gain, 1.0, 0.0);
    }
    assert_true(fixture_event(&fixture, OTO_EVENT_PARAMETER, "gain = 3.5", &event));
    assert_int_equal(event.tick, reply.tick);
    assert_string_equal(event.source, "demo/car/witness");
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_PARAMETER_CHANGES), 1);
    char text[64];
    struct oto_error error = {0};
    assert_ok(oto_params_get(oto_plugin_descriptor(srv_engine_node_plugin(fixture.engine, 1)), "gain",
                             srv_engine_node_params(fixture.engine, 1), text, sizeof text, &error),
              error);
    assert_string_equal(text, "3.5");
    fixture_end(&fixture);
}

static void the_second_of_two_changes_made_from_the_same_state_is_refused(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct witness_record record;
    struct oto_error error = {0};
    struct srv_command first = {.kind = SRV_COMMAND_PARAMS}, second = {.kind = SRV_COMMAND_PARAMS};
    begin(&fixture);
    fixture_start(&fixture);
    assert_ok(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 1, "gain", "2", &first.change, &error), error);
    assert_ok(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 1, "second_gain", "5", &second.change, &error), error);
    struct srv_reply reply = fixture_command(&fixture, first);
    assert_int_equal(reply.status, OTO_OK);
    (void)srv_change_free(reply.change);
    reply = fixture_command(&fixture, second);
    assert_int_equal(reply.status, OTO_CONFLICT);
    assert_ptr_equal(reply.change, second.change);
    (void)srv_change_free(reply.change);
    assert_int_equal(fixture_change(&fixture, 1, "second_gain", "5").status, OTO_OK);
    fixture_step(&fixture, 1);
    (void)fixture_latest(&fixture, "demo/car/witness", &record);
    assert_near(record.gain, 2.0, 0.0);
    assert_near(record.second_gain, 5.0, 0.0);
    fixture_end(&fixture);
}

static void a_parameter_that_may_not_change_is_refused(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    begin(&fixture);
    fixture_start(&fixture);
    assert_int_not_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 2, "fixed", "1", &change, &error), OTO_OK);
    assert_int_not_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 2, "increment", "1e6", &change, &error), OTO_OK);
    assert_int_not_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 2, "increment", ".nan", &change, &error), OTO_OK);
    assert_int_not_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 99, "increment", "1", &change, &error), OTO_OK);
    assert_int_not_equal(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 2, "trouble", "prepare", &change, &error), OTO_OK);
    assert_non_null(strstr(error.text, "prepare was told to fail"));
    assert_null(change);
    fixture_end(&fixture);
}

static void a_channel_may_be_switched_on_and_off(void **unused)
{
    (void)unused;
    struct fixture fixture;
    double value;
    begin(&fixture);
    fixture_start(&fixture);
    const uint32_t channel = fixture_channel(&fixture, "demo/car/witness.extra");
    const struct oto_segment_header *header = srv_engine_segment(fixture.engine);
    const struct oto_segment_channel *entry =
        &((const struct oto_segment_channel *)(const void *)((const char *)header + header->directory_offset))[channel];
    const struct oto_ring_view view = fixture_ring(&fixture, channel);
    fixture_step(&fixture, 10);
    assert_int_equal(oto_ring_newest(&view), 0);
    assert_int_equal(entry->flags & OTO_CHANNEL_ENABLED, 0);
    assert_int_equal(fixture_change(&fixture, 1, "extra", "true").status, OTO_OK);
    fixture_step(&fixture, 10);
    assert_int_equal(oto_ring_newest(&view), 10);
    assert_int_equal(entry->flags & OTO_CHANNEL_ENABLED, OTO_CHANNEL_ENABLED);
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness.extra", &value).t_ns, 20000000);
    assert_int_equal(fixture_change(&fixture, 1, "extra", "false").status, OTO_OK);
    fixture_step(&fixture, 10);
    assert_int_equal(oto_ring_newest(&view), 10);
    fixture_end(&fixture);
}

/* How much of the segment has no memory behind it. */
static uint64_t unreserved_bytes(struct fixture *fixture)
{
    struct stat facts;
    assert_int_equal(fstat(srv_engine_segment_fd(fixture->engine), &facts), 0);
    return (uint64_t)(facts.st_size - facts.st_blocks * 512);
}

static void what_is_switched_off_has_no_memory_until_a_change_would_switch_it_on(void **unused)
{
    (void)unused;
    for (int way = 0; way < 2; way++) {
        struct fixture fixture;
        struct oto_error error = {0};
        struct srv_node_change *change = NULL;
        char path[512];
        begin(&fixture);
        fixture_start(&fixture);
        fixture_step(&fixture, 10);
        assert_true(unreserved_bytes(&fixture) > 1024 * sizeof(double));
        if (way == 0) {
            assert_ok(srv_sim_change_parameter(srv_engine_sim(fixture.engine), 1, "extra", "true", &change, &error), error);
        } else {
            const struct srv_swap_options options = {.params_path = fixture_params(path, sizeof path, "extra: true")};
            change = fixture_make_swap(&fixture, 1, "witness", options);
            (void)unlink(path);
        }
        assert_int_equal(unreserved_bytes(&fixture), 0); /* before the tick thread has it */
        (void)srv_change_free(change);
        fixture_end(&fixture);
    }
}

static void a_swap_takes_over_state_parameters_and_numbers(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    struct oto_event_record event;
    begin(&fixture);
    fixture_start(&fixture);
    assert_int_equal(fixture_change(&fixture, 2, "increment", "2").status, OTO_OK);
    fixture_step(&fixture, 100); /* ten samples of 2 */
    const struct srv_reply reply = fixture_swap(&fixture, 2, "counter_by_ten");
    assert_int_equal(reply.status, OTO_OK);
    fixture_step(&fixture, 10);
    assert_int_equal(fixture_latest(&fixture, "demo/car/count", &record).seq, 11);
    assert_near(record.value, 22.0, 0.0); /* the increment was set, so it is kept */
    assert_int_equal(record.n, 11);
    assert_true(fixture_event(&fixture, OTO_EVENT_SWAP, "counter 1.0.0", &event));
    assert_int_equal(event.value, 1);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_SWAPS), 1);
    const struct oto_segment_header *header = srv_engine_segment(fixture.engine);
    const struct oto_segment_channel *directory = (const void *)((const char *)header + header->directory_offset);
    assert_int_equal(directory[fixture_channel(&fixture, "demo/car/count")].generation, 1);
    fixture_end(&fixture);
}

static void a_newer_state_is_migrated(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture);
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_swap(&fixture, 2, "counter_state_2").status, OTO_OK);
    fixture_step(&fixture, 10);
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, 11.0, 0.0);
    fixture_end(&fixture);
}

static void a_state_that_nobody_can_take_over_is_refused_with_both_versions(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    char path[512];
    begin(&fixture);
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(make_plain_swap(fixture.engine, 2,
                                       fixture_plugin(path, sizeof path, "counter_state_2_no_migrate"), &change, &error),
                     OTO_VERSION);
    assert_non_null(strstr(error.text, "version 1"));
    assert_non_null(strstr(error.text, "version 2"));
    assert_int_not_equal(
        make_plain_swap(fixture.engine, 2, fixture_plugin(path, sizeof path, "witness"), &change, &error), OTO_OK);
    assert_int_not_equal(
        make_plain_swap(fixture.engine, 2, fixture_plugin(path, sizeof path, "circle"), &change, &error), OTO_OK);
    assert_non_null(strstr(error.text, "sensor"));
    assert_int_not_equal(make_plain_swap(fixture.engine, 2, "/nowhere/none.so", &change, &error), OTO_OK);
    assert_null(change);
    fixture_end(&fixture);
}

static void a_state_that_the_new_plugin_finds_invalid_stays_with_the_old_one(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    struct oto_event_record event;
    struct oto_error error = {0};
    char path[512];
    struct srv_command command = {.kind = SRV_COMMAND_SWAP};
    begin(&fixture);
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    /* `trouble: invalid` makes the plugin's validate refuse every state. */
    assert_int_equal(fixture_change(&fixture, 2, "trouble", "invalid").status, OTO_OK);
    assert_ok(make_plain_swap(fixture.engine, 2, fixture_plugin(path, sizeof path, "counter_by_ten"), &command.change,
                                &error),
              error);
    const struct srv_reply reply = fixture_command(&fixture, command);
    assert_int_equal(reply.status, OTO_PLUGIN);
    assert_non_null(strstr(reply.reason, "validate"));
    assert_ptr_equal(reply.change->plugin, command.change->plugin);
    (void)srv_change_free(reply.change);
    fixture_step(&fixture, 10);
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, 11.0, 0.0);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_SWAPS_REFUSED), 1);
    assert_true(fixture_event(&fixture, OTO_EVENT_SWAP_REFUSED, "validate", &event));
    fixture_end(&fixture);
}

static void changes_that_nobody_waited_for_are_not_leaked(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    char path[512];
    begin(&fixture);
    fixture_create(&fixture); /* never started: the commands stay in the queue */
    for (int i = 0; i < 3; i++) {
        struct srv_command command = {.kind = SRV_COMMAND_SWAP, .id = 1};
        assert_ok(make_plain_swap(fixture.engine, 2, fixture_plugin(path, sizeof path, "counter_by_ten"),
                                    &command.change, &error),
                  error);
        assert_true(srv_engine_post(fixture.engine, &command));
    }
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_changes_at_the_boundary_that_the_reply_names),
        cmocka_unit_test(the_second_of_two_changes_made_from_the_same_state_is_refused),
        cmocka_unit_test(a_parameter_that_may_not_change_is_refused),
        cmocka_unit_test(a_channel_may_be_switched_on_and_off),
        cmocka_unit_test(what_is_switched_off_has_no_memory_until_a_change_would_switch_it_on),
        cmocka_unit_test(a_swap_takes_over_state_parameters_and_numbers),
        cmocka_unit_test(a_newer_state_is_migrated),
        cmocka_unit_test(a_state_that_nobody_can_take_over_is_refused_with_both_versions),
        cmocka_unit_test(a_state_that_the_new_plugin_finds_invalid_stays_with_the_old_one),
        cmocka_unit_test(changes_that_nobody_waited_for_are_not_leaked),
    };
    return cmocka_run_group_tests_name("engine changes", tests, NULL, NULL);
}
