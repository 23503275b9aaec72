/* A vehicle that a plugin host moves goes where it goes without, and is sensed where it is (A17, A19). */
#include "fixture.h"

#include <signal.h>

#include "daemon/thread/engine_private.h"
#include "isolate/isolated.h"

#define TICKS 900

enum { CAR, IMU, LATE, ODO, VAN, VAN_IMU, VAN_LATE };

/* Where the motions run, and one of the sensors that look back: NULL: in the server. */
struct hosts {
    const char *car, *van, *late;
};

static const struct hosts in_server = {NULL, NULL, NULL};

/* So that they move; the body is integrated, with one step a tick. */
static const struct {
    const char *motion, *key, *value;
} moved[] = {{"motion_kinematic_bicycle", "initial.u_m_s", "5"},
             {"motion_kinematic_bicycle", "steering_rad", "0.1"},
             {"motion_rigid_body_6dof", "force_body_n", "[1, 0.2, 0]"},
             {"motion_rigid_body_6dof", "moment_body_nm", "[0.1, 0.2, 0.3]"},
             {"motion_rigid_body_6dof", "inertia_kg_m2", "[1, 2, 3]"},
             {"motion_rigid_body_6dof", "step_s", "1"}};

static void add_vehicle(struct fixture *fixture, const char *name, const char *motion)
{
    fixture_vehicle(fixture, name, motion);
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        if (strcmp(motion, moved[i].motion) == 0) {
            fixture_set(&fixture->nodes[fixture->config.node_count - 1], moved[i].key, moved[i].value);
        }
    }
}

/* A car and a van; sensors at the ends of ticks and between them, at once and a while ago. */
static void begin(struct fixture *fixture, const char *car, const char *van, const struct hosts *hosts)
{
    fixture_begin(fixture, 1000, 1);
    add_vehicle(fixture, "car", car);
    (void)fixture_sensor(fixture, "imu", "mems_imu", 300, 1);
    fixture_set(fixture_sensor(fixture, "late", "witness", 100, 1), "delay_ms", "12.5");
    (void)fixture_sensor(fixture, "odo", "odometer", 1000, 1);
    add_vehicle(fixture, "van", van);
    (void)fixture_sensor(fixture, "imu", "mems_imu", 1000, 1);
    fixture_set(fixture_sensor(fixture, "late", "witness", 333, 1), "delay_ms", "0.3");
    const struct {
        uint32_t node;
        const char *host;
    } where[] = {{CAR, hosts->car}, {VAN, hosts->van}, {VAN_LATE, hosts->late}};
    for (size_t i = 0; i < sizeof where / sizeof *where; i++) {
        struct srv_isolation_config *isolation = &fixture->nodes[where[i].node].isolation;
        isolation->process = where[i].host != NULL;
        (void)snprintf(isolation->group, sizeof isolation->group, "%s", where[i].host != NULL ? where[i].host : "");
    }
    fixture->config.clock.mode = OTO_MODE_ASAP;
    fixture->config.clock.until_ns = TICKS * INT64_C(1000000);
}

static uint64_t end(struct fixture *fixture)
{
    fixture_wait_state(fixture, OTO_SERVER_ENDED);
    const struct oto_clock clock = fixture_clock(fixture);
    const struct oto_ring_view view = fixture_ring(fixture, fixture_channel(fixture, "demo/van/late"));
    assert_int_equal(clock.tick, TICKS);
    assert_int_equal(fixture_counter(fixture, OTO_COUNTER_STALE), 0);
    assert_int_equal(oto_ring_newest(&view), TICKS * 333 / 1000);
    fixture_end(fixture);
    return clock.state_hash;
}

static uint64_t run(const char *car, const char *van, const struct hosts *hosts)
{
    struct fixture fixture;
    begin(&fixture, car, van, hosts);
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    return end(&fixture);
}

