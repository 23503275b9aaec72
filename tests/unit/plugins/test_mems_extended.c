/* The terms of mems_imu that take the extended path: taps, curves, self-heating, clock, boxcar, delay, delta outputs. */
#include "imu_model.h"
#include "mini_host.h"

struct delta {
    double angle_rad[3], velocity_m_s[3], dt_s;
};

struct rig {
    struct mini_host host;
    struct oto_sensor_input input;
    struct oto_imu_record imu;
    struct oto_mag_record mag;
    struct imu_taps taps;
    struct delta delta;
    struct oto_output outputs[4];
    struct oto_step step;
};

static void rig_open(struct rig *rig, double rate_hz)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, rate_hz, 11);
    rig->input = mini_rest(&rig->host);
    rig->outputs[0].payload = &rig->imu;
    rig->outputs[1].payload = &rig->mag;
    rig->outputs[2].payload = &rig->taps;
    rig->outputs[3].payload = &rig->delta;
}

static void sample(struct rig *rig, uint64_t n)
{
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, rig->outputs), OTO_STEP_OK);
}

static void set_all(struct rig *rig, int law)
{
    static const char *const triads[][2] = {{"accelerometer.", "m_s2"}, {"gyroscope.", "rad_s"}, {"magnetometer.", "ut"}};
    static const char *const names[][2] = {
        {"constant_bias_", ""},    {"noise_density_", "_rthz"},    {"bias_instability_", ""},
        {"random_walk_", "_rthz"}, {"temperature_bias_", "_degc"}, {"turn_on_bias_", ""},
        {"unit_bias_", ""}};
    mini_set(&rig->host, "law", law);
    mini_set(&rig->host, "magnetometer.enable", 1);
    for (int t = 0; t < 3; t++) {
        char key[96];
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            (void)snprintf(key, sizeof key, "%s%s%s%s", triads[t][0], names[i][0], triads[t][1], names[i][1]);
            mini_set(&rig->host, key, 1e-3 * (double)(i + 1));
        }
        (void)snprintf(key, sizeof key, "%sresolution_%s", triads[t][0], triads[t][1]);
        mini_set(&rig->host, key, 1e-4);
        (void)snprintf(key, sizeof key, "%smeasurement_range_%s", triads[t][0], triads[t][1]);
        mini_set(&rig->host, key, 30);
        (void)snprintf(key, sizeof key, "%saxis_misalignment_percent", triads[t][0]);
        mini_set3(&rig->host, key, 0.3, -0.7, 1.1);
    }
}

static void assert_taps_give(const double *taps, oto_vec3 output)
{
    const double axes[3] = {output.x, output.y, output.z};
    for (int axis = 0; axis < 3; axis++) {
        double sum = taps[axis];
        for (int tap = 1; tap < NUM_TAPS; tap++) {
            sum += taps[3 * tap + axis];
        }
        assert_near(sum, axes[axis], 0);
    }
}

static void taps_add_up_to_the_output_exactly_and_do_not_change_it(void **state)
{
    (void)state;
    for (int law = 0; law < 2; law++) {
        struct rig plain, tapped;
        rig_open(&plain, 200);
        rig_open(&tapped, 200);
        set_all(&plain, law);
        set_all(&tapped, law);
        mini_set(&tapped.host, "taps", 1);
        mini_start(&plain.host);
        mini_start(&tapped.host);
        for (uint64_t n = 1; n <= 2000; n++) {
            plain.input.temperature_degc = tapped.input.temperature_degc = 20 + 0.01 * (double)n;
            plain.input.angular_rate_sensor_rad_s.y = tapped.input.angular_rate_sensor_rad_s.y = 0.02 * (double)n;
            sample(&plain, n);
            sample(&tapped, n);
            assert_memory_equal(&plain.imu, &tapped.imu, sizeof plain.imu);
            assert_memory_equal(&plain.mag, &tapped.mag, sizeof plain.mag);
            assert_int_equal(plain.outputs[0].flags, tapped.outputs[0].flags);
            assert_taps_give(tapped.taps.triads[0], tapped.imu.linear_acceleration_m_s2);
            assert_taps_give(tapped.taps.triads[1], tapped.imu.angular_velocity_rad_s);
            assert_taps_give(tapped.taps.triads[2], tapped.mag.magnetic_field_t);
            assert_near(tapped.taps.triads[1][3 * NUM_TAP_ROUNDING + 1], 0, 1e-12);
        }
        assert_near(tapped.taps.triads[0][3 * NUM_TAP_TRUTH + 2], 9.80665, 0);
        assert_near(tapped.taps.triads[0][3 * NUM_TAP_CONSTANT_BIAS], 1e-3, 0);
        assert_near(tapped.taps.triads[1][3 * NUM_TAP_SATURATION + 1], -10, 12);
        assert_int_equal(memcmp(plain.host.state, tapped.host.state, sizeof(struct imu_state)), 0);
        mini_close(&plain.host);
        mini_close(&tapped.host);
    }
}

