/*
 * Loading of plugins that run in another process than the server: functions for server and plugin host that are not
 * public. [loop]
 */
#ifndef PLUGIN_ISOLATED_H
#define PLUGIN_ISOLATED_H

#include "plugin/host.h"
#include "plugin/stage.h"

/* As oto_plugin_load, from a sealed copy that another process made. The caller keeps its descriptor. */
enum oto_status oto_plugin_load_copy(int fd, const char *path, struct oto_plugin **plugin, struct oto_error *error);

/* As oto_plugin_load, from a copy that was staged here. The stage becomes the handle's, also on failure. */
enum oto_status oto_plugin_load_stage(struct oto_stage *stage, const char *path, struct oto_plugin **plugin,
                                      struct oto_error *error);

/*
 * Makes a handle for a plugin of which only the tables are known. `packed` (malloc'ed, from oto_description_pack in a
 * process that loaded the copy `fd`) becomes the handle's, also on failure. Nothing is mapped; the operations return an
 * error.
 */
enum oto_status oto_plugin_make_described(int fd, const char *path, void *packed, size_t bytes,
                                          struct oto_plugin **plugin, struct oto_error *error);

#endif
