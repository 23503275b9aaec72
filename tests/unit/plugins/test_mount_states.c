/* States, life and memory of the calibration. Rows D… of the calibration table are named in the tests. */
#include "mount_drive.h"

static struct mount_rig rig;

/* A city drive with gates that are reached within minutes: states are looked at here, not the road's limits. */
static void open_city(uint64_t seed)
{
    const struct mount_drive_setup setup = {
        .world = MOUNT_CITY, .style = GENERATOR_CITY, .seed = seed, .rpy_deg = {4.0, -2.5, 3.5}};
    mount_rig_open(&rig, &setup);
    mount_rig_accept_roll(&rig, 1.0);
}

static void run_to_acceptance(double at_most_s)
{
    while (rig.record.state != OTO_CALIBRATION_ACCEPTED) {
        assert_true(rig.drive.n < (uint64_t)(at_most_s * 100));
        mount_rig_run(&rig, (double)(rig.drive.n / 100 + 1));
    }
}

static void change(void (*set)(struct mountcal_params *params))
{
    const struct mountcal_params old = rig.params;
    struct oto_error error;
    set(&rig.params);
    assert_ok(mountcal_prepare(&rig.params, &rig.plan, &error), error);
    mountcal_adapt(&rig.plan, &old, rig.state);
}

static void set_stopped(struct mountcal_params *params)
{
    params->running = 0;
}

static void set_running(struct mountcal_params *params)
{
    params->running = 1;
}

static void set_reset(struct mountcal_params *params)
{
    params->reset++;
}

static void D9_D12_it_begins_unaccepted_and_each_change_of_state_is_counted_once(void **state)
{
    uint32_t seen = 0, before;
    (void)state;
    open_city(21);
    mount_rig_start(&rig);
    mount_rig_look(&rig);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_NOT_ACCEPTED);
    assert_int_equal(rig.record.changes, 0);
    assert_near(rig.record.bound_3sigma_deg[0], 180, 1e-9);
    before = rig.record.state;
    for (double t_s = 0.1; t_s < 400; t_s += 0.1) {
        mount_rig_run(&rig, t_s);
        mount_rig_look(&rig);
        seen += rig.record.state != before;
        before = rig.record.state;
        assert_int_equal(rig.record.changes, seen);
    }
    assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    assert_int_equal(seen, 1);
    mount_rig_close(&rig);
}

static void D13_stop_freezes_start_goes_on_and_reset_is_nominal_again(void **state)
{
    struct oto_mount_calibration_record stopped;
    (void)state;
    open_city(22);
    mount_rig_start(&rig);
    mount_rig_run(&rig, 200);
    change(set_stopped);
    mount_rig_look(&rig);
    stopped = rig.record;
    assert_int_equal(stopped.reason, OTO_CALIBRATION_REASON_STOPPED);
    assert_int_equal(stopped.running, 0);
    mount_rig_run(&rig, 260);
    assert_memory_equal(rig.record.rpy_deg, stopped.rpy_deg, sizeof stopped.rpy_deg);
    assert_near(rig.record.seconds, stopped.seconds, 0);
    change(set_running);
    mount_rig_run(&rig, 420);
    assert_true(rig.record.seconds > stopped.seconds + 150);
    assert_mount(&rig, 1, 0.15, 0.15);
    change(set_reset);
    mount_rig_look(&rig);
    assert_int_equal(rig.record.resets, 1);
    assert_near(rig.record.percent, 0, 0);
    assert_near(rig.record.rpy_deg[0], 0, 1e-9);
    assert_near(rig.record.seconds, 0, 0);
    mount_rig_close(&rig);
}

static void move_at_ten_minutes(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)sample;
    if (spoiled->drive.n == 60000) {
        spoiled->drive.setup.rpy_deg[1] += 2.0;
        spoiled->drive.q_body_from_sensor =
            oto_quat_from_rpy(spoiled->drive.setup.rpy_deg[0] * OTO_DEG, spoiled->drive.setup.rpy_deg[1] * OTO_DEG,
                              spoiled->drive.setup.rpy_deg[2] * OTO_DEG);
    }
}

