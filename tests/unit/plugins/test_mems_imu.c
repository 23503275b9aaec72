/* mems_imu through its ABI. */
#include "imu_model.h"
#include "mini_host.h"

struct rig {
    struct mini_host host;   /* first: `context` of its services */
    struct sharing *sharing; /* of `share` below */
    struct oto_sensor_input input;
    struct oto_imu_record imu;
    struct oto_mag_record mag;
    struct oto_output outputs[4];
    double others[2][256]; /* taps, delta */
    struct oto_step step;
};

static void rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    mini_open(&rig->host, 200, 18446744073709551615u);
    rig->input = mini_rest(&rig->host);
    rig->outputs[0].payload = &rig->imu;
    rig->outputs[1].payload = &rig->mag;
    rig->outputs[2].payload = rig->others[0];
    rig->outputs[3].payload = rig->others[1];
}

static void sample(struct rig *rig, uint64_t n)
{
    assert_int_equal(mini_step(&rig->host, &rig->step, n, &rig->input, rig->outputs), OTO_STEP_OK);
}

static void noisy(struct rig *rig)
{
    mini_set(&rig->host, "accelerometer.noise_density_m_s2_rthz", 1e-3);
    mini_set(&rig->host, "gyroscope.noise_density_rad_s_rthz", 1e-4);
    mini_set(&rig->host, "accelerometer.bias_instability_m_s2", 1e-3);
    mini_set(&rig->host, "gyroscope.random_walk_rad_s_rthz", 1e-5);
}

static void A16_ideal_imu_at_rest_reads_plus_g_up_and_no_orientation(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_start(&rig.host);
    sample(&rig, 1);
    assert_near(rig.imu.linear_acceleration_m_s2.z, 9.80665, 0);
    assert_near(rig.imu.linear_acceleration_m_s2.x, 0, 0);
    assert_near(rig.imu.angular_velocity_rad_s.x, 0, 0);
    assert_near(rig.imu.orientation_w, 1, 0);
    assert_near(rig.imu.orientation_covariance[0], -1, 0);
    assert_int_equal(rig.outputs[0].flags, 0);
    assert_int_equal(rig.host.warnings, 0);
    mini_close(&rig.host);
}

static void covariances_are_the_white_variance_of_one_sample(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set3(&rig.host, "accelerometer.noise_density_m_s2_rthz", 1e-3, 2e-3, 3e-3);
    mini_set(&rig.host, "gyroscope.noise_density_rad_s_rthz", 1e-4);
    mini_set(&rig.host, "magnetometer.noise_density_ut_rthz", 0.06);
    mini_set(&rig.host, "magnetometer.enable", 1);
    mini_start(&rig.host);
    sample(&rig, 1);
    for (int i = 0; i < 9; i++) {
        const double diagonal = i % 4 == 0;
        const double density = 1e-3 * (i / 4 + 1);
        assert_near(rig.imu.linear_acceleration_covariance[i], diagonal * density * density * 100, 1e-18);
        assert_near(rig.imu.angular_velocity_covariance[i], diagonal * 1e-8 * 100, 1e-20);
        assert_near(rig.mag.magnetic_field_covariance[i], diagonal * 0.0036 * 100 * 1e-12, 1e-26);
    }
    mini_close(&rig.host);
}

static void A14_third_triad_is_a_magnetometer_in_tesla_on_its_own_channel(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "magnetometer.enable", 1);
    mini_set(&rig.host, "magnetometer.measurement_range_ut", 40);
    mini_start(&rig.host);
    sample(&rig, 1);
    assert_near(rig.mag.magnetic_field_t.x, 1.5e-6, 1e-21);
    assert_near(rig.mag.magnetic_field_t.z, -40e-6, 1e-20);
    assert_int_equal(rig.outputs[1].flags, OTO_SAMPLE_SATURATED(2));
    const struct oto_port *port = &otolith_plugin.descriptor->outputs[1];
    assert_string_equal(port->name, "mag");
    assert_int_equal(port->enable_offset, mini_param("magnetometer.enable")->offset);
    mini_close(&rig.host);
}

