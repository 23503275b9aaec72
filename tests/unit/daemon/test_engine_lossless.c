/* Readers that the world waits for (A10). */
#include "fixture.h"

static void begin(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "witness", "witness", 1000, 1);
    (void)fixture_sensor(fixture, "odd", "witness", 300, 1);
    fixture->config.ring_capacity = 16;
    fixture->config.clock.mode = OTO_MODE_ASAP;
    fixture->config.clock.until_ns = INT64_C(20000000000);
}

static void a_lossless_reader_loses_nothing_however_slow_it_is(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    fixture_start(&fixture);
    const uint32_t channels[3] = {fixture_channel(&fixture, "demo/car/witness"),
                                  fixture_channel(&fixture, "demo/car/odd"),
                                  fixture_channel(&fixture, "demo/car/motion")};
    struct oto_cursor cursors[3] = {{1, 0}, {1, 0}, {1, 0}};
    struct oto_ring_view views[3];
    uint64_t next[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        views[i] = fixture_ring(&fixture, channels[i]);
    }
    const int slot = srv_engine_lossless_begin(fixture.engine, channels, 3);
    assert_int_equal(slot, 0);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_counter(&fixture, OTO_COUNTER_LOSSLESS_WAITS, 1);
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while ((next[0] <= 20000 || next[1] <= 6000 || next[2] <= 20000) && fixture_now_ns() < deadline_ns) {
        for (int i = 0; i < 3; i++) {
            struct oto_sample_head head;
            union {
                struct oto_truth_record truth;
                struct witness_record witness;
            } payload;
            while (oto_ring_next(&views[i], &cursors[i], &head, &payload) == OTO_OK) {
                assert_int_equal(head.seq, cursors[i].next - 1);
            }
            next[i] = cursors[i].next;
        }
        srv_engine_lossless_acknowledge(fixture.engine, slot, 0, next, 3);
    }
    assert_int_equal(cursors[0].next, 20001);
    assert_int_equal(cursors[1].next, 6001);
    assert_int_equal(cursors[2].next, 20001);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cursors[i].lost, 0);
    }
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_LOSSLESS_DEMOTED), 0);
    srv_engine_lossless_end(fixture.engine, slot);
    fixture_end(&fixture);
}

static void while_it_waits_for_a_reader_the_world_answers(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    fixture_start(&fixture);
    const uint32_t channel = fixture_channel(&fixture, "demo/car/motion");
    const int slot = srv_engine_lossless_begin(fixture.engine, &channel, 1);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    const struct oto_ring_view view = fixture_ring(&fixture, channel);
    fixture_wait_tick(&fixture, view.mask + 1); /* the ring is full of what was not read */
    assert_int_equal(fixture_change(&fixture, 1, "gain", "2").status, OTO_OK);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_TICKS), view.mask + 1);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_STOP).status, OTO_OK);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    srv_engine_lossless_end(fixture.engine, slot);
    fixture_end(&fixture);
}

static void a_reader_that_stops_reading_is_demoted_after_five_seconds(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    begin(&fixture);
    fixture_start(&fixture);
    const uint32_t channel = fixture_channel(&fixture, "demo/car/motion");
    assert_int_equal(srv_engine_lossless_begin(fixture.engine, &channel, 1), 0);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    const int64_t before_ns = fixture_now_ns();
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    assert_true(fixture_now_ns() - before_ns > INT64_C(4000000000));
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_LOSSLESS_DEMOTED), 1);
    assert_true(fixture_event(&fixture, OTO_EVENT_LOSSLESS_DEMOTED, "did not read", &event));
    assert_int_equal(fixture_clock(&fixture).tick, 20000);
    fixture_end(&fixture);
}

static void a_reader_that_ends_is_not_waited_for(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    fixture_start(&fixture);
    const uint32_t channel = fixture_channel(&fixture, "demo/car/motion");
    const int slot = srv_engine_lossless_begin(fixture.engine, &channel, 1);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_tick(&fixture, fixture_ring(&fixture, channel).mask + 1);
    srv_engine_lossless_end(fixture.engine, slot);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_LOSSLESS_DEMOTED), 0);
    fixture_end(&fixture);
}

/* A list that is too long for one request comes in parts: the tick waits for the channels of all parts. */
static void channels_that_are_added_are_waited_for(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    fixture_start(&fixture);
    const uint32_t channels[] = {fixture_channel(&fixture, "demo/car/witness"), fixture_channel(&fixture, "demo/car/motion")};
    const uint32_t bad = 4711;
    const int slot = srv_engine_lossless_begin(fixture.engine, &channels[0], 1);
    assert_true(srv_engine_lossless_extend(fixture.engine, slot, &channels[1], 1));
    assert_false(srv_engine_lossless_extend(fixture.engine, slot, &bad, 1));
    const uint64_t all = UINT64_MAX / 2;
    srv_engine_lossless_acknowledge(fixture.engine, slot, 0, &all, 1);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_tick(&fixture, fixture_ring(&fixture, channels[1]).mask + 1);
    fixture_wait_counter(&fixture, OTO_COUNTER_LOSSLESS_WAITS, 1);
    srv_engine_lossless_acknowledge(fixture.engine, slot, 1, &all, 1);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_LOSSLESS_DEMOTED), 0);
    fixture_end(&fixture);
}

static void there_are_sixteen_places_and_no_channel_beyond_the_last(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture);
    fixture_create(&fixture);
    const uint32_t good = 0, bad = 4711;
    assert_int_equal(srv_engine_lossless_begin(fixture.engine, &bad, 1), -1);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(srv_engine_lossless_begin(fixture.engine, &good, 1), i);
    }
    assert_int_equal(srv_engine_lossless_begin(fixture.engine, &good, 1), -1);
    srv_engine_lossless_end(fixture.engine, 7);
    assert_int_equal(srv_engine_lossless_begin(fixture.engine, &good, 1), 7);
    srv_engine_lossless_acknowledge(fixture.engine, -1, 0, NULL, 0);
    srv_engine_lossless_end(fixture.engine, 99);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lossless_reader_loses_nothing_however_slow_it_is),
        cmocka_unit_test(while_it_waits_for_a_reader_the_world_answers),
        cmocka_unit_test(a_reader_that_stops_reading_is_demoted_after_five_seconds),
        cmocka_unit_test(a_reader_that_ends_is_not_waited_for),
        cmocka_unit_test(there_are_sixteen_places_and_no_channel_beyond_the_last),
        cmocka_unit_test(channels_that_are_added_are_waited_for),
    };
    return cmocka_run_group_tests_name("lossless readers", tests, NULL, NULL);
}
