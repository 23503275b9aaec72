/* The <noise> of one axis: rows C16 to C20 of the feature table, on the pure law. */
#include "oto_test.h"
#include "otolith/rng.h"
#include "sdf_noise.h"

static double apply(const struct sdf_noise *law, double *bias, double dt_s, double value, double dynamic, double white)
{
    return sdf_noise_apply(law, sdf_noise_drive(law, dt_s), bias, value, dynamic, white);
}

/* ---- numbers made by independent code, with the draws given ---- */

enum {
    MEAN,
    STDDEV,
    BIAS_MEAN,
    BIAS_STDDEV,
    DYNAMIC,
    TAU,
    PRECISION,
    N_BIAS,
    U_SIGN,
    CALL,
    DT,
    INPUT,
    N_DYN,
    N_WHITE,
    BIAS_AFTER,
    OUTPUT,
    COLUMNS
};

static int read_row(FILE *file, double row[COLUMNS])
{
    char line[1024];
    if (fgets(line, sizeof line, file) == NULL) {
        return 0;
    }
    char *at = line;
    for (int i = 0; i < COLUMNS; i++) {
        char *end;
        row[i] = strtod(at, &end);
        assert_true(end != at && (*end == ',' || i == COLUMNS - 1));
        at = end + 1;
    }
    return 1;
}

static struct sdf_noise law_of(const double row[COLUMNS])
{
    return (struct sdf_noise){SDF_NOISE_GAUSSIAN, row[MEAN],    row[STDDEV], row[BIAS_MEAN],
                              row[BIAS_STDDEV],   row[DYNAMIC], row[TAU],    row[PRECISION]};
}

/* Both sides round a handful of operations, one exp and one expm1, each below 1 ulp: 8 ulp of the larger term. */
static double allowance(double a, double b)
{
    return 8 * 0x1p-53 * (fabs(a) + fabs(b));
}

static unsigned check_file(const char *path)
{
    char header[512];
    double row[COLUMNS], bias = 0;
    unsigned rows = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(header, sizeof header, file));
    for (; read_row(file, row); rows++) {
        const struct sdf_noise law = law_of(row);
        if (row[CALL] == 0) {
            bias = sdf_noise_load(&law, row[N_BIAS], row[U_SIGN]);
        }
        const double output = apply(&law, &bias, row[DT], row[INPUT], row[N_DYN], row[N_WHITE]);
        assert_near(bias, row[BIAS_AFTER], allowance(row[BIAS_AFTER], row[DYNAMIC]));
        assert_near(output, row[OUTPUT], allowance(row[OUTPUT], row[INPUT]));
    }
    (void)fclose(file);
    return rows;
}

static void C16_C17_C18_C19_C20_the_golden_numbers_are_met(void **state)
{
    (void)state;
    assert_int_equal(check_file(OTO_SOURCE_DIR "/tests/golden/sdf_noise.csv"), 72);
}

static void C16_C17_C18_C19_C20_every_row_of_the_reference_is_met(void **state)
{
    char path[512];
    (void)state;
    assert_int_equal(check_file(oto_shared_file(path, sizeof path, "data/golden_sdf_noise/gz_noise_golden.csv")), 138);
}

/* ---- the law itself ---- */

static void C16_type_none_gives_the_value_bit_by_bit(void **state)
{
    const struct sdf_noise law = {SDF_NOISE_NONE, 1, 2, 3, 4, 5, 6, 7};
    double bias = sdf_noise_load(&law, 1, 0.2);
    (void)state;
    assert_near(bias, 0, 0);
    assert_near(apply(&law, &bias, 0.01, -0x1.23456789abcdep-3, 1, 1), -0x1.23456789abcdep-3, 0);
    assert_near(bias, 0, 0);
}

static void C16_both_gaussian_types_obey_the_precision(void **state)
{
    struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .precision_u = 0.25};
    double bias = 0;
    (void)state;
    assert_near(apply(&law, &bias, 0.01, 1.3, 0, 0), 1.25, 0);
    law.type = SDF_NOISE_GAUSSIAN_QUANTIZED;
    assert_near(apply(&law, &bias, 0.01, 1.3, 0, 0), 1.25, 0);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Largest distance of the sorted sample from the normal distribution. */
static double kolmogorov(const double *sorted, size_t count, double mean, double sigma)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        const double p = 0.5 * erfc(-(sorted[i] - mean) / sigma * M_SQRT1_2);
        largest = fmax(largest, fmax(fabs(p - (double)i / (double)count), fabs(p - (double)(i + 1) / (double)count)));
    }
    return largest;
}

