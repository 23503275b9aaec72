/* sdf_imu through its ABI: when there is a sample, and what is drawn for it. Rows C2, C12 to C16, C18, C21 and C24. */
#include "sdf_rig.h"

#define G 9.80665

static void noisy(struct sdf_rig *rig)
{
    mini_set(&rig->host, "linear_acceleration.noise_type", SDF_NOISE_GAUSSIAN);
    mini_set(&rig->host, "linear_acceleration.stddev_m_s2", 0.02);
    mini_set(&rig->host, "angular_velocity.noise_type", SDF_NOISE_GAUSSIAN);
    mini_set(&rig->host, "angular_velocity.stddev_rad_s", 0.001);
    mini_set(&rig->host, "angular_velocity.bias_mean_rad_s", 0.01);
    mini_set(&rig->host, "angular_velocity.dynamic_bias_stddev_rad_s_rts", 0.001);
    mini_set(&rig->host, "angular_velocity.dynamic_bias_correlation_time_s", 10);
}

/* ---- rates ---- */

static void C12_1000_seconds_have_the_samples_of_their_rate(void **state)
{
    static const uint64_t rates_hz[] = {1, 7, 30, 50, 100}, bases_hz[] = {50, 1000};
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        for (size_t r = 0; r < sizeof rates_hz / sizeof *rates_hz; r++) {
            struct sdf_rig rig;
            int64_t last_ns = 0;
            sdf_open(&rig, rates_hz[r], bases_hz[b], 1);
            mini_start(&rig.host);
            while (srv_due_tick(&rig.due) < 1000 * bases_hz[b]) {
                const int64_t due_ns = rig.schedule.t_ns;
                assert_int_equal(sdf_next(&rig), OTO_STEP_OK);
                /* no drift: the tick that was read is the last one, however late the run */
                assert_true(rig.output.t_ns <= due_ns &&
                            due_ns - rig.output.t_ns < (int64_t)(1000000000 / bases_hz[b]));
                assert_true(rig.output.t_ns >= last_ns);
                last_ns = rig.output.t_ns;
            }
            assert_true(rig.published + 1 >= 1000 * rates_hz[r] && rig.published <= 1000 * rates_hz[r] + 1);
            sdf_close(&rig);
        }
    }
}

static void C12_an_update_rate_of_zero_leaves_the_rate_to_the_clock(void **state)
{
    (void)state;
    const struct oto_param *param = mini_param("update_rate_hz");
    assert_true((param->flags & OTO_PARAM_RATE) != 0);
    assert_near(param->default_value, 0, 0);
}

/* 100 Hz on physics of 50 Hz. */
static void open_fast(struct sdf_rig *rig)
{
    sdf_open(rig, 100, 50, 1);
    noisy(rig);
}

static void C13_above_the_rate_of_physics_samples_repeat_in_pairs(void **state)
{
    struct sdf_rig rig;
    (void)state;
    open_fast(&rig);
    mini_start(&rig.host);
    sdf_take(&rig, 1); /* at 10 ms: the state at time zero */
    assert_int_equal(rig.output.t_ns, 0);
    for (int i = 1; i <= 50; i++) {
        sdf_take(&rig, 1);
        const struct oto_imu_record first = rig.imu;
        assert_int_equal(rig.output.t_ns, 20000000 * (int64_t)i);
        sdf_take(&rig, 1);
        assert_int_equal(rig.output.t_ns, 20000000 * (int64_t)i);
        assert_memory_equal(&first, &rig.imu, sizeof first);
    }
    assert_int_equal(rig.published, 101);
    sdf_close(&rig);
}

