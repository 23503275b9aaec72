/*
 * The connection to PX4: a TCP server for one autopilot at a time. Bytes that the kernel does not accept wait in a buffer of fixed
 * size; messages that do not fit are dropped whole and counted. One thread.
 */
#ifndef AUTOPILOT_PX4_LINK_H
#define AUTOPILOT_PX4_LINK_H

#include "mavlink.h"
#include "otolith/status.h"
#include "program/program.h"

enum { PX4_OUT_BYTES = 16384 };

struct px4_link {
    int listener, fd; /* -1: none */
    struct mavlink_stream in;
    unsigned char out[PX4_OUT_BYTES];
    size_t out_count;
    uint8_t sequence;
    uint64_t sent, dropped, connections;
};

/* "ADDRESS:PORT". */
enum oto_status px4_link_open(struct px4_link *link, struct srv_program *program, const char *listen, struct oto_error *error);
void px4_link_close(struct px4_link *link);
/* Waits at most `wait_ns` for a connection. True: one was accepted. */
bool px4_link_accept(struct px4_link *link, struct srv_program *program, int64_t wait_ns);
void px4_link_disconnect(struct px4_link *link);
static inline bool px4_link_is_up(const struct px4_link *link)
{
    return link->fd >= 0;
}

void px4_link_send(struct px4_link *link, const struct mavlink_message *message);
/* Passes waiting bytes to the kernel. */
void px4_link_flush(struct px4_link *link);
/* Gets the next message; waits for at most `wait_ns`. If the autopilot has closed the connection, the link is down afterwards. */
bool px4_link_receive(struct px4_link *link, struct srv_program *program, int64_t wait_ns, struct mavlink_message *message);

#endif
