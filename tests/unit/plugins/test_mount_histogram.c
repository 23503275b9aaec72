/* The published voting scheme. Rows D… of the calibration table are named in the tests. */
#include "mount_drive.h"

static struct mount_rig rig;
static struct mountcal_plan plan;
static struct histogram histogram;

static void begin_votes(void)
{
    struct mountcal_params params;
    struct oto_error error;
    mountcal_params_default(&params);
    params.method = OTO_CALIBRATION_HISTOGRAM;
    assert_ok(mountcal_prepare(&params, &plan, &error), error);
    histogram_init(&histogram);
}

static double normal(uint64_t n)
{
    return oto_normal_at(oto_rng_key_make(4, "votes"), n, 0, OTO_RNG_DOMAIN_SAMPLE, 0);
}

/* Votes about `mean_deg`; those whose number is a multiple of `outlier_each` fall anywhere. */
static void vote(uint64_t count, double mean_deg, double sigma_deg, uint64_t outlier_each)
{
    for (uint64_t n = 1; n <= count; n++) {
        double deg = mean_deg + sigma_deg * normal(n);
        if (outlier_each != 0 && n % outlier_each == 0) {
            deg = 7 * oto_u11(oto_rng_block(oto_rng_key_make(5, "votes"), n, 0, 0, 0).v[0]);
        }
        histogram_vote(&plan.histogram, &histogram, HISTOGRAM_FORWARD_AZIMUTH, deg * OTO_DEG);
    }
    histogram_find_peak(&plan.histogram, &histogram, HISTOGRAM_FORWARD_AZIMUTH);
}

static const struct histogram_votes *azimuth(void)
{
    return &histogram.of[HISTOGRAM_FORWARD_AZIMUTH];
}

/* The mean of n votes is known to sigma/√n: five of those allowed. */
static void D6_a_single_mode_is_accepted_and_finer_than_a_bin(void **state)
{
    const double bin_deg = 2 * 7.0 / (HISTOGRAM_BINS - 1);
    (void)state;
    begin_votes();
    vote(400, 1.2345, 0.1, 0);
    assert_true(azimuth()->accepted);
    assert_near(azimuth()->peak_rad / OTO_DEG, 1.2345, 5 * 0.1 / sqrt(400));
    assert_true(5 * 0.1 / sqrt(400) < bin_deg);
}

static void D6_two_modes_are_not_accepted(void **state)
{
    (void)state;
    begin_votes();
    vote(300, -3, 0.2, 0);
    vote(250, 3, 0.2, 0);
    assert_false(azimuth()->accepted);
}

static void D7_a_fifth_of_gross_outliers_adds_less_than_a_tenth_of_a_degree(void **state)
{
    (void)state;
    begin_votes();
    vote(1000, 1.5, 0.3, 5);
    assert_near(azimuth()->peak_rad / OTO_DEG, 1.5, 0.1);
}

static void D8_too_few_votes_are_not_accepted(void **state)
{
    (void)state;
    begin_votes();
    vote((uint64_t)plan.params.histogram_min_votes - 5, 0.5, 0.1, 0);
    assert_false(azimuth()->accepted);
    vote(20, 0.5, 0.1, 0);
    assert_true(azimuth()->accepted);
}

/* The spread of the votes inside the range says nothing about a mount outside it. */
static void a_peak_among_more_outliers_has_no_bound_below_the_range(void **state)
{
    double bound_rad[3], progress;
    oto_quat q;
    (void)state;
    begin_votes();
    for (int i = 0; i < 600; i++) {
        histogram_vote(&plan.histogram, &histogram, HISTOGRAM_FORWARD_AZIMUTH, (i % 3 == 0 ? 2.0 : 9.0) * OTO_DEG);
    }
    histogram_find_peak(&plan.histogram, &histogram, HISTOGRAM_FORWARD_AZIMUTH);
    assert_near(azimuth()->peak_rad / OTO_DEG, 2.0, 0.1);
    assert_false(azimuth()->accepted);
    assert_false(histogram_result(&plan.histogram, &histogram, &q, bound_rad, &progress));
    assert_near(bound_rad[2] / OTO_DEG, 7.0, 1e-9);
}

static void D16_votes_fade_so_that_one_over_one_less_decay_are_remembered(void **state)
{
    const double decay = 0.9995;
    (void)state;
    begin_votes();
    vote(1, 0, 0, 0);
    for (int n = 0; n < 2000; n++) {
        histogram_vote(&plan.histogram, &histogram, HISTOGRAM_FORWARD_AZIMUTH, 3 * OTO_DEG);
    }
    assert_near(azimuth()->votes[HISTOGRAM_BINS / 2], pow(decay, 2000), 1e-9);
    for (int n = 0; n < 30000; n++) {
        histogram_vote(&plan.histogram, &histogram, HISTOGRAM_FORWARD_AZIMUTH, 3 * OTO_DEG);
    }
    assert_near(azimuth()->total, 1 / (1 - decay), 0.01);
    assert_near(azimuth()->recent_total, 0.1 / (1 - decay), 0.01);
}

