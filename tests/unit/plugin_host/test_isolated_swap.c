/*
 * Swaps of nodes that run in a plugin host: what is different from those in the server's process. What is the same is
 * tested by the same tests (test_isolated_engine_swap, test_isolated_engine_swap_trouble).
 */
#include "fixture.h"

#include <signal.h>

#include "world/isolated.h"

#define MS INT64_C(1000000)
#define TICKS 600
#define STAMP 77777.125 /* added by `stamped` to the sum that it publishes */

enum { COUNT = 1, WITNESS, HARM };

/* A counter and a witness that looks back share a host; one that can be made to do harm has its own. */
static void begin(struct fixture *fixture, bool isolated, bool async)
{
    static const char *const groups[] = {"lab", "lab", "alone"};
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", "circle");
    (void)fixture_sensor(fixture, "count", "counter", 100, 1);
    fixture_set(fixture_sensor(fixture, "witness", "witness", 1000, 1), "delay_ms", "7.7");
    (void)fixture_sensor(fixture, "harm", "hostile_step_nothing", 200, 1);
    for (uint32_t i = 0; i < 3; i++) {
        struct srv_isolation_config *isolation = &fixture->nodes[COUNT + i].isolation;
        isolation->process = isolated;
        isolation->async = async;
        (void)snprintf(isolation->group, sizeof isolation->group, "%s", groups[i]);
    }
    fixture_start(fixture);
}

static uint64_t hash_of(struct fixture *fixture)
{
    return fixture_clock(fixture).state_hash;
}

static uint64_t undisturbed(bool async)
{
    struct fixture fixture;
    begin(&fixture, true, async);
    fixture_step(&fixture, TICKS);
    const uint64_t hash = hash_of(&fixture);
    fixture_end(&fixture);
    return hash;
}

static struct srv_group_facts host_of(struct fixture *fixture, const char *name)
{
    struct srv_group_facts facts;
    for (uint32_t i = 0; srv_engine_group(fixture->engine, i, &facts); i++) {
        if (strcmp(facts.name, name) == 0) {
            return facts;
        }
    }
    fail_msg("there is no plugin host '%s'", name);
    return facts;
}

/* The keeper says a moment after the flip whose process it is now. */
static int32_t wait_other_host(struct fixture *fixture, const char *name, int32_t pid)
{
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    int32_t now = pid;
    while (now == pid || now == 0) {
        assert_true(fixture_now_ns() < deadline_ns);
        now = host_of(fixture, name).pid;
    }
    return now;
}

static void wait_told(struct fixture *fixture, const char *words)
{
    struct oto_event_record event;
    const int64_t deadline_ns = fixture_now_ns() + FIXTURE_PATIENCE_NS;
    while (!fixture_event(fixture, OTO_EVENT_PLUGIN_HOST, words, &event)) {
        if (fixture_now_ns() > deadline_ns) {
            fail_msg("no event said '%s'", words);
        }
        fixture_step(fixture, 1);
    }
}

static struct srv_node_change *with_params(struct fixture *fixture, const char *yaml, struct srv_swap_options options)
{
    char path[512];
    options.params_path = fixture_params(path, sizeof path, yaml);
    struct srv_node_change *change = fixture_make_swap(fixture, COUNT, "counter_by_ten", options);
    (void)unlink(path);
    return change;
}

/* No sample is missing, none is stale, none carries another's number. */
static void assert_whole(struct fixture *fixture, const char *topic, uint64_t samples)
{
    struct witness_record largest; /* of the records here */
    assert_int_equal(fixture_latest(fixture, topic, &largest).seq, samples);
    for (uint64_t seq = samples > 50 ? samples - 50 : 1; seq <= samples; seq++) {
        const struct oto_sample_head head = fixture_record(fixture, topic, seq, &largest);
        assert_int_equal(head.flags & OTO_SAMPLE_STALE, 0);
        const struct oto_sample_head before = seq > 1 ? fixture_record(fixture, topic, seq - 1, &largest) : head;
        assert_true(seq == 1 || head.t_ns > before.t_ns);
    }
}

