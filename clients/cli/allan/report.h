/* The output of `otolith allan`: per column the deviations with their intervals, and the fitted coefficients. */
#ifndef CLI_ALLAN_REPORT_H
#define CLI_ALLAN_REPORT_H

#include "allan.h"
#include "fit/model.h"

enum { ALLAN_NAME_BYTES = 64 };

struct allan_column {
    char name[ALLAN_NAME_BYTES];
    uint32_t index; /* of this column in the row */
    struct allan *allan;
    struct allan_point points[ALLAN_MAX_POINTS];
    size_t count;
    struct allan_fit fit;
    double worst, worst_s;  /* largest deviation of the fit from the curve where the curve is known, relative; at worst_s */
    bool is_off;            /* the fit of N, B, K, Q and R deviates too much from the curve */
    struct fit_model model; /* if is_off: white noise, Gauss-Markov processes and K, which fit better */
};

/* Compares the fit with the curve, and fits correlated noise if the fit deviates too much. */
void allan_judge(struct allan_column *column, const struct allan_fit_options *options);

/* {"columns": {NAME: {tau_s, adev, lo, hi, N, B, K, …}}}; `constants`: also constant columns, with empty arrays. */
void allan_print_json(const struct allan_column *columns, uint32_t count, bool constants);
void allan_print_text(const struct allan_column *columns, uint32_t count);

#endif
