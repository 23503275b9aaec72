/* Where worlds are found. Every directory on the way must be ours alone. Any thread. */
#ifndef OTO_RUNTIME_H
#define OTO_RUNTIME_H

#include <stdbool.h>

#include "otolith/client.h"

#define OTO_SOCKET_PATH_BYTES 108 /* sun_path */

/*
 * The control socket of the world named, else of OTOLITH_WORLD, else of the only running one; with several the error
 * lists them.
 */
enum oto_status oto_runtime_socket(const char *world, char *path, struct oto_error *error);

/*
 * Connects to a control socket whose server must be of our own user (or root). Returns the descriptor, -1 with the
 * reason in errno (EPERM: another user's). Never waits longer than timeout_ms.
 */
int oto_runtime_connect(const char *path, int timeout_ms, int64_t *server_pid);

#endif
