#include "transport/link.h"

#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "otolith/frame.h"
#include "transport/connection.h"

#define CONNECT_MS 5000 /* limit for connecting, TLS handshake and greetings together */
#define RETRY_MIN_MS 100
#define RETRY_MAX_MS 1000
#define GREETING_BYTES 8
#define MAX_HEADER_BYTES 9
#define START_BYTES 65536
#define MAX_BYTES (OTO_FRAME_MAX_BYTES + MAX_HEADER_BYTES)

static const unsigned char our_greeting[GREETING_BYTES] = {0, 'S', 'P', 0, 0, 0x21, 0, 0};       /* the protocol
                                                                                                  * number of a
                                                                                                  * subscriber */
static const unsigned char publisher_greeting[GREETING_BYTES] = {0, 'S', 'P', 0, 0, 0x20, 0, 0};

enum link_state { LINK_IDLE, LINK_CONNECTING, LINK_GREETING, LINK_RECEIVING };

struct oto_link {
    struct oto_connection *connection;
    enum link_state state;
    bool greeted; /* the publisher has sent its greeting */
    char reason[160]; /* of the last failure */
    int64_t retry_at_ms, limit_ms; /* the end of a pause; the deadline of connecting and greeting */
    int32_t retry_ms;
    size_t greeting_sent;
    size_t header_bytes; /* header of a message: the length in eight bytes, big-endian; over a unix socket a byte 1 before it */
    unsigned char *buffer;
    size_t capacity, begin, end; /* received bytes that have not been returned yet */
    size_t given;                /* of these, bytes that the caller is reading */
};

/* ---- states ---- */

static void hang_up(struct oto_link *link, const char *reason)
{
    (void)snprintf(link->reason, sizeof link->reason, "%s", reason);
    oto_connection_stop(link->connection);
    link->state = LINK_IDLE;
    link->greeted = false;
    link->begin = link->end = link->given = link->greeting_sent = 0;
    link->retry_at_ms = srv_now_ms() + link->retry_ms;
    link->retry_ms = 2 * link->retry_ms < RETRY_MAX_MS ? 2 * link->retry_ms : RETRY_MAX_MS;
}

/*
 * Makes room: moves the received bytes to the front, then doubles the buffer. It grows with received bytes, not with
 * announced ones.
 */
static enum oto_status make_room(struct oto_link *link)
{
    if (link->begin > 0) {
        memmove(link->buffer, link->buffer + link->begin, link->end - link->begin);
        link->end -= link->begin;
        link->begin = 0;
    }
    if (link->end < link->capacity) {
        return OTO_OK;
    }
    const size_t wanted = 2 * link->capacity < MAX_BYTES ? 2 * link->capacity : MAX_BYTES;
    unsigned char *buffer = realloc(link->buffer, wanted);
    if (buffer == NULL) {
        return OTO_NO_MEMORY;
    }
    link->buffer = buffer;
    link->capacity = wanted;
    return OTO_OK;
}

static uint64_t announced_bytes(const struct oto_link *link)
{
    uint64_t bytes = 0;
    for (size_t i = link->header_bytes - 8; i < link->header_bytes; i++) {
        bytes = bytes << 8 | link->buffer[link->begin + i];
    }
    return bytes;
}

/* Gets the next complete message. AGAIN: more bytes are needed; CORRUPT: the peer is not our publisher. */
static enum oto_status cut(struct oto_link *link, const unsigned char **data, size_t *bytes)
{
    if (!link->greeted) {
        if (link->end < GREETING_BYTES) {
            return OTO_AGAIN;
        }
        if (memcmp(link->buffer, publisher_greeting, GREETING_BYTES) != 0) {
            return OTO_CORRUPT;
        }
        link->greeted = true;
        link->retry_ms = RETRY_MIN_MS;
        link->begin = GREETING_BYTES;
    }
    const size_t have = link->end - link->begin;
    if (have < link->header_bytes) {
        return OTO_AGAIN;
    }
    const uint64_t length = announced_bytes(link);
    if (length > OTO_FRAME_MAX_BYTES || (link->header_bytes == 9 && link->buffer[link->begin] != 1)) {
        return OTO_CORRUPT;
    }
    if (have - link->header_bytes < length) {
        return OTO_AGAIN;
    }
    *data = link->buffer + link->begin + link->header_bytes;
    *bytes = (size_t)length;
    link->given = link->header_bytes + (size_t)length;
    return OTO_OK;
}

/* ---- steps: each returns true if another step can follow at once ---- */

