/* The generated drives: what they promise of their statistics, smoothness and determinism (rows D.6 of the reference). */
#include "drive.h"
#include "motion_check.h"

#define HOUR_NS INT64_C(3600000000000)
#define SECOND_NS INT64_C(1000000000)

static struct motion_memory memory;
static struct oto_error failure;

static const struct chassis_params plain = {.correlation_length_m = 150.0, .traffic_side = 1,
                                            .angle_band_hz = {1.0, 3.0}, .vertical_band_hz = {1.0, 15.0}};
static const struct chassis_params rough = {
    .grade_rms_deg = 1.0, .bank_rms_deg = 0.7, .crown_deg = 0.5, .correlation_length_m = 150.0, .traffic_side = 1,
    .pitch_compliance_deg_s2_m = -0.3, .roll_compliance_deg_s2_m = 0.35, .speed_pitch_deg = -0.05, .pitch_vibration_deg = 0.15,
    .roll_vibration_deg = 0.15, .vertical_vibration_m_s2 = 0.6, .angle_band_hz = {1.0, 3.0},
    .vertical_band_hz = {1.0, 15.0}, .half_speed_m_s = 2.0, .corner_crown_loss = 0.6};

struct subject {
    struct drive drive;
    struct drive_state state;
};

static struct subject make(int64_t style, uint64_t seed, double duration_s, const struct chassis_params *chassis)
{
    struct subject s;
    const struct drive_plan plan = {.style = style, .duration_s = duration_s, .chassis = chassis,
                                    .key = oto_rng_key_make(seed, "motion_script"), .height_m = 500.0};
    assert_ok(drive_make(&plan, &s.drive, motion_alloc, &memory, &failure), failure);
    drive_begin(&s.drive, &s.state);
    return s;
}

static void truth_at(struct subject *s, int64_t t_ns, struct oto_truth_record *truth)
{
    drive_advance(&s->drive, &s->state, t_ns);
    drive_truth(&s->drive, &s->state, (struct oto_instant){t_ns, 0.0}, truth);
}

static void evaluate(const void *motion, struct oto_instant at, struct oto_truth_record *truth)
{
    const struct subject *s = motion;
    drive_truth(&s->drive, &s->state, at, truth);
}

static void city_streets_keep_to_what_the_reference_says_of_them(void **unused)
{
    struct generator_place place = {0, {0}};
    double stops = 0, turns = 0, lanes = 0, curves = 0, slowest = 1e9, fastest = 0, at_s;
    const struct subject s = make(GENERATOR_CITY, 1, 0.0, &plain);
    (void)unused;
    for (int street = 0; street < 2000; street++) {
        struct script_segment segments[GENERATOR_SEGMENTS];
        struct script_sink sink = {NULL, 0, 0};
        const uint32_t count = generator_street(&s.drive.generator, &place, segments);
        assert_true(count <= GENERATOR_SEGMENTS);
        for (uint32_t i = 0; i < count; i++) {
            const struct script_segment *g = &segments[i];
            const bool turn = g->kind == SCRIPT_TURN && fabs(g->angle_deg) >= 60.0;
            stops += g->kind == SCRIPT_STOP;
            turns += turn;
            lanes += g->kind == SCRIPT_LANE_CHANGE;
            curves += g->kind == SCRIPT_TURN && !turn;
            if (g->kind == SCRIPT_STOP && (street > 0 || i > 0))
                assert_true(g->duration_s >= 3.0 && g->duration_s <= 20.0);
            if (turn)
                assert_true(fabs(g->angle_deg) <= 100.0 && g->radius_m >= 8.0 && g->radius_m <= 20.0);
            if (g->kind != SCRIPT_TURN && g->kind != SCRIPT_LANE_CHANGE)
                assert_true(g->accel_m_s2 >= 1.0 && g->accel_m_s2 <= 2.5);
            if (g->kind == SCRIPT_ACCELERATE || g->kind == SCRIPT_BRAKE) {
                slowest = fmin(slowest, g->to_speed_m_s);
                fastest = fmax(fastest, g->to_speed_m_s);
            }
        }
        assert_ok(script_plan_segments(&sink, &place.at, segments, count, &failure), failure);
        assert_true(sink.count <= GENERATOR_PIECES);
        place.street++;
    }
    at_s = (double)place.at.t_ns * 1e-9;
    print_message("a minute: %.2f stops, %.2f turns, %.2f lane changes, %.2f curves; %.1f m/s on average\n",
                  60 * stops / at_s, 60 * turns / at_s, 60 * lanes / at_s, 60 * curves / at_s,
                  place.at.distance_m / at_s);
    assert_true(slowest >= 4.0 && fastest <= 16.0);
    assert_true(60 * stops / at_s > 0.8 && 60 * stops / at_s < 1.8);
    assert_true(60 * turns / at_s > 0.8 && 60 * turns / at_s < 1.8);
    assert_true(60 * lanes / at_s > 0.2 && 60 * curves / at_s > 0.4);
}

