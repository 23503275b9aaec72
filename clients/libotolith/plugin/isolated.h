/*
 * Plugins that run in another process than the server: what server and plugin host need of the loader beyond
 * otolith/plugin_host.h. [loop]
 */
#ifndef PLUGIN_ISOLATED_H
#define PLUGIN_ISOLATED_H

#include "otolith/plugin_host.h"

/* As oto_plugin_load, from a sealed copy that another process made; the descriptor stays the caller's. */
enum oto_status oto_plugin_load_copy(int fd, const char *path, struct oto_plugin **plugin, struct oto_error *error);

/* The further rules of isolated plugins: an allow-list of imports. */
enum oto_status oto_plugin_check_isolated(const struct oto_plugin *plugin, struct oto_error *error);

#endif