static void assert_all_whole(struct fixture *fixture)
{
    const bool async = host_of(fixture, "lab").async; /* the last samples are published in the next tick */
    assert_whole(fixture, "demo/car/count", TICKS / 10 - async);
    assert_whole(fixture, "demo/car/witness", TICKS - async);
    assert_whole(fixture, "demo/car/harm", TICKS / 5 - async);
    assert_int_equal(fixture_counter(fixture, OTO_COUNTER_STALE), 0);
    assert_int_equal(fixture_counter(fixture, OTO_COUNTER_QUARANTINED), 0);
}

/* ---- the same bits ---- */

static uint64_t run_swaps(bool isolated)
{
    struct fixture fixture;
    const struct srv_swap_options probation = {.probation_ns = 50 * MS};
    begin(&fixture, isolated, false);
    fixture_step(&fixture, 105);
    (void)fixture_flip(&fixture, with_params(&fixture, "increment: 10", probation));
    fixture_step(&fixture, 100);
    struct srv_node_change *change = fixture_make_swap(&fixture, WITNESS, "watcher", (struct srv_swap_options){0});
    (void)srv_change_free(fixture_flip(&fixture, change).change);
    fixture_step(&fixture, 95);
    change = fixture_make_swap(&fixture, COUNT, "counter_state_2", (struct srv_swap_options){0});
    (void)srv_change_free(fixture_flip(&fixture, change).change);
    assert_int_equal(fixture_change(&fixture, COUNT, "increment", "0.125").status, OTO_OK);
    fixture_step(&fixture, TICKS - 300);
    struct counter_record record;
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, 10.0 + 20.0 * 10.0 + 30.0 * 0.125, 0.0); /* kept, then migrated */
    const uint64_t hash = hash_of(&fixture);
    fixture_end(&fixture);
    return hash;
}

static void swaps_in_a_host_give_the_bits_of_those_in_the_server(void **unused)
{
    (void)unused;
    assert_int_equal(run_swaps(true), run_swaps(false));
}

static void rebuild(uint32_t node, bool async, int64_t probation_ns, uint64_t hash)
{
    static const char *const plugins[] = {"counter", "witness_again", "hostile_step_nothing"};
    const char *host = node == HARM ? "alone" : "lab";
    const struct srv_swap_options options = {.shadow_ns = 20 * MS, .probation_ns = probation_ns};
    struct fixture fixture;
    begin(&fixture, true, async);
    fixture_step(&fixture, 101);
    struct srv_node_change *change = fixture_make_swap(&fixture, node, plugins[node - COUNT], options);
    const int32_t pid = host_of(&fixture, host).pid;
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 20);
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    if (reply.settling) {
        assert_int_equal(fixture_settle(&fixture, change, TICKS - 121).status, OTO_OK);
    } else {
        (void)srv_change_free(reply.change);
        fixture_step(&fixture, TICKS - 121);
    }
    (void)wait_other_host(&fixture, host, pid);
    assert_int_equal(hash_of(&fixture), hash);
    assert_all_whole(&fixture);
    fixture_end(&fixture);
}

static void a_rebuilt_plugin_leaves_no_trace(void **unused)
{
    (void)unused;
    for (int async = 0; async <= 1; async++) {
        const uint64_t hash = undisturbed(async);
        for (uint32_t node = COUNT; node <= HARM; node++) {
            rebuild(node, async, 50 * MS, hash);
            rebuild(node, async, 0, hash);
        }
    }
}

