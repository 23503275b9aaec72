/*
 * Code that the estimators share: counters for each kind of measurement, and records about the state of a filter. Pure;
 * callable from any thread.
 */
#ifndef NUM_FILTER_H
#define NUM_FILTER_H

#include "num_kalman.h"
#include "otolith/records.h"

enum { NUM_FILTER_STATES = NUM_MATRIX_MOST, NUM_FILTER_ROWS = 16 };

/* The outcome of a measurement. For NUM_REFUSED and all later values the step returns a warning. */
enum num_outcome { NUM_USED, NUM_GATED, NUM_REFUSED, NUM_LATE, NUM_SINGULAR };

/* The counters of a row's measurements, and its last measurement. */
struct num_filter_row {
    int64_t t_ns;
    double innovation[NUM_KALMAN_ROWS], sigma[NUM_KALMAN_ROWS];
    double nis;
    uint64_t used, gated, refused, late, singular;
};

/* Updates the filter with a row and counts the outcome. `dx` is set if it returns NUM_USED. */
enum num_outcome num_filter_update(uint32_t n, struct num_kalman_row *measured, double *p, double *dx,
                                   struct num_filter_row *row);
void num_filter_count(struct num_filter_row *row, enum num_outcome outcome, int64_t t_ns);
/* Sums the counters of all rows into the record. */
void num_filter_sum(const struct num_filter_row *rows, uint32_t count, struct oto_estimate_record *record);

/* Standard deviation of a variance; 0 if rounding made the variance negative. */
static inline double num_sigma(double variance)
{
    return variance > 0.0 ? oto_sqrt(variance) : 0.0;
}

/* ---- records ---- */

/* Port "state": the filter's own numbers, in the order of its states. */
struct num_filter_state_record {
    double state[NUM_FILTER_STATES];
    double sigma[NUM_FILTER_STATES];
    double error[NUM_FILTER_STATES]; /* error against the last truth; 0 if unknown */
    double rmse[NUM_FILTER_STATES];  /* root mean square of `error` so far */
    double nees_mean;
    uint64_t truths; /* number of truths in the means */
    uint64_t size;   /* number of states */
    uint64_t model_hash;
};

/* Port "innovation": the last measurement of each row. */
struct num_filter_innovation_record {
    double innovation[NUM_FILTER_ROWS * NUM_KALMAN_ROWS]; /* 3 for each row */
    double sigma[NUM_FILTER_ROWS * NUM_KALMAN_ROWS];
    double nis[NUM_FILTER_ROWS];
    int64_t t_ns[NUM_FILTER_ROWS];
    uint64_t used[NUM_FILTER_ROWS], gated[NUM_FILTER_ROWS], refused[NUM_FILTER_ROWS], late[NUM_FILTER_ROWS],
        singular[NUM_FILTER_ROWS];
    uint64_t size; /* number of rows */
};

extern const struct oto_record_type num_filter_state_type, num_filter_innovation_type;

void num_filter_report(const struct num_filter_row *rows, uint32_t count, struct num_filter_innovation_record *record);

/* Sums of the errors against the truth. */
struct num_filter_truths {
    uint64_t count;
    double nees, nees_sum; /* nees -1: none yet, or its covariance has no inverse */
    double error[NUM_FILTER_STATES], square_sum[NUM_FILTER_STATES];
};

/* Writes errors, their means and the NEES into the record. */
void num_filter_report_truths(const struct num_filter_truths *truths, uint32_t n, struct num_filter_state_record *record);
/* Adds eᵀ P⁻¹ e of k numbers to the sums; P is destroyed. */
void num_filter_add_nees(struct num_filter_truths *truths, uint32_t k, double *p, double *e);

#endif
