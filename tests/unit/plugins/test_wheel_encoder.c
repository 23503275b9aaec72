/* The wheel encoders through their ABI: counters, speeds, slip, direction, odometry. */
#include <math.h>

#include "encoder_model.h"
#include "mini_host.h"

#define RATE_HZ 100.0

struct rig {
    struct mini_host host;
    struct oto_sensor_input input;
    struct oto_wheels_record record;
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

/* Level, heading along yaw, with a velocity and a force in the axes of the body. */
static void drive(struct rig *rig, double speed_m_s, double yaw_rad, double yaw_rate_rad_s)
{
    const oto_quat q = oto_quat_from_rpy(0, 0, yaw_rad);
    rig->input.truth.q_enu_from_body = rig->input.q_enu_from_sensor = q;
    rig->input.velocity_sensor_enu_m_s = oto_quat_rotate(q, oto_vec3_make(speed_m_s, 0, 0));
    rig->input.truth.angular_rate_body_rad_s = oto_vec3_make(0, 0, yaw_rate_rad_s);
}

static const struct oto_wheels_record *sample(struct rig *rig, uint64_t n)
{
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, &rig->output), OTO_STEP_OK);
    return &rig->record;
}

static double tick_m(void)
{
    return 2 * OTO_PI * 0.31 / 96;
}

static void counters_count_every_edge_up_and_down(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 1000; n++) {
        drive(&rig, n <= 600 ? 3.33 : -1.234, 0.3, 0);
        (void)sample(&rig, n);
    }
    /* the period between is driven with the mean of both speeds */
    const double metres = (600 * 3.33 + 0.5 * (3.33 - 1.234) - 399 * 1.234) / RATE_HZ;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(rig.record.ticks[i], (uint32_t)floor(metres / tick_m() + 1e-9));
        assert_int_equal(rig.record.direction[i], -1);
    }
    assert_int_equal(rig.record.fitted, 15);
    mini_close(&rig.host);
}

static void a_counter_rolls_over_at_its_width_in_both_directions(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "counter_bits", 8);
    mini_start(&rig.host);
    drive(&rig, -2, 0, 0);
    (void)sample(&rig, 1);
    assert_int_equal(rig.record.ticks[0], 255);
    uint32_t largest = 0;
    for (uint64_t n = 2; n <= 5000; n++) {
        drive(&rig, 20, 0, 0);
        largest = sample(&rig, n)->ticks[0] > largest ? rig.record.ticks[0] : largest;
    }
    assert_int_equal(largest, 255);
    mini_close(&rig.host);
}

/* Speeds from the times of edges are those of the car; from edges in a period they come in steps of tick/period. */
static void pulse_times_resolve_what_a_window_cannot(void **state)
{
    (void)state;
    for (int window = 0; window <= 1; window++) {
        struct rig rig;
        double largest = 0;
        rig_open(&rig);
        mini_set(&rig.host, "timing", window);
        mini_start(&rig.host);
        for (uint64_t n = 1; n <= 400; n++) {
            drive(&rig, 7.7, 0, 0);
            const double error = fabs(sample(&rig, n)->speed_m_s - 7.7);
            largest = n > 10 && error > largest ? error : largest;
        }
        if (window) {
            assert_true(largest > 0.3 * tick_m() * RATE_HZ && largest < tick_m() * RATE_HZ);
        } else {
            assert_true(largest < 0.01);
        }
        mini_close(&rig.host);
    }
}

static void without_edges_the_speed_falls_and_ends_at_zero(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_start(&rig.host);
    drive(&rig, 3, 0, 0);
    for (uint64_t n = 1; n <= 50; n++) {
        (void)sample(&rig, n);
    }
    drive(&rig, 0, 0, 0);
    double last = sample(&rig, 51)->speed_m_s;
    for (uint64_t n = 52; n <= 75; n++) {
        assert_true(sample(&rig, n)->speed_m_s <= last);
        last = rig.record.speed_m_s;
    }
    assert_near(last, 0, 0);
    mini_close(&rig.host);
}

