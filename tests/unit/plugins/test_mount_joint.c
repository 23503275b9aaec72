/* The joint method on drives whose mount is known. Rows D… of the calibration table are named in the tests. */
#include "mount_drive.h"

static struct mount_rig rig;

static void open_city(uint64_t seed, enum mount_world world)
{
    const struct mount_drive_setup setup = {
        .world = world, .style = GENERATOR_CITY, .seed = seed, .rpy_deg = {-7.3, 3.1, -4.2}};
    mount_rig_open(&rig, &setup);
}

static void D1_noise_free_mounts_anywhere_in_the_box_come_out_to_a_hundredth_of_a_degree(void **state)
{
    static const double mounts[][3] = {{0, 0, 0},    {10, 5, 5},  {-10, -5, -5},  {10, -5, 5},
                                       {-10, 5, -5}, {10, 5, -5}, {3.3, -1.7, 4}, {-6, 2.5, -0.4}};
    (void)state;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        struct mount_drive_setup setup = {.world = MOUNT_PERFECT, .style = GENERATOR_CITY, .seed = 40 + i};
        memcpy(setup.rpy_deg, mounts[i], sizeof setup.rpy_deg);
        mount_rig_open(&rig, &setup);
        mount_rig_start(&rig);
        mount_rig_run(&rig, 360);
        assert_mount(&rig, 0.01, 0.01, 0.01);
        mount_rig_close(&rig);
    }
}

/* D.4: R_corr = inverse of the nominal mount times the estimated one, roll = atan2(R21, R22) and so on. */
static void D1_the_correction_is_what_the_estimate_adds_to_the_nominal_mount(void **state)
{
    const struct mount_drive_setup setup = {
        .world = MOUNT_PERFECT, .style = GENERATOR_CITY, .seed = 8, .rpy_deg = {176, 2, 88}};
    oto_quat q_nominal = oto_quat_from_rpy(OTO_PI, 0, 90 * OTO_DEG), q_correction;
    oto_mat3 m;
    (void)state;
    mount_rig_open(&rig, &setup);
    rig.params.nominal_rpy_deg[0] = 180;
    rig.params.nominal_rpy_deg[2] = 90;
    mount_rig_start(&rig);
    mount_rig_run(&rig, 300);
    assert_mount(&rig, 0.01, 0.01, 0.01);
    q_correction = oto_quat_mul(oto_quat_conj(q_nominal), rig.record.q_body_from_sensor);
    m = oto_mat3_from_quat(q_correction);
    assert_near(rig.record.correction_rpy_deg[0], atan2(m.m[2][1], m.m[2][2]) / OTO_DEG, 1e-9);
    assert_near(rig.record.correction_rpy_deg[1], atan2(-m.m[2][0], hypot(m.m[0][0], m.m[1][0])) / OTO_DEG, 1e-9);
    assert_near(rig.record.correction_rpy_deg[2], atan2(m.m[1][0], m.m[0][0]) / OTO_DEG, 1e-9);
    m = oto_mat3_from_quat(rig.record.q_body_from_sensor);
    assert_memory_equal(rig.record.rotation_body_from_sensor, m.m, sizeof m.m);
    mount_rig_close(&rig);
}

