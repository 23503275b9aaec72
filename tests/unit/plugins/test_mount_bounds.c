/*
 * The joint method on many drives whose mount is known: its bounds hold, and it is never wrongly sure. Rows D… of the
 * calibration table are named in the tests.
 */
#include "mount_drive.h"

static struct mount_rig rig;

static void open_city(uint64_t seed, enum mount_world world)
{
    const struct mount_drive_setup setup = {
        .world = world, .style = GENERATOR_CITY, .seed = seed, .rpy_deg = {-7.3, 3.1, -4.2}};
    mount_rig_open(&rig, &setup);
}

/*
 * 40 drives, three angles at four times: with 3-sigma bounds that hold in 99 % of cases, seven or more misses among 480
 * (which are not independent; 160 drives and angles are) come in fewer than one of a thousand such suites.
 */
static void D11_D19_D28_bounds_hold_in_the_city_and_nothing_wrong_is_accepted(void **state)
{
    const double at_s[4] = {120, 240, 420, 660};
    double square[3] = {0};
    int outside = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct mount_drive_setup setup = {.world = MOUNT_CITY, .style = GENERATOR_CITY, .seed = seed};
        for (int i = 0; i < 3; i++) {
            setup.rpy_deg[i] =
                (i == 0 ? 10 : 5) * oto_u11(oto_rng_block(oto_rng_key_make(seed, "mount"), 0, 0, 0, 0).v[i]);
        }
        mount_rig_open(&rig, &setup);
        mount_rig_start(&rig);
        for (int k = 0; k < 4; k++) {
            mount_rig_run(&rig, at_s[k]);
            for (int i = 0; i < 3; i++) {
                outside += fabs(rig.error_deg[i]) > rig.record.bound_3sigma_deg[i];
            }
        }
        for (int i = 0; i < 3; i++) {
            square[i] += rig.error_deg[i] * rig.error_deg[i] / 40;
        }
        assert_int_equal(rig.accepted_wrong, 0);
        mount_rig_close(&rig);
    }
    print_message("    11 min: rms roll %.3f pitch %.3f yaw %.3f deg; %d of 480 outside 3 sigma\n", sqrt(square[0]),
                  sqrt(square[1]), sqrt(square[2]), outside);
    assert_true(outside < 7);
    /* The road's bank lets roll be no better than 0.7 deg · sqrt(265 m / way): 0.17 deg at 4.3 km. */
    assert_true(sqrt(square[0]) < 0.25);
    assert_true(sqrt(square[1]) < 0.05);
    assert_true(sqrt(square[2]) < 0.05);
}

static void D11_bounds_hold_where_nothing_is_known_of_the_crown(void **state)
{
    struct mountcal_params usual;
    (void)state;
    mountcal_params_default(&usual);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        open_city(500 + seed, seed % 2 == 0 ? MOUNT_CITY : MOUNT_HARSH);
        rig.params.traffic_side = usual.traffic_side;
        rig.params.crown_deg = usual.crown_deg;
        rig.params.crown_sigma_deg = usual.crown_sigma_deg;
        mount_rig_start(&rig);
        mount_rig_run(&rig, 660);
        for (int i = 0; i < 3; i++) {
            assert_true(fabs(rig.error_deg[i]) < rig.record.bound_3sigma_deg[i]);
        }
        assert_int_not_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
        mount_rig_close(&rig);
    }
}

/* Vibration that the sampling folds down is white, and adds up in the velocity that is integrated. */
static void shake_upwards(struct mount_rig *shaken, struct mount_sample *sample)
{
    const double jolt_m_s2 = 0.6 * mount_drive_normal(&shaken->drive, shaken->drive.n, 40);
    const oto_vec3 up = oto_quat_rotate_inv(shaken->drive.q_body_from_sensor, oto_vec3_make(0, 0, 1));
    if (fabs(sample->speed_m_s) > 0.1) {
        const oto_vec3 force = oto_vec3_add_scaled(oto_vec3_from_array(sample->specific_force_m_s2), up, jolt_m_s2);
        oto_vec3_to_array(force, sample->specific_force_m_s2);
    }
}

/* Twelve drives on a road and twelve on a level path, three angles, at 4 and 11 minutes. */
static void D11_bounds_hold_where_white_noise_shakes_it_up_and_down(void **state)
{
    int outside = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        const struct mount_drive_setup setup = {.world = MOUNT_CITY,
                                                .style = GENERATOR_CITY,
                                                .seed = 600 + seed,
                                                .rpy_deg = {5.2, -2.9, 3.6},
                                                .level = seed % 2 == 0};
        mount_rig_open(&rig, &setup);
        rig.spoil = shake_upwards;
        mount_rig_start(&rig);
        for (double at_s = 240; at_s <= 660; at_s += 420) {
            mount_rig_run(&rig, at_s);
            for (int i = 0; i < 3; i++) {
                outside += fabs(rig.error_deg[i]) > rig.record.bound_3sigma_deg[i];
            }
        }
        assert_int_equal(rig.accepted_wrong, 0);
        mount_rig_close(&rig);
    }
    print_message("    %d of 144 outside 3 sigma\n", outside);
    assert_true(outside < 4);
}

static void D8_D28_harsh_drives_are_never_accepted_wrongly(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        open_city(200 + seed, MOUNT_HARSH);
        mount_rig_start(&rig);
        mount_rig_run(&rig, 900);
        assert_int_equal(rig.accepted_wrong, 0);
        assert_near(rig.error_deg[1], 0, 0.2);
        assert_near(rig.error_deg[2], 0, 0.2);
        mount_rig_close(&rig);
    }
}

/* In simulations that tilt the body on a level path, the drive's turns show the roll within minutes. */
static void D28_where_the_path_stays_level_all_is_accepted_within_seven_minutes_and_right(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const struct mount_drive_setup setup = {.world = MOUNT_CITY,
                                                .style = GENERATOR_CITY,
                                                .seed = 400 + seed,
                                                .rpy_deg = {6.1, -3.3, 2.7},
                                                .level = true};
        mount_rig_open(&rig, &setup);
        mount_rig_start(&rig);
        mount_rig_run(&rig, 420);
        assert_int_equal(rig.record.state, OTO_CALIBRATION_ACCEPTED);
        assert_int_equal(rig.accepted_wrong, 0);
        assert_mount(&rig, 0.1, 0.1, 0.1);
        mount_rig_close(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D11_D19_D28_bounds_hold_in_the_city_and_nothing_wrong_is_accepted),
        cmocka_unit_test(D11_bounds_hold_where_nothing_is_known_of_the_crown),
        cmocka_unit_test(D11_bounds_hold_where_white_noise_shakes_it_up_and_down),
        cmocka_unit_test(D8_D28_harsh_drives_are_never_accepted_wrongly),
        cmocka_unit_test(D28_where_the_path_stays_level_all_is_accepted_within_seven_minutes_and_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
