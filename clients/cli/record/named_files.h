/*
 * The files that a world names, for its recording: tables, parameter files, parts, a checkpoint. A recording has them with its
 * world file, so that `otolith verify` needs no other file. Plugins are programs: a recording has their paths and hashes alone.
 */
#ifndef CLI_RECORD_NAMED_FILES_H
#define CLI_RECORD_NAMED_FILES_H

#include "cli.h"

struct named_file {
    char *path;  /* absolute */
    char *place; /* in the world file, "vehicles.0.motion.params.file"; NULL: the path beside the world file finds it */
    bool is_plugin, is_pattern; /* pattern: "{i}" in it stands for the index of a vehicle */
};

struct named_files {
    struct named_file *files;
    uint32_t count;
};

/*
 * Every scalar of the world file and of its overrides ("path=value") that names a readable file, and those of YAML files among
 * them. `world_path` is absolute. The list is to be freed also after a failure.
 */
enum oto_status named_files_find(const char *world_path, const char *const *overrides, uint32_t override_count,
                                 struct named_files *files, struct oto_error *error);
void named_files_free(struct named_files *files); /* zeroed is allowed */

#endif
