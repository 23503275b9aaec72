/* `defaults` of a world file, and checks that report every error of a file. */
#include "config_test.h"

#define DEFAULTS                                                                                                       \
    "world: w\n"                                                                                                       \
    "defaults:\n"                                                                                                      \
    "  sedan:\n"                                                                                                       \
    "    motion: {plugin: still}\n"                                                                                    \
    "    nodes:\n"                                                                                                     \
    "      - {name: imu, plugin: probe, rate_hz: 200, mount: {position_m: [1, 0, 0]}, params: {law: mavs}}\n"          \
    "      - {name: odo, plugin: probe, rate_hz: 50}\n"

static void load_ok(const char *text, const struct srv_override *overrides, uint32_t count, struct srv_world_config *config)
{
    struct oto_error error = {0};
    if (load_text(text, overrides, count, NULL, config, &error) != OTO_OK)
        fail_msg("%s", error.text);
}

static const struct srv_node_config *node_at(const struct srv_world_config *config, uint32_t vehicle, uint32_t node)
{
    return &config->nodes[config->vehicles[vehicle].first_node + node];
}

static void vehicles_with_defaults_equal_vehicles_that_are_written_out(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_ok(DEFAULTS "vehicles: [{name: a, defaults: sedan}, {name: b, defaults: sedan}]\n", NULL, 0, &config);
    assert_int_equal(config.vehicle_count, 2);
    assert_int_equal(config.node_count, 6);
    for (uint32_t v = 0; v < 2; v++) {
        assert_string_equal(node_at(&config, v, 0)->name, "imu");
        assert_int_equal(node_at(&config, v, 0)->rate_num, 200);
        assert_string_equal(node_at(&config, v, 1)->name, "odo");
        assert_string_equal(node_at(&config, v, 0)->frame_id, v == 0 ? "a/imu" : "b/imu");
    }
    srv_world_config_finish(&config);
}

static void a_vehicle_replaces_and_adds_what_it_writes_itself(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_ok(DEFAULTS "vehicles:\n"
                     "  - name: b\n"
                     "    defaults: sedan\n"
                     "    nodes:\n"
                     "      - {name: odo, rate_hz: 20}\n"
                     "      - {name: imu, mount: {rpy_deg: [0, 0, 90]}}\n"
                     "      - {name: more, plugin: probe, rate_hz: 10}\n",
            NULL, 0, &config);
    assert_int_equal(config.vehicles[0].node_count, 3);
    const struct srv_node_config *imu = node_at(&config, 0, 0);
    assert_string_equal(imu->name, "imu");
    assert_int_equal(imu->rate_num, 200);
    assert_near(imu->mount_position_body_m.x, 1, 0);
    assert_near(imu->q_body_from_sensor.z, 0.70710678118654752, 1e-12);
    assert_int_equal(node_at(&config, 0, 1)->rate_num, 20);
    assert_string_equal(node_at(&config, 0, 2)->name, "more");
    srv_world_config_finish(&config);
}

static void null_takes_a_key_of_the_default_out(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_ok(DEFAULTS "vehicles: [{name: a, defaults: sedan, nodes: [{name: imu, rate_hz: null}]}]\n", NULL, 0, &config);
    assert_int_equal(node_at(&config, 0, 0)->rate_num, 1000); /* the clock's */
    srv_world_config_finish(&config);
}

static void overrides_reach_the_default_and_the_completed_vehicle(void **state)
{
    (void)state;
    const struct srv_override overrides[] = {{"vehicles.b.nodes.odo.rate_hz", "25"}, {"defaults.sedan.nodes.odo.rate_hz", "100"}};
    struct srv_world_config config;
    load_ok(DEFAULTS "vehicles: [{name: a, defaults: sedan}, {name: b, defaults: sedan}]\n", overrides, 2, &config);
    assert_int_equal(node_at(&config, 0, 1)->rate_num, 100);
    assert_int_equal(node_at(&config, 1, 1)->rate_num, 25);
    srv_world_config_finish(&config);
}

static void defaults_work_with_count_and_index(void **state)
{
    (void)state;
    struct srv_world_config config;
    load_ok(DEFAULTS "vehicles: [{name: a, defaults: sedan, count: 3, nodes: [{name: imu, frame_id: 'imu{i}'}]}]\n", NULL, 0, &config);
    assert_int_equal(config.vehicle_count, 3);
    assert_string_equal(node_at(&config, 2, 0)->frame_id, "imu2");
    assert_int_equal(node_at(&config, 2, 1)->rate_num, 50);
    srv_world_config_finish(&config);
}

static void a_default_that_no_vehicle_names_is_warned_about(void **state)
{
    (void)state;
    struct heard heard = {0};
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_int_equal(load_text(DEFAULTS "vehicles: [{name: a, motion: {plugin: still}}]\n", NULL, 0, &heard, &config, &error), OTO_OK);
    assert_int_equal(heard.warnings, 1);
    assert_non_null(strstr(heard.last, "w.yaml:4:5: warning: no vehicle has `defaults: sedan`"));
    srv_world_config_finish(&config);
}

