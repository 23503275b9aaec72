/* The multirotor against mechanics: equilibria, conserved quantities, contact. Its parameters are the plugin's defaults. */
#include "mini_host.h"
#include "motion_check.h"

#include "otolith/controls.h"

#define G_M_S2 9.80665
#define MASS_KG 1.5
#define MAX_THRUST_N 8.0
#define RATE_HZ 1000.0

static struct mini_host h;
static uint64_t made;

static int open_vehicle(void **state)
{
    (void)state;
    mini_open(&h, RATE_HZ, 1);
    h.setup.base_rate_num = 1000;
    h.setup.base_rate_den = 1;
    h.setup.pressure_pa = 101325.0;
    h.setup.temperature_degc = 15.0;
    made = 0;
    return 0;
}

static int close_vehicle(void **state)
{
    (void)state;
    mini_close(&h);
    return 0;
}

static void in_vacuum(void)
{
    static const char *const none[] = {"drag_area_m2", "rotor_drag_kg_s", "angular_damping_nm_s"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        mini_set(&h, none[i], 0.0);
    }
}

static void in_the_air(double height_m)
{
    mini_set(&h, "initial.on_ground", 0.0);
    mini_set3(&h, "initial.position_enu_m", 0.0, 0.0, height_m);
}

static void run(double seconds)
{
    struct oto_step now = {0};
    for (int i = 0; i < (int)llround(seconds * RATE_HZ); i++) {
        assert_int_equal(mini_step(&h, &now, ++made, NULL, NULL), OTO_STEP_OK);
    }
}

static void give(const double *values, uint32_t count)
{
    const struct oto_control_extension *controls = otolith_plugin.extension(OTO_EXTENSION_CONTROL);
    controls->control(&h.instance, values, count);
}

static void evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth)
{
    const struct oto_motion_extension *extension = otolith_plugin.extension(OTO_EXTENSION_MOTION);
    assert_int_equal(extension->evaluate(motion, at, truth), OTO_STEP_OK);
}

static struct oto_truth_record truth_now(void)
{
    struct oto_truth_record truth;
    evaluate(&h.instance, (struct oto_instant){(int64_t)((double)made * 1e9 / RATE_HZ), 0.0}, &truth);
    return truth;
}

static double hover_command(void)
{
    return sqrt(MASS_KG * G_M_S2 / 4.0 / MAX_THRUST_N);
}

/* Kinetic and potential energy of the body; its rotors are at rest. */
static double energy_j(const struct oto_truth_record *truth, oto_vec3 inertia)
{
    const oto_vec3 spin = truth->angular_rate_body_rad_s;
    return 0.5 * MASS_KG * oto_vec3_norm_sq(truth->velocity_enu_m_s) + MASS_KG * G_M_S2 * truth->position_enu_m.z +
           0.5 * oto_vec3_dot(spin, oto_vec3_mul(inertia, spin));
}

/* ---- in the air ---- */

static void rotors_at_the_hover_command_hold_the_height(void **state)
{
    (void)state;
    in_the_air(10.0);
    mini_set(&h, "initial.command", hover_command());
    mini_start(&h);
    run(10.0);
    const struct oto_truth_record truth = truth_now();
    assert_near(truth.position_enu_m.z, 10.0, 1e-9);
    assert_near(oto_vec3_norm(truth.velocity_enu_m_s), 0.0, 1e-9);
    assert_near(oto_vec3_norm(truth.angular_rate_body_rad_s), 0.0, 1e-12);
}

static void a_body_in_vacuum_falls_along_a_parabola(void **state)
{
    (void)state;
    in_vacuum();
    in_the_air(100.0);
    mini_set3(&h, "initial.velocity_enu_m_s", 2.0, -1.0, 3.0);
    mini_start(&h);
    run(4.0);
    const struct oto_truth_record truth = truth_now();
    assert_near(truth.position_enu_m.x, 8.0, 1e-9);
    assert_near(truth.position_enu_m.y, -4.0, 1e-9);
    assert_near(truth.position_enu_m.z, 100.0 + 12.0 - 0.5 * G_M_S2 * 16.0, 1e-9);
    assert_near(truth.accel_enu_m_s2.z, -G_M_S2, 1e-12);
}

