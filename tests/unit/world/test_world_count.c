/* `count`, `spread`, "{i}" and `only`: many vehicles from one entry of a world file. */
#include "config_test.h"

#include "plugin/host.h"

#define CARS "world: w\nvehicles:\n- name: car\n  count: 3\n  motion: {plugin: still}\n"

static void load(const char *text, struct srv_world_config *config)
{
    struct oto_error error = {0};
    assert_ok(load_text(text, NULL, 0, NULL, config, &error), error);
}

static void assert_refused(const char *text, const char *place, const char *words)
{
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_int_not_equal(load_text(text, NULL, 0, NULL, &config, &error), OTO_OK);
    if (strncmp(error.text, place, strlen(place)) != 0 || strstr(error.text, words) == NULL) {
        fail_msg("expected '%s' and '%s': %s", place, words, error.text);
    }
}

static void a_counted_vehicle_becomes_that_many_with_numbered_names(void **state)
{
    struct srv_world_config config;
    (void)state;
    load(CARS "  nodes: [{name: imu, plugin: probe}, {name: b, plugin: probe, frame_id: head}]\n- {name: solo, motion: {plugin: still}}\n",
         &config);
    assert_int_equal(config.vehicle_count, 4);
    assert_int_equal(config.node_count, 10);
    assert_string_equal(config.vehicles[0].name, "car_0000");
    assert_string_equal(config.vehicles[2].name, "car_0002");
    assert_string_equal(config.vehicles[3].name, "solo");
    assert_int_equal(config.vehicles[2].motion, 6);
    assert_int_equal(config.vehicles[2].first_node, 7);
    assert_int_equal(config.nodes[7].vehicle, 2);
    assert_string_equal(config.nodes[6].frame_id, "car_0002");
    assert_string_equal(config.nodes[7].frame_id, "car_0002/imu");
    assert_string_equal(config.nodes[8].frame_id, "head");
    srv_world_config_finish(&config);
}

static void equal_vehicles_share_their_parameters_until_one_changes(void **state)
{
    struct srv_world_config config;
    struct oto_error error = {0};
    (void)state;
    load(CARS "  nodes: [{name: imu, plugin: probe, params: {accelerometer.bias_m_s2: 3}}]\n", &config);
    struct oto_params *first = &config.nodes[1].params, *last = &config.nodes[5].params;
    assert_ptr_equal(first->block, last->block);
    assert_ok(oto_params_set(oto_plugin_descriptor(config.nodes[5].plugin), "accelerometer.bias_m_s2.0", "4", false, last, &error), error);
    assert_ptr_not_equal(first->block, last->block);
    assert_ptr_equal(first->block, config.nodes[3].params.block);
    char text[32];
    assert_ok(oto_params_get(oto_plugin_descriptor(config.nodes[1].plugin), "accelerometer.bias_m_s2", first, text, sizeof text, &error), error);
    assert_string_equal(text, "[3, 3, 3]");
    srv_world_config_finish(&config);
}

static void texts_and_spread_numbers_follow_the_index(void **state)
{
    struct srv_world_config config;
    (void)state;
    load("world: w\nvehicles:\n- name: car\n  count: 5\n  motion: {plugin: still}\n"
         "  nodes: [{name: imu, plugin: probe, topic: 'fleet/{i}/imu', mount: {rpy_deg: [0, 0, 0]}}]\n"
         "  spread:\n    nodes.imu.unit: {first: 7, step: 2}\n"
         "    nodes.imu.mount.position_m: [{step: 0.5, wrap: 2}, {first: 1, step: 1, every: 2}, 9]\n",
         &config);
    static const double x[] = {0, 0.5, 0, 0.5, 0}, y[] = {1, 1, 2, 2, 3};
    for (uint32_t i = 0; i < 5; i++) {
        char topic[32], unit[32];
        const struct srv_node_config *imu = &config.nodes[2 * i + 1];
        (void)snprintf(topic, sizeof topic, "fleet/%u/imu", i);
        (void)snprintf(unit, sizeof unit, "probe/%u", 7 + 2 * i);
        assert_string_equal(imu->alias, topic);
        assert_string_equal(imu->part_unit, unit);
        assert_near(imu->mount_position_body_m.x, x[i], 0);
        assert_near(imu->mount_position_body_m.y, y[i], 0);
        assert_near(imu->mount_position_body_m.z, 9, 0);
    }
    srv_world_config_finish(&config);
}

