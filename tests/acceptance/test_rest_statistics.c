/*
 * What comes out of the built plugin mems_imu at rest, as numbers alone: shape, tails, whiteness, independence of axes
 * and of triads, and the Gauss-Markov process in time. Seeds are fixed; every bound is five standard deviations of the
 * statistic under the law, or the quantile of the same two-sided probability, Q = 5.7e-7.
 */
#include "normal_law.h"
#include "rest.h"

#define SIGMAS NORMAL_SIGMAS
enum { DRAWS = REST_SANITIZED ? 20000 : 200000, POOL = DRAWS * REST_AXES };

/* White noise of both triads, divided by its sigma; axis after axis: 1.2 million draws. */
static int draw(void **state)
{
    const double sigma[2] = {1e-3 * sqrt(100.0), 2e-4 * sqrt(100.0)}; /* N √(fs/2) */
    double *z = malloc((size_t)POOL * sizeof *z);
    struct rest rest;
    rest_open(&rest, 200, 42);
    rest_set(&rest, "accelerometer.noise_density_m_s2_rthz", 1e-3);
    rest_set(&rest, "gyroscope.noise_density_rad_s_rthz", 2e-4);
    rest_start(&rest);
    for (int i = 0; i < DRAWS; i++) {
        double axes[REST_AXES];
        rest_sample(&rest, axes);
        for (int axis = 0; axis < REST_AXES; axis++) {
            z[axis * DRAWS + i] = axes[axis] / sigma[axis / 3];
        }
    }
    rest_close(&rest);
    *state = z;
    return 0;
}

static int drop(void **state)
{
    free(*state);
    return 0;
}

static void every_axis_has_the_moments_of_its_normal_law(void **state)
{
    for (int axis = 0; axis < REST_AXES; axis++) {
        const double *z = (const double *)*state + (ptrdiff_t)axis * DRAWS;
        double sum[5] = {0.0};
        for (int i = 0; i < DRAWS; i++) {
            const double square = z[i] * z[i];
            sum[1] += z[i];
            sum[2] += square;
            sum[3] += z[i] * square;
            sum[4] += square * square;
        }
        /* variance of z^k: E z^2k - (E z^k)² = 1, 2, 15, 96 */
        assert_near(sum[1] / DRAWS, 0.0, SIGMAS * sqrt(1.0 / DRAWS));
        assert_near(sum[2] / DRAWS, 1.0, SIGMAS * sqrt(2.0 / DRAWS));
        assert_near(sum[3] / DRAWS, 0.0, SIGMAS * sqrt(15.0 / DRAWS));
        assert_near(sum[4] / DRAWS, 3.0, SIGMAS * sqrt(96.0 / DRAWS));
    }
}

static void a_million_draws_pass_kolmogorov_and_smirnov(void **state)
{
    assert_normal_distribution(*state, POOL);
}

static void tails_hold_their_share_out_to_five_sigma(void **state)
{
    assert_normal_tails(*state, POOL);
}

static double lagged(const double *x, const double *y, int lag)
{
    double sum = 0.0;
    for (int i = 0; i < DRAWS - lag; i++) {
        sum += x[i] * y[i + lag];
    }
    return sum / sqrt(DRAWS - lag);
}

/* Each scaled autocorrelation is normal; the sum of LAGS squares is chi-squared (Box and Pierce): mean LAGS, variance
 * 2 LAGS, skewed, so its bound is Wilson and Hilferty's quantile at five sigmas. */
static void noise_is_white(void **state)
{
    enum { LAGS = 50 };
    const double part = 2.0 / (9.0 * LAGS);
    for (int axis = 0; axis < REST_AXES; axis++) {
        const double *z = (const double *)*state + (ptrdiff_t)axis * DRAWS;
        double sum = 0.0;
        for (int lag = 1; lag <= LAGS; lag++) {
            const double rho = lagged(z, z, lag);
            assert_near(rho, 0.0, SIGMAS);
            sum += rho * rho;
        }
        assert_near(cbrt(sum / LAGS), 1.0 - part, SIGMAS * sqrt(part));
    }
}

