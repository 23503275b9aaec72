/* Good worlds: what their files say arrives, in SI units and with the defaults of the tables. */
#include "config_test.h"

#include "otolith/environment.h"

struct params { /* of node_plugin.c */
    double bias_m_s2[3];
    double rate_hz;
    int64_t law;
    char path[512];
};

static const struct params *params_of(const struct srv_node_config *node)
{
    return node->params.block;
}

static void the_smallest_world_has_the_documented_defaults(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    struct heard heard = {0};
    assert_ok(
        load_text("world: small\nvehicles: [{name: car, motion: {plugin: still}}]\n", NULL, 0, &heard, &config, &error),
        error);
    assert_string_equal(config.name, "small");
    assert_int_equal(config.seed, 1);
    assert_near(config.origin_latitude_rad, OTO_PI / 4, 1e-15);
    assert_int_equal(config.date_days, 20635); /* 2026-07-01 */
    assert_int_equal(config.clock.rate_num, 1000);
    assert_int_equal(config.clock.rate_den, 1);
    assert_int_equal(config.clock.mode, OTO_MODE_REALTIME);
    assert_near(config.clock.scale, 1, 0);
    assert_int_equal(config.clock.driver, SRV_DRIVER_UV);
    assert_int_equal(config.clock.overrun, SRV_OVERRUN_SLIP);
    assert_int_equal(config.clock.catchup_max_burst, 4);
    assert_int_equal(config.clock.catchup_max_lag_ns, 20000000);
    assert_int_equal(config.clock.fault_max_overruns, 10);
    assert_int_equal(config.clock.until_ns, 0);
    assert_int_equal(config.clock.fifo_priority, 70);
    assert_true(config.environment.gravity_wgs84);
    assert_near(config.environment.gravity_enu_m_s2.z, -oto_gravity_wgs84(OTO_PI / 4, 0), 0);
    assert_near(config.environment.mag_field_enu_ut.x, -2.4169, 0);
    assert_near(config.environment.mag_field_enu_ut.y, 27.5550, 0);
    assert_near(config.environment.mag_field_enu_ut.z, 16.0849, 0);
    assert_near(config.environment.temperature_degc, 25, 0);
    assert_near(config.environment.pressure_pa, 101325, 0);
    assert_true(config.publish.enabled);
    assert_int_equal(config.publish.listen_count, 1);
    assert_string_equal(config.publish.listen[0], "ipc");
    assert_int_equal(config.publish.coalesce_ns, 5000000);
    assert_false(config.publish.packed);
    assert_int_equal(config.ring_capacity, 0);
    assert_int_equal(config.history_ns, 0);
    assert_int_equal(config.vehicle_count, 1);
    assert_int_equal(config.node_count, 1);
    assert_string_equal(config.nodes[0].name, "motion");
    assert_string_equal(config.nodes[0].frame_id, "car");
    assert_int_equal(config.nodes[0].rate_num, 1000);
    assert_near(config.nodes[0].q_body_from_sensor.w, 1, 0);
    assert_int_equal(heard.warnings, 0);
    srv_world_config_finish(&config);
    assert_null(config.nodes);
    srv_world_config_finish(&config);
    srv_world_config_finish(NULL);
}

static const char full_world[] =
    "world: demo\n"
    "seed: 18446744073709551615\n"
    "origin: {latitude_deg: 48.137, longitude_deg: 11.575, altitude_m: 520, date: 2024-02-29}\n"
    "clock: {rate_hz: 60000/1001, mode: asap, scale: 2.5, driver: hybrid,\n"
    "        overrun: {policy: catchup, max_burst: 7, max_lag_ms: 1.5, max_overruns: 3}, until_s: 10.5, priority: 0}\n"
    "environment: {gravity: [0, 0, -9.80665], magnetic_field: [1, 2, 3], temperature_degc: -5, pressure_pa: 9e4}\n"
    "vehicles:\n"
    "  - name: car\n"
    "    motion: {plugin: still, params: {}}\n"
    "    nodes:\n"
    "      - {name: imu, plugin: probe, rate_hz: 25/2, mount: {position_m: [0.2, 0, 0.4], rpy_deg: [0, 0, 90]},\n"
    "         params: {law: mavs, accelerometer.bias_m_s2: [1, 2, 3]}, topic: /unity/imu, frame_id: base}\n"
    "      - {name: mag, plugin: probe, params: {accelerometer: {bias_m_s2: 4}, rate_hz: 59.94}}\n"
    "      - {name: own, plugin: probe, params: }\n"
    "  - name: lorry\n"
    "    motion: {plugin: still}\n"
    "    nodes: []\n"
    "publish: {listen: [\"ipc\", \"tcp://127.0.0.1:7450\"], coalesce_ms: 0, format: packed}\n"
    "ring_capacity: 64\n";