/* Sample 11 is taken in the tick before the flip and published in the one after it. */
static uint64_t newest_across_the_flip(struct srv_node_change *(*make)(struct fixture *), double *value)
{
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture, true, true);
    fixture_step(&fixture, 109);
    struct srv_node_change *change = make(&fixture);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 2);
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    assert_int_equal(reply.tick, 110);
    (void)srv_change_free(reply.change);
    const uint64_t seq = fixture_latest(&fixture, "demo/car/count", &record).seq;
    *value = record.value;
    fixture_end(&fixture);
    return seq;
}

static struct srv_node_change *make_stamped(struct fixture *fixture)
{
    return fixture_make_swap(fixture, COUNT, "stamped", (struct srv_swap_options){0});
}

static struct srv_node_change *make_discarding(struct fixture *fixture)
{
    return with_params(fixture, "{trouble: discard, at: 1}", (struct srv_swap_options){0});
}

static void in_mode_async_the_sample_that_waits_is_the_candidates(void **unused)
{
    (void)unused;
    double value;
    assert_int_equal(newest_across_the_flip(make_stamped, &value), 11);
    assert_near(value, STAMP + 11.0, 0.0);
    assert_int_equal(newest_across_the_flip(make_discarding, &value), 10);
}

/* ---- candidates that end their host, or hold it ---- */

struct harm {
    const char *plugin, *why, *told;
    bool resets; /* then its fifth step does harm, else its first */
};

static void falls_back(const struct harm *harm, int64_t shadow_ns, bool async, uint64_t hash)
{
    struct fixture fixture;
    struct oto_event_record event;
    const struct srv_swap_options options = {
        .shadow_ns = shadow_ns, .probation_ns = 1000 * MS, .reset_state = harm->resets};
    begin(&fixture, true, async);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = fixture_make_swap(&fixture, HARM, harm->plugin, options);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 40);
    const struct srv_reply reply = fixture_await(&fixture, id);
    if (shadow_ns > 0) {
        assert_int_equal(reply.status, OTO_PLUGIN);
        assert_string_equal(reply.reason, harm->why);
        (void)srv_change_free(reply.change);
        assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_SWAPS_REFUSED), 1);
        fixture_step(&fixture, TICKS - 140);
    } else {
        assert_int_equal(reply.status, OTO_OK);
        assert_int_equal(fixture_settle(&fixture, change, TICKS - 140).status, OTO_PLUGIN);
        assert_true(fixture_event(&fixture, OTO_EVENT_SWAP_ROLLED_BACK, harm->why, &event));
    }
    assert_int_equal(hash_of(&fixture), hash);
    assert_all_whole(&fixture);
    assert_int_equal(host_of(&fixture, "alone").restarts, 0);
    if (harm->told != NULL) {
        wait_told(&fixture, harm->told);
        assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_HOST, "a swap's candidate", &event));
        assert_string_equal(event.source, "demo/car/harm");
    }
    fixture_end(&fixture);
}

static void what_ends_its_host_is_rolled_back_within_the_sample(void **unused)
{
    (void)unused;
    static const struct harm harms[] = {
        {"hostile_step_null", "ended its plugin host", "SIGSEGV", false},
        {"hostile_step_null", "ended its plugin host", "SIGSEGV", true},
        {"hostile_step_exit", "ended its plugin host", "ended with code 0", true},
        {"hostile_step_loop", "did not answer in time", NULL, true},
        {"hostile_step_flood", "did not answer in time", NULL, true},
        {"hostile_step_scribble", "ended its plugin host", NULL, true},
    };
    for (int async = 0; async <= 1; async++) {
        const uint64_t hash = undisturbed(async);
        for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
            falls_back(&harms[i], 0, async, hash);
            falls_back(&harms[i], 100 * MS, async, hash);
        }
    }
}

