#include "chassis.h"
#include "motion_check.h"
#include "script.h"

static struct motion_memory memory;
static struct oto_error failure;

/* In the plane, 5 m up. */
static void script_evaluate(const struct script *script, struct oto_instant at, struct oto_truth_record *truth)
{
    static const struct chassis chassis = {.plain = true};
    static const struct chassis_cache cache;
    struct script_instant now;
    script_instant_at(script, at, &now);
    chassis_truth(&chassis, &cache, &now, 0.0, 5.0, truth);
}

static void evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth)
{
    script_evaluate((const struct script *)motion, at, truth);
}

static int drop_memory(void **unused)
{
    (void)unused;
    motion_free(&memory);
    return 0;
}

static struct script plan(double speed_m_s, const struct script_segment *segments, uint32_t count, bool repeat)
{
    const struct script_anchor start = {0, 10.0, -20.0, 0.0, 0.5, speed_m_s};
    struct script script;
    assert_ok(script_plan(&script, &start, segments, count, repeat, motion_alloc, &memory, &failure), failure);
    return script;
}

static struct script plan_city(void)
{
    return plan(0.0, script_city_drive, script_city_drive_count, true);
}

static void refused(double speed_m_s, const struct script_segment *segments, uint32_t count, const char *word)
{
    const struct script_anchor start = {0, 0.0, 0.0, 0.0, 0.0, speed_m_s};
    struct script script;
    assert_int_not_equal(script_plan(&script, &start, segments, count, true, motion_alloc, &memory, &failure), OTO_OK);
    if (strstr(failure.text, word) == NULL)
        fail_msg("\"%s\" does not say %s", failure.text, word);
}

static struct script_segment segment(int64_t kind)
{
    return (struct script_segment){.kind = kind, .accel_m_s2 = 2.0, .ramp_s = 0.8, .offset_m = 3.5};
}

static void take_larger(struct motion_misfit *worst, struct motion_misfit other)
{
    worst->velocity_m_s = fmax(worst->velocity_m_s, other.velocity_m_s);
    worst->accel_m_s2 = fmax(worst->accel_m_s2, other.accel_m_s2);
    worst->rate_rad_s = fmax(worst->rate_rad_s, other.rate_rad_s);
    worst->angular_accel_rad_s2 = fmax(worst->angular_accel_rad_s2, other.angular_accel_rad_s2);
}

/* Within the pieces, where the difference quotients hold: their rounding is 1e-13 m or 1e-15 rad over 1e-3 s,
 * and they leave out h⁴/30 of the fifth derivative, here up to 1e-12 / 30 · 300. */
static void city_drive_is_its_own_derivatives_over_two_laps(void **unused)
{
    const struct script script = plan_city();
    struct motion_misfit worst = {0.0, 0.0, 0.0, 0.0};
    (void)unused;
    for (uint32_t lap = 0; lap < 2; lap++) {
        for (uint32_t i = 0; i < script.piece_count; i++) {
            int64_t from_ns = script.pieces[i].start_ns + lap * script.period_ns;
            int64_t to_ns = from_ns + script.pieces[i].duration_ns;
            take_larger(&worst, motion_worst(evaluate, &script, from_ns, to_ns, 7000003));
        }
    }
    print_message("velocity %.2g, acceleration %.2g, rate %.2g, angular acceleration %.2g\n", worst.velocity_m_s,
                  worst.accel_m_s2, worst.rate_rad_s, worst.angular_accel_rad_s2);
    assert_true(worst.velocity_m_s < 2e-9);
    assert_true(worst.accel_m_s2 < 2e-10);
    assert_true(worst.rate_rad_s < 2e-11);
    assert_true(worst.angular_accel_rad_s2 < 2e-11);
}

