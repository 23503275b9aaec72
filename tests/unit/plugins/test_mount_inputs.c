/* What the calibration does with inputs that are wrong. Rows D… of the calibration table are named in the tests. */
#include "mount_drive.h"

static struct mount_rig rig;

#define BIT(name) (1u << OTO_CALIBRATION_MONITOR_##name)

/* A gate so easy that a wrong result would be accepted if nothing held it back. */
static void open_city(uint64_t seed, int64_t style)
{
    const struct mount_drive_setup setup = {
        .world = MOUNT_CITY, .style = style, .seed = seed, .rpy_deg = {4.0, -2.5, 3.5}};
    mount_rig_open(&rig, &setup);
    for (int i = 0; i < 3; i++) {
        rig.params.accept_bound_deg[i] = 1.5;
    }
    mount_rig_accept_roll(&rig, 1.5);
    mount_rig_start(&rig);
}

/* Runs with what is wrong, and looks ten times a second that nothing wrong is accepted. */
static void run_without_acceptance(double until_s)
{
    for (double t_s = 0.1; t_s <= until_s; t_s += 0.1) {
        mount_rig_run(&rig, t_s);
        mountcal_result(&rig.plan, rig.state, &rig.record);
        assert_int_not_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    }
}

static void assert_finite_record(void)
{
    for (int i = 0; i < 3; i++) {
        assert_true(isfinite(rig.record.rpy_deg[i]) && isfinite(rig.record.bound_3sigma_deg[i]));
    }
    assert_true(mountcal_state_is_valid(rig.state));
}

static void D22_without_speed_there_is_no_progress_and_a_hint(void **state)
{
    (void)state;
    open_city(31, GENERATOR_CITY);
    rig.without_speed = true;
    run_without_acceptance(120);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_INVALID);
    assert_int_equal(rig.record.reason, OTO_CALIBRATION_REASON_NO_SPEED);
    assert_int_equal(rig.record.monitors & BIT(SPEED_MISSING), BIT(SPEED_MISSING));
    assert_near(rig.record.percent, 0, 0);
    assert_string_equal(oto_calibration_reason_text(rig.record.reason), "no speed is coming in");
    rig.without_speed = false;
    mount_rig_run(&rig, 420);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    assert_mount(&rig, 1, 0.15, 0.15);
    mount_rig_close(&rig);
}

static void speed_in_km_h(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->speed_m_s *= 3.6;
}

static void speed_in_mph(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->speed_m_s *= 2.23694;
}

static void speed_backwards(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->speed_m_s = -sample->speed_m_s;
}

static void speed_stuck(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->speed_m_s = 8.33;
}

static void speed_zero(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->speed_m_s = 0;
}

static void gyro_in_deg_s(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    for (int i = 0; i < 3; i++) {
        sample->angular_rate_rad_s[i] /= OTO_DEG;
    }
}

static void accel_in_g(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    for (int i = 0; i < 3; i++) {
        sample->specific_force_m_s2[i] /= 9.80665;
    }
}

static void accel_without_gravity(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->specific_force_m_s2[2] -= 9.80665;
}

static void gyro_of_another_handedness(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->angular_rate_rad_s[2] = -sample->angular_rate_rad_s[2];
}

static void axis_missing(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->angular_rate_rad_s[1] = NAN;
}

static void imu_stuck(struct mount_rig *spoiled, struct mount_sample *sample)
{
    static const double force[3] = {0.1, 0.2, 9.7}, rate[3] = {0.001, 0.002, 0.003};
    (void)spoiled;
    memcpy(sample->specific_force_m_s2, force, sizeof force);
    memcpy(sample->angular_rate_rad_s, rate, sizeof rate);
}