static void A10_flags_name_the_saturated_axes_of_both_triads(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "accelerometer.measurement_range_m_s2", 5);
    mini_set(&rig.host, "gyroscope.measurement_range_rad_s", 1);
    mini_start(&rig.host);
    rig.input.angular_rate_sensor_rad_s = oto_vec3_make(0.5, -1.5, 1);
    sample(&rig, 1);
    assert_int_equal(rig.outputs[0].flags, OTO_SAMPLE_SATURATED(2) | OTO_SAMPLE_SATURATED(4));
    assert_near(rig.imu.angular_velocity_rad_s.y, -1, 0);
    mini_close(&rig.host);
}

static void A25_a_sample_is_a_function_of_its_number_and_of_its_own_triad(void **state)
{
    struct rig plain, other;
    (void)state;
    rig_open(&plain);
    rig_open(&other);
    noisy(&plain);
    noisy(&other);
    mini_set(&other.host, "magnetometer.enable", 1);
    mini_set(&other.host, "magnetometer.noise_density_ut_rthz", 1);
    mini_set(&other.host, "magnetometer.random_walk_ut_rthz", 1);
    mini_set(&other.host, "magnetometer.bias_instability_ut", 1);
    mini_start(&plain.host);
    mini_start(&other.host);
    for (uint64_t n = 1; n <= 300; n++) {
        sample(&plain, n);
        sample(&other, n);
        assert_memory_equal(&plain.imu, &other.imu, sizeof plain.imu);
    }
    /* White noise alone has no memory: the same sample again, out of order. */
    struct rig white;
    rig_open(&white);
    mini_set(&white.host, "accelerometer.noise_density_m_s2_rthz", 1e-3);
    mini_start(&white.host);
    sample(&white, 1000);
    const struct oto_imu_record first = white.imu;
    sample(&white, 3);
    assert_true(memcmp(&first, &white.imu, sizeof first) != 0);
    sample(&white, 1000);
    assert_memory_equal(&first, &white.imu, sizeof first);
    mini_close(&plain.host);
    mini_close(&other.host);
    mini_close(&white.host);
}

static void A25_another_world_seed_gives_other_noise(void **state)
{
    struct rig a, b;
    (void)state;
    rig_open(&a);
    rig_open(&b);
    noisy(&a);
    noisy(&b);
    b.host.setup.noise_key.seed--;
    mini_start(&a.host);
    mini_start(&b.host);
    sample(&a, 1);
    sample(&b, 1);
    assert_true(a.imu.linear_acceleration_m_s2.x != b.imu.linear_acceleration_m_s2.x);
    mini_close(&a.host);
    mini_close(&b.host);
}

