/* NMEA 0183 and UBX-NAV-PVT of fixes: known sentences, ends of ranges, fixes that no message can express. */
#include "oto_test.h"

#include <math.h>

#include "gnss/message.h"

/* 2026-03-01 23:59:59.99 UTC: days since 1970 times 86400 and the second of the day. */
static const int64_t utc_ns = (INT64_C(20513) * 86400 + 86399) * 1000000000 + 990000000;

static struct oto_navsat_record a_fix(void)
{
    return (struct oto_navsat_record){.utc_ns = utc_ns,
                                      .latitude_deg = -33.512345678,
                                      .longitude_deg = 170.75,
                                      .altitude_m = 600.1234,
                                      .altitude_msl_m = 574.6234,
                                      .geoid_separation_m = 25.5,
                                      .velocity_enu_m_s = {3, 4, -0.5},
                                      .ground_speed_m_s = 5,
                                      .course_deg = 36.8699,
                                      .horizontal_accuracy_m = 0.012,
                                      .vertical_accuracy_m = 0.018,
                                      .speed_accuracy_m_s = 0.05,
                                      .course_accuracy_deg = 0.6,
                                      .hdop = 0.8,
                                      .vdop = 1.2,
                                      .mode = OTO_NAVSAT_FLOAT,
                                      .satellites = 14};
}

static void expect_checksums(const char *text)
{
    for (const char *at = strchr(text, '$'); at != NULL; at = strchr(at, '$')) {
        unsigned sum = 0;
        char told[3] = "";
        for (at++; *at != '*' && *at != '\0'; at++) {
            sum ^= (unsigned char)*at;
        }
        assert_int_equal(*at, '*');
        (void)snprintf(told, sizeof told, "%.2s", at + 1);
        assert_int_equal(strtoul(told, NULL, 16), sum);
        assert_memory_equal(at + 3, "\r\n", 2);
    }
}

static void nmea_has_the_fields_of_a_fix(void **state)
{
    char text[GNSS_NMEA_BYTES];
    const struct oto_navsat_record fix = a_fix();
    (void)state;
    const size_t bytes = gnss_nmea(&fix, text);
    assert_int_equal(bytes, strlen(text));
    expect_checksums(text);
    /* 0.512345678° = 30.74074068', 5 m/s = 9.719 kn = 18 km/h */
    assert_non_null(strstr(text, "$GNGGA,235959.99,3330.7407407,S,17045.0000000,E,5,14,0.80,574.623,M,25.500,M,,*"));
    assert_non_null(strstr(text, "$GNRMC,235959.99,A,3330.7407407,S,17045.0000000,E,9.719,36.87,010326,,,F,V*"));
    assert_non_null(strstr(text, "$GNGSA,A,3,,,,,,,,,,,,,1.44,0.80,1.20,1*"));
    assert_non_null(strstr(text, "$GNVTG,36.87,T,,M,9.719,N,18.000,K,F*"));
}

static void an_angle_is_rounded_to_whole_minutes_where_it_must_be(void **state)
{
    char text[GNSS_NMEA_BYTES];
    struct oto_navsat_record fix = a_fix();
    (void)state;
    fix.latitude_deg = 47.99999999999; /* not 47°60.0' */
    fix.longitude_deg = -180;
    fix.course_deg = 359.9999;
    (void)gnss_nmea(&fix, text);
    assert_non_null(strstr(text, ",4800.0000000,N,18000.0000000,W,"));
    assert_non_null(strstr(text, "$GNVTG,0.00,T"));
}

static int64_t number(const uint8_t *message, uint32_t offset, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint64_t)message[6 + offset + i] << (8 * i);
    }
    return bytes == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

static void nav_pvt_has_the_fields_of_a_fix(void **state)
{
    uint8_t message[GNSS_NAV_PVT_BYTES];
    const struct oto_navsat_record fix = a_fix();
    (void)state;
    gnss_nav_pvt(&fix, message);
    assert_memory_equal(message, "\xb5\x62\x01\x07\x5c\x00", 6);
    assert_int_equal(number(message, 4, 2), 2026);
    assert_int_equal(message[6 + 6], 3);
    assert_int_equal(message[6 + 7], 1);
    assert_int_equal(message[6 + 10], 59);
    assert_int_equal(number(message, 16, 4), 990000000);
    /* 2026-03-01 is a Sunday, the first day of a GPS week, and GPS time is 18 s ahead: it has begun the next day */
    assert_int_equal(number(message, 0, 4), (86400 + 17) * 1000 + 990);
    assert_int_equal(message[6 + 20], 3);
    assert_int_equal(message[6 + 21], 0x43);
    assert_int_equal(number(message, 24, 4), 1707500000);
    assert_int_equal(number(message, 28, 4), -335123457);
    assert_int_equal(number(message, 32, 4), 600123);
    assert_int_equal(number(message, 36, 4), 574623);
    assert_int_equal(number(message, 48, 4), 4000);
    assert_int_equal(number(message, 52, 4), 3000);
    assert_int_equal(number(message, 56, 4), 500);
    assert_int_equal(number(message, 64, 4), 3686990);
}

static void without_a_fix_nothing_is_claimed(void **state)
{
    char text[GNSS_NMEA_BYTES];
    uint8_t message[GNSS_NAV_PVT_BYTES];
    struct oto_navsat_record fix = {.utc_ns = utc_ns, .course_deg = -1, .horizontal_accuracy_m = -1};
    (void)state;
    (void)gnss_nmea(&fix, text);
    expect_checksums(text);
    assert_non_null(strstr(text, "$GNGGA,235959.99,,,,,0,00,,,M,,M,,*"));
    assert_non_null(strstr(text, "$GNRMC,235959.99,V,,,,,,,010326,,,N,V*"));
    gnss_nav_pvt(&fix, message);
    assert_int_equal(message[6 + 20], 0);
    assert_int_equal(number(message, 40, 4), -1); /* the largest unsigned number */
    assert_int_equal(message[6 + 78], 1);
}

static void what_a_fault_has_made_inexpressible_is_recognised(void **state)
{
    struct oto_navsat_record fix = a_fix();
    (void)state;
    assert_true(gnss_is_expressible(&fix));
    fix.latitude_deg = NAN;
    assert_false(gnss_is_expressible(&fix));
    fix = a_fix();
    fix.altitude_m = 1e300;
    assert_false(gnss_is_expressible(&fix));
    fix = a_fix();
    fix.mode = 200;
    assert_false(gnss_is_expressible(&fix));
}

static void times_before_1970_and_leap_days_have_their_date(void **state)
{
    (void)state;
    struct gnss_time time = gnss_time_of(-1);
    assert_int_equal(time.year, 1969);
    assert_int_equal(time.day, 31);
    assert_int_equal(time.nanosecond, 999999999);
    time = gnss_time_of(INT64_C(19782) * 86400 * 1000000000); /* 2024-02-29 */
    assert_int_equal(time.month, 2);
    assert_int_equal(time.day, 29);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nmea_has_the_fields_of_a_fix),
        cmocka_unit_test(an_angle_is_rounded_to_whole_minutes_where_it_must_be),
        cmocka_unit_test(nav_pvt_has_the_fields_of_a_fix),
        cmocka_unit_test(without_a_fix_nothing_is_claimed),
        cmocka_unit_test(what_a_fault_has_made_inexpressible_is_recognised),
        cmocka_unit_test(times_before_1970_and_leap_days_have_their_date),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
