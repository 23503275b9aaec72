/*
 * Swaps of nodes that run in a plugin host: what is different from those in the server's process. What is the same is
 * tested by the same tests (test_isolated_engine_swap, test_isolated_engine_swap_trouble).
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "swap_world.h"

/* ---- the same bits ---- */

static uint64_t run_swaps(bool isolated)
{
    struct fixture fixture;
    const struct srv_swap_options probation = {.probation_ns = 50 * MS};
    swap_world_begin(&fixture, isolated, false);
    fixture_step(&fixture, 105);
    (void)fixture_flip(&fixture, swap_world_with_params(&fixture, "increment: 10", probation));
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
    const uint64_t hash = swap_world_hash(&fixture);
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
    swap_world_begin(&fixture, true, async);
    fixture_step(&fixture, 101);
    struct srv_node_change *change = fixture_make_swap(&fixture, node, plugins[node - COUNT], options);
    const int32_t pid = fixture_host(&fixture, host).pid;
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
    (void)fixture_other_host(&fixture, host, pid);
    assert_int_equal(swap_world_hash(&fixture), hash);
    swap_world_assert_whole(&fixture);
    fixture_end(&fixture);
}

static void a_rebuilt_plugin_leaves_no_trace(void **unused)
{
    (void)unused;
    for (int async = 0; async <= 1; async++) {
        const uint64_t hash = swap_world_undisturbed(async);
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
    swap_world_begin(&fixture, true, true);
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
    return swap_world_with_params(fixture, "{trouble: discard, at: 1}", (struct srv_swap_options){0});
}

static void in_mode_async_the_sample_that_waits_is_the_candidates(void **unused)
{
    (void)unused;
    double value;
    assert_int_equal(newest_across_the_flip(make_stamped, &value), 11);
    assert_near(value, STAMP + 11.0, 0.0);
    assert_int_equal(newest_across_the_flip(make_discarding, &value), 10);
}

static void *go_on_later(void *pid)
{
    const struct timespec pause = {0, 200000000}; /* longer than the budget of a paced tick */
    (void)nanosleep(&pause, NULL);
    (void)kill(*(const int32_t *)pid, SIGCONT);
    return NULL;
}

/* Mode async leaves the request of the last tick open across the boundary at which a swap begins. */
static void a_swap_between_steps_waits_for_the_sample_that_is_under_way(void **unused)
{
    (void)unused;
    const uint64_t hash = swap_world_undisturbed(true);
    struct fixture fixture;
    pthread_t thread;
    swap_world_begin(&fixture, true, true);
    fixture_step(&fixture, 99);
    struct srv_node_change *change = fixture_make_swap(&fixture, HARM, "hostile_step_nothing", (struct srv_swap_options){0});
    int32_t pid = fixture_host(&fixture, "alone").pid;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    fixture_step(&fixture, 1);
    assert_int_equal(pthread_create(&thread, NULL, go_on_later, &pid), 0);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, TICKS - 100);
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    (void)srv_change_free(reply.change);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(swap_world_hash(&fixture), hash);
    swap_world_assert_whole(&fixture);
    fixture_end(&fixture);
}

/* ---- candidates that end their host, or hold it ---- */

struct harm {
    const char *plugin, *why, *told;
    bool resets; /* then its fifth step does harm, else its first */
};

/* The end of a host may be seen later than the timeout of its candidate, which is refused in any case. */
static const char too_slow[] = "did not answer in time";

static void begin_impatient(struct fixture *fixture, bool async)
{
    swap_world_make(fixture, true, async);
    fixture->options.candidate_timeout_ns = 500 * MS;
    fixture_start(fixture);
}

