/* The World Magnetic Model against NOAA's tables, against 50 digits, at the poles and at its limits. */
#include "oto_test.h"

#include "otolith/environment.h"
#include "otolith/hash.h"

enum { FIELDS = 18, PLACE = 4, ELEMENTS = 14 };

struct row {
    double values[FIELDS];
    double half_unit[FIELDS]; /* of the last printed digit */
};

/* Numbers of a line, parted by blanks or commas; their count. */
static int split(char *line, double *values, double *half_unit)
{
    int count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ,\n", &rest); word != NULL && count < FIELDS;
         word = strtok_r(NULL, " ,\n", &rest)) {
        const char *point = strchr(word, '.');
        values[count] = strtod(word, NULL);
        half_unit[count] = 0.5 * pow(10.0, point != NULL ? -(double)strlen(point + 1) : 0.0);
        count++;
    }
    return count;
}

static struct oto_magnetic_field field_at(const char *name, double year, double altitude_m, double latitude_deg,
                                          double longitude_deg)
{
    const oto_geodetic place = {latitude_deg * OTO_DEG, longitude_deg * OTO_DEG, altitude_m};
    const struct oto_wmm *model = NULL;
    struct oto_magnetic_field field;
    struct oto_error error = {0};
    assert_ok(oto_wmm_find(name, &model, &error), error);
    assert_ok(oto_wmm_field(model, place, year, &field, &error), error);
    return field;
}

/*
 * The 2025 table's geocentric north component is accurate to 4e-8 (relative) only: evaluated with 50 digits, the report's
 * equations differ from it by as much as this code does (wmm_digits.csv, 2026.5 at 33, -145: 24136.840357 where
 * the table has 24136.839639), and east and its change meet every digit. What follows from north is given that much
 * more: 8e-4 nT for X, H, F; times sin(geodetic - geocentric latitude) <= 0.0034 for Z; times 90/40000 a year for the
 * rates.
 */
static const double north_slack[ELEMENTS] = {0, 0, 8e-4, 8e-4, 0, 2.7e-6, 8e-4, 0, 0, 1.8e-6, 1.8e-6, 0, 0, 1.8e-6};

static void meets_row(const char *name, const struct row *row)
{
    static const char *const names[ELEMENTS] = {"D",  "I",  "H",  "X",  "Y",  "Z",  "F",
                                                "D'", "I'", "H'", "X'", "Y'", "Z'", "F'"};
    const double *v = row->values;
    const struct oto_magnetic_field f = field_at(name, v[0], v[1] * 1000.0, v[2], v[3]);
    const double got[ELEMENTS] = {
        f.declination_deg,    f.inclination_deg,    f.h_nt,    f.x_nt,    f.y_nt,    f.z_nt,    f.f_nt,
        f.declination_deg_yr, f.inclination_deg_yr, f.h_nt_yr, f.x_nt_yr, f.y_nt_yr, f.z_nt_yr, f.f_nt_yr};
    for (int i = 0; i < ELEMENTS; i++) {
        const double slack = strcmp(name, "wmm2025") == 0 ? north_slack[i] : 0.0;
        const double allowed = row->half_unit[PLACE + i] * (1.0 + 1e-9) + slack;
        if (fabs(got[i] - v[PLACE + i]) > allowed) {
            fail_msg("%s at %g, %g, %g km in %g: %s is %.9f, expected %.9f", name, v[2], v[3], v[1], v[0], names[i],
                     got[i], v[PLACE + i]);
        }
    }
}

static int meets_table(const char *path, const char *name)
{
    char line[512];
    int rows = 0;
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        struct row row;
        if (line[0] != '#' && split(line, row.values, row.half_unit) == FIELDS) {
            meets_row(name, &row);
            rows++;
        }
    }
    (void)fclose(file);
    return rows;
}

static void meets_every_row_of_the_official_table_of_2020(void **state)
{
    char path[512];
    (void)state;
    assert_int_equal(
        meets_table(oto_shared_file(path, sizeof path, "data/magnetics/WMM2020_TEST_VALUES.txt"), "wmm2020"), 100);
}

