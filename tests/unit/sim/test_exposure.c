#include "oto_test.h"

#include "otolith/geodesy.h"
#include "sim/exposure.h"
#include "sim/history.h"
#include "sim/state_hash.h"

static struct srv_world_config flat_world(void)
{
    struct srv_world_config world;
    memset(&world, 0, sizeof world);
    world.environment.gravity_enu_m_s2 = oto_vec3_make(0.0, 0.0, -9.8);
    world.environment.mag_field_enu_ut = oto_vec3_make(1.0, 20.0, -43.0);
    return world;
}

static struct oto_sensor_input fill(const struct srv_world_config *world, const struct oto_truth_record *truth,
                                    oto_vec3 mount, oto_quat q_body_from_sensor)
{
    struct srv_environment environment;
    struct oto_sensor_input input;
    struct oto_setup setup;
    memset(&setup, 0, sizeof setup);
    memset(&input, 0, sizeof input);
    setup.mount_position_body_m = mount;
    setup.q_body_from_sensor = q_body_from_sensor;
    srv_environment_init(&environment, world);
    input.truth = *truth;
    const struct srv_exposure exposure = {.at = {0, 0.0}};
    srv_environment_fill(&environment, &setup, &exposure, &input);
    return input;
}

static void assert_vec(oto_vec3 got, oto_vec3 expected, double tolerance)
{
    assert_near(got.x, expected.x, tolerance);
    assert_near(got.y, expected.y, tolerance);
    assert_near(got.z, expected.z, tolerance);
}

static void A16_at_rest_and_level_a_sensor_feels_gravity_upward_exactly(void **unused)
{
    (void)unused;
    const struct srv_world_config world = flat_world();
    struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}};
    const struct oto_sensor_input input = fill(&world, &truth, oto_vec3_make(1, 2, 3), oto_quat_identity());
    assert_vec(input.specific_force_sensor_m_s2, oto_vec3_make(0, 0, 9.8), 0.0);
    assert_vec(input.mag_field_sensor_ut, oto_vec3_make(1, 20, -43), 0.0);
    assert_vec(input.position_sensor_enu_m, oto_vec3_make(1, 2, 3), 0.0);
}

static void A18_a_sensor_off_the_axis_feels_the_lever_arm(void **unused)
{
    (void)unused;
    const struct srv_world_config world = flat_world();
    struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}};
    truth.angular_rate_body_rad_s = oto_vec3_make(0, 0, 2.0);
    truth.angular_accel_body_rad_s2 = oto_vec3_make(0, 0, 0.5);
    const struct oto_sensor_input input = fill(&world, &truth, oto_vec3_make(0.3, 0, 0), oto_quat_identity());
    /* centripetal -w² r along x, tangential alpha r along y */
    assert_vec(input.specific_force_sensor_m_s2, oto_vec3_make(-4.0 * 0.3, 0.5 * 0.3, 9.8), 1e-15);
    assert_vec(input.velocity_sensor_enu_m_s, oto_vec3_make(0, 0.6, 0), 1e-15);
}

static void A18_the_lever_arm_equals_the_second_derivative_of_the_mounts_path(void **unused)
{
    (void)unused;
    const struct srv_world_config world = flat_world();
    const oto_vec3 mount = oto_vec3_make(0.4, -0.2, 0.7);
    const double rate = 0.9, t = 1.3, h = 1e-3;
    oto_vec3 at[3];
    struct oto_truth_record truth = {.q_enu_from_body = oto_quat_from_rpy(0, 0, rate * t)};
    truth.angular_rate_body_rad_s = oto_vec3_make(0, 0, rate);
    for (int i = 0; i < 3; i++) {
        at[i] = oto_quat_rotate(oto_quat_from_rpy(0, 0, rate * (t + (i - 1) * h)), mount);
    }
    const oto_vec3 sum = oto_vec3_add(at[0], at[2]);
    const oto_vec3 accel = oto_vec3_scale(oto_vec3_add_scaled(sum, at[1], -2.0), 1.0 / (h * h));
    const oto_vec3 force_enu = oto_vec3_sub(accel, world.environment.gravity_enu_m_s2);
    const struct oto_sensor_input input = fill(&world, &truth, mount, oto_quat_identity());
    assert_vec(input.specific_force_sensor_m_s2, oto_quat_rotate_inv(truth.q_enu_from_body, force_enu), 1e-6);
}

