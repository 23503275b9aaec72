/* The worlds and sensor files of configs/ load with the built-in plugins, and say what their comments say. */
#include "config_test.h"

static void load_example(const char *name, struct srv_world_config *config)
{
    char path[512];
    struct oto_error error = {0};
    (void)snprintf(path, sizeof path, "%s/configs/worlds/%s", OTO_SOURCE_DIR, name);
    assert_ok(srv_world_config_load(path, NULL, 0, NULL, NULL, config, &error), error);
}

static const struct srv_node_config *find_node(const struct srv_world_config *config, const char *vehicle,
                                               const char *name)
{
    for (uint32_t i = 0; i < config->node_count; i++)
        if (strcmp(config->nodes[i].name, name) == 0 &&
            strcmp(config->vehicles[config->nodes[i].vehicle].name, vehicle) == 0)
            return &config->nodes[i];
    fail_msg("there is no node %s/%s", vehicle, name);
    return NULL;
}

static void assert_param(const struct srv_node_config *node, const char *key, double first, double last)
{
    const struct oto_param *param = oto_param_find(oto_plugin_descriptor(node->plugin), key);
    if (param == NULL || param->type != OTO_PARAM_F64)
        fail_msg("there is no number '%s'", key);
    const double *numbers = (const double *)(const void *)((const char *)node->params.block + param->offset);
    assert_near(numbers[0], first, 0);
    assert_near(numbers[param->count - 1], last, 0);
}

static void the_default_world_is_the_documented_one(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("city_drive.yaml", &config);
    assert_string_equal(config.name, "demo");
    assert_int_equal(config.vehicle_count, 1);
    assert_int_equal(find_node(&config, "car", "imu")->rate_num, 200);
    assert_int_equal(find_node(&config, "car", "mag")->rate_num, 50);
    assert_int_equal(find_node(&config, "car", "odo")->rate_num, 100);
    assert_string_equal(config.publish.listen[0], "ipc");
    srv_world_config_finish(&config);
}

static void the_unity_world_has_a_sensor_above_its_clock(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("unity_imu.yaml", &config);
    const struct srv_node_config *imu = find_node(&config, "car", "imu_sensor");
    assert_int_equal(config.clock.rate_num, 50);
    assert_int_equal(imu->rate_num, 100);
    assert_string_equal(imu->alias, "/unity/imu");
    assert_param(find_node(&config, "car", "noisy"), "angular_velocity.precision_rad_s", 0, 1e-4);
    srv_world_config_finish(&config);
}

static void the_generated_city_has_no_end(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("generated_city.yaml", &config);
    const struct srv_node_config *motion = find_node(&config, "car", "motion");
    assert_param(motion, "road.grade_rms_deg", 1.0, 1.0);
    assert_param(motion, "suspension.pitch_compliance_deg_s2_m", -0.3, -0.3);
    assert_param(motion, "duration_s", 0.0, 0.0);
    srv_world_config_finish(&config);
}

static void the_smallest_world_loads(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("minimal.yaml", &config);
    assert_int_equal(config.node_count, 2);
    srv_world_config_finish(&config);
}

static void the_recorded_drive_takes_the_path_of_its_recording(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    const struct srv_override path = {"vehicles.car.motion.params.path", "/elsewhere/pose.csv"};
    load_example("recorded_drive.yaml", &config);
    srv_world_config_finish(&config);
    assert_ok(srv_world_config_load(OTO_SOURCE_DIR "/configs/worlds/recorded_drive.yaml", &path, 1, NULL, NULL, &config,
                                    &error),
              error);
    const struct oto_plugin_descriptor *replay = oto_plugin_descriptor(config.nodes[0].plugin);
    const struct oto_param *param = oto_param_find(replay, "path");
    assert_non_null(param);
    assert_string_equal((const char *)config.nodes[0].params.block + param->offset, "/elsewhere/pose.csv");
    srv_world_config_finish(&config);
}

static void a_mavs_sensor_file_configures_every_section_of_the_right_sensor(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("two_cars.yaml", &config);
    const struct srv_node_config *imu = find_node(&config, "follower", "imu"),
                                 *mag = find_node(&config, "follower", "mag");
    assert_string_equal(imu->alias, "/unity/imu");
    assert_int_equal(imu->rate_den, 1001);
    assert_param(imu, "sample_rate_hz", 100, 100);
    assert_param(imu, "temperature_degc", 25, 25);
    assert_param(imu, "magnetic_field_enu_ut", 27.5550, -16.0849);
    assert_param(imu, "gyroscope.measurement_range_rad_s", 4.363, 4.363);
    assert_param(imu, "gyroscope.resolution_rad_s", 1.332e-4, 1.332e-4);
    assert_param(imu, "gyroscope.constant_bias_rad_s", 0.349, 0.349);
    assert_param(imu, "gyroscope.noise_density_rad_s_rthz", 8.727e-4, 8.727e-4);
    assert_param(imu, "gyroscope.temperature_bias_rad_s_degc", 0.349, 0.349);
    assert_param(imu, "gyroscope.acceleration_bias_rad_s_m_s2", 0.178e-3, 0.178e-3);
    assert_param(imu, "accelerometer.measurement_range_m_s2", 19.6, 19.6);
    assert_param(imu, "accelerometer.constant_bias_m_s2", 0.49, 0.49);
    assert_param(imu, "accelerometer.noise_density_m_s2_rthz", 3920e-6, 3920e-6);
    assert_param(imu, "accelerometer.temperature_bias_m_s2_degc", 0.294, 0.294);
    assert_param(imu, "magnetometer.measurement_range_ut", 1200, 1200);
    assert_param(mag, "magnetometer.noise_density_ut_rthz", 0.06, 0.09);
    assert_param(mag, "magnetometer.temperature_bias_ut_degc", 0.8, 2.4);
    assert_param(mag, "magnetometer.temperature_scale_factor_percent_degc", 0.1, 0.1);
    srv_world_config_finish(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_world_is_the_documented_one),
        cmocka_unit_test(the_generated_city_has_no_end),
        cmocka_unit_test(the_smallest_world_loads),
        cmocka_unit_test(the_unity_world_has_a_sensor_above_its_clock),
        cmocka_unit_test(the_recorded_drive_takes_the_path_of_its_recording),
        cmocka_unit_test(a_mavs_sensor_file_configures_every_section_of_the_right_sensor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
