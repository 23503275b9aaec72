/* WGS-84 places and normal gravity. */
#include "oto_test.h"

#include "otolith/geodesy.h"

static void constants_agree_with_each_other(void **state)
{
    (void)state;
    const double a = OTO_WGS84_A_M, f = OTO_WGS84_F, w = OTO_WGS84_EARTH_RATE_RAD_S;
    assert_near(OTO_WGS84_B_M, a * (1.0 - f), 1e-8);
    assert_near(OTO_WGS84_E2, f * (2.0 - f), 1e-17);
    assert_near(OTO_WGS84_EP2, OTO_WGS84_E2 / (1.0 - OTO_WGS84_E2), 1e-17);
    assert_near(OTO_WGS84_M, w * w * a * a * OTO_WGS84_B_M / OTO_WGS84_GM_M3_S2, 1e-14);
    /* gamma_p is given with 11 digits */
    assert_near(OTO_WGS84_SOMIGLIANA_K, OTO_WGS84_B_M * OTO_WGS84_GAMMA_P_M_S2 / (a * OTO_WGS84_GAMMA_E_M_S2) - 1.0,
                2e-11);
}

static void corners_of_the_ellipsoid_stand_where_they_should(void **state)
{
    (void)state;
    const struct {
        oto_geodetic place;
        oto_vec3 ecef_m;
    } corners[] = {
        {{0.0, 0.0, 0.0}, {OTO_WGS84_A_M, 0.0, 0.0}},
        {{0.0, OTO_HALF_PI, 100.0}, {0.0, OTO_WGS84_A_M + 100.0, 0.0}},
        {{0.0, OTO_PI, -50.0}, {-OTO_WGS84_A_M + 50.0, 0.0, 0.0}},
        {{OTO_HALF_PI, 0.0, 0.0}, {0.0, 0.0, OTO_WGS84_B_M}},
        {{-OTO_HALF_PI, 0.0, 10.0}, {0.0, 0.0, -OTO_WGS84_B_M - 10.0}},
    };
    for (size_t i = 0; i < sizeof corners / sizeof corners[0]; i++) {
        oto_vec3 got = oto_ecef_from_geodetic(corners[i].place);
        oto_geodetic back = oto_geodetic_from_ecef(corners[i].ecef_m);
        /* two roundings at 6.4e6 m: 2e-9 */
        assert_near(oto_vec3_norm(oto_vec3_sub(got, corners[i].ecef_m)), 0.0, 2e-9);
        assert_near(back.lat_rad, corners[i].place.lat_rad, 1e-15);
        assert_near(back.alt_m, corners[i].place.alt_m, 2e-9);
    }
    oto_geodetic centre = oto_geodetic_from_ecef(oto_vec3_zero());
    assert_true(isfinite(centre.lat_rad) && isfinite(centre.lon_rad) && isfinite(centre.alt_m));
}

static void places_come_back_from_ecef_within_a_nanometre_in_angle_and_rounding_in_height(void **state)
{
    (void)state;
    const double altitudes_m[] = {-10000.0, -11.0, 0.0, 0.5, 1200.0, 40000.0, 2.0e6, 3.6e7};
    for (size_t k = 0; k < sizeof altitudes_m / sizeof altitudes_m[0]; k++) {
        for (int i = -90; i <= 90; i++) {
            oto_geodetic place = {(double)i * OTO_DEG, (double)(2 * i - 1) * OTO_DEG * 0.99, altitudes_m[k]}, back;
            back = oto_geodetic_from_ecef(oto_ecef_from_geodetic(place));
            /* 1e-9 m on the ground, and ECEF numbers that are themselves rounded at 1e-9 (ground) to 8e-9 m (GEO) */
            double tolerance_m = 1e-9 + 2e-16 * (OTO_WGS84_A_M + altitudes_m[k]) * 2.0;
            assert_near((back.lat_rad - place.lat_rad) * OTO_WGS84_A_M, 0.0, tolerance_m);
            assert_near(back.alt_m, place.alt_m, tolerance_m);
            if (abs(i) < 90) {
                assert_near(oto_wrap_pi(back.lon_rad - place.lon_rad) * OTO_WGS84_A_M * oto_cos(place.lat_rad), 0.0,
                            tolerance_m);
            }
        }
    }
}

static void enu_axes_point_east_north_and_up(void **state)
{
    (void)state;
    for (int i = -8; i <= 8; i++) {
        for (int j = -8; j <= 8; j++) {
            double lat = (double)i * 0.19, lon = (double)j * 0.39, s_lat, c_lat, s_lon, c_lon;
            oto_sincos(lat, &s_lat, &c_lat);
            oto_sincos(lon, &s_lon, &c_lon);
            oto_quat q = oto_q_enu_from_ecef(lat, lon);
            oto_vec3 east = oto_quat_rotate(q, oto_vec3_make(-s_lon, c_lon, 0.0));
            oto_vec3 north = oto_quat_rotate(q, oto_vec3_make(-s_lat * c_lon, -s_lat * s_lon, c_lat));
            oto_vec3 up = oto_quat_rotate(q, oto_vec3_make(c_lat * c_lon, c_lat * s_lon, s_lat));
            assert_near(east.x, 1.0, 1e-15);
            assert_near(north.y, 1.0, 1e-15);
            assert_near(up.z, 1.0, 1e-15);
        }
    }
}