static void a_falling_body_reaches_the_speed_at_which_drag_is_its_weight(void **state)
{
    (void)state;
    const double density = 101325.0 / (287.05287 * 288.15);
    in_the_air(5000.0);
    mini_set(&h, "drag_area_m2", 0.1);
    mini_start(&h);
    run(30.0);
    assert_near(truth_now().velocity_enu_m_s.z, -sqrt(2.0 * MASS_KG * G_M_S2 / (density * 0.1)), 1e-3);
}

static void wind_carries_a_hovering_body_to_its_own_speed(void **state)
{
    (void)state;
    in_the_air(10.0);
    mini_set(&h, "initial.command", hover_command());
    mini_set3(&h, "wind_enu_m_s", 3.0, 0.0, 0.0);
    mini_set(&h, "rotor_drag_kg_s", 5.0);
    mini_start(&h);
    run(20.0);
    assert_near(truth_now().velocity_enu_m_s.x, 3.0, 1e-3);
}

static void rotors_reach_their_speed_with_a_first_order_lag(void **state)
{
    (void)state;
    const double all[] = {1.0, 1.0, 1.0, 1.0}, lag_s = 0.02;
    in_vacuum();
    in_the_air(100.0);
    mini_start(&h);
    give(all, 4);
    run(lag_s);
    const double reached = 1.0 - exp(-1.0); /* of the speed; the thrust is its square */
    assert_near(truth_now().accel_enu_m_s2.z + G_M_S2, 4.0 * MAX_THRUST_N * reached * reached / MASS_KG, 1e-5);
}

static void faster_counter_clockwise_rotors_turn_the_body_clockwise(void **state)
{
    (void)state;
    const double ccw = 0.7, cw = 0.6, commands[] = {ccw, ccw, cw, cw};
    const double torque_nm = 0.016 * MAX_THRUST_N * 2.0 * (ccw * ccw - cw * cw);
    in_vacuum();
    in_the_air(100.0);
    mini_start(&h);
    give(commands, 4);
    run(1.0); /* fifty time constants: the reaction to the rotors' own acceleration is over */
    const struct oto_truth_record truth = truth_now();
    assert_near(truth.angular_accel_body_rad_s2.z, -torque_nm / 0.029, 1e-9);
    assert_near(truth.angular_accel_body_rad_s2.x, 0.0, 1e-9);
    assert_true(truth.angular_rate_body_rad_s.z < 0.0);
}

static void the_side_with_more_thrust_rises(void **state)
{
    (void)state;
    const double right[] = {0.7, 0.6, 0.6, 0.7}; /* 1 front right and 4 rear right */
    const double front[] = {0.7, 0.6, 0.7, 0.6}; /* 1 front right and 3 front left */
    in_vacuum();
    in_the_air(100.0);
    mini_start(&h);
    give(right, 4);
    run(0.05);
    assert_true(truth_now().angular_rate_body_rad_s.x < -0.01); /* x forward, y left: a rising right side is a negative roll */
    give(front, 4);
    run(0.05);
    assert_true(truth_now().angular_rate_body_rad_s.y < -0.01); /* a rising nose is a negative pitch */
}

