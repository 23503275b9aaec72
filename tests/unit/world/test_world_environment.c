/* What a world file says of its environment, as a sensor in the engine feels it: air, field and vibration along time and
 * place. */
#include "config_test.h"

#include "otolith/environment.h"
#include "sim/exposure.h"
#include "sim/vibration.h"

#define ORIGIN "origin: {latitude_deg: 48.137, longitude_deg: 11.575, altitude_m: 520, date: 2026-07-01}\n"
#define CAR(vibration) "vehicles: [{name: car, motion: {plugin: still}, vibration: " vibration "}]\n"

struct felt_world {
    struct srv_world_config config;
    struct srv_environment environment;
};

static void begin(struct felt_world *world, const char *text)
{
    struct oto_error error = {0};
    assert_ok(load_text(text, NULL, 0, NULL, &world->config, &error), error);
    srv_environment_init(&world->environment, &world->config);
}

static struct oto_sensor_input feel(const struct felt_world *world, oto_vec3 position_enu_m, int64_t t_ns,
                                    oto_vec3 mount_m)
{
    struct oto_sensor_input input;
    struct oto_setup setup;
    const struct srv_exposure exposure = {.vibration = &world->config.vehicles[0].vibration, .at = {t_ns, 0.0}};
    memset(&setup, 0, sizeof setup);
    memset(&input, 0, sizeof input);
    setup.mount_position_body_m = mount_m;
    setup.q_body_from_sensor = oto_quat_identity();
    input.truth.q_enu_from_body = oto_quat_identity();
    input.truth.position_enu_m = position_enu_m;
    srv_environment_fill(&world->environment, &setup, &exposure, &input);
    return input;
}

static struct oto_sensor_input feel_at(const struct felt_world *world, double t_s)
{
    return feel(world, oto_vec3_zero(), (int64_t)(t_s * 1e9), oto_vec3_zero());
}

/* ---- air ---- */

static void temperature_and_pressure_follow_their_rows_exactly(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, "world: w\nenvironment: {temperature_degc: [[0, 25], [100, 125], [200, 25]], pressure_pa: [[10, 1e5], "
                  "[20, 9e4]]}\n" CAR("[]"));
    for (int i = 0; i <= 100; i++)
        assert_near(feel_at(&world, i).temperature_degc, 25 + i, 0);
    assert_near(feel(&world, oto_vec3_zero(), 10000000, oto_vec3_zero()).temperature_degc, 25.01, 0);
    assert_near(feel_at(&world, 150).temperature_degc, 75, 0);
    assert_near(feel_at(&world, 1e6).temperature_degc, 25, 0); /* the last row holds */
    assert_near(feel_at(&world, 0).pressure_pa, 1e5, 0);       /* and the first before it */
    assert_near(feel_at(&world, 15).pressure_pa, 9.5e4, 0);
    assert_near(feel_at(&world, 30).pressure_pa, 9e4, 0);
    assert_near(feel_at(&world, -5).temperature_degc, 25, 0);
    srv_world_config_finish(&world.config);
}

static void the_standard_atmosphere_follows_the_altitude_over_the_ellipsoid(void **state)
{
    (void)state;
    struct felt_world world;
    struct oto_error error = {0};
    struct oto_air air;
    begin(&world, "world: w\n" ORIGIN "environment: {atmosphere: isa}\n" CAR("[]"));
    static const double places[][3] = {{0, 0, 0}, {0, 0, 3000}, {0, 0, -700}, {50000, -30000, 100}, {0, 0, 14000}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const oto_vec3 place = oto_vec3_from_array(places[i]);
        const oto_geodetic origin = {world.config.origin_latitude_rad, world.config.origin_longitude_rad, 520};
        assert_ok(oto_isa(oto_geodetic_from_enu(origin, place).alt_m, &air, &error), error);
        const struct oto_sensor_input input = feel(&world, place, 0, oto_vec3_zero());
        assert_near(input.temperature_degc, air.temperature_degc, 1e-9);
        assert_near(input.pressure_pa, air.pressure_pa, 1e-12 * 101325);
    }
    srv_world_config_finish(&world.config);
    begin(&world, "world: w\nenvironment: {atmosphere: constant}\n" CAR("[]"));
    assert_near(feel(&world, oto_vec3_make(0, 0, 5000), 0, oto_vec3_zero()).pressure_pa, 101325, 0);
    srv_world_config_finish(&world.config);
}

