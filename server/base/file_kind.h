/* What stands at a path, asked without waiting for it: opening a FIFO or a device may never return. [any] */
#ifndef SRV_BASE_FILE_KIND_H
#define SRV_BASE_FILE_KIND_H

#include <stdbool.h>
#include <stdio.h>

/* Opens a regular file for reading, close-on-exec. `more`: O_NOFOLLOW or 0. -1: errno and *why tell the reason. */
int srv_regular_open(const char *path, int more, const char **why);
/* The same as a stream; NULL: errno and *why tell the reason. */
FILE *srv_regular_fopen(const char *path, const char **why);

/* Whether a listener may put its socket there: nothing stands there, or a socket. */
bool srv_path_accepts_socket(const char *path);

#endif
