/* Law mavs against numbers of the original code: rows A1-A13 of the MAVS reference table. */
#include "num_measure.h"
#include "oto_test.h"

enum {
    ID,
    SET,
    KIND,
    RANGE,
    RESOLUTION,
    CB,
    ND = CB + 3,
    BI = ND + 3,
    RW = BI + 3,
    MA = RW + 3,
    TB = MA + 3,
    TSF = TB + 3,
    TEMPERATURE = TSF + 3,
    RATE,
    W,
    IN,
    OUT = IN + 3,
    D = OUT + 3,
    Q = D + 3,
    COLUMNS = Q + 3
};

struct row {
    char set[32];
    double value[COLUMNS];
};

struct golden {
    struct row *rows;
    size_t count;
};

static struct golden read_golden(const char *path)
{
    struct golden golden = {NULL, 0};
    char line[2048];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] < '0' || line[0] > '9') {
            continue;
        }
        golden.rows = (struct row *)realloc(golden.rows, (golden.count + 1) * sizeof *golden.rows);
        struct row *row = &golden.rows[golden.count++];
        char *rest = line;
        for (int column = 0; column < COLUMNS; column++) {
            const char *cell = strsep(&rest, ",\n");
            assert_non_null(cell);
            row->value[column] = strtod(cell, NULL);
            if (column == SET) {
                (void)snprintf(row->set, sizeof row->set, "%s", cell);
            }
        }
    }
    (void)fclose(file);
    assert_true(golden.count > 0);
    return golden;
}

static struct num_triad_params params_of(const struct row *row)
{
    struct num_triad_params params;
    memset(&params, 0, sizeof params);
    params.measurement_range_u = row->value[RANGE];
    params.resolution_u = row->value[RESOLUTION];
    params.bias_instability_tau_min_s = 1;
    params.bias_instability_tau_max_s = 1000;
    memcpy(params.constant_bias_u, &row->value[CB], sizeof params.constant_bias_u);
    memcpy(params.noise_density_u_rthz, &row->value[ND], sizeof params.constant_bias_u);
    memcpy(params.bias_instability_u, &row->value[BI], sizeof params.constant_bias_u);
    memcpy(params.random_walk_u_rthz, &row->value[RW], sizeof params.constant_bias_u);
    memcpy(params.axis_misalignment_percent, &row->value[MA], sizeof params.constant_bias_u);
    memcpy(params.temperature_bias_u_degc, &row->value[TB], sizeof params.constant_bias_u);
    memcpy(params.temperature_scale_factor_percent_degc, &row->value[TSF], sizeof params.constant_bias_u);
    return params;
}

struct answer {
    double d[3], q[3]; /* before clamp, after rounding */
    uint32_t saturated;
};

/* One sample of one triad; with neither range nor resolution it is the value before the clamp. */
static uint32_t sample(const struct num_triad_params *params, double rate_hz, double w, double temperature_degc,
                       const double in[3], double out[3])
{
    const struct num_law_params law = {.law = NUM_LAW_MAVS, .w = w, .temperature_degc = NUM_TEMPERATURE_WORLD};
    const struct num_suite_setup setup = {
        .law = &law, .rate_hz = rate_hz, .slots = 1, .active = 1, .ids = {NUM_ACCELEROMETER}, .params = {params}};
    const double none[3] = {0, 0, 0};
    double walk_u[4] = {0}, instability[3][NUM_INSTABILITY_POLES] = {{0}}, measured_u[NUM_LANES];
    struct num_suite_plan plan;
    struct num_suite_job job = {.plan = &plan, .n = 1, .temperature_degc = temperature_degc, .truth_u = {in},
                                .specific_force_m_s2 = none, .walk_u = walk_u, .instability = instability,
                                .measured_u = measured_u};
    struct oto_error error = {0};
    assert_ok(num_suite_prepare(&setup, &plan, &error), error);
    plan.kernel->measure(&job, 1);
    const uint32_t saturated = job.saturated;
    memcpy(out, measured_u, 3 * sizeof *out);
    return saturated;
}

static struct answer measure(const struct num_triad_params *params, double rate_hz, double w, double temperature_degc,
                             const double in[3])
{
    struct num_triad_params open = *params;
    struct answer answer;
    open.measurement_range_u = open.resolution_u = 0;
    (void)sample(&open, rate_hz, w, temperature_degc, in, answer.d);
    answer.saturated = sample(params, rate_hz, w, temperature_degc, in, answer.q);
    return answer;
}