static void inputs_of_an_estimator_are_those_of_its_own_vehicle(void **state)
{
    struct srv_world_config config;
    (void)state;
    load(CARS "  nodes: [{name: imu, plugin: probe}, {name: e, plugin: watcher, inputs: {main: imu}},\n"
              "    {name: f, plugin: watcher, inputs: {main: 'car_000{i}/imu'}}]\n",
         &config);
    for (uint32_t v = 0; v < 3; v++) {
        assert_int_equal(config.nodes[4 * v + 2].inputs[0].node, 4 * v + 1);
        assert_int_equal(config.nodes[4 * v + 3].inputs[0].node, 4 * v + 1);
    }
    srv_world_config_finish(&config);
}

static void ten_thousand_vehicles_are_written_in_a_few_values(void **state)
{
    struct srv_world_config config;
    (void)state;
    load("world: w\nvehicles:\n- {name: car, count: 10000, motion: {plugin: still}, nodes: [{name: imu, plugin: probe, unit: '{i}'}]}\n",
         &config);
    assert_int_equal(config.vehicle_count, 10000);
    assert_string_equal(config.vehicles[9999].name, "car_9999");
    assert_string_equal(config.nodes[19999].part_unit, "probe/9999");
    srv_world_config_finish(&config);
}

static void a_part_of_the_vehicles_is_loaded_by_their_names(void **state)
{
    static const struct srv_override only = {"only", "car_000[12],solo"};
    struct srv_world_config config;
    struct oto_error error = {0};
    (void)state;
    assert_ok(load_text(CARS "  nodes: [{name: imu, plugin: probe, unit: '{i}'}]\n- {name: solo, motion: {plugin: still}}\n", &only,
                        1, NULL, &config, &error), error);
    assert_int_equal(config.vehicle_count, 3);
    assert_string_equal(config.vehicles[0].name, "car_0001");
    assert_string_equal(config.vehicles[2].name, "solo");
    assert_string_equal(config.nodes[3].part_unit, "probe/2");
    srv_world_config_finish(&config);
}

static void what_cannot_be_counted_is_refused_at_its_place(void **state)
{
    (void)state;
    assert_refused("world: w\nvehicles: [{name: car, count: 0, motion: {plugin: still}}]\n", "w.yaml:2:31:", "from 1 to 10000");
    assert_refused("world: w\nvehicles: [{name: car, count: 6000, motion: {plugin: still}}, {name: bus, count: 6000, motion: {plugin: still}}]\n",
                   "w.yaml:2:", "more than 10000 vehicles");
    assert_refused("world: w\nvehicles: [{name: car, spread: {motion.params.x: {step: 1}}, motion: {plugin: still}}]\n",
                   "w.yaml:2:24:", "needs a `count`");
    assert_refused(CARS "  nodes: [{name: imu, plugin: probe}]\n  spread: {nodes.gps.unit: {step: 1}}\n", "w.yaml:7:", "no item 'gps'");
    assert_refused(CARS "  nodes: [{name: imu, plugin: probe}]\n  spread: {nodes.imu.unit: {stepp: 1}}\n", "w.yaml:7:", "did you mean 'step'");
    assert_refused(CARS "  nodes: [{name: imu, plugin: probe}]\n  spread: {nodes.imu.unit: 4}\n", "w.yaml:7:", "a rule {first");
    assert_refused(CARS "  spread: {name: {step: 1}}\n", "w.yaml:6:", "below motion, nodes or vibration");
    assert_refused(CARS "  nodes: [{name: imu, plugin: probe}]\n  spread: {nodes.imu.unit: {step: 0.5}}\n", "w.yaml:7:", "a whole number");
    assert_refused(CARS "  nodes: [{name: imu, plugin: probe, topic: same}]\n", "w.yaml:6:", "used twice");
    assert_refused(CARS "- {name: car_0001, motion: {plugin: still}}\n", "w.yaml:6:", "two vehicles are called 'car_0001'");
    assert_refused("only: bus*\n" CARS, "w.yaml:", "no vehicle matches 'bus*'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counted_vehicle_becomes_that_many_with_numbered_names),
        cmocka_unit_test(equal_vehicles_share_their_parameters_until_one_changes),
        cmocka_unit_test(texts_and_spread_numbers_follow_the_index),
        cmocka_unit_test(inputs_of_an_estimator_are_those_of_its_own_vehicle),
        cmocka_unit_test(ten_thousand_vehicles_are_written_in_a_few_values),
        cmocka_unit_test(a_part_of_the_vehicles_is_loaded_by_their_names),
        cmocka_unit_test(what_cannot_be_counted_is_refused_at_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