static void A14_A15_a_turned_mount_turns_everything_it_measures(void **unused)
{
    (void)unused;
    const struct srv_world_config world = flat_world();
    struct oto_truth_record truth = {.q_enu_from_body = oto_quat_from_rpy(0.1, -0.2, 0.3)};
    truth.angular_rate_body_rad_s = oto_vec3_make(1, 2, 3);
    truth.accel_enu_m_s2 = oto_vec3_make(0.5, -0.5, 0.25);
    const oto_quat q = oto_quat_from_rpy(0.5, 1.0, -2.0);
    const struct oto_sensor_input straight = fill(&world, &truth, oto_vec3_make(0.1, 0.2, 0.3), oto_quat_identity());
    const struct oto_sensor_input turned = fill(&world, &truth, oto_vec3_make(0.1, 0.2, 0.3), q);
    assert_vec(oto_quat_rotate(q, turned.specific_force_sensor_m_s2), straight.specific_force_sensor_m_s2, 1e-14);
    assert_vec(oto_quat_rotate(q, turned.angular_rate_sensor_rad_s), straight.angular_rate_sensor_rad_s, 1e-14);
    assert_vec(oto_quat_rotate(q, turned.mag_field_sensor_ut), straight.mag_field_sensor_ut, 1e-13);
    assert_near(oto_quat_angle_between(turned.q_enu_from_sensor, oto_quat_mul(truth.q_enu_from_body, q)), 0.0, 1e-15);
}

static void A15_with_its_nose_to_the_north_an_eastward_acceleration_pushes_to_the_right(void **unused)
{
    (void)unused;
    struct srv_world_config world = flat_world();
    world.environment.gravity_enu_m_s2 = oto_vec3_zero();
    struct oto_truth_record truth = {.q_enu_from_body = oto_quat_from_rpy(0, 0, OTO_HALF_PI)};
    truth.accel_enu_m_s2 = oto_vec3_make(1, 0, 0);
    truth.angular_rate_body_rad_s = oto_vec3_make(0.3, 0.2, 0.1); /* is the body's own already */
    const struct oto_sensor_input input = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity());
    assert_vec(input.specific_force_sensor_m_s2, oto_vec3_make(0, -1, 0), 1e-15);
    assert_vec(input.angular_rate_sensor_rad_s, truth.angular_rate_body_rad_s, 0);
}

static void A16_six_faces_read_one_g_upward_and_free_fall_reads_none(void **unused)
{
    (void)unused;
    const struct srv_world_config world = flat_world();
    static const double faces[6][5] = {/* roll, pitch; what is read */
                                       {0, 0, 0, 0, 9.8},          {OTO_PI, 0, 0, 0, -9.8},
                                       {OTO_HALF_PI, 0, 0, 9.8, 0}, {-OTO_HALF_PI, 0, 0, -9.8, 0},
                                       {0, -OTO_HALF_PI, 9.8, 0, 0}, {0, OTO_HALF_PI, -9.8, 0, 0}};
    for (size_t i = 0; i < 6; i++) {
        struct oto_truth_record truth = {.q_enu_from_body = oto_quat_from_rpy(faces[i][0], faces[i][1], 0)};
        struct oto_sensor_input input = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity());
        assert_vec(input.specific_force_sensor_m_s2, oto_vec3_from_array(&faces[i][2]), 1e-14);
        truth.accel_enu_m_s2 = world.environment.gravity_enu_m_s2;
        input = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity());
        assert_vec(input.specific_force_sensor_m_s2, oto_vec3_zero(), 0);
    }
}

