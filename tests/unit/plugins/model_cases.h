/* What the tests of motion models share: every model with constants and a state that show all of it. */
#ifndef MODEL_CASES_H
#define MODEL_CASES_H

#include "num_model.h"
#include "oto_test.h"

static const struct num_estimator_constants case_estimator = {5};
static const struct num_bicycle_constants case_bicycle = {1.2, 1.5, 0.12, 0.8};
static const struct num_tyre_constants case_tyre = {1.2, 1.5, 80000, 90000, 1500, 2500, 0.3, 0.05, 0.5, NUM_TYRE_CONVENTIONAL};
static const struct num_body_constants case_body = {2.0, {0.3, 0.5, 0.7}, {1.0, -0.5, 21.0}, {0.2, 0.1, 0.0},
                                                    {0.02, -0.03, 0.05}, {0, 0, -9.80665}, 0.001};

struct model_case {
    const struct num_model *model;
    const void *constants;
    double state[OTO_MODEL_MAX_STATES];
};

/* In the order of num_models. */
static const struct model_case model_cases[] = {
    {&num_model_stationary, NULL, {1, 2, 3, 0.1, -0.2, 0.3}},
    {&num_model_constant_velocity, NULL, {1, 2, 5, -3}},
    {&num_model_constant_acceleration, NULL, {1, 2, 5, -3, 0.7, 0.4}},
    {&num_model_ctrv, NULL, {1, 2, 0.7, 13, -0.4}},
    {&num_model_catr, NULL, {1, 2, 13, 1.5, 0.7, -0.4}},
    {&num_model_catr_box, NULL, {1, 2, 13, 1.5, 0.7, -0.4, 4.2, 1.7}},
    {&num_model_parameter_estimator, &case_estimator, {1, -2, 3, -4, 5}},
    {&num_model_linear_xy, NULL, {1, 2, 5, -3, 0.7, 0.4}},
    {&num_model_linear_xyz, NULL, {1, 2, 3, 5, -3, 0.5, 0.7, 0.4, -0.1}},
    {&num_model_linear_xyyaw, NULL, {1, 2, 0.3, 5, -3, 0.2, 0.7, 0.4, -0.1}},
    {&num_model_linear_xyzyaw, NULL, {1, 2, 3, 0.3, 5, -3, 0.5, 0.2, 0.7, 0.4, -0.1, 0.05}},
    {&num_model_linear_xyzrpy, NULL,
     {1, 2, 3, 0.1, -0.2, 0.3, 5, -3, 0.5, 0.2, -0.1, 0.3, 0.7, 0.4, -0.1, 0.05, 0.02, -0.03}},
    {&num_model_kinematic_bicycle, &case_bicycle, {1, 2, 0.7, 9}},
    {&num_model_linear_tyre, &case_tyre, {1, 2, 0.3, 15, 0.2, -0.1, 0.03, 0.5}},
    {&num_model_rigid_body_6dof, &case_body, {1, 2, 3, 0.5, 0.5, -0.5, 0.5, 4, -2, 1, 0.6, -0.9, 1.2}},
};
enum { MODEL_CASES = sizeof model_cases / sizeof *model_cases };

static inline uint32_t case_size(const struct model_case *c)
{
    return num_model_size(c->model, c->constants);
}

static inline void case_predict(const struct model_case *c, const double *state, double dt_s, double *next)
{
    assert_int_equal(c->model->predict(c->constants, state, dt_s, next), OTO_OK);
}

/* Every number within `tolerance` of the other, in units of the largest number of both states. */
static inline void assert_states_near(const struct model_case *c, const double *a, const double *b, double tolerance)
{
    double scale = 1.0;
    for (uint32_t i = 0; i < case_size(c); i++) {
        scale = fmax(scale, fmax(fabs(a[i]), fabs(b[i])));
    }
    for (uint32_t i = 0; i < case_size(c); i++) {
        if (!(fabs(a[i] - b[i]) <= tolerance * scale)) {
            print_error("model %s, state %s:\n", c->model->name, c->model->states[i].name);
            assert_near(a[i], b[i], tolerance * scale);
        }
    }
}

#endif