struct extremes {
    double speed_m_s, backwards_m_s, accel_m_s2, turn_rad_s, radius_m, standing_s;
};

/* An hour, in steps of 20 ms. */
static struct extremes drive_an_hour(int64_t style, uint64_t seed)
{
    struct subject s = make(style, seed, 0.0, &plain);
    struct extremes e = {0, 0, 0, 0, 1e9, 0};
    for (int64_t t_ns = 0; t_ns < HOUR_NS; t_ns += SECOND_NS / 50) {
        struct oto_truth_record truth;
        double v, w;
        truth_at(&s, t_ns, &truth);
        v = truth.longitudinal_speed_m_s;
        w = fabs(truth.angular_rate_body_rad_s.z);
        e.speed_m_s = fmax(e.speed_m_s, v);
        e.backwards_m_s = fmax(e.backwards_m_s, -v);
        e.accel_m_s2 = fmax(e.accel_m_s2, oto_vec3_norm(truth.accel_enu_m_s2));
        e.turn_rad_s = fmax(e.turn_rad_s, w);
        if (w > 0.01)
            e.radius_m = fmin(e.radius_m, fabs(v) / w);
        e.standing_s += v == 0.0 ? 0.02 : 0.0;
    }
    print_message("up to %.1f m/s, back %.1f, %.2f m/s2, %.2f rad/s, radius %.1f m, %.0f s standing\n", e.speed_m_s,
                  e.backwards_m_s, e.accel_m_s2, e.turn_rad_s, e.radius_m, e.standing_s);
    return e;
}

static void an_hour_of_each_kind_stays_within_its_bounds(void **unused)
{
    struct extremes e = drive_an_hour(GENERATOR_CITY, 3);
    (void)unused;
    assert_true(e.speed_m_s <= 16.0 + 1e-9 && e.backwards_m_s < 1e-12 && e.accel_m_s2 <= 2.6);
    assert_true(e.radius_m > 7.99 && e.standing_s > 400.0 && e.standing_s < 1800.0);
    e = drive_an_hour(GENERATOR_HIGHWAY, 3);
    assert_true(e.speed_m_s <= 36.0 + 1e-9 && e.speed_m_s > 30.0 && e.accel_m_s2 <= 2.6 && e.radius_m > 300.0);
    e = drive_an_hour(GENERATOR_PARKING, 3);
    assert_true(e.speed_m_s <= 3.0 + 1e-9 && e.backwards_m_s > 1.0 && e.radius_m > 4.99 && e.radius_m < 5.5);
    e = drive_an_hour(GENERATOR_RURAL, 3);
    assert_true(e.speed_m_s <= 27.0 + 1e-9 && e.speed_m_s > 24.0 && e.backwards_m_s < 1e-12 && e.accel_m_s2 <= 2.6);
    assert_true(e.radius_m > 7.99 && e.standing_s > 30.0);
    e = drive_an_hour(GENERATOR_HILLS, 3);
    assert_true(e.speed_m_s <= 18.0 + 1e-9 && e.speed_m_s > 16.0 && e.backwards_m_s < 1e-12 && e.accel_m_s2 <= 2.6);
    assert_true(e.radius_m > 8.99 && e.standing_s > 30.0);
}

