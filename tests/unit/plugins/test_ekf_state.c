/* The ekf's state, the truth it is compared with, and what it refuses to begin with. */
#include "ekf_rig.h"

/* ---- state and truth ---- */

static void a_copied_state_goes_on_to_the_same_bits(void **unused)
{
    struct rig rig, other;
    (void)unused;
    open_cv(&rig, 1);
    mini_start(&rig.host);
    for (int i = 0; i < 50; i++) {
        (void)give(&rig, i * 100 * ms, i * 100 * ms, 0.5 * i + normal_from(i), -1);
    }
    open_cv(&other, 1);
    mini_start(&other.host);
    memcpy(other.host.state, rig.host.state, sizeof(struct ekf_state));
    assert_int_equal(otolith_plugin.ops->validate(&other.host.instance), OTO_OK);
    for (int i = 50; i < 100; i++) {
        (void)give(&rig, i * 100 * ms, i * 100 * ms, 0.5 * i + normal_from(i), -1);
        (void)give(&other, i * 100 * ms, i * 100 * ms, 0.5 * i + normal_from(i), -1);
        assert_memory_equal(&rig.estimate, &other.estimate, sizeof rig.estimate);
    }
    assert_memory_equal(rig.host.state, other.host.state, sizeof(struct ekf_state));
    mini_close(&rig.host);
    mini_close(&other.host);
}

static void the_state_of_another_model_is_refused(void **unused)
{
    struct rig cv, catr;
    (void)unused;
    open_cv(&cv, 1);
    mini_start(&cv.host);
    rig_open(&catr, 4);
    (void)add_row(&catr, EKF_POSITION_FIX, "a b", 0.5);
    mini_start(&catr.host);
    memcpy(catr.host.state, cv.host.state, sizeof(struct ekf_state));
    assert_int_equal(otolith_plugin.ops->validate(&catr.host.instance), OTO_CORRUPT);
    mini_close(&cv.host);
    mini_close(&catr.host);
}

static void the_truth_is_compared_with_and_changes_nothing(void **unused)
{
    struct rig with, without;
    struct oto_truth_record truth = {.position_enu_m = {1.5, -1, 0}, .velocity_enu_m_s = {5, 0, 0}, .q_enu_from_body = {1, 0, 0, 0}};
    (void)unused;
    open_cv(&with, 1);
    open_cv(&without, 1);
    mini_start(&with.host);
    mini_start(&without.host);
    (void)give(&with, 0, 0, 1, -1);
    (void)give(&without, 0, 0, 1, -1);
    assert_true(with.estimate.nees == -1.0);
    assert_int_equal(give_input(&with, 0, 0, 0, &truth), OTO_STEP_OK);
    assert_int_equal(with.state.truths, 1);
    assert_near(with.state.error[0], -0.5, 1e-12);
    assert_near(with.estimate.nees, 0.25 / state_of(&with)->p[0], 1e-12);
    assert_near(with.estimate.nees_degrees, 4, 0);
    truth.position_enu_m.x = NAN;
    (void)give_input(&with, 0, 10 * ms, 10 * ms, &truth);
    assert_int_equal(with.state.truths, 1);
    assert_memory_equal(state_of(&with)->x, state_of(&without)->x, sizeof state_of(&with)->x);
    assert_memory_equal(state_of(&with)->p, state_of(&without)->p, sizeof state_of(&with)->p);
    mini_close(&with.host);
    mini_close(&without.host);
}

static void its_inputs_stand_as_those_of_the_inertial_navigation(void **unused)
{
    static const char *const names[] = {"imu", "odometer", "magnetometer", "position", "truth"};
    const struct oto_estimator_extension *estimator = otolith_plugin.extension(OTO_EXTENSION_ESTIMATOR);
    (void)unused;
    assert_int_equal(estimator->input_count, 5);
    assert_true((estimator->flags & OTO_ESTIMATOR_OPEN_INPUTS) != 0);
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(estimator->inputs[i].name, names[i]);
    }
    assert_true(oto_record_type_hash(otolith_plugin.descriptor->outputs[0].type) == oto_record_type_hash(&oto_estimate_type));
}

/* ---- refusals of prepare ---- */

static void expect_refusal(struct rig *rig, const char *part)
{
    assert_int_not_equal(mini_prepare(&rig->host), OTO_OK);
    if (strstr(rig->host.error.text, part) == NULL) {
        print_error("'%s' is not in: %s\n", part, rig->host.error.text);
        fail();
    }
    mini_close(&rig->host);
}

static void what_does_not_fit_together_is_said(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->initial[0].state, "vz");
    expect_refusal(&rig, "initial[0]: model 'constant_velocity' has no state 'vz'; it has x y vx vy");
    open_cv(&rig, 1);
    params_of(&rig)->noise[1].rate[0] = '\0';
    expect_refusal(&rig, "process_noise[1]: white_acceleration needs `rate`");
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].input, "gnss");
    expect_refusal(&rig, "measurements[0]: no channel is bound to the input 'gnss'");
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].fields, "a q");
    expect_refusal(&rig, "measurements[0]: input 'sensor' (car/sensor) has no numeric field 'q'");
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].fields, "a");
    expect_refusal(&rig, "measurements[0]: function 'position' needs `fields` with 2 to 3 names");
    open_cv(&rig, 1);
    (void)add_row(&rig, EKF_ATTITUDE_QUATERNION, "a b c r.0", 0.1);
    expect_refusal(&rig, "measurements[1]: function 'attitude' needs a model with roll, pitch and yaw");
    open_cv(&rig, 1);
    params_of(&rig)->rows[0].sigma[1] = 0;
    expect_refusal(&rig, "measurements[0]: sigma[1] is 0");
    open_cv(&rig, 1);
    struct ekf_measurement *row = add_row(&rig, EKF_LINEAR, "a b", 1);
    (void)strcpy(row->states, "x");
    expect_refusal(&rig, "there are 2 `fields` and 1 `states`");
}

static void an_optional_input_may_be_absent(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 1);
    struct ekf_measurement *row = add_row(&rig, EKF_POSITION_FIX, "a b", 0.5);
    (void)strcpy(row->input, "gnss");
    row->optional = 1;
    params_of(&rig)->rows[0].optional = 1;
    mini_start(&rig.host);
    assert_int_equal(give(&rig, 0, 0, NAN, NAN), OTO_STEP_OK); /* a log's empty cells */
    assert_int_equal(rig.estimate.refused + rig.estimate.used, 0);
    assert_int_equal(give(&rig, 0, 0, NAN, 1), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 1);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copied_state_goes_on_to_the_same_bits),
        cmocka_unit_test(the_state_of_another_model_is_refused),
        cmocka_unit_test(the_truth_is_compared_with_and_changes_nothing),
        cmocka_unit_test(its_inputs_stand_as_those_of_the_inertial_navigation),
        cmocka_unit_test(what_does_not_fit_together_is_said),
        cmocka_unit_test(an_optional_input_may_be_absent),
    };
    return cmocka_run_group_tests_name("ekf_state", tests, NULL, NULL);
}
