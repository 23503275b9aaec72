/*
 * A test subscriber: dials a listener, sends the SP handshake, and expects the handshake and the beginning of a frame.
 * It shows whether the listener accepts new subscribers. It is a bare socket, because in nng 1.5.2 closing a dialer
 * while its peer is busy can block nng's only reaper thread for ever (reproduced: after that no connection of the
 * process is freed). Never blocks. One thread.
 */
#ifndef SRV_CANARY_H
#define SRV_CANARY_H

#include <stdbool.h>
#include <stddef.h>

struct srv_canary {
    int fd; /* -1: not running */
    bool greeted;
    size_t got; /* bytes received */
};

enum srv_canary_state { SRV_CANARY_WAITING, SRV_CANARY_SERVED, SRV_CANARY_REFUSED };

/*
 * `url` is ipc://PATH or tcp://NUMERIC-ADDRESS:PORT. False if no socket is available; the listener's state is then
 * unknown.
 */
bool srv_canary_start(struct srv_canary *canary, const char *url);
enum srv_canary_state srv_canary_look(struct srv_canary *canary);
void srv_canary_end(struct srv_canary *canary);

#endif
