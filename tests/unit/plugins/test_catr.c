/* The CATR formula: rows B5, B6, B12-B14, B17, B18 of the reference tables. */
#include "num_catr.h"
#include "oto_test.h"

#define COLUMNS (6 + 1 + 6 + 36)

static const double *members(const struct num_catr *state)
{
    return &state->x_m;
}

static struct num_catr state_of(const double value[6])
{
    return (struct num_catr){value[0], value[1], value[2], value[3], value[4], value[5]};
}

/* Largest error of state and Jacobian in units of the row's scale: the largest number that went into the sums. */
static void check_row(const double value[COLUMNS], double *worst_state, double *worst_jacobian)
{
    struct num_catr state = state_of(value), next;
    double dt_s = value[6], j[6][6];
    double scale = 1.0 + fabs(value[0]) + fabs(value[1]) + fabs(value[4]) + fabs(value[5] * dt_s) +
                   fabs(value[2] * dt_s) + fabs(value[3] * dt_s * dt_s);
    double scale_j = 1.0;
    num_catr_jacobian_and_predict(&state, dt_s, j, &next);
    for (int i = 0; i < 36; i++)
        scale_j = fmax(scale_j, fabs(value[13 + i]));
    for (int i = 0; i < 6; i++)
        *worst_state = fmax(*worst_state, fabs(members(&next)[i] - value[7 + i]) / scale);
    for (int i = 0; i < 36; i++)
        *worst_jacobian = fmax(*worst_jacobian, fabs(j[i / 6][i % 6] - value[13 + i]) / scale_j);
}

static void check_file(const char *path)
{
    double worst_state = 0.0, worst_jacobian = 0.0;
    char line[4096];
    int rows = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        double value[COLUMNS];
        char *rest = line;
        if (strchr("0123456789-", line[0]) == NULL)
            continue;
        for (int column = 0; column < COLUMNS; column++) {
            const char *cell = strsep(&rest, ",\n");
            assert_non_null(cell);
            value[column] = strtod(cell, NULL);
        }
        check_row(value, &worst_state, &worst_jacobian);
        rows++;
    }
    (void)fclose(file);
    print_message("%d rows: state within %.2g, Jacobian within %.2g of scale\n", rows, worst_state, worst_jacobian);
    assert_true(rows > 50);
    assert_true(worst_state <= 1e-12);
    assert_true(worst_jacobian <= 1e-12);
}

static void B5_B6_state_and_jacobian_meet_quadrature_for_every_turn_rate(void **unused)
{
    (void)unused;
    check_file(OTO_SOURCE_DIR "/tests/golden/catr.csv");
}

static void B5_B6_state_and_jacobian_meet_every_reference_row(void **unused)
{
    char path[512];
    (void)unused;
    check_file(oto_shared_file(path, sizeof path, "data/golden_motion/catr_golden.csv"));
}

static void B12_B13_predicting_in_place_and_into_an_output_are_the_same(void **unused)
{
    const struct num_catr start = {1.0, 2.0, 13.0, 1.5, 0.7, -0.4};
    struct num_catr in_place = start, out, kept = start;
    (void)unused;
    num_catr_predict(&kept, 0.25, &out);
    num_catr_predict(&in_place, 0.25, &in_place);
    assert_memory_equal(&kept, &start, sizeof start);
    assert_memory_equal(&in_place, &out, sizeof out);
}

static void B13_two_steps_are_one_step_of_their_sum(void **unused)
{
    const struct num_catr start = {1.0, 2.0, 13.0, 1.5, 0.7, -0.4};
    struct num_catr two, one;
    (void)unused;
    num_catr_predict(&start, 0.3, &two);
    num_catr_predict(&two, 4.2, &two);
    num_catr_predict(&start, 4.5, &one);
    for (int i = 0; i < 6; i++)
        assert_near(members(&two)[i], members(&one)[i], 1e-12 * 100.0);
}

