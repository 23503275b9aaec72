/* What every motion model must hold: rows B1, B3, B6, B8–B18, B23 of the reference tables, each law over all models. */
#include "model_cases.h"
#include "motion_check.h"
#include "num_catr.h"

#define EACH_CASE(c) const struct model_case *c = model_cases; c < model_cases + MODEL_CASES; c++

static void B1_one_harness_runs_any_model(void **unused)
{
    (void)unused;
    assert_int_equal(MODEL_CASES, 15);
    for (int i = 0; i < MODEL_CASES; i++) {
        assert_ptr_equal(num_models[i], model_cases[i].model);
    }
    assert_null(num_models[MODEL_CASES]);
    for (EACH_CASE(c)) {
        double state[OTO_MODEL_MAX_STATES], jacobian[OTO_MODEL_MAX_STATES * OTO_MODEL_MAX_STATES];
        struct oto_error error = {0};
        assert_ok(num_model_reset(c->model, c->constants, c->state, state, &error), error);
        for (int k = 0; k < 100; k++) {
            assert_int_equal(c->model->both(c->constants, state, 0.01, jacobian, state), OTO_OK);
        }
        assert_ok(num_model_reset(c->model, c->constants, state, state, &error), error);
    }
}

static void B3_constant_acceleration_is_catr_on_a_straight_line(void **unused)
{
    (void)unused;
    const double catr[6] = {1, 2, 13, -1.5, 0.6, 0};
    const double ca[6] = {1, 2, 13 * cos(0.6), 13 * sin(0.6), -1.5 * cos(0.6), -1.5 * sin(0.6)};
    double next_catr[6], next_ca[6];
    assert_int_equal(num_model_catr.predict(NULL, catr, 7.5, next_catr), OTO_OK);
    assert_int_equal(num_model_constant_acceleration.predict(NULL, ca, 7.5, next_ca), OTO_OK);
    assert_near(next_catr[0], next_ca[0], 1e-13 * 100);
    assert_near(next_catr[1], next_ca[1], 1e-13 * 100);
}

static void B4_there_is_no_turn_rate_and_no_heading_at_rest(void **unused)
{
    (void)unused;
    const double rest[6] = {1, 2, 0, 0, 3, 4};
    double derived[4];
    num_model_constant_acceleration.derive(NULL, rest, derived);
    assert_near(derived[0], 0, 0);
    assert_near(derived[1], 5, 0);
    assert_near(derived[2], 0, 0);
    assert_near(derived[3], 0, 0);
}

static void B6_each_jacobian_is_the_difference_quotient_of_its_flow(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        const uint32_t n = case_size(c);
        double jacobian[OTO_MODEL_MAX_STATES * OTO_MODEL_MAX_STATES];
        assert_int_equal(c->model->jacobian(c->constants, c->state, 0.7, jacobian), OTO_OK);
        for (uint32_t k = 0; k < n; k++) {
            /* Central: the error is h² f'''/6 and 2^-52 f/h. */
            const double h = 1e-5;
            double low[OTO_MODEL_MAX_STATES], high[OTO_MODEL_MAX_STATES], moved[OTO_MODEL_MAX_STATES];
            memcpy(moved, c->state, sizeof moved);
            moved[k] = c->state[k] + h;
            case_predict(c, moved, 0.7, high);
            moved[k] = c->state[k] - h;
            case_predict(c, moved, 0.7, low);
            for (uint32_t i = 0; i < n; i++) {
                assert_near(jacobian[i * n + k], (high[i] - low[i]) / (2 * h), 2e-8 * fmax(1, fabs(jacobian[i * n + k])));
            }
        }
    }
}