static void motions_give_the_same_bits_in_plugin_hosts(void **unused)
{
    (void)unused;
    static const char *const motions[][2] = {{"circle", "circle_tick_only"},
                                             {"motion_script", "motion_kinematic_bicycle"},
                                             {"motion_rigid_body_6dof", "motion_waypoints"}};
    static const struct hosts ways[] = {
        {"a", "b", NULL}, {"m", "m", NULL}, {"a", "b", "s"}, {NULL, "m", "s"}, {"m", NULL, "s"}};
    for (size_t i = 0; i < sizeof motions / sizeof *motions; i++) {
        const uint64_t expected = run(motions[i][0], motions[i][1], &in_server);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            if (run(motions[i][0], motions[i][1], &ways[k]) != expected) {
                fail_msg("%s and %s, hosts %zu: another hash", motions[i][0], motions[i][1], k);
            }
        }
    }
}

/* What a sensor looked back at comes with the steps from its second sample on. */
static void a_tick_wakes_the_host_once(void **unused)
{
    (void)unused;
    static const struct hosts hosts = {"m", NULL, NULL};
    struct fixture fixture;
    begin(&fixture, "circle", "circle", &hosts);
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    assert_in_range(fixture.engine->sim->isolation->groups[0].live.request, TICKS, TICKS + 2);
    fixture_end(&fixture);
}

/* While ticks are made back to back, wherever the hosts are at the moment. */
static void a_run_without_pace_is_the_same_when_hosts_are_killed(void **unused)
{
    (void)unused;
    static const int signals[] = {SIGSEGV, SIGKILL, SIGSEGV, SIGABRT, SIGSEGV};
    static const struct hosts hosts = {"a", "b", "s"};
    const uint64_t expected = run("circle", "motion_kinematic_bicycle", &in_server);
    struct fixture fixture;
    struct srv_group_facts facts;
    begin(&fixture, "circle", "motion_kinematic_bicycle", &hosts);
    fixture_start(&fixture);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_STEP, .ticks = TICKS / 6});
        assert_true(srv_engine_group(fixture.engine, (uint32_t)i % 3, &facts));
        if (facts.pid > 0) {
            assert_int_equal(kill(facts.pid, signals[i]), 0);
        }
        assert_int_equal(fixture_await(&fixture, id).status, OTO_OK);
    }
    assert_true(fixture_counter(&fixture, OTO_COUNTER_HOST_RESTARTS) > 0);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    assert_int_equal(end(&fixture), expected);
}

static uint64_t run_with_change(const struct hosts *hosts)
{
    struct fixture fixture;
    begin(&fixture, "circle", "motion_kinematic_bicycle", hosts);
    fixture_start(&fixture);
    fixture_step(&fixture, 300);
    assert_int_equal(fixture_change(&fixture, VAN, "accel_m_s2", "2.5").status, OTO_OK);
    fixture_step(&fixture, 300);
    assert_int_equal(fixture_change(&fixture, VAN, "steering_rad", "0.1").status, OTO_OK);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    return end(&fixture);
}

static void changed_parameters_give_the_same_bits_too(void **unused)
{
    (void)unused;
    static const struct hosts hosts = {"m", "m", NULL};
    const uint64_t expected = run_with_change(&in_server);
    assert_int_equal(run_with_change(&hosts), expected);
    assert_int_not_equal(expected, run("circle", "motion_kinematic_bicycle", &in_server));
}

static uint64_t run_with_error(const struct hosts *hosts)
{
    struct fixture fixture;
    begin(&fixture, "circle", "circle_tick_only", hosts);
    fixture_set(&fixture.nodes[CAR], "fail_at", "200");
    fixture_set(&fixture.nodes[VAN], "fail_at", "500");
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_state(&fixture, OTO_SERVER_ENDED);
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 2);
    fixture_end(&fixture);
    return hash;
}

static void errors_are_the_same_too(void **unused)
{
    (void)unused;
    static const struct hosts hosts = {"a", "b", "s"};
    assert_int_equal(run_with_error(&hosts), run_with_error(&in_server));
}

/* ---- at the pace of time ---- */

static struct oto_sample_head truth_at(struct fixture *fixture, uint64_t tick, struct oto_truth_record *truth)
{
    return fixture_record(fixture, "demo/van/motion", tick, truth);
}

static void wait_fresh(struct fixture *fixture)
{
    struct oto_truth_record truth;
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while ((fixture_latest(fixture, "demo/van/motion", &truth).flags & OTO_SAMPLE_STALE) != 0) {
        assert_true(fixture_now_ns() < deadline_ns);
        fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 1);
    }
}

