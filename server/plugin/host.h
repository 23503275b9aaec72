/*
 * Loading plugins and binding their parameters, with or without a server: what `otolithd`, `otolith sense` and Python
 * use. A library is checked as a file before any of its code runs, copied into a sealed memfd, and loaded from there
 * (A15), so that the file may be rebuilt or truncated while it runs and the same path gives the new code next time.
 * [loop]; a plugin handle may be used by the tick thread as long as it is open.
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
 * Where plugins are looked for: `name` with a '/' or ending in ".so" is a file; else NAME.so in each directory of
 * OTOLITH_PLUGIN_PATH (colon-separated), then ../lib/otolith/plugins beside the running executable, then the
 * configured install directory. Errors name every place that was looked at, and the nearest existing name.
 */
OTO_API enum oto_status oto_plugin_find(const char *name, char *path, size_t path_bytes, struct oto_error *error);
/* Calls `each` for every name that oto_plugin_find would find in those directories, in the order of the names. */
typedef void (*oto_plugin_name_function)(void *context, const char *name);
OTO_API enum oto_status oto_plugin_each(oto_plugin_name_function each, void *context, struct oto_error *error);

/*
 * Stages, checks and loads a file. `keep_directory` (NULL: the environment's OTOLITH_KEEP_PLUGINS, if it is set): also
 * writes the copy there, for perf and gdb.
 */
OTO_API enum oto_status oto_plugin_open(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                struct oto_error *error);
/*
 * The same in two steps, for one who wants to try the plugin elsewhere in between: `load` stages, checks, maps and reads
 * the tables, and no code of the plugin has run (constructors are refused); `begin` asks for its extensions. Between them
 * descriptor, ops, path, fd and hash may be used. A plugin that `begin` refused is closed by the caller.
 */
OTO_API enum oto_status oto_plugin_load(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                        struct oto_error *error);
OTO_API enum oto_status oto_plugin_begin(struct oto_plugin *plugin, struct oto_error *error);
/* A plugin that is part of the program: nothing is staged or loaded, its fd is -1 and its hash 0. */
OTO_API enum oto_status oto_plugin_wrap(const struct oto_plugin_entry *entry, struct oto_plugin **plugin,
                                        struct oto_error *error);
/* The sealed copy that is mapped: the plugin's own descriptor, close-on-exec. */
OTO_API int oto_plugin_fd(const struct oto_plugin *plugin);
/* Unloads; returns false if the library stays mapped nevertheless (counted by the caller). NULL: true. */
OTO_API bool oto_plugin_close(struct oto_plugin *plugin);
/* Handles are counted: a plugin used by several nodes is opened once for each content. */
OTO_API struct oto_plugin *oto_plugin_hold(struct oto_plugin *plugin);

OTO_API const struct oto_plugin_descriptor *oto_plugin_descriptor(const struct oto_plugin *plugin);
OTO_API const struct oto_plugin_ops *oto_plugin_ops(const struct oto_plugin *plugin);
OTO_API const struct oto_motion_extension *oto_plugin_motion(const struct oto_plugin *plugin); /* NULL: none */
OTO_API const struct oto_model_extension *oto_plugin_model(const struct oto_plugin *plugin);   /* NULL: none */
OTO_API const struct oto_estimator_extension *oto_plugin_estimator(const struct oto_plugin *plugin); /* NULL: none */
/* Whether a record has the fields that an input of an estimator needs; the error names the first that it has not. */
OTO_API enum oto_status oto_input_check_fields(const struct oto_input_port *port, const struct oto_record_type *type,
                                               struct oto_error *error);
/* Whether an estimator can work with these inputs: all that it requires, none that it does not know, in its order. */
OTO_API enum oto_status oto_inputs_check(const struct oto_estimator_extension *estimator,
                                         const struct oto_input_binding *bindings, uint32_t count,
                                         struct oto_error *error);
/* Whether a swap may go on from a truth with this motion. */
static inline bool oto_motion_adopts(const struct oto_motion_extension *motion)
{
    return motion != NULL && motion->adopt != NULL;
}
OTO_API const char *oto_plugin_path(const struct oto_plugin *plugin);   /* where it came from */
OTO_API uint64_t oto_plugin_content_hash(const struct oto_plugin *plugin); /* FNV-1a-64 of the file */

/* Reads a plugin's tables in a process of its own, so that none of its code runs here: for plugins that are isolated. */
typedef enum oto_status srv_describe_function(const char *path, struct oto_plugin **plugin, struct oto_error *error);

/* ---- parameters ---- */

/* A bound parameter block and what binding found. */
struct oto_params {
    void *block; /* descriptor.params_bytes */
    uint64_t bytes;
    double rate_hz; /* of a parameter flagged OTO_PARAM_RATE, 0: not given */
};

typedef void (*oto_warn_function)(void *context, const char *sentence);

/* Defaults alone. */
OTO_API enum oto_status oto_params_default(const struct oto_plugin_descriptor *descriptor, struct oto_params *params,
                                   struct oto_error *error);
/*
 * Applies a map (of `params:`, of a params_file, or of `--set`) over a block: all or nothing. Unknown keys are errors
 * with a suggestion; foreign keys (alias) are accepted; ranges, units in keys and finiteness are checked; errors carry
 * the place.
 */