static void B14_jacobian_then_predict_is_bitwise_the_two_calls(void **unused)
{
    const struct num_catr start = {1.0, 2.0, 13.0, 1.5, 0.7, -0.4};
    struct num_catr both = start;
    double j[6][6], j_both[6][6];
    (void)unused;
    num_catr_jacobian(&start, 1.7, j);
    num_catr_jacobian_and_predict(&both, 1.7, j_both, &both);
    assert_memory_equal(j, j_both, sizeof j);
    num_catr_predict(&start, 1.7, &both);
    num_catr_jacobian_and_predict(&start, 1.7, j_both, &both);
    assert_memory_equal(j, j_both, sizeof j);
}

/* What is fast gives the bits of what is plain; how fast it is, `otolith-bench model` says. */
static void B24_the_fast_ways_give_the_same_bits(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3000; i++) {
        const double heading_rad = -40.0 + 0.0267 * i;
        const struct num_catr state = {1.0, 2.0, 13.0, -1.5, heading_rad, 0.002 * i - 3.0};
        const struct num_direction cached = num_direction_of(heading_rad);
        struct num_catr plain, fast;
        double sine = oto_sin(heading_rad), cosine = oto_cos(heading_rad);
        assert_memory_equal(&cached.sine, &sine, sizeof sine);
        assert_memory_equal(&cached.cosine, &cosine, sizeof cosine);
        num_catr_predict(&state, 0.25, &plain);
        num_catr_predict_towards(&state, cached, 0.25, &fast);
        assert_memory_equal(&plain, &fast, sizeof plain);
    }
}

static void B17_no_time_is_the_identity_and_negative_time_goes_back(void **unused)
{
    const struct num_catr start = {1.0, 2.0, 13.0, 1.5, 0.7, -0.4};
    struct num_catr next;
    double j[6][6];
    (void)unused;
    num_catr_jacobian_and_predict(&start, 0.0, j, &next);
    assert_memory_equal(&next, &start, sizeof start);
    for (int i = 0; i < 36; i++)
        assert_near(j[i / 6][i % 6], i / 6 == i % 6 ? 1.0 : 0.0, 0.0);
    num_catr_predict(&start, 5.0, &next);
    num_catr_predict(&next, -5.0, &next);
    for (int i = 0; i < 6; i++)
        assert_near(members(&next)[i], members(&start)[i], 1e-12 * 100.0);
}

/* Neighbours on either side of any turn rate differ by what the derivative says: no threshold shows. */
static void B18_there_is_no_step_between_turn_rates(void **unused)
{
    (void)unused;
    for (double w = 1e-12; w < 10.0; w *= 1.07) {
        const struct num_catr low = {0.0, 0.0, 13.0, 1.0, 0.3, w};
        struct num_catr high = low, next_low, next_high;
        double j[6][6], dw;
        high.turn_rate_rad_s = w * (1.0 + 1e-7);
        dw = high.turn_rate_rad_s - w;
        num_catr_jacobian_and_predict(&low, 1.0, j, &next_low);
        num_catr_predict(&high, 1.0, &next_high);
        assert_near(next_high.x_m - next_low.x_m, j[0][5] * dw, 1e-14 * 20.0 + 20.0 * dw * dw);
        assert_near(next_high.y_m - next_low.y_m, j[1][5] * dw, 1e-14 * 20.0 + 20.0 * dw * dw);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B5_B6_state_and_jacobian_meet_quadrature_for_every_turn_rate),
        cmocka_unit_test(B5_B6_state_and_jacobian_meet_every_reference_row),
        cmocka_unit_test(B12_B13_predicting_in_place_and_into_an_output_are_the_same),
        cmocka_unit_test(B13_two_steps_are_one_step_of_their_sum),
        cmocka_unit_test(B14_jacobian_then_predict_is_bitwise_the_two_calls),
        cmocka_unit_test(B17_no_time_is_the_identity_and_negative_time_goes_back),
        cmocka_unit_test(B18_there_is_no_step_between_turn_rates),
        cmocka_unit_test(B24_the_fast_ways_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