/* The default field in ENU axes; its norm is 31.998 µT in any attitude. */
static void A17_the_field_turns_with_yaw_pitch_and_roll_and_keeps_its_norm(void **unused)
{
    (void)unused;
    struct srv_world_config world = flat_world();
    world.environment.mag_field_enu_ut = oto_vec3_make(-2.4169, 27.5550, 16.0849);
    static const double rows[4][6] = {{0, 0, 0, -2.4169, 27.5550, 16.0849},
                                      {0, 0, OTO_HALF_PI, 27.5550, 2.4169, 16.0849},   /* x to the north */
                                      {0, OTO_HALF_PI, 0, -16.0849, 27.5550, -2.4169}, /* x downward */
                                      {OTO_HALF_PI, 0, 0, -2.4169, 16.0849, -27.5550}}; /* y upward */
    for (size_t i = 0; i < 4; i++) {
        const struct oto_truth_record truth = {.q_enu_from_body = oto_quat_from_rpy(rows[i][0], rows[i][1], rows[i][2])};
        const oto_vec3 field = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity()).mag_field_sensor_ut;
        assert_vec(field, oto_vec3_from_array(&rows[i][3]), 1e-14);
        assert_near(oto_vec3_norm(field), 31.998, 5e-4);
    }
}

/* q ← q ⊗ exp(ω dt) over the samples of a gyroscope; 1000 roundings of a unit quaternion and its rate. */
static void A24_integrated_rate_leads_to_the_attitude_of_the_closed_form(void **unused)
{
    (void)unused;
    const struct srv_world_config world = flat_world();
    const oto_vec3 rate = oto_vec3_make(0.03, -0.4, 0.9);
    const oto_quat start = oto_quat_from_rpy(0.1, 0.2, 0.3), q_body_from_sensor = oto_quat_from_rpy(0.5, -0.2, 2);
    oto_quat q = oto_quat_mul(start, q_body_from_sensor);
    for (int n = 1; n <= 1000; n++) {
        struct oto_truth_record truth = {.angular_rate_body_rad_s = rate};
        truth.q_enu_from_body = oto_quat_mul(start, oto_quat_from_rotvec(oto_vec3_scale(rate, 0.01 * n)));
        const struct oto_sensor_input input = fill(&world, &truth, oto_vec3_zero(), q_body_from_sensor);
        q = oto_quat_mul(q, oto_quat_from_rotvec(oto_vec3_scale(input.angular_rate_sensor_rad_s, 0.01)));
        assert_near(oto_quat_angle_between(q, input.q_enu_from_sensor), 0.0, 1e-12);
    }
    /* The rates that the original gives as zero at dt = 1 ms (A.4). */
    const struct oto_truth_record slow = {.q_enu_from_body = {1, 0, 0, 0}, .angular_rate_body_rad_s = {0, 0, 0.05}};
    assert_near(fill(&world, &slow, oto_vec3_zero(), oto_quat_identity()).angular_rate_sensor_rad_s.z, 0.05, 0);
}

/* The exact way: geodetic place, Somigliana's magnitude, along the ellipsoid's normal there. */
static oto_vec3 exact_gravity(oto_geodetic origin, oto_vec3 position)
{
    const oto_geodetic place = oto_geodetic_from_enu(origin, position);
    const oto_quat q_here_from_ecef = oto_q_enu_from_ecef(place.lat_rad, place.lon_rad);
    const oto_vec3 down = oto_vec3_make(0, 0, -oto_gravity_wgs84(place.lat_rad, place.alt_m));
    const oto_vec3 ecef = oto_quat_rotate_inv(q_here_from_ecef, down);
    return oto_quat_rotate(oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad), ecef);
}