/*
 * Within pieces. The quotients leave out h⁴/30 of the fifth derivative, of which the vibration has most: all tones at
 * once are √16 rms, at rates up to 94 rad/s (vertical) and 19 rad/s (angles); so 1e-12/30 · 2.4 · 94³ for the speed, one
 * factor of 94 more for the acceleration, 1e-12/30 · 0.0105 · 19⁵ for the angular rate, a factor of 19 more for its own.
 */
static void everything_is_its_own_derivatives_at_random_instants(void **unused)
{
    (void)unused;
    for (int64_t style = GENERATOR_CITY; style < GENERATOR_STYLE_COUNT; style++) {
        struct subject s = make(style, 11, 0.0, &rough);
        struct motion_misfit worst = {0.0, 0.0, 0.0, 0.0};
        int compared = 0;
        for (uint64_t i = 0; i < 3000; i++) {
            const oto_philox_block block = oto_rng_block(s.drive.generator.key, i, 0, 1, OTO_RNG_DOMAIN_FAULT);
            const int64_t t_ns = (int64_t)((double)i * 0.7e9 + 0.6e9 * oto_u01(block.v[0])) + 10 * MOTION_STEP_NS;
            const struct script_piece *piece = s.state.generator.pieces;
            struct motion_stencil stencil;
            drive_advance(&s.drive, &s.state, t_ns);
            piece += s.state.generator.piece_count - 1;
            if (t_ns - 2 * MOTION_STEP_NS < piece->start_ns ||
                t_ns + 2 * MOTION_STEP_NS > piece->start_ns + piece->duration_ns)
                continue;
            motion_stencil_at(evaluate, &s, t_ns, &stencil);
            motion_compare(&stencil, &worst);
            compared++;
        }
        print_message("velocity %.2g, acceleration %.2g, rate %.2g, angular acceleration %.2g\n", worst.velocity_m_s,
                      worst.accel_m_s2, worst.rate_rad_s, worst.angular_accel_rad_s2);
        assert_true(compared > 2900);
        assert_true(worst.velocity_m_s < 6.7e-8);
        assert_true(worst.accel_m_s2 < 6.3e-6);
        assert_true(worst.rate_rad_s < 8.7e-10);
        assert_true(worst.angular_accel_rad_s2 < 1.7e-8);
    }
}

/* Over an hour nothing steps: between instants 5 ms apart, what an IMU sees changes no faster than the jerks allow. */
static void nothing_steps_within_a_generated_hour(void **unused)
{
    struct subject s = make(GENERATOR_CITY, 5, 0.0, &rough);
    struct oto_truth_record last, truth;
    double jerk = 0.0, angular_jerk = 0.0;
    (void)unused;
    truth_at(&s, 0, &last);
    for (int64_t t_ns = SECOND_NS / 200; t_ns < HOUR_NS; t_ns += SECOND_NS / 200) {
        truth_at(&s, t_ns, &truth);
        jerk = fmax(jerk, oto_vec3_norm(oto_vec3_sub(truth.accel_enu_m_s2, last.accel_enu_m_s2)) * 200.0);
        angular_jerk = fmax(angular_jerk, oto_vec3_norm(oto_vec3_sub(truth.angular_accel_body_rad_s2, last.angular_accel_body_rad_s2)) * 200.0);
        last = truth;
    }
    print_message("largest jerk %.1f m/s3, angular jerk %.1f rad/s3\n", jerk, angular_jerk);
    assert_true(jerk < 2.4 * 94.3 + 10.0);                  /* the vertical vibration, and what is driven */
    assert_true(angular_jerk < 0.0105 * 18.9 * 18.9 * 18.9 + 5.0); /* pitch and roll alike */
}

/*
 * Twelve hours of city, 280 km: about 280 000 m/(√π · 150 m) = 1000 independent places, so the standard deviation of an rms
 * is 1/√2000 = 2.2 % and that of a mean 0.032 rms. Four of each.
 */