/* Every term of either law; the hash is that of gcc and clang at -O0 and -O3, with and without FMA instructions. */
static void A25_bits_are_the_same_whatever_compiled_them(void **state)
{
    static const char *const terms[][2] = {
        {"accelerometer.", "m_s2"}, {"gyroscope.", "rad_s"}, {"magnetometer.", "ut"}};
    static const char *const names[][2] = {
        {"constant_bias_", ""},    {"noise_density_", "_rthz"},    {"bias_instability_", ""},
        {"random_walk_", "_rthz"}, {"temperature_bias_", "_degc"}, {"turn_on_bias_", ""},
        {"unit_bias_", ""}};
    uint64_t hash = OTO_FNV1A64_START;
    (void)state;
    for (int law = 0; law < 2; law++) {
        struct rig rig;
        rig_open(&rig);
        mini_set(&rig.host, "law", law);
        mini_set(&rig.host, "magnetometer.enable", 1);
        mini_set(&rig.host, "gyroscope.acceleration_bias_rad_s_m_s2", 1e-4);
        for (int t = 0; t < 3; t++) {
            char key[96];
            for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                (void)snprintf(key, sizeof key, "%s%s%s%s", terms[t][0], names[i][0], terms[t][1], names[i][1]);
                mini_set(&rig.host, key, 1e-3 * (double)(i + 1));
            }
            (void)snprintf(key, sizeof key, "%sresolution_%s", terms[t][0], terms[t][1]);
            mini_set(&rig.host, key, t == 1 ? 0 : 1e-5);
            (void)snprintf(key, sizeof key, "%saxis_misalignment_percent", terms[t][0]);
            mini_set3(&rig.host, key, 0.3, -0.7, 1.1);
        }
        mini_start(&rig.host);
        for (uint64_t n = 1; n <= 2000; n++) {
            rig.input.temperature_degc = 20 + 0.01 * (double)n;
            rig.input.angular_rate_sensor_rad_s.y = 1e-3 * (double)n;
            sample(&rig, n);
            hash = oto_fnv1a64_more(hash, &rig.imu, sizeof rig.imu);
            hash = oto_fnv1a64_more(hash, &rig.mag, sizeof rig.mag);
        }
        mini_close(&rig.host);
    }
    assert_int_equal(hash, UINT64_C(0x1c15708849ae2e79));
}

/* Parameters change at a tick boundary: prepare beside the running instance, then set_params. */
static void change(struct rig *rig, const char *key, double value)
{
    struct imu_params old_params;
    memcpy(&old_params, rig->host.params, sizeof old_params);
    mini_set(&rig->host, key, value);
    assert_ok(mini_prepare(&rig->host), rig->host.error);
    otolith_plugin.ops->set_params(&rig->host.instance, &old_params);
}

static void A23_a_change_takes_effect_on_the_next_sample_and_processes_go_on(void **state)
{
    struct rig changed, plain;
    (void)state;
    rig_open(&changed);
    rig_open(&plain);
    noisy(&changed);
    noisy(&plain);
    mini_start(&changed.host);
    mini_start(&plain.host);
    for (uint64_t n = 1; n <= 20; n++) {
        if (n == 11) {
            change(&changed, "gyroscope.constant_bias_rad_s", 1);
        }
        sample(&changed, n);
        sample(&plain, n);
        const double step = changed.imu.angular_velocity_rad_s.x - plain.imu.angular_velocity_rad_s.x;
        assert_near(step, n < 11 ? 0 : 1, 1e-15);
        assert_near(changed.imu.linear_acceleration_m_s2.y, plain.imu.linear_acceleration_m_s2.y, 0);
    }
    /* An instability that is switched on starts with its stationary variance. */
    change(&changed, "gyroscope.bias_instability_rad_s", 1);
    const struct imu_state *now = (const struct imu_state *)changed.host.state;
    assert_true(now->instability[3][0] != 0);
    assert_true(now->walk_u[3] != 0);
    assert_int_equal(otolith_plugin.ops->validate(&changed.host.instance), OTO_OK);
    mini_close(&changed.host);
    mini_close(&plain.host);
}

static void a_truth_that_is_not_finite_gives_no_sample_and_leaves_the_state_alone(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    noisy(&rig);
    mini_start(&rig.host);
    struct imu_state before;
    memcpy(&before, rig.host.state, sizeof before);
    rig.input.specific_force_sensor_m_s2.y = NAN;
    assert_int_equal(mini_step(&rig.host, &rig.step, 1, &rig.input, rig.outputs), OTO_STEP_DISCARD);
    assert_memory_equal(&before, rig.host.state, sizeof before);
    ((struct imu_state *)rig.host.state)->walk_u[1] = INFINITY;
    assert_int_equal(otolith_plugin.ops->validate(&rig.host.instance), OTO_CORRUPT);
    mini_close(&rig.host);
}

