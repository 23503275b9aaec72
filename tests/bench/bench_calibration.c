/*
 * The calibrator of mounts over a drive of its own world, at that world's rates: a step at 10 Hz takes ten IMU samples and
 * publishes one result. It is deterministic: of several runs of the same drive the least time of each step is kept, so that
 * the worst step is its own and not the machine's.
 */
#include "base/monotonic.h"
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "offline/estimate.h"
#include "sim/instance.h"

enum { INPUTS = 2, IMU_HZ = 100, STEP_HZ = 10, SAMPLES = IMU_HZ / STEP_HZ };

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
    struct srv_instance now;
    struct oto_setup setup;
    struct oto_input_binding bindings[INPUTS];
};

static bool subject_open(struct subject *subject, const struct drive *drive, const char *method)
{
    char path[4096];
    struct oto_error error = {0};
    *subject = (struct subject){
        .bindings = {{.name = "imu", .type = oto_log_type(drive->imu), .topic = "imu", .rate_hz = IMU_HZ,
                      .q_body_from_sensor = {1, 0, 0, 0}},
                     {.name = "speed", .type = oto_log_type(drive->speed), .topic = "speed", .rate_hz = 50,
                      .q_body_from_sensor = {1, 0, 0, 0}}}};
    subject->setup = (struct oto_setup){.size = sizeof subject->setup, .node = "bench/calibration", .base_rate_num = 1000,
                                        .base_rate_den = 1, .rate_num = STEP_HZ, .rate_den = 1, .rate_hz = STEP_HZ,
                                        .q_body_from_sensor = {1, 0, 0, 0}, .gravity_enu_m_s2 = {0, 0, -9.80665},
                                        .estimator = {subject->bindings, INPUTS, 0}};
    const struct srv_instance_place place = {.setup = &subject->setup};
    struct oto_plugin *plugin = NULL;
    bool good = oto_plugin_find("mount_calibration", path, sizeof path, &error) == OTO_OK &&
                oto_plugin_open(path, NULL, &plugin, &error) == OTO_OK;
    if (good) {
        srv_instance_bind(&subject->now, plugin);
    }
    good = good && oto_params_default(subject->now.descriptor, &subject->now.params, &error) == OTO_OK &&
           oto_params_set(subject->now.descriptor, "method", method, false, &subject->now.params, &error) == OTO_OK &&
           srv_instance_make(&subject->now, &place, &error) == OTO_OK;
    if (!good) {
        (void)cli_say(&error);
    }
    return good;
}

static void subject_close(struct subject *subject)
{
    (void)srv_instance_finish(&subject->now);
}

/* Step `i` with its IMU samples, each behind the speeds until then; in us a sample. */
static double step_us(struct subject *subject, const struct drive *drive, uint64_t i, uint64_t *speeds)
{
    struct oto_input_sample samples[4 * SAMPLES];
    int64_t t_ns = 0;
    uint32_t count = 0;
    for (uint64_t k = i * SAMPLES; k < (i + 1) * SAMPLES; k++) {
        const struct oto_input_sample imu = oto_log_sample(drive->imu, k);
        for (uint32_t room = 3; room > 0 && *speeds < oto_log_count(drive->speed); room--, ++*speeds) {
            samples[count] = oto_log_sample(drive->speed, *speeds);
            if (samples[count].t_ns > imu.t_ns) {
                break;
            }
            samples[count++].input = 1;
        }
        samples[count++] = imu;
        t_ns = imu.t_ns;
    }
    const struct oto_estimator_step step = {samples, count, 0};
    const int64_t start_ns = srv_now_ns();
    (void)srv_instance_step(&subject->now, i, i + 1, (struct oto_instant){t_ns, 0.0}, NULL, &step);
    return (double)(srv_now_ns() - start_ns) * 1e-3 / SAMPLES;
}

static void measure(struct bench_context *context, const struct drive *drive, const char *name, const char *method)
{
    const uint64_t count = oto_log_count(drive->imu) / SAMPLES;
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
        if (srv_instance_renew(&subject.now, NULL, NULL, &error) != OTO_OK) {
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
    (void)snprintf(result.note, sizeof result.note, "mean %.2f; a step's time over its %d samples; a drive of %.0f s, the least of %d runs for each step",
                   sum_us / result.n, SAMPLES, (double)count / STEP_HZ, runs);
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
