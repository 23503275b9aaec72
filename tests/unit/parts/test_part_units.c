/* Units of data sheets against numbers made by hand. */
#include "oto_test.h"
#include "parts/units.h"

#define A OTO_PART_ACCELEROMETER
#define G OTO_PART_GYROSCOPE
#define M OTO_PART_MAGNETOMETER
#define ANY 0xffffffffu

static void units_meet_numbers_made_by_hand(void **state)
{
    (void)state;
    static const struct {
        enum oto_part_triad triad;
        double printed;
        const char *unit;
        double si;
    } rows[] = {
        {G, 180, "°/s", 3.14159265358979323846},
        {G, 1, "dps", 0.017453292519943295},
        {G, 1, "º/s", 0.017453292519943295},
        {G, 2.8, "mdps/√Hz", 4.886921905584123e-05},
        {G, 0.01, "°/s/√Hz", 1.7453292519943295e-04},
        {G, 3600, "°/h", 0.017453292519943295},
        {G, 0.15, "°/√h", 4.363323129985824e-05},
        {G, 60, "°/√hr", 0.017453292519943295},
        {G, 0.015, "°/s/K", 2.617993877991494e-04},
        {G, 9.80665, "°/s/g", 0.017453292519943295},
        {G, 131, "LSB/(º/s)", 1.3323124061025415e-04},
        {G, 70, "mdps/LSB", 1.2217304763960307e-03},
        {G, 1, "°/s/√s", 0.017453292519943295},
        {A, 1, "g", 9.80665},
        {A, 1, "G", 9.80665},
        {A, 50, "mg", 0.4903325},
        {A, 13, "µg", 1.2748645e-4},
        {A, 13, "μg", 1.2748645e-4}, /* the other micro sign */
        {A, 100, "µg/√Hz", 9.80665e-4},
        {A, 0.16, "mg/√Hz", 1.569064e-3},
        {A, 0.06, "m/s/√h", 1e-3},
        {A, 1.5, "mg/°C", 0.014709975},
        {A, 16384, "LSB/g", 5.985504150390625e-4},
        {A, 0.061, "mg/LSB", 5.9820565e-4},
        {A, 1.8, "mg(RMS)", 0.01765197},
        {M, 1, "gauss", 100},
        {M, 1, "G", 100},
        {M, 4.35, "mG/LSb", 0.435},
        {M, 15, "nT", 0.015},
        {M, 100, "nT/√Hz", 0.1},
        {M, 140, "µG/√Hz", 0.014},
        {M, 6842, "LSB/gauss", 0.014615609470914937},
        {M, 75, "LSB/µT", 0.013333333333333334},
        {A, 500, "ppm", 0.05},
        {G, 1, "mrad", 0.1},
        {G, 0.1, "°", 0.17453292519943295},
        {M, 50, "ppm/K", 0.005},
        {A, 1.125, "kHz", 1125},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct part_unit *unit = part_unit_find(rows[i].unit, rows[i].triad, ANY);
        if (unit == NULL) {
            fail_msg("unit '%s' is not known", rows[i].unit);
        }
        assert_near(part_unit_convert(unit, rows[i].printed), rows[i].si, 4e-16 * rows[i].si);
    }
}

static void a_unit_of_another_triad_or_quantity_is_not_found(void **state)
{
    (void)state;
    assert_null(part_unit_find("°/s", A, ANY));
    assert_null(part_unit_find("µg/√Hz", G, ANY));
    assert_null(part_unit_find("°/s", G, PART_DENSITY));
    assert_null(part_unit_find("", G, ANY));
    assert_null(part_unit_find("°/s|dps", G, ANY));
    assert_null(part_unit_find("dp", G, ANY));
}

static void accepted_units_are_listed(void **state)
{
    (void)state;
    char text[200], tiny[8];
    part_unit_list(G, PART_DENSITY, text, sizeof text);
    assert_string_equal(text, "°/s/√Hz, mdps/√Hz, °/h/√Hz, rad/s/√Hz");
    part_unit_list(G, PART_DENSITY, tiny, sizeof tiny);
    assert_true(strlen(tiny) < sizeof tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_meet_numbers_made_by_hand),
        cmocka_unit_test(a_unit_of_another_triad_or_quantity_is_not_found),
        cmocka_unit_test(accepted_units_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
