/*
 * Motion models as a plugin extension: the flow of a state in time, and its Jacobian. The same model is the truth of a
 * vehicle, the process model of an estimator, and a library for C and Python (`oto_model_open` in otolith/model.h; no
 * server is needed).
 *
 * A state is `state_count` doubles in the caller's memory, named by `states`. Time steps are integer nanoseconds: 0 is
 * the identity, negative steps run the flow backwards. Constants of the motion (controls, a vehicle's dimensions) are
 * ordinary parameters of the plugin, in `instance->params`; `instance->state` is not used and may be NULL. Every
 * operation is [any]: no side effects, several threads at once on different memory.
 */
#ifndef OTOLITH_MOTION_MODEL_H
#define OTOLITH_MOTION_MODEL_H

#include "otolith/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OTO_EXTENSION_MOTION_MODEL "otolith.motion_model/1"

#define OTO_MODEL_MAX_STATES 32
#define OTO_MODEL_MAX_DERIVED 16

/* One number of a state, or a number derived from it. */
struct oto_model_quantity {
    const char *name; /* name in CSV columns and on the command line: "vx" */
    const char *unit;
    const char *frame; /* axes: "enu", "body"; "" for none */
    const char *text;
};

/* The flow is exact for any step: predict(a) then predict(b) equals predict(a + b). Without the flag it is integrated. */
#define OTO_MODEL_EXACT (1u << 0)

struct oto_model_extension {
    uint32_t size;
    uint32_t flags;       /* OTO_MODEL_… */
    uint32_t state_count; /* rows of `states`, at most OTO_MODEL_MAX_STATES */
    uint32_t derived_count;
    const struct oto_model_quantity *states;
    const struct oto_model_quantity *derived; /* quantities that `derive` computes */
    /* The number of states of this instance, from 1 to state_count; it may depend on parameters. NULL: always state_count. */
    uint32_t (*size_of)(const struct oto_instance *instance);
    /*
     * Sets the state to `values` if they are valid: finite, quaternions of length 1 within 1e-6 (they are then
     * normalised).
     */
    enum oto_status (*reset)(const struct oto_instance *instance, const double *values, double *state,
                             struct oto_error *error);
    /* The state after dt_ns. `next` may be `state`. OTO_RANGE: the step is too long to integrate. */
    enum oto_status (*predict)(const struct oto_instance *instance, const double *state, int64_t dt_ns, double *next);
    /* The Jacobian at `state`, row-major: jacobian[i * n + j] = d next[i] / d state[j]. */
    enum oto_status (*jacobian)(const struct oto_instance *instance, const double *state, int64_t dt_ns,
                                double *jacobian);
    /* predict and jacobian in one call, with the same bits. The Jacobian is at the old state, also if `next` is `state`. */
    enum oto_status (*jacobian_and_predict)(const struct oto_instance *instance, const double *state, int64_t dt_ns,
                                            double *jacobian, double *next);
    /* Computes `derived_count` numbers from a state. NULL if there are none. */
    void (*derive)(const struct oto_instance *instance, const double *state, double *derived);
    /* The motion of a vehicle in this state. What the model does not describe has the values of a level vehicle at rest. */
    void (*to_truth)(const struct oto_instance *instance, const double *state, struct oto_truth_record *truth);
    /* The state that continues a truth: keeps pose and velocity as far as the model can represent them. */
    void (*from_truth)(const struct oto_instance *instance, const struct oto_truth_record *truth, double *state);
};

static inline uint32_t oto_model_extension_size(const struct oto_model_extension *model,
                                                const struct oto_instance *instance)
{
    return model->size_of != NULL ? model->size_of(instance) : model->state_count;
}

/*
 * `steps` predictions of dt_ns from `state`, which does not change. `states` receives steps × n numbers, row by row.
 * Ends early with the status of the first step that fails.
 */
static inline enum oto_status oto_model_extension_roll_out(const struct oto_model_extension *model,
                                                           const struct oto_instance *instance, const double *state,
                                                           int64_t dt_ns, uint64_t steps, double *states)
{
    const uint32_t n = oto_model_extension_size(model, instance);
    const double *from = state;
    enum oto_status status = OTO_OK;
    for (uint64_t k = 0; k < steps && status == OTO_OK; k++) {
        status = model->predict(instance, from, dt_ns, states + k * n);
        from = states + k * n;
    }
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
