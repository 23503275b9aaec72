/* An estimator in a plugin host gets the same samples and gives the same outputs as in the server's process (A17, A19). */
#include "fixture.h"

#include <signal.h>

#include "plugins/listener.h"
#include "isolate/isolated.h"

#define TICKS 2000

enum { MOTION, FAST, ODD, ODO, FIRST, SECOND, SPEED, THIRD, NODES };

/* Where each estimator runs: NULL: in the server. */
struct hosts {
    const char *of[NODES];
    bool async;
};

static const struct hosts in_server = {.async = false};
static const struct hosts alone = {.of = {[FIRST] = "a", [SECOND] = "b", [SPEED] = "c", [THIRD] = "d"}};
static const struct hosts together = {.of = {[FIRST] = "g", [SECOND] = "g", [SPEED] = "g", [THIRD] = "g"}};
static const struct hosts outer = {.of = {[FIRST] = "g", [THIRD] = "g"}};
static const struct hosts inner = {.of = {[SECOND] = "g", [SPEED] = "h"}};

/* Sensors, and estimators that listen to them and to each other, to ones before them and to ones after them. */
static void begin(struct fixture *fixture, const struct hosts *hosts)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "fast", "witness", 200, 1);
    (void)fixture_sensor(fixture, "odd", "mems_imu", 300, 1);
    (void)fixture_sensor(fixture, "odo", "odometer", 100, 1);
    (void)fixture_sensor(fixture, "first", "listener", 100, 1);
    fixture_input(fixture, "main", MOTION, 0);
    fixture_input(fixture, "imu", ODD, 0);
    fixture_input(fixture, "later", THIRD, 0);
    (void)fixture_sensor(fixture, "second", "listener", 100, 1);
    fixture_input(fixture, "main", FIRST, 0);
    fixture_input(fixture, "fast", FAST, 0);
    (void)fixture_sensor(fixture, "speed", "template_estimator", 50, 1);
    fixture_input(fixture, "speed", ODO, 0);
    fixture_input(fixture, "imu", ODD, 0);
    (void)fixture_sensor(fixture, "third", "listener", 7, 1);
    fixture_input(fixture, "main", SECOND, 0);
    fixture_input(fixture, "speed", SPEED, 0);
    fixture_input(fixture, "fast", FAST, 0);
    for (uint32_t i = FIRST; i < NODES; i++) {
        struct srv_isolation_config *isolation = &fixture->nodes[i].isolation;
        isolation->process = hosts->of[i] != NULL;
        isolation->async = hosts->async;
        (void)snprintf(isolation->group, sizeof isolation->group, "%s", hosts->of[i] != NULL ? hosts->of[i] : "");
    }
    fixture->config.clock.mode = OTO_MODE_ASAP;
    fixture->config.clock.until_ns = TICKS * INT64_C(1000000);
}

static uint64_t end(struct fixture *fixture, const struct hosts *hosts)
{
    struct listener_record record;
    fixture_wait_state(fixture, OTO_SERVER_ENDED);
    const uint64_t hash = fixture_clock(fixture).state_hash;
    assert_int_equal(fixture_counter(fixture, OTO_COUNTER_STALE), 0);
    (void)fixture_latest(fixture, "demo/car/second", &record);
    assert_int_equal(record.steps, TICKS / 10 - hosts->async);
    assert_true(record.total > 0);
    fixture_end(fixture);
    return hash;
}

static uint64_t run(const struct hosts *hosts)
{
    struct fixture fixture;
    begin(&fixture, hosts);
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    return end(&fixture, hosts);
}

static void estimators_give_the_same_bits_in_plugin_hosts(void **unused)
{
    (void)unused;
    static const struct hosts *const ways[] = {&alone, &together, &outer, &inner};
    const uint64_t expected = run(&in_server);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(run(ways[i]), expected);
    }
}

static uint64_t run_with_fifo(const struct hosts *hosts, uint64_t imu_hz)
{
    struct fixture fixture;
    begin(&fixture, hosts);
    fixture.nodes[ODD].rate_num = imu_hz;
    fixture.nodes[ODD].fifo_samples = 32;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    return end(&fixture, hosts);
}

