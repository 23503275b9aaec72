/* The ekf's parts: words, each measurement's Jacobian on each model, process noise. */
#include "ekf_rig.h"

/* ---- tables ---- */

static void words_of_the_table_are_the_names_of_models_and_functions(void **unused)
{
    const struct oto_param *model = mini_param("model"), *rows = mini_param("measurements");
    (void)unused;
    for (uint32_t i = 0; num_models[i] != NULL; i++) {
        assert_string_equal(model->names[i].name, num_models[i]->name);
        assert_true(model->names[i].value == i);
    }
    for (uint32_t k = 0; k < rows->item_count; k++) {
        for (uint32_t i = 0; strcmp(rows->items[k].key, "function") == 0 && i < rows->items[k].name_count; i++) {
            const struct oto_named_value *name = &rows->items[k].names[i];
            assert_string_equal(name->name, ekf_functions[(int)name->value].name);
            assert_int_equal(rows->items[k].name_count, EKF_FUNCTIONS);
        }
    }
}

/* ---- Jacobians ---- */

static void make_sensor(uint32_t function, const struct ekf_view *view, struct ekf_sensor *sensor)
{
    const struct ekf_function *f = &ekf_functions[function];
    *sensor = (struct ekf_sensor){.function = function, .field_count = f->most_fields, .components = 7, .scale = 1,
                                  .sensor_position_enu_m = {-30, 20, 0}, .mount_position_body_m = {0.4, -0.3, 0.2},
                                  .q_body_from_sensor = oto_quat_from_rpy(0.2, -0.1, 0.9), .gravity_m_s2 = 9.81,
                                  .field_azimuth_rad = 1.5};
    if (function == EKF_POSITION_FIX && view->z == EKF_ABSENT) {
        sensor->field_count = 2;
    }
    sensor->states[0] = 0;
    sensor->states[1] = 1;
    sensor->states[2] = view->n > 2 ? 2 : 0;
    sensor->m = f->rows != 0 ? f->rows : sensor->field_count;
}

static void check_jacobian(const struct num_model *model, uint32_t function, uint64_t seed)
{
    struct ekf_view view;
    struct ekf_sensor sensor;
    double x[OTO_MODEL_MAX_STATES], z[4] = {0.83, 0.31, -0.33, 0.32}; /* also a unit quaternion, nearly */
    struct num_kalman_row at, plus, minus;
    const double h = 1e-5;
    const struct num_estimator_constants constants = {4};
    ekf_view_make(model, num_model_size(model, &constants), 0.1, &view);
    if ((ekf_functions[function].needs & ~view.needs) != 0) {
        return;
    }
    make_sensor(function, &view, &sensor);
    for (uint32_t i = 0; i < view.n; i++) {
        x[i] = 1.0 + 0.5 * oto_normal_at(oto_rng_key_make(seed, model->name), i, 0, 0, 0);
    }
    if (view.qw != EKF_ABSENT) { /* near the measured attitude: the small turn is exact to second order only */
        const oto_quat q = oto_quat_normalize(oto_quat_mul(oto_quat_make(z[0], z[1], z[2], z[3]), oto_quat_conj(sensor.q_body_from_sensor)));
        memcpy(x + view.qw, &q, sizeof q);
    }
    assert_true(ekf_measure(&sensor, &view, x, z, &at));
    for (uint32_t s = 0; s < view.n; s++) {
        double moved[OTO_MODEL_MAX_STATES];
        memcpy(moved, x, sizeof moved);
        moved[s] += h;
        assert_true(ekf_measure(&sensor, &view, moved, z, &plus));
        moved[s] -= 2 * h;
        assert_true(ekf_measure(&sensor, &view, moved, z, &minus));
        for (uint32_t i = 0; i < at.m; i++) {
            const double slope = -(plus.innovation[i] - minus.innovation[i]) / (2 * h);
            if (!(fabs(slope - at.jacobian[i * view.n + s]) <= 2e-8 * (1 + fabs(slope)))) {
                print_error("%s on %s: row %u by state %u\n", ekf_functions[function].name, model->name, i, s);
            }
            assert_near(at.jacobian[i * view.n + s], slope, 2e-8 * (1 + fabs(slope)));
        }
    }
}

static void each_measurement_has_its_jacobian_on_each_model(void **unused)
{
    (void)unused;
    for (uint32_t m = 0; num_models[m] != NULL; m++) {
        for (uint32_t f = 0; f < EKF_FUNCTIONS; f++) {
            check_jacobian(num_models[m], f, 1);
            check_jacobian(num_models[m], f, 2);
        }
    }
}

