/* The receiver through its ABI: statistics of its errors, modes, disturbances, and the defects of other simulators. */
#include <math.h>

#include "gnss_model.h"
#include "mini_host.h"

#define RATE_HZ 5.0
#define DEG (OTO_PI / 180.0)

struct rig {
    struct mini_host host;
    struct oto_sensor_input input;
    struct oto_sensor_input past;
    struct oto_instant asked;
    struct oto_navsat_record fix, clean;
    struct oto_output outputs[2];
    struct oto_step step;
};

static enum oto_step_status input_at(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    struct rig *rig = (struct rig *)context;
    rig->asked = at;
    *input = rig->past;
    return OTO_STEP_OK;
}

static void rig_open(struct rig *rig, double rate_hz)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, rate_hz, 42);
    rig->host.setup.origin_latitude_rad = 60.0 * DEG;
    rig->host.setup.origin_longitude_rad = 11.0 * DEG;
    rig->host.setup.origin_altitude_m = 300.0;
    rig->host.setup.date_days = 20635;
    rig->input = rig->past = mini_rest(&rig->host);
    rig->outputs[0].payload = &rig->fix;
    rig->outputs[1].payload = &rig->clean;
    rig->step.sensor.input_at = input_at;
    rig->step.sensor.input_context = rig;
    mini_set(&rig->host, "latency_ms", 0);
}

static void quiet(struct rig *rig, const char *mode)
{
    static const char *const terms[] = {"position_sigma_m", "position_white_m", "velocity_sigma_m_s", "velocity_white_m_s"};
    char key[64];
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++) {
        (void)snprintf(key, sizeof key, "%s.%s", mode, terms[i]);
        mini_set(&rig->host, key, 0);
    }
}

static const struct oto_navsat_record *sample(struct rig *rig, uint64_t n)
{
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, rig->outputs), OTO_STEP_OK);
    return &rig->fix;
}

/* Error of a fix in metres east, north, up of where the antenna is at rest: the origin. */
static oto_vec3 error_of(const struct rig *rig, const struct oto_navsat_record *fix)
{
    const oto_geodetic origin = {rig->host.setup.origin_latitude_rad, rig->host.setup.origin_longitude_rad,
                                 rig->host.setup.origin_altitude_m};
    const oto_geodetic place = {fix->latitude_deg * DEG, fix->longitude_deg * DEG, fix->altitude_m};
    return oto_enu_from_geodetic(origin, place);
}

static void disturb(struct rig *rig, uint32_t kind, double value, double rate_s)
{
    rig->input.disturbance_count = 1;
    rig->input.disturbances[0] = (struct oto_disturbance){kind, 3, value, rate_s};
}

/* ---- errors ---- */

/*
 * Autocovariance at lag k of N samples of s² phi^k + w² [k = 0]. Its estimate has about the variance
 * (2/N) sum_j r_j² = (2/N) s⁴ (1 + phi²)/(1 - phi²) for a slow process (Bartlett), so 5 deviations are the tolerance.
 */
static void autocovariance_of_1e5_samples_has_sigma_and_tau(void **state)
{
    enum { SAMPLES = 100000, LAGS = 5 };
    static const int lags[LAGS] = {0, 1, 10, 20, 40};
    static double east[SAMPLES], up[SAMPLES], speed[SAMPLES];
    const double sigma = 1.5, white = 0.4, tau_s = 4.0, phi = exp(-1.0 / (RATE_HZ * tau_s));
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_set(&rig.host, "single.position_sigma_m", sigma);
    mini_set(&rig.host, "single.position_white_m", white);
    mini_set(&rig.host, "single.position_tau_s", tau_s);
    mini_set(&rig.host, "single.velocity_sigma_m_s", sigma);
    mini_set(&rig.host, "single.velocity_white_m_s", white);
    mini_set(&rig.host, "single.velocity_tau_s", tau_s);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= SAMPLES; n++) {
        const oto_vec3 error = error_of(&rig, sample(&rig, n));
        east[n - 1] = error.x;
        up[n - 1] = error.z;
        speed[n - 1] = rig.fix.velocity_enu_m_s.y;
    }
    const double *const series[] = {east, up, speed};
    const double spread = 5.0 * sqrt(2.0 / SAMPLES * (1 + phi * phi) / (1 - phi * phi)) * (sigma * sigma + white * white);
    for (int s = 0; s < 3; s++) {
        for (int k = 0; k < LAGS; k++) {
            double sum = 0;
            for (int i = 0; i + lags[k] < SAMPLES; i++) {
                sum += series[s][i] * series[s][i + lags[k]];
            }
            const double expected = sigma * sigma * pow(phi, lags[k]) + (k == 0 ? white * white : 0.0);
            assert_near(sum / (SAMPLES - lags[k]), expected, spread);
        }
    }
    mini_close(&rig.host);
}

