#include "attach/control_remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "transport/connection.h"
#include "wire/control_message.h"

#define HEADER_BYTES 4

static const char prefix[] = "control+";

struct oto_control_remote {
    struct oto_connection *connection;
    size_t got; /* received bytes of the current message, with its header */
    unsigned char in[HEADER_BYTES + OTO_MESSAGE_MAX_BYTES];
};

static enum oto_status connect_until(struct oto_connection *connection, int64_t deadline_ms)
{
    enum oto_status status = oto_connection_start(connection);
    if (status == OTO_OK) {
        status = oto_connection_advance(connection);
    }
    while (status == OTO_AGAIN) {
        if (srv_now_ms() >= deadline_ms) {
            return OTO_TIMEOUT;
        }
        oto_connection_wait(connection, deadline_ms);
        status = oto_connection_advance(connection);
    }
    return status;
}

enum oto_status oto_control_remote_open(const char *url, const struct oto_tls_files *tls, int64_t timeout_ms,
                                        struct oto_control_remote **remote, struct oto_error *error)
{
    const char *address = strncmp(url, prefix, strlen(prefix)) == 0 ? url + strlen(prefix) : url;
    *remote = NULL;
    if (strncmp(address, "tls+tcp://", 10) != 0) {
        return oto_fail(error, OTO_INVALID, "cannot control a world at '%.250s': tls+tcp://host:port is accepted", url);
    }
    struct oto_control_remote *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a connection");
    }
    enum oto_status status = oto_connection_make(address, tls, &made->connection, error);
    if (status == OTO_OK) {
        status = connect_until(made->connection, srv_now_ms() + timeout_ms);
        if (status == OTO_TIMEOUT) {
            (void)oto_fail(error, status, "no gate answers at %.250s within %lld ms", url, (long long)timeout_ms);
        } else if (status != OTO_OK) {
            (void)oto_fail(error, status, "cannot connect to %.250s: %s", url, oto_connection_reason(made->connection));
        }
    }
    if (status != OTO_OK) {
        oto_control_remote_close(made);
        return status;
    }
    *remote = made;
    return OTO_OK;
}

void oto_control_remote_close(struct oto_control_remote *remote)
{
    if (remote != NULL) {
        oto_connection_free(remote->connection);
        free(remote);
    }
}

static enum oto_status send_part(struct oto_control_remote *remote, const unsigned char *data, size_t bytes, int64_t deadline_ms)
{
    for (size_t done = 0; done < bytes;) {
        size_t sent = 0;
        const enum oto_status status = oto_connection_send(remote->connection, data + done, bytes - done, &sent);
        if (status == OTO_AGAIN && srv_now_ms() >= deadline_ms) {
            return OTO_TIMEOUT; /* in the middle of a message: the caller must close */
        }
        if (status == OTO_AGAIN) {
            oto_connection_wait(remote->connection, deadline_ms);
        } else if (status != OTO_OK) {
            return OTO_CLOSED;
        }
        done += sent;
    }
    return OTO_OK;
}

enum oto_status oto_control_remote_send(struct oto_control_remote *remote, const void *data, size_t bytes, int64_t deadline_ms)
{
    const unsigned char header[HEADER_BYTES] = {(unsigned char)(bytes >> 24), (unsigned char)(bytes >> 16), (unsigned char)(bytes >> 8),
                                                (unsigned char)bytes};
    const enum oto_status status = send_part(remote, header, sizeof header, deadline_ms);
    return status == OTO_OK ? send_part(remote, data, bytes, deadline_ms) : status;
}

static size_t announced_bytes(const struct oto_control_remote *remote)
{
    const unsigned char *in = remote->in;
    return (size_t)in[0] << 24 | (size_t)in[1] << 16 | (size_t)in[2] << 8 | in[3];
}

enum oto_status oto_control_remote_receive(struct oto_control_remote *remote, void *data, size_t room, size_t *bytes)
{
    for (;;) {
        const size_t until = HEADER_BYTES + (remote->got < HEADER_BYTES ? 0 : announced_bytes(remote));
        size_t got = 0;
        if (until > sizeof remote->in || until - HEADER_BYTES > room) {
            return OTO_LIMIT;
        }
        if (remote->got == until && until > HEADER_BYTES) {
            *bytes = until - HEADER_BYTES;
            memcpy(data, remote->in + HEADER_BYTES, *bytes);
            remote->got = 0;
            return OTO_OK;
        }
        if (remote->got == until) {
            return OTO_CLOSED; /* an empty message */
        }
        const enum oto_status status = oto_connection_receive(remote->connection, remote->in + remote->got, until - remote->got, &got);
        if (status != OTO_OK) {
            return status == OTO_AGAIN ? OTO_AGAIN : OTO_CLOSED;
        }
        remote->got += got;
    }
}

void oto_control_remote_wait(const struct oto_control_remote *remote, int64_t deadline_ms)
{
    oto_connection_wait(remote->connection, deadline_ms);
}

bool oto_control_remote_alive(const struct oto_control_remote *remote)
{
    return oto_connection_is_alive(remote->connection);
}

const char *oto_control_remote_reason(const struct oto_control_remote *remote)
{
    return oto_connection_reason(remote->connection);
}
