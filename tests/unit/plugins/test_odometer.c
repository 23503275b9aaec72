/* The odometer through its ABI: a car that drives straight, turns, stops and reverses. */
#include "mini_host.h"

#define RATE_HZ 50.0

struct rig {
    struct mini_host host;
    struct oto_sensor_input input;
    struct oto_odometry_record record;
    struct oto_output output;
    struct oto_step step;
};

static void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, RATE_HZ, 42);
    rig->input = mini_rest(&rig->host);
    rig->output.payload = &rig->record;
}

/* Level, heading along yaw, at a signed speed. */
static void drive(struct rig *rig, double speed_m_s, double yaw_rad, double yaw_rate_rad_s)
{
    const oto_quat q = oto_quat_from_rpy(0, 0, yaw_rad);
    rig->input.truth.q_enu_from_body = q;
    rig->input.q_enu_from_sensor = q;
    rig->input.velocity_sensor_enu_m_s = oto_quat_rotate(q, oto_vec3_make(speed_m_s, 0, 0));
    rig->input.truth.angular_rate_body_rad_s = oto_vec3_make(0, 0, yaw_rate_rad_s);
}

static const struct oto_odometry_record *sample(struct rig *rig, uint64_t n)
{
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, &rig->output), OTO_STEP_OK);
    return &rig->record;
}

static void an_ideal_odometer_reports_the_signed_speed_of_any_heading(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 12; n++) {
        const double speed_m_s = n % 2 == 0 ? 7.25 : -3.5;
        drive(&rig, speed_m_s, 0.5 * (double)n, 0);
        const struct oto_odometry_record *record = sample(&rig, n);
        assert_near(record->speed_m_s, speed_m_s, 1e-14);
        for (int i = 0; i < 4; i++) {
            assert_near(record->wheel_speed_m_s[i], speed_m_s, 1e-14);
        }
        assert_int_equal(record->age_ns, 0);
    }
    assert_near(rig.record.distance_m, 6 * (7.25 - 3.5) / RATE_HZ, 1e-13);
    mini_close(&rig.host);
}

static void wheels_in_a_turn_follow_their_own_circles(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "track_width_m", 1.5);
    mini_set(&rig.host, "wheelbase_m", 2.6);
    mini_start(&rig.host);
    for (int way = -1; way <= 1; way += 2) {
        drive(&rig, way * 10.0, 1, way * 0.5); /* a left turn of radius 20 m */
        const double *wheel = sample(&rig, 1)->wheel_speed_m_s;
        const double radius_m[4] = {hypot(20 - 0.75, 2.6), hypot(20 + 0.75, 2.6), 20 - 0.75, 20 + 0.75};
        for (int i = 0; i < 4; i++) {
            assert_near(wheel[i], way * 0.5 * radius_m[i], 1e-13);
        }
    }
    mini_close(&rig.host);
}

static void scale_error_and_resolution_act_on_the_speed(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "scale_error_percent", 2);
    mini_set(&rig.host, "resolution_m_s", 0.25);
    mini_start(&rig.host);
    drive(&rig, 10, 0, 0); /* 10.2 */
    assert_near(sample(&rig, 1)->speed_m_s, 10.25, 0);
    drive(&rig, -10, 0, 0);
    assert_near(sample(&rig, 2)->speed_m_s, -10.25, 0);
    mini_close(&rig.host);
}

static void ticks_are_whole_and_none_is_lost(void **state)
{
    struct rig rig;
    double ticks = 0;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "ticks_per_metre", 40);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 1000; n++) {
        drive(&rig, n <= 600 ? 3.33 : -1.234, 0, 0);
        const double now = sample(&rig, n)->speed_m_s * 40 / RATE_HZ;
        assert_near(now, round(now), 1e-9);
        ticks += now;
    }
    const double metres = (600 * 3.33 - 400 * 1.234) / RATE_HZ;
    assert_near(ticks, floor(metres * 40), 1e-6);
    assert_near(rig.record.distance_m, metres, 1.0 / 40 + 1e-9);
    mini_close(&rig.host);
}