static void a_place_in_an_enu_frame_comes_back(void **state)
{
    (void)state;
    oto_geodetic origin = {48.1 * OTO_DEG, 11.6 * OTO_DEG, 520.0};
    oto_vec3 position_enu_m = {1234.5, -678.9, 12.3};
    oto_geodetic place = oto_geodetic_from_enu(origin, position_enu_m);
    oto_vec3 back = oto_enu_from_geodetic(origin, place);
    assert_near(oto_vec3_norm(oto_vec3_sub(back, position_enu_m)), 0.0, 5e-9);
    oto_geodetic above = origin;
    above.alt_m += 100.0;
    assert_near(oto_enu_from_geodetic(origin, above).z, 100.0, 5e-9);
}

static void gravity_meets_the_standard_at_equator_and_pole_and_pizzettis_form_between(void **state)
{
    (void)state;
    const double a = OTO_WGS84_A_M, b = OTO_WGS84_B_M;
    assert_true(oto_gravity_wgs84(0.0, 0.0) == OTO_WGS84_GAMMA_E_M_S2);
    assert_near(oto_gravity_wgs84(OTO_HALF_PI, 0.0), OTO_WGS84_GAMMA_P_M_S2, 1e-10);
    assert_near(oto_gravity_wgs84(45.0 * OTO_DEG, 0.0), 9.806197769, 1e-9); /* tabulated, e.g. Hofmann-Wellenhof */
    for (int i = -90; i <= 90; i += 5) {
        double s = oto_sin(i * OTO_DEG), c = oto_cos(i * OTO_DEG);
        double pizzetti = (a * OTO_WGS84_GAMMA_E_M_S2 * c * c + b * OTO_WGS84_GAMMA_P_M_S2 * s * s) /
                          oto_sqrt(a * a * c * c + b * b * s * s);
        assert_near(oto_gravity_wgs84(i * OTO_DEG, 0.0), pizzetti,
                    2e-10); /* k is given with 13 digits, gamma_p with 11 */
    }
}

static void gravity_falls_with_height_as_the_second_order_formula_says(void **state)
{
    (void)state;
    /* NGA.STND.0036 eq. 4-3 at 45 degrees, 1000 m: the slope is close to the free-air gradient 3.086e-6 1/s² */
    double slope = (oto_gravity_wgs84(45.0 * OTO_DEG, 0.0) - oto_gravity_wgs84(45.0 * OTO_DEG, 1000.0)) / 1000.0;
    assert_near(slope, 3.086e-6, 2e-9);
    /* The field itself over the equator, from its zonal harmonics (NGA.STND.0036 table 3.5; J4, J6 of the ellipsoid).
     * The formula leaves out 4 (h/a)³, what is of second order in f and m beside 2 h/a, and of first beside 3 (h/a)².
     */
    const double j2 = 1.082629821313e-3, j4 = -2.37091126e-6, j6 = 6.08346e-9, small = OTO_WGS84_F + OTO_WGS84_M;
    for (double h = 1000.0; h <= 100000.0; h *= 10.0) {
        double r = OTO_WGS84_A_M + h, q = (OTO_WGS84_A_M / r) * (OTO_WGS84_A_M / r), x = h / OTO_WGS84_A_M;
        double zonal = 1.0 + 1.5 * j2 * q - 1.875 * j4 * q * q + 2.1875 * j6 * q * q * q;
        double field =
            OTO_WGS84_GM_M3_S2 / (r * r) * zonal - OTO_WGS84_EARTH_RATE_RAD_S * OTO_WGS84_EARTH_RATE_RAD_S * r;
        double left_out = 9.8 * (4.0 * x * x * x + 2.0 * x * small * small + 3.0 * x * x * small);
        assert_near(oto_gravity_wgs84(0.0, h), field, left_out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_agree_with_each_other),
        cmocka_unit_test(corners_of_the_ellipsoid_stand_where_they_should),
        cmocka_unit_test(places_come_back_from_ecef_within_a_nanometre_in_angle_and_rounding_in_height),
        cmocka_unit_test(enu_axes_point_east_north_and_up),
        cmocka_unit_test(a_place_in_an_enu_frame_comes_back),
        cmocka_unit_test(gravity_meets_the_standard_at_equator_and_pole_and_pizzettis_form_between),
        cmocka_unit_test(gravity_falls_with_height_as_the_second_order_formula_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
