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

#include "otolith/document.h"
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

/*
 * Stages, checks and loads a file. `keep_directory` (NULL: the environment's OTOLITH_KEEP_PLUGINS, if it is set): also
 * writes the copy there, for perf and gdb.
 */
OTO_API enum oto_status oto_plugin_open(const char *path, const char *keep_directory, struct oto_plugin **plugin,
                                struct oto_error *error);
/* Unloads; returns false if the library stays mapped nevertheless (counted by the caller). NULL: true. */
OTO_API bool oto_plugin_close(struct oto_plugin *plugin);
/* Handles are counted: a plugin used by several nodes is opened once for each content. */
OTO_API struct oto_plugin *oto_plugin_hold(struct oto_plugin *plugin);

OTO_API const struct oto_plugin_descriptor *oto_plugin_descriptor(const struct oto_plugin *plugin);
OTO_API const struct oto_plugin_ops *oto_plugin_ops(const struct oto_plugin *plugin);
OTO_API const struct oto_motion_extension *oto_plugin_motion(const struct oto_plugin *plugin); /* NULL: none */
OTO_API const char *oto_plugin_path(const struct oto_plugin *plugin);   /* where it came from */
OTO_API uint64_t oto_plugin_content_hash(const struct oto_plugin *plugin); /* FNV-1a-64 of the file */

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

#ifdef __cplusplus
}
#endif

#endif
