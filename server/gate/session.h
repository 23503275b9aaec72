/*
 * One TLS connection of otolith-gate: the handshake, then a subscriber, which gets frames as from nng, or remote control,
 * which is relayed. The handshake and the greetings have a deadline. Never blocks. One thread.
 */
#ifndef SRV_GATE_SESSION_H
#define SRV_GATE_SESSION_H

#include <poll.h>

#include "gate/frames.h"
#include "gate/options.h"
#include "gate/relay.h"
#include "publish/places.h"
#include "transport/tls.h"

#define SRV_SESSION_OPENING_MS 5000
#define SRV_SESSION_OUT_BYTES 16384 /* largest size of a TLS record */

enum srv_session_state { SRV_SESSION_HANDSHAKE, SRV_SESSION_GREETING, SRV_SESSION_STREAMING, SRV_SESSION_RELAYING, SRV_SESSION_OVER };

struct srv_session {
    uint32_t id; /* number of the session in the table of places */
    int fd;
    bool control;
    struct srv_peer peer;
    char from[96];
    struct oto_tls *tls;
    enum srv_session_state state;
    int64_t deadline_ms;
    bool connected; /* a subscriber has connected, and the gate has not processed this yet */
    short events;   /* poll events for which the session waits on its socket */
    char reason[200]; /* reason of the end; "": an ordinary end */
    unsigned char greeting[8];
    size_t greeting_bytes;
    uint64_t cursor;
    struct srv_frame *frame; /* the frame that is being sent */
    size_t frame_sent;
    size_t out_begin, out_end;
    unsigned char out[SRV_SESSION_OUT_BYTES];
    struct srv_relay *relay;
};

/* Data that all sessions share. */
struct srv_session_shared {
    const struct srv_gate_options *options;
    struct srv_frames frames;
};

/* Takes ownership of the descriptor. NULL without memory; the descriptor is then closed. */
struct srv_session *srv_session_open(struct oto_tls_context *context, int fd, bool control, int64_t now_ms);
/* Advances the session as far as possible without waiting; afterwards its state may be OVER. */
void srv_session_run(struct srv_session *session, struct srv_session_shared *shared);
/* The descriptors and events for which the session waits. Returns their number, one or two. */
uint32_t srv_session_poll(const struct srv_session *session, struct pollfd polls[2]);
bool srv_session_is_opening(const struct srv_session *session);
void srv_session_end(struct srv_session *session, const char *reason);
void srv_session_close(struct srv_session *session);

#endif