/* Until the van has been moved in so many ticks: in others a busy machine may hold its host. */
static void wait_moved(struct fixture *fixture, uint64_t ticks)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (fixture_counter(fixture, OTO_COUNTER_TICKS) < ticks + fixture_counter(fixture, OTO_COUNTER_STALE)) {
        assert_true(fixture_now_ns() < deadline_ns);
        fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 1);
    }
}

/* Stopped until ticks went by unmoved, then killed: the vehicle stands still, flagged, and then is where it would be. */
static void a_vehicle_whose_host_was_away_is_where_it_would_have_been(void **unused)
{
    (void)unused;
    static const struct hosts hosts = {NULL, "m", NULL};
    struct fixture fixture, whole;
    struct oto_truth_record truth, expected, before = {0};
    begin(&fixture, "circle", "motion_rigid_body_6dof", &hosts);
    fixture.config.clock.mode = OTO_MODE_REALTIME;
    fixture.config.clock.until_ns = 0;
    fixture.config.ring_capacity = 16384;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    wait_moved(&fixture, 50);
    const int32_t pid = fixture_other_host(&fixture, "m", 0);
    const uint64_t before_stop = fixture_counter(&fixture, OTO_COUNTER_STALE);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    fixture_wait_counter(&fixture, OTO_COUNTER_STALE, before_stop + 5);
    (void)kill(pid, SIGKILL); /* on a slow machine it was ended as stuck, and another runs */
    fixture_wait_counter(&fixture, OTO_COUNTER_HOST_RESTARTS, 1);
    wait_fresh(&fixture);
    (void)fixture_do(&fixture, SRV_COMMAND_PAUSE);
    const uint64_t ticks = fixture_clock(&fixture).tick;

    begin(&whole, "circle", "motion_rigid_body_6dof", &in_server);
    whole.config.ring_capacity = 16384;
    whole.config.clock.until_ns = 0;
    fixture_start(&whole);
    fixture_step(&whole, ticks);
    uint64_t stale = 0;
    for (uint64_t tick = 1; tick <= ticks; tick++) {
        (void)truth_at(&whole, tick, &expected);
        if ((truth_at(&fixture, tick, &truth).flags & OTO_SAMPLE_STALE) == 0) {
            assert_memory_equal(&truth, &expected, sizeof truth);
        } else {
            assert_true(tick == 1 || memcmp(&truth, &before, sizeof truth) == 0); /* that of time zero is not published */
            stale++;
        }
        before = truth;
    }
    assert_in_range(stale, 5, ticks - 50);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_STALE), stale);
    fixture_end(&whole);
    fixture_end(&fixture);
}

/* Stops the car's host until truths are missing, and pauses. False: the host was ended as stuck meanwhile, and another one moves the car. */
static bool pauses_without_truth(struct fixture *fixture, int32_t *pid)
{
    *pid = fixture_other_host(fixture, "m", 0);
    const uint64_t restarts = fixture_host(fixture, "m").restarts, stale = fixture_counter(fixture, OTO_COUNTER_STALE);
    assert_int_equal(kill(*pid, SIGSTOP), 0);
    fixture_wait_counter(fixture, OTO_COUNTER_STALE, stale + 20);
    (void)fixture_do(fixture, SRV_COMMAND_PAUSE);
    return fixture_host(fixture, "m").restarts == restarts;
}

/* Samples of its sensors are flagged, too. */
static void what_is_sensed_of_a_vehicle_without_truth_is_flagged(void **unused)
{
    (void)unused;
    static const struct hosts hosts = {"m", NULL, NULL};
    struct fixture fixture;
    int32_t pid;
    unsigned char record[OTO_RECORD_MAX_BYTES];
    begin(&fixture, "circle", "circle", &hosts);
    fixture.config.clock.mode = OTO_MODE_REALTIME;
    fixture.config.clock.until_ns = 0;
    fixture.options.start_paused = false;
    fixture_start(&fixture);
    fixture_wait_tick(&fixture, 50);
    for (int round = 0; !pauses_without_truth(&fixture, &pid); round++) {
        assert_true(round < 3);
        (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    }
    static const char *const topics[] = {"demo/car/motion", "demo/car/imu", "demo/car/odo"};
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        assert_int_equal(fixture_latest(&fixture, topics[i], record).flags & OTO_SAMPLE_STALE, OTO_SAMPLE_STALE);
    }
    assert_int_equal(fixture_latest(&fixture, "demo/van/imu", record).flags & OTO_SAMPLE_STALE, 0);
    (void)kill(pid, SIGCONT);
    fixture_end(&fixture);
}

