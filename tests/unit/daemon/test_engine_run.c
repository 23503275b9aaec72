#include "fixture.h"

#include <poll.h>

#include "base/schedule.h"
#include "sim/checkpoint.h"

static void one_car(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "witness", "witness", 200, 1);
    (void)fixture_sensor(fixture, "odd", "witness", 300, 1);
}

static void step_makes_exactly_so_many_ticks_and_samples(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct witness_record record;
    struct oto_truth_record truth;
    one_car(&fixture);
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_PAUSED);
    fixture_step(&fixture, 10);
    assert_int_equal(fixture_clock(&fixture).tick, 10);
    assert_int_equal(fixture_clock(&fixture).sim_time_ns, 10000000);
    assert_int_equal(fixture_latest(&fixture, "demo/car/motion", &truth).seq, 10);
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness", &record).seq, 2);
    assert_int_equal(record.n, 2);
    assert_int_equal(record.tick, 9); /* the sample of 10 ms is at the end of tick 9 */
    assert_int_equal(fixture_latest(&fixture, "demo/car/odd", &record).t_ns, 10000000);
    assert_int_equal(fixture_record(&fixture, "demo/car/odd", 1, &record).t_ns, 3333333);
    assert_near(record.sub_ns, 1.0 / 3.0, 1e-15);
    assert_int_equal(record.tick, 3);
    fixture_step(&fixture, 990);
    assert_int_equal(fixture_latest(&fixture, "demo/car/odd", &record).seq, 300);
    assert_int_equal(fixture_latest(&fixture, "demo/car/witness", &record).seq, 200);
    assert_int_equal(srv_engine_segment(fixture.engine)->state, OTO_SERVER_PAUSED);
    fixture_end(&fixture);
}

static void a_sample_between_ticks_has_the_truth_of_its_own_instant(void **unused)
{
    (void)unused;
    struct fixture fixture;
    one_car(&fixture);
    fixture_start(&fixture);
    fixture_step(&fixture, 1000);
    for (uint64_t n = 1; n <= 300; n++) {
        struct witness_record record;
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/odd", n, &record);
        const double t_s = (double)n / 300.0;
        assert_int_equal(head.t_ns, srv_instant_ns(n, 300, 1, NULL));
        assert_near(record.position_enu_m.x, 20.0 * sin(0.5 * t_s), 1e-12);
        assert_near(record.position_enu_m.y, 20.0 * (1.0 - cos(0.5 * t_s)), 1e-12);
        assert_near(record.specific_force_m_s2.y, 20.0 * 0.25, 1e-12); /* centripetal, to the left */
        assert_near(record.angular_rate_rad_s.z, 0.5, 0.0);
    }
    fixture_end(&fixture);
}

static void compare_delays(const char *motion, double tolerance)
{
    struct fixture fixture;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", motion);
    fixture_set(fixture_sensor(&fixture, "late", "witness", 300, 1), "delay_ms", "123.4567");
    fixture_set(fixture_sensor(&fixture, "soon", "witness", 300, 1), "delay_ms", "0.25");
    fixture_set(fixture_sensor(&fixture, "old", "witness", 100, 1), "delay_ms", "1001");
    fixture_set(fixture_sensor(&fixture, "future", "witness", 100, 1), "delay_ms", "-1");
    fixture_start(&fixture);
    fixture_step(&fixture, 2000);
    struct witness_record record;
    static const struct {
        const char *topic;
        double delay_s;
    } rows[] = {{"demo/car/late", 0.1234567}, {"demo/car/soon", 0.00025}};
    for (size_t r = 0; r < 2; r++) {
        for (uint64_t n = 1; n <= 600; n++) {
            (void)fixture_record(&fixture, rows[r].topic, n, &record);
            const double t_s = fmax(0.0, (double)n / 300.0 - rows[r].delay_s);
            assert_near(record.past_status, OTO_STEP_OK, 0.0);
            assert_near(record.past_position_enu_m.x, 20.0 * sin(0.5 * t_s), tolerance);
            assert_near(record.past_position_enu_m.z, 0.1 * sin(2.0 * 3.14159265358979 * t_s), tolerance);
        }
    }
    (void)fixture_latest(&fixture, "demo/car/old", &record);
    assert_near(record.past_status, OTO_STEP_ERROR, 0.0);
    (void)fixture_latest(&fixture, "demo/car/future", &record);
    assert_near(record.past_status, OTO_STEP_ERROR, 0.0);
    fixture_end(&fixture);
}