/* ---- the magnetic field away from the origin ---- */

static double field_error_nt(const struct felt_world *world, const char *name, oto_vec3 place)
{
    const struct srv_world_config *config = &world->config;
    const oto_geodetic origin = {config->origin_latitude_rad, config->origin_longitude_rad, config->origin_altitude_m};
    const oto_geodetic there = oto_geodetic_from_enu(origin, place);
    const struct oto_wmm *model = NULL;
    struct oto_magnetic_field field;
    struct oto_error error = {0};
    assert_ok(oto_wmm_find(name, &model, &error), error);
    assert_ok(oto_wmm_field(model, there, oto_decimal_year(config->date_days), &field, &error), error);
    const oto_vec3 ecef =
        oto_quat_rotate_inv(oto_q_enu_from_ecef(there.lat_rad, there.lon_rad), oto_magnetic_field_enu_ut(&field));
    const oto_vec3 enu = oto_quat_rotate(oto_q_enu_from_ecef(origin.lat_rad, origin.lon_rad), ecef);
    return 1e3 * oto_vec3_norm(oto_vec3_sub(srv_mag_field_enu_ut(&world->environment, place), enu));
}

/* The README's figures: the neglected terms are of third order, so the error grows with the cube of the distance. */
static void the_magnetic_model_follows_the_place(void **state)
{
    (void)state;
    static const struct {
        double distance_m, allowed_nt;
    } claims[] = {{0, 1e-9}, {1000, 0.001}, {10000, 0.01}, {50000, 0.5}, {200000, 30}};
    static const char *const origins[] = {"48.137, longitude_deg: 11.575", "-60, longitude_deg: 140",
                                          "89.9, longitude_deg: -120", "0, longitude_deg: -50", "-30, longitude_deg: -45"};
    char text[400];
    for (size_t o = 0; o < sizeof origins / sizeof *origins; o++) {
        struct felt_world world;
        (void)snprintf(text, sizeof text,
                       "world: w\norigin: {latitude_deg: %s, altitude_m: 520, date: 2026-07-01}\n"
                       "environment: {magnetic_field: wmm2025}\n" CAR("[]"), origins[o]);
        begin(&world, text);
        double worst[sizeof claims / sizeof *claims] = {0};
        for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
            for (int way = 0; way < 8; way++) {
                const double angle = way * OTO_PI / 4, d = claims[i].distance_m;
                const oto_vec3 flat = oto_vec3_make(d * cos(angle), d * sin(angle), 0);
                worst[i] = fmax(worst[i], field_error_nt(&world, "wmm2025", flat));
            }
            print_message("%s: within %g nT at %g km\n", origins[o], worst[i], claims[i].distance_m / 1e3);
            assert_true(worst[i] <= claims[i].allowed_nt);
        }
        assert_true(field_error_nt(&world, "wmm2025", oto_vec3_make(0, 0, 10000)) <= 0.05);
        srv_world_config_finish(&world.config);
    }
}

static void a_given_field_is_the_same_everywhere(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, "world: w\nenvironment: {magnetic_field: [1, 2, 3]}\n" CAR("[]"));
    const oto_vec3 field = srv_mag_field_enu_ut(&world.environment, oto_vec3_make(1e5, 1e5, 0));
    assert_near(field.x, 1, 0);
    assert_near(field.z, 3, 0);
    srv_world_config_finish(&world.config);
}

/* ---- vibration ---- */

#define CALM "world: w\nenvironment: {gravity: [0, 0, 0]}\n"

