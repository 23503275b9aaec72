/* Loads a world file as the server does, except that only isolated plugins are loaded by a plugin host first. */
#ifndef TESTS_WORLD_FILE_H
#define TESTS_WORLD_FILE_H

#include "isolate/describe.h"
#include "sim/external.h"
#include "world/world_config.h"

static inline enum oto_status world_file_open_plugin(const char *path, bool isolated, struct oto_plugin **plugin,
                                                     struct oto_error *error)
{
    return isolated ? srv_plugin_open_checked(path, true, plugin, error) : oto_plugin_open(path, NULL, plugin, error);
}

static inline enum oto_status world_file_load(const char *path, const struct srv_override *overrides,
                                              uint32_t override_count, oto_warn_function warn, void *warn_context,
                                              struct srv_world_config *config, struct oto_error *error)
{
    const struct srv_world_source source = {.path = path,
                                            .overrides = overrides,
                                            .override_count = override_count,
                                            .open_plugin = world_file_open_plugin,
                                            .given_motion = srv_external_entry()};
    return srv_world_config_load(&source, warn, warn_context, config, error);
}

#endif
