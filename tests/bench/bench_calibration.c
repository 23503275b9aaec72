/*
 * The calibrator of mounts, an IMU sample at a time, over a drive of its own world. It is deterministic: of several runs
 * of the same drive the least time of each sample is kept, so that the worst sample is its own and not the machine's.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "offline/estimate.h"

enum { INPUTS = 2 };

struct drive {
    char imu_path[256], speed_path[256];
    struct oto_log *imu, *speed;
};

static bool record(struct drive *drive, const char *simulated)
{
    char program[4096], command[8192];
    const char *folder = getenv("XDG_RUNTIME_DIR");
    struct oto_error error = {0};
    (void)snprintf(drive->imu_path, sizeof drive->imu_path, "%s/imu.csv", folder);
    (void)snprintf(drive->speed_path, sizeof drive->speed_path, "%s/speed.csv", folder);
    if (cli_sibling("otolith", program, sizeof program, &error) != OTO_OK) {
        return cli_say(&error) == CLI_OK;
    }
    (void)snprintf(command, sizeof command,
                   "'%s' run '%s/configs/worlds/mount_calibration.yaml' --quiet --mode asap --for %s --csv 'car/imu=%s' --csv "
                   "'car/odometer=%s' 2>/dev/null", program, OTO_SOURCE_DIR, simulated, drive->imu_path, drive->speed_path);
    const bool good = system(command) == 0 && oto_log_read(drive->imu_path, &drive->imu, &error) == OTO_OK &&
                      oto_log_read(drive->speed_path, &drive->speed, &error) == OTO_OK;
    if (!good) {
        (void)cli_say(&error);
    }
    (void)unlink(drive->imu_path);
    (void)unlink(drive->speed_path);
    return good;
}

struct subject {
    struct oto_plugin *plugin;
    struct oto_params params;
    struct oto_setup setup;
    struct oto_input_binding bindings[INPUTS];
    struct oto_prepared prepared;
    struct oto_instance instance;
};

static bool subject_open(struct subject *subject, const struct drive *drive, const char *method)
{
    char path[4096];
    struct oto_error error = {0};
    *subject = (struct subject){
        .bindings = {{.name = "imu", .type = oto_log_type(drive->imu), .topic = "imu", .rate_hz = 100,
                      .q_body_from_sensor = {1, 0, 0, 0}},
                     {.name = "speed", .type = oto_log_type(drive->speed), .topic = "speed", .rate_hz = 50,
                      .q_body_from_sensor = {1, 0, 0, 0}}}};
    subject->setup = (struct oto_setup){.size = sizeof subject->setup, .node = "bench/calibration", .base_rate_num = 1000,
                                        .base_rate_den = 1, .rate_num = 100, .rate_den = 1, .rate_hz = 100,
                                        .q_body_from_sensor = {1, 0, 0, 0}, .gravity_enu_m_s2 = {0, 0, -9.80665},
                                        .estimator = {subject->bindings, INPUTS, 0}};
    bool good = oto_plugin_find("mount_calibration", path, sizeof path, &error) == OTO_OK &&
                oto_plugin_open(path, NULL, &subject->plugin, &error) == OTO_OK;
    const struct oto_plugin_descriptor *descriptor = good ? oto_plugin_descriptor(subject->plugin) : NULL;
    good = good && oto_params_default(descriptor, &subject->params, &error) == OTO_OK &&
           oto_params_set(descriptor, "method", method, false, &subject->params, &error) == OTO_OK &&
           oto_prepare(subject->plugin, &subject->setup, &subject->params, NULL, NULL, &subject->prepared, &error) == OTO_OK;
    void *state = good ? calloc(1, descriptor->state_bytes) : NULL;
    subject->instance = (struct oto_instance){.size = sizeof subject->instance, .setup = &subject->setup,
                                              .params = subject->params.block, .data = subject->prepared.data, .state = state};
    if (!good) {
        (void)cli_say(&error);
    }
    return good && state != NULL;
}

static void subject_close(struct subject *subject)
{
    free(subject->instance.state);
    oto_prepared_free(&subject->prepared);
    oto_params_free(&subject->params);
    (void)oto_plugin_close(subject->plugin);
}

/* One step with IMU sample `i`, behind the speeds until then; in us. */
static double step_us(const struct subject *subject, const struct drive *drive, uint64_t i, uint64_t *speeds)
{
    static double payloads[OTO_PLUGIN_MAX_PORTS][OTO_RECORD_MAX_BYTES / 8];
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    struct oto_input_sample samples[8];
    const struct oto_input_sample imu = oto_log_sample(drive->imu, i);
    uint32_t count = 0;
    for (; *speeds < oto_log_count(drive->speed) && count < 7; ++*speeds) {
        samples[count] = oto_log_sample(drive->speed, *speeds);
        if (samples[count].t_ns > imu.t_ns) {
            break;
        }
        samples[count++].input = 1;
    }
    samples[count++] = imu;
    for (uint32_t port = 0; port < OTO_PLUGIN_MAX_PORTS; port++) {
        outputs[port] = (struct oto_output){payloads[port], imu.t_ns, imu.t_ns, 0, port == 0};
    }
    const struct oto_step step = {.size = sizeof step, .tick = i, .n = i + 1, .at = {imu.t_ns, 0.0}, .outputs = outputs,
                                  .estimator = {samples, count, 0}};
    const int64_t start_ns = cli_now_ns();
    (void)oto_plugin_ops(subject->plugin)->step(&subject->instance, &step);
    return (double)(cli_now_ns() - start_ns) * 1e-3;
}

static void measure(struct bench_context *context, const struct drive *drive, const char *name, const char *method)
{
    const uint64_t count = oto_log_count(drive->imu);
    const int runs = context->smoke ? 1 : 7;
    struct subject subject;
    struct bench_series least_us = {0};
    struct bench_result result = {.name = name, .unit = "us", .goal = 2.0, .reference = "100 Hz: a sample every 10 ms",
                                  .reference_p50 = 10000.0};
    double sum_us = 0.0;
    if (!subject_open(&subject, drive, method)) {
        subject_close(&subject);
        return;
    }
    for (int run = 0; run < runs && !cli_interrupted(); run++) {
        struct oto_error error = {0};
        uint64_t speeds = 0;
        if (oto_plugin_ops(subject.plugin)->init(&subject.instance, &error) != OTO_OK) {
            (void)cli_say(&error);
            break;
        }
        for (uint64_t i = 0; i < count; i++) {
            const double us = step_us(&subject, drive, i, &speeds);
            if (run == 0) {
                series_add(&least_us, us);
            } else {
                least_us.values[i] = fmin(least_us.values[i], us);
            }
        }
    }
    for (size_t i = 0; i < least_us.count; i++) {
        sum_us += least_us.values[i];
    }
    result_from_series(&result, &least_us);
    (void)snprintf(result.note, sizeof result.note, "mean %.2f; a drive of %.0f s, the least of %d runs for each sample",
                   sum_us / result.n, (double)count / 100.0, runs);
    bench_print(context, &result);
    series_free(&least_us);
    subject_close(&subject);
}

void bench_calibration(struct bench_context *context)
{
    struct drive drive = {0};
    if (record(&drive, context->smoke ? "20s" : "900s")) {
        measure(context, &drive, "calibration_joint", "joint");
        measure(context, &drive, "calibration_histogram", "histogram");
    }
    oto_log_close(drive.imu);
    oto_log_close(drive.speed);
}