static bool step_idle(struct oto_link *link)
{
    if (srv_now_ms() < link->retry_at_ms) {
        return false;
    }
    if (oto_connection_start(link->connection) != OTO_OK) {
        hang_up(link, oto_connection_reason(link->connection));
        return false;
    }
    link->limit_ms = srv_now_ms() + CONNECT_MS;
    link->state = LINK_CONNECTING;
    return true;
}

/* Handles a failed or unfinished operation: disconnects, but after OTO_AGAIN only if the limit has passed. */
static bool step_failed(struct oto_link *link, enum oto_status status)
{
    if (status != OTO_AGAIN) {
        hang_up(link, oto_connection_reason(link->connection));
    } else if (!link->greeted && srv_now_ms() >= link->limit_ms) {
        hang_up(link, "Timed out");
    }
    return false;
}

static bool step_connecting(struct oto_link *link)
{
    const enum oto_status status = oto_connection_advance(link->connection);
    if (status != OTO_OK) {
        return step_failed(link, status);
    }
    link->state = LINK_GREETING;
    return true;
}

static bool step_greeting(struct oto_link *link)
{
    size_t sent = 0;
    const enum oto_status status = oto_connection_send(link->connection, our_greeting + link->greeting_sent,
                                                       GREETING_BYTES - link->greeting_sent, &sent);
    if (status != OTO_OK) {
        return step_failed(link, status);
    }
    link->greeting_sent += sent;
    link->state = link->greeting_sent == GREETING_BYTES ? LINK_RECEIVING : LINK_GREETING;
    return true;
}

static bool step_receiving(struct oto_link *link)
{
    size_t got = 0;
    const enum oto_status status =
        oto_connection_receive(link->connection, link->buffer + link->end, link->capacity - link->end, &got);
    if (status != OTO_OK) {
        return step_failed(link, status);
    }
    link->end += got;
    return true;
}

/* Makes one step without waiting. OTO_OK: a message; OTO_AGAIN: if *more is true, another step can follow at once. */
static enum oto_status step(struct oto_link *link, bool *more, const unsigned char **data, size_t *bytes)
{
    enum oto_status status = OTO_AGAIN;
    if (link->state == LINK_RECEIVING) {
        status = cut(link, data, bytes);
        if (status == OTO_CORRUPT) {
            hang_up(link, "Protocol error");
            *more = false;
            return OTO_AGAIN;
        }
        if (status == OTO_AGAIN && make_room(link) != OTO_OK) {
            status = OTO_NO_MEMORY;
        }
        if (status == OTO_AGAIN) {
            *more = step_receiving(link);
        }
        return status;
    }
    *more = link->state == LINK_IDLE         ? step_idle(link)
            : link->state == LINK_CONNECTING ? step_connecting(link)
                                             : step_greeting(link);
    return status;
}

/* Waits until the next step can make progress, at most until the deadline. */
static void wait_for_step(const struct oto_link *link, int64_t deadline_ms)
{
    const int64_t own_ms = link->state == LINK_IDLE ? link->retry_at_ms : link->greeted ? deadline_ms : link->limit_ms;
    oto_connection_wait(link->connection, own_ms < deadline_ms ? own_ms : deadline_ms);
}

enum oto_status oto_link_receive(struct oto_link *link, int64_t deadline_ms, const unsigned char **data, size_t *bytes)
{
    link->begin += link->given;
    link->given = 0;
    for (;;) {
        bool more = false;
        const enum oto_status status = step(link, &more, data, bytes);
        if (status != OTO_AGAIN) {
            return status;
        }
        if (!more) {
            if (srv_now_ms() >= deadline_ms) {
                return OTO_AGAIN;
            }
            wait_for_step(link, deadline_ms);
        }
    }
}

bool oto_link_is_up(const struct oto_link *link)
{
    return link->greeted;
}

const char *oto_link_reason(const struct oto_link *link)
{
    return link->reason[0] == '\0' ? "no answer yet" : link->reason;
}

/* ---- opening and closing ---- */

enum oto_status oto_link_open(const char *url, const struct oto_tls_files *tls, struct oto_link **link, struct oto_error *error)
{
    *link = NULL;
    struct oto_link *made = calloc(1, sizeof *made);
    if (made == NULL || (made->buffer = malloc(START_BYTES)) == NULL) {
        free(made);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a subscriber");
    }
    const enum oto_status status = oto_connection_make(url, tls, &made->connection, error);
    if (status != OTO_OK) {
        oto_link_close(made);
        return status;
    }
    made->capacity = START_BYTES;
    made->retry_ms = RETRY_MIN_MS;
    made->header_bytes = oto_connection_is_local(made->connection) ? 9 : 8;
    *link = made;
    return OTO_OK;
}

void oto_link_close(struct oto_link *link)
{
    if (link != NULL) {
        oto_connection_free(link->connection);
        free(link->buffer);
        free(link);
    }
}
