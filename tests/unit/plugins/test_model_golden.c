/*
 * The motion models against numbers from outside: the reference tables (rows B2–B7, B19, B20) and the cases of
 * Autoware.Auto's unit tests (numbers: Apache-2.0, src/common/motion_model/test at f35a2267 and b64ec74b).
 *
 * Two of those tests demand what is wrong, and stand here as corrected: CatrModel's cv_jacobian and ca_jacobian want
 * dx/dw = dy/dw = 0 at turn rate 0, where a turn rate bends the path as everywhere else; true are -0.0025, +0.0043301
 * and +0.0160278 twice.
 */
#include "model_cases.h"

enum { MOST_COLUMNS = 64 };

struct table {
    char names[MOST_COLUMNS][32];
    int columns;
};

struct row {
    const struct table *table;
    char *cells[MOST_COLUMNS];
};

struct worst {
    double state, jacobian, derived;
    int rows;
};

static int column_of(const struct table *table, const char *name)
{
    for (int i = 0; i < table->columns; i++) {
        if (strcmp(table->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

static double value(const struct row *row, const char *name)
{
    const int column = column_of(row->table, name);
    if (column < 0) {
        print_error("there is no column %s\n", name);
        fail();
    }
    return strtod(row->cells[column], NULL);
}

static double after(const struct row *row, const char *name)
{
    char with_next[64];
    (void)snprintf(with_next, sizeof with_next, "%s_next", name);
    return value(row, with_next);
}

union constants {
    struct num_bicycle_constants bicycle;
    struct num_tyre_constants tyre;
};

static union constants constants_of(const struct num_model *model, const struct row *row)
{
    union constants c = {0};
    if (model == &num_model_kinematic_bicycle) {
        c.bicycle = (struct num_bicycle_constants){value(row, "L_f"), value(row, "L_r"), value(row, "delta"), value(row, "ax")};
    } else if (model == &num_model_linear_tyre) {
        const bool snippet = strcmp(row->cells[column_of(row->table, "sign_convention")], "snippet") == 0;
        c.tyre = (struct num_tyre_constants){value(row, "L_f"), value(row, "L_r"), value(row, "C_f"), value(row, "C_r"),
                                             value(row, "m"), value(row, "I"), value(row, "jx"), value(row, "delta_dot"), 0.5,
                                             snippet ? NUM_TYRE_SNIPPET : NUM_TYRE_CONVENTIONAL};
    }
    return c;
}

static void check_jacobian(const struct num_model *model, const struct row *row, const double *jacobian, struct worst *worst)
{
    const uint32_t n = model->state_count;
    double scale = 1.0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n * n; i++) {
            char name[64];
            (void)snprintf(name, sizeof name, "J_%s_%s", model->states[i / n].name, model->states[i % n].name);
            const double want = value(row, name);
            scale = fmax(scale, fabs(want));
            if (pass == 1) {
                worst->jacobian = fmax(worst->jacobian, fabs(jacobian[i] - want) / scale);
            }
        }
    }
}

static void check_derived(const struct num_model *model, const union constants *c, const struct row *row, const double *next,
                          struct worst *worst)
{
    double derived[OTO_MODEL_MAX_DERIVED];
    if (model->derive == NULL || model == &num_model_linear_tyre) {
        return;
    }
    model->derive(c, next, derived);
    if (model == &num_model_kinematic_bicycle) {
        worst->derived = fmax(worst->derived, fabs(derived[0] - value(row, "beta")));
    } else {
        worst->derived = fmax(worst->derived, fabs(derived[2] - value(row, "heading_next")));
        worst->derived = fmax(worst->derived, fabs(derived[3] - value(row, "turn_rate_next")));
    }
}

static void check_row(const struct num_model *model, const struct row *row, struct worst *worst)
{
    const union constants c = constants_of(model, row);
    const uint32_t n = model->state_count;
    double state[OTO_MODEL_MAX_STATES], next[OTO_MODEL_MAX_STATES], jacobian[OTO_MODEL_MAX_STATES * OTO_MODEL_MAX_STATES];
    double scale = 1.0;
    for (uint32_t i = 0; i < n; i++) {
        state[i] = value(row, model->states[i].name);
        scale = fmax(scale, fmax(fabs(state[i]), fabs(after(row, model->states[i].name))));
    }
    assert_int_equal(model->both(&c, state, value(row, "dt"), jacobian, next), OTO_OK);
    for (uint32_t i = 0; i < n; i++) {
        worst->state = fmax(worst->state, fabs(next[i] - after(row, model->states[i].name)) / scale);
    }
    if (column_of(row->table, "J_x_x") >= 0) {
        check_jacobian(model, row, jacobian, worst);
    }
    check_derived(model, &c, row, next, worst);
    worst->rows++;
}

static int split(char *line, char **cells)
{
    int count = 0;
    for (char *rest = line, *cell; count < MOST_COLUMNS && (cell = strsep(&rest, ",\r\n")) != NULL;) {
        cells[count++] = cell;
    }
    return count;
}

static void check_file(const struct num_model *model, const char *path)
{
    struct table table = {.columns = 0};
    struct row row = {.table = &table};
    struct worst worst = {0, 0, 0, 0};
    char line[8192];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        const int count = line[0] == '#' ? 0 : split(line, row.cells);
        if (count > 0 && table.columns == 0) {
            for (; table.columns < count; table.columns++) {
                (void)snprintf(table.names[table.columns], sizeof table.names[0], "%s", row.cells[table.columns]);
            }
        } else if (count > 0) {
            const int named = column_of(&table, "model");
            if (named < 0 || strcmp(row.cells[named], model->name) == 0) {
                check_row(model, &row, &worst);
            }
        }
    }
    (void)fclose(file);
    print_message("%s: %d rows, state within %.2g, Jacobian within %.2g, derived within %.2g\n", model->name, worst.rows,
                  worst.state, worst.jacobian, worst.derived);
    assert_true(worst.rows > 2);
    assert_true(worst.state <= 1e-12 && worst.jacobian <= 1e-12 && worst.derived <= 1e-12);
}

/* The samples that come along, then every row of the reference table where that is. */
static void check_table(const struct num_model *model, const char *sample, const char *table)
{
    char path[512], name[128];
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s", OTO_SOURCE_DIR, sample);
    check_file(model, path);
    (void)snprintf(name, sizeof name, "data/golden_motion/%s", table);
    check_file(model, oto_shared_file(path, sizeof path, name));
}

static void B2_B4_constant_velocity_meets_every_row(void **unused)
{
    (void)unused;
    check_table(&num_model_constant_velocity, "motion_linear.csv", "linear_golden.csv");
}

static void B3_B4_constant_acceleration_meets_every_row(void **unused)
{
    (void)unused;
    check_table(&num_model_constant_acceleration, "motion_linear.csv", "linear_golden.csv");
}

static void B5_B6_catr_and_its_jacobian_meet_every_row(void **unused)
{
    (void)unused;
    check_table(&num_model_catr, "motion_catr.csv", "catr_golden.csv");
}

static void B7_ctrv_and_its_jacobian_meet_every_row(void **unused)
{
    (void)unused;
    check_table(&num_model_ctrv, "motion_ctrv.csv", "cvtr_golden.csv");
}

static void B19_kinematic_bicycle_meets_every_row(void **unused)
{
    (void)unused;
    check_table(&num_model_kinematic_bicycle, "motion_kinematic_bicycle.csv", "kinematic_bicycle_golden.csv");
}

static void B20_linear_tyre_meets_every_row_in_both_sign_conventions(void **unused)
{
    (void)unused;
    check_table(&num_model_linear_tyre, "motion_linear_tyre.csv", "linear_tire_golden.csv");
}

/* ---- the cases of Autoware.Auto ---- */

struct vector {
    const struct num_model *model;
    double dt_s;
    double state[6], next[6];
    double columns[2][6]; /* rows x and y of the Jacobian; NaN where there is none */
    double tolerance;
};

#define NONE {{NAN, NAN, NAN, NAN, NAN, NAN}, {NAN, NAN, NAN, NAN, NAN, NAN}}
#define HALF_PI 1.5707963267948966

/* CATR in the order of this project: x, y, v, a, th, w. */
static const struct vector vectors[] = {
    {&num_model_ctrv, 0.1, {42, 23, 0.5, 2, 2}, {42.1647921486335, 23.1127403746059, 0.7, 2, 2},
     {{1, 0, -0.112740374605884, 0.082396074316744, -0.00591185558829518},
      {0, 1, 0.164792148633488, 0.0563701873029421, 0.00805158142082696}}, 1e-12},
    {&num_model_catr, 0.1, {42, 23, 2, 2, 0.5, 2}, {42.1728437300543, 23.1186522301942, 2.2, 2, 0.7, 2}, NONE, 1e-12},
    {&num_model_catr, 0.1, {42, 23, 2, 2, 0.5, 2}, {42.1728437300543, 23.1186522301942, 2.2, 2, 0.7, 2},
     {{1, 0, 0.082396, 0.0040257, -0.1186522, -0.006315}, {0, 1, 0.0563701, 0.0029559277, 0.1728437, 0.0085819}}, 1e-7},
    /* Turn rate zero: the entries for the turn rate are the true ones. */
    {&num_model_catr, 0.1, {42, 23, 2, 2, 0.5, 0}, {42.184292277998, 23.100679331, 2.2, 2, 0.5, 0},
     {{1, 0, 0.0877582, 0.0043879, -0.1006793, -0.005113872411778166},
      {0, 1, 0.0479425, 0.0023971, 0.1842923, 0.009360880660163974}}, 1e-7},
    {&num_model_ctrv, 0.1, {42, 23, 0.5, 2, 0}, {42.175516512378075, 23.0958851077208406, 0.5, 2, 0},
     {{1, 0, -0.0958851077208406, 0.0877582561890373, -0.00479425538604203},
      {0, 1, 0.175516512378075, 0.0479425538604203, 0.00877582561890373}}, 1e-14},
    {&num_model_catr, 0.1, {0, 0, 1, 0, HALF_PI / 3, 0}, {0.08660254037844388, 0.05, 1, 0, HALF_PI / 3, 0},
     {{1, 0, 0.08660254037844388, 0.004330127018922194, -0.05, -0.0025},
      {0, 1, 0.05, 0.0025, 0.08660254037844388, 0.004330127018922194}}, 1e-14},
    {&num_model_catr, 0.2, {2, -3, 1, 1, -HALF_PI / 2, 0},
     {2.15556349186104, -3.15556349186104, 1.2, 1, -HALF_PI / 2, 0},
     {{1, 0, 0.1414213562373095, 0.01414213562373095, 0.1555634918610405, 0.01602775370689508},
      {0, 1, -0.1414213562373095, -0.01414213562373095, 0.1555634918610405, 0.01602775370689508}}, 1e-13},
    {&num_model_catr, 1, {0, 0, 1, 0, 0, 0}, {1, 0, 1, 0, 0, 0}, NONE, 0},
    {&num_model_catr, 1, {0, 0, 1, 1, HALF_PI, 0}, {0, 1.5, 2, 1, HALF_PI, 0}, NONE, 1e-15},
    {&num_model_ctrv, 0.1, {42, 42, 1, 0, 0}, {42, 42, 1, 0, 0}, NONE, 0},
    {&num_model_ctrv, 1, {0, 0, HALF_PI, -1, 0}, {0, -1, HALF_PI, -1, 0}, NONE, 1e-15},
    {&num_model_constant_acceleration, 1, {0, 0, -1, 2, 2, -1}, {0, 1.5, 1, 1, 2, -1}, NONE, 0},
    {&num_model_constant_acceleration, 0.5, {0, 0, -1, 2, 2, -1}, {-0.25, 0.875, 0, 1.5, 2, -1}, NONE, 0},
    {&num_model_constant_acceleration, 0.1, {0, 0, -1, 2, 2, -1}, {-0.09, 0.195, -0.8, 1.9, 2, -1},
     {{1, 0, 0.1, 0, 0.005, 0}, {0, 1, 0, 0.1, 0, 0.005}}, 1e-15},
    {&num_model_constant_velocity, 1, {0, 0, 1, 2}, {1, 2, 1, 2}, NONE, 0},
    {&num_model_constant_velocity, 0.1, {0, 0, 1, 2}, {0.1, 0.2, 1, 2}, {{1, 0, 0.1, 0}, {0, 1, 0, 0.1}}, 1e-16},
};

static void B2_to_B7_the_cases_of_autoware_hold_as_corrected(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *v = &vectors[i];
        const uint32_t n = v->model->state_count;
        double next[6], jacobian[36];
        assert_int_equal(v->model->both(NULL, v->state, v->dt_s, jacobian, next), OTO_OK);
        for (uint32_t k = 0; k < n; k++) {
            assert_near(next[k], v->next[k], fmax(v->tolerance, 1e-12) * fmax(1.0, fabs(v->next[k])));
            for (int row = 0; row < 2 && !isnan(v->columns[row][k]); row++) {
                assert_near(jacobian[(uint32_t)row * n + k], v->columns[row][k], fmax(v->tolerance, 1e-13));
            }
        }
    }
}

