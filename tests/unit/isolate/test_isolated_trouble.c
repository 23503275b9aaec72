/* What plugins do to their hosts, and what the server does then. */
#include "fixture.h"

#include <errno.h>
#include <signal.h>

#include "isolate/isolated.h"

#ifdef OTO_SANITIZED_BUILD
#define SKIP_WITHOUT_FILTER()                                                                                          \
    do {                                                                                                               \
        print_message("sanitizer builds need more system calls than the filter lets through\n");                      \
        skip();                                                                                                        \
    } while (0)
#else
#define SKIP_WITHOUT_FILTER() ((void)0)
#endif

#define BUDGET_NS INT64_C(300000000) /* of a host that is stopped on purpose */
#define KEPT 16384                    /* records of a ring: 70 s of the nodes here */

static void isolate(struct srv_node_config *node, const char *group)
{
    node->isolation.process = true;
    (void)snprintf(node->isolation.group, sizeof node->isolation.group, "%s", group);
}

/* A troubled node and a healthy one, in hosts of their own, and one in this process. */
static void begin(struct fixture *fixture, const char *plugin)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    isolate(fixture_sensor(fixture, "bad", plugin, 200, 1), "bad");
    struct srv_node_config *good = fixture_sensor(fixture, "good", "counter", 200, 1);
    isolate(good, "good");
    good->isolation.budget_ns = FIXTURE_PATIENCE_NS; /* a busy machine must not make it late */
    (void)fixture_sensor(fixture, "inside", "counter", 200, 1);
    fixture->config.ring_capacity = KEPT;
    fixture->options.start_paused = false;
}

static void start(struct fixture *fixture, const char *plugin)
{
    begin(fixture, plugin);
    fixture_start(fixture);
}

static bool told(struct fixture *fixture, enum oto_event_kind kind, const char *words)
{
    struct oto_event_record event;
    return fixture_event(fixture, kind, words, &event);
}

static void wait_told(struct fixture *fixture, enum oto_event_kind kind, const char *words)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (!told(fixture, kind, words)) {
        if (fixture_now_ns() > deadline_ns) {
            fail_msg("no event said '%s'", words);
        }
        fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 1);
    }
}

static uint64_t newest(struct fixture *fixture, const char *topic)
{
    const struct oto_ring_view view = fixture_ring(fixture, fixture_channel(fixture, topic));
    return oto_ring_newest(&view);
}

/* Rings hold a little more than that. */
static uint64_t oldest_kept(uint64_t newest_seq)
{
    return newest_seq > KEPT / 2 ? newest_seq - KEPT / 2 : 1;
}

static void assert_others_went_on(struct fixture *fixture)
{
    struct counter_record record;
    const uint64_t before = newest(fixture, "demo/car/good");
    fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 20);
    assert_true(newest(fixture, "demo/car/good") > before);
    for (uint64_t seq = oldest_kept(before); seq <= before; seq++) {
        const struct oto_sample_head head = fixture_record(fixture, "demo/car/good", seq, &record);
        assert_int_equal(record.n, seq);
        assert_int_equal(head.flags & OTO_SAMPLE_STALE, 0);
    }
    assert_int_equal(fixture_host(fixture, "good").restarts, 0);
}

static void a_crash_is_told_with_signal_plugin_function_and_node(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    start(&fixture, "hostile_step_null");
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "SIGSEGV");
    assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_HOST, "SIGSEGV", &event));
    assert_string_equal(event.source, "demo/car/bad");
    assert_non_null(strstr(event.text, "touching address 0x10"));
    assert_non_null(strstr(event.text, "in step"));
    assert_non_null(strstr(event.text, "deed_null"));
    fixture_end(&fixture);
}

static void three_crashes_within_a_minute_quarantine_the_node_and_no_other(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, "hostile_step_null");
    fixture_wait_counter(&fixture, OTO_COUNTER_QUARANTINED, 1);
    wait_told(&fixture, OTO_EVENT_PLUGIN_FAULT, "three times within a minute");
    assert_int_equal(fixture_host(&fixture, "bad").restarts, 2);
    while (fixture_host(&fixture, "bad").pid != 0) { /* a moment after it is told */
        fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 1);
    }
    assert_true(fixture_counter(&fixture, OTO_COUNTER_STALE) > 0);
    const uint64_t seq = newest(&fixture, "demo/car/bad");
    assert_others_went_on(&fixture);
    assert_int_equal(newest(&fixture, "demo/car/bad"), seq);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 1);
    fixture_end(&fixture);
}