static void a_full_world_arrives_as_it_is_written(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_ok(load_text(full_world, NULL, 0, NULL, &config, &error), error);
    assert_true(config.seed == UINT64_MAX);
    assert_near(config.origin_latitude_rad, 48.137 * OTO_PI / 180, 1e-15);
    assert_int_equal(config.date_days, 19782);
    assert_int_equal(config.clock.rate_num, 60000);
    assert_int_equal(config.clock.rate_den, 1001);
    assert_int_equal(config.clock.mode, OTO_MODE_ASAP);
    assert_int_equal(config.clock.driver, SRV_DRIVER_HYBRID);
    assert_int_equal(config.clock.overrun, SRV_OVERRUN_CATCHUP);
    assert_int_equal(config.clock.catchup_max_burst, 7);
    assert_int_equal(config.clock.catchup_max_lag_ns, 1500000);
    assert_int_equal(config.clock.until_ns, 10500000000);
    assert_int_equal(config.clock.fifo_priority, 0);
    assert_false(config.environment.gravity_wgs84);
    assert_near(config.environment.gravity_enu_m_s2.z, -9.80665, 0);
    assert_near(config.environment.mag_field_enu_ut.y, 2, 0);
    assert_int_equal(config.publish.listen_count, 2);
    assert_int_equal(config.publish.coalesce_ns, 0);
    assert_true(config.publish.packed);
    assert_int_equal(config.ring_capacity, 64);
    assert_int_equal(config.vehicle_count, 2);
    assert_int_equal(config.node_count, 5);
    assert_int_equal(config.vehicles[0].motion, 0);
    assert_int_equal(config.vehicles[0].first_node, 1);
    assert_int_equal(config.vehicles[0].node_count, 3);
    assert_int_equal(config.vehicles[1].motion, 4);
    assert_int_equal(config.vehicles[1].node_count, 0);
    srv_world_config_finish(&config);
}

#define AT_520_M \
    "world: w\nvehicles: [{name: car, motion: {plugin: still}}]\n" \
    "origin: {latitude_deg: 48.137, longitude_deg: 11.575, altitude_m: 520, date: 2026-07-01}\n"

static void load_environment(const char *text, struct srv_environment_config *environment)
{
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_ok(load_text(text, NULL, 0, NULL, &config, &error), error);
    *environment = config.environment;
    srv_world_config_finish(&config);
}

static void the_magnetic_model_is_resolved_at_origin_and_date(void **state)
{
    struct srv_environment_config environment;
    const struct oto_wmm *model = NULL;
    struct oto_magnetic_field field;
    struct oto_error error = {0};
    (void)state;
    load_environment(AT_520_M "environment: {magnetic_field: wmm2025}\n", &environment);
    assert_ok(oto_wmm_find("wmm2025", &model, &error), error);
    assert_ok(oto_wmm_field(model, (oto_geodetic){48.137 * OTO_DEG, 11.575 * OTO_DEG, 520}, 2026 + 181.0 / 365, &field,
                            &error),
              error);
    assert_near(environment.mag_field_enu_ut.x, field.y_nt / 1000, 1e-12);
    assert_near(environment.mag_field_enu_ut.y, field.x_nt / 1000, 1e-12);
    assert_near(environment.mag_field_enu_ut.z, -field.z_nt / 1000, 1e-12);
    assert_near(environment.mag_field_enu_ut.y, 21.016, 5e-4);
}

static void the_standard_atmosphere_fills_in_what_is_not_given(void **state)
{
    struct srv_environment_config environment;
    (void)state;
    load_environment(AT_520_M "environment: {atmosphere: isa}\n", &environment);
    assert_near(environment.temperature_degc, 11.62, 5e-3);
    assert_near(environment.pressure_pa, 95232.6, 5e-2);
    load_environment(AT_520_M "environment: {atmosphere: isa, temperature_degc: 60}\n", &environment);
    assert_near(environment.temperature_degc, 60, 0);
    assert_near(environment.pressure_pa, 95232.6, 5e-2);
    load_environment(AT_520_M "environment: {pressure_pa: 9e4, atmosphere: isa}\n", &environment);
    assert_near(environment.temperature_degc, 11.62, 5e-3);
    assert_near(environment.pressure_pa, 9e4, 0);
    load_environment(AT_520_M "environment: {atmosphere: constant}\n", &environment);
    assert_near(environment.temperature_degc, 25, 0);
    assert_near(environment.pressure_pa, 101325, 0);
}

