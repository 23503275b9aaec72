#include "gate/relay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/runtime.h"
#include "wire/control_message.h"

#define HEADER_BYTES 4
#define CONNECT_MS 1000 /* timeout for the connection to the control socket of the same machine */
#define MESSAGES_PER_TURN 16

/* Buffer of one direction: a message with its header. */
struct half {
    size_t begin, end;
    unsigned char data[HEADER_BYTES + OTO_MESSAGE_MAX_BYTES];
};

struct srv_relay {
    int fd; /* connection to the control socket; -1: closed */
    bool granted;
    struct half in, out; /* in: from the client, out: to the client */
};

static void put_header(struct half *half, size_t bytes)
{
    for (int i = 0; i < HEADER_BYTES; i++) {
        half->data[i] = (unsigned char)(bytes >> (24 - 8 * i));
    }
    half->begin = 0;
    half->end = HEADER_BYTES + bytes;
}

static size_t announced_bytes(const struct half *half)
{
    size_t bytes = 0;
    for (int i = 0; i < HEADER_BYTES; i++) {
        bytes = bytes << 8 | half->data[i];
    }
    return bytes;
}

/* ---- opening ---- */

static void refuse(struct srv_relay *relay, enum oto_status status, const char *why)
{
    struct oto_message_writer writer;
    oto_message_begin(&writer, relay->out.data + HEADER_BYTES, OTO_MESSAGE_MAX_BYTES, 1, "reply");
    oto_message_add_u64(&writer, "status", (uint64_t)status);
    oto_message_add_text(&writer, "text", why);
    put_header(&relay->out, oto_message_finish(&writer));
}

static bool is_granted(const struct srv_gate_options *options, const char *name)
{
    bool granted = false;
    for (uint32_t i = 0; i < options->grant_count; i++) {
        granted = granted || (name[0] != '\0' && strcmp(options->grants[i], name) == 0);
    }
    return granted;
}

static void attach(struct srv_relay *relay, const char *socket_path, const char *client, const char *name)
{
    unsigned char data[512];
    struct oto_message_writer writer;
    oto_message_begin(&writer, data, sizeof data, 1, "attach");
    oto_message_add_text(&writer, "name", client);
    oto_message_add_text(&writer, "remote", name);
    const size_t bytes = oto_message_finish(&writer);
    relay->fd = oto_runtime_connect(socket_path, CONNECT_MS, NULL);
    if (relay->fd < 0 || send(relay->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)bytes) {
        refuse(relay, OTO_CLOSED, "the world does not answer");
    }
}

struct srv_relay *srv_relay_open(const struct srv_gate_options *options, const char *name, const char *from)
{
    struct srv_relay *relay = calloc(1, sizeof *relay);
    if (relay == NULL) {
        return NULL;
    }
    relay->fd = -1;
    relay->granted = is_granted(options, name);
    if (!relay->granted) {
        char why[256];
        (void)snprintf(why, sizeof why, "the certificate '%s' has no role: `control: roles:` of the world's file gives roles", name);
        refuse(relay, OTO_DENIED, why);
        return relay;
    }
    char client[OTO_TLS_NAME_BYTES + 100];
    (void)snprintf(client, sizeof client, "%s@%s", name, from);
    attach(relay, options->socket_path, client, name);
    return relay;
}

bool srv_relay_is_granted(const struct srv_relay *relay)
{
    return relay->granted;
}

void srv_relay_close(struct srv_relay *relay)
{
    if (relay != NULL) {
        if (relay->fd >= 0) {
            (void)close(relay->fd);
        }
        free(relay);
    }
}

/* ---- moving: each function returns OTO_OK after progress, OTO_AGAIN, or another status at the end ---- */

/* Reads a reply without room for ancillary data: the kernel closes the descriptor that comes with a reply. */
static enum oto_status take_reply(struct srv_relay *relay)
{
    if (relay->fd < 0) {
        return OTO_CLOSED;
    }
    ssize_t got = recv(relay->fd, relay->out.data + HEADER_BYTES, OTO_MESSAGE_MAX_BYTES, MSG_DONTWAIT);
    if (got < 0 && errno == ECONNRESET) { /* the world closed with a request unread: its last replies come after the error */
        got = recv(relay->fd, relay->out.data + HEADER_BYTES, OTO_MESSAGE_MAX_BYTES, MSG_DONTWAIT);
    }
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? OTO_AGAIN : OTO_CLOSED;
    }
    put_header(&relay->out, (size_t)got);
    return OTO_OK;
}

static enum oto_status move_out(struct srv_relay *relay, struct oto_tls *tls)
{
    size_t sent = 0;
    if (relay->out.begin == relay->out.end) {
        const enum oto_status status = take_reply(relay);
        if (status != OTO_OK) {
            return status;
        }
    }
    const enum oto_status status =
        oto_tls_write(tls, relay->out.data + relay->out.begin, relay->out.end - relay->out.begin, &sent);
    relay->out.begin += status == OTO_OK ? sent : 0;
    return status;
}

static bool is_whole(const struct half *in)
{
    return in->end >= HEADER_BYTES && in->end == HEADER_BYTES + announced_bytes(in);
}

/* Reads the header of a request, then exactly the bytes of its message. */
static enum oto_status take_request(struct srv_relay *relay, struct oto_tls *tls)
{
    struct half *in = &relay->in;
    const size_t until = in->end < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + announced_bytes(in);
    size_t got = 0;
    const enum oto_status status = oto_tls_read(tls, in->data + in->end, until - in->end, &got);
    in->end += status == OTO_OK ? got : 0;
    const bool wrong = in->end >= HEADER_BYTES && (announced_bytes(in) == 0 || announced_bytes(in) > OTO_MESSAGE_MAX_BYTES);
    return wrong ? OTO_CORRUPT : status;
}

static enum oto_status move_in(struct srv_relay *relay, struct oto_tls *tls)
{
    struct half *in = &relay->in;
    if (!is_whole(in)) {
        return take_request(relay, tls);
    }
    if (relay->fd < 0) {
        return OTO_AGAIN; /* the refusal is being sent */
    }
    if (send(relay->fd, in->data + HEADER_BYTES, in->end - HEADER_BYTES, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? OTO_AGAIN : OTO_CLOSED;
    }
    in->end = 0;
    return OTO_OK;
}

bool srv_relay_run(struct srv_relay *relay, struct oto_tls *tls, short *events)
{
    enum oto_status out = OTO_OK, in = OTO_OK;
    for (int i = 0; i < MESSAGES_PER_TURN && (out == OTO_OK || in == OTO_OK); i++) {
        out = move_out(relay, tls);
        if (out != OTO_OK && out != OTO_AGAIN) {
            return false;
        }
        in = move_in(relay, tls);
        if (in != OTO_OK && in != OTO_AGAIN) {
            return false;
        }
    }
    *events = (short)(relay->out.begin < relay->out.end ? POLLOUT : 0);
    *events = (short)(*events | (is_whole(&relay->in) ? 0 : POLLIN));
    if (out == OTO_OK || in == OTO_OK) {
        *events = (short)(*events | POLLOUT); /* there may be more to move: the next call follows at once */
    }
    return true;
}

struct pollfd srv_relay_poll(const struct srv_relay *relay)
{
    const bool reads = relay->out.begin == relay->out.end, writes = is_whole(&relay->in);
    return (struct pollfd){.fd = relay->fd, .events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0))};
}