static void gravity_follows_the_ellipsoid_as_a_vehicle_leaves_the_origin(void **unused)
{
    (void)unused;
    struct srv_world_config world = flat_world();
    const oto_geodetic origin = {48.137 * OTO_DEG, 11.575 * OTO_DEG, 520.0};
    world.origin_latitude_rad = origin.lat_rad;
    world.origin_longitude_rad = origin.lon_rad;
    world.origin_altitude_m = origin.alt_m;
    world.environment.gravity_wgs84 = true;
    world.environment.gravity_enu_m_s2 = exact_gravity(origin, oto_vec3_zero());
    struct srv_environment environment;
    srv_environment_init(&environment, &world);
    assert_vec(srv_gravity_enu_m_s2(&environment, oto_vec3_zero()), world.environment.gravity_enu_m_s2, 0.0);
    static const double places[][3] = {{1000, 0, 0},      {0, 1000, 0},          {0, 0, 1000},
                                       {20000, -15000, 0}, {-100000, 80000, 500}, {300000, 300000, 0}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const oto_vec3 position = oto_vec3_make(places[i][0], places[i][1], places[i][2]);
        /* Off the ellipsoid the field is not quite normal to it: 0.17" a km of height, 8e-9 m/s² a metre. */
        const double height_m = oto_geodetic_from_enu(origin, position).alt_m - origin.alt_m;
        assert_vec(srv_gravity_enu_m_s2(&environment, position), exact_gravity(origin, position),
                   1e-6 + 1e-8 * fabs(height_m));
    }
}

/* ---- the turning Earth ---- */

#define MUNICH {48.137 * OTO_DEG, 11.575 * OTO_DEG, 520.0}

static struct srv_world_config turning_world(oto_geodetic origin)
{
    struct srv_world_config world = flat_world();
    world.origin_latitude_rad = origin.lat_rad;
    world.origin_longitude_rad = origin.lon_rad;
    world.origin_altitude_m = origin.alt_m;
    world.environment.gravity_wgs84 = true;
    world.environment.gravity_enu_m_s2 = oto_vec3_make(0, 0, -oto_gravity_wgs84(origin.lat_rad, origin.alt_m));
    world.environment.earth_rate = true;
    return world;
}

static void at_rest_a_gyroscope_feels_the_earth_turn_only_where_the_world_says_so(void **unused)
{
    (void)unused;
    const oto_geodetic origin = MUNICH;
    struct srv_world_config world = turning_world(origin);
    struct oto_truth_record truth = {.q_enu_from_body = oto_quat_from_rpy(0, 0, OTO_HALF_PI)}; /* x to the north */
    const double rate = 7.292115e-5;
    struct oto_sensor_input input = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity());
    assert_vec(input.angular_rate_sensor_rad_s,
               oto_vec3_make(rate * cos(origin.lat_rad), 0, rate * sin(origin.lat_rad)), 1e-19);
    assert_vec(input.specific_force_sensor_m_s2, oto_vec3_make(0, 0, 9.8076), 1e-3);
    const double at_rest = input.specific_force_sensor_m_s2.z;
    world.environment.earth_rate = false;
    input = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity());
    assert_vec(input.angular_rate_sensor_rad_s, oto_vec3_zero(), 0);
    assert_near(input.specific_force_sensor_m_s2.z, at_rest, 0); /* gravity has the centrifugal part in either case */
}

static void eastward_motion_weighs_less_as_eotvos_says(void **unused)
{
    (void)unused;
    const oto_geodetic origin = MUNICH;
    const struct srv_world_config world = turning_world(origin);
    struct oto_truth_record truth = {.q_enu_from_body = {1, 0, 0, 0}};
    const double rest = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity()).specific_force_sensor_m_s2.z;
    truth.velocity_enu_m_s = oto_vec3_make(100, 0, 0);
    const oto_vec3 f = fill(&world, &truth, oto_vec3_zero(), oto_quat_identity()).specific_force_sensor_m_s2;
    const double twice = 2 * 7.292115e-5 * 100;
    assert_near(f.z - rest, -twice * cos(origin.lat_rad), 1e-14);
    assert_near(f.y, twice * sin(origin.lat_rad), 1e-14);
}

