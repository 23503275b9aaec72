/*
 * Law mems, term by term, on one triad alone. Statistics have fixed keys; every tolerance is five standard deviations
 * of the estimator, whose formula stands beside it (a false alarm in 1.7 million).
 */
#include "num_measure.h"
#include "oto_test.h"

#define SIGMAS 5.0

struct sensor {
    struct num_law_params law;
    struct num_triad_params params;
    struct num_suite_plan plan;
    double walk_u[4], instability[3][NUM_INSTABILITY_POLES];
    double truth[3], force[3], temperature_degc;
    double measured[NUM_LANES];
    uint32_t saturated;
    double rate_hz;
    struct oto_rng_key noise_key, unit_key;
};

static void sensor_reset(struct sensor *sensor, double rate_hz)
{
    memset(sensor, 0, sizeof *sensor);
    sensor->law = (struct num_law_params){.law = NUM_LAW_MEMS, .w = NUM_W_DOCUMENT, .temperature_degc = NUM_TEMPERATURE_WORLD};
    sensor->params.bias_instability_tau_min_s = 1;
    sensor->params.bias_instability_tau_max_s = 1000;
    sensor->rate_hz = rate_hz;
    sensor->noise_key = oto_rng_key_make(2026, "car/imu");
    sensor->unit_key = oto_rng_key_make(0, "part/17");
    sensor->temperature_degc = 25;
}

static enum oto_status sensor_prepare(struct sensor *sensor, struct oto_error *error)
{
    const struct num_suite_setup setup = {.law = &sensor->law,
                                          .rate_hz = sensor->rate_hz,
                                          .noise_key = sensor->noise_key,
                                          .unit_key = sensor->unit_key,
                                          .slots = 1,
                                          .active = 1,
                                          .ids = {NUM_GYROSCOPE},
                                          .params = {&sensor->params}};
    memset(error, 0, sizeof *error);
    return num_suite_prepare(&setup, &sensor->plan, error);
}

static void sensor_start(struct sensor *sensor)
{
    struct oto_error error;
    assert_ok(sensor_prepare(sensor, &error), error);
    num_suite_start(&sensor->plan, 0, sensor->instability);
}

static const double *measure(struct sensor *sensor, uint64_t n)
{
    struct num_suite_job job = {.plan = &sensor->plan,
                                .n = n,
                                .temperature_degc = sensor->temperature_degc,
                                .truth_u = {sensor->truth},
                                .specific_force_m_s2 = sensor->force,
                                .walk_u = sensor->walk_u,
                                .instability = sensor->instability,
                                .measured_u = sensor->measured};
    sensor->plan.kernel->measure(&job, 1);
    sensor->saturated = job.saturated;
    return sensor->measured;
}

static void fill(double *values, double value)
{
    values[0] = values[1] = values[2] = value;
}

/* ---- what is certain --------------------------------------------------------------------------------------------- */

static void A1_an_ideal_triad_passes_the_truth_through_bit_for_bit(void **state)
{
    struct sensor sensor;
    (void)state;
    sensor_reset(&sensor, 200);
    sensor_start(&sensor);
    for (uint64_t n = 1; n < 100; n++) {
        for (int i = 0; i < 3; i++) {
            sensor.truth[i] = sin((double)n + i) * 1e3;
        }
        sensor.temperature_degc = (double)n;
        assert_memory_equal(measure(&sensor, n), sensor.truth, sizeof sensor.truth);
        assert_int_equal(sensor.saturated, 0);
    }
}

static void A3_A8_A9_bias_and_temperature_follow_their_formula(void **state)
{
    struct sensor sensor;
    (void)state;
    sensor_reset(&sensor, 200);
    for (int i = 0; i < 3; i++) {
        sensor.truth[i] = 2 + i;
        sensor.params.constant_bias_u[i] = 0.1 * (i + 1);
        sensor.params.temperature_bias_u_degc[i] = 0.01 * (i + 1);
        sensor.params.temperature_scale_factor_percent_degc[i] = 0.2 * (i + 1);
    }
    sensor_start(&sensor);
    for (double temperature_degc = -40; temperature_degc <= 85; temperature_degc += 12.5) {
        sensor.temperature_degc = temperature_degc;
        const double *got = measure(&sensor, 1);
        for (int i = 0; i < 3; i++) {
            const double degrees = temperature_degc - 25;
            const double sum = 2 + i + 0.1 * (i + 1) + degrees * 0.01 * (i + 1);
            assert_near(got[i], sum * (1 + degrees / 100 * 0.2 * (i + 1)), 1e-14 * 16);
        }
    }
    sensor.law.temperature_degc = 25;
    sensor_start(&sensor);
    sensor.temperature_degc = 85; /* the sensor's own temperature is stronger */
    assert_near(measure(&sensor, 1)[0], 2.1, 1e-15 * 4);
}

