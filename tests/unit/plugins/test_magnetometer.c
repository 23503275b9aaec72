/* The magnetometer through its ABI. */
#include "mag_model.h"
#include "mini_host.h"

struct rig {
    struct mini_host host;
    struct oto_sensor_input input;
    struct oto_mag_record record;
    struct mag_taps taps;
    struct oto_output outputs[2];
    struct oto_step step;
};

static void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, 50, 7);
    rig->input = mini_rest(&rig->host);
    rig->outputs[0].payload = &rig->record;
    rig->outputs[1].payload = &rig->taps;
}

static oto_vec3 sample_ut(struct rig *rig, uint64_t n)
{
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, rig->outputs), OTO_STEP_OK);
    return oto_vec3_scale(rig->record.magnetic_field_t, 1e6);
}

static void assert_vector(oto_vec3 got, double x, double y, double z, double tolerance)
{
    assert_near(got.x, x, tolerance);
    assert_near(got.y, y, tolerance);
    assert_near(got.z, z, tolerance);
}

static void A17_world_field_arrives_in_the_sensor_frame_and_in_tesla(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_start(&rig.host);
    rig.input.mag_field_sensor_ut = oto_vec3_make(1, -2, 3);
    (void)sample_ut(&rig, 1);
    assert_vector(rig.record.magnetic_field_t, 1e-6, -2e-6, 3e-6, 1e-21);
    assert_int_equal(rig.host.warnings, 0);
    mini_close(&rig.host);
}

static void A17_a_field_of_its_own_is_rotated_into_the_sensor(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set3(&rig.host, "magnetic_field_enu_ut", 10, 20, -30);
    mini_start(&rig.host);
    const double quarter = OTO_HALF_PI;
    rig.input.q_enu_from_sensor = oto_quat_identity();
    assert_vector(sample_ut(&rig, 1), 10, 20, -30, 1e-13);
    rig.input.q_enu_from_sensor = oto_quat_from_rpy(0, 0, quarter); /* x looks north */
    assert_vector(sample_ut(&rig, 2), 20, -10, -30, 1e-13);
    rig.input.q_enu_from_sensor = oto_quat_from_rpy(0, quarter, 0); /* x looks down */
    assert_vector(sample_ut(&rig, 3), 30, 20, 10, 1e-13);
    rig.input.q_enu_from_sensor = oto_quat_from_rpy(quarter, 0, 0); /* y looks up */
    assert_vector(sample_ut(&rig, 4), 10, -30, -20, 1e-13);
    mini_close(&rig.host);
}

static void A17_default_field_of_mavs_keeps_its_norm_and_is_warned_of(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set3(&rig.host, "magnetic_field_enu_ut", 27.5550, -2.4169, -16.0849);
    mini_start(&rig.host);
    assert_int_equal(rig.host.warnings, 1);
    assert_non_null(strstr(rig.host.last_warning, "NED"));
    assert_non_null(strstr(rig.host.last_warning, "[-2.4169, 27.555, 16.0849]"));
    for (uint64_t n = 1; n <= 50; n++) {
        const double turn = (double)n;
        rig.input.q_enu_from_sensor = oto_quat_from_rpy(turn, 0.3 * turn, -0.7 * turn);
        assert_near(oto_vec3_norm(sample_ut(&rig, n)), 31.998, 5e-4);
    }
    mini_close(&rig.host);
}

static void a_field_that_is_the_world_s_in_ned_axes_is_warned_of_and_an_enu_one_is_not(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig); /* the world's: 1.5 east, 21 north, 43 down */
    mini_set3(&rig.host, "magnetic_field_enu_ut", 20.5, 1.4, 42);
    assert_ok(mini_prepare(&rig.host), rig.host.error);
    assert_int_equal(rig.host.warnings, 1);
    mini_set3(&rig.host, "magnetic_field_enu_ut", 1.4, 20.5, -42);
    assert_ok(mini_prepare(&rig.host), rig.host.error);
    assert_int_equal(rig.host.warnings, 1);
    mini_set3(&rig.host, "magnetic_field_enu_ut", 0, 0, 0); /* a shielded room */
    mini_start(&rig.host);
    assert_int_equal(rig.host.warnings, 1);
    assert_vector(sample_ut(&rig, 1), 0, 0, 0, 0);
    mini_set3(&rig.host, "magnetic_field_enu_ut", 1, 2, mini_param("magnetic_field_enu_ut")->default_value);
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    mini_close(&rig.host);
}

static void A1_A12_document_magnetometer_reads_by_hand_under_law_mavs(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "law", NUM_LAW_MAVS);
    mini_set(&rig.host, "w", 0.5);
    mini_set(&rig.host, "magnetometer.measurement_range_ut", 1200);
    mini_set(&rig.host, "magnetometer.resolution_ut", 0.1);
    mini_set(&rig.host, "magnetometer.constant_bias_ut", 1);
    mini_set3(&rig.host, "magnetometer.noise_density_ut_rthz", 0.06, 0.06, 0.09);
    mini_set3(&rig.host, "magnetometer.temperature_bias_ut_degc", 0.8, 0.8, 2.4);
    mini_set(&rig.host, "magnetometer.temperature_scale_factor_percent_degc", 0.1);
    mini_start(&rig.host);
    rig.input.mag_field_sensor_ut = oto_vec3_make(10, 20, 2000);
    rig.input.temperature_degc = 35;
    /* (10 + 1 + 0.5 · 5 · 0.06 + 8) · 1.01 = 19.34, in steps of 0.1; z saturates. */
    assert_vector(sample_ut(&rig, 1), 19.3, 29.4, 1200, 1e-9);
    assert_int_equal(rig.outputs[0].flags, OTO_SAMPLE_SATURATED(2));
    mini_close(&rig.host);
}