static void expect_refused(const char *plugin, const char *why, enum oto_status expected, uint64_t hash)
{
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    char path[512];
    const struct srv_swap_options options = {.plugin = fixture_plugin(path, sizeof path, plugin)};
    begin(&fixture, true, false);
    fixture_step(&fixture, 100);
    enum oto_status status = srv_swap_load(fixture.engine, HARM, &options, &change, &error);
    status = status == OTO_OK ? srv_swap_ready(fixture.engine, change, &error) : status;
    if (status == OTO_OK) {
        const struct srv_command swap = {.kind = SRV_COMMAND_SWAP, .change = change};
        const struct srv_reply reply = fixture_command(&fixture, swap);
        status = oto_fail(&error, reply.status, "%s", reply.reason);
    }
    assert_int_equal(status, expected);
    if (strstr(error.text, why) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, why);
    }
    (void)srv_change_free(change);
    fixture_step(&fixture, TICKS - 100);
    assert_int_equal(hash_of(&fixture), hash);
    assert_all_whole(&fixture);
    fixture_end(&fixture);
}

static void what_fails_before_the_flip_leaves_the_run_as_it_was(void **unused)
{
    (void)unused;
    const uint64_t hash = undisturbed(false);
    expect_refused("hostile_load_null", "SIGSEGV", OTO_PLUGIN, hash);
    expect_refused("hostile_prepare_null", "in prepare", OTO_PLUGIN, hash);
    expect_refused("hostile_init_exit", "ended with code 0", OTO_PLUGIN, hash);
    expect_refused("hostile_validate_null", "ended its plugin host", OTO_PLUGIN, hash);
    expect_refused("hostile_validate_loop", "did not answer in time", OTO_PLUGIN, hash);
    expect_refused("counter", "publishes records 'hostile'", OTO_INVALID, hash);
}

/* ---- the group ---- */

static void a_host_has_one_swap_at_a_time(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct srv_swap_options options = {.probation_ns = 100 * MS};
    const uint64_t hash = undisturbed(false);
    begin(&fixture, true, false);
    fixture_step(&fixture, 100);
    struct srv_node_change *first = fixture_make_swap(&fixture, COUNT, "counter", options);
    struct srv_node_change *second = fixture_make_swap(&fixture, WITNESS, "witness_again", options);
    (void)fixture_flip(&fixture, first);
    struct srv_reply reply = fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = second});
    assert_int_equal(reply.status, OTO_CONFLICT);
    assert_non_null(strstr(reply.reason, "another node in its plugin host"));
    reply = fixture_change(&fixture, WITNESS, "delay_ms", "3");
    assert_int_equal(reply.status, OTO_CONFLICT);
    assert_non_null(strstr(reply.reason, "a swap of a node in its plugin host"));
    assert_int_equal(fixture_settle(&fixture, first, 150).status, OTO_OK);
    reply = fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = second});
    assert_int_equal(reply.status, OTO_CONFLICT); /* it was made ready beside the plugin that has gone */
    (void)srv_change_free(second);
    (void)fixture_flip(&fixture, fixture_make_swap(&fixture, WITNESS, "witness_again", options));
    fixture_step(&fixture, TICKS - 250);
    assert_int_equal(hash_of(&fixture), hash);
    assert_all_whole(&fixture);
    fixture_end(&fixture);
}

/* Old hosts that are killed come back with the plugins of their group, candidates do not come back. */
static void what_is_killed_from_outside_changes_nothing(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct srv_swap_options options = {.probation_ns = 200 * MS};
    const uint64_t hash = undisturbed(false);
    begin(&fixture, true, false);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = with_params(&fixture, "increment: 10", options);
    (void)fixture_flip(&fixture, change);
    fixture_step(&fixture, 100);
    const int32_t pid = host_of(&fixture, "lab").pid;
    assert_int_equal(kill(pid, SIGKILL), 0);
    fixture_step(&fixture, 50);
    const int32_t next = wait_other_host(&fixture, "lab", pid);
    assert_int_equal(fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_UNDO, .node = COUNT}).status,
                     OTO_OK);
    assert_int_equal(fixture_settle(&fixture, change, 50).status, OTO_CLOSED);
    /* Once more, kept: the next host has the plugin that was swapped in. */
    change = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, change);
    assert_int_equal(fixture_settle(&fixture, change, 200).status, OTO_OK);
    assert_int_equal(kill(wait_other_host(&fixture, "lab", next), SIGKILL), 0);
    fixture_step(&fixture, TICKS - 500);
    assert_int_equal(host_of(&fixture, "lab").restarts, 2);
    assert_int_equal(hash_of(&fixture), hash);
    assert_all_whole(&fixture);
    fixture_end(&fixture);
}