/* What no last tap can mend, an output far below what cancelled in it, is closed by the last two. */
static void taps_add_up_even_where_everything_cancels(void **state)
{
    static num_tap_row rows[NUM_TAPS];
    double record[NUM_TAPS_DOUBLES];
    (void)state;
    rows[NUM_TAP_TRUTH][0] = 1;
    rows[NUM_TAP_MISALIGNMENT][0] = -1 + 0x1p-53;
    const oto_vec3 output = {1.2345e-25, 3, 0};
    num_taps_close(rows, 0, 1.0, output, record);
    assert_taps_give(record, output);
}

static void taps_name_their_terms_and_fit_a_record(void **state)
{
    const struct oto_port *port = &otolith_plugin.descriptor->outputs[2];
    bool found = false;
    (void)state;
    assert_string_equal(port->name, "taps");
    assert_int_equal(port->enable_offset, mini_param("taps")->offset);
    assert_true(port->type->bytes <= OTO_RECORD_MAX_BYTES && port->type->field_count <= OTO_RECORD_MAX_FIELDS);
    for (uint32_t i = 0; i < port->type->field_count; i++) {
        const struct oto_field *field = &port->type->fields[i];
        assert_true(strlen(field->name) < OTO_FIELD_NAME_BYTES);
        if (strcmp(field->name, "gyroscope.white_noise.y") == 0) {
            assert_int_equal(field->offset, 8 * (NUM_TAPS_DOUBLES + 3 * NUM_TAP_WHITE_NOISE + 1));
            found = true;
        }
    }
    assert_true(found);
}

static void nonlinearity_is_in_ppm_of_the_range_and_needs_one(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, 200);
    mini_set(&rig.host, "accelerometer.nonlinearity_quadratic_ppm", 1000);
    mini_set(&rig.host, "accelerometer.nonlinearity_cubic_ppm", -500);
    assert_int_equal(mini_prepare(&rig.host), OTO_RANGE);
    assert_non_null(strstr(rig.host.error.text, "accelerometer.nonlinearity"));
    mini_set(&rig.host, "accelerometer.measurement_range_m_s2", 40);
    mini_start(&rig.host);
    rig.input.specific_force_sensor_m_s2 = oto_vec3_make(20, -20, 0);
    sample(&rig, 1);
    assert_near(rig.imu.linear_acceleration_m_s2.x, 20 + 40 * (1e-3 * 0.25 - 0.5e-3 * 0.125), 1e-13);
    assert_near(rig.imu.linear_acceleration_m_s2.y, -20 + 40 * (1e-3 * 0.25 + 0.5e-3 * 0.125), 1e-13);
    mini_close(&rig.host);
}