static void white_noise_reaches_the_record_with_its_covariance(void **state)
{
    enum { SAMPLES = 40000 };
    struct rig rig;
    double squares = 0;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "magnetometer.noise_density_ut_rthz", 0.1);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= SAMPLES; n++) {
        const oto_vec3 error_ut = oto_vec3_sub(sample_ut(&rig, n), rig.input.mag_field_sensor_ut);
        squares += error_ut.x * error_ut.x;
    }
    const double variance_t2 = 0.01 * 25 * 1e-12;
    assert_near(rig.record.magnetic_field_covariance[0], variance_t2, 1e-26);
    /* Five standard deviations, sqrt(2/N), of the variance. */
    assert_near(squares / SAMPLES * 1e-12 / variance_t2, 1, 5 * sqrt(2.0 / SAMPLES));
    mini_close(&rig.host);
}

static void A20_a_mavs_document_s_other_sections_are_known_and_left_alone(void **state)
{
    const struct oto_plugin_descriptor *descriptor = otolith_plugin.descriptor;
    int ignored = 0;
    (void)state;
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        ignored += param->type == OTO_PARAM_IGNORED &&
                   (strcmp(param->alias, "Gyroscope") == 0 || strcmp(param->alias, "Accelerometer") == 0);
    }
    assert_int_equal(ignored, 2);
}

static void hard_and_soft_iron_and_the_motor_disturb_the_field_before_the_sensor(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set3(&rig.host, "magnetometer.hard_iron_ut", 5, -6, 7);
    mini_put(&rig.host, mini_param("magnetometer.soft_iron_percent"), 0, 10);
    mini_put(&rig.host, mini_param("magnetometer.soft_iron_percent"), 5, -20); /* y feels z */
    mini_set3(&rig.host, "magnetometer.motor_field_ut_a", 0.5, 0, -0.25);
    mini_set(&rig.host, "magnetometer.motor_current_a", 8);
    mini_set(&rig.host, "magnetometer.scale_factor_error_percent", 100);
    mini_start(&rig.host);
    rig.input.mag_field_sensor_ut = oto_vec3_make(10, 20, 30);
    assert_vector(sample_ut(&rig, 1), 2 * (11 + 5 + 4), 2 * (20 - 6 - 6), 2 * (30 + 7 - 2), 1e-12);
    mini_close(&rig.host);
}

static void taps_of_the_field_add_up_to_the_output_in_tesla(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "taps", 1);
    mini_set3(&rig.host, "magnetometer.hard_iron_ut", 5, -6, 7);
    mini_set(&rig.host, "magnetometer.soft_iron_percent", 3);
    mini_set(&rig.host, "magnetometer.noise_density_ut_rthz", 0.1);
    mini_set(&rig.host, "magnetometer.resolution_ut", 0.3);
    mini_set(&rig.host, "magnetometer.measurement_range_ut", 42);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 500; n++) {
        (void)sample_ut(&rig, n);
        const double output[3] = {rig.record.magnetic_field_t.x, rig.record.magnetic_field_t.y,
                                  rig.record.magnetic_field_t.z};
        for (int axis = 0; axis < 3; axis++) {
            double sum = 0;
            for (int tap = 0; tap < NUM_TAPS; tap++) {
                sum += rig.taps.magnetometer[3 * tap + axis];
            }
            assert_near(sum, output[axis], 0);
        }
    }
    assert_near(rig.taps.magnetometer[3 * NUM_TAP_TRUTH + 1], 21e-6, 1e-20);
    assert_near(rig.taps.magnetometer[3 * NUM_TAP_HARD_IRON + 2], 7e-6, 1e-20);
    assert_true(rig.taps.magnetometer[3 * NUM_TAP_SATURATION + 2] == 0 || rig.outputs[0].flags != 0);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A17_world_field_arrives_in_the_sensor_frame_and_in_tesla),
        cmocka_unit_test(A17_a_field_of_its_own_is_rotated_into_the_sensor),
        cmocka_unit_test(A17_default_field_of_mavs_keeps_its_norm_and_is_warned_of),
        cmocka_unit_test(a_field_that_is_the_world_s_in_ned_axes_is_warned_of_and_an_enu_one_is_not),
        cmocka_unit_test(A1_A12_document_magnetometer_reads_by_hand_under_law_mavs),
        cmocka_unit_test(white_noise_reaches_the_record_with_its_covariance),
        cmocka_unit_test(A20_a_mavs_document_s_other_sections_are_known_and_left_alone),
        cmocka_unit_test(hard_and_soft_iron_and_the_motor_disturb_the_field_before_the_sensor),
        cmocka_unit_test(taps_of_the_field_add_up_to_the_output_in_tesla),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
