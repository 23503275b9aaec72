/*
 * The connection to the control of a world on another machine: tls+tcp, four bytes of length (big-endian) before each
 * message. The gate of that world attaches for the client, and the reply to that is the first message. One thread at a time.
 */
#ifndef OTO_CONTROL_REMOTE_H
#define OTO_CONTROL_REMOTE_H

#include "otolith/client.h"

struct oto_control_remote;

/* Connects within timeout_ms. `url`: tls+tcp://host:port, also with "control+" before it. */
enum oto_status oto_control_remote_open(const char *url, const struct oto_tls_files *tls, int64_t timeout_ms,
                                        struct oto_control_remote **remote, struct oto_error *error);
void oto_control_remote_close(struct oto_control_remote *remote); /* NULL is allowed */

/* Sends a whole message: OTO_OK, OTO_TIMEOUT, OTO_CLOSED. */
enum oto_status oto_control_remote_send(struct oto_control_remote *remote, const void *data, size_t bytes, int64_t deadline_ms);
/* Receives a whole message: OTO_OK, OTO_AGAIN, OTO_CLOSED, OTO_LIMIT. */
enum oto_status oto_control_remote_receive(struct oto_control_remote *remote, void *data, size_t room, size_t *bytes);
void oto_control_remote_wait(const struct oto_control_remote *remote, int64_t deadline_ms);
bool oto_control_remote_alive(const struct oto_control_remote *remote);
/* The reason why the connection is closed. */
const char *oto_control_remote_reason(const struct oto_control_remote *remote);

#endif