/* A path in the origin's ENU frame: a cubic of time; the body turns about its z axis, whose tilt is fixed. */
#define TURN_RAD_S 0.05
static struct oto_truth_record travelling(double t)
{
    struct oto_truth_record truth;
    memset(&truth, 0, sizeof truth);
    const oto_vec3 a = oto_vec3_make(1.5, -0.5, 0.2), jerk = oto_vec3_make(0.02, 0.03, -0.01);
    const oto_vec3 v = oto_vec3_make(60, 40, -5);
    truth.position_enu_m = oto_vec3_add(oto_vec3_add(oto_vec3_make(12000, -7000, 900), oto_vec3_scale(v, t)),
                                        oto_vec3_add(oto_vec3_scale(a, t * t / 2), oto_vec3_scale(jerk, t * t * t / 6)));
    truth.velocity_enu_m_s = oto_vec3_add(v, oto_vec3_add(oto_vec3_scale(a, t), oto_vec3_scale(jerk, t * t / 2)));
    truth.accel_enu_m_s2 = oto_vec3_add_scaled(a, jerk, t);
    truth.q_enu_from_body = oto_quat_mul(oto_quat_from_rpy(0.2, -0.1, 0.4), oto_quat_from_rpy(0, 0, TURN_RAD_S * t));
    truth.angular_rate_body_rad_s = oto_vec3_make(0, 0, TURN_RAD_S);
    return truth;
}

static oto_vec3 turn_with_earth(oto_vec3 v, double t)
{
    const double c = cos(7.292115e-5 * t), s = sin(7.292115e-5 * t);
    return oto_vec3_make(c * v.x - s * v.y, s * v.x + c * v.y, v.z);
}

/* Where the mount is in a frame that does not turn. */
static oto_vec3 inertial_position(oto_geodetic origin, oto_vec3 mount, double t)
{
    const struct oto_truth_record truth = travelling(t);
    const oto_vec3 enu = oto_vec3_add(truth.position_enu_m, oto_quat_rotate(truth.q_enu_from_body, mount));
    const oto_quat q_enu_from_ecef = oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad);
    const oto_vec3 ecef = oto_vec3_add(oto_ecef_from_geodetic(origin), oto_quat_rotate_inv(q_enu_from_ecef, enu));
    return turn_with_earth(ecef, t);
}

/*
 * In a frame that does not turn: f = d²r/dt² - gravitation, gravitation being gravity without the centrifugal part. The
 * derivative is a second difference over h = 0.5 s: rounding of 6.4e6 m gives 4 (1e-9 m) / h² = 2e-8 m/s², the mount's
 * fourth derivative h²/12 (0.05 rad/s)^4 (1 m) = 1e-7 m/s².
 */
static void specific_force_is_inertial_acceleration_less_gravitation(void **unused)
{
    (void)unused;
    const oto_geodetic origin = MUNICH;
    const struct srv_world_config world = turning_world(origin);
    const oto_vec3 mount = oto_vec3_make(0.8, -0.4, 0.3);
    const oto_quat q_enu_from_ecef = oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad);
    struct srv_environment environment;
    srv_environment_init(&environment, &world);
    for (double t = 0; t < 30; t += 7) {
        const double h = 0.5;
        const struct oto_truth_record truth = travelling(t);
        const oto_vec3 sum = oto_vec3_add(inertial_position(origin, mount, t - h), inertial_position(origin, mount, t + h));
        oto_vec3 accel = oto_vec3_scale(oto_vec3_add_scaled(sum, inertial_position(origin, mount, t), -2), 1 / (h * h));
        accel = turn_with_earth(accel, -t); /* in the Earth's axes of that instant */
        const oto_vec3 ecef = oto_vec3_add(oto_ecef_from_geodetic(origin),
                                           oto_quat_rotate_inv(q_enu_from_ecef, truth.position_enu_m));
        oto_vec3 gravitation =
            oto_quat_rotate_inv(q_enu_from_ecef, srv_gravity_enu_m_s2(&environment, truth.position_enu_m));
        gravitation = oto_vec3_add_scaled(gravitation, oto_vec3_make(ecef.x, ecef.y, 0), -7.292115e-5 * 7.292115e-5);
        const oto_vec3 f_enu = oto_quat_rotate(q_enu_from_ecef, oto_vec3_sub(accel, gravitation));
        const struct oto_sensor_input input = fill(&world, &truth, mount, oto_quat_identity());
        assert_vec(input.specific_force_sensor_m_s2, oto_quat_rotate_inv(truth.q_enu_from_body, f_enu), 3e-7);
    }
}

