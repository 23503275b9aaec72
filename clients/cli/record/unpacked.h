/*
 * The files of a recording in a temporary folder. A file /a/b is stored as FOLDER/a/b, so that a world finds the files that it
 * names on a machine without the originals. [loop]
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

/* Writes the files. OTO_CORRUPT: a path leads out of the folder. The caller calls unpacked_close also after a failure. */
enum oto_status unpacked_open(struct unpacked *unpacked, const struct recorded *recorded, struct oto_error *error);
/* Adds a file; `path` is absolute. */
enum oto_status unpacked_add(const struct unpacked *unpacked, const char *path, const void *data, size_t bytes,
                             struct oto_error *error);
/* Makes the path in the folder of the file whose original path is `path`; false if it is too long. */
bool unpacked_path(const struct unpacked *unpacked, const char *path, char *to, size_t bytes);
/* Returns `path` if this machine has the plugin at this path, else the plugin's name without folder and ".so", in `name`. */
const char *unpacked_plugin(const char *path, char *name, size_t bytes);
void unpacked_close(struct unpacked *unpacked); /* zeroed is allowed */

#endif