static void C17_white_noise_has_its_mean_and_stddev_and_is_normal(void **state)
{
    enum { COUNT = 1000000 };
    const struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .mean_u = 0.3, .stddev_u = 0.02};
    const struct oto_rng_key key = oto_rng_key_make(11, "car/imu");
    double *values = malloc(COUNT * sizeof *values), bias = 0, sum = 0, squares = 0, lag = 0;
    (void)state;
    assert_non_null(values);
    for (uint64_t n = 0; n < COUNT; n++) {
        values[n] = apply(&law, &bias, 0.01, 0, 0, oto_normal_at(key, n + 1, 0, OTO_RNG_DOMAIN_SAMPLE, 0));
        const double z = (values[n] - 0.3) / 0.02;
        lag += n > 0 ? z * (values[n - 1] - 0.3) / 0.02 : 0;
        sum += z;
        squares += z * z;
    }
    /* 4 sigma: the mean spreads by 1/sqrt(N), the variance by sqrt(2/N), the product at lag 1 by 1/sqrt(N). */
    assert_near(sum / COUNT, 0, 4 / sqrt(COUNT));
    assert_near(squares / COUNT, 1, 4 * sqrt(2.0 / COUNT));
    assert_near(lag / COUNT, 0, 4 / sqrt(COUNT));
    qsort(values, COUNT, sizeof *values, ascending);
    assert_true(kolmogorov(values, COUNT, 0.3, 0.02) < 1.95 / sqrt(COUNT)); /* exceeded once in 1000 */
    free(values);
}

static void C17_the_mean_is_added_also_without_a_stddev(void **state)
{
    const struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .mean_u = 0.5};
    double bias = 0;
    (void)state;
    assert_near(apply(&law, &bias, 0.01, 1, 1, 1), 1.5, 0);
}

static void C18_the_bias_of_10000_loads_has_either_sign_and_its_stddev(void **state)
{
    enum { LOADS = 10000 };
    const struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .bias_mean_u = 0.5, .bias_stddev_u = 0.05};
    double positive = 0, sum = 0, squares = 0;
    (void)state;
    for (uint64_t i = 0; i < LOADS; i++) {
        const oto_philox_block block = oto_rng_block(oto_rng_key_make(i, "car/imu"), 0, 0, 1, OTO_RNG_DOMAIN_TURN_ON);
        const double bias = sdf_noise_load(&law, oto_normal_from_bits(block.v[0]), oto_u01(block.v[1]));
        const double z = (fabs(bias) - 0.5) / 0.05; /* ten sigma from zero: the magnitude undoes the sign */
        positive += bias > 0;
        sum += z;
        squares += z * z;
    }
    assert_near(positive / LOADS, 0.5, 4 * 0.5 / sqrt(LOADS)); /* 4 sigma of a fair coin */
    assert_near(sum / LOADS, 0, 4 / sqrt(LOADS));
    assert_near(squares / LOADS, 1, 4 * sqrt(2.0 / LOADS));
}

static void C18_the_sign_flips_below_one_half(void **state)
{
    const struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .bias_mean_u = 0.5};
    (void)state;
    assert_near(sdf_noise_load(&law, 3, 0.4999), -0.5, 0);
    assert_near(sdf_noise_load(&law, 3, 0.5), 0.5, 0);
}

/* ---- the moving bias ---- */

struct walk {
    double variance, correlation; /* at 2 s; between 2 s and 2.5 s */
};

/* Many paths of one law over 2.5 s in steps of dt; sigma 0.2, tau 0.8. */
static struct walk walk_paths(const struct sdf_noise *law, double dt_s, uint64_t paths)
{
    const struct oto_rng_key key = oto_rng_key_make(5, "walk");
    const uint64_t steps = (uint64_t)lround(2.0 / dt_s), more = (uint64_t)lround(0.5 / dt_s);
    double squares = 0, later_squares = 0, products = 0;
    for (uint64_t path = 0; path < paths; path++) {
        double bias = 0, before = 0;
        for (uint64_t n = 1; n <= steps + more; n++) {
            const double normal = oto_normal_at(key, n, path, OTO_RNG_DOMAIN_SAMPLE, 0);
            (void)apply(law, &bias, dt_s, 0, normal, 0);
            before = n == steps ? bias : before;
        }
        squares += before * before;
        later_squares += bias * bias;
        products += before * bias;
    }
    return (struct walk){squares / (double)paths, products / sqrt(squares * later_squares)};
}