/* One row, bit for bit: the same operations in the same order on the same doubles. */
static void check_row(const struct row *row)
{
    const struct num_triad_params params = params_of(row);
    const struct answer answer =
        measure(&params, row->value[RATE], row->value[W], row->value[TEMPERATURE], &row->value[IN]);
    for (int i = 0; i < 3; i++) {
        const double d = row->value[D + i];
        const double range = row->value[RANGE];
        if (isnan(d)) {
            /* 2 Hz: the original's 0 · infinity. Here F1(0) = 0. */
            assert_true(row->value[RATE] == 2.0 && isfinite(answer.q[i]));
            continue;
        }
        if (answer.d[i] != d) {
            print_error("row %g, set %s\n", row->value[ID], row->set);
        }
        assert_near(answer.d[i], d, 0);
        assert_int_equal(answer.saturated >> i & 1, fabs(d) > range);
        /* Resolution 0: the original divides by it; here it means no rounding. */
        assert_near(answer.q[i], row->value[RESOLUTION] == 0 ? fmax(-range, fmin(range, d)) : row->value[Q + i], 0);
    }
}

static void check_file(const char *path, size_t at_least)
{
    const struct golden golden = read_golden(path);
    assert_true(golden.count >= at_least);
    for (size_t i = 0; i < golden.count; i++) {
        check_row(&golden.rows[i]);
    }
    free(golden.rows);
}

static void A1_to_A13_mavs_sets_kept_here_are_met_bit_for_bit(void **state)
{
    (void)state;
    check_file(OTO_SOURCE_DIR "/tests/golden/mavs_mems.csv", 20);
}

static void A8_to_A13_every_deterministic_row_of_mavs_is_met_bit_for_bit(void **state)
{
    char path[512];
    (void)state;
    check_file(oto_shared_file(path, sizeof path, "data/golden_mavs/mems_deterministic.csv"), 714);
}

static void A5_A6_A7_A12_every_row_with_injected_w_is_met_bit_for_bit(void **state)
{
    char path[512];
    (void)state;
    check_file(oto_shared_file(path, sizeof path, "data/golden_mavs/mems_w_injected.csv"), 1764);
}