static void A19_g2_sensitivity_rectifies_vibration(void **state)
{
    struct rig rig;
    double mean = 0;
    (void)state;
    rig_open(&rig, 200);
    mini_set3(&rig.host, "gyroscope.g2_sensitivity_rad_s_m2_s4", 1e-6, 0, 0);
    mini_set(&rig.host, "accelerometer.g2_sensitivity_m_s2_m2_s4", 1e-5);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 400; n++) {
        rig.input.specific_force_sensor_m_s2 = oto_vec3_make(n % 2 != 0 ? 50 : -50, 0, 0);
        sample(&rig, n);
        mean += rig.imu.linear_acceleration_m_s2.x / 400;
        assert_near(rig.imu.angular_velocity_rad_s.x, 2.5e-3, 1e-15);
    }
    assert_near(mean, 1e-5 * 2500, 1e-12);
    mini_close(&rig.host);
}

static void A8_A9_thermal_curves_and_self_heating(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, 10);
    mini_set(&rig.host, "gyroscope.temperature_bias_rad_s_degc", 1e-3);
    mini_set(&rig.host, "gyroscope.temperature_bias_quadratic_rad_s_degc2", 1e-5);
    mini_set(&rig.host, "gyroscope.temperature_bias_cubic_rad_s_degc3", -1e-6);
    mini_set(&rig.host, "accelerometer.temperature_scale_factor_quadratic_percent_degc2", 0.01);
    mini_set(&rig.host, "accelerometer.temperature_scale_factor_cubic_percent_degc3", 0.001);
    mini_set(&rig.host, "self_heating.rise_degc", 8);
    mini_set(&rig.host, "self_heating.tau_s", 2);
    mini_start(&rig.host);
    for (uint64_t n = 0; n <= 40; n++) {
        const double d = 8 * (1 - exp(-(double)n / 20));
        sample(&rig, n);
        assert_near(rig.imu.angular_velocity_rad_s.x, 1e-3 * d + 1e-5 * d * d - 1e-6 * d * d * d, 1e-16);
        assert_near(rig.imu.linear_acceleration_m_s2.z, 9.80665 * (1 + 1e-4 * d * d + 1e-5 * d * d * d), 1e-14);
    }
    mini_close(&rig.host);
}

static void the_sensor_clock_runs_off_drifts_and_jitters_without_stepping_back(void **state)
{
    struct rig rig;
    int64_t before = 0;
    double squares = 0;
    (void)state;
    rig_open(&rig, 100);
    mini_set(&rig.host, "clock.error_ppm", 50);
    mini_set(&rig.host, "clock.drift_ppm_s", 0.5);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 1000; n++) {
        const double t_s = (double)n / 100;
        sample(&rig, n);
        assert_near((double)(rig.outputs[0].sensor_time_ns - rig.step.at.t_ns), (50 * t_s + 0.25 * t_s * t_s) * 1e3,
                    0.51);
    }
    mini_set(&rig.host, "clock.error_ppm", 0);
    mini_set(&rig.host, "clock.drift_ppm_s", 0);
    mini_set(&rig.host, "clock.jitter_s", 5e-4);
    assert_ok(mini_prepare(&rig.host), rig.host.error);
    for (uint64_t n = 1; n <= 4000; n++) {
        sample(&rig, n);
        const double off_s = (double)(rig.outputs[0].sensor_time_ns - rig.step.at.t_ns) * 1e-9;
        assert_true(rig.outputs[0].sensor_time_ns > before);
        assert_int_equal(rig.outputs[0].sensor_time_ns, rig.outputs[3].sensor_time_ns);
        before = rig.outputs[0].sensor_time_ns;
        squares += off_s * off_s;
    }
    /* The variance of N deviates has the relative deviation sqrt(2/N): five of them. */
    assert_near(squares / 4000, 25e-8, 25e-8 * 5 * sqrt(2.0 / 4000));
    mini_set(&rig.host, "clock.jitter_s", 6e-4);
    assert_int_equal(mini_prepare(&rig.host), OTO_RANGE);
    mini_close(&rig.host);
}

