/* Road, suspension and vibration: sizes and signs, and the statistics of what is random. */
#include "drive.h"
#include "motion_check.h"

static struct motion_memory memory;
static struct oto_error failure;

static const struct chassis_params level = {.correlation_length_m = 150.0, .traffic_side = 1,
                                            .angle_band_hz = {1.0, 3.0}, .vertical_band_hz = {1.0, 15.0}};
static const struct script_segment cruise[] = {{.kind = SCRIPT_CRUISE, .duration_s = 1000, .accel_m_s2 = 2, .ramp_s = 1}};

static int drop_memory(void **unused)
{
    (void)unused;
    motion_free(&memory);
    return 0;
}

static struct drive make(const struct chassis_params *chassis, const struct script_segment *segments, uint32_t count,
                         double speed_m_s)
{
    struct drive drive;
    const struct drive_plan plan = {.start = {.speed_m_s = speed_m_s}, .segments = segments, .segment_count = count,
                                    .repeat = false, .chassis = chassis, .key = oto_rng_key_make(7, "car/motion")};
    assert_ok(drive_make(&plan, &drive, motion_alloc, &memory, &failure), failure);
    return drive;
}

static struct oto_truth_record truth_at_ns(const struct drive *drive, int64_t t_ns)
{
    struct drive_state state;
    struct oto_truth_record truth;
    drive_begin(drive, &state);
    drive_truth(drive, &state, (struct oto_instant){t_ns, 0.0}, &truth);
    return truth;
}

static struct oto_truth_record truth_at(const struct drive *drive, double t_s)
{
    return truth_at_ns(drive, (int64_t)(t_s * 1e9));
}

static void uphill_lifts_the_nose_and_climbs(void **unused)
{
    struct chassis_params p = level;
    struct drive drive;
    struct oto_truth_record truth;
    oto_vec3 rpy, force_body;
    (void)unused;
    p.grade_deg = 5.0;
    drive = make(&p, cruise, 1, 10.0);
    truth = truth_at(&drive, 20.0);
    rpy = oto_rpy_from_quat(truth.q_enu_from_body);
    assert_near(rpy.y, -5.0 * OTO_DEG, 1e-15);
    assert_near(truth.position_enu_m.z, 200.0 * tan(5.0 * OTO_DEG), 1e-11);
    assert_near(truth.longitudinal_speed_m_s, 10.0 / cos(5.0 * OTO_DEG), 1e-13);
    force_body = oto_quat_rotate_inv(truth.q_enu_from_body, oto_vec3_make(0, 0, 9.81));
    assert_near(force_body.x, 9.81 * sin(5.0 * OTO_DEG), 1e-13); /* the seat pushes one up the hill */
}

/* f = Rᵀ (0, 0, g) + (v', v ψ', z''), at a constant speed on a bend; the springs answer the acceleration only. */
static void a_level_path_is_tilted_by_the_road_and_does_not_rise(void **unused)
{
    static const struct script_segment bend[] = {{.kind = SCRIPT_TURN, .duration_s = 60, .turn_rate_deg_s = 6, .accel_m_s2 = 2, .ramp_s = 1}};
    struct chassis_params p = level;
    (void)unused;
    p.grade_deg = 5.0;
    p.bank_deg = -2.0;
    p.pitch_compliance_deg_s2_m = -0.3;
    p.roll_compliance_deg_s2_m = 0.35;
    p.level_path = 1;
    const struct drive drive = make(&p, bend, 1, 10.0);
    const struct oto_truth_record truth = truth_at(&drive, 20.0);
    const oto_vec3 rpy = oto_rpy_from_quat(truth.q_enu_from_body);
    const oto_vec3 motion = oto_quat_rotate_inv(truth.q_enu_from_body, truth.accel_enu_m_s2);
    assert_near(rpy.y, -5.0 * OTO_DEG, 1e-14);
    assert_near(rpy.x, (-2.0 + 0.35 * 10.0 * 6.0 * OTO_DEG) * OTO_DEG, 1e-14);
    assert_near(truth.position_enu_m.z, 0.0, 0.0);
    assert_near(truth.velocity_enu_m_s.z, 0.0, 0.0);
    assert_near(motion.x, 0.0, 1e-13);
    assert_near(motion.y, 10.0 * 6.0 * OTO_DEG, 1e-12);
    assert_near(motion.z, 0.0, 1e-13);
}

