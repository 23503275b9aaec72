/* The server that `otolith run` and `otolith branch` start: spawned, found by its pid, stopped in order. */
#ifndef CLI_SERVER_PROCESS_H
#define CLI_SERVER_PROCESS_H

#include <sys/types.h>

#include "cli.h"

struct server_process {
    pid_t pid; /* 0: not running */
    int exit_code;
    bool is_ending; /* it ends without a signal: it answered a shutdown, its run ended, or it cannot load its file */
};

/* Starts otolithd with the arguments (NULL-terminated, [0] is replaced by the program). */
enum oto_status server_start(struct server_process *server, char **arguments, struct oto_error *error);
/* Whether the process has ended; if so, exit_code is set. Does not block. */
bool server_ended(struct server_process *server);
/* Waits for the world of this process and attaches to it. NULL: the process ended, or no world appeared in time. */
struct oto_client *server_attach(struct server_process *server, const char *world, struct oto_error *error);
/* Attaches to the next run of this process after the end of a run. OTO_CLOSED: the process ended, or a signal came. */
enum oto_status server_reattach(struct server_process *server, struct oto_client *client, struct oto_error *error);
/*
 * Ends the process: waits for one that is ending, sends SIGTERM to any other and to one that does not end, then SIGKILL. A
 * server that this SIGTERM ends while it loads its world has exit code 0.
 */
void server_stop(struct server_process *server);

#endif