static void C14_redundant_data_is_discarded_where_that_is_asked_for(void **state)
{
    struct sdf_rig rig;
    int64_t last_ns = -1;
    (void)state;
    open_fast(&rig);
    mini_set(&rig.host, "discard_redundant_data", 1);
    mini_start(&rig.host);
    for (int i = 0; i < 100; i++) {
        if (sdf_next(&rig) == OTO_STEP_OK) {
            assert_true(rig.output.t_ns > last_ns);
            last_ns = rig.output.t_ns;
        }
    }
    /* a second: the ends of ticks 0 to 50, that of tick 50 at its last instant */
    assert_int_equal(rig.published, 51);
    assert_int_equal(rig.discarded, 49);
    sdf_close(&rig);
}

static void C14_the_same_stamp_with_other_data_is_not_redundant(void **state)
{
    struct sdf_rig rig;
    (void)state;
    open_fast(&rig);
    mini_set(&rig.host, "discard_redundant_data", 1);
    mini_start(&rig.host);
    sdf_take(&rig, 2);
    sdf_change(&rig, "linear_acceleration.covariance_m2_s4", 0.5);
    assert_int_equal(sdf_next(&rig), OTO_STEP_OK);
    assert_near(rig.imu.linear_acceleration_covariance[3], 0.5, 0);
    sdf_close(&rig);
}

static void C14_a_paused_world_is_silent(void **state)
{
    struct sdf_rig rig;
    (void)state;
    open_fast(&rig);
    mini_set(&rig.host, "discard_redundant_data", 1);
    mini_start(&rig.host);
    sdf_take(&rig, 2);
    for (int i = 0; i < 10; i++) { /* the same instant again and again */
        srv_schedule_init(&rig.schedule, 100, 1);
        srv_schedule_advance(&rig.schedule);
        srv_schedule_advance(&rig.schedule);
        assert_ok(srv_due_init(&rig.due, 100, 1, 50, 1, &rig.host.error), rig.host.error);
        srv_due_advance(&rig.due);
        assert_int_equal(sdf_next(&rig), OTO_STEP_DISCARD);
    }
    sdf_close(&rig);
}

/* ---- noise by sample number ---- */

static void C14_discarding_does_not_change_the_noise_of_what_is_left(void **state)
{
    struct sdf_rig all, some;
    (void)state;
    open_fast(&all);
    open_fast(&some);
    mini_set(&some.host, "discard_redundant_data", 1);
    mini_start(&all.host);
    mini_start(&some.host);
    for (int i = 0; i < 200; i++) {
        (void)sdf_next(&all);
        if (sdf_next(&some) == OTO_STEP_OK) {
            assert_memory_equal(&all.imu, &some.imu, sizeof all.imu);
        }
    }
    sdf_close(&all);
    sdf_close(&some);
}

static void C13_white_noise_is_a_function_of_the_sample_number(void **state)
{
    struct sdf_rig whole, late;
    (void)state;
    sdf_open(&whole, 100, 1000, 7);
    sdf_open(&late, 100, 1000, 7);
    for (int i = 0; i < 2; i++) {
        struct sdf_rig *rig = i == 0 ? &whole : &late;
        mini_set(&rig->host, "linear_acceleration.noise_type", SDF_NOISE_GAUSSIAN);
        mini_set(&rig->host, "linear_acceleration.stddev_m_s2", 0.02);
        mini_start(&rig->host);
    }
    sdf_take(&whole, 40);
    for (int i = 1; i < 40; i++) { /* straight to sample 40 */
        srv_schedule_advance(&late.schedule);
        srv_due_advance(&late.due);
    }
    sdf_take(&late, 1);
    assert_memory_equal(&whole.imu.linear_acceleration_m_s2, &late.imu.linear_acceleration_m_s2, sizeof(oto_vec3));
    sdf_close(&whole);
    sdf_close(&late);
}

/* ---- start ---- */

static unsigned samples_left_out(uint64_t seed)
{
    struct sdf_rig rig;
    sdf_open(&rig, 100, 1000, seed);
    mini_set(&rig.host, "offset_start_time", 1);
    mini_start(&rig.host);
    while (sdf_next(&rig) == OTO_STEP_DISCARD) {
        assert_true(rig.discarded < 10);
    }
    assert_near(rig.imu.linear_acceleration_m_s2.z, G, 0); /* its first sample: g only */
    const unsigned left_out = rig.discarded;
    sdf_close(&rig);
    return left_out;
}