static void a_sine_is_the_formula(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, CALM CAR("[{sine: {frequency_hz: 3, accel_body_m_s2: [2, 0, -1], phase_deg: [0, 0, 90]}}]"));
    for (int i = 0; i < 1000; i++) {
        const double t = i * 0.00137;
        const oto_vec3 f = feel_at(&world, t).specific_force_sensor_m_s2;
        const double t_cut = (double)(int64_t)(t * 1e9) / 1e9;
        assert_near(f.x, 2 * sin(2 * OTO_PI * 3 * t_cut), 1e-13); /* 26 rad to 4e-15, twice */
        assert_near(f.y, 0, 0);
        assert_near(f.z, -cos(2 * OTO_PI * 3 * t_cut), 1e-13); /* 26 rad to 4e-15, twice */
    }
    /* an hour later the phase is as good as the time */
    assert_near(feel_at(&world, 3600.25).specific_force_sensor_m_s2.x, 2 * sin(2 * OTO_PI * 0.75), 1e-9);
    srv_world_config_finish(&world.config);
}

static void an_angular_sine_turns_the_sensor_and_swings_its_mount(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, CALM CAR("[{sine: {frequency_hz: 20, rate_body_rad_s: [0, 0, 0.5], phase_deg: [0, 0, 30]}}]"));
    const double w = 2 * OTO_PI * 20, t = 0.0123, phase = OTO_PI / 6;
    const double rate = 0.5 * sin(w * t + phase), accel = 0.5 * w * cos(w * t + phase);
    const struct oto_sensor_input input = feel(&world, oto_vec3_zero(), 12300000, oto_vec3_make(2, 0, 0));
    assert_near(input.angular_rate_sensor_rad_s.z, rate, 1e-13);
    assert_near(input.angular_accel_sensor_rad_s2.z, accel, 1e-11);
    assert_near(input.specific_force_sensor_m_s2.x, -rate * rate * 2, 1e-12);
    assert_near(input.specific_force_sensor_m_s2.y, accel * 2, 1e-11);
    srv_world_config_finish(&world.config);
}

/* The figures: 0.5 rad/s at 2 Hz about the pitch axis swings gravity by g · 0.5 / (4 π). */
static void an_angular_sine_swings_attitude_and_gravity(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, "world: w\nenvironment: {gravity: [0, 0, -9.80665]}\n"
                  CAR("[{sine: {frequency_hz: 2, rate_body_rad_s: [0, 0.5, 0]}}]"));
    double most = 0, least = 0;
    for (int i = 0; i < 500; i++) {
        const struct oto_sensor_input input = feel_at(&world, i / 1000.0);
        const double angle = -0.5 / (4 * OTO_PI) * cos(4 * OTO_PI * i / 1000.0);
        assert_near(oto_quat_to_rotvec(input.truth.q_enu_from_body).y, angle, 1e-9);
        assert_near(oto_quat_to_rotvec(input.q_enu_from_sensor).y, angle, 1e-9);
        assert_near(input.specific_force_sensor_m_s2.x, -9.80665 * sin(angle), 1e-7);
        most = fmax(most, input.specific_force_sensor_m_s2.x);
        least = fmin(least, input.specific_force_sensor_m_s2.x);
    }
    assert_near(most, 0.39, 0.005);
    assert_near(least, -0.39, 0.005);
    srv_world_config_finish(&world.config);
}

/*
 * Angles of 0.1° about two axes, 90° apart at 50 Hz: their rates, integrated, turn the body by 98.7 °/h. The truth's
 * attitude is the integral of its own rates, so it does not drift, and the gyroscope measures the rate of the cone.
 */
