/* The standard atmosphere, the Earth's rate, and dates. */
#include "oto_test.h"

#include "otolith/environment.h"

/* Geometric altitude of a geopotential one: r H / (r - H), r = 6356766 m. */
static double geometric_m(double geopotential_m)
{
    return 6356766.0 * geopotential_m / (6356766.0 - geopotential_m);
}

/*
 * ICAO Doc 7488/3 prints six figures and carries each layer's rounded pressure into the next: 22632.0 is rounded by up
 * to 2.3e-6 (relative), and the rows above add half a unit of their own.
 */
static void the_standard_atmosphere_meets_its_published_layers(void **state)
{
    static const struct {
        double geopotential_m, temperature_k, pressure_pa, unit_pa;
    } rows[] = {
        {0, 288.15, 101325, 1e-9},      {11000, 216.65, 22632.0, 0.1},  {20000, 216.65, 5474.87, 1e-2},
        {32000, 228.65, 868.014, 1e-3}, {47000, 270.65, 110.906, 1e-3}, {51000, 270.65, 66.9384, 1e-4},
        {71000, 214.65, 3.95639, 1e-5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oto_air air;
        struct oto_error error = {0};
        assert_ok(oto_isa(geometric_m(rows[i].geopotential_m), &air, &error), error);
        assert_near(air.temperature_degc + 273.15, rows[i].temperature_k, 1e-9);
        assert_near(air.pressure_pa, rows[i].pressure_pa, 0.5 * rows[i].unit_pa + 2.3e-6 * rows[i].pressure_pa);
    }
}

static double pressure_pa(double altitude_m)
{
    struct oto_air air;
    struct oto_error error = {0};
    assert_ok(oto_isa(altitude_m, &air, &error), error);
    return air.pressure_pa;
}

/* dp/dH = -g p / (R T): central differences over 2 m, good to 1e-8 (third derivative), away from layer edges. */
static void the_pressure_carries_the_air_above_it(void **state)
{
    (void)state;
    for (double geopotential_m = -4500; geopotential_m < 80000; geopotential_m += 1234.5) {
        const double h = geometric_m(geopotential_m);
        struct oto_air air;
        struct oto_error error = {0};
        assert_ok(oto_isa(h, &air, &error), error);
        const double slope =
            (pressure_pa(geometric_m(geopotential_m + 1)) - pressure_pa(geometric_m(geopotential_m - 1))) / 2;
        const double expected = -9.80665 * air.pressure_pa / (287.05287 * (air.temperature_degc + 273.15));
        assert_near(slope / expected, 1.0, 1e-6);
    }
}

static void the_atmosphere_ends_where_it_says(void **state)
{
    static const double outside[] = {OTO_ISA_MIN_ALTITUDE_M - 1, OTO_ISA_MAX_ALTITUDE_M + 1, NAN, INFINITY};
    struct oto_air air;
    struct oto_error error = {0};
    (void)state;
    assert_true(pressure_pa(OTO_ISA_MIN_ALTITUDE_M) > 177000);
    assert_near(pressure_pa(OTO_ISA_MAX_ALTITUDE_M), 0.886, 1e-3);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        assert_int_equal(oto_isa(outside[i], &air, &error), OTO_RANGE);
        assert_non_null(strstr(error.text, "expected -4996 to 81019 m"));
    }
}

static void the_earth_turns_about_its_axis(void **state)
{
    (void)state;
    const oto_vec3 pole = oto_earth_rate_enu_rad_s(OTO_HALF_PI), equator = oto_earth_rate_enu_rad_s(0.0);
    assert_near(pole.z, 7.292115e-5, 1e-20);
    assert_near(equator.y, 7.292115e-5, 1e-20);
    for (double lat = -1.5; lat <= 1.5; lat += 0.1) {
        /* the axis is ECEF z at every place */
        const oto_vec3 axis = oto_quat_rotate(oto_q_enu_from_ecef(lat, 0.3), oto_vec3_make(0, 0, 7.292115e-5));
        const oto_vec3 rate = oto_earth_rate_enu_rad_s(lat);
        assert_near(rate.x, axis.x, 1e-19);
        assert_near(rate.y, axis.y, 1e-19);
        assert_near(rate.z, axis.z, 1e-19);
    }
}