static void D15_a_mount_that_moves_by_two_degrees_is_noticed_within_a_minute_and_found_again(void **state)
{
    double noticed_s = 0;
    (void)state;
    open_city(23);
    rig.spoil = move_at_ten_minutes;
    mount_rig_start(&rig);
    mount_rig_run(&rig, 600);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    for (double t_s = 601; t_s < 700 && noticed_s == 0; t_s++) {
        mount_rig_run(&rig, t_s);
        noticed_s = rig.record.state == OTO_CALIBRATION_FAILED ? t_s - 600 : 0;
    }
    print_message("    noticed after %.0f s\n", noticed_s);
    assert_true(noticed_s > 0 && noticed_s < 60);
    assert_int_equal(rig.record.reason, OTO_CALIBRATION_REASON_MOVED);
    run_to_acceptance(1200);
    mount_rig_run(&rig, 1200);
    assert_mount(&rig, 0.6, 0.15, 0.15);
    mount_rig_close(&rig);
}

static void set_previous(const double off_deg[3], double bound_deg)
{
    for (int i = 0; i < 3; i++) {
        rig.params.previous_rpy_deg[i] = rig.drive.setup.rpy_deg[i] + off_deg[i];
        rig.params.previous_bound_deg[i] = bound_deg;
    }
}

static void D17_a_previous_result_joins_an_axis_only_where_the_new_data_could_have_refuted_it(void **state)
{
    static const double off_deg[3] = {0.05, 0.02, 0.05};
    double alone_deg;
    (void)state;
    open_city(24);
    mount_rig_start(&rig);
    mount_rig_run(&rig, 300);
    alone_deg = rig.record.axis_bound_deg[OTO_CALIBRATION_PITCH];
    mount_rig_close(&rig);

    open_city(24);
    mount_rig_accept_roll(&rig, 0.3);
    set_previous(off_deg, 0.2);
    mount_rig_start(&rig);
    mount_rig_run(&rig, 20);
    for (int i = 0; i < OTO_CALIBRATION_AXES; i++) {
        assert_int_equal(rig.record.axis_previous[i], i == OTO_CALIBRATION_ROLL_REPEATABLE
                                                          ? OTO_CALIBRATION_PREVIOUS_NONE
                                                          : OTO_CALIBRATION_PREVIOUS_CARRIED);
    }
    mount_rig_run(&rig, 300);
    assert_int_equal(rig.record.axis_previous[OTO_CALIBRATION_PITCH], OTO_CALIBRATION_PREVIOUS_JOINED);
    assert_int_equal(rig.record.axis_previous[OTO_CALIBRATION_YAW], OTO_CALIBRATION_PREVIOUS_JOINED);
    assert_int_equal(rig.record.axis_previous[OTO_CALIBRATION_ROLL_ABSOLUTE], OTO_CALIBRATION_PREVIOUS_CARRIED);
    assert_true(rig.record.axis_bound_deg[OTO_CALIBRATION_PITCH] < 0.8 * alone_deg);
    assert_mount(&rig, 1, 0.15, 0.15);
    mount_rig_close(&rig);
}

/* Off by as much as the road's bank hides, and said to be sure: it changes nothing. */
static void a_previous_roll_that_is_wrong_is_never_confirmed(void **state)
{
    static const double off_deg[][3] = {{0.4, 0, 0}, {-0.9, 0, 0}, {1.5, 0, 0}};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        double alone_deg, bound_deg;
        open_city(25);
        mount_rig_accept_roll(&rig, 0.3);
        mount_rig_start(&rig);
        mount_rig_run(&rig, 600);
        alone_deg = rig.record.rpy_deg[0];
        bound_deg = rig.record.bound_3sigma_deg[0];
        mount_rig_close(&rig);

        open_city(25);
        mount_rig_accept_roll(&rig, 0.3);
        set_previous(off_deg[k], 0.2);
        mount_rig_start(&rig);
        mount_rig_run(&rig, 600);
        assert_int_not_equal(rig.record.axis_previous[OTO_CALIBRATION_ROLL_ABSOLUTE], OTO_CALIBRATION_PREVIOUS_JOINED);
        assert_near(rig.record.rpy_deg[0], alone_deg, 0.02);
        assert_near(rig.record.bound_3sigma_deg[0], bound_deg, 1e-9);
        assert_int_equal(rig.record.axis_accepted[OTO_CALIBRATION_ROLL_ABSOLUTE], 0);
        mount_rig_close(&rig);
    }
}

