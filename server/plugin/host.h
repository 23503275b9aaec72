/*
 * Loads plugins and binds their parameters, with or without a server: for `otolithd`, `otolith sense` and Python. The
 * file is checked before any of its code runs, copied into a sealed memfd, and loaded from there (A15). The file may
 * therefore be rebuilt or truncated while the plugin runs, and the same path gives the new code at the next load.
 * [loop]; an open plugin handle may also be used by the tick thread.
 */
#ifndef OTOLITH_PLUGIN_HOST_H
#define OTOLITH_PLUGIN_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "document/document.h"
#include "otolith/estimator.h"
#include "otolith/motion_model.h"
#include "otolith/plugin.h"
#include "otolith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oto_plugin;

/*
 * Finds a plugin's file. `name` with a '/' or ending in ".so" is a file. Otherwise NAME.so is searched in each
 * directory of OTOLITH_PLUGIN_PATH (colon-separated), in otolith/plugins beside the shared library that contains this
 * function, in ../lib/otolith/plugins beside the running executable, and in the configured install directory. Errors list every directory that was searched, and the nearest existing name.
 */
OTO_API enum oto_status oto_plugin_find(const char *name, char *path, size_t path_bytes, struct oto_error *error);
/* Calls `each` for every name that oto_plugin_find would find in those directories, sorted by name. */
typedef void (*oto_plugin_name_function)(void *context, const char *name);
OTO_API enum oto_status oto_plugin_each(oto_plugin_name_function each, void *context, struct oto_error *error);

/*
 * Stages, checks and loads a file. If `keep_directory` is given (NULL: the environment variable OTOLITH_KEEP_PLUGINS),
 * the copy is also written there, for perf and gdb.
 */
OTO_API enum oto_status oto_plugin_open(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                struct oto_error *error);
/*
 * oto_plugin_open in two steps, so that a caller can probe the plugin in between. `load` stages, checks and maps the
 * file and reads its tables; no code of the plugin runs, since constructors are refused. `begin` requests the
 * extensions. Between the two calls descriptor, ops, path, fd and hash may be used. If `begin` fails, the caller closes
 * the plugin.
 */
OTO_API enum oto_status oto_plugin_load(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                        struct oto_error *error);
OTO_API enum oto_status oto_plugin_begin(struct oto_plugin *plugin, struct oto_error *error);
/*
 * Makes a handle for a plugin that is linked into the program. Nothing is staged or loaded; its fd is -1 and its hash
 * 0.
 */
OTO_API enum oto_status oto_plugin_wrap(const struct oto_plugin_entry *entry, struct oto_plugin **plugin,
                                        struct oto_error *error);
/* The descriptor of the sealed copy. It belongs to the plugin and is close-on-exec. */
OTO_API int oto_plugin_fd(const struct oto_plugin *plugin);
/* Unloads the plugin. Returns false if the library stays mapped nevertheless; the caller counts these. NULL: true. */
OTO_API bool oto_plugin_close(struct oto_plugin *plugin);
/* Adds a reference to the handle. A plugin that several nodes use is opened once for each content. */
OTO_API struct oto_plugin *oto_plugin_hold(struct oto_plugin *plugin);

OTO_API const struct oto_plugin_descriptor *oto_plugin_descriptor(const struct oto_plugin *plugin);
OTO_API const struct oto_plugin_ops *oto_plugin_ops(const struct oto_plugin *plugin);
OTO_API const struct oto_motion_extension *oto_plugin_motion(const struct oto_plugin *plugin); /* NULL: none */
OTO_API const struct oto_model_extension *oto_plugin_model(const struct oto_plugin *plugin);   /* NULL: none */
OTO_API const struct oto_estimator_extension *oto_plugin_estimator(const struct oto_plugin *plugin); /* NULL: none */
/* Checks that a record has the fields that an input of an estimator needs. The error names the first missing field. */
OTO_API enum oto_status oto_input_check_fields(const struct oto_input_port *port, const struct oto_record_type *type,
                                               struct oto_error *error);
/* Checks that an estimator can run with these inputs: all required ones, no unknown one, in the estimator's order. */
OTO_API enum oto_status oto_inputs_check(const struct oto_estimator_extension *estimator,
                                         const struct oto_input_binding *bindings, uint32_t count,
                                         struct oto_error *error);
/* True if a swap to this motion can continue from the current truth. */
static inline bool oto_motion_adopts(const struct oto_motion_extension *motion)
{
    return motion != NULL && motion->adopt != NULL;
}
OTO_API const char *oto_plugin_path(const struct oto_plugin *plugin);   /* path of the file that was loaded */
OTO_API uint64_t oto_plugin_content_hash(const struct oto_plugin *plugin); /* FNV-1a-64 of the file's content */

/* Reads a plugin's tables in a process of its own, so that none of its code runs here: for plugins that are isolated. */
typedef enum oto_status srv_describe_function(const char *path, struct oto_plugin **plugin, struct oto_error *error);

/* ---- parameters ---- */

/* A bound parameter block, and what binding found. */
struct oto_params {
    void *block; /* descriptor.params_bytes */
    uint64_t bytes;
    double rate_hz; /* value of the parameter flagged OTO_PARAM_RATE; 0: not set */
};

typedef void (*oto_warn_function)(void *context, const char *sentence);

/* Fills the block with the defaults. */
OTO_API enum oto_status oto_params_default(const struct oto_plugin_descriptor *descriptor, struct oto_params *params,
                                   struct oto_error *error);
