/*
 * The files of a recording in a temporary folder, each at its absolute path below it, so that a world finds what it names
 * where the originals are absent. [loop]
 */
#ifndef CLI_RECORD_UNPACKED_H
#define CLI_RECORD_UNPACKED_H

#include <limits.h>

#include "recording/recorded.h"

struct unpacked {
    char folder[PATH_MAX]; /* "": none */
    char **overrides;      /* "PLACE=PATH" of files that the world names by absolute paths, by `--set` or as parts */
    uint32_t override_count;
};

/* Writes the files. OTO_CORRUPT: a path leads out of the folder. Is to be closed also after a failure. */
enum oto_status unpacked_open(struct unpacked *unpacked, const struct recorded *recorded, struct oto_error *error);
/* Adds a file; `path` is absolute. */
enum oto_status unpacked_add(const struct unpacked *unpacked, const char *path, const void *data, size_t bytes,
                             struct oto_error *error);
/* The file of the folder in place of `path`; false if the path is too long. */
bool unpacked_path(const struct unpacked *unpacked, const char *path, char *to, size_t bytes);
/* A plugin of this machine: `path` if there is such a file, else its name without folder and ".so", in `name`. */
const char *unpacked_plugin(const char *path, char *name, size_t bytes);
void unpacked_close(struct unpacked *unpacked); /* zeroed is allowed */

#endif
