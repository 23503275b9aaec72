/* Import and export: files of other programs are read, and files are written for them. */
#include "oto_test.h"
#include "parts/parts.h"

#define DEG (3.14159265358979323846 / 180)
#define RT2 1.41421356237309504880

static char folder[] = "/tmp/otolith_exchange_XXXXXX";
static char json_path[64], part_path[64];

static struct oto_plugin *open_imu(void)
{
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    assert_ok(oto_plugin_open(OTO_PLUGIN_DIR "/mems_imu.so", NULL, &plugin, &error), error);
    return plugin;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void count(void *context, const char *sentence)
{
    (void)sentence;
    ++*(int *)context;
}

static enum oto_status import_to(const char *from, const char *entry, int *warnings, struct oto_error *error)
{
    FILE *file = fopen(part_path, "we");
    assert_non_null(file);
    const enum oto_status status = parts_import(file, from, entry, "imported/part", count, warnings, error);
    const long bytes = ftell(file);
    assert_int_equal(fclose(file), 0);
    assert_true(status == OTO_OK ? bytes > 0 : bytes == 0);
    return status;
}

static void assert_same(const struct oto_params *a, const struct oto_params *b,
                        const struct oto_plugin_descriptor *descriptor)
{
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        /* An imported part brings its magnetometer along, and says nothing of the surroundings. */
        if (param->type != OTO_PARAM_F64 || strcmp(param->key, "temperature_degc") == 0 ||
            strcmp(param->key, "magnetic_field_enu_ut") == 0 || strstr(param->key, "_tau_max_s") != NULL) {
            continue; /* and its floor is continued */
        }
        for (uint32_t k = 0; k < param->count; k++) {
            double x, y;
            memcpy(&x, (const char *)a->block + param->offset + 8 * (size_t)k, sizeof x);
            memcpy(&y, (const char *)b->block + param->offset + 8 * (size_t)k, sizeof y);
            if (x != y) {
                fail_msg("%s[%u]: %.17g and %.17g", param->key, k, x, y);
            }
        }
    }
}

static void bind_part(const struct oto_plugin_descriptor *descriptor, struct oto_params *params)
{
    struct oto_part *part;
    struct oto_error error = {0};
    assert_ok(oto_part_read(part_path, &part, &error), error);
    assert_ok(oto_params_default(descriptor, params, &error), error);
    assert_ok(oto_part_apply(part, &part->modes[0], descriptor, params, NULL, NULL, &error), error);
    oto_part_close(part);
}

static void a_mavs_file_binds_the_same_as_the_part_that_is_imported_from_it(void **state)
{
    (void)state;
    struct oto_plugin *plugin = open_imu();
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    struct oto_params direct, imported;
    struct oto_document *document;
    struct oto_error error = {0};
    int warnings = 0;
    const char *mavs = OTO_SOURCE_DIR "/configs/sensors/mavs_imu.json";
    assert_ok(oto_document_read(mavs, NULL, &document, &error), error);
    assert_ok(oto_params_default(descriptor, &direct, &error), error);
    assert_ok(oto_params_apply(descriptor, oto_document_root(document), &direct, &error), error);
    assert_ok(import_to(mavs, NULL, &warnings, &error), error);
    bind_part(descriptor, &imported);
    assert_same(&direct, &imported, descriptor);
    assert_int_equal(warnings, 0);
    oto_params_free(&direct);
    oto_params_free(&imported);
    oto_document_close(document);
    (void)oto_plugin_close(plugin);
}

static const char matlab[] = "{\"Six\": {\"Accelerometer\": {\"MeasurementRange\": 19.6, \"Resolution\": 0.0006, "
                             "\"ConstantBias\": [0.1, 0.2, 0.3],"
                             " \"AxesMisalignment\": [[100, 2, 2], [3, 100, 3], [4, 4, 100]], \"NoiseDensity\": 0.004, "
                             "\"NoiseType\": \"double-sided\","
                             " \"BiasInstability\": 0.001, \"RandomWalk\": [1e-5, 1e-5, 1e-5], \"TemperatureBias\": 0, "
                             "\"TemperatureScaleFactor\": 0.02,"
                             " \"BiasInstabilityCoefficients\": {\"Numerator\": 1}},"
                             " \"Gyroscope\": {\"MeasurementRange\": \"Inf\", \"Resolution\": 0, \"NoiseDensity\": "
                             "1e-4, \"NoiseType\": \"single-sided\","
                             " \"AccelerationBias\": 1.78e-4}},"
                             " \"Other\": {\"Gyroscope\": {\"NoiseDensity\": 5}}}";