/* 32 samples at once are more than come between two steps at the IMU's rate. */
static void bursts_of_a_fifo_give_the_same_bits_too(void **unused)
{
    (void)unused;
    static const uint64_t rates_hz[] = {300, 1000};
    for (size_t i = 0; i < sizeof rates_hz / sizeof *rates_hz; i++) {
        const uint64_t expected = run_with_fifo(&in_server, rates_hz[i]);
        assert_int_equal(run_with_fifo(&alone, rates_hz[i]), expected);
        assert_int_equal(run_with_fifo(&together, rates_hz[i]), expected);
        assert_int_equal(run_with_fifo(&outer, rates_hz[i]), expected);
    }
}

/* While ticks are made back to back, wherever the host is at the moment. */
static void a_run_without_pace_is_the_same_when_hosts_are_killed(void **unused)
{
    (void)unused;
    static const int signals[] = {SIGSEGV, SIGKILL, SIGSEGV, SIGABRT};
    const uint64_t expected = run(&in_server);
    struct fixture fixture;
    struct srv_group_facts facts;
    begin(&fixture, &inner);
    fixture_start(&fixture);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_STEP, .ticks = TICKS / 5});
        assert_true(srv_engine_group(fixture.engine, i % 2, &facts));
        if (facts.pid > 0) {
            assert_int_equal(kill(facts.pid, signals[i]), 0);
        }
        assert_int_equal(fixture_await(&fixture, id).status, OTO_OK);
    }
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    assert_true(fixture_counter(&fixture, OTO_COUNTER_HOST_RESTARTS) > 0);
    assert_int_equal(end(&fixture, &inner), expected);
}

static void async_publishes_the_same_estimates_one_tick_later(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record expected[20], record;
    struct oto_sample_head heads[20];
    struct hosts later = {.of = {[FIRST] = "g"}, .async = true};
    begin(&fixture, &in_server);
    fixture_start(&fixture);
    fixture_step(&fixture, 200);
    for (uint64_t i = 0; i < 20; i++) {
        heads[i] = fixture_record(&fixture, "demo/car/first", 1 + i, &expected[i]);
    }
    fixture_end(&fixture);
    begin(&fixture, &later);
    fixture_start(&fixture);
    fixture_step(&fixture, 10);
    const struct oto_ring_view view = fixture_ring(&fixture, fixture_channel(&fixture, "demo/car/first"));
    assert_int_equal(oto_ring_newest(&view), 0);
    fixture_step(&fixture, 1);
    assert_int_equal(oto_ring_newest(&view), 1);
    fixture_step(&fixture, 190);
    /* The last is after what it listens to of the third, which was later for its own input. */
    for (uint64_t i = 0; i < 14; i++) {
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/first", 1 + i, &record);
        assert_memory_equal(&head, &heads[i], sizeof head);
        assert_memory_equal(&record, &expected[i], sizeof record);
    }
    fixture_end(&fixture);
}

static void async_runs_are_the_same_each_time(void **unused)
{
    (void)unused;
    struct hosts later = together;
    later.async = true;
    assert_int_equal(run(&later), run(&later));
}

static uint64_t run_with_change(const struct hosts *hosts)
{
    struct fixture fixture;
    begin(&fixture, hosts);
    fixture_start(&fixture);
    fixture_step(&fixture, 505);
    assert_int_equal(fixture_change(&fixture, SECOND, "gain", "3").status, OTO_OK);
    fixture_step(&fixture, 500);
    assert_int_equal(fixture_change(&fixture, SECOND, "loud", "true").status, OTO_OK);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    return end(&fixture, hosts);
}

static void changed_parameters_give_the_same_bits_too(void **unused)
{
    (void)unused;
    const uint64_t expected = run_with_change(&in_server);
    assert_int_equal(run_with_change(&together), expected);
    assert_int_not_equal(expected, run(&in_server));
}

