/*
 * The noise terms of mems_imu that fitted parts use, and what is drawn for a unit: rms, Gauss-Markov processes, sines,
 * slopes, and the band limit of white noise. Tolerances are five standard deviations of the estimate.
 */
#include "mini_host.h"
#include "otolith/records.h"

struct rig {
    struct mini_host host;
    struct oto_sensor_input input;
    struct oto_imu_record imu;
    struct oto_mag_record mag;
    double rest[2][512]; /* channels that are off */
    struct oto_output outputs[4];
    struct oto_step step;
};

static enum oto_step_status input_at(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    (void)at;
    *input = ((struct rig *)context)->input;
    return OTO_STEP_OK;
}

static void rig_open(struct rig *rig, double rate_hz, uint64_t seed)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, rate_hz, seed);
    rig->input = mini_rest(&rig->host);
    rig->step.sensor.input_at = input_at;
    rig->step.sensor.input_context = rig;
    rig->outputs[0].payload = &rig->imu;
    rig->outputs[1].payload = &rig->mag;
    rig->outputs[2].payload = rig->rest[0];
    rig->outputs[3].payload = rig->rest[1];
}

static oto_vec3 rate_at(struct rig *rig, uint64_t n)
{
    memset(&rig->imu, 0, sizeof rig->imu);
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, rig->outputs), OTO_STEP_OK);
    return rig->imu.angular_velocity_rad_s;
}

/* Mean products at a lag, of axis x. */
static double covariance(const double *x, int count, int lag)
{
    double sum = 0;
    for (int i = 0; i + lag < count; i++) {
        sum += x[i] * x[i + lag];
    }
    return sum / (count - lag);
}

enum { MANY = 100000 };

static void record_x(struct rig *rig, double *x, int count)
{
    for (int i = 0; i < count; i++) {
        x[i] = rate_at(rig, (uint64_t)i + 1).x;
    }
}

static void noise_rms_is_that_of_a_sample_at_every_rate(void **state)
{
    static double x[MANY];
    (void)state;
    for (double rate_hz = 10; rate_hz <= 1000; rate_hz *= 10) {
        struct rig rig;
        rig_open(&rig, rate_hz, 3);
        mini_set(&rig.host, "gyroscope.noise_rms_rad_s", 0.03);
        mini_set(&rig.host, "gyroscope.noise_density_rad_s_rthz", 0.04 / sqrt(rate_hz / 2));
        mini_start(&rig.host);
        record_x(&rig, x, MANY);
        assert_near(sqrt(covariance(x, MANY, 0)), 0.05, 5 * 0.05 / sqrt(2.0 * MANY));
        assert_near(rig.imu.angular_velocity_covariance[0], 0.05 * 0.05, 1e-15);
        mini_close(&rig.host);
    }
}

static void put_series(struct rig *rig, const char *key, const double *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        mini_put(&rig->host, mini_param(key), i, values[i]);
    }
}

/* The sum's autocovariance is Σ σ² exp(-lag/T). Its estimate from M samples with correlation time T has 2 T fs / M. */
static void gauss_markov_processes_have_their_autocovariance(void **state)
{
    static double x[MANY];
    static const double tau_s[] = {0.02, 0.5}, sigma[] = {0.3, 0.2};
    struct rig rig;
    (void)state;
    rig_open(&rig, 100, 5);
    put_series(&rig, "gyroscope.gauss_markov_tau_s", tau_s, 2);
    put_series(&rig, "gyroscope.gauss_markov_x_rad_s", sigma, 2);
    put_series(&rig, "gyroscope.gauss_markov_z_rad_s", &sigma[1], 1);
    mini_start(&rig.host);
    record_x(&rig, x, MANY);
    const double spread = 0.13 * sqrt(2 * 0.5 * 100 / MANY);
    for (int lag = 0; lag <= 100; lag += 5) {
        const double expected = 0.09 * exp(-lag / 2.0) + 0.04 * exp(-lag / 50.0);
        assert_near(covariance(x, MANY, lag), expected, 5 * spread);
    }
    assert_near(rig.imu.angular_velocity_rad_s.y, 0, 0);
    assert_true(rig.imu.angular_velocity_rad_s.z != 0);
    mini_close(&rig.host);
}

