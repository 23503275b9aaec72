/* Nodes of one plugin that are stepped together: nothing that is said, hashed or counted may tell. */
#include "fixture.h"

#include "plugin/host.h"

#define TICKS 1500

/* As a world's file has it: a library is opened once. */
static void share_library(struct fixture *fixture, uint32_t first, uint32_t other)
{
    (void)oto_plugin_close(fixture->nodes[other].plugin);
    fixture->nodes[other].plugin = oto_plugin_hold(fixture->nodes[first].plugin);
}

static void crowd(struct fixture *fixture, const char *plugin)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "a", plugin, 1000, 1);
    (void)fixture_sensor(fixture, "between", "witness", 400, 1);
    (void)fixture_sensor(fixture, "b", plugin, 1000, 1);
    fixture_vehicle(fixture, "van", "circle_tick_only");
    (void)fixture_sensor(fixture, "c", plugin, 500, 1);
    (void)fixture_sensor(fixture, "d", plugin, 3000, 1);
    share_library(fixture, 1, 3);
    share_library(fixture, 1, 5);
    share_library(fixture, 1, 6);
    fixture->config.clock.mode = OTO_MODE_STEP;
}

static double value_of(struct fixture *fixture, const char *topic)
{
    struct counter_record record;
    (void)fixture_latest(fixture, topic, &record);
    return record.value;
}

static void nodes_that_are_due_together_are_one_batch_and_those_alone_are_not(void **unused)
{
    (void)unused;
    struct fixture fixture;
    crowd(&fixture, "crowd_telling");
    fixture_start(&fixture);
    fixture_step(&fixture, 1); /* c is not due, the last of d's three samples is a step of its own */
    assert_true(value_of(&fixture, "demo/car/a") == 3 && value_of(&fixture, "demo/car/b") == 3);
    assert_true(value_of(&fixture, "demo/van/d") == 3.0);
    struct counter_record record;
    (void)fixture_record(&fixture, "demo/van/d", 1, &record);
    assert_true(record.value == 3 && record.n == 1);
    (void)fixture_record(&fixture, "demo/van/d", 2, &record);
    assert_true(record.value == 2 && record.n == 2);
    fixture_step(&fixture, 1);
    assert_true(value_of(&fixture, "demo/car/a") == 4 && value_of(&fixture, "demo/van/c") == 4);
    assert_true(value_of(&fixture, "demo/car/b") == 4);
    fixture_end(&fixture);
}

static void without_batches_each_node_is_stepped_alone(void **unused)
{
    (void)unused;
    struct fixture fixture;
    crowd(&fixture, "crowd_telling");
    fixture.options.single_steps = true;
    fixture_start(&fixture);
    fixture_step(&fixture, 2);
    assert_true(value_of(&fixture, "demo/car/a") == 2 && value_of(&fixture, "demo/van/d") == 6);
    fixture_end(&fixture);
}

struct outcome {
    uint64_t chain, errors, quarantined, warnings, discards;
};

static struct outcome run(struct fixture *fixture, bool single_steps)
{
    fixture->options.single_steps = single_steps;
    fixture_start(fixture);
    fixture_step(fixture, TICKS);
    const struct outcome outcome = {fixture_clock(fixture).state_hash, fixture_counter(fixture, OTO_COUNTER_ERRORS),
                                    fixture_counter(fixture, OTO_COUNTER_QUARANTINED),
                                    fixture_counter(fixture, OTO_COUNTER_WARNINGS),
                                    fixture_counter(fixture, OTO_COUNTER_DISCARDS)};
    fixture_end(fixture);
    return outcome;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
    assert_int_equal(a->chain, b->chain);
    assert_int_equal(a->errors, b->errors);
    assert_int_equal(a->quarantined, b->quarantined);
    assert_int_equal(a->warnings, b->warnings);
    assert_int_equal(a->discards, b->discards);
}

static void a_crowd_in_which_some_go_wrong_gives_one_chain_stepped_together_or_alone(void **unused)
{
    (void)unused;
    static const char *const troubles[] = {"none", "warn", "discard", "error", "nan"};
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        struct outcome outcomes[2];
        for (int single = 0; single < 2; single++) {
            struct fixture fixture;
            crowd(&fixture, "crowd");
            fixture_set(&fixture.nodes[3], "trouble", troubles[i]);
            outcomes[single] = run(&fixture, single == 1);
        }
        assert_same(&outcomes[0], &outcomes[1]);
        assert_int_equal(outcomes[0].errors, strcmp(troubles[i], "error") == 0);
    }
}

/* Fatal takes the whole library out: those before it have spoken, those after it have not. */
static void a_fatal_error_in_a_batch_silences_those_after_it_as_it_does_without(void **unused)
{
    (void)unused;
    struct outcome outcomes[2];
    for (int single = 0; single < 2; single++) {
        struct fixture fixture;
        crowd(&fixture, "crowd");
        fixture_set(&fixture.nodes[3], "trouble", "fatal");
        outcomes[single] = run(&fixture, single == 1);
        assert_int_equal(outcomes[single].quarantined, 4);
    }
    assert_same(&outcomes[0], &outcomes[1]);
}

static void noise(struct srv_node_config *node, const char *triad, const char *unit)
{
    char key[96];
    (void)snprintf(key, sizeof key, "%s.noise_density_%s_rthz", triad, unit);
    fixture_set(node, key, "0.02");
    (void)snprintf(key, sizeof key, "%s.bias_instability_%s", triad, unit);
    fixture_set(node, key, "0.01");
}

static void imus_and_magnetometers_give_one_chain_stepped_together_or_alone(void **unused)
{
    (void)unused;
    struct outcome outcomes[2];
    for (int single = 0; single < 2; single++) {
        struct fixture fixture;
        fixture_begin(&fixture, 1000, 1);
        fixture.config.clock.mode = OTO_MODE_STEP;
        for (int v = 0; v < 3; v++) {
            static const char *const names[] = {"car", "van", "bus"};
            fixture_vehicle(&fixture, names[v], v == 1 ? "circle_tick_only" : "circle");
            struct srv_node_config *imu = fixture_sensor(&fixture, "imu", "mems_imu", 1000, 1);
            noise(imu, "accelerometer", "m_s2");
            noise(imu, "gyroscope", "rad_s");
            noise(fixture_sensor(&fixture, "compass", "magnetometer", v == 2 ? 250 : 100, 1), "magnetometer", "ut");
            struct srv_node_config *second = fixture_sensor(&fixture, "second", "mems_imu", 300, 1);
            noise(second, "accelerometer", "m_s2");
            fixture_set(second, "taps", v == 0 ? "true" : "false");
            fixture_set(second, "transport_delay_s", v == 2 ? "0.0035" : "0");
        }
        outcomes[single] = run(&fixture, single == 1);
        assert_int_equal(outcomes[single].errors, 0);
    }
    assert_same(&outcomes[0], &outcomes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_are_due_together_are_one_batch_and_those_alone_are_not),
        cmocka_unit_test(without_batches_each_node_is_stepped_alone),
        cmocka_unit_test(a_crowd_in_which_some_go_wrong_gives_one_chain_stepped_together_or_alone),
        cmocka_unit_test(a_fatal_error_in_a_batch_silences_those_after_it_as_it_does_without),
        cmocka_unit_test(imus_and_magnetometers_give_one_chain_stepped_together_or_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
