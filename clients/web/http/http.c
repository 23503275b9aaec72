#include "http/http_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IDLE_S 15       /* limit of a handshake and of an idle HTTP connection */
#define DESCRIPTORS 128 /* of this port: further connections wait until one closes */

struct web_http *web_http_of(struct lws *wsi)
{
    return lws_context_user(lws_get_context(wsi));
}

/* Plain HTTP, and the admission of every upgrade. */
static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t bytes)
{
    (void)bytes;
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: /* `in` is not read: it may dangle */
        return web_admit_upgrade(wsi) ? 0 : -1;
    case LWS_CALLBACK_HTTP:
        return web_serve_begin(wsi, session, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return web_serve_continue(wsi, session);
    case LWS_CALLBACK_HTTP_BODY:                  /* nothing accepts a body */
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: /* a WebSocket without a known sub-protocol */
    case LWS_CALLBACK_ESTABLISHED:
        return -1;
    default:
        return 0;
    }
}

static int on_websocket(struct lws *wsi, enum lws_callback_reasons reason, void *session, void *in, size_t bytes)
{
    if (reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION) {
        return web_admit_host(wsi) && web_admit_origin(wsi) ? 0 : -1;
    }
    if (reason == LWS_CALLBACK_HTTP_CONFIRM_UPGRADE) {
        return web_admit_upgrade(wsi) ? 0 : -1;
    }
    return web_peer_callback(wsi, reason, session, in, bytes);
}

/* ---- the port ---------------------------------------------------------------------------------------------------- */

static socklen_t fill_address(const char *text, uint16_t port, struct sockaddr_storage *room)
{
    struct sockaddr_in *four = (struct sockaddr_in *)room;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)room;
    memset(room, 0, sizeof *room);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        return sizeof *four;
    }
    if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        return sizeof *six;
    }
    return 0;
}

/*
 * Returns 0 or an errno. libwebsockets returns a context also when its port is taken, therefore this
 * function first tries the port with its own socket.
 */
static int try_port(const char *address, uint16_t port, uint16_t *actual)
{
    struct sockaddr_storage room;
    socklen_t bytes = fill_address(address, port, &room);
    const int on = 1, fd = socket(room.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = bind(fd, (const struct sockaddr *)&room, bytes) == 0 && listen(fd, 1) == 0 &&
                       getsockname(fd, (struct sockaddr *)&room, &bytes) == 0;
    const int reason = bound ? 0 : errno;
    *actual = ntohs(room.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&room)->sin6_port
                                               : ((struct sockaddr_in *)&room)->sin_port);
    (void)close(fd);
    return reason;
}

/* The page may load only files of this server and nothing inline; no other page may show it in a frame. */
static const struct lws_protocol_vhost_options header_table[] = {
    {&header_table[1], NULL, "content-security-policy:",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
     "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
    {&header_table[2], NULL, "x-content-type-options:", "nosniff"},
    {&header_table[3], NULL, "x-frame-options:", "deny"},
    {&header_table[4], NULL, "cross-origin-opener-policy:", "same-origin"},
    {&header_table[5], NULL, "cross-origin-resource-policy:", "same-origin"},
    {NULL, NULL, "referrer-policy:", "no-referrer"},
};

static bool open_vhost(struct web_http *http, uint16_t port)
{
    const struct lws_context_creation_info info = {
        .port = port,
        .iface = http->options.address,
        .protocols = http->protocols,
        .headers = header_table,
        .vhost_name = "otolith",
        .options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_SKIP_SERVER_CANONICAL_NAME,
        .keepalive_timeout = IDLE_S,
        .timeout_secs = IDLE_S,
    };
    http->vhost = lws_create_vhost(http->context, &info);
    return http->vhost != NULL;
}

static bool open_port(struct web_http *http, uint16_t port, int *reason)
{
    uint16_t actual = port;
    *reason = try_port(http->options.address, port, &actual);
    if (*reason != 0 || !open_vhost(http, actual)) {
        *reason = *reason != 0 ? *reason : EADDRINUSE;
        return false;
    }
    http->port = actual;
    return true;
}

static enum oto_status open_a_port(struct web_http *http, struct oto_error *error)
{
    const struct web_http_options *options = &http->options;
    int reason = 0;
    if (options->preferred_port != 0 && open_port(http, options->preferred_port, &reason)) {
        return OTO_OK;
    }
    for (uint32_t i = 0; i < options->tries && options->port + i <= UINT16_MAX; i++) {
        if (open_port(http, options->port == 0 ? 0 : (uint16_t)(options->port + i), &reason)) { /* 0: the kernel gives another one */
            return OTO_OK;
        }
        if (reason != EADDRINUSE) {
            break;
        }
    }
    return oto_fail(error, reason == EADDRINUSE ? OTO_CONFLICT : OTO_IO,
                    "the page cannot listen on %s port %u (%u ports tried): %s", options->address, options->port,
                    options->tries, strerror(reason));
}

/* ---- open -------------------------------------------------------------------------------------------------------- */

static bool make_protocols(struct web_http *http)
{
    const uint32_t count = http->options.protocol_count;
    http->protocols = calloc(count + 2, sizeof *http->protocols);
    if (http->protocols == NULL) {
        return false;
    }
    http->protocols[0] = (struct lws_protocols){
        .name = "http", .callback = on_http, .per_session_data_size = sizeof(struct web_session)};
    for (uint32_t i = 0; i < count; i++) {
        http->protocols[i + 1] = (struct lws_protocols){.name = http->options.protocols[i].name,
                                                        .callback = on_websocket,
                                                        .user = (void *)(uintptr_t)&http->options.protocols[i],
                                                        .per_session_data_size = sizeof(struct web_session),
                                                        .rx_buffer_size = WEB_MESSAGE_MAX_BYTES};
    }
    return true;
}

static bool make_context(struct web_http *http)
{
    http->loops[0] = http->options.loop;
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
        .foreign_loops = http->loops,
        .user = http,
        .fd_limit_per_thread = DESCRIPTORS,
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
    };
    lws_set_log_level(0, NULL);
    http->context = lws_create_context(&info);
    return http->context != NULL;
}

enum oto_status web_http_open(const struct web_http_options *options, struct web_http **http, struct oto_error *error)
{
    struct sockaddr_storage room;
    if (fill_address(options->address, options->port, &room) == 0) {
        return oto_fail(error, OTO_INVALID, "'%s' is not an IP address that the page can listen on", options->address);
    }
    struct web_http *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for the page");
    }
    made->options = *options;
    made->is_loopback = strncmp(options->address, "127.", 4) == 0 || strcmp(options->address, "::1") == 0;
    (void)gethostname(made->own_name, sizeof made->own_name - 1);
    enum oto_status status = OTO_OK;
    if (!make_protocols(made) || !make_context(made)) {
        status = oto_fail(error, OTO_UNSUPPORTED,
                          "libwebsockets cannot start on libuv: is the package libwebsockets-evlib-uv installed?");
    } else {
        status = open_a_port(made, error);
    }
    *http = made;
    return status;
}

uint16_t web_http_port(const struct web_http *http)
{
    return http->port;
}

uint32_t web_http_peers(const struct web_http *http)
{
    return http->peer_count;
}
