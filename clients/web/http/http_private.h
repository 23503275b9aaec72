/* Shared by http.c (port, vhost), serve.c (assets), peer.c (WebSocket connections) and admit.c (who may connect). */
#ifndef WEB_HTTP_PRIVATE_H
#define WEB_HTTP_PRIVATE_H

#include <libwebsockets.h>

#include "http/http.h"

#define WEB_HOST_BYTES 128
#define WEB_ORIGIN_BYTES 192

struct web_http {
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct web_http_options options;
    struct lws_protocols *protocols; /* [0] serves plain HTTP; the others are options.protocols; the last is empty */
    void *loops[1];
    uint16_t port;
    bool is_loopback;
    char own_name[WEB_HOST_BYTES]; /* of this machine */
    struct web_peer *peers;
    uint32_t peer_count;
};

struct message {
    struct message *next;
    size_t bytes, sent;
    bool binary;
    unsigned char *data; /* LWS_PRE bytes precede it */
};

struct web_peer {
    struct web_http *http;
    struct web_peer *previous, *next;
    const struct web_protocol *protocol;
    void *state;
    struct lws *wsi;
    struct message *first, **last;
    size_t queued_bytes;
    bool closing, close_sent;
    uint16_t close_code;
    char close_reason[124];
    char token[WEB_TOKEN_BYTES];
    unsigned char *received; /* the parts of a message that came already */
    size_t received_bytes, received_room, received_most;
    double allowance; /* messages that may arrive now */
    uint64_t allowance_ms;
};

/* What lws keeps of each HTTP transaction and WebSocket connection. */
struct web_session {
    const struct web_asset *asset; /* being sent */
    const unsigned char *body;
    size_t body_bytes, sent;
    struct web_peer *peer;
};

struct web_http *web_http_of(struct lws *wsi);

/* ---- admit.c ---- */

/* True if the Host header names this server. A name of another domain may be an attack by DNS rebinding. */
bool web_admit_host(struct lws *wsi);
/* True if there is no Origin header, or it names this server or a configured origin. */
bool web_admit_origin(struct lws *wsi);
/* True for an upgrade to WebSocket with a sub-protocol; libwebsockets would also accept h2c. */
bool web_admit_upgrade(struct lws *wsi);

/* ---- serve.c ---- */

int web_serve_begin(struct lws *wsi, struct web_session *session, const char *path);
int web_serve_continue(struct lws *wsi, struct web_session *session);

/* ---- peer.c ---- */

int web_peer_callback(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t bytes);

#endif