static void a_unit_keeps_its_output_rate_within_the_tolerance(void **state)
{
    int64_t first = 0;
    (void)state;
    for (int world = 0; world < 2; world++) {
        struct rig rig;
        rig_open(&rig, 100);
        rig.host.setup.noise_key.seed += (uint64_t)world;
        mini_set(&rig.host, "clock.output_rate_tolerance_percent", 2);
        mini_start(&rig.host);
        sample(&rig, 1000);
        const int64_t off_ns = rig.outputs[0].sensor_time_ns - rig.step.at.t_ns;
        assert_true(off_ns != 0 && llabs(off_ns) <= 200000000);
        assert_true(world == 0 || off_ns == first);
        first = off_ns;
        mini_close(&rig.host);
    }
}

/* A ramp of force, and coning: the axis of a constant tilt goes round z in the sensor's own axes. */
#define CONE_RATE_RAD_S 30.0
#define CONE_ANGLE_RAD 0.05

static enum oto_step_status past_input(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    const double t_s = at.t_ns >= 0 ? ((double)at.t_ns + at.sub_ns) * 1e-9 : 0;
    const double w = CONE_RATE_RAD_S, a = CONE_ANGLE_RAD, s = sin(a), k = 2 * sin(a / 2) * sin(a / 2);
    (void)context;
    memset(input, 0, sizeof *input);
    input->q_enu_from_sensor = oto_quat_make(cos(a / 2), sin(a / 2) * cos(w * t_s), sin(a / 2) * sin(w * t_s), 0);
    input->angular_rate_sensor_rad_s = oto_vec3_make(-w * s * sin(w * t_s), w * s * cos(w * t_s), -w * k);
    input->specific_force_sensor_m_s2 =
        oto_quat_rotate_inv(input->q_enu_from_sensor, oto_vec3_make(1 + 100 * t_s, 2, 9.80665));
    input->temperature_degc = 25;
    return OTO_STEP_OK;
}

static void look_back(struct rig *rig, uint64_t n)
{
    rig->step.sensor.input_at = past_input;
    const struct oto_instant at = {(int64_t)((double)n * 1e9 / rig->host.setup.rate_hz), 0.0};
    assert_int_equal(past_input(NULL, at, &rig->input), OTO_STEP_OK);
    sample(rig, n);
}

static void delta_outputs_are_right_under_coning_and_sculling(void **state)
{
    struct rig rig;
    struct oto_sensor_input start;
    (void)state;
    rig_open(&rig, 100);
    mini_set(&rig.host, "delta", 1);
    mini_set(&rig.host, "delta_subsamples", 8);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 50; n++) {
        const double t0_s = (double)(n - 1) / 100;
        look_back(&rig, n);
        (void)past_input(NULL, (struct oto_instant){(int64_t)(n - 1) * 10000000, 0.0}, &start);
        const oto_vec3 angle_rad =
            oto_quat_to_rotvec(oto_quat_mul(oto_quat_conj(start.q_enu_from_sensor), rig.input.q_enu_from_sensor));
        const oto_vec3 velocity_m_s = oto_quat_rotate_inv(
            start.q_enu_from_sensor, oto_vec3_make(0.01 + 100 * (t0_s * 0.01 + 0.5e-4), 0.02, 0.0980665));
        assert_near(rig.delta.angle_rad[0], angle_rad.x, 1e-10);
        assert_near(rig.delta.angle_rad[1], angle_rad.y, 1e-10);
        assert_near(rig.delta.angle_rad[2], angle_rad.z, 1e-10);
        assert_near(rig.delta.velocity_m_s[0], velocity_m_s.x, 1e-9);
        assert_near(rig.delta.velocity_m_s[1], velocity_m_s.y, 1e-9);
        assert_near(rig.delta.velocity_m_s[2], velocity_m_s.z, 1e-9);
        assert_near(rig.delta.dt_s, 0.01, 0);
    }
    mini_set(&rig.host, "transport_delay_s", 0.995);
    assert_int_equal(mini_prepare(&rig.host), OTO_RANGE);
    mini_close(&rig.host);
}