static void C15_starts_are_spread_over_the_frames_and_are_the_same_again(void **state)
{
    enum { SENSORS = 2000 };
    unsigned counts[10] = {0};
    double chi_squared = 0;
    (void)state;
    for (uint64_t seed = 0; seed < SENSORS; seed++) {
        const unsigned left_out = samples_left_out(seed);
        assert_true(left_out < 10);
        counts[left_out]++;
        assert_true(seed >= 20 || samples_left_out(seed) == left_out);
    }
    for (int i = 0; i < 10; i++) {
        chi_squared += (counts[i] - SENSORS / 10.0) * (counts[i] - SENSORS / 10.0) / (SENSORS / 10.0);
    }
    assert_true(chi_squared < 27.9); /* 9 degrees of freedom: exceeded once in 1000 */
}

static void C15_without_it_the_first_sample_is_the_first(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 3);
    mini_start(&rig.host);
    assert_int_equal(sdf_next(&rig), OTO_STEP_OK);
    sdf_close(&rig);
}

/* ---- noise through the plugin ---- */

static void C16_type_none_is_the_truth_bit_by_bit_also_with_figures_set(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 1);
    noisy(&rig);
    mini_set(&rig.host, "linear_acceleration.noise_type", SDF_NOISE_NONE);
    mini_set(&rig.host, "angular_velocity.noise_type", SDF_NOISE_NONE);
    mini_start(&rig.host);
    assert_int_equal(rig.host.warnings, 6);
    assert_string_equal(rig.host.last_warning, "angular_velocity, axis z: its noise has no effect: noise_type is none");
    sdf_take(&rig, 3);
    assert_vec_near(rig.imu.linear_acceleration_m_s2, 0, 0, G, 0);
    assert_vec_near(rig.imu.angular_velocity_rad_s, 0, 0, 0, 0);
    sdf_close(&rig);
}

static void C18_the_bias_belongs_to_the_seed_and_to_the_node(void **state)
{
    double first[3] = {0};
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        struct sdf_rig rig;
        sdf_open(&rig, 100, 1000, i == 2 ? 5 : 4);
        mini_set(&rig.host, "angular_velocity.noise_type", SDF_NOISE_GAUSSIAN);
        mini_set(&rig.host, "angular_velocity.bias_stddev_rad_s", 1);
        mini_start(&rig.host);
        sdf_take(&rig, 1);
        first[i] = rig.imu.angular_velocity_rad_s.x;
        assert_true(rig.imu.angular_velocity_rad_s.x != rig.imu.angular_velocity_rad_s.y);
        sdf_take(&rig, 5);
        assert_near(rig.imu.angular_velocity_rad_s.x, first[i], 0);
        sdf_close(&rig);
    }
    assert_near(first[0], first[1], 0);
    assert_true(first[0] != first[2]);
}

static void C21_noise_on_one_axis_leaves_the_others_bit_exact(void **state)
{
    (void)state;
    for (int axis = 0; axis < 6; axis++) {
        struct sdf_rig rig;
        const bool is_rate = axis >= 3;
        const char *type = is_rate ? "angular_velocity.noise_type" : "linear_acceleration.noise_type";
        sdf_open(&rig, 100, 1000, 9);
        mini_set(&rig.host, is_rate ? "angular_velocity.stddev_rad_s" : "linear_acceleration.stddev_m_s2", 0.1);
        mini_put(&rig.host, mini_param(type), (uint32_t)axis % 3, SDF_NOISE_GAUSSIAN);
        mini_start(&rig.host);
        sdf_take(&rig, 1);
        const double got[6] = {rig.imu.linear_acceleration_m_s2.x, rig.imu.linear_acceleration_m_s2.y,
                               rig.imu.linear_acceleration_m_s2.z, rig.imu.angular_velocity_rad_s.x,
                               rig.imu.angular_velocity_rad_s.y,   rig.imu.angular_velocity_rad_s.z};
        for (int i = 0; i < 6; i++) {
            const double truth = i == 2 ? G : 0;
            assert_true(i == axis ? got[i] != truth : got[i] == truth);
        }
        sdf_close(&rig);
    }
}