static void the_attitude_of_a_coning_body_is_the_integral_of_its_rates(void **state)
{
    (void)state;
    struct felt_world world;
    const double amplitude = 0.1 * OTO_PI / 180 * 2 * OTO_PI * 50; /* of an angle of 0.1° */
    char text[256];
    (void)snprintf(text, sizeof text, CALM "vehicles: [{name: car, motion: {plugin: still}, vibration: [{sine: {frequency_hz: 50, "
                   "rate_body_rad_s: [%.12g, %.12g, 0], phase_deg: [0, 90, 0]}}]}]\n", amplitude, amplitude);
    begin(&world, text);
    const double h = 1e-5;
    oto_quat q = feel_at(&world, 0).truth.q_enu_from_body;
    double mean = 0;
    for (int i = 0; i < 2000; i++) { /* one period, by the midpoint rule */
        const struct oto_sensor_input input = feel(&world, oto_vec3_zero(), 10000 * i + 5000, oto_vec3_zero());
        q = oto_quat_mul(q, oto_quat_from_rotvec(oto_vec3_scale(input.truth.angular_rate_body_rad_s, h)));
        mean += input.angular_rate_sensor_rad_s.z / 2000;
    }
    const struct oto_sensor_input end = feel(&world, oto_vec3_zero(), 20000000, oto_vec3_zero());
    const oto_vec3 miss = oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(end.truth.q_enu_from_body), q));
    assert_near(oto_vec3_norm(miss), 0, 1e-9);
    assert_near(fabs(mean) * 180 / OTO_PI * 3600, 98.7, 0.05); /* ½ Ω θ² = ½ 2π 50 (0.1°)² */
    srv_world_config_finish(&world.config);
}

static void the_rates_of_a_shaken_truth_are_the_derivatives_of_its_attitude(void **state)
{
    (void)state;
    static const double scales[] = {0.01, 0.5, 3}; /* of the angle: both branches of the factors */
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        struct oto_truth_record truths[3];
        const double h = 1e-5, k = scales[i];
        for (int side = -1; side <= 1; side++) {
            const double t = 0.7 + side * h;
            const struct srv_shake shake = {
                .turns = true,
                .angle_rad = {k * sin(t), k * cos(2 * t), k * sin(3 * t + 1)},
                .angle_rate_rad_s = {k * cos(t), -2 * k * sin(2 * t), 3 * k * cos(3 * t + 1)},
                .angle_accel_rad_s2 = {-k * sin(t), -4 * k * cos(2 * t), -9 * k * sin(3 * t + 1)}};
            const oto_vec3 spin = {0.3, -0.2, 0.5};
            struct oto_truth_record *truth = &truths[side + 1];
            memset(truth, 0, sizeof *truth);
            truth->q_enu_from_body = oto_quat_from_rotvec(oto_vec3_scale(spin, t));
            truth->angular_rate_body_rad_s = spin;
            srv_shake_turn(&shake, truth);
        }
        const oto_vec3 turned =
            oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(truths[0].q_enu_from_body), truths[2].q_enu_from_body));
        const oto_vec3 sped = oto_vec3_sub(truths[2].angular_rate_body_rad_s, truths[0].angular_rate_body_rad_s);
        const oto_vec3 rate = truths[1].angular_rate_body_rad_s, accel = truths[1].angular_accel_body_rad_s2;
        assert_near(oto_vec3_norm(oto_vec3_sub(oto_vec3_scale(turned, 0.5 / h), rate)), 0, 1e-7);
        assert_near(oto_vec3_norm(oto_vec3_sub(oto_vec3_scale(sped, 0.5 / h), accel)), 0, 1e-6);
    }
}

/* An engine of constant amplitudes that stands does not turn the body, and nothing is infinite. */
static void an_engine_that_stops_turns_the_body_no_more(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, CALM CAR("[{engine: {rpm: [[0, 600], [1, 0]], orders: [{order: 1, rate_body_rad_s: [0, 0.1, 0]}]}}]"));
    const struct oto_sensor_input still = feel_at(&world, 2), running = feel_at(&world, 0.1);
    assert_near(still.angular_rate_sensor_rad_s.y, 0, 0);
    assert_near(oto_quat_to_rotvec(still.truth.q_enu_from_body).y, 0, 0);
    assert_true(fabs(running.angular_rate_sensor_rad_s.y) > 0.01);
    srv_world_config_finish(&world.config);
}