/* It is last in the order, so the samples of the others are published before it fails. */
static void an_estimator_that_crashes_is_quarantined_alone(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, "hostile_estimator_null");
    fixture_wait_counter(&fixture, OTO_COUNTER_QUARANTINED, 1);
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "SIGSEGV");
    assert_int_equal(fixture_host(&fixture, "bad").restarts, 2);
    assert_true(fixture_counter(&fixture, OTO_COUNTER_STALE) > 0);
    assert_others_went_on(&fixture);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 1);
    fixture_end(&fixture);
}

static void an_estimator_without_end_is_ended_and_what_it_said_is_stale(void **unused)
{
    (void)unused;
    struct fixture fixture;
    uint64_t number, of_the_last_that_ended = 0;
    start(&fixture, "hostile_estimator_loop");
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "did not answer and was ended");
    const uint64_t last = newest(&fixture, "demo/car/bad"), first = oldest_kept(last);
    for (uint64_t seq = first; seq <= last; seq++) {
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/bad", seq, &number);
        if ((head.flags & OTO_SAMPLE_STALE) == 0 || seq == first) {
            of_the_last_that_ended = number;
        } else {
            assert_int_equal(number, of_the_last_that_ended);
        }
    }
    assert_true(fixture_latest(&fixture, "demo/car/bad", &number).flags & OTO_SAMPLE_STALE);
    assert_others_went_on(&fixture);
    fixture_end(&fixture);
}

static void in_a_shared_host_the_others_come_back_without_the_culprit(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture, "hostile_step_null");
    isolate(&fixture.nodes[2], "bad");
    fixture.nodes[1].isolation.budget_ns = FIXTURE_PATIENCE_NS;
    fixture_start(&fixture);
    fixture_wait_counter(&fixture, OTO_COUNTER_QUARANTINED, 1);
    const uint64_t restarts = fixture_host(&fixture, "bad").restarts;
    assert_true(restarts >= 2);
    const uint64_t seq = newest(&fixture, "demo/car/good");
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while ((fixture_latest(&fixture, "demo/car/good", &record).flags & OTO_SAMPLE_STALE) != 0 ||
           newest(&fixture, "demo/car/good") <= seq) {
        assert_true(fixture_now_ns() < deadline_ns);
        fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 1);
    }
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 1);
    fixture_end(&fixture);
}

static void a_step_without_end_is_ended(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    start(&fixture, "hostile_step_loop");
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "did not answer within its budget");
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "did not answer and was ended");
    assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_HOST, "did not answer and was ended", &event));
    assert_string_equal(event.source, "demo/car/bad");
    assert_others_went_on(&fixture);
    fixture_end(&fixture);
}

static void a_host_that_asks_for_ever_does_not_hold_the_tick(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, "hostile_step_flood");
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "did not answer and was ended");
    assert_others_went_on(&fixture);
    fixture_end(&fixture);
}

static void a_host_that_scribbles_over_the_mailbox_harms_itself_alone(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, "hostile_step_scribble");
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "runs again");
    assert_others_went_on(&fixture);
    fixture_end(&fixture);
}

static void every_way_to_die_is_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *plugin, *words;
    } cases[] = {{"hostile_step_divide", "SIGFPE"},
                 {"hostile_step_abort", "SIGABRT"},
                 {"hostile_step_stack", "SIGSEGV"},
                 {"hostile_step_exit", "ended with code 0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
#if defined(__aarch64__) || defined(OTO_SANITIZED_BUILD)
        if (i == 0) {
            continue; /* a division by zero is no fault there, or is caught by the sanitizer */
        }
#endif
        struct fixture fixture;
        start(&fixture, cases[i].plugin);
        wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, cases[i].words);
        fixture_end(&fixture);
    }
}

static void escapes_are_denied_by_the_kernel(void **unused)
{
    (void)unused;
    SKIP_WITHOUT_FILTER();
    static const struct {
        const char *plugin, *words;
    } cases[] = {{"hostile_step_open", "system call openat"},   {"hostile_step_socket", "system call socket"},
                 {"hostile_step_fork", "system call clone"},    {"hostile_step_ptrace", "system call ptrace"},
                 {"hostile_step_kill", "system call kill"},     {"hostile_step_write", "system call write"},
                 {"hostile_step_exec", "system call execve"},   {"hostile_step_handler", "system call rt_sigaction"},
                 {"hostile_step_thread", "was ended by SIGSYS"}, {"hostile_step_file", "was ended by SIGSYS"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        start(&fixture, cases[i].plugin);
        wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, cases[i].words);
        fixture_end(&fixture);
    }
}

