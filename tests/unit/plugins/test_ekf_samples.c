/* What the ekf makes of samples that are late, bad, or the first. */
#include "ekf_rig.h"

/* ---- time ---- */

static void a_late_sample_is_worth_what_it_was_in_time(void **unused)
{
    struct rig late, timely;
    (void)unused;
    open_cv(&late, 0);
    open_cv(&timely, 0);
    mini_start(&late.host);
    mini_start(&timely.host);
    (void)give(&late, 0, 0, 1.2, -0.9);
    (void)give(&timely, 0, 0, 1.2, -0.9);
    (void)give(&timely, 100 * ms, 100 * ms, 1.7, -0.8);
    (void)give(&timely, 200 * ms, 200 * ms, 2.1, -1.0);
    (void)give(&late, 200 * ms, 200 * ms, 2.1, -1.0);
    assert_int_equal(give(&late, 100 * ms, 200 * ms, 1.7, -0.8), OTO_STEP_OK);
    for (int i = 0; i < 4; i++) { /* without process noise the order is of no matter */
        assert_near(state_of(&late)->x[i], state_of(&timely)->x[i], 1e-12);
        assert_near(state_of(&late)->p[i * 5], state_of(&timely)->p[i * 5], 1e-12);
    }
    assert_int_equal(late.estimate.used, 3);
    mini_close(&late.host);
    mini_close(&timely.host);
}

static void what_is_too_late_or_of_the_future_is_counted_and_left_out(void **unused)
{
    struct rig rig;
    struct ekf_state before;
    (void)unused;
    open_cv(&rig, 1);
    mini_start(&rig.host);
    (void)give(&rig, 1000 * ms, 1000 * ms, 1, -1);
    memcpy(&before, state_of(&rig), sizeof before);
    assert_int_equal(give(&rig, 400 * ms, 1000 * ms, 9, 9), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.late, 1);
    assert_int_equal(give(&rig, 1001 * ms, 1000 * ms, 9, 9), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 1);
    assert_memory_equal(before.x, state_of(&rig)->x, sizeof before.x);
    assert_memory_equal(before.p, state_of(&rig)->p, sizeof before.p);
    mini_close(&rig.host);
}

static void age_tells_when_a_sample_was_measured(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 0);
    (void)strcpy(params_of(&rig)->rows[0].age_field, "c");
    mini_start(&rig.host);
    const struct sensor_record now = {1.0, -1.0, 0, {0}}, old = {1.25, -1.0, 50e6, {0}};
    (void)give_input(&rig, 1, 0, 0, &now);
    (void)give_input(&rig, 1, 100 * ms, 100 * ms, &old);
    assert_int_equal(rig.innovation.t_ns[0], 50 * ms);
    assert_near(rig.innovation.innovation[0], 0.0, 1e-12); /* 5 m/s for 50 ms */
    mini_close(&rig.host);
}

static void times_that_are_none_are_refused(void **unused)
{
    static const int64_t times[] = {INT64_MIN, INT64_MAX, -4000000000000000001, 4000000000000000001};
    struct rig rig;
    const struct sensor_record old = {1, -1, 1e18, {0}}, young = {1, -1, -5, {0}}, none = {1, -1, NAN, {0}};
    (void)unused;
    open_cv(&rig, 1);
    (void)strcpy(params_of(&rig)->rows[0].age_field, "c");
    mini_start(&rig.host);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(give(&rig, times[i], INT64_MAX, 1, -1), OTO_STEP_WARN);
        assert_int_equal(rig.estimate.refused, i + 1);
    }
    assert_int_equal(give_input(&rig, 1, 0, 0, &old), OTO_STEP_WARN);
    assert_int_equal(give_input(&rig, 1, 0, 0, &young), OTO_STEP_WARN);
    assert_int_equal(give_input(&rig, 1, 0, 0, &none), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 7);
    mini_close(&rig.host);
}

/* ---- bad input ---- */

