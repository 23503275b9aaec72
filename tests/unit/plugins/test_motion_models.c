/* The adapter of the motion models, with the bicycle in it: truth at any instant, and controls that change. */
#include "mini_host.h"
#include "otolith/motion_model.h"

static const struct oto_motion_extension *motion(void)
{
    return otolith_plugin.extension(OTO_EXTENSION_MOTION);
}

static struct oto_truth_record truth_at(const struct mini_host *host, int64_t t_ns)
{
    struct oto_truth_record truth;
    assert_int_equal(motion()->evaluate(&host->instance, (struct oto_instant){t_ns, 0.0}, &truth), OTO_STEP_OK);
    return truth;
}

static void run_to(struct mini_host *host, uint64_t first, uint64_t last)
{
    for (uint64_t n = first; n <= last; n++) {
        struct oto_step step = {0};
        assert_int_equal(mini_step(host, &step, n, NULL, NULL), OTO_STEP_OK);
    }
}

static void set_control(struct mini_host *host, const char *key, double value)
{
    void *old = malloc(otolith_plugin.descriptor->params_bytes);
    memcpy(old, host->params, otolith_plugin.descriptor->params_bytes);
    mini_set(host, key, value);
    otolith_plugin.ops->set_params(&host->instance, old);
    free(old);
}

static void a_vehicle_drives_on_from_where_it_is_when_a_control_changes(void **unused)
{
    struct mini_host host;
    (void)unused;
    mini_open(&host, 1000, 1);
    mini_set(&host, "initial.u_m_s", 8);
    mini_start(&host);
    run_to(&host, 1, 1000);
    const struct oto_truth_record before = truth_at(&host, 1000000000);
    assert_near(before.position_enu_m.x, 8, 1e-14);
    set_control(&host, "steering_rad", 0.2);
    set_control(&host, "accel_m_s2", -1);
    const struct oto_truth_record after = truth_at(&host, 1000000000);
    assert_near(after.position_enu_m.x, 8, 1e-14);
    assert_near(after.longitudinal_speed_m_s, 8 * cos(atan(1.5 * tan(0.2) / 2.7)), 1e-13);
    assert_near(oto_vec3_norm(after.velocity_enu_m_s), 8, 1e-13);
    run_to(&host, 1001, 3000);
    const struct oto_truth_record later = truth_at(&host, 3000000000);
    assert_near(oto_vec3_norm(later.velocity_enu_m_s), 6, 1e-13);
    assert_true(later.position_enu_m.y > 1);
    assert_int_equal(otolith_plugin.ops->validate(&host.instance), OTO_OK);
    mini_close(&host);
}

static void a_truth_between_ticks_is_the_prediction_to_that_instant(void **unused)
{
    struct mini_host host;
    (void)unused;
    mini_open(&host, 1000, 1);
    mini_set(&host, "initial.u_m_s", 8);
    mini_set(&host, "accel_m_s2", 1);
    mini_start(&host);
    assert_near(truth_at(&host, 0).position_enu_m.x, 0, 0);
    run_to(&host, 1, 2000);
    assert_near(truth_at(&host, 1999500000).position_enu_m.x, 8 * 1.9995 + 0.5 * 1.9995 * 1.9995, 1e-13);
    assert_int_equal(motion()->flags, 0); /* the past goes with the controls */
    mini_close(&host);
}

static void an_initial_state_that_is_none_is_refused(void **unused)
{
    struct mini_host host;
    (void)unused;
    mini_open(&host, 1000, 1);
    mini_set(&host, "initial.u_m_s", NAN);
    assert_int_equal(mini_prepare(&host), OTO_INVALID);
    assert_non_null(strstr(host.error.text, "'u'"));
    mini_close(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vehicle_drives_on_from_where_it_is_when_a_control_changes),
        cmocka_unit_test(a_truth_between_ticks_is_the_prediction_to_that_instant),
        cmocka_unit_test(an_initial_state_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
