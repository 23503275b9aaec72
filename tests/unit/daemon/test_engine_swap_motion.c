/* Swaps of motions: pose and velocity are continuous, and sensors that look back get the truth of that time. */
#include "fixture.h"
#include "plain_swap.h"

#define SECOND_NS INT64_C(1000000000)
#define MOTION 0

static void begin(struct fixture *fixture, const char *motion)
{
    fixture_begin(fixture, 1000, 1);
    fixture_vehicle(fixture, "car", motion);
    fixture_set(fixture_sensor(fixture, "witness", "witness", 1000, 1), "delay_ms", "300");
    fixture->config.ring_capacity = 16384; /* a slow machine pauses late */
    fixture_start(fixture);
}

static void swap_to(struct fixture *fixture, const char *motion)
{
    (void)srv_change_free(
        fixture_flip(fixture, fixture_make_swap(fixture, MOTION, motion, (struct srv_swap_options){0})).change);
}

/* From one sample to the next, in the present and 300 ms earlier, nothing jumps: at most v dt and a dt². */
static void assert_continuous(struct fixture *fixture, uint64_t first, uint64_t last, double speed_m_s)
{
    struct witness_record before, now;
    (void)fixture_record(fixture, "demo/car/witness", first, &before);
    for (uint64_t seq = first + 1; seq <= last; seq++) {
        (void)fixture_record(fixture, "demo/car/witness", seq, &now);
        assert_near(now.past_status, 0.0, 0.0);
        const double moved = oto_vec3_norm(oto_vec3_sub(now.position_enu_m, before.position_enu_m));
        const double past = oto_vec3_norm(oto_vec3_sub(now.past_position_enu_m, before.past_position_enu_m));
        const double faster = oto_vec3_norm(oto_vec3_sub(now.velocity_enu_m_s, before.velocity_enu_m_s));
        if (moved > speed_m_s * 1.5e-3 || past > speed_m_s * 1.5e-3 || faster > 0.2) {
            fail_msg("sample %llu: moved %g m, past moved %g m, velocity changed by %g m/s", (unsigned long long)seq, moved,
                     past, faster);
        }
        before = now;
    }
}

static void position_and_velocity_go_on_across_motions(void **unused)
{
    (void)unused;
    static const char *const motions[] = {"motion_constant_velocity", "motion_kinematic_bicycle", "motion_ctrv",
                                          "motion_constant_velocity"};
    struct fixture fixture;
    fixture_begin(&fixture, 1000, 1);
    fixture_vehicle(&fixture, "car", "circle");
    fixture_set(&fixture.nodes[0], "heave_m", "0");
    fixture_set(fixture_sensor(&fixture, "witness", "witness", 1000, 1), "delay_ms", "300");
    fixture_start(&fixture);
    fixture_step(&fixture, 700);
    for (uint64_t i = 0; i < sizeof motions / sizeof *motions; i++) {
        const uint64_t before = fixture_clock(&fixture).tick;
        swap_to(&fixture, motions[i]);
        fixture_step(&fixture, 700);
        assert_continuous(&fixture, before - 20, before + 700, 10.0);
    }
    fixture_end(&fixture);
}

/* 300 ms before the flip is the circle's past, whoever moves the vehicle now. */
static void the_past_of_a_swapped_motion_is_the_one_that_was(void **unused)
{
    (void)unused;
    struct fixture with, without;
    struct witness_record swapped, plain;
    begin(&with, "circle");
    begin(&without, "circle");
    fixture_step(&with, 2000);
    fixture_step(&without, 2000);
    swap_to(&with, "motion_constant_velocity");
    fixture_step(&with, 500);
    fixture_step(&without, 500);
    for (uint64_t seq = 2001; seq <= 2300; seq++) {
        (void)fixture_record(&with, "demo/car/witness", seq, &swapped);
        (void)fixture_record(&without, "demo/car/witness", seq, &plain);
        assert_near(swapped.past_position_enu_m.x, plain.past_position_enu_m.x, 1e-9);
        assert_near(swapped.past_position_enu_m.y, plain.past_position_enu_m.y, 1e-9);
    }
    fixture_end(&with);
    fixture_end(&without);
}

static void while_it_is_paced_the_history_is_filled_over_some_ticks(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture, "circle");
    fixture_step(&fixture, 1500);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_RESUME).status, OTO_OK);
    fixture_wait_tick(&fixture, 1600);
    struct srv_node_change *change =
        fixture_make_swap(&fixture, MOTION, "motion_constant_velocity", (struct srv_swap_options){0});
    const struct srv_reply reply = fixture_flip(&fixture, change);
    (void)srv_change_free(reply.change);
    fixture_wait_tick(&fixture, reply.tick + 400);
    assert_int_equal(fixture_do(&fixture, SRV_COMMAND_PAUSE).status, OTO_OK);
    assert_continuous(&fixture, reply.tick - 50, reply.tick + 400, 11.0);
    fixture_end(&fixture);
}

