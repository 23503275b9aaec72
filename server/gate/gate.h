/*
 * The connections of otolith-gate and their limits. The places are those of the publisher (publish/places.h). When they
 * are taken, the oldest connection that is still in its handshake is ended, so that unfinished handshakes cannot exclude
 * clients. A connection with a finished handshake is never ended for another connection. Refusals are reported at most once
 * in ten seconds. One thread.
 */
#ifndef SRV_GATE_H
#define SRV_GATE_H

#include "gate/keys.h"
#include "gate/listener.h"
#include "gate/session.h"

#define SRV_GATE_CONTROLS_MAX 8u /* most connections for remote control; the server has 64 connections in all */

struct srv_gate_reports {
    void *context;
    void (*endpoint)(void *context, uint32_t index, const char *url);
    void (*closed)(void *context, uint32_t index); /* the gate cannot listen on this address now */
    void (*event)(void *context, const char *sentence);
};

struct srv_gate {
    struct srv_session_shared shared;
    struct srv_gate_reports reports;
    struct srv_keys keys;
    struct srv_gate_listener listeners[SRV_GATE_LISTEN_MAX];
    bool complained[SRV_GATE_LISTEN_MAX];
    uint32_t listener_count;
    struct srv_places places;
    struct srv_session *sessions[SRV_PLACES];
    uint32_t count, next_id;
    int64_t next_care_ms, next_refusal_ms, last_run_ms;
    uint32_t refusals; /* number of refusals that are not reported yet */
};

enum oto_status srv_gate_open(struct srv_gate *gate, const struct srv_gate_options *options, const struct srv_gate_reports *reports,
                              struct oto_error *error);
void srv_gate_close(struct srv_gate *gate);
/* Waits for the network or `other_fd`, at most timeout_ns, then accepts, advances and ends connections. */
void srv_gate_run(struct srv_gate *gate, int other_fd, int64_t timeout_ns);
/* Advances the subscribers. Call it after new frames. */
void srv_gate_push(struct srv_gate *gate);
/* Adds a frame for the subscribers. */
void srv_gate_put(struct srv_gate *gate, const void *data, size_t bytes);
bool srv_gate_has_subscribers(const struct srv_gate *gate);
/* True if a subscriber has connected since the last call. */
bool srv_gate_take_connected(struct srv_gate *gate);

#endif
