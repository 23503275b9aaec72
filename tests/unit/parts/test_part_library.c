/* Every shipped part: it loads, each mode binds to the plugins, and chosen numbers are what the sheets say. */
#include "oto_test.h"
#include "parts/library.h"
#include "parts/terms.h"

#define DEG (3.14159265358979323846 / 180)
#define G0 9.80665
#define RT2 1.41421356237309504880

static struct oto_plugin *imu_plugin, *mag_plugin, *gnss_plugin, *barometer_plugin, *odometer;

static struct oto_plugin *open_plugin(const char *name)
{
    char path[512];
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    (void)snprintf(path, sizeof path, "%s/%s.so", OTO_PLUGIN_DIR, name);
    assert_ok(oto_plugin_open(path, NULL, &plugin, &error), error);
    return plugin;
}

static double get(const struct oto_plugin *plugin, const struct oto_params *params, const char *key, int element)
{
    char text[256];
    struct oto_error error = {0};
    assert_ok(oto_params_get(oto_plugin_descriptor(plugin), key, params, text, sizeof text, &error), error);
    const char *at = text + (text[0] == '[');
    for (int i = 0; i < element; i++) {
        at = strchr(at, ',') + 1;
    }
    return strtod(at, NULL);
}

static void apply(const char *name, const char *mode_name, const struct oto_plugin *plugin, struct oto_params *params)
{
    struct oto_part *part;
    const struct oto_part_mode *mode;
    struct oto_error error = {0};
    assert_ok(oto_part_open(name, NULL, &part, &error), error);
    assert_ok(oto_part_mode_find(part, mode_name, &mode, &error), error);
    assert_ok(oto_params_default(oto_plugin_descriptor(plugin), params, &error), error);
    assert_ok(oto_part_apply(part, mode, oto_plugin_descriptor(plugin), params, NULL, NULL, &error), error);
    oto_part_close(part);
}

/* ---- all ---- */

struct census {
    uint32_t imus, magnetometers;
    double worst[OTO_PART_TRIADS];
    uint32_t warned, others;
};

static void count_warning(void *context, const char *sentence)
{
    print_error("%s\n", sentence);
    ++*(uint32_t *)context;
}

static void bind_mode(struct census *census, const struct oto_part *part, const struct oto_part_mode *mode)
{
    const struct oto_plugin *plugin = part->is_imu                               ? imu_plugin
                                      : strcmp(part->kind_name, "receiver") == 0 ? gnss_plugin
                                      : strcmp(part->kind_name, "pressure") == 0 ? barometer_plugin
                                                                                 : mag_plugin;
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    struct oto_params params;
    struct oto_error error = {0};
    assert_ok(oto_params_default(descriptor, &params, &error), error);
    assert_ok(oto_part_apply(part, mode, descriptor, &params, NULL, NULL, &error), error);
    oto_params_check_plausible(descriptor, &params, count_warning, &census->warned);
    oto_params_free(&params);
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        struct oto_part_noise noise;
        oto_part_noise(mode, (enum oto_part_triad)triad, &noise);
        for (int axis = 0; axis < 3; axis++) {
            census->worst[triad] = fmax(census->worst[triad], noise.white_u_rthz[axis]);
        }
    }
}

static enum oto_status count_part(void *context, const char *name, struct oto_error *error)
{
    struct census *census = context;
    struct oto_part *part;
    const enum oto_status status = oto_part_open(name, NULL, &part, error);
    if (status != OTO_OK) {
        return status;
    }
    census->imus += part->is_imu;
    census->magnetometers += part->kind == OTO_PART_KIND_MAGNETOMETER;
    census->others += part->kind == OTO_PART_KIND_SETTINGS;
    for (uint32_t i = 0; i < part->mode_count; i++) {
        bind_mode(census, part, &part->modes[i]);
    }
    oto_part_close(part);
    return OTO_OK;
}

static void every_mode_of_every_part_binds_and_is_plausible(void **state)
{
    (void)state;
    struct census census = {0};
    struct oto_error error = {0};
    assert_ok(oto_parts_each(count_part, &census, &error), error);
    assert_true(census.imus >= 12);
    assert_true(census.magnetometers >= 3);
    assert_true(census.others >= 7);
    assert_int_equal(census.warned, 0);
    /* The table of implausible densities is 18 times the worst that is shipped. */
    for (int triad = 0; triad < OTO_PART_TRIADS; triad++) {
        assert_near(oto_implausible_density_u_rthz((enum oto_part_triad)triad) / 18, census.worst[triad],
                    1e-12 * census.worst[triad]);
    }
}

