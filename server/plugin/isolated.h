/*
 * Plugins that run in another process than the server: what server and plugin host need of the loader beyond
 * otolith/plugin_host.h. [loop]
 */
#ifndef PLUGIN_ISOLATED_H
#define PLUGIN_ISOLATED_H

#include "plugin/host.h"

/* As oto_plugin_load, from a sealed copy that another process made; the descriptor stays the caller's. */
enum oto_status oto_plugin_load_copy(int fd, const char *path, struct oto_plugin **plugin, struct oto_error *error);

/*
 * A plugin of which only the tables are known: `packed` (malloc'ed, from oto_description_pack in a process that loaded the
 * copy `fd`) is taken over, also on failure. Nothing is mapped; its operations end with an error.
 */
enum oto_status oto_plugin_make_described(int fd, const char *path, void *packed, size_t bytes,
                                          struct oto_plugin **plugin, struct oto_error *error);

#endif