static void D17_a_wrong_previous_result_is_refuted(void **state)
{
    static const double off_deg[][3] = {{0, 1, 0}, {0, 0, -1}, {4, 0, 0}};
    static const int axis[] = {OTO_CALIBRATION_PITCH, OTO_CALIBRATION_YAW, OTO_CALIBRATION_ROLL_ABSOLUTE};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        open_city(25);
        set_previous(off_deg[k], 0.3);
        mount_rig_start(&rig);
        for (double t_s = 10; t_s <= 240; t_s += 10) {
            mount_rig_run(&rig, t_s);
            assert_int_not_equal(rig.record.axis_previous[axis[k]], OTO_CALIBRATION_PREVIOUS_JOINED);
        }
        assert_int_equal(rig.record.axis_previous[axis[k]], OTO_CALIBRATION_PREVIOUS_REFUTED);
        assert_near(rig.error_deg[1], 0, 0.2);
        assert_near(rig.error_deg[2], 0, 0.2);
        mount_rig_close(&rig);
    }
}

static void D18_a_copied_state_goes_on_bit_for_bit(void **state)
{
    static struct mountcal_state copy;
    struct oto_mount_calibration_record record;
    struct mount_sample sample;
    (void)state;
    open_city(26);
    mount_rig_start(&rig);
    mount_rig_run(&rig, 77.77); /* in the middle of a block and of the samples that are kept for the replay */
    memcpy(&copy, rig.state, sizeof copy);
    for (int i = 0; i < 6000; i++) {
        mount_drive_next(&rig.drive, &sample);
        mount_rig_push(&rig, &sample);
        mountcal_push_speed(&copy, sample.t_ns, sample.speed_m_s);
        mountcal_push_imu(&rig.plan, &copy, sample.t_ns, sample.specific_force_m_s2, sample.angular_rate_rad_s);
    }
    assert_memory_equal(&copy, rig.state, sizeof copy);
    mount_rig_look(&rig);
    mountcal_result(&rig.plan, &copy, &record);
    assert_memory_equal(&record, &rig.record, sizeof record);
    assert_true(mountcal_state_is_valid(rig.state));
    copy.joint.filter.covariance[3][3] = -1;
    assert_false(mountcal_state_is_valid(&copy));
    memcpy(&copy, rig.state, sizeof copy);
    copy.monitors.imu_t_ns = INT64_MIN; /* a difference from it has no value in 64 bits */
    assert_false(mountcal_state_is_valid(&copy));
    mount_rig_close(&rig);
}

static void D23_manoeuvres_that_are_still_needed_go_as_they_are_driven(void **state)
{
    static const struct script_segment segments[] = {
        {.kind = SCRIPT_STOP, .accel_m_s2 = 2, .ramp_s = 1, .duration_s = 12},
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 8, .accel_m_s2 = 2, .ramp_s = 1},
        {.kind = SCRIPT_TURN, .accel_m_s2 = 2, .angle_deg = 90, .radius_m = 15, .ramp_s = 1},
        {.kind = SCRIPT_CRUISE, .accel_m_s2 = 2, .duration_s = 3, .ramp_s = 1},
        {.kind = SCRIPT_TURN, .accel_m_s2 = 2, .angle_deg = 90, .radius_m = 15, .ramp_s = 1},
        {.kind = SCRIPT_CRUISE, .accel_m_s2 = 2, .duration_s = 10, .ramp_s = 1},
    };
    const struct mount_drive_setup setup = {.world = MOUNT_PERFECT, .segments = segments, .segment_count = 6};
    const uint32_t stop = 1u << OTO_CALIBRATION_MANOEUVRE_STOP, left = 1u << OTO_CALIBRATION_MANOEUVRE_TURN_LEFT;
    const uint32_t right = 1u << OTO_CALIBRATION_MANOEUVRE_TURN_RIGHT;
    (void)state;
    mount_rig_open(&rig, &setup);
    mount_rig_start(&rig);
    mount_rig_look(&rig);
    assert_int_equal(rig.record.manoeuvres_needed, (1u << OTO_CALIBRATION_MANOEUVRES) - 1);
    mount_rig_run(&rig, 11.9);
    mount_rig_look(&rig);
    assert_int_equal(rig.record.manoeuvres_needed & stop, 0);
    assert_int_not_equal(rig.record.manoeuvres_needed & left, 0);
    mount_rig_run(&rig, 40);
    assert_int_equal(rig.record.manoeuvres_needed & left, 0);
    assert_int_not_equal(rig.record.manoeuvres_needed & right, 0);
    assert_near(rig.record.manoeuvre_progress[OTO_CALIBRATION_MANOEUVRE_TURN_LEFT], 1, 0);
    assert_near(rig.record.manoeuvre_progress[OTO_CALIBRATION_MANOEUVRE_FORWARD_START], 1.0 / 3, 1e-9);
    assert_string_equal(oto_calibration_manoeuvre_text(OTO_CALIBRATION_MANOEUVRE_TURN_RIGHT), "turn right");
    mount_rig_close(&rig);
}