/* ---- some ---- */

static void numbers_of_a_full_sheet_become_parameters(void **state)
{
    (void)state;
    struct oto_params params;
    apply("tdk/mpu-9250", "250dps-2g", imu_plugin, &params);
    assert_near(get(imu_plugin, &params, "gyroscope.measurement_range_rad_s", 0), 250 * DEG, 1e-15);
    assert_near(get(imu_plugin, &params, "gyroscope.resolution_rad_s", 0), DEG / 131, 1e-18);
    assert_near(get(imu_plugin, &params, "gyroscope.noise_density_rad_s_rthz", 2), 0.01 * DEG, 1e-18);
    assert_near(get(imu_plugin, &params, "gyroscope.unit_bias_rad_s", 1), 5 * DEG, 1e-16);
    assert_near(get(imu_plugin, &params, "gyroscope.unit_scale_factor_percent", 1), 3, 0);
    assert_near(get(imu_plugin, &params, "accelerometer.unit_bias_m_s2", 0), 0.060 * G0, 1e-15);
    assert_near(get(imu_plugin, &params, "accelerometer.unit_bias_m_s2", 2), 0.080 * G0, 1e-15);
    /* ± on the sheet: a spread for each axis and unit, no slope that all units share */
    assert_near(get(imu_plugin, &params, "accelerometer.unit_temperature_bias_m_s2_degc", 0), 1.5e-3 * G0, 1e-17);
    assert_near(get(imu_plugin, &params, "accelerometer.unit_temperature_scale_factor_percent_degc", 0), 0.026, 0);
    assert_near(get(imu_plugin, &params, "accelerometer.temperature_bias_m_s2_degc", 0), 0, 0);
    assert_near(get(imu_plugin, &params, "accelerometer.temperature_scale_factor_percent_degc", 0), 0, 0);
    assert_near(get(imu_plugin, &params, "magnetometer.resolution_ut", 0), 0.6, 0);
    assert_near(params.rate_hz, 1000, 0);
    oto_params_free(&params);
}

static void totals_over_temperature_are_no_slopes(void **state)
{
    (void)state;
    struct oto_params params;
    apply("tdk/mpu-6050", NULL, imu_plugin, &params);
    assert_near(get(imu_plugin, &params, "gyroscope.temperature_bias_rad_s_degc", 0), 0, 0);
    assert_near(get(imu_plugin, &params, "accelerometer.temperature_bias_m_s2_degc", 0), 0, 0);
    oto_params_free(&params);
}

static void a_maximum_is_three_standard_deviations(void **state)
{
    (void)state;
    struct oto_params params;
    apply("tdk/mpu-6050", NULL, imu_plugin, &params);
    assert_near(get(imu_plugin, &params, "gyroscope.unit_scale_factor_percent", 0), 1, 0); /* -3 … 3 % */
    oto_params_free(&params);
    apply("akm/ak09916", NULL, mag_plugin, &params);
    assert_near(get(mag_plugin, &params, "magnetometer.unit_bias_ut", 0), 2000 * 0.15 / 3, 1e-13); /* ±2000 LSB */
    oto_params_free(&params);
}

static void random_walks_and_stabilities_become_single_sided_density_and_b(void **state)
{
    (void)state;
    struct oto_params params;
    apply("sensonor/stim300", NULL, imu_plugin, &params);
    assert_near(get(imu_plugin, &params, "gyroscope.noise_density_rad_s_rthz", 0), RT2 * 0.15 / 60 * DEG, 1e-18);
    assert_near(get(imu_plugin, &params, "accelerometer.noise_density_m_s2_rthz", 0), RT2 * 0.06 / 60, 1e-17);
    assert_near(get(imu_plugin, &params, "gyroscope.bias_instability_rad_s", 0), 0.5 / 3600 * DEG / 0.66428, 1e-18);
    assert_near(get(imu_plugin, &params, "gyroscope.unit_acceleration_bias_rad_s_m_s2", 0), DEG / 3600 / G0, 1e-20);
    /* the document shows 18 h, a tenth of which is the longest averaging time: the floor is continued over a day */
    assert_near(get(imu_plugin, &params, "gyroscope.bias_instability_tau_min_s", 0), 1, 0);
    assert_near(get(imu_plugin, &params, "gyroscope.bias_instability_tau_max_s", 0), 1e5, 0);
    oto_params_free(&params);
}