static void nodes_have_their_rates_mounts_and_parameters(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_ok(load_text(full_world, NULL, 0, NULL, &config, &error), error);
    const struct srv_node_config *imu = &config.nodes[1], *mag = &config.nodes[2], *own = &config.nodes[3];
    oto_vec3 y = oto_quat_rotate(imu->q_body_from_sensor, oto_vec3_make(1, 0, 0));
    assert_near(y.y, 1, 1e-15);
    assert_near(imu->mount_position_body_m.z, 0.4, 0);
    assert_string_equal(imu->alias, "/unity/imu");
    assert_string_equal(imu->frame_id, "base");
    assert_string_equal(mag->frame_id, "car/mag");
    assert_string_equal(imu->part_unit, "probe/0");
    assert_int_equal(imu->rate_num, 25);
    assert_int_equal(imu->rate_den, 2);
    assert_int_equal(mag->rate_num, 2997);
    assert_int_equal(mag->rate_den, 50);
    assert_int_equal(own->rate_num, 60000);
    assert_int_equal(own->rate_den, 1001);
    assert_near(params_of(imu)->bias_m_s2[2], 3, 0);
    assert_int_equal(params_of(imu)->law, 1);
    assert_near(params_of(mag)->bias_m_s2[1], 4, 0);
    assert_ptr_equal(imu->plugin, mag->plugin);
    assert_int_equal(imu->place->line, 11);
    srv_world_config_finish(&config);
}

static void a_params_file_is_applied_first_and_starts_at_its_world(void **state)
{
    (void)state;
    static const char world[] =
        "world: w\nvehicles:\n  - name: car\n    motion: {plugin: still}\n    nodes:\n"
        "      - {name: imu, plugin: probe, params_file: imu.json, params: {law: mavs, path: b.csv}}\n"
        "      - {name: yaw, plugin: probe, params_file: imu.json, rate_hz: 7}\n";
    struct srv_world_config config;
    struct oto_error error = {0};
    char cwd[512], wanted[1024];
    (void)system("mkdir -p sub");
    write_text("sub/imu.json",
               "{\n\t\"Sample Rate\": 100.0,\n\t\"Accelerometer\": {\"Constant Bias\": [0.49, 0.5, 0.51]}\n}\n");
    write_text("sub/w.yaml", world);
    assert_ok(world_file_load("sub/w.yaml", NULL, 0, NULL, NULL, &config, &error), error);
    assert_int_equal(config.nodes[1].rate_num, 100);
    assert_int_equal(config.nodes[2].rate_num, 7);
    assert_near(params_of(&config.nodes[1])->bias_m_s2[2], 0.51, 0);
    assert_int_equal(params_of(&config.nodes[1])->law, 1);
    assert_non_null(getcwd(cwd, sizeof cwd));
    (void)snprintf(wanted, sizeof wanted, "%s/sub/b.csv", cwd);
    assert_string_equal(params_of(&config.nodes[1])->path, wanted);
    srv_world_config_finish(&config);
}

static void settings_of_the_command_line_come_before_anything_is_read(void **state)
{
    (void)state;
    static const struct srv_override overrides[] = {
        {"vehicles.car.nodes.imu.params.law", "mems"},
        {"vehicles.car.nodes.imu.params.accelerometer.bias_m_s2", "[7, 8, 9]"},
        {"vehicles.car.nodes.mag.params.path", "x.csv"},
        {"vehicles.car.nodes.own.rate_hz", "10"},
        {"clock.mode", "step"},
        {"publish", "false"},
        {"seed", "9223372036854775808"},
    };
    struct srv_world_config config;
    struct oto_error error = {0};
    char cwd[512], wanted[1024];
    assert_ok(load_text(full_world, overrides, 7, NULL, &config, &error), error);
    assert_int_equal(params_of(&config.nodes[1])->law, 0);
    assert_near(params_of(&config.nodes[1])->bias_m_s2[0], 7, 0);
    assert_int_equal(config.nodes[3].rate_num, 10);
    assert_int_equal(config.clock.mode, OTO_MODE_STEP);
    assert_false(config.publish.enabled);
    assert_true(config.seed == UINT64_C(1) << 63);
    assert_non_null(getcwd(cwd, sizeof cwd));
    (void)snprintf(wanted, sizeof wanted, "%s/x.csv", cwd);
    assert_string_equal(params_of(&config.nodes[2])->path, wanted);
    srv_world_config_finish(&config);
}