/* ---- errors ---- */

struct reported {
    uint32_t count;
    char texts[OTO_MOST_PROBLEMS + 1][OTO_ERROR_TEXT_BYTES];
};

static void take(void *context, const struct oto_error *error)
{
    struct reported *reported = context;
    assert_in_range(reported->count, 0, OTO_MOST_PROBLEMS);
    (void)snprintf(reported->texts[reported->count++], OTO_ERROR_TEXT_BYTES, "%s", error->text);
}

static void check_text(const char *text, struct reported *reported)
{
    write_text("w.yaml", text);
    const struct srv_world_source source = {.path = "w.yaml",
                                            .open_plugin = world_file_open_plugin,
                                            .given_motion = srv_external_entry(),
                                            .report = take,
                                            .report_context = reported};
    struct srv_world_config config, zero = {0};
    struct oto_error error = {0};
    *reported = (struct reported){0};
    assert_int_not_equal(srv_world_config_load(&source, NULL, NULL, &config, &error), OTO_OK);
    assert_int_not_equal(error.status, OTO_OK);
    assert_memory_equal(&config, &zero, sizeof config);
}

static void assert_reported(const char *text, const char *const *expected, uint32_t count)
{
    static struct reported reported;
    check_text(text, &reported);
    for (uint32_t i = 0; i < count && i < reported.count; i++)
        if (strncmp(reported.texts[i], expected[i], strlen(expected[i])) != 0)
            fail_msg("error %u does not begin with '%s': %s", i, expected[i], reported.texts[i]);
    if (reported.count != count)
        fail_msg("%u errors, expected %u; the last: %s", reported.count, count, reported.texts[reported.count - 1]);
}

static void every_independent_error_of_a_file_is_reported(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "w.yaml:2:7: error: expected a whole number",
        "w.yaml:3:9: error: unknown key 'moed' in clock: did you mean 'mode'?",
        "w.yaml:3:29: error: scale is out of range",
        "w.yaml:6:5: error: unknown key 'colour' in a vehicle",
        "w.yaml:13:5: error: expected a map with the keys of a vehicle, got '3'",
        "w.yaml:14:12: error: name: expected 1 to 31 characters",
        "w.yaml:7:38: error: plugin 'still' has no parameter 'sped'",
        "w.yaml:9:45: error: expected a rate such as 200",
        "w.yaml:9:60: error: plugin 'probe' has no parameter 'lew'",
        "w.yaml:10:29: error: there is no plugin 'prob'",
        "w.yaml:11:56: error: position_m: expected a list of 3 numbers, got 2",
        "w.yaml:11:64: error: unknown key 'rpy' in mount",
        "w.yaml:12:9: error: the key 'name' is missing in a node",
        "w.yaml:14:34: error: plugin 'probe' is of kind sensor, expected a motion here",
        "w.yaml:15:23: error: 'plugin' or 'participant' is missing in motion",
    };
    assert_reported("world: w\n"
                    "seed: x\n"
                    "clock: {moed: asap, scale:  -1}\n"
                    "vehicles:\n"
                    "  - name: car\n"
                    "    colour: red\n"
                    "    motion: {plugin: still, params: {sped: 1}}\n"
                    "    nodes:\n"
                    "      - {name: imu, plugin: probe, rate_hz: fast, params: {lew: mems}}\n"
                    "      - {name: mag, plugin: prob}\n"
                    "      - {name: odo, plugin: probe, mount: {position_m: [1, 2], rpy: 3}}\n"
                    "      - {plugin: probe}\n"
                    "  - 3\n"
                    "  - {name: v n, motion: {plugin: probe}}\n"
                    "  - {name: x, motion: {}}\n",
                    expected, sizeof expected / sizeof *expected);
}

/* An estimator's input that names a node with an error is not a second error. */
static void an_error_does_not_cause_further_ones(void **state)
{
    (void)state;
    static const char *const node[] = {"w.yaml:6:43: error: expected a rate"};
    static const char *const clock[] = {"w.yaml:2:18: error: expected a rate"};
    static const char *const participant[] = {"w.yaml:2:28: error: unknown key 'rle'"};
    assert_reported("world: w\nvehicles:\n  - name: car\n    motion: {plugin: still}\n    nodes:\n"
                    "      - {name: i, plugin: probe, rate_hz: x}\n"
                    "      - {name: e, plugin: watcher, rate_hz: 10, inputs: {imu: i}}\n", node, 1);
    assert_reported("world: w\nclock: {rate_hz: x}\nvehicles:\n  - name: car\n    motion: {plugin: still}\n    nodes:\n"
                    "      - {name: i, plugin: probe, rate_hz: 5000}\n", clock, 1);
    assert_reported("world: w\nparticipants: [{name: phy, rle: physics}]\n"
                    "vehicles: [{name: car, motion: {participant: phy}}]\n", participant, 1);
}