/* Across every joint, the repeat's included, all that an IMU sees changes by no more than its slope allows. */
static void nothing_steps_at_any_joint_of_city_drive(void **unused)
{
    const struct script script = plan_city();
    (void)unused;
    for (uint32_t i = 0; i <= script.piece_count; i++) {
        int64_t joint_ns = i < script.piece_count ? script.pieces[i].start_ns : script.period_ns;
        struct oto_truth_record before, after;
        if (joint_ns == 0)
            continue;
        script_evaluate(&script, (struct oto_instant){joint_ns - 1, 0.999}, &before);
        script_evaluate(&script, (struct oto_instant){joint_ns, 0.0}, &after);
        assert_near(oto_vec3_norm(oto_vec3_sub(after.position_enu_m, before.position_enu_m)), 0.0, 1e-10);
        assert_near(oto_vec3_norm(oto_vec3_sub(after.velocity_enu_m_s, before.velocity_enu_m_s)), 0.0, 1e-10);
        assert_near(oto_vec3_norm(oto_vec3_sub(after.accel_enu_m_s2, before.accel_enu_m_s2)), 0.0, 1e-10);
        assert_near(after.angular_rate_body_rad_s.z, before.angular_rate_body_rad_s.z, 1e-10);
        assert_near(after.angular_accel_body_rad_s2.z, before.angular_accel_body_rad_s2.z, 1e-9);
        assert_near(oto_quat_angle_between(after.q_enu_from_body, before.q_enu_from_body), 0.0, 1e-9);
    }
}

static void city_drive_closes_and_a_lap_far_away_is_the_first(void **unused)
{
    const struct script script = plan_city();
    const int64_t lap = 1000000;
    (void)unused;
    assert_near(script.end.x_m, 10.0, 1e-9);
    assert_near(script.end.y_m, -20.0, 1e-9);
    for (int64_t t_ns = 0; t_ns < script.period_ns; t_ns += 1777777777) {
        struct oto_truth_record first, far;
        script_evaluate(&script, (struct oto_instant){t_ns, 0.25}, &first);
        script_evaluate(&script, (struct oto_instant){t_ns + lap * script.period_ns, 0.25}, &far);
        assert_near(oto_vec3_norm(oto_vec3_sub(first.position_enu_m, far.position_enu_m)), 0.0, 1e-5);
        assert_memory_equal(&first.angular_rate_body_rad_s, &far.angular_rate_body_rad_s, sizeof(oto_vec3));
        assert_near(oto_quat_angle_between(first.q_enu_from_body, far.q_enu_from_body), 0.0, 1e-9);
    }
}

static void city_drive_is_one_that_a_passenger_would_bear(void **unused)
{
    const struct script script = plan_city();
    double fastest = 0.0, hardest = 0.0, sharpest = 0.0;
    (void)unused;
    for (int64_t t_ns = 0; t_ns < script.period_ns; t_ns += 10000000) {
        struct oto_truth_record truth;
        script_evaluate(&script, (struct oto_instant){t_ns, 0.0}, &truth);
        fastest = fmax(fastest, truth.longitudinal_speed_m_s);
        hardest = fmax(hardest, oto_vec3_norm(truth.accel_enu_m_s2));
        sharpest = fmax(sharpest, fabs(truth.angular_accel_body_rad_s2.z));
    }
    assert_near(fastest, 13.0, 1e-9);
    assert_true(hardest < 2.5);
    assert_true(sharpest < 1.0);
}

static void a_standing_car_does_not_move_at_all(void **unused)
{
    const struct script script = plan_city();
    struct oto_truth_record first, truth;
    (void)unused;
    script_evaluate(&script, (struct oto_instant){0, 0.0}, &first);
    for (int64_t t_ns = 0; t_ns < 3000000000; t_ns += 1000000) {
        script_evaluate(&script, (struct oto_instant){t_ns, 0.5}, &truth);
        assert_memory_equal(&truth, &first, sizeof truth);
    }
}

