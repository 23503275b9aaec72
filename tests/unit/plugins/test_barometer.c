/* The barometer through its ABI: air, noise, filter, flow, temperature, weather. */
#include <math.h>

#include "mini_host.h"

#define RATE_HZ 50.0

struct rig {
    struct mini_host host;
    struct oto_sensor_input input;
    struct oto_sensor_input past;
    struct oto_pressure_record record;
    struct oto_output output;
    struct oto_step step;
};

static enum oto_step_status input_at(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    (void)at;
    *input = ((struct rig *)context)->past;
    return OTO_STEP_OK;
}

static void rig_open(struct rig *rig, double rate_hz, uint64_t seed)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, rate_hz, seed);
    rig->input = mini_rest(&rig->host);
    rig->input.pressure_pa = 95000;
    rig->past = rig->input;
    rig->output.payload = &rig->record;
    rig->step.sensor.input_at = input_at;
    rig->step.sensor.input_context = rig;
}

static double sample(struct rig *rig, uint64_t n)
{
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, &rig->output), OTO_STEP_OK);
    return rig->record.fluid_pressure_pa;
}

static void an_ideal_barometer_reports_the_air(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ, 42);
    mini_start(&rig.host);
    assert_near(sample(&rig, 1), 95000, 0);
    assert_near(rig.record.temperature_degc, 25, 0);
    assert_near(rig.record.variance_pa2, 0, 0);
    mini_close(&rig.host);
}

/* Variance of N samples of density d at rate f: d² f/2; behind y += w (x - y) it is w/(2 - w) of it. 5 deviations. */
static void noise_has_its_density_and_the_filter_takes_its_part(void **state)
{
    enum { SAMPLES = 40000 };
    (void)state;
    for (int coefficient = 0; coefficient <= 3; coefficient += 3) {
        struct rig rig;
        double squares = 0;
        rig_open(&rig, RATE_HZ, 42);
        mini_set(&rig.host, "noise_density_pa_rthz", 0.4);
        mini_set(&rig.host, "iir_coefficient", coefficient);
        mini_start(&rig.host);
        for (uint64_t n = 1; n <= SAMPLES; n++) {
            const double error = sample(&rig, n) - 95000;
            squares += error * error;
        }
        const double weight = 1.0 / (1 + coefficient), phi = 1 - weight;
        const double variance = 0.16 * RATE_HZ / 2 * weight / (2 - weight);
        const double spread = sqrt(2.0 / SAMPLES * (1 + phi * phi) / (1 - phi * phi));
        assert_near(squares / SAMPLES, variance, 5 * spread * variance);
        assert_near(rig.record.variance_pa2, variance, 1e-12);
        mini_close(&rig.host);
    }
}

static void the_filter_smooths_a_door_that_the_air_does_not(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ, 42);
    mini_set(&rig.host, "iir_coefficient", 3);
    mini_start(&rig.host);
    assert_near(sample(&rig, 1), 95000, 0);
    rig.input.disturbance_count = 1;
    rig.input.disturbances[0] = (struct oto_disturbance){OTO_FAULT_DRAUGHT, 1, 80, 0};
    assert_near(sample(&rig, 2), 95020, 1e-9);
    assert_near(sample(&rig, 3), 95035, 1e-9);
    mini_close(&rig.host);
}

static void flow_adds_its_dynamic_pressure(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ, 42);
    mini_set(&rig.host, "dynamic_pressure.static_coefficient", -0.1);
    mini_set(&rig.host, "dynamic_pressure.ram_coefficient", 0.5);
    mini_set3(&rig.host, "wind_enu_m_s", -5, 0, 0);
    mini_start(&rig.host);
    const double density = 95000 / (287.05287 * 298.15);
    rig.input.velocity_sensor_enu_m_s = oto_vec3_make(15, 0, 0); /* 20 m/s through the air, along sensor x */
    assert_near(sample(&rig, 1), 95000 + 0.5 * density * 400 * 0.4, 1e-9);
    rig.input.velocity_sensor_enu_m_s = oto_vec3_make(-25, 0, 0); /* backwards */
    assert_near(sample(&rig, 2), 95000 + 0.5 * density * 400 * -0.6, 1e-9);
    mini_close(&rig.host);
}