static void an_error_of_a_default_is_reported_once(void **state)
{
    (void)state;
    static const char *const expected[] = {"w.yaml:3:65: error: unknown key 'rat_hz' in a node: did you mean 'rate_hz'?"};
    assert_reported("world: w\ndefaults:\n  d: {motion: {plugin: still}, nodes: [{name: i, plugin: probe, rat_hz: 3}]}\n"
                    "vehicles: [{name: a, defaults: d}, {name: b, defaults: d}]\n", expected, 1);
}

static void the_check_stops_after_twenty_errors(void **state)
{
    (void)state;
    static struct reported reported;
    char text[4096] = "world: w\nvehicles: [{name: car, motion: {plugin: still}}]\n";
    for (int i = 0; i < 30; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "unknown%d: 1\n", i);
    check_text(text, &reported);
    assert_int_equal(reported.count, OTO_MOST_PROBLEMS);
    assert_non_null(strstr(reported.texts[19], "'unknown19'"));
}

static void defaults_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *words;
    } cases[] = {
        {"world: w\nvehicles: [{name: a, defaults: sedan}]\n", "w.yaml:2:32:", "there is no default 'sedan'; the world has no `defaults`"},
        {DEFAULTS "vehicles: [{name: a, defaults: van}]\n", "w.yaml:8:32:", "there is no default 'van'; accepted: sedan"},
        {DEFAULTS "vehicles: [{name: a, defaults: [sedan]}]\n", "w.yaml:8:32:", "expected a text, got a list"},
        {"world: w\ndefaults: 3\nvehicles: [{name: a, defaults: x}]\n", "w.yaml:2:11:", "expected a map"},
        {"world: w\ndefaults: {x: 3}\nvehicles: [{name: a, defaults: x}]\n", "w.yaml:2:15:", "a map with keys of a vehicle, got '3'"},
        {"world: w\ndefaults: {x: {name: a}}\nvehicles: [{name: a, defaults: x}]\n", "w.yaml:2:16:", "'name' is not accepted in a default"},
        {"world: w\ndefaults: {x: {defaults: y}, y: {}}\nvehicles: [{name: a, defaults: x}]\n", "w.yaml:2:16:", "'defaults' is not accepted"},
        {"world: w\ndefaults: {x: {motoin: {}}}\nvehicles: [{name: a, defaults: x, motion: {plugin: still}}]\n", "w.yaml:2:16:",
         "unknown key 'motoin'"},
        {"world: w\ndefaults: {x: {}}\nvehicles: [{name: a, defaults: x}]\n", "w.yaml:3:12:", "the key 'motion' is missing in a vehicle"},
        {DEFAULTS "vehicles: [{name: a, defaults: sedan, nodes: [{name: imu}, {name: imu}]}]\n", "w.yaml:8:60:", "the key 'plugin' is missing in a node"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct srv_world_config config;
        struct oto_error error = {0};
        assert_int_not_equal(load_text(cases[i].text, NULL, 0, NULL, &config, &error), OTO_OK);
        if (strncmp(error.text, cases[i].place, strlen(cases[i].place)) != 0 || strstr(error.text, cases[i].words) == NULL)
            fail_msg("expected %s … %s: %s", cases[i].place, cases[i].words, error.text);
    }
}

/* 10 000 vehicles with a default of 30 nodes would be 1.5 million values. */
static void defaults_do_not_outgrow_the_limit_of_values(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_non_null(out);
    (void)fputs("world: w\ndefaults:\n  d:\n    motion: {plugin: still}\n    nodes:\n", out);
    for (int i = 0; i < 30; i++)
        (void)fprintf(out, "      - {name: n%d, plugin: probe, rate_hz: 10}\n", i);
    (void)fputs("vehicles:\n", out);
    for (int i = 0; i < 10000; i++)
        (void)fprintf(out, "  - {name: v%d, defaults: d}\n", i);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(load_text(text, NULL, 0, NULL, &config, &error), OTO_LIMIT);
    assert_non_null(strstr(error.text, "use `count`"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vehicles_with_defaults_equal_vehicles_that_are_written_out),
        cmocka_unit_test(a_vehicle_replaces_and_adds_what_it_writes_itself),
        cmocka_unit_test(null_takes_a_key_of_the_default_out),
        cmocka_unit_test(overrides_reach_the_default_and_the_completed_vehicle),
        cmocka_unit_test(defaults_work_with_count_and_index),
        cmocka_unit_test(a_default_that_no_vehicle_names_is_warned_about),
        cmocka_unit_test(every_independent_error_of_a_file_is_reported),
        cmocka_unit_test(an_error_does_not_cause_further_ones),
        cmocka_unit_test(an_error_of_a_default_is_reported_once),
        cmocka_unit_test(the_check_stops_after_twenty_errors),
        cmocka_unit_test(defaults_that_make_no_sense_are_refused),
        cmocka_unit_test(defaults_do_not_outgrow_the_limit_of_values),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
