/* part, mode and unit of a world's nodes. */
#include "world_file.h"
#include "oto_test.h"

static char folder[] = "/tmp/otolith_part_world_XXXXXX";
static char path[64];
static char told[4000];

static void collect(void *context, const char *sentence)
{
    (void)context;
    (void)strncat(told, sentence, sizeof told - strlen(told) - 1);
    (void)strncat(told, "\n", sizeof told - strlen(told) - 1);
}

static enum oto_status load(const char *nodes, struct srv_world_config *config, struct oto_error *error)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fprintf(file, "world: w\nvehicles:\n  - name: car\n    motion: {plugin: motion_script}\n    nodes:\n%s",
                  nodes);
    assert_int_equal(fclose(file), 0);
    told[0] = '\0';
    return world_file_load(path, NULL, 0, collect, NULL, config, error);
}

static void assert_text(const struct srv_node_config *node, const char *key, double value)
{
    char text[128];
    struct oto_error error = {0};
    assert_ok(oto_params_get(oto_plugin_descriptor(node->plugin), key, &node->params, text, sizeof text, &error),
              error);
    assert_near(strtod(text + (text[0] == '['), NULL), value, 1e-12 * fabs(value));
}

/* So many warnings, each of a triad that no document gives noise for. */
static void assert_only_noiseless(int count)
{
    int found = 0;
    for (const char *line = told; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_non_null(strstr(line, "the magnetometer is simulated without noise"));
        found++;
    }
    assert_int_equal(found, count);
}

static void a_part_comes_before_the_nodes_own_parameters(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_ok(load("      - {name: a, plugin: mems_imu, part: tdk/mpu-9250, mode: 500dps-4g, unit: 17}\n"
                   "      - {name: b, plugin: mems_imu, part: tdk/mpu-9250, params: {gyroscope.resolution_rad_s: 0.5}, "
                   "rate_hz: 100}\n"
                   "      - {name: c, plugin: magnetometer, part: akm/ak09916}\n"
                   "      - {name: d, plugin: magnetometer, unit: 3}\n",
                   &config, &error),
              error);
    const struct srv_node_config *a = &config.nodes[1], *b = &config.nodes[2], *c = &config.nodes[3],
                                 *d = &config.nodes[4];
    assert_string_equal(a->part_unit, "tdk/mpu-9250/17");
    assert_string_equal(b->part_unit, "tdk/mpu-9250/0");
    assert_string_equal(d->part_unit, "magnetometer/3");
    assert_text(a, "accelerometer.measurement_range_m_s2", 4 * 9.80665);
    assert_text(b, "accelerometer.measurement_range_m_s2", 16 * 9.80665);
    assert_text(b, "gyroscope.resolution_rad_s", 0.5);
    assert_int_equal(a->rate_num, 1000 * a->rate_den); /* the part's */
    assert_int_equal(b->rate_num, 100 * b->rate_den);  /* the node's */
    assert_int_equal(c->rate_num, 100 * c->rate_den);
    assert_only_noiseless(3);
    srv_world_config_finish(&config);
}

static void bad_parts_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *nodes, *place, *words;
    } cases[] = {
        {"      - {name: a, plugin: mems_imu, part: tdk/mpu9250}\n", ":6:43:", "did you mean 'tdk/mpu-9250'"},
        {"      - {name: a, plugin: mems_imu, part: tdk/mpu-9250, mode: fast}\n", ":6:63:", "no mode 'fast'"},
        {"      - {name: a, plugin: mems_imu, mode: fast}\n", ":6:43:", "`mode` needs a `part`"},
        {"      - {name: a, plugin: mems_imu, part: bosch/bmm150}\n", ":6:43:", "is a magnetometer"},
        {"      - {name: a, plugin: magnetometer, part: tdk/mpu-6050}\n", ":6:47:", "is an IMU"},
        {"      - {name: a, plugin: mems_imu, part: none.yaml}\n", ":6:43:", "no part file"},
        {"      - {name: a, plugin: mems_imu, part: tdk/mpu-9250, unit: 5000000000}\n", ":6:63:", "5000000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct srv_world_config config;
        struct oto_error error = {0};
        assert_int_not_equal(load(cases[i].nodes, &config, &error), OTO_OK);
        if (strncmp(error.text + strlen(path), cases[i].place, strlen(cases[i].place)) != 0 ||
            strstr(error.text, cases[i].words) == NULL) {
            fail_msg("case %zu: %s", i, error.text);
        }
    }
}

static void a_part_beside_the_world_is_found_and_its_errors_stand_in_it(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    char own[96];
    (void)snprintf(own, sizeof own, "%s/own.yaml", folder);
    FILE *file = fopen(own, "we");
    assert_non_null(file);
    assert_true(
        fputs("part: a/own\ntitle: t\nvendor: v\nkind: magnetometer\ndocuments: {d: {title: t}}\n"
              "missing: [magnetometer.noise_density, magnetometer.in_run_bias_stability]\n"
              "modes:\n  m:\n    magnetometer:\n      range: {value: 2e10, unit: uT, is: typ, source: \"d p.1\"}\n",
              file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_not_equal(load("      - {name: a, plugin: magnetometer, part: own.yaml}\n", &config, &error), OTO_OK);
    assert_non_null(strstr(error.text, "own.yaml:10:")); /* more than the parameter takes */
    (void)unlink(own);
}

static void odd_parameters_are_told_at_the_node(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    assert_ok(load("      - {name: a, plugin: mems_imu, params: {gyroscope.noise_density_rad_s_rthz: 0.5}}\n", &config,
                   &error),
              error);
    assert_non_null(strstr(told, ":6:"));
    assert_non_null(strstr(told, "warning: node 'a': gyroscope.noise_density_rad_s_rthz"));
    srv_world_config_finish(&config);
}

static void the_example_of_real_parts_warns_of_what_has_no_noise_alone(void **state)
{
    (void)state;
    struct srv_world_config config;
    struct oto_error error = {0};
    told[0] = '\0';
    assert_ok(world_file_load(OTO_SOURCE_DIR "/configs/worlds/real_parts.yaml", NULL, 0, collect, NULL, &config,
                                    &error),
              error);
    assert_string_equal(config.nodes[2].part_unit, "tdk/mpu-9250/18");
    assert_text(&config.nodes[5], "magnetometer.measurement_range_ut", 190);
    assert_int_equal(config.nodes[4].rate_num, 100 * config.nodes[4].rate_den);
    assert_only_noiseless(3); /* the magnetometers of two MPU-9250, and the AK09916 */
    srv_world_config_finish(&config);
}

static int make_folder(void **state)
{
    (void)state;
    const bool made = mkdtemp(folder) != NULL;
    (void)snprintf(path, sizeof path, "%s/w.yaml", folder);
    return made ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_comes_before_the_nodes_own_parameters),
        cmocka_unit_test(bad_parts_are_refused_with_their_place),
        cmocka_unit_test(a_part_beside_the_world_is_found_and_its_errors_stand_in_it),
        cmocka_unit_test(odd_parameters_are_told_at_the_node),
        cmocka_unit_test(the_example_of_real_parts_warns_of_what_has_no_noise_alone),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