static void bad_numbers_are_refused_and_counted(void **unused)
{
    static const double bad[][2] = {{NAN, 0}, {0, INFINITY}, {-INFINITY, NAN}, {1e300, 0}};
    struct rig rig;
    struct ekf_state before;
    (void)unused;
    open_cv(&rig, 1);
    mini_start(&rig.host);
    (void)give(&rig, 0, 0, 1, -1);
    memcpy(&before, state_of(&rig), sizeof before);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(give(&rig, 0, 0, bad[i][0], bad[i][1]), OTO_STEP_WARN);
        assert_int_equal(rig.estimate.refused, i + 1);
        assert_true(isfinite(rig.innovation.innovation[0]) && isfinite(rig.innovation.nis[0]));
    }
    assert_memory_equal(before.x, state_of(&rig)->x, sizeof before.x);
    assert_memory_equal(before.p, state_of(&rig)->p, sizeof before.p);
    mini_close(&rig.host);
}

static void a_gate_keeps_outliers_away(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 1);
    params_of(&rig)->rows[0].gate = 0.999;
    mini_start(&rig.host);
    (void)give(&rig, 0, 0, 1, -1);
    assert_int_equal(give(&rig, 0, 0, 50, -1), OTO_STEP_OK);
    assert_int_equal(rig.estimate.gated, 1);
    assert_near(rig.estimate.position_enu_m.x, 1, 1e-9);
    assert_true(rig.innovation.nis[0] > num_chi2_quantile(0.999, 2));
    mini_close(&rig.host);
}

static void a_singular_covariance_warns_and_changes_nothing(void **unused)
{
    struct rig rig;
    struct ekf_state before;
    struct sensor_record record = {1, -1, 0, {0}};
    (void)unused;
    open_cv(&rig, 0);
    for (int i = 0; i < 4; i++) {
        params_of(&rig)->initial[i].sigma = 0;
    }
    (void)strcpy(params_of(&rig)->rows[0].covariance_field, "r");
    mini_start(&rig.host);
    for (int i = 0; i < 9; i++) {
        record.r[i] = 1e-4; /* both rows the same number: no inverse */
    }
    memcpy(&before, state_of(&rig), sizeof before);
    assert_int_equal(give_input(&rig, 1, 0, 0, &record), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.singular, 1);
    assert_memory_equal(before.x, state_of(&rig)->x, sizeof before.x);
    record.r[4] = 4e-4;
    record.r[1] = record.r[3] = 0;
    assert_int_equal(give_input(&rig, 1, 0, 0, &record), OTO_STEP_OK);
    assert_near(rig.innovation.sigma[1], 0.02, 1e-12);
    mini_close(&rig.host);
}

static void the_same_sample_again_is_one_more_measurement(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 0);
    mini_start(&rig.host);
    for (int i = 0; i < 3; i++) {
        (void)give(&rig, 0, 0, 2, -1);
    }
    assert_near(state_of(&rig)->p[0], 1 / (1 / 4.0 + 3 / 0.25), 1e-12);
    mini_close(&rig.host);
}

static void a_course_of_what_stands_is_refused(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig, 1);
    (void)add_row(&rig, EKF_HEADING_ANGLE, "a", 0.1);
    mini_start(&rig.host);
    assert_int_equal(give(&rig, 0, 0, 0.5, 0), OTO_STEP_WARN);
    assert_int_equal(rig.estimate.refused, 1);
    mini_close(&rig.host);
}

