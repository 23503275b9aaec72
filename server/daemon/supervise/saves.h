/*
 * The folder for checkpoints of a supervised world whose file has no `checkpoint:`. The supervising parent makes and removes
 * the folder. The parent and its server hold a lock on it, so that a later parent can remove folders that nobody holds. [loop]
 */
#ifndef SRV_SUPERVISE_SAVES_H
#define SRV_SUPERVISE_SAVES_H

#include <stdbool.h>
#include <stddef.h>

/* Removes the folders that no process has locked, then makes one. False, and `path` is "": none can be made. */
bool srv_saves_make(char *path, size_t bytes);
/* Holds the lock of the folder until the process ends. */
void srv_saves_hold(const char *path);
void srv_saves_remove(const char *path); /* "" is allowed */

#endif
