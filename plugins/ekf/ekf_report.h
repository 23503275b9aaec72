/* The records that the filter publishes. [tick] */
#ifndef EKF_REPORT_H
#define EKF_REPORT_H

#include "ekf_filter.h"
#include "otolith/records.h"

/* x and p are the estimate at t_ns: the state of the filter, or predicted from it. */
void ekf_report_estimate(const struct ekf_plan *plan, const struct ekf_state *state, const double *x, const double *p,
                         int64_t t_ns, struct oto_estimate_record *record);
void ekf_report_state(const struct ekf_plan *plan, const struct ekf_state *state, const double *x, const double *p,
                      struct num_filter_state_record *record);

#endif