static void A4_scale_and_the_whole_cross_axis_matrix_apply(void **state)
{
    struct sensor sensor;
    (void)state;
    const double matrix[3][3] = {
        {1.05, 0.01 + 0.001, 0.01 + 0.002}, {0.02 + 0.003, 0.98, 0.02 + 0.004}, {0.03 + 0.005, 0.03 + 0.006, 1.01}};
    sensor_reset(&sensor, 200);
    for (int i = 0; i < 6; i++) {
        sensor.params.cross_axis_percent[i] = 0.1 * (i + 1);
    }
    for (int i = 0; i < 3; i++) {
        sensor.params.axis_misalignment_percent[i] = i + 1;
        sensor.params.scale_factor_error_percent[i] = 100 * (matrix[i][i] - 1);
    }
    sensor_start(&sensor);
    for (int column = 0; column < 3; column++) {
        fill(sensor.truth, 0);
        sensor.truth[column] = 1;
        const double *got = measure(&sensor, 1);
        for (int i = 0; i < 3; i++) {
            assert_near(got[i], matrix[i][column], 1e-15);
        }
    }
}

static void A19_g_sensitivity_adds_its_share_of_the_specific_force(void **state)
{
    struct sensor sensor;
    (void)state;
    sensor_reset(&sensor, 200);
    fill(sensor.params.acceleration_bias_u_m_s2, 0.178e-3);
    sensor.force[0] = 3;
    sensor.force[2] = 9.80665;
    sensor_start(&sensor);
    assert_near(measure(&sensor, 1)[0], 0.178e-3 * 3, 1e-18);
    assert_near(sensor.measured[1], 0, 0);
    assert_near(sensor.measured[2], 0.178e-3 * 9.80665, 1e-18);
    sensor.law.law = NUM_LAW_MAVS; /* reads it and never applies it */
    sensor_start(&sensor);
    assert_near(measure(&sensor, 1)[0], 0, 0);
}