/* Two probations one after the other, and changes of the group that were made ready beside each. */
static void a_change_that_was_made_ready_beside_a_candidate_comes_too_late(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change[2];
    const struct srv_swap_options options = {.probation_ns = 100 * MS};
    begin(&fixture, true, false);
    struct srv_node_change *first = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, first);
    assert_ok(srv_change_parameter(fixture.engine, WITNESS, "delay_ms", "3", &change[0], &error), error);
    struct srv_node_change *second = fixture_make_swap(&fixture, COUNT, "stamped", options);
    (void)fixture_flip(&fixture, second);
    assert_ok(srv_change_parameter(fixture.engine, WITNESS, "delay_ms", "3", &change[1], &error), error);
    assert_int_equal(fixture_settle(&fixture, first, 0).status, OTO_OK);
    assert_int_equal(fixture_settle(&fixture, second, 150).status, OTO_OK);
    for (size_t i = 0; i < 2; i++) {
        const struct srv_command command = {.kind = SRV_COMMAND_PARAMS, .node = WITNESS, .change = change[i]};
        assert_int_equal(fixture_command(&fixture, command).status, OTO_CONFLICT);
        (void)srv_change_free(change[i]);
    }
    assert_int_equal(fixture_change(&fixture, WITNESS, "delay_ms", "3").status, OTO_OK);
    fixture_step(&fixture, 100);
    struct counter_record record;
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, STAMP + 25.0, 0.0);
    fixture_end(&fixture);
}

static void swap_stamped(struct fixture *fixture)
{
    struct srv_node_change *change = fixture_make_swap(fixture, COUNT, "stamped", (struct srv_swap_options){0});
    (void)srv_change_free(fixture_flip(fixture, change).change);
}

static void the_next_host_has_the_plugin_that_was_swapped_in(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture, true, false);
    fixture_step(&fixture, 100);
    const int32_t pid = host_of(&fixture, "lab").pid;
    swap_stamped(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(kill(wait_other_host(&fixture, "lab", pid), SIGKILL), 0);
    fixture_step(&fixture, 100);
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, STAMP + 30.0, 0.0);
    assert_int_equal(host_of(&fixture, "lab").restarts, 1);
    fixture_end(&fixture);
}

static void a_swap_revives_a_node_that_ended_its_host_too_often(void **unused)
{
    (void)unused;
    struct fixture fixture;
    uint64_t n;
    begin(&fixture, true, false);
    fixture_step(&fixture, 100);
    struct srv_node_change *change =
        fixture_make_swap(&fixture, HARM, "hostile_step_null", (struct srv_swap_options){0});
    (void)srv_change_free(fixture_flip(&fixture, change).change);
    fixture_step(&fixture, 100);
    fixture_wait_counter(&fixture, OTO_COUNTER_QUARANTINED, 1);
    const uint64_t seq = fixture_latest(&fixture, "demo/car/harm", &n).seq;
    const uint64_t tick = fixture_clock(&fixture).tick;
    change = fixture_make_swap(&fixture, HARM, "hostile_step_nothing", (struct srv_swap_options){0});
    (void)srv_change_free(fixture_flip(&fixture, change).change);
    fixture_step(&fixture, 100);
    assert_int_equal(fixture_latest(&fixture, "demo/car/harm", &n).seq, seq + 20);
    assert_int_equal(n, (tick + 100) / 5); /* its numbers went on */
    assert_true(host_of(&fixture, "alone").pid > 0);
    fixture_end(&fixture);
}

