/* What the files of the server share: server.c loads and runs, server_end.c ends, server_hooks.c answers. [loop] */
#ifndef SRV_SERVER_PRIVATE_H
#define SRV_SERVER_PRIVATE_H

#include "server.h"

/* ---- server.c ---- */

/* SIG_BLOCK: what asks for the end waits until it can be answered in order; SIG_UNBLOCK. */
void srv_server_hold_signals(int how);

/* ---- server_end.c ---- */

uint32_t srv_server_state(const struct srv_server *server); /* enum oto_server_state */
/* Begins the end, if that has not been done. `patient`: readers may finish; asked again without, they may not. */
void srv_server_end(struct srv_server *server, bool patient);
void srv_server_on_signal(uv_signal_t *signal, int number);
/* The last phase: all that keeps the loop running is closed. */
void srv_server_close_handles(struct srv_server *server);

/* ---- server_restore.c ---- */

/* Makes the next run while this one goes on; then this one ends, or the request is refused. */
void srv_server_restore(void *server, const struct srv_restore_request *request);

/* ---- server_hooks.c ---- */

/* A sentence on stderr; the context is not used. */
void srv_server_say(void *context, const char *sentence);
void srv_server_warn(void *context, const char *sentence);
void srv_server_write_facts(void *server); /* server.json */
struct srv_control_hooks srv_server_control_hooks(struct srv_server *server);
struct srv_supervisor_hooks srv_server_publisher_hooks(struct srv_server *server);

#endif