static void D21_D22_inputs_in_other_units_or_dead_are_never_accepted(void **state)
{
    static const struct {
        const char *name;
        void (*spoil)(struct mount_rig *spoiled, struct mount_sample *sample);
        uint32_t monitor; /* one that must have been raised; 0: any state but accepted will do */
    } cases[] = {
        {"speed in km/h", speed_in_km_h, BIT(SPEED_CONFLICT)},
        {"speed in mph", speed_in_mph, BIT(SPEED_CONFLICT)},
        {"speed of the other sign", speed_backwards, 0},
        {"speed stuck", speed_stuck, BIT(SPEED_CONFLICT)},
        {"speed stuck at zero", speed_zero, 0},
        {"gyro in deg/s", gyro_in_deg_s, BIT(GYRO_RANGE)},
        {"accelerometer in g", accel_in_g, BIT(ACCEL_RANGE)},
        {"accelerometer without gravity", accel_without_gravity, BIT(ACCEL_RANGE)},
        {"gyro z of the other sign", gyro_of_another_handedness, 0},
        {"an axis that is missing", axis_missing, BIT(IMU_NOT_FINITE)},
        {"IMU stuck", imu_stuck, 0},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        uint32_t raised = 0;
        open_city(32, GENERATOR_CITY);
        rig.spoil = cases[k].spoil;
        for (double t_s = 1; t_s <= 300; t_s++) {
            mount_rig_run(&rig, t_s);
            raised |= rig.record.monitors;
            if (rig.record.state == OTO_CALIBRATION_ACCEPTED) {
                print_error("%s: accepted at %.0f s\n", cases[k].name, t_s);
                fail();
            }
        }
        if ((raised & cases[k].monitor) != cases[k].monitor) {
            print_error("%s: monitors %#x, wanted %#x\n", cases[k].name, raised, cases[k].monitor);
            fail();
        }
        assert_finite_record();
        mount_rig_close(&rig);
    }
}

static void some_nan(struct mount_rig *spoiled, struct mount_sample *sample)
{
    if (spoiled->drive.n % 37 == 0) {
        sample->specific_force_m_s2[spoiled->drive.n % 3] = spoiled->drive.n % 2 ? NAN : INFINITY;
    }
    if (spoiled->drive.n % 91 == 0) {
        sample->speed_m_s = NAN;
    }
    if (spoiled->drive.n % 401 == 0) {
        sample->angular_rate_rad_s[0] = 1e300;
    }
}

static void D21_samples_that_lack_an_axis_are_dropped_counted_and_do_no_harm(void **state)
{
    struct oto_mount_calibration_diagnostics_record diagnostics;
    uint64_t bad = 0;
    (void)state;
    open_city(33, GENERATOR_CITY);
    rig.spoil = some_nan;
    mount_rig_run(&rig, 300);
    mountcal_diagnostics(&rig.plan, rig.state, &diagnostics);
    for (uint64_t n = 1; n <= 30000; n++) {
        bad += n % 37 == 0 || n % 401 == 0;
    }
    assert_int_equal(diagnostics.imu_dropped, bad);
    assert_int_equal(diagnostics.imu_used, 30000 - bad);
    assert_int_equal(diagnostics.speed_dropped, 30000 / 91);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    assert_mount(&rig, 1.2, 0.15, 0.15);
    mount_rig_close(&rig);
}

/* Ten seconds lost now and then, an hour's jump on, and a clock that is set back. */
static void times_that_jump(struct mount_rig *spoiled, struct mount_sample *sample)
{
    const double t_s = (double)spoiled->drive.n / 100;
    sample->t_ns += t_s > 100 ? INT64_C(3600000000000) : 0;
    sample->t_ns -= t_s > 200 ? INT64_C(7200000000000) : 0;
    if (spoiled->drive.n % 1000 == 0) {
        sample->t_ns -= 10000000; /* the stamp before, once more */
    }
}

static void time_stamps_that_repeat_jump_or_go_back_are_seen_and_do_no_harm(void **state)
{
    uint32_t raised = 0;
    (void)state;
    open_city(34, GENERATOR_CITY);
    rig.spoil = times_that_jump;
    for (double t_s = 0.1; t_s <= 330; t_s += 0.1) {
        mount_rig_run(&rig, t_s);
        raised |= rig.state->monitors.raw;
    }
    mount_rig_look(&rig);
    assert_int_equal(raised & BIT(IMU_TIME), BIT(IMU_TIME));
    assert_int_equal(raised & BIT(SPEED_TIME), BIT(SPEED_TIME));
    assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    assert_mount(&rig, 1.2, 0.15, 0.15);
    mount_rig_close(&rig);
}

static void D21_an_imu_slower_than_50_hz_is_said_so_and_not_accepted(void **state)
{
    const struct mount_drive_setup setup = {.world = MOUNT_CITY, .style = GENERATOR_CITY, .seed = 35, .rate_hz = 25};
    (void)state;
    mount_rig_open(&rig, &setup);
    mount_rig_accept_roll(&rig, 1.5);
    mount_rig_start(&rig);
    run_without_acceptance(240);
    assert_int_equal(rig.record.monitors & BIT(IMU_RATE), BIT(IMU_RATE));
    assert_int_equal(rig.record.state, OTO_CALIBRATION_INVALID);
    mount_rig_close(&rig);
}

