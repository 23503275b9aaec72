/*
 * Finds the files that a world names: tables, parameter files, parts, a checkpoint. A recording contains them beside its world
 * file, so that `otolith verify` needs no other file. Plugins are programs: a recording has only their paths and hashes.
 */
#ifndef CLI_RECORD_NAMED_FILES_H
#define CLI_RECORD_NAMED_FILES_H

#include "cli.h"

struct named_file {
    char *path;  /* absolute */
    char *place; /* in the world file, "vehicles.0.motion.params.file"; NULL: the path is relative to the world file */
    bool is_plugin, is_pattern; /* pattern: "{i}" in it stands for the index of a vehicle */
};

struct named_files {
    struct named_file *files;
    uint32_t count;
};

/*
 * Lists the readable files that scalars of the world file and of its overrides ("path=value") name, and the files that the YAML
 * files among them name. `world_path` is absolute. The caller frees the list also after a failure.
 */
enum oto_status named_files_find(const char *world_path, const char *const *overrides, uint32_t override_count,
                                 struct named_files *files, struct oto_error *error);
void named_files_free(struct named_files *files); /* zeroed is allowed */

#endif