/* From its first instruction on, before the filter is closed: that comes when its instances are ready. */
static void a_plugin_that_is_made_ready_changes_and_reaches_nothing(void **unused)
{
    (void)unused;
    static const struct {
        const char *plugin;
        uint32_t landlock; /* the ABI that denies it */
    } cases[] = {{"hostile_prepare_change", 1}, {"hostile_prepare_reach", 6}};
    struct fixture fixture;
    start(&fixture, "hostile_step_nothing");
    const uint32_t landlock = fixture_host(&fixture, "bad").landlock;
    fixture_end(&fixture);
    print_message("Landlock ABI %u\n", landlock);
    if (landlock == 0) {
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases && cases[i].landlock <= landlock; i++) {
        start(&fixture, cases[i].plugin);
        fixture_wait_tick(&fixture, 20);
        assert_int_equal(fixture_host(&fixture, "bad").restarts, 0);
        fixture_end(&fixture);
    }
}

static void a_changed_floating_point_mode_is_an_error_of_the_node(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, "hostile_step_float");
    wait_told(&fixture, OTO_EVENT_PLUGIN_FAULT, "changed the floating-point mode");
    assert_others_went_on(&fixture);
    assert_int_equal(fixture_host(&fixture, "bad").restarts, 0);
    fixture_end(&fixture);
}

static void a_host_that_cannot_start_says_where_it_died(void **unused)
{
    (void)unused;
    static const struct {
        const char *plugin, *words;
    } cases[] = {{"hostile_prepare_null", "SIGSEGV"}, {"hostile_init_null", "SIGSEGV"},
                 {"hostile_init_exit", "ended with code 0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        struct oto_error error = {0};
        begin(&fixture, cases[i].plugin);
        assert_int_equal(srv_engine_create(&fixture.config, &fixture.options, NULL, NULL, &fixture.engine, &error),
                         OTO_PLUGIN);
        if (strstr(error.text, cases[i].words) == NULL || strstr(error.text, "demo/car/bad") == NULL) {
            fail_msg("%s: %s", cases[i].plugin, error.text);
        }
        fixture_end(&fixture);
    }
}

/* Records of the node that did not crash: seq follows the clock, and values continue from the last good state. */
static uint64_t check_recovered(struct fixture *fixture, uint64_t from, uint64_t to)
{
    struct counter_record record, last = {0};
    uint64_t stale = 0;
    bool first = true;
    for (uint64_t seq = from; seq <= to; seq++) {
        const struct oto_sample_head head = fixture_record(fixture, "demo/car/good", seq, &record);
        if ((head.flags & OTO_SAMPLE_STALE) != 0) {
            stale++;
            continue;
        }
        assert_int_equal(record.n, head.t_ns / 5000000);
        if (!first) {
            /* Each sample counts one; one that came too late to be published counts too. */
            assert_true(record.value > last.value);
            assert_true(record.value - last.value <= (double)(record.n - last.n));
        }
        first = false;
        last = record;
    }
    return stale;
}

static void a_host_that_is_killed_again_and_again_comes_back_each_time(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, "counter");
    fixture_wait_tick(&fixture, 50);
    for (uint64_t kills = 0; kills < 15; kills++) {
        const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
        const uint64_t ticks = fixture_counter(&fixture, OTO_COUNTER_TICKS);
        assert_int_equal(kill(fixture_other_host(&fixture, "good", 0), SIGKILL), 0);
        while (fixture_host(&fixture, "good").restarts == kills) {
            assert_true(fixture_now_ns() < deadline_ns);
        }
        fixture_wait_tick(&fixture, ticks + 100);
        assert_true(fixture_host(&fixture, "good").restarts > kills);
    }
    const uint64_t last = newest(&fixture, "demo/car/good");
    (void)check_recovered(&fixture, oldest_kept(last), last);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 0);
    assert_true(told(&fixture, OTO_EVENT_PLUGIN_HOST, "SIGKILL from outside"));
    assert_true(told(&fixture, OTO_EVENT_PLUGIN_HOST, "runs again"));
    fixture_end(&fixture);
}

/* A host that is stopped makes its node stale before it is ended as stuck. */
static void start_impatient(struct fixture *fixture)
{
    begin(fixture, "counter");
    fixture->nodes[2].isolation.budget_ns = BUDGET_NS;
    fixture_start(fixture);
    fixture_wait_tick(fixture, 50);
}

/* On a busy machine the troubled one is late, too: the server's count of stale samples does not say whose they are. */
static void wait_stale(struct fixture *fixture, uint64_t least)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    uint64_t last = newest(fixture, "demo/car/good");
    while (check_recovered(fixture, oldest_kept(last), last) < least) {
        assert_true(fixture_now_ns() < deadline_ns);
        fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 1);
        last = newest(fixture, "demo/car/good");
    }
}

