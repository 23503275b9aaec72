/* The tick thread neither allocates, locks, writes nor prints (style.md, A14): counted, not hoped. */
#include "fixture.h"

#include "interpose.h"

#ifdef OTO_SANITIZED_BUILD
#define SKIP_IF_SANITIZED() skip() /* sanitizers interpose the same functions themselves */
#else
#define SKIP_IF_SANITIZED() ((void)0)
#endif

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    fixture_set(fixture_sensor(fixture, "witness", "witness", 300, 1), "delay_ms", "12.5");
    (void)fixture_sensor(fixture, "ears", "listener", 300, 1);
    fixture_input(fixture, "main", 0, 0);
    fixture_input(fixture, "witness", 1, 0);
    fixture_vehicle(fixture, "van", "circle_tick_only");
    fixture_set(fixture_sensor(fixture, "witness", "witness", 1000, 1), "delay_ms", "250");
    fixture_set(fixture_sensor(fixture, "nan", "counter", 100, 1), "trouble", "nan");
}

static void assert_pure(void)
{
    interpose_disarm();
    if (interpose_calls() != 0) {
        fail_msg("the tick thread called %s, and others: %llu calls", interpose_first(),
                 (unsigned long long)interpose_calls());
    }
}

static void the_interposed_functions_are_the_ones_that_run(void **unused)
{
    (void)unused;
    SKIP_IF_SANITIZED();
    struct fixture fixture;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    fixture_set(fixture_sensor(&fixture, "bad", "counter", 1000, 1), "trouble", "malloc");
    fixture.config.clock.mode = OTO_MODE_ASAP;
    fixture_start(&fixture);
    interpose_arm();
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_tick(&fixture, 100);
    interpose_disarm();
    assert_true(interpose_calls() >= 90);
    fixture_end(&fixture);
}

static void thousands_of_ticks_without_a_pace_are_pure(void **unused)
{
    (void)unused;
    SKIP_IF_SANITIZED();
    struct fixture fixture;
    begin(&fixture);
    fixture.config.clock.mode = OTO_MODE_ASAP;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 10);
    interpose_arm();
    fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 5000);
    assert_pure();
    fixture_end(&fixture);
}

static void a_thousand_paced_ticks_are_pure(void **unused)
{
    (void)unused;
    SKIP_IF_SANITIZED();
    static const enum srv_driver drivers[] = {SRV_DRIVER_UV, SRV_DRIVER_HYBRID};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        begin(&fixture);
        fixture.config.clock.driver = drivers[i];
        fixture.config.clock.scale = 2.0;
        fixture.options.start_paused = false;
        fixture_start(&fixture);
        srv_engine_set_waiters(fixture.engine, 1);
        fixture_wait_tick(&fixture, 10);
        interpose_arm();
        fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 1000);
        assert_pure();
        fixture_end(&fixture);
    }
}

static void steps_and_changes_only_write_to_the_eventfd_of_their_replies(void **unused)
{
    (void)unused;
    SKIP_IF_SANITIZED();
    struct fixture fixture;
    begin(&fixture);
    fixture.config.clock.mode = OTO_MODE_STEP;
    fixture_start(&fixture);
    fixture_step(&fixture, 10);
    interpose_arm();
    fixture_step(&fixture, 3000);
    assert_int_equal(fixture_change(&fixture, 1, "gain", "2").status, OTO_OK);
    assert_int_equal(fixture_swap(&fixture, 1, "witness_again").status, OTO_OK);
    fixture_step(&fixture, 1000);
    interpose_disarm();
    assert_string_equal(interpose_first(), "write");
    assert_int_equal(interpose_calls(), 4); /* one for each reply */
    fixture_end(&fixture);
}

/* A candidate through shadow and probation, and one that is rolled back within its sample. */
static void two_plugins_in_step_are_pure_too(void **unused)
{
    (void)unused;
    SKIP_IF_SANITIZED();
    struct fixture fixture;
    char path[512];
    begin(&fixture);
    fixture.config.clock.mode = OTO_MODE_STEP;
    fixture_start(&fixture);
    fixture_step(&fixture, 10);
    const char *const params[] = {"gain: 2", "flip_float_mode_at: 700"};
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        const struct srv_swap_options options = {.shadow_ns = 50000000,
                                                 .probation_ns = 1000000000,
                                                 .params_path = fixture_params(path, sizeof path, params[i])};
        struct srv_node_change *change = fixture_make_swap(&fixture, 1, "witness_again", options);
        (void)unlink(path);
        interpose_arm();
        const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
        fixture_step(&fixture, 200);
        assert_int_equal(fixture_await(&fixture, id).status, OTO_OK);
        (void)fixture_settle(&fixture, change, 3000);
        interpose_disarm();
        assert_string_equal(interpose_first(), "write");
        assert_int_equal(interpose_calls(), 4); /* of two steps, the swap and its end */
    }
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interposed_functions_are_the_ones_that_run),
        cmocka_unit_test(thousands_of_ticks_without_a_pace_are_pure),
        cmocka_unit_test(a_thousand_paced_ticks_are_pure),
        cmocka_unit_test(steps_and_changes_only_write_to_the_eventfd_of_their_replies),
        cmocka_unit_test(two_plugins_in_step_are_pure_too),
    };
    return cmocka_run_group_tests_name("tick purity", tests, NULL, NULL);
}