static void the_road_under_a_city_drive_has_its_grade_and_bank(void **unused)
{
    struct chassis_params road = plain;
    double grade2 = 0.0, bank2 = 0.0, bank = 0.0, n = 0.0;
    (void)unused;
    road.grade_rms_deg = 1.0;
    road.bank_rms_deg = 0.7;
    road.crown_deg = 0.5;
    for (uint64_t seed = 100; seed < 112; seed++) {
        struct subject s = make(GENERATOR_CITY, seed, 0.0, &road);
        oto_vec3 last = {1e9, 0.0, 0.0};
        for (int64_t t_ns = 0; t_ns < HOUR_NS; t_ns += SECOND_NS) {
            struct oto_truth_record truth;
            oto_vec3 rpy;
            truth_at(&s, t_ns, &truth);
            if (oto_vec3_norm(oto_vec3_sub(truth.position_enu_m, last)) < 3.0)
                continue;
            last = truth.position_enu_m;
            rpy = oto_rpy_from_quat(truth.q_enu_from_body);
            assert_near(truth.velocity_enu_m_s.z, -tan(rpy.y) * hypot(truth.velocity_enu_m_s.x, truth.velocity_enu_m_s.y), 1e-12);
            grade2 += rpy.y * rpy.y;
            bank2 += (rpy.x - 0.5 * OTO_DEG) * (rpy.x - 0.5 * OTO_DEG);
            bank += rpy.x;
            n++;
        }
    }
    print_message("grade %.3f deg rms, bank %.3f deg rms about %.3f deg\n", sqrt(grade2 / n) / OTO_DEG,
                  sqrt(bank2 / n) / OTO_DEG, bank / n / OTO_DEG);
    assert_near(sqrt(grade2 / n) / OTO_DEG, 1.0, 0.09);
    assert_near(sqrt(bank2 / n) / OTO_DEG, 0.7, 0.063);
    assert_near(bank / n / OTO_DEG, 0.5, 0.09);
}

/* On a flat road, with stiff springs: 1.875 · 2.5 m/s² / 0.7 s in line, less across, and never both; 1.875 · √(2.5/8) / 0.8 s
 * for the turn rate. */
static void an_hour_of_city_keeps_to_its_jerk(void **unused)
{
    struct subject s = make(GENERATOR_CITY, 6, 0.0, &plain);
    struct oto_truth_record last, truth;
    double jerk = 0.0, turn = 0.0;
    (void)unused;
    truth_at(&s, 0, &last);
    for (int64_t t_ns = SECOND_NS / 200; t_ns < HOUR_NS; t_ns += SECOND_NS / 200) {
        truth_at(&s, t_ns, &truth);
        jerk = fmax(jerk, oto_vec3_norm(oto_vec3_sub(truth.accel_enu_m_s2, last.accel_enu_m_s2)) * 200.0);
        turn = fmax(turn, fabs(truth.angular_accel_body_rad_s2.z));
        last = truth;
    }
    print_message("largest jerk %.2f m/s3, angular acceleration %.2f rad/s2\n", jerk, turn);
    assert_true(jerk < 1.875 * 2.5 / 0.7);
    assert_true(turn < 1.875 * sqrt(2.5 / 8.0) / 0.8);
}

