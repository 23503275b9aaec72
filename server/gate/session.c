#include "gate/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITES_PER_TURN 64 /* most writes of a session before other sessions run */

static const unsigned char our_greeting[8] = {0, 'S', 'P', 0, 0, 0x20, 0, 0};
static const unsigned char subscriber_greeting[8] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};

struct srv_session *srv_session_open(struct oto_tls_context *context, int fd, bool control, int64_t now_ms)
{
    struct srv_session *session = calloc(1, sizeof *session);
    if (session == NULL || (session->tls = oto_tls_open(context, fd, NULL)) == NULL) {
        (void)close(fd);
        free(session);
        return NULL;
    }
    session->fd = fd;
    session->control = control;
    session->deadline_ms = now_ms + SRV_SESSION_OPENING_MS;
    session->events = POLLIN;
    return session;
}

void srv_session_end(struct srv_session *session, const char *reason)
{
    session->state = SRV_SESSION_OVER;
    (void)snprintf(session->reason, sizeof session->reason, "%s", reason);
}

void srv_session_close(struct srv_session *session)
{
    oto_tls_close(session->tls);
    (void)close(session->fd);
    srv_frame_release(session->frame);
    srv_relay_close(session->relay);
    free(session);
}

bool srv_session_is_opening(const struct srv_session *session)
{
    return session->state == SRV_SESSION_HANDSHAKE || session->state == SRV_SESSION_GREETING;
}

/* Whether a TLS operation succeeded. If it must wait, sets the events; if it failed, ends the session. */
static bool went_on(struct srv_session *session, enum oto_status status)
{
    if (status == OTO_AGAIN) {
        session->events = (short)(session->events | (oto_tls_wants_write(session->tls) ? POLLOUT : POLLIN));
    } else if (status != OTO_OK) {
        srv_session_end(session, status == OTO_CLOSED && !srv_session_is_opening(session) ? "" : oto_tls_reason(session->tls));
    }
    return status == OTO_OK;
}

/* ---- samples ---- */

static void put_out(struct srv_session *session, const void *data, size_t bytes)
{
    memcpy(session->out + session->out_end, data, bytes);
    session->out_end += bytes;
}

/* Fills the buffer for one TLS record with several frames, or with a part of one frame. */
static void fill(struct srv_session *session, struct srv_frames *frames)
{
    session->out_begin = session->out_end = 0;
    while (session->out_end < sizeof session->out) {
        if (session->frame == NULL) {
            session->frame = srv_frames_take(frames, &session->cursor);
            session->frame_sent = 0;
        }
        if (session->frame == NULL) {
            return;
        }
        const size_t left = session->frame->bytes - session->frame_sent, room = sizeof session->out - session->out_end;
        const size_t bytes = left < room ? left : room;
        put_out(session, session->frame->data + session->frame_sent, bytes);
        session->frame_sent += bytes;
        if (session->frame_sent == session->frame->bytes) {
            srv_frame_release(session->frame);
            session->frame = NULL;
        }
    }
}

static bool flush(struct srv_session *session)
{
    while (session->out_begin < session->out_end) {
        size_t sent = 0;
        if (!went_on(session, oto_tls_write(session->tls, session->out + session->out_begin,
                                            session->out_end - session->out_begin, &sent))) {
            return false;
        }
        session->out_begin += sent;
    }
    return true;
}

/* Ends the session if the subscriber sends a message: after its greeting it must send nothing. */
static void watch_input(struct srv_session *session)
{
    unsigned char byte;
    size_t got = 0;
    if (went_on(session, oto_tls_read(session->tls, &byte, 1, &got))) {
        srv_session_end(session, "a subscriber sent a message");
    }
}

static void stream(struct srv_session *session, struct srv_frames *frames)
{
    watch_input(session);
    for (int i = 0; i < WRITES_PER_TURN && session->state == SRV_SESSION_STREAMING; i++) {
        if (!flush(session)) {
            return;
        }
        fill(session, frames);
        if (session->out_end == 0) {
            return;
        }
    }
    session->events |= POLLOUT; /* more frames wait until the other sessions have run */
}

static void greet(struct srv_session *session, struct srv_frames *frames)
{
    if (!flush(session)) {
        return;
    }
    while (session->greeting_bytes < sizeof session->greeting) {
        size_t got = 0;
        if (!went_on(session, oto_tls_read(session->tls, session->greeting + session->greeting_bytes,
                                           sizeof session->greeting - session->greeting_bytes, &got))) {
            return;
        }
        session->greeting_bytes += got;
    }
    if (memcmp(session->greeting, subscriber_greeting, sizeof subscriber_greeting) != 0) {
        srv_session_end(session, "the greeting is not that of a subscriber");
        return;
    }
    session->cursor = frames->next;
    session->connected = true;
    session->state = SRV_SESSION_STREAMING;
    stream(session, frames);
}

/* ---- the beginning ---- */

static void begin_control(struct srv_session *session, const struct srv_gate_options *options)
{
    char name[OTO_TLS_NAME_BYTES];
    oto_tls_peer_name(session->tls, name);
    session->relay = srv_relay_open(options, name, session->from);
    if (session->relay == NULL) {
        srv_session_end(session, "no memory for remote control");
        return;
    }
    if (!srv_relay_is_granted(session->relay)) {
        (void)snprintf(session->reason, sizeof session->reason, "the certificate '%s' has no role", name);
    }
    session->state = SRV_SESSION_RELAYING;
}

static void shake_hands(struct srv_session *session, struct srv_session_shared *shared)
{
    if (!went_on(session, oto_tls_handshake(session->tls))) {
        return;
    }
    if (session->control) {
        begin_control(session, shared->options);
        return;
    }
    put_out(session, our_greeting, sizeof our_greeting);
    session->state = SRV_SESSION_GREETING;
}

void srv_session_run(struct srv_session *session, struct srv_session_shared *shared)
{
    session->events = 0;
    if (session->state == SRV_SESSION_HANDSHAKE) {
        shake_hands(session, shared);
    }
    if (session->state == SRV_SESSION_GREETING) {
        greet(session, &shared->frames);
    } else if (session->state == SRV_SESSION_STREAMING) {
        stream(session, &shared->frames);
    } else if (session->state == SRV_SESSION_RELAYING && !srv_relay_run(session->relay, session->tls, &session->events)) {
        session->state = SRV_SESSION_OVER;
    }
}

uint32_t srv_session_poll(const struct srv_session *session, struct pollfd polls[2])
{
    polls[0] = (struct pollfd){.fd = session->fd, .events = session->events};
    if (session->relay == NULL) {
        return 1;
    }
    polls[1] = srv_relay_poll(session->relay);
    return 2;
}
