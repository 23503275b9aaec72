/* One connected viewer: subscriptions, requests for parameters, calls of services. Shared by the files of this folder. [loop] */
#ifndef WEB_FOXGLOVE_SESSION_H
#define WEB_FOXGLOVE_SESSION_H

#include "document/document.h"
#include "foxglove/catalog.h"
#include "foxglove/foxglove.h"
#include "page/control.h"

#define FOX_SUBSCRIPTIONS 64u
#define FOX_ID_BYTES 64u
#define FOX_FRAME_BYTES (256u << 10) /* limit of one message; the largest is the diagnostics of 256 nodes */
#define FOX_NODES_MAX 1024u
#define FOX_MESSAGE_BYTES (256u << 10) /* of an admitted viewer: Foxglove subscribes to all parameters in one message */

struct fox_subscription {
    bool used;
    uint32_t id, channel;
    struct oto_reader *readers; /* one for each source */
    int64_t next_view_ns; /* time of the next view: simulated; for /diagnostics real */
    uint64_t lost; /* lost samples that were reported */
};

/* A viewer's request for the parameters of all nodes: the server gets one request for each node; one message has all replies. */
struct fox_parameters {
    bool running;
    uint32_t node; /* index of the node whose reply is awaited */
    size_t name_bytes; /* of the names in `values`, as a list of JSON */
    char id[FOX_ID_BYTES];
    struct oto_json values; /* items of a list */
};

/* A playback control request whose replies are awaited. */
struct fox_control {
    uint32_t awaited;
    bool did_seek, plays;
    float speed;
    uint64_t seek_ns;
    char id[FOX_ID_BYTES];
};

struct fox_session {
    struct fox_session *previous, *next;
    struct web_foxglove *foxglove;
    struct web_peer *peer;
    uint64_t number;
    bool admitted, may_control;
    bool wants_parameters;
    struct fox_subscription subscriptions[FOX_SUBSCRIPTIONS];
    struct fox_parameters parameters;
    struct fox_control control;
};

struct web_foxglove {
    struct web_foxglove_options options;
    struct web_world_listener listener;
    struct web_control *control;
    struct fox_session *sessions;
    uint64_t session_count; /* number of the newest session */
    struct fox_catalog catalog;
    struct web_recording playback;
    char session_id[24];
    const char *nodes[FOX_NODES_MAX]; /* names of the nodes; the texts belong to the client's channels */
    uint32_t node_count;
    struct oto_reader events; /* reads events, which report parameters that a client has set */
    bool has_events;
    uv_timer_t timer;
    struct oto_json json;
    struct oto_buffer message;
    unsigned char frame[FOX_FRAME_BYTES];
    _Alignas(8) unsigned char payload[OTO_RECORD_MAX_BYTES];
};

void fox_send_text(struct fox_session *session); /* foxglove->json */
void fox_send_status(struct fox_session *session, uint32_t level, const char *message);

/* ---- requests.c: what a viewer asks for ---- */

/* Handles a text message or a service call. */
void fox_receive(struct fox_session *session, const void *data, size_t bytes, bool binary);
void fox_advertise_services(struct fox_session *session);
void fox_get_parameters(struct fox_session *session, const char *id);
/* A reply of web_control_request as JSON. */
void fox_reply(struct fox_session *session, const char *text, size_t bytes);
/* Sends the state of a playback in reply to `request`; NULL: the state in the segment, after a seek by another client. */
void fox_send_playback(struct fox_session *session, const struct fox_control *request);
void fox_end_subscription(struct fox_subscription *subscription);

#endif