static void unsigned_speed(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)spoiled;
    sample->speed_m_s = fabs(sample->speed_m_s);
}

static void D22_driving_in_reverse_does_not_turn_the_mount_round_with_or_without_a_sign(void **state)
{
    struct oto_mount_calibration_diagnostics_record diagnostics;
    (void)state;
    for (int k = 0; k < 2; k++) {
        open_city(36, GENERATOR_PARKING);
        rig.spoil = k == 0 ? NULL : unsigned_speed;
        mount_rig_run(&rig, 300);
        mountcal_diagnostics(&rig.plan, rig.state, &diagnostics);
        assert_true(diagnostics.reverses > 3);
        assert_near(rig.error_deg[1], 0, 0.25);
        assert_near(rig.error_deg[2], 0, 0.25);
        assert_true(fabs(rig.error_deg[0]) < rig.record.bound_3sigma_deg[0]);
        mount_rig_close(&rig);
    }
}

static void speed_drops_out(struct mount_rig *spoiled, struct mount_sample *sample)
{
    (void)sample;
    spoiled->without_speed = spoiled->drive.n % 3000 > 2700;
}

static void D22_a_speed_that_drops_out_for_seconds_does_no_harm(void **state)
{
    (void)state;
    open_city(37, GENERATOR_CITY);
    rig.spoil = speed_drops_out;
    mount_rig_run(&rig, 360);
    assert_mount(&rig, 1.2, 0.15, 0.15);
    mount_rig_close(&rig);
}

static void speed_at_4_hz(struct mount_rig *slow, struct mount_sample *sample)
{
    (void)sample;
    slow->without_speed = slow->drive.n % 25 != 0;
}

static void the_distance_does_not_depend_on_the_rate_of_the_speeds(void **state)
{
    (void)state;
    double distance_m[2];
    for (int i = 0; i < 2; i++) {
        open_city(33, GENERATOR_CITY);
        rig.spoil = i == 0 ? NULL : speed_at_4_hz;
        mount_rig_run(&rig, 120);
        distance_m[i] = rig.record.distance_m;
        mount_rig_close(&rig);
    }
    assert_true(distance_m[0] > 300);
    assert_near(distance_m[1], distance_m[0], 0.02 * distance_m[0]);
}

/* The room is full after 70 s; at rest the mount is not known by then. */
static void a_rest_of_minutes_keeps_its_last_half_minute(void **state)
{
    (void)state;
    struct mount_sample sample = {.specific_force_m_s2 = {0, 0, 9.80665}};
    open_city(33, GENERATOR_CITY);
    for (int n = 1; n <= 100 * 170; n++) {
        sample.t_ns = n * INT64_C(10000000);
        mount_rig_push(&rig, &sample);
        assert_true(n < 100 * 40 || rig.state->joint.kept_count > 300);
    }
    mount_rig_close(&rig);
}

static void D25_diagnostics_agree_with_what_went_in(void **state)
{
    struct oto_mount_calibration_diagnostics_record diagnostics;
    (void)state;
    open_city(38, GENERATOR_CITY);
    mount_rig_run(&rig, 200);
    mountcal_diagnostics(&rig.plan, rig.state, &diagnostics);
    assert_int_equal(diagnostics.imu_used, 20000);
    assert_int_equal(diagnostics.speed_used, 20000);
    assert_int_equal(diagnostics.imu_dropped + diagnostics.speed_dropped, 0);
    assert_true(diagnostics.cycles > 1950 && diagnostics.cycles <= 2000);
    assert_true(diagnostics.starts > 2 && diagnostics.turns_left + diagnostics.turns_right > 3);
    assert_near(rig.record.seconds, 200, 0.2);
    assert_true(diagnostics.bank_deg > 0.2 && diagnostics.bank_deg < 1.5);
    mount_rig_close(&rig);
}

static void D32_parameters_that_cannot_be_are_refused_with_a_sentence(void **state)
{
    struct mountcal_params params;
    struct mountcal_plan plan;
    struct oto_error error;
    (void)state;
    mountcal_params_default(&params);
    params.box_deg[1] = 0;
    assert_int_equal(mountcal_prepare(&params, &plan, &error), OTO_RANGE);
    assert_non_null(strstr(error.text, "box_deg"));
    mountcal_params_default(&params);
    params.histogram_decay = 0.9;
    params.histogram_short_scale = 0.05;
    assert_int_equal(mountcal_prepare(&params, &plan, &error), OTO_RANGE);
    assert_non_null(strstr(error.text, "histogram.decay"));
}