/* Row of a rival: sigma times sqrt 2 without correlation. 5 deviations of a variance of N samples: 5 sqrt(2/N). */
static void without_correlation_the_deviation_is_sigma_and_not_root_two_of_it(void **state)
{
    enum { SAMPLES = 20000 };
    struct rig rig;
    double squares = 0;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_set(&rig.host, "single.position_sigma_m", 2);
    mini_set(&rig.host, "single.position_white_m", 0);
    mini_set(&rig.host, "single.position_tau_s", 0);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= SAMPLES; n++) {
        const double east = error_of(&rig, sample(&rig, n)).x;
        squares += east * east;
    }
    assert_near(squares / SAMPLES, 4.0, 4.0 * 5.0 * sqrt(2.0 / SAMPLES));
    mini_close(&rig.host);
}

/* Row of a rival: metres east divided by the degrees of a great circle, without cos(latitude): half of it at 60°. */
static void an_error_east_has_its_metres_at_60_degrees_of_latitude(void **state)
{
    enum { SAMPLES = 20000 };
    struct rig rig;
    double east = 0, north = 0;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_set(&rig.host, "single.position_sigma_m", 0);
    mini_set(&rig.host, "single.position_white_m", 3);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= SAMPLES; n++) {
        const double lon_m = 6378137.0 / sqrt(1 - OTO_WGS84_E2 * 0.75) * 0.5; /* N cos 60°, per radian at height 0 */
        (void)sample(&rig, n);
        const double e = (rig.fix.longitude_deg * DEG - rig.host.setup.origin_longitude_rad) * lon_m;
        const oto_vec3 error = error_of(&rig, &rig.fix);
        east += e * e;
        north += error.y * error.y;
    }
    assert_near(east / SAMPLES, 9.0, 9.0 * 5.0 * sqrt(2.0 / SAMPLES));
    assert_near(north / SAMPLES, 9.0, 9.0 * 5.0 * sqrt(2.0 / SAMPLES));
    mini_close(&rig.host);
}

/*
 * Row of a rival: the horizontal error runs round a circle of radius sigma. Here the radius is Rayleigh: its mean over its
 * rms is sqrt(pi)/2; on a circle it is 1. Deviation of the mean radius: sigma sqrt((2 - pi/2)/N).
 */
static void the_horizontal_error_does_not_go_in_circles(void **state)
{
    enum { SAMPLES = 20000 };
    struct rig rig;
    double radius = 0;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_set(&rig.host, "single.position_sigma_m", 1);
    mini_set(&rig.host, "single.position_white_m", 0);
    mini_set(&rig.host, "single.position_tau_s", 0);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= SAMPLES; n++) {
        const oto_vec3 error = error_of(&rig, sample(&rig, n));
        radius += hypot(error.x, error.y);
    }
    assert_near(radius / SAMPLES, sqrt(OTO_PI / 2), 5.0 * sqrt((2 - OTO_PI / 2) / SAMPLES));
    mini_close(&rig.host);
}