static uint64_t run_with_trouble(const struct hosts *hosts, const char *key)
{
    struct fixture fixture;
    begin(&fixture, hosts);
    fixture_set(&fixture.nodes[FIRST], key, "50");
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), strcmp(key, "fail_at") == 0);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_NON_FINITE), strcmp(key, "nan_at") == 0);
    fixture_end(&fixture);
    return hash;
}

static void errors_and_nans_are_the_same_too(void **unused)
{
    (void)unused;
    static const char *const keys[] = {"fail_at", "nan_at"};
    for (size_t i = 0; i < 2; i++) {
        const uint64_t expected = run_with_trouble(&in_server, keys[i]);
        assert_int_equal(run_with_trouble(&alone, keys[i]), expected);
        assert_int_equal(run_with_trouble(&together, keys[i]), expected);
    }
}

/* Pauses the world when the newest estimate is one that was made, and returns it. */
static struct oto_sample_head pause_fresh(struct fixture *fixture, struct listener_record *record)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    struct oto_sample_head head;
    (void)fixture_do(fixture, SRV_COMMAND_PAUSE);
    while (((head = fixture_latest(fixture, "demo/car/first", record)).flags & OTO_SAMPLE_STALE) != 0) {
        assert_true(fixture_now_ns() < deadline_ns);
        (void)fixture_do(fixture, SRV_COMMAND_RESUME);
        fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 1);
        (void)fixture_do(fixture, SRV_COMMAND_PAUSE);
    }
    return head;
}

/* Its steps are lost, what it would have been given is not. */
static void after_its_host_was_away_an_estimator_is_given_what_it_missed(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    struct oto_sample_head head;
    static const struct hosts one = {.of = {[FIRST] = "g"}};
    begin(&fixture, &one);
    fixture.config.clock.mode = OTO_MODE_REALTIME;
    fixture.config.clock.until_ns = 0;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 50);
    for (uint64_t kills = 1; kills <= 3; kills++) {
        const int32_t pid = fixture_other_host(&fixture, "g", 0);
        const uint64_t stale = fixture_counter(&fixture, OTO_COUNTER_STALE);
        assert_int_equal(kill(pid, SIGSTOP), 0);
        fixture_wait_counter(&fixture, OTO_COUNTER_STALE, stale + 3);
        (void)kill(pid, SIGKILL); /* on a slow machine it was ended as stuck, and another runs */
        fixture_wait_counter(&fixture, OTO_COUNTER_HOST_RESTARTS, kills);
        head = pause_fresh(&fixture, &record);
        (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    }
    head = pause_fresh(&fixture, &record);
    const uint64_t ticks = (uint64_t)head.t_ns / 1000000;
    assert_int_equal(record.losses, 0);
    assert_true(record.steps < record.step); /* it has missed some */
    assert_int_equal(record.total, ticks + ticks * 3 / 10 + (ticks > 0 ? (ticks - 1) * 7 / 1000 : 0));
    assert_int_equal(record.last_t_ns, head.t_ns);
    fixture_end(&fixture);
}

static void a_host_is_of_one_kind(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture, &together);
    fixture.nodes[ODO].isolation.process = true;
    (void)snprintf(fixture.nodes[ODO].isolation.group, sizeof fixture.nodes[ODO].isolation.group, "g");
    fixture_expect_refusal(&fixture, "is one of the estimators, and plugin host 'g' runs sensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimators_give_the_same_bits_in_plugin_hosts),
        cmocka_unit_test(bursts_of_a_fifo_give_the_same_bits_too),
        cmocka_unit_test(a_run_without_pace_is_the_same_when_hosts_are_killed),
        cmocka_unit_test(async_publishes_the_same_estimates_one_tick_later),
        cmocka_unit_test(async_runs_are_the_same_each_time),
        cmocka_unit_test(changed_parameters_give_the_same_bits_too),
        cmocka_unit_test(errors_and_nans_are_the_same_too),
        cmocka_unit_test(after_its_host_was_away_an_estimator_is_given_what_it_missed),
        cmocka_unit_test(a_host_is_of_one_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