static void D2_a_mount_outside_the_box_fails_and_is_never_accepted(void **state)
{
    static const double mounts[][3] = {{18, 0, 0}, {0, 9, 0}, {0, 0, -9}, {0, 0, 180}, {90, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        struct mount_drive_setup setup = {.world = MOUNT_CITY, .style = GENERATOR_CITY, .seed = 60 + i};
        memcpy(setup.rpy_deg, mounts[i], sizeof setup.rpy_deg);
        mount_rig_open(&rig, &setup);
        for (int axis = 0; axis < 3; axis++) {
            rig.params.accept_bound_deg[axis] = 2.0; /* an easy gate, so that only the box can hold it back */
        }
        mount_rig_accept_roll(&rig, 2.0);
        mount_rig_start(&rig);
        for (double t_s = 60; t_s <= 600; t_s += 20) {
            mount_rig_run(&rig, t_s);
            assert_int_not_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
        }
        if (i < 3) {
            assert_int_equal(rig.record.state, OTO_CALIBRATION_FAILED);
            assert_int_equal(rig.record.reason, OTO_CALIBRATION_REASON_OUTSIDE_BOX);
        }
        mount_rig_close(&rig);
    }
}

static void D10_the_percentage_never_falls_while_data_are_good_and_is_100_at_acceptance(void **state)
{
    double before = 0;
    (void)state;
    open_city(5, MOUNT_CITY);
    mount_rig_accept_roll(&rig, 0.9);
    mount_rig_start(&rig);
    for (double t_s = 1; t_s <= 420; t_s += 1) {
        mount_rig_run(&rig, t_s);
        assert_true(rig.record.percent >= before && rig.record.percent <= 100);
        assert_true((rig.record.percent == 100) == (rig.record.state == OTO_CALIBRATION_ACCEPTED));
        before = rig.record.percent;
    }
    assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    mount_rig_close(&rig);
}

/* Bounds of roll and yaw; of the pitch what the filter knows: what springs do in a start does not get better with time. */
static void add_unsure(double unsure[3])
{
    unsure[0] += rig.record.bound_3sigma_deg[0];
    unsure[1] += joint_sigma(&rig.state->joint.filter, JOINT_MOUNT + 1);
    unsure[2] += rig.record.bound_3sigma_deg[2];
}

static void D14_the_estimate_goes_on_getting_better_after_acceptance(void **state)
{
    double early[3] = {0}, late[3] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        open_city(300 + seed, MOUNT_CITY);
        mount_rig_accept_roll(&rig, 1.2);
        rig.params.axes_sigma = 0; /* what does not get better with time */
        mount_rig_start(&rig);
        mount_rig_run(&rig, 240);
        assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
        add_unsure(early);
        mount_rig_run(&rig, 900);
        assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
        add_unsure(late);
        mount_rig_close(&rig);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(late[i] < 0.8 * early[i]);
    }
}

static void D19_compliance_is_found_where_it_is_far_from_what_was_assumed(void **state)
{
    (void)state;
    open_city(11, MOUNT_CITY);
    rig.params.compliance_deg_s2_m[0] = -0.05;
    rig.params.compliance_deg_s2_m[1] = 0.05;
    rig.params.compliance_sigma_deg_s2_m[0] = rig.params.compliance_sigma_deg_s2_m[1] = 0.4;
    mount_rig_start(&rig);
    mount_rig_run(&rig, 660);
    assert_near(rig.record.compliance_deg_s2_m[0], rig.drive.chassis.pitch_compliance_deg_s2_m, 0.05);
    assert_near(rig.record.compliance_deg_s2_m[1], rig.drive.chassis.roll_compliance_deg_s2_m, 0.08);
    assert_near(rig.error_deg[1], 0, 0.1);
    mount_rig_close(&rig);
}

static void D20_D31_biases_up_to_their_range_are_found_and_do_no_harm(void **state)
{
    static const double gyro_rad_s[3] = {0.15, -0.18, 0.12}, accel_m_s2[3] = {0.1, -0.12, 0.08};
    (void)state;
    open_city(12, MOUNT_CITY);
    memcpy(rig.drive.gyro_bias_rad_s, gyro_rad_s, sizeof gyro_rad_s);
    memcpy(rig.drive.accel_bias_m_s2, accel_m_s2, sizeof accel_m_s2);
    mount_rig_start(&rig);
    mount_rig_run(&rig, 480);
    assert_near(rig.record.gyro_bias_rad_s.x, gyro_rad_s[0], 2e-4);
    assert_near(rig.record.gyro_bias_rad_s.y, gyro_rad_s[1], 2e-4);
    assert_near(rig.record.gyro_bias_rad_s.z, gyro_rad_s[2], 2e-4);
    assert_near(rig.record.accel_bias_m_s2.x, accel_m_s2[0], 0.03);
    assert_near(rig.record.accel_bias_m_s2.y, accel_m_s2[1], 0.03);
    assert_near(rig.record.speed_scale, rig.drive.speed_scale, 0.004);
    assert_near(rig.error_deg[1], 0, 0.1);
    assert_near(rig.error_deg[2], 0, 0.1);
    mount_rig_close(&rig);
}

static void D27_any_rate_from_50_hz_gives_the_same_mount(void **state)
{
    static const double rates_hz[] = {50, 104, 200, 1000};
    (void)state;
    for (size_t i = 0; i < sizeof rates_hz / sizeof *rates_hz; i++) {
        const struct mount_drive_setup setup = {.world = MOUNT_CITY,
                                                .style = GENERATOR_CITY,
                                                .seed = 14,
                                                .rate_hz = rates_hz[i],
                                                .rpy_deg = {-7.3, 3.1, -4.2}};
        mount_rig_open(&rig, &setup);
        mount_rig_start(&rig);
        mount_rig_run(&rig, 240);
        assert_int_equal(rig.record.monitors, 0);
        assert_near(rig.error_deg[1], 0, 0.1);
        assert_near(rig.error_deg[2], 0, 0.1);
        assert_true(fabs(rig.error_deg[0]) < rig.record.bound_3sigma_deg[0]);
        mount_rig_close(&rig);
    }
}