/* Groves (2013), eq. 2.140: -8.08e-9 h sin 2L to the north. */
static void gravity_turns_towards_the_equator_with_height(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, "world: w\norigin: {latitude_deg: 45, longitude_deg: 11, altitude_m: 10000}\n"
                  "environment: {gravity: wgs84}\n" CAR("[]"));
    const struct oto_sensor_input high = feel_at(&world, 0);
    assert_near(high.specific_force_sensor_m_s2.y, 8.08e-9 * 1e4, 1e-6);
    assert_near(high.specific_force_sensor_m_s2.x, 0, 0);
    srv_world_config_finish(&world.config);
    begin(&world, "world: w\norigin: {latitude_deg: 45, longitude_deg: 11, altitude_m: 0}\n"
                  "environment: {gravity: wgs84}\n" CAR("[]"));
    assert_near(feel_at(&world, 0).specific_force_sensor_m_s2.y, 0, 0);
    /* the same place from below */
    assert_near(feel(&world, oto_vec3_make(0, 0, 1e4), 0, oto_vec3_zero()).specific_force_sensor_m_s2.y,
                high.specific_force_sensor_m_s2.y, 1e-9);
    srv_world_config_finish(&world.config);
}

/* 600 rpm to 3000 in 4 s: after t of them 10 t + 5 t² revolutions; then 50 a second. */
static void engine_orders_follow_the_integral_of_the_speed(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, CALM CAR("[{engine: {rpm: [[0, 600], [4, 3000]], orders: [{order: 2, accel_body_m_s2: [0, 0, 1]}, "
                           "{order: 0.5, accel_body_m_s2: [0.5, 0, 0]}]}}]"));
    static const double times[] = {0, 0.3, 1.7, 3.999, 4, 4.25, 9.123};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const double t = times[i], revolutions = t < 4 ? 10 * t + 5 * t * t : 120 + 50 * (t - 4);
        const oto_vec3 f = feel_at(&world, t).specific_force_sensor_m_s2;
        assert_near(f.z, sin(2 * OTO_PI * 2 * revolutions), 5e-7); /* 1 ns of time is 6e-7 rad */
        assert_near(f.x, 0.5 * sin(2 * OTO_PI * 0.5 * revolutions), 5e-7);
    }
    srv_world_config_finish(&world.config);
}

static void unbalance_grows_with_the_square_of_the_speed_and_its_rates_stay_derivatives(void **state)
{
    (void)state;
    struct felt_world world;
    begin(&world, CALM CAR("[{engine: {rpm: [[0, 600], [4, 3000]], reference_rpm: 1500, orders: [{order: 1, "
                           "accel_body_m_s2: [1, 0, 0], rate_body_rad_s: [0, 0.1, 0], phase_deg: [0, 20, 0]}]}}]"));
    const struct srv_vibration *vibration = &world.config.vehicles[0].vibration;
    const double t = 2.2, h = 1e-6, rpm = 600 + 600 * t, gain = (rpm / 1500) * (rpm / 1500);
    const struct srv_shake at = srv_vibration_at(vibration, t);
    assert_near(at.accel_m_s2.x, gain * sin(2 * OTO_PI * (10 * t + 5 * t * t)), 1e-12);
    const struct srv_shake after = srv_vibration_at(vibration, t + h), before = srv_vibration_at(vibration, t - h);
    /* h²/6 of the third derivative: (2 π 32 Hz)³ 0.2 h²/6 */
    assert_near(at.angle_rate_rad_s.y, (after.angle_rad.y - before.angle_rad.y) / (2 * h), 1e-4);
    assert_near(at.angle_accel_rad_s2.y, (after.angle_rate_rad_s.y - before.angle_rate_rad_s.y) / (2 * h), 1e-4);
    /* the rate is the line's but for the change of the amplitude with the speed, 10 rpm/s over 2 π 32 Hz */
    assert_near(at.angle_rate_rad_s.y, 0.1 * gain * sin(2 * OTO_PI * (10 * t + 5 * t * t) + OTO_PI / 9), 1e-3);
    srv_world_config_finish(&world.config);
}