static void keep_sentence(void *context, const char *sentence)
{
    (void)snprintf(context, 400, "%s", sentence);
}

/* The deviation of the white noise at 10 s is the floor; 2.8 mdps/√Hz is single-sided. */
static void white_noise_without_a_floor_gets_the_default_floor(void **state)
{
    (void)state;
    struct oto_params params;
    apply("tdk/icm-42688-p", NULL, imu_plugin, &params);
    const double floor = 2.8e-3 * DEG / RT2 / sqrt(10.0);
    assert_near(get(imu_plugin, &params, "gyroscope.bias_instability_rad_s", 1), floor / 0.66428, 1e-18);
    assert_near(get(imu_plugin, &params, "gyroscope.bias_instability_tau_max_s", 0), 1e5, 0);
    oto_params_free(&params);
    apply("st/lsm6dso", "normal-2g", imu_plugin, &params); /* a noise of each sample has no density, so no floor */
    assert_near(get(imu_plugin, &params, "accelerometer.bias_instability_m_s2", 0), 0, 0);
    oto_params_free(&params);
    apply("st/lis3mdl", NULL, mag_plugin, &params);
    assert_near(get(mag_plugin, &params, "magnetometer.bias_instability_ut", 0), 0, 0);
    oto_params_free(&params);
}

/* A crossing of a triad whose documents give both white noise and floor: the averaging time at which they are equal. */
struct crossings {
    double log_s[64];
    uint32_t count;
};

static enum oto_status add_crossings(void *context, const char *name, struct oto_error *error)
{
    struct crossings *crossings = context;
    struct oto_part *part;
    const enum oto_status status = oto_part_open(name, NULL, &part, error);
    for (int triad = 0; status == OTO_OK && triad < OTO_PART_MAGNETOMETER; triad++) {
        struct oto_part_noise noise;
        oto_part_noise(&part->modes[part->default_mode], (enum oto_part_triad)triad, &noise);
        if (noise.has_white && noise.has_instability) {
            assert_true(crossings->count < 64);
            crossings->log_s[crossings->count++] =
                2.0 * log(noise.white_u_rthz[0] / RT2 / (OTO_PART_ALLAN_FLOOR * noise.instability_u[0]));
        }
    }
    if (status == OTO_OK) {
        oto_part_close(part);
    }
    return status;
}

