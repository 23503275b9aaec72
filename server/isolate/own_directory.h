/* The directory in which a plugin host that runs code of others may write files. [loop] */
#ifndef SRV_ISOLATE_OWN_DIRECTORY_H
#define SRV_ISOLATE_OWN_DIRECTORY_H

#include <stddef.h>

#include "otolith/status.h"

/* Makes an empty directory of this user in TMPDIR, else in /tmp, and stores its path. */
enum oto_status srv_own_directory_make(char *path, size_t bytes, struct oto_error *error);
/* Removes the directory with all that is in it, without following links. "" is allowed. */
void srv_own_directory_remove(const char *path);

#endif
