/* What the filter publishes. [tick] */
#ifndef EKF_REPORT_H
#define EKF_REPORT_H

#include "ekf_filter.h"
#include "otolith/records.h"

/* Port "state": the filter's own numbers, in the order of the model's states. */
struct ekf_state_record {
    double state[OTO_MODEL_MAX_STATES];
    double sigma[OTO_MODEL_MAX_STATES];
    double error[OTO_MODEL_MAX_STATES]; /* against the last truth; 0 where it is not known */
    double rmse[OTO_MODEL_MAX_STATES];  /* root of the mean square of `error` so far */
    double nees_mean;
    uint64_t truths; /* that the means are of */
    uint64_t size;   /* states */
    uint64_t model_hash;
};

/* Port "innovation": the last measurement of each row of `measurements`. */
struct ekf_innovation_record {
    double innovation[EKF_MOST_ROWS * NUM_KALMAN_ROWS]; /* 3 a row */
    double sigma[EKF_MOST_ROWS * NUM_KALMAN_ROWS];
    double nis[EKF_MOST_ROWS];
    int64_t t_ns[EKF_MOST_ROWS];
    uint64_t used[EKF_MOST_ROWS], gated[EKF_MOST_ROWS], refused[EKF_MOST_ROWS], late[EKF_MOST_ROWS],
        singular[EKF_MOST_ROWS];
    uint64_t size; /* rows */
};

extern const struct oto_record_type ekf_state_type, ekf_innovation_type;

/* x and p are the estimate at t_ns: the state's own, or predicted from it. */
void ekf_report_estimate(const struct ekf_plan *plan, const struct ekf_state *state, const double *x, const double *p,
                         int64_t t_ns, struct oto_estimate_record *record);
void ekf_report_state(const struct ekf_plan *plan, const struct ekf_state *state, const double *x, const double *p,
                      struct ekf_state_record *record);
void ekf_report_innovation(const struct ekf_plan *plan, const struct ekf_state *state,
                           struct ekf_innovation_record *record);

#endif