static const struct oto_param *by_alias(const char *alias)
{
    const struct oto_plugin_descriptor *descriptor = otolith_plugin.descriptor;
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        if (descriptor->params[i].alias != NULL && strcmp(descriptor->params[i].alias, alias) == 0) {
            return &descriptor->params[i];
        }
    }
    print_error("no parameter answers to %s\n", alias);
    fail();
    return NULL;
}

static void A20_every_key_of_a_mavs_document_reaches_its_own_triad(void **state)
{
    static const char *const sections[][2] = {
        {"Accelerometer", "accelerometer."}, {"Gyroscope", "gyroscope."}, {"Magnetometer", "magnetometer."}};
    static const char *const keys[][2] = {{"Measurement Range", "measurement_range_"},
                                          {"Resolution", "resolution_"},
                                          {"Constant Bias", "constant_bias_"},
                                          {"Noise Density", "noise_density_"},
                                          {"Bias Instability", "bias_instability_"},
                                          {"Axis Misalignment", "axis_misalignment_percent"},
                                          {"Random Walk", "random_walk_"},
                                          {"Temperature Bias", "temperature_bias_"},
                                          {"Temperature Scale Factor", "temperature_scale_factor_percent_degc"},
                                          {"Acceleration Bias", "acceleration_bias_"}};
    char text[96];
    (void)state;
    assert_int_equal(by_alias("Sample Rate")->flags & OTO_PARAM_RATE, OTO_PARAM_RATE);
    assert_string_equal(by_alias("Temperature")->key, "temperature_degc");
    assert_string_equal(by_alias("Magnetic Field")->key, "magnetic_field_enu_ut");
    for (int s = 0; s < 3; s++) {
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            (void)snprintf(text, sizeof text, "%s/%s", sections[s][0], keys[k][0]);
            const struct oto_param *param = by_alias(text);
            if (param->type == OTO_PARAM_IGNORED) {
                assert_true(strcmp(keys[k][0], "Acceleration Bias") == 0 && s != 1);
                continue;
            }
            (void)snprintf(text, sizeof text, "%s%s", sections[s][1], keys[k][1]);
            assert_int_equal(strncmp(param->key, text, strlen(text)), 0);
        }
    }
}

static void A22_A23_vectors_take_a_scalar_and_error_terms_may_change_while_running(void **state)
{
    const struct oto_plugin_descriptor *descriptor = otolith_plugin.descriptor;
    (void)state;
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        const bool is_series = strstr(param->key, ".gauss_markov_") != NULL || strstr(param->key, ".sine_") != NULL;
        if (param->type != OTO_PARAM_IGNORED && param->count > 1 && !is_series) {
            assert_int_equal(param->flags & OTO_PARAM_SCALAR_FILLS, OTO_PARAM_SCALAR_FILLS);
        }
        if (strchr(param->key, '.') != NULL && strcmp(param->key, "magnetometer.enable") != 0) {
            assert_int_equal(param->flags & OTO_PARAM_RUNTIME, OTO_PARAM_RUNTIME);
        }
    }
    assert_near(mini_param("accelerometer.noise_density_m_s2_rthz")->minimum, 0, 0);
    assert_near(mini_param("gyroscope.resolution_rad_s")->minimum, 0, 0);
}

static void the_slopes_of_the_mavs_document_and_terms_its_law_has_not_are_warned_of(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig);
    mini_set(&rig.host, "gyroscope.temperature_bias_rad_s_degc", 0.349);
    mini_start(&rig.host);
    assert_int_equal(rig.host.warnings, 1);
    assert_non_null(strstr(rig.host.last_warning, "gyroscope.temperature_bias_rad_s_degc = 0.349"));
    mini_set(&rig.host, "law", NUM_LAW_MAVS);
    mini_set(&rig.host, "gyroscope.temperature_bias_rad_s_degc", 0);
    mini_set(&rig.host, "gyroscope.acceleration_bias_rad_s_m_s2", 0.178e-3);
    assert_ok(mini_prepare(&rig.host), rig.host.error);
    assert_int_equal(rig.host.warnings, 2);
    assert_non_null(strstr(rig.host.last_warning, "gyroscope.acceleration_bias"));
    mini_close(&rig.host);
}

