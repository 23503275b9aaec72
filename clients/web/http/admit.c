#include "http/http_private.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/origin.h"

/* Gets the name, without brackets, from "name:port", "[::1]:port" or "name". False for anything else. */
static bool take_name(const char *host, char *name, size_t room)
{
    const char *start = host, *end;
    if (*host == '[') {
        start = host + 1;
        end = strchr(start, ']');
    } else {
        end = strchr(host, ':');
        end = end != NULL ? end : host + strlen(host);
    }
    if (end == NULL || end == start || (size_t)(end - start) >= room) {
        return false;
    }
    memcpy(name, start, (size_t)(end - start));
    name[end - start] = 0;
    return true;
}

static bool is_address(const char *name)
{
    unsigned char room[16];
    return inet_pton(AF_INET, name, room) == 1 || inet_pton(AF_INET6, name, room) == 1;
}

/* True for the host of a configured origin: a reverse proxy may forward its own Host header. */
static bool is_name_of_proxy(const struct web_http *http, const char *name)
{
    char own[WEB_HOST_BYTES];
    for (uint32_t i = 0; i < http->options.origin_count; i++) {
        const char *host = srv_origin_host(http->options.origins[i]);
        if (host != NULL && take_name(host, own, sizeof own) && strcasecmp(name, own) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * The port is not compared, because a tunnel to this machine has another port. A server on a loopback address accepts only names
 * of loopback. A server on another address accepts every literal address, because DNS rebinding needs a name.
 */
static bool is_own_name(const struct web_http *http, const char *name)
{
    if (strcasecmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 || strcmp(name, "::1") == 0 ||
        strcmp(name, http->options.address) == 0) {
        return true;
    }
    return is_name_of_proxy(http, name) || (!http->is_loopback && (is_address(name) || strcasecmp(name, http->own_name) == 0));
}

bool web_admit_host(struct lws *wsi)
{
    char host[WEB_HOST_BYTES], name[WEB_HOST_BYTES];
    return lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0 && take_name(host, name, sizeof name) &&
           is_own_name(web_http_of(wsi), name);
}

bool web_admit_origin(struct lws *wsi)
{
    const struct web_http *http = web_http_of(wsi);
    char origin[WEB_ORIGIN_BYTES], host[WEB_HOST_BYTES];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0) {
        return true;
    }
    if (lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) <= 0 ||
        lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) <= 0) {
        return false;
    }
    if (strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0) {
        return true;
    }
    for (uint32_t i = 0; i < http->options.origin_count; i++) {
        if (strcmp(origin, http->options.origins[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool web_admit_upgrade(struct lws *wsi)
{
    char upgrade[16];
    return lws_hdr_copy(wsi, upgrade, sizeof upgrade, WSI_TOKEN_UPGRADE) > 0 && strcasecmp(upgrade, "websocket") == 0 &&
           lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL) > 0;
}