static void a_wheel_with_a_larger_radius_counts_less(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_put(&rig.host, mini_param("radius_error_percent"), ENCODER_REAR_LEFT, 5);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 1000; n++) {
        drive(&rig, 10, 0, 0);
        (void)sample(&rig, n);
    }
    assert_int_equal(rig.record.ticks[ENCODER_REAR_LEFT], (uint32_t)floor(100 / (1.05 * tick_m())));
    assert_int_equal(rig.record.ticks[ENCODER_REAR_RIGHT], (uint32_t)floor(100 / tick_m()));
    assert_true(rig.record.yaw_odom_rad > 0); /* the right wheel seems to go further */
    mini_close(&rig.host);
}

static void wheels_slip_with_the_force_that_they_transmit(void **state)
{
    const struct encoder_params params = {.fitted = ENCODER_FITTED_ALL, .track_width_m = 1.6, .wheelbase_m = 2.7,
                                          .radius_m = 0.31, .ticks_per_turn = 96, .counter_bits = 16,
                                          .driven = ENCODER_DRIVEN_REAR, .slip_percent_m_s2 = 0.5, .standstill_s = 1};
    struct encoder_truth truth = {.velocity_body_m_s = {20, 0, 0}, .longitudinal_m_s2 = 2};
    struct encoder_plan plan;
    double speed[ENCODER_WHEELS];
    (void)state;
    encoder_prepare(&params, RATE_HZ, (struct oto_rng_key){1, 1}, (struct oto_rng_key){0, 1}, &plan);
    encoder_tread_speeds(&plan, &truth, speed);
    assert_near(speed[ENCODER_REAR_LEFT], 20.2, 1e-12);
    assert_near(speed[ENCODER_FRONT_LEFT], 20.0, 1e-12);
    truth.longitudinal_m_s2 = -4;
    encoder_tread_speeds(&plan, &truth, speed);
    assert_near(speed[ENCODER_REAR_LEFT], 19.6, 1e-12);
    assert_near(speed[ENCODER_FRONT_LEFT], 19.6, 1e-12);
    truth.velocity_body_m_s.x = -20; /* backwards the same force drives */
    encoder_tread_speeds(&plan, &truth, speed);
    assert_near(speed[ENCODER_REAR_LEFT], -20.4, 1e-12);
}

static void front_wheels_roll_across_their_slip_angle(void **state)
{
    const struct encoder_params params = {.track_width_m = 1.6, .wheelbase_m = 2.7, .radius_m = 0.31, .ticks_per_turn = 96,
                                          .counter_bits = 16, .side_slip_deg_m_s2 = 1, .standstill_s = 1};
    const struct encoder_truth truth = {.velocity_body_m_s = {10, 0, 0}, .yaw_rate_rad_s = 0.5, .lateral_m_s2 = 5};
    struct encoder_plan plan;
    double speed[ENCODER_WHEELS];
    (void)state;
    encoder_prepare(&params, RATE_HZ, (struct oto_rng_key){1, 1}, (struct oto_rng_key){0, 1}, &plan);
    encoder_tread_speeds(&plan, &truth, speed);
    assert_near(speed[ENCODER_REAR_LEFT], 9.6, 1e-12);
    assert_near(speed[ENCODER_FRONT_RIGHT], hypot(10.4, 1.35) * cos(5 * OTO_PI / 180), 1e-12);
}

/* Binomial: N edges, each missed with p; 5 deviations sqrt(N p (1 - p)). */
static void edges_are_missed_with_their_probability(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "counter_bits", 32);
    mini_set(&rig.host, "missed_tick_probability", 0.05);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 40000; n++) {
        drive(&rig, 20, 0, 0);
        (void)sample(&rig, n);
    }
    const double edges = 8000 / tick_m();
    for (int i = 0; i < 4; i++) {
        assert_near(rig.record.ticks[i], edges * 0.95, 5 * sqrt(edges * 0.05 * 0.95) + 1);
    }
    assert_int_not_equal(rig.record.ticks[0], rig.record.ticks[1]);
    mini_close(&rig.host);
}