static void crown_and_bank_lean_the_body_to_the_edge(void **unused)
{
    struct chassis_params p = level;
    struct drive drive;
    (void)unused;
    p.crown_deg = 0.5;
    p.bank_deg = 1.0;
    drive = make(&p, cruise, 1, 10.0);
    assert_near(oto_rpy_from_quat(truth_at(&drive, 1.0).q_enu_from_body).x, 1.5 * OTO_DEG, 1e-15);
    p.traffic_side = -1;
    drive = make(&p, cruise, 1, 10.0);
    assert_near(oto_rpy_from_quat(truth_at(&drive, 1.0).q_enu_from_body).x, 0.5 * OTO_DEG, 1e-15);
}

static void the_body_squats_when_it_accelerates_and_leans_out_of_a_bend(void **unused)
{
    const struct script_segment segments[] = {
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 20, .accel_m_s2 = 2, .ramp_s = 1},
        {.kind = SCRIPT_TURN, .angle_deg = 90, .radius_m = 200, .ramp_s = 1, .accel_m_s2 = 1}};
    struct chassis_params p = level;
    struct oto_truth_record truth;
    struct drive drive;
    (void)unused;
    p.pitch_compliance_deg_s2_m = -0.3;
    p.roll_compliance_deg_s2_m = 0.35;
    drive = make(&p, segments, 2, 0.0);
    truth = truth_at(&drive, 5.0); /* steady at 2 m/s² */
    assert_near(oto_rpy_from_quat(truth.q_enu_from_body).y, -0.6 * OTO_DEG, 1e-15);
    assert_near(truth.angular_rate_body_rad_s.y, 0.0, 1e-15);
    truth = truth_at(&drive, 14.0); /* steady in the bend to the left, at 400/200 m/s² */
    assert_near(oto_rpy_from_quat(truth.q_enu_from_body).x, 0.7 * OTO_DEG, 1e-13);
    assert_near(oto_rpy_from_quat(truth.q_enu_from_body).y, 0.0, 1e-13);
}

/* The wheels drive with g sin(grade), and hold with g sin(bank), as in an acceleration of that size. */
static void the_body_leans_on_a_slope_at_constant_speed_by_the_specific_force(void **unused)
{
    const struct script_segment bend = {
        .kind = SCRIPT_TURN, .duration_s = 60, .turn_rate_deg_s = 6, .accel_m_s2 = 2, .ramp_s = 1};
    struct chassis_params p = level;
    oto_vec3 rpy;
    (void)unused;
    p.pitch_compliance_deg_s2_m = -0.3;
    p.roll_compliance_deg_s2_m = 0.35;
    p.grade_deg = 5.0;
    const struct drive uphill = make(&p, cruise, 1, 10.0);
    rpy = oto_rpy_from_quat(truth_at(&uphill, 20.0).q_enu_from_body);
    assert_near(rpy.y, (-5.0 - 0.3 * 9.80665 * sin(5.0 * OTO_DEG)) * OTO_DEG, 1e-14);
    assert_near(rpy.x, 0.0, 1e-15);
    p.grade_deg = 0.0;
    p.bank_deg = 3.0;
    p.crown_deg = -1.0;
    const struct drive banked = make(&p, cruise, 1, 10.0);
    rpy = oto_rpy_from_quat(truth_at(&banked, 20.0).q_enu_from_body);
    assert_near(rpy.x, (2.0 + 0.35 * 9.80665 * sin(2.0 * OTO_DEG)) * OTO_DEG, 1e-14);
    assert_near(rpy.y, 0.0, 1e-15);
    p.corner_crown_loss = 0.5;
    const struct drive bent = make(&p, &bend, 1, 10.0);
    rpy = oto_rpy_from_quat(truth_at(&bent, 20.0).q_enu_from_body);
    const double turn_rad_s = 6.0 * OTO_DEG;
    const double bank_deg = 2.0 + 0.5 * turn_rad_s * turn_rad_s / (turn_rad_s * turn_rad_s + 101.0 / 1600.0);
    assert_near(rpy.x, (bank_deg + 0.35 * (10.0 * turn_rad_s + 9.80665 * sin(bank_deg * OTO_DEG))) * OTO_DEG, 1e-14);
}