/* ∫₀ᵀ tᵏ (v + a t) trig(th + w t) dt by 32 panels of 5 Gauss–Legendre nodes, in the wider numbers of long double. */
static void quadrature(const double *catr, double span, long double sums[2][2])
{
    static const long double node[3] = {0.0L, 0.538469310105683091036314420700208805L, 0.906179845938663992797626878299392965L};
    static const long double weight[3] = {0.568888888888888888888888888888888889L, 0.478628670499366468041291514835638193L,
                                          0.236926885056189087514264040719917363L};
    const int panels = 64;
    memset(sums, 0, 4 * sizeof(long double));
    for (int p = 0; p < panels; p++) {
        for (int i = -2; i <= 2; i++) {
            const long double at = (p + 0.5L + (i < 0 ? -node[-i] : node[i]) * 0.5L) / panels * span;
            const long double f = weight[i < 0 ? -i : i] * 0.5L / panels * span * (catr[2] + catr[3] * at);
            const long double angle = (long double)catr[4] + (long double)catr[5] * at;
            for (int k = 0; k < 2; k++) {
                sums[k][0] += f * (k > 0 ? at : 1.0L) * cosl(angle);
                sums[k][1] += f * (k > 0 ? at : 1.0L) * sinl(angle);
            }
        }
    }
}

static void B5_B6_B18_no_turn_rate_from_1e_minus_12_to_10_shows_a_threshold(void **unused)
{
    (void)unused;
    double worst = 0.0, worst_jacobian = 0.0;
    int rates = 0;
    for (double w = 1e-12; w <= 10.0; w *= 1.09, rates++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            const double state[6] = {0, 0, 13, 1, 0.3, sign * w};
            double next[6], jacobian[36];
            long double sums[2][2];
            quadrature(state, 1.0, sums);
            assert_int_equal(num_model_catr.both(NULL, state, 1.0, jacobian, next), OTO_OK);
            worst = fmax(worst, fabs((double)(next[0] - sums[0][0])) / 14);
            worst = fmax(worst, fabs((double)(next[1] - sums[0][1])) / 14);
            worst_jacobian = fmax(worst_jacobian, fabs((double)(jacobian[0 * 6 + 5] + sums[1][1])) / 14);
            worst_jacobian = fmax(worst_jacobian, fabs((double)(jacobian[1 * 6 + 5] - sums[1][0])) / 14);
        }
    }
    print_message("%d turn rates: state within %.2g, its derivative by the turn rate within %.2g of scale\n", rates, worst,
                  worst_jacobian);
    assert_true(worst <= 1e-15);
    assert_true(worst_jacobian <= 5e-15);
}

/* Across the ends of the series' ranges and across zero, neighbours differ by what the slope says. */
static void B18_the_moments_have_no_seam(void **unused)
{
    (void)unused;
    static const double seams[] = {0.0, 0x1p-5, 0x1p-2, 1.0, -0x1p-5, -0x1p-2, -1.0};
    for (size_t i = 0; i < sizeof seams / sizeof *seams; i++) {
        struct num_moments low, high;
        num_moments_at(seams[i] - 1e-12, 3, &low);
        num_moments_at(seams[i] + 1e-12, 3, &high);
        for (int k = 0; k < 3; k++) {
            assert_near(low.cosine[k], high.cosine[k], 2e-12 + 2e-15);
            assert_near(low.sine[k], high.sine[k], 2e-12 + 2e-15);
        }
    }
}

static void B8_B9_parameters_and_what_stands_stay_for_any_number(void **unused)
{
    (void)unused;
    double state[NUM_ESTIMATOR_MOST], next[NUM_ESTIMATOR_MOST], jacobian[NUM_ESTIMATOR_MOST * NUM_ESTIMATOR_MOST];
    for (int64_t n = 1; n <= NUM_ESTIMATOR_MOST; n++) {
        const struct num_estimator_constants c = {n};
        assert_int_equal(num_model_size(&num_model_parameter_estimator, &c), n);
        for (int i = 0; i < n; i++) {
            state[i] = i - 2.5;
        }
        assert_int_equal(num_model_parameter_estimator.both(&c, state, 1e6, jacobian, next), OTO_OK);
        assert_memory_equal(state, next, (size_t)n * sizeof *state);
        for (int64_t i = 0; i < n * n; i++) {
            assert_near(jacobian[i], i % (n + 1) == 0 ? 1 : 0, 0);
        }
    }
    assert_int_equal(num_model_stationary.both(NULL, model_cases[0].state, 1e6, jacobian, next), OTO_OK);
    assert_memory_equal(model_cases[0].state, next, 6 * sizeof *next);
}