static int by_size(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void the_default_floor_is_that_of_the_documents_that_give_one(void **state)
{
    (void)state;
    struct crossings all = {.count = 0};
    struct oto_error error = {0};
    assert_ok(oto_parts_each(add_crossings, &all, &error), error);
    assert_true(all.count >= 10);
    qsort(all.log_s, all.count, sizeof *all.log_s, by_size);
    const double median_s = exp(0.5 * (all.log_s[(all.count - 1) / 2] + all.log_s[all.count / 2]));
    print_message("median crossing of %u triads: %g s, from %g to %g s\n", all.count, median_s, exp(all.log_s[0]),
                  exp(all.log_s[all.count - 1]));
    assert_true(median_s > OTO_PART_MEET_S / 1.5 && median_s < OTO_PART_MEET_S * 1.5);
}

static void a_floor_without_white_noise_gets_default_white_noise_and_a_warning(void **state)
{
    (void)state;
    struct oto_params params;
    struct oto_part *part;
    struct oto_error error = {0};
    char sentence[400] = "";
    assert_ok(oto_part_open("adi/adis16475-1", NULL, &part, &error), error);
    assert_ok(oto_params_default(oto_plugin_descriptor(imu_plugin), &params, &error), error);
    assert_ok(oto_part_apply(part, &part->modes[0], oto_plugin_descriptor(imu_plugin), &params, keep_sentence, sentence,
                             &error), error);
    assert_near(get(imu_plugin, &params, "accelerometer.noise_density_m_s2_rthz", 2), 3.6e-6 * G0 * sqrt(10.0) * RT2, 1e-18);
    assert_non_null(strstr(sentence, "the accelerometer is simulated with default white noise"));
    oto_part_close(part);
    oto_params_free(&params);
}

/* White noise that a log shows to 400 s: the default floor is a tenth of the shown variance there, so it meets at 4000 s. */
static void a_shown_curve_is_not_changed_by_the_default(void **state)
{
    (void)state;
    static const char text[] =
        "part: a/b\ntitle: t\nvendor: v\nkind: imu\ndocuments: {log: {title: t}}\n"
        "missing: [gyroscope.range, gyroscope.in_run_bias_stability, accelerometer.range, accelerometer.noise_density, "
        "accelerometer.in_run_bias_stability]\nmodes:\n  log:\n    gyroscope:\n"
        "      allan_n: {value: 1e-4, unit: rad/s/√Hz, is: typ, known_s: [0.01, 400], source: \"log fit\"}\n";
    char path[] = "/tmp/otolith_curve_XXXXXX.yaml";
    const int file = mkstemps(path, 5);
    struct oto_part *part;
    struct oto_part_curve curve;
    struct oto_error error = {0};
    assert_true(file >= 0);
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(close(file), 0);
    assert_ok(oto_part_read(path, &part, &error), error);
    oto_part_curve(&part->modes[0], OTO_PART_GYROSCOPE, &curve);
    assert_true(curve.default_floor && !curve.default_white);
    assert_near(curve.known_s, 400, 0);
    assert_near(curve.meet_s, 4000, 0);
    const double floor = OTO_PART_ALLAN_FLOOR * curve.value_u[0];
    assert_near(floor * floor / (1e-8 / 400), 0.1, 1e-12);
    oto_part_curve(&part->modes[0], OTO_PART_ACCELEROMETER, &curve);
    assert_false(curve.default_floor || curve.default_white);
    oto_part_close(part);
    assert_int_equal(unlink(path), 0);
}

static void rms_noise_of_a_sheet_is_that_of_a_sample_at_every_rate(void **state)
{
    (void)state;
    struct oto_params params;
    apply("st/lsm6dso", "normal-8g", imu_plugin, &params);
    assert_near(get(imu_plugin, &params, "accelerometer.noise_rms_m_s2", 0), 2.4e-3 * G0, 1e-17);
    assert_near(get(imu_plugin, &params, "accelerometer.noise_density_m_s2_rthz", 0), 0, 0);
    oto_params_free(&params);
}

static void a_triad_without_noise_is_named(void **state)
{
    (void)state;
    struct oto_params params;
    struct oto_part *part;
    struct oto_error error = {0};
    char sentence[400] = "";
    assert_ok(oto_part_open("akm/ak8963", NULL, &part, &error), error);
    assert_ok(oto_params_default(oto_plugin_descriptor(mag_plugin), &params, &error), error);
    assert_ok(oto_part_apply(part, &part->modes[0], oto_plugin_descriptor(mag_plugin), &params, keep_sentence, sentence,
                             &error), error);
    assert_non_null(strstr(sentence, "the magnetometer is simulated without noise"));
    assert_non_null(strstr(sentence, "magnetometer.noise_density_ut_rthz"));
    oto_part_close(part);
    oto_params_free(&params);
    assert_int_equal(oto_part_open("aceinna/openrtk330", NULL, &part, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "aceinna/openimu300za"));
}

static void lis3mdl_has_the_digits_of_its_sheet(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        double lsb_gauss;
    } rows[] = {{"4gauss", 6842}, {"8gauss", 3421}, {"12gauss", 2281}, {"16gauss", 1711}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct oto_params params;
        apply("st/lis3mdl", rows[i].mode, mag_plugin, &params);
        assert_near(get(mag_plugin, &params, "magnetometer.resolution_ut", 0), 100 / rows[i].lsb_gauss, 1e-15);
        assert_near(get(mag_plugin, &params, "magnetometer.noise_rms_ut", 2), 0.41, 1e-15);
        oto_params_free(&params);
    }
}