/* ---- controls ---- */

/* Between two commands the tick thread waits, and the next command hands over what was written here. */
static void give(struct fixture *fixture, double command)
{
    const double controls[OTO_CONTROLS] = {command, command, command * 0.99, command};
    srv_sim_give_controls(fixture->engine->sim, 0, controls);
}

static void kill_host(struct fixture *fixture)
{
    struct srv_group_facts facts;
    assert_true(srv_engine_group(fixture->engine, 0, &facts));
    if (facts.pid > 0) {
        assert_int_equal(kill(facts.pid, SIGKILL), 0);
    }
}

/* Other controls every 100 ticks; a kill comes between the controls and the tick that obeys them. */
static uint64_t run_controlled(const struct hosts *hosts, bool kills)
{
    struct fixture fixture;
    begin(&fixture, "motion_multirotor", "circle", hosts);
    fixture_start(&fixture);
    for (uint32_t i = 0; i < 9; i++) {
        give(&fixture, 0.1);
        give(&fixture, i % 2 == 0 ? 0.9 : 0.5);
        if (kills && i % 3 == 1) {
            kill_host(&fixture);
        }
        fixture_step(&fixture, TICKS / 9);
    }
    assert_true(!kills || fixture_counter(&fixture, OTO_COUNTER_HOST_RESTARTS) > 0);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    return end(&fixture);
}

static void controls_give_the_same_bits_in_a_plugin_host_that_is_killed(void **unused)
{
    (void)unused;
    static const struct hosts hosts = {"m", "m", NULL};
    const uint64_t expected = run_controlled(&in_server, false);
    assert_int_not_equal(expected, run("motion_multirotor", "circle", &in_server));
    assert_int_equal(run_controlled(&hosts, false), expected);
    assert_int_equal(run_controlled(&hosts, true), expected);
}

static void begin_paced(struct fixture *fixture, const struct hosts *hosts)
{
    begin(fixture, "motion_multirotor", "circle", hosts);
    fixture->config.clock.mode = OTO_MODE_REALTIME;
    fixture->config.clock.until_ns = 0;
    fixture_start(fixture);
    give(fixture, 0.9);
    fixture_step(fixture, 50);
}

/* Runs in real time for some ticks. Returns how many were made. */
static uint64_t run_a_while(struct fixture *fixture)
{
    const uint64_t tick = fixture_clock(fixture).tick;
    (void)fixture_do(fixture, SRV_COMMAND_RESUME);
    fixture_wait_tick(fixture, tick + 2);
    (void)fixture_do(fixture, SRV_COMMAND_PAUSE);
    return fixture_clock(fixture).tick - tick;
}

/* A host that is away for some ticks of a paced world makes them later, each under the controls that held then. */
static void missed_steps_have_the_controls_of_their_time(void **unused)
{
    (void)unused;
    static const struct hosts hosts = {"m", NULL, NULL};
    struct fixture fixture, whole;
    struct srv_group_facts facts;
    struct oto_truth_record truth, expected;
    begin_paced(&fixture, &hosts);
    begin_paced(&whole, &in_server);
    assert_true(srv_engine_group(fixture.engine, 0, &facts));
    assert_int_equal(kill(facts.pid, SIGSTOP), 0);
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    for (uint32_t i = 0; i < 3 || (fixture_latest(&fixture, "demo/car/motion", &truth).flags & OTO_SAMPLE_STALE) != 0; i++) {
        assert_true(fixture_now_ns() < deadline_ns);
        if (i < 4) { /* a host that starts slowly could outlast the controls that are kept */
            give(&fixture, 0.6 + 0.1 * i);
            give(&whole, 0.6 + 0.1 * i);
        }
        fixture_step(&whole, run_a_while(&fixture));
        if (i == 2) {
            assert_true(fixture_counter(&fixture, OTO_COUNTER_STALE) > 0);
            kill_host(&fixture);
        }
    }
    (void)fixture_latest(&whole, "demo/car/motion", &expected);
    assert_memory_equal(&truth, &expected, sizeof truth);
    fixture_end(&whole);
    fixture_end(&fixture);
}

