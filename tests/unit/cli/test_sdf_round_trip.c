/* IMUs out of SDF XML and back, through every property: row C23. */
#include "otolith/rng.h"
#include "sdf_reading.h"

/* ---- C23 ---- */

struct dice {
    struct oto_rng_key key;
    uint64_t n;
};

static uint64_t roll(struct dice *dice, uint64_t below)
{
    return oto_rng_block(dice->key, dice->n++, 0, 0, 0).v[0] % below;
}

/* Default, round, or with all its digits; of many magnitudes. */
static double any_number(struct dice *dice, double standard, double largest, bool is_signed)
{
    static const double round[] = {0.001, 0.5, 1, 0.1, 1e-6};
    const uint64_t kind = roll(dice, 4);
    const double sign = is_signed && roll(dice, 2) == 0 ? -1 : 1;
    if (kind == 0) {
        return standard;
    }
    if (kind == 1) {
        return sign * round[roll(dice, 5)];
    }
    const double u = oto_u01(oto_rng_block(dice->key, dice->n++, 0, 0, 0).v[0]);
    return sign * u * (kind == 2 ? largest : fmin(largest, pow(10, -(double)roll(dice, 15))));
}

static void any_text(struct dice *dice, char *text, size_t most)
{
    const size_t length = roll(dice, 3) == 0 ? 0 : 1 + roll(dice, most);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)('!' + roll(dice, '~' - '!' + 1));
    }
    text[length] = '\0';
}

static void any_numbers(struct dice *dice, double *numbers, size_t count, double largest)
{
    for (size_t i = 0; i < count; i++) {
        numbers[i] = any_number(dice, numbers[i], largest, true);
    }
}

static struct oto_sdf_imu any_imu(struct dice *dice, uint32_t index)
{
    struct oto_sdf_imu imu = oto_sdf_imu_default;
    (void)snprintf(imu.vehicle, sizeof imu.vehicle, "car_%u", (unsigned)roll(dice, 2));
    (void)snprintf(imu.name, sizeof imu.name, "imu-%u", index);
    any_text(dice, imu.topic, OTO_TOPIC_BYTES - 3);
    if (imu.topic[0] != '\0') { /* each its own */
        imu.topic[strlen(imu.topic)] = (char)('0' + index); /* zeros follow */
    }
    any_text(dice, imu.frame_id, OTO_WORLD_NAME_BYTES - 1);
    any_numbers(dice, imu.position_m, 3, 1000);
    any_numbers(dice, imu.rpy_deg, 3, 360);
    imu.update_rate_hz = any_number(dice, 0, 1e6, false);
    imu.offset_start_time = (int64_t)roll(dice, 2);
    imu.offset_start_max_samples = 1 + (int64_t)roll(dice, 1000);
    imu.discard_redundant_data = (int64_t)roll(dice, 2);
    imu.gravity_m_s2 = any_number(dice, OTO_SDF_GRAVITY_WORLD, 1e4, false);
    imu.scene_units_per_m = any_number(dice, 1, 1e9, false);
    imu.orientation_enable = (int64_t)roll(dice, 2);
    imu.localization = (int64_t)roll(dice, 6);
    imu.custom_rpy_parent_frame = (int64_t)roll(dice, 2);
    imu.grav_dir_x_parent_frame = (int64_t)roll(dice, 2);
    any_numbers(dice, imu.custom_rpy_rad, 3, 10);
    any_numbers(dice, imu.grav_dir_x, 3, 1);
    any_numbers(dice, imu.orientation_covariance, 9, 1);
    any_numbers(dice, imu.angular_velocity_covariance, 9, 1);
    any_numbers(dice, imu.linear_acceleration_covariance, 9, 1);
    for (int axis = 0; axis < OTO_SDF_AXES; axis++) {
        struct oto_sdf_noise *noise = &imu.noise[axis];
        noise->type = (int64_t)roll(dice, 3);
        noise->mean = any_number(dice, 0, 1e12, true);
        noise->bias_mean = any_number(dice, 0, 100, true);
        noise->stddev = any_number(dice, 0, 1e12, false);
        noise->bias_stddev = any_number(dice, 0, 10, false);
        noise->dynamic_bias_stddev = any_number(dice, 0, 1, false);
        noise->dynamic_bias_correlation_time = any_number(dice, 0, 3600, false);
        noise->precision = any_number(dice, 0, 1, false);
    }
    return imu;
}

static void any_world(struct dice *dice, struct oto_sdf_world *world)
{
    const uint32_t count = 1 + (uint32_t)roll(dice, 4);
    *world = (struct oto_sdf_world){.name = "any"};
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_sdf_imu imu = any_imu(dice, i);
        assert_non_null(oto_sdf_world_add(world, &imu));
    }
}

/* Sensors come back grouped by vehicle: compared by name. */
static void assert_same(const struct oto_sdf_world *a, const struct oto_sdf_world *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++) {
        struct oto_sdf_imu left = a->imus[i], right = {0};
        for (uint32_t k = 0; k < b->count; k++) {
            right = strcmp(b->imus[k].name, left.name) == 0 ? b->imus[k] : right;
        }
        left.line = left.column = right.line = right.column = 0;
        assert_string_equal(left.topic, right.topic);
        assert_string_equal(left.frame_id, right.frame_id);
        assert_string_equal(left.vehicle, right.vehicle);
        assert_memory_equal(left.position_m, right.position_m, sizeof left - offsetof(struct oto_sdf_imu, position_m));
    }
}