static void a_sensor_may_look_back_one_second_and_never_ahead(void **unused)
{
    (void)unused;
    compare_delays("circle", 1e-11);
}

static void a_motion_that_knows_only_its_tick_is_remembered(void **unused)
{
    (void)unused;
    compare_delays("circle_tick_only", 1e-9);
}

static void pause_and_resume_leave_no_gap_in_simulated_time(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_truth_record truth;
    one_car(&fixture);
    fixture.config.ring_capacity = 16384; /* a slow machine pauses late */
    fixture_start(&fixture);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
        fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 20);
        const struct srv_reply reply = fixture_do(&fixture, SRV_COMMAND_PAUSE);
        assert_int_equal(reply.status, OTO_OK);
        assert_int_equal(srv_engine_segment(fixture.engine)->state, OTO_SERVER_PAUSED);
        assert_int_equal(fixture_clock(&fixture).tick, reply.tick);
        fixture_step(&fixture, 10);
        assert_int_equal(fixture_clock(&fixture).tick, reply.tick + 10);
    }
    const uint64_t ticks = fixture_clock(&fixture).tick;
    assert_true(ticks < 14000);
    for (uint64_t seq = 1; seq <= ticks; seq++) {
        assert_int_equal(fixture_record(&fixture, "demo/car/motion", seq, &truth).t_ns, (int64_t)seq * 1000000);
    }
    fixture_end(&fixture);
}

static void a_run_ends_at_its_end_and_says_so(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    one_car(&fixture);
    fixture.config.clock.mode = OTO_MODE_ASAP;
    fixture.config.clock.until_ns = INT64_C(5000000000);
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    assert_int_equal(fixture_clock(&fixture).tick, 5000);
    struct pollfd ready = {.fd = srv_engine_notify_fd(fixture.engine), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, (int)(FIXTURE_PATIENCE_NS / 1000000)), 1);
    assert_true(fixture_event(&fixture, OTO_EVENT_STOPPED, "end", &event));
    assert_true(fixture_event(&fixture, OTO_EVENT_STARTED, "", &event));
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_CLOSED);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_STOP).status, OTO_OK);
    fixture_end(&fixture);
}

/* A world that continues from a state of another tick. */
static enum oto_status go_on_from(struct fixture *fixture, uint64_t tick, struct oto_error *error)
{
    enum { TICK_AT = 5 * 8 }; /* behind five numbers that must be this world's */
    unsigned char *state = malloc(1 << 20);
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    fixture->config.clock.mode = OTO_MODE_STEP;
    fixture_create(fixture);
    const uint64_t bytes = srv_checkpoint_save(srv_engine_sim(fixture->engine), state, 1 << 20);
    assert_true(bytes > TICK_AT && bytes <= 1 << 20);
    memcpy(state + TICK_AT, &tick, sizeof tick);
    const enum oto_status status = srv_engine_load(fixture->engine, state, bytes, error);
    free(state);
    return status;
}

static void a_run_ends_with_simulated_time(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    const uint64_t end = UINT64_C(4611686018428); /* ms; 2^62 ns */
    assert_ok(go_on_from(&fixture, end - 3, &error), error);
    fixture_start(&fixture);
    fixture_step(&fixture, 2);
    assert_true(fixture_clock(&fixture).sim_time_ns == ((int64_t)end - 1) * 1000000);
    const struct srv_reply reply = fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_STEP, .ticks = 2});
    assert_int_equal(reply.status, OTO_CLOSED);
    assert_int_equal(reply.tick, end);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    fixture_end(&fixture);
    assert_int_equal(go_on_from(&fixture, end + 1, &error), OTO_CORRUPT);
    assert_non_null(strstr(error.text, "4611686018429"));
    fixture_end(&fixture);
}

static void a_step_longer_than_the_run_says_that_it_was_cut(void **unused)
{
    (void)unused;
    struct fixture fixture;
    one_car(&fixture);
    fixture.config.clock.mode = OTO_MODE_STEP;
    fixture.config.clock.until_ns = 100000000;
    fixture_start(&fixture);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_INVALID);
    fixture_step(&fixture, 60);
    const struct srv_reply reply = fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_STEP, .ticks = 60});
    assert_int_equal(reply.status, OTO_CLOSED);
    assert_int_equal(reply.tick, 100);
    fixture_end(&fixture);
}