static void each_manoeuvre_reaches_what_it_says(void **unused)
{
    struct script_segment segments[5];
    struct script script;
    struct oto_truth_record truth;
    (void)unused;
    segments[0] = segment(SCRIPT_ACCELERATE);
    segments[0].to_speed_m_s = 12.0;
    segments[1] = segment(SCRIPT_TURN);
    segments[1].angle_deg = -90.0;
    segments[1].radius_m = 30.0;
    segments[2] = segment(SCRIPT_LANE_CHANGE);
    segments[2].duration_s = 4.0;
    segments[3] = segment(SCRIPT_BRAKE);
    segments[3].duration_s = 2.8;
    segments[4] = segment(SCRIPT_CRUISE);
    segments[4].duration_s = 1.0;
    for (uint32_t count = 1; count <= 5; count++) {
        script = plan(0.0, segments, count, false);
        script_evaluate(&script, (struct oto_instant){script.period_ns, 0.0}, &truth);
        assert_near(truth.longitudinal_speed_m_s, count < 4 ? 12.0 : 8.0, 1e-12);
        assert_near(script.end.heading_rad, 0.5 - (count >= 2 ? OTO_HALF_PI : 0.0), 1e-12);
    }
    {
        struct script before = plan(0.0, segments, 2, false), after = plan(0.0, segments, 3, false);
        double dx = after.end.x_m - before.end.x_m, dy = after.end.y_m - before.end.y_m, heading = 0.5 - OTO_HALF_PI;
        assert_near(-dx * oto_sin(heading) + dy * oto_cos(heading), 3.5, 1e-9);
        assert_near(dx * oto_cos(heading) + dy * oto_sin(heading), 48.0, 0.5);
    }
    assert_near((double)plan(0.0, segments, 1, false).period_ns, 6.8e9, 1.0);
}

static void after_the_end_it_goes_straight_on(void **unused)
{
    struct script_segment turn = segment(SCRIPT_TURN);
    struct oto_truth_record end, later;
    struct script script;
    (void)unused;
    turn.angle_deg = 30.0;
    turn.turn_rate_deg_s = 20.0;
    script = plan(7.0, &turn, 1, false);
    script_evaluate(&script, (struct oto_instant){script.period_ns, 0.0}, &end);
    script_evaluate(&script, (struct oto_instant){script.period_ns + 3000000000, 0.0}, &later);
    assert_near(oto_vec3_norm(oto_vec3_sub(later.position_enu_m, oto_vec3_add_scaled(end.position_enu_m, end.velocity_enu_m_s, 3.0))),
                0.0, 1e-11);
    assert_memory_equal(&end.velocity_enu_m_s, &later.velocity_enu_m_s, sizeof(oto_vec3));
}

/* A script that does not close: its laps are the same manoeuvres written one after the other. */
static void laps_are_the_script_written_again_and_again(void **unused)
{
    struct script_segment segments[10];
    struct script once, five;
    (void)unused;
    for (int i = 0; i < 10; i += 2) {
        segments[i] = segment(SCRIPT_TURN);
        segments[i].angle_deg = 37.0;
        segments[i].radius_m = 25.0;
        segments[i + 1] = segment(SCRIPT_CRUISE);
        segments[i + 1].duration_s = 2.0;
    }
    once = plan(6.0, segments, 2, true);
    five = plan(6.0, segments, 10, false);
    for (int64_t t_ns = 0; t_ns < 5 * once.period_ns; t_ns += 123456789) {
        struct oto_truth_record a, b;
        script_evaluate(&once, (struct oto_instant){t_ns, 0.0}, &a);
        script_evaluate(&five, (struct oto_instant){t_ns, 0.0}, &b);
        assert_near(oto_vec3_norm(oto_vec3_sub(a.position_enu_m, b.position_enu_m)), 0.0, 1e-9);
        assert_near(oto_vec3_norm(oto_vec3_sub(a.accel_enu_m_s2, b.accel_enu_m_s2)), 0.0, 1e-9);
        assert_near(oto_quat_angle_between(a.q_enu_from_body, b.q_enu_from_body), 0.0, 1e-9);
    }
}

