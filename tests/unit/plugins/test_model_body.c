/* Bicycles and the rigid body: rows B19 and B20 of the reference tables beyond their golden rows, and the laws of a top. */
#include "model_cases.h"

/* ---- kinematic bicycle ---- */

static void bicycle_slope(const struct num_bicycle_constants *c, const double *s, double *d)
{
    const double beta = atan(c->rear_m * tan(c->steering_rad) / (c->front_m + c->rear_m));
    d[0] = s[3] * cos(s[2] + beta);
    d[1] = s[3] * sin(s[2] + beta);
    d[2] = s[3] * sin(beta) / c->rear_m;
    d[3] = c->accel_m_s2;
}

static void bicycle_runge_kutta(const struct num_bicycle_constants *c, double *s, double dt_s, int steps)
{
    const double h = dt_s / steps;
    for (int step = 0; step < steps; step++) {
        double k[4][4], at[4];
        for (int stage = 0; stage < 4; stage++) {
            const double part = stage == 0 ? 0 : stage == 3 ? 1 : 0.5;
            for (int i = 0; i < 4; i++) {
                at[i] = s[i] + (stage > 0 ? part * h * k[stage - 1][i] : 0);
            }
            bicycle_slope(c, at, k[stage]);
        }
        for (int i = 0; i < 4; i++) {
            s[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        }
    }
}

static void B19_an_integrator_of_fourth_order_comes_to_the_bicycle_with_slope_4(void **unused)
{
    (void)unused;
    const struct model_case *c = &model_cases[12];
    double exact[4], error[2];
    assert_ptr_equal(c->model, &num_model_kinematic_bicycle);
    case_predict(c, c->state, 4.0, exact);
    for (int i = 0; i < 2; i++) {
        double s[4];
        memcpy(s, c->state, sizeof s);
        bicycle_runge_kutta(c->constants, s, 4.0, 40 << i);
        error[i] = hypot(s[0] - exact[0], s[1] - exact[1]);
    }
    assert_near(log2(error[0] / error[1]), 4.0, 0.1);
}

static void B19_a_bicycle_without_rear_overhang_has_no_side_slip(void **unused)
{
    (void)unused;
    const struct num_bicycle_constants c = {2.7, 0.0, 0.2, 0.0};
    const double state[4] = {0, 0, 0.3, 5};
    double derived[2];
    num_model_kinematic_bicycle.derive(&c, state, derived);
    assert_near(derived[0], 0, 0);
    assert_near(derived[1], 5 * tan(0.2) / 2.7, 1e-15);
}

/* ---- linear tyres ---- */

static struct num_tyre_constants steady_car(void)
{
    struct num_tyre_constants c = case_tyre;
    c.jerk_m_s3 = 0;
    c.steering_rate_rad_s = 0;
    return c;
}

static void B20_the_yaw_rate_settles_at_u_delta_over_l_plus_k_u_squared(void **unused)
{
    (void)unused;
    const struct num_tyre_constants c = steady_car();
    const double length = c.front_m + c.rear_m;
    const double understeer = c.mass_kg / length * (c.rear_m / c.front_stiffness_n_rad - c.front_m / c.rear_stiffness_n_rad);
    for (double u = 2; u <= 40; u += 9.5) {
        double state[8] = {0, 0, 0, u, 0, 0, 0.02, 0};
        assert_int_equal(num_model_linear_tyre.predict(&c, state, 30.0, state), OTO_OK);
        assert_near(state[5], u * 0.02 / (length + understeer * u * u), 1e-12);
    }
}

static void B20_the_two_sign_conventions_are_one_motion(void **unused)
{
    (void)unused;
    struct num_tyre_constants snippet = case_tyre;
    const struct model_case *c = &model_cases[13];
    double state[8], conventional[8], mirrored[8];
    assert_ptr_equal(c->model, &num_model_linear_tyre);
    snippet.sign = NUM_TYRE_SNIPPET;
    snippet.front_stiffness_n_rad *= -1;
    snippet.rear_stiffness_n_rad *= -1;
    snippet.steering_rate_rad_s *= -1;
    memcpy(state, c->state, sizeof state);
    state[6] *= -1;
    case_predict(c, c->state, 1.7, conventional);
    assert_int_equal(num_model_linear_tyre.predict(&snippet, state, 1.7, mirrored), OTO_OK);
    mirrored[6] *= -1;
    assert_states_near(c, conventional, mirrored, 1e-15);
}

static void B20_standstill_is_rest_whatever_the_wheels_do(void **unused)
{
    (void)unused;
    struct num_tyre_constants c = case_tyre;
    double state[8] = {3, 4, 0.5, 0, 0, 0, 0.4, 0}, jacobian[64];
    c.jerk_m_s3 = 0;
    assert_int_equal(num_model_linear_tyre.both(&c, state, 10.0, jacobian, state), OTO_OK);
    assert_near(state[0], 3, 0);
    assert_near(state[1], 4, 0);
    assert_near(state[2], 0.5, 0);
    for (int i = 0; i < 64; i++) {
        assert_true(isfinite(jacobian[i]));
    }
    double sliding[8] = {0, 0, 0, 0, 1, 0.5, 0, 0};
    assert_int_equal(num_model_linear_tyre.predict(&c, sliding, 5.0, sliding), OTO_OK);
    assert_near(sliding[4], 0, 1e-9);
    assert_near(sliding[5], 0, 1e-9);
}

/* Brakes from 4 m/s through standstill into reverse: one call is many, and both speeds of the guard are crossed. */
static void B20_braking_through_standstill_is_smooth(void **unused)
{
    (void)unused;
    const struct num_tyre_constants c = steady_car();
    const double start[8] = {0, 0, 0, 4, 0.1, 0.05, 0.1, -2};
    double one[8], many[8], back[8];
    assert_int_equal(num_model_linear_tyre.predict(&c, start, 3.5, one), OTO_OK);
    memcpy(many, start, sizeof many);
    for (int i = 0; i < 3500; i++) {
        assert_int_equal(num_model_linear_tyre.predict(&c, many, 0.001, many), OTO_OK);
    }
    assert_states_near(&model_cases[13], one, many, 1e-12);
    assert_near(one[3], -3, 1e-15);
    assert_true(one[5] < 0); /* wheels to the left turn right in reverse */
    assert_int_equal(num_model_linear_tyre.predict(&c, one, 1e-6, back), OTO_OK);
    assert_near(back[4], one[4], 1e-4);
}

static void B20_what_would_never_end_is_refused(void **unused)
{
    (void)unused;
    const struct num_tyre_constants c = steady_car();
    const double start[8] = {0, 0, 0, 20, 0, 0, 0.01, 0}, bad[8] = {0, 0, 0, NAN, 0, 0, 0, 0};
    double next[8] = {7};
    assert_int_equal(num_model_linear_tyre.predict(&c, start, 1e9, next), OTO_RANGE);
    assert_int_equal(num_model_linear_tyre.predict(&c, bad, 1.0, next), OTO_RANGE);
    assert_int_equal(num_model_rigid_body_6dof.predict(&case_body, model_cases[14].state, 1e9, next), OTO_RANGE);
    assert_near(next[0], 7, 0);
}

/* ---- rigid body ---- */

static struct num_body_constants free_body(double jx, double jy, double jz, double step_s)
{
    return (struct num_body_constants){.mass_kg = 2, .inertia_kg_m2 = {jx, jy, jz}, .step_s = step_s};
}

/* The body's angular momentum in the world, and its energy of rotation. */
static oto_vec3 momentum(const struct num_body_constants *c, const double *s, double *energy)
{
    const oto_quat q = oto_quat_make(s[3], s[4], s[5], s[6]);
    const double *j = c->inertia_kg_m2, *w = s + 10;
    *energy = 0.5 * (j[0] * w[0] * w[0] + j[1] * w[1] * w[1] + j[2] * w[2] * w[2]);
    return oto_quat_rotate(q, oto_vec3_make(j[0] * w[0], j[1] * w[1], j[2] * w[2]));
}

static void a_free_body_keeps_its_momentum_and_energy(void **unused)
{
    (void)unused;
    const struct num_body_constants c = free_body(0.3, 0.5, 0.7, 0.001);
    double s[13] = {0, 0, 0, 0.5, 0.5, -0.5, 0.5, 1, 2, 3, 0.6, -2.9, 0.2}, before, after;
    const oto_vec3 first = momentum(&c, s, &before);
    assert_int_equal(num_model_rigid_body_6dof.predict(&c, s, 20.0, s), OTO_OK);
    const oto_vec3 last = momentum(&c, s, &after);
    assert_near(oto_vec3_norm(oto_vec3_sub(first, last)), 0, 1e-10);
    assert_near(after, before, 1e-10);
    assert_near(s[3] * s[3] + s[4] * s[4] + s[5] * s[5] + s[6] * s[6], 1, 1e-12);
    assert_near(s[1], 40, 1e-11);
}

/* Two equal moments of inertia: body rates turn about z at (1 - Jz/J) wz, the attitude is two rotations (Euler). */
static void a_symmetric_top_is_the_closed_form(void **unused)
{
    (void)unused;
    const struct num_body_constants c = free_body(0.4, 0.4, 0.6, 0.001);
    double s[13] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1.0, 0, 2.0};
    const double t = 5.0, precession = (0.4 - 0.6) / 0.4 * 2.0;
    const oto_vec3 l = oto_vec3_make(0.4 * 1.0, 0, 0.6 * 2.0);
    const oto_quat about_l = oto_quat_from_rotvec(oto_vec3_scale(l, t / 0.4));
    const oto_quat about_z = oto_quat_from_rotvec(oto_vec3_make(0, 0, precession * t));
    assert_int_equal(num_model_rigid_body_6dof.predict(&c, s, t, s), OTO_OK);
    assert_near(s[10], cos(precession * t), 1e-11);
    assert_near(s[11], -sin(precession * t), 1e-11);
    assert_near(s[12], 2.0, 1e-14);
    assert_near(oto_quat_angle_between(oto_quat_make(s[3], s[4], s[5], s[6]), oto_quat_mul(about_l, about_z)), 0, 1e-10);
}