static void meets_every_row_of_the_official_table_of_2025(void **state)
{
    char path[512];
    (void)state;
    assert_int_equal(
        meets_table(oto_shared_file(path, sizeof path, "data/magnetics/WMM2025_TEST_VALUES.txt"), "wmm2025"), 100);
}

static FILE *open_golden(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s", OTO_SOURCE_DIR, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    return file;
}

static void meets_rows_of_both_official_tables_that_are_kept_here(void **state)
{
    char line[512];
    int rows = 0;
    FILE *file = open_golden("wmm_tables.csv");
    (void)state;
    while (fgets(line, sizeof line, file) != NULL) {
        struct row row;
        char *comma = strchr(line, ',');
        if (line[0] == '2' && comma != NULL && split(comma + 1, row.values, row.half_unit) == FIELDS) {
            meets_row(strncmp(line, "2020,", 5) == 0 ? "wmm2020" : "wmm2025", &row);
            rows++;
        }
    }
    (void)fclose(file);
    assert_int_equal(rows, 40);
}

/* Rounding of angles and of sums of 90 terms up to 1e5 nT leaves 1e-9 nT; at 89.999 degrees the angle's own rounding,
 * 2e-16 rad, turns north by that over cos: 5e4 nT 2e-16 / 2e-5 = 5e-7. */
static void meets_an_evaluation_with_50_digits(void **state)
{
    char line[512];
    int rows = 0;
    FILE *file = open_golden("wmm_digits.csv");
    (void)state;
    while (fgets(line, sizeof line, file) != NULL) {
        double v[FIELDS], unused[FIELDS];
        if (line[0] != '2' || split(line, v, unused) != 11) {
            continue;
        }
        const struct oto_magnetic_field f =
            field_at(v[0] == 2020.0 ? "wmm2020" : "wmm2025", v[1], v[2] * 1000, v[3], v[4]);
        const double got[6] = {f.x_nt, f.y_nt, f.z_nt, f.x_nt_yr, f.y_nt_yr, f.z_nt_yr};
        const double tolerance = fabs(v[3]) > 89.0 ? 5e-7 : 1e-9;
        for (int i = 0; i < 6; i++) {
            assert_near(got[i], v[5 + i], tolerance);
        }
        rows++;
    }
    (void)fclose(file);
    assert_int_equal(rows, 16);
}

/* 1e-7 degrees from the pole, 0.01 m, the field differs by at most 6e4 nT 12 1.7e-9 rad = 1.3e-3 nT. */
static void the_field_at_a_pole_is_the_limit_along_the_meridian(void **state)
{
    (void)state;
    for (int pole = -90; pole <= 90; pole += 180) {
        for (double longitude = -180.0; longitude <= 180.0; longitude += 45.0) {
            const struct oto_magnetic_field at = field_at("wmm2025", 2026.5, 100.0, pole, longitude);
            const struct oto_magnetic_field near =
                field_at("wmm2025", 2026.5, 100.0, pole * (1 - 1e-7 / 90), longitude);
            assert_near(at.x_nt, near.x_nt, 1.5e-3);
            assert_near(at.y_nt, near.y_nt, 1.5e-3);
            assert_near(at.z_nt, near.z_nt, 1.5e-3);
            assert_near(at.x_nt_yr, near.x_nt_yr, 1e-5);
            assert_near(at.y_nt_yr, near.y_nt_yr, 1e-5);
        }
    }
}

/* North of longitude l is -(cos l, sin l) at the north pole, +(...) at the south pole; east is (-sin l, cos l) at both.
 */
