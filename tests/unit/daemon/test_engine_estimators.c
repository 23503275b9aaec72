/* Estimators in a world: what each step is given, in which order, and what becomes of it when things change. */
#include "fixture.h"

#include "base/schedule.h"
#include "offline/estimate.h"
#include "plugins/listener.h"
#include "plain_swap.h"

enum { MOTION = 0, FAST = 1, ODD = 2, SLOW = 3 };

/* A car with sensors at 200, 300 and 7 Hz on a clock of 1 kHz. */
static void sensing_car(struct fixture *fixture)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "fast", "witness", 200, 1);
    (void)fixture_sensor(fixture, "odd", "witness", 300, 1);
    (void)fixture_sensor(fixture, "slow", "witness", 7, 1);
}

/* A listener to all four channels. */
static struct srv_node_config *listener(struct fixture *fixture, const char *name, uint64_t rate)
{
    struct srv_node_config *node = fixture_sensor(fixture, name, "listener", rate, 1);
    fixture_input(fixture, "main", MOTION, 0);
    fixture_input(fixture, "fast", FAST, 0);
    fixture_input(fixture, "odd", ODD, 0);
    fixture_input(fixture, "slow", SLOW, 0);
    return node;
}

/* The tick of sample n at a rate on 1 kHz. */
static uint64_t tick_of(uint64_t n, uint64_t rate)
{
    return (n * 1000 + rate - 1) / rate - 1;
}

static uint64_t samples_until(uint64_t tick, uint64_t rate)
{
    return (tick + 1) * rate / 1000;
}

static void check_steps(struct fixture *fixture, const char *topic, uint64_t rate, uint64_t ticks)
{
    static const uint64_t rates[] = {1000, 200, 300, 7};
    uint64_t before = 0;
    struct listener_record record;
    for (uint64_t n = 1; tick_of(n, rate) < ticks; n++) {
        uint64_t total = 0;
        const struct oto_sample_head head = fixture_record(fixture, topic, n, &record);
        for (size_t i = 0; i < 4; i++) {
            total += samples_until(tick_of(n, rate), rates[i]);
        }
        assert_int_equal(head.t_ns, srv_instant_ns(n, rate, 1, NULL));
        assert_int_equal(record.step, n);
        assert_int_equal(record.samples, total - before);
        assert_int_equal(record.total, total);
        assert_int_equal(record.disorder + record.losses, 0);
        assert_int_equal(record.last_t_ns, (int64_t)(tick_of(n, rate) + 1) * 1000000);
        before = total;
    }
    assert_true(before > 0);
}

static void each_step_is_given_exactly_what_was_published_since_the_last(void **unused)
{
    (void)unused;
    struct fixture fixture;
    sensing_car(&fixture);
    (void)listener(&fixture, "every", 1000);
    (void)listener(&fixture, "two_hundred", 200);
    (void)listener(&fixture, "three_hundred", 300);
    (void)listener(&fixture, "seven", 7);
    (void)listener(&fixture, "one", 1);
    fixture_start(&fixture);
    fixture_step(&fixture, 1); /* across pauses of any length */
    fixture_step(&fixture, 2);
    fixture_step(&fixture, 500);
    fixture_step(&fixture, 497);
    check_steps(&fixture, "demo/car/every", 1000, 1000);
    check_steps(&fixture, "demo/car/two_hundred", 200, 1000);
    check_steps(&fixture, "demo/car/three_hundred", 300, 1000);
    check_steps(&fixture, "demo/car/seven", 7, 1000);
    check_steps(&fixture, "demo/car/one", 1, 1000);
    fixture_end(&fixture);
}

/* ---- off line ---- */

/* What a channel has published so far, as a log. */
static struct oto_log *log_of(struct fixture *fixture, const char *topic, const struct oto_record_type *type)
{
    struct oto_error error = {0};
    struct oto_log *log = NULL;
    struct oto_sample_head head;
    unsigned char payload[OTO_RECORD_MAX_BYTES];
    const struct oto_ring_view view = fixture_ring(fixture, fixture_channel(fixture, topic));
    assert_ok(oto_log_create(topic, type, &log, &error), error);
    for (uint64_t seq = 1; seq <= oto_ring_newest(&view); seq++) {
        assert_int_equal(oto_ring_read_at(&view, seq, &head, payload), OTO_OK);
        assert_ok(oto_log_add(log, &head, payload, &error), error);
    }
    return log;
}

struct replay {
    struct fixture *fixture;
    const char *topic;
    uint64_t compared;
};