static void gauss_markov_needs_times_and_excludes_the_floor(void **state)
{
    static const double half = 0.5, one = 1;
    struct rig rig;
    (void)state;
    rig_open(&rig, 100, 5);
    put_series(&rig, "gyroscope.gauss_markov_y_rad_s", &half, 1);
    assert_int_equal(mini_prepare(&rig.host), OTO_RANGE);
    assert_non_null(strstr(rig.host.error.text, "gauss_markov_y[0]"));
    put_series(&rig, "gyroscope.gauss_markov_tau_s", &one, 1);
    assert_int_equal(mini_prepare(&rig.host), OTO_OK);
    mini_set(&rig.host, "gyroscope.bias_instability_rad_s", 1);
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    mini_set(&rig.host, "gyroscope.bias_instability_rad_s", 0);
    put_series(&rig, "gyroscope.sine_z_rad_s", &one, 1);
    assert_int_equal(mini_prepare(&rig.host), OTO_RANGE);
    mini_close(&rig.host);
}

static void a_sine_has_its_frequency_and_amplitude_and_a_phase_of_its_run(void **state)
{
    static const double hz[] = {0, 3}, x[] = {0, 0.5}, y[] = {0, 0.25};
    double first[2] = {0};
    (void)state;
    for (int run = 0; run < 2; run++) {
        struct rig rig;
        double in = 0, quadrature = 0, other = 0;
        rig_open(&rig, 100, 7 + (uint64_t)run);
        put_series(&rig, "gyroscope.sine_hz", hz, 2);
        put_series(&rig, "gyroscope.sine_x_rad_s", x, 2);
        put_series(&rig, "gyroscope.sine_y_rad_s", y, 2);
        mini_start(&rig.host);
        for (uint64_t n = 1; n <= 1000; n++) {
            const oto_vec3 rate = rate_at(&rig, n);
            const double angle = 2 * OTO_PI * 3 * (double)n / 100;
            in += rate.x * sin(angle) / 500;
            quadrature += rate.x * cos(angle) / 500;
            other = fmax(other, fabs(rate.y));
            first[run] = n == 1 ? rate.x : first[run];
        }
        assert_near(sqrt(in * in + quadrature * quadrature), 0.5, 1e-9);
        assert_near(other, 0.25, 0.001);
        mini_close(&rig.host);
    }
    assert_true(fabs(first[0] - first[1]) > 1e-3);
}

/* 300 units, three axes: the mean of 900 deviates has 1/30, their deviation 1/√1800. */
static void slopes_and_g_sensitivity_are_drawn_for_each_axis_and_unit(void **state)
{
    double sum[3] = {0}, square[3] = {0};
    (void)state;
    for (uint64_t unit = 0; unit < 300; unit++) {
        struct rig rig;
        rig_open(&rig, 100, 7);
        rig.host.setup.unit_key.stream += unit;
        mini_set(&rig.host, "gyroscope.unit_temperature_bias_rad_s_degc", 0.1);
        mini_set(&rig.host, "gyroscope.unit_acceleration_bias_rad_s_m_s2", 10);
        mini_set(&rig.host, "accelerometer.unit_temperature_scale_factor_percent_degc", 10);
        mini_start(&rig.host);
        rig.input.specific_force_sensor_m_s2 = oto_vec3_make(0, 0, 0);
        rig.input.temperature_degc = 35;
        const oto_vec3 slope = rate_at(&rig, 1); /* 10 degrees of 0.1 */
        rig.input.temperature_degc = 25;
        rig.input.specific_force_sensor_m_s2 = oto_vec3_make(0.1, 0.1, 0.1);
        const oto_vec3 felt = rate_at(&rig, 2); /* 0.1 m/s² of 10 */
        rig.input.temperature_degc = 35;
        rig.input.specific_force_sensor_m_s2 = oto_vec3_make(1, 1, 1);
        (void)rate_at(&rig, 3);
        const oto_vec3 scale = oto_vec3_sub(rig.imu.linear_acceleration_m_s2, oto_vec3_make(1, 1, 1));
        const oto_vec3 drawn[3] = {slope, felt, scale};
        for (int i = 0; i < 3; i++) {
            const oto_vec3 v = drawn[i];
            assert_true(v.x != v.y && v.y != v.z);
            sum[i] += v.x + v.y + v.z;
            square[i] += oto_vec3_norm_sq(v);
        }
        mini_close(&rig.host);
    }
    for (int i = 0; i < 3; i++) {
        assert_near(sum[i] / 900, 0, 5.0 / 30);
        assert_near(sqrt(square[i] / 900), 1, 5 / sqrt(1800));
    }
}