/* Sixty seconds of a real car: pitch about 3.7 ± 0.4 deg, yaw -0.3 ± 0.7 deg; too short to accept. */
static void the_recorded_drive_is_not_accepted_and_pitch_and_yaw_are_right(void **state)
{
    char path[4096], line[512], speed_line[512], command[4200];
    FILE *imu, *speed;
    bool more_speed;
    struct oto_error error;
    (void)state;
    memset(&rig, 0, sizeof rig);
    (void)oto_shared_file(path, sizeof path, "data/drive_comma2k19/imu.csv.gz");
    (void)snprintf(command, sizeof command, "gzip -dc '%s'", path);
    imu = popen(command, "r");
    (void)oto_shared_file(path, sizeof path, "data/drive_comma2k19/can.csv.gz");
    (void)snprintf(command, sizeof command, "gzip -dc '%s'", path);
    speed = popen(command, "r");
    mountcal_params_default(&rig.params);
    rig.params.nominal_rpy_deg[0] = 180; /* the phone's axes are forward, right, down */
    rig.params.axes_sigma = 0.01;        /* and not quite at right angles */
    rig.state = (struct mountcal_state *)calloc(1, sizeof *rig.state);
    assert_ok(mountcal_prepare(&rig.params, &rig.plan, &error), error);
    mountcal_init(&rig.plan, rig.state);
    assert_non_null(fgets(line, sizeof line, imu));
    assert_non_null(fgets(speed_line, sizeof speed_line, speed));
    more_speed = fgets(speed_line, sizeof speed_line, speed) != NULL;
    while (fgets(line, sizeof line, imu) != NULL) {
        double t_s, f[3], w[3], v_t_s = 0, v_m_s = 0;
        assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &t_s, f, f + 1, f + 2, w, w + 1, w + 2), 7);
        while (more_speed && sscanf(speed_line, "%lf,%lf", &v_t_s, &v_m_s) == 2 && v_t_s <= t_s) {
            mountcal_push_speed(rig.state, (int64_t)(v_t_s * 1e9), v_m_s);
            more_speed = fgets(speed_line, sizeof speed_line, speed) != NULL;
        }
        mountcal_push_imu(&rig.plan, rig.state, (int64_t)(t_s * 1e9), f, w);
        mountcal_result(&rig.plan, rig.state, &rig.record);
        assert_int_not_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
    }
    (void)pclose(imu);
    (void)pclose(speed);
    print_message("    roll %.2f pitch %.2f yaw %.2f deg, bounds %.2f %.2f %.2f\n", rig.record.rpy_deg[0],
                  rig.record.rpy_deg[1], rig.record.rpy_deg[2], rig.record.bound_3sigma_deg[0],
                  rig.record.bound_3sigma_deg[1], rig.record.bound_3sigma_deg[2]);
    assert_near(rig.record.rpy_deg[1], 3.7, rig.record.bound_3sigma_deg[1]);
    assert_near(rig.record.rpy_deg[2], -0.3, rig.record.bound_3sigma_deg[2]);
    assert_true(rig.record.bound_3sigma_deg[0] > 0.5);
    free(rig.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D22_without_speed_there_is_no_progress_and_a_hint),
        cmocka_unit_test(D21_D22_inputs_in_other_units_or_dead_are_never_accepted),
        cmocka_unit_test(D21_samples_that_lack_an_axis_are_dropped_counted_and_do_no_harm),
        cmocka_unit_test(time_stamps_that_repeat_jump_or_go_back_are_seen_and_do_no_harm),
        cmocka_unit_test(D21_an_imu_slower_than_50_hz_is_said_so_and_not_accepted),
        cmocka_unit_test(D22_driving_in_reverse_does_not_turn_the_mount_round_with_or_without_a_sign),
        cmocka_unit_test(D22_a_speed_that_drops_out_for_seconds_does_no_harm),
        cmocka_unit_test(the_distance_does_not_depend_on_the_rate_of_the_speeds),
        cmocka_unit_test(a_rest_of_minutes_keeps_its_last_half_minute),
        cmocka_unit_test(D25_diagnostics_agree_with_what_went_in),
        cmocka_unit_test(D32_parameters_that_cannot_be_are_refused_with_a_sentence),
        cmocka_unit_test(the_recorded_drive_is_not_accepted_and_pitch_and_yaw_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