static void commands_that_make_no_sense_are_refused_with_a_reason(void **unused)
{
    (void)unused;
    struct fixture fixture;
    one_car(&fixture);
    fixture_start(&fixture);
    const struct srv_command bad[] = {{.kind = SRV_COMMAND_SCALE, .scale = 0.0},
                                      {.kind = SRV_COMMAND_SCALE, .scale = NAN},
                                      {.kind = SRV_COMMAND_SCALE, .scale = 1e9},
                                      {.kind = SRV_COMMAND_MODE, .mode = OTO_MODE_LOCKSTEP},
                                      {.kind = SRV_COMMAND_MODE, .mode = (enum oto_clock_mode)99},
                                      {.kind = SRV_COMMAND_PARAMS},
                                      {.kind = SRV_COMMAND_SWAP},
                                      {.kind = (enum srv_command_kind)0},
                                      {.kind = (enum srv_command_kind)77}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct srv_reply reply = fixture_command(&fixture, bad[i]);
        assert_int_not_equal(reply.status, OTO_OK);
        assert_non_null(reply.reason);
    }
    fixture_step(&fixture, 1); /* and it still runs */
    fixture_end(&fixture);
}

static void a_sleeping_world_answers_at_once(void **unused)
{
    (void)unused;
    struct fixture fixture;
    fixture_begin(&fixture, 1, 3600); /* one tick an hour */
    fixture_vehicle(&fixture, "car", "circle");
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 1);
    const int64_t before_ns = fixture_now_ns();
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_PAUSE).status, OTO_OK);
    assert_true(fixture_now_ns() - before_ns < FIXTURE_PATIENCE_NS);
    fixture_end(&fixture); /* and ends at once */
    assert_true(fixture_now_ns() - before_ns < 2 * FIXTURE_PATIENCE_NS);
}

static void more_commands_than_fit_are_refused_until_replies_are_taken(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct srv_reply reply;
    uint32_t posted = 0, taken = 0;
    one_car(&fixture);
    fixture_start(&fixture);
    const struct srv_command command = {.kind = SRV_COMMAND_SCALE, .scale = 2.0, .id = 5};
    while (srv_engine_post(fixture.engine, &command)) {
        posted++;
    }
    assert_int_equal(posted, 256);
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (taken < posted && fixture_now_ns() < deadline_ns) {
        struct pollfd ready = {.fd = srv_engine_notify_fd(fixture.engine), .events = POLLIN};
        (void)poll(&ready, 1, 100);
        while (srv_engine_take_reply(fixture.engine, &reply)) {
            taken++;
        }
    }
    assert_int_equal(taken, 256);
    assert_true(srv_engine_post(fixture.engine, &command));
    fixture_end(&fixture);
}

static void names_of_nodes_are_found_and_suggested(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    one_car(&fixture);
    (void)snprintf(fixture.nodes[1].alias, sizeof fixture.nodes[1].alias, "/unity/witness");
    fixture_create(&fixture);
    assert_int_equal(srv_engine_node_count(fixture.engine), 3);
    assert_int_equal(srv_engine_node_find(fixture.engine, "demo/car/witness", &error), 1);
    assert_int_equal(srv_engine_node_find(fixture.engine, "car/witness", &error), 1);
    assert_int_equal(srv_engine_node_find(fixture.engine, "/unity/witness", &error), 1);
    assert_int_equal(srv_engine_node_find(fixture.engine, "car/motion", &error), 0);
    assert_int_equal(srv_engine_node_find(fixture.engine, "car/witnes", &error), UINT32_MAX);
    assert_non_null(strstr(error.text, "car/witness"));
    assert_string_equal(srv_engine_node_setup(fixture.engine, 2)->node, "car/odd");
    assert_int_equal(srv_engine_node_setup(fixture.engine, 2)->noise_key.stream, oto_fnv1a64_str("car/odd"));
    assert_int_equal(srv_engine_node_setup(fixture.engine, 2)->unit_key.stream, oto_fnv1a64_str("witness/0"));
    assert_int_equal(srv_engine_node_setup(fixture.engine, 2)->unit_key.seed, 0);
    fixture_end(&fixture);
}

static void a_world_that_cannot_be_built_leaves_nothing_behind(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    one_car(&fixture);
    fixture.config.clock.scale = -1.0;
    assert_int_equal(srv_engine_create(&fixture.config, &fixture.options, NULL, NULL, &fixture.engine, &error), OTO_RANGE);
    fixture.config.clock.scale = 1.0;
    fixture.config.clock.mode = OTO_MODE_LOCKSTEP;
    assert_int_equal(srv_engine_create(&fixture.config, &fixture.options, NULL, NULL, &fixture.engine, &error),
                     OTO_UNSUPPORTED);
    fixture.config.clock.mode = OTO_MODE_ASAP;
    fixture.config.vehicles[0].motion = 1; /* a sensor cannot move a vehicle */
    assert_int_equal(srv_engine_create(&fixture.config, &fixture.options, NULL, NULL, &fixture.engine, &error),
                     OTO_INVALID);
    assert_non_null(strstr(error.text, "motion"));
    fixture.config.vehicles[0].motion = 99;
    assert_int_equal(srv_engine_create(&fixture.config, &fixture.options, NULL, NULL, &fixture.engine, &error),
                     OTO_INVALID);
    assert_null(fixture.engine);
    fixture_end(&fixture);
}