/* ---- random vibration ---- */

enum { POINTS = 1 << 16 };
#define SAMPLE_HZ 8192.0

/* Radix-2 transform in place. */
static void transform(double *re, double *im)
{
    for (uint32_t i = 1, j = 0; i < POINTS; i++) {
        uint32_t bit = POINTS >> 1;
        for (; (j & bit) != 0; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            const double r = re[i], m = im[i];
            re[i] = re[j], im[i] = im[j];
            re[j] = r, im[j] = m;
        }
    }
    for (uint32_t length = 2; length <= POINTS; length *= 2)
        for (uint32_t i = 0; i < POINTS; i += length)
            for (uint32_t k = 0; k < length / 2; k++) {
                const double angle = -2 * OTO_PI * k / length, c = cos(angle), s = sin(angle);
                const uint32_t a = i + k, b = a + length / 2;
                const double r = re[b] * c - im[b] * s, m = re[b] * s + im[b] * c;
                re[b] = re[a] - r, im[b] = im[a] - m;
                re[a] += r, im[a] += m;
            }
}

/* Power between two frequencies, by the Hann-windowed spectrum of the axis. */
static double power_between(const double *re, const double *im, double from_hz, double to_hz)
{
    double power = 0;
    for (uint32_t k = 1; k < POINTS / 2; k++) {
        const double f = k * SAMPLE_HZ / POINTS;
        if (f >= from_hz && f < to_hz)
            power += 2 * (re[k] * re[k] + im[k] * im[k]);
    }
    return power / (0.375 * POINTS * (double)POINTS); /* a Hann window passes 3/8 of the power */
}

/* A usual profile: +3 dB an octave, flat, -3 dB an octave; its rms by hand: 0.04 g²/Hz (40 + 270 + 350 ln(2000/350)). */
#define PROFILE "[[20, 0.01], [80, 0.04], [350, 0.04], [2000, 0.007]]"
static double profile_g2_hz(double f)
{
    return f < 80 ? 0.04 * f / 80 : f < 350 ? 0.04 : 0.04 * 350 / f;
}

static void random_vibration_has_the_spectrum_and_the_rms_of_its_profile(void **state)
{
    (void)state;
    struct felt_world world;
    double *re = calloc(POINTS, sizeof *re), *im = calloc(POINTS, sizeof *im);
    assert_non_null(re);
    assert_non_null(im);
    begin(&world, CALM CAR("[{psd: {level_g2_hz: " PROFILE ", axes: [1, 0, 0.5]}}]"));
    /* 80 Hz by an ascent of 3 dB: ∫ = 0.04/160 (80² - 20²) = 1.5 g² */
    const double g2 = OTO_STANDARD_GRAVITY_M_S2 * OTO_STANDARD_GRAVITY_M_S2;
    const double expected = g2 * (1.5 + 0.04 * 270 + 0.04 * 350 * log(2000.0 / 350));
    double lines = 0, lines_square = 0, square = 0, fourth = 0, z_square = 0, product = 0;
    const struct srv_vibration *vibration = &world.config.vehicles[0].vibration;
    for (uint32_t i = 0; i < vibration->line_count; i++) {
        const struct srv_vibration_line *line = &vibration->lines[i];
        const double power = 0.5 * (line->accel_sin_m_s2.x * line->accel_sin_m_s2.x + line->accel_cos_m_s2.x * line->accel_cos_m_s2.x);
        lines += power;
        lines_square += power * power;
    }
    assert_near(lines, expected, 1e-12 * expected);
    for (uint32_t i = 0; i < POINTS; i++) {
        const oto_vec3 a = srv_vibration_at(vibration, i / SAMPLE_HZ).accel_m_s2;
        assert_near(a.y, 0, 0);
        square += a.x * a.x / POINTS;
        fourth += a.x * a.x * a.x * a.x / POINTS;
        z_square += a.z * a.z / POINTS;
        product += a.x * a.z / POINTS;
        re[i] = a.x * 0.5 * (1 - cos(2 * OTO_PI * i / POINTS));
    }
    /* Neighbouring lines are at least 2.3 % of 20 Hz apart: over 8 s four periods of their beat, of which the rest of a
     * period is left over, weighted by two amplitudes of 200. */
    assert_near(sqrt(square / expected), 1, 0.01);
    /* A sum of sines of powers p has the kurtosis 3 - 1.5 Σp²/(Σp)²; that of 65536 Gaussian values spreads by
     * sqrt(24/65536) = 0.02, and neighbours are not independent. Phases of two axes are: the sum of p cos(difference). */
    assert_near(fourth / (square * square), 3 - 1.5 * lines_square / (lines * lines), 0.15);
    assert_near(z_square / square, 0.25, 0.01);
    assert_true(fabs(product) / sqrt(square * z_square) < 4 * sqrt(0.5 * lines_square) / lines);
    transform(re, im);
    /* Third octaves hold ten of 200 lines in 6.6 octaves; one more or less at its edges is 10 %. */
    for (double f = 25; f * cbrt(2) < 2000; f *= cbrt(2)) {
        double wanted = 0;
        for (int k = 0; k < 1000; k++)
            wanted += g2 * profile_g2_hz(f * (1 + (cbrt(2) - 1) * (k + 0.5) / 1000)) * f * (cbrt(2) - 1) / 1000;
        assert_near(power_between(re, im, f, f * cbrt(2)) / wanted, 1, 0.105);
    }
    assert_true(power_between(re, im, 2005, 4096) < 1e-6 * expected);
    srv_world_config_finish(&world.config);
    free(re);
    free(im);
}

