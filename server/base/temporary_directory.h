/* Directories for the files of one run, in TMPDIR, else in /tmp. [loop] */
#ifndef SRV_BASE_TEMPORARY_DIRECTORY_H
#define SRV_BASE_TEMPORARY_DIRECTORY_H

#include <stddef.h>

#include "otolith/status.h"

/* Makes an empty directory of this user, `name` and six characters, and stores its path; after a failure the path is
 * "". */
enum oto_status srv_temporary_directory_make(const char *name, char *path, size_t bytes, struct oto_error *error);
/* Removes the directory with all that is in it, without following links. "" is allowed. */
void srv_temporary_directory_remove(const char *path);

#endif