static void a_topic_that_begins_another_is_warned_of(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    struct heard heard = {0};
    assert_ok(load_text("world: w\nvehicles:\n  - name: car\n    motion: {plugin: still}\n    nodes:\n"
                        "      - {name: imu, plugin: probe}\n      - {name: imu2, plugin: probe}\n",
                        NULL, 0, &heard, &config, &error),
              error);
    assert_int_equal(heard.warnings, 1);
    assert_non_null(strstr(heard.last, "w.yaml:7:16: warning: the topic 'w/car/imu"));
    srv_world_config_finish(&config);
}

static void a_sensor_that_says_so_may_be_faster_than_the_clock(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_ok(load_text("world: w\nvehicles: [{name: car, motion: {plugin: still}, nodes: [{name: i, plugin: any_rate,"
                        " rate_hz: 4000}]}]\n",
                        NULL, 0, NULL, &config, &error),
              error);
    assert_int_equal(config.nodes[1].rate_num, 4000);
    srv_world_config_finish(&config);
}

static void assert_input(const struct srv_node_config *node, uint32_t index, const char *name, uint32_t of,
                         uint32_t port)
{
    assert_string_equal(node->inputs[index].name, name);
    assert_int_equal(node->inputs[index].node, of);
    assert_int_equal(node->inputs[index].port, port);
}

static void inputs_are_found_by_every_name_that_a_channel_has(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_ok(load_text("world: w\nvehicles:\n"
                        "  - {name: one, motion: {plugin: still}, nodes: [{name: imu, plugin: probe, topic: /unity/imu}]}\n"
                        "  - name: two\n    motion: {plugin: still}\n    nodes:\n"
                        "      - {name: ekf, plugin: open_watcher, rate_hz: 10,\n"
                        "         inputs: {b: one/imu, truth: motion, main: imu.taps, a: /unity/imu, c: w/one/imu.taps,\n"
                        "                  d: one/motion, e: late}}\n"
                        "      - {name: imu, plugin: probe}\n"
                        "      - {name: late, plugin: watcher, inputs: {main: ekf}}\n",
                        NULL, 0, NULL, &config, &error),
              error);
    const struct srv_node_config *ekf = &config.nodes[3];
    assert_int_equal(ekf->input_count, 7);
    assert_input(ekf, 0, "main", 4, 1); /* the plugin's own in its order, then the others as they stand */
    assert_input(ekf, 1, "truth", 2, 0);
    assert_input(ekf, 2, "b", 1, 0);
    assert_input(ekf, 3, "a", 1, 0);
    assert_input(ekf, 4, "c", 1, 1);
    assert_input(ekf, 5, "d", 0, 0);
    assert_input(ekf, 6, "e", 5, 0);
    assert_input(&config.nodes[5], 0, "main", 3, 0);
    assert_int_equal(config.nodes[5].rate_num, 1000);
    srv_world_config_finish(&config);
}

static void ten_thousand_vehicles_are_loaded(void **state)
{
    (void)state;
    enum { VEHICLES = 10000 };
    struct srv_world_config config;
    struct oto_error error = {0};
    FILE *file = fopen("w.yaml", "wb");
    assert_non_null(file);
    (void)fputs("world: fleet\nvehicles:\n", file);
    for (int i = 0; i < VEHICLES; i++)
        (void)fprintf(file, "  - {name: v%d, motion: {plugin: still}, nodes: [{name: i, plugin: probe}]}\n", i);
    assert_int_equal(fclose(file), 0);
    assert_ok(world_file_load("w.yaml", NULL, 0, NULL, NULL, &config, &error), error);
    assert_int_equal(config.node_count, 2 * VEHICLES);
    srv_world_config_finish(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_world_has_the_documented_defaults),
        cmocka_unit_test(a_full_world_arrives_as_it_is_written),
        cmocka_unit_test(the_magnetic_model_is_resolved_at_origin_and_date),
        cmocka_unit_test(the_standard_atmosphere_fills_in_what_is_not_given),
        cmocka_unit_test(nodes_have_their_rates_mounts_and_parameters),
        cmocka_unit_test(a_params_file_is_applied_first_and_starts_at_its_world),
        cmocka_unit_test(settings_of_the_command_line_come_before_anything_is_read),
        cmocka_unit_test(a_topic_that_begins_another_is_warned_of),
        cmocka_unit_test(a_sensor_that_says_so_may_be_faster_than_the_clock),
        cmocka_unit_test(inputs_are_found_by_every_name_that_a_channel_has),
        cmocka_unit_test(ten_thousand_vehicles_are_loaded),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