static void delta_outputs_carry_the_error_of_the_sample(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, 100);
    mini_set(&rig.host, "delta", 1);
    mini_set3(&rig.host, "gyroscope.constant_bias_rad_s", 0.5, 0, 0);
    mini_start(&rig.host);
    look_back(&rig, 10);
    const double with = rig.delta.angle_rad[0];
    mini_set(&rig.host, "gyroscope.constant_bias_rad_s", 0);
    assert_ok(mini_prepare(&rig.host), rig.host.error);
    look_back(&rig, 10);
    assert_near(with - rig.delta.angle_rad[0], 0.005, 1e-16);
    mini_close(&rig.host);
}

static void transport_delay_and_boxcar_look_back_and_the_taps_say_by_how_much(void **state)
{
    struct rig rig;
    struct oto_sensor_input past;
    (void)state;
    rig_open(&rig, 100);
    mini_set(&rig.host, "taps", 1);
    mini_set(&rig.host, "transport_delay_s", 0.02);
    mini_start(&rig.host);
    look_back(&rig, 10);
    (void)past_input(NULL, (struct oto_instant){80000000, 0.0}, &past);
    assert_near(rig.imu.angular_velocity_rad_s.x, past.angular_rate_sensor_rad_s.x, 0);
    assert_near(rig.taps.triads[1][3 * NUM_TAP_TRUTH], rig.input.angular_rate_sensor_rad_s.x, 0);
    assert_taps_give(rig.taps.triads[1], rig.imu.angular_velocity_rad_s);
    assert_true(rig.outputs[0].t_ns == 0); /* the host's: left alone */
    /* Sixteen samples of a sine of frequency w over W: the gain is sin(w W/2)/(16 sin(w W/32)). */
    mini_set(&rig.host, "transport_delay_s", 0);
    mini_set(&rig.host, "boxcar_s", 0.1);
    mini_set(&rig.host, "boxcar_subsamples", 16);
    assert_ok(mini_prepare(&rig.host), rig.host.error);
    look_back(&rig, 50);
    (void)past_input(NULL, (struct oto_instant){450000000, 0.0}, &past);
    const double gain = sin(CONE_RATE_RAD_S * 0.05) / (16 * sin(CONE_RATE_RAD_S * 0.1 / 32));
    assert_near(rig.imu.angular_velocity_rad_s.x, gain * past.angular_rate_sensor_rad_s.x, 1e-13);
    mini_set(&rig.host, "transport_delay_s", 0.95);
    assert_int_equal(mini_prepare(&rig.host), OTO_RANGE);
    mini_close(&rig.host);
}

/* A rate of 1 rad/s · sin(2πft) about x, and so a field along y and a force along z. */
static enum oto_step_status sine_input(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    const double frequency_hz = *(const double *)context;
    const double t_s = at.t_ns >= 0 ? ((double)at.t_ns + at.sub_ns) * 1e-9 : 0;
    const double value = sin(2 * OTO_PI * frequency_hz * t_s);
    memset(input, 0, sizeof *input);
    input->q_enu_from_sensor = oto_quat_identity();
    input->angular_rate_sensor_rad_s = oto_vec3_make(value, 0, 0);
    input->specific_force_sensor_m_s2 = oto_vec3_make(0, 0, value);
    input->mag_field_sensor_ut = oto_vec3_make(0, value, 0);
    input->temperature_degc = 25;
    return OTO_STEP_OK;
}

static void sample_sine(struct rig *rig, uint64_t n, double *frequency_hz)
{
    rig->step.sensor.input_at = sine_input;
    rig->step.sensor.input_context = frequency_hz;
    (void)sine_input(frequency_hz, (struct oto_instant){(int64_t)n * 5000000, 0.0}, &rig->input);
    sample(rig, n);
}

struct tone {
    double in_phase, quadrature;
};

