/* Plugins that misbehave: the other nodes are not disturbed, and each failure is counted and reported. */
#include "fixture.h"

static void begin(struct fixture *fixture, const char *trouble)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    fixture_set(fixture_sensor(fixture, "bad", "counter", 1000, 1), "trouble", trouble); /* from sample 5 on */
    (void)fixture_sensor(fixture, "good", "witness", 1000, 1);
    fixture_start(fixture);
}

static void assert_good_goes_on(struct fixture *fixture, uint64_t ticks)
{
    struct witness_record record;
    const struct oto_sample_head head = fixture_latest(fixture, "demo/car/good", &record);
    assert_int_equal(head.seq, ticks);
    assert_int_equal(head.flags, 0);
}

static void a_node_in_error_is_quarantined_and_the_others_go_on(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    struct oto_event_record event;
    begin(&fixture, "error");
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_latest(&fixture, "demo/car/bad", &record).seq, 4);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_ERRORS), 1);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 1);
    assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_FAULT, "quarantined", &event));
    assert_string_equal(event.source, "demo/car/bad");
    assert_int_equal(event.tick, 4);
    assert_good_goes_on(&fixture, 100);
    fixture_end(&fixture);
}

static void a_swap_revives_a_quarantined_node_at_the_right_sample(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture, "error");
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_change(&fixture, 1, "trouble", "none").status, OTO_OK);
    assert_int_equal(fixture_swap(&fixture, 1, "counter_by_ten").status, OTO_OK);
    fixture_step(&fixture, 10);
    const struct oto_sample_head head = fixture_latest(&fixture, "demo/car/bad", &record);
    assert_int_equal(head.seq, 14);  /* no gap in the published records */
    assert_int_equal(record.n, 110); /* noise and time are by the sample's number */
    assert_int_equal(head.t_ns, 110000000);
    fixture_end(&fixture);
}

static void a_fatal_library_takes_all_its_nodes_out(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    struct srv_node_config *first = fixture_sensor(&fixture, "bad", "counter", 1000, 1);
    struct srv_node_config *second = fixture_sensor(&fixture, "same", "counter", 1000, 1);
    (void)oto_plugin_close(second->plugin);
    second->plugin = oto_plugin_hold(first->plugin);
    fixture_set(first, "trouble", "fatal");
    (void)fixture_sensor(&fixture, "good", "witness", 1000, 1);
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_latest(&fixture, "demo/car/bad", &record).seq, 4);
    assert_int_equal(fixture_latest(&fixture, "demo/car/same", &record).seq, 4);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 2);
    assert_good_goes_on(&fixture, 100);
    fixture_end(&fixture);
}

static void a_discarded_sample_uses_no_number(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture, "discard");
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_latest(&fixture, "demo/car/bad", &record).seq, 4);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_DISCARDS), 96);
    assert_int_equal(fixture_change(&fixture, 1, "trouble", "none").status, OTO_OK);
    fixture_step(&fixture, 1);
    assert_int_equal(fixture_latest(&fixture, "demo/car/bad", &record).seq, 5);
    assert_int_equal(record.n, 101);
    fixture_end(&fixture);
}

static void a_warning_is_counted_and_flagged(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture, "warn");
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_WARNINGS), 96);
    assert_int_equal(fixture_record(&fixture, "demo/car/bad", 4, &record).flags, 0);
    assert_int_equal(fixture_record(&fixture, "demo/car/bad", 5, &record).flags, OTO_SAMPLE_WARN);
    fixture_end(&fixture);
}

static void a_number_that_is_none_is_flagged_counted_and_said_once(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    struct oto_event_record event;
    begin(&fixture, "nan");
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_latest(&fixture, "demo/car/bad", &record).flags, OTO_SAMPLE_NON_FINITE);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_NON_FINITE), 96);
    assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_FAULT, "NaN", &event));
    const struct oto_ring_view events = fixture_ring(&fixture, fixture_channel(&fixture, "demo/@events"));
    assert_true(oto_ring_newest(&events) < 10);
    assert_good_goes_on(&fixture, 100);
    fixture_end(&fixture);
}

static void a_changed_floating_point_mode_is_restored_and_quarantined(void **unused)
{
    (void)unused;
#if defined(__x86_64__)
    struct fixture fixture;
    struct witness_record record;
    struct oto_event_record event;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    fixture_set(fixture_sensor(&fixture, "bad", "witness", 1000, 1), "flip_float_mode_at", "5");
    (void)fixture_sensor(&fixture, "good", "witness", 1000, 1);
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_latest(&fixture, "demo/car/bad", &record).seq, 4);
    assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_FAULT, "floating-point mode", &event));
    assert_good_goes_on(&fixture, 100);
    fixture_end(&fixture);
#endif
}