static void reverse_turns_the_way_it_is_told(void **unused)
{
    struct script_segment segments[2] = {segment(SCRIPT_ACCELERATE), segment(SCRIPT_TURN)};
    struct script script;
    (void)unused;
    segments[0].to_speed_m_s = -3.0;
    segments[1].angle_deg = 45.0;
    segments[1].radius_m = 10.0;
    script = plan(0.0, segments, 2, false);
    assert_near(script.end.heading_rad, 0.5 + 45.0 * OTO_DEG, 1e-12);
    assert_near(script.end.speed_m_s, -3.0, 0.0);
}

/* Where a script's end is, along and left of its beginning at (10, -20), heading 0.5. */
static struct script_xy end_along(const struct script *script)
{
    const double dx = script->end.x_m - 10.0, dy = script->end.y_m + 20.0;
    return (struct script_xy){dx * cos(0.5) + dy * sin(0.5), -dx * sin(0.5) + dy * cos(0.5)};
}

static void a_slalom_swings_from_side_to_side_and_ends_on_the_line(void **unused)
{
    (void)unused;
    for (int64_t gates = 1; gates <= 6; gates++) {
        struct script_segment s = segment(SCRIPT_SLALOM);
        struct script script;
        struct oto_truth_record truth;
        s.distance_m = 18.0;
        s.offset_m = 3.0;
        s.count = gates;
        script = plan(9.0, &s, 1, false);
        assert_int_equal(script.piece_count, gates + 1);
        assert_near(end_along(&script).y_m, 0.0, 1e-9);
        assert_near(script.end.heading_rad, 0.5, 1e-12);
        assert_near(script.end.distance_m, 18.0 * (double)(gates + 1), 1e-9);
        for (int64_t i = 1; i <= gates; i++) { /* at the gates it is half the offset aside, left first */
            const double side = i % 2 == 1 ? 1.5 : -1.5;
            double dx, dy;
            script_evaluate(&script, (struct oto_instant){script.pieces[i].start_ns, 0.0}, &truth);
            dx = truth.position_enu_m.x - 10.0;
            dy = truth.position_enu_m.y + 20.0;
            assert_near(-dx * sin(0.5) + dy * cos(0.5), side, 1e-9);
        }
    }
}

static void a_figure_eight_closes_on_its_crossing(void **unused)
{
    struct script_segment s = segment(SCRIPT_FIGURE_EIGHT);
    struct script script;
    struct oto_truth_record truth;
    double furthest = 0.0, sharpest = 0.0;
    (void)unused;
    s.radius_m = 12.0;
    s.count = 3;
    script = plan(6.0, &s, 1, true);
    assert_near(script.end.x_m, 10.0, 1e-6); /* straights are whole ns long: six times 6e-9 m */
    assert_near(script.end.y_m, -20.0, 1e-6);
    assert_near(oto_wrap_pi(script.end.heading_rad - 0.5), 0.0, 1e-12);
    script_evaluate(&script, (struct oto_instant){script.period_ns / 6, 0.0}, &truth); /* the crossing, one loop later */
    assert_near(hypot(truth.position_enu_m.x - 10.0, truth.position_enu_m.y + 20.0), 0.0, 1e-6);
    for (int64_t t_ns = 0; t_ns < script.period_ns; t_ns += 10000000) {
        script_evaluate(&script, (struct oto_instant){t_ns, 0.0}, &truth);
        furthest = fmax(furthest, hypot(truth.position_enu_m.x - 10.0, truth.position_enu_m.y + 20.0));
        sharpest = fmax(sharpest, fabs(truth.angular_rate_body_rad_s.z));
    }
    assert_near(sharpest, 6.0 / 12.0, 1e-9);
    assert_true(furthest > 25.0 && furthest < 40.0);
}

