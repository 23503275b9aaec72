/*
 * HTTP and WebSocket on one TCP port, in the caller's libuv loop. Assets are arrays of the program; sub-protocols are a
 * table of handlers. Host and Origin are checked on every request. Nothing outside this folder includes libwebsockets.
 * All functions belong to the thread of the loop.
 */
#ifndef WEB_HTTP_H
#define WEB_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "otolith/status.h"

#define WEB_MESSAGE_MAX_BYTES 4096u       /* of a received message, if the handler accepts no longer ones; a longer one closes the connection (1009) */
#define WEB_MESSAGES_PER_S 100u           /* received; more close the connection (1008) */
#define WEB_QUEUE_MAX_BYTES (4u << 20)    /* of a connection's messages that wait to be sent */
#define WEB_PEERS_MAX 32u                 /* WebSocket connections at a time */
#define WEB_TOKEN_BYTES 64

struct web_http;
struct web_peer; /* one WebSocket connection */

/* A file of the page, plain and compressed. Found by its exact path. */
struct web_asset {
    const char *path; /* "/", "/page.css" */
    const char *type; /* MIME type */
    const char *etag; /* with its quotes */
    const unsigned char *plain, *gzip;
    size_t plain_bytes, gzip_bytes;
};

/*
 * A sub-protocol. `connected` returns the handler's state of the connection, which is the argument of the other functions, or NULL
 * to refuse the connection. `closed` is called once for every state.
 */
struct web_protocol {
    const char *name; /* name of the sub-protocol in Sec-WebSocket-Protocol */
    void *context;
    void *(*connected)(void *context, struct web_peer *peer);
    void (*received)(void *state, const void *data, size_t bytes, bool binary);
    void (*writable)(void *state); /* the queue of the connection became empty */
    void (*closed)(void *state);
};

struct web_http_options {
    uv_loop_t *loop;
    const char *address;           /* an IPv4 or IPv6 literal */
    uint16_t port;                 /* 0: the kernel chooses one */
    uint16_t preferred_port;       /* tried before `port`; 0: none */
    uint32_t tries;                /* number of successive ports that are tried, from `port` */
    const char *const *origins;    /* other origins that may connect by WebSocket, "https://app.example" */
    uint32_t origin_count;
    const struct web_asset *assets;
    uint32_t asset_count;
    const struct web_protocol *protocols; /* must stay valid */
    uint32_t protocol_count;
};

/*
 * Opens the port. OTO_CONFLICT: all ports are taken. A process may call it once and ends with _exit: libwebsockets 4.1.6 unloads
 * its adapter to libuv while the loop still needs it, so that its context cannot be destroyed.
 */
enum oto_status web_http_open(const struct web_http_options *options, struct web_http **http, struct oto_error *error);
uint16_t web_http_port(const struct web_http *http);
uint32_t web_http_peers(const struct web_http *http);

/* Queues a copy of one message. OTO_LIMIT: the queue would exceed WEB_QUEUE_MAX_BYTES, and nothing was queued. */
enum oto_status web_peer_send(struct web_peer *peer, const void *data, size_t bytes, bool binary);
size_t web_peer_queued_bytes(const struct web_peer *peer);
/* Closes after the queue has been sent. `code` is a WebSocket close code; `reason` has at most 120 bytes. */
void web_peer_close(struct web_peer *peer, uint16_t code, const char *reason);
/* From now on messages of up to `bytes` are accepted. For connections that presented their token: others must not take memory. */
void web_peer_accept_long(struct web_peer *peer, size_t bytes);
/* The value of `token` in the query of the request, "" if there is none. */
const char *web_peer_query_token(const struct web_peer *peer);

#endif
