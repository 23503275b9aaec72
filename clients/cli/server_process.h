/* The server that `otolith run` starts for itself: spawned paused, found by its own pid, ended politely. */
#ifndef CLI_SERVER_PROCESS_H
#define CLI_SERVER_PROCESS_H

#include <sys/types.h>

#include "cli.h"

struct server_process {
    pid_t pid; /* 0: not running */
    int exit_code;
};

/* Starts otolithd with the arguments (NULL-terminated, [0] is replaced by the program). */
enum oto_status server_start(struct server_process *server, char **arguments, struct oto_error *error);
/* Whether it has ended; then exit_code is set. Does not block. */
bool server_ended(struct server_process *server);
/* Attaches to the world of exactly this process, waiting for it to come up. NULL: it ended or did not come up. */
struct oto_client *server_attach(struct server_process *server, const char *world, struct oto_error *error);
/* After a run is over: attaches to the next one of this process. OTO_CLOSED: it ended, or somebody interrupted. */
enum oto_status server_reattach(struct server_process *server, struct oto_client *client, struct oto_error *error);
/* Waits for its end, then asks with SIGTERM, then with SIGKILL. */
void server_stop(struct server_process *server);

#endif