/* Whether its end was seen in time. */
static bool falls_back(const struct harm *harm, int64_t shadow_ns, bool async, uint64_t hash)
{
    bool seen = true;
    struct fixture fixture;
    struct oto_event_record event;
    const struct srv_swap_options options = {
        .shadow_ns = shadow_ns, .probation_ns = 1000 * MS, .reset_state = harm->resets};
    begin_impatient(&fixture, async);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = fixture_make_swap(&fixture, HARM, harm->plugin, options);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 40);
    const struct srv_reply reply = fixture_await(&fixture, id);
    if (shadow_ns > 0 || reply.status != OTO_OK) { /* a slow host may not even have taken the state in time */
        assert_int_equal(reply.status, OTO_PLUGIN);
        seen = strcmp(reply.reason, harm->why) == 0;
        assert_true(seen || strstr(reply.reason, too_slow) != NULL);
        (void)srv_change_free(reply.change);
        assert_int_equal(fixture_counter(&fixture, OTO_COUNTER_SWAPS_REFUSED), 1);
        fixture_step(&fixture, TICKS - 140);
    } else {
        assert_int_equal(reply.status, OTO_OK);
        assert_int_equal(fixture_settle(&fixture, change, TICKS - 140).status, OTO_PLUGIN);
        seen = fixture_event(&fixture, OTO_EVENT_SWAP_ROLLED_BACK, harm->why, &event);
        assert_true(seen || fixture_event(&fixture, OTO_EVENT_SWAP_ROLLED_BACK, too_slow, &event));
    }
    if (swap_world_hash(&fixture) != hash) {
        fail_msg("%s, shadow %lld ms, async %d, end seen %d, stale samples %llu: the run is another one", harm->plugin,
                 (long long)(shadow_ns / MS), async, seen, (unsigned long long)fixture_counter(&fixture, OTO_COUNTER_STALE));
    }
    swap_world_assert_whole(&fixture);
    if (seen && harm->told != NULL) {
        swap_world_wait_told(&fixture, harm->told);
        assert_true(fixture_event(&fixture, OTO_EVENT_PLUGIN_HOST, "a swap's candidate", &event));
        assert_string_equal(event.source, "demo/car/harm");
    }
    fixture_end(&fixture);
    return seen && harm->told != NULL;
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
    uint32_t seen = 0;
    for (int async = 0; async <= 1; async++) {
        const uint64_t hash = swap_world_undisturbed(async);
        for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
            seen += falls_back(&harms[i], 0, async, hash);
            seen += falls_back(&harms[i], 100 * MS, async, hash);
        }
    }
    assert_true(seen > 0);
}

static void expect_refused(const char *plugin, const char *why, enum oto_status expected, uint64_t hash)
{
    struct fixture fixture;
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    char path[512];
    const struct srv_swap_options options = {.plugin = fixture_plugin(path, sizeof path, plugin)};
    begin_impatient(&fixture, false);
    fixture_step(&fixture, 100);
    enum oto_status status = srv_sim_swap_load(srv_engine_sim(fixture.engine), HARM, &options, &change, &error);
    status = status == OTO_OK ? srv_sim_swap_ready(srv_engine_sim(fixture.engine), change, &error) : status;
    if (status == OTO_OK) {
        const struct srv_command swap = {.kind = SRV_COMMAND_SWAP, .change = change};
        const struct srv_reply reply = fixture_command(&fixture, swap);
        status = oto_fail(&error, reply.status, "%s", reply.reason);
    }
    assert_int_equal(status, expected);
    if (strstr(error.text, why) == NULL && strstr(error.text, too_slow) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, why);
    }
    (void)srv_change_free(change);
    fixture_step(&fixture, TICKS - 100);
    assert_int_equal(swap_world_hash(&fixture), hash);
    swap_world_assert_whole(&fixture);
    fixture_end(&fixture);
}

static void what_fails_before_the_flip_leaves_the_run_as_it_was(void **unused)
{
    (void)unused;
    const uint64_t hash = swap_world_undisturbed(false);
    expect_refused("hostile_load_null", "SIGSEGV", OTO_PLUGIN, hash);
    expect_refused("hostile_prepare_null", "in prepare", OTO_PLUGIN, hash);
    expect_refused("hostile_init_exit", "ended with code 0", OTO_PLUGIN, hash);
    expect_refused("hostile_validate_null", "ended its plugin host", OTO_PLUGIN, hash);
    expect_refused("hostile_validate_loop", "did not answer in time", OTO_PLUGIN, hash);
    expect_refused("counter", "publishes records 'hostile'", OTO_INVALID, hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swaps_in_a_host_give_the_bits_of_those_in_the_server),
        cmocka_unit_test(a_rebuilt_plugin_leaves_no_trace),
        cmocka_unit_test(in_mode_async_the_sample_that_waits_is_the_candidates),
        cmocka_unit_test(a_swap_between_steps_waits_for_the_sample_that_is_under_way),
        cmocka_unit_test(what_ends_its_host_is_rolled_back_within_the_sample),
        cmocka_unit_test(what_fails_before_the_flip_leaves_the_run_as_it_was),
    };
    return cmocka_run_group_tests_name("isolated swap", tests, NULL, NULL);
}
