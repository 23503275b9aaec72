/*
 * Simulated rest gives back what the parameters say: N and B from two hours at 50, 200 and 1000 Hz, K from a day at
 * 50 Hz, for three grades of part, on every axis of the built plugin mems_imu, by the estimator of `otolith allan`.
 *
 * The tolerance of each number is its standard error where the parameters are the truth (allan_standard_errors derives
 * it: allan_error.c), as an interval of chi-squared shape for its square, at the level that the whole family of checks
 * passes with 99 %: Šidák, 1 - 0.99^(1/CHECKS) a check. B's floor itself is flat to 1 % over the stated range
 * (test_mems_terms proves that), which is added for B alone.
 */
#include "allan/allan.h"
#include "rest.h"

#define DEGREE (3.14159265358979323846 / 180.0)
#define MILLI_G 9.80665e-3
#define FLOOR 0.66428247026796006

struct grade {
    const char *name, *psd;
    double accelerometer_density, gyroscope_density; /* m/s²/√Hz, rad/s/√Hz, of the convention `psd` */
    double accelerometer_b, gyroscope_b;             /* m/s², rad/s */
    double turn_s; /* no sheet gives K: the walk's deviation meets the floor at this averaging time */
};

/*
 * Densities and the in-run bias stability from configs/parts: bosch/bmi270 (mdps/√Hz, mg/√Hz), adi/adis16470 (°/s/√Hz,
 * °/h, µg), adi/adis16495-1 (°/√h, °/h, µg). What those leave out is of the order of published Allan curves of such
 * parts: consumer B 10 °/h and 40 µg; 0.037 and 0.008 m/s/√h of the two others' accelerometers.
 */
static const struct grade grades[] = {
    {"consumer", "single", 0.16 * MILLI_G, 7e-3 * DEGREE, 0.040 * MILLI_G, 10.0 / 3600.0 * DEGREE, 500.0},
    {"automotive", "single", 0.037 / 60.0 * 1.4142135623730951, 8e-3 * DEGREE, 0.013 * MILLI_G, 8.0 / 3600.0 * DEGREE, 1000.0},
    {"tactical", "double", 0.008 / 60.0, 0.09 / 60.0 * DEGREE, 0.0032 * MILLI_G, 0.8 / 3600.0 * DEGREE, 2000.0},
};
enum { GRADES = sizeof grades / sizeof *grades };

/* The floor is stated for five decades of averaging time, and fitted there: from ten samples at 50 Hz on. */
#define TAU_MIN_S 0.2
#define TAU_MAX_S 20000.0

/* Two coefficients of three rates and one of the long run. */
enum { CHECKS = GRADES * REST_AXES * (3 * 2 + 1) };

/* Quantile of the normal law for the two-sided level 1 - 0.99^(1/CHECKS): by bisection. */
static double family_sigmas(void)
{
    const double level = 1.0 - pow(0.99, 1.0 / CHECKS);
    double low = 0.0, high = 10.0;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        *(erfc(middle * sqrt(0.5)) > level ? &low : &high) = middle;
    }
    return low;
}

static struct allan_fit truth_of(const struct grade *grade, int axis)
{
    const double density = axis < 3 ? grade->accelerometer_density : grade->gyroscope_density;
    const double b = axis < 3 ? grade->accelerometer_b : grade->gyroscope_b;
    return (struct allan_fit){.n = strcmp(grade->psd, "single") == 0 ? density * sqrt(0.5) : density,
                              .b = b,
                              .k = FLOOR * b * sqrt(3.0 / grade->turn_s)};
}

static void open_grade(struct rest *rest, const struct grade *grade, double rate_hz, uint64_t seed)
{
    rest_open(rest, rate_hz, seed);
    rest_set_text(rest, "psd", grade->psd);
    rest_set(rest, "accelerometer.noise_density_m_s2_rthz", grade->accelerometer_density);
    rest_set(rest, "gyroscope.noise_density_rad_s_rthz", grade->gyroscope_density);
    rest_set(rest, "accelerometer.bias_instability_m_s2", grade->accelerometer_b);
    rest_set(rest, "gyroscope.bias_instability_rad_s", grade->gyroscope_b);
    rest_set(rest, "accelerometer.random_walk_m_s2_rthz", truth_of(grade, 0).k);
    rest_set(rest, "gyroscope.random_walk_rad_s_rthz", truth_of(grade, 3).k);
    static const char *const triads[] = {"accelerometer", "gyroscope"};
    for (int i = 0; i < 2; i++) {
        char key[64];
        (void)snprintf(key, sizeof key, "%s.bias_instability_tau_min_s", triads[i]);
        rest_set(rest, key, TAU_MIN_S);
        (void)snprintf(key, sizeof key, "%s.bias_instability_tau_max_s", triads[i]);
        rest_set(rest, key, TAU_MAX_S);
    }
    rest_start(rest);
}

