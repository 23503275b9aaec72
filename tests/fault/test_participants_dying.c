/* Participants that die, stop, are late, join and leave: the policy is applied, and no other participant is affected.
 */
#include "hostile_player.h"

/* ---- dying and stopping ---- */

static void after_a_death_vehicles_hold_and_another_process_may_go_on(void **state)
{
    struct fixture *f = *state;
    begin(f, WORLD("realtime", "on_timeout: hold, timeout_ms: 10000"));
    (void)play(f, 0, "physics");
    wait_for(told(f, "joined"));
    world_advance(f->client, 50);
    wait_for((truth_flags(f) & OTO_SAMPLE_STALE) == 0);
    assert_int_equal(kill(f->players[0], SIGKILL), 0);
    wait_for(told(f, "left"));
    world_advance(f->client, 50);
    assert_true((truth_flags(f) & OTO_SAMPLE_STALE) != 0);
    assert_true(world_counter(f->client, OTO_COUNTER_PARTICIPANT_HELD) >= 50);
    end_players(f);
    (void)play(f, 0, "physics");
    wait_for((truth_flags(f) & OTO_SAMPLE_STALE) == 0);
    world_advance(f->client, 50);
    assert_int_equal(world_stop(&f->world), 0);
}

static void the_world_waits_for_one_that_died_and_is_not_deaf_meanwhile(void **state)
{
    struct fixture *f = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    begin(f, WORLD("lockstep", "on_timeout: wait, wait_limit_s: 3600"));
    wait_for(told(f, "has not joined yet"));
    assert_int_equal(world_tick(f->client), 0);
    (void)play(f, 0, "physics");
    world_advance(f->client, 50);
    assert_int_equal(kill(f->players[0], SIGKILL), 0);
    wait_for(told(f, "waits for it to come back"));
    const uint64_t tick = world_tick(f->client);
    assert_answers(f);
    assert_ok(oto_control_pause(f->client, &reply, &error), error);
    assert_ok(oto_control_resume(f->client, &reply, &error), error);
    assert_int_equal(world_tick(f->client), tick);
    end_players(f);
    (void)play(f, 0, "physics");
    world_advance(f->client, 50);
    assert_int_equal(world_counter(f->client, OTO_COUNTER_PARTICIPANT_HELD), 0);
    end_players(f);
    assert_int_equal(world_stop(&f->world), 0); /* also while it waits */
}

static void waiting_ends_at_its_limit(void **state)
{
    struct fixture *f = *state;
    begin(f, WORLD("lockstep", "on_timeout: wait, timeout_ms: 100, wait_limit_s: 10"));
    (void)play(f, 0, "physics");
    world_advance(f->client, 20);
    assert_int_equal(kill(f->players[0], SIGSTOP), 0);
    wait_for(state_of(f) == OTO_SERVER_FAULT);
    assert_true(told(f, "within the wait limit"));
    assert_true(world_counter(f->client, OTO_COUNTER_PARTICIPANT_LATE) >= 1);
    end_players(f);
    (void)world_stop(&f->world);
}

static void a_stopped_process_is_not_waited_for_again_and_again(void **state)
{
    struct fixture *f = *state;
    begin(f, WORLD("realtime", "on_timeout: hold, timeout_ms: 1000"));
    (void)play(f, 0, "physics");
    wait_for(told(f, "joined"));
    world_advance(f->client, 50);
    assert_int_equal(kill(f->players[0], SIGSTOP), 0);
    wait_for(told(f, "did not answer in time"));
    world_advance(f->client, 50); /* on a busy machine that may have been told before it was stopped */
    const uint64_t late = world_counter(f->client, OTO_COUNTER_PARTICIPANT_LATE);
    world_advance(f->client, 500); /* with a second for each it would take eight minutes */
    assert_int_equal(world_counter(f->client, OTO_COUNTER_PARTICIPANT_LATE), late);
    assert_true((truth_flags(f) & OTO_SAMPLE_STALE) != 0);
    assert_int_equal(kill(f->players[0], SIGCONT), 0);
    wait_for((truth_flags(f) & OTO_SAMPLE_STALE) == 0);
    world_advance(f->client, 50);
    assert_int_equal(world_stop(&f->world), 0);
}

static void policy_drop_takes_it_out_until_it_joins_again(void **state)
{
    struct fixture *f = *state;
    int how = 0;
    begin(f, WORLD("realtime", "on_timeout: drop, timeout_ms: 10000"));
    (void)play(f, 0, "physics");
    wait_for(told(f, "joined"));
    world_advance(f->client, 50);
    assert_int_equal(kill(f->players[0], SIGSTOP), 0);
    wait_for(told(f, "did not answer in time"));
    world_advance(f->client, 50);
    (void)play(f, 1, "physics"); /* though the stopped one still holds its connection */
    wait_for((truth_flags(f) & OTO_SAMPLE_STALE) == 0);
    assert_int_equal(kill(f->players[0], SIGCONT), 0);
    reap(f, 0, &how); /* it gets the notice that it was dropped, and ends in order */
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    world_advance(f->client, 50);
    wait_for((truth_flags(f) & OTO_SAMPLE_STALE) == 0);
    assert_int_equal(world_stop(&f->world), 0);
}

static void policy_fault_stops_the_run(void **state)
{
    struct fixture *f = *state;
    begin(f, WORLD("lockstep", "on_timeout: fault, timeout_ms: 10000"));
    (void)play(f, 0, "physics");
    world_advance(f->client, 20);
    assert_int_equal(kill(f->players[0], SIGKILL), 0);
    wait_for(state_of(f) == OTO_SERVER_FAULT);
    assert_true(told(f, "left; the run stops"));
    (void)world_stop(&f->world);
}