/* Numbers of any bits at times in any order: the state stays valid, the records finite. */
static void noise_of_bits_leaves_a_state_to_go_on_from(void **unused)
{
    (void)unused;
    for (int64_t model = 0; num_models[model] != NULL; model++) {
        struct rig rig;
        rig_open(&rig, model);
        params_of(&rig)->estimator.count = 4;
        struct ekf_measurement *row = add_row(&rig, EKF_LINEAR, "a b", 1.0);
        (void)snprintf(row->states, sizeof row->states, "%s %s", num_models[model]->states[0].name, num_models[model]->states[1].name);
        (void)strcpy(row->covariance_field, "r");
        (void)strcpy(row->age_field, "c");
        mini_start(&rig.host);
        for (uint64_t i = 0; i < 400; i++) {
            struct sensor_record record;
            uint64_t bits[12];
            for (uint64_t k = 0; k < 12; k++) {
                bits[k] = oto_rng_block(oto_rng_key_make(11, "bits"), i, k, (uint64_t)model, 0).v[0];
            }
            memcpy(&record, bits, sizeof record);
            record.c = i % 3 == 0 ? record.c : (double)(bits[2] % 300000000);
            record.a = i % 5 == 0 ? (double)(bits[0] % 100) : record.a;
            record.b = i % 5 == 0 ? (double)(bits[1] % 100) : record.b;
            (void)give_input(&rig, 1, (int64_t)i * 100 * ms, (int64_t)i * 100 * ms, &record);
            assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
            for (uint32_t s = 0; s < rig.state.size; s++) {
                assert_true(isfinite(rig.state.state[s]) && isfinite(rig.state.sigma[s]));
            }
            assert_true(isfinite(rig.estimate.position_enu_m.x) && isfinite(rig.estimate.nis));
        }
        mini_close(&rig.host);
    }
}

/* ---- start ---- */

static void the_first_sample_sets_what_it_tells_of(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 0);
    params_of(&rig)->rows[0].initialise = EKF_STATE_AND_SIGMA;
    mini_start(&rig.host);
    assert_int_equal(give_input(&rig, 1, 0, 0, NULL), OTO_STEP_OK);
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_ALIGNING);
    assert_near(rig.estimate.position_enu_m.x, 1, 0);
    (void)give(&rig, 0, 0, 100, 200);
    assert_int_equal(rig.estimate.status, OTO_ESTIMATE_RUNNING);
    assert_near(rig.estimate.position_enu_m.x, 100, 0);
    assert_near(rig.estimate.position_sigma_enu_m.y, 0.5, 1e-15);
    assert_near(rig.estimate.velocity_sigma_enu_m_s.x, 1, 1e-15);
    (void)give(&rig, 0, 0, 102, 200);
    assert_near(rig.estimate.position_enu_m.x, 101, 1e-9);
    mini_close(&rig.host);
}

static void a_first_range_and_bearing_gives_a_place(void **unused)
{
    struct rig rig;
    (void)unused;
    rig_open(&rig, 1);
    struct ekf_measurement *row = add_row(&rig, EKF_RANGE_BEARING, "a b", 0.1);
    row->sensor_position_enu_m[0] = 10;
    row->sigma[1] = 0.02;
    row->initialise = EKF_STATE_AND_SIGMA;
    mini_start(&rig.host);
    (void)give(&rig, 0, 0, 5, OTO_HALF_PI);
    assert_near(rig.estimate.position_enu_m.x, 10, 1e-12);
    assert_near(rig.estimate.position_enu_m.y, 5, 1e-12);
    assert_near(rig.estimate.position_sigma_enu_m.x, 5 * 0.02, 1e-12);
    assert_near(rig.estimate.position_sigma_enu_m.y, 0.1, 1e-12);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_sample_is_worth_what_it_was_in_time),
        cmocka_unit_test(what_is_too_late_or_of_the_future_is_counted_and_left_out),
        cmocka_unit_test(age_tells_when_a_sample_was_measured),
        cmocka_unit_test(times_that_are_none_are_refused),
        cmocka_unit_test(bad_numbers_are_refused_and_counted),
        cmocka_unit_test(a_gate_keeps_outliers_away),
        cmocka_unit_test(a_singular_covariance_warns_and_changes_nothing),
        cmocka_unit_test(the_same_sample_again_is_one_more_measurement),
        cmocka_unit_test(a_course_of_what_stands_is_refused),
        cmocka_unit_test(noise_of_bits_leaves_a_state_to_go_on_from),
        cmocka_unit_test(the_first_sample_sets_what_it_tells_of),
        cmocka_unit_test(a_first_range_and_bearing_gives_a_place),
    };
    return cmocka_run_group_tests_name("ekf_samples", tests, NULL, NULL);
}