static void the_same_seed_is_the_same_drive_in_any_order_of_asking(void **unused)
{
    struct subject a = make(GENERATOR_CITY, 9, 0.0, &rough), b = make(GENERATOR_CITY, 9, 0.0, &rough);
    struct subject other = make(GENERATOR_CITY, 10, 0.0, &rough);
    int differ = 0;
    (void)unused;
    for (int64_t t_ns = 0; t_ns < 300 * SECOND_NS; t_ns += 777777777) {
        struct oto_truth_record stepped, asked, elsewhere;
        truth_at(&a, t_ns, &stepped);
        /* never stepped: from the start each time */
        drive_truth(&b.drive, &b.state, (struct oto_instant){t_ns, 0.0}, &asked);
        truth_at(&other, t_ns, &elsewhere);
        assert_memory_equal(&stepped, &asked, sizeof stepped);
        differ += memcmp(&stepped, &elsewhere, sizeof stepped) != 0;
    }
    assert_true(differ > 350);
    for (int64_t t_ns = 900 * SECOND_NS; t_ns > 0; t_ns -= 61 * SECOND_NS) {
        struct oto_truth_record back, asked;
        drive_truth(&a.drive, &a.state, (struct oto_instant){t_ns, 0.25}, &back);
        drive_truth(&b.drive, &b.state, (struct oto_instant){t_ns, 0.25}, &asked);
        assert_memory_equal(&back, &asked, sizeof back);
    }
}

static void what_is_asked_about_the_last_second_needs_no_planning_mostly(void **unused)
{
    struct subject s = make(GENERATOR_CITY, 2, 0.0, &plain);
    (void)unused;
    for (int64_t t_ns = 0; t_ns < 300 * SECOND_NS; t_ns += SECOND_NS / 100) {
        const struct generator_state *g = &s.state.generator;
        drive_advance(&s.drive, &s.state, t_ns);
        for (uint64_t i = 1; i < g->piece_count; i++)
            assert_int_equal(g->pieces[i].start_ns, g->pieces[i - 1].start_ns + g->pieces[i - 1].duration_ns);
        assert_true(t_ns < 20 * SECOND_NS || g->piece_count == GENERATOR_CACHED);
    }
}

static void a_bounded_drive_ends_at_rest_and_stays(void **unused)
{
    (void)unused;
    for (int64_t style = GENERATOR_CITY; style < GENERATOR_STYLE_COUNT; style++) {
        struct subject s = make(style, 4, 120.0, &rough);
        struct oto_truth_record truth, later;
        truth_at(&s, 600 * SECOND_NS, &truth);
        truth_at(&s, INT64_C(1000000) * SECOND_NS, &later);
        assert_near(oto_vec3_norm(truth.velocity_enu_m_s), 0.0, 0.0);
        assert_near(oto_vec3_norm(oto_vec3_sub(truth.position_enu_m, later.position_enu_m)), 0.0, 1e-6);
    }
}

static void no_street_of_any_seed_fails_to_be_planned(void **unused)
{
    (void)unused;
    for (int64_t style = GENERATOR_CITY; style < GENERATOR_STYLE_COUNT; style++) {
        for (uint64_t seed = 0; seed < 100; seed++) {
            const struct subject s = make(style, seed, 0.0, &plain);
            struct generator_place place = {0, {0}};
            for (place.street = 0; place.street < 60; place.street++) {
                struct script_segment segments[GENERATOR_SEGMENTS];
                struct script_sink sink = {NULL, 0, 0};
                const uint32_t count = generator_street(&s.drive.generator, &place, segments);
                assert_ok(script_plan_segments(&sink, &place.at, segments, count, &failure), failure);
                assert_true(count > 0 && count <= GENERATOR_SEGMENTS && sink.count > 0 && sink.count <= GENERATOR_PIECES);
            }
        }
    }
}

static int drop_memory(void **unused)
{
    (void)unused;
    motion_free(&memory);
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, drop_memory)
    const struct CMUnitTest tests[] = {
        TEST(city_streets_keep_to_what_the_reference_says_of_them),
        TEST(an_hour_of_each_kind_stays_within_its_bounds),
        TEST(everything_is_its_own_derivatives_at_random_instants),
        TEST(nothing_steps_within_a_generated_hour),
        TEST(the_road_under_a_city_drive_has_its_grade_and_bank),
        TEST(an_hour_of_city_keeps_to_its_jerk),
        TEST(the_same_seed_is_the_same_drive_in_any_order_of_asking),
        TEST(what_is_asked_about_the_last_second_needs_no_planning_mostly),
        TEST(a_bounded_drive_ends_at_rest_and_stays),
        TEST(no_street_of_any_seed_fails_to_be_planned),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