static void commands_are_served_while_an_answer_is_awaited(void **state)
{
    struct fixture *f = *state;
    struct oto_error error = {0};
    struct oto_reply reply;
    begin(f, WORLD("lockstep", "on_timeout: wait, timeout_ms: 600000, wait_limit_s: 3600"));
    struct oto_participant *physics = player_join("physics");
    for (int i = 0; i < 20; i++) {
        (void)player_round(physics);
    }
    (void)player_wait(physics); /* and no answer */
    for (int i = 0; i < 20; i++) {
        assert_ok(oto_control_pause(f->client, &reply, &error), error);
        assert_int_equal(reply.tick, 20);
        assert_ok(oto_control_resume(f->client, &reply, &error), error);
    }
    assert_ok(oto_control_set(f->client, "car/imu", "accelerometer.constant_bias_m_s2", "[0.1, 0, 0]", &reply, &error),
              error);
    assert_int_equal(world_stop(&f->world), 0);
    struct oto_grant grant;
    assert_int_equal(oto_participant_wait(physics, TEST_DEADLINE_MS, &grant, &error), OTO_CLOSED);
    oto_participant_leave(physics);
}

/* ---- joining ---- */

static size_t open_descriptors(pid_t pid)
{
    char path[64];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL) {
        count++;
    }
    assert_int_equal(closedir(directory), 0);
    return count;
}

static void a_storm_of_joins_and_leaves_passes(void **state)
{
    struct fixture *f = *state;
    begin(f, WORLD("realtime", "on_timeout: hold, timeout_ms: 0"));
    oto_participant_leave(player_join("physics"));
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 1);
    const size_t before = open_descriptors(f->world.pid);
    const uint64_t tick = world_tick(f->client);
    for (int i = 0; i < 200; i++) {
        struct oto_participant *physics = NULL;
        const struct oto_participant_options options = {
            .size = sizeof options, .world = WORLD_NAME, .name = "physics", .answer_ms = -1};
        /* The previous participant may not have left yet: its connection is closed, but its leave is not applied. */
        wait_for(oto_participant_join(&options, &physics, NULL) == OTO_OK);
        if (i % 2 == 0) {
            (void)player_round(physics);
        }
        oto_participant_leave(physics);
    }
    wait_for(world_counter(f->client, OTO_COUNTER_CLIENTS) == 1 && open_descriptors(f->world.pid) <= before);
    assert_true(world_tick(f->client) > tick);
    assert_answers(f);
    assert_int_equal(world_stop(&f->world), 0);
}

static void joins_that_ask_for_too_much_are_refused(void **state)
{
    struct fixture *f = *state;
    static const struct {
        struct oto_participant_options options;
        enum oto_status status;
        const char *words;
    } cases[] = {
        {{.name = "physic", .answer_ms = -1}, OTO_NOT_FOUND, "did you mean 'physics'"},
        {{.name = "", .answer_ms = -1}, OTO_INVALID, "needs a name"},
        {{.name = "physics", .answer_ms = 60000}, OTO_RANGE, "at most 100 ms"},
        {{.name = "physics", .answer_ms = -1, .step_n = 9}, OTO_RANGE, "at most 8 ticks"},
        {{.name = "physics", .answer_ms = -1, .step_n = 4000000000u}, OTO_RANGE, "at most 8 ticks"},
        {{.name = "physics", .answer_ms = -1, .on_timeout = "fault"}, OTO_DENIED, "has the policy hold"},
        {{.name = "physics", .answer_ms = -1, .on_timeout = "wait"}, OTO_DENIED, "has the policy hold"},
        {{.name = "physics", .answer_ms = -1, .on_timeout = "sulk"}, OTO_INVALID, "wait, hold, drop or fault"},
        {{.name = "physics", .answer_ms = -1, .role = "master"}, OTO_INVALID, "has the role physics"},
    };
    begin(f, WORLD("realtime", "on_timeout: hold, timeout_ms: 100, max_step_n: 8"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_participant_options options = cases[i].options;
        struct oto_participant *participant = NULL;
        struct oto_error error = {0};
        options.size = sizeof options;
        options.world = WORLD_NAME;
        assert_int_equal(oto_participant_join(&options, &participant, &error), cases[i].status);
        assert_null(participant);
        if (strstr(error.text, cases[i].words) == NULL) {
            print_error("'%s' is not in: %s\n", cases[i].words, error.text);
            fail();
        }
    }
    struct oto_participant *physics = player_join("physics"), *second = NULL;
    struct oto_error error = {0};
    const struct oto_participant_options again = {
        .size = sizeof again, .world = WORLD_NAME, .name = "physics", .answer_ms = -1};
    assert_int_equal(oto_participant_join(&again, &second, &error), OTO_EXISTS);
    oto_participant_leave(physics);
    assert_int_equal(world_stop(&f->world), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fault_test(after_a_death_vehicles_hold_and_another_process_may_go_on),
        fault_test(the_world_waits_for_one_that_died_and_is_not_deaf_meanwhile),
        fault_test(waiting_ends_at_its_limit),
        fault_test(a_stopped_process_is_not_waited_for_again_and_again),
        fault_test(policy_drop_takes_it_out_until_it_joins_again),
        fault_test(policy_fault_stops_the_run),
        fault_test(commands_are_served_while_an_answer_is_awaited),
        fault_test(a_storm_of_joins_and_leaves_passes),
        fault_test(joins_that_ask_for_too_much_are_refused),
    };
    if (argc == 3 && strcmp(argv[1], "--play") == 0) {
        return player_main(argv[2]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