static void the_rigid_body_is_of_fourth_order(void **unused)
{
    (void)unused;
    double reference[13], error[2];
    struct num_body_constants c = case_body;
    c.step_s = 0.0005;
    assert_int_equal(num_model_rigid_body_6dof.predict(&c, model_cases[14].state, 2.0, reference), OTO_OK);
    for (int i = 0; i < 2; i++) {
        double s[13];
        error[i] = 0;
        c.step_s = 0.04 / (1 << i);
        assert_int_equal(num_model_rigid_body_6dof.predict(&c, model_cases[14].state, 2.0, s), OTO_OK);
        for (int k = 0; k < 13; k++) {
            error[i] += fabs(s[k] - reference[k]);
        }
    }
    assert_near(log2(error[0] / error[1]), 4.0, 0.25);
}

static void a_thrown_body_flies_the_parabola_and_thrust_turns_with_it(void **unused)
{
    (void)unused;
    struct num_body_constants c = free_body(0.3, 0.5, 0.7, 0.01);
    double s[13] = {0, 0, 10, 1, 0, 0, 0, 3, 0, 8, 0, 0, 0};
    c.gravity_enu_m_s2.z = -9.81;
    assert_int_equal(num_model_rigid_body_6dof.predict(&c, s, 1.3, s), OTO_OK);
    assert_near(s[0], 3.9, 1e-13);
    assert_near(s[2], 10 + 8 * 1.3 - 0.5 * 9.81 * 1.3 * 1.3, 1e-13);
    /* Spinning about z at 1 rad/s with 2 N forward on 2 kg: the velocity is the integral of the heading. */
    double spin[13] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    c.gravity_enu_m_s2.z = 0;
    c.force_body_n.x = 2;
    assert_int_equal(num_model_rigid_body_6dof.predict(&c, spin, 2.0, spin), OTO_OK);
    assert_near(spin[7], sin(2.0), 1e-10);
    assert_near(spin[8], 1 - cos(2.0), 1e-10);
    assert_near(spin[0], 1 - cos(2.0), 1e-10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B19_an_integrator_of_fourth_order_comes_to_the_bicycle_with_slope_4),
        cmocka_unit_test(B19_a_bicycle_without_rear_overhang_has_no_side_slip),
        cmocka_unit_test(B20_the_yaw_rate_settles_at_u_delta_over_l_plus_k_u_squared),
        cmocka_unit_test(B20_the_two_sign_conventions_are_one_motion),
        cmocka_unit_test(B20_standstill_is_rest_whatever_the_wheels_do),
        cmocka_unit_test(B20_braking_through_standstill_is_smooth),
        cmocka_unit_test(B20_what_would_never_end_is_refused),
        cmocka_unit_test(a_free_body_keeps_its_momentum_and_energy),
        cmocka_unit_test(a_symmetric_top_is_the_closed_form),
        cmocka_unit_test(the_rigid_body_is_of_fourth_order),
        cmocka_unit_test(a_thrown_body_flies_the_parabola_and_thrust_turns_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