static void angular_acceleration_is_the_derivative_of_the_rate_with_the_earths(void **unused)
{
    (void)unused;
    const oto_geodetic origin = MUNICH;
    const struct srv_world_config world = turning_world(origin);
    const double t = 3, h = 1e-2;
    const struct oto_truth_record before = travelling(t - h), at = travelling(t), after = travelling(t + h);
    const oto_vec3 difference =
        oto_vec3_sub(fill(&world, &after, oto_vec3_zero(), oto_quat_identity()).angular_rate_sensor_rad_s,
                     fill(&world, &before, oto_vec3_zero(), oto_quat_identity()).angular_rate_sensor_rad_s);
    const struct oto_sensor_input input = fill(&world, &at, oto_vec3_zero(), oto_quat_identity());
    assert_vec(input.angular_accel_sensor_rad_s2, oto_vec3_scale(difference, 0.5 / h), 1e-12);
    assert_true(oto_vec3_norm(input.angular_accel_sensor_rad_s2) > 1e-6);
}

/* ---- history ---- */

static struct oto_truth_record turning(double t)
{
    struct oto_truth_record truth;
    double s, c;
    memset(&truth, 0, sizeof truth);
    oto_sincos(0.5 * t, &s, &c);
    truth.position_enu_m = oto_vec3_make(20 * s, 20 - 20 * c, t);
    truth.velocity_enu_m_s = oto_vec3_make(10 * c, 10 * s, 1);
    truth.accel_enu_m_s2 = oto_vec3_make(-5 * s, 5 * c, 0);
    truth.q_enu_from_body = oto_quat_from_rpy(0, 0, 0.5 * t);
    truth.angular_rate_body_rad_s = oto_vec3_make(0, 0, 0.5);
    truth.longitudinal_speed_m_s = 10;
    return truth;
}

static void the_past_between_ticks_is_interpolated_smoothly(void **unused)
{
    (void)unused;
    struct oto_truth_record records[128];
    struct srv_history history = {records, 127, 100, 1};
    assert_int_equal(srv_history_capacity(100, 1), 128);
    for (uint64_t m = 0; m <= 300; m++) {
        const struct oto_truth_record truth = turning((double)m * 0.01);
        srv_history_put(&history, m, &truth);
    }
    for (int64_t t_ns = INT64_C(2000000000); t_ns <= INT64_C(3000000000); t_ns += 1234567) {
        struct oto_truth_record truth;
        srv_history_get(&history, 300, (struct oto_instant){t_ns, 0.25}, &truth);
        const struct oto_truth_record exact = turning(((double)t_ns + 0.25) * 1e-9);
        assert_vec(truth.position_enu_m, exact.position_enu_m, 1e-12);
        assert_vec(truth.velocity_enu_m_s, exact.velocity_enu_m_s, 1e-10);
        assert_vec(truth.accel_enu_m_s2, exact.accel_enu_m_s2, 1e-6);
        assert_near(oto_quat_angle_between(truth.q_enu_from_body, exact.q_enu_from_body), 0.0, 1e-12);
    }
}

static void the_past_at_a_tick_is_that_ticks_truth(void **unused)
{
    (void)unused;
    struct oto_truth_record records[8], truth;
    struct srv_history history = {records, 7, 3, 1}; /* thirds of a second are no whole nanoseconds */
    for (uint64_t m = 0; m <= 6; m++) {
        const struct oto_truth_record put = turning((double)m / 3.0);
        srv_history_put(&history, m, &put);
    }
    srv_history_get(&history, 6, (struct oto_instant){INT64_C(1666666666), 2.0 / 3.0}, &truth);
    assert_vec(truth.position_enu_m, records[5].position_enu_m, 1e-12);
    srv_history_get(&history, 6, (struct oto_instant){INT64_C(2000000000), 0.0}, &truth);
    assert_vec(truth.position_enu_m, records[6].position_enu_m, 1e-14);
}