static void the_wheel_speed_may_be_late(void **state)
{
    struct mount_sample sample;
    double late_m_s[12] = {0};
    (void)state;
    open_city(15, MOUNT_CITY);
    mount_rig_start(&rig);
    while (rig.drive.n < 30000) {
        double now_m_s;
        mount_drive_next(&rig.drive, &sample);
        now_m_s = sample.speed_m_s;
        sample.speed_m_s = late_m_s[rig.drive.n % 12];
        late_m_s[rig.drive.n % 12] = now_m_s;
        mount_rig_push(&rig, &sample);
    }
    mount_rig_look(&rig);
    assert_near(rig.record.speed_lag_s, 0.12, 0.02);
    assert_near(rig.error_deg[1], 0, 0.1);
    assert_near(rig.error_deg[2], 0, 0.1);
    mount_rig_close(&rig);
}

/*
 * The tolerance is four standard deviations of the estimate. Each difference of two blocks shares a block with the next
 * difference, so the mean square of n differences of three axes has the relative variance 3/n · 1/3. The assumed noise counts
 * as 20 more blocks.
 */
static void the_noise_of_the_gyroscope_is_learned_at_rest(void **state)
{
    const double density = 0.5 * 0.01 * OTO_DEG, dt = 0.1, blocks = 400;
    const struct oto_rng_key key = oto_rng_key_make(5, "gyro");
    struct mountcal_params params;
    struct mountcal_plan plan;
    struct joint_filter filter;
    struct oto_error error;
    const double none_rad[3] = {0.02, 0.02, 0.02};
    (void)state;
    mountcal_params_default(&params);
    assert_ok(mountcal_prepare(&params, &plan, &error), error);
    joint_filter_init(&plan.joint, oto_quat_identity(), none_rad, &filter);
    for (uint64_t i = 0; i < (uint64_t)blocks + 2; i++) {
        struct joint_block block = {.duration_s = dt, .speeds = 1, .still = 1, .velocity_gain_m_s = {0, 0, 9.80665 * dt}};
        double turn_rad[3];
        for (uint64_t axis = 0; axis < 3; axis++) {
            turn_rad[axis] = density * sqrt(dt) * oto_normal_at(key, i, 1, OTO_RNG_DOMAIN_FAULT, axis);
        }
        block.turn_rad = oto_vec3_from_array(turn_rad);
        joint_filter_step(&plan.joint, &filter, &block);
    }
    const double assumed = plan.joint.gyro_noise * plan.joint.gyro_noise, true_power = density * density;
    const double expected = (20.0 * assumed + blocks * true_power) / (20.0 + blocks);
    assert_near(joint_gyro_noise(&plan.joint, &filter.gyro), expected, 4.0 * true_power * sqrt(1.0 / blocks));
}

/*
 * The rate at rest of a gyroscope whose bias is a random walk, or one that is drawn back to 0 within correlation_s; or motion in
 * its place; blocks of a tenth of a second.
 */
static void rest_a_while(const struct mountcal_plan *plan, struct joint_filter *filter, double noise, double wander, double correlation_s,
                         uint64_t blocks)
{
    const struct oto_rng_key key = oto_rng_key_make(7, "wander");
    const double dt = 0.1;
    oto_vec3 bias_rad_s = oto_vec3_zero();
    for (uint64_t i = 0; i < blocks; i++) {
        struct joint_block block = {.duration_s = dt, .speeds = 1, .still = i % 400 < 100, .velocity_gain_m_s = {0, 0, 9.80665 * dt}};
        double white[3], step[3];
        for (uint64_t axis = 0; axis < 3; axis++) {
            white[axis] = noise * sqrt(dt) * oto_normal_at(key, i, 1, OTO_RNG_DOMAIN_FAULT, axis);
            step[axis] = sqrt(wander * dt) * oto_normal_at(key, i, 2, OTO_RNG_DOMAIN_FAULT, axis);
        }
        bias_rad_s = oto_vec3_add_scaled(oto_vec3_from_array(step), bias_rad_s, 1.0 - dt / correlation_s);
        block.turn_rad = oto_vec3_add_scaled(oto_vec3_from_array(white), bias_rad_s, dt);
        joint_filter_step(&plan->joint, filter, &block);
    }
}

