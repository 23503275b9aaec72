/*
 * Estimators over recorded logs, without a server: used by `otolith estimate` and `otolith calibrate`. The plugin is
 * the same as in a world. Stepped at the same instants with the same samples, it gives the same bits. Logs are in
 * memory and are filled row by row or from CSV. [loop]; one thread at a time uses an estimate; several threads may read
 * a log.
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

/* Samples of one channel, sorted by measurement time. */
struct oto_log;

/* Creates an empty log. `source` names it in messages. The record type is copied. At most 2^40 bytes. */
OTO_API enum oto_status oto_log_create(const char *source, const struct oto_record_type *type, struct oto_log **log,
                                       struct oto_error *error);
/*
 * Appends a sample. head->seq 0: the log numbers it, from 1. OTO_INVALID if head->t_ns is before that of the last
 * sample.
 */
OTO_API enum oto_status oto_log_add(struct oto_log *log, const struct oto_sample_head *head, const void *payload,
                                    struct oto_error *error);
/*
 * Reads a CSV with a header. A column of time is required: `t_ns` (exact), `t_us`, `t_ms` or `t_s`. The columns `seq`,
 * `flags` and `sensor_time_ns` are optional. Every other column is a field of doubles; `name.0`, `name.1`, … are one
 * field of several. The short names ax ay az gx gy gz and v_m_s mean linear_acceleration.x …, angular_velocity.x … and
 * speed_m_s. NaN and empty cells are NaN; the estimator decides about them. A row with nothing but its time is a sample
 * that was discarded, and is skipped. A column whose first cell is a word is skipped. Errors, with file, line and
 * column: text in other cells, time that decreases, and too few cells.
 */
OTO_API enum oto_status oto_log_read(const char *path, struct oto_log **log, struct oto_error *error);
/* As oto_log_read, from a file that oto_table_open opened, from its current position. The caller closes the file. */
OTO_API enum oto_status oto_log_read_of(FILE *file, const char *path, struct oto_log **log, struct oto_error *error);
OTO_API void oto_log_close(struct oto_log *log); /* NULL is allowed */

OTO_API const char *oto_log_source(const struct oto_log *log);
OTO_API const struct oto_record_type *oto_log_type(const struct oto_log *log);
OTO_API uint64_t oto_log_count(const struct oto_log *log);
/* The sample with that index. The payload is valid until the log grows or is closed. `input` is 0. */
OTO_API struct oto_input_sample oto_log_sample(const struct oto_log *log, uint64_t index);
/*
 * The inverse of the mean step of the log's times, rounded if it is whole to a millionth; 0 with fewer than two
 * samples.
 */
OTO_API double oto_log_rate_hz(const struct oto_log *log);

/* ---- an estimator over logs ---- */

struct oto_estimate;

/* Opens an estimator plugin with its default parameters. `plugin` is a name or a file, as in oto_plugin_find. */
OTO_API enum oto_status oto_estimate_open(const char *plugin, struct oto_estimate **estimate, struct oto_error *error);
OTO_API void oto_estimate_close(struct oto_estimate *estimate); /* NULL is allowed */

OTO_API const struct oto_plugin *oto_estimate_plugin(const struct oto_estimate *estimate);
/* The parameters, for oto_params_apply and oto_params_set. A change applies from the next run. */
OTO_API struct oto_params *oto_estimate_params(struct oto_estimate *estimate);
/*
 * The setup that `prepare` will get. Origin, gravity, noise keys and so on may be changed before a run; the run sets
 * rates, inputs and size. Defaults: node "offline/<plugin id>", gravity 9.80665 m/s² down, 25 °C, seed 0.
 */
OTO_API struct oto_setup *oto_estimate_setup(struct oto_estimate *estimate);

/*
 * Binds an input to a log, which must outlive the runs. Binding again replaces the log; log NULL unbinds it. `input`
 * NULL: the plugin's only input. Refused: names that the plugin does not know, logs without a required field.
 */
OTO_API enum oto_status oto_estimate_bind(struct oto_estimate *estimate, const char *input, const struct oto_log *log,
                                          struct oto_error *error);
/* Sets the mount of the sensor whose log is bound to an input; the default is the identity. */
OTO_API enum oto_status oto_estimate_mount(struct oto_estimate *estimate, const char *input, oto_vec3 position_body_m,
                                           oto_quat q_body_from_sensor, struct oto_error *error);

/*
 * Receives one record that the estimator published on port `port`. Any result other than OTO_OK ends the run with it.
 */
typedef enum oto_status (*oto_estimate_function)(void *context, uint32_t port, const struct oto_sample_head *head,
                                                 const void *payload, struct oto_error *error);
/* Called from time to time with the number of samples taken. Any result other than OTO_OK ends the run with it. */
typedef enum oto_status (*oto_progress_function)(void *context, uint64_t done, uint64_t total, struct oto_error *error);

struct oto_estimate_run {
    uint32_t size;
    uint32_t reserved;
    /*
     * Steps per second; step n is at n/rate. 0/0: the plugin's rate parameter, and if that is 0, a step at each
     * distinct sample time.
     */
    uint64_t rate_num, rate_den;
    /*
     * Ticks per second of the world that recorded the logs; 0/0: the rate. A step gets the samples of its whole tick,
     * so that the run equals that of the world if from_ns is 0.
     */
    uint64_t clock_num, clock_den;
    bool has_from; /* false: the run begins at the first sample */
    int64_t from_ns; /* with a rate: the first step is the first after this time and gets the samples up to it */
    int64_t max_gap_ns; /* with a rate: a longer gap without samples is refused (0: one hour) */
    oto_estimate_function emit; /* NULL: records are dropped */
    oto_progress_function progress;
    void *context;
    oto_warn_function warn;
    void *warn_context;
    /* results */
    uint64_t steps, samples, records, discarded, warned, not_finite;
};

/* Runs from a fresh state through all logs. The instance can be inspected until the next run. */
OTO_API enum oto_status oto_estimate_execute(struct oto_estimate *estimate, struct oto_estimate_run *run,
                                             struct oto_error *error);
/*
 * Name, unit and axes of state `index` of the filter in the last run; NULL if there is none or the plugin does not
 * report it.
 */
OTO_API const struct oto_model_quantity *oto_estimate_state(const struct oto_estimate *estimate, uint32_t index);

#ifdef __cplusplus
}
#endif

#endif