/*
 * Applies a map (from `params:`, a params_file or `--set`) to a block, completely or not at all. Unknown keys are
 * errors with a suggestion. Foreign keys (aliases) are accepted. Ranges, units in keys and finiteness are checked.
 * Errors name the place.
 */
OTO_API enum oto_status oto_params_apply(const struct oto_plugin_descriptor *descriptor, const struct oto_value *map,
                                 struct oto_params *params, oto_warn_function warn, void *warn_context,
                                 struct oto_error *error);
/*
 * Sets one parameter from text, as `otolith set` does: key "accelerometer.constant_bias_m_s2", or "….2" for one
 * element.
 */
OTO_API enum oto_status oto_params_set(const struct oto_plugin_descriptor *descriptor, const char *key, const char *yaml,
                               bool running, struct oto_params *params, struct oto_error *error);
/* Writes one parameter as YAML flow text into `text`. */
OTO_API enum oto_status oto_params_get(const struct oto_plugin_descriptor *descriptor, const char *key,
                               const struct oto_params *params, char *text, size_t text_bytes, struct oto_error *error);
OTO_API enum oto_status oto_params_copy(const struct oto_params *from, struct oto_params *to, struct oto_error *error);
OTO_API void oto_params_free(struct oto_params *params);
OTO_API const struct oto_param *oto_param_find(const struct oto_plugin_descriptor *descriptor, const char *key);

/* ---- instances ---- */

/* Memory that `prepare` allocated; it is freed at once. */
struct oto_prepared {
    const void *data;
    void *arena; /* private */
};

/* Calls the plugin's prepare with the standard host services (files are read with oto_table_read). */
OTO_API enum oto_status oto_prepare(const struct oto_plugin *plugin, const struct oto_setup *setup,
                            const struct oto_params *params, oto_warn_function warn, void *warn_context,
                            struct oto_prepared *prepared, struct oto_error *error);
OTO_API void oto_prepared_free(struct oto_prepared *prepared);

/* ---- motion models, without a server ---- */

/* A motion model of a plugin with its own parameters and state. One thread at a time; `const` functions: any thread. */
struct oto_model;

/*
 * Opens the model NAME: the plugin motion_NAME, else the plugin NAME, else a file, as in oto_plugin_find. `params` is a
 * map as under `params:` of a world, or NULL. The state is at rest at the origin.
 */
OTO_API enum oto_status oto_model_open(const char *name, const struct oto_value *params, oto_warn_function warn,
                                       void *warn_context, struct oto_model **model, struct oto_error *error);
OTO_API void oto_model_close(struct oto_model *model); /* NULL is allowed */
/* Sets one parameter from text, by its key or its alias ("L_f"). The state does not change. */
OTO_API enum oto_status oto_model_set(struct oto_model *model, const char *key, const char *yaml, struct oto_error *error);

OTO_API const struct oto_plugin *oto_model_plugin(const struct oto_model *model);
OTO_API const struct oto_model_extension *oto_model_of(const struct oto_model *model);
OTO_API const struct oto_params *oto_model_params(const struct oto_model *model);
/* The parameter with that key or alias; NULL if there is none. */
OTO_API const struct oto_param *oto_model_param(const struct oto_model *model, const char *key);

/* The number of states, their descriptions (NULL beyond), and the index of a name. */
OTO_API uint32_t oto_model_size(const struct oto_model *model);
OTO_API const struct oto_model_quantity *oto_model_quantity(const struct oto_model *model, uint32_t index);
OTO_API enum oto_status oto_model_index(const struct oto_model *model, const char *name, uint32_t *index,
                                        struct oto_error *error);

/* Only reset, from_truth, predict and jacobian_and_predict change the state. If they fail, the state is unchanged. */
OTO_API enum oto_status oto_model_reset(struct oto_model *model, const double *values, struct oto_error *error);
OTO_API enum oto_status oto_model_get(const struct oto_model *model, uint32_t index, double *value,
                                      struct oto_error *error);
OTO_API void oto_model_state(const struct oto_model *model, double *values);
OTO_API void oto_model_derived(const struct oto_model *model, double *values); /* `values` has the extension's
                                                                                * derived_count */
OTO_API enum oto_status oto_model_predict(struct oto_model *model, int64_t dt_ns, struct oto_error *error);
OTO_API enum oto_status oto_model_predict_to(const struct oto_model *model, int64_t dt_ns, double *next,
                                             struct oto_error *error);
/* Row-major n × n, at the current state. */
OTO_API enum oto_status oto_model_jacobian(const struct oto_model *model, int64_t dt_ns, double *jacobian,
                                           struct oto_error *error);
/* Computes the Jacobian at the current state, then predicts. */
OTO_API enum oto_status oto_model_jacobian_and_predict(struct oto_model *model, int64_t dt_ns, double *jacobian,
                                                       struct oto_error *error);
/* `states` receives steps × n numbers; the state of the model does not change. */
OTO_API enum oto_status oto_model_roll_out(const struct oto_model *model, int64_t dt_ns, uint64_t steps, double *states,
                                           struct oto_error *error);
OTO_API void oto_model_to_truth(const struct oto_model *model, struct oto_truth_record *truth);
OTO_API enum oto_status oto_model_from_truth(struct oto_model *model, const struct oto_truth_record *truth,
                                             struct oto_error *error);

#ifdef __cplusplus
}
#endif

#endif