/* Row of a rival: one height called both. */
static void ellipsoidal_and_sea_level_height_differ_by_the_geoid(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    quiet(&rig, "single");
    mini_set(&rig.host, "geoid_separation_m", 39.5);
    mini_start(&rig.host);
    (void)sample(&rig, 1);
    assert_near(rig.fix.altitude_m, 300.0, 1e-6);
    assert_near(rig.fix.altitude_msl_m, 260.5, 1e-6);
    assert_near(rig.fix.geoid_separation_m, 39.5, 0);
    mini_close(&rig.host);
}

/* Row of a rival: accuracy fields that do not belong to the error. */
static void accuracy_fields_are_the_deviation_of_the_error_times_the_scale(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_set(&rig.host, "accuracy_scale", 0.5);
    mini_set(&rig.host, "single.position_sigma_m", 3);
    mini_set(&rig.host, "single.position_white_m", 4);
    mini_set(&rig.host, "single.velocity_sigma_m_s", 0.3);
    mini_set(&rig.host, "single.velocity_white_m_s", 0.4);
    mini_start(&rig.host);
    (void)sample(&rig, 1);
    assert_near(rig.fix.horizontal_accuracy_m, 2.5, 1e-12);
    assert_near(rig.fix.vertical_accuracy_m, 2.5, 1e-12);
    assert_near(rig.fix.speed_accuracy_m_s, 0.25, 1e-12);
    assert_near(rig.fix.position_covariance[8], 6.25, 1e-12);
    assert_near(rig.fix.velocity_covariance[0], 0.0625, 1e-12);
    assert_int_equal(rig.fix.position_covariance_type, 2);
    mini_close(&rig.host);
}

/* ---- motion and time ---- */

static void position_and_velocity_are_those_of_the_antenna(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    quiet(&rig, "single");
    mini_start(&rig.host);
    /* what the host makes of a lever arm: p + R l, v + R (w x l) */
    rig.input.position_sensor_enu_m = oto_vec3_make(3, 4, 1.5);
    rig.input.velocity_sensor_enu_m_s = oto_vec3_make(0.3, -0.4, 0.1);
    (void)sample(&rig, 1);
    const oto_vec3 place = error_of(&rig, &rig.fix);
    assert_near(place.x, 3, 1e-6);
    assert_near(place.y, 4, 1e-6);
    assert_near(place.z, 1.5, 1e-6);
    assert_near(rig.fix.ground_speed_m_s, 0.5, 1e-5);
    assert_near(rig.fix.course_deg, 90 + atan2(0.4, 0.3) / DEG, 1e-3);
    mini_close(&rig.host);
}

static void the_course_is_undefined_at_rest(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_start(&rig.host);
    (void)sample(&rig, 1);
    assert_near(rig.fix.course_deg, -1, 0);
    assert_near(rig.fix.course_accuracy_deg, -1, 0);
    mini_close(&rig.host);
}

static void a_late_fix_has_the_stamp_of_its_measurement(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    quiet(&rig, "single");
    mini_set(&rig.host, "latency_ms", 120);
    mini_set(&rig.host, "utc_start_s", 3600);
    mini_start(&rig.host);
    rig.past.position_sensor_enu_m = oto_vec3_make(-7, 0, 0);
    (void)sample(&rig, 10); /* t = 2 s */
    assert_int_equal(rig.fix.age_ns, 120000000);
    assert_int_equal(rig.asked.t_ns, 1880000000);
    assert_near(error_of(&rig, &rig.fix).x, -7, 1e-6);
    assert_int_equal(rig.fix.utc_ns, INT64_C(20635) * 86400000000000 + 3601880000000);
    mini_close(&rig.host);
}