/* Whether the speed is reached or the way is too short for it, forward before or at rest. */
static void reverse_goes_back_by_its_distance_and_stands(void **unused)
{
    static const struct {
        double from_m_s, distance_m, to_speed_m_s;
    } cases[] = {{0.0, 10.0, 2.0}, {0.0, 1.0, 5.0}, {0.0, 0.2, 5.0}, {5.0, 8.0, 0.0}, {-3.0, 6.0, -1.5}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script_segment segments[2] = {segment(SCRIPT_STOP), segment(SCRIPT_REVERSE)};
        struct oto_truth_record truth;
        struct script stopped, script;
        segments[0].duration_s = 1.0;
        segments[1].distance_m = cases[i].distance_m;
        segments[1].to_speed_m_s = cases[i].to_speed_m_s;
        segments[1].duration_s = 2.0;
        stopped = plan(cases[i].from_m_s, segments, 1, false);
        script = plan(cases[i].from_m_s, segments, 2, false);
        assert_near(script.end.distance_m, stopped.end.distance_m - cases[i].distance_m, 1e-8);
        assert_near(end_along(&script).x_m, end_along(&stopped).x_m - cases[i].distance_m, 1e-8);
        script_evaluate(&script, (struct oto_instant){script.period_ns - 1000000000, 0.0}, &truth);
        assert_near(oto_vec3_norm(truth.velocity_enu_m_s), 0.0, 0.0);
        assert_near(oto_wrap_pi(script.end.heading_rad - 0.5), 0.0, 1e-12);
    }
}

static void a_cruise_may_be_given_by_its_length(void **unused)
{
    struct script_segment s = segment(SCRIPT_CRUISE);
    struct script script;
    (void)unused;
    s.distance_m = 77.0;
    script = plan(-7.0, &s, 1, false);
    assert_near((double)script.period_ns, 11e9, 1.0);
    assert_near(script.end.distance_m, -77.0, 1e-8);
}

/* A turn so fast, and ramps so long, that the quadrature is cut: the position is still the integral of the velocity. */
static void a_spin_is_integrated_as_well(void **unused)
{
    struct script_segment s = segment(SCRIPT_TURN);
    struct script script;
    struct motion_misfit worst;
    (void)unused;
    s.turn_rate_deg_s = 360.0;
    s.angle_deg = 36000.0;
    s.ramp_s = 20.0;
    script = plan(5.0, &s, 1, false);
    worst = motion_worst(evaluate, &script, 0, script.pieces[0].duration_ns, 97000003);
    assert_true(worst.velocity_m_s < 1e-8); /* h⁴/30 of 5 m/s · (2π)⁴/s⁴: 3e-10, and rounding */
}

