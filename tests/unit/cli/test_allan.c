/*
 * The overlapping Allan deviation against NIST SP 1065 (W. J. Riley, 2008), §12.4: the 1000-point suite is made by the
 * generator n ← 16807·n mod (2³¹ − 1), n₀ = 1234567890, divided by 2³¹ − 1; the ten-point suite is NBS Monograph 140's.
 */
#include "oto_test.h"

#include "allan/allan.h"
#include "otolith/rng.h"

static void make_nbs14(double *samples, size_t count)
{
    uint64_t n = 1234567890;
    for (size_t i = 0; i < count; i++) {
        samples[i] = (double)n / 2147483647.0;
        n = 16807 * n % 2147483647;
    }
}

static double deviation_at(const struct allan_point *points, size_t count, uint64_t m)
{
    for (size_t i = 0; i < count; i++) {
        if (points[i].m == m) {
            return points[i].adev;
        }
    }
    fail_msg("no averaging factor %lu", (unsigned long)m);
    return NAN;
}

static void nbs14_thousand_points_give_the_published_deviations(void **state)
{
    (void)state;
    double samples[1000];
    struct allan_point points[ALLAN_MAX_POINTS];
    struct allan *allan = allan_create(10);
    make_nbs14(samples, 1000);
    assert_int_equal(allan_add(allan, samples, 1000), OTO_OK);
    const size_t count = allan_points(allan, 1.0, points, ALLAN_MAX_POINTS);
    /* printed with seven digits */
    assert_near(deviation_at(points, count, 1), 2.922319e-1, 5e-8);
    assert_near(deviation_at(points, count, 10), 9.159953e-2, 5e-9);
    assert_near(deviation_at(points, count, 100), 3.241343e-2, 5e-9);
    allan_destroy(allan);
}

static void nbs14_ten_points_give_the_published_deviations(void **state)
{
    (void)state;
    static const double phase[] = {0.00000,   103.11111, 123.22222, 157.33333, 166.44444,
                                   48.55555,  -96.33333, -2.22222,  111.88889, 0.00000};
    double samples[9];
    struct allan_point points[ALLAN_MAX_POINTS];
    struct allan *allan = allan_create(10);
    for (int i = 0; i < 9; i++) {
        samples[i] = phase[i + 1] - phase[i];
    }
    assert_int_equal(allan_add(allan, samples, 9), OTO_OK);
    const size_t count = allan_points(allan, 1.0, points, ALLAN_MAX_POINTS);
    assert_near(deviation_at(points, count, 1), 91.22945, 5e-6);
    assert_near(deviation_at(points, count, 2), 85.95287, 5e-6);
    allan_destroy(allan);
}

/* The definition, term by term, for an averaging factor so large that not every phase is stored. */
static void decimation_of_long_averages_keeps_the_deviation(void **state)
{
    (void)state;
    enum { N = 60000 };
    static double samples[N];
    static double phase[N + 1];
    static struct allan_point points[ALLAN_MAX_POINTS];
    struct allan *allan = allan_create(10);
    const struct oto_rng_key key = {5, 6};
    oto_normals(key, 1, 0, OTO_RNG_DOMAIN_SAMPLE, samples, N);
    for (int i = 0; i < N; i++) {
        phase[i + 1] = phase[i] + samples[i];
    }
    assert_int_equal(allan_add(allan, samples, N), OTO_OK);
    const size_t count = allan_points(allan, 1.0, points, ALLAN_MAX_POINTS);
    for (size_t p = 0; p < count; p++) {
        const uint64_t m = points[p].m;
        double sum = 0.0;
        for (uint64_t i = 0; i + 2 * m <= N; i++) {
            const double d = phase[i + 2 * m] - 2.0 * phase[i + m] + phase[i];
            sum += d * d;
        }
        const double direct = sqrt(sum / (2.0 * (double)(m * m) * (double)(N + 1 - 2 * m)));
        /* shifts by 2^level of more than ALLAN_DENSE/2: neighbours are correlated to 1 - 3/ALLAN_DENSE and better */
        assert_near(points[p].adev / direct, 1.0, m <= ALLAN_DENSE ? 1e-9 : 2e-3);
    }
    allan_destroy(allan);
}

/* The last points of a curve have few terms, and are often the lowest by chance. */
static void the_lowest_point_is_one_that_the_record_knows(void **state)
{
    (void)state;
    const struct allan_point points[] = {{.m = 1, .adev = 3.0}, {.m = 10, .adev = 1.0}, {.m = 111, .adev = 0.9},
                                         {.m = 112, .adev = 0.5}, {.m = 500, .adev = 0.01}};
    assert_ptr_equal(allan_lowest(points, 5, 1000), &points[2]); /* 1000 / 111 = 9.009 averages */
    assert_ptr_equal(allan_lowest(points, 5, 1008), &points[3]);
    assert_ptr_equal(allan_lowest(points, 2, 1000), &points[1]);
    assert_ptr_equal(allan_lowest(points, 5, 9), &points[0]);
    assert_ptr_equal(allan_lowest(points, 5, 4), &points[0]);
}

/* White noise and a random walk of known strength; the tolerances are five times the spread of the fit, which is about
 * sqrt(1/(2 edf)) of the best-determined point: N from a million white samples, K from the slowest tenth of the record. */
