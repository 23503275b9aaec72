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
#include "document/problems.h"
#include "otolith/controls.h"
#include "otolith/estimator.h"
#include "otolith/model.h"
#include "otolith/plugin.h"
#include "otolith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct oto_plugin;

/*
 * Finds a plugin's file. `name` with a '/' or ending in ".so" is a file. Otherwise NAME.so is searched in each
 * directory of OTOLITH_PLUGIN_PATH (colon-separated), in otolith/plugins-ABI beside the shared library that contains this
 * function, in the library folder beside the running executable, and in the configured install directory. Errors list every directory that was searched, and the nearest existing name.
 */
OTO_API enum oto_status oto_plugin_find(const char *name, char *path, size_t path_bytes, struct oto_error *error);
/* Calls `each` for every name that oto_plugin_find would find in those directories, sorted by name. */
typedef void (*oto_plugin_name_function)(void *context, const char *name);
OTO_API enum oto_status oto_plugin_each(oto_plugin_name_function each, void *context, struct oto_error *error);

/* Writes the digest of its loaded bytes into a plugin file that was just linked; from then on a copy that has changed is refused. */
OTO_API enum oto_status oto_plugin_write_digest(const char *path, struct oto_error *error);

/*
 * Stages, checks and loads a file. If `keep_directory` is given (NULL: the environment variable OTOLITH_KEEP_PLUGINS),
 * the copy is also written there, for perf and gdb.
 */
OTO_API enum oto_status oto_plugin_open(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                struct oto_error *error);
/*
 * oto_plugin_open in two steps, so that a plugin host can record which of them crashed. `load` stages, checks and maps
 * the file and reads its tables; no code of the plugin runs, since constructors are refused. `begin` requests the
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
OTO_API const struct oto_control_extension *oto_plugin_control(const struct oto_plugin *plugin); /* NULL: takes no controls. Of a plugin that runs elsewhere it does nothing */
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

/*
 * How a program opens the plugins of its worlds. `isolated`: the plugin will run in another process, so only its tables
 * are needed, and none of its code may run in this one.
 */
typedef enum oto_status srv_open_plugin_function(const char *path, bool isolated, struct oto_plugin **plugin,
                                                 struct oto_error *error);
/* ---- parameters ---- */

/* A parameter block, and the rate that binding found. */
struct oto_params {
    void *block; /* memory of descriptor.params_bytes, made by oto_params_default only */
    uint64_t bytes;
    double rate_hz; /* value of the parameter flagged OTO_PARAM_RATE; 0: not set */
};

/* Fills the block with the defaults. */
OTO_API enum oto_status oto_params_default(const struct oto_plugin_descriptor *descriptor, struct oto_params *params,
                                   struct oto_error *error);
/*
 * Applies a map (from `params:`, a params_file or `--set`) to a block, completely or not at all. Unknown keys are
 * errors with a suggestion. Foreign keys (aliases) are accepted. Ranges, units in keys and finiteness are checked.
 * Errors name the place.
 */
OTO_API enum oto_status oto_params_apply(const struct oto_plugin_descriptor *descriptor, const struct oto_value *map,
                                 struct oto_params *params, struct oto_error *error);
/* As oto_params_apply; continues after an error if the problems have a receiver. */
enum oto_status oto_params_apply_all(const struct oto_plugin_descriptor *descriptor, const struct oto_value *map,
                                     struct oto_params *params, struct oto_problems *problems);
/*
 * Sets one parameter from text, as `otolith set` does: key "accelerometer.constant_bias_m_s2", or "….2" for one
 * element.
 */
OTO_API enum oto_status oto_params_set(const struct oto_plugin_descriptor *descriptor, const char *key, const char *yaml,
                               bool running, struct oto_params *params, struct oto_error *error);
/* Writes one parameter as YAML flow text into `text`. */
OTO_API enum oto_status oto_params_get(const struct oto_plugin_descriptor *descriptor, const char *key,
                               const struct oto_params *params, char *text, size_t text_bytes, struct oto_error *error);
/* The accepted values: "0 to 1", "above 0, to 5", "mems|mavs", "true|false"; "" for any finite number. */
void oto_param_describe_range(const struct oto_param *param, char *text, size_t bytes);
/* Copies share their values until oto_params_apply or oto_params_set changes one of them. */
OTO_API struct oto_params oto_params_copy(const struct oto_params *from);
OTO_API void oto_params_free(struct oto_params *params);
OTO_API const struct oto_param *oto_param_find(const struct oto_plugin_descriptor *descriptor, const char *key);

/* ---- instances ---- */

/* The data that `prepare` made, and all memory that it allocated, which is freed together. */
struct oto_prepared {
    const void *data;
    void *arena; /* private */
    bool is_limited; /* a step changes at most the first `step_bytes` of the state (oto_host.limit_state) */
    uint64_t step_bytes;
};

/* Calls the plugin's prepare with the standard host services (files are read with oto_table_read). */
OTO_API enum oto_status oto_prepare(const struct oto_plugin *plugin, const struct oto_setup *setup,
                            const struct oto_params *params, oto_warn_function warn, void *warn_context,
                            struct oto_prepared *prepared, struct oto_error *error);
OTO_API void oto_prepared_free(struct oto_prepared *prepared);

/* One call of `step`; the caller adds the part of the instance's kind. */
static inline struct oto_step oto_step_make(uint64_t tick, uint64_t n, struct oto_instant at, struct oto_output *outputs)
{
    return (struct oto_step){.size = sizeof(struct oto_step), .tick = tick, .n = n, .at = at, .outputs = outputs};
}

#ifdef __cplusplus
}
#endif

#endif