static void C19_variance_and_autocorrelation_hold_at_two_rates(void **state)
{
    enum { PATHS = 20000 };
    const struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .dynamic_bias_stddev_u_rts = 0.2,
                                  .dynamic_bias_correlation_time_s = 0.8};
    const double stationary = 0.2 * 0.2 * 0.8 / 2, variance = stationary * (1 - exp(-2 * 2.0 / 0.8));
    const double later = stationary * (1 - exp(-2 * 2.5 / 0.8));
    const double correlation = exp(-0.5 / 0.8) * sqrt(variance / later);
    (void)state;
    for (int k = 0; k < 2; k++) {
        const struct walk walk = walk_paths(&law, k == 0 ? 0.1 : 0.02, PATHS);
        /* 4 sigma: a variance of N paths spreads by sqrt(2/N) (relative), a correlation r by (1 - r²)/sqrt(N). */
        assert_near(walk.variance, variance, 4 * sqrt(2.0 / PATHS) * variance);
        assert_near(walk.correlation, correlation, 4 * (1 - correlation * correlation) / sqrt(PATHS));
    }
}

static void C19_the_bias_of_the_load_decays_and_needs_time_to_pass(void **state)
{
    struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .dynamic_bias_stddev_u_rts = 0.1, .dynamic_bias_correlation_time_s = 2};
    double bias = 1;
    (void)state;
    (void)apply(&law, &bias, 0, 0, 3, 0);
    assert_near(bias, 1, 0);
    (void)apply(&law, &bias, 1, 0, 0, 0);
    assert_near(bias, exp(-0.5), 1e-15);
    law.dynamic_bias_correlation_time_s = 0;
    (void)apply(&law, &bias, 1, 0, 3, 0);
    assert_near(bias, exp(-0.5), 1e-15);
}

/* tau to infinity: a walk of dyn_sd sqrt(t). */
static void C19_a_long_correlation_time_is_a_random_walk(void **state)
{
    const struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .dynamic_bias_stddev_u_rts = 0.1,
                                  .dynamic_bias_correlation_time_s = 1e12};
    double bias = 0;
    (void)state;
    (void)apply(&law, &bias, 4, 0, 1, 0);
    assert_near(bias, 0.2, 1e-12);
}

static void C20_rounding_is_half_away_from_zero_and_idempotent(void **state)
{
    static const double cases[][2] = {{0.125, 0.25}, {-0.125, -0.25}, {0.124, 0}, {0.374, 0.25}, {0.375, 0.5}};
    const struct sdf_noise law = {SDF_NOISE_GAUSSIAN_QUANTIZED, .precision_u = 0.25};
    double bias = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double once = apply(&law, &bias, 0.01, cases[i][0], 0, 0);
        assert_near(once, cases[i][1], 0);
        assert_near(apply(&law, &bias, 0.01, once, 0, 0), once, 0);
    }
}

static void C20_a_precision_up_to_1e_6_rounds_nothing(void **state)
{
    struct sdf_noise law = {SDF_NOISE_GAUSSIAN, .precision_u = 1e-6};
    double bias = 0;
    (void)state;
    assert_near(apply(&law, &bias, 0.01, 1.23456789, 0, 0), 1.23456789, 0);
    law.precision_u = 1.1e-6;
    assert_true(apply(&law, &bias, 0.01, 1.23456789, 0, 0) != 1.23456789);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C16_C17_C18_C19_C20_the_golden_numbers_are_met),
        cmocka_unit_test(C16_C17_C18_C19_C20_every_row_of_the_reference_is_met),
        cmocka_unit_test(C16_type_none_gives_the_value_bit_by_bit),
        cmocka_unit_test(C16_both_gaussian_types_obey_the_precision),
        cmocka_unit_test(C17_white_noise_has_its_mean_and_stddev_and_is_normal),
        cmocka_unit_test(C17_the_mean_is_added_also_without_a_stddev),
        cmocka_unit_test(C18_the_bias_of_10000_loads_has_either_sign_and_its_stddev),
        cmocka_unit_test(C18_the_sign_flips_below_one_half),
        cmocka_unit_test(C19_variance_and_autocorrelation_hold_at_two_rates),
        cmocka_unit_test(C19_the_bias_of_the_load_decays_and_needs_time_to_pass),
        cmocka_unit_test(C19_a_long_correlation_time_is_a_random_walk),
        cmocka_unit_test(C20_rounding_is_half_away_from_zero_and_idempotent),
        cmocka_unit_test(C20_a_precision_up_to_1e_6_rounds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