/* The copies that `share` returned, in their order. */
struct sharing {
    unsigned char bytes[4][4096];
    size_t counts[4];
    uint32_t count;
};

static const void *share(void *context, const void *bytes, size_t count)
{
    struct sharing *sharing = ((struct rig *)context)->sharing;
    assert_true(sharing->count < 4 && count <= sizeof sharing->bytes[0]);
    sharing->counts[sharing->count] = count;
    return memcpy(sharing->bytes[sharing->count++], bytes, count);
}

static void open_sharing(struct rig *rig, struct sharing *sharing, uint64_t unit)
{
    rig_open(rig);
    memset(sharing, 0, sizeof *sharing);
    rig->sharing = sharing;
    rig->host.services.share = share;
    rig->host.setup.unit_key = oto_rng_key_make(unit, "part/1");
    rig->host.setup.noise_key = oto_rng_key_make(unit, "car/imu");
    noisy(rig);
    mini_set(&rig->host, "gyroscope.unit_bias_rad_s", 0.01);
    mini_start(&rig->host);
}

static void units_share_what_their_parameters_fix_and_no_sample_changes(void **state)
{
    static struct sharing first, second;
    struct rig a, b, alone;
    (void)state;
    open_sharing(&a, &first, 1);
    open_sharing(&b, &second, 2);
    assert_int_equal(first.count, 2);
    assert_int_equal(second.count, 2);
    for (uint32_t i = 0; i < first.count; i++) {
        assert_int_equal(first.counts[i], second.counts[i]);
        assert_memory_equal(first.bytes[i], second.bytes[i], first.counts[i]);
    }
    static struct sharing none;
    open_sharing(&alone, &none, 2);
    alone.host.services.share = NULL;
    assert_ok(mini_prepare(&alone.host), alone.host.error);
    for (uint64_t n = 1; n <= 20; n++) {
        sample(&a, n);
        sample(&b, n);
        sample(&alone, n);
        assert_memory_equal(&b.imu, &alone.imu, sizeof b.imu);
        assert_memory_not_equal(&a.imu, &b.imu, sizeof a.imu);
    }
    memset(second.bytes, 0, sizeof second.bytes); /* proves that the samples read the shared copy */
    sample(&b, 21);
    sample(&alone, 21);
    assert_memory_not_equal(&b.imu, &alone.imu, sizeof b.imu);
    mini_close(&a.host);
    mini_close(&b.host);
    mini_close(&alone.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(A16_ideal_imu_at_rest_reads_plus_g_up_and_no_orientation),
        cmocka_unit_test(covariances_are_the_white_variance_of_one_sample),
        cmocka_unit_test(A14_third_triad_is_a_magnetometer_in_tesla_on_its_own_channel),
        cmocka_unit_test(A10_flags_name_the_saturated_axes_of_both_triads),
        cmocka_unit_test(A25_a_sample_is_a_function_of_its_number_and_of_its_own_triad),
        cmocka_unit_test(A25_bits_are_the_same_whatever_compiled_them),
        cmocka_unit_test(A25_another_world_seed_gives_other_noise),
        cmocka_unit_test(A23_a_change_takes_effect_on_the_next_sample_and_processes_go_on),
        cmocka_unit_test(a_truth_that_is_not_finite_gives_no_sample_and_leaves_the_state_alone),
        cmocka_unit_test(A20_every_key_of_a_mavs_document_reaches_its_own_triad),
        cmocka_unit_test(A22_A23_vectors_take_a_scalar_and_error_terms_may_change_while_running),
        cmocka_unit_test(the_slopes_of_the_mavs_document_and_terms_its_law_has_not_are_warned_of),
        cmocka_unit_test(units_share_what_their_parameters_fix_and_no_sample_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