static void A10_A11_each_axis_saturates_alone_and_never_reads_beyond_the_range(void **state)
{
    struct sensor sensor;
    (void)state;
    sensor_reset(&sensor, 200);
    sensor.params.measurement_range_u = 1;
    sensor.params.resolution_u = 0.4; /* codes 0, ±0.4, ±0.8 */
    sensor_start(&sensor);
    const double cases[][3] = {{0.5, 0.4, 0}, {0.61, 0.8, 0}, {0.95, 0.8, 0},
                               {1.5, 0.8, 1}, {1, 0.8, 0},    {1e300, 0.8, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        sensor.truth[0] = cases[c][0];
        sensor.truth[1] = -cases[c][0];
        const double *got = measure(&sensor, 1);
        assert_near(got[0], cases[c][1], 1e-16);
        assert_near(got[1], -cases[c][1], 1e-16);
        assert_near(got[2], 0, 0);
        assert_int_equal(sensor.saturated, cases[c][2] != 0 ? 3 : 0);
    }
    sensor.params.measurement_range_u = 19.6; /* 196 codes, though 19.6 / 0.1 is not exact */
    sensor.params.resolution_u = 0.1;
    sensor_start(&sensor);
    fill(sensor.truth, 0);
    sensor.truth[2] = 30;
    assert_near(measure(&sensor, 1)[2], 19.6, 1e-14);
    assert_int_equal(sensor.saturated, 4);
}

static void A21_nonsense_is_refused_with_a_sentence(void **state)
{
    struct sensor sensor;
    struct oto_error error;
    (void)state;
    sensor_reset(&sensor, 200);
    sensor.params.measurement_range_u = 1;
    sensor.params.resolution_u = 1.5;
    assert_int_equal(sensor_prepare(&sensor, &error), OTO_RANGE);
    assert_non_null(strstr(error.text, "gyroscope.resolution = 1.5"));
    sensor_reset(&sensor, 200);
    sensor.params.bias_instability_tau_min_s = 10;
    sensor.params.bias_instability_tau_max_s = 5;
    assert_int_equal(sensor_prepare(&sensor, &error), OTO_RANGE);
    assert_non_null(strstr(error.text, "gyroscope.bias_instability_tau_min_s = 10"));
    sensor_reset(&sensor, 200);
    sensor.law.w = 5000;
    assert_int_equal(sensor_prepare(&sensor, &error), OTO_RANGE);
    assert_non_null(strstr(error.text, "w = 5000"));
    sensor_reset(&sensor, 200);
    sensor.law.temperature_degc = -300;
    assert_int_equal(sensor_prepare(&sensor, &error), OTO_RANGE);
}

/* ---- what is random ---------------------------------------------------------------------------------------------- */

struct moments {
    double mean[3], variance[3], lag1[3], cross[3];
};

/* Moments of samples divided by sigma. */
static struct moments moments_of(struct sensor *sensor, uint64_t count, double sigma)
{
    struct moments sums;
    double last[3] = {0, 0, 0};
    memset(&sums, 0, sizeof sums);
    for (uint64_t n = 1; n <= count; n++) {
        const double *got = measure(sensor, n);
        for (int i = 0; i < 3; i++) {
            const double x = (got[i] - sensor->truth[i]) / sigma;
            sums.mean[i] += x;
            sums.variance[i] += x * x;
            sums.lag1[i] += x * last[i];
            sums.cross[i] += x * (got[(i + 1) % 3] - sensor->truth[(i + 1) % 3]) / sigma;
            last[i] = x;
        }
    }
    for (int i = 0; i < 3; i++) {
        sums.mean[i] /= (double)count;
        sums.variance[i] /= (double)count;
        sums.lag1[i] /= (double)count;
        sums.cross[i] /= (double)count;
    }
    return sums;
}

static void A5_white_noise_has_the_density_at_any_rate_and_under_both_conventions(void **state)
{
    enum { SAMPLES = 100000 };
    static const double rates_hz[] = {50, 200, 1000};
    (void)state;
    for (int r = 0; r < 3; r++) {
        for (int psd = 0; psd < 2; psd++) {
            struct sensor sensor;
            sensor_reset(&sensor, rates_hz[r]);
            sensor.law.psd = psd;
            fill(sensor.truth, 1.5);
            fill(sensor.params.noise_density_u_rthz, 0.003);
            sensor_start(&sensor);
            const double sigma = 0.003 * sqrt(psd == NUM_PSD_DOUBLE ? rates_hz[r] : rates_hz[r] / 2);
            assert_near(sensor.plan.triads[0].white_variance_u2[0], sigma * sigma, 1e-15);
            const struct moments moments = moments_of(&sensor, SAMPLES, sigma);
            for (int i = 0; i < 3; i++) {
                assert_near(moments.mean[i], 0, SIGMAS / sqrt(SAMPLES));
                assert_near(moments.variance[i], 1, SIGMAS * sqrt(2.0 / SAMPLES));
                assert_near(moments.lag1[i], 0, SIGMAS / sqrt(SAMPLES));
                assert_near(moments.cross[i], 0, SIGMAS / sqrt(SAMPLES));
            }
        }
    }
}

static void A5_w_of_the_document_is_uniform_and_shared_by_the_axes(void **state)
{
    enum { SAMPLES = 100000 };
    (void)state;
    for (int code = 0; code < 2; code++) {
        struct sensor sensor;
        double sum = 0, squares = 0;
        sensor_reset(&sensor, 2);
        sensor.law.law = NUM_LAW_MAVS;
        sensor.law.w = code ? NUM_W_CODE : NUM_W_DOCUMENT;
        fill(sensor.params.noise_density_u_rthz, 1); /* reads w itself at 2 Hz */
        sensor_start(&sensor);
        for (uint64_t n = 1; n <= SAMPLES; n++) {
            const double *got = measure(&sensor, n);
            const double w = got[0] - (code ? 2 : 0);
            assert_true(w > -1 && w < 1 && got[1] == got[0] && got[2] == got[0]);
            sum += w;
            squares += w * w;
        }
        /* Variance 1/3 of w, 4/45 of its square. */
        assert_near(sum / SAMPLES, 0, SIGMAS * sqrt(1.0 / 3 / SAMPLES));
        assert_near(squares / SAMPLES, 1.0 / 3, SIGMAS * sqrt(4.0 / 45 / SAMPLES));
        assert_near(sensor.plan.triads[0].white_variance_u2[0], 1.0 / 3, 1e-15);
    }
}

static void A6_one_gauss_markov_process_has_its_variance_and_autocorrelation_at_two_rates(void **state)
{
    enum { RUNS = 3000 };
    static const double rates_hz[] = {10, 100};
    const double tau_s = 2, b = 0.02;
    const double variance = pow(b * NUM_FLICKER_FLOOR / NUM_GAUSS_MARKOV_PEAK, 2);
    (void)state;
    for (int r = 0; r < 2; r++) {
        double early = 0, late = 0, product = 0;
        for (uint64_t run = 0; run < RUNS; run++) {
            struct sensor sensor;
            sensor_reset(&sensor, rates_hz[r]);
            sensor.noise_key.seed = run;
            sensor.params.bias_instability_tau_s = tau_s;
            fill(sensor.params.bias_instability_u, b);
            sensor_start(&sensor);
            const double first = measure(&sensor, 1)[r];
            for (uint64_t n = 2; n <= 1 + (uint64_t)rates_hz[r]; n++) {
                measure(&sensor, n);
            }
            const double last = sensor.measured[r]; /* one second later */
            early += first * first / variance;
            late += last * last / variance;
            product += first * last / variance;
        }
        /* Stationary from the first sample on. Variance of x² is 2, of x y it is 1 + rho². */
        const double rho = exp(-1 / tau_s);
        assert_near(early / RUNS, 1, SIGMAS * sqrt(2.0 / RUNS));
        assert_near(late / RUNS, 1, SIGMAS * sqrt(2.0 / RUNS));
        assert_near(product / RUNS, rho, SIGMAS * sqrt((1 + rho * rho) / RUNS));
    }
}

static void A6_fitted_floor_is_flat_to_one_percent_over_its_range(void **state)
{
    static const double tops_s[] = {1, 3, 10, 100, 1e3, 1e4, 1e5, 1e6};
    (void)state;
    for (size_t t = 0; t < sizeof tops_s / sizeof *tops_s; t++) {
        struct num_instability fit;
        num_instability_fit_floor(&fit, 1, tops_s[t], 0.01);
        for (double tau_s = 1; tau_s <= tops_s[t]; tau_s *= 1.1) {
            double avar = 0;
            for (uint32_t i = 0; i < fit.count; i++) {
                avar += fit.variance[i] * num_gauss_markov_avar(fit.correlation_s[i], tau_s);
            }
            assert_near(sqrt(avar) / NUM_FLICKER_FLOOR, 1, 0.01);
        }
    }
    double peak = 0;
    for (double tau_s = 0.001; tau_s < 100; tau_s *= 1.0001) {
        peak = fmax(peak, num_gauss_markov_avar(1, tau_s));
    }
    assert_near(sqrt(peak), NUM_GAUSS_MARKOV_PEAK, 1e-8);
    assert_near(NUM_FLICKER_FLOOR, sqrt(2 * log(2) / acos(-1)), 1e-15);
    assert_near(num_gauss_markov_avar(1, 0.02), num_gauss_markov_avar(1, 0.02 * (1 - 1e-9)), 1e-9);
}

static void A6_one_drive_gives_the_autocovariance_of_independent_processes(void **state)
{
    static const double rates_hz[] = {10, 50, 1000, 8000};
    (void)state;
    for (int r = 0; r < 4; r++) {
        struct num_instability fit;
        num_instability_fit_floor(&fit, 1, 1e4, 1 / rates_hz[r]);
        for (uint32_t i = 0; i < fit.count; i++) {
            double share = 0, row[NUM_INSTABILITY_POLES];
            for (uint32_t k = 0; k < fit.count; k++) {
                const double rate = 1 / fit.correlation_s[i] + 1 / fit.correlation_s[k];
                row[k] = fit.drive[i] * fit.drive[k] / -expm1(-rate / rates_hz[r]);
                share += row[k];
            }
            assert_near(share / fit.variance[i], 1, 1e-12);
            /* The start has the stationary covariance. */
            for (uint32_t k = 0; k < fit.count; k++) {
                double covariance = 0;
                for (uint32_t m = 0; m < NUM_INSTABILITY_POLES; m++) {
                    covariance += fit.start[i][m] * fit.start[k][m];
                }
                assert_near(covariance, row[k], 1e-9);
            }
        }
    }
}

static void A6_simulated_rest_lies_on_the_floor(void **state)
{
    enum { RATE_HZ = 20, SAMPLES = 1 << 20 };
    static const int windows[] = {RATE_HZ, 10 * RATE_HZ, 100 * RATE_HZ};
    static double axis[3][SAMPLES];
    struct sensor sensor;
    (void)state;
    sensor_reset(&sensor, RATE_HZ);
    fill(sensor.params.bias_instability_u, 0.05);
    sensor_start(&sensor);
    for (uint64_t n = 1; n <= SAMPLES; n++) {
        const double *got = measure(&sensor, n);
        for (int i = 0; i < 3; i++) {
            axis[i][n - 1] = got[i];
        }
    }
    for (int w = 0; w < 3; w++) {
        const int clusters = SAMPLES / windows[w];
        double sum = 0;
        for (int i = 0; i < 3; i++) {
            double last = 0;
            for (int c = 0; c < clusters; c++) {
                double mean = 0;
                for (int k = 0; k < windows[w]; k++) {
                    mean += axis[i][c * windows[w] + k] / windows[w];
                }
                sum += c > 0 ? (mean - last) * (mean - last) / 2 : 0;
                last = mean;
            }
        }
        const double deviation = sqrt(sum / (3.0 * (clusters - 1)));
        /* Flicker: a relative standard deviation of at most sqrt(1.2 / (2 · 3 (M - 1))) of M clusters on three axes. */
        assert_near(deviation / (0.05 * NUM_FLICKER_FLOOR), 1, 0.01 + SIGMAS * sqrt(0.2 / (clusters - 1)));
    }
}

static void A7_random_walk_grows_with_the_root_of_time_at_any_rate(void **state)
{
    enum { RUNS = 500, SECONDS = 4 };
    static const double rates_hz[] = {20, 50, 200};
    const double k = 0.01;
    (void)state;
    for (int r = 0; r < 3; r++) {
        double squares = 0;
        for (uint64_t run = 0; run < RUNS; run++) {
            struct sensor sensor;
            sensor_reset(&sensor, rates_hz[r]);
            sensor.noise_key.seed = run;
            fill(sensor.params.random_walk_u_rthz, k);
            sensor_start(&sensor);
            const double *got = NULL;
            for (uint64_t n = 1; n <= SECONDS * (uint64_t)rates_hz[r]; n++) {
                got = measure(&sensor, n);
            }
            squares += got[0] * got[0] + got[1] * got[1] + got[2] * got[2];
        }
        assert_near(squares / (3 * RUNS) / (k * k * SECONDS), 1, SIGMAS * sqrt(2.0 / (3 * RUNS)));
    }
}

static void turn_on_biases_differ_from_run_to_run_and_unit_biases_do_not(void **state)
{
    enum { RUNS = 4000 };
    double squares = 0, unit_squares = 0, scale_squares = 0, product = 0;
    (void)state;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct sensor sensor;
        sensor_reset(&sensor, 100);
        sensor.noise_key.seed = run;
        fill(sensor.params.turn_on_bias_u, 0.2);
        sensor_start(&sensor);
        const double turn_on = measure(&sensor, 1)[0] / 0.2;
        assert_near(measure(&sensor, 2)[0] / 0.2, turn_on, 0);
        fill(sensor.params.turn_on_bias_u, 0);
        fill(sensor.params.unit_bias_u, 0.3);
        sensor_start(&sensor);
        const double unit = measure(&sensor, 1)[0];
        sensor.noise_key.seed = run + 1;
        sensor_start(&sensor);
        assert_near(measure(&sensor, 1)[0], unit, 0);
        sensor.unit_key.stream = run; /* another serial number */
        fill(sensor.truth, 1);
        fill(sensor.params.unit_scale_factor_percent, 2);
        sensor_start(&sensor);
        const double other = sensor.plan.triads[0].bias_u[0] / 0.3;
        const double scale = (sensor.plan.triads[0].matrix[0][0] - 1) / 0.02;
        squares += turn_on * turn_on;
        unit_squares += other * other;
        scale_squares += scale * scale;
        product += other * scale;
    }
    assert_near(squares / RUNS, 1, SIGMAS * sqrt(2.0 / RUNS));
    assert_near(unit_squares / RUNS, 1, SIGMAS * sqrt(2.0 / RUNS));
    assert_near(scale_squares / RUNS, 1, SIGMAS * sqrt(2.0 / RUNS));
    assert_near(product / RUNS, 0, SIGMAS / sqrt(RUNS));
}

