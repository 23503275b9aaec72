/* Loads a world file as the server does. */
#ifndef TESTS_WORLD_FILE_H
#define TESTS_WORLD_FILE_H

#include "isolate/describe.h"
#include "sim/external.h"
#include "world/world_config.h"

static inline enum oto_status world_file_load(const char *path, const struct srv_override *overrides,
                                              uint32_t override_count, oto_warn_function warn, void *warn_context,
                                              struct srv_world_config *config, struct oto_error *error)
{
    const struct srv_world_source source = {.path = path,
                                            .overrides = overrides,
                                            .override_count = override_count,
                                            .describe = srv_plugin_describe,
                                            .given_motion = srv_external_entry()};
    return srv_world_config_load(&source, warn, warn_context, config, error);
}

#endif
