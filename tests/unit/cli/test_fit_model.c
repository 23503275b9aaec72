/* The noise models of otolith fit: the variances of their terms, the least squares, the lines, and what a fit recovers. */
#include <math.h>
#include <stdlib.h>

#include "fit/model.h"
#include "oto_test.h"

static uint64_t dice = 1;

/* A standard normal deviate, by twelve uniform ones. */
static double deviate(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(dice >> 11) * 0x1p-53;
    }
    return sum;
}

static void nnls_is_the_constrained_minimum(void **state)
{
    (void)state;
    /* The free solution of the first is (1, -1, 2): the second unknown stays 0 and the others adapt. */
    static const double matrix[] = {1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}, right[] = {0, 1, 3, 2};
    double x[3];
    fit_nnls(matrix, right, 4, 3, x);
    assert_near(x[1], 0, 0);
    for (int i = 0; i < 3; i++) { /* Karush, Kuhn and Tucker: the gradient is 0 or points outwards */
        double slope = 0;
        for (int r = 0; r < 4; r++) {
            const double *row = &matrix[3 * r];
            slope += row[i] * (right[r] - row[0] * x[0] - row[1] * x[1] - row[2] * x[2]);
        }
        assert_true(x[i] > 0 ? fabs(slope) < 1e-12 : slope < 1e-12);
    }
}

/* Allan variance from the autocovariance by its definition: half the variance of the difference of two adjacent means. */
static double variance_by_definition(double tau_periods, int m)
{
    double sum = 0;
    for (int i = 0; i < 2 * m; i++) {
        for (int j = 0; j < 2 * m; j++) {
            const double sign = (i < m) == (j < m) ? 1 : -1;
            sum += sign * exp(-abs(i - j) / tau_periods);
        }
    }
    return sum / (2.0 * m * m);
}

static void a_process_has_the_variance_of_its_samples(void **state)
{
    (void)state;
    static const double taus_s[] = {0.001, 0.01, 0.3, 20, 4e3, 1e6};
    static const int averages[] = {1, 2, 7, 60};
    for (size_t t = 0; t < sizeof taus_s / sizeof *taus_s; t++) {
        for (size_t a = 0; a < 4; a++) {
            struct fit_model model = {.markov_s = {taus_s[t]}, .markov_u = {1}};
            const double expected = variance_by_definition(taus_s[t] * 100, averages[a]);
            const double found = fit_model_deviation(&model, 100, (uint64_t)averages[a]);
            assert_near(found * found, expected, 1e-3 * expected); /* the walk that replaces slow processes is 1e-3 off */
        }
    }
}

static void a_sine_has_the_variance_of_its_samples(void **state)
{
    (void)state;
    const double turns = 0.137;
    for (int m = 1; m < 20; m++) {
        double sum = 0;
        for (int phase = 0; phase < 400; phase++) {
            double difference = 0;
            for (int i = 0; i < 2 * m; i++) {
                difference += (i < m ? 1 : -1) * sin(2 * M_PI * (i * turns + phase / 400.0)) / m;
            }
            sum += difference * difference / 2 / 400;
        }
        struct fit_model model = {.sine_hz = {13.7}, .sine_u = {1}};
        const double found = fit_model_deviation(&model, 100, (uint64_t)m);
        assert_near(found * found, sum, 1e-12);
    }
}

enum { SAMPLES = 1 << 19 };
static double record[SAMPLES];

/* White noise 1, a process of 2 s and 0.3, and a sine of 7 Hz and 0.8, at 100 Hz. */
static void make_record(bool with_process, bool with_sine)
{
    const double a = exp(-1 / 200.0), drive = 0.3 * sqrt(1 - a * a);
    double process = 0.3 * deviate();
    for (int i = 0; i < SAMPLES; i++) {
        process = a * process + drive * deviate();
        record[i] = deviate() + (with_process ? process : 0) + (with_sine ? 0.8 * sin(2 * M_PI * 7 * i / 100.0) : 0);
    }
}

static enum fit_kind fit_record(struct fit_setup *setup, struct fit_model models[FIT_KINDS])
{
    static struct allan_point points[ALLAN_MAX_POINTS];
    struct allan_fit fit;
    struct allan *allan = allan_create(10);
    double power[FIT_SINES];
    assert_int_equal(allan_add(allan, record, SAMPLES), OTO_OK);
    const size_t count = allan_points(allan, 100, points, ALLAN_MAX_POINTS);
    allan_fit(points, count, SAMPLES, NULL, &fit);
    allan_destroy(allan);
    *setup = (struct fit_setup){.rate_hz = 100, .tau_max_s = SAMPLES / 1000.0};
    fit_setup_times(setup);
    (void)fit_lines(record, SAMPLES, 100, setup->sine_hz, power, FIT_SINES);
    return fit_models(points, count, setup, models);
}

/* N to a percent: 5e5 samples give the first averaging times to 0.2 %, and the fit weighs them with 2 %. */
static void white_noise_alone_is_found_and_nothing_else(void **state)
{
    (void)state;
    struct fit_setup setup;
    struct fit_model models[FIT_KINDS];
    make_record(false, false);
    const enum fit_kind kind = fit_record(&setup, models);
    assert_int_equal(kind, FIT_WALK);
    assert_near(models[kind].white_u, 1, 0.01);
    assert_near(setup.sine_hz[0], 0, 0);
    assert_true(fabs(models[kind].worst) < 0.15);
}

static void correlated_and_periodic_noise_are_found(void **state)
{
    (void)state;
    struct fit_setup setup;
    struct fit_model models[FIT_KINDS];
    make_record(true, true);
    const enum fit_kind kind = fit_record(&setup, models);
    const struct fit_model *model = &models[kind];
    double slow = 0;
    assert_int_equal(kind, FIT_MARKOV);
    assert_near(setup.sine_hz[0], 7, 0.02);
    assert_near(model->sine_u[0], 0.8, 0.02);
    for (int k = 0; k < FIT_MARKOVS; k++) {
        slow += model->markov_s[k] > 0.5 ? model->markov_u[k] * model->markov_u[k] : 0;
    }
    assert_near(sqrt(slow), 0.3, 0.06);
    assert_near(fit_model_n(model, 100), 0.1, 0.003);
    assert_true(fabs(model->worst) < 0.15);
    assert_true(models[FIT_WALK].bic > model->bic + 50); /* the classic model does not fit, and is not chosen */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nnls_is_the_constrained_minimum),
        cmocka_unit_test(a_process_has_the_variance_of_its_samples),
        cmocka_unit_test(a_sine_has_the_variance_of_its_samples),
        cmocka_unit_test(white_noise_alone_is_found_and_nothing_else),
        cmocka_unit_test(correlated_and_periodic_noise_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