/* The part of the rate's samples 2001 … 3000, whole periods of each frequency used, at the frequency. */
static struct tone filtered_tone(struct rig *rig, double frequency_hz)
{
    struct tone tone = {0, 0};
    for (uint64_t n = 1; n <= 3000; n++) {
        const double angle = 2 * OTO_PI * frequency_hz * (double)n / 200;
        sample_sine(rig, n, &frequency_hz);
        assert_true(rig->imu.angular_velocity_rad_s.x == rig->imu.linear_acceleration_m_s2.z);
        if (n > 2000) {
            tone.in_phase += rig->imu.angular_velocity_rad_s.x * sin(angle) / 500;
            tone.quadrature += rig->imu.angular_velocity_rad_s.x * cos(angle) / 500;
        }
    }
    return tone;
}

/* H of the continuous filter, times what linear interpolation between 64 inputs a period keeps. */
static void expect_tone(struct tone tone, double frequency_hz, double limit_hz, int order, double damping)
{
    const double x = frequency_hz / limit_hz, u = OTO_PI * frequency_hz / (64 * 200), kept = pow(sin(u) / u, 2);
    const double real = order == 1 ? 1 : 1 - x * x, imaginary = order == 1 ? x : 2 * damping * x;
    const double square = real * real + imaginary * imaginary;
    assert_near(tone.in_phase, kept * real / square, 2e-4);
    assert_near(tone.quadrature, -kept * imaginary / square, 2e-4);
}

static void the_band_limit_has_the_response_of_its_continuous_filter(void **state)
{
    static const struct {
        double limit_hz, damping;
        int order;
    } filters[] = {{20, 1, 1}, {80, 1, 1}, {20, 0.70710678118654752, 2}, {50, 0.3, 2}, {10, 2, 2}};
    static const double frequencies_hz[] = {2, 10, 20, 48, 90};
    (void)state;
    for (size_t f = 0; f < sizeof filters / sizeof *filters; f++) {
        for (size_t i = 0; i < sizeof frequencies_hz / sizeof *frequencies_hz; i++) {
            struct rig rig;
            rig_open(&rig, 200);
            mini_set(&rig.host, "band_limit_hz", filters[f].limit_hz);
            mini_set(&rig.host, "band_limit_order", filters[f].order);
            mini_set(&rig.host, "band_limit_damping", filters[f].damping);
            mini_set(&rig.host, "band_limit_substeps", 64);
            mini_start(&rig.host);
            expect_tone(filtered_tone(&rig, frequencies_hz[i]), frequencies_hz[i], filters[f].limit_hz, filters[f].order,
                        filters[f].damping);
            mini_close(&rig.host);
        }
    }
}

/* 390 Hz at 200 samples a second shows as 10 Hz without a filter; with one of 40 Hz a hundredth of it is left. */
static void the_band_limit_keeps_vibration_from_aliasing(void **state)
{
    double frequency_hz = 390, most = 0, bare = 0;
    struct rig rig;
    (void)state;
    rig_open(&rig, 200);
    mini_set(&rig.host, "band_limit_hz", 40);
    mini_start(&rig.host);
    for (uint64_t n = 1; n <= 400; n++) {
        sample_sine(&rig, n, &frequency_hz);
        bare = fmax(bare, fabs(rig.input.angular_rate_sensor_rad_s.x));
        most = n > 200 ? fmax(most, fabs(rig.imu.angular_velocity_rad_s.x)) : 0;
    }
    assert_true(bare > 0.9);
    /* (40/390)² = 0.0105, of which sinc²(390/1600) = 0.82 comes through, and images of it beside */
    assert_true(most > 0.006 && most < 0.013);
    mini_close(&rig.host);
}