static void open_segments(const struct script_segment *segments, uint32_t count)
{
    const struct mount_drive_setup setup = {
        .world = MOUNT_PERFECT, .segments = segments, .segment_count = count, .rpy_deg = {3, -2, 1.5}};
    mount_rig_open(&rig, &setup);
    rig.params.method = OTO_CALIBRATION_HISTOGRAM;
    rig.params.compliance_deg_s2_m[0] = rig.params.compliance_deg_s2_m[1] = 0; /* the car of MOUNT_PERFECT is stiff */
    mount_rig_start(&rig);
}

static void D4_turns_alone_give_roll_and_the_up_axis_and_nothing_is_accepted(void **state)
{
    static struct script_segment segments[20];
    (void)state;
    segments[0] = (struct script_segment){.kind = SCRIPT_STOP, .accel_m_s2 = 2, .ramp_s = 1, .duration_s = 4};
    segments[1] = (struct script_segment){.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 5, .accel_m_s2 = 0.2, .ramp_s = 1};
    for (int i = 2; i < 20; i++) {
        segments[i] = (struct script_segment){
            .kind = SCRIPT_TURN, .angle_deg = i % 3 == 0 ? -80 : 80, .radius_m = 12, .accel_m_s2 = 2, .ramp_s = 1};
    }
    open_segments(segments, 20);
    mount_rig_run(&rig, 110);
    assert_true(rig.state->histogram.of[HISTOGRAM_UP_INCLINATION].accepted);
    assert_near(rig.state->histogram.of[HISTOGRAM_UP_INCLINATION].peak_rad / OTO_DEG, 3, 0.05);
    assert_near(rig.state->histogram.of[HISTOGRAM_UP_AZIMUTH].peak_rad / OTO_DEG, -2, 0.1);
    assert_false(rig.state->histogram.of[HISTOGRAM_FORWARD_AZIMUTH].accepted);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_NOT_ACCEPTED);
    assert_near(rig.error_deg[0], 0, 0.1);
    mount_rig_close(&rig);
}

static void D5_starts_alone_give_pitch_and_yaw_and_nothing_is_accepted(void **state)
{
    static struct script_segment segments[24];
    (void)state;
    for (int i = 0; i < 24; i += 2) {
        segments[i] = (struct script_segment){.kind = SCRIPT_STOP, .accel_m_s2 = 2, .ramp_s = 1, .duration_s = 4};
        segments[i + 1] =
            (struct script_segment){.kind = SCRIPT_ACCELERATE, .to_speed_m_s = 8, .accel_m_s2 = 2, .ramp_s = 1};
    }
    open_segments(segments, 24);
    mount_rig_run(&rig, 130);
    assert_true(rig.state->histogram.of[HISTOGRAM_FORWARD_INCLINATION].accepted);
    assert_true(rig.state->histogram.of[HISTOGRAM_FORWARD_AZIMUTH].accepted);
    assert_false(rig.state->histogram.of[HISTOGRAM_UP_INCLINATION].accepted);
    assert_int_equal(rig.record.state, OTO_CALIBRATION_NOT_ACCEPTED);
    mount_rig_close(&rig);
}

static void the_histogram_method_finds_pitch_and_yaw_in_the_city(void **state)
{
    struct oto_mount_calibration_histogram_record record;
    struct oto_mount_calibration_diagnostics_record diagnostics;
    const struct mount_drive_setup setup = {
        .world = MOUNT_CITY, .style = GENERATOR_CITY, .seed = 51, .rpy_deg = {-6, 3, 4}};
    double sum = 0;
    (void)state;
    mount_rig_open(&rig, &setup);
    rig.params.method = OTO_CALIBRATION_HISTOGRAM;
    mount_rig_start(&rig);
    mount_rig_run(&rig, 660);
    assert_int_equal(rig.record.method, OTO_CALIBRATION_HISTOGRAM);
    assert_mount(&rig, 2.5, 0.3, 0.3);
    mountcal_histogram(&rig.plan, rig.state, &record);
    mountcal_diagnostics(&rig.plan, rig.state, &diagnostics);
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        sum += record.counts[HISTOGRAM_UP_INCLINATION][i] * record.votes_per_count[HISTOGRAM_UP_INCLINATION];
    }
    /* d25: the channels agree: votes in the bins and outliers are all votes; a count is rounded by half of one. */
    assert_near(sum + diagnostics.up_outliers, diagnostics.up_votes,
                0.5 * HISTOGRAM_BINS * record.votes_per_count[HISTOGRAM_UP_INCLINATION] + 1e-9);
    mount_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(D6_a_single_mode_is_accepted_and_finer_than_a_bin),
        cmocka_unit_test(D6_two_modes_are_not_accepted),
        cmocka_unit_test(D7_a_fifth_of_gross_outliers_adds_less_than_a_tenth_of_a_degree),
        cmocka_unit_test(D8_too_few_votes_are_not_accepted),
        cmocka_unit_test(a_peak_among_more_outliers_has_no_bound_below_the_range),
        cmocka_unit_test(D16_votes_fade_so_that_one_over_one_less_decay_are_remembered),
        cmocka_unit_test(D4_turns_alone_give_roll_and_the_up_axis_and_nothing_is_accepted),
        cmocka_unit_test(D5_starts_alone_give_pitch_and_yaw_and_nothing_is_accepted),
        cmocka_unit_test(the_histogram_method_finds_pitch_and_yaw_in_the_city),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