/* ---- trouble ---- */

static void wait_told(struct fixture *fixture, const char *words)
{
    struct oto_event_record event;
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (!fixture_event(fixture, OTO_EVENT_PLUGIN_HOST, words, &event)) {
        if (fixture_now_ns() > deadline_ns) {
            fail_msg("no event said '%s'", words);
        }
        fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 1);
    }
    assert_string_equal(event.source, "demo/car/motion");
}

static void start_troubled(struct fixture *fixture, const char *plugin, enum oto_clock_mode mode)
{
    static const struct hosts hosts = {"m", NULL, "s"};
    begin(fixture, plugin, "circle", &hosts);
    fixture->config.clock.mode = mode;
    fixture->config.clock.until_ns = 0;
    fixture->options.start_paused = false;
    fixture_start(fixture);
}

/* The car keeps its last truth; the van moves on. */
static void check_quarantined(struct fixture *fixture)
{
    struct oto_truth_record truth;
    fixture_wait_counter(fixture, OTO_COUNTER_QUARANTINED, 1);
    fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 20);
    (void)fixture_do(fixture, SRV_COMMAND_PAUSE);
    assert_int_equal(fixture_latest(fixture, "demo/car/motion", &truth).flags & OTO_SAMPLE_STALE, OTO_SAMPLE_STALE);
    assert_int_equal(fixture_latest(fixture, "demo/van/motion", &truth).flags & OTO_SAMPLE_STALE, 0);
    assert_int_equal(fixture_counter(fixture, OTO_COUNTER_QUARANTINED), 1);
}

static void a_motion_that_ends_its_host_is_quarantined_alone(void **unused)
{
    (void)unused;
    static const struct {
        const char *plugin, *words;
        enum oto_clock_mode mode;
        bool once; /* without a pace each end of a host that hangs takes 5 s */
    } cases[] = {{"hostile_motion_null", "SIGSEGV, touching address 0x10", OTO_MODE_REALTIME, false},
                 {"hostile_evaluate_null", "in evaluate", OTO_MODE_ASAP, false},
                 {"hostile_motion_loop", "did not answer and was ended", OTO_MODE_ASAP, true},
                 {"hostile_evaluate_loop", "did not answer and was ended", OTO_MODE_REALTIME, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        start_troubled(&fixture, cases[i].plugin, cases[i].mode);
        wait_told(&fixture, cases[i].words);
        if (!cases[i].once) {
            check_quarantined(&fixture);
        }
        fixture_end(&fixture);
    }
}

static void what_makes_no_sense_is_refused_with_a_reason(void **unused)
{
    (void)unused;
    struct fixture fixture;
    static const struct hosts hosts = {"m", NULL, NULL}, mixed = {"m", NULL, "m"};
    begin(&fixture, "circle", "circle", &hosts);
    fixture.nodes[CAR].isolation.async = true;
    fixture_expect_refusal(&fixture, "the sensors of a tick need its truth in that tick");
    begin(&fixture, "circle", "circle", &mixed);
    fixture_expect_refusal(&fixture, "is one of the sensors, and plugin host 'm' runs motions");
    begin(&fixture, "hostile_evaluate_zero", "circle", &hosts);
    fixture_expect_refusal(&fixture, "in evaluate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motions_give_the_same_bits_in_plugin_hosts),
        cmocka_unit_test(a_tick_wakes_the_host_once),
        cmocka_unit_test(a_run_without_pace_is_the_same_when_hosts_are_killed),
        cmocka_unit_test(changed_parameters_give_the_same_bits_too),
        cmocka_unit_test(errors_are_the_same_too),
        cmocka_unit_test(a_vehicle_whose_host_was_away_is_where_it_would_have_been),
        cmocka_unit_test(what_is_sensed_of_a_vehicle_without_truth_is_flagged),
        cmocka_unit_test(controls_give_the_same_bits_in_a_plugin_host_that_is_killed),
        cmocka_unit_test(missed_steps_have_the_controls_of_their_time),
        cmocka_unit_test(a_motion_that_ends_its_host_is_quarantined_alone),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
