/*
 * The filter: prediction by a motion model, updates by measurements, and measures of its consistency. `ekf_plan` is
 * constant, `ekf_state` is everything that changes: plain data. Pure; step functions allocate nothing.
 */
#ifndef EKF_FILTER_H
#define EKF_FILTER_H

#include "ekf_measure.h"
#include "num_filter.h"

/* A prediction over a gap is divided into steps of max_step_s, but at most this many. */
#define EKF_MOST_SUBSTEPS 64

/* Process noise with names resolved. */
struct ekf_plan_noise {
    uint32_t state, rate; /* rate: state of the derivative; EKF_ABSENT: the noise is a random walk */
    double q;
};

struct ekf_row {
    struct ekf_sensor sensor;
    double noise[NUM_KALMAN_ROWS * NUM_KALMAN_ROWS];
    double gate; /* largest squared distance yᵀ S⁻¹ y; 0: no gate */
    int64_t initialise;
};

struct ekf_plan {
    const struct num_model *model;
    const void *constants;
    struct ekf_view view;
    uint64_t model_hash;
    uint32_t n;
    uint32_t row_count, noise_count;
    uint32_t truth_count;                     /* states whose truth is known */
    uint32_t truth_states[OTO_MODEL_MAX_STATES];
    uint32_t angles[OTO_MODEL_MAX_STATES]; /* 1: the state is an angle, its errors are wrapped */
    double initial[OTO_MODEL_MAX_STATES], initial_sigma[OTO_MODEL_MAX_STATES];
    double max_step_s, late_limit_s;
    struct ekf_plan_noise noises[EKF_MOST_NOISES];
    struct ekf_row rows[EKF_MOST_ROWS];
};

struct ekf_state {
    uint64_t model_hash;
    uint64_t started;
    int64_t time_ns;
    uint64_t measured; /* bits: states that a measurement has observed */
    double x[OTO_MODEL_MAX_STATES];
    double p[NUM_MATRIX_MOST * NUM_MATRIX_MOST]; /* n × n */
    struct num_filter_row rows[EKF_MOST_ROWS];
    double nis, nis_rows; /* NIS and number of rows of the last measurement that was used */
    int64_t used_ns;      /* time of the last measurement that was used; before there is one, of the first sample */
    uint64_t refused_predictions;
    /* comparison with the truth */
    uint64_t pending;
    int64_t pending_ns;
    double truth[OTO_MODEL_MAX_STATES];
    struct num_filter_truths truths;
};

void ekf_filter_init(const struct ekf_plan *plan, struct ekf_state *state);
/*
 * Predicts x and p (n, n × n) from one time to a later one. False, with nothing changed, if the model cannot predict
 * that far.
 */
bool ekf_filter_predict(const struct ekf_plan *plan, int64_t from_ns, int64_t to_ns, double *x, double *p);
/*
 * Updates the filter with a measurement of a row: `z` are its fields, scaled; `noise` (m × m), unless NULL, replaces the
 * noise of the row.
 */
enum num_outcome ekf_filter_measure(const struct ekf_plan *plan, struct ekf_state *state, uint32_t row, int64_t t_ns,
                                    const double *z, const double *noise);
/* Stores the truth of the plan's truth_states at an instant until the filter has passed it. */
void ekf_filter_truth(const struct ekf_plan *plan, struct ekf_state *state, int64_t t_ns, const double *truth);
/*
 * Compares the estimate with a stored truth whose time is not after `t_ns`. Call before the filter goes beyond `t_ns`, and
 * at the end of a step.
 */
void ekf_filter_compare(const struct ekf_plan *plan, struct ekf_state *state, int64_t t_ns);

#endif