static void a_sensed_direction_is_unknown_below_its_speed(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "direction", ENCODER_SENSED);
    mini_start(&rig.host);
    drive(&rig, -0.1, 0, 0);
    for (uint64_t n = 1; n <= 100; n++) {
        assert_int_equal(sample(&rig, n)->direction[2], 0);
    }
    assert_true(rig.record.distance_m > 0.09); /* forward is assumed */
    drive(&rig, -2, 0, 0);
    (void)sample(&rig, 101);
    assert_int_equal(sample(&rig, 102)->direction[2], -1);
    assert_true(rig.record.ticks[2] < 100); /* the counter counts up all the same */
    mini_close(&rig.host);
}

static void odometry_closes_a_circle_and_its_covariance_grows(void **state)
{
    struct rig rig;
    double variance = 0;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "ticks_per_turn", 100000);
    mini_start(&rig.host);
    const uint64_t round_trip = 1571; /* 2 pi / (0.4 rad/s) at 100 Hz */
    for (uint64_t n = 1; n <= round_trip; n++) {
        drive(&rig, 8, 0.004 * (double)n, 0.4);
        (void)sample(&rig, n);
        assert_true(rig.record.pose_covariance[8] >= variance);
        variance = rig.record.pose_covariance[8];
    }
    assert_near(rig.record.yaw_odom_rad, 0.004 * (double)round_trip, 1e-3);
    assert_near(rig.record.position_odom_m[0], 0, 0.05);
    assert_near(rig.record.position_odom_m[1], 0, 0.05);
    assert_near(rig.record.yaw_rate_rad_s, 0.4, 1e-3);
    /* yaw: sigma² (left + right) / track² */
    assert_near(variance, 1e-4 * 2 * 8 * 15.71 / (1.6 * 1.6), 1e-3 * variance);
    mini_close(&rig.host);
}

/* 200 units whose radii differ: the spread of the final yaw is that of (right - left) / track. */
static void units_of_a_part_have_radii_of_their_own(void **state)
{
    struct rig a, b;
    (void)state;
    rig_open(&a);
    rig_open(&b);
    b.host.setup.unit_key.stream++;
    mini_set(&a.host, "unit_radius_percent", 0.5);
    mini_set(&b.host, "unit_radius_percent", 0.5);
    mini_start(&a.host);
    mini_start(&b.host);
    for (uint64_t n = 1; n <= 2000; n++) {
        drive(&a, 10, 0, 0);
        drive(&b, 10, 0, 0);
        (void)sample(&a, n);
        (void)sample(&b, n);
    }
    assert_true(fabs(a.record.distance_m - 200) < 200 * 0.005 * 4);
    assert_true(a.record.distance_m != b.record.distance_m);
    mini_close(&a.host);
    mini_close(&b.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_count_every_edge_up_and_down),
        cmocka_unit_test(a_counter_rolls_over_at_its_width_in_both_directions),
        cmocka_unit_test(pulse_times_resolve_what_a_window_cannot),
        cmocka_unit_test(without_edges_the_speed_falls_and_ends_at_zero),
        cmocka_unit_test(a_wheel_with_a_larger_radius_counts_less),
        cmocka_unit_test(wheels_slip_with_the_force_that_they_transmit),
        cmocka_unit_test(front_wheels_roll_across_their_slip_angle),
        cmocka_unit_test(edges_are_missed_with_their_probability),
        cmocka_unit_test(a_sensed_direction_is_unknown_below_its_speed),
        cmocka_unit_test(odometry_closes_a_circle_and_its_covariance_grows),
        cmocka_unit_test(units_of_a_part_have_radii_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
