/* Hashes the plugins of a world, so that results can be recognised as made with the same plugins. */
#ifndef CLI_WORLD_PLUGINS_H
#define CLI_WORLD_PLUGINS_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

/* Adds the contents of the plugins that a world file names to a hash. `path` is the name in messages. */
enum oto_status cli_hash_plugins(const char *path, const char *text, size_t length, uint64_t *hash, struct oto_error *error);

#endif