static double learned_wander_drawn_back(double noise, double wander, double correlation_s, uint64_t blocks)
{
    const double none_rad[3] = {0.02, 0.02, 0.02};
    struct mountcal_params params;
    struct mountcal_plan plan;
    struct joint_filter filter;
    struct oto_error error;
    mountcal_params_default(&params);
    assert_ok(mountcal_prepare(&params, &plan, &error), error);
    joint_filter_init(&plan.joint, oto_quat_identity(), none_rad, &filter);
    rest_a_while(&plan, &filter, noise, wander, correlation_s, blocks);
    return joint_gyro_wander(&filter.gyro);
}

static double learned_wander(double noise, double wander, uint64_t blocks)
{
    return learned_wander_drawn_back(noise, wander, 1e9, blocks);
}

/*
 * Ten rests of ten seconds, half a minute apart: 9 pauses of 31 s on 3 axes carry nearly all of the wander, and the assumption has
 * 8 s of these 280, so that 0.97 of the true power is expected. Its relative deviation is about √(2/27) = 0.27. Four deviations.
 */
static void the_wander_of_the_gyroscopes_bias_is_learned_at_rest(void **state)
{
    const double noise = 0.007 * OTO_DEG, wander = 1e-8;
    (void)state;
    assert_near(learned_wander(noise, wander, 4000), 0.97 * wander, 4.0 * 0.27 * wander);
    assert_true(learned_wander(noise, wander, 4000) > 0.2 * wander);
    assert_near(learned_wander(noise, 0.0, 0), 3e-9, 1e-12); /* the assumption, before any rest */
    assert_true(learned_wander(noise, 0.0, 4000) < 1.5e-9); /* noise alone is not taken for wander */
}

/*
 * A bias that is drawn back within 3 s moves from second to second as a walk of 3e-7 (rad/s)²/s, over a pause of 31 s as one of
 * 2 σ² / 31 s = 3e-7 · 3 / 31 = 3e-8. What counts lies between, at 5e-8 or above; a true walk of 3e-7 is found as it is (one third of
 * the 27 squares' deviation 0.27, with ten times their weight).
 */
static void flicker_is_told_from_wander_by_the_pauses_between_rests(void **state)
{
    const double noise = 0.007 * OTO_DEG, wander = 3e-7;
    const double flicker = learned_wander_drawn_back(noise, wander, 3.0, 4000), walk = learned_wander(noise, wander, 4000);
    (void)state;
    assert_true(flicker >= 5e-8 && flicker < 1.3e-7);
    assert_near(walk, wander, 4.0 * 0.27 * wander);
    assert_true(walk > 0.3 * wander);
}

/* The noise of a second hides the wander of a second: one rest says nothing of it, and the assumption stays. */
static void one_rest_does_not_show_that_a_noisy_gyroscope_is_steady(void **state)
{
    (void)state;
    assert_near(learned_wander(0.007 * OTO_DEG, 0.0, 100), 3e-9, 0.5e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D1_noise_free_mounts_anywhere_in_the_box_come_out_to_a_hundredth_of_a_degree),
        cmocka_unit_test(D1_the_correction_is_what_the_estimate_adds_to_the_nominal_mount),
        cmocka_unit_test(D2_a_mount_outside_the_box_fails_and_is_never_accepted),
        cmocka_unit_test(D10_the_percentage_never_falls_while_data_are_good_and_is_100_at_acceptance),
        cmocka_unit_test(D14_the_estimate_goes_on_getting_better_after_acceptance),
        cmocka_unit_test(D19_compliance_is_found_where_it_is_far_from_what_was_assumed),
        cmocka_unit_test(D20_D31_biases_up_to_their_range_are_found_and_do_no_harm),
        cmocka_unit_test(D27_any_rate_from_50_hz_gives_the_same_mount),
        cmocka_unit_test(the_wheel_speed_may_be_late),
        cmocka_unit_test(the_noise_of_the_gyroscope_is_learned_at_rest),
        cmocka_unit_test(the_wander_of_the_gyroscopes_bias_is_learned_at_rest),
        cmocka_unit_test(flicker_is_told_from_wander_by_the_pauses_between_rests),
        cmocka_unit_test(one_rest_does_not_show_that_a_noisy_gyroscope_is_steady),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