static void a_tumbling_body_keeps_its_energy_and_its_angular_momentum(void **state)
{
    (void)state;
    const oto_vec3 inertia = {0.02, 0.03, 0.05}, spin = {0.1, 6.0, 0.2};
    in_vacuum();
    in_the_air(1000.0);
    mini_set3(&h, "inertia_kg_m2", inertia.x, inertia.y, inertia.z);
    mini_start(&h);
    const struct oto_motion_extension *motion = otolith_plugin.extension(OTO_EXTENSION_MOTION);
    struct oto_truth_record before = truth_now();
    before.angular_rate_body_rad_s = spin; /* about the middle axis: it turns over again and again */
    assert_int_equal(motion->adopt(&h.instance, &before, (struct oto_instant){0, 0.0}), OTO_OK);
    const double none[] = {0.0, 0.0, 0.0, 0.0};
    give(none, 4);
    run(1.0); /* the rotors, which hover after an adoption, come to rest */
    const struct oto_truth_record first = truth_now();
    const oto_vec3 momentum = oto_quat_rotate(first.q_enu_from_body, oto_vec3_mul(inertia, first.angular_rate_body_rad_s));
    run(10.0);
    const struct oto_truth_record last = truth_now();
    const oto_vec3 kept = oto_quat_rotate(last.q_enu_from_body, oto_vec3_mul(inertia, last.angular_rate_body_rad_s));
    assert_near(energy_j(&last, inertia), energy_j(&first, inertia), 1e-6);
    assert_near(oto_vec3_norm(oto_vec3_sub(kept, momentum)), 0.0, 1e-8);
}

/* ---- on the ground ---- */

static void a_body_at_rest_on_its_feet_stays_at_rest(void **state)
{
    (void)state;
    mini_start(&h);
    const struct oto_truth_record first = truth_now();
    run(60.0);
    const struct oto_truth_record last = truth_now();
    assert_near(oto_vec3_norm(oto_vec3_sub(last.position_enu_m, first.position_enu_m)), 0.0, 1e-12);
    assert_near(oto_vec3_norm(last.velocity_enu_m_s), 0.0, 1e-12);
    assert_near(oto_vec3_norm(last.accel_enu_m_s2), 0.0, 1e-9);
    assert_near(last.position_enu_m.z, 0.1 - MASS_KG * G_M_S2 / (4.0 * 2000.0), 1e-12);
}

static void a_gentle_wind_does_not_make_it_creep(void **state)
{
    (void)state;
    mini_set3(&h, "wind_enu_m_s", 5.0, 2.0, 0.0);
    mini_start(&h);
    run(5.0);
    const struct oto_truth_record settled = truth_now();
    run(60.0);
    assert_near(oto_vec3_norm(oto_vec3_sub(truth_now().position_enu_m, settled.position_enu_m)), 0.0, 1e-9);
}

static void a_dropped_body_loses_energy_and_comes_to_rest(void **state)
{
    (void)state;
    const oto_vec3 inertia = {0.029, 0.029, 0.029};
    in_vacuum();
    in_the_air(0.5);
    mini_set3(&h, "initial.rpy_deg", 6.0, -3.0, 30.0);
    mini_start(&h);
    /* A spring at a contact holds at most the energy of the fall, which it gives back. */
    const double first_j = energy_j(&(struct oto_truth_record){.position_enu_m = {0, 0, 0.5}}, inertia);
    for (int i = 0; i < 100; i++) {
        run(0.05);
        const struct oto_truth_record truth = truth_now();
        assert_true(energy_j(&truth, inertia) <= first_j + 1e-9);
    }
    const struct oto_truth_record truth = truth_now();
    assert_near(oto_vec3_norm(truth.velocity_enu_m_s), 0.0, 1e-3);
    assert_near(truth.position_enu_m.z, 0.1 - MASS_KG * G_M_S2 / (4.0 * 2000.0), 1e-3);
}

static void a_body_on_its_back_does_not_sink_into_the_ground(void **state)
{
    (void)state;
    in_the_air(0.3);
    mini_set3(&h, "initial.rpy_deg", 180.0, 0.0, 0.0);
    mini_start(&h);
    run(5.0);
    const struct oto_truth_record truth = truth_now();
    assert_near(oto_vec3_norm(truth.velocity_enu_m_s), 0.0, 1e-3);
    assert_near(truth.position_enu_m.z, 0.02 - MASS_KG * G_M_S2 / (4.0 * 2000.0), 1e-3); /* the hubs are 0.02 m above the centre */
}

