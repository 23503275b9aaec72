/*
 * The folder of checkpoints of a supervised world that asks for none. The supervising parent makes and removes it; both it
 * and its server hold a lock on it, so that the next parent can remove what a killed one left. [loop]
 */
#ifndef SRV_SUPERVISE_SAVES_H
#define SRV_SUPERVISE_SAVES_H

#include <stdbool.h>
#include <stddef.h>

/* Removes folders without a lock, then makes one. False, and `path` is "": none can be made. */
bool srv_saves_make(char *path, size_t bytes);
/* Holds the folder until the process ends. */
void srv_saves_hold(const char *path);
void srv_saves_remove(const char *path); /* "" is allowed */

#endif