static enum oto_status compare(void *context, uint32_t port, const struct oto_sample_head *head, const void *payload,
                               struct oto_error *error)
{
    struct replay *replay = context;
    struct listener_record online;
    (void)port;
    (void)error;
    const struct oto_sample_head wanted = fixture_record(replay->fixture, replay->topic, head->seq, &online);
    assert_memory_equal(&wanted, head, sizeof wanted);
    assert_memory_equal(&online, payload, sizeof online);
    replay->compared++;
    return OTO_OK;
}

static void the_same_samples_off_line_give_the_same_bits(void **unused)
{
    (void)unused;
    static const uint64_t rates[] = {1000, 200, 300, 7};
    static const char *const topics[] = {"demo/car/r1000", "demo/car/r200", "demo/car/r300", "demo/car/r7"};
    static const char *const channels[] = {"demo/car/motion", "demo/car/fast", "demo/car/odd", "demo/car/slow"};
    static const char *const inputs[] = {"main", "fast", "odd", "slow"};
    struct fixture fixture;
    struct oto_error error = {0};
    struct oto_log *logs[4];
    sensing_car(&fixture);
    for (size_t i = 0; i < 4; i++) {
        (void)listener(&fixture, strrchr(topics[i], '/') + 1, rates[i]);
    }
    fixture_start(&fixture);
    fixture_step(&fixture, 1000);
    for (size_t i = 0; i < 4; i++) {
        const struct oto_plugin_descriptor *of = oto_plugin_descriptor(fixture.nodes[i].plugin);
        logs[i] = log_of(&fixture, channels[i], i == 0 ? &oto_truth_type : of->outputs[0].type);
    }
    for (size_t r = 0; r < 4; r++) {
        struct oto_estimate *estimate = NULL;
        struct replay replay = {&fixture, topics[r], 0};
        struct oto_estimate_run run = {.size = sizeof run, .rate_num = rates[r], .rate_den = 1, .clock_num = 1000,
                                       .clock_den = 1, .has_from = true, .emit = compare, .context = &replay};
        assert_ok(oto_estimate_open(OTO_TEST_PLUGIN_DIR "/listener.so", &estimate, &error), error);
        for (size_t i = 0; i < 4; i++) {
            assert_ok(oto_estimate_bind(estimate, inputs[i], logs[i], &error), error);
        }
        assert_ok(oto_estimate_execute(estimate, &run, &error), error);
        const struct oto_ring_view view = fixture_ring(&fixture, fixture_channel(&fixture, topics[r]));
        assert_int_equal(replay.compared, oto_ring_newest(&view));
        oto_estimate_close(estimate);
    }
    for (size_t i = 0; i < 4; i++) {
        oto_log_close(logs[i]);
    }
    fixture_end(&fixture);
}

/* ---- the chain ---- */

static uint64_t chain_of(bool one_by_one, const char *gain)
{
    struct fixture fixture;
    sensing_car(&fixture);
    fixture_set(listener(&fixture, "odd_ears", 300), "gain", gain);
    fixture_start(&fixture);
    if (one_by_one) {
        for (int i = 0; i < 100; i++) {
            fixture_step(&fixture, 1);
        }
    } else {
        fixture_step(&fixture, 100);
    }
    const uint64_t chain = fixture_clock(&fixture).state_hash;
    fixture_end(&fixture);
    return chain;
}

static void estimators_are_in_the_chain_whatever_the_pace(void **unused)
{
    (void)unused;
    assert_true(chain_of(false, "1") == chain_of(true, "1"));
    assert_true(chain_of(false, "1") != chain_of(false, "2"));
}

/* ---- of each other ---- */

static void an_estimator_may_listen_to_another(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record first, second, early;
    sensing_car(&fixture);
    (void)fixture_sensor(&fixture, "early", "listener", 1000, 1); /* steps before the one that it listens to */
    fixture_input(&fixture, "main", 5, 0);
    (void)fixture_sensor(&fixture, "first", "listener", 1000, 1);
    fixture_input(&fixture, "main", MOTION, 0);
    (void)fixture_sensor(&fixture, "second", "listener", 1000, 1);
    fixture_input(&fixture, "main", 5, 0);
    fixture_start(&fixture);
    fixture_step(&fixture, 10);
    (void)fixture_latest(&fixture, "demo/car/first", &first);
    (void)fixture_latest(&fixture, "demo/car/second", &second);
    (void)fixture_latest(&fixture, "demo/car/early", &early);
    assert_int_equal(first.total, 10);
    assert_int_equal(second.total, 10);
    assert_int_equal(early.total, 9);
    fixture_end(&fixture);
}

