/* The motion given by a participant: exact at its records, interpolated between them, and an error where it has none. */
#include "oto_test.h"

#include "sim/external.h"
#include "sim/node.h"
#include "otolith/mailbox.h"
#include "sim/answer.h"

struct fixture {
    struct oto_plugin *plugin;
    struct oto_params params;
    struct oto_setup setup;
    struct oto_instance instance;
    const struct oto_motion_extension *motion;
    struct oto_truth_record before; /* at tick 1024 */
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct oto_error error = {0};
    assert_ok(oto_plugin_wrap(srv_external_entry(), &f->plugin, &error), error);
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(f->plugin);
    assert_ok(oto_params_default(descriptor, &f->params, &error), error);
    assert_ok(oto_params_set(descriptor, "position_enu_m", "[1, 2, 3]", false, &f->params, &error), error);
    assert_ok(oto_params_set(descriptor, "rpy_deg", "[0, 0, 90]", false, &f->params, &error), error);
    assert_ok(oto_params_set(descriptor, "speed_m_s", "4", false, &f->params, &error), error);
    f->setup = (struct oto_setup){.size = sizeof f->setup, .base_rate_num = 1024, .base_rate_den = 1};
    f->instance = (struct oto_instance){.size = sizeof f->instance, .setup = &f->setup, .params = f->params.block};
    f->instance.state = srv_state_alloc(descriptor->state_bytes);
    assert_ok(oto_plugin_ops(f->plugin)->init(&f->instance, &error), error);
    f->motion = oto_plugin_motion(f->plugin);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    free(f->instance.state);
    oto_params_free(&f->params);
    assert_true(oto_plugin_close(f->plugin));
    free(f);
    return 0;
}

static enum oto_step_status evaluate(const struct fixture *f, double ticks, struct oto_truth_record *truth)
{
    const double ns = ticks * 1e9 / 1024.0;
    const double whole = floor(ns);
    return f->motion->evaluate(&f->instance, (struct oto_instant){(int64_t)whole, ns - whole}, truth);
}

static enum oto_step_status step(const struct fixture *f, uint64_t tick)
{
    const struct oto_step now = {.size = sizeof now, .tick = tick, .n = tick + 1};
    return oto_plugin_ops(f->plugin)->step(&f->instance, &now);
}

/* x = 2 t³ along a straight line. */
static struct oto_truth_record cubic(double t_s)
{
    return (struct oto_truth_record){.position_enu_m = {2.0 * t_s * t_s * t_s, 0, 0},
                                     .velocity_enu_m_s = {6.0 * t_s * t_s, 0, 0},
                                     .accel_enu_m_s2 = {12.0 * t_s, 0, 0},
                                     .q_enu_from_body = {1, 0, 0, 0}};
}

static void give(const struct fixture *f, uint64_t from, uint64_t to, uint32_t flags, uint32_t alone,
                 struct oto_truth_record truth)
{
    const struct srv_external_input input = {from, to, flags, alone, truth};
    static const struct oto_truth_record nothing;
    srv_external_give(&f->instance, from == 1024 ? &f->before : &nothing, &input);
}

#define ALL (OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL | OTO_TRUTH_HAS_SPEED)

static void it_stands_where_its_parameters_say_until_it_is_moved(void **state)
{
    const struct fixture *f = *state;
    struct oto_truth_record truth;
    assert_int_equal(evaluate(f, 0.0, &truth), OTO_STEP_OK);
    assert_near(truth.position_enu_m.z, 3.0, 0.0);
    assert_near(truth.velocity_enu_m_s.y, 4.0, 1e-15);
    assert_near(truth.longitudinal_speed_m_s, 4.0, 0.0);
    assert_int_equal(step(f, 0), OTO_STEP_DISCARD); /* no truth was given yet */
    assert_int_equal(evaluate(f, 0.5, &truth), OTO_STEP_DISCARD);
}

static void a_record_holds_to_the_bit_and_a_polynomial_between_two(void **state)
{
    struct fixture *f = *state;
    struct oto_truth_record truth;
    f->before = cubic(1.0);
    give(f, 0, 1024, ALL, 1, f->before);
    give(f, 1024, 2048, ALL, 0, cubic(2.0));
    const struct oto_truth_record wanted = cubic(2.0);
    assert_int_equal(evaluate(f, 2048.0, &truth), OTO_STEP_OK);
    assert_memory_equal(&truth, &wanted, sizeof truth);
    for (double ticks = 1024.0; ticks < 2048.0; ticks += 33.3) {
        const struct oto_truth_record exact = cubic(ticks / 1024.0);
        assert_int_equal(evaluate(f, ticks, &truth), OTO_STEP_OK);
        assert_near(truth.position_enu_m.x, exact.position_enu_m.x, 1e-13);
        assert_near(truth.velocity_enu_m_s.x, exact.velocity_enu_m_s.x, 1e-12);
        assert_near(truth.accel_enu_m_s2.x, exact.accel_enu_m_s2.x, 1e-11);
    }
    assert_int_equal(step(f, 2047), OTO_STEP_OK);
    assert_int_equal(step(f, 2048), OTO_STEP_DISCARD);
    assert_int_equal(evaluate(f, 2048.5, &truth), OTO_STEP_DISCARD);
}

