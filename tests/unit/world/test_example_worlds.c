/* The worlds and sensor files of configs/ load with the built-in plugins, and say what their comments say. */
#include "config_test.h"

static void load_example(const char *name, struct srv_world_config *config)
{
    char path[512];
    struct oto_error error = {0};
    (void)snprintf(path, sizeof path, "%s/configs/worlds/%s", OTO_SOURCE_DIR, name);
    assert_ok(world_file_load(path, NULL, 0, NULL, NULL, config, &error), error);
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

static void the_fleet_is_ten_thousand_cars_on_a_grid(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("fleet.yaml", &config);
    assert_int_equal(config.vehicle_count, 10000);
    assert_param(find_node(&config, "car_0000", "motion"), "position_enu_m", 0, 0);
    assert_param(find_node(&config, "car_9999", "motion"), "position_enu_m", 495, 0);
    assert_string_equal(find_node(&config, "car_9999", "imu")->part_unit, "tdk/icm-42688-p/9999");
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

static void the_isolated_world_has_hosts_of_one_and_of_two_for_every_kind(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("isolated.yaml", &config);
    const struct srv_isolation_config *imu = &find_node(&config, "car", "imu")->isolation;
    const struct srv_isolation_config *mag = &find_node(&config, "car", "mag")->isolation;
    const struct srv_isolation_config *spare = &find_node(&config, "car", "spare")->isolation;
    assert_true(imu->process && imu->group[0] == '\0' && !imu->async);
    assert_true(mag->process && mag->budget_ns == 5000000);
    assert_string_equal(mag->group, "lab");
    assert_true(spare->async && spare->budget_ns == 20000000);
    assert_true(find_node(&config, "car", "motion")->isolation.process);
    assert_true(find_node(&config, "car", "mount")->isolation.process && find_node(&config, "car", "mount")->input_count == 2);
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

static void the_world_of_estimators_binds_two_of_them_to_its_sensors(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("estimator.yaml", &config);
    assert_param(find_node(&config, "car", "ins"), "gyroscope.noise_density_rad_s_rthz", 1.2e-4, 1.2e-4);
    assert_param(find_node(&config, "car", "ekf"), "late_limit_s", 0.5, 0.5);
    srv_world_config_finish(&config);
}

static void the_proving_ground_has_three_kinds_of_motion(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("proving_ground.yaml", &config);
    assert_int_equal(config.vehicle_count, 3);
    assert_param(find_node(&config, "script", "motion"), "road.bank_deg", 1.0, 1.0);
    assert_param(find_node(&config, "route", "motion"), "speed_m_s", 11.0, 11.0);
    assert_param(find_node(&config, "body", "motion"), "force_body_n", 0.0, 19.8);
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
    assert_ok(world_file_load(OTO_SOURCE_DIR "/configs/worlds/recorded_drive.yaml", &path, 1, NULL, NULL, &config,
                                    &error),
              error);
    const struct oto_plugin_descriptor *replay = oto_plugin_descriptor(config.nodes[0].plugin);
    const struct oto_param *param = oto_param_find(replay, "path");
    assert_non_null(param);
    assert_string_equal((const char *)config.nodes[0].params.block + param->offset, "/elsewhere/pose.csv");
    srv_world_config_finish(&config);
}

static void A20_a_mavs_sensor_file_configures_every_section_of_the_right_sensor(void **state)
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

#define WITH(node) "world: w\nvehicles: [{name: car, motion: {plugin: motion_stationary}, nodes: [" node "]}]\n"

static void assert_refused(const char *text, const char *words)
{
    struct srv_world_config config, zero = {0};
    struct oto_error error = {0};
    memset(&config, 0x55, sizeof config);
    assert_int_not_equal(load_text(text, NULL, 0, NULL, &config, &error), OTO_OK);
    assert_memory_equal(&config, &zero, sizeof config);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' is not in: %s", words, error.text);
}

/* The original takes every unknown kind for an accelerometer. */
static void A2_an_unknown_kind_of_sensor_is_refused(void **state)
{
    (void)state;
    assert_refused(WITH("{name: a, plugin: foo}"), "there is no plugin 'foo'");
    assert_refused(WITH("{name: a, plugin: magnetometre}"), "magnetometer");
    assert_refused(WITH("{name: a, plugin: mems_imu, params: {accelerometre: {resolution_m_s2: 1}}}"), "accelerometer");
    assert_refused(WITH("{name: a, plugin: mems_imu, params: {foo: {resolution_m_s2: 1}}}"), "foo");
    assert_refused(WITH("{name: a, plugin: mems_imu, params: {law: foo}}"), "mems");
}

/* The original program reads beyond its arrays, and continues if the file is missing. */
static void A21_a_bad_mavs_file_is_refused_where_it_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *json, *words;
    } rows[] = {
        {"{\"Accelerometer\": {\"Constant Bias\": [0.49, 0.49]}}", "m.json:1:37"},
        {"{\"Accelerometer\": {\"Constant Bias\": [1, 2, 3, 4]}}", "m.json:1:37"},
        {"{\"Accelerometer\": {\"Resolution\": \"fine\"}}", "got the text"},
        {"{\"Accelerometer\": {\"Resolution\": -1}}", "m.json:1:34"},
        {"{\"Accelerometer\": {\"Resolutoin\": 1}}", "did you mean 'accelerometer.resolution_m_s2'"},
        {"{\"Acelerometer\": {}}", "no parameter 'Acelerometer'; accepted here"},
        {"{\"Accelerometer\": 5}", "m.json:1:19"},
        {"[1, 2]", "m.json:1:1"},
        {"{\"Accelerometer\": {", "m.json:2:1"},
        {"", "m.json:1:1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_text("m.json", rows[i].json);
        assert_refused(WITH("{name: a, plugin: mems_imu, params_file: m.json}"), rows[i].words);
    }
    assert_refused(WITH("{name: a, plugin: mems_imu, params_file: absent.json}"), "absent.json");
}

static void A13_A27_the_documents_world_gives_temperature_and_sine_to_both_sensors(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_example("mavs_document.yaml", &config);
    assert_near(srv_table_value(&config.environment.temperature_along_time_degc, 4.99), 25 + 4.99, 0);
    assert_int_equal(config.vehicles[0].vibration.line_count, 1);
    assert_near(config.vehicles[0].vibration.lines[0].factor * 2 * OTO_PI, 1, 2e-16);
    assert_param(find_node(&config, "car", "imu2"), "accelerometer.noise_density_m_s2_rthz", 0.025, 0.025);
    srv_world_config_finish(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_world_is_the_documented_one),
        cmocka_unit_test(the_isolated_world_has_hosts_of_one_and_of_two_for_every_kind),
        cmocka_unit_test(the_generated_city_has_no_end),
        cmocka_unit_test(the_world_of_estimators_binds_two_of_them_to_its_sensors),
        cmocka_unit_test(the_proving_ground_has_three_kinds_of_motion),
        cmocka_unit_test(the_smallest_world_loads),
        cmocka_unit_test(the_fleet_is_ten_thousand_cars_on_a_grid),
        cmocka_unit_test(the_unity_world_has_a_sensor_above_its_clock),
        cmocka_unit_test(the_recorded_drive_takes_the_path_of_its_recording),
        cmocka_unit_test(A2_an_unknown_kind_of_sensor_is_refused),
        cmocka_unit_test(A21_a_bad_mavs_file_is_refused_where_it_is_wrong),
        cmocka_unit_test(A13_A27_the_documents_world_gives_temperature_and_sine_to_both_sensors),
        cmocka_unit_test(A20_a_mavs_sensor_file_configures_every_section_of_the_right_sensor),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