static void every_longitude_of_a_pole_sees_the_same_vector(void **state)
{
    (void)state;
    for (int pole = -90; pole <= 90; pole += 180) {
        const double side = pole > 0 ? -1.0 : 1.0;
        const struct oto_magnetic_field zero = field_at("wmm2020", 2023.0, 0.0, pole, 0.0);
        for (double longitude = -180.0; longitude <= 180.0; longitude += 30.0) {
            const struct oto_magnetic_field f = field_at("wmm2020", 2023.0, 0.0, pole, longitude);
            const double c = cos(longitude * OTO_DEG), s = sin(longitude * OTO_DEG);
            assert_near(side * f.x_nt * c - f.y_nt * s, side * zero.x_nt, 1e-8);
            assert_near(side * f.x_nt * s + f.y_nt * c, zero.y_nt, 1e-8);
            assert_near(f.h_nt, zero.h_nt, 1e-8);
            assert_near(f.z_nt, zero.z_nt, 1e-8);
        }
    }
}

/* The field is linear in time; its elements' rates are derivatives: central differences over 1e-3 years. */
static void rates_are_the_derivatives_of_the_elements(void **state)
{
    const struct oto_magnetic_field f = field_at("wmm2025", 2027.0, 5000.0, -21.0, 133.0);
    const struct oto_magnetic_field before = field_at("wmm2025", 2027.0 - 5e-4, 5000.0, -21.0, 133.0);
    const struct oto_magnetic_field after = field_at("wmm2025", 2027.0 + 5e-4, 5000.0, -21.0, 133.0);
    (void)state;
    assert_near((after.x_nt - before.x_nt) * 1e3, f.x_nt_yr, 1e-6);
    assert_near((after.h_nt - before.h_nt) * 1e3, f.h_nt_yr, 1e-6);
    assert_near((after.f_nt - before.f_nt) * 1e3, f.f_nt_yr, 1e-6);
    assert_near((after.inclination_deg - before.inclination_deg) * 1e3, f.inclination_deg_yr, 1e-8);
    assert_near((after.declination_deg - before.declination_deg) * 1e3, f.declination_deg_yr, 1e-8);
}

static void a_model_without_a_field_gives_zeros(void **state)
{
    const struct oto_wmm none = {.name = "none", .epoch_year = 2025.0};
    struct oto_magnetic_field field;
    struct oto_error error = {0};
    (void)state;
    assert_ok(oto_wmm_field(&none, (oto_geodetic){0.5, 0.5, 0.0}, 2026.0, &field, &error), error);
    assert_near(field.f_nt, 0.0, 0.0);
    assert_near(field.inclination_deg, 0.0, 0.0);
    assert_near(field.declination_deg_yr, 0.0, 0.0);
}

static void enu_microtesla_is_east_north_up(void **state)
{
    const struct oto_magnetic_field field = {.x_nt = 20000.0, .y_nt = 1500.0, .z_nt = 43000.0};
    const oto_vec3 enu = oto_magnetic_field_enu_ut(&field);
    (void)state;
    assert_near(enu.x, 1.5, 1e-15);
    assert_near(enu.y, 20.0, 1e-14);
    assert_near(enu.z, -43.0, 1e-14);
}

static void refused(double year, oto_geodetic place, const char *first, const char *second)
{
    const struct oto_wmm *model = NULL;
    struct oto_magnetic_field field;
    struct oto_error error = {0};
    assert_ok(oto_wmm_find("wmm2025", &model, &error), error);
    assert_int_equal(oto_wmm_field(model, place, year, &field, &error), OTO_RANGE);
    if (strstr(error.text, first) == NULL || strstr(error.text, second) == NULL) {
        fail_msg("expected '%s' and '%s' in: %s", first, second, error.text);
    }
}

