/*
 * What anybody may send to the port of otolith-web: bytes of an HTTP request with its head, an upgrade, and WebSocket frames. They
 * go through libwebsockets and the admission of clients/web/http over a loopback connection. No request with a foreign Host or
 * Origin may reach a sub-protocol.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define TURNS_MAX 20000 /* of the loop; a connection that outlives them is a finding */

static uv_loop_t loop;
static struct web_http *http;

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* ---- a sub-protocol that sends back what it gets ---- */

static bool is_loopback_name(const char *text)
{
    return strncasecmp(text, "localhost", 9) == 0 || strncmp(text, "127.0.0.1", 9) == 0 || strncmp(text, "[::1]", 5) == 0;
}

static void *on_connected(void *context, struct web_peer *peer)
{
    char host[WEB_HOST_BYTES] = "", origin[WEB_ORIGIN_BYTES] = "";
    must(context == NULL && strlen(web_peer_query_token(peer)) < WEB_TOKEN_BYTES);
    must(lws_hdr_copy(peer->wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 && is_loopback_name(host));
    if (lws_hdr_copy(peer->wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) > 0) {
        must(strncmp(origin, "http://", 7) == 0 && is_loopback_name(origin + 7));
    }
    return peer;
}

static void on_received(void *state, const void *data, size_t bytes, bool binary)
{
    must(bytes <= WEB_MESSAGE_MAX_BYTES);
    (void)web_peer_send(state, data, bytes, binary);
}

static void on_closed(void *state)
{
    must(state != NULL);
}

static void open_port(void)
{
    static const unsigned char text[] = "<!doctype html>";
    static const struct web_asset asset = {"/", "text/html", "\"e\"", text, text, sizeof text - 1, sizeof text - 1};
    static const struct web_protocol protocol = {
        .name = "otolith.v1", .connected = on_connected, .received = on_received, .closed = on_closed};
    const struct web_http_options options = {.loop = &loop,
                                             .address = "127.0.0.1",
                                             .tries = 1,
                                             .assets = &asset,
                                             .asset_count = 1,
                                             .protocols = &protocol,
                                             .protocol_count = 1};
    struct oto_error error = {0};
    must(uv_loop_init(&loop) == 0 && web_http_open(&options, &http, &error) == OTO_OK);
}

/* ---- one connection ---- */

static int connect_port(void)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0}; /* no port waits for its end */
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(web_http_port(http)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

/* Sends all, then reads until the server has closed or has nothing more to say to a peer that is done. */
static void converse(int fd, const uint8_t *data, size_t bytes)
{
    char answer[4096];
    size_t sent = 0;
    bool done = false;
    for (int turn = 0, quiet = 0; !done && quiet < 3; turn++) {
        must(turn < TURNS_MAX);
        const ssize_t part = sent < bytes ? send(fd, data + sent, bytes - sent, MSG_NOSIGNAL) : 0;
        sent += part > 0 ? (size_t)part : 0;
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        const ssize_t got = recv(fd, answer, sizeof answer, 0);
        done = got == 0 || (got < 0 && errno != EAGAIN) || (part < 0 && errno != EAGAIN);
        quiet = got > 0 || sent < bytes ? 0 : quiet + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (http == NULL) {
        open_port();
    }
    const int fd = connect_port();
    converse(fd, data, bytes);
    (void)close(fd);
    for (int turn = 0; web_http_peers(http) > 0; turn++) {
        must(turn < TURNS_MAX);
        (void)uv_run(&loop, UV_RUN_NOWAIT);
    }
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    return 0;
}
