/*
 * Estimators over recorded logs, without a server: what `otolith estimate` and `otolith calibrate` use. The plugin is the
 * one that a world runs and cannot tell the difference: stepped at the same instants with the same samples it gives the
 * same bits. Logs are in memory, filled row by row or from CSV. [loop]; one estimate belongs to one thread at a time,
 * a log may be read by several.
 *
 *     oto_log_read("imu.csv", &imu, &error);
 *     oto_estimate_open("mount_calibration", &estimate, &error);
 *     oto_params_set(descriptor, "method", "joint", false, oto_estimate_params(estimate), &error);
 *     oto_estimate_bind(estimate, "imu", imu, &error);
 *     oto_estimate_execute(estimate, &run, &error);
 */
#ifndef OTOLITH_ESTIMATE_H
#define OTOLITH_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "otolith/channel.h"
#include "otolith/estimator.h"
#include "plugin/host.h"
#include "otolith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- logs ---- */

/* Samples of one channel in the order of their measurement times. */
struct oto_log;

/* An empty log; `source` names it in messages; the record type is copied. At most 2^40 bytes. */
OTO_API enum oto_status oto_log_create(const char *source, const struct oto_record_type *type, struct oto_log **log,
                                       struct oto_error *error);
/* One sample more; head->seq 0: numbered from 1. Refused (OTO_INVALID) where head->t_ns is before the last one's. */
OTO_API enum oto_status oto_log_add(struct oto_log *log, const struct oto_sample_head *head, const void *payload,
                                    struct oto_error *error);
/*
 * Reads a CSV with a header: `t_ns` (exact), `t_us`, `t_ms` or `t_s`, optionally `seq`, `flags`, `sensor_time_ns`; every
 * other column is a field of doubles, `name.0`, `name.1`, … one field of several. The short names ax ay az gx gy gz and
 * v_m_s stand for linear_acceleration.x …, angular_velocity.x … and speed_m_s. NaN and empty cells are NaN, for the
 * estimator to judge; a row that is empty but for its time is a sample that was discarded, and left out; a column whose
 * first cell is a word is left out. Text elsewhere, time that goes back, and too few cells are errors with file, line
 * and column's name.
 */
OTO_API enum oto_status oto_log_read(const char *path, struct oto_log **log, struct oto_error *error);
/* The same from a file that oto_table_open gave, from where it stands; the caller's to close. */
OTO_API enum oto_status oto_log_read_of(FILE *file, const char *path, struct oto_log **log, struct oto_error *error);
OTO_API void oto_log_close(struct oto_log *log); /* NULL is allowed */

OTO_API const char *oto_log_source(const struct oto_log *log);
OTO_API const struct oto_record_type *oto_log_type(const struct oto_log *log);
OTO_API uint64_t oto_log_count(const struct oto_log *log);
/* Sample `index`; the payload is valid until the log grows or ends. `input` is 0. */
OTO_API struct oto_input_sample oto_log_sample(const struct oto_log *log, uint64_t index);
/* One over the mean step of the log's times, whole where it is so to a millionth; 0 where there are fewer than two. */
OTO_API double oto_log_rate_hz(const struct oto_log *log);

/* ---- an estimator over logs ---- */

struct oto_estimate;

/* Opens an estimator plugin, a name or a file as oto_plugin_find takes it, with its default parameters. */
OTO_API enum oto_status oto_estimate_open(const char *plugin, struct oto_estimate **estimate, struct oto_error *error);
OTO_API void oto_estimate_close(struct oto_estimate *estimate); /* NULL is allowed */

OTO_API const struct oto_plugin *oto_estimate_plugin(const struct oto_estimate *estimate);
/* To be changed by oto_params_apply and oto_params_set; a change counts from the next run on. */
OTO_API struct oto_params *oto_estimate_params(struct oto_estimate *estimate);
/*
 * What `prepare` will see: the place of the origin, gravity, keys of noise and so on may be changed before a run. Rates,
 * inputs and size are the run's. By default: node "offline/<plugin id>", gravity 9.80665 m/s² down, 25 °C, seed 0.
 */
OTO_API struct oto_setup *oto_estimate_setup(struct oto_estimate *estimate);

/*
 * Binds an input to a log, which must outlive the runs; binding it again replaces the log, log NULL takes it away. `input`
 * NULL: the plugin's only input. Refused: names that the plugin does not know, logs without a field that it requires.
 */
OTO_API enum oto_status oto_estimate_bind(struct oto_estimate *estimate, const char *input, const struct oto_log *log,
                                          struct oto_error *error);
/* Pose of the sensor that a bound input's log is of; identity by default. */
OTO_API enum oto_status oto_estimate_mount(struct oto_estimate *estimate, const char *input, oto_vec3 position_body_m,
                                           oto_quat q_body_from_sensor, struct oto_error *error);

/* One record that the estimator published on port `port` of its descriptor. Anything but OTO_OK ends the run with it. */
typedef enum oto_status (*oto_estimate_function)(void *context, uint32_t port, const struct oto_sample_head *head,
                                                 const void *payload, struct oto_error *error);
/* Called now and then, with the samples taken so far. Anything but OTO_OK ends the run with it. */
typedef enum oto_status (*oto_progress_function)(void *context, uint64_t done, uint64_t total, struct oto_error *error);

struct oto_estimate_run {
    uint32_t size;
    uint32_t reserved;
    /*
     * Steps per second; step n is at n/rate. 0/0: the plugin's own rate parameter, and where that is 0 a step at each
     * distinct sample time.
     */
    uint64_t rate_num, rate_den;
    /*
     * Ticks per second of the world that the logs are of, 0/0: the rate. A step sees the samples of its whole tick, so
     * that with a world's clock and from_ns 0 the run is that of the world.
     */
    uint64_t clock_num, clock_den;
    bool has_from; /* else from the first sample on */
    int64_t from_ns; /* at a rate: the first step is the first after this; samples up to it are given at that step */
    int64_t max_gap_ns; /* at a rate: a longer stretch without samples is refused (0: one hour) */
    oto_estimate_function emit; /* NULL: nothing is looked at */
    oto_progress_function progress;
    void *context;
    oto_warn_function warn;
    void *warn_context;
    /* results */
    uint64_t steps, samples, records, discarded, warned, not_finite;
};

/* From a fresh state through all logs. The instance stays to be looked at until the next run. */
OTO_API enum oto_status oto_estimate_execute(struct oto_estimate *estimate, struct oto_estimate_run *run,
                                             struct oto_error *error);
/* The instance of the last run: its parameters, data and state; NULL before. */
OTO_API const struct oto_instance *oto_estimate_instance(const struct oto_estimate *estimate);
/* Name, unit and frame of state `index` of the filter in the last run; NULL: it does not tell, or has no such state. */
OTO_API const struct oto_model_quantity *oto_estimate_state(const struct oto_estimate *estimate, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
