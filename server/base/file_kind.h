/* Checks the kind of a file before opening it, because opening a FIFO or a device may never return. [any] */
#ifndef SRV_BASE_FILE_KIND_H
#define SRV_BASE_FILE_KIND_H

#include <stdbool.h>
#include <stdio.h>

#include "otolith/status.h"

/*
 * Opens a regular file for reading, close-on-exec. `more`: O_NOFOLLOW or 0. On failure returns -1 with errno and *why.
 */
int srv_regular_open(const char *path, int more, const char **why);
/* As srv_regular_open, for a stream. On failure returns NULL with errno and *why. */
FILE *srv_regular_fopen(const char *path, const char **why);
/*
 * Reads a regular file. *text ends with a NUL that *bytes does not count, and is the caller's. Reading stops beyond `limit` bytes: a
 * larger *bytes tells that the file is longer. On failure returns OTO_NOT_FOUND, OTO_NO_MEMORY or OTO_IO and sets *why.
 */
enum oto_status srv_regular_read(const char *path, size_t limit, char **text, size_t *bytes, const char **why);

/* True if a listener may create its socket there: the path does not exist or is a socket. */
bool srv_path_accepts_socket(const char *path);

#endif