/* What the body feels and where it goes agree with the model's own truth. */
static void a_view_says_what_the_truth_of_the_model_says(void **unused)
{
    (void)unused;
    for (uint32_t m = 0; num_models[m] != NULL; m++) {
        struct ekf_view view;
        struct ekf_vector velocity;
        struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}};
        const struct num_bicycle_constants bicycle = {1.2, 1.5, 0.0, 0.0};
        const struct num_tyre_constants tyre = {1.2, 1.5, 8e4, 9e4, 1500, 2500, 0, 0, 0.5, NUM_TYRE_CONVENTIONAL};
        const void *constants = num_models[m] == &num_model_kinematic_bicycle ? (const void *)&bicycle : &tyre;
        double x[OTO_MODEL_MAX_STATES] = {1.1, 2.2, 0.3, 0.4, 0.25, 0.15, 1.3, -0.4, 0.2, 0.1, -0.2, 0.3, 0.5};
        ekf_view_make(num_models[m], num_models[m]->state_count, 0.0, &view);
        if ((view.needs & EKF_VELOCITY) == 0 || view.qw != EKF_ABSENT) {
            continue;
        }
        num_models[m]->to_truth(constants, x, &truth);
        ekf_enu_velocity(&view, x, &velocity);
        assert_near(velocity.v[0], truth.velocity_enu_m_s.x, 1e-12);
        assert_near(velocity.v[1], truth.velocity_enu_m_s.y, 1e-12);
        assert_near(velocity.v[2], truth.velocity_enu_m_s.z, 1e-12);
    }
}

/* ---- prediction ---- */

static void white_acceleration_adds_q_g_gt(void **unused)
{
    struct rig rig;
    double x[4] = {0, 0, 1, 2}, p[16] = {0};
    (void)unused;
    open_cv(&rig, 9);
    mini_start(&rig.host);
    const struct ekf_plan *plan = &((const struct ekf_prepared *)rig.host.instance.data)->plan;
    assert_true(ekf_filter_predict(plan, 0, 50 * ms, x, p));
    assert_near(x[0], 0.05, 1e-15);
    assert_near(p[0], 9 * 0.05 * 0.05 * 0.05 * 0.05 / 4, 1e-18);
    assert_near(p[2], 9 * 0.05 * 0.05 * 0.05 / 2, 1e-18);
    assert_near(p[10], 9 * 0.05 * 0.05, 1e-18);
    assert_true(p[2] == p[8]);
    mini_close(&rig.host);
}

/* ∫ F Q Fᵀ of a walk in the velocity: q t, q t²/2, q t³/3; the trapezoid rule in substeps of h is off by q t h²/6. */
static void a_random_walk_goes_through_the_model(void **unused)
{
    struct rig rig;
    double x[4] = {0}, p[16] = {0};
    (void)unused;
    open_cv(&rig, 0);
    add_noise(&rig, "vx", "", 2);
    params_of(&rig)->max_step_s = 0.1;
    mini_start(&rig.host);
    const struct ekf_plan *plan = &((const struct ekf_prepared *)rig.host.instance.data)->plan;
    assert_true(ekf_filter_predict(plan, 0, 2000 * ms, x, p));
    assert_near(p[10], 2 * 2, 1e-12);
    assert_near(p[2], 2 * 2 * 2 / 2.0, 1e-12);
    assert_near(p[0], 2 * 8 / 3.0, 2 * 2 * 0.1 * 0.1 / 6 * 1.01);
    mini_close(&rig.host);
}

static void a_gap_of_ten_years_is_a_bounded_prediction(void **unused)
{
    struct rig rig;
    (void)unused;
    open_cv(&rig, 9);
    mini_start(&rig.host);
    assert_int_equal(give(&rig, 0, 0, 1, -1), OTO_STEP_OK);
    const int64_t late_ns = INT64_C(315360000000000000);
    assert_int_equal(give(&rig, late_ns, late_ns, 3, 4), OTO_STEP_OK);
    assert_near(rig.estimate.position_enu_m.x, 3, 0.1); /* nothing else is known any more */
    assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_table_are_the_names_of_models_and_functions),
        cmocka_unit_test(each_measurement_has_its_jacobian_on_each_model),
        cmocka_unit_test(a_view_says_what_the_truth_of_the_model_says),
        cmocka_unit_test(white_acceleration_adds_q_g_gt),
        cmocka_unit_test(a_random_walk_goes_through_the_model),
        cmocka_unit_test(a_gap_of_ten_years_is_a_bounded_prediction),
    };
    return cmocka_run_group_tests_name("ekf_model", tests, NULL, NULL);
}