static void a_matlab_file_keeps_its_noise_conventions(void **state)
{
    (void)state;
    struct oto_plugin *plugin = open_imu();
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    struct oto_params params;
    struct oto_error error = {0};
    char text[128];
    int warnings = 0;
    write_file(json_path, matlab);
    assert_ok(import_to(json_path, "Six", &warnings, &error), error);
    assert_int_equal(warnings, 1); /* about the temperature coefficients, which the format lacks */
    bind_part(descriptor, &params);
    assert_ok(oto_params_get(descriptor, "accelerometer.noise_density_m_s2_rthz", &params, text, sizeof text, &error),
              error);
    assert_near(strtod(text + 1, NULL), 0.004, 0); /* sigma = density sqrt(fs/2) */
    assert_ok(oto_params_get(descriptor, "gyroscope.noise_density_rad_s_rthz", &params, text, sizeof text, &error),
              error);
    assert_near(strtod(text + 1, NULL), RT2 * 1e-4, 1e-19); /* sigma = density sqrt(fs) */
    assert_ok(oto_params_get(descriptor, "accelerometer.axis_misalignment_percent", &params, text, sizeof text, &error),
              error);
    assert_string_equal(text, "[2, 3, 4]");
    assert_ok(oto_params_get(descriptor, "accelerometer.bias_instability_m_s2", &params, text, sizeof text, &error),
              error);
    assert_near(strtod(text + 1, NULL), 0.001, 0);
    /* MATLAB's step is RandomWalk √(2/fs), Allan's K √(1/fs) */
    assert_ok(oto_params_get(descriptor, "accelerometer.random_walk_m_s2_rthz", &params, text, sizeof text, &error),
              error);
    assert_near(strtod(text + 1, NULL), RT2 * 1e-5, 1e-19);
    assert_ok(oto_params_get(descriptor, "gyroscope.measurement_range_rad_s", &params, text, sizeof text, &error),
              error);
    assert_near(strtod(text, NULL), 0, 0);
    oto_params_free(&params);
    (void)oto_plugin_close(plugin);
}

static void bad_files_are_refused_and_nothing_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *text, *entry, *words;
    } cases[] = {
        {"[]", NULL, "a JSON object"},
        {"{\"x\": 1}", NULL, "no section"},
        {matlab, NULL, "--entry chooses among Six, Other"},
        {matlab, "Seven", "no section"},
        {"{\"Gyroscope\": {\"NoiseDensity\": [1, 2]}}", NULL, "three, one for each axis"},
        {"{\"Gyroscope\": {\"NoiseDensity\": \"x\"}}", NULL, "a number"},
        {"{\"Gyroscope\": {\"NoiseDensity\": 1, \"NoiseType\": \"both\"}}", NULL, "double-sided or single-sided"},
        {"{\"Gyroscope\": {\"AxesMisalignment\": [[100, 1, 2], [0, 100, 0], [0, 0, 100]]}}", NULL, "row 1"},
        {"{\"Gyroscope\": {\"AxesMisalignment\": [[99, 1, 1], [0, 100, 0], [0, 0, 100]]}}", NULL, "row 1"},
        {"{\"Gyroscope\": 5}", NULL, "an object"},
        {"{\"Gyroscope\": {", NULL, ":"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct oto_error error = {0};
        int warnings = 0;
        write_file(json_path, cases[i].text);
        assert_int_not_equal(import_to(json_path, cases[i].entry, &warnings, &error), OTO_OK);
        if (strstr(error.text, cases[i].words) == NULL) {
            fail_msg("case %zu: %s", i, error.text);
        }
    }
}

/* ---- export ---- */

static char *export_text(const char *name, enum parts_format format, double rate_hz)
{
    struct oto_part *part;
    struct oto_error error = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_ok(oto_part_open(name, NULL, &part, &error), error);
    assert_ok(parts_export(stream, format, part, &part->modes[part->default_mode], rate_hz, &error), error);
    assert_int_equal(fclose(stream), 0);
    oto_part_close(part);
    return text;
}

static double number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    assert_non_null(at);
    return strtod(at + strlen(word), NULL);
}

static void kalibr_gets_two_sided_densities(void **state)
{
    (void)state;
    char *text = export_text("tdk/mpu-6050", PARTS_KALIBR, 200);
    assert_near(number_after(text, "gyroscope_noise_density: "), 0.005 * DEG / RT2, 1e-13);
    assert_near(number_after(text, "accelerometer_noise_density: "), 400e-6 * 9.80665 / RT2, 1e-11);
    assert_near(number_after(text, "gyroscope_random_walk: "), 0, 0);
    assert_non_null(strstr(text, "the part has no source for it"));
    assert_near(number_after(text, "update_rate: "), 200, 0);
    free(text);
    /* It is YAML: our own reader takes it. */
    struct oto_document *document;
    struct oto_error error = {0};
    text = export_text("sensonor/stim300", PARTS_KALIBR, 125);
    assert_ok(oto_document_parse("imu.yaml", text, strlen(text), NULL, &document, &error), error);
    double n = 0;
    assert_ok(oto_value_f64(oto_value_get(oto_document_root(document), "gyroscope_noise_density"), &n, &error), error);
    assert_near(n, 0.15 / 60 * DEG, 1e-13);
    oto_document_close(document);
    free(text);
}