/* ---- state hash ---- */

static uint64_t hash_of(const uint64_t *words, size_t count, uint64_t chain)
{
    struct srv_state_hash hash;
    srv_state_hash_begin(&hash, chain);
    srv_state_hash_absorb(&hash, words, 8 * count);
    return srv_state_hash_end(&hash);
}

static void one_bit_of_the_state_changes_half_of_the_hash(void **unused)
{
    (void)unused;
    uint64_t words[29] = {0};
    const uint64_t whole = hash_of(words, 29, 1);
    uint64_t changed_bits = 0;
    for (size_t bit = 0; bit < 29 * 64; bit++) {
        words[bit / 64] ^= UINT64_C(1) << (bit % 64);
        const uint64_t other = hash_of(words, 29, 1);
        words[bit / 64] ^= UINT64_C(1) << (bit % 64);
        assert_true(other != whole);
        changed_bits += (uint64_t)__builtin_popcountll(other ^ whole);
    }
    /* 29·64 trials of 64 fair bits: mean 32, standard deviation 4/sqrt(1856) = 0.093; five of them. */
    assert_near((double)changed_bits / (29.0 * 64.0), 32.0, 0.47);
    assert_true(hash_of(words, 29, 2) != whole);
    assert_true(hash_of(words, 28, 1) != whole);
}

static void the_hash_is_the_same_on_every_machine(void **unused)
{
    (void)unused;
    uint64_t words[7];
    for (uint64_t i = 0; i < 7; i++) {
        words[i] = i * UINT64_C(0x0123456789abcdef);
    }
    struct srv_state_hash hash;
    srv_state_hash_begin(&hash, 42);
    srv_state_hash_absorb(&hash, words, sizeof words);
    srv_state_hash_absorb(&hash, words, 8);
    assert_int_equal(srv_state_hash_end(&hash), UINT64_C(0xb967856ad516c8d9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A16_at_rest_and_level_a_sensor_feels_gravity_upward_exactly),
        cmocka_unit_test(A18_a_sensor_off_the_axis_feels_the_lever_arm),
        cmocka_unit_test(A18_the_lever_arm_equals_the_second_derivative_of_the_mounts_path),
        cmocka_unit_test(A14_A15_a_turned_mount_turns_everything_it_measures),
        cmocka_unit_test(A15_with_its_nose_to_the_north_an_eastward_acceleration_pushes_to_the_right),
        cmocka_unit_test(A16_six_faces_read_one_g_upward_and_free_fall_reads_none),
        cmocka_unit_test(A17_the_field_turns_with_yaw_pitch_and_roll_and_keeps_its_norm),
        cmocka_unit_test(A24_integrated_rate_leads_to_the_attitude_of_the_closed_form),
        cmocka_unit_test(gravity_follows_the_ellipsoid_as_a_vehicle_leaves_the_origin),
        cmocka_unit_test(at_rest_a_gyroscope_feels_the_earth_turn_only_where_the_world_says_so),
        cmocka_unit_test(eastward_motion_weighs_less_as_eotvos_says),
        cmocka_unit_test(specific_force_is_inertial_acceleration_less_gravitation),
        cmocka_unit_test(angular_acceleration_is_the_derivative_of_the_rate_with_the_earths),
        cmocka_unit_test(the_past_between_ticks_is_interpolated_smoothly),
        cmocka_unit_test(the_past_at_a_tick_is_that_ticks_truth),
        cmocka_unit_test(one_bit_of_the_state_changes_half_of_the_hash),
        cmocka_unit_test(the_hash_is_the_same_on_every_machine),
    };
    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