static void fit_gives_back_white_noise_and_random_walk(void **state)
{
    (void)state;
    enum { BLOCK = 1000, BLOCKS = 2000 };
    static double draws[2 * BLOCK];
    static struct allan_point points[ALLAN_MAX_POINTS];
    const double rate_hz = 100.0, n = 0.02, k = 0.004;
    struct allan *allan = allan_create(10);
    const struct oto_rng_key key = {7, 8};
    struct allan_fit fit;
    double walk = 0.0;
    for (int block = 0; block < BLOCKS; block++) {
        double samples[BLOCK];
        oto_normals(key, (uint64_t)block + 1, 0, OTO_RNG_DOMAIN_SAMPLE, draws, 2 * BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            walk += k * draws[2 * i] / sqrt(rate_hz);
            samples[i] = 9.8 + n * draws[2 * i + 1] * sqrt(rate_hz) + walk;
        }
        assert_int_equal(allan_add(allan, samples, BLOCK), OTO_OK);
    }
    const size_t count = allan_points(allan, rate_hz, points, ALLAN_MAX_POINTS);
    allan_fit(points, count, allan_count(allan), NULL, &fit);
    assert_near(fit.n / n, 1.0, 0.01);
    assert_near(fit.k / k, 1.0, 0.15);
    for (size_t i = 0; i < count; i++) {
        assert_true(points[i].lo < points[i].adev && points[i].adev < points[i].hi);
    }
    allan_destroy(allan);
}

/* The spread of the fit over many records against the standard error that is derived for one. The spread of R normal
 * numbers is known to 1/sqrt(2 R); five of those, and 5 % for the derivation, which takes the record for long. */
static void standard_errors_are_the_spread_over_many_records(void **state)
{
    enum { RUNS = 400, SAMPLES = 4000 };
    static double draws[2 * SAMPLES], samples[SAMPLES];
    static struct allan_point points[ALLAN_MAX_POINTS];
    static const struct allan_fit_options options = {.terms = ALLAN_N | ALLAN_K};
    struct allan_fit truth = {.n = 1.0, .k = 0.05}, fit;
    double squares[2] = {0};
    size_t count = 0;
    (void)state;
    for (uint64_t run = 0; run < RUNS; run++) {
        struct allan *allan = allan_create(5);
        double walk = 0.0;
        oto_normals((struct oto_rng_key){run, 9}, 1, 0, OTO_RNG_DOMAIN_SAMPLE, draws, 2 * SAMPLES);
        for (int i = 0; i < SAMPLES; i++) {
            walk += truth.k * draws[2 * i];
            samples[i] = truth.n * draws[2 * i + 1] + walk;
        }
        assert_int_equal(allan_add(allan, samples, SAMPLES), OTO_OK);
        count = allan_points(allan, 1.0, points, ALLAN_MAX_POINTS);
        allan_fit(points, count, SAMPLES, &options, &fit);
        squares[0] += (fit.n - truth.n) * (fit.n - truth.n) / RUNS;
        squares[1] += (fit.k - truth.k) * (fit.k - truth.k) / RUNS;
        allan_destroy(allan);
    }
    assert_true(allan_standard_errors(points, count, SAMPLES, &options, &truth));
    assert_near(sqrt(squares[0]) / truth.n_se, 1.0, 5.0 / sqrt(2.0 * RUNS) + 0.05);
    assert_near(sqrt(squares[1]) / truth.k_se, 1.0, 5.0 / sqrt(2.0 * RUNS) + 0.05);
    assert_true(isnan(truth.b_se));
    print_message("spread over derived: N %.3f, K %.3f\n", sqrt(squares[0]) / truth.n_se, sqrt(squares[1]) / truth.k_se);
}

static void only_the_wanted_terms_and_averaging_times_are_fitted(void **state)
{
    static const struct allan_fit_options options = {2.0, 1000.0, ALLAN_N | ALLAN_B};
    static struct allan_point points[ALLAN_MAX_POINTS];
    struct allan_fit fit;
    size_t count = 0;
    (void)state;
    for (double tau_s = 0.1; tau_s < 2e4; tau_s *= 1.5) { /* the model within the bounds, nonsense beyond */
        const double part = sqrt(9.0 / tau_s + 16.0 * 0.4412712003053032);
        points[count] = (struct allan_point){.m = (uint64_t)(10.0 * tau_s), .tau_s = tau_s};
        points[count++].adev = tau_s >= 2.0 && tau_s <= 1000.0 ? part : 100.0 * part;
    }
    allan_fit(points, count, 10000000, &options, &fit);
    assert_near(fit.n, 3.0, 1e-9);
    assert_near(fit.b, 4.0, 1e-9);
    assert_true(fit.k == 0.0 && fit.q == 0.0 && fit.r == 0.0 && fit.b_se > 0.0);
}

static void constant_is_recognised(void **state)
{
    (void)state;
    const double samples[] = {3.0, 3.0, 3.0};
    struct allan *allan = allan_create(10);
    assert_int_equal(allan_add(allan, samples, 3), OTO_OK);
    assert_true(allan_is_constant(allan));
    allan_destroy(allan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nbs14_thousand_points_give_the_published_deviations),
        cmocka_unit_test(nbs14_ten_points_give_the_published_deviations),
        cmocka_unit_test(decimation_of_long_averages_keeps_the_deviation),
        cmocka_unit_test(the_lowest_point_is_one_that_the_record_knows),
        cmocka_unit_test(fit_gives_back_white_noise_and_random_walk),
        cmocka_unit_test(standard_errors_are_the_spread_over_many_records),
        cmocka_unit_test(only_the_wanted_terms_and_averaging_times_are_fitted),
        cmocka_unit_test(constant_is_recognised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