static void a_binding_says_rate_and_mount_of_its_channel(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    sensing_car(&fixture);
    fixture.nodes[FAST].mount_position_body_m = oto_vec3_make(3.0, 0.0, 0.0);
    fixture.nodes[ODD].mount_position_body_m = oto_vec3_make(0.0, 5.0, 0.0);
    fixture.nodes[ODD].q_body_from_sensor = oto_quat_from_rpy(0.0, 0.0, -OTO_PI / 2);
    (void)listener(&fixture, "ears", 100);
    fixture_start(&fixture);
    fixture_step(&fixture, 10);
    (void)fixture_latest(&fixture, "demo/car/ears", &record);
    assert_near(record.rate_hz, 1507.0, 1e-9);
    assert_near(record.mount_x_m, 8.0, 1e-12);
    fixture_end(&fixture);
}

/* ---- changes and troubles ---- */

static void a_swap_goes_on_without_losing_a_sample(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    sensing_car(&fixture);
    (void)listener(&fixture, "ears", 7);
    fixture_start(&fixture);
    fixture_step(&fixture, 500);
    assert_int_equal(fixture_swap(&fixture, 4, "listener_again").status, OTO_OK);
    assert_int_equal(fixture_change(&fixture, 4, "gain", "0").status, OTO_OK);
    fixture_step(&fixture, 500);
    (void)fixture_latest(&fixture, "demo/car/ears", &record);
    assert_int_equal(record.revision, 2);
    assert_int_equal(record.steps, 7);
    assert_int_equal(record.total, 1000 + 200 + 300 + 7);
    assert_int_equal(record.losses + record.disorder, 0);
    assert_near(record.sum, 0.0, 0.0);
    assert_near(record.rate_hz, 1507.0, 1e-9);
    fixture_end(&fixture);
}

static void a_swap_of_what_is_listened_to_changes_nothing_for_the_listener(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    (void)fixture_sensor(&fixture, "counter", "counter", 100, 1);
    (void)fixture_sensor(&fixture, "ears", "listener", 10, 1);
    fixture_input(&fixture, "main", 1, 0);
    fixture_start(&fixture);
    fixture_step(&fixture, 150);
    assert_int_equal(fixture_swap(&fixture, 1, "counter_by_ten").status, OTO_OK);
    assert_int_equal(fixture_change(&fixture, 2, "gain", "1").status, OTO_OK); /* prepared anew, with the old binding */
    fixture_step(&fixture, 150);
    (void)fixture_latest(&fixture, "demo/car/ears", &record);
    assert_int_equal(record.total, 30);
    assert_int_equal(record.losses, 0);
    assert_near(record.sum, 30 * 31 / 2, 0.0);
    fixture_end(&fixture);
}

static void a_swap_to_one_that_cannot_take_the_inputs_is_refused(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    char path[512];
    sensing_car(&fixture);
    (void)listener(&fixture, "ears", 7);
    fixture_start(&fixture);
    assert_int_equal(make_plain_swap(fixture.engine, 4, fixture_plugin(path, sizeof path, "listener_closed"), &change,
                                       &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "cannot run with the inputs of 'demo/car/ears': it has no input 'fast'"));
    assert_int_equal(make_plain_swap(fixture.engine, 4, fixture_plugin(path, sizeof path, "counter"), &change, &error),
                     OTO_INVALID);
    fixture_end(&fixture);
}

static void a_broken_estimator_is_quarantined_and_revived_in_the_present(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_event_record event;
    struct listener_record record;
    sensing_car(&fixture);
    fixture_set(listener(&fixture, "broken", 100), "fail_at", "5");
    (void)listener(&fixture, "sound", 100);
    fixture_start(&fixture);
    fixture_step(&fixture, 300);
    assert_int_equal(fixture_latest(&fixture, "demo/car/broken", &record).seq, 4);
    assert_int_equal(fixture_latest(&fixture, "demo/car/sound", &record).seq, 30);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 1);
    assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_FAULT, "quarantined", &event));
    assert_string_equal(event.source, "demo/car/broken");
    assert_int_equal(fixture_swap(&fixture, 4, "listener_again").status, OTO_OK);
    fixture_step(&fixture, 10);
    (void)fixture_latest(&fixture, "demo/car/broken", &record);
    assert_int_equal(record.step, 31);
    assert_int_equal(record.samples, 10 + 2 + 3); /* of its last step alone */
    assert_int_equal(record.losses, 3);
    fixture_end(&fixture);
}

