/* Shared by server.c (load, run), server_end.c (end), server_restore.c (restore) and server_hooks.c (replies). [loop] */
#ifndef SRV_SERVER_PRIVATE_H
#define SRV_SERVER_PRIVATE_H

#include "server.h"

/* ---- server.c ---- */

/* SIG_BLOCK: blocks the signals that end a run; SIG_UNBLOCK: delivers them again. */
void srv_server_hold_signals(int how);

/* ---- server_load.c ---- */

/* Ticks between two records of hashes in the log; 0: none are recorded. */
uint64_t srv_server_journal_every(const struct srv_server *server);

/* ---- server_end.c ---- */

uint32_t srv_server_state(const struct srv_server *server); /* enum oto_server_state */
/* Starts the end of the run. `patient`: lossless readers get time to finish; a second call with false ends that time. */
void srv_server_end(struct srv_server *server, bool patient);
void srv_server_on_signal(uv_signal_t *signal, int number);
/* The last phase: closes every handle that keeps the loop running. */
void srv_server_close_handles(struct srv_server *server);

/* ---- server_restore.c ---- */

/* Makes the next run while this one continues. Then this run ends, or the request is refused. */
void srv_server_restore(void *server, const struct srv_restore_request *request);
/* The worker is stuck: replies to the request `restore`, if there is one. */
void srv_server_give_up_restore(struct srv_server *server);

/* ---- server_hooks.c ---- */

/* Prints a sentence on stderr; the context is not used. */
void srv_server_say(void *context, const char *sentence);
void srv_server_warn(void *context, const char *sentence);
void srv_server_write_facts(struct srv_server *server); /* server.json */
struct srv_control_hooks srv_server_control_hooks(struct srv_server *server);
/* Start the children that serve the world. If the page cannot start, the world runs without it and a sentence is printed. */
enum oto_status srv_server_start_publishing(struct srv_server *server, struct oto_error *error);
enum oto_status srv_server_start_gate(struct srv_server *server, struct oto_error *error);
void srv_server_start_web(struct srv_server *server);

struct srv_supervisor_hooks srv_server_publisher_hooks(struct srv_server *server);
struct srv_supervisor_hooks srv_server_web_hooks(struct srv_server *server);

#endif