static void random_vibration_depends_on_seed_vehicle_and_axis_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {
        CALM "seed: 5\n" CAR("[{psd: {level_m2_s4_hz: [[10, 1], [100, 1]]}}]"),
        CALM "seed: 6\n" CAR("[{psd: {level_m2_s4_hz: [[10, 1], [100, 1]]}}]"),
        CALM "seed: 5\nvehicles: [{name: van, motion: {plugin: still}, vibration: [{psd: {level_m2_s4_hz: [[10, 1], [100, 1]]}}]}]\n",
        CALM "seed: 5\n" CAR("[{psd: {level_m2_s4_hz: [[10, 1], [100, 1]]}}]"),
    };
    oto_vec3 at[4];
    for (size_t i = 0; i < 4; i++) {
        struct felt_world world;
        begin(&world, texts[i]);
        at[i] = srv_vibration_at(&world.config.vehicles[0].vibration, 1.234).accel_m_s2;
        srv_world_config_finish(&world.config);
    }
    assert_near(at[0].x, at[3].x, 0);
    assert_true(fabs(at[0].x - at[1].x) > 1e-3 && fabs(at[0].x - at[2].x) > 1e-3 && fabs(at[0].x - at[0].y) > 1e-3);
}

static double mean_product(const struct srv_vibration *vibration, uint32_t count, uint32_t lag, double rate_hz)
{
    double sum = 0;
    for (uint32_t i = 1; i <= count; i++)
        sum += srv_vibration_at(vibration, i / rate_hz).accel_m_s2.z * srv_vibration_at(vibration, (i + lag) / rate_hz).accel_m_s2.z;
    return sum / count;
}

