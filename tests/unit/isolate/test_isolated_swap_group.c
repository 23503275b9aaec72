/* Swaps of isolated nodes: the hosts of their groups, before and after. */
#include "swap_world.h"

#include <signal.h>

static void a_host_has_one_swap_at_a_time(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct srv_swap_options options = {.probation_ns = 100 * MS};
    const uint64_t hash = swap_world_undisturbed(false);
    swap_world_begin(&fixture, true, false);
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
    assert_int_equal(swap_world_hash(&fixture), hash);
    swap_world_assert_whole(&fixture);
    fixture_end(&fixture);
}

/* Old hosts that are killed come back with the plugins of their group, candidates do not come back. */
static void what_is_killed_from_outside_changes_nothing(void **unused)
{
    (void)unused;
    struct fixture fixture;
    const struct srv_swap_options options = {.probation_ns = 200 * MS};
    const uint64_t hash = swap_world_undisturbed(false);
    swap_world_begin(&fixture, true, false);
    fixture_step(&fixture, 100);
    struct srv_node_change *change = swap_world_with_params(&fixture, "increment: 10", options);
    (void)fixture_flip(&fixture, change);
    fixture_step(&fixture, 100);
    const int32_t pid = fixture_host(&fixture, "lab").pid;
    assert_int_equal(kill(pid, SIGKILL), 0);
    fixture_step(&fixture, 50);
    const int32_t next = fixture_other_host(&fixture, "lab", pid);
    assert_int_equal(fixture_command(&fixture, (struct srv_command){.kind = SRV_COMMAND_UNDO, .node = COUNT}).status,
                     OTO_OK);
    assert_int_equal(fixture_settle(&fixture, change, 50).status, OTO_CLOSED);
    /* Once more, kept: the next host has the plugin that was swapped in. */
    change = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, change);
    assert_int_equal(fixture_settle(&fixture, change, 200).status, OTO_OK);
    assert_int_equal(kill(fixture_other_host(&fixture, "lab", next), SIGKILL), 0);
    fixture_step(&fixture, TICKS - 500);
    assert_int_equal(fixture_host(&fixture, "lab").restarts, 2);
    assert_int_equal(swap_world_hash(&fixture), hash);
    swap_world_assert_whole(&fixture);
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
    swap_world_begin(&fixture, true, false);
    struct srv_node_change *first = fixture_make_swap(&fixture, COUNT, "counter", options);
    (void)fixture_flip(&fixture, first);
    assert_ok(srv_sim_change_parameter(srv_engine_sim(fixture.engine), WITNESS, "delay_ms", "3", &change[0], &error), error);
    struct srv_node_change *second = fixture_make_swap(&fixture, COUNT, "stamped", options);
    (void)fixture_flip(&fixture, second);
    assert_ok(srv_sim_change_parameter(srv_engine_sim(fixture.engine), WITNESS, "delay_ms", "3", &change[1], &error), error);
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
    swap_world_begin(&fixture, true, false);
    fixture_step(&fixture, 100);
    const int32_t pid = fixture_host(&fixture, "lab").pid;
    swap_stamped(&fixture);
    fixture_step(&fixture, 100);
    assert_int_equal(kill(fixture_other_host(&fixture, "lab", pid), SIGKILL), 0);
    fixture_step(&fixture, 100);
    (void)fixture_latest(&fixture, "demo/car/count", &record);
    assert_near(record.value, STAMP + 30.0, 0.0);
    assert_int_equal(fixture_host(&fixture, "lab").restarts, 1);
    fixture_end(&fixture);
}

static void a_swap_revives_a_node_that_ended_its_host_too_often(void **unused)
{
    (void)unused;
    struct fixture fixture;
    uint64_t n;
    swap_world_begin(&fixture, true, false);
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
    assert_true(fixture_other_host(&fixture, "alone", 0) > 0);
    fixture_end(&fixture);
}

static void a_paced_run_misses_no_sample(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    const struct srv_swap_options options = {.probation_ns = 50 * MS, .budget_ns = 0};
    swap_world_make(&fixture, true, false);
    for (uint32_t i = 0; i < 3; i++) { /* a host of a busy machine may need longer than the default */
        fixture.nodes[COUNT + i].isolation.budget_ns = FIXTURE_PATIENCE_NS;
    }
    fixture_start(&fixture);
    (void)fixture_do(&fixture, SRV_COMMAND_RESUME);
    fixture_wait_tick(&fixture, 50);
    struct srv_node_change *change = swap_world_with_params(&fixture, "increment: 10", options);
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
    const int32_t pid = fixture_other_host(fixture, "lab", old_pid);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    (void)fixture_do(fixture, SRV_COMMAND_RESUME);
    fixture_wait_counter(fixture, OTO_COUNTER_STALE, stale + 30);
    (void)fixture_do(fixture, SRV_COMMAND_PAUSE);
    const uint64_t id = fixture_post(fixture, (struct srv_command){.kind = SRV_COMMAND_STEP, .ticks = 50}); /* waits for the late answer */
    (void)kill(pid, SIGCONT); /* on a slow machine it was ended as stuck, and another runs */
    assert_int_equal(fixture_await(fixture, id).status, OTO_OK);
}

/* A plugin that has published nothing yet has nothing to be repeated; later it is its own. */
static void what_is_repeated_is_of_the_plugin_that_was_swapped_in(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct counter_record record;
    swap_world_begin(&fixture, true, false);
    fixture_step(&fixture, 50);
    const int32_t old_pid = fixture_host(&fixture, "lab").pid;
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
        cmocka_unit_test(a_host_has_one_swap_at_a_time),
        cmocka_unit_test(what_is_killed_from_outside_changes_nothing),
        cmocka_unit_test(a_change_that_was_made_ready_beside_a_candidate_comes_too_late),
        cmocka_unit_test(the_next_host_has_the_plugin_that_was_swapped_in),
        cmocka_unit_test(a_swap_revives_a_node_that_ended_its_host_too_often),
        cmocka_unit_test(a_paced_run_misses_no_sample),
        cmocka_unit_test(what_is_repeated_is_of_the_plugin_that_was_swapped_in),
    };
    return cmocka_run_group_tests_name("isolated swap: groups", tests, NULL, NULL);
}
