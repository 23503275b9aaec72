/*
 * Several units at once, on any machine and four lanes at a time: one sample has one value, to the last bit. Parameter sets
 * are random with a fixed seed, terms on and off.
 */
#include "imu_model.h"
#include "num_draws.h"
#include "oto_test.h"
#include "otolith/rng.h"

enum { SETS = 200, UNITS = 21, SAMPLES = 40 };

struct dice {
    uint64_t n;
};

static double roll(struct dice *dice)
{
    dice->n++;
    return oto_u11(oto_rng_block((struct oto_rng_key){2026, 3}, dice->n, 0, 0, OTO_RNG_DOMAIN_WORLD).v[0]);
}

static bool coin(struct dice *dice)
{
    return roll(dice) > 0.0;
}

/* Each row is there in half of the sets. */
static void roll_row(struct dice *dice, double *row, int count, double size)
{
    const bool there = coin(dice);
    for (int i = 0; i < count; i++) {
        row[i] = there ? size * roll(dice) : 0.0;
    }
}

static void roll_sizes(struct dice *dice, double row[3], double size)
{
    roll_row(dice, row, 3, size);
    for (int i = 0; i < 3; i++) {
        row[i] = oto_fabs(row[i]);
    }
}

static void roll_triad(struct dice *dice, struct num_triad_params *triad, bool extended)
{
    memset(triad, 0, sizeof *triad);
    triad->measurement_range_u = coin(dice) || extended ? 3.0 + roll(dice) : 0.0;
    triad->resolution_u = coin(dice) ? 0.001 * (1.5 + roll(dice)) : 0.0;
    triad->bias_instability_tau_min_s = 1;
    triad->bias_instability_tau_max_s = 1000;
    triad->bias_instability_tau_s = coin(dice) ? 50.0 : 0.0;
    roll_row(dice, triad->constant_bias_u, 3, 0.5);
    roll_sizes(dice, triad->noise_density_u_rthz, 0.05);
    roll_sizes(dice, triad->bias_instability_u, 0.01);
    roll_row(dice, triad->axis_misalignment_percent, 3, 2.0);
    roll_sizes(dice, triad->random_walk_u_rthz, 0.01);
    roll_row(dice, triad->temperature_bias_u_degc, 3, 0.01);
    roll_row(dice, triad->temperature_scale_factor_percent_degc, 3, 0.1);
    roll_row(dice, triad->acceleration_bias_u_m_s2, 3, 0.01);
    roll_row(dice, triad->scale_factor_error_percent, 3, 1.0);
    roll_row(dice, triad->cross_axis_percent, 6, 1.0);
    roll_sizes(dice, triad->turn_on_bias_u, 0.1);
    if (!extended) {
        return;
    }
    roll_row(dice, triad->nonlinearity_quadratic_ppm, 3, 100.0);
    roll_row(dice, triad->nonlinearity_cubic_ppm, 3, 100.0);
    roll_row(dice, triad->g2_sensitivity_u_m2_s4, 3, 0.001);
    roll_row(dice, triad->acceleration_cross_u_m_s2, 6, 0.01);
    roll_row(dice, triad->temperature_bias_quadratic_u_degc2, 3, 0.001);
    roll_row(dice, triad->temperature_scale_factor_cubic_percent_degc3, 3, 0.001);
}

static void roll_imu(struct dice *dice, struct imu_params *params, bool extended)
{
    memset(params, 0, sizeof *params);
    params->law.law = coin(dice) && coin(dice) ? NUM_LAW_MAVS : NUM_LAW_MEMS;
    params->law.w = coin(dice) ? NUM_W_DOCUMENT : coin(dice) ? NUM_W_CODE : 0.0;
    params->law.temperature_degc = NUM_TEMPERATURE_WORLD;
    params->law.self_heating_degc = extended && coin(dice) ? 7.0 : 0.0;
    params->law.self_heating_tau_s = 1.0;
    params->magnetometer_enable = coin(dice);
    params->taps = extended;
    roll_triad(dice, &params->accelerometer, extended);
    roll_triad(dice, &params->gyroscope, extended);
    roll_triad(dice, &params->magnetometer, extended);
}