static void drag_and_lift_pitch_the_body_by_the_square_of_the_speed(void **unused)
{
    const struct script_segment start[] = {
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 30, .accel_m_s2 = 2, .ramp_s = 1}};
    struct chassis_params p = level;
    (void)unused;
    p.speed_pitch_deg = -0.06;
    const struct drive drive = make(&p, start, 1, 0.0);
    const struct oto_truth_record early = truth_at(&drive, 5.0); /* steady at 2 m/s², at 9 m/s */
    const double by_rad_s2_m2 = -0.06 * OTO_DEG / 900.0;
    assert_near(oto_rpy_from_quat(early.q_enu_from_body).y, by_rad_s2_m2 * 81.0, 1e-15);
    assert_near(early.angular_rate_body_rad_s.y, by_rad_s2_m2 * 2.0 * 9.0 * 2.0, 1e-15);
    assert_near(early.angular_accel_body_rad_s2.y, by_rad_s2_m2 * 2.0 * 4.0, 1e-15);
    assert_near(oto_rpy_from_quat(truth_at(&drive, 20.0).q_enu_from_body).y, -0.06 * OTO_DEG, 1e-15);
}

static void drag_and_lift_on_a_level_path_are_refused(void **unused)
{
    struct chassis_params p = level;
    struct chassis chassis;
    (void)unused;
    p.speed_pitch_deg = -0.05;
    p.level_path = 1;
    assert_int_equal(chassis_make(&p, oto_rng_key_make(0, "x"), &chassis, &failure), OTO_INVALID);
    assert_non_null(strstr(failure.text, "suspension.speed_pitch_deg: -0.05 is given, but the path is level"));
}

static const struct script_segment sprung_drive[] = {
    {.kind = SCRIPT_BRAKE, .to_speed_m_s = 5, .accel_m_s2 = 2, .ramp_s = 1},
    {.kind = SCRIPT_TURN, .angle_deg = 90, .radius_m = 15, .ramp_s = 1, .accel_m_s2 = 2},
    {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 20, .accel_m_s2 = 2, .ramp_s = 1}};

/* A road with everything that turns the body, on which nothing lifts it from the road. */
static struct chassis_params sprung_road(void)
{
    struct chassis_params p = level;
    p.grade_deg = 3.0;
    p.bank_deg = 4.0;
    p.grade_rms_deg = p.bank_rms_deg = 1.0;
    p.crown_deg = 1.0;
    p.corner_crown_loss = 0.5;
    p.pitch_compliance_deg_s2_m = -0.3;
    p.roll_compliance_deg_s2_m = 0.35;
    p.speed_pitch_deg = -0.5; /* ten times that of a car */
    p.pitch_vibration_deg = p.roll_vibration_deg = 0.15;
    p.half_speed_m_s = 2.0;
    return p;
}

/* Wheels that do not slip roll along the body's x-z plane, however the springs turn the body. Rounding: 16 · 10 m/s · 2^-53. */
static void springs_do_not_move_the_body_sideways(void **unused)
{
    const struct chassis_params p = sprung_road();
    const struct drive drive = make(&p, sprung_drive, 3, 15.0);
    double most_m_s = 0.0, most_up_m_s = 0.0;
    (void)unused;
    for (double t_s = 0.0; t_s < 25.0; t_s += 0.01) {
        const struct oto_truth_record truth = truth_at(&drive, t_s);
        const oto_vec3 u = oto_quat_rotate_inv(truth.q_enu_from_body, truth.velocity_enu_m_s);
        most_m_s = fmax(most_m_s, fabs(u.y));
        most_up_m_s = fmax(most_up_m_s, fabs(u.z));
        assert_near(truth.longitudinal_speed_m_s, u.x, 1e-13);
    }
    assert_near(most_m_s, 0.0, 2e-14);
    assert_true(most_up_m_s > 0.1); /* 0.6° at 13 m/s: the springs do turn it */
}

/* The place of an IMU at a lever arm, by the pose; and its acceleration, by the rates. */
static oto_vec3 place_of_imu(const struct oto_truth_record *truth, oto_vec3 lever_m)
{
    return oto_vec3_add(truth->position_enu_m, oto_quat_rotate(truth->q_enu_from_body, lever_m));
}