static void temperature_scale_and_resolution_act_as_named(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ, 42);
    mini_set(&rig.host, "temperature_bias_pa_degc", 0.75);
    mini_set(&rig.host, "scale_error_percent", 0.01);
    mini_set(&rig.host, "constant_bias_pa", 3);
    mini_set(&rig.host, "self_heating_degc", 2);
    mini_set(&rig.host, "resolution_pa", 0.5);
    mini_start(&rig.host);
    rig.input.temperature_degc = 45;
    assert_near(sample(&rig, 1), 95029, 0); /* 95000 + 9.5 + 3 + 0.75 * 22 */
    assert_near(rig.record.temperature_degc, 47, 0);
    mini_close(&rig.host);
}

static void the_ends_of_the_range_hold_and_are_flagged(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ, 42);
    mini_put(&rig.host, mini_param("range_pa"), 0, 30000);
    mini_put(&rig.host, mini_param("range_pa"), 1, 120000);
    mini_start(&rig.host);
    rig.input.pressure_pa = 20000;
    assert_near(sample(&rig, 1), 30000, 0);
    assert_int_equal(rig.output.flags, OTO_SAMPLE_SATURATED(0));
    rig.input.pressure_pa = 95000;
    assert_near(sample(&rig, 2), 95000, 0);
    assert_int_equal(rig.output.flags, 0);
    mini_close(&rig.host);
}

static void a_late_sample_is_of_the_earlier_air(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ, 42);
    mini_set(&rig.host, "delay_ms", 30);
    mini_start(&rig.host);
    rig.past.pressure_pa = 94000;
    assert_near(sample(&rig, 50), 94000, 0);
    mini_close(&rig.host);
}

/* 400 seeds, one value each: variance sigma², deviation of its estimate sqrt(2/400); an hour apart exp(-1/3). */
static void weather_is_one_process_for_all_rates_of_a_world(void **state)
{
    enum { SEEDS = 400 };
    double squares = 0, product = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct rig slow, fast;
        rig_open(&slow, 1.0 / 60, seed);
        rig_open(&fast, 1.0 / 20, seed);
        mini_set(&slow.host, "weather.sigma_pa", 30);
        mini_set(&fast.host, "weather.sigma_pa", 30);
        mini_start(&slow.host);
        mini_start(&fast.host);
        const double first = sample(&slow, 1) - 95000;
        const double later = sample(&slow, 61) - 95000; /* an hour later */
        for (uint64_t n = 1; n <= 3; n++) {
            (void)sample(&fast, n);
        }
        assert_near(fast.record.fluid_pressure_pa - 95000, first, 1e-9);
        squares += first * first;
        product += first * later;
        mini_close(&slow.host);
        mini_close(&fast.host);
    }
    assert_near(squares / SEEDS, 900, 900 * 5 * sqrt(2.0 / SEEDS));
    assert_near(product / SEEDS, 900 * exp(-1.0 / 3), 900 * 5 * sqrt(2.0 / SEEDS));
}

static void air_that_is_not_finite_gives_no_sample(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, RATE_HZ, 42);
    mini_start(&rig.host);
    rig.input.pressure_pa = NAN;
    assert_int_equal(mini_step(&rig.host, &rig.step, 1, &rig.input, &rig.output), OTO_STEP_DISCARD);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ideal_barometer_reports_the_air),
        cmocka_unit_test(noise_has_its_density_and_the_filter_takes_its_part),
        cmocka_unit_test(the_filter_smooths_a_door_that_the_air_does_not),
        cmocka_unit_test(flow_adds_its_dynamic_pressure),
        cmocka_unit_test(temperature_scale_and_resolution_act_as_named),
        cmocka_unit_test(the_ends_of_the_range_hold_and_are_flagged),
        cmocka_unit_test(a_late_sample_is_of_the_earlier_air),
        cmocka_unit_test(weather_is_one_process_for_all_rates_of_a_world),
        cmocka_unit_test(air_that_is_not_finite_gives_no_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