static void numbers_that_are_not_finite_are_flagged_and_counted(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    sensing_car(&fixture);
    fixture_set(listener(&fixture, "ears", 100), "nan_at", "3");
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_record(&fixture, "demo/car/ears", 3, &record).flags, OTO_SAMPLE_NON_FINITE);
    assert_int_equal(fixture_record(&fixture, "demo/car/ears", 4, &record).flags, 0);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_NON_FINITE), 1);
    fixture_end(&fixture);
}

static void flags_of_samples_go_along(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    (void)fixture_sensor(&fixture, "warns", "trouble_warn", 100, 1);
    (void)fixture_sensor(&fixture, "ears", "listener", 100, 1);
    fixture_input(&fixture, "main", 1, 0);
    fixture_start(&fixture);
    fixture_step(&fixture, 200);
    const struct oto_ring_view view = fixture_ring(&fixture, fixture_channel(&fixture, "demo/car/warns"));
    for (uint64_t seq = 1; seq <= oto_ring_newest(&view); seq++) {
        struct counter_record counter;
        const uint32_t flags = fixture_record(&fixture, "demo/car/warns", seq, &counter).flags;
        (void)fixture_record(&fixture, "demo/car/ears", seq, &record);
        assert_int_equal(record.given_flags, flags);
    }
    assert_true((record.given_flags & OTO_SAMPLE_WARN) != 0);
    fixture_end(&fixture);
}

static void a_second_channel_is_switched_on_while_it_runs(void **unused)
{
    (void)unused;
    struct fixture fixture;
    sensing_car(&fixture);
    (void)listener(&fixture, "ears", 100);
    fixture_start(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_change(&fixture, 4, "loud", "true").status, OTO_OK);
    fixture_step(&fixture, 100);
    const struct oto_ring_view view = fixture_ring(&fixture, fixture_channel(&fixture, "demo/car/ears.loud"));
    assert_int_equal(oto_ring_newest(&view), 10);
    fixture_end(&fixture);
}

static void assert_not_created(struct fixture *fixture, const char *words)
{
    struct oto_error error = {0};
    assert_int_not_equal(srv_engine_create(&fixture->config, &fixture->options, NULL, NULL, &fixture->engine, &error),
                         OTO_OK);
    if (strstr(error.text, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, error.text);
    }
    fixture_end(fixture);
}

static void inputs_that_cannot_be_are_refused_at_creation(void **unused)
{
    (void)unused;
    struct fixture fixture;
    sensing_car(&fixture);
    (void)fixture_sensor(&fixture, "ears", "listener", 100, 1);
    assert_not_created(&fixture, "its input 'main' (what is heard) is not bound");
    sensing_car(&fixture);
    (void)fixture_sensor(&fixture, "ears", "listener", 100, 1);
    fixture_input(&fixture, "main", 99, 0);
    assert_not_created(&fixture, "bound to node 99");
    sensing_car(&fixture);
    (void)fixture_sensor(&fixture, "ears", "listener", 100, 1);
    fixture_input(&fixture, "main", MOTION, 0);
    fixture_input(&fixture, "imu", FAST, 0);
    assert_not_created(&fixture, "needs the field 'angular_velocity.x'");
    sensing_car(&fixture);
    (void)listener(&fixture, "ears", 1);
    fixture.nodes[4].rate_den = 2;
    assert_not_created(&fixture, "from 1 Hz on is accepted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_is_given_exactly_what_was_published_since_the_last),
        cmocka_unit_test(the_same_samples_off_line_give_the_same_bits),
        cmocka_unit_test(estimators_are_in_the_chain_whatever_the_pace),
        cmocka_unit_test(an_estimator_may_listen_to_another),
        cmocka_unit_test(a_binding_says_rate_and_mount_of_its_channel),
        cmocka_unit_test(a_swap_goes_on_without_losing_a_sample),
        cmocka_unit_test(a_swap_of_what_is_listened_to_changes_nothing_for_the_listener),
        cmocka_unit_test(a_swap_to_one_that_cannot_take_the_inputs_is_refused),
        cmocka_unit_test(a_broken_estimator_is_quarantined_and_revived_in_the_present),
        cmocka_unit_test(numbers_that_are_not_finite_are_flagged_and_counted),
        cmocka_unit_test(flags_of_samples_go_along),
        cmocka_unit_test(a_second_channel_is_switched_on_while_it_runs),
        cmocka_unit_test(inputs_that_cannot_be_are_refused_at_creation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