static double spread_of(struct sdf_rig *rig, unsigned samples)
{
    double squares = 0;
    for (unsigned i = 0; i < samples; i++) {
        sdf_take(rig, 1);
        squares += rig->imu.linear_acceleration_m_s2.x * rig->imu.linear_acceleration_m_s2.x;
    }
    return sqrt(squares / samples);
}

static void C24_a_change_takes_effect_with_the_next_sample(void **state)
{
    enum { SAMPLES = 10000 };
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 2);
    mini_set(&rig.host, "linear_acceleration.noise_type", SDF_NOISE_GAUSSIAN);
    mini_set(&rig.host, "linear_acceleration.stddev_m_s2", 0.02);
    mini_start(&rig.host);
    /* 4 sigma: a standard deviation of N samples spreads by 1/sqrt(2N) (relative) */
    assert_near(spread_of(&rig, SAMPLES), 0.02, 0.02 * 4 / sqrt(2.0 * SAMPLES));
    sdf_change(&rig, "linear_acceleration.stddev_m_s2", 0.5);
    assert_near(spread_of(&rig, SAMPLES), 0.5, 0.5 * 4 / sqrt(2.0 * SAMPLES));
    sdf_change(&rig, "linear_acceleration.noise_type", SDF_NOISE_NONE);
    assert_near(spread_of(&rig, 3), 0, 0);
    sdf_close(&rig);
}

static void C24_a_moving_bias_goes_on_unless_its_law_at_load_is_changed(void **state)
{
    struct sdf_rig rig;
    (void)state;
    sdf_open(&rig, 100, 1000, 2);
    noisy(&rig);
    mini_start(&rig.host);
    sdf_take(&rig, 500);
    const struct sdf_imu_state *own = rig.host.state;
    const double bias = own->bias_u[3];
    sdf_change(&rig, "angular_velocity.stddev_rad_s", 0.002);
    assert_near(own->bias_u[3], bias, 0);
    sdf_change(&rig, "angular_velocity.bias_mean_rad_s", 0.02);
    assert_near(fabs(own->bias_u[3]), 0.02, 0);
    sdf_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C12_1000_seconds_have_the_samples_of_their_rate),
        cmocka_unit_test(C12_an_update_rate_of_zero_leaves_the_rate_to_the_clock),
        cmocka_unit_test(C13_above_the_rate_of_physics_samples_repeat_in_pairs),
        cmocka_unit_test(C13_white_noise_is_a_function_of_the_sample_number),
        cmocka_unit_test(C14_redundant_data_is_discarded_where_that_is_asked_for),
        cmocka_unit_test(C14_the_same_stamp_with_other_data_is_not_redundant),
        cmocka_unit_test(C14_a_paused_world_is_silent),
        cmocka_unit_test(C14_discarding_does_not_change_the_noise_of_what_is_left),
        cmocka_unit_test(C15_starts_are_spread_over_the_frames_and_are_the_same_again),
        cmocka_unit_test(C15_without_it_the_first_sample_is_the_first),
        cmocka_unit_test(C16_type_none_is_the_truth_bit_by_bit_also_with_figures_set),
        cmocka_unit_test(C18_the_bias_belongs_to_the_seed_and_to_the_node),
        cmocka_unit_test(C21_noise_on_one_axis_leaves_the_others_bit_exact),
        cmocka_unit_test(C24_a_change_takes_effect_with_the_next_sample),
        cmocka_unit_test(C24_a_moving_bias_goes_on_unless_its_law_at_load_is_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
