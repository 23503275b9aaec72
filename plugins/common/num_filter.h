/*
 * What the estimators share beside their equations: the account of each kind of measurement, and the records that tell of
 * a filter's inside. Pure; callable from any thread.
 */
#ifndef NUM_FILTER_H
#define NUM_FILTER_H

#include "num_kalman.h"
#include "otolith/records.h"

enum { NUM_FILTER_STATES = NUM_MATRIX_MOST, NUM_FILTER_ROWS = 16 };

/* What became of a measurement. From REFUSED on its step warns. */
enum num_outcome { NUM_USED, NUM_GATED, NUM_REFUSED, NUM_LATE, NUM_SINGULAR };

/* What became of the measurements of a row, and the last one of them. */
struct num_filter_row {
    int64_t t_ns;
    double innovation[NUM_KALMAN_ROWS], sigma[NUM_KALMAN_ROWS];
    double nis;
    uint64_t used, gated, refused, late, singular;
};

/* The update with a row, its account included. `dx` is given where it returns NUM_USED. */
enum num_outcome num_filter_update(uint32_t n, struct num_kalman_row *measured, double *p, double *dx,
                                   struct num_filter_row *row);
void num_filter_count(struct num_filter_row *row, enum num_outcome outcome, int64_t t_ns);
/* The counters of all rows into the record. */
void num_filter_sum(const struct num_filter_row *rows, uint32_t count, struct oto_estimate_record *record);

/* Of a variance; 0 where rounding left none. */
static inline double num_sigma(double variance)
{
    return variance > 0.0 ? oto_sqrt(variance) : 0.0;
}

/* ---- records ---- */

/* Port "state": the filter's own numbers, in the order of its states. */
struct num_filter_state_record {
    double state[NUM_FILTER_STATES];
    double sigma[NUM_FILTER_STATES];
    double error[NUM_FILTER_STATES]; /* against the last truth; 0 where it is not known */
    double rmse[NUM_FILTER_STATES];  /* root of the mean square of `error` so far */
    double nees_mean;
    uint64_t truths; /* that the means are of */
    uint64_t size;   /* states */
    uint64_t model_hash;
};

/* Port "innovation": the last measurement of each row. */
struct num_filter_innovation_record {
    double innovation[NUM_FILTER_ROWS * NUM_KALMAN_ROWS]; /* 3 a row */
    double sigma[NUM_FILTER_ROWS * NUM_KALMAN_ROWS];
    double nis[NUM_FILTER_ROWS];
    int64_t t_ns[NUM_FILTER_ROWS];
    uint64_t used[NUM_FILTER_ROWS], gated[NUM_FILTER_ROWS], refused[NUM_FILTER_ROWS], late[NUM_FILTER_ROWS],
        singular[NUM_FILTER_ROWS];
    uint64_t size; /* rows */
};

extern const struct oto_record_type num_filter_state_type, num_filter_innovation_type;

void num_filter_report(const struct num_filter_row *rows, uint32_t count, struct num_filter_innovation_record *record);

/* Errors against the truth, summed. */
struct num_filter_truths {
    uint64_t count;
    double nees, nees_sum; /* nees -1: there was none yet, or its covariance has no inverse */
    double error[NUM_FILTER_STATES], square_sum[NUM_FILTER_STATES];
};

/* Errors, their means and the NEES into the record. */
void num_filter_report_truths(const struct num_filter_truths *truths, uint32_t n, struct num_filter_state_record *record);
/* eᵀ P⁻¹ e of k numbers into the sums; P is spoilt. */
void num_filter_add_nees(struct num_filter_truths *truths, uint32_t k, double *p, double *e);

#endif
