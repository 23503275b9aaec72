/*
 * Motion models as objects with parameters and a state (libotolith-sim); no world and no server is needed. One thread at
 * a time uses a model; functions that take it as `const` may run in any thread meanwhile. All of them are [loop].
 *
 *     oto_model_open("kinematic_bicycle", "{front_axle_m: 1.4, delta: 0.1}", NULL, NULL, &model, &error);
 *     oto_model_predict(model, 100000000, &error);
 *     oto_model_state(model, values);
 *     oto_model_close(model);
 *
 * Time steps are integer nanoseconds; 0 and negative steps are allowed. States and what follows from them are described by
 * the model's extension (otolith/motion_model.h).
 */
#ifndef OTOLITH_MODEL_H
#define OTOLITH_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/motion_model.h"
#include "otolith/plugin.h"
#include "otolith/records.h"
#include "otolith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oto_model;

/*
 * Opens the model NAME: the plugin motion_NAME, else the plugin NAME; a name with a '/' or ending in ".so" is a file.
 * `params` is YAML as under `params:` of a world file, NULL: the defaults. `warn` receives sentences about implausible
 * values, NULL: none. The state is at rest at the origin. On failure *model is NULL.
 */
OTO_API enum oto_status oto_model_open(const char *name, const char *params, oto_warn_function warn, void *warn_context,
                                       struct oto_model **model, struct oto_error *error);
OTO_API void oto_model_close(struct oto_model *model); /* NULL is allowed */

/* ---- parameters ---- */

/* Sets one parameter from YAML, by its key or its alias ("L_f"). The state does not change. */
OTO_API enum oto_status oto_model_set(struct oto_model *model, const char *key, const char *yaml, struct oto_error *error);
/* Writes one parameter as YAML into `text`. */
OTO_API enum oto_status oto_model_get_param(const struct oto_model *model, const char *key, char *text, size_t text_bytes,
                                            struct oto_error *error);
/* The description of the parameter with that key or alias; NULL if there is none. */
OTO_API const struct oto_param *oto_model_param(const struct oto_model *model, const char *key);

/* The tables of the model and of its plugin; they live until oto_model_close. */
OTO_API const struct oto_model_extension *oto_model_of(const struct oto_model *model);
OTO_API const struct oto_plugin_descriptor *oto_model_descriptor(const struct oto_model *model);

/* ---- reading the state ---- */

/* The number n of states, their descriptions (NULL beyond the last), and the index of a name. */
OTO_API uint32_t oto_model_size(const struct oto_model *model);
OTO_API const struct oto_model_quantity *oto_model_quantity(const struct oto_model *model, uint32_t index);
OTO_API enum oto_status oto_model_index(const struct oto_model *model, const char *name, uint32_t *index,
                                        struct oto_error *error);
OTO_API enum oto_status oto_model_get(const struct oto_model *model, uint32_t index, double *value,
                                      struct oto_error *error);
OTO_API void oto_model_state(const struct oto_model *model, double *values);   /* n numbers */
OTO_API void oto_model_derived(const struct oto_model *model, double *values); /* the model's derived_count numbers */
OTO_API void oto_model_to_truth(const struct oto_model *model, struct oto_truth_record *truth);

/* ---- moving ---- */

/* Only reset, from_truth, predict and jacobian_and_predict change the state. If they fail, the state is unchanged. */
OTO_API enum oto_status oto_model_reset(struct oto_model *model, const double *values, struct oto_error *error);
OTO_API enum oto_status oto_model_from_truth(struct oto_model *model, const struct oto_truth_record *truth,
                                             struct oto_error *error);
OTO_API enum oto_status oto_model_predict(struct oto_model *model, int64_t dt_ns, struct oto_error *error);
OTO_API enum oto_status oto_model_predict_to(const struct oto_model *model, int64_t dt_ns, double *next,
                                             struct oto_error *error);
/* Row-major n × n, at the current state: [i][j] is the derivative of the next state i with respect to state j. */
OTO_API enum oto_status oto_model_jacobian(const struct oto_model *model, int64_t dt_ns, double *jacobian,
                                           struct oto_error *error);
/* Computes the Jacobian at the current state, then predicts. */
OTO_API enum oto_status oto_model_jacobian_and_predict(struct oto_model *model, int64_t dt_ns, double *jacobian,
                                                       struct oto_error *error);
/* `states` receives steps × n numbers: the states after 1, 2, … steps. */
OTO_API enum oto_status oto_model_roll_out(const struct oto_model *model, int64_t dt_ns, uint64_t steps, double *states,
                                           struct oto_error *error);

#ifdef __cplusplus
}
#endif

#endif