static oto_vec3 accel_of_imu(const struct oto_truth_record *truth, oto_vec3 lever_m)
{
    const oto_vec3 w = truth->angular_rate_body_rad_s;
    const oto_vec3 turning = oto_vec3_cross(truth->angular_accel_body_rad_s2, lever_m);
    const oto_vec3 inwards = oto_vec3_cross(w, oto_vec3_cross(w, lever_m));
    return oto_vec3_add(truth->accel_enu_m_s2, oto_quat_rotate(truth->q_enu_from_body, oto_vec3_add(turning, inwards)));
}

/*
 * The third derivative of the springs' angles has steps of up to 60 · 0.35° · 2 = 0.75 rad/s³ where an acceleration begins to rise, of
 * which second quotients of h = 1 ms leave out h/6, at 1.6 m: 2e-4 m/s².
 */
static void the_force_at_a_lever_arm_on_springs_is_that_of_the_pose(void **unused)
{
    const struct chassis_params p = sprung_road();
    const struct drive drive = make(&p, sprung_drive, 3, 15.0);
    const oto_vec3 lever_m = {1.2, -0.4, 0.9};
    double worst_m_s2 = 0.0;
    (void)unused;
    for (int64_t t_ns = MOTION_STEP_NS; t_ns < INT64_C(25000000000); t_ns += 9654321) {
        struct oto_truth_record at[3];
        for (int i = 0; i < 3; i++)
            at[i] = truth_at_ns(&drive, t_ns + (i - 1) * MOTION_STEP_NS);
        const oto_vec3 ends = oto_vec3_add(place_of_imu(&at[0], lever_m), place_of_imu(&at[2], lever_m));
        const oto_vec3 bend = oto_vec3_add_scaled(ends, place_of_imu(&at[1], lever_m), -2.0);
        const oto_vec3 misfit = oto_vec3_sub(oto_vec3_scale(bend, 1e6), accel_of_imu(&at[1], lever_m));
        worst_m_s2 = fmax(worst_m_s2, oto_vec3_norm(misfit));
    }
    print_message("worst %.2g m/s²\n", worst_m_s2);
    assert_true(worst_m_s2 < 2e-4);
}

/* Straight at 10 m/s, from wanders of many seeds: n independent roads. */
static void the_random_road_has_its_rms_and_its_correlation_length(void **unused)
{
    enum { ROADS = 400, PLACES = 25 };
    double power = 0.0, product = 0.0, mean = 0.0;
    (void)unused;
    for (uint64_t seed = 0; seed < ROADS; seed++) {
        const struct road_wander wander = road_wander_make(1.0, 150.0, oto_rng_key_make(seed, "road"), 5);
        struct road_window window;
        road_window_at(&wander, 0.0, &window);
        for (int i = 0; i < PLACES; i++) {
            const double x = -5000.0 + 1000.0 * i; /* far enough apart to be independent */
            const double here = road_wander_at(&wander, &window, x).value;
            mean += here;
            power += here * here;
            product += here * road_wander_at(&wander, &window, x + 150.0).value;
        }
    }
    /* Standard deviations over n = 10 000 independent places: mean 1/√n = 0.01, power √(2/n) = 0.014, product
     * √((1 + r²)/n) = 0.011 with r = 1/e. Four of each. */
    assert_near(mean / (ROADS * PLACES), 0.0, 0.04);
    assert_near(power / (ROADS * PLACES), 1.0, 0.057);
    assert_near(product / (ROADS * PLACES), exp(-1.0), 0.044);
}

/* h = 0.25 m: quotients leave out h⁴/30 of the fifth derivative, 0.0039/30 · 53/(13.9 m)⁴ = 1.9e-7: the B-spline
 * has ±1, 4, 6, 4, 1 steps there, of which four deviations are 4 · √70/0.63 = 53. */