static void wait_fresh(struct fixture *fixture)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    struct counter_record record;
    while ((fixture_latest(fixture, "demo/car/good", &record).flags & OTO_SAMPLE_STALE) != 0) {
        assert_true(fixture_now_ns() < deadline_ns);
        fixture_wait_tick(fixture, fixture_counter(fixture, OTO_COUNTER_TICKS) + 1);
    }
}

/* The host is stopped until a request has timed out, and then killed. */
static void what_a_dead_host_did_not_make_is_repeated_and_flagged(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start_impatient(&fixture);
    const int32_t pid = fixture_other_host(&fixture, "good", 0);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    wait_stale(&fixture, 3);
    (void)kill(pid, SIGKILL); /* on a slow machine it was ended as stuck, and another runs */
    wait_told(&fixture, OTO_EVENT_PLUGIN_HOST, "runs again");
    wait_fresh(&fixture);
    const uint64_t last = newest(&fixture, "demo/car/good");
    (void)check_recovered(&fixture, oldest_kept(last), last);
    fixture_end(&fixture);
}

static void a_host_that_was_stopped_and_goes_on_catches_up(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start_impatient(&fixture);
    const int32_t pid = fixture_other_host(&fixture, "good", 0);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    wait_stale(&fixture, 2);
    (void)kill(pid, SIGCONT); /* on a slow machine it was ended as stuck, and another runs */
    wait_fresh(&fixture);
    assert_true(told(&fixture, OTO_EVENT_PLUGIN_HOST, "did not answer within its budget of 300000 us"));
    fixture_end(&fixture);
}

/* Stops the host, which is then asked for a sample, and this process for a second, as a machine that stands still does. Whether the same host goes on. */
static bool outlives_a_stop_of_all(struct fixture *fixture)
{
    char line[160];
    const int32_t pid = fixture_other_host(fixture, "good", 0), own = (int32_t)getpid();
    const uint64_t restarts = fixture_host(fixture, "good").restarts;
    (void)snprintf(line, sizeof line, "kill -STOP %d; sleep 0.05; kill -STOP %d; sleep 1; kill -CONT %d; sleep 0.05; kill -CONT %d", pid, own, own, pid);
    (void)!system(line);
    wait_fresh(fixture);
    return fixture_host(fixture, "good").restarts == restarts;
}

static void time_in_which_the_server_stands_still_does_not_count_against_a_host(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start_impatient(&fixture);
    assert_true(outlives_a_stop_of_all(&fixture) || outlives_a_stop_of_all(&fixture)); /* a busy machine may hold the host longer */
    fixture_end(&fixture);
}

static void hosts_end_with_their_world(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, "counter");
    const int32_t pids[] = {fixture_other_host(&fixture, "good", 0), fixture_other_host(&fixture, "bad", 0)};
    assert_true(pids[0] != pids[1]);
    fixture_end(&fixture);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(kill(pids[i], 0), -1);
        assert_int_equal(errno, ESRCH);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_is_told_with_signal_plugin_function_and_node),
        cmocka_unit_test(three_crashes_within_a_minute_quarantine_the_node_and_no_other),
        cmocka_unit_test(an_estimator_that_crashes_is_quarantined_alone),
        cmocka_unit_test(an_estimator_without_end_is_ended_and_what_it_said_is_stale),
        cmocka_unit_test(in_a_shared_host_the_others_come_back_without_the_culprit),
        cmocka_unit_test(a_step_without_end_is_ended),
        cmocka_unit_test(a_host_that_asks_for_ever_does_not_hold_the_tick),
        cmocka_unit_test(a_host_that_scribbles_over_the_mailbox_harms_itself_alone),
        cmocka_unit_test(every_way_to_die_is_named),
        cmocka_unit_test(escapes_are_denied_by_the_kernel),
        cmocka_unit_test(a_plugin_that_is_made_ready_changes_and_reaches_nothing),
        cmocka_unit_test(a_changed_floating_point_mode_is_an_error_of_the_node),
        cmocka_unit_test(a_host_that_cannot_start_says_where_it_died),
        cmocka_unit_test(a_host_that_is_killed_again_and_again_comes_back_each_time),
        cmocka_unit_test(what_a_dead_host_did_not_make_is_repeated_and_flagged),
        cmocka_unit_test(a_host_that_was_stopped_and_goes_on_catches_up),
        cmocka_unit_test(time_in_which_the_server_stands_still_does_not_count_against_a_host),
        cmocka_unit_test(hosts_end_with_their_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
