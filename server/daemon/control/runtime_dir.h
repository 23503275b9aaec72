/*
 * The runtime directory of one world. The server creates it with mode 0700, checks that it belongs to the server's own user,
 * holds a lock on it while it runs, and removes it at its end. server.json is there as long as the world runs or goes on in a
 * next run of the process: clients may wait for its socket; when it is gone, the next server waits for the lock. [loop]
 */
#ifndef SRV_RUNTIME_DIR_H
#define SRV_RUNTIME_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "otolith/status.h"

#define SRV_RUNTIME_PATH_BYTES 96 /* leaves room for "/control.sock" in a socket address */

struct srv_runtime_dir {
    char path[SRV_RUNTIME_PATH_BYTES]; /* <base>/<world> */
    char world[64];
    int base_fd, dir_fd; /* dir_fd holds the lock; -1: not claimed */
};

/*
 * Claims the directory of `world`: refuses a directory of another user, one that others may read or write, a symlink, and a
 * world that runs already. A world that ends is waited for some seconds. Files that a dead server of this world left are
 * removed.
 */
enum oto_status srv_runtime_dir_claim(const char *world, struct srv_runtime_dir *dir, struct oto_error *error);
/* Lets other users connect to control.sock, where the server checks their credentials. They cannot list the directory. */
enum oto_status srv_runtime_dir_share(const struct srv_runtime_dir *dir, struct oto_error *error);
/* The world ends: from now on clients do not wait for its socket, and the next server of its name waits for the lock. */
void srv_runtime_dir_retire(const struct srv_runtime_dir *dir);
/* Gives the directory and its lock to the next run of this process. Its files are removed, except server.json. `dir` may be not claimed. */
void srv_runtime_dir_hand_over(struct srv_runtime_dir *dir, struct srv_runtime_dir *next);
/* Whether the directory is claimed and that of `world`. */
bool srv_runtime_dir_is_of(const struct srv_runtime_dir *dir, const char *world);
/* Removes the files in the directory, then the directory. `dir` may be NULL, not claimed, or released already. */
void srv_runtime_dir_release(struct srv_runtime_dir *dir);

/* Writes the path of the file `name` in the directory; false when it does not fit. */
int srv_runtime_dir_path(const struct srv_runtime_dir *dir, const char *name, char *path, size_t bytes);
/* Replaces a file as a whole (0600): readers see the old text or the new one. */
enum oto_status srv_runtime_dir_write(const struct srv_runtime_dir *dir, const char *name, const char *text,
                                      struct oto_error *error);
/* Makes control.sock, which listens from its first moment; returns the descriptor, -1 with an error. */
int srv_runtime_dir_listen(const struct srv_runtime_dir *dir, struct oto_error *error);

#endif
