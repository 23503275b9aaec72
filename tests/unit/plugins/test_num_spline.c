#include "num_spline.h"
#include "otolith/detmath.h"
#include "oto_test.h"

#define MOST_ROWS 2000
#define MOST_POINTS 2100

struct fixture {
    struct num_spline_grid grid;
    double t_s[MOST_ROWS], value[MOST_ROWS], rate[MOST_ROWS];
    uint64_t unknown[MOST_POINTS];
    double work[MOST_POINTS * 7], control[MOST_POINTS];
};

static struct fixture f;

static void lay(uint64_t rows, double row_s, double knot_s)
{
    f.grid.start_s = 0.0;
    f.grid.intervals = (uint64_t)ceil((double)(rows - 1) * row_s / knot_s);
    f.grid.knot_s = (double)(rows - 1) * row_s / (double)f.grid.intervals;
    for (uint64_t i = 0; i < rows; i++)
        f.t_s[i] = (double)i * row_s;
    for (uint64_t i = 0; i < f.grid.intervals + 5; i++)
        f.unknown[i] = i;
}

static bool fit(uint64_t rows, bool with_rate, double smoothing_s)
{
    struct num_spline_rows r = {rows, f.t_s, f.value, with_rate ? f.rate : NULL, 1.0, 1.0, 1};
    double per_s = (double)rows / f.t_s[rows - 1];
    return num_spline_fit(&f.grid, &r,
                          per_s * pow(smoothing_s, 4.0) * (smoothing_s * smoothing_s + (with_rate ? 1.0 : 0.0)),
                          f.unknown, f.work, f.control);
}

static void at(double t_s, double *value, double *first, double *second)
{
    struct num_spline_basis basis;
    num_spline_basis_at(&f.grid, t_s, &basis);
    num_spline_combine(&basis, f.control, 1, value, first, second);
}

static void parabola_passes_whatever_the_smoothing(void **unused)
{
    (void)unused;
    lay(200, 0.05, 0.05);
    for (int i = 0; i < 200; i++)
        f.value[i] = 3.0 - 2.0 * f.t_s[i] + 0.7 * f.t_s[i] * f.t_s[i];
    for (double smoothing_s = 0.01; smoothing_s < 0.2; smoothing_s *= 3.0) {
        assert_true(fit(200, false, smoothing_s));
        for (double t = 0.0; t <= 9.95; t += 0.0371) {
            double value, first, second;
            at(t, &value, &first, &second);
            assert_near(value, 3.0 - 2.0 * t + 0.7 * t * t, 1e-9);
            assert_near(first, -2.0 + 1.4 * t, 1e-8);
            assert_near(second, 1.4, 1e-7);
        }
    }
}

/* The transfer function: 1/(1 + (omega tau)^6) for values; with rates of equal weight the same at omega tau = 1. */
static void a_sinusoid_of_one_over_the_time_constant_passes_at_half_amplitude(void **unused)
{
    (void)unused;
    for (int with_rate = 0; with_rate < 2; with_rate++) {
        const double tau_s = 0.3;
        double peak = 0.0;
        lay(2000, 0.02, 0.1);
        for (int i = 0; i < 2000; i++) {
            f.value[i] = oto_sin(f.t_s[i] / tau_s);
            f.rate[i] = oto_cos(f.t_s[i] / tau_s) / tau_s;
        }
        assert_true(fit(2000, with_rate != 0, tau_s));
        for (double t = 15.0; t < 25.0; t += 0.01) {
            double value, first, second;
            at(t, &value, &first, &second);
            peak = fmax(peak, fabs(value));
        }
        assert_near(peak, 0.5, 2e-3);
    }
}

static void value_and_derivatives_agree_and_join_smoothly(void **unused)
{
    (void)unused;
    lay(100, 0.05, 0.05);
    for (int i = 0; i < 100; i++)
        f.value[i] = oto_sin(3.0 * f.t_s[i]) + ((i * 7919) % 13) * 0.01;
    assert_true(fit(100, false, 0.05));
    for (double t = 0.1; t < 4.8; t += 0.0173) {
        const double h = 1e-4;
        double lo[3], mid[3], hi[3];
        at(t - h, &lo[0], &lo[1], &lo[2]);
        at(t, &mid[0], &mid[1], &mid[2]);
        at(t + h, &hi[0], &hi[1], &hi[2]);
        /* h²/6 of a third derivative that reaches 1e3. */
        assert_near(mid[1], (hi[0] - lo[0]) / (2.0 * h), 1e-5);
        assert_near(mid[2], (hi[1] - lo[1]) / (2.0 * h), 1e-3);
    }
    for (int k = 1; k < 98; k++) {
        double left[3], right[3], joint = (double)k * f.grid.knot_s;
        at(joint * (1.0 - 1e-15), &left[0], &left[1], &left[2]);
        at(joint * (1.0 + 1e-15), &right[0], &right[1], &right[2]);
        for (int d = 0; d < 3; d++)
            assert_near(left[d], right[d], 1e-10);
    }
}

static void equal_control_points_are_rest_and_nothing_but_rest(void **unused)
{
    (void)unused;
    lay(100, 0.05, 0.05);
    for (int i = 0; i < 100; i++)
        f.value[i] = 12345.678 + (i < 60 ? 0.0 : (f.t_s[i] - 3.0) * (f.t_s[i] - 3.0)) + ((i * 31) % 7) * 0.001;
    for (uint64_t i = 1; i < f.grid.intervals + 5; i++)
        f.unknown[i] = i <= 54 ? 0 : f.unknown[i - 1] + 1;
    assert_true(fit(100, false, 0.1));
    for (double t = 0.0; t < 2.49; t += 0.01) {
        double value, first, second, start, unused_rate, unused_accel;
        at(0.0, &start, &unused_rate, &unused_accel);
        at(t, &value, &first, &second);
        assert_near(value, start, 0.0);
        assert_near(first, 0.0, 0.0);
        assert_near(second, 0.0, 0.0);
    }
}

static void rows_that_do_not_determine_a_spline_are_refused(void **unused)
{
    (void)unused;
    lay(100, 0.05, 0.05);
    for (int i = 0; i < 100; i++)
        f.t_s[i] = 1.0;
    assert_false(num_spline_fit(&f.grid, &(struct num_spline_rows){100, f.t_s, f.value, NULL, 1.0, 0.0, 1}, 1.0,
                                f.unknown, f.work, f.control));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parabola_passes_whatever_the_smoothing),
        cmocka_unit_test(a_sinusoid_of_one_over_the_time_constant_passes_at_half_amplitude),
        cmocka_unit_test(value_and_derivatives_agree_and_join_smoothly),
        cmocka_unit_test(equal_control_points_are_rest_and_nothing_but_rest),
        cmocka_unit_test(rows_that_do_not_determine_a_spline_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
