/* One step of an estimator, through the ABI, as the tick thread calls it: samples in, prediction, update, records out. */
#include "base/monotonic.h"
#include "bench.h"

#include <string.h>

#include "otolith/estimator.h"
#include "sim/instance.h"

enum { STEPS = 1000 };

/* A log's record of doubles. */
static const struct oto_field fields[] = {
    {"angular_velocity.x", OTO_FIELD_F64, 1, 0, "", "", ""},     {"angular_velocity.y", OTO_FIELD_F64, 1, 8, "", "", ""},
    {"angular_velocity.z", OTO_FIELD_F64, 1, 16, "", "", ""},    {"linear_acceleration.x", OTO_FIELD_F64, 1, 24, "", "", ""},
    {"linear_acceleration.y", OTO_FIELD_F64, 1, 32, "", "", ""}, {"linear_acceleration.z", OTO_FIELD_F64, 1, 40, "", "", ""},
};
static const struct oto_record_type type = {"bench", 48, sizeof fields / sizeof *fields, fields};

struct bench_case {
    const char *name, *plugin, *input, *yaml;
    double payload[6];
    double goal;
};

struct subject {
    struct srv_instance now;
    struct oto_document *document;
    struct oto_input_binding binding;
    struct oto_setup setup;
};

static bool subject_open(struct subject *s, const struct bench_case *from)
{
    char path[4096];
    struct oto_error error = {0};
    *s = (struct subject){.binding = {.name = from->input, .type = &type, .topic = "bench", .rate_hz = 100,
                                      .q_body_from_sensor = {1, 0, 0, 0}}};
    s->setup = (struct oto_setup){.size = sizeof s->setup, .node = "bench/estimator", .base_rate_num = 1000,
                                  .base_rate_den = 1, .rate_num = 100, .rate_den = 1, .rate_hz = 100,
                                  .q_body_from_sensor = {1, 0, 0, 0}, .gravity_enu_m_s2 = {0, 0, -9.80665},
                                  .mag_field_enu_ut = {1.5, 21, -43}, .estimator = {&s->binding, 1, 0}};
    const struct srv_instance_place place = {.setup = &s->setup};
    struct oto_plugin *plugin = NULL;
    bool ok = oto_plugin_find(from->plugin, path, sizeof path, &error) == OTO_OK &&
              oto_plugin_open(path, NULL, &plugin, &error) == OTO_OK;
    if (ok) {
        srv_instance_bind(&s->now, plugin);
    }
    ok = ok && oto_document_parse("bench", from->yaml, strlen(from->yaml), NULL, &s->document, &error) == OTO_OK &&
         oto_params_default(s->now.descriptor, &s->now.params, &error) == OTO_OK &&
         oto_params_apply(s->now.descriptor, oto_document_root(s->document), &s->now.params, &error) == OTO_OK &&
         srv_instance_make(&s->now, &place, &error) == OTO_OK;
    if (!ok) {
        (void)cli_say(&error);
    }
    return ok;
}

static void subject_close(struct subject *s)
{
    (void)srv_instance_finish(&s->now);
    oto_document_close(s->document);
}

static void measure(struct subject *s, const double *payload, uint64_t *n, struct bench_series *series)
{
    const int64_t start_ns = srv_now_ns();
    for (int i = 0; i < STEPS; i++, (*n)++) {
        const int64_t t_ns = (int64_t)*n * 10000000;
        const struct oto_input_sample sample = {.seq = *n, .t_ns = t_ns, .sensor_time_ns = t_ns, .payload = payload};
        const struct oto_estimator_step samples = {&sample, 1, 0};
        (void)srv_instance_step(&s->now, *n, *n, (struct oto_instant){t_ns, 0.0}, NULL, &samples);
    }
    series_add(series, (double)(srv_now_ns() - start_ns) / STEPS);
}

#define NOISE "process_noise: [{state: a, q: 1}, {state: w, q: 0.1}], "
static const struct bench_case cases[] = {
    {"ekf_6_states_2_rows", "ekf", "fix",
     "{model: catr, " NOISE "measurements: [{input: fix, function: position, fields: angular_velocity.x "
     "angular_velocity.y, sigma: 1}]}", {0.5, 0.2}, 1000.0},
    {"ekf_6_states_1_row", "ekf", "imu",
     "{model: catr, " NOISE "measurements: [{input: imu, function: yaw_rate, sigma: 0.1}]}", {0, 0, 0.1}, 1000.0},
    {"ekf_18_states_3_rows", "ekf", "imu",
     "{model: linear_xyzrpy, process_noise: [{state: yaw_rate, q: 1}], measurements: [{input: imu, function: "
     "angular_rate, sigma: 0.1}]}", {0, 0, 0.1}, 0.0},
    {"ins_ekf_imu_sample", "ins_ekf", "imu", "{align: {from: given}, nonholonomic: {rate_hz: 0}}", {0, 0, 0, 0, 0, 9.80665},
     0.0},
};

void bench_estimator(struct bench_context *context)
{
    struct bench_series reference = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench_series series = {0};
        struct bench_result result = {.name = cases[i].name, .unit = "ns", .goal = cases[i].goal,
                                      .reference = "six states, two rows"};
        struct subject subject;
        uint64_t n = 1;
        if (subject_open(&subject, &cases[i])) {
            for (int batch = 0; batch < (context->smoke ? 20 : 1000); batch++) {
                measure(&subject, cases[i].payload, &n, i == 0 ? &reference : &series);
            }
            result_from_series(&result, i == 0 ? &reference : &series);
            result.reference_p50 = series_quantile(&reference, 0.5);
            bench_print(context, &result);
        }
        subject_close(&subject);
        series_free(&series);
    }
    series_free(&reference);
}
