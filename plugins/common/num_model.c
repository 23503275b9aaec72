#include "num_model.h"

#include <string.h>

const struct num_model *const num_models[] = {&num_model_stationary,
                                              &num_model_constant_velocity,
                                              &num_model_constant_acceleration,
                                              &num_model_ctrv,
                                              &num_model_catr,
                                              &num_model_catr_box,
                                              &num_model_parameter_estimator,
                                              &num_model_linear_xy,
                                              &num_model_linear_xyz,
                                              &num_model_linear_xyyaw,
                                              &num_model_linear_xyzyaw,
                                              &num_model_linear_xyzrpy,
                                              &num_model_kinematic_bicycle,
                                              &num_model_linear_tyre,
                                              &num_model_rigid_body_6dof,
                                              NULL};

enum oto_status num_model_reset(const struct num_model *model, const void *constants, const double *values,
                                double *state, struct oto_error *error)
{
    const uint32_t n = num_model_size(model, constants);
    double checked[OTO_MODEL_MAX_STATES];
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] - values[i] != 0.0) {
            return oto_fail(error, OTO_INVALID, "state '%s' of model '%s' is %g; a finite number is accepted",
                            model->states[i].name, model->name, values[i]);
        }
        checked[i] = values[i];
    }
    const enum oto_status status = model->check != NULL ? model->check(checked, error) : OTO_OK;
    if (status == OTO_OK) {
        memcpy(state, checked, n * sizeof *state);
    }
    return status;
}

void num_model_identity(uint32_t n, double *jacobian)
{
    for (uint32_t i = 0; i < n * n; i++) {
        jacobian[i] = 0.0;
    }
    for (uint32_t i = 0; i < n; i++) {
        jacobian[i * n + i] = 1.0;
    }
}