static void without_its_motion_a_vehicle_holds_its_last_truth_and_says_stale(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct witness_record record;
    struct oto_truth_record truth, last;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    fixture_set(&fixture.nodes[0], "fail_at", "49");
    (void)fixture_sensor(&fixture, "witness", "witness", 300, 1);
    fixture_vehicle(&fixture, "van", "circle");
    (void)fixture_sensor(&fixture, "good", "witness", 1000, 1);
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_record(&fixture, "demo/car/motion", 49, &last).flags, 0);
    assert_int_equal(fixture_latest(&fixture, "demo/car/motion", &truth).seq, 100);
    assert_int_equal(fixture_latest(&fixture, "demo/car/motion", &truth).flags, OTO_SAMPLE_STALE);
    assert_memory_equal(&truth, &last, sizeof truth);
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness", &record).flags, OTO_SAMPLE_STALE);
    assert_int_equal(fixture_latest(&fixture, "demo/van/good", &record).flags, 0);
    assert_int_equal(fixture_latest(&fixture, "demo/van/good", &record).seq, 100);
    fixture_end(&fixture);
}

static void the_watchdog_names_a_node_that_does_not_come_back(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    char sentence[256] = "";
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    struct srv_node_config *bad = fixture_sensor(&fixture, "bad", "counter", 1000, 1);
    fixture_set(bad, "trouble", "slow");
    fixture_set(bad, "slow_ms", "1500");
    fixture_set(bad, "at", "5");
    fixture.options.watchdog_ns = 200000000;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (!srv_engine_watchdog(fixture.engine, sentence, sizeof sentence)) {
        assert_true(fixture_now_ns() < deadline_ns);
        (void)usleep(1000);
    }
    assert_non_null(strstr(sentence, "demo/car/bad"));
    assert_non_null(strstr(sentence, "tick 4"));
    assert_false(srv_engine_watchdog(fixture.engine, sentence, sizeof sentence)); /* once for each stall */
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_STALLS), 1);
    assert_int_equal(fixture_change(&fixture, 1, "trouble", "none").status, OTO_OK);
    assert_true(fixture_event(&fixture, OTO_EVENT_WATCHDOG, "demo/car/bad", &event));
    fixture_end(&fixture);
}

/* Reports follow stalls of 5, 10, 20, … ms, and one every 10 s: fewer than 30 within the patience of the test. */
static void stalls_of_every_tick_are_counted_and_not_each_reported(void **unused)
{
    (void)unused;
    struct fixture fixture;
    char sentence[256] = "";
    uint32_t reports = 0;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    struct srv_node_config *bad = fixture_sensor(&fixture, "bad", "counter", 1000, 1);
    fixture_set(bad, "trouble", "slow");
    fixture_set(bad, "slow_ms", "20");
    fixture.options.watchdog_ns = 5000000;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (fixture_counter(&fixture, OTO_COUNTER_STALLS) < 60) {
        assert_true(fixture_now_ns() < deadline_ns);
        reports += srv_engine_watchdog(fixture.engine, sentence, sizeof sentence);
        (void)usleep(500);
    }
    assert_true(reports >= 1);
    assert_true(reports < 30);
    assert_non_null(strstr(sentence, "has been"));
    fixture_end(&fixture);
}

static void a_plugin_that_never_returns_does_not_keep_the_server_from_ending(void **unused)
{
    (void)unused;
#ifdef OTO_SANITIZED_BUILD
    skip(); /* the leak checker would report memory that is kept on purpose */
#endif
    static struct fixture fixture; /* outlives the test, as the stuck thread does */
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    fixture_set(fixture_sensor(&fixture, "bad", "counter", 1000, 1), "trouble", "stuck");
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 4);
    const struct oto_segment_header *header = srv_engine_segment(fixture.engine);
    const int64_t before_ns = fixture_now_ns();
    while (__atomic_load_n(&header->current_node, __ATOMIC_RELAXED) != 2) { /* in the step that does not end */
        assert_true(fixture_now_ns() - before_ns < FIXTURE_PATIENCE_NS);
    }
    srv_engine_destroy(fixture.engine);
    assert_int_equal(header->state, OTO_SERVER_CLOSING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_in_error_is_quarantined_and_the_others_go_on),
        cmocka_unit_test(a_swap_revives_a_quarantined_node_at_the_right_sample),
        cmocka_unit_test(a_fatal_library_takes_all_its_nodes_out),
        cmocka_unit_test(a_discarded_sample_uses_no_number),
        cmocka_unit_test(a_warning_is_counted_and_flagged),
        cmocka_unit_test(a_number_that_is_none_is_flagged_counted_and_said_once),
        cmocka_unit_test(a_changed_floating_point_mode_is_restored_and_quarantined),
        cmocka_unit_test(without_its_motion_a_vehicle_holds_its_last_truth_and_says_stale),
        cmocka_unit_test(the_watchdog_names_a_node_that_does_not_come_back),
        cmocka_unit_test(stalls_of_every_tick_are_counted_and_not_each_reported),
        cmocka_unit_test(a_plugin_that_never_returns_does_not_keep_the_server_from_ending),
    };
    return cmocka_run_group_tests_name("engine in trouble", tests, NULL, NULL);
}