/* One instant written in two ways, and the same instant asked for in another order. */
static void truth_is_a_function_of_the_instant_alone(void **unused)
{
    const struct script script = plan_city();
    struct oto_truth_record a, b, between;
    (void)unused;
    for (int64_t t_ns = 90000000000; t_ns < 92000000000; t_ns += 33333333) {
        script_evaluate(&script, (struct oto_instant){t_ns, 0.375}, &a);
        script_evaluate(&script, (struct oto_instant){t_ns / 3, 0.0}, &between);
        script_evaluate(&script, (struct oto_instant){t_ns, 0.375}, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
    script_evaluate(&script, (struct oto_instant){40000000000, 0.5}, &a);
    script_evaluate(&script, (struct oto_instant){40000000000, 0.0}, &b);
    assert_near(a.position_enu_m.x - b.position_enu_m.x, a.velocity_enu_m_s.x * 0.5e-9, 1e-13);
}

/* The direction that planning computes for a straight piece is the one that its instants would compute. */
static void a_planned_direction_changes_no_bit(void **unused)
{
    const struct script script = plan_city();
    uint32_t straight = 0;
    (void)unused;
    for (uint32_t i = 0; i < script.piece_count; i++) {
        struct script_piece without = script.pieces[i];
        struct script_instant a, b;
        if (without.heading_profile != NUM_PROFILE_NONE)
            continue;
        straight++;
        assert_true(without.knots[1].x_m != 0.0 || without.knots[1].y_m != 0.0);
        without.knots[1] = (struct script_xy){0.0, 0.0};
        for (int part = 0; part <= 8; part++) {
            const double tau_s = (double)without.duration_ns * 1e-9 * part / 8.0;
            memset(&a, 0, sizeof a);
            memset(&b, 0, sizeof b);
            script_instant_in(&script.pieces[i], tau_s, &a);
            script_instant_in(&without, tau_s, &b);
            assert_memory_equal(&a, &b, sizeof a);
        }
    }
    assert_true(straight > 3);
}

static void a_script_that_cannot_be_driven_is_refused_by_segment(void **unused)
{
    struct script_segment s = segment(SCRIPT_CRUISE);
    (void)unused;
    refused(5.0, &s, 1, "segments[0]: a cruise needs");
    s = segment(SCRIPT_ACCELERATE);
    s.to_speed_m_s = 3.0;
    refused(5.0, &s, 1, "beyond 5");
    s.to_speed_m_s = 9.0;
    refused(5.0, &s, 1, "set repeat to false");
    s.duration_s = 1.0;
    refused(5.0, &s, 1, "too short");
    s = segment(SCRIPT_BRAKE);
    s.to_speed_m_s = -1.0;
    refused(5.0, &s, 1, "between 0 and 5");
    s = segment(SCRIPT_TURN);
    s.angle_deg = 90.0;
    refused(5.0, &s, 1, "radius_m");
    s.radius_m = 10.0;
    refused(0.0, &s, 1, "a speed that is not 0");
    s.angle_deg = 0.0;
    refused(5.0, &s, 1, "angle_deg");
    s.angle_deg = 1e300;
    refused(5.0, &s, 1, "longer than");
    s = segment(SCRIPT_LANE_CHANGE);
    s.duration_s = 1.0;
    refused(5.0, &s, 1, "give at least");
    s = segment(SCRIPT_SLALOM);
    s.count = 3;
    refused(5.0, &s, 1, "distance_m above 0 between its gates");
    s.distance_m = 20.0;
    refused(0.0, &s, 1, "a slalom needs a speed that is not 0");
    s.count = 65;
    refused(5.0, &s, 1, "give 1 to 64");
    s.count = 3;
    s.offset_m = 30.0;
    refused(5.0, &s, 1, "too far");
    s = segment(SCRIPT_FIGURE_EIGHT);
    s.count = 1;
    refused(5.0, &s, 1, "a figure eight needs radius_m");
    s.turn_rate_deg_s = 20.0;
    refused(0.0, &s, 1, "a figure eight needs a speed that is not 0");
    s.count = 17;
    refused(5.0, &s, 1, "give 1 to 16");
    s = segment(SCRIPT_REVERSE);
    refused(5.0, &s, 1, "a reverse needs a distance_m above 0");
    s = segment(SCRIPT_STOP);
    refused(0.0, &s, 1, "take no time");
    s.kind = 99;
    refused(0.0, &s, 1, "no kind");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, drop_memory)
    const struct CMUnitTest tests[] = {
        TEST(city_drive_is_its_own_derivatives_over_two_laps),
        TEST(nothing_steps_at_any_joint_of_city_drive),
        TEST(city_drive_closes_and_a_lap_far_away_is_the_first),
        TEST(city_drive_is_one_that_a_passenger_would_bear),
        TEST(a_standing_car_does_not_move_at_all),
        TEST(each_manoeuvre_reaches_what_it_says),
        TEST(after_the_end_it_goes_straight_on),
        TEST(laps_are_the_script_written_again_and_again),
        TEST(a_planned_direction_changes_no_bit),
        TEST(reverse_turns_the_way_it_is_told),
        TEST(a_slalom_swings_from_side_to_side_and_ends_on_the_line),
        TEST(a_figure_eight_closes_on_its_crossing),
        TEST(reverse_goes_back_by_its_distance_and_stands),
        TEST(a_cruise_may_be_given_by_its_length),
        TEST(a_spin_is_integrated_as_well),
        TEST(truth_is_a_function_of_the_instant_alone),
        TEST(a_script_that_cannot_be_driven_is_refused_by_segment),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