static void a_paced_run_misses_no_sample(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    const struct srv_swap_options options = {.probation_ns = 50 * MS, .budget_ns = 0};
    begin(&fixture, true, false);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    fixture_wait_tick(&fixture, 50);
    struct srv_node_change *change = with_params(&fixture, "increment: 10", options);
    (void)fixture_flip(&fixture, change);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SETTLE, .change = change});
    const struct srv_reply end = fixture_await(&fixture, id);
    assert_int_equal(end.status, OTO_OK);
    (void)srv_change_free(end.change);
    fixture_wait_tick(&fixture, fixture_counter(&fixture, OTO_COUNTER_TICKS) + 50);
    const uint64_t last = fixture_latest(&fixture, "demo/car/count", &record).seq;
    for (uint64_t seq = 1; seq <= last; seq++) {
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/count", seq, &record);
        assert_int_equal(head.t_ns, (int64_t)seq * 10 * MS);
        assert_int_equal(record.n, seq);
    }
    fixture_end(&fixture);
}

static void wait_while_stopped(struct fixture *fixture, int32_t old_pid)
{
    const uint64_t stale = fixture_counter(fixture, OTO_COUNTER_STALE);
    const int32_t pid = wait_other_host(fixture, "lab", old_pid);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    (void)fixture_do(fixture, SRV_COMMAND_RESUME);
    fixture_wait_counter(fixture, OTO_COUNTER_STALE, stale + 30);
    (void)kill(pid, SIGCONT); /* on a slow machine it was ended as stuck, and another runs */
    (void)fixture_do(fixture, SRV_COMMAND_PAUSE);
    fixture_step(fixture, 50);
}

/* A plugin that has published nothing yet has nothing to be repeated; later it is its own. */
static void what_is_repeated_is_of_the_plugin_that_was_swapped_in(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    begin(&fixture, true, false);
    fixture_step(&fixture, 50);
    const int32_t old_pid = host_of(&fixture, "lab").pid;
    swap_stamped(&fixture);
    wait_while_stopped(&fixture, old_pid);
    const uint64_t first = fixture_latest(&fixture, "demo/car/count", &record).seq;
    assert_true(first > 5);
    wait_while_stopped(&fixture, old_pid);
    uint32_t repeated = 0;
    const uint64_t last = fixture_latest(&fixture, "demo/car/count", &record).seq;
    for (uint64_t seq = 6; seq <= last; seq++) {
        const struct oto_sample_head head = fixture_record(&fixture, "demo/car/count", seq, &record);
        repeated += seq > first && (head.flags & OTO_SAMPLE_STALE) != 0;
        assert_true(record.value > STAMP);
    }
    assert_true(repeated > 0);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swaps_in_a_host_give_the_bits_of_those_in_the_server),
        cmocka_unit_test(a_rebuilt_plugin_leaves_no_trace),
        cmocka_unit_test(in_mode_async_the_sample_that_waits_is_the_candidates),
        cmocka_unit_test(what_ends_its_host_is_rolled_back_within_the_sample),
        cmocka_unit_test(what_fails_before_the_flip_leaves_the_run_as_it_was),
        cmocka_unit_test(a_host_has_one_swap_at_a_time),
        cmocka_unit_test(what_is_killed_from_outside_changes_nothing),
        cmocka_unit_test(a_change_that_was_made_ready_beside_a_candidate_comes_too_late),
        cmocka_unit_test(the_next_host_has_the_plugin_that_was_swapped_in),
        cmocka_unit_test(a_swap_revives_a_node_that_ended_its_host_too_often),
        cmocka_unit_test(a_paced_run_misses_no_sample),
        cmocka_unit_test(what_is_repeated_is_of_the_plugin_that_was_swapped_in),
    };
    return cmocka_run_group_tests_name("isolated swap", tests, NULL, NULL);
}