static void noise_is_white_or_its_difference_and_each_value_holds_around_its_instant(void **state)
{
    (void)state;
    enum { COUNT = 40000 };
    struct felt_world white, differenced;
    begin(&white, CALM CAR("[{noise: {accel_body_m_s2: [0, 0.1, 0.6], rate_hz: 100}}]"));
    begin(&differenced, CALM CAR("[{noise: {accel_body_m_s2: [0, 0, 0.6], rate_hz: 100, differenced: true}}]"));
    const struct srv_vibration *w = &white.config.vehicles[0].vibration, *d = &differenced.config.vehicles[0].vibration;
    /* The mean of n products of independent values of variance v spreads by v/sqrt(n), their mean square by v sqrt(2/n), and
     * those of a difference by up to v sqrt(3/n): 5 of these are 0.043 v. */
    assert_near(mean_product(w, COUNT, 0, 100) / 0.36, 1, 0.043);
    assert_near(mean_product(w, COUNT, 1, 100) / 0.36, 0, 0.043);
    assert_near(mean_product(d, COUNT, 0, 100) / 0.36, 1, 0.043);
    assert_near(mean_product(d, COUNT, 1, 100) / 0.36, -0.5, 0.043);
    assert_near(mean_product(d, COUNT, 2, 100) / 0.36, 0, 0.043);
    const oto_vec3 a = srv_vibration_at(w, 1.23).accel_m_s2, after = srv_vibration_at(w, 1.2349).accel_m_s2;
    assert_near(a.x, 0, 0);
    assert_true(a.y != 0 && fabs(a.y / 0.1 - a.z / 0.6) > 1e-3);
    assert_near(after.z, a.z, 0);
    assert_near(srv_vibration_at(w, 1.2251).accel_m_s2.z, a.z, 0);
    assert_true(srv_vibration_at(w, 1.2351).accel_m_s2.z != a.z);
    srv_world_config_finish(&white.config);
    srv_world_config_finish(&differenced.config);
}

static void another_seed_draws_the_vibration_of_a_file_with_that_seed(void **state)
{
    (void)state;
#define SHAKEN CAR("[{psd: {level_m2_s4_hz: [[10, 1], [100, 1]]}}, {noise: {accel_body_m_s2: [1, 1, 1], rate_hz: 50}}]")
    struct felt_world five, six;
    begin(&five, CALM "seed: 5\n" SHAKEN);
    begin(&six, CALM "seed: 6\n" SHAKEN);
    assert_true(feel_at(&five, 0.77).specific_force_sensor_m_s2.x != feel_at(&six, 0.77).specific_force_sensor_m_s2.x);
    srv_world_config_seed(&five.config, 6);
    const oto_vec3 a = feel_at(&five, 0.77).specific_force_sensor_m_s2, b = feel_at(&six, 0.77).specific_force_sensor_m_s2;
    assert_memory_equal(&a, &b, sizeof a);
    srv_world_config_finish(&five.config);
    srv_world_config_finish(&six.config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temperature_and_pressure_follow_their_rows_exactly),
        cmocka_unit_test(the_standard_atmosphere_follows_the_altitude_over_the_ellipsoid),
        cmocka_unit_test(the_magnetic_model_follows_the_place),
        cmocka_unit_test(a_given_field_is_the_same_everywhere),
        cmocka_unit_test(a_sine_is_the_formula),
        cmocka_unit_test(an_angular_sine_turns_the_sensor_and_swings_its_mount),
        cmocka_unit_test(engine_orders_follow_the_integral_of_the_speed),
        cmocka_unit_test(unbalance_grows_with_the_square_of_the_speed_and_its_rates_stay_derivatives),
        cmocka_unit_test(an_angular_sine_swings_attitude_and_gravity),
        cmocka_unit_test(the_attitude_of_a_coning_body_is_the_integral_of_its_rates),
        cmocka_unit_test(the_rates_of_a_shaken_truth_are_the_derivatives_of_its_attitude),
        cmocka_unit_test(an_engine_that_stops_turns_the_body_no_more),
        cmocka_unit_test(gravity_turns_towards_the_equator_with_height),
        cmocka_unit_test(random_vibration_has_the_spectrum_and_the_rms_of_its_profile),
        cmocka_unit_test(random_vibration_depends_on_seed_vehicle_and_axis_alone),
        cmocka_unit_test(noise_is_white_or_its_difference_and_each_value_holds_around_its_instant),
        cmocka_unit_test(another_seed_draws_the_vibration_of_a_file_with_that_seed),
    };
    return cmocka_run_group_tests_name("world environment", tests, enter_folder, leave_folder);
}