static void the_smallest_of_three_ranges_holds_where_there_is_one(void **state)
{
    (void)state;
    struct oto_params params;
    apply("bosch/bmm150", NULL, mag_plugin, &params);
    assert_near(get(mag_plugin, &params, "magnetometer.measurement_range_ut", 0), 1300, 0);
    oto_params_free(&params);
}

/* The sheets give no sign: a spread from unit to unit, of a typical value as it is printed. */
static void A4_cross_axis_of_a_sheet_becomes_a_spread_from_unit_to_unit(void **state)
{
    (void)state;
    struct oto_params params;
    apply("tdk/mpu-6050", NULL, imu_plugin, &params);
    assert_near(get(imu_plugin, &params, "gyroscope.unit_cross_axis_percent", 2), 2, 0);
    assert_near(get(imu_plugin, &params, "accelerometer.unit_cross_axis_percent", 0), 2, 0);
    oto_params_free(&params);
    apply("sensonor/stim300", NULL, imu_plugin, &params);
    assert_near(get(imu_plugin, &params, "gyroscope.unit_cross_axis_percent", 0), 0.1, 1e-16); /* 1 mrad */
    oto_params_free(&params);
}

/* A number of a sheet that is not for people alone is a parameter of the plugin: none is dropped in silence. */
static void every_term_has_the_parameter_it_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < part_term_count; i++) {
        for (int triad = 0; triad < OTO_PART_TRIADS && part_terms[i].key != NULL; triad++) {
            char key[96], named[64];
            const char *mark = strstr(part_terms[i].key, "%s");
            const size_t head = mark != NULL ? (size_t)(mark - part_terms[i].key) : strlen(part_terms[i].key);
            (void)snprintf(named, sizeof named, "%.*s%s%s", (int)head, part_terms[i].key,
                           mark != NULL ? part_triad_key((enum oto_part_triad)triad) : "", mark != NULL ? mark + 2 : "");
            (void)snprintf(key, sizeof key, "%s.%s", oto_part_triad_name((enum oto_part_triad)triad), named);
            const bool gyroscope_alone = strstr(part_terms[i].name, "g_sensitivity") != NULL;
            if (gyroscope_alone && triad != OTO_PART_GYROSCOPE) {
                continue;
            }
            if (oto_param_find(oto_plugin_descriptor(imu_plugin), key) == NULL) {
                fail_msg("term '%s' names '%s', which is no parameter", part_terms[i].name, key);
            }
        }
    }
}

/* 0.9 Pa behind the filter of coefficient 3 (Table 8) is 0.9 sqrt(7) before it. */
static void settings_of_a_part_are_parameters_of_its_plugin(void **state)
{
    (void)state;
    struct oto_params params;
    apply("bosch/bmp388", NULL, barometer_plugin, &params);
    assert_near(get(barometer_plugin, &params, "noise_density_pa_rthz", 0), 0.9 * sqrt(7) / sqrt(25), 1e-6);
    assert_near(get(barometer_plugin, &params, "iir_coefficient", 0), 3, 0);
    oto_params_free(&params);
    apply("u-blox/zed-f9p", NULL, gnss_plugin, &params);
    assert_near(get(gnss_plugin, &params, "fixed.position_sigma_m", 0), 0.01 / sqrt(2 * log(2)), 1e-6);
    oto_params_free(&params);
}

/* Applies the parameters `lines` of a part that has triads too. */
static enum oto_status apply_beside_triads(const char *lines, struct oto_params *params, struct oto_error *error)
{
    char path[] = "/tmp/otolith-part-XXXXXX";
    const int fd = mkstemp(path);
    struct oto_part *part = NULL;
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "part: a/b\ntitle: t\nvendor: v\nkind: magnetometer\ndocuments:\n  log: {title: t}\n"
                            "missing: [magnetometer.range, magnetometer.noise_density, magnetometer.in_run_bias_stability]\n"
                            "modes:\n  one:\n    magnetometer:\n      resolution: {value: 0.5, unit: µT/LSB, is: typ, source: \"log samples\"}\n"
                            "    parameters:\n%s", lines) > 0);
    (void)close(fd);
    const enum oto_status status = oto_part_read(path, &part, error);
    (void)unlink(path);
    assert_ok(status, *error);
    assert_ok(oto_params_default(oto_plugin_descriptor(mag_plugin), params, error), *error);
    const enum oto_status applied = oto_part_apply(part, &part->modes[0], oto_plugin_descriptor(mag_plugin), params, NULL, NULL, error);
    oto_part_close(part);
    return applied;
}