static void dates_become_days_and_years(void **state)
{
    static const struct {
        const char *text;
        int64_t days;
        double year;
    } rows[] = {
        {"1970-01-01", 0, 1970},
        {"1969-12-31", -1, 1969 + 364.0 / 365},
        {"2000-02-29", 11016, 2000 + 59.0 / 366},
        {"2024-12-31", 20088, 2024 + 365.0 / 366},
        {"2025-01-01", 20089, 2025},
        {"2025-07-02", 20271, 2025 + 182.0 / 365},
        {"2030-01-01", 21915, 2030},
        {"1600-01-01", -135140, 1600},
        {"9999-12-31", 2932896, 9999 + 364.0 / 365},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t days = 0;
        struct oto_error error = {0};
        assert_ok(oto_date_parse(rows[i].text, &days, &error), error);
        assert_int_equal(days, rows[i].days);
        assert_near(oto_decimal_year(days), rows[i].year, 0.0);
    }
}

static void impossible_dates_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"2025-02-29", "01 to 28"},   {"2025-02-30", "01 to 28"},   {"2024-02-30", "01 to 29"},
        {"1900-02-29", "01 to 28"},   {"2025-13-01", "01 to 12"},   {"2025-00-10", "01 to 12"},
        {"2025-04-31", "01 to 30"},   {"2025-04-00", "01 to 30"},   {"2025-4-1", "YYYY-MM-DD"},
        {"2025/04/01", "YYYY-MM-DD"}, {"", "YYYY-MM-DD"},           {"2025-04-01T", "YYYY-MM-DD"},
        {"+025-04-01", "YYYY-MM-DD"}, {"20 5-04-01", "YYYY-MM-DD"}, {"2025-04-0x", "YYYY-MM-DD"},
        {"1599-12-31", "from 1600"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t days = 7;
        struct oto_error error = {0};
        assert_int_equal(oto_date_parse(rows[i][0], &days, &error), OTO_INVALID);
        assert_int_equal(days, 7);
        assert_non_null(strstr(error.text, rows[i][1]));
    }
}

static void air_from_a_place_with_the_standards_air_is_the_standards(void **state)
{
    (void)state;
    static const double known_m[] = {-2000, 0, 520, 11000, 30000}, there_m[] = {-4000, 0, 519, 9000, 15000, 40000, 60000};
    struct oto_error error = {0};
    for (size_t i = 0; i < sizeof known_m / sizeof *known_m; i++) {
        struct oto_air known, there;
        assert_ok(oto_isa(known_m[i], &known, &error), error);
        for (size_t k = 0; k < sizeof there_m / sizeof *there_m; k++) {
            assert_ok(oto_isa(there_m[k], &there, &error), error);
            const struct oto_air air = oto_isa_from(known_m[i], known, there_m[k]);
            assert_near(air.temperature_degc, there.temperature_degc, 1e-9);
            assert_near(air.pressure_pa, there.pressure_pa, 1e-12 * there.pressure_pa + 1e-12 * known.pressure_pa);
        }
        const struct oto_air same = oto_isa_from(known_m[i], known, known_m[i]);
        assert_near(same.pressure_pa, known.pressure_pa, 0);
    }
}

/* dp/dh = -g p / (R T), by a difference over 2 m: what a warm day changes is the density. */
static void a_warm_day_keeps_the_lapse_and_the_hydrostatic_balance(void **state)
{
    (void)state;
    const struct oto_air ground = {35, 98000};
    const struct oto_air at = oto_isa_from(300, ground, 1300), over = oto_isa_from(300, ground, 1301),
                         under = oto_isa_from(300, ground, 1299);
    assert_near(at.temperature_degc, 35 - 6.5, 5e-3); /* geopotential metres are 3e-4 shorter */
    const double expected = -9.80665 * at.pressure_pa / (287.05287 * (at.temperature_degc + 273.15));
    assert_near((over.pressure_pa - under.pressure_pa) / 2, expected, 1e-3 * -expected);
}

static void air_beyond_the_standards_limits_is_that_of_the_limits(void **state)
{
    (void)state;
    const struct oto_air ground = {15, 101325};
    const struct oto_air top = oto_isa_from(0, ground, OTO_ISA_MAX_ALTITUDE_M), over = oto_isa_from(0, ground, 1e6);
    assert_near(over.pressure_pa, top.pressure_pa, 0);
    assert_near(over.temperature_degc, top.temperature_degc, 0);
    assert_true(oto_isa_from(0, ground, -1e5).pressure_pa > 1.7e5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_standard_atmosphere_meets_its_published_layers),
        cmocka_unit_test(the_pressure_carries_the_air_above_it),
        cmocka_unit_test(the_atmosphere_ends_where_it_says),
        cmocka_unit_test(the_earth_turns_about_its_axis),
        cmocka_unit_test(dates_become_days_and_years),
        cmocka_unit_test(impossible_dates_are_refused),
        cmocka_unit_test(air_from_a_place_with_the_standards_air_is_the_standards),
        cmocka_unit_test(a_warm_day_keeps_the_lapse_and_the_hydrostatic_balance),
        cmocka_unit_test(air_beyond_the_standards_limits_is_that_of_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
