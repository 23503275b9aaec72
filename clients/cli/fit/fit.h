/* otolith fit: a part from a rest log. The files of this folder share these types. */
#ifndef CLI_FIT_H
#define CLI_FIT_H

#include <stdio.h>

#include "fit/model.h"
#include "parts/library.h"

/* One axis of a log and the results of its fit. */
struct fit_axis {
    char column[64];
    double *samples; /* in the unit of the triad */
    double mean_u;
    struct allan_point points[ALLAN_MAX_POINTS];
    size_t count;
    struct fit_model models[FIT_KINDS];
    struct fit_model model; /* the chosen one */
    /* results of the simulated runs */
    double simulated_u2[ALLAN_MAX_POINTS]; /* mean variance */
    double spread_u2[ALLAN_MAX_POINTS];    /* standard error of the mean variance */
    double n_error, walk_error, floor_error; /* relative standard errors; NaN: the term is 0 */
    double markov_error[FIT_MARKOVS], sine_error[FIT_SINES];
};

struct fit_triad {
    bool is_there;
    enum oto_part_triad id;
    struct fit_axis axes[3];
    enum fit_kind kind;
    double resolution_u; /* 0: not found */
    struct fit_setup setup;
};

enum { FIT_EXTRAS = 3 };

struct fit_log {
    const char *path;
    uint64_t rows, capacity;
    double rate_hz, tau_max_s;
    struct fit_triad triads[OTO_PART_TRIADS];
    double *extra[FIT_EXTRAS]; /* the columns of options.extra */
};

struct fit_log_options {
    const char *columns[OTO_PART_TRIADS][3]; /* NULL: found by the names that log.c knows */
    const char *units[OTO_PART_TRIADS];      /* NULL: from the name */
    double rate_hz;                          /* 0: from the stamps */
    const char *extra[FIT_EXTRAS];           /* further columns that must exist; NULL: none */
    bool is_calibration;                     /* gaps and short logs are accepted, and no rate is needed */
};

/* Reads the log. The caller calls fit_log_free after success and after failure. */
enum oto_status fit_log_read(struct fit_log *log, const char *path, const struct fit_log_options *options,
                             struct oto_error *error);
void fit_log_free(struct fit_log *log);

/* Fits each axis and chooses the model of each triad. */
enum oto_status fit_log_fit(struct fit_log *log, struct oto_error *error);

/* Writes the part file. `calibration`: NULL, or results whose parameters are added to the file. */
struct fit_calibration;
void fit_part_write(FILE *to, const struct fit_log *log, const char *name, const struct fit_calibration *calibration);

/* Simulates the part in `runs` runs as long as the log: simulated deviations and standard errors of the terms. */
enum oto_status fit_log_simulate(struct fit_log *log, const char *plugin, const char *part_path, uint32_t runs,
                                 struct oto_error *error);
/* Prints the results, and for each axis the averaging times at which simulated and measured deviation do not agree. */
void fit_report(FILE *to, const struct fit_log *log);
void fit_report_json(FILE *to, const struct fit_log *log, const struct fit_calibration *calibration);
/* Whether simulated and measured deviation agree at all averaging times of all axes. */
bool fit_agrees(const struct fit_log *log);

/* The units in which data sheets give the terms of a triad, and their factors: for N "°/√h", and the factor from u·√s. */
struct fit_units {
    double n_factor, b_factor, k_factor;
    const char *n_unit, *b_unit, *k_unit;
};
const struct fit_units *fit_units_of(enum oto_part_triad triad);

#endif