static void to_xml_and_back(const struct oto_sdf_world *world, struct oto_sdf_world *back)
{
    char *text = NULL;
    size_t bytes = 0;
    struct oto_error error = {0};
    struct warnings warnings;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    assert_ok(oto_sdf_to_xml(world, file, &error), error);
    (void)fclose(file);
    assert_ok(read_text(text, bytes, &warnings, back, &error), error);
    assert_int_equal(warnings.count, 0);
    free(text);
}

static void to_yaml_and_back(const struct oto_sdf_world *world, const struct oto_plugin_descriptor *descriptor,
                             struct oto_sdf_world *back)
{
    char path[] = "sdf_world_XXXXXX";
    struct oto_error error = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    assert_ok(oto_sdf_to_yaml(world, "any\nfile", file, &error), error);
    (void)fclose(file);
    const enum oto_status status = oto_sdf_from_yaml(path, descriptor, back, &error);
    (void)unlink(path);
    assert_ok(status, error);
}

static void C23_import_of_an_export_is_the_identity_on_every_property(void **state)
{
    enum { WORLDS = 300 };
    struct dice dice = {oto_rng_key_make(2026, "sdf"), 0};
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    (void)state;
    assert_ok(oto_plugin_open(OTO_PLUGIN_DIR "/sdf_imu.so", NULL, &plugin, &error), error);
    for (int i = 0; i < WORLDS; i++) {
        struct oto_sdf_world world, imported, loaded, again;
        any_world(&dice, &world);
        to_xml_and_back(&world, &imported); /* export, import */
        assert_same(&world, &imported);
        to_yaml_and_back(&imported, oto_plugin_descriptor(plugin), &loaded); /* as a world that sdf_imu takes */
        assert_same(&world, &loaded);
        to_xml_and_back(&loaded, &again); /* and out once more */
        assert_same(&world, &again);
        oto_sdf_world_finish(&world);
        oto_sdf_world_finish(&imported);
        oto_sdf_world_finish(&loaded);
        oto_sdf_world_finish(&again);
    }
    (void)oto_plugin_close(plugin);
}

/* What a description says by default is what the plugin has by default, and no parameter is missing from either. */
static void C23_every_parameter_of_the_plugin_has_a_word(void **state)
{
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    struct oto_params params = {0};
    char text[1024];
    (void)state;
    assert_ok(oto_plugin_open(OTO_PLUGIN_DIR "/sdf_imu.so", NULL, &plugin, &error), error);
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    assert_ok(oto_params_default(descriptor, &params, &error), error);
    struct oto_sdf_imu imu = oto_sdf_imu_default;
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const char *key = descriptor->params[i].key;
        assert_ok(oto_params_get(descriptor, key, &params, text, sizeof text, &error), error);
        assert_ok(oto_sdf_set_param(&imu, key, text, &error), error);
    }
    assert_memory_equal(&imu, &oto_sdf_imu_default, sizeof imu);
    assert_int_equal(oto_sdf_set_param(&imu, "colour", "1", &error), OTO_NOT_FOUND);
    assert_int_equal(oto_sdf_set_param(&imu, "update_rate_hz", "[1, 2]", &error), OTO_INVALID);
    oto_params_free(&params);
    (void)oto_plugin_close(plugin);
}

static void C23_worlds_that_have_nothing_to_export_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"world: w\n", "expected a world file with a list of vehicles"},
        {"vehicles: [{name: car, nodes: [{name: a, plugin: mems_imu}]}]", "no vehicle has a node of plugin sdf_imu"},
        {"vehicles: [{name: car, nodes: [{name: a, plugin: sdf_imu, params: {colour: 1}}]}]", "colour"},
        {"vehicles: [{name: car, nodes: [{name: a, plugin: sdf_imu, params_file: nowhere.yaml}]}]", "nowhere.yaml"},
        {"vehicles: [{name: car, nodes: [{name: a, plugin: sdf_imu, mount: {position_m: 3}}]}]", "a list of 3 numbers"},
        {"vehicles: [{name: \"a b\", nodes: [{name: a, plugin: sdf_imu}]}]", "printable ASCII"},
    };
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    (void)state;
    assert_ok(oto_plugin_open(OTO_PLUGIN_DIR "/sdf_imu.so", NULL, &plugin, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_sdf_world world;
        FILE *file = fopen("sdf_bad.yaml", "w");
        assert_non_null(file);
        (void)fputs(cases[i][0], file);
        (void)fclose(file);
        assert_true(oto_sdf_from_yaml("sdf_bad.yaml", oto_plugin_descriptor(plugin), &world, &error) != OTO_OK);
        (void)unlink("sdf_bad.yaml");
        assert_non_null(strstr(error.text, cases[i][1]));
        assert_null(world.imus);
    }
    (void)oto_plugin_close(plugin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(C23_import_of_an_export_is_the_identity_on_every_property),
        cmocka_unit_test(C23_every_parameter_of_the_plugin_has_a_word),
        cmocka_unit_test(C23_worlds_that_have_nothing_to_export_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