static void sdf_gets_the_deviation_of_a_sample(void **state)
{
    (void)state;
    char *text = export_text("tdk/mpu-9250", PARTS_SDF, 200);
    assert_near(
        number_after(text,
                     "<angular_velocity>\n    <x>\n      <noise type=\"gaussian_quantized\">\n        <mean>0</mean>\n"
                     "        <stddev>"),
        0.01 * DEG * sqrt(200.0 / 2), 1e-11);
    assert_near(number_after(text, "<bias_stddev>"), 0.060 * 9.80665, 1e-9);
    assert_near(number_after(text, "<precision>"), 9.80665 / 2048, 1e-11);
    assert_non_null(strstr(text, "</imu>"));
    free(text);
    text = export_text("akm/ak09916", PARTS_SDF, 0);
    assert_near(number_after(text, "<precision>"), 0.15e-6, 1e-15); /* tesla */
    assert_near(number_after(text, "<bias_stddev>"), 100e-6, 1e-13);
    free(text);
}

static void an_export_without_rate_or_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum parts_format format;
        const char *words;
    } cases[] = {{"adi/adis16470", PARTS_SDF, "--rate HZ"}, {"akm/ak09916", PARTS_KALIBR, "is a magnetometer"}};
    for (size_t i = 0; i < 2; i++) {
        struct oto_part *part;
        struct oto_error error = {0};
        assert_ok(oto_part_open(cases[i].name, NULL, &part, &error), error);
        assert_int_equal(parts_export(stderr, cases[i].format, part, &part->modes[0], 0, &error), OTO_INVALID);
        assert_non_null(strstr(error.text, cases[i].words));
        oto_part_close(part);
    }
}

static void json_of_a_part_is_json_with_every_convention(void **state)
{
    (void)state;
    struct oto_part *part;
    struct oto_document *document;
    struct oto_error error = {0};
    char *text = NULL;
    size_t bytes = 0;
    double n = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_ok(oto_part_open("sensonor/stim300", NULL, &part, &error), error);
    parts_show_json(stream, part, &part->modes[0]);
    parts_show(stream, part, &part->modes[0]);
    assert_int_equal(fclose(stream), 0);
    char *end = strchr(text, '\n');
    assert_non_null(end);
    assert_ok(oto_document_parse("json", text, (size_t)(end - text), NULL, &document, &error), error);
    const struct oto_value *noise = oto_value_get(oto_value_get(oto_document_root(document), "gyroscope"), "noise");
    static const struct {
        const char *key;
        double value;
    } rows[] = {{"angle_random_walk_deg_rth", 0.15},
                {"angle_random_walk_vendor_deg_rth", 0.15 * RT2},
                {"density_double_rad_s_rthz", 0.15 / 60 * DEG},
                {"density_single_deg_s_rthz", 0.15 / 60 * RT2},
                {"allan_floor_deg_h", 0.5},
                {"b_deg_h", 0.5 / 0.66428}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct oto_value *list = oto_value_get(noise, rows[i].key);
        assert_non_null(list);
        assert_int_equal(list->count, 3);
        assert_ok(oto_value_f64(list->items[0], &n, &error), error);
        assert_near(n, rows[i].value, 1e-14 * rows[i].value);
    }
    assert_true(oto_value_is_null(oto_value_get(noise, "k_rad_s2_rthz")));
    assert_non_null(strstr(end, "no citable source for: output_rate"));
    oto_document_close(document);
    oto_part_close(part);
    free(text);
}

static int make_folder(void **state)
{
    (void)state;
    const bool made = mkdtemp(folder) != NULL;
    (void)snprintf(json_path, sizeof json_path, "%s/in.json", folder);
    (void)snprintf(part_path, sizeof part_path, "%s/out.yaml", folder);
    return made ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(json_path);
    (void)unlink(part_path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mavs_file_binds_the_same_as_the_part_that_is_imported_from_it),
        cmocka_unit_test(a_matlab_file_keeps_its_noise_conventions),
        cmocka_unit_test(bad_files_are_refused_and_nothing_is_written),
        cmocka_unit_test(kalibr_gets_two_sided_densities),
        cmocka_unit_test(sdf_gets_the_deviation_of_a_sample),
        cmocka_unit_test(an_export_without_rate_or_sense_is_refused),
        cmocka_unit_test(json_of_a_part_is_json_with_every_convention),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
