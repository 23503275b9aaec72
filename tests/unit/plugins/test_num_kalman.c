/* The numerics of the estimators: Cholesky, the update in Joseph's form, chi-square quantiles. */
#include "num_cholesky.h"
#include "num_kalman.h"
#include "oto_test.h"
#include "otolith/rng.h"

enum { N = 6 };

static double normal(uint64_t n)
{
    return oto_normal_at(oto_rng_key_make(5, "kalman"), n, 0, 0, 0);
}

/* A Aᵀ + small diagonal. */
static void make_covariance(uint64_t seed, uint32_t n, double *p)
{
    double a[NUM_MATRIX_MOST * NUM_MATRIX_MOST];
    for (uint32_t i = 0; i < n * n; i++) {
        a[i] = normal(seed * 1000 + i);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            p[i * n + j] = i == j ? 0.1 : 0.0;
            for (uint32_t k = 0; k < n; k++) {
                p[i * n + j] += a[i * n + k] * a[j * n + k];
            }
        }
    }
}

static void make_row(uint64_t seed, uint32_t m, struct num_kalman_row *row)
{
    memset(row, 0, sizeof *row);
    row->m = m;
    row->considered = 0;
    for (uint32_t i = 0; i < m * N; i++) {
        row->jacobian[i] = i % 4 == 3 ? 0.0 : normal(seed * 77 + i);
    }
    for (uint32_t i = 0; i < m; i++) {
        row->innovation[i] = normal(seed * 99 + i);
    }
    make_covariance(seed + 50, m, row->noise);
}

static void a_factor_times_its_transpose_is_the_matrix(void **unused)
{
    double p[N * N], l[N * N], x[N], y[N];
    (void)unused;
    make_covariance(1, N, p);
    memcpy(l, p, sizeof p);
    assert_true(num_cholesky(N, l));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k <= j; k++) {
                sum += l[i * N + k] * l[j * N + k];
            }
            assert_near(sum, p[i * N + j], 1e-13 * fabs(p[i * N + i]));
        }
        x[i] = y[i] = normal(300 + (uint64_t)i);
    }
    num_cholesky_forward(N, l, x);
    num_cholesky_backward(N, l, x);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) {
            sum += p[i * N + j] * x[j];
        }
        assert_near(sum, y[i], 1e-11);
    }
}

static void what_is_not_positive_has_no_factor(void **unused)
{
    double same[4] = {1, 1, 1, 1}, negative[4] = {1, 2, 2, 1}, zero[1] = {0}, nan_[1] = {NAN}, infinite[1] = {INFINITY};
    (void)unused;
    assert_false(num_cholesky(2, same));
    assert_false(num_cholesky(2, negative));
    assert_false(num_cholesky(1, zero));
    assert_false(num_cholesky(1, nan_));
    assert_false(num_cholesky(1, infinite));
}

/* The form as it is printed, with S inverted column by column. */
static void textbook(const struct num_kalman_row *row, const double *p, const double *dx_gain, double *next)
{
    double ikh[N * N], left[N * N];
    const uint32_t m = row->m;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            ikh[i * N + j] = i == j ? 1.0 : 0.0;
            for (uint32_t k = 0; k < m; k++) {
                ikh[i * N + j] -= dx_gain[(uint32_t)i * m + k] * row->jacobian[k * N + (uint32_t)j];
            }
        }
    }
    num_matrix_mul(N, N, N, ikh, p, left);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++) {
                sum += left[i * N + k] * ikh[j * N + k];
            }
            for (uint32_t a = 0; a < m; a++) {
                for (uint32_t b = 0; b < m; b++) {
                    sum += dx_gain[(uint32_t)i * m + a] * row->noise[a * m + b] * dx_gain[(uint32_t)j * m + b];
                }
            }
            next[i * N + j] = sum;
        }
    }
}

static void gain_column_by_column(const struct num_kalman_row *row, const double *p, double *gain)
{
    struct num_kalman_row one = *row;
    for (uint32_t k = 0; k < row->m; k++) {
        double spare[N * N], dx[N];
        memcpy(spare, p, sizeof spare);
        for (uint32_t i = 0; i < row->m; i++) {
            one.innovation[i] = i == k;
        }
        assert_int_equal(num_kalman_update(N, &one, spare, dx), NUM_KALMAN_USED);
        for (uint32_t i = 0; i < N; i++) {
            gain[i * row->m + k] = dx[i];
        }
    }
}

static void the_update_is_josephs_form_and_symmetric_to_the_last_bit(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        double p[N * N], before[N * N], next[N * N], dx[N], gain[N * NUM_KALMAN_ROWS];
        struct num_kalman_row row;
        make_covariance(seed, N, p);
        memcpy(before, p, sizeof p);
        make_row(seed, 1 + (uint32_t)(seed % 3), &row);
        row.considered = seed % 2 == 0 ? 1u << (seed % N) : 0;
        gain_column_by_column(&row, p, gain);
        textbook(&row, before, gain, next);
        assert_int_equal(num_kalman_update(N, &row, p, dx), NUM_KALMAN_USED);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                assert_near(p[i * N + j], next[i * N + j], 1e-11);
                assert_true(p[i * N + j] == p[j * N + i]);
            }
        }
    }
}

