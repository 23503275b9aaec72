/* motion_waypoints: the path's smoothness, the schedule, and what is refused. */
#include "motion_check.h"
#include "route.h"

static struct motion_memory memory;
static struct oto_error failure;

#define AT(x_, y_, z_) {.position_enu_m = {x_, y_, z_}, .time_s = ROUTE_NOT_GIVEN, .speed_m_s = ROUTE_NOT_GIVEN}

static const struct route_waypoint hills[] = {AT(0, 0, 500),     AT(60, 10, 503),   AT(110, 60, 505), AT(90, 130, 500),
                                              AT(20, 140, 498), AT(-60, 200, 501), AT(-150, 190, 506)};
enum { HILLS = sizeof hills / sizeof *hills };

static void evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth)
{
    route_truth(motion, at, truth);
}

static int drop_memory(void **unused)
{
    (void)unused;
    motion_free(&memory);
    return 0;
}

static struct route make(const struct route_waypoint *waypoints, uint32_t count, bool loop)
{
    struct route route;
    assert_ok(route_make(&route, waypoints, count, 10.0, loop, motion_alloc, &memory, &failure), failure);
    return route;
}

static void refused(const struct route_waypoint *waypoints, uint32_t count, bool loop, const char *words)
{
    struct route route;
    assert_int_not_equal(route_make(&route, waypoints, count, 10.0, loop, motion_alloc, &memory, &failure), OTO_OK);
    if (strstr(failure.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", failure.text, words);
}

static oto_vec3 place(const struct route_waypoint *w)
{
    return oto_vec3_from_array(w->position_enu_m);
}

static void the_path_leads_through_every_waypoint_at_its_speed(void **unused)
{
    struct route_waypoint w[HILLS];
    struct route route;
    struct oto_truth_record truth;
    (void)unused;
    memcpy(w, hills, sizeof w);
    w[2].speed_m_s = 4.0;
    w[4].hold_s = 3.0;
    w[6].speed_m_s = 0.0;
    route = make(w, HILLS, false);
    for (uint32_t i = 0; i < route.leg_count; i++) {
        const struct route_leg *leg = &route.legs[i];
        const double expected = leg->span == 2 ? 4.0 : leg->span == 4 ? 0.0 : 10.0;
        route_truth(&route, (struct oto_instant){leg->start_ns, 0.0}, &truth);
        assert_near(oto_vec3_norm(oto_vec3_sub(truth.position_enu_m, place(&w[leg->span]))), 0.0, 1e-9);
        assert_near(truth.longitudinal_speed_m_s, expected, 1e-12);
        assert_near(oto_vec3_norm(truth.velocity_enu_m_s), expected, 1e-12);
    }
    assert_int_equal(route.leg_count, HILLS); /* six ways and a stand */
    route_truth(&route, (struct oto_instant){route.period_ns + 100, 0.0}, &truth);
    assert_near(oto_vec3_norm(oto_vec3_sub(truth.position_enu_m, place(&w[6]))), 0.0, 1e-9);
}

static void times_are_kept(void **unused)
{
    struct route_waypoint w[HILLS];
    struct route route;
    struct oto_truth_record truth;
    const double times_s[HILLS] = {5, 13, 20, 28.5, 36, 46, 53};
    (void)unused;
    memcpy(w, hills, sizeof w);
    for (int i = 0; i < HILLS; i++)
        w[i].time_s = times_s[i];
    route = make(w, HILLS, false);
    for (int i = 0; i < HILLS; i++) {
        route_truth(&route, (struct oto_instant){(int64_t)((times_s[i] - 5.0) * 1e9), 0.0}, &truth);
        assert_near(oto_vec3_norm(oto_vec3_sub(truth.position_enu_m, place(&w[i]))), 0.0, 1e-7);
        assert_true(truth.longitudinal_speed_m_s > 4.0);
    }
}

/*
 * Inside the legs, velocity and acceleration are compared with difference quotients of step h. Their error is h⁴/30 times the
 * fifth derivative, which is below 1e-12 in a bend of 30 m at 10 m/s.
 */
static void truth_is_its_own_derivatives(void **unused)
{
    const struct route open = make(hills, HILLS, false), loop = make(hills, HILLS, true);
    const struct route *const routes[] = {&open, &loop};
    (void)unused;
    for (int r = 0; r < 2; r++) {
        struct motion_misfit worst = {0.0, 0.0, 0.0, 0.0};
        for (uint32_t i = 0; i < routes[r]->leg_count; i++) {
            const struct route_leg *leg = &routes[r]->legs[i];
            const struct motion_misfit here = motion_worst(evaluate, routes[r], leg->start_ns, leg->start_ns + leg->duration_ns, 7000003);
            worst.velocity_m_s = fmax(worst.velocity_m_s, here.velocity_m_s);
            worst.accel_m_s2 = fmax(worst.accel_m_s2, here.accel_m_s2);
            worst.rate_rad_s = fmax(worst.rate_rad_s, here.rate_rad_s);
            worst.angular_accel_rad_s2 = fmax(worst.angular_accel_rad_s2, here.angular_accel_rad_s2);
        }
        print_message("velocity %.2g, acceleration %.2g, rate %.2g, angular acceleration %.2g\n", worst.velocity_m_s,
                      worst.accel_m_s2, worst.rate_rad_s, worst.angular_accel_rad_s2);
        assert_true(worst.velocity_m_s < 2e-9 && worst.accel_m_s2 < 2e-10);
        assert_true(worst.rate_rad_s < 2e-11 && worst.angular_accel_rad_s2 < 2e-10);
    }
}

static void compare_across(const struct route *route, int64_t joint_ns)
{
    struct oto_truth_record before, after;
    route_truth(route, (struct oto_instant){joint_ns - 1, 0.999}, &before);
    route_truth(route, (struct oto_instant){joint_ns, 0.0}, &after);
    assert_near(oto_vec3_norm(oto_vec3_sub(after.position_enu_m, before.position_enu_m)), 0.0, 1e-8);
    assert_near(oto_vec3_norm(oto_vec3_sub(after.velocity_enu_m_s, before.velocity_enu_m_s)), 0.0, 1e-8);
    assert_near(oto_vec3_norm(oto_vec3_sub(after.accel_enu_m_s2, before.accel_enu_m_s2)), 0.0, 1e-8);
    assert_near(oto_vec3_norm(oto_vec3_sub(after.angular_rate_body_rad_s, before.angular_rate_body_rad_s)), 0.0, 1e-9);
    assert_near(oto_vec3_norm(oto_vec3_sub(after.angular_accel_body_rad_s2, before.angular_accel_body_rad_s2)), 0.0, 1e-8);
    assert_near(oto_quat_angle_between(after.q_enu_from_body, before.q_enu_from_body), 0.0, 1e-9);
}

/* Angular acceleration included: the curvature's slope goes on. At the open end too, where straight on follows. */
static void nothing_steps_at_a_waypoint(void **unused)
{
    struct route open, loop;
    struct route_waypoint w[HILLS];
    (void)unused;
    memcpy(w, hills, sizeof w);
    w[3].bank_deg = 5.0;
    w[6].bank_deg = 2.0;
    open = make(w, HILLS, false);
    loop = make(w, HILLS, true);
    for (uint32_t i = 1; i < open.leg_count; i++)
        compare_across(&open, open.legs[i].start_ns);
    compare_across(&open, open.period_ns);
    for (uint32_t i = 1; i < loop.leg_count; i++)
        compare_across(&loop, loop.legs[i].start_ns);
    compare_across(&loop, loop.period_ns);
}

static void a_loop_comes_round_exactly(void **unused)
{
    const struct route loop = make(hills, HILLS, true);
    (void)unused;
    for (int64_t t_ns = 0; t_ns < loop.period_ns; t_ns += 987654321) {
        struct oto_truth_record a, b;
        route_truth(&loop, (struct oto_instant){t_ns, 0.5}, &a);
        route_truth(&loop, (struct oto_instant){t_ns + 1000 * loop.period_ns, 0.5}, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void waypoints_on_a_circle_make_a_circle(void **unused)
{
    enum { CORNERS = 24 };
    struct route_waypoint w[CORNERS];
    struct route route;
    (void)unused;
    for (int i = 0; i < CORNERS; i++) {
        const struct route_waypoint at = AT(50 * cos(i * OTO_TWO_PI / CORNERS), 50 * sin(i * OTO_TWO_PI / CORNERS), 0);
        w[i] = at;
    }
    route = make(w, CORNERS, true);
    for (int64_t t_ns = 0; t_ns < route.period_ns; t_ns += 123456789) {
        struct oto_truth_record truth;
        route_truth(&route, (struct oto_instant){t_ns, 0.0}, &truth);
        assert_near(oto_vec3_norm(truth.position_enu_m), 50.0, 1e-5); /* (2π/24)⁶/6!/64 · 50 m at most: 1e-5 */
        assert_near(truth.longitudinal_speed_m_s, 10.0, 1e-8); /* legs are rounded to ns */
        assert_near(truth.angular_rate_body_rad_s.z, 0.2, 2e-4);
    }
}

static void what_cannot_be_driven_is_refused_by_waypoint(void **unused)
{
    struct route_waypoint w[4] = {AT(0, 0, 0), AT(50, 0, 0), AT(100, 0, 0), AT(150, 10, 0)};
    (void)unused;
    refused(w, 1, false, "at least 2");
    refused(w, 2, true, "a loop needs at least 3");
    memcpy(w[2].position_enu_m, w[1].position_enu_m, sizeof w[1].position_enu_m);
    refused(w, 4, false, "waypoints[2]: it has the position of the previous one");
    w[2].position_enu_m[0] = 100;
    w[1].time_s = 3;
    refused(w, 4, false, "1 of 4 have a time_s");
    for (int i = 0; i < 4; i++)
        w[i].time_s = i == 3 ? 1.5 : i;
    refused(w, 4, false, "waypoints[3]: time_s 1.5 decreases; it must be after 2");
    refused(w, 4, true, "no time to come back");
    w[3].time_s = 3;
    w[1].speed_m_s = 190;
    refused(w, 4, false, "waypoints[0]: 50.01 m to the next one in 1 s");
    for (int i = 0; i < 4; i++)
        w[i].time_s = w[i].speed_m_s = ROUTE_NOT_GIVEN;
    w[1].speed_m_s = w[2].speed_m_s = 0;
    refused(w, 4, false, "waypoints[1]: it and the next one both have speed 0");
    w[1].speed_m_s = 5;
    w[1].hold_s = 2;
    refused(w, 4, false, "stands for hold_s 2 at a speed of 5");
    w[1].hold_s = 0;
    w[1].speed_m_s = -0.5;
    refused(w, 4, false, "speed_m_s -0.5 is negative");
    w[1].speed_m_s = 5;
    w[2].position_enu_m[0] = 50;
    w[2].position_enu_m[2] = 100;
    refused(w, 4, false, "vertical");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, drop_memory)
    const struct CMUnitTest tests[] = {
        TEST(the_path_leads_through_every_waypoint_at_its_speed),
        TEST(times_are_kept),
        TEST(truth_is_its_own_derivatives),
        TEST(nothing_steps_at_a_waypoint),
        TEST(a_loop_comes_round_exactly),
        TEST(waypoints_on_a_circle_make_a_circle),
        TEST(what_cannot_be_driven_is_refused_by_waypoint),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