static void B10_a_box_rides_on_catr(void **unused)
{
    (void)unused;
    const double state[8] = {1, 2, 13, 1.5, 0.7, -0.4, 4.2, 1.7};
    double next[8], catr[6], jacobian[64], catr_jacobian[36];
    assert_int_equal(num_model_catr_box.both(NULL, state, 0.9, jacobian, next), OTO_OK);
    assert_int_equal(num_model_catr.both(NULL, state, 0.9, catr_jacobian, catr), OTO_OK);
    assert_memory_equal(next, catr, sizeof catr);
    assert_near(next[6], 4.2, 0);
    assert_near(next[7], 1.7, 0);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 8; k++) {
            assert_near(jacobian[8 * i + k], i < 6 && k < 6 ? catr_jacobian[6 * i + k] : i == k ? 1 : 0, 0);
        }
    }
}

/* exp(At) of a chain p' = v, v' = a ends after its third term. */
static void B11_linear_models_are_the_matrix_exponential(void **unused)
{
    (void)unused;
    static const struct num_model *const models[] = {&num_model_linear_xy, &num_model_linear_xyz, &num_model_linear_xyyaw,
                                                     &num_model_linear_xyzyaw, &num_model_linear_xyzrpy};
    static const uint32_t variables[] = {2, 3, 3, 4, 6};
    const double t = -0.37;
    for (size_t m = 0; m < 5; m++) {
        const uint32_t d = variables[m], n = 3 * d;
        double state[18], next[18], jacobian[18 * 18];
        assert_int_equal(models[m]->state_count, n);
        for (uint32_t i = 0; i < n; i++) {
            state[i] = 1.0 + 0.25 * i;
        }
        assert_int_equal(models[m]->both(NULL, state, t, jacobian, next), OTO_OK);
        for (uint32_t i = 0; i < n; i++) {
            double product = 0;
            for (uint32_t k = 0; k < n; k++) {
                const bool chained = k >= i && (k - i) % d == 0;
                const uint32_t power = chained ? (k - i) / d : 0;
                assert_near(jacobian[i * n + k], chained ? (power == 0 ? 1 : power == 1 ? t : t * t / 2) : 0, 1e-16);
                product += jacobian[i * n + k] * state[k];
            }
            assert_near(next[i], product, 1e-14);
        }
    }
}

static void B12_B16_predicting_into_an_output_leaves_the_state_alone(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        double state[OTO_MODEL_MAX_STATES], once[OTO_MODEL_MAX_STATES] = {0}, twice[OTO_MODEL_MAX_STATES] = {0};
        memcpy(state, c->state, sizeof state);
        case_predict(c, state, 0.25, once);
        case_predict(c, state, 0.25, twice);
        assert_memory_equal(state, c->state, sizeof state);
        assert_memory_equal(once, twice, sizeof once);
        case_predict(c, state, 0.25, state); /* in place, and nothing of it is remembered elsewhere */
        assert_memory_equal(state, once, case_size(c) * sizeof *state);
    }
}

static void B13_two_steps_are_one_step_of_their_sum(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        double two[OTO_MODEL_MAX_STATES], one[OTO_MODEL_MAX_STATES];
        case_predict(c, c->state, 0.3, two);
        case_predict(c, two, 1.2, two);
        case_predict(c, c->state, 1.5, one);
        /* The rigid body's steps fall differently: its error is (1 ms)^4 of the motion. */
        assert_states_near(c, two, one, c->model == &num_model_rigid_body_6dof ? 1e-11 : 1e-13);
    }
}