/* One unit with all that a sample of it leaves behind. */
struct unit {
    struct imu_plan plan;
    struct imu_state state;
    struct imu_made {
        struct oto_imu_record imu;
        struct oto_mag_record mag;
        struct imu_taps taps;
        uint32_t imu_saturated, mag_saturated;
    } made;
    double measured_u[NUM_LANES];
};

static struct unit units[3][UNITS];

static void make_units(struct unit *of, const struct imu_params *params, const struct num_kernel *kernel, uint32_t count)
{
    struct oto_error error = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_rng_key noise = {1, i}, part = {0, i};
        memset(&of[i], 0, sizeof of[i]);
        assert_ok(imu_prepare(&params[i], 200.0, noise, part, &of[i].plan, &error), error);
        of[i].plan.suite.kernel = kernel;
        imu_init(&of[i].plan, &of[i].state);
    }
}

struct truths {
    oto_vec3 force_m_s2, rate_rad_s, field_ut;
    double temperature_degc;
};

static struct imu_truth roll_truth(struct dice *dice, uint64_t n, struct truths *truths)
{
    truths->force_m_s2 = oto_vec3_make(4 * roll(dice), roll(dice), 2 * roll(dice));
    truths->rate_rad_s = oto_vec3_make(roll(dice), 4 * roll(dice), roll(dice));
    truths->field_ut = oto_vec3_make(roll(dice), roll(dice), 4 * roll(dice));
    truths->temperature_degc = 25.0 + 40.0 * roll(dice);
    return (struct imu_truth){n, &truths->force_m_s2, &truths->rate_rad_s, &truths->field_ut, truths->temperature_degc};
}

static void measure_one(struct unit *unit, const struct imu_truth *truth)
{
    memset(&unit->made, 0, sizeof unit->made);
    assert_true(imu_measure(&unit->plan, &unit->state, truth, &unit->made.imu, &unit->made.imu_saturated, &unit->made.mag,
                            &unit->made.mag_saturated));
}

static void measure_all(struct unit *of, const struct imu_truth *truths, uint32_t count)
{
    struct num_suite_job jobs[UNITS];
    for (uint32_t i = 0; i < count; i++) {
        memset(&of[i].made, 0, sizeof of[i].made);
        assert_true(imu_begin(&of[i].plan, &of[i].state, &truths[i], of[i].measured_u, &jobs[i]));
    }
    of[0].plan.suite.kernel->measure(jobs, count);
    for (uint32_t i = 0; i < count; i++) {
        imu_finish(&of[i].plan, &jobs[i], &of[i].made.imu, &of[i].made.imu_saturated, &of[i].made.mag,
                   &of[i].made.mag_saturated);
    }
}

static void assert_same(const struct unit *a, const struct unit *b)
{
    assert_memory_equal(&a->made, &b->made, sizeof a->made);
    assert_memory_equal(&a->state, &b->state, sizeof a->state);
}

static const struct num_kernel *widest(void)
{
    const struct num_kernel *wide = num_kernel_wide();
    return wide != NULL ? wide : &num_kernel_plain;
}

static void the_kernel_for_avx2_and_many_units_at_once_give_the_bits_of_one_unit_alone(void **state)
{
    (void)state;
    struct dice dice = {0};
    for (int set = 0; set < SETS; set++) {
        static struct imu_params params[UNITS];
        const uint32_t count = 1 + (uint32_t)set % UNITS;
        for (uint32_t i = 0; i < count; i++) {
            roll_imu(&dice, &params[i], false);
        }
        make_units(units[0], params, &num_kernel_plain, count);
        make_units(units[1], params, widest(), count);
        make_units(units[2], params, set % 2 == 0 ? widest() : &num_kernel_plain, count);
        for (uint64_t n = 1; n <= SAMPLES; n++) {
            struct truths inputs[UNITS];
            struct imu_truth truths[UNITS];
            for (uint32_t i = 0; i < count; i++) {
                truths[i] = roll_truth(&dice, n, &inputs[i]);
                measure_one(&units[0][i], &truths[i]);
                measure_one(&units[1][i], &truths[i]);
            }
            measure_all(units[2], truths, count);
            for (uint32_t i = 0; i < count; i++) {
                assert_same(&units[0][i], &units[1][i]);
                assert_same(&units[0][i], &units[2][i]);
            }
        }
    }
}

