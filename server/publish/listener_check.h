/*
 * A test subscriber: dials a listener, sends the SP handshake, and expects the handshake and the beginning of a frame.
 * It shows whether the listener accepts new subscribers. It is a bare socket, because in nng 1.5.2 closing a dialer
 * while its peer is busy can block nng's only reaper thread for ever (reproduced: after that no connection of the
 * process is freed). Never blocks. One thread.
 */
#ifndef SRV_LISTENER_CHECK_H
#define SRV_LISTENER_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct srv_listener_check {
    int fd; /* -1: not running */
    bool greeted;
    size_t got; /* bytes received */
};

enum srv_listener_check_state { SRV_LISTENER_CHECK_WAITING, SRV_LISTENER_CHECK_SERVED, SRV_LISTENER_CHECK_REFUSED };

/*
 * `url` is ipc://PATH or tcp://NUMERIC-ADDRESS:PORT. False if no socket is available; the listener's state is then
 * unknown.
 */
bool srv_listener_check_start(struct srv_listener_check *check, const char *url);
enum srv_listener_check_state srv_listener_check_poll(struct srv_listener_check *check);
void srv_listener_check_end(struct srv_listener_check *check);

#endif
