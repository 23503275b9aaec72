/*
 * Resolves parameters and bound inputs for the steps: names become indices. [loop]
 */
#ifndef EKF_PLAN_H
#define EKF_PLAN_H

#include "ekf_filter.h"
#include "num_input.h"

/* The input and the fields from which a row gets its numbers. */
struct ekf_source {
    uint32_t input; /* UINT32_MAX: not bound, the row is idle */
    bool optional;  /* samples that lack all fields are skipped by this row */
    bool has_covariance, has_age;
    struct num_number fields[4];
    struct num_number covariance, age;
};

/* Prepared data: all constants, those of the model included. */
struct ekf_prepared {
    struct ekf_plan plan;
    struct ekf_source sources[EKF_MOST_ROWS];
    uint32_t truth_input; /* UINT32_MAX: not bound */
    bool truth_by_model;  /* true: the whole truth record is converted by the model; false: one field for each state */
    struct num_number truth_fields[OTO_MODEL_MAX_STATES];
    struct num_estimator_constants estimator;
    struct num_bicycle_constants bicycle;
    struct num_tyre_constants tyre;
    struct num_body_constants body;
};

enum { EKF_TRUTH_NUMBERS = 20 }; /* of the standard truth record: position, velocity, acceleration, attitude, rates, speed */

enum oto_status ekf_plan_make(const struct oto_host *host, const struct oto_setup *setup,
                              const struct ekf_params *params, struct ekf_prepared *prepared, struct oto_error *error);

#endif