static void B11_each_axis_of_ones_moves_to_1_105(void **unused)
{
    (void)unused;
    double state[9], next[9];
    for (int i = 0; i < 9; i++) {
        state[i] = 1.0;
    }
    assert_int_equal(num_model_linear_xyyaw.predict(NULL, state, 0.1, next), OTO_OK);
    for (int i = 0; i < 3; i++) {
        assert_near(next[i], 1.105, 1e-15);
        assert_near(next[3 + i], 1.1, 1e-15);
        assert_near(next[6 + i], 1.0, 0.0);
    }
}

/* CatrModel's cvtr tests: a circle in steps, out of which rounding does not grow. */
static void B5_B21_a_circle_in_steps_is_the_circle(void **unused)
{
    (void)unused;
    const double turn = 0.2 * 3.14159, radius = 20.0 / (2.0 * 3.14159);
    double state[6] = {0, -radius, 2, 0, 0, 0}, back[6];
    state[5] = turn;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(num_model_catr.predict(NULL, state, 0.1, state), OTO_OK);
        const double heading = (i + 1) * turn * 0.1;
        assert_near(state[0], radius * sin(heading), 1e-4);
        assert_near(state[1], -radius * cos(heading), 1e-4);
        assert_near(state[4], heading, 1e-12);
    }
    assert_int_equal(num_model_catr.predict(NULL, state, -10.0, back), OTO_OK);
    assert_near(back[0], 0.0, 1e-12);
    assert_near(back[1], -radius, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(B2_B4_constant_velocity_meets_every_row),
        cmocka_unit_test(B3_B4_constant_acceleration_meets_every_row),
        cmocka_unit_test(B5_B6_catr_and_its_jacobian_meet_every_row),
        cmocka_unit_test(B7_ctrv_and_its_jacobian_meet_every_row),
        cmocka_unit_test(B19_kinematic_bicycle_meets_every_row),
        cmocka_unit_test(B20_linear_tyre_meets_every_row_in_both_sign_conventions),
        cmocka_unit_test(B2_to_B7_the_cases_of_autoware_hold_as_corrected),
        cmocka_unit_test(B11_each_axis_of_ones_moves_to_1_105),
        cmocka_unit_test(B5_B21_a_circle_in_steps_is_the_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