/* Mean and deviation of N ages; 5 standard errors s/sqrt(N) and s/sqrt(2N). */
static void jitter_spreads_the_age_by_its_deviation(void **state)
{
    enum { SAMPLES = 4000 };
    struct rig rig;
    double sum = 0, squares = 0;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_set(&rig.host, "latency_ms", 200);
    mini_set(&rig.host, "jitter_ms", 20);
    mini_start(&rig.host);
    for (uint64_t n = 11; n <= 10 + SAMPLES; n++) {
        const double age_ms = (double)sample(&rig, n)->age_ns * 1e-6;
        sum += age_ms;
        squares += (age_ms - 200) * (age_ms - 200);
    }
    assert_near(sum / SAMPLES, 200, 5 * 20 / sqrt(SAMPLES));
    assert_near(sqrt(squares / SAMPLES), 20, 5 * 20 / sqrt(2.0 * SAMPLES));
    mini_close(&rig.host);
}

/* ---- modes and disturbances ---- */

static void modes_follow_each_other_from_a_cold_start(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, 1.0);
    mini_set(&rig.host, "mode", OTO_NAVSAT_FIXED);
    mini_set(&rig.host, "acquired_at_start", 0);
    mini_set(&rig.host, "first_fix_s", 3);
    mini_set(&rig.host, "dgps.time_to_fix_s", 2);
    mini_set(&rig.host, "float.time_to_fix_s", 4);
    mini_set(&rig.host, "fixed.time_to_fix_s", 6);
    mini_start(&rig.host);
    static const uint8_t modes[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4};
    for (uint64_t n = 1; n <= sizeof modes; n++) {
        assert_int_equal(sample(&rig, n)->mode, modes[n - 1]);
        assert_int_equal(rig.fix.status, modes[n - 1] == 0 ? -1 : modes[n - 1] == 1 ? 0 : modes[n - 1] == 2 ? 1 : 2);
        assert_int_equal(rig.fix.satellites == 0, modes[n - 1] == 0);
    }
    mini_close(&rig.host);
}

static void after_an_outage_modes_are_reacquired_and_the_fixes_are_the_undisturbed_ones(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, 1.0);
    mini_set(&rig.host, "mode", OTO_NAVSAT_FIXED);
    mini_set(&rig.host, "clean", 1);
    mini_set(&rig.host, "reacquisition_s", 2);
    mini_set(&rig.host, "dgps.time_to_fix_s", 1);
    mini_set(&rig.host, "float.time_to_fix_s", 2);
    mini_set(&rig.host, "fixed.time_to_fix_s", 5);
    mini_start(&rig.host);
    static const uint8_t modes[] = {4, 4, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 4};
    for (uint64_t n = 1; n <= sizeof modes; n++) {
        const struct oto_navsat_record before = rig.fix;
        rig.input.disturbance_count = 0;
        if (n >= 3 && n <= 5) {
            disturb(&rig, OTO_FAULT_OUTAGE, 0, 0);
        }
        assert_int_equal(sample(&rig, n)->mode, modes[n - 1]);
        assert_int_equal(rig.clean.mode, 4);
        if (modes[n - 1] == 4) {
            assert_memory_equal(&rig.fix, &rig.clean, sizeof rig.fix);
        } else if (modes[n - 1] == 0) {
            assert_near(rig.fix.latitude_deg, before.latitude_deg, 0); /* the last position */
            assert_near(rig.fix.horizontal_accuracy_m, -1, 0);
            assert_int_equal(rig.fix.position_covariance_type, 0);
        }
    }
    mini_close(&rig.host);
}

static void multipath_displaces_the_position_alone_and_a_spoofer_the_velocity_too(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    quiet(&rig, "single");
    mini_start(&rig.host);
    disturb(&rig, OTO_FAULT_MULTIPATH, 12, -1.2);
    const oto_vec3 by_multipath = error_of(&rig, sample(&rig, 1));
    assert_near(hypot(by_multipath.x, by_multipath.y), 12, 1e-4);
    assert_near(rig.fix.ground_speed_m_s, 0, 1e-12);
    disturb(&rig, OTO_FAULT_SPOOF, 12, 1.5);
    const oto_vec3 by_spoofer = error_of(&rig, sample(&rig, 2));
    assert_near(hypot(by_spoofer.x, by_spoofer.y), 12, 1e-4);
    assert_near(rig.fix.ground_speed_m_s, 1.5, 1e-6);
    assert_near(by_spoofer.x * rig.fix.velocity_enu_m_s.y, by_spoofer.y * rig.fix.velocity_enu_m_s.x, 1e-4);
    assert_near(rig.fix.horizontal_accuracy_m, 0, 0); /* the receiver does not notice */
    mini_close(&rig.host);
}