static void the_kernel_for_avx2_gives_the_same_bits_with_every_term_and_every_tap(void **state)
{
    (void)state;
    struct dice dice = {1000000};
    for (int set = 0; set < SETS; set++) {
        struct imu_params params;
        roll_imu(&dice, &params, true);
        make_units(units[0], &params, &num_kernel_plain, 1);
        make_units(units[1], &params, widest(), 1);
        for (uint64_t n = 1; n <= SAMPLES; n++) {
            struct truths input;
            const struct imu_truth truth = roll_truth(&dice, n, &input);
            for (int i = 0; i < 2; i++) {
                struct unit *unit = &units[i][0];
                memset(&unit->made, 0, sizeof unit->made);
                assert_true(imu_measure_extended(&unit->plan, &unit->state, &truth, &truth, NULL, &unit->made.imu,
                                                 &unit->made.imu_saturated, &unit->made.mag, &unit->made.mag_saturated,
                                                 &unit->made.taps));
            }
            assert_same(&units[0][0], &units[1][0]);
        }
    }
}

/* The blocks made from shared rounds are Philox' own, and so are the deviates: 2^14 samples hold some 12 far tails. */
static void each_deviate_is_the_one_that_its_counter_says(void **state)
{
    (void)state;
    struct imu_params params = {.law = {.temperature_degc = NUM_TEMPERATURE_WORLD, .w = NUM_W_DOCUMENT},
                                .magnetometer_enable = 1};
    struct num_triad_params *triads[3] = {&params.accelerometer, &params.gyroscope, &params.magnetometer};
    for (int i = 0; i < 3; i++) {
        triads[i]->bias_instability_tau_min_s = 1;
        triads[i]->bias_instability_tau_max_s = 1000;
        triads[i]->noise_density_u_rthz[0] = triads[i]->noise_density_u_rthz[1] = triads[i]->noise_density_u_rthz[2] = 1;
    }
    params.law.psd = NUM_PSD_SINGLE;
    const struct num_kernel *kernels[2] = {&num_kernel_plain, widest()};
    for (int k = 0; k < 2; k++) {
        uint32_t far = 0;
        make_units(units[0], &params, kernels[k], 1);
        for (uint64_t n = 1; n <= 1u << 14; n++) {
            const oto_vec3 none = oto_vec3_zero();
            const struct imu_truth truth = {n, &none, &none, &none, 25.0};
            measure_one(&units[0][0], &truth);
            const double *force = &units[0][0].made.imu.linear_acceleration_m_s2.x;
            for (uint64_t axis = 0; axis < 3; axis++) {
                const double deviate =
                    oto_normal_at((struct oto_rng_key){1, 0}, n, NUM_DRAW_DEVIATES, OTO_RNG_DOMAIN_SAMPLE, axis);
                const double expected = oto_sqrt(100.0) * 1.0 * deviate;
                assert_memory_equal(&force[axis], &expected, sizeof expected);
            }
            for (uint64_t lane = 0; lane < 9; lane++) {
                far += oto_fabs(oto_normal_at((struct oto_rng_key){1, 0}, n, NUM_DRAW_DEVIATES, OTO_RNG_DOMAIN_SAMPLE,
                                              lane)) > 4.17;
            }
        }
        assert_true(far > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kernel_for_avx2_and_many_units_at_once_give_the_bits_of_one_unit_alone),
        cmocka_unit_test(the_kernel_for_avx2_gives_the_same_bits_with_every_term_and_every_tap),
        cmocka_unit_test(each_deviate_is_the_one_that_its_counter_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