static void B14_jacobian_then_predict_is_bitwise_the_two_calls(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        const size_t n = case_size(c);
        double jacobian[OTO_MODEL_MAX_STATES * OTO_MODEL_MAX_STATES], both[OTO_MODEL_MAX_STATES * OTO_MODEL_MAX_STATES];
        double next[OTO_MODEL_MAX_STATES], state[OTO_MODEL_MAX_STATES];
        memcpy(state, c->state, sizeof state);
        assert_int_equal(c->model->jacobian(c->constants, state, 1.1, jacobian), OTO_OK);
        case_predict(c, state, 1.1, next);
        assert_int_equal(c->model->both(c->constants, state, 1.1, both, state), OTO_OK); /* in place */
        assert_memory_equal(jacobian, both, n * n * sizeof *both);
        assert_memory_equal(next, state, n * sizeof *state);
    }
}

static void B15_what_cannot_be_a_state_is_refused(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        const uint32_t n = case_size(c);
        for (uint32_t i = 0; i < n; i++) {
            static const double bad[] = {NAN, INFINITY, -INFINITY};
            for (size_t k = 0; k < 3; k++) {
                double values[OTO_MODEL_MAX_STATES], state[OTO_MODEL_MAX_STATES] = {7};
                struct oto_error error = {0};
                memcpy(values, c->state, sizeof values);
                values[i] = bad[k];
                assert_int_equal(num_model_reset(c->model, c->constants, values, state, &error), OTO_INVALID);
                assert_non_null(strstr(error.text, c->model->states[i].name));
                assert_near(state[0], 7, 0);
            }
        }
    }
    double body[13] = {0, 0, 0, 1, 0.002, 0, 0}, state[13];
    struct oto_error error = {0};
    assert_int_equal(num_model_reset(&num_model_rigid_body_6dof, &case_body, body, state, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "length 1"));
    body[4] = 1e-7;
    assert_ok(num_model_reset(&num_model_rigid_body_6dof, &case_body, body, state, &error), error);
    assert_near(state[3] * state[3] + state[4] * state[4], 1, 3e-16);
}

static void B17_no_time_is_the_identity_and_negative_time_goes_back(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        const uint32_t n = case_size(c);
        double next[OTO_MODEL_MAX_STATES], jacobian[OTO_MODEL_MAX_STATES * OTO_MODEL_MAX_STATES];
        assert_int_equal(c->model->both(c->constants, c->state, 0.0, jacobian, next), OTO_OK);
        for (uint32_t i = 0; i < n; i++) {
            assert_near(next[i], c->state[i], 0);
        }
        for (uint32_t i = 0; i < n * n; i++) {
            assert_near(jacobian[i], i % (n + 1) == 0 ? 1 : 0, 0);
        }
        case_predict(c, c->state, 0.9, next);
        case_predict(c, next, -0.9, next);
        /* Backwards the tyres' decay is growth: e^(0.9 s · 13/s) times the rounding. */
        assert_states_near(c, next, c->state, c->model == &num_model_linear_tyre ? 1e-9
                                              : c->model == &num_model_rigid_body_6dof ? 1e-11 : 1e-12);
    }
}

/* ---- as the truth of a vehicle ---- */

static void evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth)
{
    const struct model_case *c = motion;
    double state[OTO_MODEL_MAX_STATES];
    case_predict(c, c->state, (double)at.t_ns / 1e9, state);
    c->model->to_truth(c->constants, state, truth);
}

static void a_truth_is_consistent_in_all_its_derivatives(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        const struct motion_misfit worst = motion_worst(evaluate, c, 0, 2000000000, 53000000);
        const bool integrated = !c->model->exact;
        assert_near(worst.velocity_m_s, 0, integrated ? 1e-8 : 1e-9);
        assert_near(worst.accel_m_s2, 0, integrated ? 1e-7 : 1e-8);
        assert_near(worst.rate_rad_s, 0, 1e-9);
        assert_near(worst.angular_accel_rad_s2, 0, integrated ? 1e-7 : 1e-8);
    }
}