static void D24_each_signal_has_a_bit_a_value_and_a_bound(void **state)
{
    (void)state;
    open_city(27);
    mount_rig_start(&rig);
    mount_rig_run(&rig, 60);
    assert_int_equal(rig.record.signals, OTO_CALIBRATION_SIGNAL_SENSOR_TO_RIG | OTO_CALIBRATION_SIGNAL_ROLL |
                                             OTO_CALIBRATION_SIGNAL_PITCH | OTO_CALIBRATION_SIGNAL_YAW);
    for (int i = 0; i < 3; i++) {
        assert_true(rig.record.bound_3sigma_deg[i] > 0 && rig.record.bound_3sigma_deg[i] < 5);
    }
    change(set_stopped);
    mount_rig_look(&rig);
    assert_int_equal(rig.record.signals, 0);
    mount_rig_close(&rig);
}

static void D26_three_imus_at_once_are_independent(void **state)
{
    static struct mount_rig rigs[3];
    static const double mounts[3][3] = {{1, 2, 3}, {-9, 4, -4}, {6, -3, 0}};
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct mount_drive_setup setup = {.world = MOUNT_CITY, .style = GENERATOR_CITY, .seed = 28};
        memcpy(setup.rpy_deg, mounts[k], sizeof setup.rpy_deg);
        mount_rig_open(&rigs[k], &setup);
        mount_rig_start(&rigs[k]);
    }
    for (double t_s = 1; t_s <= 180; t_s++) {
        for (int k = 0; k < 3; k++) {
            mount_rig_run(&rigs[k], t_s);
        }
    }
    for (int k = 0; k < 3; k++) {
        assert_mount(&rigs[k], 1.2, 0.15, 0.15);
        mount_rig_close(&rigs[k]);
    }
}

static void D30_what_is_felt_less_motion_is_gravity_after_calibration(void **state)
{
    static const struct script_segment segments[] = {
        {.kind = SCRIPT_STOP, .accel_m_s2 = 2, .ramp_s = 1, .duration_s = 8},
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 12, .accel_m_s2 = 2, .ramp_s = 1},
        {.kind = SCRIPT_TURN, .accel_m_s2 = 2, .angle_deg = 90, .radius_m = 40, .ramp_s = 1},
        {.kind = SCRIPT_BRAKE, .to_speed_m_s = 4, .accel_m_s2 = 2, .ramp_s = 1},
        {.kind = SCRIPT_TURN, .accel_m_s2 = 2, .angle_deg = -90, .radius_m = 12, .ramp_s = 1},
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 14, .accel_m_s2 = 2, .ramp_s = 1},
    };
    const struct mount_drive_setup setup = {
        .world = MOUNT_PERFECT, .segments = segments, .segment_count = 6, .rpy_deg = {5, -3, 4}};
    struct oto_mount_calibration_diagnostics_record diagnostics;
    (void)state;
    mount_rig_open(&rig, &setup);
    mount_rig_start(&rig);
    mount_rig_run(&rig, 30);
    for (double t_s = 31; t_s < 60; t_s++) {
        mount_rig_run(&rig, t_s);
        mountcal_diagnostics(&rig.plan, rig.state, &diagnostics);
        assert_near(diagnostics.gravity_residual_m_s2.x, 0, 0.05);
        assert_near(diagnostics.gravity_residual_m_s2.y, 0, 0.05);
        assert_near(diagnostics.gravity_residual_m_s2.z, 0, 0.05);
    }
    mount_rig_close(&rig);
}