static void the_band_limit_begins_settled_and_says_what_it_cannot_do(void **state)
{
    double frequency_hz = 5;
    struct rig rig;
    (void)state;
    rig_open(&rig, 200);
    mini_set(&rig.host, "taps", 1);
    mini_set(&rig.host, "band_limit_hz", 2);
    mini_start(&rig.host);
    /* From rest the rate has risen to sin 9° in the first period, and to sin 18° in the second. */
    sample_sine(&rig, 1, &frequency_hz);
    assert_near(rig.taps.triads[1][3 * NUM_TAP_SAMPLING], -0.156, 0.002);
    assert_taps_give(rig.taps.triads[1], rig.imu.angular_velocity_rad_s);
    sample_sine(&rig, 2, &frequency_hz);
    assert_near(rig.taps.triads[1][3 * NUM_TAP_SAMPLING], -0.307, 0.004);
    /* After a gap the filter starts settled at the current value, sin 99°; before the gap it was sin 90°. */
    sample_sine(&rig, 11, &frequency_hz);
    assert_near(rig.taps.triads[1][3 * NUM_TAP_SAMPLING], 1 - 0.988, 0.001);
    mini_set(&rig.host, "boxcar_s", 0.01);
    assert_int_equal(mini_prepare(&rig.host), OTO_INVALID);
    mini_set(&rig.host, "boxcar_s", 0);
    mini_set(&rig.host, "band_limit_substeps", 1);
    mini_set(&rig.host, "band_limit_hz", 9e5);
    assert_int_equal(mini_prepare(&rig.host), OTO_RANGE);
    mini_close(&rig.host);
}

static void A19_g_sensitivity_reaches_across_axes(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, 100);
    mini_set(&rig.host, "taps", 1);
    const struct oto_param *cross = mini_param("gyroscope.acceleration_cross_rad_s_m_s2");
    for (uint32_t i = 0; i < 6; i++) {
        mini_put(&rig.host, cross, i, 0.001 * (i + 1));
    }
    mini_set3(&rig.host, "gyroscope.acceleration_bias_rad_s_m_s2", 0.1, 0.2, 0.3);
    mini_start(&rig.host);
    rig.input.specific_force_sensor_m_s2 = oto_vec3_make(1, 10, 100);
    rig.input.angular_rate_sensor_rad_s = oto_vec3_zero();
    sample(&rig, 1);
    assert_near(rig.imu.angular_velocity_rad_s.x, 0.1 * 1 + 0.001 * 10 + 0.002 * 100, 1e-15);
    assert_near(rig.imu.angular_velocity_rad_s.y, 0.2 * 10 + 0.003 * 1 + 0.004 * 100, 1e-15);
    assert_near(rig.imu.angular_velocity_rad_s.z, 0.3 * 100 + 0.005 * 1 + 0.006 * 10, 1e-14);
    assert_near(rig.taps.triads[1][3 * NUM_TAP_G_CROSS + 1], 0.003 * 1 + 0.004 * 100, 1e-15);
    assert_taps_give(rig.taps.triads[1], rig.imu.angular_velocity_rad_s);
    mini_close(&rig.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taps_add_up_to_the_output_exactly_and_do_not_change_it),
        cmocka_unit_test(taps_add_up_even_where_everything_cancels),
        cmocka_unit_test(taps_name_their_terms_and_fit_a_record),
        cmocka_unit_test(nonlinearity_is_in_ppm_of_the_range_and_needs_one),
        cmocka_unit_test(A19_g2_sensitivity_rectifies_vibration),
        cmocka_unit_test(A8_A9_thermal_curves_and_self_heating),
        cmocka_unit_test(the_sensor_clock_runs_off_drifts_and_jitters_without_stepping_back),
        cmocka_unit_test(a_unit_keeps_its_output_rate_within_the_tolerance),
        cmocka_unit_test(delta_outputs_are_right_under_coning_and_sculling),
        cmocka_unit_test(delta_outputs_carry_the_error_of_the_sample),
        cmocka_unit_test(the_band_limit_has_the_response_of_its_continuous_filter),
        cmocka_unit_test(the_band_limit_keeps_vibration_from_aliasing),
        cmocka_unit_test(the_band_limit_begins_settled_and_says_what_it_cannot_do),
        cmocka_unit_test(A19_g_sensitivity_reaches_across_axes),
        cmocka_unit_test(transport_delay_and_boxcar_look_back_and_the_taps_say_by_how_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