/* The mean of blocks of m samples; its variance times m tends to the density at frequency zero. */
static double variance_of_means(const double *x, int count, int m)
{
    double sum = 0;
    for (int block = 0; block + m <= count; block += m) {
        double mean = 0;
        for (int i = 0; i < m; i++) {
            mean += x[block + i] / m;
        }
        sum += mean * mean;
    }
    return sum / (count / m);
}

/*
 * Order 1: the variance is N² fs/2 tanh(π f0/fs) and the samples' correlation exp(-2π f0/fs); order 2 (Butterworth) far
 * below fs: N² 1.11 f0. The density at low frequencies stays.
 */
static void white_noise_passes_the_band_limit(void **state)
{
    static double x[MANY];
    (void)state;
    for (int order = 1; order <= 2; order++) {
        struct rig rig;
        rig_open(&rig, 1000, 9);
        mini_set(&rig.host, "gyroscope.noise_density_rad_s_rthz", 1e-3);
        mini_set(&rig.host, "band_limit_hz", 50);
        mini_set(&rig.host, "band_limit_order", order);
        mini_start(&rig.host);
        record_x(&rig, x, MANY);
        const double expected = order == 1 ? 1e-6 * 500 * tanh(OTO_PI * 0.05) : 1e-6 * 1.1107 * 50;
        const double effective = MANY / 5.0; /* samples that are independent: some five share a correlation time */
        assert_near(covariance(x, MANY, 0), expected, (order == 2 ? 0.01 : 0) * expected + 5 * expected * sqrt(2 / effective));
        assert_near(rig.imu.angular_velocity_covariance[4], expected, (order == 1 ? 1e-9 : 0.01) * expected);
        if (order == 1) {
            assert_near(covariance(x, MANY, 1) / covariance(x, MANY, 0), exp(-2 * OTO_PI * 0.05), 0.02);
        }
        /* blocks of 0.5 s, 200 of them: the variance of a mean is N²/2 · fs/m to a tenth */
        assert_near(variance_of_means(x, MANY, 500) * 500 / 1000, 0.5e-6, 5 * 0.5e-6 * sqrt(2.0 / 200));
        mini_close(&rig.host);
    }
}

/* The first samples of many runs have the stationary variance. 2000 runs: 5 √(2/2000) = 0.16. */
static void limited_noise_begins_stationary(void **state)
{
    double square[2] = {0};
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct rig rig;
        rig_open(&rig, 1000, seed);
        mini_set(&rig.host, "gyroscope.noise_density_rad_s_rthz", 1e-3);
        mini_set(&rig.host, "band_limit_hz", 5);
        mini_start(&rig.host);
        for (int i = 0; i < 2; i++) {
            const double x = rate_at(&rig, (uint64_t)i + 1).x;
            square[i] += x * x / 2000;
        }
        mini_close(&rig.host);
    }
    assert_near(square[0] / (1e-6 * 1.1107 * 5), 1, 0.16);
    assert_near(square[1] / (1e-6 * 1.1107 * 5), 1, 0.16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_rms_is_that_of_a_sample_at_every_rate),
        cmocka_unit_test(gauss_markov_processes_have_their_autocovariance),
        cmocka_unit_test(gauss_markov_needs_times_and_excludes_the_floor),
        cmocka_unit_test(a_sine_has_its_frequency_and_amplitude_and_a_phase_of_its_run),
        cmocka_unit_test(slopes_and_g_sensitivity_are_drawn_for_each_axis_and_unit),
        cmocka_unit_test(white_noise_passes_the_band_limit),
        cmocka_unit_test(limited_noise_begins_stationary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
