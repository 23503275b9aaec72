/*
 * The connection to a NATS server, the only file with libnats: a thread that takes frames from a queue and sends them, and keeps
 * the schema of the world in a JetStream stream. The thread waits for a server that does not read; the caller never waits.
 */
#ifndef NATS_LINK_H
#define NATS_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "queue.h"
#include "otolith/status.h"

#define NATS_SCHEMA_STREAM "OTOLITH_SCHEMA"

struct nats_link_options {
    const char *servers;     /* "nats://host:port,…" */
    const char *credentials; /* file with JWT and seed of a user; NULL: none */
    const char *token_file, *user, *password_file;
    const char *ca, *certificate, *key; /* files of TLS; NULL: none */
    bool tls;
};

struct nats_link_counts {
    uint64_t sent;   /* number of frames; each is counted once */
    uint64_t resent; /* of these, frames that were sent again after a break, because the server had not confirmed them */
    uint64_t refused; /* frames larger than the server's max_payload */
    uint64_t reconnects;
    bool is_connected, has_stream;
};

struct nats_link;

/* Connects once; a failure is an error. Later it reconnects without limit. The queue is borrowed. */
enum oto_status nats_link_open(const struct nats_link_options *options, struct nats_queue *queue, struct nats_link **link,
                               struct oto_error *error);
/* Waits at most `drain_ms` for the queue to be sent. False: frames are left; the process should end now. */
bool nats_link_drain(struct nats_link *link, int drain_ms);
/* To be called after a successful drain. NULL is allowed. False: libnats may still use link and queue; end the process. */
bool nats_link_close(struct nats_link *link);

/*
 * The schema of a world, one or more frames: begin, add each, publish. The thread publishes it, and again after each reconnect,
 * in place of the previous one.
 */
void nats_link_begin_schema(struct nats_link *link, const char *world_token);
bool nats_link_add_schema(struct nats_link *link, const void *frame, size_t bytes); /* false: no memory */
void nats_link_publish_schema(struct nats_link *link);
void nats_link_count(struct nats_link *link, struct nats_link_counts *counts);

#endif
