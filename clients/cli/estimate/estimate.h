/* What the parts of `otolith estimate` share: the logs, the comparison with a reference, the report. */
#ifndef CLI_ESTIMATE_H
#define CLI_ESTIMATE_H

#include "cli.h"
#include "offline/estimate.h"
#include "document/table.h"
#include "output.h"

enum { ESTIMATE_MOST = 64, ESTIMATE_MOST_COMPARED = 64, ESTIMATE_MOST_REFERENCES = OTO_MODEL_MAX_STATES };

/* ---- inputs.c ---- */

/* The logs that were read. */
struct estimate_logs {
    struct oto_log *logs[2 * ESTIMATE_MOST];
    uint32_t count;
};
/* Binds "[NAME=]FILE": a CSV, or a file of tagged lines, each of whose logs is an input of its own name. */
enum oto_status estimate_bind(struct oto_estimate *estimate, const char *argument, struct estimate_logs *logs,
                              struct oto_error *error);
/* Sets a mount from "NAME=X,Y,Z,ROLL,PITCH,YAW", in m and degrees. */
enum oto_status estimate_mount(struct oto_estimate *estimate, const char *argument, struct oto_error *error);
/* Sets the setup's origin and the gravity there from "LATITUDE,LONGITUDE[,ALTITUDE]", in degrees and m. */
enum oto_status estimate_origin(struct oto_setup *setup, const char *argument, struct oto_error *error);
void estimate_logs_finish(struct estimate_logs *logs);

/* ---- tagged.c ---- */

/* The logs of a file whose lines begin with a tag: L (lidar: px, py), R (radar: rho, phi, rho_dot). Each line also has a truth. */
struct tagged_logs {
    struct oto_log *lidar, *radar, *truth;
};
/* Whether the file's first line begins with such a tag. The position in the file does not change. */
bool tagged_is(FILE *file);
enum oto_status tagged_read(FILE *file, const char *path, struct tagged_logs *logs, struct oto_error *error);

/* ---- compare.c ---- */

/* The comparison of one column of an estimate with one column of a reference. */
struct comparison {
    const char *argument; /* "[CHANNEL:]COLUMN=COLUMN" */
    bool angle;           /* differences are taken within ±π */
    uint32_t port;
    const struct oto_field *estimate, *reference;
    uint32_t estimate_element, reference_element;
    uint64_t count;
    double sum, squares, most;
};
struct comparisons {
    const char *path; /* of the reference */
    int64_t settle_ns; /* samples of this first part are not compared */
    struct comparison rows[ESTIMATE_MOST_COMPARED];
    uint32_t count;
    struct oto_log *log;
    bool begun;
    int64_t from_ns;
};
/* Reads the reference and finds the columns. Does nothing if no columns are to be compared. */
enum oto_status comparisons_open(struct comparisons *comparisons, const struct oto_plugin_descriptor *descriptor,
                                 struct oto_error *error);
/* Compares a record of a port with the reference at its time: linear between rows, and not outside the reference's times. */
void comparisons_take(struct comparisons *comparisons, uint32_t port, const struct oto_sample_head *head,
                      const void *payload);
double comparison_rmse(const struct comparison *row);
double comparison_mean(const struct comparison *row);
void comparisons_finish(struct comparisons *comparisons);

/* ---- report.c ---- */

/* The errors that an estimator with the truth as an input computes itself: fields `rmse` and `truths` of one of its channels. */
struct own_rmse {
    uint32_t port;
    const struct oto_field *rmse, *truths, *size; /* rmse NULL: there is none */
    double values[OTO_MODEL_MAX_STATES];
    uint64_t count, compared;
};
void own_rmse_find(struct own_rmse *own, const struct oto_plugin_descriptor *descriptor);
void own_rmse_take(struct own_rmse *own, uint32_t port, const void *payload);

struct account {
    const struct oto_estimate *estimate;
    const struct oto_estimate_run *run;
    const struct comparisons *comparisons;
    const struct own_rmse *own;
};
void account_print(FILE *to, const struct account *account);
void account_print_json(FILE *to, const struct account *account);

#endif