static void a_jam_grows_the_errors_then_takes_the_carrier_then_the_fix(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, 1.0);
    mini_set(&rig.host, "mode", OTO_NAVSAT_FIXED);
    mini_set(&rig.host, "fixed.time_to_fix_s", 5);
    mini_set(&rig.host, "float.time_to_fix_s", 2);
    mini_start(&rig.host);
    const double before_m = sample(&rig, 1)->horizontal_accuracy_m;
    disturb(&rig, OTO_FAULT_JAM, 6, 0);
    assert_near(sample(&rig, 2)->horizontal_accuracy_m, before_m * pow(10, 0.3), 1e-12);
    assert_int_equal(rig.fix.mode, OTO_NAVSAT_FIXED);
    disturb(&rig, OTO_FAULT_JAM, 12, 0);
    assert_int_equal(sample(&rig, 3)->mode, OTO_NAVSAT_DGPS);
    rig.input.disturbance_count = 0;
    assert_int_equal(sample(&rig, 4)->mode, OTO_NAVSAT_DGPS);
    assert_int_equal(sample(&rig, 5)->mode, OTO_NAVSAT_FLOAT);
    assert_int_equal(sample(&rig, 8)->mode, OTO_NAVSAT_FIXED);
    disturb(&rig, OTO_FAULT_JAM, 25, 0);
    assert_int_equal(sample(&rig, 9)->mode, OTO_NAVSAT_NONE);
    mini_close(&rig.host);
}

static void motion_that_is_not_finite_gives_no_sample(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_start(&rig.host);
    rig.input.position_sensor_enu_m.y = NAN;
    assert_int_equal(mini_step(&rig.host, &rig.step, 1, &rig.input, rig.outputs), OTO_STEP_DISCARD);
    mini_close(&rig.host);
}

static void a_carrier_that_is_lost_after_the_code_is_refused(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ);
    mini_set(&rig.host, "jam.carrier_db", 30);
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    assert_non_null(strstr(rig.host.error.text, "jam.carrier_db"));
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(autocovariance_of_1e5_samples_has_sigma_and_tau),
        cmocka_unit_test(without_correlation_the_deviation_is_sigma_and_not_root_two_of_it),
        cmocka_unit_test(an_error_east_has_its_metres_at_60_degrees_of_latitude),
        cmocka_unit_test(the_horizontal_error_does_not_go_in_circles),
        cmocka_unit_test(ellipsoidal_and_sea_level_height_differ_by_the_geoid),
        cmocka_unit_test(accuracy_fields_are_the_deviation_of_the_error_times_the_scale),
        cmocka_unit_test(position_and_velocity_are_those_of_the_antenna),
        cmocka_unit_test(the_course_is_undefined_at_rest),
        cmocka_unit_test(a_late_fix_has_the_stamp_of_its_measurement),
        cmocka_unit_test(jitter_spreads_the_age_by_its_deviation),
        cmocka_unit_test(modes_follow_each_other_from_a_cold_start),
        cmocka_unit_test(after_an_outage_modes_are_reacquired_and_the_fixes_are_the_undisturbed_ones),
        cmocka_unit_test(multipath_displaces_the_position_alone_and_a_spoofer_the_velocity_too),
        cmocka_unit_test(a_jam_grows_the_errors_then_takes_the_carrier_then_the_fix),
        cmocka_unit_test(motion_that_is_not_finite_gives_no_sample),
        cmocka_unit_test(a_carrier_that_is_lost_after_the_code_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