static void parameters_beside_triads_are_set_and_others_are_left_out(void **state)
{
    (void)state;
    struct oto_params params;
    struct oto_error error = {0};
    assert_ok(apply_beside_triads("      magnetometer.scale_factor_error_percent: {value: [1, 2, 3], unit: \"%\", is: derived, source: \"log x\"}\n"
                                  "      gyroscope.scale_factor_error_percent: {value: [4, 5, 6], unit: \"%\", is: derived, source: \"log x\"}\n",
                                  &params, &error), error);
    assert_near(get(mag_plugin, &params, "magnetometer.scale_factor_error_percent", 1), 2, 0);
    oto_params_free(&params);
    assert_int_equal(apply_beside_triads("      magnetometer.scale_factor_error_percent: {value: [1, 2, 3], unit: \"1\", is: derived, source: \"log x\"}\n",
                                         &params, &error), OTO_INVALID);
    assert_non_null(strstr(error.text, "is in '1', plugin 'magnetometer' takes '%'"));
    oto_params_free(&params);
}

/* ---- what does not fit ---- */

static void a_part_of_another_kind_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"tdk/mpu-6050", "bosch/bmm150", "bosch/bmm150", "bosch/bmp388", "u-blox/zed-f9p"};
    const struct oto_plugin *plugins[] = {mag_plugin, imu_plugin, odometer, gnss_plugin, barometer_plugin};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct oto_part *part;
        struct oto_params params;
        struct oto_error error = {0};
        const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugins[i]);
        assert_ok(oto_part_open(names[i], NULL, &part, &error), error);
        assert_ok(oto_params_default(descriptor, &params, &error), error);
        assert_int_equal(oto_part_apply(part, &part->modes[0], descriptor, &params, NULL, NULL, &error), OTO_INVALID);
        assert_non_null(strstr(error.text, names[i]));
        oto_params_free(&params);
        oto_part_close(part);
    }
}

static void names_never_leave_the_library(void **state)
{
    (void)state;
    static const char *const names[] = {"",     "x",    "../x", "a/../b", "a/b/c", "/etc/passwd",
                                        "a/.b", ".a/b", "a//b", "a/b\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        struct oto_error error = {0};
        assert_int_equal(oto_part_find(names[i], NULL, path, sizeof path, &error), OTO_INVALID);
    }
}

static void an_unknown_name_gets_a_suggestion_and_the_places(void **state)
{
    (void)state;
    char path[512];
    struct oto_error error = {0};
    assert_int_equal(oto_part_find("tdk/mpu9250", NULL, path, sizeof path, &error), OTO_NOT_FOUND);
    assert_non_null(strstr(error.text, "did you mean 'tdk/mpu-9250'"));
    assert_non_null(strstr(error.text, "configs/parts"));
}

/* ---- odd parameters ---- */

static void collect(void *context, const char *sentence)
{
    char *all = context;
    (void)strncat(all, sentence, 4000 - strlen(all) - 1);
    (void)strncat(all, "\n", 4000 - strlen(all) - 1);
}

static void odd_parameters_are_told_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *words;
    } rows[] = {
        {"gyroscope.noise_density_rad_s_rthz", "0.0048", "18 times that of the noisiest part"},
        {"accelerometer.noise_density_m_s2_rthz", "4", "is it in another unit?"},
        {"accelerometer.measurement_range_m_s2", "2", "less than 1 g"},
        {"gyroscope.measurement_range_rad_s", "1e-5", "less than the rate of the Earth"},
        {"magnetometer.measurement_range_ut", "5", "less than the weakest field"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(imu_plugin);
        struct oto_params params;
        struct oto_error error = {0};
        char told[4000] = "";
        assert_ok(oto_params_default(descriptor, &params, &error), error);
        oto_params_check_plausible(descriptor, &params, collect, told);
        assert_string_equal(told, "");
        assert_ok(oto_params_set(descriptor, rows[i].key, rows[i].value, false, &params, &error), error);
        oto_params_check_plausible(descriptor, &params, collect, told);
        assert_non_null(strstr(told, rows[i].key));
        assert_non_null(strstr(told, rows[i].words));
        oto_params_free(&params);
    }
}