/* Six a unit, each of its own, the same in every world; 4000 units: variance 1 ± SIGMAS sqrt(2/n), products 0. */
static void A4_a_unit_draws_its_cross_axis_terms_once_and_apart(void **state)
{
    enum { UNITS = 4000 };
    static const int place[6][2] = {{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}};
    double products[6][6] = {{0}};
    (void)state;
    for (uint64_t unit = 0; unit < UNITS; unit++) {
        struct sensor sensor;
        double drawn[6];
        sensor_reset(&sensor, 100);
        sensor.unit_key.stream = unit;
        for (int i = 0; i < 3; i++) {
            sensor.params.unit_cross_axis_percent[i] = i + 1;
        }
        sensor.params.cross_axis_percent[0] = 5;
        sensor_start(&sensor);
        sensor.noise_key.seed = unit + 1;
        for (int i = 0; i < 6; i++) {
            const double given = i == 0 ? 0.05 : 0;
            drawn[i] = (sensor.plan.triads[0].matrix[place[i][0]][place[i][1]] - given) / (0.01 * (place[i][0] + 1));
        }
        const double before = sensor.plan.triads[0].matrix[0][1];
        sensor_start(&sensor);
        assert_near(sensor.plan.triads[0].matrix[0][1], before, 0);
        assert_near(sensor.plan.triads[0].matrix[0][0], 1, 0);
        for (int i = 0; i < 36; i++) {
            products[i / 6][i % 6] += drawn[i / 6] * drawn[i % 6] / UNITS;
        }
    }
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j <= i; j++) {
            assert_near(products[i][j], i == j, SIGMAS * sqrt((i == j ? 2.0 : 1.0) / UNITS));
        }
    }
}