static void of_one_state_it_is_the_weighted_mean(void **unused)
{
    double p[1] = {4}, dx[1];
    struct num_kalman_row row = {.m = 1, .innovation = {3}, .jacobian = {1}, .noise = {2}};
    (void)unused;
    assert_int_equal(num_kalman_update(1, &row, p, dx), NUM_KALMAN_USED);
    assert_near(dx[0], 2.0, 1e-15);
    assert_near(p[0], 4.0 / 3.0, 1e-15);
    assert_near(row.nis, 1.5, 1e-15);
    assert_near(row.sigma[0], sqrt(6.0), 1e-15);
}

/* Schmidt: the second state stays, and what it adds to the measurement counts as noise: 4/(4 + 9 + 2) of the innovation. */
static void a_considered_state_is_not_corrected_and_its_variance_counts(void **unused)
{
    double p[4] = {4, 0, 0, 9}, dx[2];
    struct num_kalman_row row = {.m = 1, .considered = 2, .innovation = {3}, .jacobian = {1, 1}, .noise = {2}};
    const double k = 4.0 / 15.0;
    (void)unused;
    assert_int_equal(num_kalman_update(2, &row, p, dx), NUM_KALMAN_USED);
    assert_near(dx[0], 3.0 * k, 1e-15);
    assert_near(dx[1], 0.0, 0.0);
    assert_near(p[0], 4.0 * (1.0 - k), 1e-14); /* (1 − k)² 4 + k² (9 + 2) */
    assert_near(p[1], -9.0 * k, 1e-14);
    assert_near(p[3], 9.0, 0.0);
}

static void expect_untouched(struct num_kalman_row row, const double *p, enum num_kalman_result result)
{
    double after[N * N], dx[N];
    memcpy(after, p, sizeof after);
    assert_int_equal(num_kalman_update(N, &row, after, dx), result);
    assert_memory_equal(after, p, sizeof after);
}

static void what_cannot_be_used_changes_nothing(void **unused)
{
    double p[N * N], none[N * N] = {0};
    struct num_kalman_row row, bad;
    (void)unused;
    make_covariance(3, N, p);
    make_row(3, 2, &row);
    bad = row;
    bad.gate = 1e-6;
    expect_untouched(bad, p, NUM_KALMAN_GATED);
    bad = row;
    bad.innovation[1] = NAN;
    expect_untouched(bad, p, NUM_KALMAN_NON_FINITE);
    bad.innovation[1] = 1e300;
    expect_untouched(bad, p, NUM_KALMAN_NON_FINITE);
    bad = row;
    bad.jacobian[2] = NAN;
    expect_untouched(bad, p, NUM_KALMAN_SINGULAR);
    bad = row;
    memset(bad.noise, 0, sizeof bad.noise);
    expect_untouched(bad, none, NUM_KALMAN_SINGULAR);
}

/* An ill-conditioned fight: nearly perfect measurements of one sum, again and again. */
static void a_covariance_stays_positive_over_100000_nearly_perfect_updates(void **unused)
{
    double p[N * N], dx[N], l[N * N];
    (void)unused;
    make_covariance(9, N, p);
    for (uint64_t i = 0; i < 100000; i++) {
        struct num_kalman_row row = {.m = 1, .innovation = {0.1}, .noise = {1e-12}};
        for (uint32_t k = 0; k < N; k++) {
            row.jacobian[k] = (i + k) % 3 == 0 ? 1.0 : 1e-3;
            p[k * N + k] += 1e-9;
        }
        assert_int_equal(num_kalman_update(N, &row, p, dx), NUM_KALMAN_USED);
    }
    memcpy(l, p, sizeof l);
    assert_true(num_cholesky(N, l));
}

static void chi_square_quantiles_are_those_of_the_tables(void **unused)
{
    static const struct {
        double probability;
        uint32_t degrees;
        double quantile;
    } rows[] = {/* Abramowitz & Stegun, table 26.8 */
                {0.95, 1, 3.84146},  {0.95, 2, 5.99146},  {0.95, 3, 7.81473},   {0.99, 1, 6.63490},   {0.999, 3, 16.2662},
                {0.025, 10, 3.24697}, {0.975, 10, 20.4831}, {0.5, 100, 99.3341}, {0.975, 100, 129.561}, {0.025, 100, 74.2219}};
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_near(num_chi2_quantile(rows[i].probability, rows[i].degrees), rows[i].quantile, 6e-6 * rows[i].quantile + 5e-6);
    }
    /* Wilson & Hilferty far out: d (1 - 2/(9d) + z sqrt(2/(9d)))³, good to 1e-4 there */
    assert_near(num_chi2_quantile(0.975, 40000), 40000 * pow(1 - 2 / 360000.0 + 1.959964 * sqrt(2 / 360000.0), 3), 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_times_its_transpose_is_the_matrix),
        cmocka_unit_test(what_is_not_positive_has_no_factor),
        cmocka_unit_test(the_update_is_josephs_form_and_symmetric_to_the_last_bit),
        cmocka_unit_test(of_one_state_it_is_the_weighted_mean),
        cmocka_unit_test(a_considered_state_is_not_corrected_and_its_variance_counts),
        cmocka_unit_test(what_cannot_be_used_changes_nothing),
        cmocka_unit_test(a_covariance_stays_positive_over_100000_nearly_perfect_updates),
        cmocka_unit_test(chi_square_quantiles_are_those_of_the_tables),
    };
    return cmocka_run_group_tests_name("num_kalman", tests, NULL, NULL);
}