static void a_density_just_below_the_limit_is_not_told(void **state)
{
    (void)state;
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(imu_plugin);
    struct oto_params params;
    struct oto_error error = {0};
    char told[4000] = "", text[40];
    assert_ok(oto_params_default(descriptor, &params, &error), error);
    (void)snprintf(text, sizeof text, "%.17g", 0.999 * oto_implausible_density_u_rthz(OTO_PART_GYROSCOPE));
    assert_ok(oto_params_set(descriptor, "gyroscope.noise_density_rad_s_rthz", text, false, &params, &error), error);
    oto_params_check_plausible(descriptor, &params, collect, told);
    assert_string_equal(told, "");
    oto_params_free(&params);
}

static void a_bias_beyond_the_range_is_told(void **state)
{
    (void)state;
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(mag_plugin);
    struct oto_params params;
    struct oto_error error = {0};
    char told[4000] = "";
    assert_ok(oto_params_default(descriptor, &params, &error), error);
    assert_ok(oto_params_set(descriptor, "magnetometer.measurement_range_ut", "100", false, &params, &error), error);
    assert_ok(oto_params_set(descriptor, "magnetometer.constant_bias_ut", "[0, -101, 0]", false, &params, &error),
              error);
    assert_ok(oto_params_set(descriptor, "magnetometer.resolution_ut", "200", false, &params, &error), error);
    oto_params_check_plausible(descriptor, &params, collect, told);
    assert_non_null(strstr(told, "magnetometer.constant_bias_ut = 101 µT is larger than the range of ±100"));
    assert_non_null(strstr(told, "less than the resolution"));
    oto_params_free(&params);
}

static int open_all(void **state)
{
    (void)state;
    imu_plugin = open_plugin("mems_imu");
    mag_plugin = open_plugin("magnetometer");
    odometer = open_plugin("odometer");
    gnss_plugin = open_plugin("gnss");
    barometer_plugin = open_plugin("barometer");
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    (void)oto_plugin_close(imu_plugin);
    (void)oto_plugin_close(mag_plugin);
    (void)oto_plugin_close(odometer);
    (void)oto_plugin_close(gnss_plugin);
    (void)oto_plugin_close(barometer_plugin);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_of_every_part_binds_and_is_plausible),
        cmocka_unit_test(numbers_of_a_full_sheet_become_parameters),
        cmocka_unit_test(A4_cross_axis_of_a_sheet_becomes_a_spread_from_unit_to_unit),
        cmocka_unit_test(every_term_has_the_parameter_it_names),
        cmocka_unit_test(totals_over_temperature_are_no_slopes),
        cmocka_unit_test(a_maximum_is_three_standard_deviations),
        cmocka_unit_test(random_walks_and_stabilities_become_single_sided_density_and_b),
        cmocka_unit_test(white_noise_without_a_floor_gets_the_default_floor),
        cmocka_unit_test(the_default_floor_is_that_of_the_documents_that_give_one),
        cmocka_unit_test(a_floor_without_white_noise_gets_default_white_noise_and_a_warning),
        cmocka_unit_test(a_shown_curve_is_not_changed_by_the_default),
        cmocka_unit_test(rms_noise_of_a_sheet_is_that_of_a_sample_at_every_rate),
        cmocka_unit_test(a_triad_without_noise_is_named),
        cmocka_unit_test(lis3mdl_has_the_digits_of_its_sheet),
        cmocka_unit_test(the_smallest_of_three_ranges_holds_where_there_is_one),
        cmocka_unit_test(settings_of_a_part_are_parameters_of_its_plugin),
        cmocka_unit_test(parameters_beside_triads_are_set_and_others_are_left_out),
        cmocka_unit_test(a_part_of_another_kind_is_refused),
        cmocka_unit_test(names_never_leave_the_library),
        cmocka_unit_test(an_unknown_name_gets_a_suggestion_and_the_places),
        cmocka_unit_test(odd_parameters_are_told_with_the_reason),
        cmocka_unit_test(a_density_just_below_the_limit_is_not_told),
        cmocka_unit_test(a_bias_beyond_the_range_is_told),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