OTO_API enum oto_status oto_params_apply(const struct oto_plugin_descriptor *descriptor, const struct oto_value *map,
                                 struct oto_params *params, oto_warn_function warn, void *warn_context,
                                 struct oto_error *error);
/* One parameter from text, as `otolith set` gives it: key "accelerometer.constant_bias_m_s2", or "…​.2" for one element. */
OTO_API enum oto_status oto_params_set(const struct oto_plugin_descriptor *descriptor, const char *key, const char *yaml,
                               bool running, struct oto_params *params, struct oto_error *error);
/* One parameter as YAML flow text into `text`. */
OTO_API enum oto_status oto_params_get(const struct oto_plugin_descriptor *descriptor, const char *key,
                               const struct oto_params *params, char *text, size_t text_bytes, struct oto_error *error);
OTO_API enum oto_status oto_params_copy(const struct oto_params *from, struct oto_params *to, struct oto_error *error);
OTO_API void oto_params_free(struct oto_params *params);
OTO_API const struct oto_param *oto_param_find(const struct oto_plugin_descriptor *descriptor, const char *key);

/* ---- instances ---- */

/* What `prepare` allocated: dropped as one. */
struct oto_prepared {
    const void *data;
    void *arena; /* private */
};

/* Runs descriptor's prepare with the standard host services (files through oto_table_read). */
OTO_API enum oto_status oto_prepare(const struct oto_plugin *plugin, const struct oto_setup *setup,
                            const struct oto_params *params, oto_warn_function warn, void *warn_context,
                            struct oto_prepared *prepared, struct oto_error *error);
OTO_API void oto_prepared_free(struct oto_prepared *prepared);

/* ---- motion models, without a server ---- */

/* A plugin's model with parameters and a state of its own. Belongs to one thread at a time; `const` calls to any. */
struct oto_model;

/*
 * Opens the model NAME: the plugin motion_NAME, else NAME, else a file as oto_plugin_find takes it. `params` is a map as
 * under `params:` of a world, or NULL. It begins at rest at the origin.
 */
OTO_API enum oto_status oto_model_open(const char *name, const struct oto_value *params, oto_warn_function warn,
                                       void *warn_context, struct oto_model **model, struct oto_error *error);
OTO_API void oto_model_close(struct oto_model *model); /* NULL is allowed */
/* One parameter from text: by its key or its alias ("L_f"). The state stays. */
OTO_API enum oto_status oto_model_set(struct oto_model *model, const char *key, const char *yaml, struct oto_error *error);

OTO_API const struct oto_plugin *oto_model_plugin(const struct oto_model *model);
OTO_API const struct oto_model_extension *oto_model_of(const struct oto_model *model);
OTO_API const struct oto_params *oto_model_params(const struct oto_model *model);
/* The parameter of that key or alias, NULL where there is none. */
OTO_API const struct oto_param *oto_model_param(const struct oto_model *model, const char *key);

/* Numbers in the state, their descriptions (NULL beyond), and the place of a name. */
OTO_API uint32_t oto_model_size(const struct oto_model *model);
OTO_API const struct oto_model_quantity *oto_model_quantity(const struct oto_model *model, uint32_t index);
OTO_API enum oto_status oto_model_index(const struct oto_model *model, const char *name, uint32_t *index,
                                        struct oto_error *error);

/* Only reset, from_truth, predict and jacobian_and_predict change the state, and those leave it alone when they fail. */
OTO_API enum oto_status oto_model_reset(struct oto_model *model, const double *values, struct oto_error *error);
OTO_API enum oto_status oto_model_get(const struct oto_model *model, uint32_t index, double *value,
                                      struct oto_error *error);
OTO_API void oto_model_state(const struct oto_model *model, double *values);
OTO_API void oto_model_derived(const struct oto_model *model, double *values); /* extension's derived_count */
OTO_API enum oto_status oto_model_predict(struct oto_model *model, int64_t dt_ns, struct oto_error *error);
OTO_API enum oto_status oto_model_predict_to(const struct oto_model *model, int64_t dt_ns, double *next,
                                             struct oto_error *error);
/* Row-major n × n, at the present state. */
OTO_API enum oto_status oto_model_jacobian(const struct oto_model *model, int64_t dt_ns, double *jacobian,
                                           struct oto_error *error);
/* The Jacobian at the old state, then the prediction. */
OTO_API enum oto_status oto_model_jacobian_and_predict(struct oto_model *model, int64_t dt_ns, double *jacobian,
                                                       struct oto_error *error);
/* `states` gets steps × n numbers; the model's own state stays. */
OTO_API enum oto_status oto_model_roll_out(const struct oto_model *model, int64_t dt_ns, uint64_t steps, double *states,
                                           struct oto_error *error);
OTO_API void oto_model_to_truth(const struct oto_model *model, struct oto_truth_record *truth);
OTO_API enum oto_status oto_model_from_truth(struct oto_model *model, const struct oto_truth_record *truth,
                                             struct oto_error *error);

#ifdef __cplusplus
}
#endif

#endif