static void a_first_record_is_extended_backwards_with_its_own_motion(void **state)
{
    const struct fixture *f = *state;
    struct oto_truth_record truth, end = cubic(0.0);
    end.position_enu_m = oto_vec3_make(500, 0, 0);
    end.velocity_enu_m_s = oto_vec3_make(20, 0, 0);
    end.accel_enu_m_s2 = oto_vec3_make(2, 0, 0);
    end.angular_rate_body_rad_s = oto_vec3_make(0, 0, 1);
    end.q_enu_from_body = oto_quat_from_rpy(0, 0, 0.3);
    give(f, 0, 1, ALL, 1, end);
    const double dt = 0.5 / 1024.0;
    assert_int_equal(evaluate(f, 0.5, &truth), OTO_STEP_OK);
    assert_near(truth.position_enu_m.x, 500.0 - 20.0 * dt + dt * dt, 1e-10);
    assert_near(truth.velocity_enu_m_s.x, 20.0 - 2.0 * dt, 1e-12);
    const oto_quat wanted = oto_quat_from_rpy(0, 0, 0.3 - dt);
    assert_near(oto_quat_angle_between(truth.q_enu_from_body, wanted), 0.0, 1e-7);
}

static void what_is_left_out_is_the_mean_of_the_span(void **state)
{
    struct fixture *f = *state;
    struct oto_truth_record truth, a = cubic(0.0), b = cubic(0.0);
    a.velocity_enu_m_s = oto_vec3_make(1, 0, 0);
    b.position_enu_m = oto_vec3_make(3, 0, 0);
    b.velocity_enu_m_s = oto_vec3_make(5, 0, 0);
    b.angular_rate_body_rad_s = oto_vec3_make(0, 0, 2);
    f->before = a;
    give(f, 0, 1024, ALL, 1, a);
    give(f, 1024, 2048, 0, 0, b);
    assert_int_equal(evaluate(f, 2048.0, &truth), OTO_STEP_OK);
    assert_near(truth.accel_enu_m_s2.x, 4.0, 1e-12);
    assert_near(truth.angular_accel_body_rad_s2.z, 2.0, 1e-12);
    assert_near(truth.longitudinal_speed_m_s, 5.0, 1e-12);
    assert_int_equal(evaluate(f, 1536.0, &truth), OTO_STEP_OK);
    assert_near(truth.velocity_enu_m_s.x, 3.0, 1e-12); /* straight, so that it agrees with its slope */
    assert_near(truth.position_enu_m.x, 1.0, 1e-12);   /* half way of the cubic: 3/2 + (1 - 5)/8 */
    assert_near(truth.accel_enu_m_s2.x, 4.0, 1e-12);
    assert_near(truth.angular_accel_body_rad_s2.z, 2.0, 1e-12);
}

static void a_hold_discards_until_the_next_record(void **state)
{
    const struct fixture *f = *state;
    struct oto_truth_record truth;
    give(f, 0, 1, ALL, 1, cubic(0.0));
    srv_external_hold(&f->instance);
    assert_int_equal(step(f, 1), OTO_STEP_DISCARD);
    assert_int_equal(evaluate(f, 1.5, &truth), OTO_STEP_DISCARD);
    give(f, 2, 3, ALL, 1, cubic(0.0));
    assert_int_equal(step(f, 2), OTO_STEP_OK);
    assert_int_equal(evaluate(f, 2.5, &truth), OTO_STEP_OK);
}

static void a_good_record_is_made_exact(void **state)
{
    (void)state;
    struct oto_mailbox_record record = {.tick = 5, .truth = cubic(1.0)};
    const struct srv_answer_frame frame = {.tick = 5, .span_s = 0.001};
    record.truth.q_enu_from_body.w = 1.0 + 1e-4;
    record.truth.accel_enu_m_s2.x = NAN; /* not claimed */
    record.truth.spare[4] = NAN;
    assert_null(srv_answer_check(&frame, &record));
    assert_near(record.truth.q_enu_from_body.w, 1.0, 1e-15);
    assert_near(record.truth.accel_enu_m_s2.x, 0.0, 0.0);
    assert_near(record.truth.spare[4], 0.0, 0.0);
    record.truth.q_enu_from_body = oto_quat_make(0.6, 0.8, 0, 0); /* off by rounding alone: kept to the bit */
    const oto_quat before = record.truth.q_enu_from_body;
    assert_null(srv_answer_check(&frame, &record));
    assert_memory_equal(&record.truth.q_enu_from_body, &before, sizeof before);
}

#define external_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        external_test(it_stands_where_its_parameters_say_until_it_is_moved),
        external_test(a_record_holds_to_the_bit_and_a_polynomial_between_two),
        external_test(a_first_record_is_extended_backwards_with_its_own_motion),
        external_test(what_is_left_out_is_the_mean_of_the_span),
        external_test(a_hold_discards_until_the_next_record),
        cmocka_unit_test(a_good_record_is_made_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