static void B23_a_state_goes_through_a_truth_and_back(void **unused)
{
    (void)unused;
    for (EACH_CASE(c)) {
        struct oto_truth_record truth, again;
        double state[OTO_MODEL_MAX_STATES];
        if (c->model == &num_model_parameter_estimator) {
            continue;
        }
        c->model->to_truth(c->constants, c->state, &truth);
        c->model->from_truth(c->constants, &truth, state);
        c->model->to_truth(c->constants, state, &again);
        for (size_t i = 0; i < 6; i++) { /* position and velocity */
            assert_near((&truth.position_enu_m.x)[i], (&again.position_enu_m.x)[i], 1e-13 * 20);
        }
        assert_near(oto_quat_angle_between(truth.q_enu_from_body, again.q_enu_from_body), 0, 1e-14);
    }
}

static void B23_pose_and_velocity_are_continuous_from_catr_to_any_model(void **unused)
{
    (void)unused;
    const struct model_case *catr = &model_cases[4];
    struct oto_truth_record before, after;
    double state[OTO_MODEL_MAX_STATES];
    evaluate(catr, (struct oto_instant){1700000000, 0.0}, &before);
    for (EACH_CASE(c)) {
        if (c->model == &num_model_stationary || c->model == &num_model_parameter_estimator ||
            c->model == &num_model_kinematic_bicycle) { /* which cannot move, or not without its side slip */
            continue;
        }
        c->model->from_truth(c->constants, &before, state);
        c->model->to_truth(c->constants, state, &after);
        assert_near(oto_vec3_norm(oto_vec3_sub(before.position_enu_m, after.position_enu_m)), 0, 1e-13 * 40);
        assert_near(oto_vec3_norm(oto_vec3_sub(before.velocity_enu_m_s, after.velocity_enu_m_s)), 0, 1e-13 * 20);
        assert_near(oto_quat_angle_between(before.q_enu_from_body, after.q_enu_from_body), 0, 1e-13);
    }
}

static void a_heading_at_hand_gives_the_same_bits(void **unused)
{
    (void)unused;
    const struct num_catr state = {1.0, 2.0, 13.0, 1.5, 0.7, -0.4};
    struct num_catr plain, towards;
    num_catr_predict(&state, 0.013, &plain);
    num_catr_predict_towards(&state, num_direction_of(state.heading_rad), 0.013, &towards);
    assert_memory_equal(&plain, &towards, sizeof plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B1_one_harness_runs_any_model),
        cmocka_unit_test(B3_constant_acceleration_is_catr_on_a_straight_line),
        cmocka_unit_test(B4_there_is_no_turn_rate_and_no_heading_at_rest),
        cmocka_unit_test(B6_each_jacobian_is_the_difference_quotient_of_its_flow),
        cmocka_unit_test(B5_B6_B18_no_turn_rate_from_1e_minus_12_to_10_shows_a_threshold),
        cmocka_unit_test(B18_the_moments_have_no_seam),
        cmocka_unit_test(B8_B9_parameters_and_what_stands_stay_for_any_number),
        cmocka_unit_test(B10_a_box_rides_on_catr),
        cmocka_unit_test(B11_linear_models_are_the_matrix_exponential),
        cmocka_unit_test(B12_B16_predicting_into_an_output_leaves_the_state_alone),
        cmocka_unit_test(B13_two_steps_are_one_step_of_their_sum),
        cmocka_unit_test(B14_jacobian_then_predict_is_bitwise_the_two_calls),
        cmocka_unit_test(B15_what_cannot_be_a_state_is_refused),
        cmocka_unit_test(B17_no_time_is_the_identity_and_negative_time_goes_back),
        cmocka_unit_test(a_truth_is_consistent_in_all_its_derivatives),
        cmocka_unit_test(B23_a_state_goes_through_a_truth_and_back),
        cmocka_unit_test(B23_pose_and_velocity_are_continuous_from_catr_to_any_model),
        cmocka_unit_test(a_heading_at_hand_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
