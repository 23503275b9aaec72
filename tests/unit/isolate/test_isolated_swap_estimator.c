/* Swaps of isolated estimators: the candidate hears what the plugin before it hears, once, whatever becomes of the other. */
#include "fixture.h"

#include <signal.h>

#include "plugins/listener.h"

#define MS INT64_C(1000000)
#define TICKS 1000

enum { MOTION, FAST, ONE, TWO };

struct way {
    const char *one, *two; /* hosts; NULL: in the server */
    bool async;
    int64_t budget_ns; /* 0: the default */
};
static const struct way ways[] = {
    {.one = "g", .two = "g"}, {.one = "a", .two = "b"}, {.two = "b"}, {.one = "a", .two = "b", .async = true}};
static const struct way here = {.async = false};

static void isolate(struct srv_node_config *node, const char *host, const struct way *way)
{
    node->isolation.process = host != NULL;
    node->isolation.async = way->async;
    node->isolation.budget_ns = way->budget_ns;
    (void)snprintf(node->isolation.group, sizeof node->isolation.group, "%s", host != NULL ? host : "");
}

/* `two` listens to `one`, which is before it in every tick. */
static void begin(struct fixture *fixture, const struct way *way)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "fast", "witness", 200, 1);
    isolate(fixture_sensor(fixture, "one", "listener", 50, 1), way->one, way);
    fixture_input(fixture, "main", MOTION, 0);
    fixture_input(fixture, "fast", FAST, 0);
    isolate(fixture_sensor(fixture, "two", "listener", 50, 1), way->two, way);
    fixture_input(fixture, "main", ONE, 0);
    fixture_input(fixture, "fast", FAST, 0);
    fixture_start(fixture);
}

static uint64_t undisturbed(const struct way *way)
{
    struct fixture fixture;
    begin(&fixture, way);
    fixture_step(&fixture, TICKS);
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    fixture_end(&fixture);
    return hash;
}

static void assert_heard_once(struct fixture *fixture, const char *topic)
{
    struct listener_record record;
    (void)fixture_latest(fixture, topic, &record);
    assert_int_equal(record.losses, 0);
    assert_true(record.total > 0);
}

static uint64_t swap(const struct way *way, uint32_t node, const char *yaml, enum oto_status end)
{
    struct fixture fixture;
    char path[512];
    struct srv_swap_options options = {.shadow_ns = 60 * MS, .probation_ns = 200 * MS};
    begin(&fixture, way);
    fixture_step(&fixture, 301);
    options.params_path = fixture_params(path, sizeof path, yaml);
    struct srv_node_change *change = fixture_make_swap(&fixture, node, "listener", options);
    (void)unlink(path);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 60);
    assert_int_equal(fixture_await(&fixture, id).status, OTO_OK);
    assert_int_equal(fixture_settle(&fixture, change, TICKS - 361).status, end);
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    assert_heard_once(&fixture, "demo/car/one");
    assert_heard_once(&fixture, "demo/car/two");
    fixture_end(&fixture);
    return hash;
}

/* Samples of a candidate are flagged as probation for its readers; swaps of `one` are compared with the same in the server. */
static void a_rebuilt_estimator_leaves_no_trace_and_nor_does_one_that_fails(void **unused)
{
    (void)unused;
    const uint64_t in_the_server = undisturbed(&here);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const uint64_t hash = undisturbed(&ways[i]);
        if (!ways[i].async) {
            assert_int_equal(hash, in_the_server);
        }
        assert_int_equal(swap(&ways[i], TWO, "{gain: 1}", OTO_OK), hash);
        assert_int_equal(swap(&ways[i], TWO, "{fail_at: 21}", OTO_PLUGIN), hash);
        assert_int_equal(swap(&ways[i], TWO, "{nan_at: 22}", OTO_PLUGIN), hash);
        if (!ways[i].async) {
            assert_int_equal(swap(&ways[i], ONE, "{gain: 1}", OTO_OK), swap(&here, ONE, "{gain: 1}", OTO_OK));
        }
    }
}

static void one_that_begins_anew_warms_up_beside_the_old_one(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    begin(&fixture, &ways[1]);
    fixture_step(&fixture, 500);
    struct srv_node_change *change =
        fixture_make_swap(&fixture, TWO, "listener_again", (struct srv_swap_options){.reset_state = true});
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 1100);
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    assert_int_equal(reply.tick, 1500);
    (void)srv_change_free(reply.change);
    (void)fixture_latest(&fixture, "demo/car/two", &record);
    assert_int_equal(record.revision, 2);
    assert_int_equal(record.total, 55 + 220); /* of 1.1 s */
    assert_heard_once(&fixture, "demo/car/two");
    fixture_end(&fixture);
}

/* A swap restarts a quarantined estimator with the newest samples; those published meanwhile are skipped. */
static void one_that_had_failed_is_revived(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct listener_record record;
    begin(&fixture, &ways[1]);
    fixture_step(&fixture, 100);
    char path[512];
    struct srv_swap_options options = {.params_path = fixture_params(path, sizeof path, "{fail_at: 10}")};
    struct srv_node_change *change = fixture_make_swap(&fixture, TWO, "listener", options);
    (void)unlink(path);
    (void)srv_change_free(fixture_flip(&fixture, change).change);
    fixture_step(&fixture, 300);
    assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_QUARANTINED), 1);
    options = (struct srv_swap_options){.reset_state = true, .shadow_ns = 100 * MS};
    options.params_path = fixture_params(path, sizeof path, "{fail_at: 0}");
    change = fixture_make_swap(&fixture, TWO, "listener", options);
    (void)unlink(path);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 300);
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    (void)srv_change_free(reply.change);
    (void)fixture_latest(&fixture, "demo/car/two", &record);
    assert_int_equal(record.total, 15 + 60); /* of 0.3 s */
    assert_heard_once(&fixture, "demo/car/two");
    fixture_end(&fixture);
}

/*
 * The old host is stopped and misses steps; the candidate does not, and hears nothing twice, nor once it is kept. The budget is
 * also the candidate's, which is taken back if a busy machine makes it late.
 */
static void a_candidate_hears_on_when_the_old_host_does_not_answer(void **unused)
{
    (void)unused;
    static const struct way patient = {.one = "a", .two = "b", .budget_ns = 5000 * MS};
    struct fixture fixture;
    begin(&fixture, &patient);
    fixture_step(&fixture, 100);
    struct srv_node_change *change =
        fixture_make_swap(&fixture, TWO, "listener", (struct srv_swap_options){.probation_ns = 300 * MS});
    (void)fixture_flip(&fixture, change);
    assert_int_equal(kill(fixture_host(&fixture, "b").pid, SIGSTOP), 0);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SETTLE, .change = change});
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    (void)srv_change_free(reply.change);
    fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 100);
    assert_heard_once(&fixture, "demo/car/two");
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rebuilt_estimator_leaves_no_trace_and_nor_does_one_that_fails),
        cmocka_unit_test(one_that_begins_anew_warms_up_beside_the_old_one),
        cmocka_unit_test(one_that_had_failed_is_revived),
        cmocka_unit_test(a_candidate_hears_on_when_the_old_host_does_not_answer),
    };
    return cmocka_run_group_tests_name("isolated swap: estimators", tests, NULL, NULL);
}
