/* One sample of mems_imu, through the ABI, as the tick thread calls it: alone, and of several units together. */
#include "base/monotonic.h"
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/host.h"

enum { SAMPLES = 1024, UNITS = 16 };

struct bench_case {
    const char *name;
    const char *yaml;
    double goal;
    uint32_t units; /* in one step_batch; 1: each in a step */
};

static const char all_terms[] =
    "{psd: single, magnetometer: {enable: true, measurement_range_ut: 1200, resolution_ut: 0.1, constant_bias_ut: 1, "
    "noise_density_ut_rthz: 0.06}, accelerometer: {measurement_range_m_s2: 40, resolution_m_s2: 0.0005, "
    "constant_bias_m_s2: 0.1, noise_density_m_s2_rthz: 0.002}, gyroscope: {measurement_range_rad_s: 8, "
    "resolution_rad_s: 0.0001, constant_bias_rad_s: 0.01, noise_density_rad_s_rthz: 0.0001}}";

/* Every term that has a process of its own: 27 normal deviates a sample. */
#define FULL(u) "measurement_range_" u ": 1200, resolution_" u ": 0.001, constant_bias_" u ": 0.1, noise_density_" u \
                "_rthz: 0.002, bias_instability_" u ": 0.001, random_walk_" u "_rthz: 0.0001, temperature_bias_" u \
                "_degc: 0.001, temperature_scale_factor_percent_degc: 0.01, scale_factor_error_percent: 0.1, " \
                "cross_axis_percent: 0.2, turn_on_bias_" u ": 0.01, unit_bias_" u ": 0.01"
static const char full_chain[] = "{magnetometer: {enable: true, " FULL("ut") "}, accelerometer: {" FULL("m_s2") "}, "
                                 "gyroscope: {" FULL("rad_s") ", acceleration_bias_rad_s_m_s2: 0.0001}}";

/* One unit of many, with room for its outputs. */
struct unit {
    struct oto_instance instance;
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    struct oto_step step;
    double payloads[OTO_PLUGIN_MAX_PORTS][OTO_RECORD_MAX_BYTES / 8];
};

static void set_sample(struct unit *unit, uint32_t ports, const struct oto_sensor_input *input, uint64_t n)
{
    for (uint32_t port = 0; port < ports; port++) {
        unit->outputs[port] =
            (struct oto_output){unit->payloads[port], (int64_t)n * 1000000, (int64_t)n * 1000000, 0, 1};
    }
    unit->step = (struct oto_step){.size = sizeof unit->step, .tick = n, .n = n, .at = {(int64_t)n * 1000000, 0.0},
                                   .outputs = unit->outputs, .sensor = {.input = input}};
}

static void take_samples(const struct oto_plugin_ops *ops, struct unit *units, uint32_t count)
{
    const struct oto_instance *instances[UNITS];
    const struct oto_step *steps[UNITS];
    enum oto_step_status statuses[UNITS];
    if (count == 1) {
        (void)ops->step(&units->instance, &units->step);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        instances[i] = &units[i].instance;
        steps[i] = &units[i].step;
    }
    ops->step_batch(instances, steps, count, statuses);
}

static void measure(const struct oto_plugin *plugin, struct unit *units, uint32_t count, struct bench_series *series,
                    int batches)
{
    const uint32_t ports = oto_plugin_descriptor(plugin)->output_count;
    struct oto_sensor_input input;
    memset(&input, 0, sizeof input);
    input.specific_force_sensor_m_s2 = (oto_vec3){0.3, -0.2, 9.8};
    input.angular_rate_sensor_rad_s = (oto_vec3){0.01, 0.02, 0.1};
    input.mag_field_sensor_ut = (oto_vec3){-2.4, 27.5, 16.0};
    input.temperature_degc = 25.0;
    input.q_enu_from_sensor.w = 1.0;
    uint64_t n = 1;
    for (int batch = 0; batch < batches; batch++) {
        const int64_t start_ns = srv_now_ns();
        for (uint32_t i = 0; i < SAMPLES; i += count, n++) {
            for (uint32_t unit = 0; unit < count; unit++) {
                set_sample(&units[unit], ports, &input, n);
            }
            take_samples(oto_plugin_ops(plugin), units, count);
        }
        series_add(series, (double)(srv_now_ns() - start_ns) / SAMPLES);
    }
}