static void outside_its_validity_the_model_says_what_it_accepts(void **state)
{
    const oto_geodetic home = {0.8, 0.2, 500.0};
    (void)state;
    refused(2024.99, home, "wmm2025 is not valid in 2024.99", "2025.0 to 2030.0");
    refused(2030.01, home, "2030.01", "2025.0 to 2030.0");
    refused(NAN, home, "nan", "2025.0 to 2030.0");
    refused(2026, (oto_geodetic){0.8, 0.2, -1000.5}, "-1000.5", "-1000 to 850000 m");
    refused(2026, (oto_geodetic){0.8, 0.2, 850001.0}, "850001", "-1000 to 850000 m");
    refused(2026, (oto_geodetic){0.8, 0.2, NAN}, "nan", "-1000 to 850000 m");
    refused(2026, (oto_geodetic){1.6, 0.2, 0.0}, "latitude 91.67", "-90 to 90");
    refused(2026, (oto_geodetic){NAN, 0.2, 0.0}, "latitude", "-90 to 90");
    refused(2026, (oto_geodetic){0.1, 7.0, 0.0}, "longitude 401", "-360 to 360");
    refused(2026, (oto_geodetic){0.1, INFINITY, 0.0}, "longitude", "-360 to 360");
}

static void both_ends_of_the_validity_are_inside(void **state)
{
    (void)state;
    (void)field_at("wmm2020", 2020.0, OTO_WMM_MIN_ALTITUDE_M, 90.0, 180.0);
    (void)field_at("wmm2020", 2025.0, OTO_WMM_MAX_ALTITUDE_M, -90.0, -180.0);
    (void)field_at("wmm2025", 2030.0, 0.0, 0.0, 360.0);
}

static void the_newest_model_that_covers_a_year_is_found(void **state)
{
    static const struct {
        double year;
        const char *name;
    } cases[] = {{2020.0, "wmm2020"}, {2024.999, "wmm2020"}, {2025.0, "wmm2025"}, {2030.0, "wmm2025"}};
    static const double uncovered[] = {2019.99, 2030.01, -1.0, NAN, INFINITY};
    const struct oto_wmm *model = NULL;
    struct oto_error error = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(oto_wmm_for_year(cases[i].year, &model, &error), error);
        assert_string_equal(model->name, cases[i].name);
    }
    for (size_t i = 0; i < sizeof uncovered / sizeof *uncovered; i++) {
        assert_int_equal(oto_wmm_for_year(uncovered[i], &model, &error), OTO_RANGE);
        assert_non_null(strstr(error.text, "2020.0 to 2030.0"));
    }
    assert_int_equal(oto_wmm_find("wmm2015", &model, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "wmm2020 or wmm2025"));
}

/* One number for all builds, compilers and machines (A19). */
static void the_field_has_the_same_bits_everywhere(void **state)
{
    uint64_t hash = OTO_FNV1A64_START;
    (void)state;
    for (double latitude = -90.0; latitude <= 90.0; latitude += 7.5) {
        for (double longitude = -180.0; longitude <= 180.0; longitude += 22.5) {
            const struct oto_magnetic_field f = field_at("wmm2025", 2026.5, 520.0, latitude, longitude);
            hash = oto_fnv1a64_more(hash, &f, sizeof f);
        }
    }
    assert_int_equal(hash, UINT64_C(0xef88b32ff9925296));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meets_every_row_of_the_official_table_of_2020),
        cmocka_unit_test(meets_every_row_of_the_official_table_of_2025),
        cmocka_unit_test(meets_rows_of_both_official_tables_that_are_kept_here),
        cmocka_unit_test(meets_an_evaluation_with_50_digits),
        cmocka_unit_test(the_field_at_a_pole_is_the_limit_along_the_meridian),
        cmocka_unit_test(every_longitude_of_a_pole_sees_the_same_vector),
        cmocka_unit_test(rates_are_the_derivatives_of_the_elements),
        cmocka_unit_test(a_model_without_a_field_gives_zeros),
        cmocka_unit_test(enu_microtesla_is_east_north_up),
        cmocka_unit_test(outside_its_validity_the_model_says_what_it_accepts),
        cmocka_unit_test(both_ends_of_the_validity_are_inside),
        cmocka_unit_test(the_newest_model_that_covers_a_year_is_found),
        cmocka_unit_test(the_field_has_the_same_bits_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
