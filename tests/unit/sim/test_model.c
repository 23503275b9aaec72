/* Motion models without a server, through the public functions: rows B12 to B17 of the reference tables. */
#include "oto_test.h"
#include "otolith/model.h"
#include "plugin/host.h"

static struct oto_model *open_model(const char *name, const char *yaml)
{
    struct oto_error error = {0};
    struct oto_model *model = NULL;
    assert_ok(oto_model_open(name, yaml, NULL, NULL, &model, &error), error);
    return model;
}

static void B15_states_are_read_by_place_and_by_name(void **unused)
{
    (void)unused;
    const double values[6] = {1, 2, 13, 1.5, 0.7, -0.4};
    struct oto_error error = {0};
    struct oto_model *model = open_model("catr", NULL);
    uint32_t index = 99;
    double value = 99;
    assert_int_equal(oto_model_size(model), 6);
    assert_ok(oto_model_reset(model, values, &error), error);
    assert_ok(oto_model_index(model, "th", &index, &error), error);
    assert_int_equal(index, 4);
    assert_string_equal(oto_model_quantity(model, index)->unit, "rad");
    assert_ok(oto_model_get(model, index, &value, &error), error);
    assert_near(value, 0.7, 0);
    assert_int_equal(oto_model_get(model, 6, &value, &error), OTO_RANGE);
    assert_null(oto_model_quantity(model, 6));
    assert_int_equal(oto_model_index(model, "thh", &index, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "'th'"));
    oto_model_close(model);
}

static void B12_B16_B17_only_reset_and_predict_change_the_state(void **unused)
{
    (void)unused;
    const double values[6] = {1, 2, 13, 1.5, 0.7, -0.4};
    double state[6], next[6], rows[3 * 6], jacobian[36], again[36];
    struct oto_error error = {0};
    struct oto_model *model = open_model("catr", NULL), *other = open_model("motion_catr", NULL);
    assert_ok(oto_model_reset(model, values, &error), error);
    assert_ok(oto_model_predict_to(model, 100000000, next, &error), error);
    assert_ok(oto_model_roll_out(model, 100000000, 3, rows, &error), error);
    assert_ok(oto_model_jacobian(model, 100000000, jacobian, &error), error);
    oto_model_state(model, state);
    assert_memory_equal(state, values, sizeof values);
    assert_memory_equal(rows, next, sizeof next);
    assert_ok(oto_model_jacobian_and_predict(model, 100000000, again, &error), error);
    assert_memory_equal(jacobian, again, sizeof again);
    oto_model_state(model, state);
    assert_memory_equal(state, next, sizeof next);
    assert_ok(oto_model_predict(model, 200000000, &error), error);
    assert_ok(oto_model_predict(model, -300000000, &error), error);
    oto_model_state(model, state);
    for (int i = 0; i < 6; i++) {
        assert_near(state[i], values[i], 1e-13 * 14);
    }
    oto_model_state(other, state);
    assert_near(state[0], 0, 0); /* a model of its own, at rest at the origin */
    oto_model_close(other);
    oto_model_close(model);
}

static void a_bad_state_is_refused_and_the_old_one_stays(void **unused)
{
    (void)unused;
    const double bad[13] = {0, 0, 0, 2}, good[13] = {0, 0, 0, 0, 1};
    double state[13];
    struct oto_error error = {0};
    struct oto_model *model = open_model("rigid_body_6dof", "{mass_kg: 2, gravity_enu_m_s2: [0, 0, -9.81]}");
    oto_model_state(model, state);
    assert_near(state[3], 1, 0);
    assert_int_equal(oto_model_reset(model, bad, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "length 2"));
    assert_ok(oto_model_reset(model, good, &error), error);
    assert_int_equal(oto_model_predict(model, INT64_MAX, &error), OTO_RANGE);
    oto_model_state(model, state);
    assert_memory_equal(state, good, sizeof good);
    oto_model_close(model);
}

static void parameters_go_by_key_and_by_their_short_name(void **unused)
{
    (void)unused;
    struct oto_error error = {0};
    struct oto_model *model = open_model("kinematic_bicycle", "{front_axle_m: 1.4, L_r: 1.3}");
    struct oto_truth_record truth;
    double derived[2];
    assert_ok(oto_model_set(model, "delta", "0.1", &error), error);
    assert_ok(oto_model_set(model, "accel_m_s2", "0.5", &error), error);
    oto_model_derived(model, derived);
    assert_near(derived[0], atan(1.3 * tan(0.1) / 2.7), 1e-16);
    oto_model_to_truth(model, &truth);
    assert_near(oto_vec3_norm(truth.accel_enu_m_s2), 0.5, 1e-15);
    assert_int_equal(oto_model_set(model, "delta", "9", &error), OTO_RANGE);
    assert_int_not_equal(oto_model_set(model, "deltaa", "0", &error), OTO_OK);
    char text[32];
    assert_ok(oto_model_get_param(model, "L_f", text, sizeof text, &error), error);
    assert_string_equal(text, "1.4");
    assert_int_equal(oto_model_get_param(model, "L_g", text, sizeof text, &error), OTO_NOT_FOUND);
    oto_model_close(model);
}

static void B8_the_number_of_parameters_is_a_parameter(void **unused)
{
    (void)unused;
    struct oto_error error = {0};
    struct oto_model *model = open_model("parameter_estimator", "{count: 3}");
    const double values[3] = {1, 2, 3};
    double state[16];
    assert_int_equal(oto_model_size(model), 3);
    assert_ok(oto_model_reset(model, values, &error), error);
    assert_ok(oto_model_set(model, "count", "5", &error), error);
    assert_int_equal(oto_model_size(model), 5);
    oto_model_state(model, state);
    assert_near(state[2], 3, 0);
    assert_near(state[4], 0, 0);
    oto_model_close(model);
}

static void what_is_no_model_is_refused_with_the_nearest_that_is(void **unused)
{
    (void)unused;
    struct oto_error error = {0};
    struct oto_model *model = NULL;
    assert_int_equal(oto_model_open("mems_imu", NULL, NULL, NULL, &model, &error), OTO_UNSUPPORTED);
    assert_null(model);
    assert_int_equal(oto_model_open("catr", "{L_f: [1", NULL, NULL, &model, &error), OTO_SYNTAX);
    assert_null(model);
    assert_int_equal(oto_model_open("linear_tyr", NULL, NULL, NULL, &model, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "linear_tyre"));
    oto_model_close(NULL);
}

static void gather(void *context, const char *name)
{
    *(unsigned *)context += strncmp(name, "motion_", 7) == 0;
}

static void plugins_are_listed_by_name(void **unused)
{
    (void)unused;
    unsigned count = 0;
    struct oto_error error = {0};
    assert_ok(oto_plugin_each(gather, &count, &error), error);
    assert_true(count >= 17);
}

int main(void)
{
    if (setenv("OTOLITH_PLUGIN_PATH", OTO_PLUGIN_DIR, 1) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B15_states_are_read_by_place_and_by_name),
        cmocka_unit_test(B12_B16_B17_only_reset_and_predict_change_the_state),
        cmocka_unit_test(a_bad_state_is_refused_and_the_old_one_stays),
        cmocka_unit_test(parameters_go_by_key_and_by_their_short_name),
        cmocka_unit_test(B8_the_number_of_parameters_is_a_parameter),
        cmocka_unit_test(what_is_no_model_is_refused_with_the_nearest_that_is),
        cmocka_unit_test(plugins_are_listed_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
