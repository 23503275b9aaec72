/* Finds running worlds. Every directory on the path must belong to this user only. Any thread. */
#ifndef OTO_RUNTIME_H
#define OTO_RUNTIME_H

#include <stdbool.h>

#include "otolith/client.h"

#define OTO_SOCKET_PATH_BYTES 108 /* the size of sun_path */

/*
 * The control socket of the named world, else of OTOLITH_WORLD, else of the only running world. With several the error
 * lists them.
 */
enum oto_status oto_runtime_socket(const char *world, char *path, struct oto_error *error);

/*
 * Connects to a control socket; the server must run as this user or root. Returns the descriptor, or -1 with errno set
 * (EPERM: another user's server). Waits at most timeout_ms.
 */
int oto_runtime_connect(const char *path, int timeout_ms, int64_t *server_pid);

/*
 * Whether the server of a world or its supervisor lives, by server.json in the directory: then a socket that refuses to connect is
 * between two runs, as during a `restore` and after a crash. The server removes the file when the world ends.
 */
bool oto_runtime_goes_on(const char *directory);

#endif