static void a_sliding_body_stops_after_the_way_that_friction_allows(void **state)
{
    (void)state;
    const double speed_m_s = 3.0, friction = 0.3;
    in_vacuum();
    in_the_air(0.1 - MASS_KG * G_M_S2 / (4.0 * 2000.0));
    mini_set(&h, "ground.friction", friction);
    mini_set3(&h, "initial.velocity_enu_m_s", speed_m_s, 0.0, 0.0);
    mini_start(&h);
    run(5.0);
    const double way_m = speed_m_s * speed_m_s / (2.0 * friction * G_M_S2);
    assert_near(truth_now().position_enu_m.x, way_m, 0.05 * way_m); /* the feet also spring back, and the body pitches */
    assert_near(oto_vec3_norm(truth_now().velocity_enu_m_s), 0.0, 1e-6);
}

/* ---- the plugin ---- */

static void the_truth_within_a_tick_is_that_of_the_equations(void **state)
{
    (void)state;
    const double commands[] = {0.8, 0.7, 0.6, 0.75};
    struct oto_step now = {0};
    in_the_air(50.0);
    h.setup.rate_hz = 100.0;
    h.setup.base_rate_num = 100;
    mini_start(&h);
    give(commands, 4);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(mini_step(&h, &now, ++made, NULL, NULL), OTO_STEP_OK);
    }
    struct motion_stencil stencil;
    motion_stencil_at(evaluate, &h.instance, (int64_t)made * 10000000 - 5000000, &stencil);
    const struct oto_truth_record *middle = &stencil.at[2];
    const double velocity = motion_rate(&stencil, offsetof(struct oto_truth_record, position_enu_m.x));
    const double accel = motion_rate(&stencil, offsetof(struct oto_truth_record, velocity_enu_m_s.z));
    const double spin = motion_rate(&stencil, offsetof(struct oto_truth_record, angular_rate_body_rad_s.x));
    assert_near(middle->velocity_enu_m_s.x, velocity, 1e-6);
    assert_near(middle->accel_enu_m_s2.z, accel, 1e-4);
    assert_near(middle->angular_accel_body_rad_s2.x, spin, 1e-3);
}

static void controls_beyond_their_range_are_clamped(void **state)
{
    (void)state;
    const double beyond[] = {7.0, 7.0, 7.0, 7.0}, none[] = {-3.0, -3.0, -3.0, -3.0};
    in_vacuum();
    in_the_air(100.0);
    mini_start(&h);
    give(beyond, 4);
    run(1.0);
    assert_near(truth_now().accel_enu_m_s2.z, 4.0 * MAX_THRUST_N / MASS_KG - G_M_S2, 1e-6);
    give(none, 4);
    run(1.0);
    assert_near(truth_now().accel_enu_m_s2.z, -G_M_S2, 1e-6);
}

static void a_vehicle_too_fast_for_the_clock_is_refused(void **state)
{
    (void)state;
    mini_set(&h, "ground.stiffness_n_m", 1e6);
    h.setup.base_rate_num = 1;
    assert_int_equal(mini_prepare(&h), OTO_RANGE);
    assert_non_null(strstr(h.error.text, "ground.stiffness_n_m"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_vehicle, close_vehicle)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(rotors_at_the_hover_command_hold_the_height),
        CASE(a_body_in_vacuum_falls_along_a_parabola),
        CASE(a_falling_body_reaches_the_speed_at_which_drag_is_its_weight),
        CASE(wind_carries_a_hovering_body_to_its_own_speed),
        CASE(rotors_reach_their_speed_with_a_first_order_lag),
        CASE(faster_counter_clockwise_rotors_turn_the_body_clockwise),
        CASE(the_side_with_more_thrust_rises),
        CASE(a_tumbling_body_keeps_its_energy_and_its_angular_momentum),
        CASE(a_body_at_rest_on_its_feet_stays_at_rest),
        CASE(a_gentle_wind_does_not_make_it_creep),
        CASE(a_dropped_body_loses_energy_and_comes_to_rest),
        CASE(a_body_on_its_back_does_not_sink_into_the_ground),
        CASE(a_sliding_body_stops_after_the_way_that_friction_allows),
        CASE(the_truth_within_a_tick_is_that_of_the_equations),
        CASE(controls_beyond_their_range_are_clamped),
        CASE(a_vehicle_too_fast_for_the_clock_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