static bool run_case(const struct oto_plugin *plugin, const char *yaml, uint32_t count, struct bench_series *series,
                     int batches)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(plugin);
    struct oto_setup setup = {.size = sizeof setup, .node = "bench/imu", .base_rate_num = 1000, .base_rate_den = 1,
                              .rate_num = 1000, .rate_den = 1, .rate_hz = 1000.0, .noise_key = {1, 2}, .unit_key = {0, 3},
                              .q_body_from_sensor = {1, 0, 0, 0}, .gravity_enu_m_s2 = {0, 0, -9.80665},
                              .mag_field_enu_ut = {-2.4169, 27.5550, 16.0849}, .temperature_degc = 25.0};
    struct oto_document *document = NULL;
    struct oto_params params = {0};
    struct oto_prepared prepared = {0};
    struct oto_error error = {0};
    bool ok = oto_document_parse("bench", yaml, strlen(yaml), NULL, &document, &error) == OTO_OK &&
              oto_params_default(descriptor, &params, &error) == OTO_OK &&
              oto_params_apply(descriptor, oto_document_root(document), &params, &error) == OTO_OK &&
              oto_prepare(plugin, &setup, &params, NULL, NULL, &prepared, &error) == OTO_OK;
    struct unit *units = calloc(count, sizeof *units);
    const size_t state_bytes = (descriptor->state_bytes + 63) / 64 * 64;
    unsigned char *states = calloc(count, state_bytes);
    ok = ok && units != NULL && states != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        units[i].instance = (struct oto_instance){.size = sizeof units[i].instance, .setup = &setup, .params = params.block,
                                                  .data = prepared.data, .state = states + i * state_bytes};
        ok = oto_plugin_ops(plugin)->init == NULL ||
             oto_plugin_ops(plugin)->init(&units[i].instance, &error) == OTO_OK;
    }
    if (ok) {
        measure(plugin, units, count, series, batches);
    } else {
        (void)cli_say(&error);
    }
    free(states);
    free(units);
    oto_prepared_free(&prepared);
    oto_params_free(&params);
    oto_document_close(document);
    return ok;
}

void bench_sensor(struct bench_context *context)
{
    static const struct bench_case cases[] = {
        {"mems_9_axis", all_terms, 300.0, 1},
        {"mems_9_axis_batch", all_terms, 0.0, UNITS},
        {"mems_full_chain", full_chain, 200.0, 1},
        {"mems_full_batch", full_chain, 120.0, UNITS},
        /* Row A28 of the MAVS table: the original takes 72.6 ns on this class of machine */
        {"mavs_9_axis", "{law: mavs, magnetometer: {enable: true, resolution_ut: 0.1, noise_density_ut_rthz: 0.06}, "
                        "accelerometer: {resolution_m_s2: 0.0005, noise_density_m_s2_rthz: 0.002}, "
                        "gyroscope: {resolution_rad_s: 0.0001, noise_density_rad_s_rthz: 0.0001}}", 60.0, 1},
        {"ideal_6_axis", "{}", 30.0, 1},
    };
    char path[4096];
    struct oto_plugin *plugin = NULL;
    struct oto_error error = {0};
    if (oto_plugin_find("mems_imu", path, sizeof path, &error) != OTO_OK ||
        oto_plugin_open(path, NULL, &plugin, &error) != OTO_OK) {
        (void)cli_say(&error);
        return;
    }
    struct bench_series ideal = {0};
    const int batches = context->smoke ? 20 : 2000;
    (void)run_case(plugin, "{}", 1, &ideal, batches);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_series series = {0};
        struct bench_result result = {.name = cases[i].name, .unit = "ns", .goal = cases[i].goal,
                                      .reference = "an ideal part"};
        if (run_case(plugin, cases[i].yaml, cases[i].units, &series, batches)) {
            result_from_series(&result, &series);
            result.reference_p50 = series_quantile(&ideal, 0.5);
            bench_print(context, &result);
        }
        series_free(&series);
    }
    series_free(&ideal);
    (void)oto_plugin_close(plugin);
}