static void A4_misalignment_row_i_carries_percentage_i(void **state)
{
    char path[512], line[512];
    (void)state;
    FILE *file = fopen(oto_shared_file(path, sizeof path, "data/golden_mavs/misalignment_matrix.csv"), "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    int rows = 0;
    for (; fgets(line, sizeof line, file) != NULL; rows++) {
        double value[12];
        char *rest = line;
        for (int i = 0; i < 12; i++) {
            value[i] = strtod(strsep(&rest, ",\n"), NULL);
        }
        struct num_triad_params params;
        memset(&params, 0, sizeof params);
        params.bias_instability_tau_min_s = params.bias_instability_tau_max_s = 1;
        memcpy(params.axis_misalignment_percent, value, sizeof params.axis_misalignment_percent);
        for (int column = 0; column < 3; column++) {
            const double unit[3] = {column == 0, column == 1, column == 2};
            const struct answer answer = measure(&params, 100, 0, 25, unit);
            for (int i = 0; i < 3; i++) {
                /* The file holds floats with nine digits. */
                assert_near(answer.d[i], value[3 + 3 * i + column], 5e-8);
            }
        }
    }
    assert_int_equal(rows, 13);
    (void)fclose(file);
}

static struct num_triad_params document_accelerometer(void)
{
    struct num_triad_params params;
    memset(&params, 0, sizeof params);
    params.measurement_range_u = 19.6;
    params.resolution_u = 0.598e-3;
    params.bias_instability_tau_min_s = params.bias_instability_tau_max_s = 1;
    for (int i = 0; i < 3; i++) {
        params.constant_bias_u[i] = 0.49;
        params.noise_density_u_rthz[i] = 3920e-6;
        params.temperature_bias_u_degc[i] = 0.294;
        params.temperature_scale_factor_percent_degc[i] = 0.02;
    }
    return params;
}

static void A12_values_checkable_by_hand_are_met(void **state)
{
    (void)state;
    const struct num_triad_params params = document_accelerometer();
    const struct {
        double w, temperature_degc, in[3], out[3];
    } cases[] = {
        {0, 25, {0, 0, 0}, {.489762, .489762, .489762}},
        {0, 25, {1, -1, .5}, {1.490216, -.510094, .990288}},
        {0, 25, {.123456, -2.34567809, 9.80665}, {.613548, -1.855594, 10.296364}},
        {1, 25, {0, 0, 0}, {.517868, .517868, .517868}},
        {2, 25, {0, 0, 0}, {.545376, .545376, .545376}},
        {0, -40, {2, 0, 0}, {-16.403738, -18.377736, -18.377736}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const struct answer answer = measure(&params, 100, cases[c].w, cases[c].temperature_degc, cases[c].in);
        for (int i = 0; i < 3; i++) {
            assert_near(answer.q[i], cases[c].out[i], 1e-6);
        }
    }
}

static void A27_document_example_is_met_within_one_digit_of_the_original(void **state)
{
    char path[512], line[512];
    (void)state;
    FILE *file = fopen(oto_shared_file(path, sizeof path, "data/golden_mavs/mems_doc_example.csv"), "re");
    const struct num_triad_params imu1 = document_accelerometer();
    struct num_triad_params imu2 = imu1; /* what the original's Python interface really sets: see A.5, 13 */
    int rows = 0;
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (int i = 0; i < 3; i++) {
        imu2.noise_density_u_rthz[i] = 0.025;
        imu2.constant_bias_u[i] = 0;
        imu2.temperature_bias_u_degc[i] = 0;
    }
    for (; fgets(line, sizeof line, file) != NULL; rows++) {
        double value[11];
        char *rest = line;
        for (int i = 0; i < 11; i++) {
            value[i] = strtod(strsep(&rest, ",\n"), NULL);
        }
        const double in[3] = {value[3], 0, 0};
        const struct answer first = measure(&imu1, 100, value[4], value[2], in);
        const struct answer second = measure(&imu2, 100, value[4], value[2], in);
        for (int i = 0; i < 3; i++) {
            assert_near(first.q[i], value[5 + i], 0.598e-3 * 1.001);
            assert_near(second.q[i], value[8 + i], 0.598e-3 * 1.001);
        }
    }
    assert_int_equal(rows, 2004);
    (void)fclose(file);
}

static void A11_halves_are_rounded_away_from_zero(void **state)
{
    const double cases[][2] = {{0.5, 1},
                               {1.5, 2},
                               {2.5, 3},
                               {0.49999999999999994, 0},
                               {0x1p52 - 0.5, 0x1p52},
                               {0x1p51 + 0.5, 0x1p51 + 1},
                               {4503599627370497.0, 4503599627370497.0},
                               {1e300, 1e300},
                               {0, 0},
                               {0.75, 1},
                               {1e-300, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_near(num_round_half_away(cases[i][0]), cases[i][1], 0);
        assert_near(num_round_half_away(-cases[i][0]), -cases[i][1], 0);
    }
    for (uint64_t i = 0; i < 100000; i++) {
        const double x = ldexp(oto_u11(oto_rng_block((struct oto_rng_key){7, 7}, i, 0, 0, 0).v[0]), (int)(i % 56));
        const double halves = 0.5 * floor(2 * x);
        assert_near(num_round_half_away(x), round(x), 0);
        assert_near(num_round_half_away(halves), round(halves), 0);
    }
}

static void A13_two_hertz_gives_no_infinity(void **state)
{
    (void)state;
    const struct num_triad_params params = document_accelerometer();
    const double in[3] = {1, -2, 3};
    const struct answer answer = measure(&params, 2, 0.7, 25, in);
    for (int i = 0; i < 3; i++) {
        assert_near(answer.d[i], in[i] + 0.49 + 0.7 * 3920e-6, 1e-15 * 8);
    }
    assert_int_equal(answer.saturated, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A1_to_A13_mavs_sets_kept_here_are_met_bit_for_bit),
        cmocka_unit_test(A8_to_A13_every_deterministic_row_of_mavs_is_met_bit_for_bit),
        cmocka_unit_test(A5_A6_A7_A12_every_row_with_injected_w_is_met_bit_for_bit),
        cmocka_unit_test(A4_misalignment_row_i_carries_percentage_i),
        cmocka_unit_test(A12_values_checkable_by_hand_are_met),
        cmocka_unit_test(A27_document_example_is_met_within_one_digit_of_the_original),
        cmocka_unit_test(A11_halves_are_rounded_away_from_zero),
        cmocka_unit_test(A13_two_hertz_gives_no_infinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