static void a_motion_that_can_only_be_asked_about_the_tick_may_follow_any_other(void **unused)
{
    (void)unused;
    struct fixture fixture;
    begin(&fixture, "circle");
    fixture_step(&fixture, 1200);
    swap_to(&fixture, "circle_tick_only");
    fixture_step(&fixture, 500);
    swap_to(&fixture, "circle");
    fixture_step(&fixture, 500);
    assert_continuous(&fixture, 1190, 2200, 11.0);
    fixture_end(&fixture);
}

static void a_motion_that_cannot_go_on_from_a_truth_is_refused(void **unused)
{
    (void)unused;
    struct fixture fixture;
    char path[512];
    struct oto_error error = {0};
    struct srv_node_change *change = NULL;
    begin(&fixture, "motion_constant_velocity");
    fixture_step(&fixture, 10);
    assert_int_equal(
        make_plain_swap(fixture.engine, MOTION, fixture_plugin(path, sizeof path, "circle"), &change, &error),
        OTO_UNSUPPORTED);
    assert_non_null(strstr(error.text, "adopt"));
    assert_null(change);
    fixture_end(&fixture);
}

static uint64_t hash_after(uint64_t ticks)
{
    struct fixture fixture;
    begin(&fixture, "circle");
    fixture_step(&fixture, ticks);
    const uint64_t hash = fixture_clock(&fixture).state_hash;
    fixture_end(&fixture);
    return hash;
}

static void a_motion_that_fails_on_probation_gives_the_wheel_back_within_the_tick(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct oto_truth_record truth;
    char path[512];
    struct srv_swap_options options = {.probation_ns = SECOND_NS};
    const uint64_t hash = hash_after(1500);
    begin(&fixture, "circle");
    fixture_step(&fixture, 700);
    options.params_path = fixture_params(path, sizeof path, "fail_at: 1000");
    struct srv_node_change *change = fixture_make_swap(&fixture, MOTION, "circle", options);
    (void)unlink(path);
    (void)fixture_flip(&fixture, change);
    const struct srv_reply end = fixture_settle(&fixture, change, 800);
    assert_int_equal(end.status, OTO_PLUGIN);
    assert_non_null(strstr(end.reason, "an error"));
    assert_int_equal(fixture_record(&fixture, "demo/car/motion", 1000, &truth).flags, OTO_SAMPLE_PROBATION);
    assert_int_equal(fixture_record(&fixture, "demo/car/motion", 1001, &truth).flags, 0);
    assert_int_equal(fixture_latest(&fixture, "demo/car/motion", &truth).seq, 1500);
    assert_continuous(&fixture, 690, 1500, 11.0);
    assert_int_equal(fixture_clock(&fixture).state_hash, hash);
    fixture_end(&fixture);
}

static void a_motion_in_the_shadow_is_compared_and_goes_on_from_the_truth_at_the_flip(void **unused)
{
    (void)unused;
    struct fixture fixture;
    char text[600];
    const struct srv_swap_options options = {.shadow_ns = SECOND_NS / 5};
    begin(&fixture, "circle");
    fixture_step(&fixture, 1200);
    struct srv_node_change *change = fixture_make_swap(&fixture, MOTION, "motion_constant_velocity", options);
    const uint64_t id = fixture_post(&fixture, (struct srv_command){.kind = SRV_COMMAND_SWAP, .change = change});
    fixture_step(&fixture, 800);
    const struct srv_reply reply = fixture_await(&fixture, id);
    assert_int_equal(reply.status, OTO_OK);
    assert_int_equal(reply.tick, 1400);
    srv_swap_describe_shadow(change, text, sizeof text);
    assert_non_null(strstr(text, "position_enu_m.x max"));
    (void)srv_change_free(reply.change);
    assert_continuous(&fixture, 1100, 2000, 11.0);
    fixture_end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(position_and_velocity_go_on_across_motions),
        cmocka_unit_test(the_past_of_a_swapped_motion_is_the_one_that_was),
        cmocka_unit_test(while_it_is_paced_the_history_is_filled_over_some_ticks),
        cmocka_unit_test(a_motion_that_can_only_be_asked_about_the_tick_may_follow_any_other),
        cmocka_unit_test(a_motion_that_cannot_go_on_from_a_truth_is_refused),
        cmocka_unit_test(a_motion_that_fails_on_probation_gives_the_wheel_back_within_the_tick),
        cmocka_unit_test(a_motion_in_the_shadow_is_compared_and_goes_on_from_the_truth_at_the_flip),
    };
    return cmocka_run_group_tests_name("engine swap motion", tests, NULL, NULL);
}
