/* One drive through one calibration, looked at after each half minute. */
#include "grade/grade.h"

#include <math.h>
#include <string.h>
#include <time.h>

struct watch {
    struct grade_chunk *chunk;
    struct oto_mount_calibration_histogram_record *histogram;
    int next; /* time that is looked at next */
};

double grade_error_deg(const struct grade_chunk *chunk, int time, int angle)
{
    return remainder(chunk->points[time].rpy_deg[angle] - chunk->true_rpy_deg[angle], 360.0);
}

/* As chunks.csv holds it, so that a grade that went on is the same as one in one piece. */
static double as_kept(double deg)
{
    return round(deg * 1e6) / 1e6;
}

static void keep(struct grade_point *point, const struct oto_mount_calibration_record *record)
{
    *point = (struct grade_point){.state = record->state, .known = 1, .percent = record->percent};
    for (int i = 0; i < 3; i++) {
        point->rpy_deg[i] = as_kept(record->rpy_deg[i]);
        point->bound_deg[i] = as_kept(record->bound_3sigma_deg[i]);
    }
}

static void look(struct watch *watch, double t_s, const struct oto_mount_calibration_record *record)
{
    struct grade_chunk *chunk = watch->chunk;
    if (record->state == OTO_CALIBRATION_ACCEPTED) {
        chunk->first_accepted_s = chunk->first_accepted_s < 0.0 ? t_s : chunk->first_accepted_s;
        for (int i = 0; i < 3; i++) {
            chunk->worst_deg = fmax(chunk->worst_deg, fabs(remainder(record->rpy_deg[i] - chunk->true_rpy_deg[i], 360.0)));
        }
    }
    if (watch->next < GRADE_TIMES && t_s > 60.0 * grade_minutes(watch->next) - 1e-6) {
        keep(&chunk->points[watch->next++], record);
    }
}

static enum oto_status emit(void *context, uint32_t port, const struct oto_sample_head *head, const void *payload,
                            struct oto_error *error)
{
    struct watch *watch = context;
    struct oto_mount_calibration_record record;
    (void)error;
    if (port == 0) {
        memcpy(&record, payload, sizeof record);
        look(watch, (double)head->t_ns * 1e-9, &record);
    } else if (port == 2 && watch->histogram != NULL) {
        memcpy(watch->histogram, payload, sizeof *watch->histogram);
    }
    return OTO_OK;
}

static int64_t thread_cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static enum oto_status set_params(struct oto_estimate *estimate, const char *method, const struct oto_value *given,
                                  bool histogram, struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(oto_estimate_plugin(estimate));
    struct oto_params *params = oto_estimate_params(estimate);
    enum oto_status status = given != NULL ? oto_params_apply(descriptor, given, params, NULL, NULL, error) : OTO_OK;
    if (status == OTO_OK) {
        status = oto_params_set(descriptor, "method", method, false, params, error);
    }
    if (status == OTO_OK) {
        status = oto_params_set(descriptor, "diagnostics", "false", false, params, error);
    }
    return status == OTO_OK ? oto_params_set(descriptor, "histogram_channel", histogram ? "true" : "false", false, params, error)
                            : status;
}

enum oto_status grade_calibrate(struct oto_estimate *estimate, const char *method, const struct grade_recording *recording,
                                struct grade_chunk *chunk, struct oto_mount_calibration_histogram_record *histogram,
                                struct oto_error *error)
{
    struct watch watch = {chunk, histogram, 0};
    struct oto_estimate_run run = {.size = sizeof run, .rate_num = recording->rate_num, .rate_den = recording->rate_den,
                                   .clock_num = recording->clock_num, .clock_den = recording->clock_den, .has_from = true,
                                   .emit = emit, .context = &watch};
    enum oto_status status = set_params(estimate, method, recording->params, histogram != NULL, error);
    chunk->first_accepted_s = -1.0;
    for (int i = 0; i < 3; i++) {
        chunk->true_rpy_deg[i] = as_kept(recording->true_rpy_deg[i]);
    }
    if (status == OTO_OK) {
        status = oto_estimate_bind(estimate, "imu", recording->imu, error);
    }
    if (status == OTO_OK) {
        status = oto_estimate_bind(estimate, "speed", recording->speed, error);
    }
    if (status == OTO_OK) {
        const int64_t begun_ns = thread_cpu_ns();
        status = oto_estimate_execute(estimate, &run, error);
        chunk->cpu_ns = thread_cpu_ns() - begun_ns;
        chunk->worst_deg = as_kept(chunk->worst_deg);
        chunk->samples = oto_log_count(recording->imu);
    }
    return status;
}