static void noise_has_its_standard_deviation_and_is_made_again_bit_for_bit(void **state)
{
    enum { SAMPLES = 40000 };
    struct rig rig;
    double sum = 0, squares = 0, with_wheel = 0;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "noise_m_s", 0.03);
    mini_start(&rig.host);
    drive(&rig, 8, 0, 0);
    const double third = (sample(&rig, 3), rig.record.speed_m_s);
    for (uint64_t n = 1; n <= SAMPLES; n++) {
        const double error = (sample(&rig, n), rig.record.speed_m_s - 8) / 0.03;
        if (n == 3) {
            assert_near(rig.record.speed_m_s, third, 0);
        }
        sum += error;
        squares += error * error;
        with_wheel += error * (rig.record.wheel_speed_m_s[2] - 8) / 0.03;
    }
    /* Five standard deviations of the mean, sqrt(1/N), of the variance, sqrt(2/N), and of a correlation, sqrt(1/N). */
    assert_near(sum / SAMPLES, 0, 5 / sqrt(SAMPLES));
    assert_near(squares / SAMPLES, 1, 5 * sqrt(2.0 / SAMPLES));
    assert_near(with_wheel / SAMPLES, 0, 5 / sqrt(SAMPLES));
    mini_close(&rig.host);
}

static void below_the_threshold_wheels_read_exactly_zero(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "standstill_threshold_m_s", 0.2);
    mini_set(&rig.host, "noise_m_s", 0.5);
    mini_start(&rig.host);
    drive(&rig, 0.19, 0, 0);
    for (uint64_t n = 1; n <= 20; n++) {
        assert_near(sample(&rig, n)->speed_m_s, 0, 0);
    }
    drive(&rig, 0.2, 0, 0);
    assert_true(sample(&rig, 21)->speed_m_s != 0);
    mini_close(&rig.host);
}

static void wheels_that_cannot_tell_reverse_report_magnitudes(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "reports_reverse", 0);
    mini_start(&rig.host);
    drive(&rig, -4, 0, 0);
    assert_near(sample(&rig, 1)->speed_m_s, 4, 1e-15);
    assert_near(rig.record.distance_m, 4 / RATE_HZ, 1e-15);
    mini_close(&rig.host);
}

/* A speed of t seconds in m/s. */
static enum oto_step_status ramp(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    struct rig *rig = (struct rig *)context;
    assert_true(at.t_ns >= 0);
    drive(rig, ((double)at.t_ns + at.sub_ns) * 1e-9, 0, 0);
    *input = rig->input;
    return OTO_STEP_OK;
}

static void a_delay_reports_the_motion_of_that_age(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "delay_ms", 70);
    mini_start(&rig.host);
    rig.step.sensor.input_at = ramp;
    rig.step.sensor.input_context = &rig;
    for (uint64_t n = 1; n <= 20; n++) {
        const struct oto_odometry_record *record = sample(&rig, n);
        const int64_t t_ns = (int64_t)n * 20000000;
        const int64_t age_ns = t_ns < 70000000 ? t_ns : 70000000;
        assert_int_equal(record->age_ns, age_ns);
        assert_near(record->speed_m_s, (double)(t_ns - age_ns) * 1e-9, 1e-15);
    }
    mini_close(&rig.host);
}

static void a_motion_that_is_not_finite_gives_no_sample(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "ticks_per_metre", 40);
    mini_start(&rig.host);
    drive(&rig, NAN, 0, 0);
    assert_int_equal(mini_step(&rig.host, &rig.step, 1, &rig.input, &rig.output), OTO_STEP_DISCARD);
    drive(&rig, 1e300, 0, 0);
    assert_near(sample(&rig, 2)->speed_m_s, 1e300, 0);
    assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_OK);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ideal_odometer_reports_the_signed_speed_of_any_heading),
        cmocka_unit_test(wheels_in_a_turn_follow_their_own_circles),
        cmocka_unit_test(scale_error_and_resolution_act_on_the_speed),
        cmocka_unit_test(ticks_are_whole_and_none_is_lost),
        cmocka_unit_test(noise_has_its_standard_deviation_and_is_made_again_bit_for_bit),
        cmocka_unit_test(below_the_threshold_wheels_read_exactly_zero),
        cmocka_unit_test(wheels_that_cannot_tell_reverse_report_magnitudes),
        cmocka_unit_test(a_delay_reports_the_motion_of_that_age),
        cmocka_unit_test(a_motion_that_is_not_finite_gives_no_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