/* Five averaging times a decade: neighbours share most of what they know. */
static void estimate(struct rest *rest, uint64_t samples, struct allan *estimators[REST_AXES])
{
    enum { BLOCK = 1000 };
    static double block[REST_AXES][BLOCK];
    for (int axis = 0; axis < REST_AXES; axis++) {
        estimators[axis] = allan_create(5);
    }
    for (uint64_t done = 0; done < samples; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            double axes[REST_AXES];
            rest_sample(rest, axes);
            for (int axis = 0; axis < REST_AXES; axis++) {
                block[axis][i] = axes[axis];
            }
        }
        for (int axis = 0; axis < REST_AXES; axis++) {
            assert_int_equal(allan_add(estimators[axis], block[axis], BLOCK), OTO_OK);
        }
    }
}

/* x² of ν = 2 (x²/se(x²))² = (x/se)²/2 degrees of freedom: Wilson and Hilferty's quantiles, se(x²) = 2 x se. */
static bool within(const char *what, double found, double truth, double error, double systematic)
{
    const double part = 2.0 / (9.0 * 0.5 * (truth / error) * (truth / error)), sigmas = family_sigmas();
    const double low = fmax(0.0, 1.0 - part - sigmas * sqrt(part)), high = 1.0 - part + sigmas * sqrt(part);
    const double least = truth * (low * sqrt(low) - systematic), most = truth * (high * sqrt(high) + systematic);
    const bool good = found >= least && found <= most;
    print_message("  %s %-10.4g is %.4g, %+.2f standard errors; accepted %.4g … %.4g%s\n", what, truth, found,
                  (found - truth) / error, least, most, good ? "" : "  <-- NOT");
    return good;
}

static int check(struct allan *estimator, double rate_hz, struct allan_fit truth, bool is_long)
{
    static const struct allan_fit_options options = {TAU_MIN_S, TAU_MAX_S, ALLAN_N | ALLAN_B | ALLAN_K};
    struct allan_point points[ALLAN_MAX_POINTS];
    struct allan_fit fit;
    const size_t count = allan_points(estimator, rate_hz, points, ALLAN_MAX_POINTS);
    allan_fit(points, count, allan_count(estimator), &options, &fit);
    assert_true(allan_standard_errors(points, count, allan_count(estimator), &options, &truth));
    if (is_long) {
        return !within("K", fit.k, truth.k, truth.k_se, 0.0);
    }
    return !within("N", fit.n, truth.n, truth.n_se, 0.0) + !within("B", fit.b, truth.b, truth.b_se, 0.01);
}

/* Every run has a seed of its own: the checks of different runs are independent. */
static int run(const struct grade *grade, uint64_t seed, double rate_hz, double hours, bool is_long)
{
    struct rest rest;
    struct allan *estimators[REST_AXES];
    int misses = 0;
    if (REST_SANITIZED) {
        hours *= 0.02;
        print_message("built with a sanitizer: %g h in place of %g h, nothing is compared\n", hours, 50.0 * hours);
    }
    open_grade(&rest, grade, rate_hz, seed);
    estimate(&rest, (uint64_t)(hours * 3600.0 * rate_hz), estimators);
    for (int axis = 0; axis < REST_AXES; axis++) {
        print_message("%s, %g h at %g Hz, %s %c\n", grade->name, hours, rate_hz, axis < 3 ? "accelerometer" : "gyroscope",
                      "xyz"[axis % 3]);
        misses += REST_SANITIZED ? 0 : check(estimators[axis], rate_hz, truth_of(grade, axis), is_long);
        allan_destroy(estimators[axis]);
    }
    rest_close(&rest);
    return misses;
}

static void two_hours_of_rest_give_back_n_and_b_at_three_rates(void **state)
{
    static const double rates_hz[] = {50, 200, 1000};
    int misses = 0;
    (void)state;
    for (int g = 0; g < GRADES; g++) {
        for (int r = 0; r < 3; r++) {
            misses += run(&grades[g], (uint64_t)(4 * g + r), rates_hz[r], 2.0, false);
        }
    }
    assert_int_equal(misses, 0);
}

static void a_day_of_rest_gives_back_k(void **state)
{
    int misses = 0;
    (void)state;
    for (int g = 0; g < GRADES; g++) {
        misses += run(&grades[g], (uint64_t)(4 * g + 3), 50.0, 24.0, true);
    }
    assert_int_equal(misses, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_hours_of_rest_give_back_n_and_b_at_three_rates),
        cmocka_unit_test(a_day_of_rest_gives_back_k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