static void without_real_time_rights_it_runs_and_says_so(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    one_car(&fixture);
    fixture.config.clock.fifo_priority = 1000; /* no kernel grants that */
    fixture_start(&fixture);
    assert_non_null(strstr(fixture.privileges, "without real-time rights"));
    fixture_step(&fixture, 10);
    assert_true(fixture_event(&fixture, OTO_EVENT_REALTIME, "without real-time rights", &event));
    assert_int_equal(event.severity, 1);
    fixture_end(&fixture);
}

static void the_clock_says_how_fast_it_runs(void **unused)
{
    (void)unused;
    struct fixture fixture;
    one_car(&fixture);
    fixture.config.clock.scale = 5.0;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 4000);
    const struct oto_clock clock = fixture_clock(&fixture);
    assert_near(clock.scale, 5.0, 0.0);
    assert_true(clock.real_time_factor > 0.0 && clock.real_time_factor < 7.0);
    assert_true(clock.start_mono_ns > 0);
    fixture_end(&fixture);
}

static void a_stop_of_the_tick_thread_is_counted_as_a_slip(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    one_car(&fixture);
    /* A node that takes 30 ms once is to the clock what a stop is. */
    struct srv_node_config *slow = fixture_sensor(&fixture, "slow", "counter", 10, 1);
    fixture_set(slow, "trouble", "slow");
    fixture_set(slow, "slow_ms", "30");
    fixture_set(slow, "at", "3");
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 320);
    assert_true(fixture_counter(&fixture, OTO_COUNTER_SLIPS) >= 1);
    assert_true(fixture_counter(&fixture, OTO_COUNTER_SLIPPED_NS) >= 28000000);
    assert_true(fixture_counter(&fixture, OTO_COUNTER_OVERRUNS) >= 1);
    assert_true(fixture_event(&fixture, OTO_EVENT_SLIP, "ms of real time", &event));
    assert_true(event.value > 0);
    fixture_end(&fixture);
}

static void policy_fault_stops_the_clock(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    one_car(&fixture);
    fixture.config.clock.overrun = SRV_OVERRUN_FAULT;
    struct srv_node_config *slow = fixture_sensor(&fixture, "slow", "counter", 1000, 1);
    fixture_set(slow, "trouble", "slow");
    fixture_set(slow, "slow_ms", "3");
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_FAULT);
    assert_true(fixture_event(&fixture, OTO_EVENT_CLOCK_FAULT, "in a row", &event));
    assert_int_equal(event.value, 10);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_CLOSED);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_makes_exactly_so_many_ticks_and_samples),
        cmocka_unit_test(a_sample_between_ticks_has_the_truth_of_its_own_instant),
        cmocka_unit_test(a_sensor_may_look_back_one_second_and_never_ahead),
        cmocka_unit_test(a_motion_that_knows_only_its_tick_is_remembered),
        cmocka_unit_test(pause_and_resume_leave_no_gap_in_simulated_time),
        cmocka_unit_test(a_run_ends_at_its_end_and_says_so),
        cmocka_unit_test(a_run_ends_with_simulated_time),
        cmocka_unit_test(a_step_longer_than_the_run_says_that_it_was_cut),
        cmocka_unit_test(commands_that_make_no_sense_are_refused_with_a_reason),
        cmocka_unit_test(a_sleeping_world_answers_at_once),
        cmocka_unit_test(more_commands_than_fit_are_refused_until_replies_are_taken),
        cmocka_unit_test(names_of_nodes_are_found_and_suggested),
        cmocka_unit_test(a_world_that_cannot_be_built_leaves_nothing_behind),
        cmocka_unit_test(without_real_time_rights_it_runs_and_says_so),
        cmocka_unit_test(the_clock_says_how_fast_it_runs),
        cmocka_unit_test(a_stop_of_the_tick_thread_is_counted_as_a_slip),
        cmocka_unit_test(policy_fault_stops_the_clock),
    };
    return cmocka_run_group_tests_name("engine runs", tests, NULL, NULL);
}