static void D34_a_level_garage_gives_a_degree_within_a_minute(void **state)
{
    static const struct script_segment segments[] = {
        {.kind = SCRIPT_STOP, .accel_m_s2 = 2, .ramp_s = 0.5, .duration_s = 6},
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 5, .accel_m_s2 = 2.5, .ramp_s = 0.5},
        {.kind = SCRIPT_STOP, .accel_m_s2 = 2.5, .ramp_s = 0.5, .duration_s = 3},
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 5, .accel_m_s2 = 2.5, .ramp_s = 0.5},
        {.kind = SCRIPT_STOP, .accel_m_s2 = 2.5, .ramp_s = 0.5, .duration_s = 3},
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 5, .accel_m_s2 = 2.5, .ramp_s = 0.5},
        {.kind = SCRIPT_STOP, .accel_m_s2 = 2.5, .ramp_s = 0.5, .duration_s = 30},
    };
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const struct mount_drive_setup setup = {
            .world = MOUNT_CITY, .segments = segments, .segment_count = 7, .seed = seed, .rpy_deg = {-8, 4, -3}};
        mount_rig_open(&rig, &setup);
        rig.drive.chassis.grade_rms_deg = rig.drive.chassis.bank_rms_deg = rig.drive.chassis.crown_deg = 0;
        {
            struct oto_error error;
            assert_ok(chassis_make(&rig.drive.chassis, oto_rng_key_make(seed, "car"), &rig.drive.drive.chassis, &error),
                      error);
        }
        rig.params.garage = 1;
        rig.params.accel_bias_sigma_m_s2 = 0.05;
        mount_rig_start(&rig);
        mount_rig_run(&rig, 55);
        assert_mount(&rig, 1, 1, 1);
        assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
        mount_rig_close(&rig);
    }
}

static void D34_without_five_seconds_of_rest_a_garage_gives_nothing(void **state)
{
    static const struct script_segment segments[] = {
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 5, .accel_m_s2 = 2.5, .ramp_s = 0.5},
        {.kind = SCRIPT_STOP, .accel_m_s2 = 2.5, .ramp_s = 0.5, .duration_s = 3},
        {.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 5, .accel_m_s2 = 2.5, .ramp_s = 0.5},
        {.kind = SCRIPT_CRUISE, .accel_m_s2 = 2, .duration_s = 30, .ramp_s = 0.5},
    };
    const struct mount_drive_setup setup = {.world = MOUNT_PERFECT, .segments = segments, .segment_count = 4};
    (void)state;
    mount_rig_open(&rig, &setup);
    rig.params.garage = 1;
    mount_rig_start(&rig);
    mount_rig_run(&rig, 40);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_NOT_ACCEPTED);
    mount_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D9_D12_it_begins_unaccepted_and_each_change_of_state_is_counted_once),
        cmocka_unit_test(D13_stop_freezes_start_goes_on_and_reset_is_nominal_again),
        cmocka_unit_test(D15_a_mount_that_moves_by_two_degrees_is_noticed_within_a_minute_and_found_again),
        cmocka_unit_test(D17_a_previous_result_joins_an_axis_only_where_the_new_data_could_have_refuted_it),
        cmocka_unit_test(a_previous_roll_that_is_wrong_is_never_confirmed),
        cmocka_unit_test(D17_a_wrong_previous_result_is_refuted),
        cmocka_unit_test(D18_a_copied_state_goes_on_bit_for_bit),
        cmocka_unit_test(D23_manoeuvres_that_are_still_needed_go_as_they_are_driven),
        cmocka_unit_test(D24_each_signal_has_a_bit_a_value_and_a_bound),
        cmocka_unit_test(D26_three_imus_at_once_are_independent),
        cmocka_unit_test(D30_what_is_felt_less_motion_is_gravity_after_calibration),
        cmocka_unit_test(D34_a_level_garage_gives_a_degree_within_a_minute),
        cmocka_unit_test(D34_without_five_seconds_of_rest_a_garage_gives_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