static void A25_terms_do_not_disturb_each_other(void **state)
{
    struct sensor all, white, walk;
    (void)state;
    sensor_reset(&all, 100);
    fill(all.params.noise_density_u_rthz, 0.5);
    sensor_reset(&white, 100);
    white.params = all.params;
    fill(all.params.random_walk_u_rthz, 0.25);
    sensor_reset(&walk, 100);
    fill(walk.params.random_walk_u_rthz, 0.25);
    sensor_start(&all);
    sensor_start(&white);
    sensor_start(&walk);
    for (uint64_t n = 1; n <= 200; n++) {
        const double *sum = measure(&all, n);
        const double *one = measure(&white, n);
        const double *other = measure(&walk, n);
        for (int i = 0; i < 3; i++) {
            assert_near(sum[i], one[i] + other[i], 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A1_an_ideal_triad_passes_the_truth_through_bit_for_bit),
        cmocka_unit_test(A3_A8_A9_bias_and_temperature_follow_their_formula),
        cmocka_unit_test(A4_scale_and_the_whole_cross_axis_matrix_apply),
        cmocka_unit_test(A19_g_sensitivity_adds_its_share_of_the_specific_force),
        cmocka_unit_test(A10_A11_each_axis_saturates_alone_and_never_reads_beyond_the_range),
        cmocka_unit_test(A21_nonsense_is_refused_with_a_sentence),
        cmocka_unit_test(A5_white_noise_has_the_density_at_any_rate_and_under_both_conventions),
        cmocka_unit_test(A5_w_of_the_document_is_uniform_and_shared_by_the_axes),
        cmocka_unit_test(A6_one_gauss_markov_process_has_its_variance_and_autocorrelation_at_two_rates),
        cmocka_unit_test(A6_fitted_floor_is_flat_to_one_percent_over_its_range),
        cmocka_unit_test(A6_one_drive_gives_the_autocovariance_of_independent_processes),
        cmocka_unit_test(A6_simulated_rest_lies_on_the_floor),
        cmocka_unit_test(A7_random_walk_grows_with_the_root_of_time_at_any_rate),
        cmocka_unit_test(turn_on_biases_differ_from_run_to_run_and_unit_biases_do_not),
        cmocka_unit_test(A4_a_unit_draws_its_cross_axis_terms_once_and_apart),
        cmocka_unit_test(A25_terms_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