static void the_road_is_smooth_and_its_height_is_its_integral(void **unused)
{
    const struct road_wander wander = road_wander_make(1.0, 20.0, oto_rng_key_make(3, "road"), 5);
    struct road_window window;
    (void)unused;
    road_window_at(&wander, 0.0, &window);
    assert_near(road_wander_at(&wander, &window, 0.0).integral, 0.0, 0.0);
    for (double x = -500.0; x < 500.0; x += 0.37) {
        struct road_jet f[5];
        for (int i = 0; i < 5; i++)
            f[i] = road_wander_at(&wander, &window, x + 0.25 * (i - 2));
        assert_near(f[2].value, (8 * (f[3].integral - f[1].integral) - (f[4].integral - f[0].integral)) / 3.0, 1.9e-7);
        assert_near(f[2].first, (8 * (f[3].value - f[1].value) - (f[4].value - f[0].value)) / 3.0, 1.9e-7);
        assert_near(f[2].second, (8 * (f[3].first - f[1].first) - (f[4].first - f[0].first)) / 3.0, 1.9e-7);
    }
}

static void a_window_changes_nothing_but_the_time_it_takes(void **unused)
{
    const struct road_wander wander = road_wander_make(0.02, 150.0, oto_rng_key_make(3, "road"), 5);
    struct road_window here, far;
    (void)unused;
    for (double x = -3e6; x < 3e6; x += 98765.4321) {
        road_window_at(&wander, x, &here);
        road_window_at(&wander, -x - 1e5, &far);
        const struct road_jet a = road_wander_at(&wander, &here, x), b = road_wander_at(&wander, &far, x);
        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void vibration_has_its_rms_and_rests_with_the_vehicle(void **unused)
{
    struct chassis_params p = level;
    struct drive drive;
    struct drive_state state;
    double pitch2 = 0.0, up2 = 0.0;
    int n = 0;
    (void)unused;
    p.pitch_vibration_deg = 0.15;
    p.roll_vibration_deg = 0.25;
    p.vertical_vibration_m_s2 = 0.6;
    p.half_speed_m_s = 2.0; /* at 20 m/s 0.99 of all */
    drive = make(&p, cruise, 1, 20.0);
    drive_begin(&drive, &state);
    for (int64_t t_ns = 0; t_ns < INT64_C(900000000000); t_ns += 7654321, n++) {
        struct oto_truth_record truth;
        drive_truth(&drive, &state, (struct oto_instant){t_ns, 0.0}, &truth);
        pitch2 += pow(oto_rpy_from_quat(truth.q_enu_from_body).y, 2);
        up2 += pow(truth.accel_enu_m_s2.z, 2);
    }
    assert_near(sqrt(pitch2 / n), 0.15 * OTO_DEG, 0.005 * OTO_DEG);
    assert_near(sqrt(up2 / n), 0.6, 0.02);
    drive = make(&p, cruise, 1, 0.0);
    assert_near(oto_vec3_norm(truth_at(&drive, 12.3).angular_rate_body_rad_s), 0.0, 0.0);
    assert_near(oto_vec3_norm(truth_at(&drive, 12.3).accel_enu_m_s2), 0.0, 0.0);
}

static void a_band_that_is_none_is_refused(void **unused)
{
    struct chassis_params p = level;
    struct chassis chassis;
    (void)unused;
    p.angle_band_hz[1] = 0.5;
    assert_int_equal(chassis_make(&p, oto_rng_key_make(0, "x"), &chassis, &failure), OTO_INVALID);
    assert_non_null(strstr(failure.text, "vibration.angle_band_hz: [1, 0.5]"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, drop_memory)
    const struct CMUnitTest tests[] = {
        TEST(uphill_lifts_the_nose_and_climbs), TEST(a_level_path_is_tilted_by_the_road_and_does_not_rise),
        TEST(crown_and_bank_lean_the_body_to_the_edge),
        TEST(the_body_squats_when_it_accelerates_and_leans_out_of_a_bend),
        TEST(the_body_leans_on_a_slope_at_constant_speed_by_the_specific_force),
        TEST(drag_and_lift_pitch_the_body_by_the_square_of_the_speed),
        TEST(drag_and_lift_on_a_level_path_are_refused),
        TEST(springs_do_not_move_the_body_sideways),
        TEST(the_force_at_a_lever_arm_on_springs_is_that_of_the_pose),
        TEST(the_random_road_has_its_rms_and_its_correlation_length),
        TEST(the_road_is_smooth_and_its_height_is_its_integral),
        TEST(a_window_changes_nothing_but_the_time_it_takes),
        TEST(vibration_has_its_rms_and_rests_with_the_vehicle),
        TEST(a_band_that_is_none_is_refused),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