static void axes_and_triads_are_independent(void **state)
{
    for (int a = 0; a < REST_AXES; a++) {
        for (int b = 0; b < REST_AXES; b++) {
            const double *x = (const double *)*state + (ptrdiff_t)a * DRAWS;
            const double *y = (const double *)*state + (ptrdiff_t)b * DRAWS;
            double squares = 0.0;
            for (int lag = a < b ? 0 : 1; a != b && lag <= 3; lag++) {
                assert_near(lagged(x, y, lag), 0.0, SIGMAS);
            }
            for (int i = 0; a < b && i < DRAWS; i++) { /* dependence without correlation shows in the squares */
                squares += (x[i] * x[i] - 1.0) * (y[i] * y[i] - 1.0);
            }
            assert_near(squares / (2.0 * sqrt(DRAWS)), 0.0, SIGMAS); /* each factor has the variance 2 */
        }
    }
}

/* ---- the Gauss-Markov process in time ---- */

#define GM_B 1e-4 /* rad/s */
#define GM_TAU_S 2.0
/* The highest deviation of a process of unit variance is 0.6174 (its maximum at 1.893 T); the floor is 0.664 B. */
#define GM_VARIANCE (GM_B * 0.66428247026796006 / 0.61736428175016118 * GM_B * 0.66428247026796006 / 0.61736428175016118)

/* Bartlett: n var(c_k) = Σ_v (ρ_v² + ρ_{v+k} ρ_{v-k}) of the autocovariance at lag k in units of the variance. */
static double bartlett(double a, int k, double n)
{
    double sum = 0.0;
    const int far = (int)(-40.0 / log(a)) + 2 * k;
    for (int v = -far; v <= far; v++) {
        sum += pow(a, 2.0 * abs(v)) + pow(a, abs(v + k) + abs(v - k));
    }
    return sqrt(sum / n);
}

/*
 * dB/dt = -B/T + w, ⟨w w⟩ = σ_w² δ, has the variance σ_w² T/2 and the autocovariance σ_w² T/2 exp(-|t|/T), whatever the
 * rate at which it is sampled; over one period of dt it gains -σ_w² T/2 expm1(-2 dt/T), which the steps must show.
 */
static void gauss_markov_process_has_the_same_law_at_two_rates(void **state)
{
    static const double rates_hz[] = {20, 100};
    const double hours = REST_SANITIZED ? 0.2 : 3.0;
    static double axes[REST_AXES];
    (void)state;
    for (int r = 0; r < 2; r++) {
        const int n = (int)(hours * 3600.0 * rates_hz[r]), second = (int)rates_hz[r];
        const double a = exp(-1.0 / (rates_hz[r] * GM_TAU_S));
        double *x = malloc(3 * (size_t)n * sizeof *x);
        struct rest rest;
        rest_open(&rest, rates_hz[r], 7);
        rest_set(&rest, "gyroscope.bias_instability_rad_s", GM_B);
        rest_set(&rest, "gyroscope.bias_instability_tau_s", GM_TAU_S);
        rest_start(&rest);
        for (int i = 0; i < n; i++) {
            rest_sample(&rest, axes);
            for (int axis = 0; axis < 3; axis++) {
                x[axis * n + i] = axes[3 + axis] / sqrt(GM_VARIANCE);
            }
        }
        for (int axis = 0; axis < 3; axis++) {
            const double *one = x + axis * n;
            double gained = 0.0;
            for (int seconds = 0; seconds <= 6; seconds += 2) { /* the variance, and one to three correlation times */
                const int lag = seconds * second;
                double sum = 0.0;
                for (int i = 0; i + lag < n; i++) {
                    sum += one[i] * one[i + lag];
                }
                assert_near(sum / (n - lag), exp(-seconds / GM_TAU_S), SIGMAS * bartlett(a, lag, n - lag));
            }
            for (int i = 1; i < n; i++) {
                gained += (one[i] - a * one[i - 1]) * (one[i] - a * one[i - 1]);
            }
            assert_near(gained / (n - 1) / -expm1(-2.0 / (rates_hz[r] * GM_TAU_S)), 1.0, SIGMAS * sqrt(2.0 / (n - 1)));
        }
        free(x);
        rest_close(&rest);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_axis_has_the_moments_of_its_normal_law),
        cmocka_unit_test(a_million_draws_pass_kolmogorov_and_smirnov),
        cmocka_unit_test(tails_hold_their_share_out_to_five_sigma),
        cmocka_unit_test(noise_is_white),
        cmocka_unit_test(axes_and_triads_are_independent),
        cmocka_unit_test(gauss_markov_process_has_the_same_law_at_two_rates),
    };
    return cmocka_run_group_tests(tests, draw, drop);
}
